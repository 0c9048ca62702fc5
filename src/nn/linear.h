/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The products that column_linear and row_linear are made of. x [.., in], y and dy [.., out],
 * weight [out, in]; all but the last dim are rows. Each borrows the weight for its call. Local.
 */
#pragma once

#include "nn/module.h"

/* y = x weight^T */
void tri_linear_forward(const tri_module *self, struct tri_param *weight, struct tri_tensor y,
                        struct tri_tensor x, void *workspace);
/* y += bias; bias NULL: nothing */
void tri_linear_bias(const tri_module *self, struct tri_param *bias, struct tri_tensor y);
/* dx = dy weight */
void tri_linear_backward_input(const tri_module *self, struct tri_param *weight,
                               struct tri_tensor dx, struct tri_tensor dy, void *workspace);
/* dweight += dy^T x */
void tri_linear_backward_weight(const tri_module *self, struct tri_param *weight,
                                struct tri_tensor dy, struct tri_tensor x, void *workspace);
/* dbias += sum over rows of dy; bias NULL: nothing */
void tri_linear_backward_bias(const tri_module *self, struct tri_param *bias, struct tri_tensor dy,
                              void *workspace);
