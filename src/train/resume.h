/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session's state to disk and back: turns the model's parameters and the optimizer's moments into
 * lists of named pieces for checkpoint/, and progress and options into its state file.
 */
#pragma once

#include "checkpoint/checkpoint.h"
#include "train/step.h"

/* What of a session goes to disk; made once, valid as long as the session. names is whose names the
   files have; NULL: those of the shape's own family. */
typedef struct tri_session_state tri_session_state;

tri_status tri_session_state_create(struct tri_session *session, const struct tri_family *names,
                                    tri_session_state **state);
void tri_session_state_destroy(tri_session_state **state);

/* Writes the checkpoint of progress->iteration. Collective over the world. */
tri_status tri_session_state_save(tri_session_state *state, const struct tri_progress *progress);

/* Fills parameters from a Hugging Face directory, or from one file in dir, nothing else. Collective
   over the world. */
tri_status tri_session_state_load_weights(tri_session_state *state, const char *dir,
                                          const char *file);

/*
 * Takes up what the options ask for: the checkpoint to resume from (parameters, moments, progress;
 * *schedule is compared, or replaced where the options say so), a Hugging Face directory
 * (parameters), or nothing (initial values). *found tells whether progress was taken up. Collective
 * over the world.
 */
tri_status tri_session_state_start(tri_session_state *state, struct tri_progress *progress,
                                   struct tri_lr_schedule *schedule, bool *found);

/* Writes gradients as if they were weights, under the same names, below folder. Collective over
   the world. */
tri_status tri_session_state_write_grads(tri_session_state *state, const char *folder);
