/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of a Hugging Face config.json share. */
#pragma once

#include "explain/record.h"

/* The question that a key of any family belongs to: the shape, unless it is known to be another. */
enum tri_section tri_hf_section_of(const char *key);
/* Explains the keys of a family that nobody here reads. */
void tri_explain_foreign(tri_explanation *out, const json_t *root, const char *type);
