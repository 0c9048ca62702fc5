/* SPDX-License-Identifier: Apache-2.0 */
/* trine evaluate: loss and perplexity of a model on a split, on a token file from start to end, or
   on given sequences, with the log-probability of each token on request. */
#include "cli/command.h"
#include "cli/output.h"
#include "cli/report.h"
#include "cli/request.h"
#include "checkpoint/checkpoint.h"
#include "data/sequences.h"
#include "train/feed.h"
#include "train/session.h"
#include "trine/evaluate.h"
#include "trine/score.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    char tokens[TRI_OPTION_TEXT];    /* prefix of a token file */
    char sequences[TRI_OPTION_TEXT]; /* JSON lines */
    int64_t max_tokens;
    char per_token[TRI_OPTION_TEXT]; /* file for every token's value */
    bool entropy;
    int64_t part;
};

static const char *const parts[] = {"train", "valid", "test", NULL};
static const struct tri_option rows[] = {
    {.name = "tokens",
     .type = TRI_OPTION_STRING,
     .offset = offsetof(struct options, tokens),
     .help =
         "prefix of a token file to evaluate from its first token to its last, instead of a split"},
    {.name = "sequences",
     .type = TRI_OPTION_STRING,
     .offset = offsetof(struct options, sequences),
     .help = "JSON lines to score instead: objects with 'tokens' (ids), 'text', or 'prompt' and "
             "'completion' (texts or ids; only the completion counts); -: standard input"},
    {.name = "max_tokens",
     .type = TRI_OPTION_INT,
     .offset = offsetof(struct options, max_tokens),
     .default_text = "0",
     .flags = TRI_OPTION_NON_NEGATIVE,
     .unit = "tokens",
     .help = "with --tokens: evaluate so many predictions at most; 0: all"},
    {.name = "per_token",
     .type = TRI_OPTION_STRING,
     .offset = offsetof(struct options, per_token),
     .help = "file for every token's value, -: standard output; with --sequences a JSON line "
             "(tokens, logprobs, sum, count) per line, with --tokens a line 'position token loss' "
             "per prediction"},
    {.name = "entropy",
     .type = TRI_OPTION_BOOL,
     .offset = offsetof(struct options, entropy),
     .default_text = "false",
     .help = "with --sequences and --per-token: beside each log-probability the entropy of the "
             "distribution that it is from, in nats"},
    {.name = "part",
     .type = TRI_OPTION_CHOICE,
     .offset = offsetof(struct options, part),
     .default_text = "valid",
     .choices = parts,
     .help = "which split of data_path"},
};
static const struct tri_option_table table = {
    .section = "",
    .rows = rows,
    .num_rows = (int)(sizeof rows / sizeof rows[0]),
    .struct_bytes = sizeof(struct options),
};

/* What all ranks share; read only while they run, but for the results, which are rank 0's. */
struct request {
    const struct tri_run_config *config;
    const struct options *options;
    struct tri_sequences sequences; /* none: evaluate a part of the data */
    struct tri_scores scores;
};

static void print_result(const struct request *request, const struct tri_evaluation *evaluation)
{
    FILE *out = strcmp(request->options->per_token, "-") == 0 ? stderr : stdout;
    if (evaluation->num_tokens == 0) {
        fprintf(out, "tokens 0\nloss none, as no token was to be predicted\n");
        return;
    }
    double loss = tri_evaluation_loss(evaluation), perplexity = exp(loss);
    fprintf(out, "tokens %.0f\nloss %.8f\nbits per token %.6f\n", evaluation->num_tokens, loss,
            loss / M_LN2);
    if (isinf(perplexity))
        fprintf(out, "perplexity inf\n");
    else
        fprintf(out, "perplexity %.7g\n", perplexity);
}

/* ---- what is written per token ---- */

/* "position token loss" of a token file, whose windows overlap by one token. */
static void write_losses(FILE *out, const struct request *request)
{
    const struct tri_sequences *sequences = &request->sequences;
    int64_t start = 0, position = 0;
    for (int64_t n = 0; n < sequences->num; start += sequences->lengths[n++])
        for (int64_t t = 1; t < sequences->lengths[n]; t++)
            fprintf(out, "%" PRId64 " %" PRId32 " %.9g\n", ++position,
                    sequences->tokens.data[start + t],
                    0 - (double)request->scores.logprobs[start + t]);
}

/* As Python's json module has it. */
static void write_number(FILE *out, double value, int digits)
{
    if (isnan(value))
        fputs("NaN", out);
    else if (isinf(value))
        fputs(value < 0 ? "-Infinity" : "Infinity", out);
    else
        fprintf(out, "%.*g", digits, value);
}

/* ", "name": [...]": a value for each token of sequence n, which begin at start; null where nothing predicts a
   token, and in its prompt. */
static void write_values(FILE *out, const struct tri_sequences *sequences, int64_t n, int64_t start,
                         const char *name, const float *values)
{
    fprintf(out, ", \"%s\": [", name);
    for (int64_t t = 0; t < sequences->lengths[n]; t++) {
        fputs(t ? ", " : "", out);
        if (t == 0 || t < sequences->prompt_lengths[n])
            fputs("null", out);
        else
            write_number(out, (double)values[start + t], 9);
    }
    fputc(']', out);
}

/* One line of sequence n, whose tokens begin at start. */
static void write_line(FILE *out, const struct request *request, int64_t n, int64_t start)
{
    const struct tri_sequences *sequences = &request->sequences;
    fputs("{\"tokens\": [", out);
    for (int64_t t = 0; t < sequences->lengths[n]; t++)
        fprintf(out, "%s%" PRId32, t ? ", " : "", sequences->tokens.data[start + t]);
    fputc(']', out);
    write_values(out, sequences, n, start, "logprobs", request->scores.logprobs);
    if (request->scores.entropies)
        write_values(out, sequences, n, start, "entropy", request->scores.entropies);
    fputs(", \"sum\": ", out);
    write_number(out, request->scores.sums[n], 15);
    fprintf(out, ", \"count\": %" PRId64 "}\n", request->scores.counts[n]);
}

static tri_status write_per_token(const struct request *request, tri_error *err)
{
    const struct options *options = request->options;
    struct tri_output output;
    int64_t start = 0;
    TRI_TRY(tri_output_begin(&output, options->per_token, err));
    if (options->tokens[0])
        write_losses(output.file, request);
    else
        for (int64_t n = 0; n < request->sequences.num; start += request->sequences.lengths[n++])
            write_line(output.file, request, n, start);
    return tri_output_end(&output, TRI_OK, err);
}

/* ---- running ---- */

static tri_status score(struct tri_session *session, const struct request *request,
                        struct tri_evaluation *evaluation)
{
    const struct tri_score_request sequences = {
        .num_sequences = request->sequences.num,
        .lengths = request->sequences.lengths,
        .tokens = request->sequences.tokens.data,
        .prompt_lengths = request->sequences.prompt_lengths,
    };
    const struct tri_scores nothing = {0};
    bool reports = session->world->rank == 0;
    tri_scorer *scorer = NULL;
    TRI_TRY(tri_scorer_create(session, &scorer));
    tri_status status = tri_scorer_run(scorer, &sequences, reports ? &request->scores : &nothing);
    tri_scorer_destroy(&scorer);
    TRI_TRY(status);
    *evaluation = (struct tri_evaluation){0};
    for (int64_t n = 0; reports && n < request->sequences.num; n++) {
        evaluation->loss_sum -= request->scores.sums[n];
        evaluation->num_tokens += (double)request->scores.counts[n];
    }
    return reports && request->scores.logprobs ? write_per_token(request, session->err) : TRI_OK;
}

static tri_status body(void *arg, tri_world *world)
{
    const struct request *request = arg;
    struct tri_session_request make = {
        .config = request->config, .world = world, .forward_only = true};
    struct tri_session *session = NULL;
    struct tri_evaluation evaluation;
    enum tri_data_part part = (enum tri_data_part)request->options->part;
    TRI_TRY(tri_session_create(&make, &session));
    tri_status status = tri_session_load(session, request->config->checkpoint.load);
    if (status == TRI_OK)
        status = request->sequences.num > 0 ? score(session, request, &evaluation)
                                            : tri_evaluate_part(session, part, &evaluation);
    if (status == TRI_OK && world->rank == 0)
        print_result(request, &evaluation);
    tri_session_destroy(&session);
    return status;
}

/* ---- reading ---- */

/* The session needs no more positions than the longest sequence takes. */
static void fit_seq_length(struct tri_run_config *config, const struct tri_sequences *sequences)
{
    int64_t needed = tri_sequences_positions(sequences);
    int64_t unit =
        config->placement.sequence_parallel ? config->placement.tensor_model_parallel_size : 1;
    needed = (needed + unit - 1) / unit * unit;
    if (needed < config->shape.seq_length)
        config->shape.seq_length = needed;
}

static tri_status read_lines(struct tri_run_config *config, const struct options *options,
                             struct tri_sequences *sequences, tri_error *err)
{
    tri_arena *arena = tri_arena_create();
    struct tri_sequences_config lines = {
        .path = strcmp(options->sequences, "-") == 0 ? "/dev/stdin" : options->sequences,
        .tokenizer = config->data.tokenizer,
        .vocab_size = config->shape.vocab_size,
        .seq_length = config->shape.seq_length,
        .max_positions = isnan(config->shape.transformer.attention.rope_dynamic_factor)
                             ? config->shape.max_position_embeddings
                             : INT64_MAX,
    };
    tri_status status = TRI_OK;
    if (!config->data.tokenizer[0])
        status = tri_checkpoint_resolve(config->checkpoint.load, arena, err, &lines.tokenizer);
    if (status == TRI_OK)
        status = tri_sequences_read_lines(&lines, sequences, err);
    if (status == TRI_OK)
        fit_seq_length(config, sequences);
    tri_arena_destroy(&arena);
    return status;
}

static tri_status make_scores(const struct request *request, struct tri_scores *scores,
                              tri_error *err)
{
    size_t num = (size_t)request->sequences.num;
    bool keeps = request->options->per_token[0] != '\0';
    bool keeps_entropies = request->options->entropy;
    scores->sums = calloc(num, sizeof(double));
    scores->counts = calloc(num, sizeof(int64_t));
    if (keeps)
        scores->logprobs = calloc((size_t)request->sequences.tokens.num, sizeof(float));
    if (keeps_entropies)
        scores->entropies = calloc((size_t)request->sequences.tokens.num, sizeof(float));
    TRI_CHECK(scores->sums && scores->counts && (!keeps || scores->logprobs) &&
                  (!keeps_entropies || scores->entropies),
              err, TRI_NOMEM, "out of memory for the log-probabilities of %" PRId64 " tokens",
              request->sequences.tokens.num);
    return TRI_OK;
}

static tri_status read_sequences(struct tri_run_config *config, struct request *request,
                                 tri_error *err)
{
    const struct options *options = request->options;
    if (options->sequences[0])
        TRI_TRY(read_lines(config, options, &request->sequences, err));
    else if (options->tokens[0])
        TRI_TRY(tri_sequences_read_tokens(options->tokens, config->shape.seq_length,
                                          options->max_tokens, config->shape.vocab_size,
                                          &request->sequences, err));
    else
        return TRI_OK;
    return make_scores(request, &request->scores, err);
}

static int read_and_run(struct tri_run_config *config, const struct options *options)
{
    tri_error *err = tri_error_create();
    struct request request = {.config = config, .options = options};
    int exit_code = TRI_EXIT_FAILED;
    if (read_sequences(config, &request, err) == TRI_OK)
        exit_code = tri_cli_launch(config, body, &request);
    else
        tri_cli_print_record(err);
    tri_sequences_fini(&request.sequences);
    free(request.scores.logprobs);
    free(request.scores.entropies);
    free(request.scores.sums);
    free(request.scores.counts);
    tri_error_destroy(&err);
    return exit_code;
}

/* What the options say together, all problems at once. */
static int check_options(const struct options *options, const struct tri_run_config *config)
{
    bool has_tokens = options->tokens[0] != '\0', has_lines = options->sequences[0] != '\0';
    tri_error *err = tri_error_create();
    if (has_tokens && has_lines)
        tri_error_add(err, TRI_INVALID, "--tokens and --sequences exclude each other; give one");
    if (!has_tokens && !has_lines && !tri_feed_has(config, (enum tri_data_part)options->part))
        tri_error_add(err, TRI_INVALID,
                      "nothing to evaluate; give --tokens PREFIX, --sequences FILE or data_path");
    if (options->per_token[0] && !has_tokens && !has_lines)
        tri_error_add(err, TRI_INVALID, "--per-token needs --tokens or --sequences");
    if (options->entropy && (!has_lines || !options->per_token[0]))
        tri_error_add(err, TRI_INVALID, "--entropy needs --sequences and --per-token");
    if (options->max_tokens > 0 && !has_tokens)
        tri_error_add(err, TRI_INVALID, "--max-tokens needs --tokens");
    if (strcmp(options->sequences, "-") == 0 && tri_cli_launcher_rank() >= 0)
        tri_error_add(err, TRI_INVALID,
                      "--sequences -: a launcher gives standard input to one process only; give a "
                      "file, or use --ranks");
    int exit_code = tri_error_count(err) > 0 ? tri_cli_refuse(err, "evaluate") : -1;
    tri_error_destroy(&err);
    return exit_code;
}

static int evaluate_run(int argc, char **argv)
{
    struct options options;
    struct tri_option_binding own = {.table = &table, .config = &options};
    struct tri_run_config config;
    tri_option_set_defaults(&table, &options);
    int exit_code = tri_cli_read_model_run("evaluate", argc, argv, &own, &config);
    if (exit_code < 0)
        exit_code = check_options(&options, &config);
    if (exit_code < 0)
        exit_code = tri_cli_check_run("evaluate", &config, 0);
    return exit_code < 0 ? read_and_run(&config, &options) : exit_code;
}

const struct tri_command tri_cmd_evaluate = {
    .name = "evaluate",
    .usage = "[RUN.yaml] --load DIR | MODEL",
    .summary = "loss and perplexity of a model on data, log-probabilities of given tokens",
    .run = evaluate_run,
};
