/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, tensors and quotients of harness/difference.h. */
#include "difference.h"

#define DIFFERENCE_STEP     4e-4
#define DIFFERENCE_ELEMENTS 12 /* of each tensor that are moved one by one */

const char *difference_called[NUM_OPERATIONS];

/* Uniform in [-1, 1). */
static double difference_random(struct difference *d)
{
    d->random = d->random * 6364136223846793005u + 1442695040888963407u;
    return (double)(d->random >> 11) / 4503599627370496.0 - 1;
}

static int64_t difference_random_int(struct difference *d, int64_t below)
{
    return (int64_t)((difference_random(d) + 1) / 2 * (double)below);
}

const int32_t *difference_ids(struct difference *d, int64_t limit)
{
    for (int i = 0; i < DIFFERENCE_IDS; i++)
        d->ids[i] = (int32_t)(d->number[i] % limit);
    return d->ids;
}

static struct tri_tensor difference_make(struct difference *d, const char *letters)
{
    int64_t dims[TRI_MAX_DIMS];
    int num_dims = 0;
    for (letters += *letters == '+'; *letters; letters++)
        dims[num_dims++] = d->size[(unsigned char)*letters];
    struct tri_tensor t = tri_tensor_view(NULL, TRI_DTYPE_F32, num_dims, dims);
    int64_t n = tri_tensor_elements(&t);
    t.data = malloc((size_t)n * sizeof(float));
    for (int64_t i = 0; i < n; i++)
        tri_tensor_f32(&t)[i] = 1.5 * difference_random(d);
    return t;
}

void difference_open(struct difference *d, const struct tri_kernels *k,
                     const struct difference_case *c, int variant, int round)
{
    *d = (struct difference){.c = c, .k = k, .variant = variant, .q = &d->queue};
    d->random = (uint64_t)(variant + 1) * 0x9e3779b97f4a7c15u + (uint64_t)round;
    for (const char *letter = "SBCGDKNTV"; *letter; letter++)
        d->size[(unsigned char)*letter] = round == 0 ? 1 : 3 + 2 * difference_random_int(d, 3);
    d->size['B'] = round == 0 ? 1 : 1 + difference_random_int(d, 3);
    d->size['G'] = round == 0 ? 1 : 1 + difference_random_int(d, 2);
    d->size['H'] = round == 0 ? 1 : d->size['G'] * (1 + difference_random_int(d, 3));
    d->size['R'] = d->size['S'] * d->size['B'];
    d->size['W'] = 2 * d->size['C'];
    if (c->shape)
        c->shape(d);
    for (int i = 0; i < DIFFERENCE_IDS; i++)
        d->number[i] = (uint32_t)difference_random_int(d, 1 << 30);
    for (int i = 0; i < DIFFERENCE_TENSORS; i++) {
        if (c->in[i]) {
            d->in[i] = difference_make(d, c->in[i]);
            d->grad[i] = difference_make(d, c->in[i]);
        }
        if (c->out[i]) {
            d->out[i] = difference_make(d, c->out[i]);
            d->dout[i] = difference_make(d, c->out[i]);
        }
        if (c->kept[i])
            d->kept[i] = difference_make(d, c->kept[i]);
    }
    if (c->adjust)
        c->adjust(d);
}

void difference_close(struct difference *d)
{
    for (int i = 0; i < DIFFERENCE_TENSORS; i++) {
        free(d->in[i].data);
        free(d->grad[i].data);
        free(d->out[i].data);
        free(d->dout[i].data);
        free(d->kept[i].data);
    }
}

/* L of the inputs as they stand. */
static double difference_value(struct difference *d)
{
    double sum = 0;
    d->c->forward(d);
    for (int t = 0; t < DIFFERENCE_TENSORS && d->out[t].data; t++)
        for (int64_t i = 0; i < tri_tensor_elements(&d->out[t]); i++)
            sum += tri_tensor_f32(&d->out[t])[i] * tri_tensor_f32(&d->dout[t])[i];
    return sum;
}

/* L where x is base + step * direction. */
static double difference_moved(struct difference *d, struct tri_tensor x, const double *base,
                               const double *direction, double step)
{
    for (int64_t i = 0; i < tri_tensor_elements(&x); i++)
        tri_tensor_f32(&x)[i] = base[i] + step * direction[i];
    return difference_value(d);
}

/* dL / dx along direction. */
static double difference_along(struct difference *d, struct tri_tensor x, const double *direction)
{
    const double h = DIFFERENCE_STEP;
    size_t bytes = (size_t)tri_tensor_elements(&x) * sizeof(double);
    double *base = malloc(bytes);
    memcpy(base, x.data, bytes);
    double near =
        difference_moved(d, x, base, direction, h) - difference_moved(d, x, base, direction, -h);
    double far = difference_moved(d, x, base, direction, 2 * h) -
                 difference_moved(d, x, base, direction, -2 * h);
    memcpy(x.data, base, bytes);
    free(base);
    return (8 * near - far) / (12 * h);
}

void difference_gradients(struct difference *d)
{
    double *before[DIFFERENCE_TENSORS] = {NULL};
    for (int t = 0; t < DIFFERENCE_TENSORS && d->c->in[t]; t++) {
        int64_t n = tri_tensor_elements(&d->grad[t]);
        before[t] = malloc((size_t)n * sizeof(double));
        bool is_added = d->c->in[t][0] == '+';
        for (int64_t i = 0; i < n; i++) {
            before[t][i] = is_added ? difference_random(d) : 0;
            tri_tensor_f32(&d->grad[t])[i] = is_added ? before[t][i] : (double)NAN;
        }
    }
    difference_value(d);
    d->c->backward(d);
    for (int t = 0; t < DIFFERENCE_TENSORS && d->c->in[t]; t++) {
        for (int64_t i = 0; i < tri_tensor_elements(&d->grad[t]); i++)
            tri_tensor_f32(&d->grad[t])[i] -= before[t][i];
        free(before[t]);
    }
}

double difference_size(const struct difference *d, int t)
{
    double size = 0;
    for (int64_t i = 0; i < tri_tensor_elements(&d->grad[t]); i++)
        size = fmax(size, fabs(tri_tensor_f32(&d->grad[t])[i]));
    return size;
}

/* How far the gradient of input t is from the quotient along direction, over the larger of the largest
   gradient and a thousandth; infinite for NaN. */
static double difference_error(struct difference *d, int t, const double *direction)
{
    double along = 0, quotient = difference_along(d, d->in[t], direction);
    for (int64_t i = 0; i < tri_tensor_elements(&d->grad[t]); i++)
        along += tri_tensor_f32(&d->grad[t])[i] * direction[i];
    double error = fabs(along - quotient) / fmax(difference_size(d, t), 1e-3);
    return error <= DBL_MAX ? error : (double)INFINITY;
}

double difference_worst(struct difference *d, int t)
{
    int64_t n = tri_tensor_elements(&d->in[t]);
    double *direction = calloc((size_t)n, sizeof(double));
    for (int64_t i = 0; i < n; i++)
        direction[i] = difference_random(d) < 0 ? -1 : 1;
    double worst = difference_error(d, t, direction);
    for (int64_t m = 0; m < (n < DIFFERENCE_ELEMENTS ? n : DIFFERENCE_ELEMENTS); m++) {
        int64_t element = n <= DIFFERENCE_ELEMENTS ? m : difference_random_int(d, n);
        for (int64_t i = 0; i < n; i++)
            direction[i] = i == element;
        worst = fmax(worst, difference_error(d, t, direction));
    }
    free(direction);
    return worst;
}
