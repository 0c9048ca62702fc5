#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The pages say what is so: files that they name exist, the README's run file is examples/small.yaml, its
# commands run as written, every command of the program is in it, and the JSON log has the keys of
# docs/FORMATS.md.
set -euo pipefail
: "${SOURCE:=$(cd "$(dirname "$0")/.." && pwd)}" "${BUILD:=$SOURCE/build}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pages=("$SOURCE/README.md" "$SOURCE/docs/TOUR.md" "$SOURCE/docs/FORMATS.md" "$SOURCE/docs/SPEED.md")
fail() {
    echo "$1"
    exit 1
}

# block PAGE INFO: the contents of the code blocks that begin with ```INFO.
block() {
    awk -v fence="\`\`\`$2" '$0 == "```" { inside = 0 } inside; $0 == fence { inside = 1 }' "$1"
}

missing=0
while IFS= read -r path; do
    [ -e "$SOURCE/$path" ] || { echo "a page names '$path', which is not there"; missing=1; }
done < <(grep -ohE '`(src|docs|examples|include|tests|cli|scripts|bench)/[A-Za-z0-9_./-]*`' "${pages[@]}" |
    tr -d '`' | sort -u)
[ $missing = 0 ]

block "$SOURCE/README.md" yaml | diff - "$SOURCE/examples/small.yaml" ||
    fail "the README's run file is not examples/small.yaml"
while IFS= read -r command; do
    grep -qE "^\| \`trine $command( |\`)" "$SOURCE/README.md" || fail "the README has no row for 'trine $command'"
done < <("$BUILD/trine" --help | sed -nE 's/^  ([a-z]+) .*/\1/p')

# A copy, so that nothing is written into the source.
mkdir "$work/copy"
cp -r "$SOURCE/README.md" "$SOURCE/LICENSE" "$SOURCE/docs" "$SOURCE/examples" "$work/copy"
cd "$work/copy"
export PATH=$BUILD:$PATH
block README.md sh >commands
[ "$(wc -l <commands)" -ge 7 ] || fail "the README's commands were not found"
sed -i 's|^trine train .*|& --log-json out/log.json|' commands
bash -euo pipefail commands >"$work/out" 2>"$work/err" || {
    cat "$work/out" "$work/err"
    fail "the README's commands do not run as written"
}
block README.md '' >expected
"$BUILD/trine" plan examples/small.yaml --ranks 8 --tensor-model-parallel-size 2 >plan
grep -Fxvf expected plan && fail "the README shows another plan than trine prints"

tail -n 1 out/log.json | grep -oE '"[a-z_]+":' | tr -d '":' | sort >keys
sed -n '/^## JSON log/,/^## /p' docs/FORMATS.md | grep '^| `' | cut -d'|' -f2 | grep -oE '[a-z_]+' | sort |
    diff - keys || fail "docs/FORMATS.md has other keys than the JSON log"
[ "$(wc -l <out/log.json)" = 60 ] || fail "the JSON log has not one line per iteration"
echo "the pages are right"
