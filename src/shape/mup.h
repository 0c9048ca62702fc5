/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The width rules of the maximal update parametrisation (use_mup) as functions of the shape; without it all
 * of them are neutral. Initial values of hidden weights shrink with the root of the width, their learning
 * rate with the width; embeddings and one-dimensional parameters keep both.
 */
#pragma once

#include "shape/config.h"

/* hidden_size / mup_base_hidden_size; 1 without use_mup. */
double tri_mup_width(const struct tri_gpt_config *config);
/* Factor of the embedding: its own options and those of use_mup. */
double tri_embedding_factor(const struct tri_gpt_config *config);
/* Factor of the logits. */
double tri_logits_factor(const struct tri_gpt_config *config);
/* Factor of q.k that use_mup asks for; 0 without it. */
double tri_mup_attention_scale(const struct tri_gpt_config *config);
