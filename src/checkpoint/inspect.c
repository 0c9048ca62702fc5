/* SPDX-License-Identifier: Apache-2.0 */
/* Printing what a directory holds. */
#include "checkpoint/inspect.h"

#include "checkpoint/format.h"
#include "checkpoint/json_write.h"
#include "checkpoint/source.h"

#include <stdlib.h>

struct inspection {
    const char *dir;
    const char *model_type;
    struct tri_source source;
    int64_t elements, bytes;
    int num_tensors;
    bool has_state;
    struct tri_checkpoint_state state;
    const char *const *moments;
    int num_moments;
};

/* config.json's model_type; "?" when it has none: looking must not need a family. */
static const char *inspect_model_type(const char *dir, tri_arena *arena)
{
    const char *path = tri_arena_format(arena, "%s/config.json", dir), *type = NULL;
    json_t *root = NULL;
    if (path && tri_json_read_file(path, TRI_MAX_JSON_BYTES, NULL, &root) == TRI_OK) {
        const char *text = json_string_value(json_object_get(root, "model_type"));
        type = text ? tri_arena_format(arena, "%s", text) : NULL;
        json_decref(root);
    }
    return type ? type : "?";
}

static tri_status inspect_read(const char *path, tri_arena *arena, tri_error *err,
                               struct inspection *found)
{
    TRI_TRY(tri_checkpoint_resolve(path, arena, err, &found->dir));
    TRI_TRY(tri_source_open_hf(found->dir, arena, err, &found->source));
    found->model_type = inspect_model_type(found->dir, arena);
    for (int f = 0; f < found->source.num_files; f++) {
        const struct tri_safetensors *file = &found->source.files[f];
        found->num_tensors += file->num_tensors;
        found->bytes += file->bytes - file->header_bytes;
        for (int i = 0; i < file->num_tensors; i++)
            found->elements += file->tensors[i].elements;
    }
    found->has_state = tri_checkpoint_has_state(found->dir);
    if (!found->has_state)
        return TRI_OK;
    TRI_TRY(tri_checkpoint_read_state(found->dir, arena, err, &found->state));
    return tri_format_list_moments(found->dir, arena, err, &found->moments, &found->num_moments);
}

static void inspect_print_text(FILE *out, const struct inspection *found, tri_arena *arena)
{
    fprintf(out, "directory          %s\n", found->dir);
    fprintf(out, "model_type         %s\n", found->model_type);
    fprintf(out, "parameters         %lld in %d tensors, %lld bytes\n", (long long)found->elements,
            found->num_tensors, (long long)found->bytes);
    if (found->has_state) {
        fprintf(out, "iteration          %lld\n", (long long)found->state.iteration);
        fprintf(out, "consumed_samples   %lld\n", (long long)found->state.consumed_samples);
        fprintf(out, "consumed_tokens    %lld\n", (long long)found->state.consumed_tokens);
        fprintf(out, "optimizer_steps    %lld\n", (long long)found->state.optimizer_steps);
        fprintf(out, "optimizer_state   ");
        for (int i = 0; i < found->num_moments; i++)
            fprintf(out, " %s", found->moments[i]);
        fprintf(out, "%s\n", found->num_moments > 0 ? "" : " none");
    } else {
        fprintf(out, "training state     none\n");
    }
    for (int f = 0; f < found->source.num_files; f++) {
        const struct tri_safetensors *file = &found->source.files[f];
        fprintf(out, "\n%s  %lld bytes\n", file->name, (long long)file->bytes);
        for (int i = 0; i < file->num_tensors; i++) {
            const struct tri_safetensors_tensor *t = &file->tensors[i];
            fprintf(out, "  %-52s %-5s %s\n", t->name, t->dtype->name,
                    tri_safetensors_shape_text(arena, t->num_dims, t->dims));
        }
    }
}

static json_t *inspect_tensor(const struct tri_safetensors *file,
                              const struct tri_safetensors_tensor *tensor)
{
    json_t *shape = json_array();
    for (int d = 0; d < tensor->num_dims; d++)
        json_array_append_new(shape, json_integer(tensor->dims[d]));
    return json_pack("{ss ss so ss sI}", "name", tensor->name, "dtype", tensor->dtype->name,
                     "shape", shape, "file", file->name, "begin", (json_int_t)tensor->begin);
}

static json_t *inspect_state(const struct inspection *found)
{
    if (!found->has_state)
        return json_null();
    json_t *moments = json_array();
    for (int i = 0; i < found->num_moments; i++)
        json_array_append_new(moments, json_string(found->moments[i]));
    const struct tri_checkpoint_state *state = &found->state;
    return json_pack("{sI sI sI sI sI so}", "iteration", (json_int_t)state->iteration,
                     "consumed_samples", (json_int_t)state->consumed_samples, "consumed_tokens",
                     (json_int_t)state->consumed_tokens, "schedule_position",
                     (json_int_t)state->schedule_position, "optimizer_steps",
                     (json_int_t)state->optimizer_steps, "optimizer_state", moments);
}

static tri_status inspect_print_json(FILE *out, const struct inspection *found, tri_error *err)
{
    json_t *tensors = json_array();
    for (int f = 0; f < found->source.num_files; f++)
        for (int i = 0; i < found->source.files[f].num_tensors; i++)
            json_array_append_new(tensors, inspect_tensor(&found->source.files[f],
                                                          &found->source.files[f].tensors[i]));
    json_t *root =
        json_pack("{ss ss sI sI so so}", "directory", found->dir, "model_type", found->model_type,
                  "parameters", (json_int_t)found->elements, "bytes", (json_int_t)found->bytes,
                  "state", inspect_state(found), "tensors", tensors);
    TRI_CHECK(root, err, TRI_NOMEM, "out of memory for the description of '%s'", found->dir);
    char *text = NULL;
    tri_status status = tri_json_write_text(root, false, err, &text);
    json_decref(root);
    if (status == TRI_OK)
        fputs(text, out);
    free(text);
    return status;
}

tri_status tri_checkpoint_inspect(const char *path, bool json, FILE *out, tri_error *err)
{
    tri_arena *arena = tri_arena_create();
    TRI_CHECK(arena, err, TRI_NOMEM, "out of memory for the description of '%s'", path);
    struct inspection found = {0};
    tri_status status = inspect_read(path, arena, err, &found);
    if (status == TRI_OK && json)
        status = inspect_print_json(out, &found, err);
    else if (status == TRI_OK)
        inspect_print_text(out, &found, arena);
    tri_source_close(&found.source);
    tri_arena_destroy(&arena);
    return status;
}
