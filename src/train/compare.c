/* SPDX-License-Identifier: Apache-2.0 */
/* Running a case and holding its outputs, losses and training curve against it. */
#include "train/compare_inner.h"

#include "train/evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- holding against the case ---- */

void tri_comparison_check(struct tri_comparison *comparison, const char *what, double difference,
                          double limit)
{
    bool ok = difference <= limit;
    if (!tri_comparison_reports(comparison))
        return;
    comparison->num_compared++;
    comparison->num_outside += !ok;
    fprintf(comparison->request->out, "%-60s %.3e  bound %.0e%s\n", what, difference, limit,
            ok ? "" : "  OUTSIDE");
    comparison->request->failed = comparison->request->failed || !ok;
}

tri_status tri_comparison_expected(struct tri_comparison *comparison, const char *name,
                                   int64_t count, float **values)
{
    const struct tri_safetensors *file = &comparison->reference->expected;
    const struct tri_safetensors_tensor *tensor = tri_safetensors_find(file, name);
    TRI_CHECK(tensor && tensor->elements == count, comparison->session->err, TRI_INVALID,
              "'%s' has no tensor '%s' of %lld elements", file->path, name, (long long)count);
    comparison->seen[tensor - file->tensors] = true;
    return tri_case_expected(comparison->reference, tensor, comparison->session->err, values);
}

struct tri_differences tri_differences_of(const float *values, const float *expected, int64_t count)
{
    struct tri_differences d = {0};
    for (int64_t i = 0; i < count; i++) {
        double size = fabs((double)expected[i]);
        double difference = fabs((double)values[i] - (double)expected[i]);
        d.largest = size > d.largest ? size : d.largest;
        d.worst = difference <= d.worst || isnan(d.worst) ? d.worst : difference; /* NaN stays */
        d.l2 += difference * difference;
        d.expected_l2 += size * size;
    }
    d.l2 = sqrt(d.l2);
    d.expected_l2 = sqrt(d.expected_l2);
    return d;
}

tri_status tri_comparison_norm(struct tri_comparison *comparison, struct tri_exact_sum *sum,
                               double *norm)
{
    int64_t words[TRI_EXACT_SUM_WORDS];
    tri_exact_sum_normalise(sum);
    memcpy(words, sum->limb, sizeof sum->limb);
    words[TRI_EXACT_SUM_LIMBS] = sum->num_non_finite;
    TRI_TRY(tri_group_all_reduce(comparison->session->context->all, words, TRI_EXACT_SUM_WORDS,
                                 TRI_DTYPE_I64, TRI_REDUCE_SUM));
    memcpy(sum->limb, words, sizeof sum->limb);
    sum->num_non_finite = words[TRI_EXACT_SUM_LIMBS];
    *norm = sqrt(tri_exact_sum_value(sum));
    return TRI_OK;
}

/* ---- the case's batches as a source ---- */

static tri_status source_begin(void *arg, int64_t consumed)
{
    (void)arg;
    (void)consumed;
    return TRI_OK;
}

/* Rows of microbatch index on this rank. */
static int64_t first_row(const struct tri_comparison *comparison, int index)
{
    const struct tri_session *session = comparison->session;
    int64_t rows = session->config.train.micro_batch_size;
    return (index * session->context->dp->size + session->context->dp->rank) * rows;
}

tri_status tri_comparison_microbatch(void *arg, int index, struct tri_microbatch *microbatch)
{
    struct tri_comparison *comparison = arg;
    const struct tri_case *reference = comparison->reference;
    const struct tri_case_batch *batch = &reference->batch[comparison->batch];
    int64_t row = first_row(comparison, index), s = reference->length;
    *microbatch = (struct tri_microbatch){
        .rows = comparison->session->config.train.micro_batch_size,
        .length = s,
        .tokens = batch->tokens + row * s,
        .labels = batch->labels + row * s,
        .positions = reference->positions + row * s,
        .sample_ids = comparison->sample_ids + row,
    };
    for (int64_t i = 0; i < microbatch->rows * s; i++)
        microbatch->num_valid += microbatch->labels[i] >= 0;
    return TRI_OK;
}

static tri_status want_outputs(void *arg, int index, const struct tri_slice *slice,
                               struct tri_slot *slot)
{
    struct tri_comparison *comparison = arg;
    if (!slice->plan->has_head)
        return TRI_OK;
    int64_t row = first_row(comparison, index) * comparison->reference->length;
    slot->token_loss = comparison->token_loss + row;
    slot->logits = comparison->logits + row * comparison->reference->vocab_size;
    slot->all_logits = true;
    return TRI_OK;
}

/* Copies the output of every layer of slice to its place in the whole batch's. */
static tri_status keep_hidden(void *arg, int index, const struct tri_slice *slice,
                              struct tri_slot *slot)
{
    struct tri_comparison *comparison = arg;
    const struct tri_case *reference = comparison->reference;
    const struct tri_context *context = comparison->session->context;
    const struct tri_placement *placement = comparison->session->placement;
    int64_t h = placement->spec->shape.transformer.hidden_size, rows = slot->microbatch->rows;
    int64_t positions = reference->length / placement->split.sp;
    bool is_cut = placement->split.sp > 1;
    if (!is_cut && context->tp->rank != 0)
        return TRI_OK; /* the same as on the first */
    int64_t first = is_cut ? context->tp->rank * positions : 0;
    for (int u = 0; u < slice->num_units - slice->plan->has_head; u++) {
        int64_t layer = slice->plan->first_unit + u - 1; /* unit 0 is the embedding */
        const float *from = tri_row_address(&slice->hidden[u], slot);
        for (int64_t t = 0; layer >= 0 && t < positions; t++) {
            int64_t at = (layer * reference->length + first + t) * reference->rows;
            memcpy(comparison->hidden + (at + first_row(comparison, index)) * h,
                   from + t * rows * h, (size_t)(rows * h) * sizeof(float));
        }
    }
    return TRI_OK;
}

static struct tri_batch_source source_of(struct tri_comparison *comparison, bool outputs)
{
    return (struct tri_batch_source){
        .begin_step = source_begin,
        .microbatch = tri_comparison_microbatch,
        .before = outputs ? want_outputs : NULL,
        .after = outputs && comparison->hidden ? keep_hidden : NULL,
        .arg = comparison,
    };
}

/* ---- forward ---- */

/* Sums an array of which every element comes from one rank. */
static tri_status collect(struct tri_comparison *comparison, float *values, int64_t count)
{
    return tri_group_all_reduce(comparison->session->context->all, values, count, TRI_DTYPE_F32,
                                TRI_REDUCE_SUM);
}

/* The same when every tp rank has it. */
static tri_status collect_first(struct tri_comparison *comparison, float *values, int64_t count)
{
    if (comparison->session->context->tp->rank != 0)
        memset(values, 0, (size_t)count * sizeof *values);
    return collect(comparison, values, count);
}

static tri_status check_tensor(struct tri_comparison *comparison, const char *name,
                               const float *values, int64_t count, double limit, bool relative)
{
    float *expected;
    if (!tri_comparison_reports(comparison))
        return TRI_OK;
    TRI_TRY(tri_comparison_expected(comparison, name, count, &expected));
    struct tri_differences d = tri_differences_of(values, expected, count);
    free(expected);
    tri_comparison_check(comparison, name, relative ? d.worst / d.largest : d.worst, limit);
    return TRI_OK;
}

static tri_status compare_hidden(struct tri_comparison *comparison)
{
    const struct tri_case_form *form = comparison->reference->form;
    const struct tri_transformer_config *shape =
        &comparison->session->placement->spec->shape.transformer;
    int64_t size = comparison->reference->rows * comparison->reference->length * shape->hidden_size;
    TRI_TRY(collect(comparison, comparison->hidden, shape->num_layers * size));
    for (int64_t layer = 0; layer < shape->num_layers; layer++) {
        char name[64];
        snprintf(name, sizeof name, "%s%lld", form->hidden, (long long)layer);
        TRI_TRY(check_tensor(comparison, name, comparison->hidden + layer * size, size,
                             form->bounds.hidden, true));
    }
    return TRI_OK;
}

static tri_status compare_outputs(struct tri_comparison *comparison)
{
    const struct tri_case *reference = comparison->reference;
    const struct tri_case_form *form = reference->form;
    struct tri_batch_source source = source_of(comparison, true);
    struct tri_evaluation evaluation;
    int64_t tokens = reference->rows * reference->length, logits = tokens * reference->vocab_size;
    comparison->batch = form->outputs_batch;
    TRI_TRY(tri_evaluate(comparison->session, &source, 1, &evaluation));
    TRI_TRY(collect_first(comparison, comparison->logits, logits));
    TRI_TRY(collect_first(comparison, comparison->token_loss, tokens));
    TRI_TRY(
        check_tensor(comparison, "logits", comparison->logits, logits, form->bounds.logits, false));
    TRI_TRY(check_tensor(comparison, form->token_loss, comparison->token_loss, tokens,
                         form->bounds.token_loss, false));
    return form->hidden ? compare_hidden(comparison) : TRI_OK;
}

static tri_status compare_loss(struct tri_comparison *comparison)
{
    const struct tri_case *reference = comparison->reference;
    struct tri_batch_source source = source_of(comparison, false);
    struct tri_evaluation evaluation;
    comparison->batch = 0;
    TRI_TRY(tri_evaluate(comparison->session, &source, 1, &evaluation));
    tri_comparison_check(comparison, "mean loss",
                         fabs(tri_evaluation_loss(&evaluation) - reference->mean_loss),
                         reference->form->bounds.mean_loss);
    return TRI_OK;
}

/* ---- training curve ---- */

static tri_status param_norm(struct tri_comparison *comparison, double *norm)
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
    return tri_comparison_norm(comparison, &sum, norm);
}

static tri_status compare_steps(struct tri_comparison *comparison)
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
        snprintf(name, sizeof name, "step %d: loss %.8f", i + 1, result.loss);
        tri_comparison_check(comparison, name, fabs(result.loss - step->loss),
                             reference->form->bounds.step_loss);
        snprintf(name, sizeof name, "step %d: gradient norm %.8f", i + 1, result.grad_norm);
        tri_comparison_check(comparison, name, fabs(result.grad_norm / step->grad_norm - 1.0),
                             reference->form->bounds.step_norm);
    }
    return TRI_OK;
}

static tri_status compare_after(struct tri_comparison *comparison)
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
        tri_comparison_check(comparison, name,
                             fabs(tri_evaluation_loss(&evaluation) - reference->after_loss[i]),
                             reference->form->bounds.step_loss);
    }
    TRI_TRY(param_norm(comparison, &norm));
    tri_comparison_check(comparison, "parameter norm after training",
                         fabs(norm / reference->after_param_norm - 1.0),
                         reference->form->bounds.param_norm);
    return TRI_OK;
}

/* ---- the whole ---- */

/* The case's vocabulary is that of the model; what is wanted of the outputs has room. */
static tri_status make_room(struct tri_comparison *comparison)
{
    const struct tri_case *reference = comparison->reference;
    const struct tri_gpt_config *shape = &comparison->session->placement->spec->shape;
    tri_error *err = comparison->session->err;
    size_t tokens = (size_t)(reference->rows * reference->length);
    size_t hidden =
        tokens * (size_t)(shape->transformer.num_layers * shape->transformer.hidden_size);
    TRI_CHECK(shape->vocab_size == reference->vocab_size, err, TRI_INVALID,
              "'%s' has logits of %lld tokens, but vocab_size is %lld", reference->expected.path,
              (long long)reference->vocab_size, (long long)shape->vocab_size);
    comparison->sample_ids = calloc((size_t)reference->rows, sizeof(int64_t));
    comparison->logits = calloc(tokens * (size_t)reference->vocab_size, sizeof(float));
    comparison->token_loss = calloc(tokens, sizeof(float));
    comparison->seen = calloc((size_t)reference->expected.num_tensors, sizeof(bool));
    if (reference->form->hidden)
        comparison->hidden = calloc(hidden, sizeof(float));
    TRI_CHECK(comparison->sample_ids && comparison->logits && comparison->token_loss &&
                  comparison->seen && (comparison->hidden || !reference->form->hidden),
              err, TRI_NOMEM, "out of memory for the case's outputs");
    for (int64_t i = 0; i < reference->rows; i++)
        comparison->sample_ids[i] = i;
    return TRI_OK;
}

/* Everything the case expects has been compared, apart from its inputs. */
static tri_status check_all_seen(struct tri_comparison *comparison)
{
    const struct tri_case *reference = comparison->reference;
    if (!tri_comparison_reports(comparison))
        return TRI_OK;
    for (const char *const *name = reference->form->inputs; *name; name++) {
        const struct tri_safetensors_tensor *input =
            tri_safetensors_find(&reference->expected, *name);
        if (input)
            comparison->seen[input - reference->expected.tensors] = true;
    }
    for (int i = 0; i < reference->expected.num_tensors; i++)
        TRI_CHECK(comparison->seen[i], comparison->session->err, TRI_INVALID,
                  "'%s' holds '%s', with which nothing of this model can be compared",
                  reference->expected.path, reference->expected.tensors[i].name);
    fprintf(comparison->request->out, "%d quantities of %s compared, %d outside their bounds\n",
            comparison->num_compared, reference->form->program, comparison->num_outside);
    return TRI_OK;
}

static tri_status run_comparison(struct tri_comparison *comparison)
{
    const struct tri_case *reference = comparison->reference;
    TRI_TRY(make_room(comparison));
    TRI_TRY(
        tri_session_state_create(comparison->session, reference->form->names, &comparison->state));
    TRI_TRY(tri_session_state_load_weights(comparison->state, reference->model_dir,
                                           reference->form->weights));
    TRI_TRY(compare_outputs(comparison));
    TRI_TRY(compare_loss(comparison));
    TRI_TRY(tri_comparison_gradients(comparison));
    if (reference->num_steps > 0) {
        TRI_TRY(compare_steps(comparison));
        TRI_TRY(compare_after(comparison));
    }
    return check_all_seen(comparison);
}

tri_status tri_compare(void *arg, tri_world *world)
{
    struct tri_compare_request *request = arg;
    struct tri_comparison comparison = {.request = request, .reference = request->reference};
    struct tri_session_request session = {.config = request->config, .world = world};
    tri_status status = tri_session_create(&session, &comparison.session);
    if (status == TRI_OK)
        status = run_comparison(&comparison);
    free(comparison.sample_ids);
    free(comparison.logits);
    free(comparison.token_loss);
    free(comparison.hidden);
    free(comparison.seen);
    tri_session_state_destroy(&comparison.state);
    tri_session_destroy(&comparison.session);
    return status;
}
