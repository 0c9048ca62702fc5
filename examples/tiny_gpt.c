/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tiny GPT from nothing to a sample: writes a corpus, describes a run, prints its plan, trains 50
 * steps on 2 ranks inside this process, and lets the model continue a beginning. The text is numbers
 * in English words, one character a token.
 *
 *   tiny_gpt FOLDER [--option value ...]
 *
 * Every option of a run file may follow: --ranks 4 --pipeline-model-parallel-size 2.
 */
#include <trine/trine.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char alphabet[] = "\n abcdefghijklmnopqrstuvwxyz";
#define VOCAB_SIZE    28
#define NUM_DOCUMENTS 20
#define NUM_LINES     60 /* of a document */
#define BEGINNING     "\nthree hundred"
#define NEW_TOKENS    60

static const char description[] =
    "shape: {num_layers: 2, hidden_size: 64, num_attention_heads: 4, seq_length: 64,\n"
    "        max_position_embeddings: 128, vocab_size: 28, swiglu: true, normalization: RMSNorm,\n"
    "        position_embedding_type: rope, disable_bias_linear: true, hidden_dropout: 0,\n"
    "        attention_dropout: 0}\n"
    "train: {ranks: 2, micro_batch_size: 4, global_batch_size: 32, train_iters: 50, lr: 0.02,\n"
    "        min_lr: 0.001, lr_warmup_iters: 5, adam_beta2: 0.95, log_interval: 10}\n"
    "data: {split: \"1,0,0\"}\n";

static const char on_one_rank[] =
    "train: {ranks: 1, micro_batch_size: 1, global_batch_size: 1}\n"
    "placement: {tensor_model_parallel_size: 1, pipeline_model_parallel_size: 1}\n";

/* "three hundred twelve\n", as tokens behind num others; returns the new number of tokens. */
static int64_t append_words(int number, int32_t *tokens, int64_t num)
{
    static const char *const small[] = {"",        "one",     "two",       "three",    "four",
                                        "five",    "six",     "seven",     "eight",    "nine",
                                        "ten",     "eleven",  "twelve",    "thirteen", "fourteen",
                                        "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
    static const char *const tens[] = {"",      "",      "twenty",  "thirty", "forty",
                                       "fifty", "sixty", "seventy", "eighty", "ninety"};
    int rest = number % 100;
    char text[64];
    snprintf(text, sizeof text, "%s%s%s%s%s\n", small[number / 100],
             number >= 100 ? " hundred " : "", rest >= 20 ? tens[rest / 10] : "",
             rest >= 20 && rest % 10 ? " " : "", small[rest >= 20 ? rest % 10 : rest]);
    for (const char *c = text; *c; c++)
        tokens[num++] = (int32_t)(strchr(alphabet, *c) - alphabet);
    return num;
}

/* Documents that count upwards, in steps of different size. */
static tri_status write_corpus(const char *prefix, tri_error *err)
{
    static int32_t tokens[NUM_DOCUMENTS * NUM_LINES * 32];
    int64_t lengths[NUM_DOCUMENTS], num = 0;
    for (int d = 0; d < NUM_DOCUMENTS; d++) {
        int64_t first = num;
        for (int i = 1; i <= NUM_LINES; i++)
            num = append_words(d * 37 + i * (d % 4 + 1), tokens, num);
        lengths[d] = num - first;
    }
    return tri_tokens_write(prefix, VOCAB_SIZE, tokens, lengths, NUM_DOCUMENTS, err);
}

static void print_messages(const tri_error *err)
{
    for (int i = 0; i < tri_error_count(err); i++)
        fprintf(stderr, "error: %s\n", tri_error_message(err, i));
}

static void print_line(void *arg, const char *text)
{
    (void)arg;
    printf("%s\n", text);
}

/* What the body of the second launch needs. */
struct sample {
    const struct tri_run_config *config;
    const char *model;
    bool prints;
};

static void print_token(void *arg, int32_t id)
{
    const struct sample *sample = arg;
    if (sample->prints)
        putchar(alphabet[id]);
}

static tri_status continue_text(void *arg, tri_world *world)
{
    struct sample sample = *(const struct sample *)arg;
    const int64_t num = (int64_t)strlen(BEGINNING);
    int32_t prompt[sizeof BEGINNING], last;
    enum tri_stop_reason reason;
    struct tri_session *session = NULL;
    sample.prints = tri_world_get_rank(world) == 0;
    for (int64_t i = 0; i < num; i++)
        prompt[i] = (int32_t)(strchr(alphabet, BEGINNING[i]) - alphabet);

    struct tri_session_request make = {.config = sample.config,
                                       .world = world,
                                       .forward_only = true,
                                       .cache_length = num + NEW_TOKENS};
    struct tri_generate_request request = {.prompt = prompt,
                                           .num_prompt = num,
                                           .max_new_tokens = NEW_TOKENS,
                                           .max_positions = num + NEW_TOKENS,
                                           .token = print_token,
                                           .arg = &sample};
    tri_status status = tri_session_create(&make, &session);
    if (status == TRI_OK)
        status = tri_session_load(session, sample.model);
    if (sample.prints && status == TRI_OK)
        printf("sample:%s", BEGINNING);
    if (status == TRI_OK)
        status = tri_generate(tri_session_get_model(session), tri_session_get_executor(session),
                              &request, &reason, &last);
    print_token(&sample, 0);
    tri_session_destroy(&session);
    return status;
}

static tri_status run_all(tri_run *run, const char *folder, int argc, char **argv, tri_error *err)
{
    char corpus[1024], model[1024];
    const struct tri_run_config *config;
    tri_status status;
    snprintf(corpus, sizeof corpus, "%s/corpus", folder);
    snprintf(model, sizeof model, "%s/model", folder);

    /* Describe. */
    status = write_corpus(corpus, err);
    if (status == TRI_OK)
        status = tri_run_read_text(run, description, "tiny_gpt", err);
    if (status == TRI_OK)
        status = tri_run_set(run, "data_path", corpus, err);
    if (status == TRI_OK)
        status = tri_run_set(run, "save", model, err);
    if (status == TRI_OK)
        status = tri_run_read_flags(run, argc, argv, err);
    if (status == TRI_OK)
        status = tri_run_complete(run, &config, err);

    /* Plan: all problems of the request, or who holds what. */
    if (status == TRI_OK)
        status = tri_run_print_plan(stdout, config, NULL, 0, -1, err);

    /* Build and train, on every rank. */
    struct tri_pretrain_request train = {.observer = {.line = print_line}};
    if (status == TRI_OK) {
        train.config = config;
        status = tri_launch_config(config, NULL, tri_pretrain, &train, print_messages, err);
    }

    /* Sample from what was saved: one sequence on one rank, whatever the grid it was trained on. */
    if (status == TRI_OK)
        status = tri_run_read_text(run, on_one_rank, "sample", err);
    if (status == TRI_OK)
        status = tri_run_complete(run, &config, err);
    struct sample sample = {.config = config, .model = model};
    if (status == TRI_OK)
        status = tri_launch_config(config, NULL, continue_text, &sample, print_messages, err);
    return status;
}

int main(int argc, char **argv)
{
    tri_error *err = tri_error_create();
    tri_run *run = tri_run_create();
    if (!err || !run || argc < 2) {
        fprintf(stderr, "usage: tiny_gpt FOLDER [--option value ...]\n");
        return 2;
    }
    tri_status status = run_all(run, argv[1], argc - 1, argv + 1, err);
    print_messages(err);
    tri_run_destroy(&run);
    tri_error_destroy(&err);
    return status == TRI_OK ? 0 : 1;
}
