/* SPDX-License-Identifier: Apache-2.0 */
/* Option tables for people: help, run files, the option page. */
#include "base/options_inner.h"

#include <string.h>

#define HELP_COLUMN     44
#define VALUE_ROOM      (5 * TRI_OPTION_JSON_TEXT) /* a byte may become four */
#define SHORT_TEXT      256
#define CHOICES_ROOM    512
#define NUMBER_SUFFIXES "numbers take k, m, g (thousands) and ki, mi, gi (1024)"

static const char *type_name(enum tri_option_type type)
{
    static const char *const names[] = {
        [TRI_OPTION_BOOL] = "yes or no",     [TRI_OPTION_INT] = "whole number",
        [TRI_OPTION_DOUBLE] = "number",      [TRI_OPTION_CHOICE] = "choice",
        [TRI_OPTION_STRING] = "text",        [TRI_OPTION_STRINGS] = "texts",
        [TRI_OPTION_INTS] = "whole numbers", [TRI_OPTION_MAP] = "map",
        [TRI_OPTION_JSON] = "JSON text",
    };
    return names[type];
}

static const char *argument_name(enum tri_option_type type)
{
    static const char *const names[] = {
        [TRI_OPTION_BOOL] = "",        [TRI_OPTION_INT] = " N",
        [TRI_OPTION_DOUBLE] = " X",    [TRI_OPTION_CHOICE] = " NAME",
        [TRI_OPTION_STRING] = " TEXT", [TRI_OPTION_STRINGS] = " TEXT...",
        [TRI_OPTION_INTS] = " N...",   [TRI_OPTION_MAP] = " KEY=VALUE...",
        [TRI_OPTION_JSON] = " TEXT",
    };
    return names[type];
}

void tri_option_flag_text(const struct tri_option *row, char *flag, size_t bytes)
{
    snprintf(flag, bytes, "--%s", row->name);
    for (char *c = flag; *c; c++)
        *c = *c == '_' ? '-' : *c;
}

static void choices_text(const struct tri_option *row, const char *separator, char *buffer,
                         size_t bytes)
{
    struct tri_option_text text;
    tri_option_text_init(&text, buffer, bytes);
    for (int i = 0; row->choices && row->choices[i]; i++)
        tri_option_text_add(&text, "%s%s", i ? separator : "", row->choices[i]);
}

static const char *default_text(const struct tri_option *row)
{
    if (row->default_text)
        return row->default_text[0] ? row->default_text : "none";
    return row->type == TRI_OPTION_BOOL ? "false" : "none";
}

static void print_help_row(FILE *out, const struct tri_option *row, bool short_form)
{
    char flag[SHORT_TEXT], range[SHORT_TEXT], when[SHORT_TEXT];
    tri_option_flag_text(row, flag, sizeof(flag));
    int width = fprintf(out, "  %s%s", flag, argument_name(row->type));
    if (width >= HELP_COLUMN)
        width = fprintf(out, "\n") - 1;
    fprintf(out, "%*s%s", HELP_COLUMN - width, "", row->help);
    if (short_form) {
        fprintf(out, " [%s]\n", default_text(row));
        return;
    }
    fprintf(out, "\n%*s%s", HELP_COLUMN, "", type_name(row->type));
    tri_option_range_text(row, range, sizeof(range));
    if (range[0])
        fprintf(out, " %s", range);
    if (row->unit)
        fprintf(out, ", in %s", row->unit);
    if (row->choices) {
        char choices[CHOICES_ROOM];
        choices_text(row, ", ", choices, sizeof(choices));
        fprintf(out, " of %s", choices);
    }
    tri_option_when_text(row, when, sizeof(when));
    fprintf(out, "; default %s%s%s\n", default_text(row), when[0] ? "; " : "", when);
}

void tri_option_print_row(FILE *out, const struct tri_option *row)
{
    print_help_row(out, row, false);
}

void tri_option_print_help(FILE *out, const struct tri_option_table *const *tables, int num_tables,
                           bool short_form)
{
    const char *before = NULL;
    for (int t = 0; t < num_tables; t++) {
        const char *section = tables[t]->section;
        if (!before || strcmp(before, section) != 0)
            fprintf(out, "%s%s:\n", before ? "\n" : "", section[0] ? section : "flags");
        before = section;
        for (int i = 0; i < tables[t]->num_rows; i++) {
            const struct tri_option *row = &tables[t]->rows[i];
            if (!short_form || !(row->flags & TRI_OPTION_HIDDEN))
                print_help_row(out, row, short_form);
        }
    }
    if (!short_form)
        fprintf(out, "\n%s\n", NUMBER_SUFFIXES);
}

/* Prints the rows of one binding; returns true when the section's heading has been printed. */
static bool print_file_rows(FILE *out, const struct tri_option_binding *binding, bool only_changed,
                            bool has_heading, char *value)
{
    const struct tri_option_table *table = binding->table;
    for (int i = 0; i < table->num_rows; i++) {
        const struct tri_option *row = &table->rows[i];
        if (only_changed && tri_option_is_default(row, binding->config))
            continue;
        struct tri_option_text text;
        tri_option_text_init(&text, value, VALUE_ROOM);
        tri_option_yaml(row, binding->config, &text);
        TRI_ASSERT(!text.is_cut);
        if (!has_heading)
            fprintf(out, "%s:\n", table->section);
        has_heading = true;
        fprintf(out, "  %s: %s\n", row->name, value);
    }
    return has_heading;
}

void tri_option_print_file(FILE *out, const struct tri_option_binding *bindings, int num_bindings,
                           bool only_changed)
{
    char value[VALUE_ROOM];
    for (int b = 0; b < num_bindings; b++) {
        const char *section = bindings[b].table->section;
        bool is_done = section[0] == '\0'; /* flags have no place in a file */
        for (int earlier = 0; earlier < b; earlier++)
            is_done = is_done || strcmp(bindings[earlier].table->section, section) == 0;
        bool has_heading = false;
        for (int other = b; other < num_bindings && !is_done; other++) {
            if (strcmp(bindings[other].table->section, section) == 0)
                has_heading =
                    print_file_rows(out, &bindings[other], only_changed, has_heading, value);
        }
    }
}

static bool is_column_of(const struct tri_option_column *column, const char *section)
{
    return strcmp(column->section, section) == 0;
}

static void print_markdown_row(FILE *out, const struct tri_option_table *table,
                               const struct tri_option *row,
                               const struct tri_option_column *columns)
{
    char range[SHORT_TEXT], choices[CHOICES_ROOM], when[SHORT_TEXT];
    tri_option_range_text(row, range, sizeof(range));
    choices_text(row, "`, `", choices, sizeof(choices));
    fprintf(out, "| `%s` | %s", row->name, type_name(row->type));
    if (choices[0])
        fprintf(out, ": `%s`", choices);
    fprintf(out, " | %s | %s | %s | ", default_text(row), range, row->unit ? row->unit : "");
    for (; columns->section; columns++) {
        char text[CHOICES_ROOM] = "";
        if (!is_column_of(columns, table->section))
            continue;
        columns->format(table, row, text, sizeof(text));
        fprintf(out, "%s | ", text);
    }
    for (const char *c = row->help; *c; c++)
        fprintf(out, *c == '|' ? "\\%c" : "%c", *c);
    tri_option_when_text(row, when, sizeof(when));
    bool is_sentence = row->help[strlen(row->help) - 1] == '.';
    if (when[0]) /* "Only" behind a full stop */
        fprintf(out, is_sentence ? " O%s." : "; o%s", when + 1);
    fprintf(out, " |\n");
}

static void print_markdown_heading(FILE *out, const char *section,
                                   const struct tri_option_column *columns)
{
    int num = 0;
    fprintf(out, "## %s\n\n", section[0] ? section : "flags");
    fprintf(out, "| name | type | default | range | unit |");
    for (; columns->section; columns++) {
        if (is_column_of(columns, section)) {
            fprintf(out, " %s |", columns->title);
            num++;
        }
    }
    fprintf(out, " meaning |\n|---|---|---|---|---|---|");
    for (int i = 0; i < num; i++)
        fprintf(out, "---|");
    fprintf(out, "\n");
}

void tri_option_print_markdown(FILE *out, const struct tri_option_table *const *tables,
                               int num_tables, const struct tri_option_column *columns)
{
    const char *before = NULL;
    for (int t = 0; t < num_tables; t++) {
        const char *section = tables[t]->section;
        if (before && strcmp(before, section) != 0)
            fprintf(out, "\n");
        if (!before || strcmp(before, section) != 0)
            print_markdown_heading(out, section, columns);
        before = section;
        for (int i = 0; i < tables[t]->num_rows; i++)
            print_markdown_row(out, tables[t], &tables[t]->rows[i], columns);
    }
}
