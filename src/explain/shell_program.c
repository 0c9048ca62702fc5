/* SPDX-License-Identifier: Apache-2.0 */
/* Which word of a command names the program that gets the arguments behind it. */
#include "explain/shell_inner.h"

#include <string.h>

static bool ends_with(const char *word, const char *end)
{
    size_t length = strlen(word), tail = strlen(end);
    return length >= tail && strcmp(word + length - tail, end) == 0;
}

static const char *without_folders(const char *word)
{
    const char *slash = strrchr(word, '/');
    return slash ? slash + 1 : word;
}

/* "python -m torch.distributed.run": a module that only starts others. */
static bool is_launcher_module(const char *module)
{
    return strncmp(module, "torch.distributed", 17) == 0 ||
           strncmp(module, "deepspeed.launcher", 18) == 0 ||
           strncmp(module, "accelerate.commands", 19) == 0;
}

static bool is_launcher(const char *word)
{
    static const char *const names[] = {"torchrun", "deepspeed", "accelerate", "srun",
                                        "mpirun",   "mpiexec",   "python",     "python3"};
    const char *base = without_folders(word);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(base, names[i]) == 0)
            return true;
    }
    return false;
}

/* "torchrun ${LAUNCHER[@]} $SCRIPT --num-layers 2": a name that is not known here, and no option's value. */
static bool is_open_script(const struct tri_shell_words *words, int i)
{
    return i > 0 && is_launcher(words->words[0]) && words->words[i][0] == '$' &&
           words->words[i - 1][0] != '-' && strncmp(words->words[i + 1], "--", 2) == 0;
}

int tri_shell_find_program(const struct tri_shell_words *words, const char **program, int *rank)
{
    int module = -1, open = -1;
    for (int i = 0; i + 1 < words->num; i++) {
        const char *word = words->words[i];
        bool is_module = i > 0 && strcmp(words->words[i - 1], "-m") == 0;
        if (ends_with(word, ".py")) {
            *program = without_folders(word);
            *rank = strncmp(*program, "pretrain", 8) == 0 ? 3 : 2;
            return i;
        }
        if (module < 0 && is_module && is_launcher(words->words[0]) && !is_launcher_module(word))
            module = i;
        if (open < 0 && is_open_script(words, i))
            open = i;
    }
    int found = module >= 0 ? module : open;
    *rank = module >= 0 ? 2 : 1;
    *program = found >= 0 ? words->words[found] : NULL;
    return found;
}
