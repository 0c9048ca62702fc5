/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers of one's own choice, by the model-provider hook: every second layer gets another
 * implementation of its core attention. The spec changes speed, never the model: trains with the
 * default spec and with the changed one, prints the tree and both losses, which differ by rounding.
 *
 *   own_layers FOLDER [--option value ...]
 *
 * Runs under mpirun as well. The corpus is written unless it is there.
 */
#include <trine/trine.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern char **environ;

#define VOCAB_SIZE  64
#define LENGTH      64
#define NUM_SAMPLES 64

static const char description[] =
    "shape: {num_layers: 4, hidden_size: 64, num_attention_heads: 4, seq_length: 64,\n"
    "        max_position_embeddings: 64, vocab_size: 64, swiglu: true, normalization: RMSNorm,\n"
    "        position_embedding_type: rope, disable_bias_linear: true, hidden_dropout: 0,\n"
    "        attention_dropout: 0}\n"
    "train: {micro_batch_size: 2, global_batch_size: 8, train_iters: 20, lr: 0.01, min_lr: 0.001,\n"
    "        lr_warmup_iters: 4}\n"
    "data: {split: \"1,0,0\"}\n";

/* Starts from the default decision and changes a part of it. user: a flag that asks for the tree. */
static tri_status provide_model(void *user, const struct tri_gpt_config *shape,
                                const struct tri_spec_config *spec_config, tri_error *err,
                                struct tri_model_spec **spec)
{
    struct tri_model_spec *made = NULL;
    bool *wants_print = user;
    tri_status status = tri_model_spec_create(shape, spec_config, err, &made);
    for (int64_t i = 1; status == TRI_OK && i < tri_model_spec_num_layers(made); i += 2) {
        char path[96];
        snprintf(path, sizeof path, "decoder.layers[%" PRId64 "].self_attention.core_attention", i);
        status = tri_model_spec_override(made, path, "plain", err);
    }
    if (status == TRI_OK && *wants_print)
        status = tri_model_spec_print(stdout, made, NULL, err);
    if (status == TRI_OK)
        *spec = made;
    else
        tri_model_spec_destroy(&made);
    return status;
}

/* Text that repeats itself with a period of its own in every document. */
static tri_status write_corpus(const char *prefix, tri_error *err)
{
    static int32_t tokens[NUM_SAMPLES * LENGTH];
    int64_t lengths[NUM_SAMPLES];
    for (int d = 0; d < NUM_SAMPLES; d++) {
        for (int t = 0; t < LENGTH; t++)
            tokens[d * LENGTH + t] = (d + (t % (5 + d % 7)) * 11) % VOCAB_SIZE;
        lengths[d] = LENGTH;
    }
    return tri_tokens_write(prefix, VOCAB_SIZE, tokens, lengths, NUM_SAMPLES, err);
}

static void print_messages(const tri_error *err)
{
    for (int i = 0; i < tri_error_count(err); i++)
        fprintf(stderr, "error: %s\n", tri_error_message(err, i));
}

/* Keeps the last loss; called on rank 0 only. */
static void note_loss(void *arg, int64_t done, int64_t total, double seconds_left, double loss)
{
    (void)seconds_left;
    if (done == total)
        *(double *)arg = loss;
}

/* The body of every rank: both runs in one launch, since MPI starts only once in a process. */
static tri_status train_both(void *arg, tri_world *world)
{
    struct tri_pretrain_request request = *(const struct tri_pretrain_request *)arg;
    const struct tri_hooks *own = request.hooks;
    double loss[2];
    for (int i = 0; i < 2; i++) {
        request.hooks = i == 0 ? NULL : own;
        request.observer = (struct tri_observer){.arg = &loss[i], .progress = note_loss};
        tri_status status = tri_pretrain(&request, world);
        if (status != TRI_OK)
            return status;
    }
    if (tri_world_get_rank(world) == 0)
        printf("default layers: %.6f\nown layers: %.6f\n", loss[0], loss[1]);
    return TRI_OK;
}

static tri_status run_all(tri_run *run, const char *folder, int argc, char **argv, tri_error *err)
{
    char corpus[1024], index[1040];
    const struct tri_run_config *config;
    bool wants_print = true;
    const struct tri_hooks hooks = {.user = &wants_print, .model_provider = provide_model};
    snprintf(corpus, sizeof corpus, "%s/corpus", folder);
    snprintf(index, sizeof index, "%s.idx", corpus);
    tri_status status = access(index, R_OK) == 0 ? TRI_OK : write_corpus(corpus, err);
    if (status == TRI_OK)
        status = tri_run_read_text(run, description, "own_layers", err);
    if (status == TRI_OK)
        status = tri_run_set(run, "data_path", corpus, err);
    if (status == TRI_OK)
        status = tri_run_read_flags(run, argc, argv, err);
    if (status == TRI_OK)
        status = tri_run_complete(run, &config, err);

    /* Planning alone calls the provider too: the plan is made for what will be built. */
    if (status == TRI_OK)
        status = tri_run_print_plan(NULL, config, &hooks, 0, -1, err);
    wants_print = false;
    struct tri_pretrain_request request = {.hooks = &hooks};
    if (status == TRI_OK) {
        request.config = config;
        status = tri_launch_config(config, environ, train_both, &request, print_messages, err);
    }
    return status;
}

int main(int argc, char **argv)
{
    tri_error *err = tri_error_create();
    tri_run *run = tri_run_create();
    if (!err || !run || argc < 2) {
        fprintf(stderr, "usage: own_layers FOLDER [--option value ...]\n");
        return 2;
    }
    tri_status status = run_all(run, argv[1], argc - 1, argv + 1, err);
    print_messages(err);
    tri_run_destroy(&run);
    tri_error_destroy(&err);
    return status == TRI_OK ? 0 : 1;
}
