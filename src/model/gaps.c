/* SPDX-License-Identifier: Apache-2.0 */
/* What lies between the rows of the plan: nobody may touch it. */
#include "model/context.h"

#include <stdlib.h>

/* Bytes that some row holds, up to the alignment that the sanitizer can watch. */
struct span {
    size_t first, end;
};
#define WATCHED 8

static int by_first(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

static int spans_of(const struct tri_rank_plan *plan, enum tri_arena_kind arena, struct span *spans)
{
    int num = 0;
    for (int i = 0; i < plan->num_rows; i++) {
        const struct tri_plan_row *row = &plan->rows[i];
        for (int copy = 0; row->arena == arena && copy < row->num_copies; copy++) {
            size_t first = row->offset + (size_t)copy * row->stride;
            spans[num].first = first;
            spans[num++].end = (first + row->bytes + WATCHED - 1) / WATCHED * WATCHED;
        }
    }
    qsort(spans, (size_t)num, sizeof *spans, by_first);
    return num;
}

static void close_arena(struct tri_context *context, enum tri_arena_kind arena, struct span *spans)
{
    tri_storage *storage = context->arena[arena];
    size_t bytes = tri_storage_bytes(storage), reached = 0;
    int num = spans_of(context->plan, arena, spans);
    for (int i = 0; i < num; i++) {
        if (spans[i].first > reached)
            tri_storage_close_gap(storage, reached, spans[i].first - reached);
        reached = spans[i].end > reached ? spans[i].end : reached;
    }
    if (reached < bytes)
        tri_storage_close_gap(storage, reached, bytes - reached);
}

tri_status tri_context_close_gaps(struct tri_context *context)
{
    size_t num = 1;
    for (int i = 0; i < context->plan->num_rows; i++)
        num += (size_t)context->plan->rows[i].num_copies;
    struct span *spans = malloc(num * sizeof *spans);
    TRI_CHECK(spans, context->err, TRI_NOMEM, "out of memory for the gaps of the plan");
    for (enum tri_arena_kind arena = 0; arena < TRI_NUM_ARENAS; arena++)
        close_arena(context, arena, spans);
    free(spans);
    return TRI_OK;
}
