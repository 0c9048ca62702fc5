# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/scores/dynamic.json: dynamic_scores.py GOLDEN

The llama of GOLDEN/hf with dynamic scaling (factor 4 beyond its 64 positions), by transformers in float64: ln p of each
token given those before it, for sequences on both sides of 64, each by a model that has seen no other one (transformers
keeps the longest length that it has seen); and the likeliest continuation of a prompt, token by token with a cache, far
beyond 64. Made with PyTorch 2.15 and transformers 5.24.
"""
import json
import pathlib
import random
import sys

import torch
import transformers

LENGTHS = [20, 64, 65, 66, 81, 101, 90]
PROMPT, NEW = 60, 40


def fresh(path):
    config = transformers.AutoConfig.from_pretrained(path)
    theta = config.rope_parameters["rope_theta"]
    config.rope_parameters = {"rope_type": "dynamic", "factor": 4.0, "rope_theta": theta}
    return transformers.AutoModelForCausalLM.from_pretrained(
        path, config=config, dtype=torch.float64, attn_implementation="eager").eval()


def main():
    golden = pathlib.Path(sys.argv[1])
    path = golden / "hf" / "llama" / "model"
    draw = random.Random("dynamic scaling")
    lines = []
    with torch.no_grad():
        for length in LENGTHS:
            model = fresh(path)
            ids = [draw.randrange(model.config.vocab_size) for _ in range(length)]
            values = model(torch.tensor([ids[:-1]]), use_cache=False).logits[0].log_softmax(-1)
            values = values.gather(1, torch.tensor(ids[1:])[:, None])[:, 0].tolist()
            lines.append({"tokens": ids, "logprobs": [0.0] + [round(v, 9) for v in values]})
        model, cache, new, gap = fresh(path), None, [], 9.0
        prompt = [draw.randrange(model.config.vocab_size) for _ in range(PROMPT)]
        step = prompt
        for _ in range(NEW):
            out = model(torch.tensor([step]), past_key_values=cache, use_cache=True)
            cache, best = out.past_key_values, out.logits[0, -1].topk(2)
            gap = min(gap, (best.values[0] - best.values[1]).item())
            step = [best.indices[0].item()]
            new += step
    print("smallest distance of the two likeliest tokens", gap)
    text = ",\n".join(" " + json.dumps(line) for line in lines)
    (golden / "scores" / "dynamic.json").write_text(
        f'{{"sequences": [\n{text}],\n"prompt": {json.dumps(prompt)},\n"new": {json.dumps(new)}}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
