/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding checkpoints. "None", "broken" and "found" are three answers: a directory that is there
 * but not whole is a failure, never a fresh start.
 */
#include "checkpoint/checkpoint.h"

#include "checkpoint/format.h"
#include "checkpoint/io.h"
#include "checkpoint/publish.h"

#include <string.h>

bool tri_checkpoint_has_state(const char *dir)
{
    tri_arena *arena = tri_arena_create();
    const char *path = arena ? tri_io_path(arena, NULL, dir, TRI_STATE_FOLDER) : NULL;
    bool there = path && tri_io_exists(path);
    tri_arena_destroy(&arena);
    return there;
}

/* The directories of folder, as "iter_0000005, iter_0000010"; "" when there are none. */
static tri_status locate_list(const char *folder, tri_arena *arena, tri_error *err,
                              const char **text, int *num)
{
    const char *const *names;
    int all;
    TRI_TRY(tri_io_list(folder, "iter_", arena, err, &names, &all));
    *text = "";
    *num = 0;
    for (int i = 0; i < all; i++) {
        if (tri_publish_parse(names[i]) < 0)
            continue;
        (*num)++;
        if (*num == 21)
            *text = tri_arena_format(arena, "%s, ...", *text);
        else if (*num < 21)
            *text = tri_arena_format(arena, "%s%s%s", *text, (*text)[0] ? ", " : "", names[i]);
        TRI_CHECK(*text, err, TRI_NOMEM, "out of memory for the checkpoints in '%s'", folder);
    }
    return TRI_OK;
}

/* dir is there with its parts, and every file that was saved has its size. */
static tri_status locate_check(const char *dir, tri_arena *arena, tri_error *err)
{
    const char *config = tri_io_path(arena, err, dir, "config.json");
    const char *state = tri_io_path(arena, err, dir, TRI_STATE_FILE);
    if (!config || !state)
        return TRI_NOMEM;
    TRI_CHECK(tri_io_exists(config), err, TRI_IO,
              "checkpoint '%s' is not whole: it has no config.json", dir);
    TRI_CHECK(tri_io_exists(state), err, TRI_IO, "checkpoint '%s' is not whole: it has no '%s'",
              dir, TRI_STATE_FILE);
    return tri_format_check_sizes(dir, arena, err);
}

/* The name that the first line of `latest` gives, checked. */
static tri_status locate_read_latest(const char *path, tri_arena *arena, tri_error *err,
                                     const char **name)
{
    const char *text;
    int64_t bytes;
    TRI_TRY(tri_io_read_all(path, 4096, arena, err, &text, &bytes));
    size_t length = strcspn(text, "\r\n");
    const char *made = tri_arena_format(arena, "%.*s", (int)length, text);
    TRI_CHECK(made, err, TRI_NOMEM, "out of memory for the text of '%s'", path);
    TRI_CHECK(tri_publish_parse(made) >= 0, err, TRI_INVALID,
              "'%s' holds '%.40s', expected the name of a directory such as iter_0000500", path,
              made);
    *name = made;
    return TRI_OK;
}

tri_status tri_checkpoint_find_latest(const char *folder, tri_arena *arena, tri_error *err,
                                      const char **dir)
{
    if (!tri_io_exists(folder)) {
        *dir = NULL;
        return TRI_OK;
    }
    TRI_CHECK(tri_io_is_dir(folder), err, TRI_INVALID, "'%s' is not a directory", folder);
    const char *latest = tri_io_path(arena, err, folder, "latest");
    const char *list = NULL, *name = NULL;
    int num;
    if (!latest)
        return TRI_NOMEM;
    TRI_TRY(locate_list(folder, arena, err, &list, &num));
    if (!tri_io_exists(latest)) {
        TRI_CHECK(num == 0, err, TRI_INVALID,
                  "'%s' has checkpoints (%s) but no file 'latest' that names the newest complete "
                  "one; write its name into '%s', or move them away to start afresh",
                  folder, list, latest);
        *dir = NULL;
        return TRI_OK;
    }
    TRI_TRY(locate_read_latest(latest, arena, err, &name));
    const char *path = tri_io_path(arena, err, folder, name);
    if (!path)
        return TRI_NOMEM;
    TRI_CHECK(tri_io_is_dir(path), err, TRI_IO, "'%s' names '%s', which is not there; there %s %s",
              latest, name, num == 1 ? "is" : "are", num > 0 ? list : "no checkpoints");
    TRI_TRY(locate_check(path, arena, err));
    *dir = path;
    return TRI_OK;
}

tri_status tri_checkpoint_find_step(const char *folder, int64_t iteration, tri_arena *arena,
                                    tri_error *err, const char **dir)
{
    TRI_CHECK(tri_io_is_dir(folder), err, TRI_IO, "there is no directory '%s'", folder);
    struct tri_publish publish;
    TRI_TRY(tri_publish_plan(folder, iteration, arena, err, &publish));
    if (!tri_io_is_dir(publish.target)) {
        const char *list;
        int num;
        TRI_TRY(locate_list(folder, arena, err, &list, &num));
        return tri_error_add(
            err, TRI_INVALID, "there is no checkpoint of iteration %lld in '%s'; there %s %s",
            (long long)iteration, folder, num == 1 ? "is" : "are", num > 0 ? list : "none");
    }
    TRI_TRY(locate_check(publish.target, arena, err));
    *dir = publish.target;
    return TRI_OK;
}

tri_status tri_checkpoint_resolve(const char *path, tri_arena *arena, tri_error *err,
                                  const char **dir)
{
    TRI_CHECK(tri_io_is_dir(path), err, TRI_IO, "there is no directory '%s'", path);
    const char *config = tri_io_path(arena, err, path, "config.json");
    if (!config)
        return TRI_NOMEM;
    if (tri_io_exists(config)) {
        *dir = tri_arena_format(arena, "%s", path);
        TRI_CHECK(*dir, err, TRI_NOMEM, "out of memory for the name of '%s'", path);
        return tri_checkpoint_has_state(path) ? locate_check(path, arena, err) : TRI_OK;
    }
    const char *found = NULL;
    TRI_TRY(tri_checkpoint_find_latest(path, arena, err, &found));
    TRI_CHECK(found, err, TRI_INVALID,
              "'%s' is neither a model directory (no config.json) nor holds checkpoints (no file "
              "'latest')",
              path);
    *dir = found;
    return TRI_OK;
}
