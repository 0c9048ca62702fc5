/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one module alone, on any number of tensor-parallel ranks (as threads), from global values
 * that are a pure function of names. Rows lie where the record says, in memory painted with NaN: a
 * module that reads what it has not written, or writes outside its rows, is found out. Results are
 * global tensors, so that any two ways to run a case can be compared.
 */
#pragma once

#include "comm/comm.h"
#include "nn/build.h"
#include "spec/model_spec.h"
#include "spec/modules.h"

/* Relative L2 differences that are an error. Sums over tp are fp32 in another order than one
   rank's; a difference quotient of fp32 values is good to about 1e-4 at steps of 1e-2. */
#define NN_TOLERANCE_TP         2e-6
#define NN_TOLERANCE_DIFFERENCE 3e-4

enum { NN_MAX_PARAMS = 24, NN_MAX_RANKS = 4, NN_MAX_TENSORS = NN_MAX_PARAMS + 4 };

/* A module of a model: unit and path below it. */
struct nn_case {
    const char *name;
    int shape; /* of nn_shape() */
    int unit;
    const char *path; /* NULL: the unit itself */
    bool is_alone;    /* a tied head whose table lies in another slice */
    bool keeps_dout;  /* the module copies dout where its weight half needs it */
    int max_tp;       /* 0: any */
    void (*configure)(struct tri_gpt_config *shape); /* NULL, or changes the shape */
};
extern const struct nn_case nn_cases[];
extern const int nn_num_cases;
const struct nn_case *nn_case_find(const char *name);

enum {
    NN_SHAPE_GPT,
    NN_SHAPE_LLAMA,
    NN_SHAPE_PARALLEL, /* both halves side by side; 1 + weight; biases of the MLP only */
    NN_SHAPE_SANDWICH, /* norms before and behind; factors everywhere, capped logits */
    NN_SHAPE_POST,     /* norms behind, and of all heads together; biases of the projections only */
    NN_SHAPE_NORMED,   /* norms of heads, yarn, windows, capped scores, learned sinks */
    NN_SHAPE_L2,       /* weightless norms of heads, sections, a sink */
    NN_SHAPE_HEADS,    /* LayerNorm of heads of odd width, of which a part turns */
    NN_SHAPE_MIXED,    /* layers that lack or replace a half */
    NN_SHAPE_CUT,      /* gated units with cut halves and an offset */
    NN_SHAPE_GATED, /* gates on the attention's output, norms of heads by 1 + weight, a part turns */
    NN_SHAPE_ONE,   /* one head of one channel, one inner channel, no positions */
    NN_NUM_SHAPES
};
struct tri_gpt_config nn_shape(int shape);

/* Leaves out operation number ordinal (from 1) of kind op, on every rank: a planted fault. */
struct nn_drop {
    enum tri_comm_op op;
    int ordinal; /* 0: none */
};

/* One way to run a case. */
struct nn_way {
    bool plain; /* cpu_ref instead of cpu_fast */
    int tp;
    bool sequence_parallel;
    bool halves; /* split backward: input half, then weight half */
    int team_size;
    int64_t rows, length;           /* of the microbatch */
    int64_t more_rows, more_length; /* planned beyond that */
    bool evaluates;                 /* no dropout */
    struct nn_drop drop;
    const char *moved; /* the tensor whose values move by step along its direction */
    double step;
};

struct nn_tensor {
    char name[96]; /* "in", "out", "logits", "token_loss", or a parameter */
    bool is_gradient;
    int64_t elements;
    float *values;
};

struct nn_result {
    int num_tensors;
    struct nn_tensor tensors[NN_MAX_TENSORS];
    double objective; /* sum of out * dout; of the head: its loss */
    struct tri_loss_term loss;
    int num_operations[TRI_NUM_COMM_OPS];
    char problem[256]; /* "": none */
};

/* Fails the running test when a rank fails. */
void nn_run(const struct nn_case *c, const struct nn_way *way, struct nn_result *result);
void nn_result_free(struct nn_result *result);

/* Largest relative L2 difference over all tensors; NaN counts as infinite. */
double nn_difference(const struct nn_result *a, const struct nn_result *b, const char **where);
/* The name of the first tensor with other bits, NULL if there is none. */
const char *nn_first_other_bits(const struct nn_result *a, const struct nn_result *b);

/* count values that belong to name: a pure function of both. */
void nn_values(const char *name, float mean, float std, int64_t count, float *values);

/* ---- one rank, for tests that walk by themselves ---- */

/* The channels of an edge: the whole width on every rank outside tensor-parallel regions (positions
   are cut under sequence parallelism); inside, each part is cut over tp. */
struct nn_edge {
    bool exists, is_inside;
    int num_parts;
    int64_t parts[TRI_MAX_PARTS];
};

/* Bytes between painted guards. */
struct nn_region {
    char *memory;
    size_t bytes;
};

struct nn_rank {
    const struct nn_case *c;
    const struct nn_way *way;
    int rank;
    tri_error *err;
    tri_arena *arena;
    tri_group *tp;
    struct tri_model_spec *model;
    struct tri_model_spec alone; /* a model of the one node */
    struct tri_sizing_input sizing;
    struct tri_unit_size size;
    struct tri_queue queue;
    struct nn_edge in, out;
    struct nn_region saved, work, run;
    struct nn_region x, residual, y, dy, dx; /* edges */
    struct tri_param params[NN_MAX_PARAMS];
    struct nn_region values[NN_MAX_PARAMS], grads[NN_MAX_PARAMS];
    int num_params;
    struct tri_microbatch microbatch;
    struct tri_tensor *views;
    struct tri_slot slot;
    float *logits, *token_loss;
    tri_module *module;
    int num_operations[TRI_NUM_COMM_OPS];
    int64_t cache_length; /* set before create */
    bool forward_only;    /* set before create */
    char problem[256];
};

tri_status nn_rank_create(struct nn_rank *rank, tri_world *world);
/* What nn_rank_create() built the module from. */
struct tri_build nn_rank_build(struct nn_rank *rank);
/* The planned tensor of a RUN or WORK row of module number module. */
struct tri_tensor nn_rank_row(const struct nn_rank *rank, int module, const char *name);
tri_status nn_rank_forward(struct nn_rank *rank);
tri_status nn_rank_backward(struct nn_rank *rank);
/* Notes in problem where memory outside the record's rows was written. */
void nn_rank_check_paint(struct nn_rank *rank);
void nn_rank_destroy(struct nn_rank *rank);
/* Edge tensors of this rank with actual dims. */
struct tri_tensor nn_rank_tensor(const struct nn_rank *rank, const struct nn_edge *edge,
                                 const struct nn_region *region, int64_t length);
/* The edges of node in a model of width hidden. */
void nn_edges_of(const struct tri_module_spec *node, int64_t hidden, struct nn_edge *in,
                 struct nn_edge *out);
/* Global channel of local channel c of an edge. */
int64_t nn_edge_channel(const struct nn_edge *edge, int tp, int rank, int64_t c);
int64_t nn_edge_width(const struct nn_edge *edge);
/* Global element of local element i of a parameter. */
int64_t nn_param_element(const struct tri_param_spec *spec, int tp, int rank, int64_t i);
