/* SPDX-License-Identifier: Apache-2.0 */
/* The trees of the three kinds of unit, from the shape alone (see the picture in spec/modules.h). */
#include "spec/layer.h"
#include "spec/modules.h"
#include "spec/sublayer.h"

#include "base/rng.h"
#include "shape/attention.h"
#include "shape/heterogeneous.h"
#include "shape/mup.h"

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

/* Initial values of a hidden weight that is one of depth summands of the residual stream; 1: none. */
static struct tri_linear_init hidden_init(const struct tri_gpt_config *shape, double depth)
{
    const struct tri_transformer_config *t = &shape->transformer;
    return (struct tri_linear_init){.std = t->init_method_std / sqrt(depth * tri_mup_width(shape)),
                                    .xavier = t->init_method_xavier_uniform};
}

static struct tri_linear_init embedding_init(const struct tri_gpt_config *shape)
{
    const struct tri_transformer_config *t = &shape->transformer;
    bool is_own = !isnan(t->embedding_init_method_std);
    return (struct tri_linear_init){.std =
                                        is_own ? t->embedding_init_method_std : t->init_method_std,
                                    .xavier = t->init_method_xavier_uniform && !is_own};
}

/* Projections back into the residual stream start smaller, the more of them there are. */
static void make_row_linear(struct maker *maker, struct tri_module_spec *node, const char *slot,
                            int64_t in, bool bias)
{
    const struct tri_transformer_config *t = &maker->shape->transformer;
    struct tri_row_linear_params params = {
        .in = in,
        .out = t->hidden_size,
        .bias = t->add_bias_linear || bias,
        .init = hidden_init(maker->shape, 2.0 * (double)t->num_layers)};
    make_node(maker, node, slot, "row_linear", &params, sizeof(params), 0);
}

/* What stands in slot where attention or MLP was replaced by a linear. */
static void make_whole_linear(struct maker *maker, struct tri_module_spec *node, const char *slot)
{
    const struct tri_transformer_config *t = &maker->shape->transformer;
    struct tri_whole_linear_params params = {.in = t->hidden_size,
                                             .out = t->hidden_size,
                                             .bias = t->add_bias_linear,
                                             .init = hidden_init(maker->shape, 1)};
    make_node(maker, node, slot, "whole_linear", &params, sizeof(params), 0);
}

static void make_bda(struct maker *maker, struct tri_module_spec *node, const char *slot,
                     int64_t layer, int purpose)
{
    const struct tri_transformer_config *t = &maker->shape->transformer;
    struct tri_bda_params params = {.size = t->hidden_size,
                                    .factor = t->residual_multiplier,
                                    .dropout = t->hidden_dropout,
                                    .purpose = purpose,
                                    .layer = layer};
    make_node(maker, node, slot, "bias_dropout_add", &params, sizeof(params), 0);
}

/* How the layer's heads turn; width 0 where they do not. */
static struct tri_rope_spec layer_rope(const struct tri_gpt_config *shape, int64_t layer)
{
    const struct tri_attention_config *a = &shape->transformer.attention;
    bool is_linear = !isnan(a->rotary_seq_len_interpolation_factor);
    bool is_dynamic = !isnan(a->rope_dynamic_factor);
    bool is_yarn = shape->position_embedding_type == TRI_POSITION_YARN;
    if (!isnan(shape->rotary_base_local) && tri_layer_window(shape, layer) > 0)
        return (struct tri_rope_spec){
            .kind = TRI_ROPE_PLAIN,
            .width = tri_layer_turns(shape, layer) ? tri_rotary_width(shape) : 0,
            .base = shape->rotary_base_local,
            .interleaved = shape->rotary_interleaved};
    struct tri_rope_spec rope = {
        .kind = is_yarn               ? TRI_ROPE_YARN
                : is_linear           ? TRI_ROPE_LINEAR
                : is_dynamic          ? TRI_ROPE_DYNAMIC
                : a->use_rope_scaling ? TRI_ROPE_LLAMA3
                                      : TRI_ROPE_PLAIN,
        .width = tri_layer_turns(shape, layer) ? tri_rotary_width(shape) : 0,
        .base = shape->rotary_base,
        .factor = is_yarn      ? a->rotary_scaling_factor
                  : is_linear  ? a->rotary_seq_len_interpolation_factor
                  : is_dynamic ? a->rope_dynamic_factor
                               : a->rope_scaling_factor,
        .original_positions =
            is_dynamic ? shape->max_position_embeddings : a->original_max_position_embeddings,
        .low_freq_factor = a->rope_low_freq_factor,
        .high_freq_factor = a->rope_high_freq_factor,
        .beta_fast = a->beta_fast,
        .beta_slow = a->beta_slow,
        .truncate = a->yarn_correction_range_round_to_int,
        .attention_factor = isnan(a->yarn_attention_factor) ? 0 : a->yarn_attention_factor,
        .mscale = a->mscale,
        .mscale_all_dim = a->mscale_all_dim,
        .interleaved = shape->rotary_interleaved,
    };
    for (int i = 0; i < 3 && shape->position_embedding_type == TRI_POSITION_MROPE; i++)
        rope.sections[i] = a->mrope_section.value[i];
    return rope;
}

/* A norm of each of num heads. */
static void make_head_norm(struct maker *maker, struct tri_module_spec *node, const char *slot,
                           int64_t num)
{
    const struct tri_transformer_config *t = &maker->shape->transformer;
    bool is_rmsnorm = t->normalization == TRI_NORM_RMSNORM;
    struct tri_norm_params params = {.size = t->kv_channels,
                                     .eps = t->layernorm_epsilon,
                                     .bias = !t->attention.qk_l2_norm && !is_rmsnorm,
                                     .zero_centered = t->layernorm_zero_centered_gamma &&
                                                      !t->attention.qk_l2_norm,
                                     .heads = num};
    if (t->attention.qk_norm_across_heads) {
        params.size *= num;
        make_node(maker, node, slot, "split_rmsnorm", &params, sizeof(params), 0);
        return;
    }
    const char *module = t->attention.qk_l2_norm ? "l2norm" : is_rmsnorm ? "rmsnorm" : "layernorm";
    make_node(maker, node, slot, module, &params, sizeof(params), 0);
}

static void make_core_attention(struct maker *maker, struct tri_module_spec *node, int64_t layer,
                                int64_t num_groups)
{
    static const int sinks[] = {[TRI_SOFTMAX_VANILLA] = TRI_SINK_NONE,
                                [TRI_SOFTMAX_OFF_BY_ONE] = TRI_SINK_ZERO,
                                [TRI_SOFTMAX_LEARNABLE] = TRI_SINK_LEARNED};
    const struct tri_gpt_config *shape = maker->shape;
    const struct tri_transformer_config *t = &shape->transformer;
    double softcap = t->attention.attn_logit_softcapping;
    struct tri_attention_params params = {
        .num_heads = t->num_attention_heads,
        .num_groups = num_groups,
        .head_width = t->kv_channels,
        .scale = tri_softmax_scale(shape),
        .softcap = isnan(softcap) ? 0 : softcap,
        .window = tri_layer_window(shape, layer),
        .sink = sinks[t->attention.softmax_type],
        .dropout = t->attention_dropout,
        .layer = layer,
        .init_std = hidden_init(shape, 1).std,
    };
    make_node(maker, node, "core_attention", "dot_product_attention", &params, sizeof(params), 0);
}

static void make_linear_qkv(struct maker *maker, struct tri_module_spec *node, int64_t num_groups)
{
    const struct tri_transformer_config *t = &maker->shape->transformer;
    int64_t D = t->kv_channels, q = t->num_attention_heads * D, kv = num_groups * D;
    struct tri_column_linear_params params = {
        .in = t->hidden_size,
        .bias = t->add_bias_linear || t->add_qkv_bias,
        .init = hidden_init(maker->shape, 1),
    };
    const struct tri_linear_part parts[TRI_MAX_PARTS] = {
        {.name = "q", .rows = q, .unit = D},
        {.name = "gate", .rows = t->attention.attention_output_gate ? q : 0, .unit = D},
        {.name = "k", .rows = kv, .unit = D},
        {.name = "v", .rows = kv, .unit = D}};
    for (int i = 0; i < TRI_MAX_PARTS; i++) {
        params.out += parts[i].rows;
        if (parts[i].rows > 0)
            params.parts[params.num_parts++] = parts[i];
    }
    make_node(maker, node, "linear_qkv", "column_linear", &params, sizeof(params), 0);
}

static void make_self_attention(struct maker *maker, struct tri_module_spec *node, int64_t layer)
{
    const struct tri_gpt_config *shape = maker->shape;
    const struct tri_transformer_config *t = &shape->transformer;
    int64_t num_groups = tri_layer_query_groups(t, layer);
    bool is_dynamic = !isnan(t->attention.rope_dynamic_factor);
    struct tri_self_attention_params params = {
        .hidden_size = t->hidden_size,
        .num_heads = t->num_attention_heads,
        .num_groups = num_groups,
        .head_width = t->kv_channels,
        .head_norms = t->attention.qk_layernorm || t->attention.qk_l2_norm,
        .output_gate = t->attention.attention_output_gate,
        .rope = layer_rope(shape, layer),
        .max_positions = is_dynamic ? INT32_MAX : shape->max_position_embeddings,
    };
    int num_children = params.head_norms ? 5 : 3, next = 0;
    make_node(maker, node, "self_attention", "self_attention", &params, sizeof(params),
              num_children);
    if (maker->failed)
        return;
    make_linear_qkv(maker, &node->children[next++], num_groups);
    if (params.head_norms) {
        make_head_norm(maker, &node->children[next++], "q_layernorm", t->num_attention_heads);
        make_head_norm(maker, &node->children[next++], "k_layernorm", num_groups);
    }
    make_core_attention(maker, &node->children[next++], layer, num_groups);
    make_row_linear(maker, &node->children[next], "linear_proj",
                    t->num_attention_heads * t->kv_channels, t->add_proj_bias);
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

static void make_mlp(struct maker *maker, struct tri_module_spec *node, int64_t F)
{
    const struct tri_transformer_config *t = &maker->shape->transformer;
    bool gated_unit = t->gated_linear_unit;
    struct tri_mlp_params params = {
        .hidden_size = t->hidden_size, .ffn_size = F, .gated = gated_unit};
    make_node(maker, node, "mlp", "mlp", &params, sizeof(params), 3);
    if (maker->failed)
        return;
    struct tri_column_linear_params fc1 = {
        .in = t->hidden_size,
        .out = gated_unit ? 2 * F : F,
        .bias = t->add_bias_linear || t->add_mlp_bias,
        .init = hidden_init(maker->shape, 1),
        .num_parts = gated_unit ? 2 : 1,
        .parts = {{.name = gated_unit ? "gate" : "out", .rows = F, .unit = 1},
                  {.name = "up", .rows = gated_unit ? F : 0, .unit = 1}},
    };
    make_node(maker, &node->children[0], "linear_fc1", "column_linear", &fc1, sizeof(fc1), 0);
    double clamp = t->activation_func_clamp_value;
    struct tri_activation_params activation = {.kind = activation_kind(t),
                                               .gated = gated_unit,
                                               .clamp = isnan(clamp) ? 0 : clamp,
                                               .offset = t->glu_linear_offset,
                                               .size = F};
    make_node(maker, &node->children[1], "activation", "activation", &activation,
              sizeof(activation), 0);
    make_row_linear(maker, &node->children[2], "linear_fc2", F, t->add_mlp_bias);
}

/* Adds one half of a layer to node's children; size is its groups or width, or one of TRI_LAYER_x. */
static void make_half(struct maker *maker, struct tri_module_spec *node, int which, int64_t size,
                      int64_t layer)
{
    static const int purposes[] = {[TRI_SUBLAYER_ATTENTION] = TRI_RNG_HIDDEN_DROPOUT_ATTENTION,
                                   [TRI_SUBLAYER_MLP] = TRI_RNG_HIDDEN_DROPOUT_MLP};
    const struct tri_sublayer_names *names = &tri_sublayer_names[which];
    const struct tri_transformer_config *t = &maker->shape->transformer;
    struct tri_module_spec *children = node->children;
    if (size == TRI_LAYER_NO_OP)
        return;
    if (t->norm_position != TRI_NORM_POST)
        make_norm(maker, &children[node->num_children++], names->norm);
    struct tri_module_spec *body = &children[node->num_children++];
    if (size == TRI_LAYER_LINEAR)
        make_whole_linear(maker, body, names->body);
    else if (which == TRI_SUBLAYER_ATTENTION)
        make_self_attention(maker, body, layer);
    else
        make_mlp(maker, body, size);
    if (t->norm_position != TRI_NORM_PRE)
        make_norm(maker, &children[node->num_children++], names->post_norm);
    make_bda(maker, &children[node->num_children++], names->bda, layer, purposes[which]);
}

bool tri_layer_spec_make(tri_arena *arena, const struct tri_gpt_config *shape,
                         const struct tri_layer_choice *choice, int64_t layer,
                         struct tri_module_spec *node)
{
    struct maker maker = {.arena = arena, .shape = shape, .choice = choice};
    const struct tri_transformer_config *t = &shape->transformer;
    struct tri_layer_params params = {.layer = layer, .hidden_size = t->hidden_size};
    int64_t sizes[] = {[TRI_SUBLAYER_ATTENTION] = tri_layer_query_groups(t, layer),
                       [TRI_SUBLAYER_MLP] = tri_layer_ffn_size(t, layer)};
    bool is_parallel = t->use_parallel_residual && sizes[0] != TRI_LAYER_NO_OP &&
                       sizes[1] != TRI_LAYER_NO_OP; /* one half alone is the same either way */
    make_node(&maker, node, "layer", is_parallel ? "parallel_layer" : "transformer_layer", &params,
              sizeof(params), 8);
    if (maker.failed)
        return false;
    node->num_children = 0; /* of the room for 8 */
    for (int which = 0; which < TRI_NUM_SUBLAYERS && !maker.failed; which++)
        make_half(&maker, node, which, sizes[which], layer);
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
        .factor = tri_embedding_factor(shape),
        .dropout = t->hidden_dropout,
        .init = embedding_init(shape),
    };
    make_node(&maker, node, "embedding", "embedding", &params, sizeof(params), 0);
    return !maker.failed;
}

bool tri_head_spec_make(tri_arena *arena, const struct tri_gpt_config *shape,
                        const struct tri_layer_choice *choice, struct tri_module_spec *node)
{
    struct maker maker = {.arena = arena, .shape = shape, .choice = choice};
    const struct tri_transformer_config *t = &shape->transformer;
    double softcap = isnan(shape->final_logit_softcapping) ? 0 : shape->final_logit_softcapping;
    struct tri_head_params params = {
        .hidden_size = t->hidden_size, .factor = tri_logits_factor(shape), .softcap = softcap};
    make_node(&maker, node, "head", "lm_head", &params, sizeof(params), 3);
    if (maker.failed)
        return false;
    make_norm(&maker, &node->children[0], "final_layernorm");
    struct tri_column_linear_params output = {
        .in = t->hidden_size,
        .out = shape->vocab_size,
        .init = t->use_mup ? embedding_init(shape) : hidden_init(shape, 1),
        .num_parts = 1,
        .parts = {{.name = "out", .rows = shape->vocab_size, .unit = 1}},
        .vocabulary = true,
        .divisible_by = shape->make_vocab_size_divisible_by,
        .tied = !shape->untie_embeddings_and_output_weights,
    };
    make_node(&maker, &node->children[1], "output_layer", "column_linear", &output, sizeof(output),
              0);
    struct tri_cross_entropy_params loss = {.vocab_size = shape->vocab_size,
                                            .divisible_by = shape->make_vocab_size_divisible_by,
                                            .softcap = softcap};
    make_node(&maker, &node->children[2], "cross_entropy", "cross_entropy", &loss, sizeof(loss), 0);
    return !maker.failed;
}
