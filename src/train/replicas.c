/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of parameters, gathered over the ranks that hold copies. */
#include "train/replicas.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tri_replicas {
    struct tri_session *session;
    int *held;         /* [param] numbers of those that the group holds in common */
    int64_t *hash;     /* [param] of this rank */
    int64_t *gathered; /* [member][param] */
};

static int largest_group(const struct tri_context *context)
{
    int size = context->dp->size > context->tp->size ? context->dp->size : context->tp->size;
    return size > 2 ? size : 2;
}

tri_status tri_replicas_create(struct tri_session *session, tri_replicas **result)
{
    tri_replicas *replicas = calloc(1, sizeof *replicas);
    size_t num = (size_t)session->model->num_params + 1;
    if (replicas) {
        replicas->session = session;
        replicas->held = calloc(num, sizeof(int));
        replicas->hash = calloc(num, sizeof(int64_t));
        replicas->gathered = calloc(num * (size_t)largest_group(session->context), sizeof(int64_t));
    }
    if (!replicas || !replicas->held || !replicas->hash || !replicas->gathered) {
        if (replicas)
            tri_replicas_destroy(&replicas);
        return tri_error_set(session->err, TRI_NOMEM, "out of memory for the hashes of copies");
    }
    *result = replicas;
    return TRI_OK;
}

void tri_replicas_destroy(tri_replicas **replicas)
{
    if (!*replicas)
        return;
    free((*replicas)->held);
    free((*replicas)->hash);
    free((*replicas)->gathered);
    free(*replicas);
    *replicas = NULL;
}

/* FNV-1a over words of 32 bits. */
static int64_t hash_values(const struct tri_param *param, int64_t first)
{
    uint64_t hash = 14695981039346656037u;
    const char *at = param->value.data;
    for (int64_t i = first; i < param->plan->elements; i++) {
        uint32_t word;
        memcpy(&word, at + i * (int64_t)sizeof word, sizeof word);
        hash = (hash ^ word) * 1099511628211u;
    }
    return (int64_t)hash;
}

/* From which element on a parameter must be equal over a group; its number of elements: nowhere. */
typedef int64_t held_from_fn(const struct tri_param *param, const struct tri_context *context,
                             const tri_group *group);

static int64_t held_whole(const struct tri_param *param, const struct tri_context *context,
                          const tri_group *group)
{
    (void)param;
    (void)context;
    (void)group;
    return 0;
}

static int64_t held_uncut(const struct tri_param *param, const struct tri_context *context,
                          const tri_group *group)
{
    (void)context;
    (void)group;
    return param->spec->cut_dim < 0 ? 0 : param->plan->elements;
}

static int64_t held_tied(const struct tri_param *param, const struct tri_context *context,
                         const tri_group *group)
{
    (void)context;
    (void)group;
    bool is_table = strcmp(param->spec->name, "embedding.word_embeddings.weight") == 0;
    return is_table ? 0 : param->plan->elements;
}

/* Key/value heads, the last rows of what tp cuts, which as many ranks hold as the group has. */
static int64_t held_heads(const struct tri_param *param, const struct tri_context *context,
                          const tri_group *group)
{
    int64_t row, rows = param->spec->local_dims[0];
    if (tri_param_copies(param->spec, context->tp->size, &row) != group->size)
        return param->plan->elements;
    return row * (param->plan->elements / rows);
}

/* hashes: of the parameter, by member, stride entries apart. */
static tri_status report(const tri_replicas *replicas, const tri_group *group,
                         const struct tri_param_spec *spec, const int64_t *hashes, int stride,
                         int64_t iteration)
{
    char ranks[256] = "";
    size_t used = 0;
    for (int m = 1; m < group->size && used < sizeof ranks; m++)
        if (hashes[m * stride] != hashes[0])
            used += (size_t)snprintf(ranks + used, sizeof ranks - used, "%s%d", used ? ", " : "",
                                     group->ranks[m]);
    return tri_error_set(replicas->session->err, TRI_NUMERIC,
                         "iteration %" PRId64 ": the copies of '%s' in group '%s' differ: rank %s "
                         "does not hold what rank %d holds",
                         iteration, spec->name, group->name, ranks, group->ranks[0]);
}

/* The parameters that members hold in common have the same number and order on all of them. */
static tri_status check_group(tri_replicas *replicas, tri_group *group, held_from_fn *held_from,
                              int64_t iteration)
{
    const struct tri_model *model = replicas->session->model;
    const struct tri_context *context = replicas->session->context;
    int num = 0;
    if (!group || group->size < 2)
        return TRI_OK;
    for (int i = 0; i < model->num_params; i++) {
        int64_t first = held_from(&model->params[i], context, group);
        if (first == model->params[i].plan->elements)
            continue;
        replicas->held[num] = i;
        replicas->hash[num++] = hash_values(&model->params[i], first);
    }
    TRI_TRY(tri_group_all_gather(group, replicas->gathered, replicas->hash, num, TRI_DTYPE_I64));
    for (int k = 0; k < num; k++)
        for (int m = 1; m < group->size; m++)
            if (replicas->gathered[m * num + k] != replicas->gathered[k])
                return report(replicas, group, model->params[replicas->held[k]].spec,
                              replicas->gathered + k, num, iteration);
    return TRI_OK;
}

tri_status tri_replicas_check(tri_replicas *replicas, int64_t iteration)
{
    struct tri_context *context = replicas->session->context;
    tri_status status = check_group(replicas, context->dp, held_whole, iteration);
    if (status == TRI_OK)
        status = check_group(replicas, context->tp, held_uncut, iteration);
    for (int i = 0; i < context->num_shared_heads && status == TRI_OK; i++)
        status = check_group(replicas, context->shared_heads[i], held_heads, iteration);
    if (status == TRI_OK)
        status = check_group(replicas, context->embd, held_tied, iteration);
    return tri_group_agree(context->all, status);
}
