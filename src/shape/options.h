/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The option rows of section "shape". One section, four tables: the two levels of the config, of which the
 * transformer's attention has a table of its own, and the short forms of Megatron-LM's command line
 * (--swiglu), which own no truth: tri_shape_apply_short() turns them into fields and they are forgotten.
 * Two more tables have the fields of gpt_config that do not change the model's function; such an option is
 * none of section "shape".
 */
#pragma once

#include "shape/config.h"

extern const struct tri_option_table tri_transformer_options;
extern const struct tri_option_table tri_attention_options;
extern const struct tri_option_table tri_gpt_options;
extern const struct tri_option_table tri_padding_options; /* section "placement", in gpt_config */
extern const struct tri_option_table
    tri_config_json_options; /* section "checkpoint", in gpt_config */

/* Conditions that several rows have. */
#define TRI_WHEN_ROTARY "position_embedding_type=rope|yarn|mrope"
#define TRI_WHEN_YARN   "position_embedding_type=yarn"
#define TRI_WHEN_LLAMA3 "position_embedding_type=rope|mrope use_rope_scaling"

struct tri_shape_short {
    bool swiglu;                         /* activation_func silu, gated_linear_unit */
    bool disable_bias_linear;            /* not add_bias_linear */
    bool group_query_attention;          /* num_query_groups 1 unless given */
    bool use_rotary_position_embeddings; /* position_embedding_type rope */
    bool apply_layernorm_1p;             /* layernorm_zero_centered_gamma */
    bool squared_relu;                   /* activation_func squared_relu */
    bool quick_geglu;                    /* activation_func quick_gelu, gated_linear_unit */
    /* JSON file with block_configs: layer_query_groups and layer_ffn_sizes; "": not given */
    char heterogeneous_layers_config_path[TRI_OPTION_TEXT];
    char heterogeneous_layers_config_encoded_json[TRI_OPTION_JSON_TEXT]; /* the JSON itself */
    double norm_epsilon;        /* layernorm_epsilon; NaN: not given */
    bool openai_gelu;           /* activation_func gelu_tanh */
    bool no_position_embedding; /* position_embedding_type none unless rotary */
    /* Other names of attention's options; NaN: not given. */
    double yarn_original_max_position_embeddings, yarn_beta_fast, yarn_beta_slow;
};
extern const struct tri_option_table tri_shape_short_options;

/* Fills config with the rows' defaults. */
void tri_gpt_config_set_defaults(struct tri_gpt_config *config);

/* Turns short forms into fields. The origins are those of the three tables' bindings, or NULL: a field that
   was also given with another value is a problem, added to err. */
struct tri_shape_origins {
    const unsigned char *transformer, *attention, *gpt;
};
tri_status tri_shape_apply_short(const struct tri_shape_short *given,
                                 const struct tri_shape_origins *origins,
                                 struct tri_gpt_config *config, tri_error *err);
