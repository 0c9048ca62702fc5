/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the options of attention and positions mean for one layer, and what is wrong with them. Layers are
 * numbered from 0.
 */
#pragma once

#include "shape/config.h"

/* True when positions turn channels at all. */
bool tri_is_rotary(const struct tri_gpt_config *config);
/* Channels of a head that turn: 0 unless positions are rotary. */
int64_t tri_rotary_width(const struct tri_gpt_config *config);
/* False for layers that do not turn although positions are rotary. */
bool tri_layer_turns(const struct tri_gpt_config *config, int64_t layer);
/* Keys that a query of the layer sees, its own position among them; 0: all before it. */
int64_t tri_layer_window(const struct tri_gpt_config *config, int64_t layer);
/* Factor of the scores. */
double tri_softmax_scale(const struct tri_gpt_config *config);

/* Fills what is unset and can be derived; says equal things in one way. */
void tri_attention_resolve(struct tri_gpt_config *config);
/* Adds every problem to err; returns their number. */
int tri_attention_check(const struct tri_gpt_config *config, tri_error *err);
