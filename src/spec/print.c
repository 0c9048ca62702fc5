/* SPDX-License-Identifier: Apache-2.0 */
/* The module tree for people: what each module is, how it is done and why, and what it needs. */
#include "spec/model_spec.h"

#include <inttypes.h>
#include <string.h>

/* True when two layers are the same but for their number. */
static bool is_same_tree(const struct tri_module_spec *a, const struct tri_module_spec *b)
{
    if (strcmp(a->slot, b->slot) != 0 || strcmp(a->module, b->module) != 0 ||
        strcmp(a->implementation, b->implementation) != 0 || strcmp(a->reason, b->reason) != 0 ||
        a->num_children != b->num_children)
        return false;
    for (int i = 0; i < a->num_children; i++)
        if (!is_same_tree(&a->children[i], &b->children[i]))
            return false;
    return true;
}

static int64_t module_params(const struct tri_unit_size *size, int module)
{
    int64_t elements = 0;
    for (int i = 0; i < size->num_params; i++) {
        const struct tri_param_spec *param = &size->params[i];
        if (param->module == module)
            elements += param->dims[0] * (param->num_dims == 2 ? param->dims[1] : 1);
    }
    return elements;
}

static size_t module_bytes(const struct tri_unit_size *size, int module, bool saved)
{
    size_t bytes = 0;
    for (int i = 0; i < size->num_rows; i++) {
        enum tri_row_class row_class = size->rows[i].row_class;
        bool is_saved = row_class == TRI_ROW_SAVED_INPUT || row_class == TRI_ROW_SAVED_WEIGHT ||
                        row_class == TRI_ROW_GRAD;
        if (size->rows[i].module == module && is_saved == saved && row_class != TRI_ROW_RUN)
            bytes += size->rows[i].bytes;
    }
    return bytes;
}

/* Prints node and what lies below it; module is its index in the record and moves on. */
static void print_node(FILE *out, const struct tri_module_spec *node,
                       const struct tri_unit_size *size, const char *label, int depth, int *module,
                       bool bytes)
{
    int self = (*module)++;
    int indent = 2 * depth;
    fprintf(out, "%*s%-*s %-22s %-8s %14" PRId64, indent, "", 34 - indent, label, node->module,
            node->implementation, module_params(size, self));
    if (bytes)
        fprintf(out, " %14zu %14zu", module_bytes(size, self, true),
                module_bytes(size, self, false));
    fprintf(out, "  %s\n", node->reason);
    for (int i = 0; i < node->num_children; i++)
        print_node(out, &node->children[i], size, node->children[i].slot, depth + 1, module, bytes);
}

static void print_label(const struct tri_model_spec *spec, int first, int end, char *label,
                        size_t bytes)
{
    if (end - first > 1)
        snprintf(label, bytes, "decoder.layers[%d:%d]", first - 1, end - 1);
    else
        snprintf(label, bytes, "%s", spec->unit_path[first]);
}

static tri_status print_units(FILE *out, const struct tri_model_spec *spec,
                              const struct tri_sizing_input *input, bool bytes, tri_arena *arena,
                              tri_error *err)
{
    for (int unit = 0, end; unit < spec->num_units; unit = end) {
        bool is_layer = unit > 0 && unit < spec->num_units - 1;
        for (end = unit + 1; is_layer && end < spec->num_units - 1; end++)
            if (!is_same_tree(&spec->units[unit], &spec->units[end]))
                break;
        struct tri_unit_size size;
        TRI_TRY(tri_size_unit(spec, unit, input, arena, err, &size));
        char label[64];
        int module = 0;
        print_label(spec, unit, end, label, sizeof(label));
        print_node(out, &spec->units[unit], &size, label, 0, &module, bytes);
    }
    return TRI_OK;
}

static tri_status print_totals(FILE *out, const struct tri_model_spec *spec, tri_error *err)
{
    struct tri_param_count count;
    double flops;
    TRI_TRY(tri_model_count_params(spec, err, &count));
    TRI_TRY(tri_model_flops_per_token(spec, spec->shape.seq_length, err, &flops));
    fprintf(out,
            "%" PRId64 " parameters in %" PRId64 " tensors: embedding %" PRId64
            ", positions %" PRId64 ", layers %" PRId64 ", head %" PRId64 "\n",
            count.total, count.tensors, count.embedding, count.positions, count.layers, count.head);
    fprintf(out, "%.4g flops per token at %" PRId64 " positions, forward and backward\n", flops,
            spec->shape.seq_length);
    return TRI_OK;
}

tri_status tri_model_spec_print(FILE *out, const struct tri_model_spec *spec,
                                const struct tri_sizing_input *input, tri_error *err)
{
    struct tri_sizing_input uncut = {
        .shape = &spec->shape,
        .split = {.tp = 1, .sp = 1, .cp = 1, .ep = 1, .etp = 1},
        .micro_batch_size = 1,
        .seq_length = spec->shape.seq_length,
        .team_size = 1,
        .shared_head = true,
    };
    tri_arena *arena = tri_arena_create();
    TRI_CHECK(arena, err, TRI_NOMEM, "out of memory while printing the spec");
    fprintf(out, "%-34s %-22s %-8s %14s", "module", "kind", "impl", "parameters");
    if (input)
        fprintf(out, " %14s %14s", "kept bytes", "work bytes");
    fprintf(out, "  why\n");
    tri_status status = print_units(out, spec, input ? input : &uncut, input != NULL, arena, err);
    tri_arena_destroy(&arena);
    TRI_TRY(status);
    return print_totals(out, spec, err);
}
