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

/* File tensors that several families share. */
enum { TRI_NUM_LLAMA_TENSORS = 21, TRI_NUM_GEMMA_TENSORS = 20 };
extern const struct tri_file_tensor tri_llama_tensors[TRI_NUM_LLAMA_TENSORS];
extern const struct tri_file_tensor tri_gemma_tensors[TRI_NUM_GEMMA_TENSORS];
