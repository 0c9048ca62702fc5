/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Half of a layer, attention or MLP, as every kind of layer has it: bda(post_norm(body(norm(x))), residual).
 * Both norms may be missing, and so may the whole half, which then is skipped with its residual sum. spec/
 * and nn/ share the names of its slots and rows.
 */
#pragma once

#include "spec/sizing.h"

enum { TRI_SUBLAYER_ATTENTION, TRI_SUBLAYER_MLP, TRI_NUM_SUBLAYERS };

struct tri_sublayer_names {
    const char *norm, *body, *post_norm, *bda; /* slots, in the order of forward */
    const char *normed, *out, *posted;         /* rows of forward */
    const char *dposted, *dout, *dnormed;      /* rows of backward */
};
extern const struct tri_sublayer_names tri_sublayer_names[TRI_NUM_SUBLAYERS];

static inline bool tri_sublayer_exists(const struct tri_module_spec *layer, int which)
{
    return tri_module_spec_child(layer, tri_sublayer_names[which].body) != NULL;
}

/* The rows of a half of width hidden, and its children; nothing where it is missing. */
void tri_sizer_sublayer_rows(struct tri_sizer *sizer, const struct tri_module_spec *layer,
                             int which, int64_t hidden);
void tri_sizer_sublayer_children(struct tri_sizer *sizer, const struct tri_module_spec *layer,
                                 int which);
