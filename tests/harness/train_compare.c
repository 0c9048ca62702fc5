/* SPDX-License-Identifier: Apache-2.0 */
/* Two results of harness/train_run.h against each other. */
#include "train_run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

bool train_same_start(const struct train_result *a, const struct train_result *b)
{
    return a->elements == b->elements && a->num_tensors == b->num_tensors &&
           memcmp(a->initial, b->initial, (size_t)a->elements * sizeof(float)) == 0;
}

bool train_same_bits(const struct train_result *a, const struct train_result *b, bool explain)
{
    for (int i = 0; i < a->num_steps; i++)
        if (a->loss[i] != b->loss[i] || a->norm[i] != b->norm[i] || a->valid[i] != b->valid[i]) {
            if (explain)
                print_error("step %d: loss %.17g against %.17g, norm %.17g against %.17g\n", i + 1,
                            a->loss[i], b->loss[i], a->norm[i], b->norm[i]);
            return false;
        }
    return a->num_steps == b->num_steps;
}

/* Relative L2 of one tensor; of a gradient that is zero in exact arithmetic, absolute. */
static double tensor_difference(const struct train_tensor *tensor, const float *a, const float *b)
{
    double square = 0, difference = 0;
    for (int64_t i = tensor->first; i < tensor->first + tensor->elements; i++) {
        double d = (double)a[i] - (double)b[i];
        square += (double)b[i] * (double)b[i];
        difference += d * d;
    }
    return sqrt(square > 1e-24 ? difference / square : difference);
}

static double relative(double a, double b)
{
    return fabs(a - b) / fmax(fabs(b), 1e-30);
}

/* NaN is never inside. */
static bool within(const char *what, double difference, double bound, bool explain)
{
    bool ok = difference <= bound;
    if (!ok && explain)
        print_error("%s: relative %.3g, bound %.3g\n", what, difference, bound);
    return ok;
}

bool train_in_band(const struct train_result *a, const struct train_result *b, bool explain)
{
    int last = a->num_steps - 1;
    if (a->num_steps != b->num_steps || a->num_tensors != b->num_tensors)
        return false;
    double loss = relative(a->loss[0], b->loss[0]), norm = relative(a->norm[0], b->norm[0]);
    double end = relative(a->loss[last], b->loss[last]), worst = 0;
    bool ok = within("loss of step 1", loss, TRAIN_FIRST_LOSS, explain);
    ok = within("norm of step 1", norm, TRAIN_NORM, explain) && ok;
    ok = within("loss of the last step", end, TRAIN_LAST_LOSS, explain) && ok;
    for (int i = 0; i < a->num_tensors; i++) {
        char what[128];
        double difference = tensor_difference(&a->tensors[i], a->gradient, b->gradient);
        snprintf(what, sizeof what, "gradient %s", a->tensors[i].name);
        ok = within(what, difference, TRAIN_GRADIENT, explain) && ok;
        worst = difference > worst ? difference : worst;
    }
    if (explain)
        print_message("  loss %.1e, norm %.1e, gradients %.1e, last loss %.1e\n", loss, norm, worst,
                      end);
    return ok;
}
