/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a case directory. */
#include "train/case_inner.h"

#include "base/json.h"
#include "train/run_config.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

tri_status tri_case_read_bytes(const struct tri_safetensors *file, int64_t begin, int64_t bytes,
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

tri_status tri_case_read_table(const struct tri_case *result, const struct tri_safetensors *file,
                               const char *name, const char *dtype, tri_error *err, void **bytes)
{
    const struct tri_safetensors_tensor *tensor = tri_safetensors_find(file, name);
    TRI_CHECK(tensor, err, TRI_INVALID, "'%s' has no tensor '%s'", file->path, name);
    TRI_CHECK(strcmp(tensor->dtype->name, dtype) == 0 && tensor->num_dims == 2, err, TRI_INVALID,
              "'%s': '%s' is no two-dimensional %s tensor", file->path, name, dtype);
    TRI_CHECK(tensor->dims[0] == result->rows && tensor->dims[1] == result->length, err,
              TRI_INVALID, "'%s': '%s' is [%lld, %lld], the logits are [%lld, %lld, ...]",
              file->path, name, (long long)tensor->dims[0], (long long)tensor->dims[1],
              (long long)result->rows, (long long)result->length);
    int64_t size = tensor->end - tensor->begin;
    *bytes = malloc((size_t)size + 1);
    TRI_CHECK(*bytes, err, TRI_NOMEM, "out of memory for '%s'", name);
    tri_status status = tri_case_read_bytes(file, tensor->begin, size, *bytes, err);
    if (status != TRI_OK)
        free(*bytes);
    return status;
}

/* Numbers of tokens of the vocabulary; a negative one becomes -1. */
static tri_status read_ids(struct tri_case *result, const struct tri_safetensors *file,
                           const char *name, tri_error *err, int32_t **values)
{
    void *bytes;
    int64_t n = result->rows * result->length, wrong = -1;
    TRI_TRY(tri_case_read_table(result, file, name, "I64", err, &bytes));
    const int64_t *wide = bytes;
    *values = tri_arena_alloc(result->arena, (size_t)n * sizeof **values);
    for (int64_t i = 0; *values && i < n; i++) {
        (*values)[i] = wide[i] < 0 ? -1 : (int32_t)wide[i];
        if (wide[i] >= result->vocab_size && wrong < 0)
            wrong = i;
    }
    tri_status status = TRI_OK;
    if (!*values)
        status = tri_error_set(err, TRI_NOMEM, "out of memory for '%s'", name);
    else if (wrong >= 0)
        status = tri_error_set(
            err, TRI_INVALID, "'%s': '%s' holds token %lld, but the logits are those of %lld",
            file->path, name, (long long)wide[wrong], (long long)result->vocab_size);
    free(bytes);
    return status;
}

tri_status tri_case_read_batch(struct tri_case *result, const struct tri_safetensors *file,
                               const char *tokens, const char *labels, tri_error *err,
                               struct tri_case_batch *batch)
{
    int64_t n = result->rows * result->length;
    TRI_TRY(read_ids(result, file, tokens, err, &batch->tokens));
    TRI_TRY(read_ids(result, file, labels, err, &batch->labels));
    for (int64_t i = 0; i < n; i++)
        TRI_CHECK(batch->tokens[i] >= 0, err, TRI_INVALID, "'%s': '%s' holds a negative number",
                  file->path, tokens);
    return TRI_OK;
}

/* ---- cases of transformers ---- */

static tri_status read_file_batches(struct tri_case *result, const struct tri_safetensors *file,
                                    tri_error *err)
{
    TRI_TRY(tri_case_read_batch(result, file, "input_ids", "labels", err, &result->batch[0]));
    if (!tri_safetensors_find(file, "input_ids_2"))
        return TRI_OK;
    return tri_case_read_batch(result, file, "input_ids_2", "labels_2", err, &result->batch[1]);
}

static tri_status read_transformers_inputs(struct tri_case *result, tri_error *err)
{
    struct tri_safetensors file;
    const char *path = tri_arena_format(result->arena, "%s/input.safetensors", result->dir);
    TRI_TRY(tri_safetensors_open(path, result->arena, err, &file));
    tri_status status = read_file_batches(result, &file, err);
    tri_safetensors_close(&file);
    return status;
}

static const struct tri_case_form transformers = {
    .program = "transformers",
    .token_loss = "token_loss",
    .gradient = "",
    .inputs = (const char *const[]){NULL},
    .outputs_batch = 0,
    .mean_loss = "mean_loss",
    .read_inputs = read_transformers_inputs,
    /* Room for another order of summation in fp32: five to fifty times what float32 and float64 of
       the same program differ by. */
    .bounds = {.logits = 5e-5,
               .token_loss = 5e-5,
               .mean_loss = 1e-5,
               .gradient = 5e-5,
               .grad_norm = 1e-5,
               .step_loss = 5e-5,
               .step_norm = 1e-4,
               .param_norm = 1e-5},
};

/* ---- all forms ---- */

/* Batch, length and vocabulary are those of the logits. */
static tri_status read_sizes(struct tri_case *result, tri_error *err)
{
    const struct tri_safetensors *file = &result->expected;
    const struct tri_safetensors_tensor *logits = tri_safetensors_find(file, "logits");
    TRI_CHECK(logits && logits->num_dims == 3 && logits->elements > 0, err, TRI_INVALID,
              "'%s' has no tensor 'logits' [b, s, V]", file->path);
    result->rows = logits->dims[0];
    result->length = logits->dims[1];
    result->vocab_size = logits->dims[2];
    return TRI_OK;
}

static tri_status read_inputs(struct tri_case *result, tri_error *err)
{
    int64_t n = result->rows * result->length;
    result->positions = tri_arena_alloc(result->arena, (size_t)n * sizeof *result->positions);
    TRI_CHECK(result->positions, err, TRI_NOMEM, "out of memory for the positions");
    for (int64_t i = 0; i < n; i++)
        result->positions[i] = (int32_t)(i % result->length);
    TRI_TRY(result->form->read_inputs(result, err));
    for (int i = 0; i < TRI_CASE_BATCHES && result->batch[i].labels; i++)
        for (int64_t k = 0; k < n; k++)
            result->batch[i].num_valid += result->batch[i].labels[k] >= 0;
    TRI_CHECK(result->batch[0].num_valid > 0, err, TRI_INVALID,
              "'%s': no label of the batch counts", result->dir);
    return TRI_OK;
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
    result->mean_loss = number_of(root, "mean_loss_f64", result->form->mean_loss);
    result->grad_norm = number_of(root, "grad_norm_f64", "grad_norm");
    const json_t *training = json_object_get(root, "training");
    tri_status status = training ? read_training(result, training, path, err) : TRI_OK;
    json_decref(root);
    return status;
}

static tri_status read_case(struct tri_case *result, tri_error *err)
{
    TRI_TRY(read_numbers(result, err));
    const char *expected = tri_arena_format(result->arena, "%s/expected.safetensors", result->dir);
    TRI_TRY(tri_safetensors_open(expected, result->arena, err, &result->expected));
    TRI_TRY(read_sizes(result, err));
    return read_inputs(result, err);
}

tri_status tri_case_read(const char *dir, tri_error *err, struct tri_case *result)
{
    char shape[TRI_OPTION_TEXT];
    *result = (struct tri_case){.arena = tri_arena_create(), .expected = {.fd = -1}};
    TRI_CHECK(result->arena, err, TRI_NOMEM, "out of memory for the case");
    tri_case_shape_path(dir, shape, sizeof shape);
    bool megatron = tri_case_is_shape(shape);
    result->form = megatron ? &tri_case_megatron : &transformers;
    result->dir = tri_arena_format(result->arena, "%s", dir);
    result->model_dir = megatron ? result->dir : tri_arena_format(result->arena, "%s/model", dir);
    tri_status status = read_case(result, err);
    if (status != TRI_OK)
        tri_case_fini(result);
    return status;
}

void tri_case_fit(const struct tri_case *reference, struct tri_run_config *config)
{
    config->shape.seq_length = reference->length;
    config->shape.transformer.hidden_dropout = 0;
    config->shape.transformer.attention_dropout = 0;
    config->train.global_batch_size = reference->rows;
    config->train.train_iters = reference->num_steps > 0 ? reference->num_steps : 1;
    if (reference->num_steps > 0)
        config->optim = reference->optim;
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
    tri_status status = tri_case_read_bytes(&result->expected, tensor->begin,
                                            tensor->elements * (int64_t)sizeof *made, made, err);
    if (status != TRI_OK) {
        free(made);
        return status;
    }
    *values = made;
    return TRI_OK;
}
