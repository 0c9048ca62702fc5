/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The optimizer on a built model: worked numbers of Adam, a scalar reference in double over many steps,
 * weight decay where the spec wants it, clipping, and a norm whose bits do not depend on who holds what.
 */
#include "harness/train_run.h"

#include "base/exact_sum.h"
#include "base/rng.h"
#include "kernels/reduce.h"
#include "optim/optimizer.h"
#include "trine/launch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- a model on one rank ---- */

struct alone {
    tri_error *err;
    tri_world *world;
    struct tri_session *session;
};

static void alone_open(struct alone *alone, enum train_model model)
{
    struct train_way way = {.model = model, .layers = 1, .team = 2};
    struct tri_run_config config;
    train_way_config(&way, &config);
    alone->err = tri_error_create();
    assert_int_equal(tri_world_create_self(tri_reduce_in_order, alone->err, &alone->world), TRI_OK);
    struct tri_session_request request = {.config = &config, .world = alone->world};
    assert_int_equal(tri_session_create(&request, &alone->session), TRI_OK);
}

static void alone_close(struct alone *alone)
{
    tri_session_destroy(&alone->session);
    tri_world_destroy(&alone->world);
    tri_error_destroy(&alone->err);
}

static void fill(struct tri_tensor tensor, float value)
{
    for (int64_t i = 0; i < tensor.dims[0]; i++)
        tri_tensor_f32(&tensor)[i] = value;
}

/* ---- worked numbers ---- */

struct worked {
    double start, lr, beta2, weight_decay;
    int num_steps;
    double gradient[3], value[3];
};
static const struct worked worked[] = {
    {1.0, 1e-3, 0.999, 0.01, 2, {0.1, -0.2}, {0.9989900001, 0.9993461137038838}},
    {0.5, 3e-4, 0.95, 0.1, 3, {0.3, 0.3, -0.1}, {0.49968500001, 0.49937000947, 0.4991713466954141}},
};

static void check_worked(struct alone *alone, const struct worked *w)
{
    struct tri_model *model = alone->session->model;
    struct tri_optim_config config = alone->session->config.optim;
    config.adam_beta2 = w->beta2;
    tri_storage *moments = model->context->arena[TRI_ARENA_OPTIM];
    memset(tri_storage_get(moments, 0), 0, tri_storage_bytes(moments));
    for (int s = 0; s < model->num_shards; s++)
        fill(model->shards[s].value, (float)w->start);
    int num_decayed = 0;
    for (int k = 0; k < w->num_steps; k++) {
        for (int s = 0; s < model->num_shards; s++)
            fill(model->shards[s].grad, (float)(4.0 * w->gradient[k]));
        struct tri_update update = {
            .lr = w->lr, .weight_decay = w->weight_decay, .grad_factor = 0.25, .step = k + 1};
        tri_optimizer_step(model, &config, &update);
        for (int s = 0; s < model->num_shards; s++) {
            const struct tri_shard *shard = &model->shards[s];
            if (!shard->param->spec->weight_decay)
                continue;
            num_decayed++;
            for (int64_t i = 0; i < shard->value.dims[0]; i++)
                assert_true(fabs((double)tri_tensor_f32(&shard->value)[i] - w->value[k]) < 1.5e-7);
        }
    }
    assert_true(num_decayed > 0);
}

static void adam_gives_the_worked_numbers(void **state)
{
    struct alone alone;
    alone_open(&alone, TRAIN_LLAMA);
    for (size_t i = 0; i < sizeof worked / sizeof worked[0]; i++)
        check_worked(&alone, &worked[i]);
    alone_close(&alone);
    (void)state;
}

/* ---- a scalar reference ---- */

static double value_of(const char *purpose, const char *name, int64_t element)
{
    struct tri_rng_key key =
        tri_rng_key(5, TRI_RNG_TEST, tri_rng_hash(name) ^ tri_rng_hash(purpose));
    return 2.0 * tri_rng_double(key, (uint64_t)element) - 1.0;
}

/* Element i of a shard after num updates, in double, from the same fp32 gradients. */
static double reference(const struct tri_optim_config *config, const struct tri_shard *shard,
                        int64_t i, int num)
{
    const struct tri_param_spec *spec = shard->param->spec;
    double p = (double)(float)value_of("value", spec->name, i), m = 0, v = 0;
    double decay = spec->weight_decay ? 0.1 : 0.0;
    for (int t = 1; t <= num; t++) {
        char purpose[32];
        snprintf(purpose, sizeof purpose, "gradient %d", t);
        double g = 0.5 * (double)(float)(value_of(purpose, spec->name, i) / t);
        m = config->adam_beta1 * m + (1 - config->adam_beta1) * g;
        v = config->adam_beta2 * v + (1 - config->adam_beta2) * g * g;
        double mh = m / (1 - pow(config->adam_beta1, t)), vh = v / (1 - pow(config->adam_beta2, t));
        p -= 1e-2 / t * (mh / (sqrt(vh) + config->adam_eps) + decay * p);
    }
    return p;
}

static void adam_follows_a_scalar_reference(void **state)
{
    enum { NUM_STEPS = 12 };
    struct alone alone;
    alone_open(&alone, TRAIN_GPT2);
    struct tri_model *model = alone.session->model;
    const struct tri_optim_config *config = &alone.session->config.optim;
    for (int t = 0; t <= NUM_STEPS; t++) {
        for (int s = 0; s < model->num_shards; s++) {
            const struct tri_shard *shard = &model->shards[s];
            char purpose[32];
            snprintf(purpose, sizeof purpose, "gradient %d", t);
            for (int64_t i = 0; i < shard->value.dims[0]; i++)
                if (t == 0)
                    tri_tensor_f32(&shard->value)[i] =
                        (float)value_of("value", shard->param->spec->name, i);
                else
                    tri_tensor_f32(&shard->grad)[i] =
                        (float)(value_of(purpose, shard->param->spec->name, i) / t);
        }
        struct tri_update update = {
            .lr = 1e-2 / t, .weight_decay = 0.1, .grad_factor = 0.5, .step = t};
        if (t > 0)
            tri_optimizer_step(model, config, &update);
    }
    for (int s = 0; s < model->num_shards; s++)
        for (int64_t i = 0; i < model->shards[s].value.dims[0]; i += 7) {
            double want = reference(config, &model->shards[s], i, NUM_STEPS);
            assert_true(fabs((double)tri_tensor_f32(&model->shards[s].value)[i] - want) < 2e-6);
        }
    alone_close(&alone);
    (void)state;
}

/* Biases and one-dimensional parameters do not decay, all others do. */
static void decay_skips_vectors(void **state)
{
    struct alone alone;
    alone_open(&alone, TRAIN_GPT2);
    const struct tri_model *model = alone.session->model;
    int vectors = 0;
    for (int p = 0; p < model->num_params; p++) {
        const struct tri_param_spec *spec = model->params[p].spec;
        assert_int_equal(spec->weight_decay, spec->num_dims == 2);
        vectors += spec->num_dims == 1;
    }
    assert_int_equal(vectors, 4 + 4 + 2); /* a layer's biases, its norms, the last norm */
    alone_close(&alone);
    (void)state;
}

static void clipping_scales_to_the_limit(void **state)
{
    assert_true(fabs(tri_clip_coefficient(1.0, 5.0) - 0.19999996) < 1e-14);
    assert_true(tri_clip_coefficient(1.0, 0.5) == 1.0);
    assert_true(tri_clip_coefficient(0.0, 5.0) == 1.0);
    assert_true(tri_clip_coefficient(10.0, 5.0) == 1.0);
    (void)state;
}

/* ---- the norm ---- */

struct norm {
    const struct train_way *way;
    double value; /* of rank 0 */
    double direct;
};

/* Gradients that are functions of names, so that every grid holds the same ones. */
static tri_status norm_body(void *arg, tri_world *world)
{
    struct norm *norm = arg;
    struct tri_run_config config;
    struct tri_session *session = NULL;
    train_way_config(norm->way, &config);
    struct tri_session_request request = {.config = &config, .world = world};
    TRI_TRY(tri_session_create(&request, &session));
    struct tri_exact_sum sum;
    tri_exact_sum_init(&sum);
    double direct = 0;
    for (int s = 0; s < session->model->num_shards; s++) {
        const struct tri_shard *shard = &session->model->shards[s];
        for (int64_t i = 0; i < shard->grad.dims[0]; i++) {
            int64_t element = shard->first + i;
            double g = value_of("norm", shard->param->spec->name, element);
            tri_tensor_f32(&shard->grad)[i] = (float)(g * exp2((double)(element % 40) - 20));
            double f = (double)tri_tensor_f32(&shard->grad)[i];
            direct += shard->counted ? f * f : 0;
        }
    }
    tri_optimizer_sum_squares(session->model, 1.0, &sum);
    tri_exact_sum_normalise(&sum);
    tri_status status = tri_group_all_reduce(session->context->all, sum.limb, TRI_EXACT_SUM_LIMBS,
                                             TRI_DTYPE_I64, TRI_REDUCE_SUM);
    if (status == TRI_OK)
        status =
            tri_group_all_reduce(session->context->all, &direct, 1, TRI_DTYPE_F64, TRI_REDUCE_SUM);
    if (world->rank == 0) {
        norm->value = sqrt(tri_exact_sum_value(&sum));
        norm->direct = sqrt(direct);
    }
    tri_session_destroy(&session);
    return status;
}

static double norm_of(const struct train_way *way)
{
    struct norm norm = {.way = way};
    struct tri_launch launch = {.ranks = train_way_ranks(way), .time_limit_seconds = 600};
    tri_error *errs[8];
    for (int i = 0; i < 8; i++)
        errs[i] = tri_error_create();
    assert_int_equal(tri_launch_run(&launch, norm_body, &norm, errs), TRI_OK);
    for (int i = 0; i < 8; i++)
        tri_error_destroy(&errs[i]);
    assert_true(fabs(norm.value / norm.direct - 1) < 1e-13);
    return norm.value;
}

static void the_norm_does_not_depend_on_who_holds_what(void **state)
{
    static const struct train_way ways[] = {
        {.team = 3},
        {.pp = 2},
        {.pp = 2, .vpp = 2},
        {.dp = 2},
        {.dp = 2, .sharded = true},
        {.dp = 3, .sharded = true, .bucket_size = 2000},
        {.dp = 4, .sharded = true, .bucket_size = 10000},
        {.pp = 2, .dp = 2, .sharded = true, .bucket_size = 1},
        {.pp = 4, .dp = 2, .sharded = true, .bucket_size = 1},
    };
    for (int model = 0; model < TRAIN_NUM_MODELS; model++) {
        struct train_way alone = {.model = (enum train_model)model};
        double want = norm_of(&alone);
        for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
            struct train_way way = ways[i];
            way.model = (enum train_model)model;
            char text[256];
            train_way_format(&way, text, sizeof text);
            double got = norm_of(&way);
            if (got != want)
                fail_msg("%s: norm %.17g, one rank %.17g", text, got, want);
        }
    }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adam_gives_the_worked_numbers),
        cmocka_unit_test(adam_follows_a_scalar_reference),
        cmocka_unit_test(decay_skips_vectors),
        cmocka_unit_test(clipping_scales_to_the_limit),
        cmocka_unit_test(the_norm_does_not_depend_on_who_holds_what),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
