/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a slice's parameters lie, and which of their gradients are reduced by one message. Units
 * are walked from the last to the first, as backward completes them; a bucket is a run of whole
 * units that reaches the bucket size:
 *
 *   | unit n-1: last parameter .. first | unit n-2 ... | pad |  next bucket ...
 *     each starts on a TRI_NORM_BLOCK border             to a multiple of dp * TRI_NORM_BLOCK
 *
 * With use_distributed_optimizer rank i of dp owns the i-th dp-th of every bucket. A table that is
 * tied over two stages has a bucket of its own, so that its shards have the same borders on both.
 */
#pragma once

#include "placement/plan.h"

struct tri_bucket_rule {
    int64_t bucket_size; /* elements */
    int dp, dp_rank;
    int tp, tp_rank;
    bool sharded;
    bool tied_exchange;
};

/* Parameters in bucket order and buckets in order of completion; offsets count from the slice's
   first element, shards of the optimizer from its first one. */
struct tri_bucket_list {
    int num_params, num_buckets;
    struct tri_param_plan *params;
    struct tri_bucket_plan *buckets;
    int64_t elements, shard_elements;
};

/* units: records of the whole model. */
tri_status tri_buckets_plan(const struct tri_slice_plan *slice, const struct tri_unit_size *units,
                            const struct tri_bucket_rule *rule, tri_arena *arena, tri_error *err,
                            struct tri_bucket_list *list);
/* The rule of a placement for one rank. */
struct tri_bucket_rule tri_bucket_rule_of(const struct tri_placement *placement, int rank);
