/* SPDX-License-Identifier: Apache-2.0 */
/* trine generate --load DIR --prompt TEXT: continues a text. */
#include "cli/command.h"
#include "cli/report.h"
#include "cli/request.h"
#include "base/json.h"
#include "data/tokenizer.h"
#include "shape/attention.h"
#include "train/resume.h"
#include "train/session.h"
#include "trine/generate.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_END_TOKENS 64

struct options {
    char prompt[TRI_OPTION_LONG_TEXT];
    struct tri_option_list prompt_ids;
    int64_t max_new_tokens;
    double temperature, top_p;
    int64_t top_k;
    bool print_ids;
};

static const struct tri_option rows[] = {
    {.name = "prompt",
     .type = TRI_OPTION_STRINGS,
     .offset = offsetof(struct options, prompt),
     .help = "text to continue"},
    {.name = "prompt_ids",
     .type = TRI_OPTION_INTS,
     .offset = offsetof(struct options, prompt_ids),
     .help = "token ids to continue, instead of a text"},
    {.name = "max_new_tokens",
     .type = TRI_OPTION_INT,
     .offset = offsetof(struct options, max_new_tokens),
     .default_text = "64",
     .flags = TRI_OPTION_POSITIVE,
     .unit = "tokens",
     .help = "how many at most"},
    {.name = "temperature",
     .type = TRI_OPTION_DOUBLE,
     .offset = offsetof(struct options, temperature),
     .default_text = "1.0",
     .help = "0: always the likeliest token"},
    {.name = "top_k",
     .type = TRI_OPTION_INT,
     .offset = offsetof(struct options, top_k),
     .default_text = "0",
     .help = "draw from so many likeliest tokens; 0: from all"},
    {.name = "top_p",
     .type = TRI_OPTION_DOUBLE,
     .offset = offsetof(struct options, top_p),
     .default_text = "0",
     .help = "draw from the likeliest tokens that together reach this share; 0: off"},
    {.name = "print_ids",
     .type = TRI_OPTION_BOOL,
     .offset = offsetof(struct options, print_ids),
     .default_text = "false",
     .help = "print the new token ids instead of text"},
};
static const struct tri_option_table table = {
    .section = "",
    .rows = rows,
    .num_rows = (int)(sizeof rows / sizeof rows[0]),
    .struct_bytes = sizeof(struct options),
};

/* What all ranks share; read only while they run. */
struct request {
    const struct tri_run_config *config;
    const struct options *options;
    const char *dir;
    tri_tokenizer *tokenizer; /* used by rank 0; NULL with prompt ids */
    struct tri_ids prompt;
    int32_t end_tokens[MAX_END_TOKENS];
    int num_end_tokens;
};

static void add_end_token(struct request *request, int64_t id)
{
    if (id >= 0 && request->num_end_tokens < MAX_END_TOKENS)
        request->end_tokens[request->num_end_tokens++] = (int32_t)id;
}

/* eos_token_id of a JSON file beside the model: an id or a list of them. A missing file is no
   error. */
static tri_status add_end_tokens_of(struct request *request, const char *name, tri_error *err)
{
    char path[TRI_OPTION_TEXT + 64];
    json_t *root = NULL;
    snprintf(path, sizeof path, "%s/%s", request->dir, name);
    if (access(path, F_OK) != 0)
        return TRI_OK;
    TRI_TRY(tri_json_read_file(path, 16u << 20, err, &root));
    const json_t *eos = json_object_get(root, "eos_token_id");
    if (json_is_integer(eos))
        add_end_token(request, json_integer_value(eos));
    for (size_t i = 0; i < json_array_size(eos); i++)
        add_end_token(request, json_integer_value(json_array_get(eos, i)));
    json_decref(root);
    return TRI_OK;
}

static tri_status read_prompt(struct request *request, tri_error *err)
{
    const struct options *options = request->options;
    TRI_TRY(add_end_tokens_of(request, "config.json", err));
    TRI_TRY(add_end_tokens_of(request, "generation_config.json", err));
    for (int64_t i = 0; i < options->prompt_ids.num; i++)
        TRI_TRY(tri_ids_append(&request->prompt, (int32_t)options->prompt_ids.value[i], err));
    if (options->prompt_ids.num > 0 && options->print_ids)
        return TRI_OK;
    TRI_TRY(tri_tokenizer_create(request->dir, &request->tokenizer, err));
    add_end_token(request, tri_tokenizer_eod(request->tokenizer));
    if (options->prompt_ids.num > 0)
        return TRI_OK;
    return tri_tokenizer_encode(request->tokenizer, options->prompt, strlen(options->prompt),
                                TRI_ENCODE_TEMPLATE, &request->prompt, err);
}

/* One rank's output: rank 0 collects and prints. */
struct output {
    struct request *request;
    struct tri_ids ids;
    bool prints;
};

static void note_token(void *arg, int32_t id)
{
    struct output *output = arg;
    if (!output->prints)
        return;
    tri_ids_append(&output->ids, id, NULL);
    if (output->request->options->print_ids) {
        printf("%s%d", output->ids.num > 1 ? " " : "", id);
        fflush(stdout);
    }
}

static tri_status print_text(struct output *output, tri_error *err)
{
    struct request *request = output->request;
    struct tri_bytes text = {0};
    if (request->options->print_ids) {
        printf("\n");
        fflush(stdout);
        return TRI_OK;
    }
    tri_status status = tri_tokenizer_decode(request->tokenizer, request->prompt.data,
                                             request->prompt.num, true, &text, err);
    if (status == TRI_OK)
        status = tri_tokenizer_decode(request->tokenizer, output->ids.data, output->ids.num, true,
                                      &text, err);
    if (status == TRI_OK)
        printf("%.*s\n", (int)text.num, text.data);
    fflush(stdout);
    tri_bytes_fini(&text);
    return status;
}

static void print_reason(enum tri_stop_reason reason, int32_t last, int64_t num)
{
    if (reason == TRI_STOP_END_TOKEN)
        fprintf(stderr, "stopped after %lld tokens: end token %d\n", (long long)num, last);
    else if (reason == TRI_STOP_NO_ROOM)
        fprintf(stderr, "stopped after %lld tokens: no room left in the model's positions\n",
                (long long)num);
    else
        fprintf(stderr, "stopped after %lld tokens: the limit asked for\n", (long long)num);
}

/* Positions that the model can work at: those it knows, any where dynamic scaling follows the text. */
static int64_t positions_of(const struct tri_gpt_config *shape)
{
    bool follows = !isnan(shape->transformer.attention.rope_dynamic_factor);
    return follows && tri_is_rotary(shape) ? INT32_MAX : shape->max_position_embeddings;
}

static tri_status generate(struct tri_session *session, struct request *request)
{
    const struct options *options = request->options;
    struct output output = {.request = request, .prints = session->world->rank == 0};
    struct tri_generate_request make = {
        .prompt = request->prompt.data,
        .num_prompt = request->prompt.num,
        .max_new_tokens = options->max_new_tokens,
        .max_positions = positions_of(&session->config.shape),
        .sampling = {.temperature = options->temperature,
                     .top_k = options->top_k,
                     .top_p = options->top_p,
                     .seed = (uint64_t)session->config.train.seed},
        .end_tokens = request->end_tokens,
        .num_end_tokens = request->num_end_tokens,
        .token = note_token,
        .arg = &output,
    };
    enum tri_stop_reason reason;
    int32_t last = -1;
    tri_status status = tri_generate(session->model, session->eval_executor, &make, &reason, &last);
    if (status == TRI_OK && output.prints) {
        status = print_text(&output, session->err);
        print_reason(reason, last, output.ids.num);
    }
    tri_ids_fini(&output.ids);
    return status;
}

static tri_status body(void *arg, tri_world *world)
{
    struct request *request = arg;
    int64_t positions = positions_of(&request->config->shape);
    int64_t needed = request->prompt.num + request->options->max_new_tokens;
    struct tri_session_request make = {.config = request->config,
                                       .world = world,
                                       .forward_only = true,
                                       .cache_length = needed < positions ? needed : positions};
    struct tri_session *session = NULL;
    TRI_TRY(tri_session_create(&make, &session));
    tri_status status = tri_session_load(session, request->dir);
    if (status == TRI_OK)
        status = generate(session, request);
    tri_session_destroy(&session);
    return status;
}

static void check_prompt(const struct options *options, int64_t vocab_size, tri_error *err)
{
    bool has_ids = options->prompt_ids.num > 0, has_text = options->prompt[0] != '\0';
    if (!has_text && !has_ids)
        tri_error_add(err, TRI_INVALID, "nothing to continue; give --prompt TEXT or --prompt-ids");
    if (has_text && has_ids)
        tri_error_add(err, TRI_INVALID, "--prompt and --prompt-ids exclude each other; give one");
    for (int64_t i = 0; i < options->prompt_ids.num; i++) {
        int64_t id = options->prompt_ids.value[i];
        if (id < 0 || id >= vocab_size)
            tri_error_add(err, TRI_INVALID, "--prompt-ids: item %lld is %lld; use 0 to %lld",
                          (long long)i + 1, (long long)id, (long long)vocab_size - 1);
    }
}

/* Checks what only this command needs, with all problems at once. */
static int check_options(const struct options *options, const struct tri_run_config *config)
{
    tri_error *err = tri_error_create();
    struct tri_sampling sampling = {
        .temperature = options->temperature, .top_k = options->top_k, .top_p = options->top_p};
    tri_sampling_check(&sampling, config->shape.vocab_size, err);
    check_prompt(options, config->shape.vocab_size, err);
    int exit_code = tri_error_count(err) > 0 ? tri_cli_refuse(err, "generate") : -1;
    tri_error_destroy(&err);
    return exit_code;
}

static int generate_run(int argc, char **argv)
{
    struct options options;
    struct tri_option_binding own = {.table = &table, .config = &options};
    struct tri_run_config config;
    tri_option_set_defaults(&table, &options);
    int exit_code = tri_cli_read_model_run("generate", argc, argv, &own, &config);
    if (exit_code < 0)
        exit_code = check_options(&options, &config);
    if (exit_code >= 0)
        return exit_code;

    tri_error *err = tri_error_create();
    tri_arena *arena = tri_arena_create();
    struct request request = {.config = &config, .options = &options};
    tri_status status = tri_checkpoint_resolve(config.checkpoint.load, arena, err, &request.dir);
    if (status == TRI_OK)
        status = read_prompt(&request, err);
    if (status == TRI_OK) {
        config.train.micro_batch_size = 1;
        config.train.global_batch_size = 1;
        config.placement.sequence_parallel = false;
        if (request.prompt.num > 0 && request.prompt.num <= positions_of(&config.shape))
            config.shape.seq_length = request.prompt.num;
        exit_code = tri_cli_check_run("generate", &config, 0);
        if (exit_code < 0)
            exit_code = tri_cli_launch(&config, body, &request);
    } else {
        tri_cli_print_record(err);
        exit_code = TRI_EXIT_FAILED;
    }
    tri_ids_fini(&request.prompt);
    tri_tokenizer_destroy(&request.tokenizer);
    tri_arena_destroy(&arena);
    tri_error_destroy(&err);
    return exit_code;
}

const struct tri_command tri_cmd_generate = {
    .name = "generate",
    .usage = "[RUN.yaml] --load DIR --prompt TEXT | MODEL --prompt TEXT",
    .summary = "continue a text",
    .run = generate_run,
};
