# SPDX-License-Identifier: Apache-2.0
"""Writes golden cases of model families: family_cases.py OUT [NAME...]

For each family a tiny random model of transformers (CPU, float32, eager attention, no dropout), the layout
of which the headers of src/train/case.h describe: model/, input.safetensors, expected.safetensors (logits,
token losses and gradients of the mean loss) and case.json with a run of 12 AdamW steps. Norm weights and biases
are random too, so that none of them can be forgotten. Needs torch, transformers and safetensors.
"""
import json
import math
import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file

STEPS, WARMUP, PEAK, LOWEST = 12, 3, 1e-2, 1e-4
BASE = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, vocab_size=101,
            max_position_embeddings=64, bos_token_id=1, eos_token_id=2, pad_token_id=None,
            attention_dropout=0.0, initializer_range=0.02)
GROUPED = dict(BASE, num_key_value_heads=2, intermediate_size=48)

# name: (family, settings, (rows, length))
CASES = {
    "gpt_neox": ("gpt_neox", dict(BASE, intermediate_size=72, hidden_dropout=0.0,
                                  hidden_act="gelu", use_parallel_residual=True,
                                  tie_word_embeddings=False,
                                  rope_parameters={"rope_type": "default", "rope_theta": 10000.0,
                                                   "partial_rotary_factor": 0.5}), (2, 24)),
    "gpt_neox_serial": ("gpt_neox", dict(BASE, intermediate_size=72, hidden_dropout=0.0,
                                         hidden_act="gelu_fast", use_parallel_residual=False,
                                         tie_word_embeddings=False), (2, 20)),
    "phi3": ("phi3", dict(GROUPED, tie_word_embeddings=False, resid_pdrop=0.0, embd_pdrop=0.0,
                          original_max_position_embeddings=64, sliding_window=9), (2, 24)),
    "starcoder2": ("starcoder2", dict(GROUPED, use_bias=True, residual_dropout=0.0,
                                      embedding_dropout=0.0, sliding_window=None,
                                      tie_word_embeddings=True), (2, 22)),
    "granite": ("granite", dict(GROUPED, embedding_multiplier=3.0, logits_scaling=1.7,
                                residual_multiplier=0.6, attention_multiplier=0.2,
                                attention_bias=True, tie_word_embeddings=True), (2, 24)),
    "olmo2": ("olmo2", dict(GROUPED, tie_word_embeddings=False), (2, 24)),
    "gemma2": ("gemma2", dict(GROUPED, head_dim=16, num_hidden_layers=3, query_pre_attn_scalar=20,
                              sliding_window=7, final_logit_softcapping=2.5,
                              attn_logit_softcapping=1.5), (2, 24)),
    "smollm3": ("smollm3", dict(GROUPED, num_hidden_layers=4, no_rope_layer_interval=4,
                                tie_word_embeddings=True), (2, 24)),
    "gemma3_text": ("gemma3_text", dict(GROUPED, head_dim=16, num_hidden_layers=4,
                                        query_pre_attn_scalar=20, sliding_window=7,
                                        sliding_window_pattern=3), (2, 24)),
}

# What is called otherwise in the file.
FILE_NAMES = {("gpt_neox", "lm_head.weight"): "embed_out.weight"}


def make_model(family, settings, seed):
    torch.manual_seed(seed)
    config = transformers.AutoConfig.for_model(family, **settings)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    model = model.float().train()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.dim() == 1:
                parameter += 0.2 * noise
            else:
                parameter.copy_(noise * (0.6 / math.sqrt(parameter.shape[-1]) + 0.05))
    return model


def make_batch(vocabulary, rows, length, generator):
    ids = torch.randint(vocabulary, (rows, length), generator=generator)
    labels = torch.randint(vocabulary, (rows, length), generator=generator)
    labels[torch.rand((rows, length), generator=generator) < 0.12] = -100
    return ids, labels


def losses(model, batch):
    ids, labels = batch
    logits = model(input_ids=ids, use_cache=False).logits.float()
    token_loss = torch.nn.functional.cross_entropy(logits.transpose(1, 2), labels,
                                                   ignore_index=-100, reduction="none")
    return logits, token_loss, token_loss.sum() / (labels != -100).sum()


def rate(step):
    x = step - 1
    if x <= WARMUP:
        return PEAK * x / WARMUP
    return LOWEST + 0.5 * (math.cos(math.pi * (x - WARMUP) / (STEPS - WARMUP)) + 1) * (PEAK - LOWEST)


def gradient_norm(model):
    return math.sqrt(sum(float((p.grad.double() ** 2).sum()) for p in model.parameters()))


def train(model, batches):
    decay = [p for n, p in model.named_parameters() if p.dim() >= 2 and not n.endswith("bias")]
    rest = [p for n, p in model.named_parameters() if p.dim() < 2 or n.endswith("bias")]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1},
                                   {"params": rest, "weight_decay": 0.0}],
                                  lr=PEAK, betas=(0.9, 0.95), eps=1e-8)
    steps = []
    for step in range(1, STEPS + 1):
        which = 1 + (step - 1) % 2
        model.zero_grad()
        loss = losses(model, batches[which - 1])[2]
        loss.backward()
        norm = gradient_norm(model)
        coefficient = 1.0 / (norm + 1e-6)
        for parameter in model.parameters():
            if coefficient < 1:
                parameter.grad *= coefficient
        for group in optimizer.param_groups:
            group["lr"] = rate(step)
        optimizer.step()
        steps.append({"step": step, "batch": which, "lr": rate(step), "loss_f32": float(loss),
                      "grad_norm_f32": norm})
    with torch.no_grad():
        after = {f"loss_{i + 1}_f32": float(losses(model, batches[i])[2]) for i in range(2)}
    after["param_norm_f32"] = math.sqrt(sum(float((p.double() ** 2).sum())
                                            for p in model.parameters()))
    return {"optimizer": "AdamW", "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1,
            "clip_grad": 1.0, "lr_peak": PEAK, "lr_min": LOWEST, "lr_init": 0.0,
            "lr_warmup_steps": WARMUP, "lr_decay_steps": STEPS, "lr_style": "cosine",
            "steps": steps, "after": after}


def write_case(name, out):
    family, settings, (rows, length) = CASES[name]
    seed = 300 + sorted(CASES).index(name)
    model = make_model(family, settings, seed)
    folder = pathlib.Path(out) / name
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder / "model")
    (folder / "model" / "generation_config.json").unlink(missing_ok=True)
    generator = torch.Generator().manual_seed(1000 + seed)
    batches = [make_batch(settings["vocab_size"], rows, length, generator) for _ in range(2)]
    save_file({"input_ids": batches[0][0], "labels": batches[0][1], "input_ids_2": batches[1][0],
               "labels_2": batches[1][1]}, folder / "input.safetensors")
    logits, token_loss, loss = losses(model, batches[0])
    loss.backward()
    expected = {"logits": logits.detach(), "token_loss": token_loss.detach()}
    for key, parameter in model.named_parameters():
        expected[FILE_NAMES.get((family, key), key)] = parameter.grad.clone()
    save_file({k: v.contiguous() for k, v in expected.items()}, folder / "expected.safetensors")
    case = {"case": name, "family": family, "seed": seed, "torch": torch.__version__,
            "transformers": transformers.__version__, "b": rows, "s": length,
            "vocab_size": settings["vocab_size"],
            "num_parameters": sum(p.numel() for p in model.parameters()),
            "mean_loss": float(loss), "grad_norm": gradient_norm(model),
            "training": train(model, batches)}
    (folder / "case.json").write_text(json.dumps(case, indent=1) + "\n")
    print(name, case["num_parameters"], case["mean_loss"], case["grad_norm"],
          case["training"]["after"])


if __name__ == "__main__":
    torch.set_num_threads(1)
    for wanted in sys.argv[2:] or sorted(CASES):
        write_case(wanted, sys.argv[1])
