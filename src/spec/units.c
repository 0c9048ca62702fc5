/* SPDX-License-Identifier: Apache-2.0 */
/* The trees of the three kinds of unit, from the shape alone (see the picture in spec/modules.h). */
#include "spec/layer.h"
#include "spec/modules.h"

#include "base/rng.h"
#include "shape/check.h"

#include <math.h>
#include <string.h>

/* Nodes of one unit share arena and choice; failed is set once memory is short. */
struct maker {
    tri_arena *arena;
    const struct tri_gpt_config *shape;
    const struct tri_layer_choice *choice;
    bool failed;
};

/* Fills node; params is copied. */
static void make_node(struct maker *maker, struct tri_module_spec *node, const char *slot,
                      const char *module, const void *params, size_t params_bytes, int num_children)
{
    *node = (struct tri_module_spec){.slot = slot,
                                     .module = module,
                                     .implementation = maker->choice->implementation,
                                     .reason = maker->choice->reason,
                                     .params_bytes = params_bytes};
    void *copy = tri_arena_alloc(maker->arena, params_bytes);
    struct tri_module_spec *children =
        tri_arena_alloc(maker->arena, (size_t)num_children * sizeof(*children));
    if (!copy || !children) {
        maker->failed = true;
        return;
    }
    memcpy(copy, params, params_bytes);
    node->params = copy;
    node->children = children;
    node->num_children = num_children;
}

static void make_norm(struct maker *maker, struct tri_module_spec *node, const char *slot)
{
    const struct tri_transformer_config *t = &maker->shape->transformer;
    struct tri_norm_params params = {.size = t->hidden_size,
                                     .eps = t->layernorm_epsilon,
                                     .bias = t->normalization == TRI_NORM_LAYERNORM,
                                     .zero_centered = t->layernorm_zero_centered_gamma};
    make_node(maker, node, slot, t->normalization == TRI_NORM_RMSNORM ? "rmsnorm" : "layernorm",
              &params, sizeof(params), 0);
}

/* Projections back into the residual stream start smaller, the more of them there are. */
static void make_row_linear(struct maker *maker, struct tri_module_spec *node, const char *slot,
                            int64_t in)
{
    const struct tri_transformer_config *t = &maker->shape->transformer;
    struct tri_row_linear_params params = {.in = in,
                                           .out = t->hidden_size,
                                           .bias = t->add_bias_linear,
                                           .init_std = t->init_method_std /
                                                       sqrt(2.0 * (double)t->num_layers)};
    make_node(maker, node, slot, "row_linear", &params, sizeof(params), 0);
}

static void make_bda(struct maker *maker, struct tri_module_spec *node, const char *slot,
                     int64_t layer, int purpose)
{
    const struct tri_transformer_config *t = &maker->shape->transformer;
    struct tri_bda_params params = {
        .size = t->hidden_size, .dropout = t->hidden_dropout, .purpose = purpose, .layer = layer};
    make_node(maker, node, slot, "bias_dropout_add", &params, sizeof(params), 0);
}

static void make_self_attention(struct maker *maker, struct tri_module_spec *node, int64_t layer)
{
    const struct tri_gpt_config *shape = maker->shape;
    const struct tri_transformer_config *t = &shape->transformer;
    int64_t D = t->kv_channels, q = t->num_attention_heads * D, kv = t->num_query_groups * D;
    struct tri_self_attention_params params = {
        .hidden_size = t->hidden_size,
        .num_heads = t->num_attention_heads,
        .num_groups = t->num_query_groups,
        .head_width = D,
        .rotary_width = tri_rotary_width(shape),
        .rotary_base = shape->rotary_base,
        .rotary_interleaved = shape->rotary_interleaved,
        .max_positions = shape->max_position_embeddings,
    };
    make_node(maker, node, "self_attention", "self_attention", &params, sizeof(params), 3);
    if (maker->failed)
        return;
    struct tri_column_linear_params qkv = {
        .in = t->hidden_size,
        .out = q + 2 * kv,
        .bias = t->add_bias_linear || t->add_qkv_bias,
        .init_std = t->init_method_std,
        .num_parts = 3,
        .parts = {{.name = "q", .rows = q, .unit = D},
                  {.name = "k", .rows = kv, .unit = D},
                  {.name = "v", .rows = kv, .unit = D}},
    };
    make_node(maker, &node->children[0], "linear_qkv", "column_linear", &qkv, sizeof(qkv), 0);
    struct tri_attention_params core = {
        .num_heads = t->num_attention_heads,
        .num_groups = t->num_query_groups,
        .head_width = D,
        .scale = 1.0 / sqrt((double)D),
        .dropout = t->attention_dropout,
        .layer = layer,
    };
    make_node(maker, &node->children[1], "core_attention", "dot_product_attention", &core,
              sizeof(core), 0);
    make_row_linear(maker, &node->children[2], "linear_proj", q);
}

static int activation_kind(const struct tri_transformer_config *t)
{
    static const int plain[] = {[TRI_ACT_GELU] = TRI_ACT_KIND_GELU,
                                [TRI_ACT_GELU_TANH] = TRI_ACT_KIND_GELU_TANH,
                                [TRI_ACT_SILU] = TRI_ACT_KIND_SILU,
                                [TRI_ACT_RELU] = TRI_ACT_KIND_RELU,
                                [TRI_ACT_QUICK_GELU] = TRI_ACT_KIND_QUICK_GELU,
                                [TRI_ACT_SQUARED_RELU] = TRI_ACT_KIND_SQUARED_RELU};
    return plain[t->activation_func] + (t->gated_linear_unit ? TRI_ACT_KIND_GATED : 0);
}

static void make_mlp(struct maker *maker, struct tri_module_spec *node)
{
    const struct tri_transformer_config *t = &maker->shape->transformer;
    bool gated_unit = t->gated_linear_unit;
    int64_t F = t->ffn_hidden_size;
    struct tri_mlp_params params = {
        .hidden_size = t->hidden_size, .ffn_size = F, .gated = gated_unit};
    make_node(maker, node, "mlp", "mlp", &params, sizeof(params), 3);
    if (maker->failed)
        return;
    struct tri_column_linear_params fc1 = {
        .in = t->hidden_size,
        .out = gated_unit ? 2 * F : F,
        .bias = t->add_bias_linear,
        .init_std = t->init_method_std,
        .num_parts = gated_unit ? 2 : 1,
        .parts = {{.name = gated_unit ? "gate" : "out", .rows = F, .unit = 1},
                  {.name = "up", .rows = gated_unit ? F : 0, .unit = 1}},
    };
    make_node(maker, &node->children[0], "linear_fc1", "column_linear", &fc1, sizeof(fc1), 0);
    struct tri_activation_params activation = {
        .kind = activation_kind(t), .gated = gated_unit, .size = F};
    make_node(maker, &node->children[1], "activation", "activation", &activation,
              sizeof(activation), 0);
    make_row_linear(maker, &node->children[2], "linear_fc2", F);
}

bool tri_layer_spec_make(tri_arena *arena, const struct tri_gpt_config *shape,
                         const struct tri_layer_choice *choice, int64_t layer,
                         struct tri_module_spec *node)
{
    struct maker maker = {.arena = arena, .shape = shape, .choice = choice};
    struct tri_layer_params params = {.layer = layer,
                                      .hidden_size = shape->transformer.hidden_size};
    make_node(&maker, node, "layer", "transformer_layer", &params, sizeof(params), 6);
    if (maker.failed)
        return false;
    make_norm(&maker, &node->children[0], "input_layernorm");
    make_self_attention(&maker, &node->children[1], layer);
    make_bda(&maker, &node->children[2], "self_attn_bda", layer, TRI_RNG_HIDDEN_DROPOUT_ATTENTION);
    make_norm(&maker, &node->children[3], "pre_mlp_layernorm");
    make_mlp(&maker, &node->children[4]);
    make_bda(&maker, &node->children[5], "mlp_bda", layer, TRI_RNG_HIDDEN_DROPOUT_MLP);
    return !maker.failed;
}

bool tri_embedding_spec_make(tri_arena *arena, const struct tri_gpt_config *shape,
                             const struct tri_layer_choice *choice, struct tri_module_spec *node)
{
    struct maker maker = {.arena = arena, .shape = shape, .choice = choice};
    const struct tri_transformer_config *t = &shape->transformer;
    bool learned = shape->position_embedding_type == TRI_POSITION_LEARNED;
    struct tri_embedding_params params = {
        .vocab_size = shape->vocab_size,
        .hidden_size = t->hidden_size,
        .divisible_by = shape->make_vocab_size_divisible_by,
        .num_positions = learned ? shape->max_position_embeddings : 0,
        .dropout = t->hidden_dropout,
        .init_std = t->init_method_std,
    };
    make_node(&maker, node, "embedding", "embedding", &params, sizeof(params), 0);
    return !maker.failed;
}

bool tri_head_spec_make(tri_arena *arena, const struct tri_gpt_config *shape,
                        const struct tri_layer_choice *choice, struct tri_module_spec *node)
{
    struct maker maker = {.arena = arena, .shape = shape, .choice = choice};
    const struct tri_transformer_config *t = &shape->transformer;
    struct tri_head_params params = {.hidden_size = t->hidden_size};
    make_node(&maker, node, "head", "lm_head", &params, sizeof(params), 3);
    if (maker.failed)
        return false;
    make_norm(&maker, &node->children[0], "final_layernorm");
    struct tri_column_linear_params output = {
        .in = t->hidden_size,
        .out = shape->vocab_size,
        .init_std = t->init_method_std,
        .num_parts = 1,
        .parts = {{.name = "out", .rows = shape->vocab_size, .unit = 1}},
        .vocabulary = true,
        .divisible_by = shape->make_vocab_size_divisible_by,
        .tied = !shape->untie_embeddings_and_output_weights,
    };
    make_node(&maker, &node->children[1], "output_layer", "column_linear", &output, sizeof(output),
              0);
    struct tri_cross_entropy_params loss = {.vocab_size = shape->vocab_size,
                                            .divisible_by = shape->make_vocab_size_divisible_by};
    make_node(&maker, &node->children[2], "cross_entropy", "cross_entropy", &loss, sizeof(loss), 0);
    return !maker.failed;
}
