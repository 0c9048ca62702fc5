/* SPDX-License-Identifier: Apache-2.0 */
/* A run file of trine's own: every value is understood; what its reader refuses is refused with its sentence. */
#include "explain/record.h"

#include "base/options_inner.h"
#include "explain/megatron.h"

#include <stdlib.h>
#include <string.h>

/* True when a problem is about the row; its default stands for it then. */
static bool is_refused(const tri_error *problems, const char *name)
{
    char quoted[160];
    snprintf(quoted, sizeof quoted, "'%.150s' ", name);
    for (int i = 0; i < tri_error_count(problems); i++) {
        if (strstr(tri_error_message(problems, i), quoted))
            return true;
    }
    return false;
}

static void add_row(tri_explanation *out, const struct tri_option_binding *binding, int row)
{
    const struct tri_option *option = &binding->table->rows[row];
    char value[TRI_OPTION_LONG_TEXT];
    tri_option_format(option, binding->config, value, sizeof value);
    struct tri_explain_field *field = tri_explain_add(
        out, tri_section_find(binding->table->section), TRI_UNDERSTOOD, option->name, value);
    field->why = option->help ? option->help : "";
}

static tri_status read_run(struct tri_explain_input *input)
{
    tri_explanation *out = input->out;
    tri_error *problems = tri_error_create();
    TRI_CHECK(problems, input->err, TRI_NOMEM, "out of memory while '%s' was read", input->path);
    /* Origins of this file alone; those of earlier files are put back. */
    unsigned char *earlier[64];
    int num = out->num_bindings < 64 ? out->num_bindings : 64;
    for (int i = 0; i < num; i++) {
        size_t rows = (size_t)out->bindings[i].table->num_rows;
        earlier[i] = tri_arena_alloc(out->arena, rows + 1);
        if (earlier[i])
            memcpy(earlier[i], out->bindings[i].origin, rows);
        memset(out->bindings[i].origin, 0, rows);
    }
    tri_option_read_text(input->text, input->bytes, input->path, out->bindings, out->num_bindings,
                         &tri_megatron_options, problems);
    for (int i = 0; i < num; i++) {
        for (int row = 0; row < out->bindings[i].table->num_rows; row++) {
            bool is_given = out->bindings[i].origin[row];
            if (is_given && !is_refused(problems, out->bindings[i].table->rows[row].name))
                add_row(out, &out->bindings[i], row);
            if (earlier[i] && earlier[i][row])
                out->bindings[i].origin[row] = earlier[i][row];
        }
    }
    for (int i = 0; i < tri_error_count(problems); i++)
        tri_explain_add(out, TRI_SECTION_OTHER, TRI_REFUSED, tri_error_message(problems, i), "");
    tri_error_destroy(&problems);
    return TRI_OK;
}

const struct tri_explain_kind tri_explain_run = {
    .name = "run",
    .title = "a run file of trine",
    .read = read_run,
};
