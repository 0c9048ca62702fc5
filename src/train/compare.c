/* SPDX-License-Identifier: Apache-2.0 */
/* Running a case and holding the results against it. */
#include "train/compare.h"

#include "base/exact_sum.h"
#include "checkpoint/source.h"
#include "optim/optimizer.h"
#include "train/evaluate.h"
#include "train/resume.h"

#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Bounds with room for another order of summation in fp32: five to fifty times what float32 and
   float64 of the same framework differ by. */
static const struct {
    double logits, token_loss, mean_loss; /* absolute */
    double gradient;                      /* relative L2 per tensor */
    double grad_norm;                     /* relative */
    double step_loss, step_norm;          /* absolute, relative */
    double param_norm;                    /* relative */
} bound = {5e-5, 5e-5, 1e-5, 5e-5, 1e-5, 5e-5, 1e-4, 1e-5};

/* One rank's comparison. */
struct comparison {
    struct tri_compare_request *request;
    const struct tri_case *reference;
    struct tri_session *session;
    tri_session_state *state;
    int batch;                  /* which the source gives */
    int32_t *positions;         /* [b, s] */
    int64_t *sample_ids;        /* [b] */
    float *logits, *token_loss; /* whole, [b, s, V] and [b, s]; zero where this rank has none */
    char scratch[64];           /* folder for the gradients' files, made by rank 0 */
};

static bool reports(const struct comparison *comparison)
{
    return comparison->session->world->rank == 0;
}

static void check(struct comparison *comparison, const char *what, double difference, double limit)
{
    bool ok = difference <= limit;
    if (!reports(comparison))
        return;
    fprintf(comparison->request->out, "%-60s %.3e  bound %.0e%s\n", what, difference, limit,
            ok ? "" : "  OUTSIDE");
    comparison->request->failed = comparison->request->failed || !ok;
}

/* ---- the case's batches as a source ---- */

static tri_status source_begin(void *arg, int64_t consumed)
{
    (void)arg;
    (void)consumed;
    return TRI_OK;
}

/* Rows of microbatch index on this rank. */
static int64_t first_row(const struct comparison *comparison, int index)
{
    const struct tri_session *session = comparison->session;
    int64_t rows = session->config.train.micro_batch_size;
    return (index * session->context->dp->size + session->context->dp->rank) * rows;
}

static tri_status source_microbatch(void *arg, int index, struct tri_microbatch *microbatch)
{
    struct comparison *comparison = arg;
    const struct tri_case *reference = comparison->reference;
    const struct tri_case_batch *batch = &reference->batch[comparison->batch];
    int64_t row = first_row(comparison, index), s = reference->length;
    *microbatch = (struct tri_microbatch){
        .rows = comparison->session->config.train.micro_batch_size,
        .length = s,
        .tokens = batch->tokens + row * s,
        .labels = batch->labels + row * s,
        .positions = comparison->positions + row * s,
        .sample_ids = comparison->sample_ids + row,
    };
    for (int64_t i = 0; i < microbatch->rows * s; i++)
        microbatch->num_valid += microbatch->labels[i] >= 0;
    return TRI_OK;
}

static tri_status want_outputs(void *arg, int index, const struct tri_slice *slice,
                               struct tri_slot *slot)
{
    struct comparison *comparison = arg;
    if (!slice->plan->has_head)
        return TRI_OK;
    int64_t row = first_row(comparison, index) * comparison->reference->length;
    slot->token_loss = comparison->token_loss + row;
    slot->logits = comparison->logits + row * comparison->reference->vocab_size;
    slot->all_logits = true;
    return TRI_OK;
}

static struct tri_batch_source source_of(struct comparison *comparison, bool outputs)
{
    return (struct tri_batch_source){
        .begin_step = source_begin,
        .microbatch = source_microbatch,
        .before = outputs ? want_outputs : NULL,
        .arg = comparison,
    };
}

/* ---- forward ---- */

/* Sums an array to which one rank of each dp rank gives its rows. */
static tri_status collect(struct comparison *comparison, float *values, int64_t count)
{
    const struct tri_context *context = comparison->session->context;
    if (context->tp->rank != 0)
        memset(values, 0, (size_t)count * sizeof *values);
    return tri_group_all_reduce(context->all, values, count, TRI_DTYPE_F32, TRI_REDUCE_SUM);
}

static tri_status check_tensor(struct comparison *comparison, const char *name, const float *values,
                               double limit)
{
    const struct tri_case *reference = comparison->reference;
    const struct tri_safetensors_tensor *tensor = tri_safetensors_find(&reference->expected, name);
    if (!tensor || !reports(comparison))
        return TRI_OK;
    float *expected;
    double worst = 0;
    TRI_TRY(tri_case_expected(reference, tensor, comparison->session->err, &expected));
    for (int64_t i = 0; i < tensor->elements; i++) {
        double difference = fabs((double)values[i] - (double)expected[i]);
        worst = difference <= worst ? worst : difference;
    }
    free(expected);
    check(comparison, name, worst, limit);
    return TRI_OK;
}

static tri_status compare_forward(struct comparison *comparison)
{
    const struct tri_case *reference = comparison->reference;
    struct tri_batch_source source = source_of(comparison, true);
    struct tri_evaluation evaluation;
    int64_t tokens = reference->rows * reference->length;
    TRI_TRY(tri_evaluate(comparison->session, &source, 1, &evaluation));
    TRI_TRY(collect(comparison, comparison->logits, tokens * reference->vocab_size));
    TRI_TRY(collect(comparison, comparison->token_loss, tokens));
    TRI_TRY(check_tensor(comparison, "logits", comparison->logits, bound.logits));
    TRI_TRY(check_tensor(comparison, "token_loss", comparison->token_loss, bound.token_loss));
    check(comparison, "mean loss", fabs(tri_evaluation_loss(&evaluation) - reference->mean_loss),
          bound.mean_loss);
    return TRI_OK;
}

/* ---- gradients ---- */

/* Runs forward and backward of batch 1 and leaves the gradient of the mean loss in the gradient
   buffers. */
static tri_status make_gradients(struct comparison *comparison)
{
    struct tri_session *session = comparison->session;
    struct tri_context *context = session->context;
    struct tri_execution execution = {.training = true,
                                      .seed = session->seed,
                                      .microbatch = source_microbatch,
                                      .arg = comparison};
    double loss[2];
    tri_model_begin_step(session->model);
    TRI_TRY(tri_executor_run(session->train_executor, &execution));
    TRI_TRY(tri_model_finish_grads(session->model));
    TRI_TRY(tri_step_total_loss(session, &execution.loss[TRI_LOSS_LM], loss));
    for (int i = 0; i < session->model->num_shards; i++) {
        struct tri_tensor grad = session->model->shards[i].grad;
        context->update->scale(&context->queue, grad, grad,
                               (float)(1.0 / (loss[1] * session->seed)));
    }
    return TRI_OK;
}

static tri_status compare_gradient(struct comparison *comparison,
                                   const struct tri_safetensors *file,
                                   const struct tri_safetensors_tensor *tensor)
{
    const struct tri_case *reference = comparison->reference;
    const struct tri_safetensors_tensor *expected =
        tri_safetensors_find(&reference->expected, tensor->name);
    tri_error *err = comparison->session->err;
    TRI_CHECK(expected && expected->elements == tensor->elements, err, TRI_INVALID,
              "'%s' has no gradient '%s' of %lld elements", reference->expected.path, tensor->name,
              (long long)tensor->elements);
    float *theirs = NULL, *ours = NULL;
    struct tri_case own = {.expected = *file};
    tri_status status = tri_case_expected(reference, expected, err, &theirs);
    if (status == TRI_OK)
        status = tri_case_expected(&own, tensor, err, &ours);
    double square = 0, difference = 0;
    for (int64_t i = 0; status == TRI_OK && i < tensor->elements; i++) {
        double d = (double)ours[i] - (double)theirs[i];
        square += (double)theirs[i] * (double)theirs[i];
        difference += d * d;
    }
    free(theirs);
    free(ours);
    /* A gradient that is zero in exact arithmetic holds rounding noise only. */
    double relative = square > 1e-24 ? sqrt(difference / square) : sqrt(difference);
    char name[256];
    snprintf(name, sizeof name, "gradient %s", tensor->name);
    if (status == TRI_OK)
        check(comparison, name, relative, bound.gradient);
    return status;
}

static tri_status compare_gradient_files(struct comparison *comparison)
{
    tri_arena *arena = comparison->reference->arena;
    tri_error *err = comparison->session->err;
    const char *dir;
    struct tri_source source;
    TRI_TRY(tri_checkpoint_find_latest(comparison->scratch, arena, err, &dir));
    tri_status status = tri_source_open_hf(dir, arena, err, &source);
    for (int f = 0; status == TRI_OK && f < source.num_files; f++)
        for (int i = 0; status == TRI_OK && i < source.files[f].num_tensors; i++)
            status = compare_gradient(comparison, &source.files[f], &source.files[f].tensors[i]);
    tri_source_close(&source);
    return status;
}

/* Rank 0 makes a folder and tells the others. */
static tri_status make_scratch(struct comparison *comparison)
{
    tri_group *all = comparison->session->context->all;
    tri_status status = TRI_OK;
    snprintf(comparison->scratch, sizeof comparison->scratch, "/tmp/trine-compare-XXXXXX");
    if (reports(comparison) && !mkdtemp(comparison->scratch))
        status = tri_error_set(comparison->session->err, TRI_IO,
                               "cannot make a folder in '/tmp': %s", strerror(errno));
    TRI_TRY(tri_group_agree(all, status));
    return tri_group_broadcast(all, comparison->scratch, sizeof comparison->scratch, TRI_DTYPE_U8,
                               0);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

static tri_status compare_gradients(struct comparison *comparison)
{
    tri_group *all = comparison->session->context->all;
    TRI_TRY(make_gradients(comparison));
    TRI_TRY(make_scratch(comparison));
    tri_status status = tri_session_state_write_grads(comparison->state, comparison->scratch);
    if (status == TRI_OK && reports(comparison))
        status = compare_gradient_files(comparison);
    if (reports(comparison))
        nftw(comparison->scratch, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    return tri_group_agree(all, status);
}

/* ---- training curve ---- */

static tri_status param_norm(struct comparison *comparison, double *norm)
{
    struct tri_session *session = comparison->session;
    struct tri_context *context = session->context;
    void *workspace = tri_context_row_named(context, "optimizer", "workspace");
    struct tri_exact_sum sum;
    tri_exact_sum_init(&sum);
    for (int i = 0; i < session->model->num_shards; i++) {
        const struct tri_shard *shard = &session->model->shards[i];
        struct tri_tensor counted = tri_tensor_slice(&shard->value, 0, 0, shard->counted);
        if (shard->counted > 0)
            context->update->sum_squares(&context->queue, &sum, counted, 1.0, workspace);
    }
    tri_exact_sum_normalise(&sum);
    TRI_TRY(tri_group_all_reduce(context->all, sum.limb, TRI_EXACT_SUM_LIMBS, TRI_DTYPE_I64,
                                 TRI_REDUCE_SUM));
    *norm = sqrt(tri_exact_sum_value(&sum));
    return TRI_OK;
}

static tri_status compare_steps(struct comparison *comparison)
{
    struct tri_session *session = comparison->session;
    const struct tri_case *reference = comparison->reference;
    struct tri_batch_source source = source_of(comparison, false);
    struct tri_progress progress = {0};
    struct tri_lr_schedule schedule;
    TRI_TRY(tri_lr_schedule_plan(&session->config.optim, reference->num_steps,
                                 session->config.train.global_batch_size, session->err, &schedule));
    for (int i = 0; i < reference->num_steps; i++) {
        const struct tri_case_step *step = &reference->steps[i];
        struct tri_step_result result = {0};
        char name[64];
        comparison->batch = step->batch;
        TRI_TRY(tri_step_run(session, &source, &schedule, false, &progress, &result));
        if (i == 0)
            check(comparison, "gradient norm", fabs(result.grad_norm / reference->grad_norm - 1.0),
                  bound.grad_norm);
        snprintf(name, sizeof name, "step %d: loss %.8f", i + 1, result.loss);
        check(comparison, name, fabs(result.loss - step->loss), bound.step_loss);
        snprintf(name, sizeof name, "step %d: gradient norm %.8f", i + 1, result.grad_norm);
        check(comparison, name, fabs(result.grad_norm / step->grad_norm - 1.0), bound.step_norm);
    }
    return TRI_OK;
}

static tri_status compare_after(struct comparison *comparison)
{
    const struct tri_case *reference = comparison->reference;
    struct tri_batch_source source = source_of(comparison, false);
    double norm;
    for (int i = 0; i < TRI_CASE_BATCHES; i++) {
        struct tri_evaluation evaluation;
        char name[64];
        comparison->batch = i;
        TRI_TRY(tri_evaluate(comparison->session, &source, 1, &evaluation));
        snprintf(name, sizeof name, "loss of batch %d after training", i + 1);
        check(comparison, name, fabs(tri_evaluation_loss(&evaluation) - reference->after_loss[i]),
              bound.step_loss);
    }
    TRI_TRY(param_norm(comparison, &norm));
    check(comparison, "parameter norm after training",
          fabs(norm / reference->after_param_norm - 1.0), bound.param_norm);
    return TRI_OK;
}

/* ---- the whole ---- */

static tri_status make_room(struct comparison *comparison)
{
    const struct tri_case *reference = comparison->reference;
    size_t tokens = (size_t)(reference->rows * reference->length);
    comparison->positions = calloc(tokens, sizeof(int32_t));
    comparison->sample_ids = calloc((size_t)reference->rows, sizeof(int64_t));
    comparison->logits = calloc(tokens * (size_t)reference->vocab_size, sizeof(float));
    comparison->token_loss = calloc(tokens, sizeof(float));
    if (!comparison->positions || !comparison->sample_ids || !comparison->logits ||
        !comparison->token_loss)
        return tri_error_set(comparison->session->err, TRI_NOMEM,
                             "out of memory for the case's outputs");
    for (size_t i = 0; i < tokens; i++)
        comparison->positions[i] = (int32_t)(i % (size_t)reference->length);
    for (int64_t i = 0; i < reference->rows; i++)
        comparison->sample_ids[i] = i;
    return TRI_OK;
}

static tri_status run_comparison(struct comparison *comparison)
{
    TRI_TRY(make_room(comparison));
    TRI_TRY(tri_session_state_create(comparison->session, &comparison->state));
    TRI_TRY(tri_session_state_load_weights(comparison->state, comparison->reference->model_dir));
    TRI_TRY(compare_forward(comparison));
    TRI_TRY(compare_gradients(comparison));
    if (comparison->reference->num_steps == 0)
        return TRI_OK;
    TRI_TRY(compare_steps(comparison));
    return compare_after(comparison);
}

tri_status tri_compare(void *arg, tri_world *world)
{
    struct tri_compare_request *request = arg;
    struct comparison comparison = {.request = request, .reference = request->reference};
    struct tri_session_request session = {.config = request->config, .world = world};
    tri_status status = tri_session_create(&session, &comparison.session);
    if (status == TRI_OK)
        status = run_comparison(&comparison);
    free(comparison.positions);
    free(comparison.sample_ids);
    free(comparison.logits);
    free(comparison.token_loss);
    tri_session_state_destroy(&comparison.state);
    tri_session_destroy(&comparison.session);
    return status;
}
