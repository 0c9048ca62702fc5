/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Half of a layer, attention or MLP: out = residual + dropout(post_norm(body(norm(x)))), for the layers that
 * are made of two. Norms may be missing; a half without body does not exist and is never run.
 */
#pragma once

#include "nn/build.h"
#include "spec/sublayer.h"

enum { TRI_SUBLAYER_PARTS = 4 };

struct tri_sublayer {
    tri_module *parts[TRI_SUBLAYER_PARTS]; /* norm, body, post_norm, bda; NULL: missing */
    struct tri_row_ref normed, out, posted, dposted, dout, dnormed;
};

static inline bool tri_sublayer_is_there(const struct tri_sublayer *sublayer)
{
    return sublayer->parts[1] != NULL;
}

/* Takes rows of self, the layer; building the children is a call of its own, since self's rows come first. */
tri_status tri_sublayer_init(struct tri_sublayer *sublayer, struct tri_build *build,
                             const tri_module *self, const struct tri_module_spec *layer,
                             int which);
/* out may not be x or residual. */
tri_status tri_sublayer_forward(struct tri_sublayer *sublayer, struct tri_slot *slot,
                                const struct tri_tensor *x, const struct tri_tensor *residual,
                                struct tri_tensor *out);
/* dx = what comes to x through the body alone; the residual's gradient is dout itself. joint: with the weight
   halves. dx may not be dout. */
tri_status tri_sublayer_backward(struct tri_sublayer *sublayer, struct tri_slot *slot,
                                 const struct tri_tensor *dout, struct tri_tensor *dx, bool joint);
tri_status tri_sublayer_backward_weight(struct tri_sublayer *sublayer, struct tri_slot *slot);
tri_status tri_sublayer_end_step(struct tri_sublayer *sublayer);
void tri_sublayer_destroy(struct tri_sublayer *sublayer);
