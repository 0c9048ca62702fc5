/* SPDX-License-Identifier: Apache-2.0 */
/* Module "activation": its input and output are rows of the mlp; it owns nothing. */
#include "spec/describe.h"

static void activation_describe(struct tri_sizer *sizer, const struct tri_module_spec *node)
{
    (void)sizer, (void)node;
}

static void activation_settings(const struct tri_module_spec *node, struct tri_settings *settings)
{
    const struct tri_activation_params *params = node->params;
    static const char *const kinds[] = {"gelu", "gelu_tanh",  "silu",
                                        "relu", "quick_gelu", "squared_relu"};
    tri_settings_word(settings, "function", kinds[params->kind % TRI_ACT_KIND_GATED]);
    tri_settings_flag(settings, "gated", params->gated);
    tri_settings_unless(settings, "clamp", params->clamp, 0);
    tri_settings_unless(settings, "offset", params->offset, 0);
    tri_settings_number(settings, "size", (double)params->size);
}

const struct tri_module_row tri_spec_activation = {
    .name = "activation", .describe = activation_describe, .settings = activation_settings};
