/* SPDX-License-Identifier: Apache-2.0 */
/* The scratch tables of the backends, which the registry finds by name (spec/scratch.h). */
#pragma once

#include "spec/scratch.h"

extern const struct tri_scratch_table tri_scratch_cpu_ref;
extern const struct tri_scratch_table tri_scratch_cpu_fast;
