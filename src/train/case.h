/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A case directory: a model with inputs and what another program made of them, in one of two forms.
 * docs/FORMATS.md has the files. A batch's labels are shifted; a negative one is ignored.
 */
#pragma once

#include "base/arena.h"
#include "checkpoint/safetensors.h"
#include "optim/lr_schedule.h"
#include "spec/family.h"
#include "train/config.h"
#include "trine/run.h"

#define TRI_CASE_BATCHES   2
#define TRI_CASE_MAX_STEPS 64

/* Largest differences that pass. */
struct tri_case_bounds {
    double logits, token_loss, mean_loss; /* absolute */
    double hidden;                        /* relative to the tensor's largest entry */
    double gradient;                      /* relative, see gradient_by_largest */
    double grad_norm;                     /* relative */
    double step_loss, step_norm;          /* absolute, relative */
    double param_norm;                    /* relative */
};

struct tri_case;

/* How a program's cases are laid out. */
struct tri_case_form {
    const char *program;
    tri_status (*read_inputs)(struct tri_case *result, tri_error *err); /* batches */
    const char *mean_loss;                                              /* in case.json */
    const struct tri_family *names; /* of the weights; NULL: those of the model's own family */
    const char *weights;            /* their file; NULL: as in a Hugging Face directory */
    const char *token_loss;         /* the names in expected.safetensors */
    const char *hidden;             /* "hidden.layer_": each layer's output [s, b, h]; NULL: none */
    const char *gradient;           /* in front of the name of a weight */
    const char *const *inputs;      /* NULL-ended: what is there and not compared */
    bool gradient_by_largest;       /* largest difference to largest entry; else L2 to L2 */
    int outputs_batch;              /* whose logits, token losses and hidden states are there */
    struct tri_case_bounds bounds;
};

struct tri_case_batch {
    int32_t *tokens, *labels; /* [b, s] */
    int64_t num_valid;
};

struct tri_case_step {
    int batch; /* 0 or 1 */
    double loss, grad_norm, lr;
};

struct tri_case {
    const struct tri_case_form *form;
    tri_arena *arena;
    const char *dir, *model_dir;
    int64_t rows, length, vocab_size;
    int32_t *positions;                            /* [b, s] */
    struct tri_case_batch batch[TRI_CASE_BATCHES]; /* losses and gradients are those of the first */
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

/* The file or directory that has the shape of dir's model: dir/model, or dir/case.json. */
void tri_case_shape_path(const char *dir, char *path, size_t bytes);
/* True for the path of a case.json. */
bool tri_case_is_shape(const char *path);
/* The shape that a case.json says by Megatron-LM's names. Every key that trine does not know or have
   is added to err. Local. */
tri_status tri_case_read_shape(const char *path, struct tri_gpt_config *shape, tri_error *err);

/* Sets in config what the case fixes: batch, length, no dropout, the optimizer of its training run. */
void tri_case_fit(const struct tri_case *reference, struct tri_run_config *config);
