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
#include "example.h"

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

int main(int argc, char **argv)
{
    const struct tri_hooks hooks = {.forward_step = forward_step};
    const struct example example = {
        .name = "own_loss",
        .description = description,
        .losses = {"mean over all tokens", "mean over the second half"},
        .write_corpus = write_corpus,
        .own = {.hooks = &hooks},
    };
    return example_main(&example, argc, argv);
}
