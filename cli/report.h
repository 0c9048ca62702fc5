/* SPDX-License-Identifier: Apache-2.0 */
/* What all commands share: exit codes, printing records, launching ranks. */
#pragma once

#include "train/run_config.h"
#include "trine/launch.h"

enum { TRI_EXIT_DONE = 0, TRI_EXIT_FAILED = 1, TRI_EXIT_REQUEST = 2, TRI_EXIT_STOPPED = 3 };

/* Opens /dev/null on descriptors 0 to 2 that are closed, so that no file of ours takes their
   place. */
void tri_cli_keep_standard_files(void);
/* Flushes stdout; a result that could not be written turns success into failure (a closed pipe
   does not). */
int tri_cli_finish(int exit_code);

/* Prints notes and problems of a record to stderr, "error: " before each problem. */
void tri_cli_print_record(const tri_error *err);
/* Prints the record of a request that was found wrong and returns TRI_EXIT_REQUEST. */
int tri_cli_refuse(const tri_error *err, const char *command);

/* Reads a run's options for command. Returns -1 to go on, else the exit code (help was asked for
   or the request is wrong; both are reported). own adds the command's own rows. */
int tri_cli_read_run(const char *command, int argc, char **argv, struct tri_option_binding *own,
                     struct tri_run_config *config);

/* The same for commands that work on a trained model: --load is required and must name one. */
int tri_cli_read_model_run(const char *command, int argc, char **argv,
                           struct tri_option_binding *own, struct tri_run_config *config);

/* This process's rank under an MPI launcher, -1 without one. */
int tri_cli_launcher_rank(void);
/* World size that the options ask for: the launcher's, or --ranks. */
int tri_cli_world_size(const struct tri_run_config *config);
/* Runs body on every rank, prints what failed, and returns the exit code. */
int tri_cli_launch(const struct tri_run_config *config, tri_rank_fn *body, void *arg);
