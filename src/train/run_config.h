/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run's request: every option of every section, read from the run file and the flags by one
 * machinery. Owns nothing; filled once in cli/, copied freely, the same on every rank.
 */
#pragma once

#include "checkpoint/config.h"
#include "data/config.h"
#include "optim/config.h"
#include "placement/config.h"
#include "shape/config.h"
#include "shape/options.h"
#include "spec/config.h"
#include "train/config.h"
#include "trine/run.h"

#define TRI_RUN_MAX_BINDINGS 16
#define TRI_RUN_MAX_ROWS     128 /* of one table */

struct tri_run_config {
    struct tri_gpt_config shape;
    struct tri_spec_config spec;
    struct tri_placement_config placement;
    struct tri_train_config train;
    struct tri_optim_config optim;
    struct tri_data_config data;
    struct tri_checkpoint_config checkpoint;
    char shape_from
        [TRI_OPTION_TEXT];       /* shape: PATH in the run file: a config.json or its directory */
    char model[TRI_OPTION_TEXT]; /* the model's directory that stood in place of the run file; "" */
};

/* The tables of a run in the order of the run file, NULL-ended. */
const struct tri_option_table *const *tri_run_tables(void);
/* Bindings of config's sections to those tables; returns their number. */
int tri_run_bind(struct tri_run_config *config, struct tri_option_binding *bindings);

void tri_run_config_set_defaults(struct tri_run_config *config);
/* What no option says but conditions of options ask for: names that stand in no run file. */
struct tri_run_facts {
    int64_t data_parallel_size;
};
extern const struct tri_option_table tri_run_fact_options;

/* What follows once all values are given: the shape of a config.json, with the given fields over
   it, the short forms, and the fields derived from others. bindings are those of tri_run_bind()
   with their origins, bound to config, and any more; what has no effect beside the others is noted and
   set back to its default. */
tri_status tri_run_config_complete(const struct tri_option_binding *bindings, int num_bindings,
                                   const struct tri_shape_short *given,
                                   struct tri_run_config *config, tri_error *err);
/*
 * Reads RUN.yaml (the first positional word) and flags over it, and fills shape fields from
 * config.json where asked. num_processes: those that an MPI launcher started, 0 without one. own
 * adds a command's own table (may be NULL). All problems are added to err. TRI_IO: only the file of
 * the shape is at fault.
 */
tri_status tri_run_config_read(int argc, char **argv, int num_processes,
                               struct tri_option_binding *own, struct tri_run_config *config,
                               tri_error *err);
