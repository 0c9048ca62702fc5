/* SPDX-License-Identifier: Apache-2.0 */
/* What a script's "#SBATCH" lines ask Slurm for, and the variables that Slurm sets from it. */
#include "explain/shell_inner.h"

#include <ctype.h>
#include <string.h>

static const struct {
    const char *options;   /* separated by blanks */
    const char *variables; /* separated by blanks */
} requests[] = {
    {"--nodes -N", "SLURM_NNODES SLURM_JOB_NUM_NODES"},
    {"--ntasks -n", "SLURM_NTASKS SLURM_NPROCS"},
    {"--ntasks-per-node --tasks-per-node", "SLURM_NTASKS_PER_NODE SLURM_TASKS_PER_NODE"},
    {"--gpus-per-node --gres", "SLURM_GPUS_PER_NODE SLURM_GPUS_ON_NODE"},
    {"--cpus-per-task -c", "SLURM_CPUS_PER_TASK"},
    {"--job-name -J", "SLURM_JOB_NAME"},
};

static bool is_listed(const char *list, const char *word, size_t length)
{
    for (const char *next = list; *next;) {
        size_t known = strcspn(next, " ");
        if (known == length && strncmp(next, word, known) == 0)
            return true;
        next += known + (next[known] == ' ');
    }
    return false;
}

static void set_variables(struct tri_shell *shell, const char *names, const char *value,
                          size_t length)
{
    while (*names) {
        size_t name = strcspn(names, " ");
        struct tri_shell_variable *variable = tri_shell_declare(shell, names, name);
        if (!variable)
            return;
        variable->items = (struct tri_shell_words){0};
        tri_shell_push(shell, &variable->items, value, length);
        names += name + (names[name] == ' ');
    }
}

/* "--nodes=4", "-N 4", "--gres=gpu:8": one request from text on; returns what is behind it. */
static const char *read_request(struct tri_shell *shell, const char *text,
                                struct tri_shell_words *words)
{
    size_t name = strcspn(text, "= \t\r\n");
    const char *value = text + name;
    value += *value == '=' ? 1 : strspn(value, " \t");
    size_t length = strcspn(value, " \t\r\n");
    for (size_t i = 0; length > 0 && i < sizeof requests / sizeof requests[0]; i++) {
        if (!is_listed(requests[i].options, text, name))
            continue;
        size_t kind = length;
        while (kind > 0 && value[kind - 1] != ':')
            kind--;
        set_variables(shell, requests[i].variables, value + kind, length - kind);
        tri_shell_push(shell, words, text, name);
        tri_shell_push(shell, words, value + kind, length - kind);
    }
    return value + length;
}

void tri_shell_read_slurm(struct tri_shell *shell, const char *text, struct tri_shell_words *words)
{
    static const char mark[] = "#SBATCH";
    for (const char *line = text; *line;) {
        const char *end = line + strcspn(line, "\n");
        const char *next = line + sizeof mark - 1;
        bool is_request = strncmp(line, mark, sizeof mark - 1) == 0;
        while (is_request && next < end) {
            next += strspn(next, " \t\r");
            if (*next != '-') /* a comment behind it */
                break;
            next = read_request(shell, next, words);
        }
        line = end + (*end == '\n');
    }
}
