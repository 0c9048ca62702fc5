/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A schedule is data: one array of actions per rank, made by a pure generator, proved by a checker
 * that simulates all ranks, run by one executor. A slice is a list of units; forward and backward
 * actions name a range of them. The generator cuts the last microbatch's backward at bucket
 * borders and puts the reduces there. Sends begin and do not wait; each holds a staging row (or,
 * forward, the slot) until the peer has received.
 *
 * Text form, one line per rank: "rank 0: RECV_FWD 0.0 FWD 0.0[0:5] SEND_FWD 0.0 ..." where i.c is
 * microbatch.slice (of a REDUCE bucket.slice) and [first:count] a unit range (left out: the whole
 * slice).
 */
#pragma once

#include "base/arena.h"
#include "base/check.h"

#include <stdint.h>
#include <stdio.h>

enum tri_action_kind {
    TRI_ACTION_RECV_FWD, /* the slice's input, from the previous stage, into the slot */
    TRI_ACTION_FWD,
    TRI_ACTION_SEND_FWD, /* the slice's output, to the next stage */
    TRI_ACTION_RECV_BWD, /* gradient of the slice's output */
    TRI_ACTION_BWD,
    TRI_ACTION_BWD_INPUT,
    TRI_ACTION_BWD_WEIGHT,
    TRI_ACTION_SEND_BWD, /* gradient of the slice's input */
    TRI_ACTION_REDUCE,   /* begin the reduction of bucket */
    TRI_NUM_ACTION_KINDS
};

struct tri_action {
    enum tri_action_kind kind;
    int32_t microbatch;
    int32_t slice; /* which of this rank's slices */
    int32_t unit;  /* first unit of the slice the action covers */
    int32_t num_units;
    int32_t bucket;  /* of REDUCE: index among the slice's buckets; else -1 */
    int32_t slot;    /* where this microbatch's saved tensors live */
    int32_t staging; /* SEND_BWD: row that holds the gradient; RECV_BWD: row it lands in; else -1 */
};

/* What a generator sees of the pipeline. */
struct tri_schedule_input {
    int num_stages; /* pp */
    int num_slices; /* per rank */
    int num_microbatches;
    int group_size; /* microbatch_group_size_per_vp_stage; num_stages by default */
    bool forward_only;
    const int *num_units;   /* [stage * num_slices + slice] */
    const int *num_buckets; /* [stage * num_slices + slice]; NULL: no REDUCE actions */
    const int *const
        *bucket_unit; /* [stage * num_slices + slice][bucket]: lowest unit of bucket; buckets
                                       are numbered as backward completes them, from the last unit
                                       down */
};

struct tri_rank_schedule {
    int num_actions;
    const struct tri_action *actions;
    const int *num_slots; /* [slice]: most microbatches in flight */
    int num_send_staging; /* rows for gradients on their way to the previous stage */
    int num_recv_staging;
    bool split_backward; /* has BWD_INPUT or BWD_WEIGHT */
};

struct tri_schedule {
    const char *name;
    int num_stages, num_slices, num_microbatches;
    const struct tri_rank_schedule *ranks; /* [stage] */
};

struct tri_schedule_row {
    const char *name; /* "no_pipelining", "1f1b", "interleaved" */
    /* Fails with the constraint and the sizes that would work. */
    tri_status (*plan)(const struct tri_schedule_input *input, tri_arena *arena, tri_error *err,
                       struct tri_schedule *schedule);
};
const struct tri_schedule_row *tri_schedule_find(const char *name);
/* "auto": no_pipelining for one stage, interleaved for several slices, else 1f1b. A name that is
   not a row is the path of a text file. */
tri_status tri_schedule_plan(const char *name, const struct tri_schedule_input *input,
                             tri_arena *arena, tri_error *err, struct tri_schedule *schedule);

/*
 * Proves: every forward precedes its backward and every backward happens once, over all units;
 * input halves precede weight halves; sends and receives pair up in order on every link; no cycle
 * of waiting exists with the given staging rows; slots are never used twice at once; gradients of
 * a slice are added to in microbatch order; a bucket is reduced once, after its last gradient; an
 * input gradient is sent before the next backward of the rank, and a backward in parts is not
 * interrupted by another one. Adds every fault to err.
 */
tri_status tri_schedule_check(const struct tri_schedule *schedule,
                              const struct tri_schedule_input *input, tri_error *err);
void tri_schedule_print(FILE *out, const struct tri_schedule *schedule);
tri_status tri_schedule_read(const char *path, const struct tri_schedule_input *input,
                             tri_arena *arena, tri_error *err, struct tri_schedule *schedule);
const char *tri_action_name(enum tri_action_kind kind);

/* Idle share of the busy time for equal steps: (p - 1) / (m * v) for the built-in schedules;
   simulated with forward = 1 and backward = 2 time units for any schedule. */
double tri_schedule_bubble(const struct tri_schedule *schedule);
