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

static bool is_noted_unknown(const struct verdict *verdict, const char *key)
{
    for (int i = 0; i < tri_error_note_count(verdict->record); i++) {
        const char *message = tri_error_note_message(verdict->record, i);
        if (names_key(message, key) && strstr(message, "is not a key"))
            return true;
    }
    return false;
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

/* "num_layers: 32" for every option that the key stands for. */
static const char *meaning(const struct verdict *verdict, const char *key)
{
    tri_explanation *out = verdict->input->out;
    const struct tri_hf_keys *keys = &verdict->keys;
    struct level levels[NUM_LEVELS];
    const char *text = "";
    list_levels(verdict, levels);
    for (int i = 0; i < keys->num; i++) {
        const char *option = keys->rows[i].option;
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

static bool has_key(const struct verdict *verdict, const char *key)
{
    const struct tri_hf_keys *keys = &verdict->keys;
    for (int i = 0; i < keys->num; i++) {
        if (strcmp(keys->rows[i].name, key) == 0)
            return true;
    }
    return false;
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

static void explain_key(struct verdict *verdict, const char *key, const json_t *value)
{
    tri_explanation *out = verdict->input->out;
    char *dumped = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
    struct tri_explain_field *field =
        tri_explain_add(out, tri_hf_section_of(key), TRI_UNDERSTOOD, key,
                        json_is_string(value) ? json_string_value(value)
                        : dumped              ? dumped
                                              : "");
    free(dumped);
    bool is_rope = strcmp(key, "rope_scaling") == 0 || strcmp(key, "rope_parameters") == 0;
    const char *problem = problem_of(verdict, key);
    if (problem) {
        field->answer = TRI_REFUSED;
        field->why = problem;
    } else if (strcmp(key, "model_type") == 0) {
        field->becomes = tri_explain_format(out, "family: %s", verdict->family->name);
    } else if (has_key(verdict, key)) {
        field->becomes = meaning(verdict, key);
    } else if (is_noted_unknown(verdict, key)) {
        const char *nearest = nearest_key(verdict, key);
        field->answer = TRI_UNKNOWN;
        field->why = nearest
                         ? tri_explain_format(out, "kept, not used; did you mean '%s'?", nearest)
                         : "kept, not used: no key of its family, nor one that is harmless";
    } else if (is_rope && !json_is_null(value)) {
        field->why = "settings of the rotary positions";
    } else {
        field->answer = TRI_NO_EFFECT;
        field->why = "off here, or no question of the shape; kept when the model is saved";
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
