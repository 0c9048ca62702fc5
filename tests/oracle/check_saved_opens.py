# SPDX-License-Identifier: Apache-2.0
"""Opens a directory saved by trine in transformers and says what it found.

    check_saved_opens.py DIR [--tokens ID ID ...] [--expect FILE] [--write FILE]

Loads the model strictly (no missing, unexpected or newly made weights), checks that every tensor of the
files is finite, runs the tokens through it and prints the logits of the last position's best ids. --write
keeps the logits in a safetensors file; --expect compares with such a file (largest difference at most 5e-5).
The tokenizer is opened when the directory has one. Made with transformers 5.24, PyTorch 2.15.
"""
import argparse
import os
import sys

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dir")
    parser.add_argument("--tokens", type=int, nargs="+", default=[1, 5, 9, 2, 7, 3])
    parser.add_argument("--expect")
    parser.add_argument("--write")
    args = parser.parse_args()

    model, info = AutoModelForCausalLM.from_pretrained(
        args.dir, dtype=torch.float32, attn_implementation="eager", output_loading_info=True,
        local_files_only=True)
    model.eval()
    bad = {k: v for k, v in info.items() if v}
    if bad:
        sys.exit(f"not loaded strictly: {bad}")
    for name, value in model.state_dict().items():
        if value.is_floating_point() and not torch.isfinite(value).all():
            sys.exit(f"'{name}' holds values that are not finite")
    with torch.no_grad():
        logits = model(torch.tensor([args.tokens])).logits[0]
    print(f"{args.dir}: {type(model).__name__}, {sum(p.numel() for p in model.parameters())} parameters")
    best = logits[-1].topk(5)
    print("best ids", best.indices.tolist(), [round(v, 5) for v in best.values.tolist()])
    if args.write:
        save_file({"logits": logits.contiguous()}, args.write)
    if args.expect:
        expected = load_file(args.expect)["logits"]
        difference = (logits - expected.reshape(logits.shape)).abs().max().item()
        print(f"largest difference {difference:.3g}")
        if not difference <= 5e-5:
            sys.exit(1)
    if os.path.exists(os.path.join(args.dir, "tokenizer.json")):
        tokenizer = AutoTokenizer.from_pretrained(args.dir, local_files_only=True)
        text = "In the beginning"
        ids = tokenizer.encode(text, add_special_tokens=False)
        print(f"tokenizer with {len(tokenizer)} entries: {text!r} -> {ids}")
        if max(ids) >= model.config.vocab_size:
            sys.exit("the tokenizer has ids beyond the model's vocabulary")


if __name__ == "__main__":
    main()
