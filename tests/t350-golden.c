/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiny models, unit after unit: three against transformers (oracle/nn_models.py), and each variant of modules
 * against formulas in float64 with derivatives by PyTorch (oracle/nn_variants.py). Logits, token losses and
 * every gradient, on 1, 2 and 4 ranks, joint backward and in halves, with both tables of kernels. Bounds are
 * those of the golden cases: float32 summed in another order.
 */
#include "harness/nn_fixture.h"

#include "kernels/reduce.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NUM_UNITS = 4, MAX_RECORDS = 96 };
#define LOGITS_BOUND   5e-5 /* max abs */
#define GRADIENT_BOUND 5e-5 /* relative L2 per tensor */

/* ---- the golden file ---- */

struct record {
    char name[96];
    int64_t type, count;
    union {
        float *f32;
        int32_t *i32;
    } data;
};

struct golden {
    int num_records;
    struct record records[MAX_RECORDS];
};

static void golden_read(const char *path, struct golden *golden)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    golden->num_records = 0;
    struct record *record = golden->records;
    while (fread(record->name, sizeof(record->name), 1, file) == 1) {
        assert_true(golden->num_records++ < MAX_RECORDS);
        assert_int_equal(fread(&record->type, sizeof(int64_t), 2, file), 2);
        record->data.f32 = malloc((size_t)record->count * 4);
        assert_int_equal(fread(record->data.f32, 4, (size_t)record->count, file), record->count);
        record++;
    }
    fclose(file);
}

static void golden_free(struct golden *golden)
{
    for (int i = 0; i < golden->num_records; i++)
        free(golden->records[i].data.f32);
}

static const struct record *golden_find(const struct golden *golden, const char *prefix,
                                        const char *name)
{
    char full[160];
    snprintf(full, sizeof(full), "%s%s", prefix, name);
    for (int i = 0; i < golden->num_records; i++)
        if (strcmp(golden->records[i].name, full) == 0)
            return &golden->records[i];
    fail_msg("the golden file has no '%s'", full);
    return NULL;
}

/* ---- the model ---- */

struct model {
    const struct golden *golden;
    struct nn_case cases[NUM_UNITS];
    struct nn_way way;
    struct nn_rank units[NN_MAX_RANKS][NUM_UNITS];
};

static void use_golden_values(struct nn_rank *unit, const struct golden *golden)
{
    struct tri_microbatch *microbatch = &unit->microbatch;
    const int32_t *labels = golden_find(golden, "", "labels")->data.i32;
    size_t tokens = (size_t)(microbatch->rows * microbatch->length);
    memcpy((int32_t *)microbatch->tokens, golden_find(golden, "", "tokens")->data.i32,
           tokens * sizeof(int32_t));
    memcpy((int32_t *)microbatch->labels, labels, tokens * sizeof(int32_t));
    microbatch->num_valid = 0;
    for (size_t i = 0; i < tokens; i++) {
        ((float *)microbatch->weights)[i] = 1;
        microbatch->num_valid += labels[i] >= 0;
    }
    unit->slot.seed = 1.0f / (float)microbatch->num_valid;
    for (int p = 0; p < unit->num_params; p++) {
        const struct tri_param *param = &unit->params[p];
        const struct record *record = golden_find(golden, "", param->spec->name);
        for (int64_t i = 0; i < tri_tensor_elements(&param->value); i++) {
            int64_t element = nn_param_element(param->spec, unit->way->tp, unit->rank, i);
            tri_tensor_f32(&param->value)[i] =
                element < record->count ? record->data.f32[element] : 0;
        }
    }
}

static void copy_edge(const struct nn_rank *from, const struct nn_region *out,
                      const struct nn_region *in)
{
    struct tri_tensor source = nn_rank_tensor(from, &from->out, out, from->way->length);
    struct tri_tensor target = nn_rank_tensor(from, &from->out, in, from->way->length);
    memcpy(target.data, source.data, tri_tensor_bytes(&source));
}

static tri_status model_walk(struct nn_rank *units)
{
    for (int u = 0; u < NUM_UNITS; u++) {
        if (u > 0)
            copy_edge(&units[u - 1], &units[u - 1].y, &units[u].x);
        TRI_TRY(nn_rank_forward(&units[u]));
    }
    for (int u = NUM_UNITS - 1; u >= 0; u--) {
        TRI_TRY(nn_rank_backward(&units[u]));
        if (u > 0)
            copy_edge(&units[u - 1], &units[u].dx, &units[u - 1].dy);
    }
    return TRI_OK;
}

static tri_status model_rank(void *arg, tri_world *world)
{
    struct model *model = arg;
    struct nn_rank *units = model->units[world->rank];
    tri_status status = TRI_OK;
    for (int u = 0; u < NUM_UNITS && status == TRI_OK; u++) {
        units[u].c = &model->cases[u];
        units[u].way = &model->way;
        status = nn_rank_create(&units[u], world);
        use_golden_values(&units[u], model->golden);
    }
    if (status == TRI_OK)
        status = model_walk(units);
    for (int u = 0; u < NUM_UNITS; u++)
        tri_group_destroy(&units[u].tp);
    return status;
}

/* ---- comparing ---- */

/* Adds what the ranks of one unit hold of name's gradient to sum; false when the unit has no such
   parameter. */
static bool add_gradient(const struct model *model, int u, const char *name, float *sum,
                         int64_t count)
{
    bool found = false;
    for (int r = 0; r < model->way.tp; r++)
        for (int p = 0; p < model->units[r][u].num_params; p++) {
            const struct tri_param *param = &model->units[r][u].params[p];
            const struct tri_param_spec *spec = param->spec;
            bool is_copy = spec->cut_dim < 0 && !(spec->sum_axes & TRI_AXES(TRI_AXIS_TP)) && r > 0;
            if (strcmp(spec->name, name) != 0 || is_copy)
                continue;
            found = true;
            for (int64_t i = 0; i < tri_tensor_elements(&param->grad); i++) {
                int64_t element = nn_param_element(spec, model->way.tp, r, i);
                if (element < count)
                    sum[element] += tri_tensor_f32(&param->grad)[i];
            }
        }
    return found;
}

static void check_gradient(const struct model *model, const struct record *record)
{
    const char *name = record->name + strlen("grad ");
    float *sum = calloc((size_t)record->count, sizeof(float));
    bool found = false;
    for (int u = 0; u < NUM_UNITS; u++)
        found = add_gradient(model, u, name, sum, record->count) || found;
    assert_true(found);
    double difference = 0, norm = 0;
    for (int64_t i = 0; i < record->count; i++) {
        double d = (double)sum[i] - record->data.f32[i];
        difference += d * d;
        norm += (double)record->data.f32[i] * record->data.f32[i];
    }
    free(sum);
    if (!(sqrt(difference / norm) <= GRADIENT_BOUND))
        fail_msg("%s, tp %d: the gradient of '%s' is %g away", model->cases[0].name, model->way.tp,
                 name, sqrt(difference / norm));
}

static void check_values(const struct golden *golden, const char *path, const char *name,
                         const float *values)
{
    const struct record *record = golden_find(golden, "", name);
    for (int64_t i = 0; i < record->count; i++)
        if (!(fabs((double)values[i] - record->data.f32[i]) <= LOGITS_BOUND))
            fail_msg("%s: %s[%d] is %g, expected %g", path, name, (int)i, values[i],
                     record->data.f32[i]);
}

static void check_model(const char *path, int shape, struct nn_way way)
{
    struct golden golden;
    golden_read(path, &golden);
    struct model model = {.golden = &golden, .way = way};
    tri_error *errs[NN_MAX_RANKS];
    for (int r = 0; r < way.tp; r++)
        errs[r] = tri_error_create();
    for (int u = 0; u < NUM_UNITS; u++)
        model.cases[u] = (struct nn_case){.name = path, .shape = shape, .unit = u, .path = ""};
    assert_int_equal(tri_threads_run(way.tp, 60, tri_reduce_in_order, model_rank, &model, errs),
                     TRI_OK);
    check_values(&golden, path, "logits", model.units[0][NUM_UNITS - 1].logits);
    check_values(&golden, path, "token_loss", model.units[0][NUM_UNITS - 1].token_loss);
    for (int i = 0; i < golden.num_records; i++)
        if (strncmp(golden.records[i].name, "grad ", 5) == 0)
            check_gradient(&model, &golden.records[i]);
    for (int r = 0; r < way.tp; r++) {
        for (int u = 0; u < NUM_UNITS; u++)
            nn_rank_destroy(&model.units[r][u]);
        tri_error_destroy(&errs[r]);
    }
    golden_free(&golden);
}

static void check_everywhere(const char *path, int shape, int max_tp)
{
    for (int kind = 0; kind < 4; kind++)
        for (int tp = 1; tp <= max_tp; tp *= 2)
            for (int sp = 0; sp < (tp > 1 ? 2 : 1); sp++)
                check_model(path, shape,
                            (struct nn_way){.plain = kind % 2,
                                            .halves = kind / 2,
                                            .tp = tp,
                                            .sequence_parallel = sp,
                                            .rows = 3,
                                            .length = 8,
                                            .evaluates = true});
}

static void models_are_those_of_transformers(void **state)
{
    (void)state;
    check_everywhere("golden/nn-gpt2.bin", NN_SHAPE_GPT, 4);
    check_everywhere("golden/nn-qwen2.bin", NN_SHAPE_LLAMA, 4);
    check_everywhere("golden/nn-qwen3-next.bin", NN_SHAPE_GATED, 4);
}

static void variants_are_their_formulas(void **state)
{
    static const struct {
        const char *name;
        int shape, max_tp;
    } variants[] = {{"parallel", NN_SHAPE_PARALLEL, 4},
                    {"sandwich", NN_SHAPE_SANDWICH, 4},
                    {"post", NN_SHAPE_POST, 4},
                    {"normed", NN_SHAPE_NORMED, 4},
                    {"l2", NN_SHAPE_L2, 4},
                    {"heads", NN_SHAPE_HEADS, 4},
                    {"mixed", NN_SHAPE_MIXED, 4},
                    {"cut", NN_SHAPE_CUT, 4},
                    {"gated", NN_SHAPE_GATED, 4},
                    {"one", NN_SHAPE_ONE, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
        char path[64];
        snprintf(path, sizeof(path), "golden/nn-%s.bin", variants[i].name);
        check_everywhere(path, variants[i].shape, variants[i].max_tp);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_are_those_of_transformers),
        cmocka_unit_test(variants_are_their_formulas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
