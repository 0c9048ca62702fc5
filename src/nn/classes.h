/* SPDX-License-Identifier: Apache-2.0 */
/* The classes that nn/registry.c lists, one per file of this folder. */
#pragma once

#include "nn/build.h"
#include "spec/modules.h"

extern const struct tri_module_class tri_module_class_activation;
extern const struct tri_module_class tri_module_class_bias_dropout_add;
extern const struct tri_module_class tri_module_class_column_linear;
extern const struct tri_module_class tri_module_class_cross_entropy;
extern const struct tri_module_class tri_module_class_dot_product_attention;
extern const struct tri_module_class tri_module_class_embedding;
extern const struct tri_module_class tri_module_class_l2norm;
extern const struct tri_module_class tri_module_class_layernorm;
extern const struct tri_module_class tri_module_class_lm_head;
extern const struct tri_module_class tri_module_class_mlp;
extern const struct tri_module_class tri_module_class_parallel_layer;
extern const struct tri_module_class tri_module_class_rmsnorm;
extern const struct tri_module_class tri_module_class_row_linear;
extern const struct tri_module_class tri_module_class_self_attention;
extern const struct tri_module_class tri_module_class_split_rmsnorm;
extern const struct tri_module_class tri_module_class_transformer_layer;
extern const struct tri_module_class tri_module_class_whole_linear;
