/* SPDX-License-Identifier: Apache-2.0 */
/* The explanation as it grows: fields, and options set in the bindings. */
#include "explain/record.h"

#include "base/options_inner.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FIELDS 20000 /* nobody reads more */
#define MAX_TEXT   512   /* of a name or a value in an explanation */

tri_explanation *tri_explanation_create(struct tri_option_binding *bindings, int num_bindings)
{
    tri_explanation *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->arena = tri_arena_create();
    made->bindings = bindings;
    made->num_bindings = num_bindings;
    if (!made->arena)
        tri_explanation_destroy(&made);
    return made;
}

void tri_explanation_destroy(tri_explanation **explanation)
{
    if (!*explanation)
        return;
    tri_arena_destroy(&(*explanation)->arena);
    free((*explanation)->fields);
    free((*explanation)->sources);
    free(*explanation);
    *explanation = NULL;
}

int tri_explanation_num_fields(const tri_explanation *explanation)
{
    return explanation->num_fields;
}

const struct tri_explain_field *tri_explanation_field(const tri_explanation *explanation, int i)
{
    return &explanation->fields[i];
}

int tri_explanation_count(const tri_explanation *explanation, enum tri_answer answer)
{
    int num = 0;
    for (int i = 0; i < explanation->num_fields; i++)
        num += explanation->fields[i].answer == answer;
    return num;
}

const char *tri_explain_format(tri_explanation *out, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *copy = tri_arena_format(out->arena, "%s", text);
    return copy ? copy : "";
}

/* Bytes of the UTF-8 character at text, 0 when it is none that can be printed on one line. */
static int printable_bytes(const unsigned char *text)
{
    if (*text < 0x80)
        return *text >= 0x20 && *text != 0x7f;
    int more = *text >= 0xc2 && *text < 0xe0 ? 1 : *text >= 0xe0 && *text < 0xf0 ? 2 : 3;
    if (*text < 0xc2 || *text > 0xf4)
        return 0;
    for (int i = 1; i <= more; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    bool is_overlong = (text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xf0 && text[1] < 0x90);
    bool is_outside = (text[0] == 0xed && text[1] > 0x9f) || (text[0] == 0xf4 && text[1] > 0x8f);
    bool is_control = text[0] == 0xc2 && text[1] < 0xa0;
    return is_overlong || is_outside || is_control ? 0 : more + 1;
}

const char *tri_explain_printable(tri_explanation *out, const char *text)
{
    char shown[MAX_TEXT + 8];
    size_t used = 0;
    const unsigned char *next = (const unsigned char *)text;
    while (*next && used < MAX_TEXT) {
        int bytes = printable_bytes(next);
        if (bytes == 0)
            shown[used++] = *next == '\n' || *next == '\t' ? ' ' : '?';
        else
            memcpy(shown + used, next, (size_t)bytes);
        used += (size_t)bytes;
        next += bytes ? bytes : 1;
    }
    shown[used] = '\0';
    return tri_explain_format(out, "%s%s", shown, *next ? "..." : "");
}

struct tri_explain_field *tri_explain_add(tri_explanation *out, enum tri_section section,
                                          enum tri_answer answer, const char *name,
                                          const char *value)
{
    if (out->num_fields == out->room && !out->is_full) {
        int room = out->room ? 2 * out->room : 128;
        void *grown = room > MAX_FIELDS
                          ? NULL
                          : realloc(out->fields, (size_t)room * sizeof(struct tri_explain_field));
        if (grown) {
            out->fields = grown;
            out->room = room;
        } else {
            out->is_full = true;
        }
    }
    struct tri_explain_field *field =
        out->num_fields < out->room ? &out->fields[out->num_fields++] : &out->nowhere;
    *field = (struct tri_explain_field){.name = tri_explain_printable(out, name),
                                        .value = tri_explain_printable(out, value),
                                        .becomes = "",
                                        .why = "",
                                        .section = section,
                                        .answer = answer};
    return field;
}

/* The row's sentence without "--name: 'name' " in front. */
static const char *refusal(tri_explanation *out, const tri_error *err)
{
    const char *message = tri_error_message(err, 0);
    const char *start = strncmp(message, "'--", 3) == 0 ? strstr(message, "' ") : NULL;
    return tri_explain_printable(out, start ? start + 2 : message);
}

static bool explain_set(tri_explanation *out, struct tri_explain_field *field, const char *option,
                        const char *const *values, int num)
{
    struct tri_option_found found =
        tri_option_lookup(option, NULL, out->bindings, out->num_bindings);
    if (!found.row)
        return false;
    tri_error *err = tri_error_create();
    char where[128];
    snprintf(where, sizeof where, "--%.100s", option);
    if (num == 1) {
        tri_option_set(found.row, found.binding->config, values[0], where, err);
    } else {
        tri_option_unset(found.row, found.binding->config);
        for (int i = 0; i < num && tri_error_count(err) == 0; i++)
            tri_option_append(found.row, found.binding->config, NULL, values[i], where, err);
    }
    if (!err || tri_error_count(err) > 0) {
        field->answer = TRI_REFUSED;
        field->why = err ? refusal(out, err) : "out of memory";
    } else {
        char value[TRI_OPTION_LONG_TEXT];
        tri_option_note_origin(&found, TRI_OPTION_FROM_FILE);
        tri_option_format(found.row, found.binding->config, value, sizeof value);
        field->becomes = tri_explain_printable(
            out, tri_explain_format(out, "%s%s%s: %s", field->becomes,
                                    field->becomes[0] ? ", " : "", option, value));
    }
    tri_error_destroy(&err);
    return true;
}

bool tri_explain_set(tri_explanation *out, struct tri_explain_field *field, const char *option,
                     const char *text)
{
    return explain_set(out, field, option, &text, 1);
}

bool tri_explain_set_list(tri_explanation *out, struct tri_explain_field *field, const char *option,
                          const char *const *values, int num)
{
    struct tri_option_found found =
        tri_option_lookup(option, NULL, out->bindings, out->num_bindings);
    if (num == 1 || (found.row && tri_option_is_list(found.row)))
        return explain_set(out, field, option, values, num);
    /* A text that was written in several words. */
    const char *joined = "";
    for (int i = 0; i < num; i++)
        joined = tri_explain_format(out, "%s%s%s", joined, i ? " " : "", values[i]);
    return explain_set(out, field, option, &joined, 1);
}

const char *tri_explain_get(tri_explanation *out, const char *option)
{
    struct tri_option_found found =
        tri_option_lookup(option, NULL, out->bindings, out->num_bindings);
    char value[TRI_OPTION_LONG_TEXT];
    if (!found.row || !found.binding->origin[found.index])
        return NULL;
    tri_option_format(found.row, found.binding->config, value, sizeof value);
    return tri_explain_format(out, "%s", value);
}

void tri_explain_unset(tri_explanation *out, const char *option)
{
    struct tri_option_found found =
        tri_option_lookup(option, NULL, out->bindings, out->num_bindings);
    if (!found.row)
        return;
    found.binding->origin[found.index] = 0;
    if (found.row->default_text)
        tri_option_set(found.row, found.binding->config, found.row->default_text, "--", NULL);
    else
        tri_option_unset(found.row, found.binding->config);
}
