/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Embedding: forward is cut over rows of y. Backward is cut over columns, and each task walks all
 * rows in order, so a table row gathers its gradients in order of (s, b) whatever the team.
 */
#include "kernels/cpu_fast/cpu_fast.h"
#include "kernels/cpu_fast/cut.h"
#include "kernels/rows.h"

#define COLUMNS 64 /* of one backward task: four cache lines of each row */

struct embedding {
    struct tri_rows y, table;
    const int32_t *ids;
    int64_t B, S, first_row;
    struct fast_cut cut;
};

/* The table's row for row r of y, NULL when another rank holds it. */
static float *embedding_row(const struct embedding *t, int64_t r)
{
    int64_t id = t->ids[r % t->B * t->S + r / t->B] - t->first_row;
    return id >= 0 && id < t->table.num ? tri_rows_get(&t->table, id) : NULL;
}

static void embedding_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct embedding *t = arg;
    struct fast_piece piece = fast_cut_piece(&t->cut, task);
    size_t bytes = (size_t)t->y.columns * sizeof(float);
    for (int64_t r = piece.first_row; r < piece.end_row; r++) {
        const float *row = embedding_row(t, r);
        if (row)
            memcpy(tri_rows_get(&t->y, r), row, bytes);
        else
            memset(tri_rows_get(&t->y, r), 0, bytes);
    }
}

static struct embedding embedding_make(struct tri_tensor y, struct tri_tensor table,
                                       const int32_t *ids, int64_t first_row)
{
    struct embedding t = {.y = tri_rows_of(y),
                          .table = tri_rows_of(table),
                          .ids = ids,
                          .B = tri_rows_batch(&y),
                          .first_row = first_row};
    t.S = t.y.num / t.B;
    return t;
}

void tri_fast_embedding(struct tri_queue *q, struct tri_tensor y, struct tri_tensor table,
                        const int32_t *ids, int64_t first_row)
{
    struct embedding t = embedding_make(y, table, ids, first_row);
    t.cut = fast_cut_rows(t.y.num, t.y.columns);
    tri_team_run(q->team, embedding_task, &t, t.cut.num_tasks);
}

static void embedding_backward_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct embedding *t = arg;
    int64_t first = task * COLUMNS, count = cut_min(COLUMNS, t->y.columns - first);
    for (int64_t r = 0; r < t->y.num; r++) {
        float *row = embedding_row(t, r);
        if (!row)
            continue;
        row += first;
        const float *dy = tri_rows_get(&t->y, r) + first;
        for (int64_t c = 0; c < count; c++)
            row[c] += dy[c];
    }
}

void tri_fast_embedding_backward(struct tri_queue *q, struct tri_tensor dtable,
                                 struct tri_tensor dy, const int32_t *ids, int64_t first_row)
{
    struct embedding t = embedding_make(dy, dtable, ids, first_row);
    tri_team_run(q->team, embedding_backward_task, &t, cut_ceil(t.y.columns, COLUMNS));
}
