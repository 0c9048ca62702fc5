/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs that bring something of their own share: one run, trained twice in one launch, without what is
 * their own and with it, and the two losses. Reads top down from example_main() at the end.
 */
#pragma once

#include <trine/trine.h>

#include <stdio.h>
#include <unistd.h>

extern char **environ;

struct example {
    const char *name;        /* of the program */
    const char *description; /* the run as text, but for data_path */
    const char *own_text;    /* what the second run adds to it, or NULL */
    const char *losses[2];   /* what the two are called */
    tri_status (*write_corpus)(const char *prefix, tri_error *err);
    struct tri_pretrain_request own; /* hooks of the second run; extensions, which both may name */
    /* Called once before the launch; may be NULL. */
    tri_status (*begin)(const struct tri_run_config *config, tri_error *err);
};

struct example_runs {
    const struct example *example;
    tri_run *run[2];
    const struct tri_run_config *config[2];
};

/* 64 documents of 64 tokens below 64, each with a period of its own. */
static inline tri_status example_write_periods(const char *prefix, tri_error *err)
{
    static int32_t tokens[64 * 64];
    int64_t lengths[64];
    for (int d = 0; d < 64; d++) {
        for (int t = 0; t < 64; t++)
            tokens[d * 64 + t] = (d + (t % (5 + d % 7)) * 11) % 64;
        lengths[d] = 64;
    }
    return tri_tokens_write(prefix, 64, tokens, lengths, 64, err);
}

static inline void example_print(const tri_error *err)
{
    for (int i = 0; i < tri_error_count(err); i++)
        fprintf(stderr, "error: %s\n", tri_error_message(err, i));
}

/* Keeps the last loss; called on rank 0 only. */
static inline void example_note_loss(void *arg, int64_t done, int64_t total, double seconds_left,
                                     double loss)
{
    (void)seconds_left;
    if (done == total)
        *(double *)arg = loss;
}

/* The body of every rank: both runs in one launch, since MPI starts only once in a process. */
static inline tri_status example_train(void *arg, tri_world *world)
{
    const struct example_runs *runs = arg;
    double loss[2];
    for (int i = 0; i < 2; i++) {
        struct tri_pretrain_request request = runs->example->own;
        if (i == 0)
            request.hooks = NULL;
        request.config = runs->config[i];
        request.observer = (struct tri_observer){.arg = &loss[i], .progress = example_note_loss};
        tri_status status = tri_pretrain(&request, world);
        if (status != TRI_OK)
            return status;
    }
    for (int i = 0; i < 2 && tri_world_get_rank(world) == 0; i++)
        printf("%s: %.6f\n", runs->example->losses[i], loss[i]);
    return TRI_OK;
}

/* The text, then where the token files are, then the flags, which go over both. */
static inline tri_status example_read(struct example_runs *runs, int i, const char *corpus,
                                      int argc, char **argv, tri_error *err)
{
    const struct example *example = runs->example;
    tri_run *run = runs->run[i] = tri_run_create();
    if (!run)
        return tri_error_set(err, TRI_NOMEM, "out of memory");
    tri_status status = tri_run_read_text(run, example->description, example->name, err);
    if (status == TRI_OK && i == 1 && example->own_text)
        status = tri_run_read_text(run, example->own_text, example->name, err);
    if (status == TRI_OK)
        status = tri_run_set(run, "data_path", corpus, err);
    if (status == TRI_OK)
        status = tri_run_read_flags(run, argc, argv, err);
    return status == TRI_OK ? tri_run_complete(run, &runs->config[i], err) : status;
}

static inline tri_status example_run(struct example_runs *runs, int argc, char **argv,
                                     tri_error *err)
{
    const struct example *example = runs->example;
    char corpus[1024], index[1040];
    snprintf(corpus, sizeof corpus, "%s/corpus", argv[0]);
    snprintf(index, sizeof index, "%s.idx", corpus);
    tri_status status = access(index, R_OK) == 0 ? TRI_OK : example->write_corpus(corpus, err);
    for (int i = 0; i < 2 && status == TRI_OK; i++)
        status = example_read(runs, i, corpus, argc, argv, err);
    if (status == TRI_OK && example->begin)
        status = example->begin(runs->config[1], err);
    if (status == TRI_OK)
        status =
            tri_launch_config(runs->config[0], environ, example_train, runs, example_print, err);
    return status;
}

/* NAME FOLDER [--option value ...]. Runs under mpirun as well. The corpus is written into FOLDER unless it is there. */
static inline int example_main(const struct example *example, int argc, char **argv)
{
    struct example_runs runs = {.example = example};
    tri_error *err = tri_error_create();
    if (!err || argc < 2) {
        fprintf(stderr, "usage: %s FOLDER [--option value ...]\n", example->name);
        return 2;
    }
    tri_status status = example_run(&runs, argc - 1, argv + 1, err);
    example_print(err);
    for (int i = 0; i < 2; i++)
        tri_run_destroy(&runs.run[i]);
    tri_error_destroy(&err);
    return status == TRI_OK ? 0 : 1;
}
