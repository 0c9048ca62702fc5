# SPDX-License-Identifier: Apache-2.0
"""Writes golden/rope.json: frequencies, attention factors, cosines and sines of rotary positions, made with
the functions of transformers 5.24 (PyTorch 2.15) that make them for its models, in float32.

    python tests/oracle/rope_tables.py > tests/golden/rope.json
"""
import json

import torch
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

POSITIONS = [0, 1, 2, 7, 63, 4095, 32767, 131071, 999999]
CASES = [
    ("plain", 64, 10000.0, 2048, 0, {"rope_type": "default"}),
    ("wide", 128, 500000.0, 8192, 0, {"rope_type": "default"}),
    ("narrow", 2, 10000.0, 64, 0, {"rope_type": "default"}),
    ("linear", 16, 10000.0, 64, 0, {"rope_type": "linear", "factor": 2.5}),
    ("dynamic short", 32, 10000.0, 64, 50, {"rope_type": "dynamic", "factor": 2.0}),
    ("dynamic long", 32, 10000.0, 64, 200, {"rope_type": "dynamic", "factor": 3.0}),
    ("llama3", 128, 500000.0, 131072, 0,
     {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
      "original_max_position_embeddings": 8192}),
    ("llama3 odd", 16, 10000.0, 256, 0,
     {"rope_type": "llama3", "factor": 5.5, "low_freq_factor": 1.5, "high_freq_factor": 3.0,
      "original_max_position_embeddings": 65}),
    ("yarn", 64, 1000000.0, 131072, 0,
     {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}),
    ("yarn untruncated", 64, 150000.0, 131072, 0,
     {"rope_type": "yarn", "factor": 32.0, "original_max_position_embeddings": 4096,
      "truncate": False}),
    ("yarn mscale", 64, 10000.0, 163840, 0,
     {"rope_type": "yarn", "factor": 40.0, "original_max_position_embeddings": 4096,
      "mscale": 0.707, "mscale_all_dim": 1.0}),
    ("yarn factor", 48, 10000.0, 4096, 0,
     {"rope_type": "yarn", "factor": 3.0, "original_max_position_embeddings": 300,
      "attention_factor": 1.25, "beta_fast": 8.0, "beta_slow": 2.0}),
]


def table(name, width, base, longest, length, rope):
    config = LlamaConfig(head_dim=width, max_position_embeddings=longest, num_attention_heads=2,
                         hidden_size=2 * width,
                         rope_parameters={**rope, "rope_theta": base})
    if rope["rope_type"] == "default":
        frequency, factor = LlamaRotaryEmbedding.compute_default_rope_parameters(config)
    elif length:
        frequency, factor = ROPE_INIT_FUNCTIONS[rope["rope_type"]](config, seq_len=length)
    else:
        frequency, factor = ROPE_INIT_FUNCTIONS[rope["rope_type"]](config)
    angle = torch.tensor(POSITIONS, dtype=torch.float32)[:, None] * frequency[None, :]
    return {"name": name, "width": width, "base": base, "max_position_embeddings": longest,
            "length": length, "rope": rope, "attention_factor": factor,
            "frequency": frequency.tolist(), "cos": (angle.cos() * factor).tolist(),
            "sin": (angle.sin() * factor).tolist()}




def short(x):
    """Nine digits name a float32."""
    return [short(y) for y in x] if isinstance(x, list) else float(f"{x:.9g}")


cases = [table(*case) for case in CASES]
for case in cases:
    for key in ("frequency", "cos", "sin"):
        case[key] = short(case[key])
print(json.dumps({"positions": POSITIONS, "cases": cases}, separators=(",", ":")))
