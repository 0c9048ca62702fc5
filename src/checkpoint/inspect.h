/* SPDX-License-Identifier: Apache-2.0 */
/* What a checkpoint or Hugging Face directory holds, and whether it is whole. Local. */
#pragma once

#include "checkpoint/checkpoint.h"
#include "spec/model_spec.h"

#include <stdio.h>

/* Prints directory, model, training state and every tensor of path (a model directory, or a save
   folder whose newest checkpoint is meant); json: one object. */
tri_status tri_checkpoint_inspect(const char *path, bool json, FILE *out, tri_error *err);

/* Checks everything that can be checked: headers, index, names and shapes against config.json,
   optimizer state, sizes and checksums. Prints a line per file; every fault is added to err. */
tri_status tri_checkpoint_verify(const char *path, FILE *out, tri_error *err);

/* The model that dir/config.json describes. *spec is the caller's to tri_model_spec_destroy()
   and must outlive *model, whose list lives in arena. */
tri_status tri_checkpoint_describe(const char *dir, tri_arena *arena, tri_error *err,
                                   struct tri_model_spec **spec,
                                   struct tri_checkpoint_model *model);
