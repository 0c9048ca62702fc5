/* SPDX-License-Identifier: Apache-2.0 */
/* trine tokenizer train|encode|decode: make a tokenizer from text, and use one. */
#include "cli/command.h"
#include "cli/report.h"
#include "cli/tool.h"
#include "data/bpe_train.h"
#include "data/input.h"
#include "data/json_line.h"
#include "data/tokenizer.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct train_options {
    char input[TRI_OPTION_LONG_TEXT];
    char output[TRI_OPTION_TEXT];
    int64_t vocab_size, min_frequency;
    char special_tokens[TRI_OPTION_LONG_TEXT];
    char pattern[TRI_OPTION_TEXT];
    char json_key[TRI_OPTION_TEXT];
};

static const struct tri_option train_rows[] = {
    {.name = "input",
     .type = TRI_OPTION_STRINGS,
     .offset = offsetof(struct train_options, input),
     .help = "text files to learn from, plain, gzip or zstd"},
    {.name = "output",
     .type = TRI_OPTION_STRING,
     .offset = offsetof(struct train_options, output),
     .default_text = "tokenizer.json",
     .help = "file to write; tokenizer_config.json is written beside it"},
    {.name = "vocab_size",
     .type = TRI_OPTION_INT,
     .offset = offsetof(struct train_options, vocab_size),
     .default_text = "4096",
     .flags = TRI_OPTION_POSITIVE,
     .help = "ids to end with: special tokens, 256 bytes, merges"},
    {.name = "min_frequency",
     .type = TRI_OPTION_INT,
     .offset = offsetof(struct train_options, min_frequency),
     .default_text = "2",
     .flags = TRI_OPTION_NON_NEGATIVE,
     .help = "a pair that stands in the text fewer times is not merged"},
    {.name = "special_tokens",
     .type = TRI_OPTION_STRINGS,
     .offset = offsetof(struct train_options, special_tokens),
     .default_text = "<|endoftext|>",
     .help = "special tokens, ids from 0; the first one ends documents"},
    {.name = "pattern",
     .type = TRI_OPTION_STRING,
     .offset = offsetof(struct train_options, pattern),
     .help = "regular expression that cuts text into pieces; GPT-2's when unset"},
    {.name = "json_key",
     .type = TRI_OPTION_STRING,
     .offset = offsetof(struct train_options, json_key),
     .help = "read JSONL and take the text of this key"},
};
static const struct tri_option_table train_table = {
    .section = "",
    .rows = train_rows,
    .num_rows = sizeof(train_rows) / sizeof(*train_rows),
    .struct_bytes = sizeof(struct train_options),
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

static tri_status train_add_lines(tri_bpe_trainer *trainer, tri_input *input, const char *path,
                                  const char *key, tri_error *err)
{
    struct tri_json_line value = {0};
    tri_status status = TRI_OK;
    while (status == TRI_OK) {
        const char *line = NULL;
        size_t bytes = 0;
        bool has_line = false;
        status = tri_input_read_line(input, &line, &bytes, &has_line, err);
        if (status != TRI_OK || !has_line)
            break;
        enum tri_json_line_problem problem =
            bytes ? tri_json_line_read(line, bytes, key, &value) : TRI_JSON_LINE_OK;
        if (problem != TRI_JSON_LINE_OK)
            status = tri_error_set(err, TRI_INVALID, "'%s' line %lld: %s (key '%s')", path,
                                   (long long)tri_input_line_number(input),
                                   tri_json_line_problem_text(problem), key);
        else if (bytes)
            status = tri_bpe_trainer_add(trainer, value.text.data, value.text.num, err);
    }
    tri_json_line_fini(&value);
    return status;
}

static tri_status train_add_file(tri_bpe_trainer *trainer, const char *path, const char *key,
                                 tri_error *err)
{
    tri_input *input = NULL;
    struct tri_bytes text = {0};
    TRI_TRY(tri_input_create(path, &input, err));
    tri_status status;
    if (*key) {
        status = train_add_lines(trainer, input, path, key, err);
    } else {
        status = tri_input_read_all(input, &text, err);
        if (status == TRI_OK)
            status = tri_bpe_trainer_add(trainer, text.data, text.num, err);
    }
    tri_bytes_fini(&text);
    tri_input_destroy(&input);
    return status;
}

/* Learning takes long: what could not be written afterwards is found before it. */
static tri_status train_check_output(const char *path, tri_error *err)
{
    char inside[TRI_OPTION_TEXT + 4];
    const char *slash = strrchr(path, '/'), *folder = slash ? path : ".";
    int length = slash ? (int)(slash - path) : 1;
    struct stat info;
    snprintf(inside, sizeof inside, "%.*s/.", length, folder);
    TRI_CHECK(faccessat(AT_FDCWD, inside, W_OK | X_OK, AT_EACCESS) == 0, err, TRI_IO,
              "cannot write '%s': '%.*s': %s; make that folder or give another --output", path,
              length, folder, strerror(errno));
    TRI_CHECK(stat(path, &info) != 0 || !S_ISDIR(info.st_mode), err, TRI_IO,
              "cannot write '%s': it is a folder; use --output %s/tokenizer.json", path, path);
    return TRI_OK;
}

static tri_status train_run(tri_bpe_trainer *trainer, const struct train_options *options,
                            const char **inputs, int num_inputs, tri_error *err)
{
    TRI_TRY(train_check_output(options->output, err));
    for (int i = 0; i < num_inputs; i++)
        TRI_TRY(train_add_file(trainer, inputs[i], options->json_key, err));
    TRI_TRY(tri_bpe_trainer_run(trainer, err));
    TRI_TRY(tri_bpe_trainer_write(trainer, options->output, err));
    int64_t num_ids = tri_bpe_trainer_num_ids(trainer);
    printf("%s: %lld ids, %lld merges\n", options->output, (long long)num_ids,
           (long long)tri_bpe_trainer_num_merges(trainer));
    if (num_ids < options->vocab_size)
        tri_error_note(err,
                       "the text gives %lld ids of the %lld asked for: no pair is left that occurs "
                       "%lld times",
                       (long long)num_ids, (long long)options->vocab_size,
                       (long long)options->min_frequency);
    return TRI_OK;
}

static int tokenizer_train(const struct tri_tool *tool, int argc, char **argv)
{
    struct train_options options;
    struct tri_option_binding binding = {.table = &train_table, .config = &options};
    const char *inputs[TRI_OPTION_MAX_ITEMS], *special[TRI_OPTION_MAX_ITEMS + 1] = {NULL};
    int exit_code = tri_tool_read(tool, argc, argv, &binding, 1, NULL, NULL);
    if (exit_code >= 0)
        return exit_code;
    tri_error *err = tri_error_create();
    tri_bpe_trainer *trainer = NULL;
    int num_inputs = cut_list(options.input, inputs, TRI_OPTION_MAX_ITEMS);
    cut_list(options.special_tokens, special, TRI_OPTION_MAX_ITEMS);
    struct tri_bpe_train_config config = {
        .vocab_size = options.vocab_size,
        .min_frequency = options.min_frequency,
        .pattern = options.pattern[0] ? options.pattern : NULL,
        .special = special,
    };
    if (num_inputs == 0)
        tri_error_add(err, TRI_INVALID, "no text to learn from; use --input FILE");
    tri_bpe_trainer_create(&config, &trainer, err);
    if (tri_error_count(err) > 0)
        exit_code = tri_tool_refuse(tool, err);
    else
        exit_code = tri_tool_finish(train_run(trainer, &options, inputs, num_inputs, err), err);
    tri_bpe_trainer_destroy(&trainer);
    tri_error_destroy(&err);
    return exit_code;
}

struct use_options {
    char tokenizer[TRI_OPTION_TEXT];
    char text[TRI_OPTION_TEXT];
    char input[TRI_OPTION_TEXT];
    bool special_as_text, all_as_text, add_special, replace_invalid;
    bool skip_special;
};

static const struct tri_option encode_rows[] = {
    {.name = "tokenizer",
     .type = TRI_OPTION_STRING,
     .offset = offsetof(struct use_options, tokenizer),
     .default_text = "tokenizer.json",
     .help = "tokenizer.json, or a folder that holds one"},
    {.name = "text",
     .type = TRI_OPTION_STRING,
     .offset = offsetof(struct use_options, text),
     .help = "text to encode, instead of --input"},
    {.name = "input",
     .type = TRI_OPTION_STRING,
     .offset = offsetof(struct use_options, input),
     .default_text = "/dev/stdin",
     .help = "file whose text is encoded"},
    {.name = "special_as_text",
     .type = TRI_OPTION_BOOL,
     .offset = offsetof(struct use_options, special_as_text),
     .default_text = "false",
     .help = "names of special tokens in the text are plain text"},
    {.name = "all_as_text",
     .type = TRI_OPTION_BOOL,
     .offset = offsetof(struct use_options, all_as_text),
     .default_text = "false",
     .help = "names of all added tokens in the text are plain text"},
    {.name = "add_special",
     .type = TRI_OPTION_BOOL,
     .offset = offsetof(struct use_options, add_special),
     .default_text = "false",
     .help = "add what the tokenizer's template adds, such as a beginning"},
    {.name = "replace_invalid",
     .type = TRI_OPTION_BOOL,
     .offset = offsetof(struct use_options, replace_invalid),
     .default_text = "false",
     .help = "broken UTF-8 becomes U+FFFD instead of an error"},
};
static const struct tri_option_table encode_table = {
    .section = "",
    .rows = encode_rows,
    .num_rows = sizeof(encode_rows) / sizeof(*encode_rows),
    .struct_bytes = sizeof(struct use_options),
};

static tri_status encode_read_text(const struct use_options *options, struct tri_bytes *text,
                                   tri_error *err)
{
    tri_input *input = NULL;
    if (options->text[0])
        return tri_bytes_append(text, options->text, strlen(options->text), err);
    TRI_TRY(tri_input_create(options->input, &input, err));
    tri_status status = tri_input_read_all(input, text, err);
    tri_input_destroy(&input);
    return status;
}

static int tokenizer_encode(const struct tri_tool *tool, int argc, char **argv)
{
    struct use_options options;
    struct tri_option_binding binding = {.table = &encode_table, .config = &options};
    int exit_code = tri_tool_read(tool, argc, argv, &binding, 1, NULL, NULL);
    if (exit_code >= 0)
        return exit_code;
    tri_error *err = tri_error_create();
    tri_tokenizer *tokenizer = NULL;
    struct tri_bytes text = {0};
    struct tri_ids ids = {0};
    int flags = (options.special_as_text ? TRI_ENCODE_SPECIAL_AS_TEXT : 0) |
                (options.all_as_text ? TRI_ENCODE_ALL_AS_TEXT : 0) |
                (options.add_special ? TRI_ENCODE_TEMPLATE : 0) |
                (options.replace_invalid ? TRI_ENCODE_REPLACE_INVALID : 0);
    tri_status status = tri_tokenizer_create(options.tokenizer, &tokenizer, err);
    if (status == TRI_OK)
        status = encode_read_text(&options, &text, err);
    if (status == TRI_OK)
        status = tri_tokenizer_encode(tokenizer, text.data, text.num, flags, &ids, err);
    for (int64_t i = 0; status == TRI_OK && i < ids.num; i++)
        printf("%s%d", i ? " " : "", ids.data[i]);
    if (status == TRI_OK)
        printf("\n");
    exit_code = tri_tool_finish(status, err);
    tri_bytes_fini(&text);
    tri_ids_fini(&ids);
    tri_tokenizer_destroy(&tokenizer);
    tri_error_destroy(&err);
    return exit_code;
}

static const struct tri_option decode_rows[] = {
    {.name = "tokenizer",
     .type = TRI_OPTION_STRING,
     .offset = offsetof(struct use_options, tokenizer),
     .default_text = "tokenizer.json",
     .help = "tokenizer.json, or a folder that holds one"},
    {.name = "input",
     .type = TRI_OPTION_STRING,
     .offset = offsetof(struct use_options, input),
     .default_text = "/dev/stdin",
     .help = "file of ids, when none are given"},
    {.name = "skip_special",
     .type = TRI_OPTION_BOOL,
     .offset = offsetof(struct use_options, skip_special),
     .default_text = "false",
     .help = "leave special tokens out of the text"},
};
static const struct tri_option_table decode_table = {
    .section = "",
    .rows = decode_rows,
    .num_rows = sizeof(decode_rows) / sizeof(*decode_rows),
    .struct_bytes = sizeof(struct use_options),
};

/* Adds the numbers in text, separated by white space or commas. */
static tri_status decode_read_ids(const char *text, struct tri_ids *ids, tri_error *err)
{
    static const char between[] = " \t\r\n,";
    for (text += strspn(text, between); *text; text += strspn(text, between)) {
        char *end = NULL;
        long long id = strtoll(text, &end, 10);
        TRI_CHECK(end != text && (!*end || strchr(between, *end)) && id >= 0 && id <= INT32_MAX,
                  err, TRI_INVALID, "'%.*s' is no token id", (int)strcspn(text, between), text);
        TRI_TRY(tri_ids_append(ids, (int32_t)id, err));
        text = end;
    }
    return TRI_OK;
}

static tri_status decode_read(const struct use_options *options, const char **words, int num_words,
                              struct tri_ids *ids, tri_error *err)
{
    struct tri_bytes text = {0};
    for (int i = 0; i < num_words; i++)
        TRI_TRY(decode_read_ids(words[i], ids, err));
    if (num_words > 0)
        return TRI_OK;
    tri_status status = tri_bytes_read_file(&text, options->input, err);
    if (status == TRI_OK)
        status = tri_bytes_append_byte(&text, '\0', err);
    if (status == TRI_OK)
        status = decode_read_ids(text.data, ids, err);
    tri_bytes_fini(&text);
    return status;
}

static int tokenizer_decode(const struct tri_tool *tool, int argc, char **argv)
{
    struct use_options options;
    struct tri_option_binding binding = {.table = &decode_table, .config = &options};
    const char **words = calloc((size_t)argc + 1, sizeof(*words));
    int num_words = 0;
    int exit_code =
        words ? tri_tool_read(tool, argc, argv, &binding, 1, words, &num_words) : TRI_EXIT_FAILED;
    if (exit_code < 0) {
        tri_error *err = tri_error_create();
        tri_tokenizer *tokenizer = NULL;
        struct tri_bytes text = {0};
        struct tri_ids ids = {0};
        tri_status status = tri_tokenizer_create(options.tokenizer, &tokenizer, err);
        if (status == TRI_OK)
            status = decode_read(&options, words, num_words, &ids, err);
        if (status == TRI_OK)
            status = tri_tokenizer_decode(tokenizer, ids.data, ids.num, options.skip_special, &text,
                                          err);
        if (status == TRI_OK)
            fwrite(text.data, 1, text.num, stdout);
        exit_code = tri_tool_finish(status, err);
        tri_bytes_fini(&text);
        tri_ids_fini(&ids);
        tri_tokenizer_destroy(&tokenizer);
        tri_error_destroy(&err);
    }
    free(words);
    return exit_code;
}

static const struct tri_tool tools[] = {
    {.name = "train",
     .usage = "--input FILE ... [--option value ...]",
     .summary = "learn a byte-level BPE tokenizer from text",
     .run = tokenizer_train,
     .command = "tokenizer"},
    {.name = "encode",
     .usage = "[--text TEXT] [--option value ...]",
     .summary = "text to ids, separated by blanks",
     .run = tokenizer_encode,
     .command = "tokenizer"},
    {.name = "decode",
     .usage = "[ID ...] [--option value ...]",
     .summary = "ids to text",
     .run = tokenizer_decode,
     .command = "tokenizer"},
};

static int tokenizer_run(int argc, char **argv)
{
    return tri_tool_dispatch("tokenizer", tools, sizeof(tools) / sizeof(*tools), argc, argv);
}

const struct tri_command tri_cmd_tokenizer = {
    .name = "tokenizer",
    .summary = "train a tokenizer, or use one: train, encode, decode",
    .run = tokenizer_run,
};
