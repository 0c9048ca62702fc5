# SPDX-License-Identifier: Apache-2.0
"""Makes golden/train_curve.json: PyTorch's losses on the first steps of make train's model.

    train_curve.py [--trine build/trine] [--work FOLDER] [--write]

Runs 'make train' on an invented text (tests/t84-curve.sh) and the same steps in PyTorch: from the initial
weights that trine wrote, with the samples, learning rates and updates of torch_train.py. Only the weights, the
tokens and the settings in run.yaml come from trine. Prints the differences; --write keeps the losses, pinned to checksums of
weights and tokens. Made with PyTorch 2.15 and transformers 5.24.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

import torch
import transformers
import yaml
from transformers import AutoModelForCausalLM

import torch_train

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def run_trine(trine, work):
    script = ('set -e; . "$SOURCE/tests/t84-curve.sh"; curve_train "$1" >&2; curve_initial "$1"; '
              'echo "run $CURVE_RUN"; echo "initial $CURVE_INITIAL"; curve_sums')
    environment = dict(os.environ, SOURCE=os.path.dirname(TESTS), TRINE=os.path.abspath(trine))
    out = subprocess.run(["bash", "-c", script, "bash", work], env=environment, check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    return dict(line.split(" ", 1) for line in out.splitlines())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trine", default="build/trine")
    parser.add_argument("--work")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    work = args.work or tempfile.mkdtemp()
    os.makedirs(work, exist_ok=True)
    found = run_trine(args.trine, work)

    with open(os.path.join(found["run"], "run.yaml"), encoding="utf-8") as file:
        run = yaml.safe_load(file)
    shape, settings = run["shape"], run["train"]
    steps, batch = settings["train_iters"], settings["global_batch_size"]
    with open(os.path.join(found["run"], "log.json"), encoding="utf-8") as file:
        ours = [json.loads(line) for line in file]

    tokens = torch_train.read_tokens(os.path.join(found["run"], "train"))
    samples = torch_train.gpt_samples(tokens, shape["seq_length"], settings["seed"], steps * batch)
    rate = torch_train.cosine(float(settings["lr"]), float(settings.get("min_lr", 0)),
                              steps * settings["lr_warmup_fraction"], steps)
    model = AutoModelForCausalLM.from_pretrained(found["initial"], dtype=torch.float32,
                                                 attn_implementation="eager", local_files_only=True)
    losses, norms = torch_train.train(model.train(), samples, batch, rate, steps,
                                      settings["weight_decay"], (0.9, settings["adam_beta2"]))
    loss = max(abs(step["lm_loss"] - value) for step, value in zip(ours, losses))
    norm = max(abs(step["grad_norm"] / value - 1) for step, value in zip(ours, norms))
    same_rate = all(math.isclose(step["learning_rate"], rate(i), rel_tol=1e-6, abs_tol=1e-12)
                    for i, step in enumerate(ours))
    print(f"{len(ours)} steps, loss {losses[0]:.5f} to {losses[-1]:.5f}, largest difference {loss:.2e}, "
          f"gradient norm (relative) {norm:.2e}, learning rates {'equal' if same_rate else 'DIFFER'}")
    if args.write:
        path = os.path.join(TESTS, "golden", "train_curve.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"made_with": f"PyTorch {torch.__version__}, transformers {transformers.__version__}",
                       "weights": found["weights"], "tokens": found["tokens"], "losses": losses},
                      file, indent=1)
            file.write("\n")
    sys.exit(0 if len(ours) == steps and loss < 1e-3 and same_rate else 1)


if __name__ == "__main__":
    main()
