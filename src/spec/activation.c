/* SPDX-License-Identifier: Apache-2.0 */
/* Module "activation": its input and output are rows of the mlp; it owns nothing. */
#include "spec/describe.h"

static void activation_describe(struct tri_sizer *sizer, const struct tri_module_spec *node)
{
    (void)sizer, (void)node;
}

const struct tri_module_row tri_spec_activation = {"activation", activation_describe};
