/* SPDX-License-Identifier: Apache-2.0 */
/* The reduction that worlds are created with (base/reduce.h says what it computes). */
#pragma once

#include "base/reduce.h"

tri_reduce_fn tri_reduce_in_order;
