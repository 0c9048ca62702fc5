/* SPDX-License-Identifier: Apache-2.0 */
/* Strict search of a model's tensors in the files of a directory; source.h says the rules. */
#include "checkpoint/source.h"

#include "checkpoint/io.h"

#include <stdlib.h>
#include <string.h>

struct match {
    const struct tri_source *source;
    const struct tri_disk_set *set;
    const struct tri_family *family;
    bool compare_tied;
    tri_arena *arena;
    tri_error *err;
    struct tri_source_place *places;
    bool **used; /* [file][tensor] */
    tri_status status;
    int num_ignored;
    const char *ignored;
};

static void match_fail(struct match *m, tri_status status)
{
    if (m->status == TRI_OK)
        m->status = status;
}

/* name without the family's prefix, or NULL when it does not begin with it. */
static const char *without_prefix(const struct tri_family *family, const char *name)
{
    const char *prefix = family ? family->files->prefix : NULL;
    if (!prefix || strncmp(name, prefix, strlen(prefix)) != 0)
        return NULL;
    return name + strlen(prefix);
}

/* True when the index sends name to a file that could not be opened: no need to miss it as well. */
static bool is_in_broken_file(const struct tri_source *source, const char *name)
{
    if (!name)
        return false;
    for (int i = 0; i < source->num_mapped; i++)
        if (strcmp(source->mapped[i].name, name) == 0)
            return source->files[source->mapped[i].file].fd < 0;
    return !source->has_index && source->num_files > 0 && source->files[0].fd < 0;
}

/* text where the model comes from a config.json. */
static const char *if_config(const struct match *m, const char *text)
{
    return m->family && !m->family->config ? "" : text;
}

static void check_shape(struct match *m, const struct tri_disk_tensor *tensor,
                        const struct tri_source_place *place)
{
    const struct tri_safetensors_tensor *found = place->tensor;
    const char *file = m->source->files[place->file].name;
    bool equal = found->num_dims == tensor->num_dims;
    for (int d = 0; equal && d < tensor->num_dims; d++)
        equal = found->dims[d] == tensor->dims[d];
    const struct tri_checkpoint_model *model = m->set->model;
    const char *param = model->params[tensor->param]->name;
    bool vocabulary = strcmp(param, TRI_WORD_TABLE) == 0 || strcmp(param, TRI_OUTPUT_LAYER) == 0;
    if (!equal) {
        const char *why = "";
        if (vocabulary)
            why = tri_arena_format(m->arena,
                                   " (vocab_size%s is %lld; rows are neither cut nor filled up on "
                                   "reading)",
                                   if_config(m, " in config.json"), (long long)model->vocab_size);
        match_fail(
            m, tri_error_add(m->err, TRI_INVALID, "'%s' in '%s' has shape %s, expected %s%s",
                             found->name, file,
                             tri_safetensors_shape_text(m->arena, found->num_dims, found->dims),
                             tri_safetensors_shape_text(m->arena, tensor->num_dims, tensor->dims),
                             why ? why : ""));
    }
    if (!found->dtype->readable)
        match_fail(m, tri_error_add(m->err, TRI_UNSUPPORTED,
                                    "'%s' in '%s' is %s; F32, BF16 and F16 are read", found->name,
                                    file, found->dtype->name));
}

/* Looks for tensor number i in every file, under its name with and without the prefix. */
static void match_tensor(struct match *m, int i)
{
    const struct tri_disk_tensor *tensor = &m->set->tensors[i];
    const char *names[2] = {tensor->name, without_prefix(m->family, tensor->name)};
    struct tri_source_place *place = &m->places[i];
    place->file = -1;
    for (int f = 0; f < m->source->num_files; f++) {
        const struct tri_safetensors *file = &m->source->files[f];
        for (int n = 0; n < 2 && names[n]; n++) {
            const struct tri_safetensors_tensor *found = tri_safetensors_find(file, names[n]);
            if (!found)
                continue;
            m->used[f][found - file->tensors] = true;
            if (place->file >= 0)
                match_fail(m, tri_error_add(m->err, TRI_INVALID,
                                            "tensor '%s' is there twice: as '%s' in '%s' and as "
                                            "'%s' in '%s'",
                                            tensor->name, place->tensor->name,
                                            m->source->files[place->file].name, found->name,
                                            file->name));
            place->file = f;
            place->tensor = found;
        }
    }
    if (place->file >= 0)
        check_shape(m, tensor, place);
    else if (!is_in_broken_file(m->source, names[0]) && !is_in_broken_file(m->source, names[1]))
        match_fail(
            m, tri_error_add(m->err, TRI_INVALID, "tensor '%s' %s is missing in '%s'", tensor->name,
                             tri_safetensors_shape_text(m->arena, tensor->num_dims, tensor->dims),
                             m->source->dir));
}

static bool is_ignored(const struct match *m, const char *name)
{
    if (!m->family || !m->family->files->ignored)
        return false;
    const char *bare = without_prefix(m->family, name);
    int64_t layer;
    for (const char *const *p = m->family->files->ignored; *p; p++)
        if (tri_name_matches(*p, name, &layer) || (bare && tri_name_matches(*p, bare, &layer)))
            return true;
    return false;
}

/* True when name is the file name of the output layer, which a tied model does not need. */
static bool is_tied_output(const struct match *m, const char *name)
{
    if (!m->family || !m->set->model->tied)
        return false;
    for (int i = 0; i < m->family->files->num_tensors; i++)
        if (strcmp(m->family->files->tensors[i].logical, TRI_OUTPUT_LAYER) == 0 &&
            strcmp(m->family->files->tensors[i].file, name) == 0)
            return true;
    return false;
}

#define COMPARE_BYTES 65536

static tri_status same_values(const struct match *m, const struct tri_safetensors *a,
                              const struct tri_safetensors_tensor *x,
                              const struct tri_safetensors *b,
                              const struct tri_safetensors_tensor *y, bool *same)
{
    int64_t bytes = x->end - x->begin;
    *same = x->dtype == y->dtype && bytes == y->end - y->begin;
    char *buffer = malloc(2 * COMPARE_BYTES);
    TRI_CHECK(buffer, m->err, TRI_NOMEM, "out of memory while tensors were compared");
    tri_status status = TRI_OK;
    for (int64_t at = 0; at < bytes && *same && status == TRI_OK; at += COMPARE_BYTES) {
        int64_t n = bytes - at < COMPARE_BYTES ? bytes - at : COMPARE_BYTES;
        status = tri_io_read_at(a->fd, a->path, buffer, n, x->begin + at, m->err);
        if (status == TRI_OK)
            status =
                tri_io_read_at(b->fd, b->path, buffer + COMPARE_BYTES, n, y->begin + at, m->err);
        if (status == TRI_OK)
            *same = memcmp(buffer, buffer + COMPARE_BYTES, (size_t)n) == 0;
    }
    free(buffer);
    return status;
}

static void match_tied_output(struct match *m, const struct tri_safetensors *file,
                              const struct tri_safetensors_tensor *found)
{
    int param = tri_disk_set_find_param(m->set, TRI_WORD_TABLE);
    const struct tri_source_place *table =
        param >= 0 ? &m->places[m->set->param_first[param]] : NULL;
    if (!table || table->file < 0)
        return; /* the table is missing, which has been said */
    bool same = true;
    if (m->compare_tied) {
        tri_status status =
            same_values(m, &m->source->files[table->file], table->tensor, file, found, &same);
        if (status != TRI_OK)
            match_fail(m, status);
    }
    if (!same)
        match_fail(m, tri_error_add(m->err, TRI_INVALID,
                                    "'%s' in '%s' differs from '%s' although the model is tied; "
                                    "set tie_word_embeddings to false in config.json or remove "
                                    "the tensor",
                                    found->name, file->name, table->tensor->name));
}

/* What is left over after every tensor of the set was looked for. */
static void match_rest(struct match *m)
{
    for (int f = 0; f < m->source->num_files; f++) {
        const struct tri_safetensors *file = &m->source->files[f];
        for (int i = 0; i < file->num_tensors; i++) {
            const struct tri_safetensors_tensor *found = &file->tensors[i];
            if (m->used[f][i])
                continue;
            if (is_ignored(m, found->name)) {
                m->num_ignored++;
                m->ignored = found->name;
            } else if (is_tied_output(m, found->name)) {
                match_tied_output(m, file, found);
            } else {
                match_fail(m, tri_error_add(m->err, TRI_INVALID,
                                            "tensor '%s' %s in '%s' is unexpected: the model%s has "
                                            "none of this name",
                                            found->name,
                                            tri_safetensors_shape_text(m->arena, found->num_dims,
                                                                       found->dims),
                                            file->name, if_config(m, " of config.json")));
            }
        }
    }
    if (m->num_ignored > 0)
        tri_error_note(
            m->err,
            "%d tensors of '%s' are buffers that nothing needs and are not read, such as "
            "'%s'",
            m->num_ignored, m->source->dir, m->ignored);
}

tri_status tri_source_match(const struct tri_source *source, const struct tri_disk_set *set,
                            const struct tri_family *family, bool compare_tied, tri_arena *arena,
                            tri_error *err, struct tri_source_place *places)
{
    struct match m = {.source = source,
                      .set = set,
                      .family = family,
                      .compare_tied = compare_tied,
                      .arena = arena,
                      .err = err,
                      .places = places};
    m.used = tri_arena_alloc(arena, ((size_t)source->num_files + 1) * sizeof(*m.used));
    bool enough = m.used != NULL;
    for (int f = 0; f < source->num_files && enough; f++) {
        m.used[f] = tri_arena_alloc(arena, (size_t)source->files[f].num_tensors + 1);
        enough = m.used[f] != NULL;
    }
    TRI_CHECK(enough, err, TRI_NOMEM, "out of memory for the tensors of '%s'", source->dir);
    for (int i = 0; i < set->num_tensors; i++)
        match_tensor(&m, i);
    match_rest(&m);
    return m.status;
}
