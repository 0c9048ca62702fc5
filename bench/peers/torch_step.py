#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times a training step of GPT-2 124M in PyTorch, the work of `trine bench step` on bench/gpt2.yaml:
fp32, batch 4 x 512, no dropout, loss, gradient clipping and AdamW. Prints CSV like trine's.

Needs: pip install torch transformers
Usage: torch_step.py [THREADS [REPEATS]]
"""
import statistics
import sys
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel

threads = int(sys.argv[1]) if len(sys.argv) > 1 else 2
repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 5
torch.set_num_threads(threads)
torch.manual_seed(1)

config = GPT2Config(resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, attn_implementation="sdpa")
model = GPT2LMHeadModel(config).train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
ids = torch.randint(0, config.vocab_size, (4, 513))


def step():
    optimizer.zero_grad()
    logits = model(ids[:, :-1]).logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


step()
seconds = []
for _ in range(repeats):
    start = time.perf_counter()
    step()
    seconds.append(time.perf_counter() - start)
seconds.sort()
print("figure,unit,minimum,median,maximum")
print(f"torch {torch.__version__} step,s,{seconds[0]:.6g},{statistics.median(seconds):.6g},{seconds[-1]:.6g}")
