/* SPDX-License-Identifier: Apache-2.0 */
/* Planning a run and building one rank of it. */
#include "train/session.h"

#include "base/rng.h"
#include "checkpoint/checkpoint.h"
#include "optim/optimizer.h"
#include "placement/layout.h"
#include "placement/plan_check.h"
#include "shape/check.h"
#include "spec/family.h"
#include "spec/model_spec.h"
#include "spec/split.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Which backend stands behind an implementation on the CPU. The first is also used for updates. */
static const char *const backends[][2] = {{"fused", "cpu_fast"}, {"plain", "cpu_ref"}};
#define NUM_BACKENDS ((int)(sizeof backends / sizeof backends[0]))

static int64_t default_team_size(int world_size)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > world_size ? cores / world_size : 1;
}

static void fill_request(const struct tri_run_config *config, int world_size, enum tri_run_use use,
                         int64_t cache_length, const struct tri_plan_comm *comm,
                         struct tri_plan_request *request)
{
    const struct tri_placement_config *placement = &config->placement;
    int64_t shortest = placement->sequence_parallel ? placement->tensor_model_parallel_size : 1;
    *request = (struct tri_plan_request){
        .world_size = world_size,
        .micro_batch_size = config->train.micro_batch_size,
        .global_batch_size = config->train.global_batch_size,
        .seq_length = use == TRI_USE_WEIGHTS ? shortest : config->shape.seq_length,
        .cache_length = cache_length,
        .forward_only = use != TRI_USE_TRAINING,
        .team_size = (int)config->placement.team_size,
        .checkpoint_staging_bytes = tri_checkpoint_staging_bytes(),
        .num_prefetch = 1,
        .num_scratch = NUM_BACKENDS,
        .comm = comm ? *comm : (struct tri_plan_comm){0},
    };
    tri_optimizer_plan(&config->optim, &request->optimizer_bytes, &request->num_moments);
    for (int i = 0; i < NUM_BACKENDS; i++)
        request->scratch[i] = (struct tri_scratch_binding){
            .implementation = backends[i][0], .table = tri_kernels_scratch(backends[i][1])};
}

/* Options that depend on others: team size, global batch. */
static void complete(struct tri_run_config *config, int world_size)
{
    if (config->placement.team_size == TRI_UNSET)
        config->placement.team_size = default_team_size(world_size);
    if (config->train.global_batch_size != TRI_UNSET)
        return;
    int64_t cut = config->placement.tensor_model_parallel_size *
                  config->placement.pipeline_model_parallel_size;
    int64_t dp = cut > 0 && world_size / cut > 0 ? world_size / cut : 1;
    config->train.global_batch_size = config->train.micro_batch_size * dp;
}

/* With a wrong shape there is no model to place; what can be said of the placement is said. */
static void check_placement(const struct tri_run_config *config,
                            const struct tri_plan_request *request, tri_error *err)
{
    const struct tri_placement_config *placement = &config->placement;
    const struct tri_transformer_config *layers = &config->shape.transformer;
    int64_t tp = placement->tensor_model_parallel_size,
            pp = placement->pipeline_model_parallel_size;
    if (tp < 1 || pp < 1 || tp > INT32_MAX || pp > INT32_MAX)
        return;
    struct tri_grid grid;
    int num_microbatches;
    struct tri_plan_request sizes = *request;
    if (sizes.seq_length == TRI_UNSET)
        sizes.seq_length = 1; /* the shape's checks have said so */
    bool has_sizes = tri_plan_check_request(&sizes, err) == TRI_OK;
    bool has_grid = tri_grid_plan(request->world_size, (int)tp, 1, 1, (int)tp, (int)pp,
                                  placement->use_tp_pp_dp_mapping, err, &grid) == TRI_OK;
    if (has_sizes && has_grid)
        tri_plan_check_batch(request, grid.size[TRI_AXIS_DP], err, &num_microbatches);
    if (layers->num_attention_heads < 1 || layers->num_query_groups < 1 ||
        layers->ffn_hidden_size < 1 || request->seq_length < 1)
        return;
    int64_t sp = placement->sequence_parallel ? tp : 1;
    struct tri_split split = {.tp = tp, .sp = sp, .cp = 1, .ep = 1, .etp = tp};
    tri_split_check(&config->shape, &split, request->seq_length, err);
}

/* Which slice of which stage will hold each layer; NULL where the layout has problems, which the planner
   will report. */
static const struct tri_layer_place *place_layers(const struct tri_run_config *config,
                                                  tri_arena *arena)
{
    int64_t num_layers = config->shape.transformer.num_layers;
    tri_error *ignored = tri_error_create();
    struct tri_layout layout;
    struct tri_layer_place *places = NULL;
    if (num_layers >= 1 &&
        tri_layout_plan(&config->placement, num_layers, arena, ignored, &layout) == TRI_OK)
        places = tri_arena_alloc(arena, (size_t)num_layers * sizeof(*places));
    for (int i = 0; places && i < layout.num_stages * layout.num_slices; i++) {
        const struct tri_slice_plan *slice = &layout.slices[i];
        for (int u = 0; u < slice->num_units; u++) {
            int64_t layer = slice->first_unit + u - 1;
            if (layer >= 0 && layer < num_layers)
                places[layer] = (struct tri_layer_place){.layer = layer,
                                                         .stage = i / layout.num_slices,
                                                         .virtual_stage = i % layout.num_slices};
        }
    }
    tri_error_destroy(&ignored);
    return places;
}

/* The default spec, its layers by the user's function if there is one. */
static tri_status make_spec(const struct tri_run_config *config, const struct tri_hooks *hooks,
                            tri_error *err, struct tri_model_spec **spec)
{
    if (!hooks || !hooks->layer_spec)
        return tri_model_spec_create(&config->shape, &config->spec, err, spec);
    tri_arena *arena = tri_arena_create();
    TRI_CHECK(arena, err, TRI_NOMEM, "out of memory while placing layers");
    const struct tri_layer_source source = {
        .make = hooks->layer_spec, .user = hooks->user, .places = place_layers(config, arena)};
    tri_status status =
        tri_model_spec_create_layers(&config->shape, &config->spec, &source, err, spec);
    tri_arena_destroy(&arena);
    return status;
}

/* Without a family there are no files: better now than after the model is built. */
static tri_status check_no_family(const struct tri_checkpoint_config *files,
                                  const struct tri_gpt_config *shape, tri_error *err)
{
    const char *option = files->save[0] ? "save" : "load";
    char nearest[2 * TRI_OPTION_TEXT];
    if (!files->save[0] && !files->load[0])
        return TRI_OK;
    tri_family_nearest(shape, nearest, sizeof nearest);
    return tri_error_add(err, TRI_INVALID,
                         "'%s' '%s': no Hugging Face family can hold this shape; nearest are: %s; "
                         "change that, or leave '%s' out",
                         option, files->save[0] ? files->save : files->load, nearest, option);
}

/* The family must be able to say what is to be saved: better now than at the first save. */
static tri_status check_files(const struct tri_checkpoint_config *files,
                              const struct tri_gpt_config *shape, tri_error *err)
{
    char *text = NULL;
    if (!shape->family[0])
        return check_no_family(files, shape, err);
    if (!files->save[0])
        return TRI_OK;
    tri_status status = tri_gpt_config_write_hf(shape, "float32", NULL, err, &text);
    free(text);
    return status;
}

tri_status tri_run_plan(struct tri_run_config *config, const struct tri_hooks *hooks,
                        int world_size, enum tri_run_use use, int64_t cache_length,
                        const struct tri_plan_comm *comm, tri_error *err,
                        struct tri_model_spec **spec, struct tri_placement **placement)
{
    complete(config, world_size);
    struct tri_model_spec *made = NULL;
    tri_status status;
    if (hooks && hooks->model_provider)
        status = hooks->model_provider(hooks->user, &config->shape, &config->spec, err, &made);
    else
        status = make_spec(config, hooks, err, &made);
    struct tri_plan_request request;
    if (status == TRI_OK)
        config->shape = made->shape;
    fill_request(config, world_size, use, cache_length, comm, &request);
    if (status != TRI_OK) {
        check_placement(config, &request, err);
        return status;
    }
    tri_status has_files = check_files(&config->checkpoint, &made->shape, err);
    status = tri_placement_plan(made, &config->placement, &request, err, placement);
    if (status == TRI_OK && has_files != TRI_OK) {
        tri_placement_destroy(placement);
        status = has_files;
    }
    if (status != TRI_OK) {
        tri_model_spec_destroy(&made);
        return status;
    }
    *spec = made;
    return TRI_OK;
}

static tri_status find_backends(struct tri_kernel_binding *kernels, tri_error *err)
{
    for (int i = 0; i < NUM_BACKENDS; i++) {
        kernels[i].implementation = backends[i][0];
        kernels[i].kernels = tri_kernels_find(backends[i][1], err);
        if (!kernels[i].kernels)
            return TRI_UNSUPPORTED;
    }
    return TRI_OK;
}

/* Processes that were started with different options or builds would wait for each other or
   worse. */
static tri_status agree_on_request(struct tri_session *session)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    TRI_CHECK(out, session->err, TRI_NOMEM, "out of memory for the options");
    fprintf(out, "trine %s\n", TRI_VERSION);
    tri_run_config_print(out, &session->config, false);
    fclose(out);
    int64_t hash = (int64_t)tri_rng_hash(text);
    free(text);
    int64_t bounds[2] = {hash, ~hash};
    TRI_TRY(tri_group_all_reduce(session->context->all, bounds, 2, TRI_DTYPE_I64, TRI_REDUCE_MAX));
    TRI_CHECK(bounds[0] == ~bounds[1], session->err, TRI_INVALID,
              "rank %d was started with other options or another build than other ranks; start all "
              "with the same command",
              session->world->rank);
    return TRI_OK;
}

/* Machines whose BLAS has other code would give other bits, and nobody would notice. */
static tri_status agree_on_arithmetic(struct tri_session *session)
{
    tri_group *all = session->context->all;
    const char *own = tri_kernels_arithmetic();
    char first[256];
    snprintf(first, sizeof first, "%s", own);
    TRI_TRY(tri_group_broadcast(all, first, sizeof first, TRI_DTYPE_U8, 0));
    tri_status status = TRI_OK;
    if (strncmp(first, own, sizeof first - 1) != 0)
        status =
            tri_error_set(session->err, TRI_INVALID,
                          "rank %d multiplies matrices with '%s', rank 0 with '%s', which round "
                          "differently; use one version of OpenBLAS, and start all ranks with "
                          "OPENBLAS_CORETYPE=Haswell or another that all machines have",
                          all->rank, own, first);
    return tri_group_agree(all, status);
}

static tri_status build(struct tri_session *session)
{
    const struct tri_session_request *request = &session->request;
    struct tri_context_request context = {
        .world = session->world,
        .team = session->team,
        .placement = session->placement,
        .plan = &session->plan,
        .num_kernels = NUM_BACKENDS,
        .extensions = request->extensions,
        .num_extensions = request->num_extensions,
        .seed = (uint64_t)session->config.train.seed,
    };
    struct tri_kernel_binding kernels[NUM_BACKENDS];
    TRI_TRY(find_backends(kernels, session->err));
    context.kernels = kernels;
    TRI_TRY(tri_context_create(&context, &session->context));
    TRI_TRY(agree_on_request(session));
    TRI_TRY(agree_on_arithmetic(session));
    TRI_TRY(tri_model_build(session->context, request->hooks, &session->model));
    if (!request->forward_only)
        TRI_TRY(
            tri_executor_create(session->model, session->plan.schedule, &session->train_executor));
    return tri_executor_create(session->model, session->plan.eval_schedule,
                               &session->eval_executor);
}

static tri_status plan_and_build(struct tri_session *session)
{
    const struct tri_session_request *request = &session->request;
    session->config.spec.extensions = request->extensions;
    session->config.spec.num_extensions = request->num_extensions;
    const struct tri_plan_comm comm = {.staging = session->world->staging_bytes};
    enum tri_run_use use = request->weights_only   ? TRI_USE_WEIGHTS
                           : request->forward_only ? TRI_USE_FORWARD
                                                   : TRI_USE_TRAINING;
    TRI_TRY(tri_run_plan(&session->config, request->hooks, session->world->size, use,
                         request->cache_length, &comm, session->err, &session->spec,
                         &session->placement));
    session->arena = tri_arena_create();
    if (!session->arena)
        return tri_error_set(session->err, TRI_NOMEM, "out of memory for the rank's plan");
    TRI_TRY(tri_rank_plan_make(session->placement, session->world->rank, session->arena,
                               session->err, &session->plan));
    TRI_TRY(
        tri_team_create((int)session->config.placement.team_size, session->err, &session->team));
    double tokens =
        (double)session->config.train.global_batch_size * (double)session->config.shape.seq_length;
    session->seed = (float)exp2(-round(log2(tokens)));
    return build(session);
}

tri_status tri_session_create(const struct tri_session_request *request,
                              struct tri_session **result)
{
    tri_error *err = request->world->err;
    struct tri_session *session = calloc(1, sizeof *session);
    if (!session)
        return tri_error_set(err, TRI_NOMEM, "out of memory for the session");
    session->request = *request;
    session->request.forward_only |= request->weights_only;
    session->config = *request->config;
    session->err = err;
    session->world = request->world;
    tri_status status = plan_and_build(session);
    if (status != TRI_OK) {
        tri_session_destroy(&session);
        return status;
    }
    *result = session;
    return TRI_OK;
}

void tri_session_destroy(struct tri_session **result)
{
    struct tri_session *session = *result;
    if (!session)
        return;
    tri_executor_destroy(&session->eval_executor);
    tri_executor_destroy(&session->train_executor);
    tri_model_destroy(&session->model);
    tri_context_destroy(&session->context);
    tri_team_destroy(&session->team);
    tri_arena_destroy(&session->arena);
    tri_placement_destroy(&session->placement);
    tri_model_spec_destroy(&session->spec);
    free(session);
    *result = NULL;
}

struct tri_model *tri_session_get_model(const struct tri_session *session)
{
    return session->model;
}

tri_executor *tri_session_get_executor(const struct tri_session *session)
{
    return session->eval_executor;
}
