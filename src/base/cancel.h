/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks for deadlines; the flag that asks for an orderly end is trine/cancel.h. */
#pragma once

#include "trine/cancel.h"

/* Seconds of a clock that never goes back, from an arbitrary start. */
double tri_clock_seconds(void);
