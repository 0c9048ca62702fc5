/* SPDX-License-Identifier: Apache-2.0 */
/* The log line, the JSON log and the machine's limit. */
#include "train/metrics.h"

#include "base/cancel.h"
#include "spec/model_spec.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct tri_metrics {
    const struct tri_session *session;
    struct tri_observer observer;
    FILE *json;
    double limit, flops_per_token;
    double start_seconds;
    int64_t first_iteration; /* finished before this process began */
    /* Since the last line. */
    int64_t gathered;
    double loss, seconds, phase[TRI_NUM_PHASES];
    struct tri_step_result last;
};

tri_status tri_metrics_create(const struct tri_session *session,
                              const struct tri_observer *observer, tri_metrics **result)
{
    tri_metrics *metrics = calloc(1, sizeof *metrics);
    if (!metrics)
        return tri_error_set(session->err, TRI_NOMEM, "out of memory for the log");
    metrics->session = session;
    if (observer)
        metrics->observer = *observer;
    metrics->start_seconds = tri_clock_seconds();
    metrics->first_iteration = -1;
    tri_status status = tri_model_flops_per_token(session->spec, session->config.shape.seq_length,
                                                  session->err, &metrics->flops_per_token);
    const char *path = session->config.train.log_json;
    if (status == TRI_OK && path[0]) {
        metrics->json = fopen(path, "a");
        if (!metrics->json)
            status =
                tri_error_set(session->err, TRI_IO, "cannot open '%s': %s", path, strerror(errno));
    }
    if (status != TRI_OK) {
        tri_metrics_destroy(&metrics);
        return status;
    }
    *result = metrics;
    return TRI_OK;
}

void tri_metrics_set_limit(tri_metrics *metrics, double limit)
{
    int ranks = metrics->session->world->size, threads = tri_team_size(metrics->session->team);
    metrics->limit = limit;
    tri_metrics_line(
        metrics, "machine limit %.1f GFLOP/s (measured matrix product, %d rank%s x %d thread%s)",
        limit / 1e9, ranks, ranks == 1 ? "" : "s", threads, threads == 1 ? "" : "s");
}

void tri_metrics_destroy(tri_metrics **result)
{
    if (*result && (*result)->json)
        fclose((*result)->json);
    free(*result);
    *result = NULL;
}

void tri_metrics_line(const tri_metrics *metrics, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (metrics->observer.line)
        metrics->observer.line(metrics->observer.arg, text);
}

/* A JSON number, or null where JSON has none. */
static void print_number(FILE *out, const char *key, double value)
{
    if (isfinite(value))
        fprintf(out, ", \"%s\": %.17g", key, value);
    else
        fprintf(out, ", \"%s\": null", key);
}

static tri_status write_json(const tri_metrics *metrics, const struct tri_progress *progress,
                             const struct tri_step_result *result)
{
    double tokens = (double)metrics->session->config.train.global_batch_size *
                    (double)metrics->session->config.shape.seq_length;
    FILE *out = metrics->json;
    fprintf(out,
            "{\"iteration\": %" PRId64 ", \"consumed_samples\": %" PRId64
            ", \"consumed_tokens\": %" PRId64,
            progress->iteration, progress->consumed_samples,
            progress->consumed_samples * metrics->session->config.shape.seq_length);
    print_number(out, "lm_loss", result->loss);
    print_number(out, "grad_norm", result->grad_norm);
    print_number(out, "learning_rate", result->lr);
    print_number(out, "loss_scale", 1.0);
    print_number(out, "tokens_per_second", tokens / result->seconds);
    print_number(out, "model_flops_per_second",
                 tokens * metrics->flops_per_token / result->seconds);
    print_number(out, "step_seconds", result->seconds);
    fprintf(out, ", \"skipped\": %" PRId64 "}\n", progress->skipped);
    if (fflush(out) != 0)
        return tri_error_set(metrics->session->err, TRI_IO, "cannot write to '%s': %s",
                             metrics->session->config.train.log_json, strerror(errno));
    return TRI_OK;
}

static void report_progress(const tri_metrics *metrics, const struct tri_progress *progress)
{
    int64_t total = metrics->session->config.train.train_iters;
    double elapsed = tri_clock_seconds() - metrics->start_seconds;
    double pace = elapsed / (double)(progress->iteration - metrics->first_iteration);
    if (metrics->observer.progress)
        metrics->observer.progress(metrics->observer.arg, progress->iteration, total,
                                   pace * (double)(total - progress->iteration),
                                   metrics->last.loss);
}

tri_status tri_metrics_step(tri_metrics *metrics, const struct tri_progress *progress,
                            const struct tri_step_result *result)
{
    if (metrics->first_iteration < 0)
        metrics->first_iteration = progress->iteration - 1;
    metrics->gathered++;
    metrics->loss += result->loss;
    metrics->seconds += result->seconds;
    for (int i = 0; i < TRI_NUM_PHASES; i++)
        metrics->phase[i] += result->phase_seconds[i];
    metrics->last = *result;
    report_progress(metrics, progress);
    if (metrics->json)
        TRI_TRY(write_json(metrics, progress, result));
    if (progress->iteration % metrics->session->config.train.log_interval == 0)
        tri_metrics_flush(metrics, progress);
    return TRI_OK;
}

void tri_metrics_flush(tri_metrics *metrics, const struct tri_progress *progress)
{
    if (metrics->gathered == 0)
        return;
    const struct tri_run_config *config = &metrics->session->config;
    double count = (double)metrics->gathered, seconds = metrics->seconds / count;
    double tokens = (double)config->train.global_batch_size * (double)config->shape.seq_length;
    double flops = tokens * metrics->flops_per_token / seconds;
    char share[32] = "";
    if (metrics->limit > 0)
        snprintf(share, sizeof share, " (%.0f %%)", 100.0 * flops / metrics->limit);
    tri_metrics_line(
        metrics,
        "iteration %6" PRId64 "/%" PRId64 " | tokens %9.3gM | loss %8.5f | grad norm %8.4f | "
        "lr %.3e | %8.0f tokens/s | %7.1f GFLOP/s%s | step %.3f s (data %.3f model %.3f "
        "reduce %.3f update %.3f)",
        progress->iteration, config->train.train_iters,
        (double)progress->consumed_samples * (double)config->shape.seq_length / 1e6,
        metrics->loss / count, metrics->last.grad_norm, metrics->last.lr, tokens / seconds,
        flops / 1e9, share, seconds, metrics->phase[TRI_PHASE_DATA] / count,
        metrics->phase[TRI_PHASE_MODEL] / count, metrics->phase[TRI_PHASE_REDUCE] / count,
        metrics->phase[TRI_PHASE_UPDATE] / count);
    metrics->gathered = 0;
    metrics->loss = metrics->seconds = 0;
    memset(metrics->phase, 0, sizeof metrics->phase);
}
