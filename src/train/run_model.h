/* SPDX-License-Identifier: Apache-2.0 */
/* A run's shape from a model that exists: the word in place of a run file, and what load names. */
#pragma once

#include "train/run_config.h"

/* True when path, which stands in place of a run file, is no run file but a model's directory or its config.json. */
bool tri_run_is_model(const char *path);
/* Takes the shape from such a path; a directory becomes config's model. TRI_IO: it holds none. */
tri_status tri_run_take_model(const char *path, struct tri_run_config *config, tri_error *err);

/* A run that loads a model and leaves sizes of its shape open has that model's shape: sets shape_from. Comes before
   tri_run_config_complete(). TRI_IO: the directory is at fault. */
tri_status tri_run_take_loaded_shape(struct tri_run_config *config, tri_error *err);
/* After it: sizes of the shape that contradict the model that load names. TRI_IO: there are some. */
tri_status tri_run_check_loaded_shape(const struct tri_run_config *config, tri_error *err);
