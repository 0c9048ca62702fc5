/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scoring sequences, a global batch at a time. Sequence k of a batch is row k mod b of microbatch
 * k / (dp * b) on data-parallel rank k / b mod dp, so its row does not depend on the grid. Token
 * losses, and entropies where a rank asks for them, are gathered over dp on the last stage and then told
 * to the other stages: they are moved, never added.
 */
#include "train/score_check.h"
#include "train/session.h"
#include "trine/score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the head makes of each position. */
enum { LOSSES, ENTROPIES, NUM_VALUES };

struct tri_scorer {
    struct tri_session *session;
    const struct tri_score_request *request; /* of the call */
    int64_t b, s, sp;                        /* rows, planned positions; their divisor */
    int64_t batch;                           /* global: sequences */
    int num_microbatches;
    int64_t first;                 /* sequence of the current batch */
    int64_t *starts;               /* [batch] where each begins in the request's tokens */
    int32_t *block;                /* tokens, labels and positions of every microbatch */
    int64_t *ids;                  /* [b] for dropout masks, which are off */
    bool wants_entropies;          /* of the call */
    float *values[NUM_VALUES];     /* [microbatch][b * s] of this rank */
    float *all_values[NUM_VALUES]; /* [dp rank][microbatch][b * s] */
};

/* ---- from sequences to microbatches ---- */

/* What follows position i of sequence n, which begins at start; negative: nothing wanted. *at is
   the place of its value. */
static int32_t target_of(const struct tri_score_request *request, int64_t n, int64_t start,
                         int64_t i, int64_t *at)
{
    int64_t t = request->targets ? i : i + 1;
    *at = start + t;
    if (t >= request->lengths[n] || (request->prompt_lengths && t < request->prompt_lengths[n]) ||
        (request->mask && !request->mask[*at]))
        return -1;
    return request->targets ? request->targets[*at] : request->tokens[*at];
}

/* Positions of microbatch m on data-parallel rank d. One row runs at its own length, so that its
   bits do not depend on seq_length; several run at seq_length, so that they do not depend on each
   other. */
static int64_t microbatch_length(const tri_scorer *scorer, int64_t m, int64_t d)
{
    int64_t n = scorer->first + (m * scorer->session->context->dp->size + d) * scorer->b;
    if (n >= scorer->request->num_sequences)
        return scorer->sp;
    if (scorer->b > 1)
        return scorer->s;
    int64_t needed = tri_score_positions(scorer->request, n);
    return (needed + scorer->sp - 1) / scorer->sp * scorer->sp;
}

/* By what dynamic scaling turns microbatch m on data-parallel rank d: its own sequence, where it has one. */
static int64_t turn_length(const tri_scorer *scorer, int64_t m, int64_t d)
{
    int64_t n = scorer->first + m * scorer->session->context->dp->size + d;
    if (scorer->b > 1 || n >= scorer->request->num_sequences)
        return 0;
    return tri_score_positions(scorer->request, n);
}

/* Rows of one microbatch: those planned, but one where dynamic scaling turns each sequence in another way. */
static int64_t rows_of(const struct tri_run_config *config)
{
    const struct tri_gpt_config *shape = &config->shape;
    bool turns_by_length = !isnan(shape->transformer.attention.rope_dynamic_factor) &&
                           shape->seq_length > shape->max_position_embeddings;
    return turns_by_length ? 1 : config->train.micro_batch_size;
}

/* Fills one row; returns how many labels it has. */
static int64_t fill_row(const tri_scorer *scorer, int64_t k, int64_t length, int32_t *tokens,
                        int32_t *labels, int32_t *positions)
{
    const struct tri_score_request *request = scorer->request;
    int64_t n = scorer->first + k, num_valid = 0, at;
    bool there = n < request->num_sequences;
    int64_t num = there ? request->lengths[n] : 0, start = there ? scorer->starts[k] : 0;
    for (int64_t i = 0; i < length; i++) {
        tokens[i] = i < num ? request->tokens[start + i] : 0;
        labels[i] = i < num ? target_of(request, n, start, i, &at) : -1;
        positions[i] = (int32_t)i;
        num_valid += labels[i] >= 0;
    }
    return num_valid;
}

static tri_status scorer_microbatch(void *arg, int index, struct tri_microbatch *microbatch)
{
    const tri_scorer *scorer = arg;
    const tri_group *dp = scorer->session->context->dp;
    int64_t b = scorer->b, room = b * scorer->s;
    int64_t length = microbatch_length(scorer, index, dp->rank);
    int32_t *tokens = scorer->block + index * 3 * room, *labels = tokens + room,
            *positions = labels + room;
    *microbatch = (struct tri_microbatch){.rows = b,
                                          .length = length,
                                          .tokens = tokens,
                                          .labels = labels,
                                          .positions = positions,
                                          .turn_length = turn_length(scorer, index, dp->rank),
                                          .sample_ids = scorer->ids};
    for (int64_t row = 0; row < b; row++)
        microbatch->num_valid +=
            fill_row(scorer, (index * dp->size + dp->rank) * b + row, length, tokens + row * length,
                     labels + row * length, positions + row * length);
    return TRI_OK;
}

static tri_status want_values(void *arg, int index, const struct tri_slice *slice,
                              struct tri_slot *slot)
{
    const tri_scorer *scorer = arg;
    int64_t first = index * scorer->b * scorer->s;
    if (slice->plan->has_head)
        slot->token_loss = scorer->values[LOSSES] + first;
    if (slice->plan->has_head && scorer->wants_entropies)
        slot->token_entropy = scorer->values[ENTROPIES] + first;
    return TRI_OK;
}

/* ---- and back ---- */

static tri_status share_values(tri_scorer *scorer, int which)
{
    const struct tri_context *context = scorer->session->context;
    int64_t count = scorer->num_microbatches * scorer->b * scorer->s;
    if (context->pp->rank == context->pp->size - 1)
        TRI_TRY(tri_group_all_gather(context->dp, scorer->all_values[which], scorer->values[which],
                                     count, TRI_DTYPE_F32));
    return tri_group_broadcast(context->pp, scorer->all_values[which], context->dp->size * count,
                               TRI_DTYPE_F32, context->pp->size - 1);
}

/* Writes the results of sequence k of the batch. */
static void write_scores(const tri_scorer *scorer, int64_t k, const struct tri_scores *scores)
{
    const struct tri_score_request *request = scorer->request;
    int64_t dp = scorer->session->context->dp->size, b = scorer->b;
    int64_t m = k / (dp * b), d = k / b % dp, n = scorer->first + k, start = scorer->starts[k];
    int64_t length = microbatch_length(scorer, m, d), count = 0, at;
    int64_t first = (d * scorer->num_microbatches + m) * b * scorer->s + k % b * length;
    const float *losses = scorer->all_values[LOSSES] + first;
    const float *entropies = scorer->all_values[ENTROPIES] + first;
    size_t bytes = (size_t)request->lengths[n] * sizeof(float);
    double sum = 0;
    if (scores->logprobs)
        memset(scores->logprobs + start, 0, bytes);
    if (scores->entropies)
        memset(scores->entropies + start, 0, bytes);
    for (int64_t i = 0; i < tri_score_positions(request, n); i++) {
        if (target_of(request, n, start, i, &at) < 0)
            continue;
        float value = 0 - losses[i];
        if (scores->logprobs)
            scores->logprobs[at] = value;
        if (scores->entropies)
            scores->entropies[at] = entropies[i];
        sum += (double)value;
        count++;
    }
    if (scores->sums)
        scores->sums[n] = sum;
    if (scores->counts)
        scores->counts[n] = count;
}

/* ---- the whole ---- */

/* Runs one global batch, whose first sequence begins at *start, and moves *start behind it. */
static tri_status run_batch(tri_scorer *scorer, const struct tri_scores *scores, int64_t *start)
{
    int64_t left = scorer->request->num_sequences - scorer->first;
    int64_t num = left < scorer->batch ? left : scorer->batch;
    struct tri_execution execution = {
        .microbatch = scorer_microbatch, .before = want_values, .arg = scorer};
    for (int64_t k = 0; k < num; k++) {
        scorer->starts[k] = *start;
        *start += scorer->request->lengths[scorer->first + k];
    }
    TRI_TRY(tri_executor_run(scorer->session->eval_executor, &execution));
    TRI_TRY(share_values(scorer, LOSSES));
    if (scorer->wants_entropies)
        TRI_TRY(share_values(scorer, ENTROPIES));
    for (int64_t k = 0; k < num; k++)
        write_scores(scorer, k, scores);
    return TRI_OK;
}

tri_status tri_scorer_run(tri_scorer *scorer, const struct tri_score_request *request,
                          const struct tri_scores *scores)
{
    scorer->wants_entropies = scores->entropies != NULL;
    TRI_TRY(tri_score_check(scorer->session, request, &scorer->wants_entropies));
    int64_t start = 0;
    scorer->request = request;
    for (scorer->first = 0; scorer->first < request->num_sequences; scorer->first += scorer->batch)
        TRI_TRY(run_batch(scorer, scores, &start));
    return TRI_OK;
}

tri_status tri_scorer_create(struct tri_session *session, tri_scorer **result)
{
    const struct tri_run_config *config = &session->config;
    int64_t b = rows_of(config), s = config->shape.seq_length;
    tri_scorer *scorer = calloc(1, sizeof *scorer);
    if (!scorer)
        return tri_error_set(session->err, TRI_NOMEM, "out of memory for the scorer");
    scorer->session = session;
    scorer->b = b;
    scorer->s = s;
    scorer->sp = config->placement.sequence_parallel ? session->context->tp->size : 1;
    scorer->num_microbatches = session->placement->num_microbatches;
    scorer->batch = scorer->num_microbatches * session->context->dp->size * b;
    size_t rows = (size_t)(scorer->num_microbatches * b);
    scorer->starts = calloc((size_t)scorer->batch, sizeof(int64_t));
    scorer->block = calloc(3 * rows * (size_t)s, sizeof(int32_t));
    scorer->ids = calloc((size_t)b, sizeof(int64_t));
    bool has_room = scorer->starts && scorer->block && scorer->ids;
    for (int which = 0; which < NUM_VALUES; which++) {
        size_t positions = rows * (size_t)s, dp = (size_t)session->context->dp->size;
        scorer->values[which] = calloc(positions, sizeof(float));
        scorer->all_values[which] = calloc(dp * positions, sizeof(float));
        has_room = has_room && scorer->values[which] && scorer->all_values[which];
    }
    if (!has_room) {
        tri_scorer_destroy(&scorer);
        return tri_error_set(session->err, TRI_NOMEM, "out of memory for the scorer");
    }
    *result = scorer;
    return TRI_OK;
}

void tri_scorer_destroy(tri_scorer **result)
{
    tri_scorer *scorer = *result;
    if (!scorer)
        return;
    free(scorer->starts);
    free(scorer->block);
    free(scorer->ids);
    for (int which = 0; which < NUM_VALUES; which++) {
        free(scorer->values[which]);
        free(scorer->all_values[which]);
    }
    free(scorer);
    *result = NULL;
}
