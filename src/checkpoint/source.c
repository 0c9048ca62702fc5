/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the weight files of a directory; source.h. source_match.c holds the search for
   tensors. */
#include "checkpoint/source.h"

#include "base/json.h"
#include "checkpoint/io.h"

#include <stdlib.h>
#include <string.h>

static const char index_name[] = "model.safetensors.index.json";
static const char single_name[] = "model.safetensors";

static tri_status source_no_memory(const char *dir, tri_error *err)
{
    return tri_error_add(err, TRI_NOMEM, "out of memory for the files of '%s'", dir);
}

tri_status tri_source_open_files(const char *dir, const char *const *names, int num,
                                 tri_arena *arena, tri_error *err, struct tri_source *source)
{
    *source = (struct tri_source){.dir = dir};
    source->files = tri_arena_alloc(arena, ((size_t)num + 1) * sizeof(*source->files));
    if (!source->files)
        return source_no_memory(dir, err);
    source->num_files = num;
    tri_status status = TRI_OK;
    for (int i = 0; i < num; i++) {
        source->files[i] = (struct tri_safetensors){.fd = -1, .name = names[i], .path = names[i]};
        const char *path = tri_io_path(arena, err, dir, names[i]);
        tri_status got =
            path ? tri_safetensors_open(path, arena, err, &source->files[i]) : TRI_NOMEM;
        if (status == TRI_OK)
            status = got;
    }
    return status;
}

void tri_source_close(struct tri_source *source)
{
    for (int i = 0; i < source->num_files; i++)
        tri_safetensors_close(&source->files[i]);
}

static int text_compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int mapped_compare(const void *a, const void *b)
{
    return strcmp(((const struct tri_source_mapped *)a)->name,
                  ((const struct tri_source_mapped *)b)->name);
}

static bool is_plain_name(const char *name)
{
    return name[0] != '\0' && !strchr(name, '/') && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

/* Weights lie beside their index; a path could lead anywhere. */
static tri_status index_check_names(const json_t *map, const char *path, tri_error *err)
{
    tri_status status = TRI_OK;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)map, key, value)
    {
        const char *name = json_string_value(value);
        if (!name)
            status = tri_error_add(err, TRI_INVALID,
                                   "'%s': weight_map gives tensor '%.100s' no text; give the name "
                                   "of its file",
                                   path, key);
        else if (!is_plain_name(name))
            status = tri_error_add(err, TRI_INVALID,
                                   "'%s': weight_map puts tensor '%.100s' into '%.200s'; give the "
                                   "name of a file in the same directory",
                                   path, key, name);
    }
    return status;
}

/* weight_map as two lists: the different files by name, and the tensors by name. */
static tri_status index_lists(const json_t *map, const char *path, tri_arena *arena, tri_error *err,
                              const char ***files, int *num_files,
                              struct tri_source_mapped **mapped, int *num_mapped)
{
    size_t n = json_object_size(map);
    const char **names = tri_arena_alloc(arena, (n + 1) * sizeof(*names));
    const char **sorted = tri_arena_alloc(arena, (n + 1) * sizeof(*sorted));
    struct tri_source_mapped *list = tri_arena_alloc(arena, (n + 1) * sizeof(*list));
    if (!names || !sorted || !list)
        return source_no_memory(path, err);
    const char *key;
    json_t *value;
    int num = 0;
    TRI_TRY(index_check_names(map, path, err));
    json_object_foreach((json_t *)map, key, value)
    {
        names[num] = tri_arena_format(arena, "%s", json_string_value(value));
        list[num].name = tri_arena_format(arena, "%s", key);
        if (!names[num] || !list[num].name)
            return source_no_memory(path, err);
        sorted[num] = names[num];
        num++;
    }
    qsort(sorted, (size_t)num, sizeof(*sorted), text_compare);
    int different = 0;
    for (int i = 0; i < num; i++)
        if (different == 0 || strcmp(sorted[different - 1], sorted[i]) != 0)
            sorted[different++] = sorted[i];
    for (int i = 0; i < num; i++) {
        const char **found =
            bsearch(&names[i], sorted, (size_t)different, sizeof(*sorted), text_compare);
        list[i].file = (int)(found - sorted);
    }
    qsort(list, (size_t)num, sizeof(*list), mapped_compare);
    *files = sorted;
    *num_files = different;
    *mapped = list;
    *num_mapped = num;
    return TRI_OK;
}

static const struct tri_source_mapped *find_mapped(const struct tri_source *source,
                                                   const char *name)
{
    struct tri_source_mapped key = {.name = name};
    if (source->num_mapped == 0)
        return NULL;
    return bsearch(&key, source->mapped, (size_t)source->num_mapped, sizeof(*source->mapped),
                   mapped_compare);
}

/* The index and the files name the same tensors in the same places. */
static tri_status index_check(const struct tri_source *source, tri_error *err)
{
    tri_status status = TRI_OK;
    for (int i = 0; i < source->num_mapped; i++) {
        const struct tri_source_mapped *m = &source->mapped[i];
        const struct tri_safetensors *file = &source->files[m->file];
        if (file->fd < 0 || tri_safetensors_find(file, m->name))
            continue;
        int other = 0;
        while (other < source->num_files && !tri_safetensors_find(&source->files[other], m->name))
            other++;
        if (other < source->num_files)
            status = tri_error_add(
                err, TRI_INVALID, "'%s': the index puts tensor '%s' into '%s', but it lies in '%s'",
                source->dir, m->name, file->name, source->files[other].name);
        else
            status = tri_error_add(err, TRI_INVALID,
                                   "'%s': the index puts tensor '%s' into '%s', which lacks it",
                                   source->dir, m->name, file->name);
    }
    for (int f = 0; f < source->num_files; f++) {
        const struct tri_safetensors *file = &source->files[f];
        for (int i = 0; i < file->num_tensors; i++) {
            const struct tri_source_mapped *m = find_mapped(source, file->tensors[i].name);
            if (m && m->file == f)
                continue;
            if (m && source->files[m->file].fd >= 0 &&
                !tri_safetensors_find(&source->files[m->file], m->name))
                continue; /* reported above */
            status = tri_error_add(
                err, TRI_INVALID, "'%s': tensor '%s' lies in '%s', but the index %s%s%s%s",
                source->dir, file->tensors[i].name, file->name, m ? "puts it into" : "lacks it",
                m ? " '" : "", m ? source->files[m->file].name : "", m ? "'" : "");
        }
    }
    return status;
}

/* total_size is advisory: a wrong one is worth a note. */
static void index_note_size(const struct tri_source *source, const json_t *root, tri_error *err)
{
    const json_t *total = json_object_get(json_object_get(root, "metadata"), "total_size");
    int64_t bytes = 0;
    for (int f = 0; f < source->num_files; f++) {
        const struct tri_safetensors *file = &source->files[f];
        bytes += file->fd < 0 ? 0 : file->bytes - file->header_bytes;
    }
    if (!json_is_integer(total))
        tri_error_note(err, "'%s/%s' has no total_size (it is advisory)", source->dir, index_name);
    else if (json_integer_value(total) != bytes)
        tri_error_note(
            err, "'%s/%s': total_size is %lld, the tensors hold %lld bytes (it is advisory)",
            source->dir, index_name, (long long)json_integer_value(total), (long long)bytes);
}

static tri_status source_open_index(const char *dir, const char *path, tri_arena *arena,
                                    tri_error *err, struct tri_source *source)
{
    json_t *root = NULL;
    TRI_TRY(tri_json_read_file(path, TRI_MAX_JSON_BYTES, err, &root));
    const char **files = NULL;
    struct tri_source_mapped *mapped = NULL;
    int num_files = 0, num_mapped = 0;
    const struct tri_json json = {.object = root, .name = path, .err = err};
    const json_t *map = NULL;
    tri_status status = tri_json_get_object(&json, "weight_map", &map);
    if (status == TRI_OK)
        status = index_lists(map, path, arena, err, &files, &num_files, &mapped, &num_mapped);
    if (status == TRI_OK) {
        status = tri_source_open_files(dir, files, num_files, arena, err, source);
        source->has_index = true;
        source->mapped = mapped;
        source->num_mapped = num_mapped;
        index_note_size(source, root, err);
        tri_status got = source->files ? index_check(source, err) : status;
        if (status == TRI_OK)
            status = got;
    }
    json_decref(root);
    return status;
}

/* Weight files that nobody names are left alone, and said. */
static tri_status note_strays(const struct tri_source *source, tri_arena *arena, tri_error *err)
{
    const char *const *names;
    int num;
    TRI_TRY(tri_io_list(source->dir, "model", arena, err, &names, &num));
    for (int i = 0; i < num; i++) {
        size_t length = strlen(names[i]), tail = strlen(".safetensors");
        bool used = length < tail || strcmp(names[i] + length - tail, ".safetensors") != 0;
        for (int f = 0; f < source->num_files && !used; f++)
            used = strcmp(source->files[f].name, names[i]) == 0;
        if (!used)
            tri_error_note(err, "'%s/%s' is not read: %s", source->dir, names[i],
                           source->has_index ? "the index does not name it"
                                             : "model.safetensors holds the model");
    }
    return TRI_OK;
}

tri_status tri_source_open_hf(const char *dir, tri_arena *arena, tri_error *err,
                              struct tri_source *source)
{
    *source = (struct tri_source){.dir = dir};
    const char *single = tri_io_path(arena, err, dir, single_name);
    const char *index = tri_io_path(arena, err, dir, index_name);
    if (!single || !index)
        return TRI_NOMEM;
    bool has_index = tri_io_exists(index);
    tri_status status;
    if (tri_io_exists(single)) {
        const char *names[1] = {single_name};
        status = tri_source_open_files(dir, names, 1, arena, err, source);
        if (has_index)
            tri_error_note(err, "'%s' is not read: '%s' holds the model", index, single_name);
    } else if (has_index) {
        status = source_open_index(dir, index, arena, err, source);
    } else if (!tri_io_is_dir(dir)) {
        return tri_error_add(err, TRI_IO, "there is no directory '%s'", dir);
    } else if (tri_io_is_link(single) || tri_io_is_link(index)) {
        return tri_error_add(err, TRI_IO,
                             "'%s' is a link to a file that is not there; fetch that file, or copy "
                             "the directory with what its links stand for",
                             tri_io_is_link(single) ? single : index);
    } else {
        return tri_error_add(err, TRI_INVALID,
                             "'%s' holds no weights: neither '%s' nor '%s' is there (other "
                             "formats such as pytorch_model.bin are not read)",
                             dir, single_name, index_name);
    }
    TRI_TRY(status);
    return note_strays(source, arena, err);
}
