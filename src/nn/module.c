/* SPDX-License-Identifier: Apache-2.0 */
/* What all modules share: rows as tensors, the backward of a leaf, the shared no-ops. */
#include "nn/module.h"

#include <stdlib.h>

struct tri_tensor tri_row_tensor(const struct tri_row_ref *row, const struct tri_slot *slot,
                                 int num_dims, const int64_t *dims)
{
    struct tri_tensor view =
        tri_tensor_view(tri_row_address(row, slot), row->dtype, num_dims, dims);
    TRI_ASSERT(tri_tensor_bytes(&view) <= row->bytes);
    return view;
}

struct tri_tensor tri_row_tensor3(const struct tri_row_ref *row, const struct tri_slot *slot,
                                  int64_t d0, int64_t d1, int64_t d2)
{
    const int64_t dims[3] = {d0, d1, d2};
    return tri_row_tensor(row, slot, 3, dims);
}

tri_status tri_module_backward_halves(tri_module *self, struct tri_slot *slot,
                                      const struct tri_tensor *dout, struct tri_tensor *din)
{
    TRI_TRY(self->ops->backward_input(self, slot, dout, din));
    return self->ops->backward_weight(self, slot);
}

tri_status tri_module_backward(tri_module *child, struct tri_slot *slot,
                               const struct tri_tensor *dout, struct tri_tensor *din, bool joint)
{
    return joint ? child->ops->backward(child, slot, dout, din)
                 : child->ops->backward_input(child, slot, dout, din);
}

tri_status tri_module_backward_weight_none(tri_module *self, struct tri_slot *slot)
{
    (void)self;
    (void)slot;
    return TRI_OK;
}

tri_status tri_module_end_step_none(tri_module *self)
{
    (void)self;
    return TRI_OK;
}

void tri_module_free(tri_module *self)
{
    free(self);
}

void tri_module_destroy(tri_module **module)
{
    if (*module)
        (*module)->ops->destroy(*module);
    *module = NULL;
}
