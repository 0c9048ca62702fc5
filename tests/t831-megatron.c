/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dense cases of golden/megatron, which Megatron-LM's own modules made, on one rank and on each axis of
 * the grid: run as "t831-megatron CASE GRID IMPLEMENTATION". Another GELU, rows of q, k and v in another order, a
 * loss over the masked labels, and a swapped gate are told from the right ones.
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
} grids[] = {{"one", 1, 1, 1, false}, {"tp2", 2, 1, 1, false}, {"pp2", 1, 2, 1, false},
             {"dp2", 1, 1, 2, false}, {"sp2", 2, 1, 1, true},  {"sp2-pp2", 2, 2, 1, true}};

static const char *case_name, *implementation;
static const struct grid *grid;

/* What a run does otherwise than the case; NULL: nothing. */
typedef void change_fn(struct tri_case *reference, struct tri_run_config *config);

static void read_config(const struct tri_case *reference, const char *dir,
                        struct tri_run_config *config, tri_error *err)
{
    char from[128], tp[64], pp[64], impl[64];
    snprintf(from, sizeof from, "--shape-from=%s/case.json", dir);
    snprintf(impl, sizeof impl, "--transformer-impl=%s", implementation);
    snprintf(tp, sizeof tp, "--tensor-model-parallel-size=%d", grid->tp);
    snprintf(pp, sizeof pp, "--pipeline-model-parallel-size=%d", grid->pp);
    char *words[] = {from, tp, pp, impl, NULL};
    assert_int_equal(tri_run_config_read(4, words, 0, NULL, config, err), TRI_OK);
    config->placement.sequence_parallel = grid->sequence_parallel;
    config->placement.team_size = 1;
    config->train.micro_batch_size = 1;
    tri_case_fit(reference, config);
}

static void check_lines(const struct tri_case *reference, const char *text);

/* Runs the case; true when everything is within its bounds. *text is the caller's to free(). */
static bool run_case(change_fn *change, char **text)
{
    tri_error *err = tri_error_create(), *errs[4];
    struct tri_case reference;
    struct tri_run_config config;
    char dir[96];
    size_t bytes = 0;
    snprintf(dir, sizeof dir, "golden/megatron/model_gpt/%s", case_name);
    assert_int_equal(tri_case_read(dir, err, &reference), TRI_OK);
    read_config(&reference, dir, &config, err);
    if (change)
        change(&reference, &config);
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
    check_lines(&reference, *text);
    tri_case_fini(&reference);
    tri_error_destroy(&err);
    return !request.failed;
}

/* The line of text that says what; the place behind it. */
static const char *find_line(const char *text, const char *what)
{
    char start[256];
    snprintf(start, sizeof start, "%s ", what);
    const char *at = text;
    while (at && strncmp(at, start, strlen(start)) != 0) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    if (!at)
        fail_msg("nothing says '%s' in:\n%s", what, text);
    return at;
}

static bool is_outside(const char *text, const char *what)
{
    const char *line = find_line(text, what), *end = strchr(line, '\n');
    const char *mark = strstr(line, "OUTSIDE");
    return mark && mark < end;
}

/* Every quantity of the case has its line: all gradients, and the output of all layers. */
static void check_lines(const struct tri_case *reference, const char *text)
{
    int num = 4, num_gradients = 0, num_hidden = 0;
    find_line(text, "logits");
    find_line(text, "loss_per_token");
    find_line(text, "mean loss");
    find_line(text, "gradient norm");
    for (int i = 0; i < reference->expected.num_tensors; i++) {
        const char *name = reference->expected.tensors[i].name;
        char what[256];
        bool is_gradient = strncmp(name, "grad.", 5) == 0;
        bool is_hidden = strncmp(name, "hidden.", 7) == 0;
        snprintf(what, sizeof what, is_gradient ? "gradient %s" : "%s", name + 5 * is_gradient);
        if (is_gradient || is_hidden)
            find_line(text, what);
        num_gradients += is_gradient;
        num_hidden += is_hidden;
    }
    assert_true(num_hidden >= 2 && num_gradients >= 20);
    num += num_gradients + num_hidden;
    char last[64];
    snprintf(last, sizeof last, "%d quantities of Megatron-LM compared,", num);
    find_line(text, last);
}

static void agrees_with_megatron(void **state)
{
    char *text = NULL;
    bool ok = run_case(NULL, &text);
    if (!ok)
        print_error("%s", text);
    assert_true(ok);
    assert_non_null(strstr(text, "compared, 0 outside their bounds"));
    free(text);
    (void)state;
}

static void other_activation(struct tri_case *reference, struct tri_run_config *config)
{
    int64_t *activation = &config->shape.transformer.activation_func;
    *activation = *activation == TRI_ACT_GELU ? TRI_ACT_GELU_TANH : TRI_ACT_GELU;
    (void)reference;
}

/* The two forms of GELU differ by 5e-4 at most; SiLU and GELU by more. */
static void another_activation_is_told_apart(void **state)
{
    char *text = NULL;
    assert_false(run_case(other_activation, &text));
    assert_true(is_outside(text, "hidden.layer_0"));
    assert_true(is_outside(text, "hidden.layer_1"));
    assert_true(is_outside(text, "logits"));
    assert_true(is_outside(text, "loss_per_token"));
    assert_true(is_outside(text, "gradient decoder.layers.0.mlp.linear_fc1.weight"));
    free(text);
    (void)state;
}

/* Megatron-LM's names with other rows: all queries, all keys, all values; or all ups, all gates. */
#define MAX_ROWS 64
static struct tri_file_tensor rows[MAX_ROWS];
static struct tri_family_files files;
static struct tri_family names;
static struct tri_family_files files;
static struct tri_case_form form;

static void other_parts(struct tri_case *reference, const char *has, const char *part)
{
    names = tri_family_megatron;
    files = *names.files;
    assert_true(files.num_tensors <= MAX_ROWS);
    memcpy(rows, files.tensors, (size_t)files.num_tensors * sizeof *rows);
    for (int i = 0; i < files.num_tensors; i++)
        if (strstr(rows[i].logical, has))
            rows[i].part = part;
    files.tensors = rows;
    names.files = &files;
    form = *reference->form;
    form.names = &names;
    reference->form = &form;
}

static void side_by_side(struct tri_case *reference, struct tri_run_config *config)
{
    other_parts(reference, "linear_qkv", NULL);
    (void)config;
}

static void rows_side_by_side_are_told_apart(void **state)
{
    char *text = NULL;
    assert_false(run_case(side_by_side, &text));
    assert_true(is_outside(text, "hidden.layer_0"));
    assert_true(is_outside(text, "logits"));
    assert_true(is_outside(text, "gradient decoder.layers.0.self_attention.linear_qkv.weight"));
    free(text);
    (void)state;
}

static void gates_by_row(struct tri_case *reference, struct tri_run_config *config)
{
    other_parts(reference, "linear_fc1", TRI_PART_INTERLEAVED);
    (void)config;
}

static void gates_between_ups_are_told_apart(void **state)
{
    char *text = NULL;
    if (strcmp(case_name, "llama") != 0)
        return; /* no gates */
    assert_false(run_case(gates_by_row, &text));
    assert_true(is_outside(text, "logits"));
    assert_true(is_outside(text, "gradient decoder.layers.0.mlp.linear_fc1.weight"));
    free(text);
    (void)state;
}

static void without_mask(struct tri_case *reference, struct tri_run_config *config)
{
    assert_true(reference->batch[0].num_valid < reference->batch[1].num_valid);
    reference->batch[0] = reference->batch[1];
    (void)config;
}

static void an_unmasked_loss_is_told_apart(void **state)
{
    char *text = NULL;
    assert_false(run_case(without_mask, &text));
    assert_false(is_outside(text, "logits"));
    assert_false(is_outside(text, "loss_per_token"));
    assert_true(is_outside(text, "mean loss"));
    assert_true(is_outside(text, "gradient norm"));
    assert_true(is_outside(text, "gradient embedding.word_embeddings.weight"));
    free(text);
    (void)state;
}

int main(int argc, char **argv)
{
    case_name = argc > 1 ? argv[1] : "llama";
    implementation = argc > 3 ? argv[3] : "fused";
    for (size_t i = 0; i < sizeof grids / sizeof grids[0]; i++)
        if (strcmp(grids[i].name, argc > 2 ? argv[2] : "one") == 0)
            grid = &grids[i];
    if (!grid) {
        print_error("no grid is called '%s'\n", argv[2]);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_megatron),
        cmocka_unit_test(another_activation_is_told_apart),
        cmocka_unit_test(rows_side_by_side_are_told_apart),
        cmocka_unit_test(gates_between_ups_are_told_apart),
        cmocka_unit_test(an_unmasked_loss_is_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
