/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints: a Hugging Face model directory plus what training needs to go on, written by all
 * ranks at once and readable on any grid. The room sees lists of named state tensors and never the
 * optimizer or the model. docs/FORMATS.md has the bytes.
 *
 *   SAVE/latest                   name of the newest complete directory
 *   SAVE/iter_0000500/            config.json, generation_config.json, tokenizer files,
 *                                 model.safetensors, or model-00001-of-0000n.safetensors and the index
 *   SAVE/iter_0000500/trine/      state.json, checksums.json, optim-NAME*.safetensors
 *   SAVE/.tmp-iter_0000500/       the same while it is being written
 *
 * A visible directory is complete: it is written under the temporary name, synced, and renamed;
 * `latest` is replaced after that. Weight files, index and moments are the same bytes on every
 * grid; the state names the options, which differ.
 */
#pragma once

#include "base/arena.h"
#include "checkpoint/disk_set.h"
#include "comm/comm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A piece of a tensor that this rank holds. When saving, the pieces with `writes` over all ranks
   hold every element of every parameter exactly once (padding aside); when loading, too: those
   pieces are counted in the checksum. A tied copy (spec->tied_copy) stands for the word table. */
struct tri_state_tensor {
    const struct tri_param_spec *spec;
    int tp_rank, tp_size;
    int64_t first, count; /* elements of the flat tp-local tensor */
    float *data;          /* element first lies here */
    bool writes;          /* this rank writes them: exactly one rank of the grid per element */
};

struct tri_state_list {
    const char *name; /* moments: "exp_avg"; not used for weights */
    int num;
    const struct tri_state_tensor *tensors;
};

/* What training needs besides tensors. Texts may be NULL. */
struct tri_checkpoint_state {
    int64_t iteration;
    int64_t consumed_samples;
    int64_t consumed_tokens;
    int64_t schedule_position; /* of the learning rate, in the schedule's own unit */
    int64_t optimizer_steps;   /* updates made: Adam's t */
    const char *options;       /* effective options, as a run file */
    const char *tokenizer;     /* fingerprint of the tokenizer */
    const char *data;          /* fingerprint of the data */
};

struct tri_checkpoint_save {
    const char *folder; /* SAVE */
    const struct tri_checkpoint_model *model;
    const struct tri_checkpoint_state *state;
    struct tri_state_list weights;
    const struct tri_state_list *moments;
    int num_moments;
    const char *config_json;            /* text of config.json */
    const char *generation_config_json; /* or NULL */
    const char *const *copies; /* paths of files copied under their own names: tokenizer files */
    int num_copies;
    int64_t file_limit;      /* bytes of tensors in one file; 0: TRI_DEFAULT_FILE_LIMIT */
    int keep;                /* how many of this run's checkpoints stay; 0: all */
    int64_t first_iteration; /* where this run began: older directories are never removed */
    void *staging;           /* tri_checkpoint_staging_bytes() */
};

/* Bytes of staging that a rank gives to save and load; the plan counts them. Pure. */
size_t tri_checkpoint_staging_bytes(void);

/* Writes SAVE/iter_<iteration> and makes it the latest. Either the whole directory is visible
   afterwards or nothing has changed. Collective over world; all ranks give the same arguments
   except for the lists. */
tri_status tri_checkpoint_save(tri_group *world, const struct tri_checkpoint_save *save,
                               tri_error *err);

struct tri_checkpoint_load {
    const char *dir;  /* a Hugging Face directory, with or without trine/ */
    const char *file; /* in dir, that holds the weights; NULL: those of a Hugging Face directory */
    const struct tri_checkpoint_model *model;
    struct tri_state_list weights;
    const struct tri_state_list *moments;
    int num_moments; /* 0: weights only */
    void *staging;   /* tri_checkpoint_staging_bytes() */
};

/* Fills every piece of the lists; vocabulary padding becomes zero. All faults of the directory
   are added to err. Collective over world. */
tri_status tri_checkpoint_load(tri_group *world, const struct tri_checkpoint_load *load,
                               tri_error *err);

/* The newest checkpoint below folder: *dir is its path, or NULL when folder is missing or holds
   none. Fails when there is one that is not whole, or when iter_* directories exist without
   `latest`: neither may be taken for a fresh start. Local. */
tri_status tri_checkpoint_find_latest(const char *folder, tri_arena *arena, tri_error *err,
                                      const char **dir);
/* The checkpoint of a given iteration; fails with a list of what exists. Local. */
tri_status tri_checkpoint_find_step(const char *folder, int64_t iteration, tri_arena *arena,
                                    tri_error *err, const char **dir);
/* path itself when it is a model directory (has config.json), else its newest checkpoint; fails
   when there is neither. Local. */
tri_status tri_checkpoint_resolve(const char *path, tri_arena *arena, tri_error *err,
                                  const char **dir);

/* True when dir holds training state, whole or not. */
bool tri_checkpoint_has_state(const char *dir);
/* Reads dir/trine/state.json; texts live in arena, those absent are NULL. Local. */
tri_status tri_checkpoint_read_state(const char *dir, tri_arena *arena, tri_error *err,
                                     struct tri_checkpoint_state *state);
