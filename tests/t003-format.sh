#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every tracked C file is as clang-format 14 leaves it.
set -euo pipefail
: "${SOURCE:=$(cd "$(dirname "$0")/.." && pwd)}"
cd "$SOURCE"
format=$(command -v clang-format-14 || command -v clang-format || true)
if [ -z "$format" ]; then
    echo "skipped: no clang-format here"
    exit 77
fi
if ! "$format" --version | grep -q 'version 14\.'; then
    echo "skipped: needs clang-format 14, found: $("$format" --version)"
    exit 77
fi
if git rev-parse --git-dir >/dev/null 2>&1; then
    mapfile -t files < <(git ls-files -- '*.c' '*.h')
else
    mapfile -t files < <(find src include cli tests bench examples -name '*.[ch]')
fi
existing=()
for file in "${files[@]}"; do
    [ ! -f "$file" ] || existing+=("$file")
done
if ! "$format" --dry-run -Werror "${existing[@]}" 2>&1 | sed -n 's/: error: code should.*//p' |
    cut -d: -f1 | sort -u | { ! grep .; }; then
    echo "not formatted; run clang-format -i on these files"
    exit 1
fi
echo "${#existing[@]} files are formatted"
