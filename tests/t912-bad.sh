#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bad inputs: each record of tests/bad/*.txt is one, and says what the program must answer. A record is
#
#   == NAME
#   $ COMMAND                    makes the input from good ones; as many as it takes
#   $ COMMAND                    the last one is judged
#   exit CODE
#   TEXT                         everything that it prints to stderr, up to an empty line
#
# Every record begins in a fresh folder with run.yaml, data.bin, data.idx, the model directory 'model' in one
# file, 'shards' in two files with an index, and layers.json, which gives each layer its own sizes. The line
# "try 'trine COMMAND --help'" of stderr is left out.
# Usage: t912-bad.sh [FOLDER [LEAST [NAME]]]: all records of FOLDER, which must be LEAST or more, or those called
# NAME. UPDATE=1 writes what was printed into the records.
set -uo pipefail
export LC_ALL=C
: "${SOURCE:=$(cd "$(dirname "$0")/.." && pwd)}" "${BUILD:=$SOURCE/build}"
: "${TRINE:=$BUILD/trine}" "${MAKE_INPUTS:=$BUILD/tests/t9-make}" "${UPDATE:=}"
# An input must not take the machine's memory; the address sanitizer takes its own way.
(ulimit -v 4000000 && "$TRINE" --version >/dev/null 2>&1) && ulimit -v 4000000
export TRINE MAKE_INPUTS GOLDEN=$SOURCE/tests/golden
folder=${1:-$SOURCE/tests/bad} least=${2:-40} only=${3:-}
work=$(mktemp -d)
trap 'chmod -R u+rwX "$work" 2>/dev/null; rm -rf "$work"' EXIT
. "$SOURCE/tests/t9-common.sh"

# What records use besides the program: keys of model/config.json, tensors of model/model.safetensors, lines
# of run.yaml.
config() { "$MAKE_INPUTS" config model/config.json "$@"; }
tensors() { "$MAKE_INPUTS" edit model/model.safetensors "$@"; }
layer() { "$MAKE_INPUTS" config layers.json "$@"; }
# A safetensors file with the given header, whatever it is, and BYTES zero bytes of tensors behind it.
header() { # TEXT BYTES [LENGTH that it claims]
    local length=${3:-${#1}}
    printf "$(printf '\\x%02x' $((length & 255)) $((length >> 8 & 255)) $((length >> 16 & 255)) \
        $((length >> 24 & 255)))\\0\\0\\0\\0" >model/model.safetensors
    { printf '%s' "$1"; head -c "$2" /dev/zero; } >>model/model.safetensors
}
# without KEY...: takes lines out of section shape.
without() { for key; do sed -i "/^  $key:/d" run.yaml; done; }
# shape LINE...: adds lines to section shape.
shape() { for line; do sed -i "s|^shape:|shape:\n  ${line//|/\\|}|" run.yaml; done; }

# first NUM COMMAND...: only the first lines of what it prints to stderr.
first() {
    local num=$1 code
    shift
    "$@" 2>lines
    code=$?
    head -n "$num" lines >&2
    return "$code"
}

make_good() {
    mkdir "$work/good" && cd "$work/good" || exit 1
    small_run
    small_model model
    rm -r model/trine
    cp -rL "$GOLDEN/hf/llama/model" shards
    chmod -R u+w shards
    cat >layers.json <<'JSON'
{"block_configs": [
  {"attention": {"n_heads_in_group": 2}, "ffn": {"ffn_hidden_size": 24}},
  {"attention": {"no_op": true}, "mlp": {"replace_with_linear": true}}]}
JSON
}

num=0 failures=0
finish_record() {
    [ -n "$name" ] || return
    if [ -n "$only" ] && [ "$name" != "$only" ]; then
        updated+="$text"$'\n'
        name=
        return
    fi
    num=$((num + 1))
    rm -rf "$work/run" 2>/dev/null || { chmod -R u+rwX "$work/run"; rm -rf "$work/run"; }
    cp -r "$work/good" "$work/run"
    (cd "$work/run" && eval "$commands") >"$work/stdout" 2>"$work/raw" </dev/null
    local code=$?
    grep -av "^try 'trine " "$work/raw" | sed "s|$work/run|.|g; s|$SOURCE|SOURCE|g" >"$work/stderr"
    printf 'exit %s\n%s' "$code" "$(cat "$work/stderr")" >"$work/got"
    printf '%s' "${expected%$'\n'}" >"$work/expected"
    updated+="$head"$'\n'"$(cat "$work/got")"$'\n'$'\n'
    if ! diff -u "$work/expected" "$work/got" >"$work/diff"; then
        echo "$file: '$name' answers otherwise"
        tail -n +3 "$work/diff"
        failures=$((failures + 1))
    fi
    name=
}

run_file() {
    local line name='' commands='' head='' expected='' text='' updated=''
    while IFS= read -r line || [ -n "$line" ]; do
        case $line in
        '== '*) finish_record; name=${line#== } commands='' head=$line expected='' text=$line$'\n' ;;
        '$ '*) commands+=${line#??}$'\n' head+=$'\n'$line text+=$line$'\n' ;;
        '') [ -n "$name" ] || updated+=$'\n'; finish_record ;;
        *) if [ -n "$name" ]; then expected+=$line$'\n' text+=$line$'\n'; else updated+=$line$'\n'; fi ;;
        esac
    done <"$file"
    finish_record
    [ "$UPDATE" = 1 ] && printf '%s\n' "${updated%%$'\n'$'\n'}" >"$file"
}

(make_good) || exit 1
for file in "$folder"/*.txt; do
    run_file
done
echo "$num bad inputs, $failures answered otherwise"
[ -n "$only" ] || [ "$num" -ge "$least" ] || { echo "that is below $least"; exit 1; }
[ "$failures" = 0 ]
