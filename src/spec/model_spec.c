/* SPDX-License-Identifier: Apache-2.0 */
/* Making and destroying a model's spec: shape checked, units made, overrides applied. */
#include "spec/model_spec.h"

#include "shape/check.h"
#include "spec/family.h"
#include "spec/implementation.h"
#include "spec/layer.h"
#include "spec/modules.h"
#include "spec/path.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Finds the family that files will have; it must be able to say what the shape is. */
static tri_status model_spec_family(struct tri_gpt_config *shape, tri_error *err)
{
    if (shape->family[0]) {
        const struct tri_family *family = tri_family_find(shape->family);
        if (family)
            return TRI_OK;
        return tri_error_add(err, TRI_INVALID, "'family' '%s' is not known; use %s", shape->family,
                             tri_family_list());
    }
    const struct tri_family *holding = tri_family_holding(shape);
    if (holding) {
        snprintf(shape->family, sizeof(shape->family), "%s", holding->name);
        return TRI_OK;
    }
    tri_error_note(err,
                   "no Hugging Face family in this build (%s) can hold this shape, so it cannot be "
                   "saved",
                   tri_family_list());
    return TRI_OK;
}

/* What the user's source makes of the default layer in node. */
static tri_status model_spec_source(struct tri_model_spec *spec,
                                    const struct tri_layer_source *source, int64_t layer,
                                    tri_error *err, struct tri_module_spec *node)
{
    struct tri_layer_place place = {.layer = layer, .stage = -1, .virtual_stage = -1};
    if (source->places)
        place = source->places[layer];
    if (source->spec && !tri_layer_spec_copy(spec->arena, source->spec, layer, node))
        return TRI_NOMEM;
    return source->make ? source->make(source->user, &spec->shape, &place, err, node) : TRI_OK;
}

static tri_status model_spec_layers(struct tri_model_spec *spec,
                                    const struct tri_layer_choice *choice,
                                    const struct tri_layer_source *source, tri_error *err)
{
    for (int64_t layer = 0; layer < spec->shape.transformer.num_layers; layer++) {
        struct tri_module_spec *node = &spec->units[layer + 1];
        spec->unit_path[layer + 1] =
            tri_arena_format(spec->arena, "decoder.layers.%" PRId64, layer);
        if (!spec->unit_path[layer + 1] ||
            !tri_layer_spec_make(spec->arena, &spec->shape, choice, layer, node))
            return TRI_NOMEM;
        if (source)
            TRI_TRY(model_spec_source(spec, source, layer, err, node));
    }
    return TRI_OK;
}

static tri_status model_spec_fill(struct tri_model_spec *spec,
                                  const struct tri_layer_choice *choice,
                                  const struct tri_layer_source *source, tri_error *err)
{
    int64_t layers = spec->shape.transformer.num_layers;
    spec->num_units = (int)layers + 2;
    spec->units = tri_arena_alloc(spec->arena, (size_t)spec->num_units * sizeof(*spec->units));
    spec->unit_path =
        tri_arena_alloc(spec->arena, (size_t)spec->num_units * sizeof(*spec->unit_path));
    if (!spec->units || !spec->unit_path ||
        !tri_embedding_spec_make(spec->arena, &spec->shape, choice, &spec->units[0]) ||
        !tri_head_spec_make(spec->arena, &spec->shape, choice, &spec->units[layers + 1]))
        return TRI_NOMEM;
    spec->unit_path[0] = "embedding";
    spec->unit_path[layers + 1] = "head";
    return model_spec_layers(spec, choice, source, err);
}

/* What a user's layer may ask for: implementations that its modules have. */
static tri_status model_spec_check_node(const struct tri_model_spec *spec,
                                        const struct tri_module_spec *node, const char *path,
                                        tri_error *err)
{
    tri_status status = TRI_OK;
    if (!path)
        return tri_error_set(err, TRI_NOMEM, "out of memory while checking the model's spec");
    if (!tri_implementation_exists(spec->extensions, spec->num_extensions, node)) {
        char list[512];
        tri_implementation_format(spec->extensions, spec->num_extensions, node->module, list,
                                  sizeof(list));
        if (list[0]) /* else it is no module, as sizing says */
            status = tri_error_add(err, TRI_UNSUPPORTED,
                                   "the layer's spec asks for implementation '%s' of '%s' (module "
                                   "'%s'), which is not in this build; use %s",
                                   node->implementation, path, node->module, list);
    }
    for (int i = 0; i < node->num_children; i++) {
        const struct tri_module_spec *child = &node->children[i];
        tri_status below = model_spec_check_node(
            spec, child, tri_spec_child_path(spec->arena, path, child->slot), err);
        status = status == TRI_OK ? below : status;
    }
    return status;
}

/* A layer that was made for another model may be of another width. */
static tri_status model_spec_check_width(const struct tri_model_spec *spec, int unit,
                                         tri_error *err)
{
    const struct tri_module_spec *layer = &spec->units[unit];
    int64_t width = spec->shape.transformer.hidden_size;
    bool is_layer = strcmp(layer->module, "transformer_layer") == 0 ||
                    strcmp(layer->module, "parallel_layer") == 0;
    const struct tri_layer_params *params = is_layer ? layer->params : NULL;
    if (!params || params->hidden_size == width)
        return TRI_OK;
    return tri_error_add(err, TRI_INVALID,
                         "the spec of '%s' is of a model with 'hidden_size' %" PRId64
                         ", this one has %" PRId64 "; use the same number",
                         spec->unit_path[unit], params->hidden_size, width);
}

static tri_status model_spec_check_layers(const struct tri_model_spec *spec, tri_error *err)
{
    tri_status status = TRI_OK;
    for (int unit = 1; unit < spec->num_units - 1; unit++) {
        tri_status width = model_spec_check_width(spec, unit, err);
        status = status == TRI_OK ? width : status;
        tri_status here =
            model_spec_check_node(spec, &spec->units[unit], spec->unit_path[unit], err);
        status = status == TRI_OK ? here : status;
    }
    return status;
}

int64_t tri_model_spec_num_layers(const struct tri_model_spec *spec)
{
    return spec->shape.transformer.num_layers;
}

const struct tri_module_spec *tri_model_spec_get_layer(const struct tri_model_spec *spec,
                                                       int64_t layer)
{
    return &spec->units[layer + 1];
}

static tri_status model_spec_make(const struct tri_gpt_config *resolved,
                                  const struct tri_spec_config *config,
                                  const struct tri_layer_choice *choice,
                                  const struct tri_layer_source *source, tri_error *err,
                                  struct tri_model_spec **spec)
{
    struct tri_model_spec *made = NULL;
    tri_arena *arena = tri_arena_create();
    if (arena)
        made = tri_arena_alloc(arena, sizeof(*made));
    if (!made) {
        tri_arena_destroy(&arena);
        return tri_error_set(err, TRI_NOMEM, "out of memory while making the model's spec");
    }
    made->arena = arena;
    made->shape = *resolved;
    made->rule = !source ? choice->rule : source->make ? "a function" : "a spec";
    made->extensions = config->extensions;
    made->num_extensions = config->num_extensions;
    tri_status status = model_spec_fill(made, choice, source, err);
    if (status == TRI_NOMEM)
        tri_error_set(err, status, "out of memory while making the model's spec");
    if (status == TRI_OK && source)
        status = model_spec_check_layers(made, err);
    if (status == TRI_OK)
        status = tri_override_apply(made, config, err);
    if (status != TRI_OK) {
        tri_model_spec_destroy(&made);
        return status;
    }
    *spec = made;
    return TRI_OK;
}

/* Options that mean something in 16 bits only. */
static void model_spec_note(const struct tri_spec_config *config, tri_error *err)
{
    if (config->apply_query_key_layer_scaling)
        tri_error_note(err,
                       "'apply_query_key_layer_scaling' changes nothing: scores are computed in "
                       "fp32 and never kept");
    if (config->fp32_residual_connection)
        tri_error_note(err, "'fp32_residual_connection' changes nothing: every module computes in "
                            "fp32");
}

tri_status tri_model_spec_create_layers(const struct tri_gpt_config *shape,
                                        const struct tri_spec_config *config,
                                        const struct tri_layer_source *source, tri_error *err,
                                        struct tri_model_spec **spec)
{
    struct tri_gpt_config resolved = *shape;
    tri_gpt_config_resolve(&resolved);
    struct tri_layer_choice choice;
    struct tri_spec_config defaults = {.num_extensions = 0};
    if (!config) {
        tri_option_set_defaults(&tri_spec_options, &defaults);
        config = &defaults;
    }
    model_spec_note(config, err);
    tri_status status = tri_gpt_config_check(&resolved, err);
    tri_status decision = tri_layer_decide(&resolved, config, err, &choice);
    if (status == TRI_OK)
        status = model_spec_family(&resolved, err);
    if (status == TRI_OK)
        status = decision;
    if (status != TRI_OK) {
        tri_override_check(config, err); /* without a shape it can be held against nothing more */
        return status;
    }
    return model_spec_make(&resolved, config, &choice, source, err, spec);
}

tri_status tri_model_spec_create(const struct tri_gpt_config *shape,
                                 const struct tri_spec_config *config, tri_error *err,
                                 struct tri_model_spec **spec)
{
    return tri_model_spec_create_layers(shape, config, NULL, err, spec);
}

void tri_model_spec_destroy(struct tri_model_spec **spec)
{
    if (!*spec)
        return;
    tri_arena *arena = (*spec)->arena;
    tri_arena_destroy(&arena);
    *spec = NULL;
}
