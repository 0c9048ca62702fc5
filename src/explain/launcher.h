/* SPDX-License-Identifier: Apache-2.0 */
/* How many ranks a launcher's words ask for: torchrun, deepspeed, accelerate, srun, mpirun. */
#pragma once

#include "explain/shell.h"

#include <stdbool.h>
#include <stdint.h>

struct tri_launcher {
    int64_t per_node, nodes, total;      /* of the launcher itself; 0: not said */
    int64_t tasks_per_node, slurm_nodes; /* of Slurm, where the launcher says nothing */
    bool has_open_nodes;                 /* known only where the script runs */
};

/* Keeps what one word says; false when the word has nothing to do with the number of ranks. */
bool tri_launcher_note(struct tri_launcher *launcher, const char *name, const char *value);
void tri_launcher_read(struct tri_launcher *launcher, const struct tri_shell_words *words);
/* 0 when they do not say it; *is_per_node when the number of nodes is missing. */
int64_t tri_launcher_ranks(const struct tri_launcher *launcher, bool *is_per_node);
