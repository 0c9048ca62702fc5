/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of placement/memory.h. */
#include "placement/memory_inner.h"

#include <string.h>

static struct tri_plan_time time_at(int action, int step)
{
    return (struct tri_plan_time){.action = action, .step = step};
}

static struct tri_plan_time time_end(const struct tri_memory *memory)
{
    return time_at(memory->plan->schedule->num_actions, 0);
}

/* Notes a row, whose arena reaches at least to its end. */
static void memory_row(struct tri_memory *memory, struct tri_plan_row row)
{
    if (memory->num == memory->room && memory->status == TRI_OK) {
        int room = memory->room ? 2 * memory->room : 256;
        struct tri_plan_row *grown = tri_arena_alloc(memory->arena, (size_t)room * sizeof(*grown));
        if (grown && memory->num)
            memcpy(grown, memory->rows, (size_t)memory->num * sizeof(*grown));
        memory->rows = grown;
        memory->room = room;
        memory->status = grown ? TRI_OK : TRI_NOMEM;
    }
    if (!row.owner)
        memory->status = TRI_NOMEM;
    if (memory->status != TRI_OK)
        return;
    if (row.num_copies == 0) {
        row.num_copies = 1;
        row.stride = tri_plan_round(row.bytes);
    }
    size_t end = row.offset + (size_t)(row.num_copies - 1) * row.stride + tri_plan_round(row.bytes);
    if (end > memory->plan->arena_bytes[row.arena])
        memory->plan->arena_bytes[row.arena] = end;
    memory->rows[memory->num++] = row;
}

void tri_memory_append(struct tri_memory *memory, enum tri_arena_kind arena, const char *owner,
                       const char *name, size_t bytes, int num_copies)
{
    memory_row(memory, (struct tri_plan_row){.arena = arena,
                                             .offset = memory->plan->arena_bytes[arena],
                                             .bytes = bytes,
                                             .num_copies = num_copies,
                                             .stride = tri_plan_round(bytes),
                                             .owner = owner,
                                             .name = name,
                                             .until = time_end(memory)});
}

static const char *moment_name(struct tri_memory *memory, int moment)
{
    if (moment < 2)
        return moment == 0 ? "exp_avg" : "exp_avg_sq";
    const char *name = tri_arena_format(memory->arena, "moment %d", moment);
    return name ? name : "moment";
}

static void memory_buckets(struct tri_memory *memory)
{
    const struct tri_rank_plan *plan = memory->plan;
    const struct tri_plan_request *request = &memory->placement->request;
    const char **owners =
        tri_arena_alloc(memory->arena, (size_t)plan->num_buckets * sizeof(char *));
    if (!owners) {
        memory->status = TRI_NOMEM;
        return;
    }
    for (int i = 0; i < plan->num_buckets; i++) {
        const struct tri_bucket_plan *bucket = &plan->buckets[i];
        size_t bytes = (size_t)bucket->elements * sizeof(float);
        owners[i] = tri_arena_format(memory->arena, "bucket %d", i);
        tri_memory_append(memory, TRI_ARENA_PARAMS, owners[i], "values", bytes, 1);
        if (!request->forward_only)
            tri_memory_append(memory, TRI_ARENA_GRADS, owners[i], "gradients", bytes, 1);
    }
    for (int moment = 0; moment < request->num_moments && !request->forward_only; moment++)
        for (int i = 0; i < plan->num_buckets; i++)
            tri_memory_append(memory, TRI_ARENA_OPTIM, owners[i], moment_name(memory, moment),
                              (size_t)plan->buckets[i].shard_elements * sizeof(float), 1);
}

/* Where a slice's work happens in the action list. */
struct slice_times {
    int first_forward, last_forward; /* of any unit, with its messages */
    int last_input, last_weight;     /* of the backward halves */
};

static struct slice_times slice_times_find(const struct tri_rank_schedule *schedule, int slice)
{
    struct slice_times times = {.first_forward = -1};
    for (int i = 0; i < schedule->num_actions; i++) {
        const struct tri_action *a = &schedule->actions[i];
        if (a->slice != slice || a->kind == TRI_ACTION_REDUCE)
            continue;
        if (times.first_forward < 0)
            times.first_forward = i;
        if (a->kind == TRI_ACTION_FWD || a->kind == TRI_ACTION_SEND_FWD)
            times.last_forward = i;
        if (a->kind == TRI_ACTION_BWD || a->kind == TRI_ACTION_BWD_INPUT)
            times.last_input = i;
        if (a->kind == TRI_ACTION_BWD || a->kind == TRI_ACTION_BWD_WEIGHT)
            times.last_weight = i;
    }
    if (times.first_forward < 0)
        times.first_forward = 0;
    return times;
}

/* The first action that runs a unit forward, or (backward) its input half; 0 if there is none. */
static int unit_action(const struct tri_rank_schedule *schedule, int slice, int unit, bool backward)
{
    for (int i = 0; i < schedule->num_actions; i++) {
        const struct tri_action *a = &schedule->actions[i];
        bool kind = backward ? a->kind == TRI_ACTION_BWD || a->kind == TRI_ACTION_BWD_INPUT
                             : a->kind == TRI_ACTION_FWD;
        if (kind && a->slice == slice && unit >= a->unit && unit < a->unit + a->num_units)
            return i;
    }
    return 0;
}

/* A unit of one of the rank's slices on its way into rows. */
struct unit_place {
    int slice, unit;    /* local unit */
    int first_step;     /* module index of its first module within the slice */
    size_t slot_offset; /* of its part, from the arena's start, slot 0 */
    const struct tri_unit_size *size;
    const char *path;
    struct slice_times times;
};

static bool node_holds(const struct tri_module_spec *node, const struct tri_module_spec *other)
{
    if (node == other)
        return true;
    for (int i = 0; i < node->num_children; i++)
        if (node_holds(&node->children[i], other))
            return true;
    return false;
}

/* The last module of the sub-tree of module: a container's rows live while its children run. */
static int unit_last_module(const struct tri_unit_size *size, int module)
{
    int last = module;
    while (last + 1 < size->num_modules &&
           node_holds(size->module_spec[module], size->module_spec[last + 1]))
        last++;
    return last;
}

static void memory_unit_row(struct tri_memory *memory, const struct unit_place *place,
                            const struct tri_size_row *from)
{
    const struct tri_rank_plan *plan = memory->plan;
    int step = place->first_step + from->module;
    int last_step = place->first_step + unit_last_module(place->size, from->module);
    struct tri_plan_row row = {
        .owner = tri_arena_format(memory->arena, "slice %d %s", place->slice,
                                  place->size->module_path[from->module]),
        .name = from->name,
        .bytes = from->bytes,
        .offset = from->offset,
    };
    bool backward = from->row_class == TRI_ROW_WORK_BACKWARD;
    if (from->row_class == TRI_ROW_RUN) {
        row.arena = TRI_ARENA_RUN;
        row.offset += tri_rank_plan_run_offset(plan, place->slice, place->unit);
        row.until = time_end(memory);
    } else if (backward || from->row_class == TRI_ROW_WORK_FORWARD) {
        int action = unit_action(plan->schedule, place->slice, place->unit, backward);
        row.arena = TRI_ARENA_WORK;
        row.from = time_at(action, step);
        row.until = time_at(action, last_step);
    } else {
        bool until_weight = from->row_class != TRI_ROW_SAVED_INPUT;
        row.arena = TRI_ARENA_SAVED;
        row.offset += place->slot_offset;
        row.num_copies = plan->num_slots[place->slice];
        row.stride = plan->slot_bytes[place->slice];
        row.from = time_at(place->times.first_forward, step);
        row.until =
            time_at(until_weight ? place->times.last_weight : place->times.last_input, last_step);
    }
    memory_row(memory, row);
}

/* An activation between units: the slice's input, or the output of a unit. */
static void memory_hidden(struct tri_memory *memory, int slice, const char *owner, const char *name,
                          size_t offset, struct tri_plan_time from, struct tri_plan_time until)
{
    memory_row(memory, (struct tri_plan_row){.arena = TRI_ARENA_SAVED,
                                             .offset = offset,
                                             .bytes = memory->hidden_bytes,
                                             .num_copies = memory->plan->num_slots[slice],
                                             .stride = memory->plan->slot_bytes[slice],
                                             .owner = owner,
                                             .name = name,
                                             .from = from,
                                             .until = until});
}

/* Without a backward an output is needed until the next unit has run, so two rows take turns. */
static int memory_hidden_rows(const struct tri_placement *placement,
                              const struct tri_slice_plan *slice)
{
    int num = slice->num_units - slice->has_head;
    return placement->request.forward_only && num > 2 ? 2 : num;
}

static void memory_slice_hidden(struct tri_memory *memory, const struct tri_slice_plan *slice,
                                size_t offset, const struct slice_times *times)
{
    const struct tri_placement *placement = memory->placement;
    const struct tri_rank_schedule *schedule = memory->plan->schedule;
    bool forward_only = placement->request.forward_only;
    size_t stride = tri_plan_round(memory->hidden_bytes);
    int num = memory_hidden_rows(placement, slice), step = 0;
    struct tri_plan_time last =
        forward_only ? time_at(times->last_forward, 0) : time_at(times->last_input, 0);
    if (!slice->has_embedding) {
        memory_hidden(memory, slice->index,
                      tri_arena_format(memory->arena, "slice %d", slice->index), "input", offset,
                      time_at(times->first_forward, 0), last);
        offset += stride;
    }
    for (int u = 0; u < slice->num_units - slice->has_head; u++) {
        const char *path = placement->spec->unit_path[slice->first_unit + u];
        struct tri_plan_time from = time_at(times->first_forward, step), until = last;
        step += placement->units[slice->first_unit + u].num_modules;
        if (forward_only && u + 1 < slice->num_units) {
            int action = unit_action(schedule, slice->index, u, false);
            int next = placement->units[slice->first_unit + u + 1].num_modules;
            from.action = action;
            until = time_at(action, step + next - 1);
        }
        memory_hidden(memory, slice->index,
                      tri_arena_format(memory->arena, "slice %d %s", slice->index, path), "hidden",
                      offset + (size_t)(u % num) * stride, from, until);
    }
}

static void memory_slice(struct tri_memory *memory, const struct tri_slice_plan *slice)
{
    const struct tri_rank_plan *plan = memory->plan;
    const struct tri_placement *placement = memory->placement;
    size_t base = tri_rank_plan_slot_offset(plan, slice->index, 0);
    struct unit_place place = {.slice = slice->index,
                               .times = slice_times_find(plan->schedule, slice->index)};
    for (place.unit = 0; place.unit < slice->num_units; place.unit++) {
        place.size = &placement->units[slice->first_unit + place.unit];
        place.slot_offset = base + tri_rank_plan_unit_offset(plan, slice->index, place.unit);
        for (int i = 0; i < place.size->num_rows; i++)
            memory_unit_row(memory, &place, &place.size->rows[i]);
        place.first_step += place.size->num_modules;
    }
    memory_slice_hidden(memory, slice,
                        base + tri_rank_plan_unit_offset(plan, slice->index, slice->num_units),
                        &place.times);
}

/* Gradients between units: with more than one border inside a slice, one is read while the other is
   written. */
static void memory_gradients(struct tri_memory *memory)
{
    int borders = 0;
    for (int i = 0; i < memory->plan->num_slices; i++)
        if (memory->plan->slices[i].num_units - 1 > borders)
            borders = memory->plan->slices[i].num_units - 1;
    if (memory->placement->request.forward_only)
        return;
    if (borders > 0)
        tri_memory_append(memory, TRI_ARENA_WORK, "units", "dhidden 0", memory->hidden_bytes, 1);
    if (borders > 1)
        tri_memory_append(memory, TRI_ARENA_WORK, "units", "dhidden 1", memory->hidden_bytes, 1);
}

/* The norm of the gradients, at the end of the step: its scratch lies where the units' was. */
static void memory_update(struct tri_memory *memory)
{
    const struct tri_plan_request *request = &memory->placement->request;
    const struct tri_scratch_table *scratch =
        request->num_scratch ? request->scratch[0].table : NULL;
    int64_t largest = 0;
    if (request->forward_only || !scratch)
        return;
    for (int i = 0; i < memory->plan->num_params; i++)
        if (memory->plan->params[i].elements > largest)
            largest = memory->plan->params[i].elements;
    memory_row(memory,
               (struct tri_plan_row){.arena = TRI_ARENA_WORK,
                                     .bytes = scratch->sum_squares(largest, request->team_size),
                                     .owner = "optimizer",
                                     .name = "workspace",
                                     .from = time_end(memory),
                                     .until = time_end(memory)});
}

/* Slots serve training and evaluation; both lists say how many they need. */
static tri_status memory_slots(struct tri_memory *memory)
{
    struct tri_rank_plan *plan = memory->plan;
    size_t num = (size_t)plan->num_slices;
    int *num_slots = tri_arena_alloc(memory->arena, num * sizeof(int));
    size_t *slot_bytes = tri_arena_alloc(memory->arena, num * sizeof(size_t));
    if (!num_slots || !slot_bytes)
        return TRI_NOMEM;
    for (int i = 0; i < plan->num_slices; i++) {
        const struct tri_slice_plan *slice = &plan->slices[i];
        int hidden = memory_hidden_rows(memory->placement, slice) + !slice->has_embedding;
        int eval = plan->eval_schedule->num_slots[i];
        num_slots[i] = plan->schedule->num_slots[i];
        if (num_slots[i] < eval)
            num_slots[i] = eval;
        slot_bytes[i] = tri_rank_plan_unit_offset(plan, i, slice->num_units) +
                        (size_t)hidden * tri_plan_round(memory->hidden_bytes);
    }
    plan->num_slots = num_slots;
    plan->slot_bytes = slot_bytes;
    return TRI_OK;
}

tri_status tri_memory_plan(struct tri_rank_plan *plan, tri_arena *arena, tri_error *err)
{
    const struct tri_placement *placement = plan->placement;
    const struct tri_plan_request *request = &placement->request;
    struct tri_memory memory = {.plan = plan, .placement = placement, .arena = arena};
    memory.hidden_bytes = (size_t)(request->seq_length / placement->split.sp) *
                          (size_t)request->micro_batch_size *
                          (size_t)placement->spec->shape.transformer.hidden_size * sizeof(float);
    memory.status = memory_slots(&memory);
    if (memory.status == TRI_OK)
        memory_buckets(&memory);
    for (int i = 0; i < plan->num_slices && memory.status == TRI_OK; i++)
        memory_slice(&memory, &plan->slices[i]);
    memory_gradients(&memory);
    memory_update(&memory);
    tri_memory_comm(&memory);
    TRI_CHECK(memory.status == TRI_OK, err, memory.status, "out of memory while planning rank %d",
              plan->rank);
    plan->rows = memory.rows;
    plan->num_rows = memory.num;
    for (int i = 0; i < TRI_NUM_ARENAS; i++)
        plan->total_bytes += plan->arena_bytes[i];
    return TRI_OK;
}
