# SPDX-License-Identifier: Apache-2.0
"""Golden files of t350-golden: three tiny models by transformers, as trine names and joins their parameters.

    python tests/oracle/nn_models.py          (torch 2.15, transformers 5.24, float32, CPU, eager attention)

Writes tests/golden/nn-gpt2.bin, nn-qwen2.bin and nn-qwen3-next.bin (gated attention and dense MLPs of it): records of a 96-byte name, int64 type (0 float32, 1 int32),
int64 count, data. Per model: tokens and labels [b, s]; the parameters; "grad NAME", the gradient of the mean
loss over labels that are not -100; logits [b, s, V]; token_loss [b, s].
"""
import os
import struct

import torch
from transformers import (GPT2Config, GPT2LMHeadModel, Qwen2Config, Qwen2ForCausalLM, Qwen3NextConfig,
                          Qwen3NextForCausalLM)

ROWS, LENGTH, VOCAB = 3, 8, 37
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden")


def gpt2():
    model = GPT2LMHeadModel(GPT2Config(
        vocab_size=VOCAB, n_positions=16, n_embd=20, n_layer=2, n_head=4, n_inner=28,
        activation_function="gelu_new", resid_pdrop=0, embd_pdrop=0, attn_pdrop=0,
        layer_norm_epsilon=1e-5, attn_implementation="eager"))

    def join(get):
        out = {"embedding.word_embeddings.weight": get("transformer.wte.weight"),
               "embedding.position_embeddings.weight": get("transformer.wpe.weight")}
        for i in range(2):
            to, at = f"decoder.layers.{i}.", f"transformer.h.{i}."
            for ours, theirs in (("input_layernorm", "ln_1"), ("pre_mlp_layernorm", "ln_2")):
                for kind in ("weight", "bias"):
                    out[f"{to}{ours}.{kind}"] = get(f"{at}{theirs}.{kind}")
            for ours, theirs in (("self_attention.linear_qkv", "attn.c_attn"),
                                 ("self_attention.linear_proj", "attn.c_proj"),
                                 ("mlp.linear_fc1", "mlp.c_fc"), ("mlp.linear_fc2", "mlp.c_proj")):
                out[f"{to}{ours}.weight"] = get(f"{at}{theirs}.weight").T
                out[f"{to}{ours}.bias"] = get(f"{at}{theirs}.bias")
        for kind in ("weight", "bias"):
            out[f"decoder.final_layernorm.{kind}"] = get(f"transformer.ln_f.{kind}")
        return out

    return model, join


def qwen2():
    model = Qwen2ForCausalLM(Qwen2Config(
        vocab_size=VOCAB, hidden_size=20, intermediate_size=28, num_hidden_layers=2,
        num_attention_heads=8, num_key_value_heads=4, head_dim=6, hidden_act="silu",
        max_position_embeddings=16, rms_norm_eps=1e-5, tie_word_embeddings=False,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        attention_dropout=0.0, attn_implementation="eager"))

    def join(get):
        out = {"embedding.word_embeddings.weight": get("model.embed_tokens.weight")}
        for i in range(2):
            to, at = f"decoder.layers.{i}.", f"model.layers.{i}."
            out[to + "input_layernorm.weight"] = get(at + "input_layernorm.weight")
            for kind in ("weight", "bias"):
                out[f"{to}self_attention.linear_qkv.{kind}"] = torch.cat(
                    [get(f"{at}self_attn.{part}_proj.{kind}") for part in "qkv"])
            out[to + "self_attention.linear_proj.weight"] = get(at + "self_attn.o_proj.weight")
            out[to + "pre_mlp_layernorm.weight"] = get(at + "post_attention_layernorm.weight")
            out[to + "mlp.linear_fc1.weight"] = torch.cat(
                [get(at + "mlp.gate_proj.weight"), get(at + "mlp.up_proj.weight")])
            out[to + "mlp.linear_fc2.weight"] = get(at + "mlp.down_proj.weight")
        out["decoder.final_layernorm.weight"] = get("model.norm.weight")
        out["output_layer.weight"] = get("lm_head.weight")
        return out

    return model, join


def qwen3_next():
    heads, width = 8, 6
    model = Qwen3NextForCausalLM(Qwen3NextConfig(
        vocab_size=VOCAB, hidden_size=20, intermediate_size=28, num_hidden_layers=2,
        num_attention_heads=heads, num_key_value_heads=4, head_dim=width, hidden_act="silu",
        max_position_embeddings=16, rms_norm_eps=1e-5, tie_word_embeddings=False, attention_bias=True,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.4},
        layer_types=["full_attention"] * 2, mlp_only_layers=[0, 1], attention_dropout=0.0,
        attn_implementation="eager"))

    # q_proj has the gate of each head behind its query.
    def query_and_gate(value):
        value = value.reshape(heads, 2, width, *value.shape[1:])
        return [value[:, 0].flatten(0, 1), value[:, 1].flatten(0, 1)]

    def join(get):
        out = {"embedding.word_embeddings.weight": get("model.embed_tokens.weight")}
        for i in range(2):
            to, at = f"decoder.layers.{i}.", f"model.layers.{i}."
            out[to + "input_layernorm.weight"] = get(at + "input_layernorm.weight")
            for kind in ("weight", "bias"):
                out[f"{to}self_attention.linear_qkv.{kind}"] = torch.cat(
                    query_and_gate(get(f"{at}self_attn.q_proj.{kind}")) +
                    [get(f"{at}self_attn.{part}_proj.{kind}") for part in "kv"])
                out[f"{to}self_attention.linear_proj.{kind}"] = get(f"{at}self_attn.o_proj.{kind}")
            for part in "qk":
                out[f"{to}self_attention.{part}_layernorm.weight"] = get(
                    f"{at}self_attn.{part}_norm.weight")
            out[to + "pre_mlp_layernorm.weight"] = get(at + "post_attention_layernorm.weight")
            out[to + "mlp.linear_fc1.weight"] = torch.cat(
                [get(at + "mlp.gate_proj.weight"), get(at + "mlp.up_proj.weight")])
            out[to + "mlp.linear_fc2.weight"] = get(at + "mlp.down_proj.weight")
        out["decoder.final_layernorm.weight"] = get("model.norm.weight")
        out["output_layer.weight"] = get("lm_head.weight")
        return out

    return model, join


def write(name, model, join):
    torch.manual_seed(20)
    parameters = dict(model.named_parameters())
    for key, value in parameters.items():
        norm = ("norm" in key or "ln_" in key) and key.endswith("weight")
        with torch.no_grad():
            value.copy_(torch.randn_like(value) * 0.3 + (1.0 if norm else 0.0))
    tokens = torch.randint(0, VOCAB, (ROWS, LENGTH))
    labels = torch.randint(0, VOCAB, (ROWS, LENGTH))
    labels[torch.rand(ROWS, LENGTH) < 0.2] = -100
    logits = model(input_ids=tokens).logits
    loss = torch.nn.functional.cross_entropy(logits.reshape(-1, VOCAB), labels.reshape(-1),
                                             ignore_index=-100, reduction="none")
    (loss.sum() / (labels >= 0).sum()).backward()
    records = {"tokens": tokens.int(), "labels": labels.int()}
    records.update(join(lambda key: parameters[key].detach()))
    grads = join(lambda key: parameters[key].grad)
    records.update({"grad " + key: value for key, value in grads.items()})
    records.update({"logits": logits.detach(), "token_loss": loss.detach()})
    with open(os.path.join(GOLDEN, name), "wb") as file:
        for key, value in records.items():
            data = value.contiguous().numpy()
            file.write(struct.pack("<96sqq", key.encode(), int(data.dtype.kind == "i"), data.size))
            file.write(data.tobytes())


write("nn-gpt2.bin", *gpt2())
write("nn-qwen2.bin", *qwen2())
write("nn-qwen3-next.bin", *qwen3_next())
