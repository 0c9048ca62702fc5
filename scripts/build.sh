#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing for a purpose (see deps.sh), configures build/ and compiles.
# Usage: scripts/build.sh [tests|train]
set -euo pipefail
cd "$(dirname "$0")/.."
bash scripts/deps.sh "$@"
mkdir -p build
if ! cmake --preset release >build/configure.log 2>&1; then
    cat build/configure.log >&2
    exit 1
fi
cmake --build build
