/* SPDX-License-Identifier: Apache-2.0 */
/* Configuring and running a way on every rank, and gathering its whole tensors. */
#include "train_run.h"

#include "base/rng.h"
#include "kernels/reduce.h"
#include "nn_fixture.h"
#include "t1-shapes.h"
#include "trine/launch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_RANKS 16

static const char *const model_names[] = {"gpt2", "gpt2_untied", "llama", "attention"};

const char *train_model_name(enum train_model model)
{
    return model_names[model];
}

enum train_model train_model_find(const char *name)
{
    int model = 0;
    while (model < TRAIN_NUM_MODELS && strcmp(model_names[model], name) != 0)
        model++;
    return (enum train_model)model;
}

/* ---- the way ---- */

static int or_one(int size)
{
    return size > 0 ? size : 1;
}

int train_way_ranks(const struct train_way *way)
{
    return or_one(way->tp) * or_one(way->pp) * or_one(way->dp);
}

void train_way_format(const struct train_way *way, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s: tp %d%s pp %d vpp %d dp %d%s team %d%s%s", model_names[way->model],
             or_one(way->tp), way->sequence_parallel ? " sp" : "", or_one(way->pp),
             or_one(way->vpp), or_one(way->dp), way->sharded ? " sharded" : "", or_one(way->team),
             way->schedule ? " schedule " : "", way->schedule ? way->schedule : "");
}

static void shape_attention(struct tri_gpt_config *shape)
{
    struct tri_attention_config *a = &shape->transformer.attention;
    shape->transformer.num_query_groups = 2;
    shape->transformer.kv_channels = 6;
    shape->transformer.add_qkv_bias = shape->transformer.add_proj_bias = true;
    shape->position_embedding_type = TRI_POSITION_YARN;
    a->rotary_scaling_factor = 3;
    a->original_max_position_embeddings = 8;
    a->qk_layernorm = true;
    a->window_size = (struct tri_option_list){.num = 2, .value = {4, 0}};
    a->window_attn_skip_freq = (struct tri_option_list){.num = 1, .value = {2}};
}

static struct tri_gpt_config shape_of(const struct train_way *way)
{
    int64_t layers = way->layers ? way->layers : 4;
    bool is_llama = way->model == TRAIN_LLAMA || way->model == TRAIN_ATTENTION;
    struct tri_gpt_config shape =
        is_llama ? shape_llama(layers, 32, 8, 4, 48, 101) : shape_gpt2(layers, 32, 8, 101, 16);
    if (way->model == TRAIN_ATTENTION)
        shape_attention(&shape);
    shape.seq_length = 16;
    shape.make_vocab_size_divisible_by = 1;
    shape.transformer.hidden_dropout = 0.1;
    shape.transformer.attention_dropout = 0.1;
    shape.transformer.init_method_std = 0.1;
    if (way->model == TRAIN_GPT2_UNTIED)
        shape.untie_embeddings_and_output_weights = true;
    tri_gpt_config_resolve(&shape);
    return shape;
}

void train_way_config(const struct train_way *way, struct tri_run_config *config)
{
    tri_run_config_set_defaults(config);
    config->shape = shape_of(way);
    struct tri_placement_config *placement = &config->placement;
    placement->tensor_model_parallel_size = or_one(way->tp);
    placement->pipeline_model_parallel_size = or_one(way->pp);
    if (way->vpp > 1)
        placement->virtual_pipeline_model_parallel_size = way->vpp;
    placement->sequence_parallel = way->sequence_parallel;
    placement->use_distributed_optimizer = way->sharded;
    if (way->bucket_size)
        placement->ddp_bucket_size = way->bucket_size;
    placement->team_size = or_one(way->team);
    if (way->schedule)
        snprintf(placement->schedule, sizeof placement->schedule, "%s", way->schedule);
    config->train.micro_batch_size = way->micro_batch ? way->micro_batch : 2;
    config->train.global_batch_size = way->global_batch ? way->global_batch : 24;
    config->train.train_iters = TRAIN_MAX_STEPS;
    config->optim.lr = 3e-3;
    config->optim.min_lr = 1e-4;
    config->optim.lr_warmup_iters = 2;
    config->optim.lr_decay_style = TRI_LR_COSINE;
    config->optim.weight_decay = 0.1;
    if (way->configure)
        way->configure(config);
}

/* ---- batches ---- */

void train_fill_sample(int64_t sample, int64_t length, int64_t vocab_size, int32_t *tokens,
                       int32_t *labels)
{
    struct tri_rng_key key = tri_rng_key(11, TRI_RNG_TEST, (uint64_t)sample);
    double often = 0.4 * tri_rng_double(key, 0); /* how many labels do not count */
    for (int64_t i = 0; i <= length; i++) {
        int32_t id = (int32_t)(tri_rng_double(key, (uint64_t)(2 * i + 1)) * (double)vocab_size);
        if (i < length)
            tokens[i] = id;
        if (i > 0)
            labels[i - 1] = tri_rng_double(key, (uint64_t)(2 * i + 2)) < often ? -1 : id;
    }
}

static tri_status source_begin(void *arg, int64_t consumed)
{
    ((struct train_source *)arg)->consumed = consumed;
    return TRI_OK;
}

static tri_status source_microbatch(void *arg, int index, struct tri_microbatch *microbatch)
{
    struct train_source *source = arg;
    const struct tri_run_config *config = &source->session->config;
    const tri_group *dp = source->session->context->dp;
    int64_t b = config->train.micro_batch_size, s = config->shape.seq_length, n = b * s;
    int32_t *tokens = source->block + index * 3 * n, *labels = tokens + n, *positions = labels + n;
    int64_t *ids = source->sample_ids + index * b;
    *microbatch = (struct tri_microbatch){.rows = b,
                                          .length = s,
                                          .tokens = tokens,
                                          .labels = labels,
                                          .positions = positions,
                                          .sample_ids = ids};
    for (int64_t row = 0; row < b; row++) {
        ids[row] = source->consumed + (index * dp->size + dp->rank) * b + row;
        train_fill_sample(ids[row], s, config->shape.vocab_size, tokens + row * s,
                          labels + row * s);
        for (int64_t i = 0; i < s; i++) {
            positions[row * s + i] = (int32_t)i;
            microbatch->num_valid += labels[row * s + i] >= 0;
        }
    }
    return TRI_OK;
}

tri_status train_source_init(struct train_source *source, struct tri_session *session)
{
    const struct tri_run_config *config = &session->config;
    size_t rows =
        (size_t)session->placement->num_microbatches * (size_t)config->train.micro_batch_size;
    *source = (struct train_source){
        .session = session,
        .block = calloc(rows * (size_t)config->shape.seq_length * 3, sizeof(int32_t)),
        .sample_ids = calloc(rows, sizeof(int64_t)),
    };
    TRI_CHECK(source->block && source->sample_ids, session->err, TRI_NOMEM,
              "out of memory for batches");
    return TRI_OK;
}

void train_source_fini(struct train_source *source)
{
    free(source->block);
    free(source->sample_ids);
}

struct tri_batch_source train_source_get(struct train_source *source)
{
    return (struct tri_batch_source){
        .begin_step = source_begin, .microbatch = source_microbatch, .arg = source};
}

tri_status train_schedule(const struct tri_session *session, struct tri_lr_schedule *schedule)
{
    const struct tri_run_config *config = &session->config;
    return tri_lr_schedule_plan(&config->optim, config->train.train_iters,
                                config->train.global_batch_size, session->err, schedule);
}

/* ---- whole tensors ---- */

static int64_t spec_elements(const struct tri_param_spec *spec)
{
    return spec->dims[0] * (spec->num_dims == 2 ? spec->dims[1] : 1);
}

void train_list_tensors(const struct tri_session *session, struct train_result *result)
{
    const struct tri_placement *placement = session->placement;
    result->num_tensors = 0;
    result->elements = 0;
    for (int u = 0; u < placement->spec->num_units; u++)
        for (int i = 0; i < placement->units[u].num_params; i++) {
            const struct tri_param_spec *spec = &placement->units[u].params[i];
            if (spec->tied_copy)
                continue;
            TRI_ASSERT(result->num_tensors < TRAIN_MAX_TENSORS);
            struct train_tensor *tensor = &result->tensors[result->num_tensors++];
            snprintf(tensor->name, sizeof tensor->name, "%s", spec->name);
            tensor->first = result->elements;
            tensor->elements = spec_elements(spec);
            result->elements += tensor->elements;
        }
}

int train_find(const struct train_result *result, const char *name)
{
    for (int i = 0; i < result->num_tensors; i++)
        if (strcmp(result->tensors[i].name, name) == 0)
            return i;
    return -1;
}

/* Where element i of the local tensor lies in a result; -1: padding. A tied copy stands for the table. */
static int64_t whole_element(const struct tri_session *session, const struct train_result *result,
                             const struct tri_param_spec *spec, int64_t i)
{
    int tensor = train_find(result, spec->name);
    TRI_ASSERT(tensor >= 0);
    const tri_group *tp = session->context->tp;
    int64_t element = nn_param_element(spec, tp->size, tp->rank, i);
    return element < result->tensors[tensor].elements ? result->tensors[tensor].first + element
                                                      : -1;
}

tri_status train_gather(struct tri_session *session, const struct train_result *result,
                        enum train_what what, float factor, float **values)
{
    float *whole = calloc((size_t)result->elements, sizeof(float));
    TRI_CHECK(whole, session->err, TRI_NOMEM, "out of memory for the whole model");
    for (int s = 0; s < session->model->num_shards; s++) {
        const struct tri_shard *shard = &session->model->shards[s];
        const float *from = tri_tensor_f32(what == TRAIN_VALUES ? &shard->value : &shard->grad);
        for (int64_t i = 0; i < shard->counted; i++) {
            int64_t element = whole_element(session, result, shard->param->spec, shard->first + i);
            if (element >= 0)
                whole[element] = what == TRAIN_VALUES ? from[i] : from[i] * factor;
        }
    }
    *values = whole;
    return tri_group_all_reduce(session->context->all, whole, result->elements, TRI_DTYPE_F32,
                                TRI_REDUCE_SUM);
}

tri_status train_count_other(struct tri_session *session, const struct train_result *result,
                             const float *whole, int64_t *num)
{
    *num = 0;
    for (int p = 0; p < session->model->num_params; p++) {
        const struct tri_param *param = &session->model->params[p];
        const float *value = tri_tensor_f32(&param->value);
        for (int64_t i = 0; i < param->plan->elements; i++) {
            int64_t element = whole_element(session, result, param->spec, i);
            float expected = element >= 0 ? whole[element] : 0.0f; /* padding stays zero */
            *num += value[i] != expected;
        }
    }
    return tri_group_all_reduce(session->context->all, num, 1, TRI_DTYPE_I64, TRI_REDUCE_SUM);
}

/* ---- running ---- */

static tri_status run_steps(const struct train_way *way, struct tri_session *session,
                            struct train_source *source, struct train_result *result)
{
    struct tri_batch_source batches = train_source_get(source);
    struct tri_lr_schedule schedule;
    struct tri_progress progress = {.consumed_samples = way->first_sample};
    TRI_TRY(train_schedule(session, &schedule));
    result->num_steps = way->steps ? way->steps : TRAIN_MAX_STEPS;
    for (int i = 0; i < result->num_steps; i++) {
        struct tri_step_result step;
        TRI_TRY(tri_step_run(session, &batches, &schedule, false, &progress, &step));
        result->loss[i] = step.loss;
        result->norm[i] = step.grad_norm;
        result->valid[i] = step.valid_tokens;
        bool per_token = session->config.train.calculate_per_token_loss;
        float factor =
            per_token ? (float)(1.0 / (step.valid_tokens * (double)session->seed)) : 1.0f;
        if (i == 0)
            TRI_TRY(train_gather(session, result, TRAIN_GRADIENTS, factor, &result->gradient));
    }
    return TRI_OK;
}

static tri_status run_session(const struct train_way *way, struct tri_session *session,
                              struct train_source *source, struct train_result *result)
{
    train_list_tensors(session, result);
    TRI_TRY(train_source_init(source, session));
    TRI_TRY(tri_params_initialise(session->context, session->model->params));
    TRI_TRY(train_gather(session, result, TRAIN_VALUES, 1, &result->initial));
    if (way->tamper)
        TRI_TRY(way->tamper(session, way->tamper_arg));
    TRI_TRY(run_steps(way, session, source, result));
    TRI_TRY(train_gather(session, result, TRAIN_VALUES, 1, &result->final));
    return train_count_other(session, result, result->final, &result->other_copies);
}

tri_status train_run_on(const struct train_way *way, tri_world *world, struct train_result *result)
{
    struct tri_run_config config;
    struct train_source source = {0};
    train_way_config(way, &config);
    struct tri_session_request request = {.config = &config,
                                          .world = world,
                                          .hooks = way->hooks,
                                          .extensions = way->extensions,
                                          .num_extensions = way->num_extensions};
    struct tri_session *session = NULL;
    *result = (struct train_result){0};
    tri_status status = tri_session_create(&request, &session);
    if (status == TRI_OK)
        status = run_session(way, session, &source, result);
    train_source_fini(&source);
    tri_session_destroy(&session);
    return status;
}

struct call {
    const struct train_way *way;
    struct train_result *result; /* rank 0's */
};

static tri_status run_rank(void *arg, tri_world *world)
{
    const struct call *call = arg;
    if (world->rank == 0)
        return train_run_on(call->way, world, call->result);
    struct train_result own;
    tri_status status = train_run_on(call->way, world, &own);
    train_result_free(&own);
    return status;
}

tri_status train_try(const struct train_way *way, struct train_result *result, tri_error *err)
{
    struct call call = {.way = way, .result = result};
    struct tri_launch launch = {.ranks = train_way_ranks(way), .time_limit_seconds = 600};
    tri_error *errs[MAX_RANKS];
    *result = (struct train_result){0};
    for (int i = 0; i < MAX_RANKS; i++)
        errs[i] = tri_error_create();
    tri_status status = tri_launch_run(&launch, run_rank, &call, errs);
    for (int i = 0; i < MAX_RANKS; i++) {
        for (int k = 0; k < tri_error_count(errs[i]); k++)
            tri_error_add(err, tri_error_status_at(errs[i], k), "rank %d: %s", i,
                          tri_error_message(errs[i], k));
        tri_error_destroy(&errs[i]);
    }
    return status;
}

void train_run(const struct train_way *way, struct train_result *result)
{
    char text[256];
    tri_error *err = tri_error_create();
    tri_status status = train_try(way, result, err);
    for (int k = 0; k < tri_error_count(err); k++)
        print_error("%s\n", tri_error_message(err, k));
    tri_error_destroy(&err);
    train_way_format(way, text, sizeof text);
    if (status != TRI_OK)
        fail_msg("%s: failed", text);
}

void train_result_free(struct train_result *result)
{
    free(result->initial);
    free(result->gradient);
    free(result->final);
    result->initial = result->gradient = result->final = NULL;
}
