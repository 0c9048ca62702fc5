/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers of different sizes, from the JSON of Nemotron-NAS: an object whose block_configs has one entry per
 * layer, {"attention": {"n_heads_in_group" or "num_query_groups"}, "ffn" or "mlp": {"ffn_mult" or
 * "ffn_hidden_size"}}, each with "no_op" and "replace_with_linear". null means as in the other layers. Of the
 * other keys of such files none may say anything (window_length, num_sink_tokens, sparsify ...).
 */
#pragma once

#include "shape/config.h"

/* Fills layer_query_groups and layer_ffn_sizes, which must be empty, from the file at path. hidden_size and
   num_attention_heads are needed; num_layers, if set, must agree. Every problem is added to err. */
tri_status tri_heterogeneous_read(const char *path, struct tri_transformer_config *config,
                                  tri_error *err);
/* The same from the text itself, option heterogeneous_layers_config_encoded_json: its faults are
   those of the request. */
tri_status tri_heterogeneous_read_text(const char *text, struct tri_transformer_config *config,
                                       tri_error *err);

/* What layer has: query groups, feed-forward width, or one of TRI_LAYER_x. config is resolved. */
int64_t tri_layer_query_groups(const struct tri_transformer_config *config, int64_t layer);
int64_t tri_layer_ffn_size(const struct tri_transformer_config *config, int64_t layer);
