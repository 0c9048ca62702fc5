# SPDX-License-Identifier: Apache-2.0
"""Makes golden/published/parameters.txt: how many parameters transformers gives each published config.json there.

    published_shapes.py [--check]

Models are made on the meta device, where they take no memory; a tied table counts once. --check compares with the
file instead of writing it. Made with PyTorch 2.15 and transformers 5.24.
"""
import os
import sys

import torch
from transformers import AutoConfig, AutoModelForCausalLM

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden", "published")


def count(name):
    config = AutoConfig.from_pretrained(os.path.join(FOLDER, name), local_files_only=True)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    model.tie_weights()
    return sum(p.numel() for p in {id(p): p for p in model.parameters()}.values())


def main():
    names = sorted(entry.name for entry in os.scandir(FOLDER) if entry.is_dir())
    text = "".join(f"{name} {count(name)}\n" for name in names)
    path = os.path.join(FOLDER, "parameters.txt")
    if "--check" in sys.argv[1:]:
        with open(path, encoding="ascii") as file:
            sys.exit(0 if file.read() == text else f"'{path}' differs from what transformers says")
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


if __name__ == "__main__":
    main()
