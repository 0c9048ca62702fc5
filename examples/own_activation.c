/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An implementation of one's own: a nonlinearity that is not in the library, x min(max(x + 3, 0), 6) / 6. It
 * has what every module has: a spec row that says what it needs (here the slopes, kept for backward, so the
 * plan grows by them), and a class that runs it. The run file uses it by name in every layer's MLP. Trains with
 * the library's activation and with this one, and prints both losses.
 *
 *   own_activation FOLDER [--option value ...]
 */
#include "example.h"

#include "nn/build.h"
#include "spec/describe.h"

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

static const struct tri_module_class hard_swish_class = {.name = "activation",
                                                         .create = hard_swish_create};

static const struct tri_extension extension = {.implementation = "hard_swish",
                                               .module_row = &hard_swish_row,
                                               .module_class = &hard_swish_class};

/* ---- a run without and one with it ---- */

int main(int argc, char **argv)
{
    const struct example example = {
        .name = "own_activation",
        .description = description,
        .own_text = own,
        .losses = {"library activation", "own activation"},
        .write_corpus = example_write_periods,
        .own = {.extensions = &extension, .num_extensions = 1},
    };
    return example_main(&example, argc, argv);
}
