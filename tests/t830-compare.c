/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cases of golden/hf, which transformers made, on one rank and on each axis of the grid: run as
 * "t830-compare CASE GRID [IMPLEMENTATION]". A run that trains with another rate is told from the right one.
 */
#include "train/compare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct grid {
    const char *name;
    int tp, pp, dp;
    bool sequence_parallel;
} grids[] = {{"one", 1, 1, 1, false}, {"tp2", 2, 1, 1, false},     {"tp3", 3, 1, 1, false},
             {"pp2", 1, 2, 1, false}, {"dp2", 1, 1, 2, false},     {"dp3", 1, 1, 3, false},
             {"sp2", 2, 1, 1, true},  {"tp2-pp2", 2, 2, 1, false}, {"sp2-pp2", 2, 2, 1, true}};

static const char *case_name;
static const struct grid *grid;
static const char *implementation = "fused";

static void read_config(const struct tri_case *reference, struct tri_run_config *config,
                        tri_error *err)
{
    char from[128], tp[64], pp[64], impl[64];
    snprintf(from, sizeof from, "--shape-from=golden/hf/%s/model", case_name);
    snprintf(impl, sizeof impl, "--transformer-impl=%s", implementation);
    snprintf(tp, sizeof tp, "--tensor-model-parallel-size=%d", grid->tp);
    snprintf(pp, sizeof pp, "--pipeline-model-parallel-size=%d", grid->pp);
    char *words[] = {from, tp, pp, impl, NULL};
    assert_int_equal(tri_run_config_read(4, words, NULL, config, err), TRI_OK);
    config->placement.sequence_parallel = grid->sequence_parallel;
    config->shape.seq_length = reference->length;
    config->shape.transformer.hidden_dropout = 0;
    config->shape.transformer.attention_dropout = 0;
    config->placement.team_size = 1;
    config->train.micro_batch_size = 1;
    config->train.global_batch_size = reference->rows;
    config->train.train_iters = reference->num_steps;
    config->optim = reference->optim;
}

/* Runs the case with rates multiplied by factor; *text is the caller's to free(). */
static bool run_case(double factor, char **text)
{
    tri_error *err = tri_error_create(), *errs[4];
    struct tri_case reference;
    struct tri_run_config config;
    char dir[64];
    size_t bytes = 0;
    snprintf(dir, sizeof dir, "golden/hf/%s", case_name);
    assert_int_equal(tri_case_read(dir, err, &reference), TRI_OK);
    read_config(&reference, &config, err);
    config.optim.lr *= factor;
    for (int i = 0; i < 4; i++)
        errs[i] = tri_error_create();
    struct tri_compare_request request = {.reference = &reference, .config = &config};
    request.out = open_memstream(text, &bytes);
    struct tri_launch launch = {.ranks = grid->tp * grid->pp * grid->dp, .time_limit_seconds = 600};
    tri_status status = tri_launch_run(&launch, tri_compare, &request, errs);
    fclose(request.out);
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < tri_error_count(errs[i]); k++)
            print_error("rank %d: %s\n", i, tri_error_message(errs[i], k));
        tri_error_destroy(&errs[i]);
    }
    assert_int_equal(status, TRI_OK);
    tri_case_fini(&reference);
    tri_error_destroy(&err);
    return !request.failed;
}

static void agrees_with_transformers(void **state)
{
    char *text = NULL;
    bool ok = run_case(1, &text);
    if (!ok)
        print_error("%s", text);
    assert_true(ok);
    assert_non_null(strstr(text, "logits"));
    assert_non_null(strstr(text, "token_loss"));
    assert_non_null(strstr(text, "gradient "));
    assert_non_null(strstr(text, "step 12: loss"));
    assert_non_null(strstr(text, "parameter norm after training"));
    free(text);
    (void)state;
}

static void another_rate_is_told_apart(void **state)
{
    char *text = NULL;
    assert_false(run_case(1.02, &text));
    assert_non_null(strstr(text, "OUTSIDE"));
    free(text);
    (void)state;
}

int main(int argc, char **argv)
{
    case_name = argc > 1 ? argv[1] : "llama";
    for (size_t i = 0; i < sizeof grids / sizeof grids[0]; i++)
        if (strcmp(grids[i].name, argc > 2 ? argv[2] : "one") == 0)
            grid = &grids[i];
    if (argc > 3)
        implementation = argv[3];
    if (!grid) {
        print_error("no grid is called '%s'\n", argv[2]);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_transformers),
        cmocka_unit_test(another_rate_is_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
