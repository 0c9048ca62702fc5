/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every module there is, listed here and nowhere else: spec/NAME.c has its row, nn/NAME.c its class (those of
 * l2norm stand with rmsnorm). An implementation of a module besides the default one is a line of its own: its
 * row and its class have the module's name, and both have the implementation's.
 */
#pragma once

/* What a build has besides: a test lists its own. */
#ifndef TRI_MORE_MODULES
#define TRI_MORE_MODULES(X)
#endif

#define TRI_MODULES(X)                                                                             \
    X(embedding)                                                                                   \
    X(transformer_layer)                                                                           \
    X(parallel_layer)                                                                              \
    X(layernorm)                                                                                   \
    X(rmsnorm)                                                                                     \
    X(l2norm)                                                                                      \
    X(split_rmsnorm)                                                                               \
    X(self_attention)                                                                              \
    X(column_linear)                                                                               \
    X(dot_product_attention)                                                                       \
    X(row_linear)                                                                                  \
    X(whole_linear)                                                                                \
    X(bias_dropout_add)                                                                            \
    X(mlp)                                                                                         \
    X(activation)                                                                                  \
    X(lm_head)                                                                                     \
    X(cross_entropy)                                                                               \
    TRI_MORE_MODULES(X)
