/* SPDX-License-Identifier: Apache-2.0 */
/* Module "bias_dropout_add": the mask is a function of counters, so nothing is kept. */
#include "spec/describe.h"

static void bias_dropout_add_describe(struct tri_sizer *sizer, const struct tri_module_spec *node)
{
    (void)sizer, (void)node;
}

static void bias_dropout_add_settings(const struct tri_module_spec *node,
                                      struct tri_settings *settings)
{
    const struct tri_bda_params *params = node->params;
    tri_settings_unless(settings, "factor", params->factor, 1);
    tri_settings_unless(settings, "dropout", params->dropout, 0);
}

const struct tri_module_row tri_spec_bias_dropout_add = {.name = "bias_dropout_add",
                                                         .describe = bias_dropout_add_describe,
                                                         .settings = bias_dropout_add_settings};
