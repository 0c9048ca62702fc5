/* SPDX-License-Identifier: Apache-2.0 */
/* trine data sample: samples as a run reads them. */
#include "cli/data_sample.h"
#include "cli/report.h"
#include "data/corpus.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

tri_status tri_data_print_tokens(tri_tokenizer *tokenizer, const int32_t *tokens, int64_t num,
                                 tri_error *err)
{
    struct tri_bytes text = {0};
    if (!tokenizer) {
        for (int64_t i = 0; i < num; i++)
            printf("%s%d", i ? " " : "", tokens[i]);
        printf("\n");
        return TRI_OK;
    }
    tri_status status = tri_tokenizer_decode(tokenizer, tokens, num, false, &text, err);
    if (status == TRI_OK) {
        fwrite(text.data, 1, text.num, stdout);
        printf("\n");
    }
    tri_bytes_fini(&text);
    return status;
}

struct sample_options {
    int64_t part, seq_length, seed, num_samples, first, count, vocab_size;
};

static const char *const part_names[] = {"train", "valid", "test", NULL};

static const struct tri_option sample_rows[] = {
    {.name = "part",
     .type = TRI_OPTION_CHOICE,
     .offset = offsetof(struct sample_options, part),
     .default_text = "train",
     .choices = part_names,
     .help = "which part of the data"},
    {.name = "seq_length",
     .type = TRI_OPTION_INT,
     .offset = offsetof(struct sample_options, seq_length),
     .default_text = "128",
     .flags = TRI_OPTION_POSITIVE,
     .unit = "tokens",
     .help = "length of a sample"},
    {.name = "seed",
     .type = TRI_OPTION_INT,
     .offset = offsetof(struct sample_options, seed),
     .default_text = "1234",
     .flags = TRI_OPTION_NON_NEGATIVE,
     .help = "the run's seed"},
    {.name = "num_samples",
     .type = TRI_OPTION_INT,
     .offset = offsetof(struct sample_options, num_samples),
     .default_text = "-1",
     .help = "samples the run asks for, which decides the order; -1: one pass"},
    {.name = "first",
     .type = TRI_OPTION_INT,
     .offset = offsetof(struct sample_options, first),
     .default_text = "0",
     .flags = TRI_OPTION_NON_NEGATIVE,
     .help = "first sample to print"},
    {.name = "count",
     .type = TRI_OPTION_INT,
     .offset = offsetof(struct sample_options, count),
     .default_text = "1",
     .flags = TRI_OPTION_NON_NEGATIVE,
     .help = "how many to print"},
    {.name = "vocab_size",
     .type = TRI_OPTION_INT,
     .offset = offsetof(struct sample_options, vocab_size),
     .default_text = "0",
     .flags = TRI_OPTION_NON_NEGATIVE,
     .help = "fail at an id that is not below; 0: any id"},
};
static const struct tri_option_table sample_table = {
    .section = "",
    .rows = sample_rows,
    .num_rows = sizeof(sample_rows) / sizeof(*sample_rows),
    .struct_bytes = sizeof(struct sample_options),
};

static tri_status sample_print(const tri_blend *blend, const struct sample_options *options,
                               tri_tokenizer *tokenizer, tri_error *err)
{
    int64_t length = tri_blend_length(blend), s = options->seq_length;
    TRI_CHECK(options->first <= length && options->count <= length - options->first, err,
              TRI_INVALID, "the part has %lld samples; there are no samples %lld to %lld",
              (long long)length, (long long)options->first,
              (long long)(options->first + options->count - 1));
    int32_t *ints = calloc(3 * (size_t)s + 1, sizeof(*ints));
    float *mask = calloc((size_t)s, sizeof(*mask));
    tri_status status = TRI_OK;
    struct tri_gpt_sample sample = {ints, ints + s + 1, mask, ints + 2 * s + 1, NULL};
    if (!ints || !mask)
        status = tri_error_set(err, TRI_NOMEM, "out of memory for a sample");
    for (int64_t k = options->first; k < options->first + options->count && status == TRI_OK; k++) {
        int dataset;
        int64_t index;
        tri_blend_locate(blend, k, &dataset, &index);
        status = tri_blend_read(blend, k, &sample, err);
        if (status == TRI_OK) {
            printf("sample %lld of %lld (file %d, its sample %lld)\n", (long long)k,
                   (long long)length, dataset, (long long)index);
            status = tri_data_print_tokens(tokenizer, sample.tokens, s, err);
        }
    }
    free(ints);
    free(mask);
    return status;
}

static tri_status sample_run(const struct tri_data_config *config,
                             const struct sample_options *options, tri_error *err)
{
    tri_corpus *corpus = NULL;
    tri_tokenizer *tokenizer = NULL;
    struct tri_corpus_request request = {.config = config,
                                         .seq_length = options->seq_length,
                                         .seed = options->seed,
                                         .vocab_size = options->vocab_size,
                                         .eod = -1,
                                         .pad = -1};
    request.num_samples[options->part] = options->num_samples;
    if (config->tokenizer[0])
        TRI_TRY(tri_tokenizer_create(config->tokenizer, &tokenizer, err));
    if (tokenizer)
        request.eod = tri_tokenizer_eod(tokenizer);
    tri_status status = tri_corpus_create(&request, &corpus, err);
    if (status == TRI_OK)
        status = sample_print(tri_corpus_part(corpus, (enum tri_data_part)options->part), options,
                              tokenizer, err);
    tri_corpus_destroy(&corpus);
    tri_tokenizer_destroy(&tokenizer);
    return status;
}

int tri_data_sample(const struct tri_tool *tool, int argc, char **argv)
{
    struct sample_options options;
    struct tri_data_config config;
    struct tri_option_binding bindings[] = {{.table = &sample_table, .config = &options},
                                            {.table = &tri_data_options, .config = &config}};
    int exit_code = tri_tool_read(tool, argc, argv, bindings, 2, NULL, NULL);
    if (exit_code >= 0)
        return exit_code;
    tri_error *err = tri_error_create();
    tri_corpus_check(&config, config.tokenizer[0] ? 0 : -1, err);
    if (options.num_samples == 0)
        tri_error_add(err, TRI_INVALID,
                      "--num-samples 0 leaves nothing to print; give a number "
                      "above zero, or -1 for one pass");
    if (tri_error_count(err) > 0)
        exit_code = tri_tool_refuse(tool, err);
    else
        exit_code = tri_tool_finish(sample_run(&config, &options, err), err);
    tri_error_destroy(&err);
    return exit_code;
}
