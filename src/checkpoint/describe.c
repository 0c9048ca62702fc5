/* SPDX-License-Identifier: Apache-2.0 */
/* From config.json to the list of parameters, for looking at a directory outside a run. */
#include "checkpoint/inspect.h"

#include "shape/hf_config.h"

#include <stdlib.h>

static tri_status describe_read(const char *dir, tri_error *err, struct tri_gpt_config *config,
                                const struct tri_family **family)
{
    char *text = NULL, type[64];
    size_t bytes = 0;
    TRI_TRY(tri_hf_config_load(dir, err, &text, &bytes));
    tri_status status = tri_hf_config_model_type(text, bytes, dir, err, type, sizeof(type));
    if (status == TRI_OK) {
        *family = tri_family_find(type);
        status = *family ? tri_hf_config_read((*family)->config, text, bytes, dir, err, config)
                         : tri_error_add(err, TRI_UNSUPPORTED,
                                         "'%s/config.json': model_type '%s' is no family of this "
                                         "program",
                                         dir, type);
    }
    free(text);
    return status;
}

/* The parameters of every unit on one rank, names and global dims of which are all that counts. */
static tri_status describe_params(const struct tri_model_spec *spec, tri_arena *arena,
                                  tri_error *err, const struct tri_param_spec ***params, int *num)
{
    struct tri_unit_size *units = tri_arena_alloc(arena, (size_t)spec->num_units * sizeof(*units));
    TRI_CHECK(units, err, TRI_NOMEM, "out of memory for the list of parameters");
    *num = 0;
    for (int u = 0; u < spec->num_units; u++) {
        const struct tri_sizing_input input = {.shape = &spec->shape,
                                               .split = {1, 1, 1, 1, 1},
                                               .micro_batch_size = 1,
                                               .seq_length = 1,
                                               .team_size = 1,
                                               .forward_only = true,
                                               .shared_head = true};
        TRI_TRY(tri_size_unit(spec, u, &input, arena, err, &units[u]));
        *num += units[u].num_params;
    }
    const struct tri_param_spec **list = tri_arena_alloc(arena, ((size_t)*num + 1) * sizeof(*list));
    TRI_CHECK(list, err, TRI_NOMEM, "out of memory for the list of parameters");
    int at = 0;
    for (int u = 0; u < spec->num_units; u++)
        for (int i = 0; i < units[u].num_params; i++)
            list[at++] = &units[u].params[i];
    *params = list;
    return TRI_OK;
}

tri_status tri_checkpoint_describe(const char *dir, tri_arena *arena, tri_error *err,
                                   struct tri_model_spec **spec, struct tri_checkpoint_model *model)
{
    struct tri_gpt_config config;
    const struct tri_family *family = NULL;
    struct tri_model_spec *made = NULL;
    const struct tri_param_spec **params = NULL;
    int num = 0;
    TRI_TRY(describe_read(dir, err, &config, &family));
    TRI_TRY(tri_model_spec_create(&config, NULL, err, &made));
    tri_status status = describe_params(made, arena, err, &params, &num);
    if (status != TRI_OK) {
        tri_model_spec_destroy(&made);
        return status;
    }
    *spec = made;
    *model = (struct tri_checkpoint_model){
        .family = family,
        .vocab_size = config.vocab_size,
        .tied = !config.untie_embeddings_and_output_weights,
        .num_params = num,
        .params = params,
    };
    return TRI_OK;
}
