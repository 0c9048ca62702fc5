/* SPDX-License-Identifier: Apache-2.0 */
/* An explanation for people, for programs, and as a run file. */
#include "explain/record.h"

#include <string.h>

#define NAME_COLUMN 44

static void print_field(FILE *out, const struct tri_explain_field *field)
{
    int width = fprintf(out, "  %s%s%.60s%s", field->name, field->value[0] ? " " : "", field->value,
                        strlen(field->value) > 60 ? "..." : "");
    if (width >= NAME_COLUMN)
        width = fprintf(out, "\n") - 1;
    fprintf(out, "%*s%-11s", NAME_COLUMN - width, "", tri_answer_name(field->answer));
    if (field->becomes[0] || field->why[0])
        fprintf(out, " %s%s%s", field->becomes, field->becomes[0] && field->why[0] ? "; " : "",
                field->why);
    fprintf(out, "\n");
}

static void print_section(FILE *out, const tri_explanation *explanation, enum tri_section section,
                          int first, int last)
{
    bool has_heading = false;
    for (int i = first; i < last; i++) {
        if (explanation->fields[i].section != section)
            continue;
        if (!has_heading)
            fprintf(out, "\n%s\n", tri_section_name(section));
        has_heading = true;
        print_field(out, &explanation->fields[i]);
    }
}

static int last_field(const tri_explanation *explanation, int source)
{
    return source + 1 < explanation->num_sources ? explanation->sources[source + 1].first_field
                                                 : explanation->num_fields;
}

void tri_explanation_print(FILE *out, const tri_explanation *explanation)
{
    for (int s = 0; s < explanation->num_sources; s++) {
        const struct tri_explain_source *source = &explanation->sources[s];
        fprintf(out, "%s%s: %s\n", s ? "\n" : "", source->path, source->title);
        if (source->note[0])
            fprintf(out, "  %s\n", source->note);
        for (int section = 0; section < TRI_NUM_SECTIONS; section++)
            print_section(out, explanation, (enum tri_section)section, source->first_field,
                          last_field(explanation, s));
    }
    fprintf(out, "\n%d words:", explanation->num_fields);
    const char *separator = " ";
    for (int answer = 0; answer < TRI_NUM_ANSWERS; answer++) {
        int num = tri_explanation_count(explanation, (enum tri_answer)answer);
        if (num > 0)
            fprintf(out, "%s%d %s", separator, num, tri_answer_name((enum tri_answer)answer));
        separator = num > 0 ? ", " : separator;
    }
    fprintf(out, "\n");
}

/* The answer's name as a key: "no_effect". */
static const char *answer_key(enum tri_answer answer, char *key, size_t bytes)
{
    snprintf(key, bytes, "%s", tri_answer_name(answer));
    for (char *c = key; *c; c++)
        *c = *c == ' ' ? '_' : *c;
    return key;
}

static json_t *field_json(const struct tri_explain_field *field)
{
    char key[32];
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "name", field->name, "value", field->value,
                     "section", tri_section_name(field->section), "answer",
                     answer_key(field->answer, key, sizeof key), "becomes", field->becomes, "why",
                     field->why);
}

static json_t *source_json(const tri_explanation *explanation, int s)
{
    json_t *fields = json_array();
    for (int i = explanation->sources[s].first_field; i < last_field(explanation, s); i++)
        json_array_append_new(fields, field_json(&explanation->fields[i]));
    const struct tri_explain_source *source = &explanation->sources[s];
    return json_pack("{s:s, s:s, s:s, s:o}", "file", source->path, "kind", source->title, "note",
                     source->note, "fields", fields);
}

tri_status tri_explanation_print_json(FILE *out, const tri_explanation *explanation, tri_error *err)
{
    json_t *files = json_array(), *counts = json_object();
    for (int s = 0; s < explanation->num_sources; s++)
        json_array_append_new(files, source_json(explanation, s));
    for (int i = 0; i < TRI_NUM_ANSWERS; i++) {
        enum tri_answer answer = (enum tri_answer)i;
        char key[32];
        json_object_set_new(counts, answer_key(answer, key, sizeof key),
                            json_integer(tri_explanation_count(explanation, answer)));
    }
    json_t *root = json_pack("{s:o, s:o}", "files", files, "counts", counts);
    bool is_written = root && json_dumpf(root, out, JSON_INDENT(1)) == 0;
    json_decref(root);
    fprintf(out, "\n");
    TRI_CHECK(is_written, err, TRI_IO, "the explanation could not be written as JSON");
    return TRI_OK;
}

void tri_explanation_print_run_file(FILE *out, const tri_explanation *explanation)
{
    fprintf(out, "# Made by trine explain from");
    for (int s = 0; s < explanation->num_sources; s++)
        fprintf(out, "%s %s", s ? "," : "", explanation->sources[s].path);
    fprintf(out, ". What is not said has its default.\n");
    for (int s = 0; s < explanation->num_sources; s++) {
        const struct tri_explain_source *source = &explanation->sources[s];
        if (source->note[0])
            fprintf(out, "# %s %s\n", source->path, source->note);
    }
    tri_option_print_file(out, explanation->bindings, explanation->num_bindings, true);
    bool has_heading = false;
    for (int i = 0; i < explanation->num_fields; i++) {
        const struct tri_explain_field *field = &explanation->fields[i];
        if (field->answer == TRI_UNDERSTOOD || field->answer == TRI_NO_EFFECT)
            continue;
        if (!has_heading)
            fprintf(out, "\n# Not taken over as it stands:\n");
        has_heading = true;
        fprintf(out, "#   %s%s%s (%s)%s%s\n", field->name, field->value[0] ? " " : "", field->value,
                tri_answer_name(field->answer), field->why[0] ? ": " : "", field->why);
    }
}
