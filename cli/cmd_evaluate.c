/* SPDX-License-Identifier: Apache-2.0 */
/* trine evaluate: loss and perplexity of a model on a split, or on a token file from start to
   end. */
#include "cli/command.h"
#include "cli/report.h"
#include "cli/request.h"
#include "train/evaluate.h"
#include "train/feed.h"
#include "train/stream.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct options {
    char tokens[TRI_OPTION_TEXT]; /* prefix of a token file */
    int64_t max_tokens;
    char per_token[TRI_OPTION_TEXT]; /* file for every token's loss */
    int64_t part;
};

static const char *const parts[] = {"train", "valid", "test", NULL};
static const struct tri_option rows[] = {
    {.name = "tokens",
     .type = TRI_OPTION_STRING,
     .offset = offsetof(struct options, tokens),
     .help =
         "prefix of a token file to evaluate from its first token to its last, instead of a split"},
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
     .help = "with --tokens: file that gets a line 'position token loss' per prediction"},
    {.name = "part",
     .type = TRI_OPTION_CHOICE,
     .offset = offsetof(struct options, part),
     .default_text = "valid",
     .choices = parts,
     .help = "which split of data_path"},
};
static const struct tri_option_table table = {
    .section = "", .rows = rows, .num_rows = 4, .struct_bytes = sizeof(struct options)};

struct request {
    const struct tri_run_config *config;
    const struct options *options;
};

static void print_result(const struct tri_evaluation *evaluation)
{
    double loss = tri_evaluation_loss(evaluation), perplexity = exp(loss);
    printf("tokens %.0f\nloss %.8f\nbits per token %.6f\n", evaluation->num_tokens, loss,
           loss / M_LN2);
    if (isinf(perplexity))
        printf("perplexity inf\n");
    else
        printf("perplexity %.7g\n", perplexity);
}

static tri_status write_losses(const struct tri_session *session, const char *path,
                               const tri_stream *stream, const float *losses)
{
    FILE *out = fopen(path, "w");
    TRI_CHECK(out, session->err, TRI_IO, "cannot open '%s': %s", path, strerror(errno));
    for (int64_t i = 0; i < tri_stream_labels(stream); i++)
        fprintf(out, "%" PRId64 " %" PRId32 " %.9g\n", i + 1, tri_stream_label(stream, i),
                (double)losses[i]);
    bool written = fflush(out) == 0;
    int cause = errno;
    fclose(out);
    TRI_CHECK(written, session->err, TRI_IO, "cannot write to '%s': %s", path, strerror(cause));
    return TRI_OK;
}

static tri_status run_stream(struct tri_session *session, const struct options *options,
                             tri_stream *stream, struct tri_evaluation *evaluation)
{
    bool keep = options->per_token[0] != '\0';
    const float *losses;
    if (keep)
        TRI_TRY(tri_stream_keep_losses(stream));
    TRI_TRY(
        tri_evaluate(session, tri_stream_source(stream), tri_stream_batches(stream), evaluation));
    if (!keep)
        return TRI_OK;
    TRI_TRY(tri_stream_collect(stream, &losses));
    if (session->world->rank != 0)
        return TRI_OK;
    return write_losses(session, options->per_token, stream, losses);
}

static tri_status evaluate_tokens(struct tri_session *session, const struct options *options,
                                  struct tri_evaluation *evaluation)
{
    tri_stream *stream = NULL;
    TRI_TRY(tri_stream_create(session, options->tokens, options->max_tokens, &stream));
    tri_status status = run_stream(session, options, stream, evaluation);
    tri_stream_destroy(&stream);
    return status;
}

static tri_status body(void *arg, tri_world *world)
{
    const struct request *request = arg;
    struct tri_session_request make = {
        .config = request->config, .world = world, .forward_only = true};
    struct tri_session *session = NULL;
    struct tri_evaluation evaluation;
    TRI_TRY(tri_session_create(&make, &session));
    const struct options *options = request->options;
    tri_status status = tri_session_load(session, request->config->checkpoint.load);
    if (status == TRI_OK)
        status = options->tokens[0]
                     ? evaluate_tokens(session, options, &evaluation)
                     : tri_evaluate_part(session, (enum tri_data_part)options->part, &evaluation);
    if (status == TRI_OK && world->rank == 0)
        print_result(&evaluation);
    tri_session_destroy(&session);
    return status;
}

static int evaluate_run(int argc, char **argv)
{
    struct options options;
    struct tri_option_binding own = {.table = &table, .config = &options};
    struct tri_run_config config;
    tri_option_set_defaults(&table, &options);
    int exit_code = tri_cli_read_model_run("evaluate", argc, argv, &own, &config);
    if (exit_code < 0 && !options.tokens[0] &&
        !tri_feed_has(&config, (enum tri_data_part)options.part)) {
        fprintf(stderr, "error: nothing to evaluate; give --tokens PREFIX or data_path\n");
        exit_code = TRI_EXIT_REQUEST;
    }
    if (exit_code < 0)
        exit_code = tri_cli_check_run("evaluate", &config, 0);
    if (exit_code >= 0)
        return exit_code;
    struct request request = {.config = &config, .options = &options};
    return tri_cli_launch(&config, body, &request);
}

const struct tri_command tri_cmd_evaluate = {
    .name = "evaluate",
    .summary = "loss and perplexity of a model on data",
    .run = evaluate_run,
};
