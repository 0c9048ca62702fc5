/* SPDX-License-Identifier: Apache-2.0 */
/* What lies between the rows of the plan: nobody may touch it. */
#include "model/context.h"

#include <stdlib.h>

/* Bytes that some row holds, up to what can be watched: paint every byte, the sanitizer eight at a time. */
struct span {
    size_t first, end;
};

static size_t watched_end(size_t end)
{
    size_t unit = tri_storage_paints_gaps() ? 1 : 8;
    return (end + unit - 1) / unit * unit;
}

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
            spans[num++].end = watched_end(first + row->bytes);
        }
    }
    qsort(spans, (size_t)num, sizeof *spans, by_first);
    return num;
}

static void close_gap(struct tri_context *context, enum tri_arena_kind arena, size_t first,
                      size_t end)
{
    if (first >= end)
        return;
    tri_storage_close_gap(context->arena[arena], first, end - first);
    if (context->gaps)
        context->gaps[context->num_gaps++] =
            (struct tri_gap){.arena = arena, .first = first, .bytes = end - first};
}

static void close_arena(struct tri_context *context, enum tri_arena_kind arena, struct span *spans)
{
    size_t reached = 0;
    int num = spans_of(context->plan, arena, spans);
    for (int i = 0; i < num; i++) {
        close_gap(context, arena, reached, spans[i].first);
        reached = spans[i].end > reached ? spans[i].end : reached;
    }
    close_gap(context, arena, reached, tri_storage_bytes(context->arena[arena]));
}

tri_status tri_context_close_gaps(struct tri_context *context)
{
    size_t num = 1;
    for (int i = 0; i < context->plan->num_rows; i++)
        num += (size_t)context->plan->rows[i].num_copies;
    struct span *spans = malloc(num * sizeof *spans);
    /* At most one before every row, and one behind the last of every arena. */
    if (tri_storage_paints_gaps())
        context->gaps = malloc((num + TRI_NUM_ARENAS) * sizeof *context->gaps);
    if (!spans || (tri_storage_paints_gaps() && !context->gaps)) {
        free(spans);
        return tri_error_set(context->err, TRI_NOMEM, "out of memory for the gaps of the plan");
    }
    for (enum tri_arena_kind arena = 0; arena < TRI_NUM_ARENAS; arena++)
        close_arena(context, arena, spans);
    free(spans);
    return TRI_OK;
}

/* The row that ends last before offset; NULL before the first. */
static const struct tri_plan_row *row_before(const struct tri_rank_plan *plan,
                                             enum tri_arena_kind arena, size_t offset)
{
    const struct tri_plan_row *best = NULL;
    size_t best_end = 0;
    for (int i = 0; i < plan->num_rows; i++) {
        const struct tri_plan_row *row = &plan->rows[i];
        for (int copy = 0; row->arena == arena && copy < row->num_copies; copy++) {
            size_t end = row->offset + (size_t)copy * row->stride + row->bytes;
            if (end > offset || end < best_end)
                continue;
            best = row;
            best_end = end;
        }
    }
    return best;
}

tri_status tri_context_check_gaps(const struct tri_context *context)
{
    for (int i = 0; i < context->num_gaps; i++) {
        const struct tri_gap *gap = &context->gaps[i];
        size_t at = tri_storage_gap_damage(context->arena[gap->arena], gap->first, gap->bytes);
        if (at == gap->bytes)
            continue;
        const struct tri_plan_row *row = row_before(context->plan, gap->arena, gap->first);
        return tri_error_set(
            context->err, TRI_BUG,
            "arena '%s': byte %zu was written, which belongs to no row of the plan; "
            "the row before it is '%s', %s",
            tri_arena_name(gap->arena), gap->first + at, row ? row->owner : "none",
            row ? row->name : "none");
    }
    return TRI_OK;
}
