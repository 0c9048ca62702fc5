/* SPDX-License-Identifier: Apache-2.0 */
/* The clock behind deadlines and timings. */
#include "base/cancel.h"

#include <time.h>

double tri_clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
