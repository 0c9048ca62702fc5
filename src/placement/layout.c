/* SPDX-License-Identifier: Apache-2.0 */
/* Layer counts per slice by the three rules of placement/layout.h, and the slices made of them. */
#include "placement/layout.h"

#include <inttypes.h>

#define LAYOUT_MAX_SLICES 65536

static bool layout_is_set(int64_t value)
{
    return value != TRI_UNSET;
}

/* A number of layers as a user knows it. */
static const char *layout_format(int64_t value, char text[24])
{
    if (value == TRI_UNSET)
        return "(unset)";
    snprintf(text, 24, "%" PRId64, value);
    return text;
}

/* The k-th of the stages [first, first + num) that gets one layer more: those in the middle of the
   pipeline first, then the one with the embedding, then the one with the head. */
static int layout_preferred_stage(int num_stages, int first, int num, int k)
{
    bool has_head = first + num == num_stages;
    int num_between = num - (first == 0) - has_head;
    if (first > 0 || (has_head && k == num - 1))
        return first + k;
    return k < num_between ? k + 1 : 0;
}

/* The k-th slice of stage that gets one layer more. The slice that has the embedding or the head
   comes last, so that no slice is left without a unit while another has several. */
static int layout_preferred_slice(int num_stages, int num_slices, int stage, int k)
{
    if (stage == 0 && num_stages > 1)
        return (k + 1) % num_slices;
    return k;
}

/* Spreads the layers of one stage over its slices; counts are in model order. */
static void layout_spread_stage(int num_stages, int num_slices, int stage, int64_t layers,
                                int64_t *counts)
{
    int64_t base = layers / num_slices;
    int extra = (int)(layers % num_slices);
    for (int i = 0; i < num_slices; i++)
        counts[i * num_stages + stage] = base;
    for (int k = 0; k < extra; k++)
        counts[layout_preferred_slice(num_stages, num_slices, stage, k) * num_stages + stage]++;
}

/* Spreads layers over the stages [first, first + num) of num_stages. */
static void layout_spread(int num_stages, int num_slices, int first, int num, int64_t layers,
                          int64_t *counts)
{
    int64_t base = layers / num;
    int extra = (int)(layers % num);
    for (int stage = first; stage < first + num; stage++)
        layout_spread_stage(num_stages, num_slices, stage, base, counts);
    for (int k = 0; k < extra; k++) {
        int stage = layout_preferred_stage(num_stages, first, num, k);
        layout_spread_stage(num_stages, num_slices, stage, base + 1, counts);
    }
}

/* Layers that the first and the last stage are told to have, and what is left for the others. */
static tri_status layout_uneven(const struct tri_placement_config *config, int num_stages,
                                int num_slices, int64_t num_layers, tri_error *err, int64_t *counts)
{
    bool has_first = layout_is_set(config->decoder_first_pipeline_num_layers);
    bool has_last = layout_is_set(config->decoder_last_pipeline_num_layers);
    int64_t first = has_first ? config->decoder_first_pipeline_num_layers : 0;
    int64_t last = has_last ? config->decoder_last_pipeline_num_layers : 0;
    int num_middle = num_stages - has_first - has_last;
    int64_t middle = num_layers - first - last;
    if (num_middle < 0 || (num_middle == 0 && middle != 0) || (num_middle > 0 && middle <= 0)) {
        char text[2][24];
        return tri_error_add(err, TRI_INVALID,
                             "'decoder_first_pipeline_num_layers' %s and "
                             "'decoder_last_pipeline_num_layers' %s leave "
                             "%" PRId64 " of %" PRId64
                             " layers for the other %d of %d stages; leave at least one layer for "
                             "each other stage, and none where there is no other",
                             layout_format(config->decoder_first_pipeline_num_layers, text[0]),
                             layout_format(config->decoder_last_pipeline_num_layers, text[1]),
                             middle, num_layers, num_middle < 0 ? 0 : num_middle, num_stages);
    }
    if (has_first)
        layout_spread_stage(num_stages, num_slices, 0, first, counts);
    if (has_last)
        layout_spread_stage(num_stages, num_slices, num_stages - 1, last, counts);
    if (num_middle > 0)
        layout_spread(num_stages, num_slices, has_first, num_middle, middle, counts);
    return TRI_OK;
}

/* Slices per stage from num_layers_per_virtual_pipeline_stage. */
static tri_status layout_slices_from_layers(int64_t per_slice, int num_stages, int64_t num_layers,
                                            tri_error *err, int64_t *num_slices)
{
    int64_t share = num_layers / num_stages;
    if (num_layers % num_stages == 0 && share % per_slice == 0) {
        *num_slices = share / per_slice;
        return TRI_OK;
    }
    return tri_error_add(
        err, TRI_INVALID,
        "%" PRId64
        " layers cannot be cut into slices of 'num_layers_per_virtual_pipeline_stage' %" PRId64
        " on %d stages; use a number of layers that %" PRId64 " divides, or say how many slices by "
        "'virtual_pipeline_model_parallel_size', which takes any number of layers",
        num_layers, per_slice, num_stages, per_slice * num_stages);
}

static tri_status layout_num_slices(const struct tri_placement_config *config, int64_t num_layers,
                                    tri_error *err, int64_t *num_slices)
{
    int num_stages = (int)config->pipeline_model_parallel_size;
    bool has_size = layout_is_set(config->virtual_pipeline_model_parallel_size);
    bool has_layers = layout_is_set(config->num_layers_per_virtual_pipeline_stage);
    *num_slices = has_size ? config->virtual_pipeline_model_parallel_size : 1;
    if (has_size && has_layers)
        return tri_error_add(err, TRI_INVALID,
                             "'virtual_pipeline_model_parallel_size' and "
                             "'num_layers_per_virtual_pipeline_stage' say the same thing; set one");
    if (has_layers && (layout_is_set(config->decoder_first_pipeline_num_layers) ||
                       layout_is_set(config->decoder_last_pipeline_num_layers)))
        return tri_error_add(err, TRI_INVALID,
                             "'num_layers_per_virtual_pipeline_stage' does not go with "
                             "'decoder_first_pipeline_num_layers' or "
                             "'decoder_last_pipeline_num_layers'; use "
                             "'virtual_pipeline_model_parallel_size' instead");
    if (has_layers)
        TRI_TRY(layout_slices_from_layers(config->num_layers_per_virtual_pipeline_stage, num_stages,
                                          num_layers, err, num_slices));
    if (*num_slices > 1 && num_stages == 1)
        return tri_error_add(
            err, TRI_INVALID,
            "%" PRId64 " slices per stage need 'pipeline_model_parallel_size' of at "
            "least 2, and it is 1; leave 'virtual_pipeline_model_parallel_size' out",
            *num_slices);
    if (*num_slices > LAYOUT_MAX_SLICES / num_stages)
        return tri_error_add(err, TRI_INVALID,
                             "%" PRId64 " slices on each of %d stages are more than %d; use fewer",
                             *num_slices, num_stages, LAYOUT_MAX_SLICES);
    return TRI_OK;
}

/* Counts from the layout option, whose number of slices must suit the number of stages. */
static tri_status layout_from_option(const struct tri_placement_config *config, int64_t num_layers,
                                     tri_arena *arena, tri_error *err, int64_t *num_slices,
                                     int64_t **counts)
{
    const char *text = config->pipeline_model_parallel_layout;
    int64_t num_stages = config->pipeline_model_parallel_size;
    if (layout_is_set(config->decoder_first_pipeline_num_layers) ||
        layout_is_set(config->decoder_last_pipeline_num_layers) ||
        layout_is_set(config->num_layers_per_virtual_pipeline_stage))
        return tri_error_add(
            err, TRI_INVALID,
            "'pipeline_model_parallel_layout' says where every layer is; leave out "
            "'decoder_first_pipeline_num_layers', 'decoder_last_pipeline_num_layers' "
            "and 'num_layers_per_virtual_pipeline_stage'");
    int num;
    TRI_TRY(tri_layout_read(text, num_layers, arena, err, &num, counts));
    *num_slices = num / num_stages;
    if (num % num_stages != 0 || (*num_slices > 1 && num_stages == 1))
        return tri_error_add(err, TRI_INVALID,
                             "'pipeline_model_parallel_layout' %s has %d slices for "
                             "'pipeline_model_parallel_size' %" PRId64 "; use a multiple of it%s",
                             text, num, num_stages,
                             num_stages == 1 ? ", and one slice when it is 1" : "");
    if (layout_is_set(config->virtual_pipeline_model_parallel_size) &&
        config->virtual_pipeline_model_parallel_size != *num_slices)
        return tri_error_add(
            err, TRI_INVALID,
            "'pipeline_model_parallel_layout' %s has %" PRId64 " slices per stage and "
            "'virtual_pipeline_model_parallel_size' is %" PRId64 "; leave the latter out",
            text, *num_slices, config->virtual_pipeline_model_parallel_size);
    return TRI_OK;
}

static tri_status layout_counts(const struct tri_placement_config *config, int64_t num_layers,
                                tri_arena *arena, tri_error *err, int64_t *num_slices,
                                int64_t **counts)
{
    if (config->pipeline_model_parallel_layout[0])
        return layout_from_option(config, num_layers, arena, err, num_slices, counts);
    TRI_TRY(layout_num_slices(config, num_layers, err, num_slices));
    int num_stages = (int)config->pipeline_model_parallel_size, slices = (int)*num_slices;
    *counts = tri_arena_alloc(arena, (size_t)num_stages * (size_t)slices * sizeof(**counts));
    TRI_CHECK(*counts, err, TRI_NOMEM, "out of memory while placing layers");
    if (layout_is_set(config->decoder_first_pipeline_num_layers) ||
        layout_is_set(config->decoder_last_pipeline_num_layers))
        return layout_uneven(config, num_stages, slices, num_layers, err, *counts);
    layout_spread(num_stages, slices, 0, num_stages, num_layers, *counts);
    return TRI_OK;
}

tri_status tri_layout_plan(const struct tri_placement_config *config, int64_t num_layers,
                           tri_arena *arena, tri_error *err, struct tri_layout *layout)
{
    int64_t stages = config->pipeline_model_parallel_size, num_slices = 1, *counts;
    if (stages < 1 || stages > LAYOUT_MAX_SLICES)
        return tri_error_add(err, TRI_INVALID,
                             "'pipeline_model_parallel_size' is %" PRId64 "; use 1 to %d", stages,
                             LAYOUT_MAX_SLICES);
    TRI_TRY(layout_counts(config, num_layers, arena, err, &num_slices, &counts));
    int num_stages = (int)stages, total = (int)(stages * num_slices);
    struct tri_slice_plan *slices = tri_arena_alloc(arena, (size_t)total * sizeof(*slices));
    TRI_CHECK(slices, err, TRI_NOMEM, "out of memory while placing layers");
    int unit = 0;
    for (int i = 0; i < total; i++) {
        int stage = i % num_stages, index = i / num_stages;
        bool has_embedding = i == 0, has_head = i == total - 1;
        int num_units = (int)counts[i] + has_embedding + has_head;
        slices[stage * num_slices + index] = (struct tri_slice_plan){
            .stage = stage,
            .index = index,
            .first_unit = unit,
            .num_units = num_units,
            .has_embedding = has_embedding,
            .has_head = has_head,
        };
        unit += num_units;
    }
    TRI_ASSERT(unit == num_layers + 2);
    *layout = (struct tri_layout){
        .num_stages = num_stages, .num_slices = (int)num_slices, .slices = slices};
    return TRI_OK;
}
