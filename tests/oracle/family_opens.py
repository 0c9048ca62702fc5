# SPDX-License-Identifier: Apache-2.0
"""Directories of every family as trine writes them, opened in transformers.

    family_opens.py [--trine build/trine] [--older FOLDER] [--case NAME]

For each case of golden/hf: 'trine train --load' and '--save' without a change (on one rank, and on tp x pp), and a
new model of the same shape in trine's own spelling. Each is opened strictly (no missing, unexpected or newly made
weight); the first two compute the very logits of the original, and the new one in an older transformers what
it computes in this one. FOLDER holds that older one, from 'pip install --target FOLDER --no-deps transformers==4.55.4
"huggingface-hub<1.0" "tokenizers<0.22"'. Made with PyTorch 2.15 and transformers 5.24.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file, save_file

from opened import open_strictly

CASES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden", "hf")
RUN = ["--train-iters", "0", "--seq-length", "8"]


def logits(folder, case):
    ids = load_file(os.path.join(CASES, case, "input.safetensors"))["input_ids"]
    with torch.no_grad():
        return open_strictly(folder)(ids).logits.contiguous()


def save(trine, work, name, *flags):
    out = os.path.join(work, name)
    done = subprocess.run([trine, "train", *flags, *RUN, "--save", out], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{name}: {done.stderr}")
    return os.path.join(out, "iter_0000000")


def check(trine, case, work, older):
    model = os.path.join(CASES, case, "model")
    with open(os.path.join(model, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    heads = config.get("num_attention_heads", config.get("n_head"))
    tp = 2 if heads % 2 == 0 else 3
    wanted = logits(model, case)
    for name, grid in {"one": [], "grid": ["--ranks", str(2 * tp), "--tensor-model-parallel-size", str(tp),
                                           "--pipeline-model-parallel-size", "2"]}.items():
        saved = save(trine, work, f"{case}-{name}", "--shape-from", model, "--load", model, "--finetune", *grid)
        if not torch.equal(logits(saved, case), wanted):
            sys.exit(f"{case}: what was saved on {name} computes something else")
    run = os.path.join(work, case + ".yaml")
    with open(run, "w", encoding="utf-8") as file:
        subprocess.run([trine, "explain", model + "/config.json", "--to-run-file"], check=True, stdout=file)
    new = save(trine, work, case + "-new", run, "--init-method-std", "0.3")
    now = logits(new, case)
    said = "opens as it was"
    if older:
        path = os.path.join(work, case + ".safetensors")
        subprocess.run([sys.executable, __file__, "--logits", new, case, path], check=True,
                       env={**os.environ, "PYTHONPATH": older})
        difference = (load_file(path)["logits"] - now).abs().max().item()
        if not difference <= 1e-5:
            sys.exit(f"{case}: a new model differs by {difference} in the older transformers")
        said += f"; new in both versions, {difference:.1e} apart"
    print(f"{case}: {said}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trine", default="build/trine")
    parser.add_argument("--older")
    parser.add_argument("--case", help="this one only")
    parser.add_argument("--logits", nargs=3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    if args.logits:
        folder, case, path = args.logits
        if not transformers.__version__.startswith("4."):
            sys.exit(f"transformers {transformers.__version__} is not older")
        return save_file({"logits": logits(folder, case)}, path)
    with tempfile.TemporaryDirectory() as work:
        for case in [args.case] if args.case else sorted(os.listdir(CASES)):
            check(args.trine, case, work, args.older)


if __name__ == "__main__":
    main()
