/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything one rank has while it works: the three answers planned, then built. Training,
 * evaluation, generation and compare all start from a session (trine/session.h makes it). It reads
 * no data and no checkpoint.
 */
#pragma once

#include "model/model.h"
#include "pipeline/executor.h"
#include "train/run_config.h"
#include "trine/session.h"

struct tri_session {
    struct tri_session_request request;
    struct tri_run_config config; /* with everything resolved */
    tri_error *err;
    tri_world *world;
    tri_team *team;
    struct tri_model_spec *spec;
    struct tri_placement *placement;
    tri_arena *arena;
    struct tri_rank_plan plan;
    struct tri_context *context;
    struct tri_model *model;
    tri_executor *train_executor; /* NULL when forward_only */
    tri_executor *eval_executor;
    float seed; /* of backward: a power of two near 1 / (global batch * sequence) */
};

/* What a run has room for; each needs less than the one before. */
enum tri_run_use {
    TRI_USE_TRAINING,
    TRI_USE_FORWARD, /* evaluation and generation: no gradients, no optimizer */
    TRI_USE_WEIGHTS, /* no sample is run */
};

/* What 'trine train' makes of config. */
static inline enum tri_run_use tri_run_training_use(const struct tri_run_config *config)
{
    return tri_train_only_saves(&config->train) ? TRI_USE_WEIGHTS : TRI_USE_TRAINING;
}

/*
 * The pure part: spec and placement of a run on world_size ranks, with every problem added to err.
 * *spec and *placement are set on success; the caller destroys both, placement first. config is
 * completed: derived sizes, global batch, team size. comm is NULL where bytes do not matter.
 */
tri_status tri_run_plan(struct tri_run_config *config, const struct tri_hooks *hooks,
                        int world_size, enum tri_run_use use, int64_t cache_length,
                        const struct tri_plan_comm *comm, tri_error *err,
                        struct tri_model_spec **spec, struct tri_placement **placement);

/* True on the rank that reports: the first tensor-parallel rank of the last stage has the loss,
   but the line is printed by rank 0, which gets it by the step's reduction. */
static inline bool tri_session_is_reporter(const struct tri_session *session)
{
    return session->world->rank == 0;
}
