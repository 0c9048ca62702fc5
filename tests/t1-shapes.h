/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes and small helpers shared by the tests of shape/ and spec/. */
#pragma once

#include "shape/check.h"
#include "shape/options.h"

#include <stdio.h>
#include <string.h>

/* A small valid GPT-2: learned positions, LayerNorm, biases, tied. */
static inline struct tri_gpt_config shape_gpt2(int64_t layers, int64_t hidden, int64_t heads,
                                               int64_t vocab, int64_t positions)
{
    struct tri_gpt_config config;
    tri_gpt_config_set_defaults(&config);
    config.transformer.num_layers = layers;
    config.transformer.hidden_size = hidden;
    config.transformer.num_attention_heads = heads;
    config.vocab_size = vocab;
    config.max_position_embeddings = positions;
    return config;
}

/* A small valid Llama: rotary, RMSNorm, SwiGLU, no biases, untied. */
static inline struct tri_gpt_config shape_llama(int64_t layers, int64_t hidden, int64_t heads,
                                                int64_t groups, int64_t ffn, int64_t vocab)
{
    struct tri_gpt_config config = shape_gpt2(layers, hidden, heads, vocab, 64);
    struct tri_transformer_config *t = &config.transformer;
    t->num_query_groups = groups;
    t->ffn_hidden_size = ffn;
    t->normalization = TRI_NORM_RMSNORM;
    t->activation_func = TRI_ACT_SILU;
    t->gated_linear_unit = true;
    t->add_bias_linear = false;
    t->hidden_dropout = 0;
    config.position_embedding_type = TRI_POSITION_ROPE;
    config.untie_embeddings_and_output_weights = true;
    return config;
}

/* True when some message contains text. */
static inline bool error_says(const tri_error *err, const char *text)
{
    for (int i = 0; i < tri_error_count(err); i++)
        if (strstr(tri_error_message(err, i), text))
            return true;
    for (int i = 0; i < tri_error_count(err); i++)
        fprintf(stderr, "  message: %s\n", tri_error_message(err, i));
    return false;
}
static inline bool error_notes(const tri_error *err, const char *text)
{
    for (int i = 0; i < tri_error_note_count(err); i++)
        if (strstr(tri_error_note_message(err, i), text))
            return true;
    for (int i = 0; i < tri_error_note_count(err); i++)
        fprintf(stderr, "  note: %s\n", tri_error_note_message(err, i));
    return false;
}
