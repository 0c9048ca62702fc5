#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/OPTIONS.md is what the program prints, and every option of the page is one that it reads.
set -euo pipefail
: "${SOURCE:=$(cd "$(dirname "$0")/.." && pwd)}" "${BUILD:=$SOURCE/build}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$BUILD/trine" help options >"$work/page"
if ! diff -u "$SOURCE/docs/OPTIONS.md" "$work/page"; then
    echo "docs/OPTIONS.md is out of date; write it with: build/trine help options >docs/OPTIONS.md"
    exit 1
fi
num=$(grep -c '^| `' "$work/page")
echo "$num options are in the page"
[ "$num" -gt 60 ]
