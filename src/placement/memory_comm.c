/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of the arena COMM: gradients between stages, what a checkpoint is written through, and
 * staging of collectives. The builder lends each of the latter to its group (model/context.h), so
 * that the communicator allocates nothing of its own.
 */
#include "placement/memory_inner.h"

#include "base/exact_sum.h"

/* Sums over all ranks that do not fit are cut in pieces (comm/group.c); this one fits. */
#define WORLD_PIECE ((int64_t)65536)

/* Staging of one operation; *most grows to it. A group of one needs none. */
static void comm_most(const struct tri_memory *memory, enum tri_comm_op op, int64_t size,
                      int64_t count, enum tri_dtype dtype, size_t *most)
{
    tri_staging_fn *staging = memory->placement->request.comm.staging;
    size_t bytes = staging && size > 1 ? staging(op, (int)size, count, dtype) : 0;
    *most = bytes > *most ? bytes : *most;
}

static void comm_row(struct tri_memory *memory, const char *owner, size_t bytes)
{
    if (bytes > 0)
        tri_memory_append(memory, TRI_ARENA_COMM, owner, "staging", bytes, 1);
}

/* The units' own, and sums of gradients of which each rank has seen its positions only. One operation
   of the group at a time. */
static void comm_tp(struct tri_memory *memory)
{
    const struct tri_placement *placement = memory->placement;
    const struct tri_rank_plan *plan = memory->plan;
    const struct tri_plan_request *request = &placement->request;
    int64_t tp = placement->split.tp;
    int64_t rows = request->micro_batch_size * request->seq_length;
    int64_t hidden = rows * placement->spec->shape.transformer.hidden_size;
    size_t most = 0;
    if (placement->split.sp > 1) {
        comm_most(memory, TRI_COMM_REDUCE_SCATTER, tp, hidden / tp, TRI_DTYPE_F32, &most);
        comm_most(memory, TRI_COMM_ALL_GATHER, tp, hidden / tp, TRI_DTYPE_F32, &most);
    } else {
        comm_most(memory, TRI_COMM_ALL_REDUCE, tp, hidden, TRI_DTYPE_F32, &most);
    }
    if (plan->slices[plan->num_slices - 1].has_head)
        comm_most(memory, TRI_COMM_ALL_REDUCE, tp, rows, TRI_DTYPE_F32, &most);
    for (int i = 0; i < plan->num_params && !request->forward_only; i++)
        if (plan->params[i].spec->sum_axes & TRI_AXES(TRI_AXIS_TP))
            comm_most(memory, TRI_COMM_ALL_REDUCE, tp, plan->params[i].elements, TRI_DTYPE_F32,
                      &most);
    comm_row(memory, "group tp", most);
}

/* Gradients of key/value heads that copies tp ranks hold; a row for each number of copies. */
static void comm_shared_heads(struct tri_memory *memory)
{
    const struct tri_rank_plan *plan = memory->plan;
    int64_t tp = memory->placement->split.tp;
    for (int64_t copies = 2; copies <= tp && !memory->placement->request.forward_only; copies++) {
        size_t most = 0;
        for (int i = 0; i < plan->num_params; i++) {
            const struct tri_param_spec *spec = plan->params[i].spec;
            int64_t first, rows = spec->local_dims[0];
            if (tri_param_copies(spec, tp, &first) == copies)
                comm_most(memory, TRI_COMM_ALL_REDUCE, copies,
                          (rows - first) * (plan->params[i].elements / rows), TRI_DTYPE_F32, &most);
        }
        comm_row(memory,
                 tri_arena_format(memory->arena, "group shared_heads %lld", (long long)copies),
                 most);
    }
}

/* Every bucket's reduction may be under way at once. */
static void comm_buckets(struct tri_memory *memory)
{
    const struct tri_placement *placement = memory->placement;
    const struct tri_rank_plan *plan = memory->plan;
    bool sharded = placement->config.use_distributed_optimizer;
    size_t tied = 0;
    for (int i = 0; i < plan->num_buckets && !placement->request.forward_only; i++) {
        const struct tri_bucket_plan *bucket = &plan->buckets[i];
        size_t bytes = 0;
        comm_most(memory, sharded ? TRI_COMM_REDUCE_SCATTER : TRI_COMM_ALL_REDUCE, placement->dp,
                  bucket->shard_elements, TRI_DTYPE_F32, &bytes);
        if (sharded)
            comm_most(memory, TRI_COMM_ALL_GATHER, placement->dp, bucket->shard_elements,
                      TRI_DTYPE_F32, &bytes);
        comm_row(memory, tri_arena_format(memory->arena, "bucket %d", i), bytes);
        if (bucket->tied)
            comm_most(memory, TRI_COMM_ALL_REDUCE, 2, bucket->shard_elements, TRI_DTYPE_F32, &tied);
    }
    comm_row(memory, "group embd", tied);
}

/* What all ranks agree on, and sums of any length in pieces. */
static void comm_world(struct tri_memory *memory)
{
    size_t most = 0;
    int64_t size = memory->placement->grid.world_size;
    comm_most(memory, TRI_COMM_ALL_REDUCE, size, TRI_EXACT_SUM_WORDS + 1, TRI_DTYPE_I64, &most);
    comm_most(memory, TRI_COMM_ALL_REDUCE, size, WORLD_PIECE, TRI_DTYPE_F32, &most);
    comm_row(memory, "group world", most);
}

void tri_memory_comm(struct tri_memory *memory)
{
    const struct tri_rank_schedule *schedule = memory->plan->schedule;
    size_t checkpoint = memory->placement->request.checkpoint_staging_bytes;
    if (schedule->num_send_staging)
        tri_memory_append(memory, TRI_ARENA_COMM, "pipeline", "send gradient", memory->hidden_bytes,
                          schedule->num_send_staging);
    if (schedule->num_recv_staging)
        tri_memory_append(memory, TRI_ARENA_COMM, "pipeline", "receive gradient",
                          memory->hidden_bytes, schedule->num_recv_staging);
    comm_tp(memory);
    comm_buckets(memory);
    comm_shared_heads(memory);
    comm_world(memory);
    if (checkpoint)
        tri_memory_append(memory, TRI_ARENA_COMM, "checkpoint", "staging", checkpoint, 1);
}
