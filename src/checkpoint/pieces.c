/* SPDX-License-Identifier: Apache-2.0 */
/* Checks on pieces, and the sum over ranks. */
#include "checkpoint/pieces.h"

#include "checkpoint/transfer.h"

size_t tri_checkpoint_staging_bytes(void)
{
    return TRI_STAGING_BYTES;
}

struct tri_local_range tri_piece_range(const struct tri_state_tensor *piece)
{
    return (struct tri_local_range){.spec = piece->spec,
                                    .tp_rank = piece->tp_rank,
                                    .tp_size = piece->tp_size,
                                    .first = piece->first,
                                    .count = piece->count};
}

tri_status tri_pieces_check(const struct tri_disk_set *set, const struct tri_state_list *list,
                            tri_error *err)
{
    for (int i = 0; i < list->num; i++) {
        const struct tri_state_tensor *piece = &list->tensors[i];
        const struct tri_param_spec *mine = piece->spec;
        int param = tri_disk_set_find_param(set, mine->name);
        TRI_CHECK(param >= 0, err, TRI_BUG, "'%s' is not in the model's list of parameters",
                  mine->name);
        const struct tri_param_spec *model = set->model->params[param];
        TRI_CHECK(mine->num_dims == model->num_dims && mine->dims[0] == model->dims[0] &&
                      (mine->num_dims < 2 || mine->dims[1] == model->dims[1]),
                  err, TRI_BUG, "'%s' has other dims than in the model's list", mine->name);
        struct tri_local_range range = tri_piece_range(piece);
        TRI_CHECK(tri_layout_is_valid(&range), err, TRI_BUG,
                  "piece of '%s', elements %lld to %lld of rank %d of %d, is not in its tensor",
                  mine->name, (long long)piece->first, (long long)(piece->first + piece->count),
                  piece->tp_rank, piece->tp_size);
        TRI_CHECK(piece->data || piece->count == 0, err, TRI_BUG, "piece of '%s' has no data",
                  mine->name);
    }
    return TRI_OK;
}

tri_status tri_sums_reduce(tri_group *world, uint64_t *sums, int64_t *scratch, int num)
{
    /* halves: their sums over ranks do not overflow */
    for (int i = 0; i < num; i++) {
        scratch[2 * i] = (int64_t)(sums[i] & 0xffffffffu);
        scratch[2 * i + 1] = (int64_t)(sums[i] >> 32);
    }
    TRI_TRY(tri_group_all_reduce(world, scratch, 2 * (int64_t)num, TRI_DTYPE_I64, TRI_REDUCE_SUM));
    for (int i = 0; i < num; i++)
        sums[i] = (uint64_t)scratch[2 * i] + ((uint64_t)scratch[2 * i + 1] << 32);
    return TRI_OK;
}
