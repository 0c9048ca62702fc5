/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request that is put together piece by piece. The values as given are kept apart from the
 * completed config, so that a value given later still counts for what is derived from it.
 */
#include "train/run_config.h"

#include "base/options_inner.h"
#include "explain/megatron.h"
#include "spec/model_spec.h"
#include "train/communicator.h"
#include "train/run_model.h"
#include "train/session.h"

#include <stdlib.h>
#include <string.h>

#define NUM_BINDINGS (TRI_RUN_MAX_BINDINGS + 1)

struct tri_run {
    struct tri_run_config given, completed;
    struct tri_shape_short short_form;
    unsigned char origin[NUM_BINDINGS][TRI_RUN_MAX_ROWS];
};

static int run_bind(tri_run *run, struct tri_run_config *config,
                    struct tri_option_binding *bindings)
{
    int num = tri_run_bind(config, bindings);
    bindings[num++] =
        (struct tri_option_binding){.table = &tri_shape_short_options, .config = &run->short_form};
    for (int i = 0; i < num; i++)
        bindings[i].origin = run->origin[i];
    return num;
}

tri_run *tri_run_create(void)
{
    tri_run *run = calloc(1, sizeof *run);
    if (!run)
        return NULL;
    tri_run_config_set_defaults(&run->given);
    tri_option_set_defaults(&tri_shape_short_options, &run->short_form);
    return run;
}

void tri_run_destroy(tri_run **run)
{
    free(*run);
    *run = NULL;
}

tri_status tri_run_read_file(tri_run *run, const char *path, tri_error *err)
{
    struct tri_option_binding bindings[NUM_BINDINGS];
    int num = run_bind(run, &run->given, bindings);
    return tri_option_read_file(path, bindings, num, &tri_megatron_options, err);
}

tri_status tri_run_read_text(tri_run *run, const char *text, const char *name, tri_error *err)
{
    struct tri_option_binding bindings[NUM_BINDINGS];
    int num = run_bind(run, &run->given, bindings);
    return tri_option_read_text(text, strlen(text), name, bindings, num, &tri_megatron_options,
                                err);
}

/* Flags go over the file, so words are read twice: first for the file's name. */
static tri_status read_words(tri_run *run, int argc, char **argv, const char **words,
                             tri_error *err)
{
    struct tri_option_binding bindings[NUM_BINDINGS];
    int num_words = 0;
    tri_run *trial = tri_run_create();
    tri_error *unread = tri_error_create();
    tri_status status =
        trial && unread ? TRI_OK : tri_error_set(err, TRI_NOMEM, "out of memory for the flags");
    if (status == TRI_OK)
        tri_option_read_flags(argc, argv, bindings, run_bind(trial, &trial->given, bindings), NULL,
                              words, &num_words, unread);
    tri_error_destroy(&unread);
    tri_run_destroy(&trial);
    TRI_TRY(status);
    if (num_words > 0)
        status = tri_run_is_model(words[0]) ? tri_run_take_model(words[0], &run->given, err)
                                            : tri_run_read_file(run, words[0], err);
    if (num_words > 1)
        status = tri_error_add(err, TRI_INVALID, "'%s' is one word too many; give one run file",
                               words[1]);
    tri_status flags =
        tri_option_read_flags(argc, argv, bindings, run_bind(run, &run->given, bindings),
                              &tri_megatron_options, words, &num_words, err);
    return status == TRI_OK ? flags : status;
}

tri_status tri_run_read_flags(tri_run *run, int argc, char **argv, tri_error *err)
{
    int num = argc > 0 ? argc - 1 : 0;
    const char **words = calloc((size_t)num + 1, sizeof *words);
    TRI_CHECK(words, err, TRI_NOMEM, "out of memory for the flags");
    tri_status status = read_words(run, num, argv + 1, words, err);
    free(words);
    return status;
}

tri_status tri_run_set(tri_run *run, const char *name, const char *text, tri_error *err)
{
    struct tri_option_binding bindings[NUM_BINDINGS];
    int num = run_bind(run, &run->given, bindings);
    struct tri_option_found found = tri_option_lookup(name, NULL, bindings, num);
    if (!found.row) {
        char guess[512] = "";
        if (tri_option_foreign(name, name, &tri_megatron_options, guess, sizeof guess))
            return tri_error_add(err, TRI_INVALID, "%s", guess);
        if (tri_option_guess(name, bindings, num, &tri_megatron_options, guess, sizeof guess))
            return tri_error_add(err, TRI_INVALID, "no option '%s'; did you mean %s?", name, guess);
        return tri_error_add(err, TRI_INVALID, "no option '%s'", name);
    }
    TRI_TRY(tri_option_set(found.row, found.binding->config, text, name, err));
    tri_option_note_origin(&found, TRI_OPTION_FROM_FLAG);
    return TRI_OK;
}

tri_status tri_run_complete(tri_run *run, const struct tri_run_config **config, tri_error *err)
{
    struct tri_option_binding bindings[NUM_BINDINGS];
    run->completed = run->given;
    int num = run_bind(run, &run->completed, bindings);
    TRI_TRY(tri_run_take_loaded_shape(&run->completed, err));
    TRI_TRY(tri_run_config_complete(bindings, num, &run->short_form, &run->completed, err));
    TRI_TRY(tri_run_check_loaded_shape(&run->completed, err));
    *config = &run->completed;
    return TRI_OK;
}

static tri_status print_rank(FILE *out, const struct tri_placement *placement, int rank,
                             tri_error *err)
{
    if (rank < 0) {
        struct tri_plan_summary summary;
        TRI_TRY(tri_plan_summarise(placement, err, &summary));
        rank = summary.heaviest_rank;
    }
    TRI_CHECK(rank < placement->grid.world_size, err, TRI_INVALID,
              "rank %d is not in a world of %d; use 0 to %d", rank, placement->grid.world_size,
              placement->grid.world_size - 1);
    tri_arena *arena = tri_arena_create();
    TRI_CHECK(arena, err, TRI_NOMEM, "out of memory while planning");
    struct tri_rank_plan plan;
    tri_status status = tri_rank_plan_make(placement, rank, arena, err, &plan);
    if (status == TRI_OK && out)
        tri_plan_print(out, placement, &plan, false);
    tri_arena_destroy(&arena);
    return status;
}

tri_status tri_run_print_plan(FILE *out, const struct tri_run_config *config,
                              const struct tri_hooks *hooks, int world_size, int rank,
                              tri_error *err)
{
    struct tri_run_config *copy = malloc(sizeof *copy);
    struct tri_model_spec *spec = NULL;
    struct tri_placement *placement = NULL;
    TRI_CHECK(copy, err, TRI_NOMEM, "out of memory while planning");
    *copy = *config;
    if (world_size == 0)
        world_size = config->train.ranks == TRI_UNSET ? 1 : (int)config->train.ranks;
    struct tri_plan_comm comm;
    tri_status status = tri_communicator_plan("", false, world_size, err, &comm);
    if (status == TRI_OK)
        status = tri_run_plan(copy, hooks, world_size, tri_run_training_use(config), 0, &comm, err,
                              &spec, &placement);
    if (status == TRI_OK)
        status = print_rank(out, placement, rank, err);
    tri_placement_destroy(&placement);
    tri_model_spec_destroy(&spec);
    free(copy);
    return status;
}
