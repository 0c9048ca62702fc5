/* SPDX-License-Identifier: Apache-2.0 */
/* Making a checkpoint directory visible; publish.h. */
#include "checkpoint/publish.h"

#include "checkpoint/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEMP_PREFIX ".tmp-"
#define OLD_PREFIX  ".old-"

int64_t tri_publish_parse(const char *name)
{
    if (strncmp(name, "iter_", 5) != 0)
        return -1;
    const char *digits = name + 5;
    size_t n = strlen(digits);
    if (n < 7 || n > 18 || strspn(digits, "0123456789") != n || (n > 7 && digits[0] == '0'))
        return -1;
    return strtoll(digits, NULL, 10);
}

tri_status tri_publish_plan(const char *folder, int64_t iteration, tri_arena *arena, tri_error *err,
                            struct tri_publish *publish)
{
    TRI_CHECK(iteration >= 0, err, TRI_BUG, "a checkpoint of iteration %lld", (long long)iteration);
    struct tri_publish made = {.folder = folder, .iteration = iteration};
    made.name = tri_arena_format(arena, "iter_%07lld", (long long)iteration);
    made.target = tri_arena_format(arena, "%s/%s", folder, made.name);
    made.temp = tri_arena_format(arena, "%s/" TEMP_PREFIX "%s", folder, made.name);
    made.old = tri_arena_format(arena, "%s/" OLD_PREFIX "%s", folder, made.name);
    TRI_CHECK(made.name && made.target && made.temp && made.old, err, TRI_NOMEM,
              "out of memory for the names of a checkpoint in '%s'", folder);
    *publish = made;
    return TRI_OK;
}

/* An old directory that was moved aside just before its run died goes back to its place when
   nothing is there; otherwise it has been replaced and goes. Half-written ones go. */
static tri_status publish_clean(const struct tri_publish *publish, tri_arena *arena, tri_error *err)
{
    const char *const *names;
    int num;
    TRI_TRY(tri_io_list(publish->folder, OLD_PREFIX, arena, err, &names, &num));
    for (int i = 0; i < num; i++) {
        const char *name = names[i] + strlen(OLD_PREFIX);
        if (tri_publish_parse(name) < 0)
            continue;
        const char *aside = tri_io_path(arena, err, publish->folder, names[i]);
        const char *home = tri_io_path(arena, err, publish->folder, name);
        if (!aside || !home)
            return TRI_NOMEM;
        if (tri_io_exists(home))
            TRI_TRY(tri_io_remove_tree(aside, err));
        else if (rename(aside, home) != 0)
            return tri_io_fail(err, "restore", home, errno);
    }
    TRI_TRY(tri_io_list(publish->folder, TEMP_PREFIX, arena, err, &names, &num));
    for (int i = 0; i < num; i++) {
        const char *rest = names[i] + strlen(TEMP_PREFIX);
        const char *path = tri_io_path(arena, err, publish->folder, names[i]);
        if (!path)
            return TRI_NOMEM;
        if (tri_publish_parse(rest) >= 0 || strcmp(rest, "latest") == 0)
            TRI_TRY(tri_io_remove_tree(path, err));
    }
    return TRI_OK;
}

tri_status tri_publish_begin(struct tri_publish *publish, tri_arena *arena, tri_error *err)
{
    TRI_TRY(tri_io_make_dirs(publish->folder, err));
    TRI_TRY(publish_clean(publish, arena, err));
    TRI_TRY(tri_io_make_dir(publish->temp, err));
    publish->begun = true;
    return TRI_OK;
}

/* temp takes the target's place; what was there is removed. */
static tri_status publish_swap(const struct tri_publish *publish, tri_error *err)
{
    if (!tri_io_exists(publish->target)) {
        if (rename(publish->temp, publish->target) != 0)
            return tri_io_fail(err, "rename to", publish->target, errno);
        return TRI_OK;
    }
    if (renameat2(AT_FDCWD, publish->temp, AT_FDCWD, publish->target, RENAME_EXCHANGE) == 0)
        return TRI_OK;
    /* a file system without exchange: the old one steps aside for a moment */
    if (rename(publish->target, publish->old) != 0)
        return tri_io_fail(err, "replace", publish->target, errno);
    if (rename(publish->temp, publish->target) != 0) {
        int code = errno;
        if (rename(publish->old, publish->target) != 0)
            return tri_io_fail(err, "restore", publish->target, errno);
        return tri_io_fail(err, "rename to", publish->target, code);
    }
    return TRI_OK;
}

static tri_status publish_latest(const struct tri_publish *publish, tri_arena *arena,
                                 tri_error *err)
{
    const char *temp = tri_io_path(arena, err, publish->folder, TEMP_PREFIX "latest");
    const char *latest = tri_io_path(arena, err, publish->folder, "latest");
    const char *text = tri_arena_format(arena, "%s\n", publish->name);
    if (!temp || !latest || !text)
        return TRI_NOMEM;
    TRI_TRY(tri_io_write_all(temp, text, (int64_t)strlen(text), err));
    if (rename(temp, latest) != 0)
        return tri_io_fail(err, "rename to", latest, errno);
    return tri_io_sync_dir(publish->folder, err);
}

tri_status tri_publish_end(struct tri_publish *publish, tri_arena *arena, tri_error *err)
{
    TRI_TRY(tri_io_sync_dir(publish->temp, err));
    TRI_TRY(publish_swap(publish, err));
    publish->begun = false;
    TRI_TRY(tri_io_sync_dir(publish->folder, err));
    TRI_TRY(publish_latest(publish, arena, err));
    /* after an exchange the replaced directory has the temporary name */
    TRI_TRY(tri_io_remove_tree(publish->temp, err));
    return tri_io_remove_tree(publish->old, err);
}

void tri_publish_retain(const struct tri_publish *publish, int keep, int64_t first_iteration,
                        tri_arena *arena, tri_error *err)
{
    const char *const *names;
    int num;
    if (keep <= 0 || tri_io_list(publish->folder, "iter_", arena, NULL, &names, &num) != TRI_OK)
        return;
    /* names of seven digits sort as text, longer ones do not: pick the smallest each time */
    int left = 0;
    for (int i = 0; i < num; i++) {
        int64_t iteration = tri_publish_parse(names[i]);
        left += iteration > first_iteration && iteration <= publish->iteration;
    }
    for (int64_t last = first_iteration; left > keep; left--) {
        const char *oldest = NULL;
        int64_t smallest = INT64_MAX;
        for (int i = 0; i < num; i++) {
            int64_t iteration = tri_publish_parse(names[i]);
            if (iteration > last && iteration <= publish->iteration && iteration < smallest) {
                smallest = iteration;
                oldest = names[i];
            }
        }
        const char *path = oldest ? tri_io_path(arena, NULL, publish->folder, oldest) : NULL;
        /* out of sight first: an interrupted removal must not leave half a checkpoint visible */
        const char *hidden =
            oldest ? tri_arena_format(arena, "%s/" TEMP_PREFIX "%s", publish->folder, oldest)
                   : NULL;
        if (!path || !hidden || rename(path, hidden) != 0 ||
            tri_io_remove_tree(hidden, NULL) != TRI_OK) {
            tri_error_note(err, "old checkpoint '%s' in '%s' cannot be removed", oldest,
                           publish->folder);
            return;
        }
        last = smallest;
    }
}
