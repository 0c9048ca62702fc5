/* SPDX-License-Identifier: Apache-2.0 */
/* Module "bias_dropout_add": the mask is a function of counters, so nothing is kept. */
#include "spec/describe.h"

static void bias_dropout_add_describe(struct tri_sizer *sizer, const struct tri_module_spec *node)
{
    (void)sizer, (void)node;
}

const struct tri_module_row tri_spec_bias_dropout_add = {"bias_dropout_add",
                                                         bias_dropout_add_describe};
