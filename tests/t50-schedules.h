/* SPDX-License-Identifier: Apache-2.0 */
/* What the schedule tests share: an input with units and buckets for any pipeline. */
#pragma once

#include "placement/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { PIPE_MAX_SLICES = 64, PIPE_MAX_BUCKETS = 3 };

/* A pipeline: slice i of stage s has num_units units and some buckets, chosen to differ. */
struct pipe {
    struct tri_schedule_input input;
    int num_units[PIPE_MAX_SLICES];
    int num_buckets[PIPE_MAX_SLICES];
    int bucket_units[PIPE_MAX_SLICES][PIPE_MAX_BUCKETS];
    const int *bucket_unit[PIPE_MAX_SLICES];
};

static inline void pipe_init(struct pipe *pipe, int stages, int slices, int microbatches, int group)
{
    *pipe = (struct pipe){.input = {.num_stages = stages,
                                    .num_slices = slices,
                                    .num_microbatches = microbatches,
                                    .group_size = group ? group : stages}};
    for (int i = 0; i < stages * slices; i++) {
        int units = pipe->num_units[i] = 1 + i % 4;
        pipe->num_buckets[i] = i % 3 == 0 ? 1 : 2;
        /* the last bucket ends at unit 0; two may end at the same unit, as the tied table's does */
        pipe->bucket_units[i][0] = pipe->num_buckets[i] == 1 ? 0 : units / 2;
        pipe->bucket_unit[i] = pipe->bucket_units[i];
    }
    pipe->input.num_units = pipe->num_units;
    pipe->input.num_buckets = pipe->num_buckets;
    pipe->input.bucket_unit = pipe->bucket_unit;
}

/* Fails the test with every fault of the schedule. */
static inline void expect_sound(const struct tri_schedule *schedule,
                                const struct tri_schedule_input *input)
{
    tri_error *err = tri_error_create();
    tri_status status = tri_schedule_check(schedule, input, err);
    if (status != TRI_OK)
        fail_msg("%d stages, %d slices, %d microbatches: %d faults, first: %s", input->num_stages,
                 input->num_slices, input->num_microbatches, tri_error_count(err),
                 tri_error_message(err, 0));
    tri_error_destroy(&err);
}
