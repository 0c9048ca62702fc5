# SPDX-License-Identifier: Apache-2.0
"""Golden files of t350-golden for the variants that no small model of transformers has: the shapes of
harness/nn_cases.c written down once more as formulas, in float64 with PyTorch's own derivatives.

    python tests/oracle/nn_variants.py          (torch 2.15)

Writes tests/golden/nn-NAME.bin, in the format that nn_models.py describes.
"""
import math
import os
import struct

import torch

ROWS, LENGTH, VOCAB, EPS = 3, 8, 37, 1e-5
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden")

BASE = dict(hidden=20, heads=8, groups=(4, 4), width=6, ffn=(28, 28), norm="rms", one_plus=False,
            act="silu", gated=True, qkv_bias=True, proj_bias=False, mlp_bias=False, place="pre",
            parallel=False, residual=1.0, embedding=1.0, logits=1.0, cap=None, turn=6,
            interleaved=False, turns=(True, True), yarn=None, axes=None, head_norm=None, scale=None,
            score_cap=None, window=None, sink=None, clamp=None, offset=0.0, gate=False)
VARIANTS = {
    "parallel": dict(parallel=True, one_plus=True, norm="layer", act="quick", gated=False,
                     qkv_bias=False, mlp_bias=True),
    "sandwich": dict(place="sandwich", one_plus=True, act="gelu_tanh", residual=0.7,
                     embedding=1.3 * math.sqrt(20), logits=1.7, cap=1.5),
    "post": dict(place="post", head_norm="across", act="quick", qkv_bias=False, proj_bias=True,
                 turns=(False, True)),
    "normed": dict(head_norm="rms", sink="learned", score_cap=1.5, window=3, yarn=(2, 8, 0.9, 0.1)),
    "l2": dict(head_norm="l2", sink="zero", scale=0.7, axes=(1, 1, 1), interleaved=True),
    "heads": dict(norm="layer", head_norm="layer", one_plus=True, act="relu2", width=5, turn=4),
    "mixed": dict(qkv_bias=True, proj_bias=True, mlp_bias=True, groups=("linear", 8),
                  ffn=(12, None)),
    "cut": dict(act="quick", clamp=2.6, offset=1.0),
    "one": dict(hidden=3, heads=1, groups=(1, 1), width=1, ffn=(1, 1), turns=(False, False)),
    "gated": dict(gate=True, head_norm="rms", one_plus=True, proj_bias=True, turn=2),
}

ACTIVATIONS = {
    "silu": lambda x: x / (1 + torch.exp(-x)),
    "quick": lambda x: x / (1 + torch.exp(-1.702 * x)),
    "relu2": lambda x: torch.where(x > 0, x, 0 * x) ** 2,
    "gelu_tanh": lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) *
                                                     (x + 0.044715 * x ** 3))),
}


class Model:
    def __init__(self, c):
        self.c, self.values = c, {}
        h, D = c["hidden"], c["width"]
        self.matrix("embedding.word_embeddings.weight", VOCAB, h)
        for i in range(2):
            at = f"decoder.layers.{i}."
            groups, ffn = c["groups"][i], c["ffn"][i]
            if groups == "linear":
                self.linear(at + "self_attention", h, h, c["proj_bias"])
            else:
                q, kv = c["heads"] * D, groups * D
                self.linear(at + "self_attention.linear_qkv", (1 + c["gate"]) * q + 2 * kv, h,
                            c["qkv_bias"])
                self.linear(at + "self_attention.linear_proj", h, q, c["proj_bias"])
                if c["head_norm"] in ("rms", "layer"):
                    self.norm_weight(at + "self_attention.q_layernorm", D, c["head_norm"])
                    self.norm_weight(at + "self_attention.k_layernorm", D, c["head_norm"])
                if c["head_norm"] == "across":
                    self.norm_weight(at + "self_attention.q_layernorm", q, "rms")
                    self.norm_weight(at + "self_attention.k_layernorm", kv, "rms")
                if c["sink"] == "learned":
                    self.vector(at + "self_attention.core_attention.softmax_offset", c["heads"])
            if ffn:
                self.linear(at + "mlp.linear_fc1", 2 * ffn if c["gated"] else ffn, h, c["mlp_bias"])
                self.linear(at + "mlp.linear_fc2", h, ffn, c["mlp_bias"])
            for half, norm, post in ((groups, "input", "post_self_attn"), (ffn, "pre_mlp", "post_mlp")):
                if half and c["place"] != "post":
                    self.norm_weight(f"{at}{norm}_layernorm", h, c["norm"])
                if half and c["place"] != "pre":
                    self.norm_weight(f"{at}{post}_layernorm", h, c["norm"])
        self.norm_weight("decoder.final_layernorm", h, c["norm"])
        self.matrix("output_layer.weight", VOCAB, h)

    # Float32 values, computed with in float64.
    def make(self, name, mean, *dims):
        value = (torch.randn(*dims) * 0.3 + mean).double()
        self.values[name] = value.requires_grad_()

    def matrix(self, name, rows, columns):
        self.make(name, 0.0, rows, columns)

    def vector(self, name, size):
        self.make(name, 0.0, size)

    def linear(self, name, rows, columns, bias):
        self.matrix(name + ".weight", rows, columns)
        if bias:
            self.vector(name + ".bias", rows)

    def norm_weight(self, name, size, kind):
        self.make(name + ".weight", 0.0 if self.c["one_plus"] else 1.0, size)
        if kind == "layer":
            self.vector(name + ".bias", size)

    def apply_linear(self, name, x):
        y = x @ self.values[name + ".weight"].T
        return y + self.values[name + ".bias"] if name + ".bias" in self.values else y

    def apply_norm(self, name, x, kind):
        if kind == "layer":
            x = x - x.mean(-1, keepdim=True)
        y = x / torch.sqrt((x * x).mean(-1, keepdim=True) + EPS)
        if kind == "l2":
            return y
        weight = self.values[name + ".weight"] + (1 if self.c["one_plus"] else 0)
        return y * weight + self.values[name + ".bias"] if kind == "layer" else y * weight

    # x [b, s, heads, width]
    def turn(self, x):
        c = self.c
        d = c["turn"]
        pairs = torch.arange(d // 2, dtype=torch.float64)
        frequency, factor = 10000.0 ** (-2 * pairs / d), 1.0
        if c["yarn"]:
            stretch, original, fast, slow = c["yarn"]
            at = lambda turns: d * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(10000))
            low, high = max(math.floor(at(fast)), 0), min(math.ceil(at(slow)), d - 1)
            ramp = ((pairs - low) / (high - low if high > low else 0.001)).clamp(0, 1)
            frequency = frequency / stretch * ramp + frequency * (1 - ramp)
            factor = 0.1 * math.log(stretch) + 1
        i = torch.arange(ROWS * LENGTH)
        if c["axes"]:
            rows = [((i * (axis + 1) + 2 * axis) % LENGTH).reshape(ROWS, LENGTH) for axis in range(3)]
            which = [axis for axis in range(3) for _ in range(c["axes"][axis])]
            position = torch.stack([rows[axis] for axis in which], dim=-1)
        else:
            position = (i % LENGTH).reshape(ROWS, LENGTH, 1)
        angle = (position.double() * frequency)[:, :, None, :]
        cos, sin = torch.cos(angle) * factor, torch.sin(angle) * factor
        turning, rest = x[..., :d], x[..., d:]
        if c["interleaved"]:
            one, two = turning[..., 0::2], turning[..., 1::2]
            turned = torch.stack((one * cos - two * sin, two * cos + one * sin), dim=-1).flatten(-2)
        else:
            one, two = turning[..., :d // 2], turning[..., d // 2:]
            turned = torch.cat((one * cos - two * sin, two * cos + one * sin), dim=-1)
        return torch.cat((turned, rest), dim=-1)

    def head_norms(self, at, q, k):
        kind = self.c["head_norm"]
        if not kind:
            return q, k
        if kind == "across":
            return (self.apply_norm(at + "q_layernorm", q.flatten(-2), "rms").reshape(q.shape),
                    self.apply_norm(at + "k_layernorm", k.flatten(-2), "rms").reshape(k.shape))
        return self.apply_norm(at + "q_layernorm", q, kind), self.apply_norm(at + "k_layernorm", k, kind)

    def attention(self, layer, x):
        c, at = self.c, f"decoder.layers.{layer}.self_attention."
        H, G, D = c["heads"], c["groups"][layer], c["width"]
        if G == "linear":
            return self.apply_linear(at[:-1], x)
        gates = H if c["gate"] else 0
        qkv = self.apply_linear(at + "linear_qkv", x).reshape(ROWS, LENGTH, H + gates + 2 * G, D)
        q, gate, k, v = qkv.split((H, gates, G, G), dim=2)
        q, k = self.head_norms(at, q, k)
        if c["turns"][layer]:
            q, k = self.turn(q), self.turn(k)
        k, v = (t.repeat_interleave(H // G, dim=2) for t in (k, v))
        scores = torch.einsum("bihd,bjhd->bhij", q, k) * (c["scale"] or D ** -0.5)
        if c["score_cap"]:
            scores = c["score_cap"] * torch.tanh(scores / c["score_cap"])
        i, j = torch.arange(LENGTH)[:, None], torch.arange(LENGTH)[None, :]
        seen = (j <= i) & (i - j < (c["window"] or LENGTH))
        weights = torch.where(seen, torch.exp(scores), 0 * scores)
        total = weights.sum(-1, keepdim=True)
        if c["sink"] == "zero":
            total = total + 1
        if c["sink"] == "learned":
            total = total + torch.exp(self.values[at + "core_attention.softmax_offset"])[:, None, None]
        context = torch.einsum("bhij,bjhd->bihd", weights / total, v)
        if c["gate"]:
            context = context / (1 + torch.exp(-gate))
        return self.apply_linear(at + "linear_proj", context.flatten(-2))

    def mlp(self, layer, x):
        c, at = self.c, f"decoder.layers.{layer}.mlp."
        hidden, act = self.apply_linear(at + "linear_fc1", x), ACTIVATIONS[c["act"]]
        if not c["gated"]:
            return self.apply_linear(at + "linear_fc2", act(hidden))
        gate, up = hidden.chunk(2, dim=-1)
        if c["clamp"]:
            gate, up = gate.clamp(max=c["clamp"]), up.clamp(-c["clamp"], c["clamp"])
        return self.apply_linear(at + "linear_fc2", act(gate) * (up + c["offset"]))

    def half(self, layer, x, body, norm, post):
        c, at = self.c, f"decoder.layers.{layer}."
        y = body(layer, x if c["place"] == "post" else self.apply_norm(f"{at}{norm}_layernorm", x,
                                                                       c["norm"]))
        return y if c["place"] == "pre" else self.apply_norm(f"{at}{post}_layernorm", y, c["norm"])

    def logits(self, tokens):
        c = self.c
        x = self.values["embedding.word_embeddings.weight"][tokens] * c["embedding"]
        for layer in range(2):
            start = x
            x = x + c["residual"] * self.half(layer, x, self.attention, "input", "post_self_attn")
            if c["ffn"][layer]:
                source = start if c["parallel"] else x
                x = x + c["residual"] * self.half(layer, source, self.mlp, "pre_mlp", "post_mlp")
        x = self.apply_norm("decoder.final_layernorm", x, c["norm"])
        y = x @ self.values["output_layer.weight"].T / c["logits"]
        return c["cap"] * torch.tanh(y / c["cap"]) if c["cap"] else y


def write(name, seed):
    torch.manual_seed(seed)
    model = Model({**BASE, **VARIANTS[name]})
    tokens = torch.randint(0, VOCAB, (ROWS, LENGTH))
    labels = torch.randint(0, VOCAB, (ROWS, LENGTH))
    labels[torch.rand(ROWS, LENGTH) < 0.2] = -100
    logits = model.logits(tokens)
    loss = torch.nn.functional.cross_entropy(logits.reshape(-1, VOCAB), labels.reshape(-1),
                                             ignore_index=-100, reduction="none")
    (loss.sum() / (labels >= 0).sum()).backward()
    records = {"tokens": tokens.int(), "labels": labels.int()}
    records.update({key: value.detach() for key, value in model.values.items()})
    records.update({"grad " + key: value.grad for key, value in model.values.items()})
    records.update({"logits": logits.detach(), "token_loss": loss.detach()})
    with open(os.path.join(GOLDEN, f"nn-{name}.bin"), "wb") as file:
        for key, value in records.items():
            data = (value if value.dtype == torch.int32 else value.float()).contiguous().numpy()
            assert len(key) < 96
            file.write(struct.pack("<96sqq", key.encode(), int(data.dtype.kind == "i"), data.size))
            file.write(data.tobytes())


for number, variant in enumerate(VARIANTS):
    write(variant, 30 + number)
