/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The config.json of published models, as they are published, in full size (golden/published): each is read, has
 * the parameter count that transformers gives it (oracle/published_shapes.py), is written as it was, and comes in
 * every family.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "t1-shapes.h"

#include "shape/hf_config.h"
#include "spec/family.h"
#include "spec/model_spec.h"

#include <jansson.h>
#include <stdlib.h>

#define FOLDER "golden/published"

struct published {
    char name[64];
    long long parameters;
};

/* Calls check for every model of parameters.txt; returns how many there are. */
static int for_each(void (*check)(const struct published *model, const char *path))
{
    FILE *file = fopen(FOLDER "/parameters.txt", "r");
    struct published model;
    int num = 0;
    assert_non_null(file);
    while (fscanf(file, "%63s %lld", model.name, &model.parameters) == 2) {
        char path[160];
        snprintf(path, sizeof(path), FOLDER "/%s", model.name);
        check(&model, path);
        num++;
    }
    fclose(file);
    return num;
}

static void read_published(const char *path, tri_error *err, struct tri_gpt_config *shape)
{
    tri_status status = tri_gpt_config_read_hf(path, err, shape);
    for (int k = 0; k < tri_error_count(err); k++)
        print_error("%s\n", tri_error_message(err, k));
    assert_int_equal(status, TRI_OK);
}

static void check_count(const struct published *model, const char *path)
{
    tri_error *err = tri_error_create();
    struct tri_gpt_config shape;
    struct tri_model_spec *spec = NULL;
    struct tri_param_count count;
    read_published(path, err, &shape);
    assert_int_equal(tri_model_spec_create(&shape, NULL, err, &spec), TRI_OK);
    assert_int_equal(tri_model_count_params(spec, err, &count), TRI_OK);
    if (count.total != model->parameters)
        fail_msg("%s has %lld parameters, published are %lld", model->name, (long long)count.total,
                 model->parameters);
    tri_model_spec_destroy(&spec);
    tri_error_destroy(&err);
}

static void counts_are_exact(void **state)
{
    (void)state;
    assert_int_equal(for_each(check_count), 50);
}

/* Weights of another type are all that a run changes. */
static void check_trip(const struct published *model, const char *path)
{
    tri_error *err = tri_error_create();
    struct tri_gpt_config shape, again;
    char *original = NULL, *text = NULL;
    size_t bytes;
    read_published(path, err, &shape);
    assert_int_equal(tri_hf_config_load(path, err, &original, &bytes), TRI_OK);
    assert_int_equal(tri_gpt_config_write_hf(&shape, "float32", original, err, &text), TRI_OK);
    json_t *was = json_loads(original, 0, NULL), *is = json_loads(text, 0, NULL);
    if (json_object_get(was, "torch_dtype"))
        json_object_set_new(was, "torch_dtype", json_string("float32"));
    if (!json_equal(was, is))
        fail_msg("%s is written as\n%s", model->name, text);
    json_decref(was);
    json_decref(is);
    free(text);
    /* Written anew, in trine's own spelling, it is the same shape. */
    const struct tri_hf_family *family = tri_family_find(shape.family)->config;
    assert_int_equal(tri_gpt_config_write_hf(&shape, "float32", NULL, err, &text), TRI_OK);
    assert_int_equal(tri_hf_config_read(family, text, strlen(text), model->name, err, &again),
                     TRI_OK);
    assert_true(tri_hf_config_misfits(family, &again, NULL, 0) == 0);
    free(text);
    free(original);
    tri_error_destroy(&err);
}

static void they_are_written_as_they_were(void **state)
{
    (void)state;
    for_each(check_trip);
}

static bool is_seen[64];

static void mark_family(const struct published *model, const char *path)
{
    tri_error *err = tri_error_create();
    struct tri_gpt_config shape;
    (void)model;
    read_published(path, err, &shape);
    for (int i = 0; tri_family_get(i); i++)
        is_seen[i] |= strcmp(shape.family, tri_family_get(i)->name) == 0;
    tri_error_destroy(&err);
}

static void every_family_has_one(void **state)
{
    (void)state;
    for_each(mark_family);
    for (int i = 0; tri_family_get(i); i++)
        if (!is_seen[i])
            fail_msg("no published model of family '%s'", tri_family_get(i)->name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_exact),
        cmocka_unit_test(they_are_written_as_they_were),
        cmocka_unit_test(every_family_has_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
