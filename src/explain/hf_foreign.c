/* SPDX-License-Identifier: Apache-2.0 */
/* A config.json of a family that trine does not read: why, and which of its keys are no question of the shape. */
#include "explain/hf.h"

#include "shape/hf_config.h"

#include <stdlib.h>
#include <string.h>

enum tri_section tri_hf_section_of(const char *key)
{
    static const struct {
        const char *key;
        enum tri_section section;
    } keys[] = {
        {"bos_token_id", TRI_SECTION_CHECKPOINT},
        {"eos_token_id", TRI_SECTION_CHECKPOINT},
        {"pad_token_id", TRI_SECTION_CHECKPOINT},
        {"unk_token_id", TRI_SECTION_CHECKPOINT},
        {"sep_token_id", TRI_SECTION_CHECKPOINT},
        {"tokenizer_class", TRI_SECTION_DATA},
        {"dtype", TRI_SECTION_TRAIN},
        {"torch_dtype", TRI_SECTION_TRAIN},
        {"quantization_config", TRI_SECTION_TRAIN},
        {"pretraining_tp", TRI_SECTION_PLACEMENT},
        {"_name_or_path", TRI_SECTION_CHECKPOINT},
        {"architectures", TRI_SECTION_CHECKPOINT},
        {"auto_map", TRI_SECTION_CHECKPOINT},
        {"transformers_version", TRI_SECTION_CHECKPOINT},
        {"attn_implementation", TRI_SECTION_SPEC},
        {"_attn_implementation", TRI_SECTION_SPEC},
        {"_attn_implementation_autoset", TRI_SECTION_SPEC},
        {"model_type", TRI_SECTION_SHAPE},
        {"embd_pdrop", TRI_SECTION_SHAPE},
        {"max_window_layers", TRI_SECTION_SHAPE},
        {"original_max_position_embeddings", TRI_SECTION_SHAPE},
    };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strcmp(key, keys[i].key) == 0)
            return keys[i].section;
    }
    if (tri_hf_other_key(key, NULL).kind == TRI_HF_HARMLESS)
        return TRI_SECTION_OTHER;
    return TRI_SECTION_SHAPE;
}

/* Why a config.json of a family that nobody here reads is not read, by what it says. */
static enum tri_answer why_foreign(const json_t *root, const char *type, const char **why)
{
    static const struct {
        const char *key; /* that such a model's config.json has */
        enum tri_answer answer;
        const char *why;
    } kinds[] = {
        {"vision_config", TRI_REFUSED,
         "it reads more than text; its text_config may be a family of its own"},
        {"audio_config", TRI_REFUSED,
         "it reads more than text; its text_config may be a family of its own"},
        {"num_local_experts", TRI_LATER, "mixture of experts is not built yet"},
        {"num_experts", TRI_LATER, "mixture of experts is not built yet"},
        {"n_routed_experts", TRI_LATER, "mixture of experts is not built yet"},
        {"moe_intermediate_size", TRI_LATER, "mixture of experts is not built yet"},
        {"kv_lora_rank", TRI_LATER, "multi-latent attention is not built yet"},
        {"state_size", TRI_LATER, "state-space and hybrid layers are not built yet"},
        {"mamba_d_state", TRI_LATER, "state-space and hybrid layers are not built yet"},
        {"relative_attention_num_buckets", TRI_REFUSED,
         "a model with an encoder; trine trains GPT models"},
        {"type_vocab_size", TRI_REFUSED, "a model with an encoder; trine trains GPT models"},
    };
    static const struct {
        const char *type, *why;
    } types[] = {
        {"bloom", "positions by ALiBi and a norm behind the embedding are not built yet"},
        {"mpt", "positions by ALiBi are not built yet"},
        {"falcon", "its block of one norm, and positions by ALiBi, are not built yet"},
        {"gptj", "its block of one norm is not built yet"},
        {"codegen", "its block of one norm is not built yet"},
        {"opt", "its positions, which begin at 2, are not built yet"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (!json_object_get(root, kinds[i].key))
            continue;
        *why = kinds[i].why;
        return kinds[i].answer;
    }
    *why = "no family of trine reads it yet";
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        *why = strcmp(type, types[i].type) == 0 ? types[i].why : *why;
    return TRI_LATER;
}

void tri_explain_foreign(tri_explanation *out, const json_t *root, const char *type)
{
    const char *why, *key;
    enum tri_answer answer = why_foreign(root, type, &why);
    tri_explain_add(out, TRI_SECTION_SHAPE, answer, "model_type", type)->why = why;
    json_t *value;
    json_object_foreach((json_t *)root, key, value)
    {
        char *dumped = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
        enum tri_section section = tri_hf_section_of(key);
        bool is_shape = section == TRI_SECTION_SHAPE;
        if (strcmp(key, "model_type") != 0)
            tri_explain_add(out, section, is_shape ? answer : TRI_NO_EFFECT, key,
                            dumped ? dumped : "")
                ->why = is_shape ? "a key of that family" : "no question of the shape";
        free(dumped);
    }
}
