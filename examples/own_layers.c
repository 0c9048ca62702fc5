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
#include "example.h"

#include <inttypes.h>

static const char description[] =
    "shape: {num_layers: 4, hidden_size: 64, num_attention_heads: 4, seq_length: 64,\n"
    "        max_position_embeddings: 64, vocab_size: 64, swiglu: true, normalization: RMSNorm,\n"
    "        position_embedding_type: rope, disable_bias_linear: true, hidden_dropout: 0,\n"
    "        attention_dropout: 0}\n"
    "train: {micro_batch_size: 2, global_batch_size: 8, train_iters: 20, lr: 0.01, min_lr: 0.001,\n"
    "        lr_warmup_iters: 4}\n"
    "data: {split: \"1,0,0\"}\n";

/* Starts from the default decision and changes a part of it. user: a file to print the tree to, or NULL. */
static tri_status provide_model(void *user, const struct tri_gpt_config *shape,
                                const struct tri_spec_config *spec_config, tri_error *err,
                                struct tri_model_spec **spec)
{
    struct tri_model_spec *made = NULL;
    tri_status status = tri_model_spec_create(shape, spec_config, err, &made);
    for (int64_t i = 1; status == TRI_OK && i < tri_model_spec_num_layers(made); i += 2) {
        char path[96];
        snprintf(path, sizeof path, "decoder.layers[%" PRId64 "].self_attention.core_attention", i);
        status = tri_model_spec_override(made, path, "plain", err);
    }
    if (status == TRI_OK && user)
        status = tri_model_spec_print(user, made, NULL, err);
    if (status == TRI_OK)
        *spec = made;
    else
        tri_model_spec_destroy(&made);
    return status;
}

/* Planning alone calls the provider too: the plan is made for what will be built. */
static tri_status print_tree(const struct tri_run_config *config, tri_error *err)
{
    const struct tri_hooks hooks = {.user = stdout, .model_provider = provide_model};
    return tri_run_print_plan(NULL, config, &hooks, 0, -1, err);
}

int main(int argc, char **argv)
{
    const struct tri_hooks hooks = {.model_provider = provide_model};
    const struct example example = {
        .name = "own_layers",
        .description = description,
        .losses = {"default layers", "own layers"},
        .write_corpus = example_write_periods,
        .own = {.hooks = &hooks},
        .begin = print_tree,
    };
    return example_main(&example, argc, argv);
}
