/* SPDX-License-Identifier: Apache-2.0 */
/* The list of a model's file tensors and their places; disk_set.h. */
#include "checkpoint/disk_set.h"

#include "checkpoint/safetensors.h"

#include <stdlib.h>
#include <string.h>

static tri_status set_no_memory(tri_error *err)
{
    return tri_error_add(err, TRI_NOMEM, "out of memory for the list of file tensors");
}

bool tri_name_matches(const char *pattern, const char *text, int64_t *number)
{
    *number = -1;
    const char *hole = strstr(pattern, "{}");
    if (!hole)
        return strcmp(pattern, text) == 0;
    size_t before = (size_t)(hole - pattern);
    if (strncmp(pattern, text, before) != 0)
        return false;
    const char *digit = text + before;
    int64_t value = 0;
    int num = 0;
    for (; *digit >= '0' && *digit <= '9' && num < 9; digit++, num++)
        value = 10 * value + (*digit - '0');
    if (num == 0 || (num > 1 && text[before] == '0') || strcmp(hole + 2, digit) != 0)
        return false;
    *number = value;
    return true;
}

static const char *name_fill(tri_arena *arena, const char *pattern, int64_t number)
{
    const char *hole = strstr(pattern, "{}");
    if (!hole)
        return tri_arena_format(arena, "%s", pattern);
    return tri_arena_format(arena, "%.*s%lld%s", (int)(hole - pattern), pattern, (long long)number,
                            hole + 2);
}

static struct tri_disk_tensor disk_tensor_of(const struct tri_param_spec *spec, int param)
{
    return (struct tri_disk_tensor){.param = param,
                                    .rows = spec->dims[0],
                                    .cols = spec->num_dims > 1 ? spec->dims[1] : 1,
                                    .num_dims = spec->num_dims};
}

static void disk_tensor_finish(struct tri_disk_tensor *tensor)
{
    bool transposed = tensor->transposed && tensor->num_dims == 2;
    tensor->transposed = transposed;
    tensor->dims[0] = transposed ? tensor->cols : tensor->rows;
    tensor->dims[1] = tensor->num_dims < 2 ? 1 : transposed ? tensor->rows : tensor->cols;
    tensor->elements = tensor->rows * tensor->cols;
}

/* The file tensor that row describes for parameter number param, if it applies. */
static bool row_applies(const struct tri_file_tensor *row, const struct tri_param_spec *spec,
                        int param, struct tri_disk_tensor *tensor, int64_t *layer)
{
    if (!tri_name_matches(row->logical, spec->name, layer))
        return false;
    *tensor = disk_tensor_of(spec, param);
    tensor->transposed = row->transposed;
    if (row->part && strcmp(row->part, TRI_PART_INTERLEAVED) == 0) {
        tensor->interleaved = spec;
    } else if (row->part) {
        int i = 0;
        while (i < spec->num_parts && strcmp(spec->parts[i].name, row->part) != 0)
            i++;
        if (i == spec->num_parts)
            return false;
        tensor->row_first = spec->parts[i].first;
        tensor->rows = spec->parts[i].rows;
    }
    disk_tensor_finish(tensor);
    return true;
}

/* Adds the file tensors of one parameter; they must hold each of its rows once. */
static tri_status add_param(const struct tri_checkpoint_model *model, int param, tri_arena *arena,
                            tri_error *err, struct tri_disk_set *set)
{
    const struct tri_param_spec *spec = model->params[param];
    int64_t rows = 0;
    for (int i = 0; i < model->family->files->num_tensors; i++) {
        const struct tri_file_tensor *row = &model->family->files->tensors[i];
        struct tri_disk_tensor *tensor = &set->tensors[set->num_tensors];
        int64_t layer;
        if (!row_applies(row, spec, param, tensor, &layer))
            continue;
        tensor->name = name_fill(arena, row->file, layer);
        if (!tensor->name)
            return set_no_memory(err);
        rows += tensor->rows;
        set->elements += tensor->elements;
        set->num_tensors++;
    }
    if (rows != spec->dims[0])
        return tri_error_add(err, TRI_UNSUPPORTED,
                             "family '%s' has file tensors for %lld of the %lld rows of parameter "
                             "'%s': the model cannot be written in its form",
                             model->family->name, (long long)rows, (long long)spec->dims[0],
                             spec->name);
    return TRI_OK;
}

struct named_param {
    const char *name;
    int param;
};

static int named_param_compare(const void *a, const void *b)
{
    return strcmp(((const struct named_param *)a)->name, ((const struct named_param *)b)->name);
}

static tri_status set_begin(const struct tri_checkpoint_model *model, int most, tri_arena *arena,
                            tri_error *err, struct tri_disk_set *set, int **first)
{
    size_t n = (size_t)model->num_params;
    struct named_param *named = tri_arena_alloc(arena, (n + 1) * sizeof(*named));
    int *by_name = tri_arena_alloc(arena, (n + 1) * sizeof(*by_name));
    *first = tri_arena_alloc(arena, (n + 1) * sizeof(**first));
    *set = (struct tri_disk_set){
        .num_params = model->num_params,
        .param_first = *first,
        .by_name = by_name,
        .model = model,
        .tensors = tri_arena_alloc(arena, ((size_t)most * n + 1) * sizeof(*set->tensors)),
    };
    if (!named || !by_name || !*first || !set->tensors)
        return set_no_memory(err);
    for (int i = 0; i < model->num_params; i++)
        named[i] = (struct named_param){model->params[i]->name, i};
    qsort(named, n, sizeof(*named), named_param_compare);
    for (int i = 0; i < model->num_params; i++) {
        by_name[i] = named[i].param;
        TRI_CHECK(i == 0 || strcmp(named[i - 1].name, named[i].name) != 0, err, TRI_BUG,
                  "parameter '%s' stands twice in the model's list", named[i].name);
    }
    return TRI_OK;
}

tri_status tri_disk_set_weights(const struct tri_checkpoint_model *model, tri_arena *arena,
                                tri_error *err, struct tri_disk_set *set)
{
    struct tri_disk_set made;
    int *first;
    /* a parameter has at most as many file tensors as parts; one more is room to look at a row */
    TRI_TRY(set_begin(model, 4, arena, err, &made, &first));
    tri_status status = TRI_OK;
    for (int i = 0; i < model->num_params; i++) {
        first[i] = made.num_tensors;
        tri_status got = add_param(model, i, arena, err, &made);
        if (status == TRI_OK)
            status = got;
    }
    first[model->num_params] = made.num_tensors;
    if (status == TRI_OK)
        *set = made;
    return status;
}

tri_status tri_disk_set_logical(const struct tri_checkpoint_model *model, tri_arena *arena,
                                tri_error *err, struct tri_disk_set *set)
{
    struct tri_disk_set made;
    int *first;
    TRI_TRY(set_begin(model, 1, arena, err, &made, &first));
    for (int i = 0; i < model->num_params; i++) {
        first[i] = i;
        made.tensors[i] = disk_tensor_of(model->params[i], i);
        made.tensors[i].name = model->params[i]->name;
        disk_tensor_finish(&made.tensors[i]);
        made.elements += made.tensors[i].elements;
    }
    first[model->num_params] = made.num_tensors = model->num_params;
    *set = made;
    return TRI_OK;
}

int tri_disk_set_find_param(const struct tri_disk_set *set, const char *name)
{
    int lo = 0, hi = set->num_params - 1;
    while (lo <= hi) {
        int mid = lo + (hi - lo) / 2, param = set->by_name[mid];
        int order = strcmp(name, set->model->params[param]->name);
        if (order == 0)
            return param;
        if (order < 0)
            hi = mid - 1;
        else
            lo = mid + 1;
    }
    return -1;
}

static int entry_compare(const void *a, const void *b)
{
    return strcmp(((const struct tri_safetensors_entry *)a)->name,
                  ((const struct tri_safetensors_entry *)b)->name);
}

/* Header and offsets of the file that holds tensors [first, last) of set. */
static tri_status split_file(struct tri_disk_set *set, int first, int last, tri_arena *arena,
                             tri_error *err, struct tri_disk_file *file)
{
    int num = last - first;
    struct tri_safetensors_entry *entries =
        tri_arena_alloc(arena, ((size_t)num + 1) * sizeof(*entries));
    if (!entries)
        return set_no_memory(err);
    for (int i = 0; i < num; i++) {
        const struct tri_disk_tensor *tensor = &set->tensors[first + i];
        entries[i] = (struct tri_safetensors_entry){
            .name = tensor->name, .num_dims = tensor->num_dims, .dims = tensor->dims};
    }
    qsort(entries, (size_t)num, sizeof(*entries), entry_compare);
    TRI_TRY(tri_safetensors_layout(entries, num, arena, err, &file->header, &file->header_bytes,
                                   &file->bytes));
    for (int i = first; i < last; i++) {
        struct tri_safetensors_entry key = {.name = set->tensors[i].name};
        const struct tri_safetensors_entry *found =
            bsearch(&key, entries, (size_t)num, sizeof(*entries), entry_compare);
        set->tensors[i].begin = found->begin;
    }
    return TRI_OK;
}

tri_status tri_disk_set_split(struct tri_disk_set *set, const char *stem, int64_t limit,
                              tri_arena *arena, tri_error *err)
{
    int num = 0;
    int64_t bytes = 0;
    for (int i = 0; i < set->num_tensors; i++) {
        struct tri_disk_tensor *tensor = &set->tensors[i];
        if (num == 0 || bytes + 4 * tensor->elements > limit) {
            num++;
            bytes = 0;
        }
        bytes += 4 * tensor->elements;
        tensor->file = num - 1;
    }
    struct tri_disk_file *files = tri_arena_alloc(arena, ((size_t)num + 1) * sizeof(*files));
    if (!files)
        return set_no_memory(err);
    for (int f = 0, first = 0; f < num; f++) {
        int last = first;
        while (last < set->num_tensors && set->tensors[last].file == f)
            last++;
        files[f].name =
            num == 1 ? tri_arena_format(arena, "%s.safetensors", stem)
                     : tri_arena_format(arena, "%s-%05d-of-%05d.safetensors", stem, f + 1, num);
        if (!files[f].name)
            return set_no_memory(err);
        TRI_TRY(split_file(set, first, last, arena, err, &files[f]));
        first = last;
    }
    set->files = files;
    set->num_files = num;
    return TRI_OK;
}
