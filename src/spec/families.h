/* SPDX-License-Identifier: Apache-2.0 */
/* The family rows, one per file spec/model_x.c; spec/registry.c lists them. */
#pragma once

#include "spec/family.h"

extern const struct tri_family tri_family_gpt2;
extern const struct tri_family tri_family_llama;
