/* SPDX-License-Identifier: Apache-2.0 */
/* The walks of nn/sublayer.h. All communication is that of the body. */
#include "nn/sublayer.h"

enum { PART_NORM, PART_BODY, PART_POST_NORM, PART_BDA };

static tri_status sublayer_row(struct tri_build *build, const tri_module *self, const char *name,
                               bool exists, struct tri_row_ref *row)
{
    return exists ? tri_build_row(build, self, name, row) : TRI_OK;
}

tri_status tri_sublayer_init(struct tri_sublayer *sublayer, struct tri_build *build,
                             const tri_module *self, const struct tri_module_spec *layer, int which)
{
    const struct tri_sublayer_names *names = &tri_sublayer_names[which];
    const char *const slots[TRI_SUBLAYER_PARTS] = {names->norm, names->body, names->post_norm,
                                                   names->bda};
    if (!tri_sublayer_exists(layer, which))
        return TRI_OK;
    bool has_norm = tri_module_spec_child(layer, names->norm) != NULL;
    bool has_post = tri_module_spec_child(layer, names->post_norm) != NULL;
    bool has_backward = !build->sizing->forward_only;
    TRI_TRY(sublayer_row(build, self, names->normed, has_norm, &sublayer->normed));
    TRI_TRY(sublayer_row(build, self, names->out, true, &sublayer->out));
    TRI_TRY(sublayer_row(build, self, names->posted, has_post, &sublayer->posted));
    TRI_TRY(
        sublayer_row(build, self, names->dposted, has_post && has_backward, &sublayer->dposted));
    TRI_TRY(sublayer_row(build, self, names->dout, has_backward, &sublayer->dout));
    TRI_TRY(
        sublayer_row(build, self, names->dnormed, has_norm && has_backward, &sublayer->dnormed));
    for (int i = 0; i < TRI_SUBLAYER_PARTS; i++)
        if (tri_module_spec_child(layer, slots[i]))
            TRI_TRY(tri_build_child(build, layer, slots[i], &sublayer->parts[i]));
    return TRI_OK;
}

/* The row with the dims of like. */
static struct tri_tensor sublayer_tensor(const struct tri_row_ref *row, const struct tri_slot *slot,
                                         const struct tri_tensor *like)
{
    return tri_row_tensor(row, slot, like->num_dims, like->dims);
}

tri_status tri_sublayer_forward(struct tri_sublayer *sublayer, struct tri_slot *slot,
                                const struct tri_tensor *x, const struct tri_tensor *residual,
                                struct tri_tensor *out)
{
    tri_module *const *parts = sublayer->parts;
    struct tri_tensor normed = *x, made = sublayer_tensor(&sublayer->out, slot, x);
    if (parts[PART_NORM]) {
        normed = sublayer_tensor(&sublayer->normed, slot, x);
        TRI_TRY(parts[PART_NORM]->ops->forward(parts[PART_NORM], slot, x, &normed));
    }
    TRI_TRY(parts[PART_BODY]->ops->forward(parts[PART_BODY], slot, &normed, &made));
    if (parts[PART_POST_NORM]) {
        struct tri_tensor posted = sublayer_tensor(&sublayer->posted, slot, x);
        TRI_TRY(parts[PART_POST_NORM]->ops->forward(parts[PART_POST_NORM], slot, &made, &posted));
        made = posted;
    }
    const struct tri_tensor terms[2] = {made, *residual};
    return parts[PART_BDA]->ops->forward(parts[PART_BDA], slot, terms, out);
}

tri_status tri_sublayer_backward(struct tri_sublayer *sublayer, struct tri_slot *slot,
                                 const struct tri_tensor *dout, struct tri_tensor *dx, bool joint)
{
    tri_module *const *parts = sublayer->parts;
    struct tri_tensor dmade = sublayer_tensor(&sublayer->dout, slot, dout);
    if (parts[PART_POST_NORM]) {
        struct tri_tensor dposted = sublayer_tensor(&sublayer->dposted, slot, dout);
        TRI_TRY(tri_module_backward(parts[PART_BDA], slot, dout, &dposted, joint));
        TRI_TRY(tri_module_backward(parts[PART_POST_NORM], slot, &dposted, &dmade, joint));
    } else {
        TRI_TRY(tri_module_backward(parts[PART_BDA], slot, dout, &dmade, joint));
    }
    if (!parts[PART_NORM])
        return tri_module_backward(parts[PART_BODY], slot, &dmade, dx, joint);
    struct tri_tensor dnormed = sublayer_tensor(&sublayer->dnormed, slot, dout);
    TRI_TRY(tri_module_backward(parts[PART_BODY], slot, &dmade, &dnormed, joint));
    return tri_module_backward(parts[PART_NORM], slot, &dnormed, dx, joint);
}

tri_status tri_sublayer_backward_weight(struct tri_sublayer *sublayer, struct tri_slot *slot)
{
    for (int i = TRI_SUBLAYER_PARTS - 1; i >= 0; i--)
        if (sublayer->parts[i])
            TRI_TRY(sublayer->parts[i]->ops->backward_weight(sublayer->parts[i], slot));
    return TRI_OK;
}

tri_status tri_sublayer_end_step(struct tri_sublayer *sublayer)
{
    for (int i = 0; i < TRI_SUBLAYER_PARTS; i++)
        if (sublayer->parts[i])
            TRI_TRY(sublayer->parts[i]->ops->end_step(sublayer->parts[i]));
    return TRI_OK;
}

void tri_sublayer_destroy(struct tri_sublayer *sublayer)
{
    for (int i = TRI_SUBLAYER_PARTS - 1; i >= 0; i--)
        tri_module_destroy(&sublayer->parts[i]);
}
