/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trains a tiny model for a few steps on any grid and keeps what two grids must have in common: initial
 * values, gradients of the first step, final values (as whole logical tensors), losses and gradient norms.
 * Tokens, labels and which labels count are pure functions of the sample's number. A run may be tampered
 * with, so that a test can plant faults.
 */
#pragma once

#include "comm/comm.h"
#include "train/step.h"

/* "attention": a llama whose 2 key/value heads more tensor-parallel ranks share, with norms of heads,
   windows in every other layer and yarn; qwen3 can hold it. */
enum train_model { TRAIN_GPT2, TRAIN_GPT2_UNTIED, TRAIN_LLAMA, TRAIN_ATTENTION, TRAIN_NUM_MODELS };
const char *train_model_name(enum train_model model);
/* TRAIN_NUM_MODELS when no model is called name. */
enum train_model train_model_find(const char *name);

enum { TRAIN_MAX_STEPS = 20, TRAIN_MAX_TENSORS = 400 };

/* Bounds between two grids, relative. */
#define TRAIN_FIRST_LOSS 1e-6
#define TRAIN_NORM       1e-5
#define TRAIN_GRADIENT   5e-5 /* L2, per tensor, of step 1 */
#define TRAIN_LAST_LOSS  1e-4

/* One way to train. Zero means the usual: 4 layers, sizes of 1, a team of one, 24 samples in microbatches of
   2, 20 steps. */
struct train_way {
    enum train_model model;
    int layers, tp, pp, vpp, dp, team, steps;
    bool sequence_parallel, sharded;
    int64_t bucket_size, micro_batch, global_batch, first_sample;
    const char *schedule;
    void (*configure)(struct tri_run_config *config);
    const struct tri_hooks *hooks;
    const struct tri_extension *extensions;
    int num_extensions;
    /* Called on every rank once initial values are there. */
    tri_status (*tamper)(struct tri_session *session, void *arg);
    void *tamper_arg;
};
int train_way_ranks(const struct train_way *way);
/* "tp 2 pp 2 dp 1 ..." */
void train_way_format(const struct train_way *way, char *text, size_t bytes);
void train_way_config(const struct train_way *way, struct tri_run_config *config);

struct train_tensor {
    char name[96];
    int64_t first, elements; /* in the arrays of a result */
};

struct train_result {
    int num_tensors;
    struct train_tensor tensors[TRAIN_MAX_TENSORS];
    int64_t elements;
    float *initial, *gradient, *final; /* every parameter once, in model order */
    int num_steps;
    double loss[TRAIN_MAX_STEPS], norm[TRAIN_MAX_STEPS], valid[TRAIN_MAX_STEPS];
    int64_t other_copies; /* elements that some rank holds with other bits at the end */
};

/* Runs way as threads of this process (one rank: alone); fails the running test when a rank fails. */
void train_run(const struct train_way *way, struct train_result *result);
/* The same for a run that may fail: messages go to err with their ranks. The result is to be freed anyway. */
tri_status train_try(const struct train_way *way, struct train_result *result, tri_error *err);
/* The same on world; the result is complete on every rank. Collective over the world. */
tri_status train_run_on(const struct train_way *way, tri_world *world, struct train_result *result);
void train_result_free(struct train_result *result);

/* ---- parts of a run, for tests that walk by themselves ---- */

/* Batches as functions of the sample's number. */
struct train_source {
    struct tri_session *session;
    int64_t consumed;
    int32_t *block;
    int64_t *sample_ids;
};
tri_status train_source_init(struct train_source *source, struct tri_session *session);
void train_source_fini(struct train_source *source);
struct tri_batch_source train_source_get(struct train_source *source);
void train_fill_sample(int64_t sample, int64_t length, int64_t vocab_size, int32_t *tokens,
                       int32_t *labels);

tri_status train_schedule(const struct tri_session *session, struct tri_lr_schedule *schedule);
/* Names, places and sizes of all parameters, in model order. */
void train_list_tensors(const struct tri_session *session, struct train_result *result);
enum train_what { TRAIN_VALUES, TRAIN_GRADIENTS };
/* The whole model on every rank, [result->elements], for the caller to free(). Gradients are those of the
   last step, multiplied by factor. Collective over the world. */
tri_status train_gather(struct tri_session *session, const struct train_result *result,
                        enum train_what what, float factor, float **values);
/* How many elements of all ranks' values differ in bits from whole. Collective over the world. */
tri_status train_count_other(struct tri_session *session, const struct train_result *result,
                             const float *whole, int64_t *num);
/* A tensor of a result; -1 if there is none. */
int train_find(const struct train_result *result, const char *name);

/* ---- comparison; what differs is printed when explain ---- */

bool train_same_start(const struct train_result *a, const struct train_result *b);
/* Losses and norms equal in every bit. */
bool train_same_bits(const struct train_result *a, const struct train_result *b, bool explain);
/* Everything inside the bounds above. */
bool train_in_band(const struct train_result *a, const struct train_result *b, bool explain);
