# SPDX-License-Identifier: Apache-2.0
"""Holds trine against transformers on a real model, SmolLM2-135M-Instruct, and a real text.

    real_model.py --model DIR --text FILE [--trine build/trine] [--work out/real_model] [PART ...]

DIR is the model as a Hugging Face directory with its tokenizer, FILE the King James text. Parts (all by
default):

  evaluate   'trine evaluate' on 8,192 tokens of the text, in windows of 1,024: every token's loss
  generate   greedy 'trine generate' of 64 tokens from five prompts: token for token; where the best two
             logits lie within 1e-4 either is right
  finetune   20 steps on the text: losses within 1e-3 of PyTorch's on 1 rank, tp 3, pp 2 and dp 2
  refuse     tp 2 is refused (9 heads, 3 key/value groups), with the sizes that work, exit code 2

The text is encoded by 'trine data encode', and its ids are compared with those of the model's own tokenizer.
The order of the fine-tuning samples is computed here as Megatron's GPT dataset has it (torch_train.py), so the
data order is under test too. Exits 1 when anything lies outside. Needs about 6 GB of memory; made with
PyTorch 2.15 and transformers 5.24.
"""
import argparse
import json
import math
import os
import subprocess
import sys

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import torch_train

TOKENS, WINDOW = 8192, 1024
PROMPTS = ["The capital of France is", "In the beginning God created the heaven and the earth.",
           "def fibonacci(n):\n    ", "Once upon a time, in a village by the sea,",
           "Q: What is 12 times 7?\nA:"]
NEW_TOKENS, TIE = 64, 1e-4
STEPS, SEQ, BATCH, MICRO, SEED = 20, 64, 4, 2, 1234
PEAK, MINIMUM, WARMUP, DECAY, BETAS = 1e-4, 1e-5, 4, 0.1, (0.9, 0.95)
GRIDS = {"one rank": [], "tp 3": ["--ranks", "3", "--tensor-model-parallel-size", "3"],
         "pp 2": ["--ranks", "2", "--pipeline-model-parallel-size", "2"], "dp 2": ["--ranks", "2"]}


class Proof:
    def __init__(self, args):
        self.args, self.failed = args, False
        self.prefix = os.path.join(args.work, "text")
        self.tokenizer = AutoTokenizer.from_pretrained(args.model, local_files_only=True)

    def verdict(self, text, good):
        self.failed = self.failed or not good
        print(f"{'ok  ' if good else 'FAIL'}  {text}", flush=True)

    def trine(self, *words, code=0):
        done = subprocess.run([self.args.trine, *words], capture_output=True, text=True)
        if done.returncode != code:
            sys.exit(f"trine {' '.join(words)}: exit {done.returncode}, not {code}\n{done.stderr}")
        return done

    def model(self):
        return AutoModelForCausalLM.from_pretrained(
            self.args.model, dtype=torch.float32, attn_implementation="eager", local_files_only=True)

    def encode(self):
        os.makedirs(self.args.work, exist_ok=True)
        source = os.path.join(self.args.work, "text.txt")
        with open(self.args.text, encoding="utf-8", newline="") as file:
            text = file.read(64 * 1024)
        text = text[:text.rindex("\n") + 1]
        with open(source, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        self.trine("data", "encode", "--input", source, "--output-prefix", self.prefix, "--tokenizer",
                   os.path.join(self.args.model, "tokenizer.json"))
        self.tokens = torch_train.read_tokens(self.prefix)
        theirs = self.tokenizer.encode(text, add_special_tokens=False)
        self.verdict(f"encode: {len(self.tokens)} ids of {len(text.encode())} bytes equal the tokenizer's",
                     self.tokens.tolist() == theirs)

    def evaluate(self):
        path = os.path.join(self.args.work, "token_loss.txt")
        out = self.trine("evaluate", "--load", self.args.model, "--tokens", self.prefix, "--seq-length",
                         str(WINDOW), "--max-tokens", str(TOKENS), "--per-token", path).stdout
        ours = np.loadtxt(path)[:, 2]
        model, theirs = self.model().eval(), []
        with torch.no_grad():
            for start in range(0, TOKENS, WINDOW):
                row = torch.tensor(self.tokens[start:start + WINDOW + 1])
                logits = model(row[None, :-1], use_cache=False).logits[0]
                theirs.append(torch.nn.functional.cross_entropy(logits, row[1:], reduction="none"))
        theirs = torch.cat(theirs).double().numpy()
        mean = float(out.split("loss ")[1].split()[0])
        worst = np.abs(ours - theirs).max()
        self.verdict(f"evaluate: {len(ours)} tokens, mean loss {mean:.8f}, transformers {theirs.mean():.8f}; "
                     f"largest difference of a token {worst:.2e}",
                     len(ours) == TOKENS and worst < 1e-3 and abs(mean - theirs.mean()) < 1e-5)

    def generate(self):
        model = self.model().eval()
        for prompt in PROMPTS:
            ids = self.tokenizer.encode(prompt, add_special_tokens=False)
            out = self.trine("generate", "--load", self.args.model, "--prompt", prompt, "--temperature", "0",
                             "--max-new-tokens", str(NEW_TOKENS), "--print-ids").stdout
            ours = [int(word) for word in out.split()]
            with torch.no_grad():
                theirs = model.generate(torch.tensor([ids]), max_new_tokens=NEW_TOKENS, do_sample=False,
                                        pad_token_id=0)[0, len(ids):].tolist()
                logits = model(torch.tensor([ids + ours])).logits[0, len(ids) - 1:-1]
            best = logits.topk(2).values
            chosen = logits.gather(1, torch.tensor(ours)[:, None])[:, 0]
            behind = (best[:, 0] - chosen).max().item()
            closest = (best[:, 0] - best[:, 1]).min().item()
            self.verdict(f"generate: {prompt[:24]!r}: {len(ours)} tokens, "
                         f"{'equal' if ours == theirs else 'another choice'}, closest tie {closest:.1e}, "
                         f"furthest behind the best {behind:.1e}",
                         len(ours) == len(theirs) and (ours == theirs or behind <= TIE))

    def finetune(self):
        samples = torch_train.gpt_samples(self.tokens, SEQ, SEED, STEPS * BATCH)
        rate = torch_train.cosine(PEAK, MINIMUM, WARMUP, STEPS)
        model = self.model().train()
        theirs, norms = torch_train.train(model, samples, BATCH, rate, STEPS, DECAY, BETAS, micro=MICRO)
        del model
        print("      PyTorch's losses " + " ".join(f"{loss:.5f}" for loss in theirs), flush=True)
        for name, grid in GRIDS.items():
            log = os.path.join(self.args.work, f"log-{name.replace(' ', '')}.json")
            if os.path.exists(log):
                os.remove(log)
            self.trine("train", "--shape-from", self.args.model, "--load", self.args.model, "--finetune",
                       "--train-data-path", self.prefix, "--seq-length", str(SEQ), "--hidden-dropout", "0",
                       "--attention-dropout", "0", "--micro-batch-size", str(MICRO), "--global-batch-size",
                       str(BATCH), "--train-iters", str(STEPS), "--seed", str(SEED), "--lr", str(PEAK),
                       "--min-lr", str(MINIMUM), "--lr-decay-style", "cosine", "--lr-warmup-iters",
                       str(WARMUP), "--weight-decay", str(DECAY), "--adam-beta1", str(BETAS[0]),
                       "--adam-beta2", str(BETAS[1]), "--clip-grad", "1.0", "--log-json", log, *grid)
            with open(log, encoding="utf-8") as file:
                steps = [json.loads(line) for line in file]
            loss = max(abs(step["lm_loss"] - value) for step, value in zip(steps, theirs))
            norm = max(abs(step["grad_norm"] / value - 1) for step, value in zip(steps, norms))
            same_rate = all(math.isclose(step["learning_rate"], rate(i), rel_tol=1e-6, abs_tol=1e-12)
                            for i, step in enumerate(steps))
            self.verdict(f"finetune: {name}: {len(steps)} steps, loss {steps[0]['lm_loss']:.5f} to "
                         f"{steps[-1]['lm_loss']:.5f}, largest difference {loss:.2e}, gradient norm "
                         f"(relative) {norm:.2e}", len(steps) == STEPS and loss < 1e-3 and same_rate)

    def refuse(self):
        done = self.trine("plan", "--shape-from", self.args.model, "--seq-length", str(SEQ), "--ranks", "2",
                          "--tensor-model-parallel-size", "2", code=2)
        line = done.stderr.strip().splitlines()
        self.verdict("refuse: tp 2: " + " / ".join(line), "9" in done.stderr and "3" in done.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--text", required=True)
    parser.add_argument("--trine", default="build/trine")
    parser.add_argument("--work", default="out/real_model")
    parser.add_argument("parts", nargs="*", default=[])
    args = parser.parse_args()
    torch.set_num_threads(1)
    proof = Proof(args)
    proof.encode()
    for part in args.parts or ["refuse", "evaluate", "generate", "finetune"]:
        getattr(proof, part)()
    sys.exit(1 if proof.failed else 0)


if __name__ == "__main__":
    main()
