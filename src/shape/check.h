/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows from a shape, and what is wrong with it. resolve fills unset fields where that can be done
 * safely; check reports every problem with the values that would work, whatever the caller filled in.
 */
#pragma once

#include "shape/config.h"

/* Fills num_query_groups, kv_channels, ffn_hidden_size, seq_length and max_position_embeddings where unset
   and derivable. */
void tri_gpt_config_resolve(struct tri_gpt_config *config);

/* The feed-forward width, or what stands for it where it is unset. */
int64_t tri_ffn_size(const struct tri_transformer_config *t);

/* The divisors of n as "1, 2 or 4"; of more than ten the smallest. */
void tri_list_divisors(int64_t n, char *text, size_t bytes);

/* Adds every problem of a resolved config to err. */
tri_status tri_gpt_config_check(const struct tri_gpt_config *config, tri_error *err);
