/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proof of a schedule, in three parts: each stage's list on its own (here), the order of
 * messages on each link (schedule_links.c) and a run of all stages together (schedule_simulate.c).
 * A slice without units counts as one with a single unit that has no gradients.
 */
#include "placement/schedule_build.h"

#include <stdarg.h>

/* What is known about one slice of the stage while its list is read. */
struct check_slice {
    int units;              /* at least 1 */
    int *forwarded;         /* [microbatch] units whose forward has run, from the first */
    int *slot;              /* [microbatch] where it lies, -1: not yet or no more */
    int *holder;            /* [slot] microbatch that has it, -1: free */
    int *next_input;        /* [unit] microbatch whose input half comes next */
    int *next_weight;       /* [unit] the same for the weight half */
    unsigned char *done;    /* [microbatch] bits of 1 << message kind */
    unsigned char *reduced; /* [bucket] */
};

struct check {
    const struct tri_schedule *schedule;
    const struct tri_schedule_input *input;
    const struct tri_rank_schedule *rank;
    tri_arena *arena;
    tri_error *err;
    int stage, index; /* of the action; -1: none */
    const struct tri_action *action;
    struct check_slice *slices;
    int unsent_slice, unsent_microbatch; /* gradient that waits to be sent; -1: none */
    int *row_slice, *row_microbatch;     /* [receive staging row] gradient in it; -1: none */
    int open_slice, open_microbatch;     /* backward that has not come to unit 0; -1: none */
    bool broken;                         /* an action that cannot be run at all */
};

/* A fault at the current action; once the list is read, of the stage as a whole. */
__attribute__((format(printf, 2, 3))) static void check_fault(struct check *check,
                                                              const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    tri_schedule_fault(check->err, check->schedule, check->stage, check->index, text);
}

static int *check_numbers(struct check *check, int num, int value)
{
    int *numbers = tri_arena_alloc(check->arena, (size_t)(num > 0 ? num : 1) * sizeof(int));
    for (int i = 0; numbers && i < num; i++)
        numbers[i] = value;
    return numbers;
}

static tri_status check_slice_init(struct check *check, int index)
{
    struct check_slice *slice = &check->slices[index];
    int m = check->input->num_microbatches;
    int units = tri_schedule_units(check->input, check->stage, index);
    int num_buckets = tri_schedule_buckets(check->input, check->stage, index);
    slice->units = units > 0 ? units : 1;
    slice->forwarded = check_numbers(check, m, 0);
    slice->slot = check_numbers(check, m, -1);
    slice->holder = check_numbers(check, check->rank->num_slots[index], -1);
    slice->next_input = check_numbers(check, slice->units, 0);
    slice->next_weight = check_numbers(check, slice->units, 0);
    slice->done = tri_arena_alloc(check->arena, (size_t)m);
    slice->reduced = tri_arena_alloc(check->arena, (size_t)num_buckets + 1);
    return slice->forwarded && slice->slot && slice->holder && slice->next_input &&
                   slice->next_weight && slice->done && slice->reduced
               ? TRI_OK
               : TRI_NOMEM;
}

static bool check_has_next(const struct check *check, int slice)
{
    return tri_schedule_has_next(check->input->num_stages, check->input->num_slices, check->stage,
                                 slice);
}

/* Numbers that later code uses as indices. */
static bool check_ranges(struct check *check, const struct tri_action *a)
{
    const struct tri_schedule_input *input = check->input;
    const struct tri_rank_schedule *rank = check->rank;
    if (a->slice < 0 || a->slice >= input->num_slices || a->microbatch < 0 ||
        a->microbatch >= input->num_microbatches) {
        check_fault(check, "no such microbatch or slice; there are %d and %d",
                    input->num_microbatches, input->num_slices);
        return false;
    }
    if (a->kind == TRI_ACTION_REDUCE) {
        int num = tri_schedule_buckets(input, check->stage, a->slice);
        if (a->bucket < 0 || a->bucket >= num)
            check_fault(check, "no such bucket; the slice has %d", num);
        return a->bucket >= 0 && a->bucket < num;
    }
    int units = tri_schedule_units(input, check->stage, a->slice);
    bool good = a->unit >= 0 && a->num_units >= (units > 0) && a->unit + a->num_units <= units;
    if (!good)
        check_fault(check, "units [%d:%d] are not in the slice, which has %d", a->unit,
                    a->num_units, units);
    if (a->slot < 0 || a->slot >= rank->num_slots[a->slice]) {
        check_fault(check, "slot %d is not among the slice's %d", a->slot,
                    rank->num_slots[a->slice]);
        good = false;
    }
    int rows = a->kind == TRI_ACTION_SEND_BWD   ? rank->num_send_staging
               : a->kind == TRI_ACTION_RECV_BWD ? rank->num_recv_staging
                                                : -1;
    if (rows >= 0 && (a->staging < 0 || a->staging >= rows)) {
        check_fault(check, "staging row %d is not among %d", a->staging, rows);
        good = false;
    }
    return good;
}

/* A message happens once, and only on a slice that has a neighbour there. */
static void check_message(struct check *check, struct check_slice *slice, bool has_neighbour)
{
    const struct tri_action *a = check->action;
    unsigned char bit = (unsigned char)(1u << a->kind);
    if (!has_neighbour)
        check_fault(check, "the slice has no neighbour on that side");
    if (slice->done[a->microbatch] & bit)
        check_fault(check, "it is done a second time");
    slice->done[a->microbatch] |= bit;
}

static bool check_is_done(const struct check_slice *slice, int microbatch,
                          enum tri_action_kind kind)
{
    return slice->done[microbatch] & (1u << kind);
}

static void check_take_slot(struct check *check, struct check_slice *slice)
{
    const struct tri_action *a = check->action;
    int holder = slice->holder[a->slot];
    if (holder >= 0 && holder != a->microbatch)
        check_fault(check, "slot %d is still held by microbatch %d", a->slot, holder);
    slice->holder[a->slot] = a->microbatch;
    slice->slot[a->microbatch] = a->slot;
}

static void check_give_slot(struct check_slice *slice, int microbatch)
{
    int slot = slice->slot[microbatch];
    if (slot >= 0 && slice->holder[slot] == microbatch)
        slice->holder[slot] = -1;
    slice->slot[microbatch] = -1;
}

static void check_has_slot(struct check *check, const struct check_slice *slice)
{
    const struct tri_action *a = check->action;
    if (slice->slot[a->microbatch] != a->slot)
        check_fault(check, "microbatch %d is not in slot %d", a->microbatch, a->slot);
}

static void check_forward(struct check *check, struct check_slice *slice, int num_units)
{
    const struct tri_action *a = check->action;
    int m = a->microbatch;
    bool has_previous = tri_schedule_has_previous(check->stage, a->slice);
    if (has_previous && !check_is_done(slice, m, TRI_ACTION_RECV_FWD))
        check_fault(check, "its input has not been received");
    if (!has_previous && a->unit == 0)
        check_take_slot(check, slice);
    check_has_slot(check, slice);
    if (slice->forwarded[m] != a->unit)
        check_fault(check, "it begins at unit %d, and forward has come to unit %d", a->unit,
                    slice->forwarded[m]);
    slice->forwarded[m] = a->unit + num_units;
    if (check->input->forward_only && !check_has_next(check, a->slice) &&
        slice->forwarded[m] == slice->units)
        check_give_slot(slice, m);
}

static void check_send_forward(struct check *check, struct check_slice *slice)
{
    const struct tri_action *a = check->action;
    check_message(check, slice, check_has_next(check, a->slice));
    check_has_slot(check, slice);
    if (slice->forwarded[a->microbatch] != slice->units)
        check_fault(check, "its forward has not run to the end");
    if (check->input->forward_only)
        check_give_slot(slice, a->microbatch);
}

static void check_receive_backward(struct check *check, struct check_slice *slice)
{
    const struct tri_action *a = check->action;
    check_message(check, slice, check_has_next(check, a->slice));
    if (check->row_slice[a->staging] >= 0)
        check_fault(check, "staging row %d still holds the gradient of %d.%d", a->staging,
                    check->row_microbatch[a->staging], check->row_slice[a->staging]);
    check->row_slice[a->staging] = a->slice;
    check->row_microbatch[a->staging] = a->microbatch;
}

/* Adds the half's gradients of units [first, end): in microbatch order, each once. The first unit
   that is out of order stands for the range. */
static void check_half(struct check *check, int *next, const char *half, int first, int end)
{
    int m = check->action->microbatch;
    for (int unit = first; unit < end; unit++) {
        if (next[unit] == m)
            continue;
        check_fault(check, "the %s half of unit %d belongs to microbatch %d now", half, unit,
                    next[unit]);
        break;
    }
    for (int unit = first; unit < end; unit++)
        next[unit] = m + 1;
}

static void check_input_half(struct check *check, struct check_slice *slice, int end)
{
    const struct tri_action *a = check->action;
    int m = a->microbatch;
    if (slice->forwarded[m] != slice->units)
        check_fault(check, "its forward has not run to the end");
    if (check->unsent_slice >= 0)
        check_fault(check, "the gradient of %d.%d has not been sent", check->unsent_microbatch,
                    check->unsent_slice);
    if (check->open_slice >= 0 && (check->open_slice != a->slice || check->open_microbatch != m))
        check_fault(check, "the backward of %d.%d is not through, and its gradient would be lost",
                    check->open_microbatch, check->open_slice);
    check->unsent_slice = -1;
    check->open_slice = a->unit > 0 ? a->slice : -1;
    check->open_microbatch = m;
    if (end < slice->units && slice->next_input[end] <= m)
        check_fault(check, "unit %d above has not passed its gradient down", end);
    if (end == slice->units && check_has_next(check, a->slice)) {
        if (!check_is_done(slice, m, TRI_ACTION_RECV_BWD))
            check_fault(check, "the gradient of its output has not been received");
        for (int row = 0; row < check->rank->num_recv_staging; row++)
            if (check->row_slice[row] == a->slice && check->row_microbatch[row] == m)
                check->row_slice[row] = -1;
    }
    check_half(check, slice->next_input, "input", a->unit, end);
    if (a->unit == 0 && tri_schedule_has_previous(check->stage, a->slice)) {
        check->unsent_slice = a->slice;
        check->unsent_microbatch = m;
    }
}

static void check_weight_half(struct check *check, struct check_slice *slice, int end)
{
    const struct tri_action *a = check->action;
    for (int unit = a->unit; unit < end; unit++)
        if (slice->next_input[unit] <= a->microbatch) {
            check_fault(check, "the input half of unit %d has not run", unit);
            break;
        }
    check_half(check, slice->next_weight, "weight", a->unit, end);
    for (int unit = 0; unit < slice->units; unit++)
        if (slice->next_weight[unit] <= a->microbatch)
            return;
    check_give_slot(slice, a->microbatch);
}

static void check_send_backward(struct check *check, struct check_slice *slice)
{
    const struct tri_action *a = check->action;
    check_message(check, slice, tri_schedule_has_previous(check->stage, a->slice));
    if (check->unsent_slice != a->slice || check->unsent_microbatch != a->microbatch)
        check_fault(check, "its gradient has not just been made");
    check->unsent_slice = -1;
}

static void check_reduce(struct check *check, struct check_slice *slice)
{
    const struct tri_action *a = check->action;
    const struct tri_schedule_input *input = check->input;
    if (slice->reduced[a->bucket])
        check_fault(check, "it is done a second time");
    slice->reduced[a->bucket] = 1;
    int lowest = input->bucket_unit[check->stage * input->num_slices + a->slice][a->bucket];
    for (int unit = slice->units - 1; unit >= lowest; unit--) {
        int least = slice->next_input[unit] < slice->next_weight[unit] ? slice->next_input[unit]
                                                                       : slice->next_weight[unit];
        if (least == input->num_microbatches)
            continue;
        check_fault(check, "unit %d still waits for the gradient of microbatch %d", unit, least);
        return;
    }
}

static void check_action(struct check *check, const struct tri_action *a)
{
    struct check_slice *slice = &check->slices[a->slice];
    int end = a->unit + (a->num_units > 0 ? a->num_units : 1);
    bool backward = a->kind != TRI_ACTION_RECV_FWD && a->kind != TRI_ACTION_FWD &&
                    a->kind != TRI_ACTION_SEND_FWD;
    if (backward && check->input->forward_only)
        check_fault(check, "there is no backward in a forward-only schedule");
    if (a->kind == TRI_ACTION_BWD || a->kind == TRI_ACTION_BWD_INPUT ||
        a->kind == TRI_ACTION_BWD_WEIGHT)
        check_has_slot(check, slice);
    switch (a->kind) {
    case TRI_ACTION_RECV_FWD:
        check_message(check, slice, tri_schedule_has_previous(check->stage, a->slice));
        check_take_slot(check, slice);
        break;
    case TRI_ACTION_FWD:
        check_forward(check, slice, end - a->unit);
        break;
    case TRI_ACTION_SEND_FWD:
        check_send_forward(check, slice);
        break;
    case TRI_ACTION_RECV_BWD:
        check_receive_backward(check, slice);
        break;
    case TRI_ACTION_BWD:
        check_input_half(check, slice, end);
        check_weight_half(check, slice, end);
        break;
    case TRI_ACTION_BWD_INPUT:
        check_input_half(check, slice, end);
        break;
    case TRI_ACTION_BWD_WEIGHT:
        check_weight_half(check, slice, end);
        break;
    case TRI_ACTION_SEND_BWD:
        check_send_backward(check, slice);
        break;
    case TRI_ACTION_REDUCE:
        check_reduce(check, slice);
        break;
    case TRI_NUM_ACTION_KINDS:
        break;
    }
}

/* What should have happened by the end of the list. */
static void check_complete_slice(struct check *check, int index)
{
    const struct tri_schedule_input *input = check->input;
    const struct check_slice *slice = &check->slices[index];
    bool backward = !input->forward_only;
    for (int i = 0; i < input->num_microbatches; i++) {
        if (slice->forwarded[i] != slice->units)
            check_fault(check, "the forward of %d.%d is missing or not complete", i, index);
        if (check_has_next(check, index) && !check_is_done(slice, i, TRI_ACTION_SEND_FWD))
            check_fault(check, "the output of %d.%d is never sent", i, index);
        if (backward && tri_schedule_has_previous(check->stage, index) &&
            !check_is_done(slice, i, TRI_ACTION_SEND_BWD))
            check_fault(check, "the gradient of %d.%d is never sent", i, index);
    }
    for (int unit = 0; unit < slice->units && backward; unit++) {
        if (slice->next_input[unit] != input->num_microbatches)
            check_fault(check, "unit %d of slice %d ends at the input half of microbatch %d", unit,
                        index, slice->next_input[unit]);
        if (slice->next_weight[unit] != input->num_microbatches)
            check_fault(check, "unit %d of slice %d ends at the weight half of microbatch %d", unit,
                        index, slice->next_weight[unit]);
    }
    for (int i = 0; i < tri_schedule_buckets(input, check->stage, index) && backward; i++)
        if (!slice->reduced[i])
            check_fault(check, "bucket %d of slice %d is never reduced", i, index);
}

static tri_status check_stage(struct check *check)
{
    int num_slices = check->input->num_slices;
    check->rank = &check->schedule->ranks[check->stage];
    check->slices = tri_arena_alloc(check->arena, (size_t)num_slices * sizeof(*check->slices));
    check->row_slice = check_numbers(check, check->rank->num_recv_staging, -1);
    check->row_microbatch = check_numbers(check, check->rank->num_recv_staging, -1);
    check->unsent_slice = check->open_slice = -1;
    if (!check->slices || !check->row_slice || !check->row_microbatch)
        return TRI_NOMEM;
    for (int slice = 0; slice < num_slices; slice++)
        TRI_TRY(check_slice_init(check, slice));
    for (int i = 0; i < check->rank->num_actions; i++) {
        check->index = i;
        check->action = &check->rank->actions[i];
        if (check_ranges(check, check->action))
            check_action(check, check->action);
        else
            check->broken = true;
    }
    check->index = -1;
    for (int slice = 0; slice < num_slices; slice++)
        check_complete_slice(check, slice);
    return TRI_OK;
}

tri_status tri_schedule_check(const struct tri_schedule *schedule,
                              const struct tri_schedule_input *input, tri_error *err)
{
    if (schedule->num_stages != input->num_stages || schedule->num_slices != input->num_slices ||
        schedule->num_microbatches != input->num_microbatches)
        return tri_error_add(
            err, TRI_INVALID,
            "schedule '%s' is for %d stages with %d slices and %d microbatches, and "
            "there are %d, %d and %d",
            schedule->name, schedule->num_stages, schedule->num_slices, schedule->num_microbatches,
            input->num_stages, input->num_slices, input->num_microbatches);
    int faults = tri_error_count(err);
    tri_arena *arena = tri_arena_create();
    struct check check = {.schedule = schedule, .input = input, .arena = arena, .err = err};
    tri_status status = arena ? TRI_OK : TRI_NOMEM;
    for (int stage = 0; stage < input->num_stages && status == TRI_OK; stage++) {
        check.stage = stage;
        status = check_stage(&check);
    }
    if (status == TRI_OK)
        status = tri_schedule_check_links(schedule, !check.broken, arena, err);
    tri_arena_destroy(&arena);
    if (status != TRI_OK)
        return tri_error_set(err, status, "out of memory while checking a schedule");
    return tri_error_count(err) > faults ? TRI_INVALID : TRI_OK;
}
