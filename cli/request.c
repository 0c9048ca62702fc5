/* SPDX-License-Identifier: Apache-2.0 */
/* Checking a request. */
#include "cli/request.h"

#include "cli/report.h"
#include "optim/lr_schedule.h"
#include "spec/model_spec.h"
#include "train/feed.h"
#include "train/session.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

static void check_schedule(const struct tri_run_config *config, tri_error *err)
{
    if (config->train.train_iters == TRI_UNSET) {
        tri_error_add(err, TRI_INVALID, "'train_iters' is not set; give the number of iterations");
        return;
    }
    if (tri_train_only_saves(&config->train)) {
        if (!config->checkpoint.save[0])
            tri_error_add(
                err, TRI_INVALID,
                "train_iters 0 does nothing without 'save'; give --save FOLDER to write the "
                "model, or 1 or more iterations to train it");
        return;
    }
    if (config->optim.override_opt_param_scheduler &&
        config->optim.use_checkpoint_opt_param_scheduler)
        tri_error_add(err, TRI_INVALID,
                      "override_opt_param_scheduler and use_checkpoint_opt_param_scheduler exclude "
                      "each other; set one");
    struct tri_lr_schedule schedule;
    tri_lr_schedule_plan(&config->optim, config->train.train_iters, config->train.global_batch_size,
                         err, &schedule);
}

static void check_data(const struct tri_run_config *config, tri_error *err)
{
    if (!tri_feed_has(config, TRI_DATA_TRAIN))
        tri_error_add(err, TRI_INVALID, "no training data; set data_path or train_data_path");
    else
        tri_feed_check(config, err);
}

/* Teams that share cores run, but slowly. */
static void warn_of_cores(const struct tri_run_config *config)
{
    cpu_set_t mask;
    if (tri_cli_launcher_rank() > 0 || sched_getaffinity(0, sizeof mask, &mask) != 0)
        return;
    int cores = CPU_COUNT(&mask);
    int64_t ranks = tri_cli_launcher_rank() < 0 ? tri_cli_world_size(config) : 1;
    if (config->placement.team_size > 1 && config->placement.team_size * ranks > cores)
        fprintf(stderr, "warning: %lld ranks with teams of %lld threads share %d cores\n",
                (long long)ranks, (long long)config->placement.team_size, cores);
}

void tri_cli_check_rest(const struct tri_run_config *config, tri_error *err)
{
    /* What only a run needs may be missing: the rest is judged beside the largest that it could be. */
    struct tri_run_config run = *config;
    if (run.train.train_iters == TRI_UNSET)
        run.train.train_iters = INT32_MAX;
    if (isnan(run.optim.lr))
        run.optim.lr = (double)INFINITY;
    check_schedule(&run, err);
    if (tri_feed_has(config, TRI_DATA_TRAIN) && !tri_train_only_saves(&config->train))
        check_data(config, err);
}

/* Whether one of the first num problems speaks of an option that message names in quotes. */
static bool is_known(const tri_error *err, int num, const char *message)
{
    for (const char *at = strchr(message, '\''); at; at = strchr(at, '\'')) {
        const char *end = strchr(at + 1, '\'');
        if (!end)
            break;
        char name[128];
        snprintf(name, sizeof name, "%.*s", (int)(end + 1 - at), at);
        char flag[160];
        snprintf(flag, sizeof flag, "'--%s", name + 1);
        for (char *c = flag; *c; c++)
            *c = *c == '_' ? '-' : *c;
        for (int i = 0; i < num; i++)
            if (strstr(tri_error_message(err, i), name) || strstr(tri_error_message(err, i), flag))
                return true;
        at = end + 1;
    }
    return false;
}

void tri_cli_check_more(const struct tri_run_config *config, tri_error *err)
{
    struct tri_run_config copy = *config;
    struct tri_model_spec *spec = NULL;
    struct tri_placement *placement = NULL;
    if (config->shape.transformer.num_layers == TRI_UNSET)
        return; /* as after a file that is no YAML */
    tri_error *more = tri_error_create();
    int known = tri_error_count(err);
    tri_run_plan(&copy, NULL, tri_cli_world_size(config), tri_run_training_use(config), 0, NULL,
                 more, &spec, &placement);
    tri_cli_check_rest(&copy, more);
    for (int i = 0; i < tri_error_count(more); i++)
        if (!is_known(err, known, tri_error_message(more, i)))
            tri_error_add(err, tri_error_status_at(more, i), "%s", tri_error_message(more, i));
    tri_placement_destroy(&placement);
    tri_model_spec_destroy(&spec);
    tri_error_destroy(&more);
}

int tri_cli_check_run(const char *command, const struct tri_run_config *config, int needs)
{
    struct tri_run_config copy = *config;
    struct tri_model_spec *spec = NULL;
    struct tri_placement *placement = NULL;
    tri_error *err = tri_error_create();
    tri_run_plan(&copy, NULL, tri_cli_world_size(config), tri_run_training_use(config), 0, NULL,
                 err, &spec, &placement);
    if (needs & TRI_NEEDS_SCHEDULE)
        check_schedule(&copy, err);
    if (needs & TRI_NEEDS_DATA && !tri_train_only_saves(&config->train))
        check_data(config, err);
    if (tri_error_count(err) == 0)
        warn_of_cores(&copy);
    int exit_code = tri_error_count(err) > 0 ? tri_cli_refuse(err, command) : -1;
    tri_placement_destroy(&placement);
    tri_model_spec_destroy(&spec);
    tri_error_destroy(&err);
    return exit_code;
}
