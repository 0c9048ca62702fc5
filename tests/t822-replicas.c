/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of parameters: equal ones pass, one flipped bit is found and named, on every kind of copy. */
#include "harness/train_run.h"
#include "train/replicas.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Which bit to flip before the check; rank -1: none. */
struct damage {
    int rank;
    const char *name;
    bool at_end; /* in the last value instead of the second */
};

static void flip(struct tri_session *session, const struct damage *damage)
{
    for (int i = 0; i < session->model->num_params; i++) {
        struct tri_param *param = &session->model->params[i];
        if (session->world->rank == damage->rank && strcmp(param->spec->name, damage->name) == 0)
            ((unsigned char *)
                 param->value.data)[damage->at_end ? param->plan->elements * 4 - 1 : 5] ^= 1;
    }
}

static tri_status check(struct tri_session *session, void *arg)
{
    tri_replicas *replicas = NULL;
    TRI_TRY(tri_replicas_create(session, &replicas));
    flip(session, arg);
    tri_status status = tri_replicas_check(replicas, 7);
    tri_replicas_destroy(&replicas);
    return status;
}

static void try(struct train_way way, struct damage damage, const char *expected)
{
    struct train_result result;
    tri_error *err = tri_error_create();
    way.steps = 1;
    way.tamper = check;
    way.tamper_arg = &damage;
    tri_status status = train_try(&way, &result, err);
    if (!expected) {
        assert_int_equal(status, TRI_OK);
    } else {
        bool found = false;
        assert_int_equal(status, TRI_NUMERIC);
        for (int i = 0; i < tri_error_count(err); i++)
            found = found || strstr(tri_error_message(err, i), expected);
        if (!found)
            fail_msg("'%s' is not in '%s'", expected, tri_error_message(err, 0));
    }
    train_result_free(&result);
    tri_error_destroy(&err);
}

static void equal_copies_pass(void **state)
{
    (void)state;
    struct damage none = {.rank = -1, .name = ""};
    try((struct train_way){.model = TRAIN_GPT2, .dp = 2, .pp = 2}, none, NULL);
    try((struct train_way){.model = TRAIN_LLAMA, .tp = 2, .sequence_parallel = true}, none, NULL);
}

static void a_flipped_bit_is_named(void **state)
{
    (void)state;
    struct damage norm = {.rank = 1, .name = "decoder.final_layernorm.weight"};
    struct damage cut = {.rank = 1, .name = "decoder.layers.0.mlp.linear_fc1.weight"};
    struct damage tied = {.rank = 1, .name = "embedding.word_embeddings.weight"};
    try((struct train_way){.model = TRAIN_LLAMA, .dp = 3}, cut,
        "iteration 7: the copies of 'decoder.layers.0.mlp.linear_fc1.weight' in group 'dp_cp' "
        "differ: "
        "rank 1 does not hold what rank 0 holds");
    try((struct train_way){.model = TRAIN_LLAMA, .tp = 2}, norm,
        "the copies of 'decoder.final_layernorm.weight' in group 'tp' differ");
    try((struct train_way){.model = TRAIN_GPT2, .pp = 2}, tied,
        "the copies of 'embedding.word_embeddings.weight' in group 'embd' differ");
    /* Another shard of a cut tensor is no copy. */
    try((struct train_way){.model = TRAIN_LLAMA, .tp = 2}, cut, NULL);
}

/* Two key/value heads on four ranks: ranks 0 and 1 hold the first, 2 and 3 the second. Queries, which come
   first in the tensor, are each rank's own. */
static void shared_heads_are_compared(void **state)
{
    (void)state;
    const char *name = "decoder.layers.1.self_attention.linear_qkv.weight";
    struct damage none = {.rank = -1, .name = ""}, queries = {.rank = 3, .name = name};
    struct damage heads = {.rank = 3, .name = name, .at_end = true};
    const struct train_way way = {.model = TRAIN_ATTENTION, .tp = 4};
    try(way, none, NULL);
    try(way, queries, NULL);
    try(way, heads,
        "the copies of 'decoder.layers.1.self_attention.linear_qkv.weight' in group 'shared_heads' "
        "differ: rank 3 does not hold what rank 2 holds");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_copies_pass),
        cmocka_unit_test(a_flipped_bit_is_named),
        cmocka_unit_test(shared_heads_are_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
