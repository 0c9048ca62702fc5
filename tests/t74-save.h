/* SPDX-License-Identifier: Apache-2.0 */
/* Saving and loading a test model on a grid of ranks, for t743 and t744. */
#pragma once

#include "t74-checkpoint.h"

#include <pthread.h>

/* One save or load on a grid. */
struct job {
    struct test_model *m;
    struct test_grid grid;
    const char *dir; /* SAVE, or the directory to load */
    int64_t iteration, first_iteration, file_limit;
    int keep;
    uint32_t salt;
    const char *const *copies;
    int num_copies;
    bool weights_only;
    const char *config; /* text of config.json; NULL: a stand-in */
    const char *load_first;
    void (*on_rank)(tri_world *world);
};

static const char *const job_moments[2] = {"exp_avg", "exp_avg_sq"};

/* The description's arena is shared by the ranks. */
static pthread_mutex_t job_lock = PTHREAD_MUTEX_INITIALIZER;

static inline struct test_rank *job_rank(const struct job *job, int rank)
{
    struct test_rank *r = malloc(sizeof(*r));
    pthread_mutex_lock(&job_lock);
    rank_make(job->m, job->grid, rank, r);
    pthread_mutex_unlock(&job_lock);
    return r;
}

static inline tri_status job_group(tri_world *world, tri_group **group)
{
    int ranks[MAX_RANKS];
    for (int i = 0; i < world->size; i++)
        ranks[i] = i;
    return tri_group_create(world, "world", ranks, world->size, group);
}

static inline tri_status job_load(const struct job *job, tri_group *group, const char *dir,
                                  struct test_rank *r, void *staging)
{
    struct tri_state_list moments[2];
    for (int k = 0; k < 2; k++)
        moments[k] =
            (struct tri_state_list){.name = job_moments[k], .num = r->num, .tensors = r->moment[k]};
    struct tri_checkpoint_load load = {.dir = dir,
                                       .model = &job->m->model,
                                       .weights = {.num = r->num, .tensors = r->load},
                                       .moments = moments,
                                       .num_moments = job->weights_only ? 0 : 2,
                                       .staging = staging};
    return tri_checkpoint_load(group, &load, group->world->err);
}

static const char job_config[] = "{\n  \"model_type\": \"test\"\n}\n";

static inline tri_status job_save(const struct job *job, tri_group *group, struct test_rank *r,
                                  void *staging)
{
    struct tri_state_list moments[2];
    for (int k = 0; k < 2; k++)
        moments[k] =
            (struct tri_state_list){.name = job_moments[k], .num = r->num, .tensors = r->moment[k]};
    struct tri_checkpoint_state state = {.iteration = job->iteration,
                                         .consumed_samples = 8 * job->iteration,
                                         .consumed_tokens = 1000 * job->iteration,
                                         .schedule_position = 3,
                                         .optimizer_steps = job->iteration - 1,
                                         .options = "shape:\n  num_layers: 2\n",
                                         .tokenizer = "tok-1"};
    struct tri_checkpoint_save save = {.folder = job->dir,
                                       .model = &job->m->model,
                                       .state = &state,
                                       .weights = {.num = r->num, .tensors = r->save},
                                       .moments = moments,
                                       .num_moments = 2,
                                       .config_json = job->config ? job->config : job_config,
                                       .generation_config_json = "{}\n",
                                       .copies = job->copies,
                                       .num_copies = job->num_copies,
                                       .file_limit = job->file_limit,
                                       .keep = job->keep,
                                       .first_iteration = job->first_iteration,
                                       .staging = staging};
    return tri_checkpoint_save(group, &save, group->world->err);
}

static inline tri_status save_body(void *arg, tri_world *world)
{
    const struct job *job = arg;
    struct test_rank *r = job_rank(job, world->rank);
    void *staging = malloc(tri_checkpoint_staging_bytes());
    pieces_fill_or_compare(r->load, r->num, job->salt, false);
    for (int k = 0; k < 2; k++)
        pieces_fill_or_compare(r->moment[k], r->num, job->salt + 1 + (uint32_t)k, false);
    tri_group *group = NULL;
    tri_status status = job_group(world, &group);
    if (status == TRI_OK && job->load_first)
        status = job_load(job, group, job->load_first, r, staging);
    if (job->on_rank)
        job->on_rank(world);
    if (status == TRI_OK)
        status = job_save(job, group, r, staging);
    tri_group_destroy(&group);
    free(staging);
    rank_free(r);
    free(r);
    return status;
}

static inline tri_status load_body(void *arg, tri_world *world)
{
    const struct job *job = arg;
    struct test_rank *r = job_rank(job, world->rank);
    void *staging = malloc(tri_checkpoint_staging_bytes());
    for (int i = 0; i < r->num; i++)
        memset(r->load[i].data, 0x77, (size_t)r->load[i].count * 4);
    tri_group *group = NULL;
    tri_status status = job_group(world, &group);
    if (status == TRI_OK)
        status = job_load(job, group, job->dir, r, staging);
    int64_t wrong = 0;
    if (status == TRI_OK)
        wrong = pieces_fill_or_compare(r->load, r->num, job->salt, true);
    for (int k = 0; k < 2 && status == TRI_OK && !job->weights_only; k++)
        wrong += pieces_fill_or_compare(r->moment[k], r->num, job->salt + 1 + (uint32_t)k, true);
    if (wrong > 0)
        status = tri_error_set(world->err, TRI_BUG, "rank %d: %lld elements differ", world->rank,
                               (long long)wrong);
    tri_group_destroy(&group);
    free(staging);
    rank_free(r);
    free(r);
    return status;
}

static inline tri_status run_job(const struct job *job, tri_rank_fn *body, tri_error *err)
{
    tri_error_clear(err);
    return run_ranks(job->grid.tp * job->grid.dp * job->grid.pp, body, (void *)(uintptr_t)job, err);
}

static inline void run_good(const struct job *job, tri_rank_fn *body, tri_error *err)
{
    tri_status status = run_job(job, body, err);
    if (status != TRI_OK) {
        print_errors(err);
        fail_msg("grid %d %d %d: status %d", job->grid.tp, job->grid.dp, job->grid.pp, (int)status);
    }
}
