/* SPDX-License-Identifier: Apache-2.0 */
/* A Hugging Face config.json, by the family that it names: each key with the reader's own opinion of it. */
#include "explain/hf.h"

#include "base/options_inner.h"
#include "shape/options.h"
#include "spec/family.h"

#include <stdlib.h>
#include <string.h>

/* The reader's verdict on the whole file. */
struct verdict {
    struct tri_explain_input *input;
    const struct tri_family *family;
    struct tri_hf_keys keys; /* of the family */
    struct tri_gpt_config config;
    bool is_read; /* config holds the shape */
    tri_error *record;
    bool *is_told; /* per problem of record: some key's field has it */
};

/* Shows "path: " of a message no further. */
static const char *without_path(const struct verdict *verdict, const char *message)
{
    size_t length = strlen(verdict->input->path);
    bool has_path = strncmp(message, verdict->input->path, length) == 0 && message[length] == ':';
    message += has_path ? length + 1 : 0;
    return tri_explain_format(verdict->input->out, "%s", message + strspn(message, " "));
}

static bool names_key(const char *message, const char *key)
{
    char quoted[300];
    int length = snprintf(quoted, sizeof quoted, "'%.250s", key);
    for (const char *at = strstr(message, quoted); at; at = strstr(at + 1, quoted)) {
        if (at[length] == '\'' || at[length] == '.')
            return true;
    }
    return false;
}

static const char *problem_of(struct verdict *verdict, const char *key)
{
    const char *found = NULL;
    for (int i = 0; i < tri_error_count(verdict->record); i++) {
        const char *message = tri_error_message(verdict->record, i);
        if (!names_key(message, key))
            continue;
        verdict->is_told[i] = true;
        found = found ? found : without_path(verdict, message);
    }
    return found;
}

/* What the reader notes about key, or NULL. */
static const char *note_of(const struct verdict *verdict, const char *key)
{
    for (int i = 0; i < tri_error_note_count(verdict->record); i++) {
        const char *message = tri_error_note_message(verdict->record, i);
        if (names_key(message, key))
            return without_path(verdict, message);
    }
    return NULL;
}

/* One level of the shape: its rows and where their values are. */
struct level {
    const struct tri_option_table *table;
    const void *config;
};
enum { NUM_LEVELS = 4 };

static void list_levels(const struct verdict *verdict, struct level *levels)
{
    const struct tri_gpt_config *config = &verdict->config;
    levels[0] = (struct level){&tri_transformer_options, &config->transformer};
    levels[1] = (struct level){&tri_attention_options, &config->transformer.attention};
    levels[2] = (struct level){&tri_gpt_options, config};
    levels[3] = (struct level){&tri_config_json_options, config};
}

/* The option that a row of the family's table sets, NULL: none. */
static const char *option_of(const struct tri_hf_key *key)
{
    switch (key->kind) {
    case TRI_HF_WINDOW:
    case TRI_HF_WINDOW_SWITCH:
        return "window_size";
    case TRI_HF_WINDOW_FIRST:
    case TRI_HF_WINDOW_EVERY:
    case TRI_HF_LAYER_TYPES:
        return "window_attn_skip_freq";
    case TRI_HF_ROPE_EVERY:
        return "no_rope_freq";
    case TRI_HF_FIELD:
    case TRI_HF_FIELD_OR_NULL:
    case TRI_HF_ALIAS:
    case TRI_HF_TWIN:
    case TRI_HF_NOT:
    case TRI_HF_ACTIVATION:
    case TRI_HF_ROPE_THETA:
    case TRI_HF_ROPE_LAYERS:
    case TRI_HF_INVERSE_SQUARE:
    case TRI_HF_TOKEN:
    case TRI_HF_FIXED:
    case TRI_HF_NULL:
    case TRI_HF_NONE:
        break;
    }
    return key->option;
}

/* "num_layers: 32" for every option that the key stands for; "" for one that sets none. */
static const char *meaning(const struct verdict *verdict, const char *key)
{
    tri_explanation *out = verdict->input->out;
    const struct tri_hf_keys *keys = &verdict->keys;
    struct level levels[NUM_LEVELS];
    const char *text = "";
    list_levels(verdict, levels);
    for (int i = 0; i < keys->num; i++) {
        const char *option = option_of(&keys->rows[i]);
        if (strcmp(keys->rows[i].name, key) != 0 || !option)
            continue;
        char value[TRI_OPTION_LONG_TEXT] = "";
        for (int level = 0; level < NUM_LEVELS && verdict->is_read; level++) {
            const struct tri_option *row = tri_option_find(levels[level].table, option);
            if (row)
                tri_option_format(row, levels[level].config, value, sizeof value);
        }
        text = tri_explain_format(out, "%s%s%s%s%s", text, text[0] ? ", " : "", option,
                                  value[0] ? ": " : "", value);
    }
    return text;
}

/* The family's row of a key, or NULL. */
static const struct tri_hf_key *find_key(const struct verdict *verdict, const char *key)
{
    const struct tri_hf_keys *keys = &verdict->keys;
    for (int i = 0; i < keys->num; i++) {
        if (strcmp(keys->rows[i].name, key) == 0)
            return &keys->rows[i];
    }
    return NULL;
}

static const char *nearest_key(const struct verdict *verdict, const char *key)
{
    const struct tri_hf_keys *keys = &verdict->keys;
    const char *nearest = NULL;
    int best = tri_option_near(key) + 1;
    for (int i = 0; i < keys->num; i++) {
        int distance = tri_option_distance(key, keys->rows[i].name);
        if (distance >= best)
            continue;
        best = distance;
        nearest = keys->rows[i].name;
    }
    return nearest;
}

/* A key of the family's table. */
static void explain_own(const struct verdict *verdict, const struct tri_hf_key *key,
                        const json_t *value, struct tri_explain_field *field)
{
    field->becomes = meaning(verdict, key->name);
    if (key->kind == TRI_HF_TOKEN && json_array_size(value) > 1) {
        field->answer = TRI_DIFFERS;
        field->why = "the option holds the first; generation ends at each, and the file keeps them";
    } else if (key->kind == TRI_HF_FIXED) {
        field->why = "what all models of the family have";
    } else if (json_is_null(value) && !key->option) {
        field->answer = TRI_NO_EFFECT;
        field->becomes = "";
        field->why = "says nothing";
    }
}

static bool has_rope(const struct verdict *verdict)
{
    for (int i = 0; i < verdict->keys.num; i++) {
        if (verdict->keys.rows[i].kind == TRI_HF_ROPE_THETA)
            return true;
    }
    return false;
}

/* A key that is not in the family's table. */
static void explain_other(const struct verdict *verdict, const char *key, const json_t *value,
                          struct tri_explain_field *field)
{
    tri_explanation *out = verdict->input->out;
    struct tri_hf_other other = tri_hf_other_key(key, value);
    const char *nearest = nearest_key(verdict, key);
    bool is_dtype = strcmp(key, "dtype") == 0 || strcmp(key, "torch_dtype") == 0;
    bool is_rope = strcmp(key, "rope_scaling") == 0 || strcmp(key, "rope_parameters") == 0;
    if (is_rope && has_rope(verdict)) {
        field->why =
            json_is_null(value) ? "positions are not scaled" : "settings of the rotary positions";
    } else if (is_dtype && strcmp(field->value, "float32") != 0) {
        field->answer = TRI_DIFFERS;
        field->why = "files of this type are read; trine computes and saves in float32";
    } else if (other.kind == TRI_HF_UNKNOWN) {
        field->answer = TRI_DIFFERS;
        field->why = tri_explain_format(out, "kept, not used: %s%s%s",
                                        nearest ? "did you mean '" : "no key that is known here",
                                        nearest ? nearest : "", nearest ? "'?" : "");
    } else {
        field->answer = TRI_NO_EFFECT;
        field->why = other.kind == TRI_HF_HARMLESS
                         ? tri_explain_format(out, "%s; kept", other.text)
                         : tri_explain_format(out, "off; on, it is a matter of %s", other.text);
    }
}

static void explain_key(struct verdict *verdict, const char *name, const json_t *value)
{
    tri_explanation *out = verdict->input->out;
    char *dumped = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
    const struct tri_hf_key *key = find_key(verdict, name);
    enum tri_section section = tri_hf_section_of(name);
    struct tri_explain_field *field =
        tri_explain_add(out, key && section == TRI_SECTION_OTHER ? TRI_SECTION_SHAPE : section,
                        TRI_UNDERSTOOD, name,
                        json_is_string(value) ? json_string_value(value)
                        : dumped              ? dumped
                                              : "");
    free(dumped);
    const char *problem = problem_of(verdict, name);
    bool is_unknown = !key && tri_hf_other_key(name, value).kind == TRI_HF_UNKNOWN;
    const char *note = is_unknown ? NULL : note_of(verdict, name);
    if (problem) {
        field->answer = TRI_REFUSED;
        field->why = problem;
    } else if (strcmp(name, "model_type") == 0) {
        field->becomes = tri_explain_format(out, "family: %s", verdict->family->name);
    } else if (note) {
        field->answer = TRI_DIFFERS;
        field->why = note;
    } else if (key) {
        explain_own(verdict, key, value, field);
    } else {
        explain_other(verdict, name, value, field);
    }
}

/* Every shape value that is not the default, into the run. */
static void take_shape(struct verdict *verdict)
{
    struct tri_explain_field unused = {.becomes = ""};
    struct level levels[NUM_LEVELS];
    list_levels(verdict, levels);
    for (int level = 0; level < NUM_LEVELS; level++) {
        for (int i = 0; i < levels[level].table->num_rows; i++) {
            const struct tri_option *row = &levels[level].table->rows[i];
            char value[TRI_OPTION_LONG_TEXT];
            if (tri_option_is_default(row, levels[level].config))
                continue;
            tri_option_format(row, levels[level].config, value, sizeof value);
            unused.becomes = "";
            tri_explain_set(verdict->input->out, &unused, row->name, value);
        }
    }
}

static tri_status explain_root(struct tri_explain_input *input, const json_t *root)
{
    const char *type = json_string_value(json_object_get(root, "model_type")), *key;
    json_t *value;
    if (!type)
        return tri_error_add(input->err, TRI_INVALID,
                             "%s: 'model_type' is missing or no text; it names the model's family",
                             input->path);
    struct verdict verdict = {.input = input, .family = tri_family_find(type)};
    if (!verdict.family) {
        tri_explain_foreign(input->out, root, type);
        return TRI_OK;
    }
    tri_hf_list_keys(verdict.family->config, &verdict.keys);
    verdict.record = tri_error_create();
    TRI_CHECK(verdict.record, input->err, TRI_NOMEM, "out of memory while '%s' was read",
              input->path);
    verdict.is_read = tri_hf_config_read(verdict.family->config, input->text, input->bytes,
                                         input->path, verdict.record, &verdict.config) == TRI_OK;
    int num = tri_error_count(verdict.record);
    verdict.is_told = tri_arena_alloc(input->out->arena, (size_t)num + 1);
    json_object_foreach((json_t *)root, key, value)
    {
        if (verdict.is_told)
            explain_key(&verdict, key, value);
    }
    for (int i = 0; verdict.is_told && i < num; i++) {
        if (!verdict.is_told[i])
            tri_explain_add(input->out, TRI_SECTION_SHAPE, TRI_REFUSED, "(file)", "")->why =
                without_path(&verdict, tri_error_message(verdict.record, i));
    }
    if (verdict.is_read)
        take_shape(&verdict);
    tri_error_destroy(&verdict.record);
    return TRI_OK;
}

static tri_status read_hf(struct tri_explain_input *input)
{
    json_t *root;
    TRI_TRY(tri_explain_parse(input, &root));
    tri_status status = explain_root(input, root);
    json_decref(root);
    return status;
}

const struct tri_explain_kind tri_explain_hf = {
    .name = "hf",
    .title = "a Hugging Face config.json",
    .read = read_hf,
};
