/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loss of one's own, by the forward-step hook. Every sample is noise in its first half and counts
 * upwards in its second. The mean over all tokens cannot fall below half the entropy of the noise; a
 * loss that gives the first half no weight can fall to nothing. Trains twice and prints both.
 *
 *   own_loss FOLDER [--option value ...]
 *
 * Runs under mpirun as well. The corpus is written unless it is there.
 */
#include <trine/trine.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern char **environ;

#define VOCAB_SIZE  16
#define LENGTH      32 /* of a sample, and of a document: so samples start where documents start */
#define NUM_SAMPLES 256

static const char description[] =
    "shape: {num_layers: 2, hidden_size: 32, num_attention_heads: 2, seq_length: 32,\n"
    "        max_position_embeddings: 32, vocab_size: 16, hidden_dropout: 0, attention_dropout: "
    "0}\n"
    "train: {micro_batch_size: 4, global_batch_size: 16, train_iters: 60, lr: 0.01, min_lr: "
    "0.001,\n"
    "        lr_warmup_iters: 5, adam_beta2: 0.95}\n"
    "data: {split: \"1,0,0\"}\n";

/*
 * L = sum over the second half of each row of token_loss; the last position, whose label is the next
 * sample's first noise, is left out. What backward needs is the derivative of L by each token loss: 1
 * there, 0 elsewhere. The count is what the sum of the global batch is divided by.
 */
static tri_status second_half(void *user, const struct tri_microbatch *microbatch,
                              const float *token_loss, float *weights, struct tri_loss_term *term)
{
    (void)user;
    *term = (struct tri_loss_term){0};
    for (int64_t row = 0; row < microbatch->rows; row++)
        for (int64_t t = 0; t < microbatch->length; t++) {
            int64_t i = row * microbatch->length + t;
            bool counts = t >= microbatch->length / 2 && t < microbatch->length - 1;
            weights[i] = counts ? 1.0f : 0.0f;
            term->value += weights[i] * token_loss[i];
            term->count += weights[i];
        }
    return TRI_OK;
}

/* Runs the slice as usual, and says how the output becomes a loss. Only the last slice asks. */
static tri_status forward_step(void *user, struct tri_slice *slice, struct tri_slot *slot, int unit,
                               int num_units, tri_loss_fn **loss)
{
    (void)user;
    *loss = second_half;
    return tri_slice_forward(slice, slot, unit, num_units);
}

static tri_status write_corpus(const char *prefix, tri_error *err)
{
    static int32_t tokens[NUM_SAMPLES * LENGTH];
    int64_t lengths[NUM_SAMPLES];
    uint32_t state = 1;
    for (int64_t i = 0; i < NUM_SAMPLES * LENGTH; i++) {
        state = state * 1664525u + 1013904223u;
        bool noise = i % LENGTH <= LENGTH / 2;
        tokens[i] = noise ? (int32_t)(state >> 28) : (tokens[i - 1] + 1) % VOCAB_SIZE;
        lengths[i / LENGTH] = LENGTH;
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
        printf("mean over all tokens: %.4f\nmean over the second half: %.4f\n", loss[0], loss[1]);
    return TRI_OK;
}

static tri_status run_all(tri_run *run, const char *folder, int argc, char **argv, tri_error *err)
{
    char corpus[1024], index[1040];
    const struct tri_run_config *config;
    const struct tri_hooks hooks = {.forward_step = forward_step};
    snprintf(corpus, sizeof corpus, "%s/corpus", folder);
    snprintf(index, sizeof index, "%s.idx", corpus);
    tri_status status = access(index, R_OK) == 0 ? TRI_OK : write_corpus(corpus, err);
    if (status == TRI_OK)
        status = tri_run_read_text(run, description, "own_loss", err);
    if (status == TRI_OK)
        status = tri_run_set(run, "data_path", corpus, err);
    if (status == TRI_OK)
        status = tri_run_read_flags(run, argc, argv, err);
    if (status == TRI_OK)
        status = tri_run_complete(run, &config, err);
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
        fprintf(stderr, "usage: own_loss FOLDER [--option value ...]\n");
        return 2;
    }
    tri_status status = run_all(run, argv[1], argc - 1, argv + 1, err);
    print_messages(err);
    tri_run_destroy(&run);
    tri_error_destroy(&err);
    return status == TRI_OK ? 0 : 1;
}
