/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a tokenizer. */
#include "train/tokenizer_files.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In a folder the first three are the tokenizer itself; beside a file only the rest count. */
static const char *const names[] = {
    "tokenizer.json",          "vocab.json",        "merges.txt",         "tokenizer_config.json",
    "special_tokens_map.json", "added_tokens.json", "chat_template.jinja"};
enum { NUM_NAMES = sizeof names / sizeof names[0], NUM_OWN = 3 };

tri_status tri_tokenizer_files(const char *path, tri_arena *arena, tri_error *err,
                               const char *const **files, int *num_files)
{
    const char **list = tri_arena_alloc(arena, (NUM_NAMES + 1) * sizeof *list);
    TRI_CHECK(list, err, TRI_NOMEM, "out of memory for the tokenizer's files");
    *files = list;
    *num_files = 0;
    if (!path[0])
        return TRI_OK;
    struct stat info;
    bool is_folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    const char *slash = strrchr(path, '/');
    int folder = is_folder ? (int)strlen(path) : slash ? (int)(slash - path) : 0;
    int num = 0;
    if (!is_folder)
        list[num++] = path;
    for (int i = is_folder ? 0 : NUM_OWN; i < NUM_NAMES; i++) {
        const char *file = tri_arena_format(arena, "%.*s%s%s", folder, path,
                                            is_folder || slash ? "/" : "", names[i]);
        TRI_CHECK(file, err, TRI_NOMEM, "out of memory for the tokenizer's files");
        if (access(file, F_OK) == 0)
            list[num++] = file;
    }
    *num_files = num;
    return TRI_OK;
}
