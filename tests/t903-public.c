/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public face through <trine/trine.h> alone: requests put together from several sources, plans,
 * token files, launches and their records, training with hooks, evaluation and generation, and what is
 * said when something is wrong.
 */
#include <trine/trine.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define VOCAB 24

static const char description[] =
    "shape: {num_layers: 2, hidden_size: 16, num_attention_heads: 2, seq_length: 8, vocab_size: "
    "24,\n"
    "        max_position_embeddings: 16, hidden_dropout: 0, attention_dropout: 0}\n"
    "train: {micro_batch_size: 2, global_batch_size: 4, train_iters: 3, lr: 0.01, eval_iters: 2}\n"
    "data: {split: \"1,1,0\"}\n";

struct fixture {
    tri_error *err;
    tri_run *run;
    char folder[64], corpus[80], model[80];
};

static int setup(void **state)
{
    static struct fixture fixture;
    fixture.err = tri_error_create();
    fixture.run = tri_run_create();
    snprintf(fixture.folder, sizeof fixture.folder, "/tmp/t903-XXXXXX");
    assert_non_null(mkdtemp(fixture.folder));
    snprintf(fixture.corpus, sizeof fixture.corpus, "%s/corpus", fixture.folder);
    snprintf(fixture.model, sizeof fixture.model, "%s/model", fixture.folder);
    assert_int_equal(tri_run_read_text(fixture.run, description, "here", fixture.err), TRI_OK);
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", fixture->folder);
    assert_int_equal(system(command), 0);
    tri_run_destroy(&fixture->run);
    tri_run_destroy(&fixture->run);
    tri_error_destroy(&fixture->err);
    return 0;
}

/* Some message of the record has both texts; the record is emptied. */
static void assert_says(struct fixture *fixture, const char *a, const char *b)
{
    bool found = false;
    for (int i = 0; i < tri_error_count(fixture->err); i++) {
        const char *message = tri_error_message(fixture->err, i);
        found = found || (strstr(message, a) && strstr(message, b));
    }
    if (!found)
        for (int i = 0; i < tri_error_count(fixture->err); i++)
            print_message("%s\n", tri_error_message(fixture->err, i));
    assert_true(found);
    tri_error_clear(fixture->err);
}

static void assert_good(struct fixture *fixture, tri_status status)
{
    if (status != TRI_OK)
        print_message("%s\n", tri_error_message(fixture->err, 0));
    assert_int_equal(status, TRI_OK);
}

static const struct tri_run_config *complete(struct fixture *fixture)
{
    const struct tri_run_config *config = NULL;
    assert_good(fixture, tri_run_complete(fixture->run, &config, fixture->err));
    return config;
}

static void set(struct fixture *fixture, const char *name, const char *text)
{
    assert_good(fixture, tri_run_set(fixture->run, name, text, fixture->err));
}

/* The completed request as a run file has this line. */
static void assert_prints(struct fixture *fixture, const char *line)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    tri_run_config_print(out, complete(fixture), false);
    fclose(out);
    if (!strstr(text, line))
        print_message("no '%s' in:\n%s\n", line, text);
    assert_non_null(strstr(text, line));
    free(text);
}

static void write_corpus(struct fixture *fixture)
{
    int32_t tokens[600];
    int64_t lengths[10];
    for (int i = 0; i < 600; i++)
        tokens[i] = (i * i + i / 7) % VOCAB;
    for (int d = 0; d < 10; d++)
        lengths[d] = 60;
    assert_good(fixture,
                tri_tokens_write(fixture->corpus, VOCAB, tokens, lengths, 10, fixture->err));
    set(fixture, "data_path", fixture->corpus);
}

/* What is derived follows values that are given later. */
static void later_values_count(void **state)
{
    struct fixture *fixture = *state;
    char *flags[] = {"program", "--num-attention-heads", "4", "--swiglu"};
    assert_prints(fixture, "ffn_hidden_size: 64");
    set(fixture, "hidden_size", "32");
    assert_prints(fixture, "ffn_hidden_size: 128");
    assert_good(fixture, tri_run_read_flags(fixture->run, 4, flags, fixture->err));
    assert_prints(fixture, "kv_channels: 8");
    assert_prints(fixture, "gated_linear_unit: true");
    assert_good(fixture, tri_run_read_text(fixture->run, "train: {seed: 7}", "more", fixture->err));
    assert_prints(fixture, "seed: 7");
    assert_prints(fixture, "train_iters: 3");
}

static void flags_go_over_files(void **state)
{
    struct fixture *fixture = *state;
    char path[128];
    snprintf(path, sizeof path, "%s/run.yaml", fixture->folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "train: {seed: 11, train_iters: 9}\n");
    fclose(file);
    char *flags[] = {"program", "--seed", "12", path};
    assert_good(fixture, tri_run_read_flags(fixture->run, 4, flags, fixture->err));
    assert_prints(fixture, "seed: 12");
    assert_prints(fixture, "train_iters: 9");
    char *many[] = {"program", path, "other.yaml"};
    assert_int_equal(tri_run_read_flags(fixture->run, 3, many, fixture->err), TRI_INVALID);
    assert_says(fixture, "other.yaml", "one word too many");
}

static void wrong_requests_are_named(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(tri_run_set(fixture->run, "num_layer", "3", fixture->err), TRI_INVALID);
    assert_says(fixture, "num_layer", "num_layers");
    assert_int_equal(tri_run_set(fixture->run, "lr", "fast", fixture->err), TRI_INVALID);
    assert_says(fixture, "lr", "fast");
    assert_int_equal(tri_run_read_text(fixture->run, "shape: {layers: 3}", "mine", fixture->err),
                     TRI_INVALID);
    assert_says(fixture, "mine:1", "layers");
    assert_int_not_equal(tri_run_read_file(fixture->run, "not-there.yaml", fixture->err), TRI_OK);
    assert_says(fixture, "not-there.yaml", "");
    set(fixture, "tensor_model_parallel_size", "3");
    const struct tri_run_config *config = complete(fixture);
    assert_int_equal(tri_run_print_plan(NULL, config, NULL, 3, 0, fixture->err), TRI_INVALID);
    assert_says(fixture, "num_attention_heads", "3");
    set(fixture, "tensor_model_parallel_size", "1");
    config = complete(fixture);
    assert_int_equal(tri_run_print_plan(NULL, config, NULL, 2, 2, fixture->err), TRI_INVALID);
    assert_says(fixture, "rank 2", "0 to 1");
    assert_good(fixture, tri_run_print_plan(NULL, config, NULL, 2, -1, fixture->err));
}

static void tokens_outside_are_refused(void **state)
{
    struct fixture *fixture = *state;
    const int32_t tokens[] = {1, 2, 3, VOCAB, 4};
    const int64_t lengths[] = {2, 3};
    assert_int_equal(tri_tokens_write(fixture->corpus, VOCAB, tokens, lengths, 2, fixture->err),
                     TRI_INVALID);
    assert_says(fixture, "token 1 of document 1 has the id 24", "0 to 23");
    char path[96];
    snprintf(path, sizeof path, "%s.idx", fixture->corpus);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_not_equal(
        tri_tokens_write("/not/there/corpus", VOCAB, tokens, lengths, 1, fixture->err), TRI_OK);
    assert_says(fixture, "/not/there/corpus", "");
}

static tri_status fail_on_one(void *arg, tri_world *world)
{
    assert_int_equal(tri_world_get_size(world), 3);
    if (tri_world_get_rank(world) == *(int *)arg)
        return tri_error_set(tri_world_get_error(world), TRI_NUMERIC, "a cause of %d", 42);
    return TRI_OK;
}

static void launches_gather_their_records(void **state)
{
    struct fixture *fixture = *state;
    int failing = 1;
    set(fixture, "ranks", "3");
    assert_int_equal(
        tri_launch_config(complete(fixture), NULL, fail_on_one, &failing, NULL, fixture->err),
        TRI_NUMERIC);
    assert_int_equal(tri_error_count(fixture->err), 1);
    assert_string_equal(tri_error_message(fixture->err, 0), "rank 1: a cause of 42");
    tri_error_clear(fixture->err);
    failing = -1;
    assert_good(fixture, tri_launch_config(complete(fixture), NULL, fail_on_one, &failing, NULL,
                                           fixture->err));
    assert_int_equal(tri_error_count(fixture->err), 0);
}

/* A report gets the messages instead of the record. */
static char reported[200];

static void keep_report(const tri_error *err)
{
    snprintf(reported, sizeof reported, "%d: %s", tri_error_count(err), tri_error_message(err, 0));
}

static void a_report_speaks(void **state)
{
    struct fixture *fixture = *state;
    int failing = 1;
    set(fixture, "ranks", "3");
    assert_int_equal(tri_launch_config(complete(fixture), NULL, fail_on_one, &failing, keep_report,
                                       fixture->err),
                     TRI_NUMERIC);
    assert_string_equal(reported, "1: rank 1: a cause of 42");
    assert_int_equal(tri_error_count(fixture->err), 0);
}

/* What hooks saw; one rank of the last stage runs them. */
struct seen {
    double last_loss;
    int64_t num_lines;
    tri_status loss_status, provider_status;
    const char *path;
};

static void note_loss(void *arg, int64_t done, int64_t total, double seconds_left, double loss)
{
    struct seen *seen = arg;
    (void)done, (void)total, (void)seconds_left;
    seen->last_loss = loss;
    seen->num_lines++;
}

static tri_status twice(void *user, const struct tri_microbatch *microbatch,
                        const float *token_loss, float *weights, struct tri_loss_term *term)
{
    const struct seen *seen = user;
    int64_t num = microbatch->rows * microbatch->length;
    *term = (struct tri_loss_term){.count = (double)microbatch->num_valid};
    for (int64_t i = 0; i < num; i++) {
        weights[i] = microbatch->labels[i] >= 0 ? 2.0f : 0.0f;
        term->value += 2.0 * (double)token_loss[i];
    }
    return seen->loss_status;
}

static tri_status forward_step(void *user, struct tri_slice *slice, struct tri_slot *slot, int unit,
                               int num_units, tri_loss_fn **loss)
{
    (void)user;
    *loss = twice;
    return tri_slice_forward(slice, slot, unit, num_units);
}

static tri_status provider(void *user, const struct tri_gpt_config *shape,
                           const struct tri_spec_config *spec_config, tri_error *err,
                           struct tri_model_spec **spec)
{
    const struct seen *seen = user;
    struct tri_model_spec *made = NULL;
    tri_status status = tri_model_spec_create(shape, spec_config, err, &made);
    if (status == TRI_OK && seen->path)
        status = tri_model_spec_override(made, seen->path, "plain", err);
    if (status == TRI_OK)
        assert_int_equal(tri_model_spec_num_layers(made), 2);
    if (status == TRI_OK)
        *spec = made;
    else
        tri_model_spec_destroy(&made);
    return status;
}

static tri_status train(struct fixture *fixture, struct seen *seen, const struct tri_hooks *hooks)
{
    struct tri_pretrain_request request = {.config = complete(fixture),
                                           .hooks = hooks,
                                           .observer = {.arg = seen, .progress = note_loss}};
    return tri_launch_config(request.config, NULL, tri_pretrain, &request, NULL, fixture->err);
}

/* A loss that counts everything twice: the loss doubles, and Adam does not care about a factor. */
static void losses_of_hooks_hold(void **state)
{
    struct fixture *fixture = *state;
    struct seen plain = {0}, doubled = {0};
    struct tri_hooks hooks = {.user = &doubled, .forward_step = forward_step};
    write_corpus(fixture);
    set(fixture, "ranks", "2");
    set(fixture, "pipeline_model_parallel_size", "2");
    set(fixture, "clip_grad", "0");
    assert_good(fixture, train(fixture, &plain, NULL));
    assert_good(fixture, train(fixture, &doubled, &hooks));
    assert_int_equal(doubled.num_lines, 3);
    assert_float_equal(doubled.last_loss, 2 * plain.last_loss, 1e-4);

    /* A hook's failure ends every rank, with the status it gave. */
    doubled.loss_status = TRI_NUMERIC;
    assert_int_equal(train(fixture, &doubled, &hooks), TRI_NUMERIC);
    tri_error_clear(fixture->err);
}

static void specs_of_hooks_hold(void **state)
{
    struct fixture *fixture = *state;
    struct seen seen = {.path = "decoder.layers[1].self_attention.core_attention"}, other = {0};
    struct tri_hooks hooks = {.user = &seen, .model_provider = provider};
    write_corpus(fixture);
    assert_good(fixture, train(fixture, &seen, &hooks));
    assert_good(fixture, train(fixture, &other, NULL));
    assert_float_equal(seen.last_loss, other.last_loss, 1e-5);

    seen.path = "decoder.layers[1].mlp.linear_fc3";
    assert_int_equal(tri_run_print_plan(NULL, complete(fixture), &hooks, 1, 0, fixture->err),
                     TRI_INVALID);
    assert_says(fixture, "linear_fc3", "linear_fc1");
}

struct use {
    struct fixture *fixture;
    const struct tri_run_config *config;
    struct tri_evaluation evaluation;
    int32_t tokens[4];
    int num_tokens;
    tri_status status;
};

static tri_status evaluate(void *arg, tri_world *world)
{
    struct use *use = arg;
    struct tri_session_request request = {
        .config = use->config, .world = world, .forward_only = true};
    struct tri_session *session = NULL;
    struct tri_evaluation evaluation;
    tri_status status = tri_session_create(&request, &session);
    if (status == TRI_OK)
        status = tri_session_load(session, use->fixture->model);
    if (status == TRI_OK)
        status = tri_evaluate_part(session, TRI_DATA_VALID, &evaluation);
    if (status == TRI_OK && tri_world_get_rank(world) == 0)
        use->evaluation = evaluation;
    tri_session_destroy(&session);
    return status;
}

static void keep_token(void *arg, int32_t id)
{
    struct use *use = arg;
    if (use->num_tokens < 4)
        use->tokens[use->num_tokens++] = id;
}

static tri_status generate(void *arg, tri_world *world)
{
    struct use *use = arg;
    const int32_t prompt[] = {1, 5, 3};
    struct tri_session_request make = {
        .config = use->config, .world = world, .forward_only = true, .cache_length = 6};
    struct tri_generate_request request = {.prompt = prompt,
                                           .num_prompt = 3,
                                           .max_new_tokens = 3,
                                           .max_positions = 6,
                                           .token = keep_token,
                                           .arg = use};
    struct tri_session *session = NULL;
    enum tri_stop_reason reason;
    int32_t last = -1;
    tri_status status = tri_session_create(&make, &session);
    if (status == TRI_OK)
        status = tri_session_load(session, use->fixture->model);
    if (status == TRI_OK)
        status = tri_generate(tri_session_get_model(session), tri_session_get_executor(session),
                              &request, &reason, &last);
    if (status == TRI_OK) {
        assert_int_equal(reason, TRI_STOP_LENGTH);
        assert_int_equal(last, use->tokens[2]);
    }
    tri_session_destroy(&session);
    return status;
}

/* Train on two stages, evaluate on two tensor-parallel ranks and on one, generate on one. */
static void saved_models_are_used(void **state)
{
    struct fixture *fixture = *state;
    struct seen seen = {0};
    struct use use = {.fixture = fixture};
    write_corpus(fixture);
    set(fixture, "save", fixture->model);
    set(fixture, "ranks", "2");
    set(fixture, "pipeline_model_parallel_size", "2");
    assert_good(fixture, train(fixture, &seen, NULL));

    set(fixture, "pipeline_model_parallel_size", "1");
    set(fixture, "tensor_model_parallel_size", "2");
    use.config = complete(fixture);
    assert_good(fixture, tri_launch_config(use.config, NULL, evaluate, &use, NULL, fixture->err));
    double loss = tri_evaluation_loss(&use.evaluation);
    assert_true(use.evaluation.num_tokens == 2 * 4 * 8);
    assert_true(loss > 1 && loss < 4);
    set(fixture, "ranks", "1");
    set(fixture, "tensor_model_parallel_size", "1");
    use.config = complete(fixture);
    assert_good(fixture, tri_launch_config(use.config, NULL, evaluate, &use, NULL, fixture->err));
    assert_float_equal(tri_evaluation_loss(&use.evaluation), loss, 1e-5);

    set(fixture, "micro_batch_size", "1");
    set(fixture, "global_batch_size", "1");
    use.config = complete(fixture);
    assert_good(fixture, tri_launch_config(use.config, NULL, generate, &use, NULL, fixture->err));
    assert_int_equal(use.num_tokens, 3);
    for (int i = 0; i < 3; i++)
        assert_in_range(use.tokens[i], 0, VOCAB - 1);

    snprintf(fixture->model, sizeof fixture->model, "%s", fixture->folder);
    assert_int_not_equal(tri_launch_config(use.config, NULL, evaluate, &use, NULL, fixture->err),
                         TRI_OK);
    assert_says(fixture, fixture->folder, "");
}

/* A request to stop is obeyed at the end of a step. */
static void runs_stop_on_request(void **state)
{
    struct fixture *fixture = *state;
    struct seen seen = {0};
    struct tri_cancel cancel;
    tri_cancel_init(&cancel);
    tri_cancel_request(&cancel);
    assert_true(tri_cancel_requested(&cancel));
    write_corpus(fixture);
    struct tri_pretrain_request request = {.config = complete(fixture),
                                           .observer = {.arg = &seen, .progress = note_loss},
                                           .cancel = &cancel};
    assert_int_equal(
        tri_launch_config(request.config, NULL, tri_pretrain, &request, NULL, fixture->err),
        TRI_STOPPED);
    assert_int_equal(seen.num_lines, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(later_values_count),
        TEST(flags_go_over_files),
        TEST(wrong_requests_are_named),
        TEST(tokens_outside_are_refused),
        TEST(launches_gather_their_records),
        TEST(a_report_speaks),
        TEST(losses_of_hooks_hold),
        TEST(specs_of_hooks_hold),
        TEST(saved_models_are_used),
        TEST(runs_stop_on_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
