/* SPDX-License-Identifier: Apache-2.0 */
/* Lists per layer as Megatron-LM writes them: "([1]*3+[0])*2" is 1,1,1,0,1,1,1,0. */
#pragma once

#include "base/options.h"

/* False when text is no such list, or one longer than an option holds. */
bool tri_list_expression(const char *text, struct tri_option_list *list);
