/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a module needs: parameters, bytes kept for backward, scratch, flops, messages, as pure functions
 * of its spec and of how it is cut. Each spec/x.c describes one module by calling the recorder below;
 * the planner and the builder read the same record, so they cannot disagree. Nothing here allocates a
 * tensor; records live in a tri_arena.
 *
 * A unit's record is made by a pre-order walk: every module gets an index in that order, and nn/ builds
 * in the same order. Rows of a slot (SAVED, GRAD when split) get offsets within the unit's part of a
 * slot; WORK rows get offsets within the work arena by nesting: a container's work rows lie below those
 * of its children, and siblings share the same bytes.
 */
#pragma once

#include "base/arena.h"
#include "base/axis.h"
#include "base/dtype.h"
#include "spec/module_spec.h"
#include "spec/scratch.h"

/* Sizes along the axes that cut modules. sp is tp under sequence parallelism, else 1. */
struct tri_split {
    int64_t tp, sp, cp, ep, etp;
};

/* The scratch functions of the backend that stands behind an implementation. */
struct tri_scratch_binding {
    const char *implementation;
    const struct tri_scratch_table *table;
};

struct tri_sizing_input {
    const struct tri_gpt_config *shape;
    struct tri_split split;
    int64_t micro_batch_size; /* B, the largest */
    int64_t seq_length;       /* s, the largest in one call */
    int64_t cache_length;     /* rows of the key-value cache; 0: none */
    int team_size;
    bool forward_only;   /* nothing is kept for backward */
    bool split_backward; /* the schedule uses BWD_INPUT and BWD_WEIGHT */
    bool shared_head;    /* embedding and head lie in one slice: a tied table is one parameter */
    struct tri_scratch_binding scratch[4];
    int num_scratch; /* 0: no backend, every workspace counts as nothing; for counting parameters */
};

enum tri_row_class {
    TRI_ROW_SAVED_INPUT,  /* slot: from forward until the input half of backward */
    TRI_ROW_SAVED_WEIGHT, /* slot: from forward until the weight half */
    TRI_ROW_GRAD, /* a gradient that a weight half reads: slot when split_backward, else work */
    TRI_ROW_WORK_FORWARD,  /* work arena during this module's forward */
    TRI_ROW_WORK_BACKWARD, /* work arena during this module's backward halves */
    TRI_ROW_RUN,           /* lives the whole run: tables */
    TRI_NUM_ROW_CLASSES
};

struct tri_size_row {
    int module;       /* index of the module that owns it */
    const char *name; /* unique within the module */
    enum tri_row_class row_class;
    enum tri_dtype dtype;
    int num_dims;
    int64_t dims[4];
    size_t bytes;
    size_t offset; /* in the slot's unit part, the work arena or the unit's run part */
};

/* What initial values a parameter has: base/rng.h, key by logical name, element number global. */
enum tri_init { TRI_INIT_ZERO, TRI_INIT_ONE, TRI_INIT_NORMAL, TRI_INIT_UNIFORM };

/*
 * One part of a parameter's first dim: rows [first, first + rows) of the global tensor, cut over tp in
 * equal contiguous shares; the local tensor joins its shares in part order. A tensor cut along another dim
 * has one part and cut_dim says which. Where there are fewer shares than ranks (key/value heads), copies
 * consecutive ranks hold the same share, each with a part of its gradient; such parts come last.
 */
struct tri_param_part {
    const char *name;
    int64_t first, rows;
    int64_t copies; /* ranks that hold each share; 0 counts as 1 */
    int64_t unit;   /* rows that stay together, a head's width; 0 counts as 1 */
};

struct tri_param_spec {
    int module;
    const char *name; /* logical: "decoder.layers.0.mlp.linear_fc1.weight" */
    int num_dims;
    int64_t dims[2];     /* global, without vocabulary padding */
    int64_t padded_rows; /* dims[0] with padding (padding rows are zero and stay zero) */
    int cut_dim;         /* 0, 1, or -1: every tp rank holds all of it */
    int num_parts;
    struct tri_param_part parts[TRI_MAX_PARTS]; /* of dim 0 when cut_dim is 0 */
    int64_t local_dims[2];
    enum tri_init init;
    double init_std; /* of NORMAL; UNIFORM: between minus and plus this */
    bool weight_decay;
    double lr_divisor;     /* of the learning rate and Adam's eps; 0 counts as 1 */
    tri_axis_set sum_axes; /* axes besides dp, cp whose ranks hold partial gradients: norms and row
                                  biases under sequence parallelism have tp */
    bool tied_copy;        /* the head's copy of the word table, when it lies in another slice */
};

struct tri_unit_size {
    int num_modules;
    const char **module_path; /* by module index */
    const struct tri_module_spec **module_spec;
    const double *module_flops; /* of each module without what lies below it */
    int num_rows;
    const struct tri_size_row *rows;
    int num_params;
    const struct tri_param_spec *params; /* in order of first use in forward */
    size_t saved_bytes;                  /* of the unit's part of a slot */
    size_t run_bytes;
    size_t work_bytes; /* highest byte in the work arena, forward and backward */
    double
        flops_forward; /* matrix products and attention (causal at half), one microbatch, this rank */
    double bytes_tp;   /* payload bytes sent over tp in forward and backward, one microbatch */
};

static inline int64_t tri_part_copies(const struct tri_param_part *part)
{
    return part->copies > 1 ? part->copies : 1;
}
/* Rows of the part that each of tp ranks holds. */
static inline int64_t tri_part_share(const struct tri_param_part *part, int64_t tp)
{
    return part->rows * tri_part_copies(part) / tp;
}
/* Global row of row 0 of rank's share. */
static inline int64_t tri_part_first(const struct tri_param_part *part, int64_t tp, int64_t rank)
{
    return part->first + rank / tri_part_copies(part) * tri_part_share(part, tp);
}
/* Ranks that hold the same share of the parts from which local row *first on are made; 1 and all of the
   local rows where nothing is held twice. */
int64_t tri_param_copies(const struct tri_param_spec *spec, int64_t tp, int64_t *first);

/* Describes unit number unit of spec. Records live in arena. */
tri_status tri_size_unit(const struct tri_model_spec *spec, int unit,
                         const struct tri_sizing_input *input, tri_arena *arena, tri_error *err,
                         struct tri_unit_size *size);

/* ---- the recorder, for spec/x.c ---- */
struct tri_sizer;
struct tri_settings;

/* A registry row: how a module describes itself. node's children are described by it through
   tri_sizer_child(), in the order in which forward runs them. */
struct tri_module_row {
    const char *name;           /* of the module */
    const char *implementation; /* that it is of; NULL: of every one that has no row of its own */
    const char
        *kernels; /* the implementation whose operations it takes; NULL: its own, or "plain" where
                            there are none of its name */
    void (*describe)(struct tri_sizer *sizer, const struct tri_module_spec *node);
    /* Notes what node's parameters say (spec/settings.h). NULL: as the module's default row does; so it is of
       every row from outside. */
    void (*settings)(const struct tri_module_spec *node, struct tri_settings *settings);
};
/* The row of module name for implementation, or else its default one; NULL: there is none. implementation
   NULL: the default one. */
const struct tri_module_row *tri_module_row_find(const char *name, const char *implementation);
/* Row number i of the registry; NULL behind the last. */
const struct tri_module_row *tri_module_row_get(int i);

const struct tri_sizing_input *tri_sizer_input(const struct tri_sizer *sizer);
/* The scratch table of the operations that node takes; never NULL. */
const struct tri_scratch_table *tri_sizer_scratch(const struct tri_sizer *sizer,
                                                  const struct tri_module_spec *node);
/* Notes a row of the module being described; 0 bytes are legal. */
void tri_sizer_row(struct tri_sizer *sizer, enum tri_row_class row_class, const char *name,
                   enum tri_dtype dtype, int num_dims, const int64_t *dims);
/* A WORK row given in bytes. */
void tri_sizer_scratch_row(struct tri_sizer *sizer, enum tri_row_class row_class, const char *name,
                           size_t bytes);
/* Notes a parameter; spec->module is filled in, and spec->name is the last part of the logical name
   unless it holds a dot. */
void tri_sizer_param(struct tri_sizer *sizer, const struct tri_param_spec *spec);
void tri_sizer_flops(struct tri_sizer *sizer, double forward);
void tri_sizer_tp_bytes(struct tri_sizer *sizer, double bytes);
/* Describes the child in slot, below this module's path. */
void tri_sizer_child(struct tri_sizer *sizer, const struct tri_module_spec *node, const char *slot);
