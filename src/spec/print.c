/* SPDX-License-Identifier: Apache-2.0 */
/* The module tree for people: what each module is, how it is done and why, and what it needs. */
#include "spec/model_spec.h"

#include "spec/implementation.h"
#include "spec/layer.h"
#include "spec/settings.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

/* True when two layers are the same function done the same way: they differ in their number alone. */
static bool is_same_tree(const struct tri_module_spec *a, const struct tri_module_spec *b)
{
    struct tri_settings of_a, of_b;
    tri_module_spec_settings(a, &of_a);
    tri_module_spec_settings(b, &of_b);
    if (!tri_settings_equal(&of_a, &of_b) || strcmp(a->slot, b->slot) != 0 ||
        strcmp(a->module, b->module) != 0 || strcmp(a->implementation, b->implementation) != 0 ||
        strcmp(a->reason, b->reason) != 0 || a->num_children != b->num_children)
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

struct printing {
    FILE *out;
    const struct tri_model_spec *spec;
    bool bytes;         /* what the modules need is printed too */
    int implementation; /* width of that column */
};

static int print_widest(const struct tri_module_spec *node, int width)
{
    int here = (int)strlen(node->implementation);
    width = here > width ? here : width;
    for (int i = 0; i < node->num_children; i++)
        width = print_widest(&node->children[i], width);
    return width;
}

/* Why node is done as it is, with whose operations where its implementation's name does not say that. */
static void print_why(const struct tri_model_spec *spec, const struct tri_module_spec *node,
                      char *why, size_t bytes)
{
    const char *kernels = tri_implementation_kernels(spec->extensions, spec->num_extensions, node);
    bool is_own = strcmp(kernels, node->implementation) != 0;
    snprintf(why, bytes, "%s%s%s", node->reason, is_own ? ", operations " : "",
             is_own ? kernels : "");
}

/* Prints node and what lies below it; module is its index in the record and moves on. */
static void print_node(const struct printing *p, const struct tri_module_spec *node,
                       const struct tri_unit_size *size, const char *label, int depth, int *module)
{
    int self = (*module)++;
    int indent = 2 * depth;
    fprintf(p->out, "%*s%-*s %-22s %-*s %14" PRId64, indent, "", 34 - indent, label, node->module,
            p->implementation, node->implementation, module_params(size, self));
    if (p->bytes)
        fprintf(p->out, " %14zu %14zu", module_bytes(size, self, true),
                module_bytes(size, self, false));
    struct tri_settings settings;
    char text[512], why[512];
    print_why(p->spec, node, why, sizeof(why));
    tri_module_spec_settings(node, &settings);
    tri_settings_format(&settings, text, sizeof(text));
    fprintf(p->out, " %10.4g  %-*s%s%s\n", size->module_flops[self], text[0] ? 24 : 0, why,
            text[0] ? "  " : "", text);
    for (int i = 0; i < node->num_children; i++)
        print_node(p, &node->children[i], size, node->children[i].slot, depth + 1, module);
}

/* Marks the layers that are the same as unit, itself among them, and names them in label as an override would:
   "decoder.layers[0:2,3:5]". */
static void print_label(const struct tri_model_spec *spec, int unit, bool *done, char *label,
                        size_t bytes)
{
    int last = spec->num_units - 1, num = 0;
    size_t used = (size_t)snprintf(label, bytes, "decoder.layers[");
    for (int first = unit, end; first < last; first = end + 1) {
        for (end = first; end < last && is_same_tree(&spec->units[unit], &spec->units[end]); end++)
            done[end] = true;
        if (end == first)
            continue;
        num += end - first;
        const char *joint = first == unit ? "" : ",";
        if (used < bytes && end - first == 1)
            used += (size_t)snprintf(label + used, bytes - used, "%s%d", joint, first - 1);
        else if (used < bytes)
            used +=
                (size_t)snprintf(label + used, bytes - used, "%s%d:%d", joint, first - 1, end - 1);
    }
    if (used < bytes)
        snprintf(label + used, bytes - used, "]");
    if (num == 1)
        snprintf(label, bytes, "%s", spec->unit_path[unit]);
}

static tri_status print_units(const struct printing *p, const struct tri_sizing_input *input,
                              tri_arena *arena, tri_error *err)
{
    const struct tri_model_spec *spec = p->spec;
    bool *done = tri_arena_alloc(arena, (size_t)spec->num_units * sizeof(*done));
    TRI_CHECK(done, err, TRI_NOMEM, "out of memory while printing the spec");
    for (int unit = 0; unit < spec->num_units; unit++) {
        struct tri_unit_size size;
        char label[1024];
        int module = 0;
        if (done[unit])
            continue;
        TRI_TRY(tri_size_unit(spec, unit, input, arena, err, &size));
        if (unit == 0 || unit == spec->num_units - 1)
            snprintf(label, sizeof(label), "%s", spec->unit_path[unit]);
        else
            print_label(spec, unit, done, label, sizeof(label));
        print_node(p, &spec->units[unit], &size, label, 0, &module);
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

/* What is printed where nobody says how the model is cut: all of it on one rank. */
static struct tri_sizing_input print_uncut(const struct tri_model_spec *spec)
{
    return (struct tri_sizing_input){
        .shape = &spec->shape,
        .split = {.tp = 1, .sp = 1, .cp = 1, .ep = 1, .etp = 1},
        .micro_batch_size = 1,
        .seq_length = spec->shape.seq_length,
        .team_size = 1,
        .shared_head = true,
    };
}

/* Which rule made the layers, and the list that it stands in. */
static void print_rules(FILE *out, const struct tri_model_spec *spec)
{
    fprintf(out, "layers by %s; rules in order:", spec->rule);
    for (int i = 0; tri_layer_rule_get(i); i++)
        fprintf(out, "%s %s%s", i ? "," : "", tri_layer_rule_get(i),
                tri_layer_rule_is_built(i) ? "" : "*");
    fprintf(out, " (* not in this build)\n");
}

tri_status tri_model_spec_print(FILE *out, const struct tri_model_spec *spec,
                                const struct tri_sizing_input *input, tri_error *err)
{
    struct tri_sizing_input uncut = print_uncut(spec);
    tri_arena *arena = tri_arena_create();
    TRI_CHECK(arena, err, TRI_NOMEM, "out of memory while printing the spec");
    struct printing p = {.out = out, .spec = spec, .bytes = input != NULL, .implementation = 8};
    for (int unit = 0; unit < spec->num_units; unit++)
        p.implementation = print_widest(&spec->units[unit], p.implementation);
    print_rules(out, spec);
    fprintf(out, "%-34s %-22s %-*s %14s", "module", "kind", p.implementation, "impl", "parameters");
    if (input)
        fprintf(out, " %14s %14s", "kept bytes", "work bytes");
    fprintf(out, " %10s  %-24s  %s\n", "flops", "why", "settings");
    tri_status status = print_units(&p, input ? input : &uncut, arena, err);
    tri_arena_destroy(&arena);
    TRI_TRY(status);
    return print_totals(out, spec, err);
}

static json_t *json_settings(const struct tri_module_spec *node)
{
    struct tri_settings settings;
    json_t *object = json_object();
    tri_module_spec_settings(node, &settings);
    for (int i = 0; i < settings.num; i++) {
        const struct tri_setting *setting = &settings.list[i];
        double number = setting->number;
        bool is_whole = fabs(number) < 1e15 && number == floor(number);
        json_object_set_new(object, setting->name,
                            setting->word   ? json_string(setting->word)
                            : isnan(number) ? json_true()
                            : is_whole      ? json_integer((json_int_t)number)
                                            : json_real(number));
    }
    return object;
}

/* One node as an object, with its parts in "modules". */
static json_t *json_node(const struct tri_model_spec *spec, const struct tri_module_spec *node,
                         const struct tri_unit_size *size, int *module)
{
    int self = (*module)++;
    json_t *parts = json_array();
    json_t *object = json_pack(
        "{ss ss ss ss ss ss so sI sI sI sf}", "path", size->module_path[self], "slot", node->slot,
        "kind", node->module, "implementation", node->implementation, "operations",
        tri_implementation_kernels(spec->extensions, spec->num_extensions, node), "why",
        node->reason, "settings", json_settings(node), "parameters",
        (json_int_t)module_params(size, self), "kept_bytes",
        (json_int_t)module_bytes(size, self, true), "work_bytes",
        (json_int_t)module_bytes(size, self, false), "flops_forward", size->module_flops[self]);
    for (int i = 0; i < node->num_children; i++)
        json_array_append_new(parts, json_node(spec, &node->children[i], size, module));
    if (node->num_children > 0 && object)
        json_object_set(object, "modules", parts);
    json_decref(parts);
    return object;
}

static json_t *json_rules(void)
{
    json_t *rules = json_array();
    for (int i = 0; tri_layer_rule_get(i); i++)
        json_array_append_new(rules, json_string(tri_layer_rule_get(i)));
    return rules;
}

tri_status tri_model_spec_print_json(FILE *out, const struct tri_model_spec *spec,
                                     const struct tri_sizing_input *input, tri_error *err)
{
    struct tri_sizing_input uncut = print_uncut(spec);
    struct tri_param_count count;
    double flops;
    TRI_TRY(tri_model_count_params(spec, err, &count));
    TRI_TRY(tri_model_flops_per_token(spec, spec->shape.seq_length, err, &flops));
    tri_arena *arena = tri_arena_create();
    TRI_CHECK(arena, err, TRI_NOMEM, "out of memory while printing the spec");
    tri_status status = TRI_OK;
    json_t *units = json_array();
    for (int unit = 0; unit < spec->num_units && status == TRI_OK; unit++) {
        struct tri_unit_size size;
        int module = 0;
        status = tri_size_unit(spec, unit, input ? input : &uncut, arena, err, &size);
        if (status == TRI_OK)
            json_array_append_new(units, json_node(spec, &spec->units[unit], &size, &module));
    }
    tri_arena_destroy(&arena);
    json_t *root = json_pack("{ss so sI sI sf so}", "rule", spec->rule, "rules", json_rules(),
                             "parameters", (json_int_t)count.total, "tensors",
                             (json_int_t)count.tensors, "flops_per_token", flops, "units", units);
    if (status == TRI_OK && (!root || json_dumpf(root, out, JSON_INDENT(1)) != 0))
        status = tri_error_set(err, TRI_IO, "cannot write the spec as JSON");
    json_decref(root);
    fputc('\n', out);
    return status;
}
