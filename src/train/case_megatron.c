/* SPDX-License-Identifier: Apache-2.0 */
/* The form of Megatron-LM's cases: inputs and results in one file, weights under its modules' own names. */
#include "train/case_inner.h"

#include <stdlib.h>
#include <string.h>

static tri_status check_positions(const struct tri_case *result, tri_error *err)
{
    const char *file = result->expected.path;
    void *numbers;
    TRI_TRY(tri_case_read_table(result, &result->expected, "position_ids", "I64", err, &numbers));
    const int64_t *ids = numbers;
    int64_t n = result->rows * result->length, i = 0;
    while (i < n && ids[i] == result->positions[i])
        i++;
    tri_status status = TRI_OK;
    if (i < n)
        status = tri_error_set(err, TRI_UNSUPPORTED,
                               "'%s': 'position_ids' is %lld at position %lld of row %lld; only "
                               "positions counted from 0 are read",
                               file, (long long)ids[i], (long long)(i % result->length),
                               (long long)(i / result->length));
    free(numbers);
    return status;
}

/* Attention to everything before and nothing behind: 1 in the mask [b, 1, s, s] hides. */
static tri_status check_causal(const struct tri_case *result, tri_error *err)
{
    const struct tri_safetensors *file = &result->expected;
    const struct tri_safetensors_tensor *mask = tri_safetensors_find(file, "attention_mask");
    int64_t s = result->length, bytes = result->rows * s * s;
    TRI_CHECK(mask && strcmp(mask->dtype->name, "U8") == 0 && mask->elements == bytes, err,
              TRI_INVALID, "'%s' has no U8 tensor 'attention_mask' [%lld, 1, %lld, %lld]",
              file->path, (long long)result->rows, (long long)s, (long long)s);
    unsigned char *hidden = malloc((size_t)bytes + 1);
    TRI_CHECK(hidden, err, TRI_NOMEM, "out of memory for 'attention_mask'");
    tri_status status = tri_case_read_bytes(file, mask->begin, bytes, hidden, err);
    for (int64_t i = 0; status == TRI_OK && i < bytes; i++)
        if (hidden[i] != (i % s > i / s % s))
            status = tri_error_set(
                err, TRI_UNSUPPORTED,
                "'%s': 'attention_mask' is %d where position %lld sees %lld of row %lld; only "
                "causal masks are read",
                file->path, hidden[i], (long long)(i / s % s), (long long)(i % s),
                (long long)(i / s / s));
    free(hidden);
    return status;
}

/* The same batch again, of which the labels that the loss mask leaves out are ignored. */
static tri_status mask_labels(struct tri_case *result, const struct tri_case_batch *whole,
                              tri_error *err, struct tri_case_batch *masked)
{
    int64_t n = result->rows * result->length;
    void *bytes;
    *masked = *whole;
    masked->labels = tri_arena_alloc(result->arena, (size_t)n * sizeof *masked->labels);
    TRI_CHECK(masked->labels, err, TRI_NOMEM, "out of memory for the labels");
    TRI_TRY(tri_case_read_table(result, &result->expected, "loss_mask", "F32", err, &bytes));
    const float *mask = bytes;
    tri_status status = TRI_OK;
    for (int64_t i = 0; i < n; i++) {
        masked->labels[i] = mask[i] == 1.0f ? whole->labels[i] : -1;
        if (mask[i] != 0.0f && mask[i] != 1.0f)
            status = tri_error_set(err, TRI_UNSUPPORTED,
                                   "'%s': 'loss_mask' holds %g; only 0 and 1 are read",
                                   result->expected.path, (double)mask[i]);
    }
    free(bytes);
    return status;
}

static tri_status read_inputs(struct tri_case *result, tri_error *err)
{
    const struct tri_safetensors *file = &result->expected;
    struct tri_case_batch *whole = &result->batch[1];
    TRI_TRY(tri_case_read_batch(result, file, "tokens", "labels", err, whole));
    TRI_TRY(check_positions(result, err));
    TRI_TRY(check_causal(result, err));
    return mask_labels(result, whole, err, &result->batch[0]);
}

const struct tri_case_form tri_case_megatron = {
    .program = "Megatron-LM",
    .names = &tri_family_megatron,
    .weights = "weights.safetensors",
    .token_loss = "loss_per_token",
    .hidden = "hidden.layer_",
    .gradient = "grad.",
    .inputs = (const char *const[]){"tokens", "labels", "position_ids", "loss_mask",
                                    "attention_mask", NULL},
    .gradient_by_largest = true,
    .outputs_batch = 1, /* without the mask */
    .mean_loss = "loss",
    .read_inputs = read_inputs,
    .bounds = {.logits = 1e-5,
               .token_loss = 1e-5,
               .mean_loss = 1e-5,
               .hidden = 1e-5,
               .gradient = 1e-5,
               .grad_norm = 1e-5},
};
