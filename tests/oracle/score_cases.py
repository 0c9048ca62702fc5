# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/scores: score_cases.py GOLDEN [NAME...]

For models of GOLDEN/hf, sequences of differing lengths (one token, one more than the session's 24
positions) with ln p of each token given those before it and the entropy of that distribution, computed by transformers in float64, one unpadded
sequence at a time. The first token's values are 0: nothing predicts it. Made with PyTorch 2.15 and transformers
5.24.
"""
import json
import pathlib
import random
import sys

import torch
import transformers

LENGTHS = [7, 24, 1, 13, 2, 25, 24, 3, 18, 9, 25]


def main():
    golden = pathlib.Path(sys.argv[1])
    for name in sys.argv[2:] or ["gpt2", "llama", "qwen3"]:
        model = transformers.AutoModelForCausalLM.from_pretrained(
            golden / "hf" / name / "model", dtype=torch.float64, attn_implementation="eager").eval()
        draw = random.Random(f"scores of {name}")
        case = {"sequences": [], "logprobs": [], "entropies": []}
        for length in LENGTHS:
            ids = [draw.randrange(model.config.vocab_size) for _ in range(length)]
            with torch.no_grad():
                all_values = model(torch.tensor([ids]), use_cache=False).logits[0].log_softmax(-1)
            values = all_values[:-1].gather(1, torch.tensor(ids[1:], dtype=torch.int64)[:, None])[:, 0]
            entropies = -(all_values.exp() * all_values).sum(-1)[:-1]
            case["sequences"].append(ids)
            for key, column in (("logprobs", values), ("entropies", entropies)):
                case[key].append([0.0] + [round(value, 9) for value in column.tolist()])
        text = ",\n".join(f' "{key}": [\n  ' + ",\n  ".join(json.dumps(row) for row in rows) + "]"
                          for key, rows in case.items())
        (golden / "scores" / f"{name}.json").write_text("{\n" + text + "}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
