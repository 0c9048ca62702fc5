/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the generators share. A generator says in which order a stage runs the forwards and
 * backwards of its slices; the builder puts the messages round them, cuts the last microbatch's
 * backward at bucket borders, begins the reduces, and numbers slots and staging rows.
 *
 * A receive stands right before the action that needs it, a send right behind the one that made it.
 * As every stage runs the forwards (and the backwards) of its slices in one common order, messages
 * of a link arrive in the order in which they are asked for, the wrap-around link included.
 */
#pragma once

#include "placement/schedule.h"

struct tri_schedule_builder {
    const struct tri_schedule_input *input;
    tri_arena *arena;
    int stage;
    struct tri_action *actions;
    int num, room;
    tri_status status; /* of the first failure; later calls do nothing */
};

void tri_schedule_builder_init(struct tri_schedule_builder *builder,
                               const struct tri_schedule_input *input, int stage, tri_arena *arena);
/* Adds the forward of a microbatch on one of the stage's slices, with its messages. */
void tri_schedule_build_forward(struct tri_schedule_builder *builder, int microbatch, int slice);
/* The same for the backward, which of the last microbatch begins the reduces. */
void tri_schedule_build_backward(struct tri_schedule_builder *builder, int microbatch, int slice);
void tri_schedule_build_action(struct tri_schedule_builder *builder, struct tri_action action);
/* Cuts kind (BWD or BWD_WEIGHT) of a whole slice at bucket borders, a REDUCE behind each part. */
void tri_schedule_build_reduced(struct tri_schedule_builder *builder, enum tri_action_kind kind,
                                int microbatch, int slice);
/* Numbers slots and staging rows and hands the list over. */
tri_status tri_schedule_build_end(struct tri_schedule_builder *builder, tri_error *err,
                                  struct tri_rank_schedule *rank);

/* Units of a slice of a stage. */
static inline int tri_schedule_units(const struct tri_schedule_input *input, int stage, int slice)
{
    return input->num_units[stage * input->num_slices + slice];
}
static inline int tri_schedule_buckets(const struct tri_schedule_input *input, int stage, int slice)
{
    return input->num_buckets ? input->num_buckets[stage * input->num_slices + slice] : 0;
}
/* Does the slice take its input from, or give its output to, another one? */
static inline bool tri_schedule_has_previous(int stage, int slice)
{
    return stage > 0 || slice > 0;
}
static inline bool tri_schedule_has_next(int num_stages, int num_slices, int stage, int slice)
{
    return stage < num_stages - 1 || slice < num_slices - 1;
}

/* Rows for gradients under way: a stage may run ahead of the one before it by as many. */
static inline int tri_schedule_send_rows(const struct tri_schedule_input *input)
{
    int ahead = input->num_slices > 1 ? input->group_size - input->num_stages + 2 : 2;
    return ahead > 2 ? ahead : 2;
}

/* One run of all stages, each doing its list in order: receives wait for the message, a row is used
   again once its last message has been received. */
struct tri_schedule_run {
    int num_stuck;       /* stages that cannot go on */
    const int *position; /* [stage] index of the action at which it stands, num_actions when done */
    double time;         /* from first to last action, with forward = 1 and backward = 2 */
    double busy;         /* sum over stages of the time spent in actions */
};
tri_status tri_schedule_simulate(const struct tri_schedule *schedule, tri_arena *arena,
                                 struct tri_schedule_run *run);

/* Adds one fault of a schedule to err: of the action at index, or of the stage when index is -1. */
void tri_schedule_fault(tri_error *err, const struct tri_schedule *schedule, int stage, int index,
                        const char *text);
/* The part of tri_schedule_check() that looks at all stages; can_run: every action can be
   simulated. */
tri_status tri_schedule_check_links(const struct tri_schedule *schedule, bool can_run,
                                    tri_arena *arena, tri_error *err);
