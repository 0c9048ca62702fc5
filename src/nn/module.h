/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of a module. in, out, dout, din are arrays of tensors whose number the spec fixes (one
 * each for every module so far; the embedding has no in and gives no din, the head has no out and
 * takes no dout: NULL is passed). The caller provides the buffers of out and din. What backward
 * needs goes to the slot.
 *
 * A leaf's backward is its two halves in a row. A container's backward walks its children calling
 * their backward, so a weight half runs as soon as its input half is done; its halves walk the
 * children's halves. The bits are the same. A weight half may find nothing to do: norms and biases
 * add their gradients in the input half, where dout is still at hand.
 *
 * dout of a module whose weight half needs it stays valid until that half: the container that owns
 * the edge keeps it in a GRAD row. Modules remember views in the slot (tri_module_view), never in
 * themselves.
 *
 * No module knows the schedule, the optimizer or the world size; it holds the groups it was handed.
 */
#pragma once

#include "base/check.h"
#include "comm/comm.h"
#include "kernels/kernels.h"
#include "nn/param.h"
#include "nn/slot.h"

typedef struct tri_module tri_module;

struct tri_module_ops {
    const char *name;
    tri_status (*forward)(tri_module *self, struct tri_slot *slot, const struct tri_tensor *in,
                          struct tri_tensor *out);
    tri_status (*backward)(tri_module *self, struct tri_slot *slot, const struct tri_tensor *dout,
                           struct tri_tensor *din);
    tri_status (*backward_input)(tri_module *self, struct tri_slot *slot,
                                 const struct tri_tensor *dout, struct tri_tensor *din);
    tri_status (*backward_weight)(tri_module *self, struct tri_slot *slot);
    /* After the optimizer: changes of buffers. A shared no-op where there is nothing. */
    tri_status (*end_step)(tri_module *self);
    void (*destroy)(tri_module *self);
};

/* The first member of every module's struct. */
struct tri_module {
    const struct tri_module_ops *ops;
    tri_error *err;          /* borrowed, this rank's */
    struct tri_queue *queue; /* borrowed */
    const struct tri_kernels *kernels;
    const char *path;
    int index; /* within the slice, for views */
};

/* A row of the unit's record, resolved by the builder. */
struct tri_row_ref {
    bool in_slot;  /* base is slot->saved, else base */
    char *base;    /* work or run address, absolute */
    size_t offset; /* in the slot */
    size_t bytes;
    enum tri_dtype dtype;
    int num_dims;
    int64_t dims[4]; /* planned (largest) */
};

static inline void *tri_row_address(const struct tri_row_ref *row, const struct tri_slot *slot)
{
    return row->in_slot ? slot->saved + row->offset : row->base;
}
/* The row as a contiguous tensor with actual dims, which must not have more elements than planned.
   */
struct tri_tensor tri_row_tensor(const struct tri_row_ref *row, const struct tri_slot *slot,
                                 int num_dims, const int64_t *dims);
/* Short form for [d0, d1, d2]. */
struct tri_tensor tri_row_tensor3(const struct tri_row_ref *row, const struct tri_slot *slot,
                                  int64_t d0, int64_t d1, int64_t d2);

/* View k (0 .. TRI_VIEWS_PER_MODULE - 1) that this module keeps in the slot. */
static inline struct tri_tensor *tri_module_view(const tri_module *self, struct tri_slot *slot,
                                                 int k)
{
    return &slot->views[self->index * TRI_VIEWS_PER_MODULE + k];
}

/* backward_input, then backward_weight: the backward of every leaf. */
tri_status tri_module_backward_halves(tri_module *self, struct tri_slot *slot,
                                      const struct tri_tensor *dout, struct tri_tensor *din);
/* For a container that walks back through its children: child's backward when joint, else its input
   half. */
tri_status tri_module_backward(tri_module *child, struct tri_slot *slot,
                               const struct tri_tensor *dout, struct tri_tensor *din, bool joint);
tri_status tri_module_backward_weight_none(tri_module *self, struct tri_slot *slot);
tri_status tri_module_end_step_none(tri_module *self);
/* The destroy of every leaf: frees the struct, which owns nothing else. */
void tri_module_free(tri_module *self);
/* Calls destroy and sets *module NULL; safe twice. */
void tri_module_destroy(tri_module **module);
