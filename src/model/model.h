/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This rank's part of the model: its slices, wrapped for data parallelism. Wrapping happens in a
 * fixed order: pre_wrap hook, parameter storage and precision (fp32: the stored values are the main
 * values), gradient buffers with their buckets, post_wrap hook.
 *
 * A step uses it so: zero gradients; the executor runs the slices and begins the reduction of a
 * bucket when its last gradient has landed; tri_model_finish_grads() ends the reductions and adds
 * up what other axes hold; the optimizer updates this rank's shards; tri_model_gather_params()
 * makes the values whole again.
 */
#pragma once

#include "model/params.h"
#include "model/slice.h"
#include "trine/hooks.h"

/* A run of consecutive elements of one parameter that this rank's optimizer owns. */
struct tri_shard {
    const struct tri_param *param;
    int64_t first;                 /* element of the local tensor; a multiple of TRI_NORM_BLOCK */
    struct tri_tensor value, grad; /* one-dimensional */
    int64_t state;                 /* element in each moment of the OPTIM arena */
    int64_t counted;               /* leading elements that count in norms */
};

struct tri_model {
    struct tri_context *context;
    struct tri_hooks hooks;
    int num_slices;
    struct tri_slice **slices;
    struct tri_param *params; /* of all slices, rank plan order */
    int num_params;
    struct tri_shard *shards;
    int num_shards;
    int64_t shard_elements; /* of each moment */
    tri_request **reduce;   /* [bucket]: under way */
    bool *reduced;          /* [bucket]: begun in this step */
};

/* Builds and wraps this rank's slices (Megatron's build_distributed_models). Values are zero until
   tri_params_initialise() or a checkpoint fills them. hooks may be NULL. Local. */
tri_status tri_model_build(struct tri_context *context, const struct tri_hooks *hooks,
                           struct tri_model **model);
void tri_model_destroy(struct tri_model **model);

/* Begins the reduction of the slice's bucket number bucket over dp. Collective over dp. */
tri_status tri_model_reduce_begin(struct tri_model *model, int slice, int bucket);
/* Ends all reductions (begins those that the schedule did not), sums the gradients of parameters
   that tp ranks hold in part, and exchanges the tied table's. Collective over dp, tp, embd. */
tri_status tri_model_finish_grads(struct tri_model *model);
/* Makes values whole after the optimizer changed this rank's shards, and lets modules end their
   step. Collective over dp. */
tri_status tri_model_gather_params(struct tri_model *model);
/* Forgets the reductions of the last step and zeroes the gradients. */
void tri_model_begin_step(struct tri_model *model);
