/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and printing a run's options. */
#include "train/run_config.h"

#include "checkpoint/checkpoint.h"
#include "explain/megatron.h"
#include "shape/check.h"
#include "shape/hf_config.h"
#include "spec/family.h"
#include "train/case.h"
#include "train/run_model.h"
#include "train/vocabulary.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "shape: PATH": the shape of an existing model; other shape keys go over it. */
static const struct tri_option shape_from_rows[] = {
    {.name = "shape_from",
     .type = TRI_OPTION_STRING,
     .offset = offsetof(struct tri_run_config, shape_from),
     .help =
         "config.json, or a directory that has one, to take the shape from; or the case.json of "
         "a Megatron-LM case; unset, in a run that leaves num_layers, hidden_size or "
         "num_attention_heads open: the model that load names"},
};
static const struct tri_option_table shape_from_options = {
    .section = "shape",
    .rows = shape_from_rows,
    .num_rows = 1,
    .struct_bytes = sizeof(struct tri_run_config),
    .scalar_row = "shape_from",
};

static const struct tri_option fact_rows[] = {
    {.name = "data_parallel_size",
     .type = TRI_OPTION_INT,
     .offset = offsetof(struct tri_run_facts, data_parallel_size),
     .default_text = "1",
     .help = "ranks that a global batch is shared among"},
};
const struct tri_option_table tri_run_fact_options = {
    .section = "",
    .rows = fact_rows,
    .num_rows = sizeof fact_rows / sizeof fact_rows[0],
    .struct_bytes = sizeof(struct tri_run_facts),
};

static const struct tri_option_table *const tables[] = {
    &shape_from_options,
    &tri_transformer_options,
    &tri_attention_options,
    &tri_gpt_options,
    &tri_spec_options,
    &tri_placement_options,
    &tri_padding_options,
    &tri_train_options,
    &tri_optim_options,
    &tri_data_options,
    &tri_checkpoint_options,
    &tri_config_json_options,
    NULL,
};

const struct tri_option_table *const *tri_run_tables(void)
{
    return tables;
}

int tri_run_bind(struct tri_run_config *config, struct tri_option_binding *bindings)
{
    const struct tri_option_binding own[] = {
        {.table = &shape_from_options, .config = config},
        {.table = &tri_transformer_options, .config = &config->shape.transformer},
        {.table = &tri_attention_options, .config = &config->shape.transformer.attention},
        {.table = &tri_gpt_options, .config = &config->shape},
        {.table = &tri_spec_options, .config = &config->spec},
        {.table = &tri_placement_options, .config = &config->placement},
        {.table = &tri_padding_options, .config = &config->shape},
        {.table = &tri_train_options, .config = &config->train},
        {.table = &tri_optim_options, .config = &config->optim},
        {.table = &tri_data_options, .config = &config->data},
        {.table = &tri_checkpoint_options, .config = &config->checkpoint},
        {.table = &tri_config_json_options, .config = &config->shape},
    };
    memcpy(bindings, own, sizeof own);
    return (int)(sizeof own / sizeof own[0]);
}

void tri_run_config_set_defaults(struct tri_run_config *config)
{
    struct tri_option_binding bindings[TRI_RUN_MAX_BINDINGS];
    memset(config, 0, sizeof *config);
    int num = tri_run_bind(config, bindings);
    for (int i = 0; i < num; i++)
        tri_option_set_defaults(bindings[i].table, bindings[i].config);
}

/* The file that "shape_from: PATH" means, for messages. */
static void name_shape_file(const char *path, char *name, size_t bytes)
{
    struct stat info;
    bool is_dir = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    snprintf(name, bytes, "%s%s", path, is_dir ? "/config.json" : "");
}

/* Fills config's shape from a config.json, or the case.json of a Megatron-LM case. */
static tri_status parse_shape(const char *path, struct tri_gpt_config *shape, tri_error *err)
{
    char *text = NULL, model_type[64];
    size_t bytes = 0;
    if (tri_case_is_shape(path))
        return tri_case_read_shape(path, shape, err);
    TRI_TRY(tri_hf_config_load(path, err, &text, &bytes));
    tri_status status =
        tri_hf_config_model_type(text, bytes, path, err, model_type, sizeof model_type);
    const struct tri_family *family = status == TRI_OK ? tri_family_find(model_type) : NULL;
    if (status == TRI_OK && !family)
        status =
            tri_error_add(err, TRI_UNSUPPORTED,
                          "%s: 'model_type' is \"%s\", which no family of this build reads; use %s",
                          path, model_type, tri_family_list());
    if (status == TRI_OK)
        status = tri_hf_config_read(family->config, text, bytes, path, err, shape);
    free(text);
    return status;
}

/* The same. Faults of a file are no faults of the request: they are TRI_IO, whatever the reader
   called them. */
static tri_status read_shape(const char *from, struct tri_gpt_config *shape, tri_error *err)
{
    char path[TRI_OPTION_TEXT + 16];
    tri_error *faults = tri_error_create();
    TRI_CHECK(faults, err, TRI_NOMEM, "out of memory for the faults of '%s'", from);
    name_shape_file(from, path, sizeof path);
    tri_status status = parse_shape(path, shape, faults);
    for (int i = 0; i < tri_error_note_count(faults); i++)
        tri_error_note(err, "%s", tri_error_note_message(faults, i));
    for (int i = 0; i < tri_error_count(faults); i++)
        status = tri_error_add(err, TRI_IO, "%s", tri_error_message(faults, i));
    tri_error_destroy(&faults);
    return status;
}

/* The binding of one of the run's own tables. */
static const struct tri_option_binding *binding_of(const struct tri_option_binding *bindings,
                                                   const struct tri_option_table *table)
{
    int i = 0;
    while (bindings[i].table != table)
        i++;
    return &bindings[i];
}

/* Every value that the file or a flag gave, so that it can be laid over a shape that was read
   later. */
static void overlay(const struct tri_option_binding *given, void *onto)
{
    for (int r = 0; r < given->table->num_rows; r++) {
        if (!given->origin[r])
            continue;
        char text[TRI_OPTION_LONG_TEXT];
        tri_option_format(&given->table->rows[r], given->config, text, sizeof text);
        tri_option_set(&given->table->rows[r], onto, text, "", NULL);
    }
}

static tri_status read_sources(int argc, char **argv, struct tri_option_binding *bindings, int num,
                               struct tri_run_config *config, tri_error *err)
{
    const char **words = calloc((size_t)argc + 1, sizeof *words);
    if (!words)
        return tri_error_set(err, TRI_NOMEM, "out of memory for the arguments");
    /* Flags go over the file, so words are read twice: first for the file's name. */
    int num_words = 0;
    tri_error *scratch = tri_error_create();
    tri_option_read_flags(argc, argv, bindings, num, NULL, words, &num_words, scratch);
    tri_error_destroy(&scratch);
    for (int i = 0; i < num; i++) {
        memset(bindings[i].origin, 0, TRI_RUN_MAX_ROWS);
        tri_option_set_defaults(bindings[i].table, bindings[i].config);
    }
    if (num_words > 1)
        tri_error_add(err, TRI_INVALID, "'%s' is one word too many; give one run file", words[1]);
    if (num_words > 0 && tri_run_is_model(words[0]))
        tri_run_take_model(words[0], config, err);
    else if (num_words > 0)
        tri_option_read_file(words[0], bindings, num, &tri_megatron_options, err);
    tri_option_read_flags(argc, argv, bindings, num, &tri_megatron_options, words, &num_words, err);
    free(words);
    return tri_error_status(err);
}

tri_status tri_run_config_complete(const struct tri_option_binding *bindings, int num_bindings,
                                   const struct tri_shape_short *given,
                                   struct tri_run_config *config, tri_error *err)
{
    const struct tri_option_binding *transformer = binding_of(bindings, &tri_transformer_options);
    const struct tri_option_binding *attention = binding_of(bindings, &tri_attention_options);
    const struct tri_option_binding *gpt = binding_of(bindings, &tri_gpt_options);
    if (config->shape_from[0]) {
        struct tri_gpt_config shape;
        tri_gpt_config_set_defaults(&shape);
        if (read_shape(config->shape_from, &shape, err) == TRI_OK) {
            overlay(gpt, &shape);
            overlay(binding_of(bindings, &tri_padding_options), &shape);
            overlay(binding_of(bindings, &tri_config_json_options), &shape);
            overlay(transformer, &shape.transformer);
            overlay(attention, &shape.transformer.attention);
            config->shape = shape;
        }
    }
    const struct tri_shape_origins origins = {
        .transformer = transformer->origin, .attention = attention->origin, .gpt = gpt->origin};
    tri_shape_apply_short(given, &origins, &config->shape, err);
    if (tri_error_count(err) == 0) /* else what others say is not known */
        tri_option_drop_idle(bindings, num_bindings, err);
    tri_gpt_config_resolve(&config->shape);
    return tri_error_status(err);
}

static struct tri_run_facts find_facts(const struct tri_run_config *config, int num_processes)
{
    const struct tri_placement_config *p = &config->placement;
    int64_t ranks = num_processes > 0                  ? num_processes
                    : config->train.ranks == TRI_UNSET ? 1
                                                       : config->train.ranks;
    int64_t dp = ranks / p->tensor_model_parallel_size / p->pipeline_model_parallel_size;
    return (struct tri_run_facts){
        .data_parallel_size = dp > 1 ? dp : 1, /* too few ranks are refused */
    };
}

tri_status tri_run_config_read(int argc, char **argv, int num_processes,
                               struct tri_option_binding *own, struct tri_run_config *config,
                               tri_error *err)
{
    struct tri_option_binding bindings[TRI_RUN_MAX_BINDINGS + 3];
    unsigned char origins[TRI_RUN_MAX_BINDINGS + 2][TRI_RUN_MAX_ROWS] = {{0}};
    struct tri_option_place places[TRI_RUN_MAX_BINDINGS + 2][TRI_RUN_MAX_ROWS] = {{{0}}};
    struct tri_shape_short given;
    tri_run_config_set_defaults(config);
    int num = tri_run_bind(config, bindings);
    bindings[num++] =
        (struct tri_option_binding){.table = &tri_shape_short_options, .config = &given};
    tri_option_set_defaults(&tri_shape_short_options, &given);
    if (own)
        bindings[num++] = *own;
    for (int i = 0; i < num; i++) {
        bindings[i].origin = origins[i];
        bindings[i].places = places[i];
    }

    tri_status read = read_sources(argc, argv, bindings, num, config, err);
    struct tri_run_facts facts = find_facts(config, num_processes);
    bindings[num++] = (struct tri_option_binding){.table = &tri_run_fact_options, .config = &facts};
    tri_status completed = tri_run_take_loaded_shape(config, err);
    if (completed == TRI_OK)
        completed = tri_run_config_complete(bindings, num, &given, config, err);
    if (completed == TRI_OK)
        completed = tri_run_check_loaded_shape(config, err);
    if (completed == TRI_OK)
        completed = tri_run_check_vocabulary(config, err);
    return read == TRI_OK ? completed : TRI_INVALID;
}

void tri_run_config_print(FILE *out, const struct tri_run_config *config, bool only_changed)
{
    struct tri_run_config copy = *config;
    struct tri_option_binding bindings[TRI_RUN_MAX_BINDINGS];
    int num = tri_run_bind(&copy, bindings);
    tri_option_print_file(out, bindings, num, only_changed);
}
