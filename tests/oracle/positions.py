# SPDX-License-Identifier: Apache-2.0
"""Writes golden/positions.json: vectors turned by positions, small and very late, and one attention layer whose
pairs turn by three rows of positions. Made with the modules of transformers 5.24 (PyTorch 2.15) in float32:
Llama (halves), GPT-NeoX (a part of the channels), GLM (neighbouring channels, a part), Qwen2-VL (sections).

    python tests/oracle/positions.py > tests/golden/positions.json
"""
import json

import torch
from transformers import GlmConfig, GPTNeoXConfig, LlamaConfig
from transformers.models.glm import modeling_glm
from transformers.models.gpt_neox import modeling_gpt_neox
from transformers.models.llama import modeling_llama
from transformers.models.qwen2_vl import modeling_qwen2_vl
from transformers.models.qwen2_vl.configuration_qwen2_vl import Qwen2VLTextConfig

POSITIONS = [0, 1, 2, 511, 131071, 999999]
LENGTH = 1000000  # of the longest sample, for the dynamic form
D = 8


def llama(rope):
    config = LlamaConfig(head_dim=D, num_attention_heads=1, hidden_size=D, rope_parameters=rope,
                         max_position_embeddings=64)
    return modeling_llama.LlamaRotaryEmbedding(config), modeling_llama


def gpt_neox(rope):
    config = GPTNeoXConfig(num_attention_heads=1, hidden_size=D, rope_parameters=rope)
    return modeling_gpt_neox.GPTNeoXRotaryEmbedding(config), modeling_gpt_neox


def glm(rope):
    config = GlmConfig(head_dim=D, num_attention_heads=1, hidden_size=D, rope_parameters=rope)
    return modeling_glm.GlmRotaryEmbedding(config), modeling_glm


def qwen2_vl(rope):
    config = Qwen2VLTextConfig(num_attention_heads=1, hidden_size=D, rope_parameters=rope)
    return modeling_qwen2_vl.Qwen2VLRotaryEmbedding(config), modeling_qwen2_vl


def plain(base, **more):
    return {"rope_type": "default", "rope_theta": base, **more}


CASES = [
    ("halves", llama, plain(10000.0)),
    ("halves, wide base", llama, plain(500000.0)),
    ("a part", gpt_neox, plain(10000.0, partial_rotary_factor=0.5)),
    ("neighbours", glm, plain(10000.0, partial_rotary_factor=1.0)),
    ("neighbours, a part", glm, plain(10000.0, partial_rotary_factor=0.75)),
    ("sections", qwen2_vl, plain(10000.0, mrope_section=[1, 2, 1])),
    ("sections, two of three", qwen2_vl, plain(1000000.0, mrope_section=[2, 0, 2])),
    ("sections, the last alone", qwen2_vl, plain(10000.0, mrope_section=[0, 0, 4])),
    ("linear", llama, {"rope_type": "linear", "rope_theta": 10000.0, "factor": 2.5}),
    ("dynamic", llama, {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 3.0}),
    ("llama3", llama, {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0,
                       "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                       "original_max_position_embeddings": 8192}),
    ("yarn", llama, {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0,
                     "original_max_position_embeddings": 4096}),
    ("yarn with a factor", llama, {"rope_type": "yarn", "rope_theta": 150000.0, "factor": 32.0,
                                   "original_max_position_embeddings": 4096, "truncate": False,
                                   "attention_factor": 1.25}),
]


def turned(name, make, rope):
    rotary, model = make(rope)
    rows = torch.tensor([[POSITIONS[(i * (axis + 1) + 2 * axis) % len(POSITIONS)] if axis else p
                          for i, p in enumerate(POSITIONS)] for axis in range(3)])
    axes = "mrope_section" in rope
    position_ids = rows[:, None, :] if axes else rows[:1]
    x = torch.randn(1, 1, len(POSITIONS), D)
    if rope["rope_type"] == "dynamic":
        rotary(x, torch.tensor([[LENGTH - 1]]))
    cos, sin = rotary(x, position_ids)
    y, _ = model.apply_rotary_pos_emb(x, x, cos, sin)
    return {"name": name, "rope": rope, "interleaved": make is glm, "positions": rows.tolist(),
            "x": x[0, 0].tolist(), "y": y[0, 0].tolist()}


def attention():
    """A layer of two heads that share keys and values, causal, with gradients for a given dy."""
    b, s, hidden, heads = 2, 7, 12, 2
    config = Qwen2VLTextConfig(hidden_size=hidden, num_attention_heads=heads, num_key_value_heads=1,
                               num_hidden_layers=1, attention_dropout=0.0,
                               rope_parameters=plain(100.0, mrope_section=[1, 1, 1]))
    config._attn_implementation = "eager"
    layer = modeling_qwen2_vl.Qwen2VLAttention(config, layer_idx=0)
    for p in layer.parameters():
        p.data.normal_(0, 0.4)
    positions = torch.stack([torch.arange(s).expand(b, s),
                             torch.randint(0, 200, (b, s)), torch.randint(0, 200, (b, s))])
    x = torch.randn(b, s, hidden, requires_grad=True)
    dy = torch.randn(b, s, hidden)
    mask = torch.full((s, s), float("-inf")).triu(1)[None, None]
    rotary = modeling_qwen2_vl.Qwen2VLRotaryEmbedding(config)
    y, _ = layer(x, attention_mask=mask, position_embeddings=rotary(x, positions))
    y.backward(dy)
    linears = [layer.q_proj, layer.k_proj, layer.v_proj]
    return {"positions": positions.reshape(3, -1).tolist(), "x": x.tolist(), "dy": dy.tolist(),
            "y": y.tolist(), "dx": x.grad.tolist(),
            "weight": torch.cat([l.weight for l in linears]).tolist(),
            "bias": torch.cat([l.bias for l in linears]).tolist(),
            "dweight": torch.cat([l.weight.grad for l in linears]).tolist(),
            "dbias": torch.cat([l.bias.grad for l in linears]).tolist(),
            "proj": layer.o_proj.weight.tolist(), "dproj": layer.o_proj.weight.grad.tolist()}


def short(x):
    """Nine digits name a float32."""
    if isinstance(x, list):
        return [short(y) for y in x]
    return float(f"{x:.9g}") if isinstance(x, float) else x


torch.manual_seed(5)
cases = [turned(*case) for case in CASES]
for case in cases:
    case["x"], case["y"] = short(case["x"]), short(case["y"])
layer = {key: short(value) for key, value in attention().items()}
print(json.dumps({"length": LENGTH, "cases": cases, "attention": layer}, separators=(",", ":")))
