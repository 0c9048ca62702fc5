/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder behind spec/sizing.h. It walks a unit's tree in pre-order and gives every row its place:
 *
 *   slot      | rows of module 0 | rows of module 1 | ...           one after the other
 *   run       | the same
 *   work      | container's rows | child's rows ...                 siblings start at the same byte
 *
 * Forward and backward never run at the same time in a unit, so their work rows overlap.
 */
#include "spec/sizing.h"

#include "spec/implementation.h"
#include "spec/path.h"
#include "spec/split.h"

#include <string.h>

#define ROW_ALIGN 64

enum { PASS_FORWARD, PASS_BACKWARD, NUM_PASSES };

struct tri_sizer {
    const struct tri_model_spec *spec;
    const struct tri_sizing_input *input;
    tri_arena *arena;
    tri_error *err;
    tri_status status; /* of the first failure; later calls do nothing that matters */

    const char **path; /* num_modules */
    const struct tri_module_spec **node;
    double *module_flops;
    struct tri_size_row *row;
    struct tri_param_spec *param;
    int num_modules, num_rows, num_params;
    int room_modules, room_rows, room_params;

    int module;                  /* being described */
    bool has_children;           /* it has described one: its rows are closed */
    size_t work_end[NUM_PASSES]; /* of its rows */
    size_t slot_end, run_end, work_peak;
    double flops, tp_bytes;
};

/* Doubles a list that is full. */
static bool sizer_grow(struct tri_sizer *sizer, void *list, int count, int *room, size_t item)
{
    if (count < *room)
        return true;
    int more = *room ? 2 * *room : 16;
    void *old = NULL;
    memcpy(&old, list, sizeof(void *));
    void *grown = tri_arena_alloc(sizer->arena, (size_t)more * item);
    if (!grown) {
        if (sizer->status == TRI_OK)
            sizer->status = tri_error_set(sizer->err, TRI_NOMEM, "out of memory while sizing '%s'",
                                          sizer->path ? sizer->path[0] : "a unit");
        return false;
    }
    if (count)
        memcpy(grown, old, (size_t)count * item);
    memcpy(list, &grown, sizeof(void *));
    *room = more;
    return true;
}

const struct tri_sizing_input *tri_sizer_input(const struct tri_sizer *sizer)
{
    return sizer->input;
}

static size_t no_scratch_rows(int64_t R, int64_t C, int team_size)
{
    (void)R, (void)C, (void)team_size;
    return 0;
}

static size_t no_scratch_gemm(int64_t M, int64_t N, int64_t K, int team_size)
{
    (void)M, (void)N, (void)K, (void)team_size;
    return 0;
}

static size_t no_scratch_attention(int64_t S_q, int64_t S_k, int64_t B, int64_t H, int64_t G,
                                   int64_t D, int team_size)
{
    (void)S_q, (void)S_k, (void)B, (void)H, (void)G, (void)D, (void)team_size;
    return 0;
}

static size_t no_scratch_count(int64_t n, int team_size)
{
    (void)n, (void)team_size;
    return 0;
}

/* For counting without a backend; and it stands in after a failure has been noted, so that describe
   functions need no error path. */
static const struct tri_scratch_table no_scratch = {
    .name = "none",
    .bias_backward = no_scratch_rows,
    .layernorm_backward = no_scratch_rows,
    .rmsnorm_backward = no_scratch_rows,
    .gemm = no_scratch_gemm,
    .attention = no_scratch_attention,
    .attention_backward = no_scratch_attention,
    .sum_squares = no_scratch_count,
};

const struct tri_scratch_table *tri_sizer_scratch(const struct tri_sizer *sizer,
                                                  const struct tri_module_spec *node)
{
    const struct tri_sizing_input *input = sizer->input;
    const struct tri_model_spec *spec = sizer->spec;
    const char *kernels = tri_implementation_kernels(spec->extensions, spec->num_extensions, node);
    for (int i = 0; i < input->num_scratch; i++)
        if (strcmp(input->scratch[i].implementation, kernels) == 0)
            return input->scratch[i].table;
    if (input->num_scratch == 0)
        return &no_scratch;
    struct tri_sizer *noted = (struct tri_sizer *)sizer;
    if (noted->status == TRI_OK)
        noted->status =
            tri_error_set(noted->err, TRI_UNSUPPORTED,
                          "'%s' asks for the operations of '%s', which no backend stands behind",
                          sizer->path[sizer->module], kernels);
    return &no_scratch;
}

/* What a row becomes under this input; TRI_NUM_ROW_CLASSES: it is not needed at all. */
static enum tri_row_class sizer_effective_class(const struct tri_sizing_input *input,
                                                enum tri_row_class row_class)
{
    switch (row_class) {
    case TRI_ROW_SAVED_INPUT:
    case TRI_ROW_SAVED_WEIGHT:
        return input->forward_only ? TRI_ROW_WORK_FORWARD : row_class;
    case TRI_ROW_GRAD:
        if (input->forward_only)
            return TRI_NUM_ROW_CLASSES;
        return input->split_backward ? TRI_ROW_GRAD : TRI_ROW_WORK_BACKWARD;
    case TRI_ROW_WORK_BACKWARD:
        return input->forward_only ? TRI_NUM_ROW_CLASSES : row_class;
    case TRI_ROW_WORK_FORWARD:
    case TRI_ROW_RUN:
    case TRI_NUM_ROW_CLASSES:
        break;
    }
    return row_class;
}

/* Gives bytes the next aligned place that ends at *end. */
static size_t sizer_place(size_t *end, size_t bytes)
{
    size_t offset = *end;
    *end += (bytes + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
    return offset;
}

static void sizer_add(struct tri_sizer *sizer, struct tri_size_row row)
{
    TRI_ASSERT(!sizer->has_children); /* a container's rows come before its children */
    row.row_class = sizer_effective_class(sizer->input, row.row_class);
    row.module = sizer->module;
    if (row.row_class == TRI_NUM_ROW_CLASSES ||
        !sizer_grow(sizer, &sizer->row, sizer->num_rows, &sizer->room_rows, sizeof(row)))
        return;
    if (row.row_class == TRI_ROW_RUN) {
        row.offset = sizer_place(&sizer->run_end, row.bytes);
    } else if (row.row_class == TRI_ROW_WORK_FORWARD || row.row_class == TRI_ROW_WORK_BACKWARD) {
        int pass = row.row_class == TRI_ROW_WORK_FORWARD ? PASS_FORWARD : PASS_BACKWARD;
        row.offset = sizer_place(&sizer->work_end[pass], row.bytes);
        if (sizer->work_end[pass] > sizer->work_peak)
            sizer->work_peak = sizer->work_end[pass];
    } else {
        row.offset = sizer_place(&sizer->slot_end, row.bytes);
    }
    sizer->row[sizer->num_rows++] = row;
}

void tri_sizer_row(struct tri_sizer *sizer, enum tri_row_class row_class, const char *name,
                   enum tri_dtype dtype, int num_dims, const int64_t *dims)
{
    struct tri_size_row row = {
        .name = name, .row_class = row_class, .dtype = dtype, .num_dims = num_dims};
    int64_t bytes = (int64_t)tri_dtype_bytes(dtype);
    for (int i = 0; i < num_dims; i++) {
        row.dims[i] = dims[i];
        /* far below 2^63, so that sums of rows cannot overflow either */
        if (__builtin_mul_overflow(bytes, dims[i], &bytes) || bytes > INT64_MAX / 65536) {
            if (sizer->status == TRI_OK)
                sizer->status =
                    tri_error_set(sizer->err, TRI_INVALID,
                                  "'%s' of '%s' needs more than %lld bytes; use fewer "
                                  "rows per microbatch, a shorter sequence or a smaller shape",
                                  name, sizer->path[sizer->module], (long long)(INT64_MAX / 65536));
            return;
        }
    }
    row.bytes = (size_t)bytes;
    sizer_add(sizer, row);
}

void tri_sizer_scratch_row(struct tri_sizer *sizer, enum tri_row_class row_class, const char *name,
                           size_t bytes)
{
    sizer_add(sizer, (struct tri_size_row){.name = name,
                                           .row_class = row_class,
                                           .dtype = TRI_DTYPE_U8,
                                           .num_dims = 1,
                                           .dims = {(int64_t)bytes},
                                           .bytes = bytes});
}

int64_t tri_param_copies(const struct tri_param_spec *spec, int64_t tp, int64_t *first)
{
    *first = 0;
    for (int i = 0; i < spec->num_parts && spec->cut_dim == 0; i++) {
        if (tri_part_copies(&spec->parts[i]) > 1)
            return tri_part_copies(&spec->parts[i]);
        *first += tri_part_share(&spec->parts[i], tp);
    }
    *first = spec->local_dims[0];
    return 1;
}

void tri_sizer_param(struct tri_sizer *sizer, const struct tri_param_spec *spec)
{
    if (!sizer_grow(sizer, &sizer->param, sizer->num_params, &sizer->room_params, sizeof(*spec)))
        return;
    struct tri_param_spec *param = &sizer->param[sizer->num_params];
    *param = *spec;
    param->module = sizer->module;
    if (!strchr(spec->name, '.'))
        param->name =
            tri_arena_format(sizer->arena, "%s.%s", sizer->path[sizer->module], spec->name);
    if (!param->name) {
        sizer->status =
            tri_error_set(sizer->err, TRI_NOMEM, "out of memory while naming '%s'", spec->name);
        return;
    }
    if (param->padded_rows == 0)
        param->padded_rows = param->dims[0];
    if (param->num_dims == 1)
        param->dims[1] = 1;
    if (param->num_parts == 0) {
        param->num_parts = 1;
        param->parts[0] = (struct tri_param_part){.name = "rows", .rows = param->padded_rows};
    }
    int64_t tp = sizer->input->split.tp, share = 0;
    for (int i = 0; i < param->num_parts; i++)
        share += tri_part_share(&param->parts[i], tp);
    bool is_padded = param->padded_rows != param->dims[0];
    param->local_dims[0] = param->cut_dim != 0 ? param->dims[0]
                           : is_padded         ? param->padded_rows / tp
                                               : share;
    param->local_dims[1] = param->cut_dim == 1 ? param->dims[1] / tp : param->dims[1];
    sizer->num_params++;
}

void tri_sizer_flops(struct tri_sizer *sizer, double forward)
{
    sizer->flops += forward;
    sizer->module_flops[sizer->module] += forward;
}

void tri_sizer_tp_bytes(struct tri_sizer *sizer, double bytes)
{
    sizer->tp_bytes += bytes;
}

/* Describes node at path as the next module. */
static void sizer_visit(struct tri_sizer *sizer, const struct tri_module_spec *node,
                        const char *path)
{
    int room = sizer->room_modules, same = room;
    if (!sizer_grow(sizer, &sizer->path, sizer->num_modules, &room, sizeof(*sizer->path)) ||
        !sizer_grow(sizer, &sizer->module_flops, sizer->num_modules, &same,
                    sizeof(*sizer->module_flops)) ||
        !sizer_grow(sizer, &sizer->node, sizer->num_modules, &sizer->room_modules,
                    sizeof(*sizer->node)))
        return;
    sizer->module = sizer->num_modules++;
    sizer->path[sizer->module] = path;
    sizer->node[sizer->module] = node;
    sizer->module_flops[sizer->module] = 0;
    sizer->has_children = false;
    const struct tri_model_spec *spec = sizer->spec;
    const struct tri_module_row *row =
        tri_implementation_row(spec->extensions, spec->num_extensions, node);
    if (row)
        row->describe(sizer, node);
    else if (sizer->status == TRI_OK)
        sizer->status = tri_error_set(sizer->err, TRI_UNSUPPORTED,
                                      "'%s' is a module '%s', which is not in the registry", path,
                                      node->module);
}

void tri_sizer_child(struct tri_sizer *sizer, const struct tri_module_spec *node, const char *slot)
{
    if (sizer->status != TRI_OK)
        return;
    int self = sizer->module;
    const char *path = tri_spec_child_path(sizer->arena, sizer->path[self], slot);
    const struct tri_module_spec *child = tri_module_spec_child(node, slot);
    if (!path || !child) {
        sizer->status = path ? tri_error_set(sizer->err, TRI_INVALID, "'%s' has no sub-module '%s'",
                                             sizer->path[self], slot)
                             : tri_error_set(sizer->err, TRI_NOMEM, "out of memory while sizing");
        return;
    }
    size_t work_end[NUM_PASSES];
    memcpy(work_end, sizer->work_end, sizeof(work_end));
    sizer_visit(sizer, child, path);
    memcpy(sizer->work_end, work_end, sizeof(work_end));
    sizer->module = self;
    sizer->has_children = true;
}

tri_status tri_size_unit(const struct tri_model_spec *spec, int unit,
                         const struct tri_sizing_input *input, tri_arena *arena, tri_error *err,
                         struct tri_unit_size *size)
{
    TRI_ASSERT(unit >= 0 && unit < spec->num_units);
    TRI_TRY(tri_split_check(&spec->shape, &input->split, input->seq_length, err));
    struct tri_sizer sizer = {.spec = spec, .input = input, .arena = arena, .err = err};
    sizer_visit(&sizer, &spec->units[unit], spec->unit_path[unit]);
    TRI_TRY(sizer.status);
    *size = (struct tri_unit_size){
        .num_modules = sizer.num_modules,
        .module_path = sizer.path,
        .module_spec = sizer.node,
        .module_flops = sizer.module_flops,
        .num_rows = sizer.num_rows,
        .rows = sizer.row,
        .num_params = sizer.num_params,
        .params = sizer.param,
        .saved_bytes = sizer.slot_end,
        .run_bytes = sizer.run_end,
        .work_bytes = sizer.work_peak,
        .flops_forward = sizer.flops,
        .bytes_tp = sizer.tp_bytes,
    };
    return TRI_OK;
}
