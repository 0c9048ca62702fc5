/* SPDX-License-Identifier: Apache-2.0 */
/* trine data encode|inspect|sample: text to token files, and what is in them. */
#include "cli/command.h"
#include "cli/report.h"
#include "cli/data_sample.h"
#include "cli/tool.h"
#include "data/encode.h"
#include "data/indexed_dataset.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct encode_options {
    char input[TRI_OPTION_LONG_TEXT];
    char output_prefix[TRI_OPTION_TEXT];
    char tokenizer[TRI_OPTION_TEXT];
    int64_t format, dtype;
    char json_key[TRI_OPTION_TEXT];
    char separator[TRI_OPTION_TEXT];
    bool keep_separator, append_eod, skip_bad_lines;
    int64_t eod_token_id;
    bool special_as_text, add_special, replace_invalid;
};

static const char *const formats[] = {"auto", "jsonl", "text", NULL};
static const char *const dtypes[] = {"auto", "uint16", "int32", NULL};

static const struct tri_option encode_rows[] = {
    {.name = "input",
     .type = TRI_OPTION_STRINGS,
     .offset = offsetof(struct encode_options, input),
     .help = "files to encode, in order; plain, gzip or zstd"},
    {.name = "output_prefix",
     .type = TRI_OPTION_STRING,
     .offset = offsetof(struct encode_options, output_prefix),
     .help = "writes PREFIX.bin and PREFIX.idx"},
    {.name = "tokenizer",
     .type = TRI_OPTION_STRING,
     .offset = offsetof(struct encode_options, tokenizer),
     .default_text = "tokenizer.json",
     .help = "tokenizer.json, or a folder that holds one"},
    {.name = "format",
     .type = TRI_OPTION_CHOICE,
     .offset = offsetof(struct encode_options, format),
     .default_text = "auto",
     .choices = formats,
     .help = "what the input is; auto: JSONL when the name ends in .jsonl or .json"},
    {.name = "json_key",
     .type = TRI_OPTION_STRING,
     .offset = offsetof(struct encode_options, json_key),
     .default_text = "text",
     .help = "JSONL: the key that holds the text, or a list of texts"},
    {.name = "separator",
     .type = TRI_OPTION_STRING,
     .offset = offsetof(struct encode_options, separator),
     .help =
         "text: what ends a document (\\n, \\t, \\\\ understood); unset: a file is one document"},
    {.name = "keep_separator",
     .type = TRI_OPTION_BOOL,
     .offset = offsetof(struct encode_options, keep_separator),
     .default_text = "false",
     .help = "text: the separator stays at the end of its document"},
    {.name = "append_eod",
     .type = TRI_OPTION_BOOL,
     .offset = offsetof(struct encode_options, append_eod),
     .default_text = "false",
     .help = "put the end token behind each document"},
    {.name = "eod_token_id",
     .type = TRI_OPTION_INT,
     .offset = offsetof(struct encode_options, eod_token_id),
     .flags = TRI_OPTION_NON_NEGATIVE,
     .help = "the end token; the tokenizer's when unset"},
    {.name = "skip_bad_lines",
     .type = TRI_OPTION_BOOL,
     .offset = offsetof(struct encode_options, skip_bad_lines),
     .default_text = "false",
     .help = "JSONL: leave out lines that cannot be read, counted"},
    {.name = "dtype",
     .type = TRI_OPTION_CHOICE,
     .offset = offsetof(struct encode_options, dtype),
     .default_text = "auto",
     .choices = dtypes,
     .help = "bytes of a token; auto: uint16 below 65500 ids"},
    {.name = "special_as_text",
     .type = TRI_OPTION_BOOL,
     .offset = offsetof(struct encode_options, special_as_text),
     .default_text = "false",
     .help = "names of special tokens in the text are plain text"},
    {.name = "add_special",
     .type = TRI_OPTION_BOOL,
     .offset = offsetof(struct encode_options, add_special),
     .default_text = "false",
     .help = "add what the tokenizer's template adds to each text, such as a beginning"},
    {.name = "replace_invalid",
     .type = TRI_OPTION_BOOL,
     .offset = offsetof(struct encode_options, replace_invalid),
     .default_text = "false",
     .help = "text: broken UTF-8 becomes U+FFFD instead of an error"},
};
static const struct tri_option_table encode_table = {
    .section = "",
    .rows = encode_rows,
    .num_rows = sizeof(encode_rows) / sizeof(*encode_rows),
    .struct_bytes = sizeof(struct encode_options),
};

/* Cuts a list option in place; returns the number of items. */
static int cut_list(char *text, const char **items, int room)
{
    int num = 0;
    while (*text && num < room) {
        items[num++] = text;
        text += strcspn(text, "\n");
        if (*text)
            *text++ = '\0';
    }
    return num;
}

/* Replaces \n, \t and \\ in place. */
static void unescape(char *text)
{
    char *out = text;
    for (; *text; text++) {
        if (text[0] == '\\' && text[1] && strchr("nt\\", text[1])) {
            text++;
            *out++ = *text == 'n' ? '\n' : *text == 't' ? '\t' : '\\';
        } else {
            *out++ = *text;
        }
    }
    *out = '\0';
}

static void print_counts(const char *prefix, const struct tri_encode_counts *counts)
{
    printf("%s: %lld documents (%lld empty), %lld sequences, %lld tokens of %s from %lld bytes of "
           "text; %lld blank and %lld bad lines left out\n",
           prefix, (long long)counts->documents, (long long)counts->empty_documents,
           (long long)counts->sequences, (long long)counts->tokens,
           tri_idx_type_name(counts->dtype), (long long)counts->text_bytes,
           (long long)counts->blank_lines, (long long)counts->bad_lines);
}

static tri_status encode_run(struct encode_options *options, const char **inputs, int num_inputs,
                             tri_error *err)
{
    static const int64_t types[] = {0, TRI_IDX_U16, TRI_IDX_I32};
    tri_tokenizer *tokenizer = NULL;
    struct tri_encode_counts counts;
    unescape(options->separator);
    struct tri_encode_config config = {
        .inputs = inputs,
        .num_inputs = num_inputs,
        .output_prefix = options->output_prefix,
        .format = (enum tri_encode_format)options->format,
        .json_key = options->json_key,
        .separator = options->separator[0] ? options->separator : NULL,
        .keep_separator = options->keep_separator,
        .append_eod = options->append_eod,
        .eod = options->eod_token_id == TRI_UNSET ? -1 : (int32_t)options->eod_token_id,
        .skip_bad_lines = options->skip_bad_lines,
        .dtype = types[options->dtype],
        .flags = (options->special_as_text ? TRI_ENCODE_SPECIAL_AS_TEXT : 0) |
                 (options->add_special ? TRI_ENCODE_TEMPLATE : 0) |
                 (options->replace_invalid ? TRI_ENCODE_REPLACE_INVALID : 0),
    };
    TRI_TRY(tri_tokenizer_create(options->tokenizer, &tokenizer, err));
    tri_status status = tri_encode_files(&config, tokenizer, &counts, err);
    if (status == TRI_OK)
        print_counts(options->output_prefix, &counts);
    tri_tokenizer_destroy(&tokenizer);
    return status;
}

static int data_encode(const struct tri_tool *tool, int argc, char **argv)
{
    struct encode_options options;
    struct tri_option_binding binding = {.table = &encode_table, .config = &options};
    const char *inputs[TRI_OPTION_MAX_ITEMS];
    int exit_code = tri_tool_read(tool, argc, argv, &binding, 1, NULL, NULL);
    if (exit_code >= 0)
        return exit_code;
    tri_error *err = tri_error_create();
    int num_inputs = cut_list(options.input, inputs, TRI_OPTION_MAX_ITEMS);
    if (num_inputs == 0)
        tri_error_add(err, TRI_INVALID, "nothing to encode; use --input FILE");
    if (!options.output_prefix[0])
        tri_error_add(err, TRI_INVALID, "no place for the result; use --output-prefix PREFIX");
    if (options.eod_token_id > INT32_MAX)
        tri_error_add(err, TRI_INVALID, "--eod-token-id %lld is no token id",
                      (long long)options.eod_token_id);
    if (tri_error_count(err) > 0)
        exit_code = tri_tool_refuse(tool, err);
    else
        exit_code = tri_tool_finish(encode_run(&options, inputs, num_inputs, err), err);
    tri_error_destroy(&err);
    return exit_code;
}

struct inspect_options {
    int64_t vocab_size, document;
    char tokenizer[TRI_OPTION_TEXT];
};

static const struct tri_option inspect_rows[] = {
    {.name = "vocab_size",
     .type = TRI_OPTION_INT,
     .offset = offsetof(struct inspect_options, vocab_size),
     .default_text = "0",
     .flags = TRI_OPTION_NON_NEGATIVE,
     .help = "fail at the first id that is not below; 0: any id"},
    {.name = "document",
     .type = TRI_OPTION_INT,
     .offset = offsetof(struct inspect_options, document),
     .flags = TRI_OPTION_NON_NEGATIVE,
     .help = "print the ids of this document, from 0, a line for each sequence"},
    {.name = "tokenizer",
     .type = TRI_OPTION_STRING,
     .offset = offsetof(struct inspect_options, tokenizer),
     .help = "print text instead of ids"},
};
static const struct tri_option_table inspect_table = {
    .section = "",
    .rows = inspect_rows,
    .num_rows = sizeof(inspect_rows) / sizeof(*inspect_rows),
    .struct_bytes = sizeof(struct inspect_options),
};

static tri_status inspect_sequence(const tri_indexed_dataset *dataset, int64_t sequence,
                                   tri_tokenizer *tokenizer, tri_error *err)
{
    int64_t length = tri_idx_length(tri_indexed_dataset_idx(dataset), sequence);
    int32_t *tokens = malloc((size_t)(length + 1) * sizeof(*tokens));
    TRI_CHECK(tokens, err, TRI_NOMEM, "out of memory for %lld tokens", (long long)length);
    tri_status status = tri_indexed_dataset_read(dataset, sequence, 0, length, 0, tokens, err);
    if (status == TRI_OK)
        status = tri_data_print_tokens(tokenizer, tokens, length, err);
    free(tokens);
    return status;
}

static tri_status inspect_document(const tri_indexed_dataset *dataset,
                                   const struct inspect_options *options, tri_error *err)
{
    const struct tri_idx *idx = tri_indexed_dataset_idx(dataset);
    tri_tokenizer *tokenizer = NULL;
    TRI_CHECK(options->document < idx->num_boundaries - 1, err, TRI_INVALID,
              "'%s' has %lld documents, counted from 0; there is no document %lld",
              tri_indexed_dataset_prefix(dataset), (long long)(idx->num_boundaries - 1),
              (long long)options->document);
    if (options->tokenizer[0])
        TRI_TRY(tri_tokenizer_create(options->tokenizer, &tokenizer, err));
    tri_status status = TRI_OK;
    int64_t end = tri_idx_boundary(idx, options->document + 1);
    for (int64_t i = tri_idx_boundary(idx, options->document); i < end && status == TRI_OK; i++)
        status = inspect_sequence(dataset, i, tokenizer, err);
    tri_tokenizer_destroy(&tokenizer);
    return status;
}

static tri_status inspect_summary(const tri_indexed_dataset *dataset, int64_t vocab_size,
                                  tri_error *err)
{
    const struct tri_idx *idx = tri_indexed_dataset_idx(dataset);
    int64_t longest = 0, empty = 0, largest;
    TRI_TRY(tri_indexed_dataset_check_tokens(dataset, vocab_size, &largest, err));
    for (int64_t i = 0; i < idx->num_sequences; i++)
        longest = tri_idx_length(idx, i) > longest ? tri_idx_length(idx, i) : longest;
    for (int64_t i = 0; i + 1 < idx->num_boundaries; i++)
        empty += tri_idx_boundary(idx, i) == tri_idx_boundary(idx, i + 1);
    printf("prefix           %s\n", tri_indexed_dataset_prefix(dataset));
    printf("dtype            %s\n", tri_idx_type_name(idx->type));
    printf("documents        %lld (%lld without a sequence)\n",
           (long long)(idx->num_boundaries - 1), (long long)empty);
    printf("sequences        %lld\n", (long long)idx->num_sequences);
    printf("tokens           %lld\n", (long long)idx->num_tokens);
    printf("longest sequence %lld\n", (long long)longest);
    printf("highest id       %lld\n", (long long)largest);
    return TRI_OK;
}

static int data_inspect(const struct tri_tool *tool, int argc, char **argv)
{
    struct inspect_options options;
    struct tri_option_binding binding = {.table = &inspect_table, .config = &options};
    const char **words = calloc((size_t)argc + 1, sizeof(*words));
    int num_words = 0;
    int exit_code =
        words ? tri_tool_read(tool, argc, argv, &binding, 1, words, &num_words) : TRI_EXIT_FAILED;
    tri_error *err = tri_error_create();
    tri_indexed_dataset *dataset = NULL;
    if (exit_code < 0 && num_words != 1) {
        tri_error_add(err, TRI_INVALID, "give one prefix of .bin and .idx, not %d", num_words);
        exit_code = tri_tool_refuse(tool, err);
    }
    if (exit_code < 0) {
        tri_status status = tri_indexed_dataset_create(words[0], &dataset, err);
        if (status == TRI_OK)
            status = options.document == TRI_UNSET
                         ? inspect_summary(dataset, options.vocab_size, err)
                         : inspect_document(dataset, &options, err);
        exit_code = tri_tool_finish(status, err);
    }
    tri_indexed_dataset_destroy(&dataset);
    tri_error_destroy(&err);
    free(words);
    return exit_code;
}

static const struct tri_tool tools[] = {
    {.name = "encode",
     .usage = "--input FILE ... --output-prefix PREFIX [--option value ...]",
     .summary = "text or JSONL to a token file pair PREFIX.bin and PREFIX.idx",
     .run = data_encode,
     .command = "data"},
    {.name = "inspect",
     .usage = "PREFIX [--option value ...]",
     .summary = "check a token file pair and say what it holds",
     .run = data_inspect,
     .command = "data"},
    {.name = "sample",
     .usage = "--data-path PREFIX ... [--option value ...]",
     .summary = "print samples in the order in which a run reads them",
     .run = tri_data_sample,
     .command = "data"},
};

static int data_run(int argc, char **argv)
{
    return tri_tool_dispatch("data", tools, sizeof(tools) / sizeof(*tools), argc, argv);
}

const struct tri_command tri_cmd_data = {
    .name = "data",
    .summary = "token files: encode, inspect, sample",
    .run = data_run,
};
