/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The default decision: which kind of layer a model gets when its user gives no spec. The list is tried from
 * the top, first match wins. Rows that are not in this build stand in their places and refuse by name.
 */
#include "spec/layer.h"

#include <inttypes.h>
#include <string.h>

struct layer_rule {
    const char *name;
    bool (*applies)(const struct tri_gpt_config *shape, const struct tri_spec_config *config);
    const char *cause;          /* the option that asks for it */
    const char *implementation; /* "by impl": what transformer_impl says; NULL: not in this build */
};
static const char by_impl[] = "by impl";

static bool wants_inference_optimized(const struct tri_gpt_config *shape,
                                      const struct tri_spec_config *config)
{
    (void)shape;
    return config->transformer_impl == TRI_IMPL_INFERENCE_OPTIMIZED;
}

static bool wants_quantized(const struct tri_gpt_config *shape,
                            const struct tri_spec_config *config)
{
    (void)shape;
    return config->restore_modelopt_state;
}

static bool wants_attention_variant(const struct tri_gpt_config *shape,
                                    const struct tri_spec_config *config)
{
    (void)shape;
    return config->experimental_attention_variant[0] != '\0';
}

static bool wants_moe_block(const struct tri_gpt_config *shape,
                            const struct tri_spec_config *config)
{
    (void)config;
    return shape->transformer.num_experts != TRI_UNSET;
}

static bool wants_heterogeneous(const struct tri_gpt_config *shape,
                                const struct tri_spec_config *config)
{
    (void)config;
    return shape->transformer.layer_query_groups.num > 0 ||
           shape->transformer.layer_ffn_sizes.num > 0;
}

static bool wants_fused(const struct tri_gpt_config *shape, const struct tri_spec_config *config)
{
    (void)shape;
    return config->transformer_impl == TRI_IMPL_FUSED;
}

static bool wants_plain(const struct tri_gpt_config *shape, const struct tri_spec_config *config)
{
    (void)shape;
    return config->transformer_impl == TRI_IMPL_PLAIN;
}

static const struct layer_rule rules[] = {
    {"inference_optimized", wants_inference_optimized, "transformer_impl", NULL},
    {"quantised", wants_quantized, "restore_modelopt_state", NULL},
    {"attention_variant", wants_attention_variant, "experimental_attention_variant", NULL},
    {"moe_block", wants_moe_block, "num_experts", NULL},
    {"heterogeneous", wants_heterogeneous, "layer_query_groups or layer_ffn_sizes", by_impl},
    {"fused", wants_fused, "transformer_impl", "fused"},
    {"plain", wants_plain, "transformer_impl", "plain"},
};
enum { NUM_RULES = sizeof(rules) / sizeof(rules[0]) };

const char *tri_layer_rule_get(int i)
{
    return i >= 0 && i < NUM_RULES ? rules[i].name : NULL;
}

bool tri_layer_rule_is_built(int i)
{
    return rules[i].implementation != NULL;
}

static const char *rule_implementation(const struct layer_rule *rule,
                                       const struct tri_spec_config *config)
{
    if (rule->implementation != by_impl)
        return rule->implementation;
    return config->transformer_impl == TRI_IMPL_PLAIN ? "plain" : "fused";
}

tri_status tri_layer_decide(const struct tri_gpt_config *shape,
                            const struct tri_spec_config *config, tri_error *err,
                            struct tri_layer_choice *choice)
{
    static const char *const reasons[][2] = {
        {"transformer_impl fused", "transformer_impl plain"},
        {"heterogeneous, transformer_impl fused", "heterogeneous, transformer_impl plain"}};
    for (int i = 0; i < NUM_RULES; i++) {
        if (!rules[i].applies(shape, config))
            continue;
        if (!rules[i].implementation)
            return tri_error_add(
                err, TRI_UNSUPPORTED,
                "layer spec '%s', which '%s' asks for, is not in this build; leave "
                "that out and use 'transformer_impl' %s",
                rules[i].name, rules[i].cause, tri_implementation_list());
        choice->rule = rules[i].name;
        choice->implementation = rule_implementation(&rules[i], config);
        choice->reason = reasons[rules[i].implementation == by_impl]
                                [strcmp(choice->implementation, "plain") == 0];
        return TRI_OK;
    }
    return tri_error_add(err, TRI_INVALID, "'transformer_impl' is none of its choices; use %s",
                         tri_implementation_list());
}

bool tri_implementation_known(const char *name)
{
    for (int i = 0; i < NUM_RULES; i++)
        if (rules[i].implementation && rules[i].implementation != by_impl &&
            strcmp(rules[i].implementation, name) == 0)
            return true;
    return false;
}

const char *tri_implementation_list(void)
{
    return "fused or plain";
}
