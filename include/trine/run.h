/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run's request: every option of every section, from a run file, from text, from flags or by
 * name. docs/OPTIONS.md lists the options; names and meaning are the same everywhere. Later values
 * go over earlier ones. tri_run_complete() makes the config that everything else works from;
 * nothing is allocated or checked across fields before a plan is made from it.
 */
#pragma once

#include "trine/error.h"
#include "trine/hooks.h"

#include <stddef.h>
#include <stdio.h>

typedef struct tri_run tri_run;
struct tri_run_config; /* src/train/run_config.h */

/* A request with all options at their defaults; NULL when out of memory. */
tri_run *tri_run_create(void);
void tri_run_destroy(tri_run **run);

/* Every problem is added to err with its place. */
tri_status tri_run_read_file(tri_run *run, const char *path, tri_error *err);
/* The text of a run file; name stands for the file in messages. */
tri_status tri_run_read_text(tri_run *run, const char *text, const char *name, tri_error *err);
/* Flags as the program takes them: --train-iters 50. argv[0] is the program's name. A word that
   is no option is a run file, and flags go over it. */
tri_status tri_run_read_flags(tri_run *run, int argc, char **argv, tri_error *err);
/* Sets one option by its name, text as in a run file. */
tri_status tri_run_set(tri_run *run, const char *name, const char *text, tri_error *err);

/* Takes the shape from a config.json where asked and derives what follows from other fields.
   *config is borrowed and stays as it is until the next call with run. */
tri_status tri_run_complete(tri_run *run, const struct tri_run_config **config, tri_error *err);

/* The effective options as a run file; only_changed leaves out defaults. */
void tri_run_config_print(FILE *out, const struct tri_run_config *config, bool only_changed);

/* Plans the run for world_size ranks (0: the option ranks, or 1) without allocating any of it,
   and prints who holds which layers, bytes by purpose and the schedule, for one rank (-1: the
   heaviest). Every problem of the request is added to err. hooks may be NULL; out may be NULL:
   only check. */
tri_status tri_run_print_plan(FILE *out, const struct tri_run_config *config,
                              const struct tri_hooks *hooks, int world_size, int rank,
                              tri_error *err);
