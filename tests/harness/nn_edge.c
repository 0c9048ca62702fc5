/* SPDX-License-Identifier: Apache-2.0 */
/* Where local elements lie in global tensors: edges of modules and parameters, for any rank. */
#include "nn_fixture.h"

#include <string.h>

static struct nn_edge edge_outside(int64_t channels)
{
    return (struct nn_edge){.exists = true, .num_parts = 1, .parts = {channels}};
}

static struct nn_edge edge_inside(int num_parts, int64_t a, int64_t b, int64_t c)
{
    return (struct nn_edge){
        .exists = true, .is_inside = true, .num_parts = num_parts, .parts = {a, b, c}};
}

void nn_edges_of(const struct tri_module_spec *node, int64_t hidden, struct nn_edge *in,
                 struct nn_edge *out)
{
    *in = *out = edge_outside(hidden);
    if (strcmp(node->module, "column_linear") == 0) {
        const struct tri_column_linear_params *p = node->params;
        *out = edge_inside(p->num_parts, 0, 0, 0);
        for (int i = 0; i < p->num_parts; i++)
            out->parts[i] = p->parts[i].rows;
    } else if (strcmp(node->module, "row_linear") == 0) {
        const struct tri_row_linear_params *p = node->params;
        *in = edge_inside(1, p->in, 0, 0);
    } else if (strcmp(node->module, "dot_product_attention") == 0) {
        const struct tri_attention_params *p = node->params;
        int64_t q = p->num_heads * p->head_width, kv = p->num_groups * p->head_width;
        *in = edge_inside(3, q, kv, kv);
        *out = edge_inside(1, q, 0, 0);
    } else if (strcmp(node->module, "activation") == 0) {
        const struct tri_activation_params *p = node->params;
        *in = edge_inside(p->gated ? 2 : 1, p->size, p->size, 0);
        *out = edge_inside(1, p->size, 0, 0);
    } else if (strcmp(node->module, "embedding") == 0) {
        in->exists = false;
    } else if (strcmp(node->module, "lm_head") == 0) {
        out->exists = false;
    }
}

int64_t nn_edge_width(const struct nn_edge *edge)
{
    int64_t width = 0;
    for (int i = 0; i < edge->num_parts; i++)
        width += edge->parts[i];
    return width;
}

/* Local index i of a dim that joins this rank's share of each part, as a global index. */
static int64_t part_index(int num_parts, const int64_t *first, const int64_t *size, int tp,
                          int rank, int64_t i)
{
    for (int p = 0; p < num_parts; p++) {
        int64_t share = size[p] / tp;
        if (i < share)
            return first[p] + rank * share + i;
        i -= share;
    }
    TRI_ASSERT(!"index inside its parts");
    return 0;
}

int64_t nn_edge_channel(const struct nn_edge *edge, int tp, int rank, int64_t c)
{
    int64_t first[TRI_MAX_PARTS] = {0};
    for (int i = 1; i < edge->num_parts; i++)
        first[i] = first[i - 1] + edge->parts[i - 1];
    return edge->is_inside ? part_index(edge->num_parts, first, edge->parts, tp, rank, c) : c;
}

int64_t nn_param_element(const struct tri_param_spec *spec, int tp, int rank, int64_t i)
{
    int64_t columns = spec->num_dims == 2 ? spec->local_dims[1] : 1;
    int64_t width = spec->num_dims == 2 ? spec->dims[1] : 1;
    int64_t row = i / columns, column = i % columns;
    if (spec->cut_dim == 1)
        column += rank * columns;
    if (spec->cut_dim == 0) {
        int p = 0;
        while (p + 1 < spec->num_parts && row >= tri_part_share(&spec->parts[p], tp))
            row -= tri_part_share(&spec->parts[p++], tp);
        row += tri_part_first(&spec->parts[p], tp, rank);
    }
    return row * width + column;
}
