#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# House rules that a search can check: every source file starts with its licence, every listed test is
# there, no unfinished places or disabled code, sources in plain ASCII, no paths of one machine, and every symbol that a room
# exports begins with tri_.
set -euo pipefail
: "${SOURCE:=$(cd "$(dirname "$0")/.." && pwd)}" "${BUILD:=}"
cd "$SOURCE"
failures=0
complain() {
    echo "$1"
    failures=$((failures + 1))
}

while IFS= read -r file; do
    head -n 1 "$file" | grep -qF '/* SPDX-License-Identifier: Apache-2.0 */' ||
        complain "$file: the first line is not the licence"
done < <(find src include cli tests bench examples -name '*.[ch]' 2>/dev/null)
while IFS= read -r file; do
    head -n 2 "$file" | grep -qF '# SPDX-License-Identifier: Apache-2.0' ||
        complain "$file: the first two lines hold no licence"
done < <(find cmake scripts tests -name '*.sh' -o -name '*.cmake' -o -name '*.py' -o -name CMakeLists.txt)

while IFS= read -r name; do
    [ -f "tests/$name.c" ] || [ -f "tests/$name.sh" ] || complain "test $name is listed but not there"
done < <(sed -nE 's/^ *tri_(script_)?test\((t[0-9]+-[a-z0-9-]+).*/\2/p' tests/*.cmake)

unfinished='\b(TO''DO|FIX''ME|XX''X)\b|not imple''mented|unimple''mented|# *if 0'
if grep -rnE "$unfinished" src include cli examples --include='*.[ch]'; then
    complain "unfinished places, see above"
fi
if LC_ALL=C grep -rnP '[^\x00-\x7f]' src include cli --include='*.[ch]'; then
    complain "not plain ASCII, see above"
fi
if grep -rnE '["( ]/(home|root)/' src include cli scripts tests examples --include='*.[ch]' \
    --include='*.sh' --include='*.cmake' | grep -v t004-names; then
    complain "paths of one machine, see above"
fi
if grep -rnP '[ \t]+$' src include cli scripts cmake --include='*.[ch]' --include='*.sh'; then
    complain "blanks at the end of lines, see above"
fi

if [ -n "$BUILD" ] && command -v nm >/dev/null 2>&1; then
    for library in "$BUILD"/libtri_*.a; do
        [ -f "$library" ] || continue
        foreign=$(nm -g --defined-only "$library" 2>/dev/null |
            awk 'NF == 3 && $3 !~ /^(tri_|_)/ {print $3}' | sort -u)
        [ -z "$foreign" ] || complain "$(basename "$library") exports without prefix: $foreign"
    done
fi
[ "$failures" = 0 ] || exit 1
echo "names are in order"
