# SPDX-License-Identifier: Apache-2.0
# What the scripts of tests/cli share.

trine() { "$TRINE" "$@"; }
make() { "$MAKE_INPUTS" "$@"; }

# try COMMAND...: prints the exit code behind what the command prints to stderr, and goes on.
try() {
    "$@"
    echo "exit $?"
}

# A small llama as a run file: run.yaml, and data.bin, data.idx with 40 documents of 33 tokens.
small_run() {
    cat >run.yaml <<'YAML'
shape:
  num_layers: 2
  hidden_size: 16
  num_attention_heads: 4
  ffn_hidden_size: 24
  vocab_size: 101
  seq_length: 16
  max_position_embeddings: 64
  position_embedding_type: rope
  normalization: RMSNorm
  gated_linear_unit: true
  activation_func: silu
  add_bias_linear: false
  untie_embeddings_and_output_weights: true
  hidden_dropout: 0
  attention_dropout: 0
placement:
  {team_size: 1, make_vocab_size_divisible_by: 1}
train: {micro_batch_size: 1, global_batch_size: 4, train_iters: 3, lr: 1.0e-3, log_interval: 1}
data: {data_path: [data], split: "100,0,0"}
YAML
    make random data 101 40 33
}

# The small run's model after STEPS iterations as the Hugging Face directory DIR.
small_model() { # DIR [STEPS]
    [ -f run.yaml ] || small_run
    "$TRINE" train run.yaml --train-iters "${2:-1}" --save made >made.out 2>&1 || cat made.out
    mv "made/iter_$(printf %07d "${2:-1}")" "$1" && rm -rf made made.out
}

# losses FILE: the losses of a JSON log.
losses() { make json "$1" lm_loss; }

# same A B: says so when two files differ.
same() { cmp "$1" "$2" && echo "$1 = $2"; }

# weights DIR: one checksum of everything that transformers reads.
weights() { (cd "$1" && cat config.json model*.safetensors* | cksum); }

# left DIR: names below DIR, sorted.
left() { (cd "$1" && find . -mindepth 1 | LC_ALL=C sort | sed 's|^\./||'); }

# mpi NUM COMMAND...: under mpirun, or skips the case.
mpi() { bash "$TESTS/run_mpi.sh" "$@"; }
need_mpi() {
    export HWLOC_HIDE_ERRORS=2 # in a container without /sys, hwloc, which MPI asks, complains on stderr
    command -v mpirun >/dev/null 2>&1 || { echo "skipped: no mpirun in PATH"; exit 77; }
}
need_root() {
    [ "$(id -u)" = 0 ] || { echo "skipped: needs root"; exit 77; }
}

# train ARGUMENTS: only the lines of the run itself, with the program's exit code.
train() {
    "$TRINE" train "$@" >.lines
    local code=$?
    grep -E '^(iteration|saved|resumed|evaluation|nothing to do|the learning rate)' .lines
    rm -f .lines
    return "$code"
}

# quiet COMMAND...: without the notes on what a config.json does not say.
quiet() {
    local messages code
    messages=$(mktemp)
    "$@" 2>"$messages"
    code=$?
    grep -v 'does not say' "$messages" >&2
    rm -f "$messages"
    return "$code"
}

# A run that lasts long enough to be stopped, and ends when nobody does: slow.yaml.
slow_run() {
    small_run
    sed 's/train_iters: 3/train_iters: 6000/; s/global_batch_size: 4/global_batch_size: 16/' run.yaml >slow.yaml
    sed -i 's/^  num_layers: 2/  num_layers: 6/' slow.yaml
}
# begin COMMAND...: starts a run in the background as $run, with its lines in 'lines', and waits for the third
# iteration, so that it is under way.
begin() {
    rm -f lines messages
    : >lines
    "$@" >lines 2>messages &
    run=$!
    until grep -q '^iteration  *3/' lines; do
        kill -0 $run 2>/dev/null || break
        sleep 0.05
    done
}
# finish: waits for it; prints its exit code, whether it ended at the iteration of its last line, and what it
# left in the folder OUT.
finish() { # OUT
    wait $run
    echo "exit $?"
    local last
    last=$(sed -nE 's/^iteration +([0-9]+)\/.*/\1/p' lines | tail -1)
    if [ -f "$1/latest" ]; then
        [ "$(cat "$1/latest")" = "$(printf 'iter_%07d' "$last")" ] && echo "saved after its last line"
        "$TRINE" checkpoint verify "$1" | tail -1 | sed 's/iter_[0-9]*/iter_N/'
        ls -A "$1" | sed 's/iter_[0-9]*/iter_N/'
    else
        ls -A "$1" 2>/dev/null
        echo "no checkpoint"
    fi
}
