/* SPDX-License-Identifier: Apache-2.0 */
/* What the backends share: group base, checks at begin, and texts (comm/backend.h). */
#include "comm/backend.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *tri_comm_op_name(enum tri_comm_op op)
{
    static const char *const names[TRI_NUM_COMM_OPS] = {
        [TRI_COMM_ALL_REDUCE] = "all_reduce",
        [TRI_COMM_REDUCE_SCATTER] = "reduce_scatter",
        [TRI_COMM_ALL_GATHER] = "all_gather",
        [TRI_COMM_BROADCAST] = "broadcast",
        [TRI_COMM_ALL_TO_ALL] = "all_to_all",
        [TRI_COMM_SEND] = "send",
        [TRI_COMM_RECV] = "recv",
        [TRI_COMM_BARRIER] = "barrier",
    };
    return (unsigned)op < TRI_NUM_COMM_OPS ? names[op] : "unknown operation";
}

static const char *reduce_name(enum tri_reduce reduce)
{
    static const char *const names[] = {[TRI_REDUCE_SUM] = "sum",
                                        [TRI_REDUCE_MAX] = "max",
                                        [TRI_REDUCE_MIN] = "min",
                                        [TRI_REDUCE_OR] = "or"};
    return (unsigned)reduce < sizeof names / sizeof *names ? names[reduce] : "unknown reduction";
}

tri_status tri_group_init(tri_group *group, const struct tri_comm_ops *ops, tri_world *world,
                          const char *name, const int *ranks, int size, tri_error *err)
{
    char *own_name = strdup(name);
    int *own_ranks = malloc((size_t)size * sizeof *own_ranks);
    if (!own_name || !own_ranks) {
        free(own_name);
        free(own_ranks);
        return tri_error_set(err, TRI_NOMEM, "out of memory for group '%s' of %d ranks", name,
                             size);
    }
    int position = 0;
    for (int i = 0; i < size; i++) {
        own_ranks[i] = ranks[i];
        if (ranks[i] == world->rank)
            position = i;
    }
    *group = (tri_group){.ops = ops,
                         .world = world,
                         .name = own_name,
                         .size = size,
                         .rank = position,
                         .ranks = own_ranks};
    return TRI_OK;
}

void tri_group_fini(tri_group *group)
{
    free((char *)group->name);
    free((int *)group->ranks);
}

void tri_lend_staging_none(tri_group *group, void *memory, size_t bytes)
{
    (void)group;
    (void)memory;
    (void)bytes;
}

static bool is_reducible(enum tri_dtype dtype)
{
    return dtype == TRI_DTYPE_F32 || dtype == TRI_DTYPE_F64 || dtype == TRI_DTYPE_BF16 ||
           dtype == TRI_DTYPE_F16 || dtype == TRI_DTYPE_I64;
}

tri_status tri_comm_check(const tri_group *group, const struct tri_comm_call *call)
{
    tri_error *err = group->world->err;
    const char *op = tri_comm_op_name(call->op);
    TRI_CHECK(call->count >= 0, err, TRI_INVALID,
              "%s on group '%s': count %" PRId64 " is negative; give the number of elements", op,
              group->name, call->count);
    TRI_CHECK((unsigned)call->dtype < TRI_NUM_DTYPES, err, TRI_INVALID,
              "%s on group '%s': element type %d is unknown; use one of base/dtype.h", op,
              group->name, (int)call->dtype);
    TRI_CHECK(call->root >= 0 && call->root < group->size, err, TRI_INVALID,
              "%s on group '%s': position %d is not in the group; give 0 to %d", op, group->name,
              call->root, group->size - 1);
    if (call->op != TRI_COMM_ALL_REDUCE && call->op != TRI_COMM_REDUCE_SCATTER)
        return TRI_OK;
    TRI_CHECK((unsigned)call->reduce <= TRI_REDUCE_OR, err, TRI_INVALID,
              "%s on group '%s': reduction %d is unknown; use 'sum', 'max', 'min' or 'or'", op,
              group->name, (int)call->reduce);
    TRI_CHECK(is_reducible(call->dtype), err, TRI_INVALID,
              "%s on group '%s': cannot reduce '%s'; use fp32, fp64, bf16, fp16 or int64", op,
              group->name, tri_dtype_name(call->dtype));
    TRI_CHECK(call->reduce != TRI_REDUCE_OR || call->dtype == TRI_DTYPE_I64, err, TRI_INVALID,
              "%s on group '%s': bitwise or of '%s' has no meaning; use int64", op, group->name,
              tri_dtype_name(call->dtype));
    return TRI_OK;
}

tri_status tri_comm_check_counts(const tri_group *group, const int64_t *out_counts,
                                 const int64_t *in_counts)
{
    for (int i = 0; i < group->size; i++)
        TRI_CHECK(out_counts[i] >= 0 && in_counts[i] >= 0, group->world->err, TRI_INVALID,
                  "all_to_all on group '%s': count %" PRId64 " for member %d is negative; give the "
                  "number of elements",
                  group->name, out_counts[i] < 0 ? out_counts[i] : in_counts[i], i);
    return TRI_OK;
}

tri_status tri_comm_check_pair(const tri_group *group, int64_t out_count, int64_t in_count, int to,
                               int from)
{
    TRI_CHECK(out_count == in_count, group->world->err, TRI_COMM,
              "all_to_all on group '%s': rank %d expects %" PRId64 " elements from rank %d, which "
              "gives %" PRId64 "; both sides must have one count",
              group->name, group->ranks[to], out_count, group->ranks[from], in_count);
    return TRI_OK;
}

tri_status tri_comm_check_channel(const tri_group *group, enum tri_comm_op op,
                                  enum tri_channel channel)
{
    TRI_CHECK((unsigned)channel < TRI_NUM_CHANNELS, group->world->err, TRI_INVALID,
              "%s on group '%s': channel %d is unknown; use forward or backward",
              tri_comm_op_name(op), group->name, (int)channel);
    return TRI_OK;
}

void tri_comm_call_format(const struct tri_comm_call *call, char *text, size_t bytes)
{
    const char *op = tri_comm_op_name(call->op);
    if (call->op == TRI_COMM_BARRIER)
        snprintf(text, bytes, "%s", op);
    else if (call->op == TRI_COMM_ALL_REDUCE || call->op == TRI_COMM_REDUCE_SCATTER)
        snprintf(text, bytes, "%s (%s) of %" PRId64 " %s", op, reduce_name(call->reduce),
                 call->count, tri_dtype_name(call->dtype));
    else if (call->op == TRI_COMM_BROADCAST)
        snprintf(text, bytes, "%s from member %d of %" PRId64 " %s", op, call->root, call->count,
                 tri_dtype_name(call->dtype));
    else
        snprintf(text, bytes, "%s of %" PRId64 " %s", op, call->count, tri_dtype_name(call->dtype));
}

bool tri_comm_is_same_call(const struct tri_comm_call *a, const struct tri_comm_call *b)
{
    if (a->op == TRI_COMM_SEND || a->op == TRI_COMM_RECV)
        return a->count == b->count && a->dtype == b->dtype;
    return a->op == b->op && a->dtype == b->dtype && a->reduce == b->reduce && a->root == b->root &&
           a->count == b->count;
}

void tri_comm_differs_format(const char *group_name, uint64_t sequence, int rank,
                             const struct tri_comm_call *call, int other_rank,
                             const struct tri_comm_call *other, char *text, size_t bytes)
{
    char first[128], second[128];
    tri_comm_call_format(call, first, sizeof first);
    tri_comm_call_format(other, second, sizeof second);
    snprintf(text, bytes,
             "operation number %" PRIu64 " on group '%s' differs: rank %d began %s, rank %d began "
             "%s; all members must begin the same operations in the same order",
             sequence, group_name, rank, first, other_rank, second);
}

void tri_comm_ranks_format(const int *ranks, int num, char *text, size_t bytes)
{
    const int most = 16;
    int shown = num > most ? most : num;
    size_t used = 0;
    int wrote = snprintf(text, bytes, num == 1 ? "rank" : "ranks");
    for (int i = 0; wrote >= 0; i++) {
        used += (size_t)wrote;
        if (used >= bytes || i >= shown)
            break;
        const char *before = i == 0 ? " " : i == num - 1 ? " and " : ", ";
        wrote = snprintf(text + used, bytes - used, "%s%d", before, ranks[i]);
    }
    if (num > shown && used < bytes)
        snprintf(text + used, bytes - used, " and %d more", num - shown);
}

void tri_comm_missing_format(const char *group_name, enum tri_comm_op op, uint64_t sequence,
                             const int *missing, int num_missing, double seconds, char *text,
                             size_t bytes)
{
    char ranks[160];
    tri_comm_ranks_format(missing, num_missing, ranks, sizeof ranks);
    snprintf(text, bytes,
             "%s did not come to %s number %" PRIu64 " on group '%s' within %g s; look at what %s "
             "last did, or raise --distributed-timeout-minutes if it is only slow",
             ranks, tri_comm_op_name(op), sequence, group_name, seconds, ranks);
}
