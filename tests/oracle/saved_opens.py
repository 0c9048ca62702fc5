# SPDX-License-Identifier: Apache-2.0
"""Makes golden/saved/: directories that trine saved, with what transformers computes from them.

    saved_opens.py [--trine build/trine] [--write]

For a tiny Llama and a tiny GPT-2: trains 20 steps with trine on 2 ranks, opens the saved directory in
transformers strictly (no missing, unexpected or newly made weight), checks that its tokenizer gives the ids
that 'trine tokenizer encode' gives, and computes logits, token losses and gradients on two rows of the text.
--write keeps model and results as a case for 'trine compare'; t841-saved-opens holds trine against it, and checks that
trine still writes these very bytes. Without --write the case is made in a temporary folder and compared only.
Made with PyTorch 2.15 and transformers 5.24.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

import torch
import transformers
from safetensors.torch import save_file
from transformers import AutoTokenizer

import torch_train
from opened import open_strictly

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FILES = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
COMMON = """--num-layers 2 --hidden-size 16 --num-attention-heads 4 --vocab-size 280 --seq-length 24
    --eos-token-id 0 --hidden-dropout 0 --attention-dropout 0 --ranks 2 --micro-batch-size 2
    --global-batch-size 4 --train-iters 20 --lr 1e-2"""
FAMILIES = {"llama": """--num-query-groups 2 --ffn-hidden-size 24 --position-embedding-type rope
                        --normalization RMSNorm --activation-func silu --gated-linear-unit
                        --no-add-bias-linear --untie-embeddings-and-output-weights""",
            "gpt2": ""}


def make(trine, family, work):
    """Trains with trine; returns the saved directory and the token file's prefix."""
    text, prefix = os.path.join(work, "text.txt"), os.path.join(work, "text")
    def run(*words):
        subprocess.run([trine, *words], check=True, stdout=subprocess.DEVNULL)
    with open(text, "wb") as file:
        subprocess.run(["sh", os.path.join(TESTS, "t84-corpus.sh"), "20000"], check=True, stdout=file)
    tokenizer = os.path.join(work, "tokenizer.json")
    run("tokenizer", "train", "--input", text, "--vocab-size", "280", "--output", tokenizer)
    run("data", "encode", "--input", text, "--output-prefix", prefix, "--tokenizer", tokenizer)
    run("train", *COMMON.split(), *FAMILIES[family].split(), "--train-data-path", prefix, "--tokenizer",
        tokenizer, "--save", os.path.join(work, "save"))
    return os.path.join(work, "save", "iter_0000020"), prefix


def write_case(saved, prefix, out):
    tokens = torch.tensor(torch_train.read_tokens(prefix)[:50]).reshape(2, 25)
    ids, labels = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    model = open_strictly(saved)
    logits = model(ids).logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
    loss.mean().backward()
    grads = {name: p.grad for name, p in model.named_parameters()}
    os.makedirs(os.path.join(out, "model"), exist_ok=True)
    for name in FILES:
        shutil.copy(os.path.join(saved, name), os.path.join(out, "model", name))
    save_file({"input_ids": ids, "labels": labels}, os.path.join(out, "input.safetensors"))
    save_file({"logits": logits.detach().contiguous(), "token_loss": loss.detach().reshape(ids.shape), **grads},
              os.path.join(out, "expected.safetensors"))
    with open(os.path.join(out, "case.json"), "w", encoding="utf-8") as file:
        json.dump({"made_with": f"PyTorch {torch.__version__}, transformers {transformers.__version__}",
                   "vocab_size": model.config.vocab_size, "mean_loss": loss.mean().item(),
                   "grad_norm": torch.nn.utils.get_total_norm(list(grads.values())).item()}, file, indent=1)
        file.write("\n")


def check_tokenizer(saved, work):
    tokenizer = AutoTokenizer.from_pretrained(saved, local_files_only=True)
    with open(os.path.join(work, "text.txt"), encoding="utf-8", newline="") as file:
        theirs = tokenizer.encode(file.read(), add_special_tokens=False)
    ours = torch_train.read_tokens(os.path.join(work, "text")).tolist()
    if ours != theirs or tokenizer.eos_token_id != 0:
        sys.exit(f"'{saved}': the tokenizer gives other ids, or another end than id 0")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trine", default="build/trine")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    for family in FAMILIES:
        with tempfile.TemporaryDirectory() as work:
            saved, prefix = make(args.trine, family, work)
            check_tokenizer(saved, work)
            out = os.path.join(TESTS, "golden", "saved", family) if args.write else os.path.join(work, "case")
            write_case(saved, prefix, out)
            print(f"{family}: opens in transformers", flush=True)
            subprocess.run([args.trine, "compare", out], check=True)


if __name__ == "__main__":
    main()
