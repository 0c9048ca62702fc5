/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What preference training asks of a reference model: ln p of two answers to one prompt, and by how
 * much the first is the likelier. Token ids in, numbers out, on any grid.
 *
 *   score_tokens MODEL [--option value ...]
 *
 * MODEL is a Hugging Face directory. Every option of a run file may follow: --ranks 2
 * --tensor-model-parallel-size 2.
 */
#include <trine/trine.h>

#include <stdio.h>

/* The prompt 5 8 13 with two answers, one behind the other. */
static const int32_t tokens[] = {5, 8, 13, 21, 34, 55, 5, 8, 13, 3, 2};
static const int64_t lengths[] = {6, 5}, prompt_lengths[] = {3, 3};

struct scoring {
    const struct tri_run_config *config;
    const char *model;
    double sums[2]; /* rank 0's */
    float logprobs[sizeof tokens / sizeof tokens[0]];
};

static tri_status score(void *arg, tri_world *world)
{
    struct scoring *scoring = arg;
    struct tri_session_request make = {
        .config = scoring->config, .world = world, .forward_only = true};
    const struct tri_score_request request = {
        .num_sequences = 2, .lengths = lengths, .tokens = tokens, .prompt_lengths = prompt_lengths};
    struct tri_scores scores = {0};
    struct tri_session *session = NULL;
    tri_scorer *scorer = NULL;
    if (tri_world_get_rank(world) == 0) /* the others take part, and keep nothing */
        scores = (struct tri_scores){.logprobs = scoring->logprobs, .sums = scoring->sums};
    tri_status status = tri_session_create(&make, &session);
    if (status == TRI_OK)
        status = tri_session_load(session, scoring->model);
    if (status == TRI_OK)
        status = tri_scorer_create(session, &scorer); /* once; then run it as often as needed */
    if (status == TRI_OK)
        status = tri_scorer_run(scorer, &request, &scores);
    tri_scorer_destroy(&scorer);
    tri_session_destroy(&session);
    return status;
}

static void print(const struct scoring *scoring)
{
    for (int64_t n = 0, at = 0; n < 2; at += lengths[n++]) {
        for (int64_t t = prompt_lengths[n]; t < lengths[n]; t++)
            printf("%s%d %.4f", t > prompt_lengths[n] ? ", " : "", tokens[at + t],
                   (double)scoring->logprobs[at + t]);
        printf("\nanswer %d: %.6f\n", (int)n + 1, scoring->sums[n]);
    }
    printf("margin: %.6f\n", scoring->sums[0] - scoring->sums[1]);
}

int main(int argc, char **argv)
{
    tri_error *err = tri_error_create();
    tri_run *run = tri_run_create();
    struct scoring scoring = {.model = argc > 1 ? argv[1] : ""};
    if (!err || !run || argc < 2) {
        fprintf(stderr, "usage: score_tokens MODEL [--option value ...]\n");
        return 2;
    }
    tri_status status = tri_run_set(run, "shape_from", scoring.model, err);
    if (status == TRI_OK)
        status = tri_run_read_flags(run, argc - 1, argv + 1, err);
    if (status == TRI_OK)
        status = tri_run_complete(run, &scoring.config, err);
    if (status == TRI_OK)
        status = tri_launch_config(scoring.config, NULL, score, &scoring, NULL, err);
    if (status == TRI_OK)
        print(&scoring);
    for (int i = 0; i < tri_error_count(err); i++)
        fprintf(stderr, "error: %s\n", tri_error_message(err, i));
    tri_run_destroy(&run);
    tri_error_destroy(&err);
    return status == TRI_OK ? 0 : 1;
}
