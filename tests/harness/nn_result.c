/* SPDX-License-Identifier: Apache-2.0 */
/* Running a case on all its ranks, joining what they made into global tensors, comparing two such
   results. */
#include "nn_fixture.h"

#include "kernels/reduce.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- planted faults: a communicator that counts operations and leaves one out ---- */

static _Thread_local struct nn_rank *this_rank;
static _Thread_local const struct tri_comm_ops *true_ops;

static bool is_dropped(enum tri_comm_op op)
{
    this_rank->num_operations[op]++;
    const struct nn_drop *drop = &this_rank->way->drop;
    return drop->ordinal > 0 && drop->op == op && drop->ordinal == this_rank->num_operations[op];
}

static tri_status drop_all_reduce(tri_group *group, void *buffer, int64_t count,
                                  enum tri_dtype dtype, enum tri_reduce op, tri_request **request)
{
    if (is_dropped(TRI_COMM_ALL_REDUCE))
        return TRI_OK;
    return true_ops->all_reduce_begin(group, buffer, count, dtype, op, request);
}

static tri_status drop_reduce_scatter(tri_group *group, void *out, const void *in, int64_t count,
                                      enum tri_dtype dtype, enum tri_reduce op,
                                      tri_request **request)
{
    if (!is_dropped(TRI_COMM_REDUCE_SCATTER))
        return true_ops->reduce_scatter_begin(group, out, in, count, dtype, op, request);
    size_t bytes = (size_t)count * tri_dtype_bytes(dtype);
    memmove(out, (const char *)in + (size_t)group->rank * bytes, bytes);
    return TRI_OK;
}

static tri_status drop_all_gather(tri_group *group, void *out, const void *in, int64_t count,
                                  enum tri_dtype dtype, tri_request **request)
{
    if (!is_dropped(TRI_COMM_ALL_GATHER))
        return true_ops->all_gather_begin(group, out, in, count, dtype, request);
    size_t bytes = (size_t)count * tri_dtype_bytes(dtype);
    memmove((char *)out + (size_t)group->rank * bytes, in, bytes);
    return TRI_OK;
}

static tri_status drop_broadcast(tri_group *group, void *buffer, int64_t count,
                                 enum tri_dtype dtype, int root, tri_request **request)
{
    if (is_dropped(TRI_COMM_BROADCAST))
        return TRI_OK;
    return true_ops->broadcast_begin(group, buffer, count, dtype, root, request);
}

static tri_status drop_end(tri_group *group, tri_request **request)
{
    return *request ? true_ops->end(group, request) : TRI_OK;
}

/* ---- one rank ---- */

struct run {
    struct nn_rank ranks[NN_MAX_RANKS];
};

static tri_status run_walk(struct nn_rank *rank)
{
    TRI_TRY(nn_rank_forward(rank));
    TRI_TRY(nn_rank_backward(rank));
    TRI_TRY(rank->module->ops->end_step(rank->module));
    nn_rank_check_paint(rank);
    return TRI_OK;
}

static tri_status run_rank(void *arg, tri_world *world)
{
    struct nn_rank *rank = &((struct run *)arg)->ranks[world->rank];
    tri_status status = nn_rank_create(rank, world);
    if (status == TRI_OK) {
        true_ops = rank->tp->ops;
        this_rank = rank;
        struct tri_comm_ops ops = *true_ops;
        ops.all_reduce_begin = drop_all_reduce;
        ops.reduce_scatter_begin = drop_reduce_scatter;
        ops.all_gather_begin = drop_all_gather;
        ops.broadcast_begin = drop_broadcast;
        ops.end = drop_end;
        rank->tp->ops = &ops;
        status = run_walk(rank);
        rank->tp->ops = true_ops;
    }
    tri_group_destroy(&rank->tp);
    return status;
}

/* ---- joining ---- */

static struct nn_tensor *add_tensor(struct nn_result *result, const char *name, bool is_gradient,
                                    int64_t elements)
{
    TRI_ASSERT(result->num_tensors < NN_MAX_TENSORS);
    struct nn_tensor *tensor = &result->tensors[result->num_tensors++];
    snprintf(tensor->name, sizeof(tensor->name), "%s", name);
    tensor->is_gradient = is_gradient;
    tensor->elements = elements;
    tensor->values = calloc((size_t)elements, sizeof(float));
    return tensor;
}

static void note_disagreement(struct nn_result *result, const char *name, int rank)
{
    snprintf(result->problem, sizeof(result->problem), "rank %d has another '%s' than rank 0", rank,
             name);
}

/* One value of a tensor from one rank: adds partial sums, else keeps the first and compares the
   rest. */
static void join_value(struct nn_result *result, struct nn_tensor *tensor, char *seen,
                       int64_t element, float value, bool is_partial, int rank)
{
    if (is_partial)
        tensor->values[element] += value;
    else if (!seen[element])
        tensor->values[element] = value;
    else if (memcmp(&tensor->values[element], &value, sizeof(value)) != 0)
        note_disagreement(result, tensor->name, rank);
    seen[element] = 1;
}

static void join_edge(struct nn_result *result, const struct run *run, const char *name,
                      bool is_gradient, bool is_input)
{
    const struct nn_way *way = run->ranks[0].way;
    const struct nn_edge *edge = is_input ? &run->ranks[0].in : &run->ranks[0].out;
    int64_t width = nn_edge_width(edge), B = way->rows;
    int64_t elements = way->length * B * width;
    struct nn_tensor *tensor = add_tensor(result, name, is_gradient, elements);
    char *seen = calloc((size_t)elements, 1);
    for (int r = 0; r < way->tp; r++) {
        const struct nn_rank *rank = &run->ranks[r];
        struct tri_tensor local =
            nn_rank_tensor(rank, edge, is_input ? &rank->dx : &rank->y, way->length);
        int64_t first = way->sequence_parallel && !edge->is_inside ? r * local.dims[0] : 0;
        for (int64_t i = 0; i < tri_tensor_elements(&local); i++) {
            int64_t channel = nn_edge_channel(edge, way->tp, r, i % local.dims[2]);
            int64_t element = (first * B + i / local.dims[2]) * width + channel;
            join_value(result, tensor, seen, element, tri_tensor_f32(&local)[i], false, r);
        }
    }
    free(seen);
}

static void join_gradient(struct nn_result *result, const struct run *run, int index)
{
    const struct nn_way *way = run->ranks[0].way;
    const struct tri_param_spec *spec = run->ranks[0].params[index].spec;
    int64_t elements = spec->dims[0] * (spec->num_dims == 2 ? spec->dims[1] : 1);
    struct nn_tensor *tensor = add_tensor(result, spec->name, true, elements);
    char *seen = calloc((size_t)elements, 1);
    bool is_partial = (spec->sum_axes & TRI_AXES(TRI_AXIS_TP)) != 0;
    for (int r = 0; r < way->tp; r++) {
        const struct tri_param *param = &run->ranks[r].params[index];
        for (int64_t i = 0; i < tri_tensor_elements(&param->grad); i++) {
            int64_t element = nn_param_element(param->spec, way->tp, r, i);
            float value = tri_tensor_f32(&param->grad)[i];
            if (element < elements)
                join_value(result, tensor, seen, element, value, is_partial, r);
            else if (value != 0)
                snprintf(result->problem, sizeof(result->problem), "padding of '%s' has a gradient",
                         spec->name);
        }
    }
    free(seen);
}

static void join_head(struct nn_result *result, const struct run *run)
{
    const struct nn_way *way = run->ranks[0].way;
    int64_t tokens = way->length * way->rows;
    int64_t logits = tokens * run->ranks[0].model->shape.vocab_size;
    float *first_logits = run->ranks[0].logits, *first_loss = run->ranks[0].token_loss;
    memcpy(add_tensor(result, "logits", false, logits)->values, first_logits,
           (size_t)logits * sizeof(float));
    memcpy(add_tensor(result, "token_loss", false, tokens)->values, first_loss,
           (size_t)tokens * sizeof(float));
    result->loss = run->ranks[0].slot.loss[TRI_LOSS_LM];
    for (int r = 1; r < way->tp; r++) {
        const struct nn_rank *rank = &run->ranks[r];
        if (memcmp(rank->logits, first_logits, (size_t)logits * sizeof(float)) != 0)
            note_disagreement(result, "logits", r);
        if (memcmp(rank->token_loss, first_loss, (size_t)tokens * sizeof(float)) != 0)
            note_disagreement(result, "token_loss", r);
        if (memcmp(&rank->slot.loss[TRI_LOSS_LM], &result->loss, sizeof(result->loss)) != 0)
            note_disagreement(result, "loss", r);
    }
    result->objective = result->loss.value * run->ranks[0].slot.seed;
}

static void join_output(struct nn_result *result, const struct run *run)
{
    join_edge(result, run, "out", false, false);
    const struct nn_tensor *out = &result->tensors[result->num_tensors - 1];
    float *dout = malloc((size_t)out->elements * sizeof(float));
    nn_values("dout", 0, 1, out->elements, dout);
    for (int64_t i = 0; i < out->elements; i++)
        result->objective += (double)out->values[i] * dout[i];
    free(dout);
}

static void run_join(const struct run *run, struct nn_result *result)
{
    const struct nn_rank *first = &run->ranks[0];
    *result = (struct nn_result){.num_tensors = 0};
    memcpy(result->num_operations, first->num_operations, sizeof(result->num_operations));
    for (int r = 0; r < first->way->tp; r++)
        if (run->ranks[r].problem[0])
            memcpy(result->problem, run->ranks[r].problem, sizeof(result->problem));
    if (first->out.exists)
        join_output(result, run);
    else
        join_head(result, run);
    if (first->in.exists)
        join_edge(result, run, "in", true, true);
    for (int i = 0; i < first->num_params; i++)
        join_gradient(result, run, i);
}

void nn_run(const struct nn_case *c, const struct nn_way *way, struct nn_result *result)
{
    struct run run = {0};
    tri_error *errs[NN_MAX_RANKS] = {NULL};
    for (int r = 0; r < way->tp; r++) {
        run.ranks[r].c = c;
        run.ranks[r].way = way;
        errs[r] = tri_error_create();
    }
    tri_status status = tri_threads_run(way->tp, 60, tri_reduce_in_order, run_rank, &run, errs);
    for (int r = 0; r < way->tp && status != TRI_OK; r++)
        if (tri_error_count(errs[r]) > 0)
            print_error("%s: rank %d: %s\n", c->name, r, tri_error_message(errs[r], 0));
    assert_int_equal(status, TRI_OK);
    run_join(&run, result);
    for (int r = 0; r < way->tp; r++) {
        nn_rank_destroy(&run.ranks[r]);
        tri_error_destroy(&errs[r]);
    }
}

void nn_result_free(struct nn_result *result)
{
    for (int i = 0; i < result->num_tensors; i++)
        free(result->tensors[i].values);
    result->num_tensors = 0;
}

/* ---- comparing ---- */

static double tensor_difference(const struct nn_tensor *a, const struct nn_tensor *b)
{
    double difference = 0, norm = 0;
    for (int64_t i = 0; i < a->elements; i++) {
        double d = (double)a->values[i] - b->values[i];
        difference += d * d;
        norm += (double)a->values[i] * a->values[i];
    }
    double relative = difference == 0 ? 0 : sqrt(difference / norm);
    return relative <= INFINITY ? relative : INFINITY;
}

double nn_difference(const struct nn_result *a, const struct nn_result *b, const char **where)
{
    double worst = 0;
    assert_int_equal(a->num_tensors, b->num_tensors);
    *where = "nowhere";
    for (int i = 0; i < a->num_tensors; i++) {
        assert_string_equal(a->tensors[i].name, b->tensors[i].name);
        double difference = tensor_difference(&a->tensors[i], &b->tensors[i]);
        if (difference > worst) {
            worst = difference;
            *where = a->tensors[i].name;
        }
    }
    return worst;
}

const char *nn_first_other_bits(const struct nn_result *a, const struct nn_result *b)
{
    assert_int_equal(a->num_tensors, b->num_tensors);
    for (int i = 0; i < a->num_tensors; i++)
        if (memcmp(a->tensors[i].values, b->tensors[i].values,
                   (size_t)a->tensors[i].elements * sizeof(float)) != 0)
            return a->tensors[i].name;
    return memcmp(&a->loss, &b->loss, sizeof(a->loss)) == 0 ? NULL : "loss";
}
