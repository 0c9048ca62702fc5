# SPDX-License-Identifier: Apache-2.0
"""Writes golden/gated_units.json: gated units whose halves are cut and moved. The first is transformers'
own of gpt_oss (5.24, PyTorch 2.15), the others are Megatron-LM's formula; values and gradients in float64.
No value lies on a border, where Megatron-LM's fused kernels pass a gradient and PyTorch's clamp does not.

    python tests/oracle/gated_units.py > tests/golden/gated_units.json
"""
import json

import torch
from transformers.models.gpt_oss.configuration_gpt_oss import GptOssConfig
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssExperts

ROWS, COLUMNS = 5, 13
KINDS = {
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "silu": torch.nn.functional.silu,
    "relu": torch.relu,
    "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
    "squared_relu": lambda x: torch.relu(x) ** 2,
}
CASES = [("gpt_oss", "quick_gelu", 1.5, 1.0), ("megatron", "silu", 1.25, 0.0),
         ("megatron", "quick_gelu", 7.0, 1.0), ("megatron", "gelu", 0.75, -0.5),
         ("megatron", "gelu_tanh", 1.0, 0.25), ("megatron", "relu", 2.0, 0.5),
         ("megatron", "squared_relu", 1.5, 0.0), ("megatron", "silu", 0.0, 1.0)]


def unit(source, kind, clamp, offset, gate, up):
    if source == "gpt_oss":
        experts = GptOssExperts(GptOssConfig(num_local_experts=1, intermediate_size=COLUMNS,
                                             hidden_size=2, swiglu_limit=clamp))
        assert experts.alpha == 1.702 and offset == 1.0
        return experts._apply_gate(torch.stack((gate, up), dim=-1).flatten(-2))
    if clamp:
        gate, up = gate.clamp(max=clamp), up.clamp(-clamp, clamp)
    return KINDS[kind](gate) * (up + offset)


cases = []
torch.manual_seed(11)
for source, kind, clamp, offset in CASES:
    x = (3 * torch.randn(ROWS, 2 * COLUMNS)).double()
    dy = torch.randn(ROWS, COLUMNS).double()
    x.requires_grad_()
    gate, up = x.chunk(2, dim=-1)
    y = unit(source, kind, clamp, offset, gate, up)
    y.backward(dy)
    cases.append({"kind": kind, "clamp": clamp, "offset": offset, "x": x.tolist(),
                  "dy": dy.tolist(), "y": y.tolist(), "dx": x.grad.tolist()})
print(json.dumps({"cases": cases}, separators=(",", ":")))
