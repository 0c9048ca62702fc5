/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths of modules: unit path and slots joined by dots, the same in parameter names, overrides and
 * messages. The head's parts have Megatron-LM's names: "decoder.final_layernorm" and "output_layer".
 */
#pragma once

#include "spec/module_spec.h"

/* The path of the child in slot below parent; NULL when out of memory. Owned by arena, or static. */
const char *tri_spec_child_path(tri_arena *arena, const char *parent, const char *slot);
