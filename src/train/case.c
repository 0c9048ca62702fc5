/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a case directory. */
#include "train/case.h"

#include "base/json.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tri_status read_bytes(const struct tri_safetensors *file, int64_t begin, int64_t bytes,
                             void *into, tri_error *err)
{
    for (int64_t done = 0; done < bytes;) {
        ssize_t got = pread(file->fd, (char *)into + done, (size_t)(bytes - done), begin + done);
        if (got <= 0)
            return tri_error_set(err, TRI_IO, "cannot read '%s': %s", file->path,
                                 got == 0 ? "the file ends early" : strerror(errno));
        done += got;
    }
    return TRI_OK;
}

static tri_status read_tokens(struct tri_case *result, const struct tri_safetensors *file,
                              const char *name, tri_error *err, int32_t **values)
{
    const struct tri_safetensors_tensor *tensor = tri_safetensors_find(file, name);
    TRI_CHECK(tensor, err, TRI_INVALID, "'%s' has no tensor '%s'", file->path, name);
    TRI_CHECK(strcmp(tensor->dtype->name, "I64") == 0 && tensor->num_dims == 2, err, TRI_INVALID,
              "'%s': '%s' is no two-dimensional I64 tensor", file->path, name);
    if (!result->rows) {
        result->rows = tensor->dims[0];
        result->length = tensor->dims[1];
    }
    TRI_CHECK(tensor->dims[0] == result->rows && tensor->dims[1] == result->length, err,
              TRI_INVALID, "'%s': '%s' is [%lld, %lld], the first batch [%lld, %lld]", file->path,
              name, (long long)tensor->dims[0], (long long)tensor->dims[1], (long long)result->rows,
              (long long)result->length);
    int64_t n = tensor->elements;
    int64_t *wide = tri_arena_alloc(result->arena, (size_t)n * sizeof *wide);
    *values = tri_arena_alloc(result->arena, (size_t)n * sizeof **values);
    TRI_CHECK(wide && *values, err, TRI_NOMEM, "out of memory for '%s'", name);
    TRI_TRY(read_bytes(file, tensor->begin, n * (int64_t)sizeof *wide, wide, err));
    for (int64_t i = 0; i < n; i++)
        (*values)[i] = (int32_t)wide[i];
    return TRI_OK;
}

static tri_status read_inputs(struct tri_case *result, tri_error *err)
{
    static const char *const names[TRI_CASE_BATCHES][2] = {{"input_ids", "labels"},
                                                           {"input_ids_2", "labels_2"}};
    struct tri_safetensors file;
    const char *path = tri_arena_format(result->arena, "%s/input.safetensors", result->dir);
    TRI_TRY(tri_safetensors_open(path, result->arena, err, &file));
    tri_status status = TRI_OK;
    for (int i = 0; i < TRI_CASE_BATCHES && status == TRI_OK; i++) {
        struct tri_case_batch *batch = &result->batch[i];
        if (i > 0 && !tri_safetensors_find(&file, names[i][0]))
            break;
        status = read_tokens(result, &file, names[i][0], err, &batch->tokens);
        if (status == TRI_OK)
            status = read_tokens(result, &file, names[i][1], err, &batch->labels);
        for (int64_t k = 0; status == TRI_OK && k < result->rows * result->length; k++)
            batch->num_valid += batch->labels[k] >= 0;
    }
    tri_safetensors_close(&file);
    return status;
}

/* The double under key, NaN when there is none. */
static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static double number_of(const json_t *object, const char *exact, const char *rounded)
{
    double value = number(object, exact);
    return isnan(value) ? number(object, rounded) : value;
}

static tri_status read_training(struct tri_case *result, const json_t *training, const char *path,
                                tri_error *err)
{
    const json_t *steps = json_object_get(training, "steps"),
                 *after = json_object_get(training, "after");
    const json_t *betas = json_object_get(training, "betas");
    result->num_steps = (int)json_array_size(steps);
    TRI_CHECK(result->num_steps <= TRI_CASE_MAX_STEPS, err, TRI_INVALID,
              "'%s' has %d training steps, at most %d are read", path, result->num_steps,
              TRI_CASE_MAX_STEPS);
    for (int i = 0; i < result->num_steps; i++) {
        const json_t *step = json_array_get(steps, (size_t)i);
        result->steps[i] = (struct tri_case_step){
            .batch = number(step, "batch") == 2.0,
            .loss = number_of(step, "loss_f64", "loss_f32"),
            .grad_norm = number_of(step, "grad_norm_f64", "grad_norm_f32"),
            .lr = number(step, "lr"),
        };
    }
    struct tri_optim_config *optim = &result->optim;
    tri_option_set_defaults(&tri_optim_options, optim);
    optim->lr = number(training, "lr_peak");
    optim->min_lr = number(training, "lr_min");
    optim->lr_warmup_init = number(training, "lr_init");
    optim->lr_warmup_iters = (int64_t)number(training, "lr_warmup_steps");
    optim->lr_decay_iters = (int64_t)number(training, "lr_decay_steps");
    optim->lr_decay_style = TRI_LR_COSINE;
    optim->weight_decay = number(training, "weight_decay");
    optim->clip_grad = number(training, "clip_grad");
    optim->adam_beta1 = json_number_value(json_array_get(betas, 0));
    optim->adam_beta2 = json_number_value(json_array_get(betas, 1));
    optim->adam_eps = number(training, "eps");
    result->after_loss[0] = number_of(after, "loss_1_f64", "loss_1_f32");
    result->after_loss[1] = number_of(after, "loss_2_f64", "loss_2_f32");
    result->after_param_norm = number_of(after, "param_norm_f64", "param_norm_f32");
    return TRI_OK;
}

static tri_status read_numbers(struct tri_case *result, tri_error *err)
{
    const char *path = tri_arena_format(result->arena, "%s/case.json", result->dir);
    json_t *root = NULL;
    TRI_TRY(tri_json_read_file(path, 16u << 20, err, &root));
    result->mean_loss = number_of(root, "mean_loss_f64", "mean_loss");
    result->grad_norm = number_of(root, "grad_norm_f64", "grad_norm");
    result->vocab_size = (int64_t)number(root, "vocab_size");
    const json_t *training = json_object_get(root, "training");
    tri_status status = training ? read_training(result, training, path, err) : TRI_OK;
    json_decref(root);
    return status;
}

tri_status tri_case_read(const char *dir, tri_error *err, struct tri_case *result)
{
    *result = (struct tri_case){.arena = tri_arena_create(), .expected = {.fd = -1}};
    TRI_CHECK(result->arena, err, TRI_NOMEM, "out of memory for the case");
    result->dir = tri_arena_format(result->arena, "%s", dir);
    result->model_dir = tri_arena_format(result->arena, "%s/model", dir);
    const char *expected = tri_arena_format(result->arena, "%s/expected.safetensors", dir);
    tri_status status = read_numbers(result, err);
    if (status == TRI_OK)
        status = read_inputs(result, err);
    if (status == TRI_OK)
        status = tri_safetensors_open(expected, result->arena, err, &result->expected);
    if (status != TRI_OK)
        tri_case_fini(result);
    return status;
}

void tri_case_fini(struct tri_case *result)
{
    if (result->expected.fd >= 0)
        tri_safetensors_close(&result->expected);
    tri_arena_destroy(&result->arena);
}

tri_status tri_case_expected(const struct tri_case *result,
                             const struct tri_safetensors_tensor *tensor, tri_error *err,
                             float **values)
{
    TRI_CHECK(strcmp(tensor->dtype->name, "F32") == 0, err, TRI_INVALID,
              "'%s': '%s' is %s; only F32 is read", result->expected.path, tensor->name,
              tensor->dtype->name);
    float *made = malloc((size_t)tensor->elements * sizeof *made + 1);
    TRI_CHECK(made, err, TRI_NOMEM, "out of memory for '%s'", tensor->name);
    tri_status status = read_bytes(&result->expected, tensor->begin,
                                   tensor->elements * (int64_t)sizeof *made, made, err);
    if (status != TRI_OK) {
        free(made);
        return status;
    }
    *values = made;
    return TRI_OK;
}
