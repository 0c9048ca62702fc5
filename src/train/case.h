/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A case directory: a model with inputs and what another framework made of them. docs/FORMATS.md
 * has the form: model/ (a Hugging Face directory), input.safetensors (input_ids, labels [b, s]
 * int64 of batch 1, *_2 of batch 2; labels are shifted, -100: ignored), expected.safetensors
 * (logits [b, s, V], token_loss [b, s], and the gradient of the mean loss per file tensor),
 * case.json (mean loss, gradient norm, training curve).
 */
#pragma once

#include "base/arena.h"
#include "checkpoint/safetensors.h"
#include "optim/lr_schedule.h"
#include "train/config.h"

#define TRI_CASE_BATCHES   2
#define TRI_CASE_MAX_STEPS 64

struct tri_case_batch {
    int32_t *tokens, *labels; /* [b, s] */
    int64_t num_valid;
};

struct tri_case_step {
    int batch; /* 0 or 1 */
    double loss, grad_norm, lr;
};

struct tri_case {
    tri_arena *arena;
    const char *dir, *model_dir;
    int64_t rows, length, vocab_size;
    struct tri_case_batch batch[TRI_CASE_BATCHES];
    double mean_loss, grad_norm;
    struct tri_safetensors expected; /* open */
    int num_steps;                   /* 0: no training run */
    struct tri_case_step steps[TRI_CASE_MAX_STEPS];
    struct tri_optim_config optim; /* of the training run */
    double after_loss[TRI_CASE_BATCHES], after_param_norm;
};

/* Reads a case; every fault is added to err. Local. */
tri_status tri_case_read(const char *dir, tri_error *err, struct tri_case *result);
void tri_case_fini(struct tri_case *result);
/* All elements of an expected tensor as fp32; *values is the caller's to free(). */
tri_status tri_case_expected(const struct tri_case *result,
                             const struct tri_safetensors_tensor *tensor, tri_error *err,
                             float **values);
