/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations of any content and kind: explained, printed in all three ways, and the run file that was made
   reads back without a problem. */
#include "replay.h"

#include "../t93-run.h"

#include <stdlib.h>
#include <string.h>

static char *print_run_file(const tri_explanation *explanation, size_t *bytes)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, bytes);
    if (!out)
        return NULL;
    tri_explanation_print_run_file(out, explanation);
    fclose(out);
    return text;
}

static void print_others(const tri_explanation *explanation)
{
    static FILE *nothing;
    if (!nothing)
        nothing = fopen("/dev/null", "w");
    if (!nothing)
        return;
    tri_explanation_print(nothing, explanation);
    if (tri_explanation_print_json(nothing, explanation, NULL) != TRI_OK)
        abort();
}

static void check_run_file(const tri_explanation *explanation)
{
    static struct explain_run back;
    size_t bytes = 0;
    char *text = print_run_file(explanation, &bytes);
    tri_error *err = tri_error_create();
    explain_run_init(&back);
    /* Nothing but comments is a run file as well; its reader is not asked. */
    bool has_sections = text && (strstr(text, "\nshape:") || strstr(text, "\ntrain:"));
    if (has_sections && tri_option_read_text(text, bytes, "run.yaml", back.bindings, back.num, NULL,
                                             err) != TRI_OK) {
        fprintf(stderr, "%s\n%s", tri_error_message(err, 0), text);
        abort();
    }
    tri_error_destroy(&err);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const kinds[] = {NULL, "megatron", "vllm", "deepspeed", "hf", "run"};
    static struct explain_run run;
    if (size < 1)
        return 0;
    char *text = malloc(size);
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    explain_run_init(&run);
    tri_error *err = tri_error_create();
    tri_explanation *explanation = tri_explanation_create(run.bindings, run.num);
    const char *kind = kinds[data[0] % 6];
    tri_status status = tri_explain_text(explanation, text, size - 1, "fuzz", kind, err);
    if ((status == TRI_OK) != (tri_error_count(err) == 0))
        abort();
    print_others(explanation);
    if (status == TRI_OK)
        check_run_file(explanation);
    tri_explanation_destroy(&explanation);
    tri_error_destroy(&err);
    free(text);
    return 0;
}
