/* SPDX-License-Identifier: Apache-2.0 */
/* The quotient of harness/nn_difference.h. */
#include "nn_difference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double objective(const struct nn_case *c, struct nn_way way, const char *moved, double step)
{
    struct nn_result result;
    way.moved = moved;
    way.step = step;
    nn_run(c, &way, &result);
    nn_result_free(&result);
    return result.objective;
}

double nn_gradient_error(const struct nn_case *c, const struct nn_way *way,
                         const struct nn_tensor *gradient, double step)
{
    char key[128];
    const char *name = gradient->name;
    snprintf(key, sizeof(key), "direction of %s", name);
    float *direction = malloc((size_t)gradient->elements * sizeof(float));
    nn_values(key, 0, 1, gradient->elements, direction);
    double along = 0, norm = 0;
    for (int64_t i = 0; i < gradient->elements; i++) {
        along += (double)gradient->values[i] * direction[i];
        norm += (double)gradient->values[i] * gradient->values[i];
    }
    free(direction);
    double near = objective(c, *way, name, step) - objective(c, *way, name, -step);
    double far = objective(c, *way, name, 2 * step) - objective(c, *way, name, -2 * step);
    double error = fabs(along - (8 * near - far) / (12 * step)) / sqrt(norm);
    return error <= (double)INFINITY ? error : (double)INFINITY;
}
