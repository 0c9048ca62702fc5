# SPDX-License-Identifier: Apache-2.0
"""Makes golden/config_keys.json: what transformers takes a config.json for, key by key.

For every family of trine: the configuration class's own defaults, then each of its fields absent, with another
value and null, and the older spellings. A family's first case has a whole file and what the model then is, in trine's
words; each other one what differs from the first ("is" null: transformers refuses the file). Made with PyTorch 2.15 and transformers 5.24.
"""
import dataclasses
import json
import os

import transformers
from transformers import CONFIG_MAPPING

OUT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden", "config_keys.json")
# Sizes that every class's own sizes divide or are divided by.
SMALL = dict(vocab_size=97, hidden_size=1536, intermediate_size=40, num_hidden_layers=7, num_attention_heads=32,
             max_position_embeddings=64)
GPT2 = dict(vocab_size=97, n_embd=48, n_inner=40, n_layer=7, n_head=4, n_positions=64)
FAMILIES = ["gpt2", "gpt_neox", "llama", "mistral", "qwen2", "qwen3", "phi3", "smollm3", "starcoder2", "granite",
            "olmo2", "gemma2", "gemma3_text"]
ACTIVATIONS = {"gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "gelu_fast": "gelu_tanh",
               "gelu_accurate": "gelu_tanh", "silu": "silu", "swish": "silu", "relu": "relu",
               "relu2": "squared_relu", "quick_gelu": "quick_gelu"}
# Another value of a field than its default; fields of other tasks are left out.
OTHER = {
    "vocab_size": 101, "n_positions": 48, "n_embd": 24, "n_layer": 3, "n_head": 2, "n_inner": 56,
    "hidden_size": 768, "intermediate_size": 56, "num_hidden_layers": 3, "num_attention_heads": 64,
    "num_key_value_heads": 2, "head_dim": 10, "max_position_embeddings": 48, "initializer_range": 0.03,
    "rms_norm_eps": 3e-6, "layer_norm_eps": 3e-6, "layer_norm_epsilon": 3e-6, "norm_epsilon": 3e-6,
    "attention_bias": True, "mlp_bias": True, "use_bias": False, "attention_dropout": 0.25,
    "hidden_dropout": 0.25, "resid_pdrop": 0.25, "embd_pdrop": 0.25, "attn_pdrop": 0.25, "residual_dropout": 0.25,
    "embedding_dropout": 0.25, "use_parallel_residual": False, "sliding_window": 5, "use_sliding_window": True,
    "max_window_layers": 2, "no_rope_layer_interval": 3, "query_pre_attn_scalar": 19, "embedding_multiplier": 3.0,
    "logits_scaling": 3.0, "residual_multiplier": 0.5, "attention_multiplier": 0.5, "final_logit_softcapping": 7.0,
    "attn_logit_softcapping": 7.0, "bos_token_id": 5, "eos_token_id": 6, "use_cache": False, "pad_token_id": 3,
    "original_max_position_embeddings": 32, "scale_attn_weights": False, "scale_attn_by_inverse_layer_idx": True,
    "reorder_and_upcast_attn": True, "add_cross_attention": True, "is_decoder": True, "pretraining_tp": 2,
    "use_bidirectional_attention": True,
}
LAYER_TYPES = ["full_attention", "sliding_attention", "sliding_attention", "full_attention", "sliding_attention",
               "full_attention", "full_attention"]
# More than one key at a time, and spellings of older files.
TOGETHER = [
    {"rope_theta": 500.0}, {"rope_theta": 500.0, "rope_scaling": None},
    {"rope_parameters": {"rope_type": "default", "rope_theta": 500.0}},
    {"rope_theta": 500.0, "rope_scaling": {"type": "linear", "factor": 2.0}},
    {"rope_theta": 500.0, "rope_scaling": {"rope_type": "linear", "factor": 2.0}},
    {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 500.0, "factor": 2.0}},
    {"rope_parameters": None}, {"rope_parameters": {"rope_theta": 500.0}},
    {"partial_rotary_factor": 1.0}, {"dtype": "bfloat16"}, {"torch_dtype": "float16"},
    {"sliding_window": None}, {"num_key_value_heads": None}, {"eos_token_id": [6, 7]}, {"tie_word_embeddings": True},
    {"tie_word_embeddings": False},
]
OF_FAMILY = {
    "gpt2": [{"resid_pdrop": 0.25, "embd_pdrop": 0.25}, {"hidden_size": 24, "n_embd": 24}, {"n_inner": None}],
    "gpt_neox": [{"rotary_pct": 0.5}, {"rotary_emb_base": 500}, {"rotary_pct": 0.5, "partial_rotary_factor": 0.5},
                 {"rotary_emb_base": 500, "rope_theta": 500}, {"hidden_act": "gelu_fast"},
                 {"rope_parameters": {"rope_theta": 500.0, "partial_rotary_factor": 0.5, "rope_type": "default"}}],
    "phi3": [{"partial_rotary_factor": 0.5}, {"rope_scaling": {"type": "yarn", "factor": 2.0}},
             {"rope_parameters": {"rope_theta": 500.0, "partial_rotary_factor": 0.5, "rope_type": "default"}}],
    "qwen2": [{"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 2},
              {"use_sliding_window": True, "sliding_window": 5, "layer_types": LAYER_TYPES},
              {"use_sliding_window": False, "sliding_window": 5, "max_window_layers": 2},
              {"use_sliding_window": True, "sliding_window": None}],
    "gemma2": [{"layer_types": LAYER_TYPES}, {"hidden_act": "silu"}, {"hidden_activation": "silu"},
               {"query_pre_attn_scalar": 19, "head_dim": 10}],
    "gemma3_text": [{"layer_types": LAYER_TYPES}, {"sliding_window_pattern": 3}, {"rope_local_base_freq": 77.0},
                    {"rope_theta": 500.0, "rope_local_base_freq": 77.0, "rope_scaling": {"rope_type": "linear",
                                                                                         "factor": 4.0}},
                    {"sliding_window_pattern": 3, "layer_types": LAYER_TYPES},
                    {"rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 500.0},
                                         "sliding_attention": {"rope_type": "default", "rope_theta": 77.0}}}],
    "smollm3": [{"no_rope_layers": [1, 0, 1, 1, 0, 1, 1]}, {"no_rope_layers": None, "no_rope_layer_interval": 2},
                {"use_sliding_window": True, "sliding_window": 5},
                {"use_sliding_window": True, "sliding_window": 5, "layer_types": LAYER_TYPES},
                {"use_sliding_window": True, "sliding_window": 5, "no_rope_layers": [1, 0, 1, 1, 0, 1, 1]}],
    "starcoder2": [{"residual_dropout": 0.25, "embedding_dropout": 0.25}],
}
OF_FAMILY["qwen3"] = OF_FAMILY["qwen2"]
# Keys that trine takes together only.
PARTNERS = [("resid_pdrop", "embd_pdrop"), ("residual_dropout", "embedding_dropout"),
            ("rotary_pct", "partial_rotary_factor"), ("rotary_emb_base", "rope_theta")]
# Keys of gpt2 under their names elsewhere.
ALIASES = {"n_embd": {"hidden_size": 24}, "n_layer": {"num_hidden_layers": 3}, "n_head": {"num_attention_heads": 2},
           "n_positions": {"max_position_embeddings": 48}}


def rope_of(c):
    """Base, base of sliding layers, share, and the scaling of full layers."""
    rope = getattr(c, "rope_parameters", None)
    if not rope:
        return {}
    full, sliding = rope.get("full_attention", rope), rope.get("sliding_attention", {})
    words = {"rotary_base": full["rope_theta"], "rotary_percent": full.get("partial_rotary_factor", 1.0),
             "rotary_seq_len_interpolation_factor": full["factor"] if full["rope_type"] == "linear" else None,
             "rope_dynamic_factor": full["factor"] if full["rope_type"] == "dynamic" else None}
    if sliding and sliding["rope_theta"] != full["rope_theta"]:
        words["rotary_base_local"] = sliding["rope_theta"]
    return words


def windows_of(family, c):
    width, num = getattr(c, "sliding_window", None), c.num_hidden_layers
    if family in ("mistral", "phi3", "starcoder2"):
        return [width or 0] * num
    if family in ("qwen2", "qwen3", "gemma2", "gemma3_text", "smollm3"):
        if width is None and "sliding_attention" in c.layer_types:
            raise ValueError("a window without a width, which no mask can be made of")
        return [width if kind == "sliding_attention" else 0 for kind in c.layer_types]
    return [0] * num


def meaning_of(family, c):
    heads = c.num_attention_heads
    width = getattr(c, "head_dim", None) or c.hidden_size // heads
    has = lambda name, default: getattr(c, name, default)
    bias = has("attention_bias", False) if family not in ("mistral", "qwen2", "phi3") else False
    all_bias = family == "gpt2" or (family == "starcoder2" and c.use_bias)
    act = c.to_dict().get({"gpt2": "activation_function"}.get(family, "hidden_activation" if "gemma" in family
                                                             else "hidden_act"))
    scale = width ** -0.5
    if "gemma" in family:
        scale = c.query_pre_attn_scalar ** -0.5
    if family == "granite":
        scale = c.attention_multiplier
    ffn = c.n_inner or 4 * c.n_embd if family == "gpt2" else c.intermediate_size
    dropout = {"gpt2": "resid_pdrop", "phi3": "resid_pdrop", "starcoder2": "residual_dropout",
               "gpt_neox": "hidden_dropout"}.get(family)
    eps = {"gpt2": "layer_norm_epsilon", "gpt_neox": "layer_norm_eps", "starcoder2": "norm_epsilon"}
    eos = c.eos_token_id
    words = {
        "num_layers": c.num_hidden_layers, "hidden_size": c.hidden_size, "num_attention_heads": heads,
        "num_query_groups": has("num_key_value_heads", None) or heads, "kv_channels": width,
        "ffn_hidden_size": ffn, "vocab_size": c.vocab_size, "max_position_embeddings": c.max_position_embeddings,
        "layernorm_epsilon": getattr(c, eps.get(family, "rms_norm_eps")), "activation_func": ACTIVATIONS[act],
        "init_method_std": c.initializer_range, "untie_embeddings_and_output_weights": not c.tie_word_embeddings,
        "add_qkv_bias": bool(bias or all_bias or family == "qwen2"), "add_proj_bias": bool(bias or all_bias),
        "add_mlp_bias": bool(all_bias or family == "gpt_neox" or
                             (family in ("llama", "granite", "smollm3") and c.mlp_bias)),
        "hidden_dropout": getattr(c, dropout) if dropout else 0.0,
        "attention_dropout": has("attn_pdrop", has("attention_dropout", 0.0)),
        "embedding_multiplier": has("embedding_multiplier", 1.0), "logits_scaling": has("logits_scaling", 1.0),
        "residual_multiplier": has("residual_multiplier", 1.0),
        "attn_logit_softcapping": has("attn_logit_softcapping", None) if "gemma" in family else None,
        "final_logit_softcapping": has("final_logit_softcapping", None) if "gemma" in family else None,
        "use_parallel_residual": family == "gpt_neox" and c.use_parallel_residual,
        "bos_token_id": c.bos_token_id, "eos_token_id": eos[0] if isinstance(eos, list) else eos,
        "scale": scale, "windows": windows_of(family, c),
        "turns": [bool(x) for x in has("no_rope_layers", None) or [family != "gpt2"] * c.num_hidden_layers],
    }
    words.update(rope_of(c))
    return words


def words_of(family, file):
    """What transformers makes of file; None: nothing."""
    try:
        keys = {k: v for k, v in json.loads(json.dumps(file)).items() if k != "model_type"}
        return meaning_of(family, CONFIG_MAPPING[family](**keys))
    except Exception as error:  # whatever a validator raises
        print(f"{family} {file}: {type(error).__name__} {str(error).splitlines()[0][:90]}")
        return None


def changes_of(family):
    """(keys that the base has besides, keys that it lacks)"""
    kind, base = CONFIG_MAPPING[family], base_of(family)
    types = {f.name: f.type for f in dataclasses.fields(kind)}
    yield {}, [key for key in base if key != "model_type"]
    for key in base:
        if key != "model_type":
            yield {}, [key]
    for name in [*types, *(n for n in ("head_dim", "embd_pdrop") if n not in types)]:
        if name in OTHER:
            yield {name: OTHER[name]}, []
            if "None" in str(types.get(name)):
                yield {name: None}, []
    for key, more in ALIASES.items() if family == "gpt2" else ():
        yield more, [key]
    act = "activation_function" if family == "gpt2" else "hidden_activation" if "gemma" in family else "hidden_act"
    for name in ACTIVATIONS:
        yield {act: name}, []
    for more in TOGETHER + OF_FAMILY.get(family, []):
        is_rope = any(key.startswith("rope") or key == "partial_rotary_factor" for key in more)
        is_old_type = "type" in (more.get("rope_scaling") or {})  # which version 4 reads here and 5 does not
        if not (is_rope and family == "gpt2") and not (is_old_type and family == "gemma3_text"):
            yield more, []


def base_of(family):
    return {"model_type": family, **(GPT2 if family == "gpt2" else SMALL)}


def cases_of(family):
    base, seen = base_of(family), []
    meaning = words_of(family, base)
    yield {"file": base, "is": meaning}
    for more, lacks in changes_of(family):
        file = {k: v for k, v in {**base, **more}.items() if k not in lacks}
        if file not in seen:
            words = words_of(family, file)
            changed = words and {k: v for k, v in words.items() if v != meaning.get(k, "absent")}
            partners = {"partners": True} if any(set(pair) <= set(more) for pair in PARTNERS) else {}
            yield {"with": more, "without": lacks, "is": changed, **partners}
        seen.append(file)


def main():
    transformers.logging.set_verbosity_error()
    cases = [case for family in FAMILIES for case in cases_of(family)]
    with open(OUT, "w", encoding="ascii") as out:
        out.write("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")
    print(len(cases), "cases")


if __name__ == "__main__":
    main()
