/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole training runs on in-process ranks in which one rank stalls in an operation, gives up in a hook, or
 * makes a gradient that is no number. Every survivor names the rank, and for a stall also the group and the
 * operation; what was saved before is whole, and nothing is left half-written.
 */
#include "checkpoint/inspect.h"
#include "comm/comm.h"
#include "kernels/reduce.h"
#include "nn/slot.h"
#include "trine/trine.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define NUM_RANKS     4
#define LIMIT_SECONDS 1.0

static char folder[] = "/tmp/trine-test-XXXXXX";

static const char run_text[] =
    "shape: {num_layers: 2, hidden_size: 16, num_attention_heads: 4, vocab_size: 101, seq_length: "
    "16}\n"
    "placement: {team_size: 1}\n"
    "train: {global_batch_size: 4, train_iters: 6, lr: 1.0e-3, ranks: 4}\n"
    "data: {split: '1,0,0'}\n"
    "checkpoint: {save_interval: 2}\n";

/* Options by name and value, NULL-ended, over the usual ones. */
typedef const char *const *settings;

static tri_run *make_run(settings options)
{
    tri_error *err = tri_error_create();
    tri_run *run = tri_run_create();
    char data[64], save[64];
    snprintf(data, sizeof data, "%s/data", folder);
    snprintf(save, sizeof save, "%s/out", folder);
    assert_int_equal(tri_run_read_text(run, run_text, "run", err), TRI_OK);
    assert_int_equal(tri_run_set(run, "data_path", data, err), TRI_OK);
    assert_int_equal(tri_run_set(run, "save", save, err), TRI_OK);
    for (; *options; options += 2)
        assert_int_equal(tri_run_set(run, options[0], options[1], err), TRI_OK);
    tri_error_destroy(&err);
    return run;
}

struct plan {
    struct tri_pretrain_request request;
    const struct tri_fault_plan *fault; /* NULL: none */
    tri_error *errs[NUM_RANKS];
    tri_status status[NUM_RANKS];
};

static tri_status body(void *arg, tri_world *inner)
{
    struct plan *plan = arg;
    int rank = inner->rank;
    if (!plan->fault)
        return plan->status[rank] = tri_pretrain(&plan->request, inner);
    tri_world *world;
    TRI_TRY(tri_world_wrap_fault(inner, plan->fault, &world));
    plan->status[rank] = tri_pretrain(&plan->request, world);
    tri_world_destroy(&world);
    return plan->status[rank];
}

static void plan_run(struct plan *plan, settings options)
{
    tri_error *err = tri_error_create();
    tri_run *run = make_run(options);
    assert_int_equal(tri_run_complete(run, &plan->request.config, err), TRI_OK);
    for (int r = 0; r < NUM_RANKS; r++)
        plan->errs[r] = tri_error_create();
    tri_threads_run(NUM_RANKS, LIMIT_SECONDS, tri_reduce_in_order, body, plan, plan->errs);
    tri_run_destroy(&run);
    tri_error_destroy(&err);
}

static void plan_end(struct plan *plan)
{
    for (int r = 0; r < NUM_RANKS; r++)
        tri_error_destroy(&plan->errs[r]);
}

static void expect(const struct plan *plan, int rank, tri_status status, const char *part)
{
    const char *message = tri_error_message(plan->errs[rank], 0);
    if (plan->status[rank] != status || !strstr(message, part))
        fail_msg("rank %d: '%s' (%s), expected '%s' (%s)", rank, message,
                 tri_status_text(plan->status[rank]), part, tri_status_text(status));
}

/* The save folder holds whole checkpoints and no remains; the newest is of this iteration (0: whichever,
   or none). Removes it. */
static void expect_saved(int iteration)
{
    char out[64], newest[96], command[128];
    snprintf(out, sizeof out, "%s/out", folder);
    DIR *dir = opendir(out);
    int num_checkpoints = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        num_checkpoints += entry->d_name[0] == 'i';
        if (entry->d_name[0] != 'i' && strcmp(entry->d_name, "latest") != 0 &&
            strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            fail_msg("left behind: %s", entry->d_name);
    }
    if (dir)
        closedir(dir);
    snprintf(newest, sizeof newest, "%s/iter_%07d", out, iteration);
    assert_true(iteration == 0 || access(newest, F_OK) == 0);
    if (num_checkpoints > 0) {
        tri_error *err = tri_error_create();
        FILE *nowhere = fopen("/dev/null", "w");
        assert_non_null(nowhere);
        if (tri_checkpoint_verify(out, nowhere, err) != TRI_OK)
            fail_msg("%s", tri_error_message(err, 0));
        fclose(nowhere);
        tri_error_destroy(&err);
    }
    snprintf(command, sizeof command, "rm -rf '%s'", out);
    assert_int_equal(system(command), 0);
}

/* ---- a rank stalls ---- */

struct stall {
    struct tri_fault_plan fault;
    const char *options[12];
    const char *op, *group; /* of the message; NULL: any group */
};

#define TP "tensor_model_parallel_size"
#define PP "pipeline_model_parallel_size"

static const struct stall stalls[] = {
    {.fault = {.rank = 2, .op = TRI_COMM_ALL_REDUCE, .count = 60},
     .options = {TP, "2"},
     .op = "all_reduce"},
    {.fault = {.rank = 1, .op = TRI_COMM_SEND, .count = 9},
     .options = {PP, "2", "global_batch_size", "8"},
     .op = "recv",
     .group = "pp"},
    {.fault = {.rank = 3, .op = TRI_COMM_RECV, .count = 3},
     .options = {PP, "4"},
     .op = "recv",
     .group = "pp"},
    {.fault = {.rank = 0, .op = TRI_COMM_REDUCE_SCATTER, .count = 5},
     .options = {"use_distributed_optimizer", "true"},
     .op = "reduce_scatter"},
    {.fault = {.rank = 2, .op = TRI_COMM_ALL_GATHER, .count = 4},
     .options = {"use_distributed_optimizer", "true"},
     .op = "all_gather"},
    {.fault = {.rank = 1, .op = TRI_COMM_ALL_GATHER, .count = 11},
     .options = {TP, "4", "sequence_parallel", "true"},
     .op = "all_gather",
     .group = "tp"},
    {.fault = {.rank = 3, .op = TRI_COMM_BARRIER, .count = 1},
     .options = {TP, "2", PP, "2"},
     .op = ""},
};

static void a_stalled_rank_is_named_by_all(void **state)
{
    for (size_t i = 0; i < sizeof stalls / sizeof stalls[0]; i++) {
        const struct stall *stall = &stalls[i];
        struct plan plan = {.fault = &stall->fault};
        char rank[32];
        plan_run(&plan, stall->options);
        snprintf(rank, sizeof rank, "rank %d", stall->fault.rank);
        for (int r = 0; r < NUM_RANKS; r++) {
            if (r == stall->fault.rank)
                continue;
            expect(&plan, r, TRI_COMM, rank);
            expect(&plan, r, TRI_COMM, stall->op);
            expect(&plan, r, TRI_COMM, stall->group ? stall->group : "group '");
        }
        plan_end(&plan);
        expect_saved(0);
    }
    (void)state;
}

/* ---- hooks that fail ---- */

struct trouble {
    int64_t sample; /* that it comes with */
    bool is_nan;
};

static bool has_sample(const struct trouble *trouble, const struct tri_microbatch *microbatch)
{
    for (int64_t row = 0; row < microbatch->rows; row++)
        if (microbatch->sample_ids[row] == trouble->sample)
            return true;
    return false;
}

static tri_status nan_loss(void *user, const struct tri_microbatch *microbatch,
                           const float *token_loss, float *weights, struct tri_loss_term *term)
{
    bool is_nan = has_sample(user, microbatch);
    for (int64_t i = 0; i < microbatch->rows * microbatch->length; i++) {
        weights[i] = is_nan && i == 7 ? NAN : 1.0f;
        term->value += (double)token_loss[i];
        term->count += 1.0;
    }
    return TRI_OK;
}

static tri_status troubled_step(void *user, struct tri_slice *slice, struct tri_slot *slot,
                                int unit, int num_units, tri_loss_fn **loss)
{
    const struct trouble *trouble = user;
    if (trouble->is_nan)
        *loss = nan_loss;
    else if (has_sample(trouble, slot->microbatch))
        return TRI_NUMERIC;
    return tri_slice_forward(slice, slot, unit, num_units);
}

static void a_nan_gradient_is_named(void **state)
{
    static const char *const grids[][4] = {{NULL}, {TP, "2"}, {PP, "2"}, {PP, "4"}};
    for (size_t i = 0; i < sizeof grids / sizeof grids[0]; i++) {
        struct trouble trouble = {.sample = 9, .is_nan = true}; /* of the third step */
        struct tri_hooks hooks = {.user = &trouble, .forward_step = troubled_step};
        struct plan plan = {.request = {.hooks = &hooks}};
        plan_run(&plan, grids[i]);
        int num_causes = 0;
        for (int r = 0; r < NUM_RANKS; r++) {
            char rank[32];
            snprintf(rank, sizeof rank, "on rank %d", r);
            assert_int_not_equal(plan.status[r], TRI_OK);
            if (plan.status[r] != TRI_NUMERIC)
                continue;
            num_causes++;
            expect(&plan, r, TRI_NUMERIC, "iteration 3: the gradient of '");
            expect(&plan, r, TRI_NUMERIC, "is nan at element");
            expect(&plan, r, TRI_NUMERIC, rank);
        }
        assert_true(num_causes > 0);
        plan_end(&plan);
        expect_saved(2);
    }
    (void)state;
}

static void a_hook_that_fails_stops_all(void **state)
{
    static const char *const grids[][4] = {{NULL}, {TP, "2"}, {PP, "2"}};
    for (size_t i = 0; i < sizeof grids / sizeof grids[0]; i++) {
        struct trouble trouble = {.sample = 9};
        struct tri_hooks hooks = {.user = &trouble, .forward_step = troubled_step};
        struct plan plan = {.request = {.hooks = &hooks}};
        plan_run(&plan, grids[i]);
        int num_causes = 0;
        for (int r = 0; r < NUM_RANKS; r++) {
            num_causes += plan.status[r] == TRI_NUMERIC;
            if (plan.status[r] != TRI_NUMERIC)
                expect(&plan, r, TRI_PEER, "failed first");
        }
        assert_true(num_causes > 0);
        plan_end(&plan);
        expect_saved(2);
    }
    (void)state;
}

static int make_data(void **state)
{
    enum { DOCUMENTS = 20, LENGTH = 33 };
    static int32_t tokens[DOCUMENTS * LENGTH];
    static int64_t lengths[DOCUMENTS];
    char prefix[64];
    tri_error *err = tri_error_create();
    (void)state;
    for (int i = 0; i < DOCUMENTS * LENGTH; i++)
        tokens[i] = i * 37 % 101;
    for (int i = 0; i < DOCUMENTS; i++)
        lengths[i] = LENGTH;
    snprintf(prefix, sizeof prefix, "%s/data", folder);
    tri_status status = tri_tokens_write(prefix, 101, tokens, lengths, DOCUMENTS, err);
    tri_error_destroy(&err);
    return status == TRI_OK ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stalled_rank_is_named_by_all),
        cmocka_unit_test(a_nan_gradient_is_named),
        cmocka_unit_test(a_hook_that_fails_stops_all),
    };
    if (!mkdtemp(folder))
        return 1;
    return cmocka_run_group_tests(tests, make_data, remove_folder);
}
