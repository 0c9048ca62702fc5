/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters and flops of a whole model, from the same records that the builder obeys, uncut. */
#include "spec/model_spec.h"

#include <string.h>

static int64_t count_elements(const struct tri_param_spec *param)
{
    return param->num_dims == 2 ? param->dims[0] * param->dims[1] : param->dims[0];
}

/* Adds the parameters of one unit. */
static void count_unit(const struct tri_model_spec *spec, int unit,
                       const struct tri_unit_size *size, struct tri_param_count *count)
{
    for (int i = 0; i < size->num_params; i++) {
        const struct tri_param_spec *param = &size->params[i];
        int64_t elements = count_elements(param);
        count->total += elements;
        count->tensors++;
        if (unit == spec->num_units - 1)
            count->head += elements;
        else if (unit > 0)
            count->layers += elements;
        else if (strcmp(param->name, "embedding.position_embeddings.weight") == 0)
            count->positions += elements;
        else
            count->embedding += elements;
    }
}

/* One sample on one rank. */
static struct tri_sizing_input count_input(const struct tri_model_spec *spec, int64_t seq_length)
{
    return (struct tri_sizing_input){
        .shape = &spec->shape,
        .split = {.tp = 1, .sp = 1, .cp = 1, .ep = 1, .etp = 1},
        .micro_batch_size = 1,
        .seq_length = seq_length,
        .team_size = 1,
        .shared_head = true,
    };
}

tri_status tri_model_count_params(const struct tri_model_spec *spec, tri_error *err,
                                  struct tri_param_count *count)
{
    struct tri_sizing_input input = count_input(spec, 1);
    struct tri_param_count sum = {0};
    tri_arena *arena = tri_arena_create();
    tri_status status =
        arena ? TRI_OK : tri_error_set(err, TRI_NOMEM, "out of memory while counting parameters");
    for (int unit = 0; unit < spec->num_units && status == TRI_OK; unit++) {
        struct tri_unit_size size;
        status = tri_size_unit(spec, unit, &input, arena, err, &size);
        if (status == TRI_OK)
            count_unit(spec, unit, &size, &sum);
    }
    tri_arena_destroy(&arena);
    TRI_TRY(status);
    *count = sum;
    return TRI_OK;
}

tri_status tri_model_flops_per_token(const struct tri_model_spec *spec, int64_t seq_length,
                                     tri_error *err, double *flops)
{
    struct tri_sizing_input input = count_input(spec, seq_length);
    double forward = 0;
    tri_arena *arena = tri_arena_create();
    tri_status status =
        arena ? TRI_OK : tri_error_set(err, TRI_NOMEM, "out of memory while counting flops");
    for (int unit = 0; unit < spec->num_units && status == TRI_OK; unit++) {
        struct tri_unit_size size;
        status = tri_size_unit(spec, unit, &input, arena, err, &size);
        if (status == TRI_OK)
            forward += size.flops_forward;
    }
    tri_arena_destroy(&arena);
    TRI_TRY(status);
    *flops = 3 * forward / (double)seq_length;
    return TRI_OK;
}
