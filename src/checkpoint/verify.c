/* SPDX-License-Identifier: Apache-2.0 */
/* Checking a directory as far as it can be checked without a run. */
#include "checkpoint/inspect.h"

#include "checkpoint/format.h"
#include "checkpoint/io.h"
#include "checkpoint/source.h"
#include "checkpoint/transfer.h"

#include <stdlib.h>
#include <string.h>

struct verify_run {
    const char *dir;
    FILE *out;
    tri_arena *arena;
    tri_error *err;
    struct tri_checksum checksum;
    void *buffer; /* TRI_STAGING_BYTES */
    json_t *sums; /* "files" of checksums.json; NULL: a directory without */
};

static tri_status verify_first(tri_status a, tri_status b)
{
    return a != TRI_OK ? a : b;
}

/* The sum of bytes [begin, end) of a file, counted from begin. */
static tri_status verify_sum(struct verify_run *run, const struct tri_safetensors *file,
                             int64_t begin, int64_t end, uint64_t *sum)
{
    *sum = 0;
    for (int64_t at = begin; at < end;) {
        int64_t n = end - at < (int64_t)TRI_STAGING_BYTES ? end - at : (int64_t)TRI_STAGING_BYTES;
        TRI_TRY(tri_io_read_at(file->fd, file->path, run->buffer, n, at, run->err));
        *sum += tri_checksum_bytes(&run->checksum, run->buffer, (at - begin) / 4, n);
        at += n;
    }
    return TRI_OK;
}

static tri_status verify_compare(struct verify_run *run, const char *path, const char *what,
                                 const json_t *expected, uint64_t sum)
{
    uint64_t value;
    if (!tri_format_parse_sum(expected, &value))
        return tri_error_add(run->err, TRI_INVALID, "%s of '%s' has no checksum in '%s'", what,
                             path, TRI_CHECKSUM_FILE);
    if (value != sum)
        return tri_error_add(run->err, TRI_INVALID,
                             "%s of '%s' has checksum %016llx, expected %016llx", what, path,
                             (unsigned long long)sum, (unsigned long long)value);
    return TRI_OK;
}

static tri_status verify_file_sums(struct verify_run *run, const struct tri_safetensors *file,
                                   const json_t *entry)
{
    uint64_t sum;
    TRI_TRY(verify_sum(run, file, 0, file->header_bytes, &sum));
    tri_status status =
        verify_compare(run, file->path, "the header", json_object_get(entry, "header"), sum);
    const json_t *tensors = json_object_get(entry, "tensors");
    for (int i = 0; i < file->num_tensors; i++) {
        const struct tri_safetensors_tensor *t = &file->tensors[i];
        const char *what = tri_arena_format(run->arena, "tensor '%s'", t->name);
        TRI_TRY(verify_sum(run, file, t->begin, t->end, &sum));
        status = verify_first(status, verify_compare(run, file->path, what ? what : "a tensor",
                                                     json_object_get(tensors, t->name), sum));
    }
    return status;
}

/* One line and the checksums for every file of source; prefix is its folder within dir. */
static tri_status verify_files(struct verify_run *run, const struct tri_source *source,
                               const char *prefix)
{
    tri_status status = TRI_OK;
    for (int f = 0; f < source->num_files; f++) {
        const struct tri_safetensors *file = &source->files[f];
        if (file->fd < 0)
            continue;
        tri_status got = TRI_OK;
        if (run->sums) {
            const char *name = tri_arena_format(run->arena, "%s%s", prefix, file->name);
            TRI_CHECK(name, run->err, TRI_NOMEM, "out of memory while '%s' was verified", run->dir);
            got = verify_file_sums(run, file, json_object_get(run->sums, name));
        }
        fprintf(run->out, "%-9s %s%s  %d tensor%s, %lld bytes%s\n",
                got == TRI_OK ? "good" : "damaged", prefix, file->name, file->num_tensors,
                file->num_tensors == 1 ? "" : "s", (long long)file->bytes,
                run->sums ? "" : ", no checksums");
        status = verify_first(status, got);
    }
    return status;
}

static tri_status verify_match(struct verify_run *run, const struct tri_source *source,
                               const struct tri_disk_set *set, const struct tri_family *family)
{
    struct tri_source_place *places =
        tri_arena_alloc(run->arena, ((size_t)set->num_tensors + 1) * sizeof(*places));
    TRI_CHECK(places, run->err, TRI_NOMEM, "out of memory while '%s' was verified", run->dir);
    return tri_source_match(source, set, family, true, run->arena, run->err, places);
}

static tri_status verify_weights(struct verify_run *run, const struct tri_checkpoint_model *model)
{
    struct tri_source source;
    tri_status status = tri_source_open_hf(run->dir, run->arena, run->err, &source);
    struct tri_disk_set set;
    if (source.files && model) {
        tri_status got = tri_disk_set_weights(model, run->arena, run->err, &set);
        if (got == TRI_OK)
            got = verify_match(run, &source, &set, model->family);
        status = verify_first(status, got);
    }
    status = verify_first(status, verify_files(run, &source, ""));
    tri_source_close(&source);
    return status;
}

static tri_status verify_moment(struct verify_run *run, const char *name,
                                const struct tri_checkpoint_model *model)
{
    struct tri_moment_files files;
    struct tri_disk_set set;
    struct tri_source source;
    const char *folder = tri_io_path(run->arena, run->err, run->dir, TRI_STATE_FOLDER);
    if (!folder)
        return TRI_NOMEM;
    TRI_TRY(tri_format_read_moment(run->dir, name, run->arena, run->err, &files));
    tri_status status =
        tri_source_open_files(folder, files.files, files.num_files, run->arena, run->err, &source);
    if (source.files && model) {
        tri_status got = tri_disk_set_logical(model, run->arena, run->err, &set);
        if (got == TRI_OK)
            got = verify_match(run, &source, &set, NULL);
        status = verify_first(status, got);
    }
    status = verify_first(status, verify_files(run, &source, TRI_STATE_FOLDER "/"));
    tri_source_close(&source);
    return status;
}

/* The files that are no safetensors: config, tokenizer, index, state. */
static tri_status verify_others(struct verify_run *run)
{
    const char *name;
    json_t *entry;
    tri_status status = TRI_OK;
    json_object_foreach(run->sums, name, entry)
    {
        if (json_object_get(entry, "tensors"))
            continue;
        const char *path = tri_io_path(run->arena, run->err, run->dir, name);
        int64_t bytes = 0;
        uint64_t sum = 0;
        if (!path)
            return TRI_NOMEM;
        tri_status got = tri_format_sum_file(&run->checksum, path, run->buffer, TRI_STAGING_BYTES,
                                             run->err, &bytes, &sum);
        if (got == TRI_OK)
            got = verify_compare(run, path, "the text", json_object_get(entry, "sum"), sum);
        fprintf(run->out, "%-9s %s  %lld bytes\n", got == TRI_OK ? "good" : "damaged", name,
                (long long)bytes);
        status = verify_first(status, got);
    }
    return status;
}

static tri_status verify_state(struct verify_run *run, const struct tri_checkpoint_model *model)
{
    struct tri_checkpoint_state state;
    const char *const *moments = NULL;
    int num = 0;
    tri_status status = tri_checkpoint_read_state(run->dir, run->arena, run->err, &state);
    if (status == TRI_OK)
        status = tri_format_list_moments(run->dir, run->arena, run->err, &moments, &num);
    for (int i = 0; i < num; i++)
        status = verify_first(status, verify_moment(run, moments[i], model));
    return run->sums ? verify_first(status, verify_others(run)) : status;
}

static tri_status verify_all(struct verify_run *run, const char *path)
{
    const char *config = tri_io_path(run->arena, run->err, path, "config.json");
    if (!config)
        return TRI_NOMEM;
    /* resolve() stops at the first sign of damage, of which all is wanted here */
    if (!tri_io_exists(config))
        TRI_TRY(tri_checkpoint_resolve(path, run->arena, run->err, &run->dir));
    struct tri_model_spec *spec = NULL;
    struct tri_checkpoint_model model;
    json_t *root = NULL;
    tri_status status = tri_checkpoint_describe(run->dir, run->arena, run->err, &spec, &model);
    const struct tri_checkpoint_model *known = status == TRI_OK ? &model : NULL;
    bool has_state = tri_checkpoint_has_state(run->dir);
    if (has_state)
        status = verify_first(status, tri_format_read_sums(run->dir, run->err, &root, &run->sums));
    status = verify_first(status, verify_weights(run, known));
    if (has_state)
        status = verify_first(status, verify_state(run, known));
    fprintf(run->out, "%s: %s\n", run->dir,
            status != TRI_OK ? "damaged"
            : run->sums      ? "whole, all checksums agree"
                             : "whole in structure; it has no checksums to compare");
    json_decref(root);
    tri_model_spec_destroy(&spec);
    return status;
}

tri_status tri_checkpoint_verify(const char *path, FILE *out, tri_error *err)
{
    struct verify_run run = {.dir = path, .out = out, .err = err};
    run.arena = tri_arena_create();
    run.buffer = malloc(TRI_STAGING_BYTES);
    tri_checksum_init(&run.checksum);
    tri_status status = run.arena && run.buffer ? verify_all(&run, path)
                                                : tri_error_add(err, TRI_NOMEM, "out of memory");
    free(run.buffer);
    tri_arena_destroy(&run.arena);
    return status;
}
