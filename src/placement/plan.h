/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The placement of a run and the memory plan of each of its ranks. Everything here is a pure
 * function of shape, spec, options and request, can be asked about any rank of any world,
 * allocates no tensor and sends no message. The builder (model/) takes every pointer by plan row
 * and cannot ask for more.
 *
 *   placement (the same on every rank)      rank plan (one rank)
 *   grid, split, layer layout, schedule     slices, parameters in buckets, rows of every arena
 */
#pragma once

#include "base/arena.h"
#include "base/comm_op.h"
#include "placement/config.h"
#include "placement/grid.h"
#include "placement/schedule.h"
#include "spec/sizing.h"

/* The communicator that a run is planned for. */
struct tri_plan_comm {
    const char *name;        /* NULL: none in particular */
    const char *why;         /* it is this one */
    tri_staging_fn *staging; /* of collectives; NULL: they need none */
};

/* What lies right of placement/ reaches it as plain data, filled by pure functions there. */
struct tri_plan_request {
    int world_size;
    int64_t micro_batch_size;
    int64_t global_batch_size;
    int64_t seq_length;
    int64_t cache_length; /* inference: rows of the key-value cache; 0: none */
    bool forward_only;    /* evaluation and generation: no gradients, no optimizer */
    int team_size;
    size_t optimizer_bytes; /* per element of this rank's shard, all moments together */
    int num_moments;        /* optimizer_bytes / 4 rows of fp32 */
    size_t checkpoint_staging_bytes;
    int num_prefetch; /* microbatches that data keeps ready */
    struct tri_scratch_binding scratch[4];
    int num_scratch;
    struct tri_plan_comm comm;
};

/* A slice: consecutive units on one rank. Units are numbered over the whole model. */
struct tri_slice_plan {
    int stage; /* pp coordinate */
    int index; /* which of its rank's slices: virtual stage */
    int first_unit, num_units;
    bool has_embedding, has_head;
};

struct tri_placement {
    const struct tri_model_spec *spec;
    struct tri_placement_config config;
    struct tri_plan_request request;
    struct tri_grid grid;
    struct tri_split split;
    int dp;                     /* dp * cp: ranks that share a gradient */
    int num_stages, num_slices; /* pp, slices per rank */
    int num_microbatches;
    int64_t padded_vocab_size;
    bool tied_exchange;                  /* tied table with its two uses in two slices */
    const struct tri_slice_plan *slices; /* [stage * num_slices + index] */
    struct tri_schedule schedule;
    struct tri_schedule eval_schedule; /* forward only, same microbatches */
    /* What the units were described with; the builder uses the same. */
    struct tri_sizing_input sizing;
    /* One record per unit of the model: [unit]. Names differ, so equal layers do not share one. */
    const struct tri_unit_size *units;
    tri_arena *arena;
};

/* Checks everything and plans; all problems of the request are added to err at once. Owns its
   memory: destroy with tri_placement_destroy(). spec must outlive it. */
tri_status tri_placement_plan(const struct tri_model_spec *spec,
                              const struct tri_placement_config *config,
                              const struct tri_plan_request *request, tri_error *err,
                              struct tri_placement **placement);
void tri_placement_destroy(struct tri_placement **placement);

enum tri_arena_kind {
    TRI_ARENA_PARAMS, /* main values = compute values in fp32, laid out by bucket */
    TRI_ARENA_GRADS,  /* same layout */
    TRI_ARENA_OPTIM,  /* moments of this rank's shard */
    TRI_ARENA_SAVED,  /* slots */
    TRI_ARENA_WORK,   /* scratch of one call, activations between modules */
    TRI_ARENA_COMM,   /* staging */
    TRI_ARENA_RUN,    /* tables that live the whole run; key-value cache */
    TRI_NUM_ARENAS
};
const char *tri_arena_name(enum tri_arena_kind kind);

struct tri_plan_time {
    int32_t action; /* index in the rank's list; 0 and the end for rows that live the whole run */
    int32_t step;   /* module index within the action */
};

/* A row lives from its first moment to its last, both included. A work row is alive in every
   action that runs its module; the times are those of the first. */
struct tri_plan_row {
    enum tri_arena_kind arena;
    size_t offset;
    size_t bytes;      /* of one copy */
    int num_copies;    /* slots or staging rows; 1 otherwise */
    size_t stride;     /* between copies */
    const char *owner; /* "slice 0 decoder.layers.3.self_attention.core_attention", "bucket 2" */
    const char *name;  /* "qkv", "values", "exp_avg" */
    struct tri_plan_time from, until;
};

/* A parameter's place. Elements are fp32; offset and size count elements of the bucket arenas. */
struct tri_param_plan {
    const struct tri_param_spec *spec;
    int slice;        /* of this rank */
    int unit;         /* global unit number */
    int bucket;       /* of this rank, over all slices */
    int64_t offset;   /* in PARAMS and GRADS, a multiple of TRI_NORM_BLOCK */
    int64_t elements; /* of the local tensor */
    /* Leading elements that count in norms and parameter counts on this rank, and that it writes: none
       of the tied copy, none of what every tp rank holds (cut_dim -1) unless the tp coordinate is 0, of a
       share that several ranks hold only on the first of them. */
    int64_t counted;
};

struct tri_bucket_plan {
    int slice;
    int first_param, num_params; /* in rank_plan.params */
    int lowest_unit;          /* of the slice (local number): complete when its backward is done */
    int64_t offset, elements; /* in PARAMS and GRADS; elements a multiple of dp * TRI_NORM_BLOCK */
    int64_t shard_offset,
        shard_elements;   /* what this rank's optimizer owns: all of it without sharding */
    int64_t optim_offset; /* elements, of the first moment in OPTIM; moment k follows at
                                    k * total shard elements */
    bool tied;            /* holds the tied table and nothing else */
};

struct tri_rank_plan {
    const struct tri_placement *placement;
    int rank;
    int coordinate[TRI_NUM_AXES];
    int num_slices;
    const struct tri_slice_plan *slices; /* this rank's */
    const struct tri_rank_schedule *schedule;
    const struct tri_rank_schedule *eval_schedule;
    int num_params;
    const struct tri_param_plan *params; /* bucket order */
    int num_buckets;
    const struct tri_bucket_plan *buckets;
    int64_t shard_elements;   /* optimizer elements on this rank */
    int64_t local_parameters; /* counted once over tp and pp: summed over them it is the model */
    const size_t *slot_bytes; /* [slice] */
    const int *num_slots;     /* [slice] */
    int num_rows;
    const struct tri_plan_row *rows;
    size_t arena_bytes[TRI_NUM_ARENAS];
    size_t total_bytes;
};

/* Plans one rank; memory comes from arena. */
tri_status tri_rank_plan_make(const struct tri_placement *placement, int rank, tri_arena *arena,
                              tri_error *err, struct tri_rank_plan *plan);

/*
 * Where the builder finds its pointers.
 *  hidden[u]    the output of the slice's unit u: a slot row ("hidden") for all but the last unit
 * of the
 *               model; the slice's input is slot row "input" unless it has the embedding
 *  module rows  slot base + unit part + row offset, or WORK base + row offset, or RUN base + unit
 * part
 */
size_t tri_rank_plan_slot_offset(const struct tri_rank_plan *plan, int slice, int slot);
size_t tri_rank_plan_unit_offset(const struct tri_rank_plan *plan, int slice, int local_unit);
size_t tri_rank_plan_run_offset(const struct tri_rank_plan *plan, int slice, int local_unit);
/* Finds a row by owner and name; -1 if there is none. */
int tri_rank_plan_row(const struct tri_rank_plan *plan, const char *owner, const char *name);

/* Totals over all ranks without making each plan in full; ranks of one class share a result. */
struct tri_plan_summary {
    int heaviest_rank;
    size_t heaviest_bytes;
    size_t lightest_bytes;
    int num_classes;
    int64_t total_parameters;
    double flops_per_step; /* model flops (spec/model_spec.h) */
};
tri_status tri_plan_summarise(const struct tri_placement *placement, tri_error *err,
                              struct tri_plan_summary *summary);

/* For people, and as JSON (docs/FORMATS.md). */
void tri_plan_print(FILE *out, const struct tri_placement *placement,
                    const struct tri_rank_plan *rank, bool all_rows);
tri_status tri_plan_print_json(FILE *out, const struct tri_placement *placement,
                               const struct tri_rank_plan *rank);
