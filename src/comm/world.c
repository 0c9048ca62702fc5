/* SPDX-License-Identifier: Apache-2.0 */
/* What a body may ask of its world. */
#include "comm/comm.h"

int tri_world_get_rank(const tri_world *world)
{
    return world->rank;
}

int tri_world_get_size(const tri_world *world)
{
    return world->size;
}

tri_error *tri_world_get_error(const tri_world *world)
{
    return world->err;
}
