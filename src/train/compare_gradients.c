/* SPDX-License-Identifier: Apache-2.0 */
/* The gradients of a case: made, written under the names of the case's weights, and read back to be compared. */
#include "train/compare_inner.h"

#include "checkpoint/source.h"
#include "optim/optimizer.h"

#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <stdlib.h>

/* Runs forward and backward of batch 1 and leaves the gradient of the mean loss in the gradient
   buffers. */
static tri_status make_gradients(struct tri_comparison *comparison)
{
    struct tri_session *session = comparison->session;
    struct tri_context *context = session->context;
    struct tri_execution execution = {.training = true,
                                      .seed = session->seed,
                                      .microbatch = tri_comparison_microbatch,
                                      .arg = comparison};
    double loss[2];
    comparison->batch = 0;
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

static tri_status compare_gradient(struct tri_comparison *comparison,
                                   const struct tri_safetensors *file,
                                   const struct tri_safetensors_tensor *tensor)
{
    const struct tri_case_form *form = comparison->reference->form;
    float *expected = NULL, *values = NULL;
    struct tri_case own = {.expected = *file};
    char name[256];
    snprintf(name, sizeof name, "%s%s", form->gradient, tensor->name);
    tri_status status = tri_comparison_expected(comparison, name, tensor->elements, &expected);
    if (status == TRI_OK)
        status = tri_case_expected(&own, tensor, comparison->session->err, &values);
    if (status == TRI_OK) {
        struct tri_differences d = tri_differences_of(values, expected, tensor->elements);
        double difference = form->gradient_by_largest ? d.worst : d.l2;
        double size = form->gradient_by_largest ? d.largest : d.expected_l2;
        snprintf(name, sizeof name, "gradient %s", tensor->name);
        /* A gradient that is zero in exact arithmetic holds rounding noise only. */
        tri_comparison_check(comparison, name, size > 1e-12 ? difference / size : difference,
                             form->bounds.gradient);
    }
    free(expected);
    free(values);
    return status;
}

static tri_status compare_gradient_files(struct tri_comparison *comparison)
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
static tri_status make_scratch(struct tri_comparison *comparison)
{
    tri_group *all = comparison->session->context->all;
    tri_status status = TRI_OK;
    snprintf(comparison->scratch, sizeof comparison->scratch, "/tmp/trine-compare-XXXXXX");
    if (tri_comparison_reports(comparison) && !mkdtemp(comparison->scratch))
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

/* The norm of all gradients as they lie in the buffers. */
static tri_status compare_norm(struct tri_comparison *comparison)
{
    const struct tri_case *reference = comparison->reference;
    struct tri_exact_sum sum;
    double norm;
    tri_exact_sum_init(&sum);
    tri_optimizer_sum_squares(comparison->session->model, 1.0, &sum);
    TRI_TRY(tri_comparison_norm(comparison, &sum, &norm));
    tri_comparison_check(comparison, "gradient norm", fabs(norm / reference->grad_norm - 1.0),
                         reference->form->bounds.grad_norm);
    return TRI_OK;
}

tri_status tri_comparison_gradients(struct tri_comparison *comparison)
{
    tri_group *all = comparison->session->context->all;
    TRI_TRY(make_gradients(comparison));
    TRI_TRY(compare_norm(comparison));
    TRI_TRY(make_scratch(comparison));
    tri_status status = tri_session_state_write_grads(comparison->state, comparison->scratch);
    if (status == TRI_OK && tri_comparison_reports(comparison))
        status = compare_gradient_files(comparison);
    if (tri_comparison_reports(comparison))
        nftw(comparison->scratch, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    return tri_group_agree(all, status);
}
