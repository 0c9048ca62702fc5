/* SPDX-License-Identifier: Apache-2.0 */
/* Megatron's two pre-training samplers (sampler.h). */
#include "data/sampler.h"
#include "data/mt19937.h"

#include <stdlib.h>

struct tri_sampler {
    struct tri_sampler_config config;
    int64_t block;        /* micro_batch x dp_size */
    int64_t *permutation; /* cyclic: of the epoch below */
    int64_t num_permuted;
    int64_t epoch;
};

static tri_status sampler_init_cyclic(tri_sampler *sampler, tri_error *err)
{
    const struct tri_sampler_config *config = &sampler->config;
    int64_t mbs = config->micro_batch;
    TRI_CHECK(config->total >= sampler->block, err, TRI_INVALID,
              "the dataset has %lld samples; one microbatch of %lld on %lld data-parallel ranks "
              "needs %lld",
              (long long)config->total, (long long)mbs, (long long)config->dp_size,
              (long long)sampler->block);
    sampler->num_permuted =
        config->data_sharding ? config->total / sampler->block * mbs : config->total / mbs * mbs;
    TRI_CHECK(sampler->num_permuted < 214748364, err, TRI_UNSUPPORTED,
              "the cyclic sampler shuffles up to 214748363 samples, the dataset has %lld",
              (long long)config->total);
    sampler->permutation = malloc((size_t)sampler->num_permuted * sizeof(int64_t));
    TRI_CHECK(sampler->permutation, err, TRI_NOMEM, "out of memory for a shuffle of %lld samples",
              (long long)sampler->num_permuted);
    return TRI_OK;
}

tri_status tri_sampler_create(const struct tri_sampler_config *config, tri_sampler **sampler,
                              tri_error *err)
{
    TRI_ASSERT(config->micro_batch > 0 && config->dp_rank >= 0 &&
               config->dp_rank < config->dp_size);
    tri_sampler *result = calloc(1, sizeof(*result));
    TRI_CHECK(result, err, TRI_NOMEM, "out of memory for the sampler");
    *result = (tri_sampler){
        .config = *config, .block = config->micro_batch * config->dp_size, .epoch = -1};
    if (config->kind == TRI_SAMPLER_CYCLIC) {
        tri_status status = sampler_init_cyclic(result, err);
        if (status != TRI_OK) {
            tri_sampler_destroy(&result);
            return status;
        }
    }
    *sampler = result;
    return TRI_OK;
}

void tri_sampler_destroy(tri_sampler **sampler)
{
    if (!*sampler)
        return;
    free((*sampler)->permutation);
    free(*sampler);
    *sampler = NULL;
}

static tri_status sampler_read_single(const tri_sampler *sampler, int64_t consumed,
                                      int64_t *samples, tri_error *err)
{
    const struct tri_sampler_config *config = &sampler->config;
    TRI_CHECK(consumed <= config->total - sampler->block, err, TRI_INVALID,
              "no samples left: %lld of %lld are consumed, the next microbatch of all ranks needs "
              "%lld; ask for more samples or fewer iterations",
              (long long)consumed, (long long)config->total, (long long)sampler->block);
    for (int64_t i = 0; i < config->micro_batch; i++)
        samples[i] = consumed + config->dp_rank * config->micro_batch + i;
    return TRI_OK;
}

/* An epoch is the full blocks of the dataset; its shuffle is seeded with its number. */
static tri_status sampler_read_cyclic(tri_sampler *sampler, int64_t consumed, int64_t *samples,
                                      tri_error *err)
{
    const struct tri_sampler_config *config = &sampler->config;
    int64_t active = config->total - config->total % sampler->block;
    int64_t epoch = consumed / active, offset = consumed % active;
    TRI_CHECK(offset % sampler->block == 0, err, TRI_INVALID,
              "the cyclic sampler cannot go on at consumed sample %lld: %lld of this epoch is no "
              "multiple of micro batch x data-parallel size = %lld",
              (long long)consumed, (long long)offset, (long long)sampler->block);
    if (epoch != sampler->epoch) {
        tri_mt19937_torch_randperm((uint32_t)epoch, sampler->permutation, sampler->num_permuted);
        sampler->epoch = epoch;
    }
    for (int64_t i = 0; i < config->micro_batch; i++) {
        int64_t at = offset / config->dp_size + i;
        if (config->data_sharding)
            samples[i] = config->dp_rank * sampler->num_permuted + sampler->permutation[at];
        else
            samples[i] = sampler->permutation[offset + config->dp_rank + i * config->dp_size];
    }
    return TRI_OK;
}

tri_status tri_sampler_read(tri_sampler *sampler, int64_t consumed, int64_t *samples,
                            tri_error *err)
{
    TRI_ASSERT(consumed >= 0);
    if (sampler->config.kind == TRI_SAMPLER_CYCLIC)
        return sampler_read_cyclic(sampler, consumed, samples, err);
    return sampler_read_single(sampler, consumed, samples, err);
}
