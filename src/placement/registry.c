/* SPDX-License-Identifier: Apache-2.0 */
/* The schedules, one row each, and the choice that "auto" makes. */
#include "placement/schedule_rows.h"

#include <string.h>

static const struct tri_schedule_row *const schedule_rows[] = {
    &tri_schedule_no_pipelining,
    &tri_schedule_1f1b,
    &tri_schedule_interleaved,
    NULL,
};

const struct tri_schedule_row *tri_schedule_find(const char *name)
{
    for (int i = 0; schedule_rows[i]; i++)
        if (strcmp(schedule_rows[i]->name, name) == 0)
            return schedule_rows[i];
    return NULL;
}

tri_status tri_schedule_plan(const char *name, const struct tri_schedule_input *input,
                             tri_arena *arena, tri_error *err, struct tri_schedule *schedule)
{
    const struct tri_schedule_row *row = tri_schedule_find(name);
    if (strcmp(name, "auto") == 0)
        row = input->num_slices > 1   ? &tri_schedule_interleaved
              : input->num_stages > 1 ? &tri_schedule_1f1b
                                      : &tri_schedule_no_pipelining;
    if (row)
        return row->plan(input, arena, err, schedule);
    return tri_schedule_read(name, input, arena, err, schedule);
}
