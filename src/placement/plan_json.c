/* SPDX-License-Identifier: Apache-2.0 */
/* The plan as one JSON object: the run, its stages, and one rank in full. */
#include "placement/plan.h"

#include <jansson.h>

/* Every setter of jansson takes NULL values as a failure, so one test at the end is enough. */
static void json_put(json_t *object, const char *key, json_t *value, bool *failed)
{
    *failed |= json_object_set_new(object, key, value) != 0;
}

static void json_put_number(json_t *object, const char *key, int64_t value, bool *failed)
{
    json_put(object, key, json_integer(value), failed);
}

static json_t *json_bytes(const struct tri_rank_plan *plan, bool *failed)
{
    json_t *bytes = json_object();
    for (int i = 0; i < TRI_NUM_ARENAS; i++)
        json_put_number(bytes, tri_arena_name((enum tri_arena_kind)i),
                        (int64_t)plan->arena_bytes[i], failed);
    json_put_number(bytes, "total", (int64_t)plan->total_bytes, failed);
    return bytes;
}

static json_t *json_slices(const struct tri_rank_plan *plan, bool *failed)
{
    json_t *slices = json_array();
    for (int i = 0; i < plan->num_slices; i++) {
        const struct tri_slice_plan *from = &plan->slices[i];
        json_t *slice = json_object();
        json_put_number(slice, "first_layer", from->first_unit + from->has_embedding - 1, failed);
        json_put_number(slice, "num_layers", from->num_units - from->has_embedding - from->has_head,
                        failed);
        json_put(slice, "embedding", json_boolean(from->has_embedding), failed);
        json_put(slice, "head", json_boolean(from->has_head), failed);
        json_put_number(slice, "num_slots", plan->num_slots[i], failed);
        json_put_number(slice, "slot_bytes", (int64_t)plan->slot_bytes[i], failed);
        *failed |= json_array_append_new(slices, slice) != 0;
    }
    return slices;
}

static tri_status json_stages(const struct tri_placement *placement, json_t *stages, bool *failed)
{
    for (int stage = 0; stage < placement->num_stages; stage++) {
        tri_arena *arena = tri_arena_create();
        struct tri_rank_plan plan;
        int rank = tri_grid_move(&placement->grid, 0, TRI_AXIS_PP, stage);
        tri_status status =
            arena ? tri_rank_plan_make(placement, rank, arena, NULL, &plan) : TRI_NOMEM;
        if (status == TRI_OK) {
            json_t *item = json_object();
            json_put_number(item, "stage", stage, failed);
            json_put_number(item, "first_rank", rank, failed);
            json_put(item, "slices", json_slices(&plan, failed), failed);
            json_put(item, "bytes", json_bytes(&plan, failed), failed);
            *failed |= json_array_append_new(stages, item) != 0;
        }
        if (arena)
            tri_arena_destroy(&arena);
        TRI_TRY(status);
    }
    return TRI_OK;
}

static json_t *json_run(const struct tri_placement *placement, bool *failed)
{
    const struct tri_plan_request *request = &placement->request;
    json_t *run = json_object();
    json_put_number(run, "world_size", placement->grid.world_size, failed);
    json_put_number(run, "tensor_model_parallel_size", placement->split.tp, failed);
    json_put_number(run, "pipeline_model_parallel_size", placement->num_stages, failed);
    json_put_number(run, "virtual_pipeline_model_parallel_size", placement->num_slices, failed);
    json_put_number(run, "data_parallel_size", placement->dp, failed);
    json_put(run, "sequence_parallel", json_boolean(placement->config.sequence_parallel), failed);
    json_put(run, "use_distributed_optimizer",
             json_boolean(placement->config.use_distributed_optimizer), failed);
    json_put_number(run, "micro_batch_size", request->micro_batch_size, failed);
    json_put_number(run, "global_batch_size", request->global_batch_size, failed);
    json_put_number(run, "seq_length", request->seq_length, failed);
    json_put_number(run, "num_microbatches", placement->num_microbatches, failed);
    json_put_number(run, "padded_vocab_size", placement->padded_vocab_size, failed);
    json_put_number(run, "team_size", request->team_size, failed);
    if (request->comm.name)
        json_put(run, "communicator", json_string(request->comm.name), failed);
    json_put(run, "schedule", json_string(placement->schedule.name), failed);
    json_put(run, "bubble", json_real(tri_schedule_bubble(&placement->schedule)), failed);
    return run;
}

static json_t *json_summary(const struct tri_plan_summary *from, bool *failed)
{
    json_t *summary = json_object();
    json_put_number(summary, "total_parameters", from->total_parameters, failed);
    json_put_number(summary, "heaviest_rank", from->heaviest_rank, failed);
    json_put_number(summary, "heaviest_bytes", (int64_t)from->heaviest_bytes, failed);
    json_put_number(summary, "lightest_bytes", (int64_t)from->lightest_bytes, failed);
    json_put(summary, "flops_per_step", json_real(from->flops_per_step), failed);
    return summary;
}

static json_t *json_rows(const struct tri_rank_plan *rank, bool *failed)
{
    json_t *rows = json_array();
    for (int i = 0; i < rank->num_rows; i++) {
        const struct tri_plan_row *from = &rank->rows[i];
        json_t *row = json_object();
        json_put(row, "arena", json_string(tri_arena_name(from->arena)), failed);
        json_put(row, "owner", json_string(from->owner), failed);
        json_put(row, "name", json_string(from->name), failed);
        json_put_number(row, "offset", (int64_t)from->offset, failed);
        json_put_number(row, "bytes", (int64_t)from->bytes, failed);
        json_put_number(row, "copies", from->num_copies, failed);
        json_put_number(row, "stride", (int64_t)from->stride, failed);
        json_put(row, "from", json_pack("[i,i]", from->from.action, from->from.step), failed);
        json_put(row, "until", json_pack("[i,i]", from->until.action, from->until.step), failed);
        *failed |= json_array_append_new(rows, row) != 0;
    }
    return rows;
}

static json_t *json_buckets(const struct tri_rank_plan *rank, bool *failed)
{
    json_t *buckets = json_array();
    for (int i = 0; i < rank->num_buckets; i++) {
        const struct tri_bucket_plan *from = &rank->buckets[i];
        json_t *bucket = json_object(), *names = json_array();
        for (int k = 0; k < from->num_params; k++)
            *failed |= json_array_append_new(
                           names, json_string(rank->params[from->first_param + k].spec->name)) != 0;
        json_put_number(bucket, "slice", from->slice, failed);
        json_put_number(bucket, "offset", from->offset, failed);
        json_put_number(bucket, "elements", from->elements, failed);
        json_put_number(bucket, "shard_offset", from->shard_offset, failed);
        json_put_number(bucket, "shard_elements", from->shard_elements, failed);
        json_put(bucket, "tied", json_boolean(from->tied), failed);
        json_put(bucket, "parameters", names, failed);
        *failed |= json_array_append_new(buckets, bucket) != 0;
    }
    return buckets;
}

static json_t *json_rank(const struct tri_rank_plan *rank, bool *failed)
{
    json_t *item = json_object(), *coordinates = json_object(), *actions = json_array();
    for (enum tri_axis axis = 0; axis < TRI_NUM_AXES; axis++)
        json_put_number(coordinates, tri_axis_name(axis), rank->coordinate[axis], failed);
    for (int i = 0; i < rank->schedule->num_actions; i++) {
        const struct tri_action *a = &rank->schedule->actions[i];
        *failed |= json_array_append_new(
                       actions, json_pack("{s:s, s:i, s:i, s:i, s:i, s:i}", "action",
                                          tri_action_name(a->kind), "microbatch", a->microbatch,
                                          "slice", a->slice, "unit", a->unit, "num_units",
                                          a->num_units, "bucket", a->bucket)) != 0;
    }
    json_put_number(item, "rank", rank->rank, failed);
    json_put(item, "coordinates", coordinates, failed);
    json_put(item, "bytes", json_bytes(rank, failed), failed);
    json_put(item, "slices", json_slices(rank, failed), failed);
    json_put(item, "buckets", json_buckets(rank, failed), failed);
    json_put(item, "rows", json_rows(rank, failed), failed);
    json_put(item, "actions", actions, failed);
    return item;
}

tri_status tri_plan_print_json(FILE *out, const struct tri_placement *placement,
                               const struct tri_rank_plan *rank)
{
    struct tri_plan_summary summary;
    TRI_TRY(tri_plan_summarise(placement, NULL, &summary));
    bool failed = false;
    json_t *root = json_object(), *stages = json_array();
    tri_status status = json_stages(placement, stages, &failed);
    json_put(root, "run", json_run(placement, &failed), &failed);
    json_put(root, "stages", stages, &failed);
    json_put(root, "summary", json_summary(&summary, &failed), &failed);
    json_put(root, "rank", json_rank(rank, &failed), &failed);
    if (status == TRI_OK && failed)
        status = TRI_NOMEM;
    if (status == TRI_OK && (json_dumpf(root, out, JSON_INDENT(2)) != 0 || fputc('\n', out) < 0))
        status = TRI_IO;
    json_decref(root);
    return status;
}
