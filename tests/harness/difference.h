/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Differences of a pair of operations, forward and backward, that are built in double
 * (harness/as_double.h): with L = sum of out * dout, what backward says is dL / din is compared with
 * a fourth-order central difference of L, along random single elements and along one direction that
 * moves every element. Tensors are named by letters, each of which is a size drawn for a round.
 */
#pragma once

#include "kernels/kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define DIFFERENCE_TOLERANCE 1e-9 /* of the largest gradient of the tensor */

enum { DIFFERENCE_TENSORS = 8, DIFFERENCE_IDS = 192 };

/* The operations of the table behind its name, and which of them is called so. */
#define NUM_OPERATIONS (sizeof(struct tri_kernels) / sizeof(const char *) - 1)
#define OPERATION(op)  (offsetof(struct tri_kernels, op) / sizeof(const char *) - 1)

/* The operation of d's table, to be called; notes that it was. */
#define CALL(d, op) (difference_called[OPERATION(op)] = #op, (d)->k->op)
extern const char *difference_called[NUM_OPERATIONS];

struct difference;

struct difference_case {
    const char *name;
    /* Tensors, a letter per dim: S, B, R = S * B, C, W = 2 C, G, H = a multiple of G, and D, K, N, T, V. A
       gradient is added to where its input starts with '+', else overwritten. */
    const char *in[DIFFERENCE_TENSORS], *out[DIFFERENCE_TENSORS], *kept[DIFFERENCE_TENSORS];
    void (*forward)(struct difference *d);  /* fills out and kept */
    void (*backward)(struct difference *d); /* fills grad */
    int num_variants;                       /* 0: one */
    void (*shape)(struct difference *d);    /* NULL, or changes sizes to what the variant needs */
    void (*adjust)(struct difference *d);   /* NULL, or moves inputs away from kinks */
};

/* One variant of a case at one size. */
struct difference {
    const struct difference_case *c;
    const struct tri_kernels *k;
    int variant;
    uint64_t random;
    struct tri_queue queue, *q;
    int64_t size['Z' + 1];
    struct tri_tensor in[DIFFERENCE_TENSORS], grad[DIFFERENCE_TENSORS], out[DIFFERENCE_TENSORS],
        dout[DIFFERENCE_TENSORS], kept[DIFFERENCE_TENSORS];
    uint32_t number[DIFFERENCE_IDS]; /* random, for ids, labels, positions */
    int32_t ids[DIFFERENCE_IDS];     /* made of them by forward and backward */
};

extern const struct difference_case difference_rows[], difference_model[];
extern const int difference_num_rows, difference_num_model;

/* ids[i] = a random number below limit that belongs to place i. */
const int32_t *difference_ids(struct difference *d, int64_t limit);
/* Small odd sizes; in round 0 all are 1. */
void difference_open(struct difference *d, const struct tri_kernels *k,
                     const struct difference_case *c, int variant, int round);
void difference_close(struct difference *d);
/* The gradients that backward gives, after a forward at the inputs themselves: what is added to starts
   at random numbers, what is overwritten at NaN. */
void difference_gradients(struct difference *d);
/* The largest value of the gradient of input t. */
double difference_size(const struct difference *d, int t);
/* How far the gradient of input t is from a difference quotient, over the larger of difference_size() and a
   thousandth: the worst of a direction that moves all elements and of some by themselves. */
double difference_worst(struct difference *d, int t);
