/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trine explain FILE...: what the words of a run file, a config.json, a Megatron-LM argument list, a vLLM or a
 * DeepSpeed configuration mean here; several files add up to one run. Exit code 1 when a word is refused, not
 * built yet, or unknown.
 */
#include "cli/command.h"
#include "cli/report.h"
#include "cli/tool.h"
#include "explain/explain.h"
#include "shape/check.h"
#include "spec/family.h"
#include "train/run_config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct explain_options {
    bool json;
    char as[TRI_OPTION_TEXT];
    char to_run_file[TRI_OPTION_TEXT];
};

#define FIELD(name) #name, .offset = offsetof(struct explain_options, name)

static const struct tri_option explain_rows[] = {
    {.name = FIELD(json),
     .type = TRI_OPTION_BOOL,
     .default_text = "false",
     .help = "print one JSON object instead of text"},
    {.name = FIELD(as),
     .type = TRI_OPTION_STRING,
     .help =
         "kind of the files: run, hf, megatron, vllm or deepspeed; by their content when unset"},
    {.name = FIELD(to_run_file),
     .type = TRI_OPTION_STRING,
     .help = "write what is understood as a run file, with comments for the rest; alone or -: to "
             "standard output, instead of the explanation"},
};

static const struct tri_option_table explain_options = {
    .section = "",
    .rows = explain_rows,
    .num_rows = sizeof explain_rows / sizeof explain_rows[0],
    .struct_bytes = sizeof(struct explain_options),
};

/* A run's options with their origins, and the short forms, which a file may use as well. */
struct explain_run {
    struct tri_run_config config;
    struct tri_shape_short given;
    unsigned char origins[TRI_RUN_MAX_BINDINGS + 1][TRI_RUN_MAX_ROWS];
    struct tri_option_binding bindings[TRI_RUN_MAX_BINDINGS + 1];
    int num_bindings;
};

static void run_bind(struct explain_run *run)
{
    run->num_bindings = tri_run_bind(&run->config, run->bindings);
    run->bindings[run->num_bindings++] =
        (struct tri_option_binding){.table = &tri_shape_short_options, .config = &run->given};
    for (int i = 0; i < run->num_bindings; i++)
        run->bindings[i].origin = run->origins[i];
}

static void run_init(struct explain_run *run)
{
    tri_run_config_set_defaults(&run->config);
    tri_option_set_defaults(&tri_shape_short_options, &run->given);
    run_bind(run);
}

/* A run file may be made before its paths are known. */
static void take_as_given(char *path, size_t bytes)
{
    if (!path[0])
        snprintf(path, bytes, "given later");
}

/* A shape that no family holds can be planned and trained, with neither save nor load. */
static void drop_files(struct tri_checkpoint_config *files, const struct tri_gpt_config *shape,
                       tri_error *err)
{
    char nearest[2 * TRI_OPTION_TEXT];
    if ((!files->save[0] && !files->load[0]) || shape->family[0] || tri_family_holding(shape))
        return;
    tri_family_nearest(shape, nearest, sizeof nearest);
    tri_error_note(err,
                   "'save' and 'load' are not taken over: no Hugging Face family can hold this "
                   "shape; nearest are: %s",
                   nearest);
    files->save[0] = files->load[0] = '\0';
}

/* Sets back what the reader of the run file would, which is noted here. */
static tri_status run_drop_idle(struct explain_run *run, tri_error *err)
{
    struct explain_run *completed = malloc(sizeof *completed);
    tri_error *said = tri_error_create();
    TRI_CHECK(completed && said, err, TRI_NOMEM, "out of memory for the run file");
    *completed = *run;
    run_bind(completed);
    take_as_given(completed->config.data.data_path, sizeof completed->config.data.data_path);
    take_as_given(completed->config.checkpoint.save, sizeof completed->config.checkpoint.save);
    take_as_given(completed->config.checkpoint.load, sizeof completed->config.checkpoint.load);
    bool is_whole =
        tri_run_config_complete(completed->bindings, completed->num_bindings, &completed->given,
                                &completed->config, said) == TRI_OK &&
        tri_gpt_config_check(&completed->config.shape, said) == TRI_OK;
    for (int i = 0; i < tri_error_note_count(said); i++)
        tri_error_note(err, "%s", tri_error_note_message(said, i));
    for (int b = 0; b < run->num_bindings; b++)
        for (int r = 0; r < run->bindings[b].table->num_rows; r++) {
            const struct tri_option *row = &run->bindings[b].table->rows[r];
            const char *text = row->default_text ? row->default_text : "none";
            if (run->origins[b][r] && tri_option_is_default(row, completed->bindings[b].config))
                tri_option_set(row, run->bindings[b].config, text, "", NULL);
        }
    if (is_whole)
        drop_files(&run->config.checkpoint, &completed->config.shape, err);
    tri_error_destroy(&said); /* what is wrong, the reader of the run file says */
    free(completed);
    return TRI_OK;
}

static tri_status write_run_file(const tri_explanation *explanation, const char *path,
                                 tri_error *err)
{
    if (strcmp(path, "-") == 0) {
        tri_explanation_print_run_file(stdout, explanation);
        return TRI_OK;
    }
    FILE *file = fopen(path, "w");
    TRI_CHECK(file, err, TRI_IO, "cannot write '%s': %s", path, strerror(errno));
    tri_explanation_print_run_file(file, explanation);
    bool is_written = !ferror(file);
    is_written = fclose(file) == 0 && is_written;
    TRI_CHECK(is_written, err, TRI_IO, "cannot write '%s': %s", path, strerror(errno));
    return TRI_OK;
}

static tri_status print(const struct explain_options *options, const tri_explanation *explanation,
                        tri_error *err)
{
    bool is_run_file_printed = strcmp(options->to_run_file, "-") == 0;
    if (options->to_run_file[0])
        TRI_TRY(write_run_file(explanation, options->to_run_file, err));
    if (options->json && !is_run_file_printed)
        return tri_explanation_print_json(stdout, explanation, err);
    if (!is_run_file_printed)
        tri_explanation_print(stdout, explanation);
    return TRI_OK;
}

static int explain_files(const struct explain_options *options, const char *const *files, int num)
{
    struct explain_run *run = calloc(1, sizeof *run);
    tri_error *err = tri_error_create();
    tri_explanation *explanation = NULL;
    tri_status status = TRI_NOMEM;
    if (run && err) {
        run_init(run);
        explanation = tri_explanation_create(run->bindings, run->num_bindings);
    }
    if (explanation)
        status = TRI_OK;
    else
        tri_error_set(err, TRI_NOMEM, "out of memory for the explanation");
    for (int i = 0; i < num && explanation; i++) {
        tri_status read =
            tri_explain_file(explanation, files[i], options->as[0] ? options->as : NULL, err);
        status = status == TRI_OK ? read : status;
    }
    if (status == TRI_OK && options->to_run_file[0])
        status = run_drop_idle(run, err);
    if (status == TRI_OK)
        status = print(options, explanation, err);
    tri_cli_print_record(err);
    bool is_clean = status == TRI_OK && tri_explanation_count(explanation, TRI_LATER) == 0 &&
                    tri_explanation_count(explanation, TRI_REFUSED) == 0 &&
                    tri_explanation_count(explanation, TRI_UNKNOWN) == 0;
    tri_explanation_destroy(&explanation);
    tri_error_destroy(&err);
    free(run);
    return is_clean ? TRI_EXIT_DONE : TRI_EXIT_FAILED;
}

static void print_help(void)
{
    const struct tri_option_table *table = &explain_options;
    printf(
        "usage: trine explain FILE... [--as KIND] [--json] [--to-run-file [FILE]]\n\n"
        "Files each word of a configuration under the question it answers, and says what trine "
        "does "
        "with it.\nFILE: %s.\n\n",
        "a run file, config.json or its folder, a Megatron-LM script or argument list, a vLLM or "
        "DeepSpeed configuration");
    tri_option_print_help(stdout, &table, 1, false);
}

static bool is_kind(const char *name)
{
    static const char *const names[] = {"run", "hf", "megatron", "vllm", "deepspeed"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

/* "--to-run-file" alone means standard output. */
static void complete_words(int argc, char **argv, const char **words)
{
    for (int i = 0; i < argc; i++) {
        bool stands_alone = strcmp(argv[i], "--to-run-file") == 0 &&
                            (i + 1 == argc || strncmp(argv[i + 1], "--", 2) == 0);
        words[i] = stands_alone ? "--to-run-file=-" : argv[i];
    }
}

static int explain_run_command(int argc, char **argv)
{
    struct explain_options options;
    struct tri_option_binding binding = {.table = &explain_options, .config = &options};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_help();
            return TRI_EXIT_DONE;
        }
    }
    const char **words = calloc(2 * (size_t)argc + 1, sizeof *words);
    if (!words)
        return TRI_EXIT_FAILED;
    const char **files = words + argc;
    int num = 0, exit_code;
    tri_error *err = tri_error_create();
    tri_option_set_defaults(&explain_options, &options);
    complete_words(argc - 1, argv + 1, words);
    tri_option_read_flags(argc - 1, (char **)(uintptr_t)words, &binding, 1, NULL, files, &num, err);
    if (options.as[0] && !is_kind(options.as))
        tri_error_add(err, TRI_INVALID, "'--as' is '%s'; use %s", options.as, tri_explain_kinds());
    if (num == 0 && tri_error_count(err) == 0)
        tri_error_add(err, TRI_INVALID, "no file given; use trine explain FILE...");
    exit_code = tri_error_count(err) > 0 ? tri_cli_refuse(err, "explain")
                                         : explain_files(&options, files, num);
    tri_error_destroy(&err);
    free(words);
    return exit_code;
}

const struct tri_command tri_cmd_explain = {
    .name = "explain",
    .summary = "what a configuration of this or another program means here",
    .run = explain_run_command,
};
