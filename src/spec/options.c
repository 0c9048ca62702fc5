/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of section "spec". */
#include "spec/config.h"

static const char *const implementations[] = {"fused", "plain", "inference_optimized", NULL};
static const char *const implementation_aliases[] = {"transformer_engine", "fused", "local",
                                                     "plain", NULL};

static const struct tri_option spec_rows[] = {
    {.name = "transformer_impl",
     .type = TRI_OPTION_CHOICE,
     .offset = offsetof(struct tri_spec_config, transformer_impl),
     .default_text = "fused",
     .choices = implementations,
     .aliases = implementation_aliases,
     .help = "Implementation of every module: fused (the fast kernels) or plain (the reference)."},
    {.name = "apply_query_key_layer_scaling",
     .type = TRI_OPTION_BOOL,
     .offset = offsetof(struct tri_spec_config, apply_query_key_layer_scaling),
     .default_text = "false",
     .flags = TRI_OPTION_HIDDEN,
     .help =
         "Keep scores of 16 bits from overflowing in deep layers; scores are never kept here, and "
         "computed in fp32, so it changes nothing."},
    {.name = "fp32_residual_connection",
     .type = TRI_OPTION_BOOL,
     .offset = offsetof(struct tri_spec_config, fp32_residual_connection),
     .default_text = "false",
     .flags = TRI_OPTION_HIDDEN,
     .help = "Keep the residual stream in fp32 between modules that compute in 16 bits; everything "
             "is fp32 here, so it changes nothing."},
    {.name = "restore_modelopt_state",
     .type = TRI_OPTION_BOOL,
     .offset = offsetof(struct tri_spec_config, restore_modelopt_state),
     .default_text = "false",
     .flags = TRI_OPTION_HIDDEN,
     .help = "Use quantised layers from a model optimiser; not in this build."},
    {.name = "experimental_attention_variant",
     .type = TRI_OPTION_STRING,
     .offset = offsetof(struct tri_spec_config, experimental_attention_variant),
     .flags = TRI_OPTION_HIDDEN,
     .help = "Use another kind of attention by name; none is in this build."},
    {.name = "override",
     .type = TRI_OPTION_MAP,
     .offset = offsetof(struct tri_spec_config, override),
     .help =
         "Implementation by module path, as in decoder.layers[0:4].mlp.linear_fc1=plain; * stands "
         "for any layer or name."},
};

const struct tri_option_table tri_spec_options = {
    .section = "spec",
    .rows = spec_rows,
    .num_rows = sizeof(spec_rows) / sizeof(spec_rows[0]),
    .struct_bytes = sizeof(struct tri_spec_config),
};
