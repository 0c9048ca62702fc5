/* SPDX-License-Identifier: Apache-2.0 */
/* The products of both linears, over rows = positions x batch rows. */
#include "nn/linear.h"

void tri_linear_forward(const tri_module *self, struct tri_param *weight, struct tri_tensor y,
                        struct tri_tensor x, void *workspace)
{
    struct tri_tensor w = tri_param_acquire(weight);
    self->kernels->gemm(self->queue, tri_tensor_rows(&y), tri_tensor_rows(&x), w, false, true, 0,
                        workspace);
    tri_param_release(weight);
}

void tri_linear_bias(const tri_module *self, struct tri_param *bias, struct tri_tensor y)
{
    if (!bias)
        return;
    struct tri_tensor b = tri_param_acquire(bias);
    self->kernels->bias_add(self->queue, tri_tensor_rows(&y), b);
    tri_param_release(bias);
}

void tri_linear_backward_input(const tri_module *self, struct tri_param *weight,
                               struct tri_tensor dx, struct tri_tensor dy, void *workspace)
{
    struct tri_tensor w = tri_param_acquire(weight);
    self->kernels->gemm(self->queue, tri_tensor_rows(&dx), tri_tensor_rows(&dy), w, false, false, 0,
                        workspace);
    tri_param_release(weight);
}

void tri_linear_backward_weight(const tri_module *self, struct tri_param *weight,
                                struct tri_tensor dy, struct tri_tensor x, void *workspace)
{
    self->kernels->gemm(self->queue, tri_param_grad(weight), tri_tensor_rows(&dy),
                        tri_tensor_rows(&x), true, false, 1, workspace);
}

void tri_linear_backward_bias(const tri_module *self, struct tri_param *bias, struct tri_tensor dy,
                              void *workspace)
{
    if (bias)
        self->kernels->bias_backward(self->queue, tri_param_grad(bias), tri_tensor_rows(&dy),
                                     workspace);
}
