/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the checkpoint tests share: models described by the real spec room, grids of ranks that hold pieces of
 * them, an element-by-element map from local to global indices that knows nothing of
 * checkpoint/layout.h, a plain reader of safetensors files, and scratch folders.
 */
#pragma once

#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "kernels/reduce.h"
#include "shape/hf_config.h"
#include "spec/family.h"
#include "spec/model_spec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#define MAX_RANKS 16

/* ---- folders and files ---- */

static inline const char *scratch_dir(void)
{
    static char dir[64];
    if (!dir[0]) {
        snprintf(dir, sizeof(dir), "/tmp/trine-test-XXXXXX");
        assert_non_null(mkdtemp(dir));
    }
    return dir;
}

static inline void shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline void shell(const char *format, ...)
{
    char command[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    if (system(command) != 0)
        fail_msg("command failed: %s", command);
}

static inline int scratch_remove(void **state)
{
    (void)state;
    shell("rm -rf %s", scratch_dir());
    return 0;
}

static inline char *slurp(const char *path, long *bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("cannot open %s", path);
    fseek(file, 0, SEEK_END);
    *bytes = ftell(file);
    rewind(file);
    char *data = malloc((size_t)*bytes + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, (size_t)*bytes, file), (size_t)*bytes);
    data[*bytes] = '\0';
    fclose(file);
    return data;
}

static inline void spill(const char *path, const void *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        fail_msg("cannot create %s", path);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    fclose(file);
}

/* ---- error records ---- */

static inline void print_errors(const tri_error *err)
{
    for (int i = 0; i < tri_error_count(err); i++)
        print_message("    %s\n", tri_error_message(err, i));
}

static inline bool has_message(const tri_error *err, const char *part)
{
    for (int i = 0; i < tri_error_count(err); i++)
        if (strstr(tri_error_message(err, i), part))
            return true;
    return false;
}

static inline bool has_note(const tri_error *err, const char *part)
{
    for (int i = 0; i < tri_error_note_count(err); i++)
        if (strstr(tri_error_note_message(err, i), part))
            return true;
    return false;
}

#define ASSERT_MESSAGE(err, part)                                                                  \
    do {                                                                                           \
        if (!has_message(err, part)) {                                                             \
            print_errors(err);                                                                     \
            fail_msg("no message with \"%s\"", part);                                              \
        }                                                                                          \
    } while (0)

/* ---- a plain reader ---- */

/* The tensor's floats, in memory of the caller; dims of at most 2. */
static inline float *plain_read(const char *path, const char *name, int64_t dims[2])
{
    long bytes;
    char *data = slurp(path, &bytes);
    uint64_t n;
    memcpy(&n, data, 8);
    json_t *root = json_loadb(data + 8, n, 0, NULL);
    json_t *entry = json_object_get(root, name);
    float *values = NULL;
    if (entry) {
        json_t *shape = json_object_get(entry, "shape"),
               *offsets = json_object_get(entry, "data_offsets");
        int64_t begin = json_integer_value(json_array_get(offsets, 0));
        int64_t end = json_integer_value(json_array_get(offsets, 1));
        dims[0] = json_integer_value(json_array_get(shape, 0));
        dims[1] = json_array_size(shape) > 1 ? json_integer_value(json_array_get(shape, 1)) : 1;
        values = malloc((size_t)(end - begin) + 1);
        memcpy(values, data + 8 + n + begin, (size_t)(end - begin));
    }
    json_decref(root);
    free(data);
    return values;
}

/* ---- models ---- */

struct test_model {
    tri_arena *arena;
    tri_error *err;
    struct tri_model_spec *spec;
    int num;
    const struct tri_param_spec **params; /* of one rank */
    int *units;
    struct tri_checkpoint_model model;
};

/* The parameters of every unit under tp, in model order; shared false: the head has a tied copy. */
static inline int model_params(struct test_model *m, int tp, bool shared,
                               const struct tri_param_spec **params, int *units)
{
    int num = 0;
    for (int u = 0; u < m->spec->num_units; u++) {
        struct tri_sizing_input input = {.shape = &m->spec->shape,
                                         .split = {tp, 1, 1, 1, 1},
                                         .micro_batch_size = 1,
                                         .seq_length = 8,
                                         .team_size = 1,
                                         .shared_head = shared};
        struct tri_unit_size size;
        if (tri_size_unit(m->spec, u, &input, m->arena, m->err, &size) != TRI_OK) {
            print_errors(m->err);
            fail_msg("unit %d", u);
        }
        for (int i = 0; i < size.num_params; i++) {
            params[num] = &size.params[i];
            units[num++] = u;
        }
    }
    return num;
}

#define MAX_PARAMS 256

static inline void model_open(struct test_model *m, const char *dir)
{
    *m = (struct test_model){.arena = tri_arena_create(), .err = tri_error_create()};
    char *text = NULL, type[64];
    size_t bytes = 0;
    struct tri_gpt_config config;
    bool good = tri_hf_config_load(dir, m->err, &text, &bytes) == TRI_OK &&
                tri_hf_config_model_type(text, bytes, dir, m->err, type, sizeof(type)) == TRI_OK;
    const struct tri_family *family = good ? tri_family_find(type) : NULL;
    good = good && family &&
           tri_hf_config_read(family->config, text, bytes, dir, m->err, &config) == TRI_OK &&
           tri_model_spec_create(&config, NULL, m->err, &m->spec) == TRI_OK;
    free(text);
    if (!good) {
        print_errors(m->err);
        fail_msg("cannot describe %s", dir);
    }
    m->params = tri_arena_alloc(m->arena, MAX_PARAMS * sizeof(*m->params));
    m->units = tri_arena_alloc(m->arena, MAX_PARAMS * sizeof(*m->units));
    m->num = model_params(m, 1, true, m->params, m->units);
    m->model = (struct tri_checkpoint_model){
        .family = family,
        .vocab_size = config.vocab_size,
        .tied = !config.untie_embeddings_and_output_weights,
        .num_params = m->num,
        .params = m->params,
    };
}

static inline void model_close(struct test_model *m)
{
    tri_model_spec_destroy(&m->spec);
    tri_error_destroy(&m->err);
    tri_arena_destroy(&m->arena);
}

/* ---- local and global, element by element ---- */

static inline void local_dims(const struct tri_param_spec *spec, int tp, int64_t *rows,
                              int64_t *cols)
{
    int64_t padded = spec->padded_rows > spec->dims[0] ? spec->padded_rows : spec->dims[0];
    *rows = spec->cut_dim == 0 ? padded / tp : padded;
    *cols = spec->num_dims < 2 ? 1 : spec->cut_dim == 1 ? spec->dims[1] / tp : spec->dims[1];
}

/* Global row and column of a local element; false for padding. */
static inline bool to_global(const struct tri_param_spec *spec, int rank, int tp, int64_t element,
                             int64_t *row, int64_t *col)
{
    int64_t rows, cols;
    local_dims(spec, tp, &rows, &cols);
    *row = element / cols;
    *col = element % cols + (spec->cut_dim == 1 ? rank * cols : 0);
    if (spec->cut_dim == 0 && spec->num_parts > 1) {
        int64_t local = *row;
        for (int p = 0; p < spec->num_parts; p++) {
            int64_t share = spec->parts[p].rows / tp;
            if (local < share) {
                *row = spec->parts[p].first + rank * share + local;
                break;
            }
            local -= share;
        }
    } else if (spec->cut_dim == 0) {
        *row += rank * rows;
    }
    return *row < spec->dims[0];
}

/* A value for every element of every named tensor. */
static inline float test_value(const char *name, int64_t row, int64_t col, uint32_t salt)
{
    uint32_t h = 2166136261u ^ salt;
    for (const char *c = name; *c; c++)
        h = (h ^ (unsigned char)*c) * 16777619u;
    h = (h ^ (uint32_t)row) * 2654435761u;
    h = (h ^ h >> 15 ^ (uint32_t)col) * 2246822519u;
    h ^= h >> 13;
    return (float)(int32_t)h * 0x1p-31f;
}

/* ---- grids ---- */

struct test_grid {
    int tp, dp, pp;
};

/* One rank's pieces: weights whole, moments cut over dp. */
struct test_rank {
    int num;
    struct tri_state_tensor load[MAX_PARAMS]; /* whole local tensors; dp rank 0 counts */
    struct tri_state_tensor save[MAX_PARAMS]; /* shards of them */
    struct tri_state_tensor moment[2][MAX_PARAMS];
};

static inline void rank_make(struct test_model *m, struct test_grid grid, int rank,
                             struct test_rank *r)
{
    int tp = rank % grid.tp, dp = rank / grid.tp % grid.dp, pp = rank / grid.tp / grid.dp;
    const struct tri_param_spec *params[MAX_PARAMS];
    int units[MAX_PARAMS];
    int num = model_params(m, grid.tp, grid.pp == 1, params, units);
    r->num = 0;
    for (int i = 0; i < num; i++) {
        int stage = units[i] * grid.pp / m->spec->num_units;
        if (stage != pp)
            continue;
        const struct tri_param_spec *spec = params[i];
        int64_t rows, cols;
        local_dims(spec, grid.tp, &rows, &cols);
        int64_t all = rows * cols;
        /* odd borders, so that shards begin within rows */
        int64_t first = dp == 0 ? 0 : (all * dp / grid.dp) | 1;
        int64_t last = dp == grid.dp - 1 ? all : (all * (dp + 1) / grid.dp) | 1;
        first = first > all ? all : first;
        last = last > all ? all : last;
        bool owner = !spec->tied_copy && (spec->cut_dim != -1 || tp == 0);
        struct tri_state_tensor piece = {
            .spec = spec, .tp_rank = tp, .tp_size = grid.tp, .count = all};
        piece.data = calloc((size_t)all, sizeof(float));
        piece.writes = owner && dp == 0;
        r->load[r->num] = piece;
        struct tri_state_tensor shard = piece;
        shard.first = first;
        shard.count = last - first;
        shard.data = piece.data + first;
        shard.writes = owner;
        r->save[r->num] = shard;
        for (int k = 0; k < 2; k++) {
            r->moment[k][r->num] = shard;
            r->moment[k][r->num].data = calloc((size_t)(last - first) + 1, sizeof(float));
        }
        r->num++;
    }
}

static inline void rank_free(struct test_rank *r)
{
    for (int i = 0; i < r->num; i++) {
        free(r->load[i].data);
        free(r->moment[0][i].data);
        free(r->moment[1][i].data);
    }
}

/* Fills the pieces of list with the test's values, or counts those that differ. */
static inline int64_t pieces_fill_or_compare(const struct tri_state_tensor *list, int num,
                                             uint32_t salt, bool compare)
{
    int64_t wrong = 0;
    for (int i = 0; i < num; i++) {
        const struct tri_state_tensor *t = &list[i];
        for (int64_t e = 0; e < t->count; e++) {
            int64_t row, col;
            bool real = to_global(t->spec, t->tp_rank, t->tp_size, t->first + e, &row, &col);
            float value = real ? test_value(t->spec->name, row, col, salt) : 0;
            if (compare)
                wrong += memcmp(&t->data[e], &value, sizeof(value)) != 0;
            else
                t->data[e] = value;
        }
    }
    return wrong;
}

/* ---- runs ---- */

/* Runs body on num ranks; err gets every rank's messages. */
static inline tri_status run_ranks(int num, tri_rank_fn *body, void *arg, tri_error *err)
{
    tri_error *errs[MAX_RANKS];
    for (int i = 0; i < num; i++)
        errs[i] = tri_error_create();
    tri_status status = tri_threads_run(num, 60, tri_reduce_in_order, body, arg, errs);
    for (int i = 0; i < num; i++) {
        tri_error_append(err, errs[i]);
        tri_error_destroy(&errs[i]);
    }
    return status;
}
