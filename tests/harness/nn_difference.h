/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of a module (harness/nn_fixture.h) against difference quotients of its objective. */
#pragma once

#include "nn_fixture.h"

/* How far gradient, of a run of c in this way, is along a random direction of its tensor from the
   fourth-order central difference of the objective; over the gradient's norm, infinite for NaN. */
double nn_gradient_error(const struct nn_case *c, const struct nn_way *way,
                         const struct nn_tensor *gradient, double step);
