/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cases of golden/hf, which transformers made, one case on a row of grids: logits, loss of each token, all
 * gradients, twelve steps of training. Run as "t830-compare CASE GRID...". A run that trains with another rate
 * is told from the right one.
 *
 * A grid is a list of axes joined by dashes, as in tp2-pp2; "one" is one rank, sp2 is tp2 with sequence
 * parallelism, vpp2 two slices for each stage, zero2 is dp2 with a sharded optimizer. "plain" behind it asks for
 * the plain kernels, "refused" says that the heads cannot be cut like that.
 */
#include "train/compare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct grid {
    int tp, pp, vpp, dp;
    bool sequence_parallel, sharded, plain, refused;
};

static const char *case_name;
static struct grid grid;

/* Reads "sp2-pp2-plain"; false when a word is none. */
static bool grid_read(const char *text)
{
    char words[64], *rest = words, *word;
    grid = (struct grid){1, 1, 1, 1, false, false, false, false};
    snprintf(words, sizeof words, "%s", text);
    while ((word = strsep(&rest, "-"))) {
        size_t letters = strcspn(word, "0123456789");
        int size = (int)strtol(word + letters, NULL, 10);
        if (strcmp(word, "plain") == 0)
            grid.plain = true;
        else if (strcmp(word, "refused") == 0)
            grid.refused = true;
        else if (strncmp(word, "tp", letters) == 0 || strncmp(word, "sp", letters) == 0)
            grid.tp = size;
        else if (strncmp(word, "pp", letters) == 0)
            grid.pp = size;
        else if (strncmp(word, "vpp", letters) == 0)
            grid.vpp = size;
        else if (strncmp(word, "dp", letters) == 0 || strncmp(word, "zero", letters) == 0)
            grid.dp = size;
        else if (strcmp(word, "one") != 0)
            return false;
        grid.sequence_parallel |= word[0] == 's';
        grid.sharded |= word[0] == 'z';
    }
    return grid.tp > 0 && grid.pp > 0 && grid.vpp > 0 && grid.dp > 0;
}

static void read_config(const struct tri_case *reference, struct tri_run_config *config,
                        tri_error *err)
{
    char from[128], tp[64], pp[64], vpp[64], impl[64];
    snprintf(from, sizeof from, "--shape-from=golden/hf/%s/model", case_name);
    snprintf(impl, sizeof impl, "--transformer-impl=%s", grid.plain ? "plain" : "fused");
    snprintf(tp, sizeof tp, "--tensor-model-parallel-size=%d", grid.tp);
    snprintf(pp, sizeof pp, "--pipeline-model-parallel-size=%d", grid.pp);
    snprintf(vpp, sizeof vpp, "--virtual-pipeline-model-parallel-size=%d", grid.vpp);
    char *words[] = {from, impl, tp, pp, vpp, NULL};
    assert_int_equal(tri_run_config_read(grid.vpp > 1 ? 5 : 4, words, 0, NULL, config, err),
                     TRI_OK);
    config->placement.sequence_parallel = grid.sequence_parallel;
    config->placement.use_distributed_optimizer = grid.sharded;
    config->placement.team_size = 1;
    config->train.micro_batch_size = 1;
    tri_case_fit(reference, config);
}

enum { MAX_RANKS = 8 };

/* Runs the case with rates multiplied by factor; *text and *problems are the caller's to free(). False when
   something lies outside its tolerance, or the launch fails. */
static bool run_case(double factor, char **text, char **problems)
{
    tri_error *err = tri_error_create(), *errs[MAX_RANKS];
    struct tri_case reference;
    struct tri_run_config config;
    char dir[64];
    size_t bytes = 0, problem_bytes = 0;
    snprintf(dir, sizeof dir, "golden/hf/%s", case_name);
    assert_int_equal(tri_case_read(dir, err, &reference), TRI_OK);
    read_config(&reference, &config, err);
    config.optim.lr *= factor;
    for (int i = 0; i < MAX_RANKS; i++)
        errs[i] = tri_error_create();
    struct tri_compare_request request = {.reference = &reference, .config = &config};
    request.out = open_memstream(text, &bytes);
    FILE *list = open_memstream(problems, &problem_bytes);
    struct tri_launch launch = {.ranks = grid.tp * grid.pp * grid.dp, .time_limit_seconds = 600};
    tri_status status = tri_launch_run(&launch, tri_compare, &request, errs);
    fclose(request.out);
    for (int i = 0; i < MAX_RANKS; i++) {
        for (int k = 0; k < tri_error_count(errs[i]); k++)
            fprintf(list, "rank %d: %s\n", i, tri_error_message(errs[i], k));
        tri_error_destroy(&errs[i]);
    }
    fclose(list);
    tri_case_fini(&reference);
    tri_error_destroy(&err);
    return status == TRI_OK && !request.failed;
}

static void agrees_with_transformers(void **state)
{
    char *text = NULL, *problems = NULL;
    assert_true(grid_read(*state));
    if (!run_case(1, &text, &problems))
        fail_msg("%s", problems[0] ? problems : text);
    assert_non_null(strstr(text, "logits"));
    assert_non_null(strstr(text, "token_loss"));
    assert_non_null(strstr(text, "gradient "));
    assert_non_null(strstr(text, "step 12: loss"));
    assert_non_null(strstr(text, "parameter norm after training"));
    free(text);
    free(problems);
}

/* The sentence says which tensor-parallel sizes work. */
static void is_refused(void **state)
{
    char *text = NULL, *problems = NULL;
    assert_true(grid_read(*state));
    assert_false(run_case(1, &text, &problems));
    assert_string_equal(text, "");
    if (!strstr(problems, "'tensor_model_parallel_size' 2 does not divide 'num_attention_heads' 3; "
                          "use 1 or 3"))
        fail_msg("refused otherwise: %s", problems);
    free(text);
    free(problems);
}

static void another_rate_is_told_apart(void **state)
{
    char *text = NULL, *problems = NULL;
    assert_true(grid_read(*state));
    assert_false(run_case(1.02, &text, &problems));
    assert_string_equal(problems, "");
    assert_non_null(strstr(text, "OUTSIDE"));
    free(text);
    free(problems);
}

enum { MAX_GRIDS = 20 };

int main(int argc, char **argv)
{
    struct CMUnitTest tests[MAX_GRIDS + 1];
    if (argc < 3 || argc - 2 > MAX_GRIDS) {
        print_error("use: t830-compare CASE GRID...\n");
        return 1;
    }
    case_name = argv[1];
    for (int i = 2; i < argc; i++) {
        bool known = grid_read(argv[i]);
        tests[i - 2] =
            (struct CMUnitTest){.name = argv[i],
                                .test_func = grid.refused ? is_refused : agrees_with_transformers,
                                .initial_state = argv[i]};
        if (!known || grid.tp * grid.pp * grid.dp > MAX_RANKS) {
            print_error("no grid is called '%s'\n", argv[i]);
            return 1;
        }
    }
    tests[argc - 2] = (struct CMUnitTest){.name = "another rate is told apart",
                                          .test_func = another_rate_is_told_apart,
                                          .initial_state = argv[2]};
    return _cmocka_run_group_tests(case_name, tests, (size_t)(argc - 1), NULL, NULL);
}
