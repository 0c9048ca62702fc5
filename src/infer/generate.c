/* SPDX-License-Identifier: Apache-2.0 */
/* The generation loop. */
#include "infer/sampler.h"
#include "pipeline/executor.h"
#include "trine/generate.h"

#include <stdlib.h>
#include <string.h>

struct generation {
    struct tri_model *model;
    tri_executor *executor;
    const struct tri_generate_request *request;
    struct tri_cache_state cache;
    const int32_t *tokens; /* of this call */
    int64_t num_tokens;
    int32_t *positions; /* [num_prompt] */
    int64_t sample_id;
    float *logits; /* [vocab_size] */
    void *scratch;
};

static tri_status give_microbatch(void *arg, int index, struct tri_microbatch *microbatch)
{
    struct generation *generation = arg;
    (void)index;
    for (int64_t i = 0; i < generation->num_tokens; i++)
        generation->positions[i] = (int32_t)(generation->cache.length + i);
    *microbatch = (struct tri_microbatch){
        .rows = 1,
        .length = generation->num_tokens,
        .tokens = generation->tokens,
        .positions = generation->positions,
        .turn_length = generation->cache.length + generation->num_tokens,
        .sample_ids = &generation->sample_id,
    };
    return TRI_OK;
}

static tri_status want_logits(void *arg, int index, const struct tri_slice *slice,
                              struct tri_slot *slot)
{
    struct generation *generation = arg;
    (void)index;
    if (slice->plan->has_head)
        slot->logits = generation->logits;
    return TRI_OK;
}

/* World rank of the first tensor-parallel rank of the last stage: it has the logits and picks. */
static int picker(const struct tri_context *context)
{
    int rank = tri_grid_move(&context->placement->grid, 0, TRI_AXIS_PP, context->pp->size - 1);
    return rank;
}

/* Runs the given tokens and picks the next one, on all ranks. */
static tri_status next_token(struct generation *generation, const int32_t *tokens, int64_t num,
                             int32_t *token)
{
    struct tri_context *context = generation->model->context;
    generation->tokens = tokens;
    generation->num_tokens = num;
    struct tri_execution execution = {
        .microbatch = give_microbatch,
        .before = want_logits,
        .arg = generation,
        .cache = &generation->cache,
    };
    TRI_TRY(tri_executor_run(generation->executor, &execution));
    generation->cache.length += num;
    if (context->world->rank == picker(context))
        *token = tri_sample(&generation->request->sampling, generation->logits,
                            context->placement->spec->shape.vocab_size, generation->cache.length,
                            generation->scratch);
    return tri_group_broadcast(context->all, token, 1, TRI_DTYPE_I32, picker(context));
}

static bool is_end(const struct tri_generate_request *request, int32_t token)
{
    for (int i = 0; i < request->num_end_tokens; i++)
        if (request->end_tokens[i] == token)
            return true;
    return false;
}

static tri_status run_generation(struct generation *generation, enum tri_stop_reason *reason,
                                 int32_t *last)
{
    const struct tri_generate_request *request = generation->request;
    const int32_t *tokens = request->prompt;
    int64_t num = request->num_prompt;
    int32_t token = 0;
    *reason = TRI_STOP_LENGTH;
    for (int64_t made = 0; made < request->max_new_tokens; made++) {
        if (generation->cache.length + num > request->max_positions) {
            *reason = TRI_STOP_NO_ROOM;
            break;
        }
        TRI_TRY(next_token(generation, tokens, num, &token));
        *last = token;
        request->token(request->arg, token);
        if (is_end(request, token)) {
            *reason = TRI_STOP_END_TOKEN;
            break;
        }
        tokens = &token;
        num = 1;
    }
    return TRI_OK;
}

tri_status tri_generate(struct tri_model *model, tri_executor *executor,
                        const struct tri_generate_request *request, enum tri_stop_reason *reason,
                        int32_t *last_token)
{
    tri_error *err = model->context->err;
    int64_t vocab_size = model->context->placement->spec->shape.vocab_size;
    TRI_CHECK(request->num_prompt > 0, err, TRI_INVALID, "the prompt has no tokens");
    TRI_CHECK(request->num_prompt <= request->max_positions, err, TRI_INVALID,
              "the prompt has %lld tokens and the model %lld positions; shorten the prompt",
              (long long)request->num_prompt, (long long)request->max_positions);
    struct generation generation = {.model = model, .executor = executor, .request = request};
    generation.positions = calloc((size_t)request->num_prompt, sizeof(int32_t));
    generation.logits = calloc((size_t)vocab_size, sizeof(float));
    generation.scratch = calloc((size_t)vocab_size, 16);
    tri_status status = generation.positions && generation.logits && generation.scratch
                            ? run_generation(&generation, reason, last_token)
                            : tri_error_set(err, TRI_NOMEM, "out of memory to generate");
    free(generation.positions);
    free(generation.logits);
    free(generation.scratch);
    return status;
}
