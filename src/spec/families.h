/* SPDX-License-Identifier: Apache-2.0 */
/* The family rows, one per file spec/model_x.c, listed here and nowhere else. */
#pragma once

#include "spec/family.h"

/* The order in which a shape without a family looks for one. */
#define TRI_FAMILIES(X)                                                                            \
    X(gpt2)                                                                                        \
    X(llama)                                                                                       \
    X(mistral)                                                                                     \
    X(qwen2)                                                                                       \
    X(qwen3)                                                                                       \
    X(gpt_neox)                                                                                    \
    X(phi3)                                                                                        \
    X(starcoder2)                                                                                  \
    X(granite)                                                                                     \
    X(gemma2)                                                                                      \
    X(gemma3_text)                                                                                 \
    X(olmo2)                                                                                       \
    X(smollm3)
#define TRI_FAMILY_DECLARE(name) extern const struct tri_family tri_family_##name;
TRI_FAMILIES(TRI_FAMILY_DECLARE)
#undef TRI_FAMILY_DECLARE

/* What families that are like others refer to. */
extern const struct tri_hf_family tri_hf_llama, tri_hf_qwen2, tri_hf_gemma2;
extern const struct tri_family_files tri_llama_files, tri_gemma2_files;

/* A table and its number of rows, which no initialiser can say of itself: .keys and .num_keys. */
#define TRI_FAMILY_ROWS(table)                                                                     \
    .table = (table), .num_##table = (int)(sizeof(table) / sizeof((table)[0]))

/* The rows of attention in the tables of Llama and its kin, norms of heads among them. */
#define TRI_LLAMA_ATTENTION_TENSOR(file, logical, part)                                            \
    {                                                                                              \
        "model.layers.{}.self_attn." file, "decoder.layers.{}.self_attention." logical, part,      \
            false                                                                                  \
    }
#define TRI_LLAMA_ATTENTION_TENSORS                                                                \
    TRI_LLAMA_ATTENTION_TENSOR("q_proj.weight", "linear_qkv.weight", "q"),                         \
        TRI_LLAMA_ATTENTION_TENSOR("k_proj.weight", "linear_qkv.weight", "k"),                     \
        TRI_LLAMA_ATTENTION_TENSOR("v_proj.weight", "linear_qkv.weight", "v"),                     \
        TRI_LLAMA_ATTENTION_TENSOR("q_proj.bias", "linear_qkv.bias", "q"),                         \
        TRI_LLAMA_ATTENTION_TENSOR("k_proj.bias", "linear_qkv.bias", "k"),                         \
        TRI_LLAMA_ATTENTION_TENSOR("v_proj.bias", "linear_qkv.bias", "v"),                         \
        TRI_LLAMA_ATTENTION_TENSOR("q_norm.weight", "q_layernorm.weight", NULL),                   \
        TRI_LLAMA_ATTENTION_TENSOR("k_norm.weight", "k_layernorm.weight", NULL),                   \
        TRI_LLAMA_ATTENTION_TENSOR("o_proj.weight", "linear_proj.weight", NULL),                   \
        TRI_LLAMA_ATTENTION_TENSOR("o_proj.bias", "linear_proj.bias", NULL)
