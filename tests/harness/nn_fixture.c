/* SPDX-License-Identifier: Apache-2.0 */
/* One rank of harness/nn_fixture.h: the record, its memory, the values, and one walk through the
   module. */
#include "nn_fixture.h"

#include "base/rng.h"
#include "kernels/kernels.h"
#include "kernels/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD 256
#define PAINT 0xff /* bytes of a NaN */

static void region_init(struct nn_region *region, size_t bytes)
{
    region->bytes = bytes;
    region->memory = aligned_alloc(64, (bytes + 2 * GUARD + 63) / 64 * 64);
    TRI_ASSERT(region->memory);
    memset(region->memory, PAINT, bytes + 2 * GUARD);
}

static char *region_get(const struct nn_region *region)
{
    return region->memory + GUARD;
}

static void region_paint(const struct nn_region *region)
{
    memset(region_get(region), PAINT, region->bytes);
}

static void region_fini(struct nn_region *region)
{
    free(region->memory);
    region->memory = NULL;
}

static bool region_guards_hold(const struct nn_region *region)
{
    for (size_t i = 0; i < GUARD; i++)
        if ((unsigned char)region->memory[i] != PAINT ||
            (unsigned char)region->memory[GUARD + region->bytes + i] != PAINT)
            return false;
    return true;
}

void nn_values(const char *name, float mean, float std, int64_t count, float *values)
{
    tri_rng_normal(tri_rng_key(77, TRI_RNG_TEST, tri_rng_hash(name)), 0, count, std, values);
    for (int64_t i = 0; i < count; i++)
        values[i] += mean;
}

static int64_t rank_sp(const struct nn_rank *rank)
{
    return rank->way->sequence_parallel ? rank->way->tp : 1;
}

struct tri_tensor nn_rank_tensor(const struct nn_rank *rank, const struct nn_edge *edge,
                                 const struct nn_region *region, int64_t length)
{
    int64_t channels = nn_edge_width(edge) / (edge->is_inside ? rank->way->tp : 1);
    int64_t S = edge->is_inside ? length : length / rank_sp(rank);
    const int64_t dims[3] = {S, rank->way->rows, channels};
    return tri_tensor_view(region_get(region), TRI_DTYPE_F32, 3, dims);
}

/* ---- values ---- */

/* values += step * direction where the way moves this tensor. */
static void move_values(const struct nn_way *way, const char *name, int64_t count, float *values)
{
    if (!way->moved || strcmp(way->moved, name) != 0)
        return;
    float *direction = malloc((size_t)count * sizeof(float));
    char key[128];
    snprintf(key, sizeof(key), "direction of %s", name);
    nn_values(key, 0, 1, count, direction);
    for (int64_t i = 0; i < count; i++)
        values[i] += (float)way->step * direction[i];
    free(direction);
}

/* Fills this rank's part of an edge from global values [s, B, C]. */
static void edge_fill(const struct nn_rank *rank, const struct nn_edge *edge, const char *name,
                      const struct nn_region *region)
{
    struct tri_tensor local = nn_rank_tensor(rank, edge, region, rank->way->length);
    int64_t width = nn_edge_width(edge), B = rank->way->rows;
    int64_t count = rank->way->length * B * width;
    float *values = malloc((size_t)count * sizeof(float));
    nn_values(name, 0, 1, count, values);
    move_values(rank->way, name, count, values);
    int64_t first = edge->is_inside || rank_sp(rank) == 1 ? 0 : rank->rank * local.dims[0];
    for (int64_t i = 0; i < tri_tensor_elements(&local); i++) {
        int64_t c = i % local.dims[2], row = i / local.dims[2];
        int64_t channel = nn_edge_channel(edge, rank->way->tp, rank->rank, c);
        tri_tensor_f32(&local)[i] = values[(first * B + row) * width + channel];
    }
    free(values);
}

static void param_fill(const struct nn_rank *rank, struct tri_param *param)
{
    const struct tri_param_spec *spec = param->spec;
    int64_t count = spec->dims[0] * (spec->num_dims == 2 ? spec->dims[1] : 1);
    float *values = malloc((size_t)count * sizeof(float));
    nn_values(spec->name, spec->init == TRI_INIT_ONE ? 1 : 0, 0.3f, count, values);
    move_values(rank->way, spec->name, count, values);
    for (int64_t i = 0; i < tri_tensor_elements(&param->value); i++) {
        int64_t element = nn_param_element(spec, rank->way->tp, rank->rank, i);
        tri_tensor_f32(&param->value)[i] = element < count ? values[element] : 0;
        tri_tensor_f32(&param->grad)[i] = 0;
    }
    free(values);
}

/* Random tokens, labels of which some are ignored, weights, three different rows of positions, sample
   numbers. */
static void microbatch_fill(struct nn_rank *rank, int64_t vocab_size)
{
    int64_t b = rank->way->rows, s = rank->way->length;
    struct tri_rng_key key = tri_rng_key(78, TRI_RNG_TEST, 0);
    int32_t *tokens = malloc((size_t)(b * s) * sizeof(*tokens));
    int32_t *labels = malloc((size_t)(b * s) * sizeof(*labels));
    int32_t *positions = malloc((size_t)(b * s) * sizeof(*positions));
    int32_t *axes = malloc((size_t)(3 * b * s) * sizeof(*axes));
    float *weights = malloc((size_t)(b * s) * sizeof(*weights));
    int64_t *samples = malloc((size_t)b * sizeof(*samples));
    rank->microbatch = (struct tri_microbatch){.rows = b,
                                               .length = s,
                                               .tokens = tokens,
                                               .labels = labels,
                                               .weights = weights,
                                               .positions = positions,
                                               .axis_positions = axes,
                                               .sample_ids = samples};
    for (int64_t i = 0; i < b * s; i++) {
        uint64_t n = (uint64_t)i;
        tokens[i] = (int32_t)(tri_rng_double(key, 4 * n) * (double)vocab_size);
        labels[i] = (int32_t)(tri_rng_double(key, 4 * n + 1) * (double)vocab_size);
        if (tri_rng_double(key, 4 * n + 2) < 0.2)
            labels[i] = -100;
        weights[i] = (float)(0.5 + tri_rng_double(key, 4 * n + 3));
        positions[i] = (int32_t)(i % s);
        for (int64_t axis = 0; axis < 3; axis++)
            axes[axis * b * s + i] = (int32_t)((i * (axis + 1) + 2 * axis) % s);
        rank->microbatch.num_valid += labels[i] >= 0;
    }
    for (int64_t i = 0; i < b; i++)
        samples[i] = 1000 * i + 7;
}

static void microbatch_free(struct tri_microbatch *microbatch)
{
    free((void *)microbatch->tokens);
    free((void *)microbatch->labels);
    free((void *)microbatch->positions);
    free((void *)microbatch->axis_positions);
    free((void *)microbatch->weights);
    free((void *)microbatch->sample_ids);
}

/* ---- create ---- */

static const struct tri_module_spec *node_at(const struct tri_module_spec *node, const char *path)
{
    while (path && *path) {
        char slot[64];
        size_t length = strcspn(path, ".");
        snprintf(slot, sizeof(slot), "%.*s", (int)length, path);
        node = tri_module_spec_child(node, slot);
        TRI_ASSERT(node);
        path += length + (path[length] == '.');
    }
    return node;
}

static tri_status rank_size(struct nn_rank *rank)
{
    const struct nn_way *way = rank->way;
    const struct nn_case *c = rank->c;
    struct tri_gpt_config shape = nn_shape(c->shape);
    if (c->configure)
        c->configure(&shape);
    if (way->evaluates)
        shape.transformer.hidden_dropout = shape.transformer.attention_dropout = 0;
    static struct tri_spec_config implementations[2] = {{.transformer_impl = TRI_IMPL_FUSED},
                                                        {.transformer_impl = TRI_IMPL_PLAIN}};
    TRI_TRY(tri_model_spec_create(&shape, &implementations[way->plain], rank->err, &rank->model));
    static const char *paths[] = {"embedding", "decoder.layers.0", "decoder.layers.1", "head"};
    rank->alone = *rank->model;
    rank->alone.num_units = 1;
    rank->alone.unit_path = &paths[c->unit];
    rank->alone.units = (struct tri_module_spec *)node_at(&rank->model->units[c->unit], c->path);
    rank->sizing = (struct tri_sizing_input){
        .shape = &rank->model->shape,
        .split = {.tp = way->tp, .sp = rank_sp(rank), .cp = 1, .ep = 1, .etp = 1},
        .micro_batch_size = way->rows + way->more_rows,
        .seq_length = way->length + way->more_length,
        .cache_length = rank->cache_length,
        .team_size = way->team_size > 1 ? way->team_size : 1,
        .forward_only = rank->forward_only,
        .split_backward = way->halves,
        .shared_head = !c->is_alone,
        .scratch = {{"plain", tri_kernels_scratch("cpu_ref")},
                    {"fused", tri_kernels_scratch("cpu_fast")}},
        .num_scratch = 2,
    };
    rank->arena = tri_arena_create();
    return tri_size_unit(&rank->alone, 0, &rank->sizing, rank->arena, rank->err, &rank->size);
}

static void rank_add_param(struct nn_rank *rank, const struct tri_param_spec *spec)
{
    TRI_ASSERT(rank->num_params < NN_MAX_PARAMS);
    int i = rank->num_params++;
    struct tri_param *param = &rank->params[i];
    size_t bytes = sizeof(float) * (size_t)spec->local_dims[0];
    if (spec->num_dims == 2)
        bytes *= (size_t)spec->local_dims[1];
    region_init(&rank->values[i], bytes);
    region_init(&rank->grads[i], bytes);
    param->spec = spec;
    param->value = tri_tensor_view(region_get(&rank->values[i]), TRI_DTYPE_F32, spec->num_dims,
                                   spec->local_dims);
    param->grad = tri_tensor_view(region_get(&rank->grads[i]), TRI_DTYPE_F32, spec->num_dims,
                                  spec->local_dims);
    param_fill(rank, param);
}

/* The unit's parameters, and for a tied head in one slice the embedding's table. */
static tri_status rank_create_params(struct nn_rank *rank)
{
    for (int i = 0; i < rank->size.num_params; i++)
        rank_add_param(rank, &rank->size.params[i]);
    bool is_tied = rank->c->unit == 3 && rank->c->shape == NN_SHAPE_GPT && !rank->c->is_alone;
    if (!is_tied)
        return TRI_OK;
    struct tri_unit_size embedding;
    TRI_TRY(tri_size_unit(rank->model, 0, &rank->sizing, rank->arena, rank->err, &embedding));
    rank_add_param(rank, &embedding.params[0]);
    return TRI_OK;
}

static void rank_create_edges(struct nn_rank *rank)
{
    nn_edges_of(rank->alone.units, rank->model->shape.transformer.hidden_size, &rank->in,
                &rank->out);
    struct {
        struct nn_region *region;
        const struct nn_edge *edge;
        const char *name;
    } edges[] = {{&rank->x, &rank->in, "in"},
                 {&rank->residual, &rank->in, "residual"},
                 {&rank->y, &rank->out, NULL},
                 {&rank->dy, &rank->out, "dout"},
                 {&rank->dx, &rank->in, NULL}};
    for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
        int64_t channels = nn_edge_width(edges[i].edge);
        int64_t elements = rank->way->length * rank->way->rows * channels;
        elements /= edges[i].edge->is_inside ? rank->way->tp : rank_sp(rank);
        region_init(edges[i].region, sizeof(float) * (size_t)elements);
        if (edges[i].name)
            edge_fill(rank, edges[i].edge, edges[i].name, edges[i].region);
    }
}

struct tri_build nn_rank_build(struct nn_rank *rank)
{
    return (struct tri_build){
        .err = rank->err,
        .queue = &rank->queue,
        .size = &rank->size,
        .sizing = &rank->sizing,
        .seed = 1234,
        .tp = rank->tp,
        .sequence_parallel = rank->way->sequence_parallel,
        .work = region_get(&rank->work),
        .run = region_get(&rank->run),
        .slot_offset = 64,
        .first_index = 3,
        .params = rank->params,
        .num_params = rank->num_params,
        .kernels = {{"plain", tri_kernels_cpu_ref()}, {"fused", tri_kernels_cpu_fast()}},
        .num_kernels = 2,
    };
}

struct tri_tensor nn_rank_row(const struct nn_rank *rank, int module, const char *name)
{
    for (int i = 0; i < rank->size.num_rows; i++) {
        const struct tri_size_row *row = &rank->size.rows[i];
        const struct nn_region *region = row->row_class == TRI_ROW_RUN ? &rank->run : &rank->work;
        if (row->module == module && strcmp(row->name, name) == 0)
            return tri_tensor_view(region_get(region) + row->offset, row->dtype, row->num_dims,
                                   row->dims);
    }
    TRI_ASSERT(!"a row of that name");
    return (struct tri_tensor){.data = NULL};
}

static tri_status rank_build(struct nn_rank *rank)
{
    struct tri_build build = nn_rank_build(rank);
    TRI_TRY(tri_build_module(&build, rank->alone.units, &rank->module));
    TRI_ASSERT(build.next == rank->size.num_modules);
    return TRI_OK;
}

tri_status nn_rank_create(struct nn_rank *rank, tri_world *world)
{
    static const int ranks[NN_MAX_RANKS] = {0, 1, 2, 3};
    rank->err = world->err;
    rank->rank = world->rank;
    rank->queue.device = &tri_device_host;
    if (rank->way->team_size > 1)
        TRI_TRY(tri_team_create(rank->way->team_size, rank->err, &rank->queue.team));
    TRI_TRY(tri_group_create(world, "tp", ranks, rank->way->tp, &rank->tp));
    TRI_TRY(rank_size(rank));
    TRI_TRY(rank_create_params(rank));
    region_init(&rank->saved, rank->size.saved_bytes + 64);
    region_init(&rank->work, rank->size.work_bytes);
    region_init(&rank->run, rank->size.run_bytes);
    rank_create_edges(rank);
    int64_t tokens = rank->way->rows * rank->way->length;
    int64_t vocab_size = rank->model->shape.vocab_size;
    microbatch_fill(rank, vocab_size);
    rank->views =
        calloc((size_t)(rank->size.num_modules + 3) * TRI_VIEWS_PER_MODULE, sizeof(*rank->views));
    rank->logits = calloc((size_t)(tokens * vocab_size), sizeof(float));
    rank->token_loss = calloc((size_t)tokens, sizeof(float));
    rank->slot = (struct tri_slot){.microbatch = &rank->microbatch,
                                   .saved = region_get(&rank->saved),
                                   .views = rank->views,
                                   .training = !rank->way->evaluates,
                                   .seed = 0.125f,
                                   .token_loss = rank->token_loss,
                                   .logits = rank->logits,
                                   .all_logits = true};
    return rank_build(rank);
}

void nn_rank_destroy(struct nn_rank *rank)
{
    tri_module_destroy(&rank->module);
    struct nn_region *regions[] = {&rank->saved,    &rank->work, &rank->run, &rank->x,
                                   &rank->residual, &rank->y,    &rank->dy,  &rank->dx};
    for (size_t i = 0; i < sizeof(regions) / sizeof(regions[0]); i++)
        region_fini(regions[i]);
    for (int i = 0; i < rank->num_params; i++) {
        region_fini(&rank->values[i]);
        region_fini(&rank->grads[i]);
    }
    microbatch_free(&rank->microbatch);
    free(rank->views);
    free(rank->logits);
    free(rank->token_loss);
    tri_team_destroy(&rank->queue.team);
    tri_model_spec_destroy(&rank->model);
    tri_arena_destroy(&rank->arena);
}

/* ---- walk ---- */

tri_status nn_rank_forward(struct nn_rank *rank)
{
    int64_t length = rank->microbatch.length;
    struct tri_tensor in[2] = {nn_rank_tensor(rank, &rank->in, &rank->x, length),
                               nn_rank_tensor(rank, &rank->in, &rank->residual, length)};
    struct tri_tensor out = nn_rank_tensor(rank, &rank->out, &rank->y, length);
    return rank->module->ops->forward(rank->module, &rank->slot, rank->in.exists ? in : NULL,
                                      rank->out.exists ? &out : NULL);
}

/* Scratch is painted before each half: nothing but the slot lives from one to the next. */
tri_status nn_rank_backward(struct nn_rank *rank)
{
    const struct tri_module_ops *ops = rank->module->ops;
    int64_t length = rank->microbatch.length;
    struct tri_tensor dout = nn_rank_tensor(rank, &rank->out, &rank->dy, length);
    struct tri_tensor din = nn_rank_tensor(rank, &rank->in, &rank->dx, length);
    struct tri_tensor *give = rank->out.exists ? &dout : NULL;
    struct tri_tensor *want = rank->in.exists ? &din : NULL;
    region_paint(&rank->work);
    if (!rank->way->halves)
        return ops->backward(rank->module, &rank->slot, give, want);
    TRI_TRY(ops->backward_input(rank->module, &rank->slot, give, want));
    region_paint(&rank->work);
    if (rank->c->keeps_dout)
        region_paint(&rank->dy);
    return ops->backward_weight(rank->module, &rank->slot);
}

static bool is_slot_class(enum tri_row_class row_class)
{
    return row_class == TRI_ROW_SAVED_INPUT || row_class == TRI_ROW_SAVED_WEIGHT ||
           row_class == TRI_ROW_GRAD;
}

/* Every byte outside the rows that lie in this region still has its paint. */
static void check_region(struct nn_rank *rank, const struct nn_region *region, const char *name,
                         int kind, size_t first)
{
    char *owned = calloc(region->bytes + 1, 1);
    for (int i = 0; i < rank->size.num_rows; i++) {
        const struct tri_size_row *row = &rank->size.rows[i];
        int row_kind = is_slot_class(row->row_class) ? 0 : row->row_class == TRI_ROW_RUN ? 2 : 1;
        if (row_kind == kind)
            memset(owned + first + row->offset, 1, row->bytes);
    }
    for (size_t i = 0; i < region->bytes; i++)
        if (!owned[i] && (unsigned char)region_get(region)[i] != PAINT)
            snprintf(rank->problem, sizeof(rank->problem),
                     "rank %d wrote byte %zu of '%s', which is no row's", rank->rank, i, name);
    free(owned);
    if (!region_guards_hold(region))
        snprintf(rank->problem, sizeof(rank->problem), "rank %d wrote outside '%s'", rank->rank,
                 name);
}

void nn_rank_check_paint(struct nn_rank *rank)
{
    check_region(rank, &rank->saved, "saved", 0, 64);
    check_region(rank, &rank->work, "work", 1, 0);
    check_region(rank, &rank->run, "run", 2, 0);
    const struct nn_region *edges[] = {&rank->x, &rank->residual, &rank->y, &rank->dy, &rank->dx};
    bool hold = true;
    for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
        hold = hold && region_guards_hold(edges[i]);
    for (int i = 0; i < rank->num_params; i++)
        hold = hold && region_guards_hold(&rank->values[i]) && region_guards_hold(&rank->grads[i]);
    if (!hold)
        snprintf(rank->problem, sizeof(rank->problem),
                 "rank %d wrote outside an edge or a parameter", rank->rank);
}
