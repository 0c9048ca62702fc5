/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything one rank has while it works: the three answers planned, then built. Made inside the
 * body of a launch. tri_pretrain() makes its own; evaluation and generation work on one that the
 * caller makes and fills with weights.
 */
#pragma once

#include "trine/extension.h"
#include "trine/hooks.h"
#include "trine/launch.h"

#include <stdint.h>

struct tri_session;                       /* src/train/session.h */
typedef struct tri_executor tri_executor; /* runs a schedule on a model: src/pipeline/executor.h */

/* What else shapes a session. */
struct tri_session_request {
    const struct tri_run_config *config;
    tri_world *world;
    const struct tri_hooks *hooks; /* may be NULL */
    const struct tri_extension *extensions;
    int num_extensions;
    bool forward_only;    /* for evaluation and generation: no gradients, no optimizer */
    bool weights_only;    /* to load, initialise and save: no sample is run either */
    int64_t cache_length; /* generation: positions of prompt and new tokens together */
};

/* Plans and builds; parameter values are zero. Collective over the world. */
tri_status tri_session_create(const struct tri_session_request *request,
                              struct tri_session **session);
void tri_session_destroy(struct tri_session **session);

/* Fills the parameters from dir: a Hugging Face directory, a checkpoint, or a folder of
   checkpoints, of which the newest counts. Collective over the world. */
tri_status tri_session_load(struct tri_session *session, const char *dir);

/* Borrowed, for tri_generate(). */
struct tri_model *tri_session_get_model(const struct tri_session *session);
tri_executor *tri_session_get_executor(const struct tri_session *session);
