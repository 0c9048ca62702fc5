/* SPDX-License-Identifier: Apache-2.0 */
/* The training loop. */
#include "trine/pretrain.h"

#include "base/cancel.h"
#include "train/evaluate.h"
#include "train/feed.h"
#include "train/replicas.h"
#include "train/metrics.h"
#include "train/resume.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One rank's run. */
struct run {
    const struct tri_pretrain_request *request;
    struct tri_session *session;
    tri_session_state *state;
    tri_metrics *metrics;    /* NULL but on rank 0 */
    tri_replicas *replicas;  /* NULL when copies are not compared */
    tri_feed *train, *valid; /* valid: NULL without evaluation */
    struct tri_lr_schedule schedule;
    struct tri_progress progress;
    int64_t saved_iteration; /* of the newest checkpoint of this run, -1: none */
    double start_seconds;
};

static bool evaluates(const struct tri_run_config *config)
{
    return config->train.eval_interval != TRI_UNSET && tri_feed_has(config, TRI_DATA_VALID);
}

static tri_status open_data(struct run *run)
{
    struct tri_session *session = run->session;
    const struct tri_run_config *config = &session->config;
    TRI_TRY(tri_feed_create(session, TRI_DATA_TRAIN, tri_feed_samples(config, TRI_DATA_TRAIN),
                            &run->train));
    if (!evaluates(config))
        return TRI_OK;
    return tri_feed_create(session, TRI_DATA_VALID,
                           config->train.eval_iters * config->train.global_batch_size, &run->valid);
}

/* Cuts the last name off path. */
static void cut_name(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash)
        snprintf(path, 2, ".");
    else
        slash[slash == path] = '\0';
}

/* Whether checkpoints can be written, found before time goes into the run: the nearest folder that
   is there must take new files. Makes nothing. */
static tri_status check_save_folder(const struct run *run)
{
    const char *folder = run->session->config.checkpoint.save;
    tri_error *err = run->session->err;
    char path[TRI_OPTION_TEXT];
    struct stat info;
    if (!folder[0] || run->session->world->rank != 0)
        return TRI_OK;
    snprintf(path, sizeof path, "%s", folder);
    while (stat(path, &info) != 0) {
        TRI_CHECK(errno == ENOENT && strcmp(path, ".") != 0, err, TRI_IO,
                  "cannot save into '%s': '%s': %s; choose another folder with --save", folder,
                  path, strerror(errno));
        cut_name(path);
    }
    TRI_CHECK(S_ISDIR(info.st_mode), err, TRI_IO,
              "cannot save into '%s': '%s' is no folder; choose another one with --save", folder,
              path);
    TRI_CHECK(
        faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) == 0, err, TRI_IO,
        "cannot save into '%s': nothing can be made in '%s': %s; choose another folder with --save",
        folder, path, strerror(errno));
    return TRI_OK;
}

static tri_status open_files(struct run *run)
{
    TRI_TRY(check_save_folder(run));
    return tri_train_only_saves(&run->session->config.train) ? TRI_OK : open_data(run);
}

/* What a resumed run says first. */
static void print_resumed(const struct run *run)
{
    const struct tri_train_config *train = &run->session->config.train;
    const struct tri_progress *done = &run->progress;
    int64_t left = train->train_iters - done->iteration;
    tri_metrics_line(run->metrics, "resumed after iteration %" PRId64 ", %" PRId64 " samples",
                     done->iteration, done->consumed_samples);
    if (left <= 0)
        tri_metrics_line(run->metrics,
                         "nothing to do: train_iters is %" PRId64 "; a higher one goes on",
                         train->train_iters);
    else if (tri_lr_schedule_rate(&run->schedule, done->schedule_samples) == 0 &&
             tri_lr_schedule_rate(&run->schedule,
                                  done->schedule_samples + left * train->global_batch_size) == 0)
        tri_metrics_line(run->metrics,
                         "the learning rate is 0 from iteration %" PRId64
                         " on: nothing more will be learned",
                         done->iteration + 1);
}

/* Gives away what the record has noted so far, while it can still change what the user does. */
static void give_notes(const struct run *run)
{
    const struct tri_observer *observer = &run->request->observer;
    tri_error *err = run->session->err;
    if (!observer->note)
        return;
    for (int i = 0; i < tri_error_note_count(err); i++)
        observer->note(observer->arg, tri_error_note_message(err, i));
    tri_error_clear(err);
}

static tri_status start(struct run *run)
{
    struct tri_session *session = run->session;
    const struct tri_run_config *config = &session->config;
    bool resumed = false;
    if (!tri_train_only_saves(&config->train))
        TRI_TRY(tri_lr_schedule_plan(&config->optim, config->train.train_iters,
                                     config->train.global_batch_size, session->err,
                                     &run->schedule));
    TRI_TRY(tri_group_agree(session->context->all, open_files(run)));
    if (config->train.check_weight_hash_across_dp_replicas_interval != TRI_UNSET)
        TRI_TRY(tri_replicas_create(session, &run->replicas));
    TRI_TRY(tri_session_state_create(session, NULL, &run->state));
    TRI_TRY(tri_session_state_start(run->state, &run->progress, &run->schedule, &resumed));
    run->saved_iteration = resumed ? run->progress.iteration : -1;

    if (session->world->rank != 0)
        return TRI_OK;
    TRI_TRY(tri_metrics_create(session, &run->request->observer, &run->metrics));
    give_notes(run);
    tri_metrics_line(run->metrics, "ready after %.2f s: planned, built, %s",
                     tri_clock_seconds() - run->start_seconds,
                     session->config.checkpoint.load[0] ? "loaded" : "initialised");
    if (resumed)
        print_resumed(run);
    return TRI_OK;
}

static tri_status evaluate(struct run *run)
{
    struct tri_evaluation evaluation;
    TRI_TRY(tri_evaluate(run->session, tri_feed_source(run->valid),
                         run->session->config.train.eval_iters, &evaluation));
    double loss = tri_evaluation_loss(&evaluation);
    if (run->metrics)
        tri_metrics_line(run->metrics,
                         "evaluation at iteration %" PRId64
                         " | validation loss %.6f | perplexity %.6g",
                         run->progress.iteration, loss, exp(loss));
    return TRI_OK;
}

static tri_status save(struct run *run)
{
    const char *folder = run->session->config.checkpoint.save;
    if (!folder[0] || run->saved_iteration == run->progress.iteration)
        return TRI_OK;
    TRI_TRY(tri_session_state_save(run->state, &run->progress));
    run->saved_iteration = run->progress.iteration;
    if (run->metrics)
        tri_metrics_line(run->metrics, "saved %s/iter_%07" PRId64, folder, run->progress.iteration);
    return TRI_OK;
}

static bool divides(int64_t interval, int64_t iteration)
{
    return interval != TRI_UNSET && iteration % interval == 0;
}

/* Whether this rank was asked to stop, by a signal or by the clock. */
static bool stop_asked(const struct run *run)
{
    double limit = run->session->config.train.exit_duration_in_mins;
    if (run->request->cancel && tri_cancel_requested(run->request->cancel))
        return true;
    return !isnan(limit) && tri_clock_seconds() - run->start_seconds > limit * 60.0;
}

/* One iteration; *stop tells whether the run ends here on request. */
static tri_status iterate(struct run *run, bool *stop)
{
    const struct tri_run_config *config = &run->session->config;
    struct tri_step_result result;
    TRI_TRY(tri_step_run(run->session, tri_feed_source(run->train), &run->schedule, stop_asked(run),
                         &run->progress, &result));
    int64_t iteration = run->progress.iteration;
    tri_status logged = TRI_OK;
    if (run->metrics)
        logged = tri_metrics_step(run->metrics, &run->progress, &result);
    if (config->train.log_json[0])
        TRI_TRY(tri_group_agree(run->session->context->all, logged));
    if (divides(config->train.check_weight_hash_across_dp_replicas_interval, iteration))
        TRI_TRY(tri_replicas_check(run->replicas, iteration));
    if (run->valid && divides(config->train.eval_interval, iteration))
        TRI_TRY(evaluate(run));
    *stop = result.stop || divides(config->train.exit_interval, iteration);
    if (*stop || divides(config->checkpoint.save_interval, iteration))
        TRI_TRY(save(run));
    return TRI_OK;
}

/* After the first iteration, so that nothing stands between the start and it. */
static tri_status measure(struct run *run)
{
    double limit = 0;
    TRI_TRY(tri_measure_limit(run->session, &limit));
    if (run->metrics)
        tri_metrics_set_limit(run->metrics, limit);
    return TRI_OK;
}

static tri_status train(struct run *run)
{
    bool stop = false;
    if (run->progress.iteration < run->session->config.train.train_iters) {
        TRI_TRY(iterate(run, &stop));
        TRI_TRY(measure(run));
    }
    while (run->progress.iteration < run->session->config.train.train_iters && !stop)
        TRI_TRY(iterate(run, &stop));
    if (run->metrics)
        tri_metrics_flush(run->metrics, &run->progress);
    TRI_TRY(save(run));
    bool done = run->progress.iteration >= run->session->config.train.train_iters;
    /* Nobody leaves while another still writes. */
    TRI_TRY(tri_group_barrier(run->session->context->all));
    return done ? TRI_OK : TRI_STOPPED;
}

tri_status tri_pretrain(void *arg, tri_world *world)
{
    const struct tri_pretrain_request *request = arg;
    struct run run = {.request = request, .start_seconds = tri_clock_seconds()};
    struct tri_session_request session = {
        .config = request->config,
        .world = world,
        .hooks = request->hooks,
        .extensions = request->extensions,
        .num_extensions = request->num_extensions,
        .weights_only = tri_train_only_saves(&request->config->train),
    };
    tri_status status = tri_session_create(&session, &run.session);
    if (status == TRI_OK)
        status = start(&run);
    if (status == TRI_OK)
        status = train(&run);
    tri_replicas_destroy(&run.replicas);
    tri_metrics_destroy(&run.metrics);
    tri_session_state_destroy(&run.state);
    tri_feed_destroy(&run.valid);
    tri_feed_destroy(&run.train);
    tri_session_destroy(&run.session);
    return status;
}
