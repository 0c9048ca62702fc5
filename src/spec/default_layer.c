/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The default decision: which kind of layer a model gets when its user gives no spec. The list is tried
 * from the top, first match wins. Quantised layers, attention variants, MoE blocks and heterogeneous
 * layers have their places between the first row and "fused", in that order.
 */
#include "spec/layer.h"

#include <string.h>

struct layer_rule {
    const char *name;
    bool (*applies)(const struct tri_gpt_config *shape, const struct tri_spec_config *config);
    const char *implementation; /* NULL: not in this build */
    const char *reason;
};

static bool wants_inference_optimized(const struct tri_gpt_config *shape,
                                      const struct tri_spec_config *config)
{
    (void)shape;
    return config->transformer_impl == TRI_IMPL_INFERENCE_OPTIMIZED;
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
    {"inference_optimized", wants_inference_optimized, NULL, NULL},
    {"fused", wants_fused, "fused", "transformer_impl fused"},
    {"plain", wants_plain, "plain", "transformer_impl plain"},
};

tri_status tri_layer_decide(const struct tri_gpt_config *shape,
                            const struct tri_spec_config *config, tri_error *err,
                            struct tri_layer_choice *choice)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (!rules[i].applies(shape, config))
            continue;
        if (!rules[i].implementation)
            return tri_error_add(err, TRI_UNSUPPORTED,
                                 "'transformer_impl' %s is not in this build; use %s",
                                 rules[i].name, tri_implementation_list());
        choice->implementation = rules[i].implementation;
        choice->reason = rules[i].reason;
        return TRI_OK;
    }
    return tri_error_add(err, TRI_INVALID, "'transformer_impl' is none of its choices; use %s",
                         tri_implementation_list());
}

bool tri_implementation_known(const char *name)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (rules[i].implementation && strcmp(rules[i].implementation, name) == 0)
            return true;
    return false;
}

const char *tri_implementation_list(void)
{
    return "fused or plain";
}
