/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log-probabilities of given tokens, and entropies of the distributions they are from, against what
 * transformers computed, on one rank and on each axis of the grid: the token losses of golden/hf (targets of
 * their own) and golden/scores (lengths of their own). What must not change a bit is held against one rank or
 * one rank of the same tp, bit for bit. Run as "t823-score CASE GRID [IMPLEMENTATION]".
 */
#include "base/json.h"
#include "train/case.h"
#include "train/session.h"
#include "trine/score.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BOUND 5e-5 /* as train/compare.c has it for token losses */
enum { MAX_SEQUENCES = 16, MAX_TOKENS = 512, MAX_RANKS = 8, SEQ_LENGTH = 24 };

struct grid {
    const char *name;
    int tp, pp, dp;
    bool sequence_parallel;
};
static const struct grid grids[] = {
    {"one", 1, 1, 1, false},     {"tp2", 2, 1, 1, false},     {"pp2", 1, 2, 1, false},
    {"dp2", 1, 1, 2, false},     {"sp2-pp2", 2, 2, 1, true},  {"tp2-pp2-dp2", 2, 2, 2, false},
    {"pp2-dp2", 1, 2, 2, false}, {"tp2-pp2", 2, 2, 1, false},
};
static const char *case_name, *implementation = "fused";
static const struct grid *grid;

/* ---- inputs ---- */

struct input {
    int64_t num, num_tokens;
    int64_t lengths[MAX_SEQUENCES], prompts[MAX_SEQUENCES];
    int32_t tokens[MAX_TOKENS], targets[MAX_TOKENS];
    uint8_t mask[MAX_TOKENS];
    double expected[MAX_TOKENS], entropies[MAX_TOKENS];
    bool has_entropies;
};

static void read_ragged(struct input *input)
{
    char path[64];
    json_t *root;
    tri_error *err = tri_error_create();
    snprintf(path, sizeof path, "golden/scores/%s.json", case_name);
    assert_int_equal(tri_json_read_file(path, 1 << 20, err, &root), TRI_OK);
    memset(input, 0, sizeof *input);
    const json_t *rows = json_object_get(root, "sequences"),
                 *values = json_object_get(root, "logprobs"),
                 *entropies = json_object_get(root, "entropies");
    for (size_t n = 0; n < json_array_size(rows); n++) {
        const json_t *row = json_array_get(rows, n), *value = json_array_get(values, n);
        const json_t *entropy = json_array_get(entropies, n);
        input->lengths[input->num++] = (int64_t)json_array_size(row);
        for (size_t t = 0; t < json_array_size(row); t++) {
            input->tokens[input->num_tokens] = (int32_t)json_integer_value(json_array_get(row, t));
            input->entropies[input->num_tokens] = json_number_value(json_array_get(entropy, t));
            input->expected[input->num_tokens++] = json_number_value(json_array_get(value, t));
        }
    }
    input->has_entropies = true;
    assert_true(input->num > 8);
    json_decref(root);
    tri_error_destroy(&err);
}

/* The first batch of the case, whose labels are no tokens of it. */
static void read_losses(struct input *input)
{
    char dir[64];
    struct tri_case reference;
    float *losses;
    tri_error *err = tri_error_create();
    snprintf(dir, sizeof dir, "golden/hf/%s", case_name);
    assert_int_equal(tri_case_read(dir, err, &reference), TRI_OK);
    memset(input, 0, sizeof *input);
    const struct tri_safetensors_tensor *tensor =
        tri_safetensors_find(&reference.expected, "token_loss");
    assert_int_equal(tri_case_expected(&reference, tensor, err, &losses), TRI_OK);
    input->num = reference.rows;
    input->num_tokens = reference.rows * reference.length;
    assert_true(reference.length <= SEQ_LENGTH);
    for (int64_t n = 0; n < input->num; n++)
        input->lengths[n] = reference.length;
    for (int64_t i = 0; i < input->num_tokens; i++) {
        input->tokens[i] = reference.batch[0].tokens[i];
        input->targets[i] = reference.batch[0].labels[i];
        input->expected[i] = input->targets[i] < 0 ? 0 : -(double)losses[i];
    }
    free(losses);
    tri_case_fini(&reference);
    tri_error_destroy(&err);
}

static struct tri_score_request request_of(const struct input *input)
{
    return (struct tri_score_request){
        .num_sequences = input->num, .lengths = input->lengths, .tokens = input->tokens};
}

/* ---- running ---- */

/* One launch: the request on a grid. Results of the first and of the last rank. */
struct run {
    struct grid grid;
    int micro, global;
    struct tri_score_request request;
    /* What rank 1 is given instead, or NULL. */
    const struct tri_score_request *other;
    bool again; /* a request that is refused first */
    const struct tri_score_request *refused;
    enum { ON_BOTH, ON_ONE, ON_NONE } entropies; /* of the two ranks */
    struct results {
        float logprobs[MAX_TOKENS], entropies[MAX_TOKENS];
        double sums[MAX_SEQUENCES];
        int64_t counts[MAX_SEQUENCES];
    } first, last;
    struct tri_run_config config;
};

static int num_ranks(const struct grid *g)
{
    return g->tp * g->pp * g->dp;
}

static void read_config(struct run *run, tri_error *err)
{
    char from[128], tp[64], pp[64], impl[64];
    snprintf(from, sizeof from, "--shape-from=golden/hf/%s/model", case_name);
    snprintf(impl, sizeof impl, "--transformer-impl=%s", implementation);
    snprintf(tp, sizeof tp, "--tensor-model-parallel-size=%d", run->grid.tp);
    snprintf(pp, sizeof pp, "--pipeline-model-parallel-size=%d", run->grid.pp);
    char *words[] = {from, tp, pp, impl, NULL};
    assert_int_equal(tri_run_config_read(4, words, 0, NULL, &run->config, err), TRI_OK);
    run->config.placement.sequence_parallel = run->grid.sequence_parallel;
    run->config.placement.team_size = 1;
    run->config.shape.seq_length = SEQ_LENGTH;
    run->config.train.micro_batch_size = run->micro;
    run->config.train.global_batch_size = run->global;
}

/* The refused request, then the good one. */
static tri_status score_rank(struct run *run, struct tri_session *session, tri_scorer *scorer)
{
    int rank = session->world->rank, last = session->world->size - 1;
    const struct tri_score_request *request = rank == 1 && run->other ? run->other : &run->request;
    struct results *to = rank == 0 ? &run->first : &run->last;
    bool wants = run->entropies == ON_BOTH || (run->entropies == ON_ONE && rank == last);
    const struct tri_scores wanted = {to->logprobs, to->sums, to->counts,
                                      wants ? to->entropies : NULL},
                            nothing = {0};
    if (run->refused) {
        tri_status expected = rank == 0 ? TRI_INVALID : TRI_PEER;
        if (tri_scorer_run(scorer, run->refused, &nothing) != expected)
            return tri_error_set(session->err, TRI_BUG, "another status");
        if (!run->again)
            return expected;
        tri_error_clear(session->err);
    }
    return tri_scorer_run(scorer, request, rank == 0 || rank == last ? &wanted : &nothing);
}

static tri_status body(void *arg, tri_world *world)
{
    struct run *run = arg;
    struct tri_session_request make = {
        .config = &run->config, .world = world, .forward_only = true};
    struct tri_session *session = NULL;
    tri_scorer *scorer = NULL;
    char dir[64];
    snprintf(dir, sizeof dir, "golden/hf/%s/model", case_name);
    TRI_TRY(tri_session_create(&make, &session));
    tri_status status = tri_session_load(session, dir);
    if (status == TRI_OK)
        status = tri_scorer_create(session, &scorer);
    if (status == TRI_OK)
        status = score_rank(run, session, scorer);
    tri_scorer_destroy(&scorer);
    tri_session_destroy(&session);
    return status;
}

/* Records of the ranks go to err as they are. */
static tri_status launch(struct run *run, tri_error *err)
{
    tri_error *errs[MAX_RANKS];
    struct tri_launch request = {.ranks = num_ranks(&run->grid), .time_limit_seconds = 600};
    for (int i = 0; i < request.ranks; i++)
        errs[i] = tri_error_create();
    memset(&run->first, 0x55, sizeof run->first);
    memset(&run->last, 0x55, sizeof run->last);
    read_config(run, err);
    tri_status status = tri_launch_run(&request, body, run, errs);
    for (int i = 0; i < request.ranks; i++) {
        for (int k = 0; k < tri_error_count(errs[i]); k++)
            if (tri_error_status_at(errs[i], k) != TRI_PEER)
                tri_error_add(err, tri_error_status_at(errs[i], k), "%s",
                              tri_error_message(errs[i], k));
        tri_error_destroy(&errs[i]);
    }
    if (request.ranks == 1)
        run->last = run->first;
    return status;
}

static void score(struct run *run)
{
    tri_error *err = tri_error_create();
    tri_status status = launch(run, err);
    for (int k = 0; k < tri_error_count(err); k++)
        print_error("%s\n", tri_error_message(err, k));
    assert_int_equal(status, TRI_OK);
    int64_t num = 0;
    for (int64_t n = 0; n < run->request.num_sequences; n++)
        num += run->request.lengths[n];
    size_t rows = (size_t)run->request.num_sequences;
    assert_memory_equal(run->first.logprobs, run->last.logprobs, (size_t)num * sizeof(float));
    if (run->entropies == ON_BOTH)
        assert_memory_equal(run->first.entropies, run->last.entropies, (size_t)num * sizeof(float));
    assert_memory_equal(run->first.sums, run->last.sums, rows * sizeof(double));
    assert_memory_equal(run->first.counts, run->last.counts, rows * sizeof(int64_t));
    tri_error_destroy(&err);
}

static struct run run_on(const struct grid *g, int micro, int global)
{
    return (struct run){.grid = *g, .micro = micro, .global = global};
}

static struct grid without_pp_dp(const struct grid *g)
{
    return (struct grid){g->name, g->tp, 1, 1, g->sequence_parallel};
}

/* ---- against transformers ---- */

static void check_values(const struct run *run, const struct input *input)
{
    int64_t at = 0;
    double worst = 0, worst_entropy = 0;
    for (int64_t n = 0; n < input->num; n++) {
        double sum = 0;
        int64_t count = 0;
        for (int64_t t = 0; t < input->lengths[n]; t++, at++) {
            double difference = fabs((double)run->first.logprobs[at] - input->expected[at]);
            worst = difference <= worst ? worst : difference;
            difference = fabs((double)run->first.entropies[at] - input->entropies[at]);
            worst_entropy = difference <= worst_entropy ? worst_entropy : difference;
            sum += (double)run->first.logprobs[at];
            count += input->expected[at] != 0;
        }
        assert_true(sum == run->first.sums[n]);
        assert_int_equal(count, run->first.counts[n]);
    }
    print_message("largest difference %.2e, of entropies %.2e\n", worst,
                  input->has_entropies ? worst_entropy : 0.0);
    assert_true(worst <= BOUND);
    assert_true(worst_entropy <= BOUND || !input->has_entropies);
}

static void token_losses_are_those_of_transformers(void **state)
{
    struct input input;
    struct run run = run_on(grid, 1, 4);
    read_losses(&input);
    run.request = request_of(&input);
    run.request.targets = input.targets;
    score(&run);
    check_values(&run, &input);
    (void)state;
}

static void ragged_sequences_are_those_of_transformers(void **state)
{
    for (int micro = 1; micro <= 3; micro++) {
        struct input input;
        struct run run = run_on(grid, micro, 4 * micro);
        read_ragged(&input);
        run.request = request_of(&input);
        score(&run);
        check_values(&run, &input);
    }
    (void)state;
}

/* ---- what must not change a bit ---- */

static void assert_same_start(const struct run *a, const struct run *b, int64_t num_tokens)
{
    for (int64_t i = 0; i < num_tokens; i++)
        if (a->first.logprobs[i] != b->first.logprobs[i])
            fail_msg("value %lld is %.9g and %.9g", (long long)i, (double)a->first.logprobs[i],
                     (double)b->first.logprobs[i]);
    assert_memory_equal(a->first.entropies, b->first.entropies, (size_t)num_tokens * sizeof(float));
}

static void pp_dp_and_the_batch_change_no_bit(void **state)
{
    for (int micro = 1; micro <= 3; micro++) {
        struct input input;
        struct grid fewer = without_pp_dp(grid);
        struct run a = run_on(&fewer, micro, micro), b = run_on(grid, micro, 4 * micro);
        read_ragged(&input);
        a.request = b.request = request_of(&input);
        score(&a);
        score(&b);
        assert_same_start(&a, &b, input.num_tokens);
    }
    (void)state;
}

static void fewer_sequences_change_no_bit(void **state)
{
    for (int micro = 1; micro <= 2; micro++) {
        struct input input;
        struct run all = run_on(grid, micro, 4 * micro);
        int64_t num_tokens = 0;
        read_ragged(&input);
        all.request = request_of(&input);
        score(&all);
        for (int64_t num = 0; num <= 5; num++) {
            struct run some = run_on(grid, micro, 4 * micro);
            some.request = request_of(&input);
            some.request.num_sequences = num;
            score(&some);
            assert_same_start(&some, &all, num_tokens);
            num_tokens += input.lengths[num];
        }
    }
    (void)state;
}

/* Alone in its microbatch a sequence may stand anywhere. */
static void another_order_changes_no_bit(void **state)
{
    struct input input, turned = {0};
    struct run a = run_on(grid, 1, 4), b = run_on(grid, 1, 4);
    read_ragged(&input);
    int64_t end = input.num_tokens, begin = 0;
    for (int64_t n = input.num - 1; n >= 0; n--) {
        turned.lengths[turned.num++] = input.lengths[n];
        end -= input.lengths[n];
        memcpy(turned.tokens + turned.num_tokens, input.tokens + end,
               (size_t)input.lengths[n] * sizeof(int32_t));
        turned.num_tokens += input.lengths[n];
    }
    a.request = request_of(&input);
    b.request = request_of(&turned);
    score(&a);
    score(&b);
    end = input.num_tokens;
    for (int64_t n = 0; n < input.num; n++) {
        end -= input.lengths[n];
        assert_memory_equal(a.first.logprobs + begin, b.first.logprobs + end,
                            (size_t)input.lengths[n] * sizeof(float));
        assert_memory_equal(a.first.entropies + begin, b.first.entropies + end,
                            (size_t)input.lengths[n] * sizeof(float));
        begin += input.lengths[n];
    }
    (void)state;
}

/* Asked for on one rank they are the same, and asked for or not they change no log-probability. */
static void entropies_change_no_bit(void **state)
{
    struct input input;
    struct run both = run_on(grid, 2, 8), one = both, none = both;
    read_ragged(&input);
    both.request = one.request = none.request = request_of(&input);
    one.entropies = ON_ONE;
    none.entropies = ON_NONE;
    score(&both);
    score(&one);
    score(&none);
    size_t bytes = (size_t)input.num_tokens * sizeof(float);
    assert_memory_equal(one.last.entropies, both.last.entropies, bytes);
    assert_memory_equal(one.first.logprobs, both.first.logprobs, bytes);
    assert_memory_equal(none.first.logprobs, both.first.logprobs, bytes);
    for (size_t i = 0; i < bytes; i++) /* nothing was written where it was not asked for */
        assert_int_equal(((unsigned char *)none.first.entropies)[i], 0x55);
    (void)state;
}

/* ---- what is wanted ---- */

static void prompts_and_masks_leave_values_out(void **state)
{
    struct input input;
    struct run all = run_on(grid, 2, 8), some = run_on(grid, 2, 8);
    read_ragged(&input);
    int64_t at = 0;
    for (int64_t n = 0; n < input.num; n++)
        input.prompts[n] = n % 3 == 0 ? 0 : input.lengths[n] / (n % 3);
    for (int64_t i = 0; i < input.num_tokens; i++)
        input.mask[i] = i % 5 != 2;
    all.request = some.request = request_of(&input);
    some.request.prompt_lengths = input.prompts;
    some.request.mask = input.mask;
    score(&all);
    score(&some);
    for (int64_t n = 0; n < input.num; n++) {
        int64_t count = 0;
        double sum = 0;
        for (int64_t t = 0; t < input.lengths[n]; t++, at++) {
            bool wanted = t > 0 && t >= input.prompts[n] && input.mask[at];
            assert_true(some.first.logprobs[at] == (wanted ? all.first.logprobs[at] : 0));
            assert_true(some.first.entropies[at] == (wanted ? all.first.entropies[at] : 0));
            sum += (double)some.first.logprobs[at];
            count += wanted;
        }
        assert_int_equal(some.first.counts[n], count);
        assert_true(some.first.sums[n] == sum);
    }
    (void)state;
}

/* ---- what is refused ---- */

static void expect(const tri_error *err, int num, const char *const *messages)
{
    for (int i = 0; i < tri_error_count(err) && i < num; i++)
        assert_string_equal(tri_error_message(err, i), messages[i]);
    assert_int_equal(tri_error_count(err), num);
}

static void every_problem_is_named_at_once(void **state)
{
    static const char *const messages[] = {
        "sequence 0 has 0 tokens; give 1 or more",
        "sequence 1, position 2: token 20000 is outside the vocabulary; use 0 to %d",
        ("sequence 2 has 26 tokens, which take 25 positions; make the session with --seq-length 25 "
         "instead of 24, or shorten it"),
        "sequence 3 has a prompt of 3 tokens and 2 in all; use 0 to 2",
        "sequence 4, position 0: token -1 is outside the vocabulary; use 0 to %d",
        "sequence 5 has 76 tokens, which take 75 positions; the model knows %d, so shorten it",
    };
    static char texts[6][256];
    const char *expected[6];
    int64_t lengths[] = {0, 4, 26, 2, 1, 76}, prompts[] = {0, 0, 0, 3, 0, 0};
    int32_t tokens[128] = {[2] = 20000, [3] = 20001, [32] = -1};
    struct tri_score_request wrong = {
        .num_sequences = 6, .lengths = lengths, .tokens = tokens, .prompt_lengths = prompts};
    struct run run = run_on(grid, 1, 4);
    tri_error *err = tri_error_create();
    run.refused = &wrong;
    assert_int_equal(launch(&run, err), TRI_INVALID);
    for (int i = 0; i < 6; i++) {
        int64_t number =
            i == 5 ? run.config.shape.max_position_embeddings : run.config.shape.vocab_size - 1;
        const char *place = strstr(messages[i], "%d");
        snprintf(texts[i], sizeof texts[i], "%.*s", place ? (int)(place - messages[i]) : 255,
                 messages[i]);
        if (place)
            snprintf(texts[i] + strlen(texts[i]), sizeof texts[i] - strlen(texts[i]), "%lld%s",
                     (long long)number, place + 2);
        expected[i] = texts[i];
    }
    expect(err, 6, expected);
    tri_error_destroy(&err);
    (void)state;
}

static void many_problems_are_counted(void **state)
{
    int64_t lengths[25] = {0};
    int32_t token = 0;
    struct tri_score_request wrong = {.num_sequences = 25, .lengths = lengths, .tokens = &token};
    struct run run = run_on(grid, 1, 4);
    tri_error *err = tri_error_create();
    run.refused = &wrong;
    assert_int_equal(launch(&run, err), TRI_INVALID);
    assert_int_equal(tri_error_count(err), 21);
    assert_string_equal(tri_error_message(err, 19), "sequence 19 has 0 tokens; give 1 or more");
    assert_string_equal(tri_error_message(err, 20), "5 more problems of this request");
    tri_error_destroy(&err);
    (void)state;
}

static void refuse(struct tri_score_request wrong, const char *message)
{
    struct run run = run_on(grid, 1, 4);
    tri_error *err = tri_error_create();
    run.refused = &wrong;
    assert_int_equal(launch(&run, err), TRI_INVALID);
    expect(err, 1, &message);
    tri_error_destroy(&err);
}

static void single_problems_are_named(void **state)
{
    int64_t length = 3, negative = -5;
    int32_t tokens[] = {1, 2, 3}, targets[] = {-100, 30000, 4};
    char text[128];
    struct run any = run_on(grid, 1, 4);
    tri_error *err = tri_error_create();
    read_config(&any, err);
    tri_error_destroy(&err);
    snprintf(text, sizeof text,
             "sequence 0, position 1: target 30000 is outside the vocabulary; use 0 to %lld",
             (long long)any.config.shape.vocab_size - 1);
    struct tri_score_request right = {.num_sequences = 1, .lengths = &length, .tokens = tokens};
    struct tri_score_request wrong = right;
    wrong.targets = targets;
    refuse(wrong, text);
    wrong = right;
    wrong.lengths = &negative;
    refuse(wrong, "sequence 0 has -5 tokens; give 1 or more");
    wrong = right;
    wrong.num_sequences = -2;
    refuse(wrong, "-2 sequences; use 0 or more");
    wrong = right;
    wrong.lengths = NULL;
    refuse(wrong, "1 sequences without lengths");
    wrong = right;
    wrong.tokens = NULL;
    refuse(wrong, "1 sequences without tokens");
    wrong = right;
    wrong.prompt_lengths = &negative;
    refuse(wrong, "sequence 0 has a prompt of -5 tokens and 3 in all; use 0 to 3");
    (void)state;
}

static void a_scorer_goes_on_after_a_refusal(void **state)
{
    int64_t length = 0;
    int32_t token = 0;
    struct tri_score_request wrong = {.num_sequences = 1, .lengths = &length, .tokens = &token};
    struct input input;
    struct run run = run_on(grid, 1, 4);
    read_ragged(&input);
    run.request = request_of(&input);
    run.refused = &wrong;
    run.again = true;
    score(&run);
    check_values(&run, &input);
    (void)state;
}

static void another_request_on_one_rank_is_refused(void **state)
{
    struct input input, other;
    struct run run = run_on(grid, 1, 4);
    if (num_ranks(grid) == 1)
        skip();
    tri_error *err = tri_error_create();
    read_ragged(&input);
    read_ragged(&other);
    other.tokens[5] ^= 1;
    struct tri_score_request otherwise = request_of(&other);
    run.request = request_of(&input);
    run.other = &otherwise;
    assert_int_equal(launch(&run, err), TRI_INVALID);
    assert_non_null(
        strstr(tri_error_message(err, 0), "was given other sequences to score than other ranks"));
    tri_error_destroy(&err);
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
        cmocka_unit_test(token_losses_are_those_of_transformers),
        cmocka_unit_test(ragged_sequences_are_those_of_transformers),
        cmocka_unit_test(pp_dp_and_the_batch_change_no_bit),
        cmocka_unit_test(fewer_sequences_change_no_bit),
        cmocka_unit_test(another_order_changes_no_bit),
        cmocka_unit_test(entropies_change_no_bit),
        cmocka_unit_test(prompts_and_masks_leave_values_out),
        cmocka_unit_test(every_problem_is_named_at_once),
        cmocka_unit_test(many_problems_are_counted),
        cmocka_unit_test(single_problems_are_named),
        cmocka_unit_test(a_scorer_goes_on_after_a_refusal),
        cmocka_unit_test(another_request_on_one_rank_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
