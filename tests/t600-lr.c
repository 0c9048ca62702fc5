/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Learning rate and weight decay against golden/optim/lr.json, which Megatron-LM's own scheduler wrote;
 * what a request may not say; and a checkpoint's schedule against this run's.
 */
#include "base/json.h"
#include "optim/lr_schedule.h"
#include "t1-shapes.h"
#include "train/reconcile.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* ---- reading the file ---- */

static json_t *root;
static tri_error *err;

static double number(const json_t *object, const char *key)
{
    double value;
    struct tri_json json = {.object = object, .name = "lr.json", .err = err};
    if (tri_json_get_double(&json, key, &value) != TRI_OK)
        fail_msg("%s", tri_error_message(err, 0));
    return value;
}

/* Position of the text under key in a NULL-ended list. */
static int64_t choice(const json_t *object, const char *key, const char *const *names)
{
    const char *text = json_string_value(json_object_get(object, key));
    int64_t i = 0;
    if (!text)
        return 0;
    while (names[i] && strcmp(names[i], text) != 0)
        i++;
    assert_non_null(names[i]);
    return i;
}

static const char *const *choices(const char *name)
{
    for (int i = 0; i < tri_optim_options.num_rows; i++)
        if (strcmp(tri_optim_options.rows[i].name, name) == 0)
            return tri_optim_options.rows[i].choices;
    fail_msg("no option is called %s", name);
    return NULL;
}

/* Fields that a saved state lacks are the configured ones. */
static struct tri_lr_schedule read_schedule(const json_t *from, const json_t *configured)
{
    return (struct tri_lr_schedule){
        .init_lr = number(configured, "init_lr"),
        .max_lr = number(from, "max_lr"),
        .min_lr = number(from, "min_lr"),
        .warmup = (int64_t)number(from, "lr_warmup_steps"),
        .decay = (int64_t)number(from, "lr_decay_steps"),
        .wsd_decay =
            json_object_get(from, "wsd_decay_steps") ? (int64_t)number(from, "wsd_decay_steps") : 0,
        .style = choice(from, "lr_decay_style", choices("lr_decay_style")),
        .wsd_style = choice(from, "lr_wsd_decay_style", choices("lr_wsd_decay_style")),
        .start_wd = number(from, "start_wd"),
        .end_wd = number(from, "end_wd"),
        .wd_steps = (int64_t)number(from, "wd_incr_steps"),
        .wd_style = choice(from, "wd_incr_style", choices("weight_decay_incr_style")),
    };
}

/* ---- values ---- */

static void expect_near(double got, double want, double size, int number_of_case, int64_t step)
{
    if (!(fabs(got - want) <= 4e-16 * size))
        fail_msg("case %d, step %lld: %.17g, expected %.17g", number_of_case, (long long)step, got,
                 want);
}

static void check_case(const json_t *item, int number_of_case)
{
    struct tri_lr_schedule schedule = read_schedule(item, item), group = schedule;
    group.max_lr = 5e-3;
    group.min_lr = 2e-4;
    const json_t *steps = json_object_get(item, "steps");
    const json_t *groups = json_object_get(item, "lr_of_group_with_max_5e3_min_2e4");
    for (size_t i = 0; i < json_array_size(steps); i++) {
        int64_t x = json_integer_value(json_array_get(steps, i));
        double lr = json_number_value(json_array_get(json_object_get(item, "lr"), i));
        double wd = json_number_value(json_array_get(json_object_get(item, "weight_decay"), i));
        expect_near(tri_lr_schedule_rate(&schedule, x), lr, schedule.max_lr, number_of_case, x);
        expect_near(tri_lr_schedule_weight_decay(&schedule, x), wd, 1, number_of_case, x);
        expect_near(tri_lr_schedule_rate(&group, x), json_number_value(json_array_get(groups, i)),
                    group.max_lr, number_of_case, x);
    }
}

static void follows_megatron(void **state)
{
    const json_t *cases = json_object_get(root, "cases");
    int checked = 0;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *item = json_array_get(cases, i);
        if (json_object_get(item, "load_mode"))
            continue;
        check_case(item, (int)i);
        checked++;
    }
    assert_int_equal(checked, 13);
    (void)state;
}

/* ---- requests ---- */

/* Options of a run that is right: 10 iterations of 4 samples. */
static struct tri_optim_config options(void)
{
    struct tri_optim_config config;
    tri_option_set_defaults(&tri_optim_options, &config);
    config.lr = 1e-3;
    return config;
}

static tri_status plan(const struct tri_optim_config *config, struct tri_lr_schedule *schedule)
{
    tri_error_clear(err);
    return tri_lr_schedule_plan(config, 10, 4, err, schedule);
}

static void warmup_is_shorter_than_the_decay(void **state)
{
    struct tri_lr_schedule schedule;
    for (int warmup = 10; warmup <= 11; warmup++) {
        struct tri_optim_config config = options();
        config.lr_warmup_iters = warmup;
        assert_int_equal(plan(&config, &schedule), TRI_INVALID);
        assert_true(error_says(
            err, warmup == 10 ? "warm-up of 10 iterations is not shorter than the decay of 10"
                              : "warm-up of 11 iterations is not shorter than the decay of 10"));
    }
    struct tri_optim_config config = options();
    config.lr_warmup_fraction = 1.0;
    assert_int_equal(plan(&config, &schedule), TRI_INVALID);
    assert_true(error_says(err, "warm-up of 10 iterations is not shorter than the decay of 10"));
    config = options();
    config.lr_decay_iters = 0;
    assert_int_equal(plan(&config, &schedule), TRI_INVALID);
    assert_true(error_says(err, "decays over 0 iterations"));
    (void)state;
}

/* 9 of 10: iteration 10 has x = 9 of 9, the highest rate; before that, no value is odd. */
static void the_longest_warmup_reaches_the_top(void **state)
{
    struct tri_lr_schedule schedule;
    struct tri_optim_config config = options();
    config.lr_warmup_iters = 9;
    assert_int_equal(plan(&config, &schedule), TRI_OK);
    for (int i = 0; i < 10; i++) {
        double lr = tri_lr_schedule_rate(&schedule, 4 * i);
        assert_true(isfinite(lr) && lr >= 0 && lr <= 1e-3);
    }
    assert_true(tri_lr_schedule_rate(&schedule, 36) == 1e-3);
    (void)state;
}

static void iterations_become_samples(void **state)
{
    struct tri_lr_schedule schedule;
    struct tri_optim_config config = options();
    config.lr_warmup_iters = 3;
    config.lr_decay_iters = 8;
    config.lr_wsd_decay_iters = 2;
    config.lr_decay_style = TRI_LR_WSD;
    assert_int_equal(plan(&config, &schedule), TRI_OK);
    assert_int_equal(schedule.warmup, 12);
    assert_int_equal(schedule.decay, 32);
    assert_int_equal(schedule.wsd_decay, 8);
    assert_int_equal(schedule.wd_steps, 0); /* the weight decay does not change */
    config.weight_decay_incr_style = TRI_WD_LINEAR;
    config.start_weight_decay = 0.0;
    config.end_weight_decay = 0.1;
    assert_int_equal(plan(&config, &schedule), TRI_OK);
    assert_int_equal(schedule.wd_steps, 40);
    config.lr_warmup_iters = 0;
    config.lr_warmup_fraction = 0.25;
    assert_int_equal(plan(&config, &schedule), TRI_OK);
    assert_int_equal(schedule.warmup, 8);
    (void)state;
}

/* Every problem at once. */
static void problems_are_reported_together(void **state)
{
    struct tri_lr_schedule schedule;
    struct tri_optim_config config = options();
    config.min_lr = 2e-3;
    config.lr_warmup_init = 3e-3;
    config.lr_decay_style = TRI_LR_WSD;
    config.lr_warmup_iters = 2;
    config.lr_warmup_fraction = 0.5;
    config.start_weight_decay = 0.1;
    assert_int_equal(plan(&config, &schedule), TRI_INVALID);
    assert_true(error_says(err, "min_lr 0.002 is above lr 0.001"));
    assert_true(error_says(err, "lr_warmup_init 0.003 is above lr 0.001"));
    assert_true(error_says(err, "WSD needs lr_wsd_decay_iters"));
    assert_true(error_says(err, "exclude each other"));
    assert_true(error_says(err, "start_weight_decay"));

    config = options();
    config.lr = NAN;
    assert_int_equal(plan(&config, &schedule), TRI_INVALID);
    assert_true(error_says(err, "'lr' is not set"));
    config = options();
    config.weight_decay_incr_style = TRI_WD_LINEAR;
    config.start_weight_decay = 0.2;
    config.end_weight_decay = 0.1;
    assert_int_equal(plan(&config, &schedule), TRI_INVALID);
    assert_true(error_says(err, "start_weight_decay <= end_weight_decay"));
    (void)state;
}

/* ---- a checkpoint's schedule ---- */

static void check_load(const json_t *item)
{
    const json_t *configured = json_object_get(item, "configured"),
                 *saved = json_object_get(item, "saved");
    struct tri_lr_schedule ours = read_schedule(configured, configured);
    struct tri_lr_schedule theirs = read_schedule(saved, configured);
    struct tri_optim_config config = options();
    const char *mode = json_string_value(json_object_get(item, "load_mode"));
    config.override_opt_param_scheduler = strcmp(mode, "override") == 0;
    config.use_checkpoint_opt_param_scheduler = strcmp(mode, "use_checkpoint") == 0;
    tri_error_clear(err);
    tri_status status = tri_lr_schedule_reconcile(&theirs, &config, "out/iter_0000009", err, &ours);
    if (json_object_get(item, "rejected")) {
        assert_int_equal(status, TRI_INVALID);
        assert_true(error_says(err, "highest rate (lr) 0.002, this run 0.001"));
        assert_true(error_says(err, "(from lr_decay_iters, else train_iters) 60, this run 40"));
        assert_true(error_says(err, "--override-opt-param-scheduler"));
        return;
    }
    assert_int_equal(status, TRI_OK);
    int64_t x = (int64_t)number(saved, "num_steps");
    assert_true(fabs(tri_lr_schedule_rate(&ours, x) - number(item, "lr_right_after_load")) <=
                1e-18);
    const json_t *next = json_object_get(item, "lr_after_each_of_the_next_steps");
    for (size_t i = 0; i < json_array_size(next); i++) {
        double want = json_number_value(json_array_get(next, i));
        assert_true(fabs(tri_lr_schedule_rate(&ours, x + 1 + (int64_t)i) - want) <= 1e-18);
    }
    if (config.override_opt_param_scheduler)
        assert_true(error_notes(err, "the learning-rate schedule changes"));
}

static void a_saved_schedule_is_held_against_this_runs(void **state)
{
    const json_t *cases = json_object_get(root, "cases");
    int checked = 0;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *item = json_array_get(cases, i);
        if (!json_object_get(item, "load_mode"))
            continue;
        check_load(item);
        checked++;
    }
    assert_int_equal(checked, 3);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_megatron),
        cmocka_unit_test(warmup_is_shorter_than_the_decay),
        cmocka_unit_test(the_longest_warmup_reaches_the_top),
        cmocka_unit_test(iterations_become_samples),
        cmocka_unit_test(problems_are_reported_together),
        cmocka_unit_test(a_saved_schedule_is_held_against_this_runs),
    };
    err = tri_error_create();
    if (tri_json_read_file("golden/optim/lr.json", 1 << 20, err, &root) != TRI_OK) {
        print_error("%s\n", tri_error_message(err, 0));
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    json_decref(root);
    tri_error_destroy(&err);
    return failed;
}
