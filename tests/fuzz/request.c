/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of any content, through every table of a run, the checks and the plan: a run file, or, when the first
 * byte is odd, flags over one, a word per line. What was accepted is printed as a run file that reads back to the
 * same request.
 */
#include "replay.h"

#include "../t93-run.h"

#include "explain/megatron.h"
#include "spec/model_spec.h"
#include "train/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS 256
#define LARGEST   64 /* layers, and what a rank count is made of: larger is only slower */

static const char base_file[] = "shape: {num_layers: 4, hidden_size: 32, num_attention_heads: 4, "
                                "vocab_size: 101, seq_length: 16}\n"
                                "train: {micro_batch_size: 1, global_batch_size: 8}\n";

/* No other file than the input is read. */
static void forget_files(struct explain_run *run)
{
    run->config.shape_from[0] = run->given.heterogeneous_layers_config_path[0] = '\0';
    run->config.data.tokenizer[0] = '\0';
    if (!strchr("ain1", run->config.placement.schedule[0])) /* auto, interleaved, no_..., 1f1b */
        run->config.placement.schedule[0] = '\0';
}

static tri_status read_words(struct explain_run *run, char *text, tri_error *err)
{
    char *words[MAX_WORDS], *rest = text;
    const char *positional[MAX_WORDS];
    int num = 0, num_positional = 0;
    while (rest && num < MAX_WORDS)
        words[num++] = strsep(&rest, "\n");
    TRI_TRY(tri_option_read_text(base_file, strlen(base_file), "base.yaml", run->bindings, run->num,
                                 NULL, err));
    return tri_option_read_flags(num, words, run->bindings, run->num, &tri_megatron_options,
                                 positional, &num_positional, err);
}

static bool is_small(const struct tri_run_config *config)
{
    const struct tri_placement_config *p = &config->placement;
    const int64_t sizes[] = {
        config->shape.transformer.num_layers,    config->train.ranks,
        p->tensor_model_parallel_size,           p->pipeline_model_parallel_size,
        p->virtual_pipeline_model_parallel_size, config->train.global_batch_size};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if (sizes[i] > LARGEST)
            return false;
    return true;
}

static void plan(const struct tri_run_config *config)
{
    struct tri_run_config copy = *config;
    struct tri_model_spec *spec = NULL;
    struct tri_placement *placement = NULL;
    tri_error *err = tri_error_create();
    int ranks = copy.train.ranks == TRI_UNSET ? 1 : (int)copy.train.ranks;
    tri_status status =
        tri_run_plan(&copy, NULL, ranks, TRI_USE_TRAINING, 0, NULL, err, &spec, &placement);
    if ((status == TRI_OK) != (tri_error_count(err) == 0) ||
        (status == TRI_OK) != (spec && placement))
        abort();
    tri_placement_destroy(&placement);
    tri_model_spec_destroy(&spec);
    tri_error_destroy(&err);
}

static char *print_request(const struct tri_run_config *config, size_t *bytes)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, bytes);
    if (!out)
        abort();
    tri_run_config_print(out, config, true);
    fclose(out);
    return text;
}

static void check_round_trip(const struct tri_run_config *config)
{
    static struct explain_run back;
    size_t bytes = 0, again = 0;
    char *text = print_request(config, &bytes);
    tri_error *err = tri_error_create();
    explain_run_init(&back);
    tri_option_read_text(text, bytes, "printed.yaml", back.bindings, back.num, NULL, err);
    char *second = print_request(&back.config, &again);
    if (tri_error_count(err) > 0 || strcmp(text, second) != 0) {
        fprintf(stderr, "%s\n%s---\n%s", tri_error_message(err, 0), text, second);
        abort();
    }
    tri_error_destroy(&err);
    free(text);
    free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct explain_run run;
    if (size < 1)
        return 0;
    char *text = calloc(1, size);
    tri_error *err = tri_error_create();
    if (!text || !err)
        abort();
    memcpy(text, data + 1, size - 1);
    explain_run_init(&run);
    tri_status status = data[0] % 2
                            ? read_words(&run, text, err)
                            : tri_option_read_text(text, size - 1, "fuzz.yaml", run.bindings,
                                                   run.num, &tri_megatron_options, err);
    if ((status == TRI_OK) != (tri_error_count(err) == 0))
        abort();
    for (int i = 0; i < tri_error_count(err); i++)
        for (const char *c = tri_error_message(err, i); *c; c++)
            if ((unsigned char)*c < 0x20)
                abort();
    if (status == TRI_OK) {
        check_round_trip(&run.config);
        forget_files(&run);
        tri_run_config_complete(run.bindings, run.num, &run.given, &run.config, err);
        if (is_small(&run.config))
            plan(&run.config);
    }
    tri_error_destroy(&err);
    free(text);
    return 0;
}
