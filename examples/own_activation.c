/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An implementation of one's own: a nonlinearity that is not in the library, x min(max(x + 3, 0), 6) / 6. It
 * has what every module has: a spec row that says what it needs (here the slopes, kept for backward, so the
 * plan grows by them), and a class that runs it. The run file uses it by name in every layer's MLP. Trains with
 * the library's activation and with this one, and prints both losses.
 *
 *   own_activation FOLDER [--option value ...]
 */
#include "nn/build.h"
#include "spec/describe.h"

#include <trine/trine.h>

#include <stdio.h>
#include <unistd.h>

#define VOCAB_SIZE  64
#define LENGTH      64
#define NUM_SAMPLES 64

static const char description[] =
    "shape: {num_layers: 2, hidden_size: 64, num_attention_heads: 4, seq_length: 64,\n"
    "        max_position_embeddings: 64, vocab_size: 64, activation_func: silu,\n"
    "        position_embedding_type: rope, hidden_dropout: 0, attention_dropout: 0}\n"
    "train: {micro_batch_size: 2, global_batch_size: 8, train_iters: 20, lr: 0.01, min_lr: 0.001,\n"
    "        lr_warmup_iters: 4}\n"
    "data: {split: \"1,0,0\"}\n";
static const char own[] = "spec: {override: {\"decoder.layers[*].mlp.activation\": hard_swish}}\n";

/* ---- how it is sized: parameters are those of the library's module "activation" ---- */

static void hard_swish_describe(struct tri_sizer *sizer, const struct tri_module_spec *node)
{
    const struct tri_activation_params *params = node->params;
    const struct tri_sizing_input *input = tri_sizer_input(sizer);
    tri_sizer_row3(sizer, TRI_ROW_SAVED_INPUT, "slope", input->seq_length, input->micro_batch_size,
                   params->size / input->split.tp);
}

static const struct tri_module_row hard_swish_row = {.name = "activation",
                                                     .describe = hard_swish_describe};

/* ---- what it does: [s, B, C] -> [s, B, C], local ---- */

struct hard_swish {
    struct tri_module base;
    struct tri_row_ref slope;
};

static tri_status hard_swish_forward(tri_module *module, struct tri_slot *slot,
                                     const struct tri_tensor *in, struct tri_tensor *out)
{
    struct hard_swish *self = (struct hard_swish *)module;
    struct tri_tensor slope = tri_row_tensor(&self->slope, slot, 3, in->dims);
    const float *x = tri_tensor_f32(in);
    float *y = tri_tensor_f32(out), *s = tri_tensor_f32(&slope);
    for (int64_t i = 0; i < tri_tensor_elements(in); i++) {
        float gate = x[i] <= -3 ? 0 : x[i] >= 3 ? 1 : (x[i] + 3) / 6;
        y[i] = x[i] * gate;
        s[i] = x[i] <= -3 ? 0 : x[i] >= 3 ? 1 : (2 * x[i] + 3) / 6;
    }
    return TRI_OK;
}

/* din = dout * slope */
static tri_status hard_swish_backward_input(tri_module *module, struct tri_slot *slot,
                                            const struct tri_tensor *dout, struct tri_tensor *din)
{
    struct hard_swish *self = (struct hard_swish *)module;
    struct tri_tensor slope = tri_row_tensor(&self->slope, slot, 3, dout->dims);
    for (int64_t i = 0; i < tri_tensor_elements(dout); i++)
        tri_tensor_f32(din)[i] = tri_tensor_f32(dout)[i] * tri_tensor_f32(&slope)[i];
    return TRI_OK;
}

static const struct tri_module_ops hard_swish_ops = {
    .name = "hard_swish",
    .forward = hard_swish_forward,
    .backward = tri_module_backward_halves,
    .backward_input = hard_swish_backward_input,
    .backward_weight = tri_module_backward_weight_none,
    .end_step = tri_module_end_step_none,
    .destroy = tri_module_free,
};

static tri_status hard_swish_create(struct tri_build *build, const struct tri_module_spec *node,
                                    tri_module **module)
{
    struct hard_swish *self = NULL;
    TRI_TRY(tri_build_alloc(build, node, &hard_swish_ops, sizeof(*self), &self));
    return tri_build_finish(tri_build_row(build, &self->base, "slope", &self->slope), &self->base,
                            module);
}

static const struct tri_module_class hard_swish_class = {"activation", hard_swish_create};

static const struct tri_extension extension = {.implementation = "hard_swish",
                                               .module_row = &hard_swish_row,
                                               .module_class = &hard_swish_class};

/* ---- a run without and one with it ---- */

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

static tri_status train(const char *text, const char *corpus, int argc, char **argv, tri_error *err,
                        double *loss)
{
    const struct tri_run_config *config;
    struct tri_pretrain_request request = {
        .extensions = &extension,
        .num_extensions = 1,
        .observer = {.arg = loss, .progress = note_loss},
    };
    tri_run *run = tri_run_create();
    TRI_CHECK(run, err, TRI_NOMEM, "out of memory");
    tri_status status = tri_run_read_text(run, description, "own_activation", err);
    if (status == TRI_OK && text)
        status = tri_run_read_text(run, text, "own_activation", err);
    if (status == TRI_OK)
        status = tri_run_set(run, "data_path", corpus, err);
    if (status == TRI_OK)
        status = tri_run_read_flags(run, argc, argv, err);
    if (status == TRI_OK)
        status = tri_run_complete(run, &config, err);
    if (status == TRI_OK) {
        request.config = config;
        status = tri_launch_config(config, NULL, tri_pretrain, &request, print_messages, err);
    }
    tri_run_destroy(&run);
    return status;
}

int main(int argc, char **argv)
{
    tri_error *err = tri_error_create();
    if (!err || argc < 2) {
        fprintf(stderr, "usage: own_activation FOLDER [--option value ...]\n");
        return 2;
    }
    char corpus[1024], index[1040];
    double loss[2] = {0, 0};
    snprintf(corpus, sizeof corpus, "%s/corpus", argv[1]);
    snprintf(index, sizeof index, "%s.idx", corpus);
    tri_status status = access(index, R_OK) == 0 ? TRI_OK : write_corpus(corpus, err);
    if (status == TRI_OK)
        status = train(NULL, corpus, argc - 1, argv + 1, err, &loss[0]);
    if (status == TRI_OK)
        status = train(own, corpus, argc - 1, argv + 1, err, &loss[1]);
    print_messages(err);
    if (status == TRI_OK)
        printf("library activation: %.6f\nown activation: %.6f\n", loss[0], loss[1]);
    tri_error_destroy(&err);
    return status == TRI_OK ? 0 : 1;
}
