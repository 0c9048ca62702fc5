/* SPDX-License-Identifier: Apache-2.0 */
/* What saving and loading share: pieces checked against the model, and sums added up over ranks. */
#pragma once

#include "checkpoint/checkpoint.h"

/* Every piece of list names a parameter of set's model with its dims, can be cut, and has data. */
tri_status tri_pieces_check(const struct tri_disk_set *set, const struct tri_state_list *list,
                            tri_error *err);
struct tri_local_range tri_piece_range(const struct tri_state_tensor *piece);
/* Adds num 64-bit sums over world, mod 2^64; scratch has room for 2 num. Collective over world. */
tri_status tri_sums_reduce(tri_group *world, uint64_t *sums, int64_t *scratch, int num);
