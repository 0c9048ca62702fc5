/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the schedule registry, one per file schedule_x.c. */
#pragma once

#include "placement/schedule_build.h"

extern const struct tri_schedule_row tri_schedule_no_pipelining;
extern const struct tri_schedule_row tri_schedule_1f1b;
extern const struct tri_schedule_row tri_schedule_interleaved;
