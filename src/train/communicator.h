/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which communicator a run will have, so that a plan made before the run counts its staging. A run
 * under a launcher has MPI; --ranks starts ranks inside one process.
 */
#pragma once

#include "placement/plan.h"

/* asked: a name, borrowed, or "" where nobody asked. TRI_INVALID for one that is unknown or has too
   few ranks. Pure. */
tri_status tri_communicator_plan(const char *asked, bool was_launched, int num_ranks,
                                 tri_error *err, struct tri_plan_comm *comm);
