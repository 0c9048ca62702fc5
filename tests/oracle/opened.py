# SPDX-License-Identifier: Apache-2.0
"""Opens a model directory in transformers as strictly as it goes; for the other scripts."""
import sys

import torch
from transformers import AutoModelForCausalLM


def open_strictly(folder):
    """The model in fp32, or the end: no weight may be missing, unexpected or newly made, and all are finite."""
    # transformers 4 knows 'torch_dtype' only, 5 both.
    model, info = AutoModelForCausalLM.from_pretrained(folder, torch_dtype=torch.float32, output_loading_info=True,
                                                       attn_implementation="eager", local_files_only=True)
    bad = {key: value for key, value in info.items() if value}
    if bad:
        sys.exit(f"'{folder}' does not load strictly: {bad}")
    for name, value in model.state_dict().items():
        if value.is_floating_point() and not torch.isfinite(value).all():
            sys.exit(f"'{folder}': '{name}' holds values that are not finite")
    return model.eval()
