#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What 'trine train' refuses with exit code 2, 'trine plan' refuses as well, in the same words: the inputs of tests/bad
# and the cases of tests/cli are run with a program in front of trine that asks 'plan' whenever 'train' has refused.
# Only what a run needs and a plan does not may be missing: data, a length, a rate. A plan takes a model's directory, too.
set -uo pipefail
export LC_ALL=C
: "${SOURCE:=$(cd "$(dirname "$0")/.." && pwd)}" "${BUILD:=$SOURCE/build}"
: "${TRINE:=$BUILD/trine}" "${MAKE_INPUTS:=$BUILD/tests/t9-make}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export REAL_TRINE=$TRINE WORK=$work SOURCE BUILD MAKE_INPUTS
cat >"$work/trine" <<'SH'
#!/usr/bin/env bash
"$REAL_TRINE" "$@" 2> >(tee "$WORK/said" >&2)
code=$?
wait $!
if [ "${1:-}" = train ] && [ $code = 2 ]; then
    "$REAL_TRINE" plan "${@:2}" >/dev/null 2>"$WORK/planned"
    planned=$?
    grep -a '^error: ' "$WORK/said" | grep -av -e ': no training data; ' -e "train_iters'* is not set; " -e ": '*lr'* is not set; " -e ' is a model, no run file; ' >"$WORK/wanted"
    [ -s "$WORK/wanted" ] && echo >>"$WORK/refusals"
    if grep -avxFf "$WORK/planned" "$WORK/wanted" >"$WORK/lacks" || { [ -s "$WORK/wanted" ] && [ $planned != 2 ]; }; then
        { echo "trine plan ${*:2}: exit $planned, does not say:"; cat "$WORK/lacks"; } >>"$WORK/differs"
    fi
fi
exit $code
SH
chmod +x "$work/trine"
: >"$work/refusals"
export TRINE=$work/trine
mkdir "$work/bad"
for file in "$SOURCE"/tests/bad/*.txt; do # the records that train
    awk -v RS= -v ORS='\n\n' '/\n\$ [^\n]*trine train/ || /^#/' "$file" >"$work/bad/$(basename "$file")"
done
bash "$SOURCE/tests/t912-bad.sh" "$work/bad" 1 || exit 1
for case in "$SOURCE"/tests/cli/*; do
    grep -q train "$case/cmd" || continue
    grep -qs 'exit 2' "$case/stdout" "$case/stderr" || [ "$(cat "$case/exit" 2>/dev/null)" = 2 ] || continue
    case $case in *-mpi) continue ;; esac
    bash "$SOURCE/tests/t910-cli.sh" "$(basename "$case")" >/dev/null # has a test of its own
done
num=$(wc -l <"$work/refusals")
echo "$num refusals of train put to plan"
[ ! -f "$work/differs" ] || { cat "$work/differs"; exit 1; }
[ "$num" -ge "${1:-10}" ] || { echo "that is too few"; exit 1; }
