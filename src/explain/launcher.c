/* SPDX-License-Identifier: Apache-2.0 */
/* Launchers' words, in any of their spellings. */
#include "explain/launcher.h"

#include "base/number.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *name;
    size_t field;
} counts[] = {
    {"nproc-per-node", offsetof(struct tri_launcher, per_node)},
    {"num-gpus", offsetof(struct tri_launcher, per_node)},
    {"nnodes", offsetof(struct tri_launcher, nodes)},
    {"num-nodes", offsetof(struct tri_launcher, nodes)},
    {"num-processes", offsetof(struct tri_launcher, total)},
    {"ntasks", offsetof(struct tri_launcher, total)},
    {"np", offsetof(struct tri_launcher, total)},
    {"n", offsetof(struct tri_launcher, total)},
    {"ntasks-per-node", offsetof(struct tri_launcher, tasks_per_node)},
    {"nodes", offsetof(struct tri_launcher, slurm_nodes)},
    {"N", offsetof(struct tri_launcher, slurm_nodes)},
};

static bool is_name(const char *name, size_t length, const char *known)
{
    for (size_t i = 0; i < length; i++) {
        if (known[i] == '\0' || (name[i] == '_' ? '-' : name[i]) != known[i])
            return false;
    }
    return known[length] == '\0';
}

static bool note(struct tri_launcher *launcher, const char *name, size_t length, const char *value)
{
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (!is_name(name, length, counts[i].name))
            continue;
        int64_t number = 0;
        bool is_known = tri_number_read_int(value, &number) == TRI_NUMBER_OK && number > 0;
        if (counts[i].field == offsetof(struct tri_launcher, nodes))
            launcher->has_open_nodes = !is_known;
        *(int64_t *)((char *)launcher + counts[i].field) = is_known ? number : 0;
        return true;
    }
    return false;
}

bool tri_launcher_note(struct tri_launcher *launcher, const char *name, const char *value)
{
    return note(launcher, name, strlen(name), value);
}

void tri_launcher_read(struct tri_launcher *launcher, const struct tri_shell_words *words)
{
    for (int i = 0; i < words->num; i++) {
        const char *name = words->words[i] + strspn(words->words[i], "-");
        size_t length = strcspn(name, "=");
        const char *next = i + 1 < words->num ? words->words[i + 1] : "";
        if (name != words->words[i])
            note(launcher, name, length, name[length] == '=' ? name + length + 1 : next);
    }
}

int64_t tri_launcher_ranks(const struct tri_launcher *launcher, bool *is_per_node)
{
    int64_t per_node = launcher->per_node, nodes = launcher->nodes, all;
    *is_per_node = false;
    if (per_node == 0 && launcher->total > 0)
        return launcher->total;
    if (per_node == 0) {
        per_node = launcher->tasks_per_node;
        nodes = launcher->slurm_nodes;
    }
    *is_per_node = per_node > 0 && nodes == 0 && launcher->has_open_nodes;
    return __builtin_mul_overflow(per_node, nodes > 0 ? nodes : 1, &all) ? 0 : all;
}
