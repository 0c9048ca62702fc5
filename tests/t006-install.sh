#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An installed trine can be used: headers, both libraries and the pkg-config files, by a small program, by
# examples/tiny_gpt.c, which trains, and by examples/own_activation.c, which brings a module.
set -euo pipefail
: "${SOURCE:=$(cd "$(dirname "$0")/.." && pwd)}" "${BUILD:=$SOURCE/build}" "${CC:=cc}"
if grep -q '^TRI_SANITIZE:STRING=.' "$BUILD/CMakeCache.txt"; then
    echo "skipped: a sanitizer build is not for installing"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$BUILD" --prefix "$work/prefix" >"$work/log" || { cat "$work/log"; exit 1; }
cat >"$work/user.c" <<'END'
#include <trine/error.h>
#include <stdio.h>
int main(void)
{
    tri_error *err = tri_error_create();
    tri_error_set(err, TRI_INVALID, "a text of %d", 3);
    int good = tri_error_status(err) == TRI_INVALID;
    tri_error_destroy(&err);
    return good ? 0 : 1;
}
END
library=$(dirname "$(find "$work/prefix" -name trine.pc)")
export PKG_CONFIG_PATH=$library
read -ra compile < <(pkg-config --cflags trine)
read -ra link < <(pkg-config --libs trine)
"$CC" "$work/user.c" "${compile[@]}" "${link[@]}" -o "$work/shared"
LD_LIBRARY_PATH=$(dirname "$library") "$work/shared"
"$CC" "$SOURCE/examples/tiny_gpt.c" "${compile[@]}" "${link[@]}" -o "$work/tiny_gpt"
mkdir "$work/tiny"
LD_LIBRARY_PATH=$(dirname "$library") "$work/tiny_gpt" "$work/tiny" --train-iters 6 >"$work/log" 2>&1 ||
    { cat "$work/log"; exit 1; }
read -ra extension < <(pkg-config --cflags trine-extension)
"$CC" -D_GNU_SOURCE "$SOURCE/examples/own_activation.c" "${extension[@]}" "${link[@]}" -o "$work/own"
mkdir "$work/own_activation"
LD_LIBRARY_PATH=$(dirname "$library") "$work/own" "$work/own_activation" --train-iters 6 >"$work/log" 2>&1 ||
    { cat "$work/log"; exit 1; }
read -ra link < <(pkg-config --static --libs trine)
rm -f "$(dirname "$library")"/libtrine.so*
"$CC" "$work/user.c" "${compile[@]}" "${link[@]}" -o "$work/static"
"$work/static"
echo "installed libraries work"
