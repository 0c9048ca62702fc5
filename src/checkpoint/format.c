/* SPDX-License-Identifier: Apache-2.0 */
/* state.json and checksums.json; format.h, docs/FORMATS.md. */
#include "checkpoint/format.h"

#include "checkpoint/io.h"
#include "checkpoint/json_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char state_format[] = "trine checkpoint";
static const char sums_format[] = "trine checksums";

static tri_status format_no_memory(tri_error *err)
{
    return tri_error_add(err, TRI_NOMEM, "out of memory for the state of a checkpoint");
}

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

static json_t *state_moments(const struct tri_checkpoint_save *save,
                             const struct tri_disk_set *moment_sets)
{
    json_t *moments = json_object();
    for (int i = 0; i < save->num_moments; i++) {
        json_t *files = json_array();
        for (int f = 0; f < moment_sets[i].num_files; f++)
            json_array_append_new(files, json_string(moment_sets[i].files[f].name));
        json_object_set_new(moments, save->moments[i].name, files);
    }
    return moments;
}

tri_status tri_format_write_state(const char *path, const struct tri_checkpoint_save *save,
                                  const struct tri_disk_set *moment_sets, tri_error *err)
{
    const struct tri_checkpoint_state *state = save->state;
    json_t *root = json_pack("{ss si sI sI sI sI sI ss sI so so so so}", /* */
                             "format", state_format,                     /* */
                             "version", TRI_CHECKPOINT_VERSION,          /* */
                             "iteration", (json_int_t)state->iteration,  /* */
                             "consumed_samples", (json_int_t)state->consumed_samples,
                             "consumed_tokens", (json_int_t)state->consumed_tokens,
                             "schedule_position", (json_int_t)state->schedule_position,
                             "optimizer_steps", (json_int_t)state->optimizer_steps, /* */
                             "family", save->model->family->name,                   /* */
                             "num_parameter_tensors", (json_int_t)save->model->num_params,
                             "moments", state_moments(save, moment_sets), /* */
                             "tokenizer", text_or_null(state->tokenizer), /* */
                             "data", text_or_null(state->data),           /* */
                             "options", text_or_null(state->options));
    if (!root)
        return tri_error_add(err, TRI_INVALID,
                             "the state of the checkpoint cannot be written: out of memory or a "
                             "text that is not UTF-8");
    tri_status status = tri_json_write_file(path, root, false, err);
    json_decref(root);
    return status;
}

static tri_status state_open(const char *dir, tri_arena *arena, tri_error *err, const char **path,
                             json_t **root)
{
    *path = tri_io_path(arena, err, dir, TRI_STATE_FILE);
    if (!*path)
        return TRI_NOMEM;
    TRI_TRY(tri_json_read_file(*path, TRI_MAX_JSON_BYTES_STATE, err, root));
    const struct tri_json json = {.object = *root, .name = *path, .err = err};
    const char *format = NULL;
    int64_t version = 0;
    tri_status status = tri_json_get_text(&json, "format", &format);
    tri_status got = tri_json_get_int(&json, "version", &version);
    status = status == TRI_OK ? got : status;
    if (status == TRI_OK && strcmp(format, state_format) != 0)
        status = tri_error_add(err, TRI_INVALID, "'%s' is no training state of trine", *path);
    if (status == TRI_OK && (version < 1 || version > TRI_CHECKPOINT_VERSION))
        status = tri_error_add(err, TRI_UNSUPPORTED,
                               "'%s' has format version %lld, this program reads 1 to %d; use a "
                               "newer trine",
                               *path, (long long)version, TRI_CHECKPOINT_VERSION);
    if (status != TRI_OK)
        json_decref(*root);
    return status;
}

static tri_status state_number(const struct tri_json *json, const char *key, int64_t *value)
{
    TRI_TRY(tri_json_get_int(json, key, value));
    if (*value < 0)
        return tri_error_add(json->err, TRI_INVALID, "%s: '%s' is %lld, expected at least 0",
                             json->name, key, (long long)*value);
    return TRI_OK;
}

static tri_status state_text(const struct tri_json *json, const char *key, tri_arena *arena,
                             const char **text)
{
    const char *found;
    *text = NULL;
    if (!tri_json_has(json, key))
        return TRI_OK;
    TRI_TRY(tri_json_get_text(json, key, &found));
    *text = tri_arena_format(arena, "%s", found);
    return *text ? TRI_OK : format_no_memory(json->err);
}

tri_status tri_checkpoint_read_state(const char *dir, tri_arena *arena, tri_error *err,
                                     struct tri_checkpoint_state *state)
{
    const char *path = NULL;
    json_t *root = NULL;
    TRI_TRY(state_open(dir, arena, err, &path, &root));
    struct tri_checkpoint_state made = {0};
    const struct {
        const char *key;
        int64_t *value;
    } numbers[] = {
        {"iteration", &made.iteration},
        {"consumed_samples", &made.consumed_samples},
        {"consumed_tokens", &made.consumed_tokens},
        {"schedule_position", &made.schedule_position},
        {"optimizer_steps", &made.optimizer_steps},
    };
    const struct {
        const char *key;
        const char **text;
    } texts[] = {{"options", &made.options}, {"tokenizer", &made.tokenizer}, {"data", &made.data}};
    const struct tri_json json = {.object = root, .name = path, .err = err};
    tri_status status = TRI_OK;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        tri_status got = state_number(&json, numbers[i].key, numbers[i].value);
        status = status == TRI_OK ? got : status;
    }
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        tri_status got = state_text(&json, texts[i].key, arena, texts[i].text);
        status = status == TRI_OK ? got : status;
    }
    json_decref(root);
    if (status == TRI_OK)
        *state = made;
    return status;
}

static tri_status moment_list(const json_t *root, const char *path, const char *name,
                              tri_arena *arena, tri_error *err, struct tri_moment_files *files)
{
    const struct tri_json json = {.object = root, .name = path, .err = err};
    const json_t *moments;
    TRI_TRY(tri_json_get_object(&json, "moments", &moments));
    const json_t *list = json_object_get(moments, name);
    if (!json_is_array(list))
        return tri_error_add(err, TRI_INVALID,
                             "'%s' lists no optimizer state '%s': it was saved by another "
                             "optimizer; load the weights only",
                             path, name);
    size_t num = json_array_size(list);
    const char **names = tri_arena_alloc(arena, (num + 1) * sizeof(*names));
    if (!names)
        return format_no_memory(err);
    for (size_t i = 0; i < num; i++) {
        const char *file = json_string_value(json_array_get(list, i));
        if (!file || !file[0] || strchr(file, '/') || file[0] == '.')
            return tri_error_add(err, TRI_INVALID,
                                 "'%s': file %zu of moment '%s' is no plain file name", path, i + 1,
                                 name);
        names[i] = tri_arena_format(arena, "%s", file);
        if (!names[i])
            return format_no_memory(err);
    }
    *files = (struct tri_moment_files){.name = name, .num_files = (int)num, .files = names};
    return TRI_OK;
}

tri_status tri_format_read_moment(const char *dir, const char *name, tri_arena *arena,
                                  tri_error *err, struct tri_moment_files *files)
{
    const char *path = NULL;
    json_t *root = NULL;
    TRI_TRY(state_open(dir, arena, err, &path, &root));
    tri_status status = moment_list(root, path, name, arena, err, files);
    json_decref(root);
    return status;
}

static tri_status moment_names(const json_t *root, const char *path, tri_arena *arena,
                               tri_error *err, const char ***names, int *num)
{
    const struct tri_json json = {.object = root, .name = path, .err = err};
    const json_t *moments;
    TRI_TRY(tri_json_get_object(&json, "moments", &moments));
    const char **list = tri_arena_alloc(arena, (json_object_size(moments) + 1) * sizeof(*list));
    if (!list)
        return format_no_memory(err);
    const char *name;
    json_t *files;
    *num = 0;
    json_object_foreach((json_t *)moments, name, files)
    {
        list[*num] = tri_arena_format(arena, "%s", name);
        if (!list[(*num)++])
            return format_no_memory(err);
    }
    *names = list;
    return TRI_OK;
}

tri_status tri_format_list_moments(const char *dir, tri_arena *arena, tri_error *err,
                                   const char *const **names, int *num)
{
    const char *path = NULL, **list = NULL;
    json_t *root = NULL;
    TRI_TRY(state_open(dir, arena, err, &path, &root));
    tri_status status = moment_names(root, path, arena, err, &list, num);
    json_decref(root);
    if (status == TRI_OK)
        *names = list;
    return status;
}

static json_t *sum_text(uint64_t sum)
{
    return json_sprintf("%016llx", (unsigned long long)sum);
}

bool tri_format_parse_sum(const json_t *text, uint64_t *sum)
{
    const char *digits = json_string_value(text);
    if (!digits || strlen(digits) != 16 || strspn(digits, "0123456789abcdef") != 16)
        return false;
    *sum = strtoull(digits, NULL, 16);
    return true;
}

tri_status tri_format_add_sums(json_t *files, const struct tri_checksum *checksum,
                               const char *file_name, const struct tri_disk_set *set, int file,
                               const uint64_t *sums, tri_error *err)
{
    const struct tri_disk_file *f = &set->files[file];
    json_t *tensors = json_object();
    for (int i = 0; i < set->num_tensors; i++)
        if (set->tensors[i].file == file)
            json_object_set_new(tensors, set->tensors[i].name, sum_text(sums[i]));
    uint64_t header = tri_checksum_bytes(checksum, f->header, 0, f->header_bytes);
    json_t *entry = json_pack("{sI so so}", "bytes", (json_int_t)f->bytes, "header",
                              sum_text(header), "tensors", tensors);
    if (!entry || json_object_set_new(files, file_name, entry) != 0)
        return format_no_memory(err);
    return TRI_OK;
}

static tri_status sum_open_file(const struct tri_checksum *checksum, int fd, const char *path,
                                void *buffer, size_t buffer_bytes, tri_error *err, int64_t *bytes,
                                uint64_t *sum)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return tri_io_fail(err, "read", path, errno);
    *bytes = st.st_size;
    *sum = 0;
    for (int64_t at = 0; at < st.st_size;) {
        int64_t n = st.st_size - at;
        if (n > (int64_t)buffer_bytes)
            n = (int64_t)buffer_bytes;
        TRI_TRY(tri_io_read_at(fd, path, buffer, n, at, err));
        *sum += tri_checksum_bytes(checksum, buffer, at / 4, n);
        at += n;
    }
    return TRI_OK;
}

tri_status tri_format_sum_file(const struct tri_checksum *checksum, const char *path, void *buffer,
                               size_t buffer_bytes, tri_error *err, int64_t *bytes, uint64_t *sum)
{
    int fd = -1;
    TRI_TRY(tri_io_open_read(path, err, &fd));
    tri_status status = sum_open_file(checksum, fd, path, buffer, buffer_bytes, err, bytes, sum);
    close(fd);
    return status;
}

tri_status tri_format_add_file(json_t *files, const struct tri_checksum *checksum, const char *dir,
                               const char *file_name, void *buffer, size_t buffer_bytes,
                               tri_error *err)
{
    tri_arena *arena = tri_arena_create();
    const char *path = arena ? tri_io_path(arena, err, dir, file_name) : NULL;
    int64_t bytes = 0;
    uint64_t sum = 0;
    tri_status status =
        path ? tri_format_sum_file(checksum, path, buffer, buffer_bytes, err, &bytes, &sum)
             : format_no_memory(err);
    tri_arena_destroy(&arena);
    TRI_TRY(status);
    json_t *entry = json_pack("{sI so}", "bytes", (json_int_t)bytes, "sum", sum_text(sum));
    if (!entry || json_object_set_new(files, file_name, entry) != 0)
        return format_no_memory(err);
    return TRI_OK;
}

tri_status tri_format_write_sums(const char *path, json_t *files, tri_error *err)
{
    json_t *root = json_pack("{ss si sO}", "format", sums_format, "version", TRI_CHECKPOINT_VERSION,
                             "files", files);
    if (!root)
        return format_no_memory(err);
    tri_status status = tri_json_write_file(path, root, true, err);
    json_decref(root);
    return status;
}

static tri_status check_sums(const json_t *root, const char *path, tri_error *err)
{
    const struct tri_json json = {.object = root, .name = path, .err = err};
    const json_t *files;
    int64_t version;
    TRI_TRY(tri_json_get_object(&json, "files", &files));
    TRI_TRY(tri_json_get_int(&json, "version", &version));
    if (version != TRI_CHECKPOINT_VERSION)
        return tri_error_add(err, TRI_UNSUPPORTED,
                             "'%s' has format version %lld, this program reads %d", path,
                             (long long)version, TRI_CHECKPOINT_VERSION);
    return TRI_OK;
}

tri_status tri_format_read_sums(const char *dir, tri_error *err, json_t **root, json_t **files)
{
    tri_arena *arena = tri_arena_create();
    const char *path = arena ? tri_io_path(arena, err, dir, TRI_CHECKSUM_FILE) : NULL;
    json_t *got = NULL;
    tri_status status = path ? tri_json_read_file(path, TRI_MAX_JSON_BYTES_STATE, err, &got)
                             : format_no_memory(err);
    if (status == TRI_OK)
        status = check_sums(got, path, err);
    tri_arena_destroy(&arena);
    if (status != TRI_OK) {
        json_decref(got);
        return status;
    }
    *root = got;
    *files = json_object_get(got, "files");
    return TRI_OK;
}

static tri_status check_size(const char *dir, const char *name, const json_t *entry,
                             tri_arena *arena, tri_error *err)
{
    const char *path = tri_io_path(arena, err, dir, name);
    const json_t *bytes = json_object_get(entry, "bytes");
    if (!path)
        return TRI_NOMEM;
    if (!json_is_integer(bytes))
        return tri_error_add(err, TRI_INVALID, "'%s/%s': '%s' has no size", dir, TRI_CHECKSUM_FILE,
                             name);
    struct stat st;
    if (stat(path, &st) != 0)
        return tri_io_fail(err, "find", path, errno);
    if (st.st_size != json_integer_value(bytes))
        return tri_error_add(err, TRI_INVALID,
                             "'%s' is %lld bytes, it was saved with %lld: the checkpoint is not "
                             "whole",
                             path, (long long)st.st_size, (long long)json_integer_value(bytes));
    return TRI_OK;
}

tri_status tri_format_check_sizes(const char *dir, tri_arena *arena, tri_error *err)
{
    json_t *root = NULL, *files = NULL, *entry;
    TRI_TRY(tri_format_read_sums(dir, err, &root, &files));
    const char *name;
    tri_status status = TRI_OK;
    json_object_foreach(files, name, entry)
    {
        /* the user may change the other files: config.json, tokenizer */
        if (!json_object_get(entry, "tensors") && strcmp(name, TRI_STATE_FILE) != 0)
            continue;
        tri_status got = check_size(dir, name, entry, arena, err);
        status = status == TRI_OK ? got : status;
    }
    json_decref(root);
    return status;
}
