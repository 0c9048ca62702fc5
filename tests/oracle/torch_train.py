# SPDX-License-Identifier: Apache-2.0
"""What trine's training does, said again in PyTorch and NumPy: the order of a token file's samples, the
learning-rate schedule, AdamW. Nothing here comes from trine; the oracle scripts hold trine against it."""
import math
import os
import struct

import numpy as np
import torch


def read_tokens(prefix):
    """All tokens of a Megatron .bin/.idx pair with one document."""
    with open(prefix + ".idx", "rb") as file:
        magic, version, code, sequences, boundaries = struct.unpack("<9sQBQQ", file.read(34))
    assert (magic, version, sequences, boundaries) == (b"MMIDIDX\0\0", 1, 1, 2), "not one document"
    kind = {4: np.int32, 8: np.uint16}[code]
    return np.fromfile(prefix + ".bin", dtype=kind).astype(np.int64)


def gpt_samples(tokens, seq_length, seed, num_samples):
    """Megatron's GPT dataset over one document, one epoch: [num_samples, seq_length + 1]."""
    count = (len(tokens) - 1) // seq_length
    assert num_samples * seq_length + 1 <= len(tokens), "more than one epoch"
    order = np.arange(count, dtype=np.int32)
    np.random.RandomState(seed).shuffle(order)
    return np.stack([tokens[i * seq_length:(i + 1) * seq_length + 1] for i in order[:num_samples]])


def cosine(peak, minimum, warmup, decay):
    """Megatron's schedule by finished iterations x; the first iteration has x = 0."""
    def rate(x):
        if warmup and x <= warmup:
            return peak * x / warmup
        share = (min(x, decay) - warmup) / (decay - warmup)
        return minimum + 0.5 * (math.cos(math.pi * share) + 1.0) * (peak - minimum)
    return rate


def train(model, samples, batch, rate, steps, weight_decay, betas, eps=1e-8, clip=1.0, micro=None):
    """Runs steps of batch samples each and returns losses and gradient norms, both before the update."""
    micro = micro or batch
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    plain = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": weight_decay},
                                   {"params": plain, "weight_decay": 0.0}], lr=0.0, betas=betas, eps=eps)
    losses, norms = [], []
    for step in range(steps):
        rows = torch.tensor(samples[step * batch:(step + 1) * batch])
        optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for part in rows.split(micro):
            logits = model(part[:, :-1], use_cache=False).logits
            loss = torch.nn.functional.cross_entropy(
                logits.reshape(-1, logits.shape[-1]), part[:, 1:].reshape(-1), reduction="sum")
            (loss / (batch * (rows.shape[1] - 1))).backward()
            total += loss.item()
            del logits, loss
        norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()]).item()
        if clip > 0 and clip / (norm + 1e-6) < 1:
            for p in model.parameters():
                p.grad.mul_(clip / (norm + 1e-6))
        for group in optimizer.param_groups:
            group["lr"] = rate(step)
        optimizer.step()
        losses.append(total / (batch * (rows.shape[1] - 1)))
        norms.append(norm)
        if os.environ.get("VERBOSE"):
            print(f"  torch step {step + 1}: loss {losses[-1]:.6f} norm {norm:.5f}", flush=True)
    return losses, norms
