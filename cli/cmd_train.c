/* SPDX-License-Identifier: Apache-2.0 */
/* trine train RUN.yaml: pre-training and fine-tuning. */
#include "cli/command.h"
#include "cli/report.h"
#include "cli/request.h"
#include "trine/pretrain.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The flag that signals set. A handler has no other way to reach the run. */
static struct tri_cancel cancel;

static void on_signal(int number)
{
    if (tri_cancel_requested(&cancel))
        _exit(128 + number);
    tri_cancel_request(&cancel);
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    tri_cancel_init(&cancel);
    const int numbers[] = {SIGTERM, SIGUSR1, SIGINT};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaction(numbers[i], &action, NULL);
    /* A reader that goes away must not end the run in the middle of a save. */
    signal(SIGPIPE, SIG_IGN);
}

#define BAR_WIDTH 24

struct screen {
    bool is_terminal;
    bool bar_shown;
    bool lines_lost; /* stdout takes nothing any more, and that was said */
};

static void clear_bar(struct screen *screen)
{
    if (screen->bar_shown)
        fprintf(stderr, "\r\033[K");
    screen->bar_shown = false;
}

static void print_line(void *arg, const char *text)
{
    struct screen *screen = arg;
    clear_bar(screen);
    if ((printf("%s\n", text) < 0 || fflush(stdout) != 0) && !screen->lines_lost) {
        fprintf(stderr, "warning: cannot write to stdout: %s; the run goes on without its lines\n",
                strerror(errno));
        screen->lines_lost = true;
    }
}

static void print_note(void *arg, const char *text)
{
    clear_bar(arg);
    fprintf(stderr, "note: %s\n", text);
}

static void print_progress(void *arg, int64_t done, int64_t total, double seconds_left, double loss)
{
    struct screen *screen = arg;
    if (!screen->is_terminal)
        return;
    char bar[BAR_WIDTH + 1];
    int filled = (int)(done * BAR_WIDTH / (total > 0 ? total : 1));
    for (int i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < filled ? '#' : '.';
    bar[BAR_WIDTH] = '\0';
    int left = (int)(seconds_left + 0.5);
    fprintf(stderr, "\r\033[K[%s] %lld/%lld  loss %.4f  %d:%02d left", bar, (long long)done,
            (long long)total, loss, left / 60, left % 60);
    fflush(stderr);
    screen->bar_shown = true;
}

/* What will run, before anything is allocated: one screen. */
static void print_header(const struct tri_run_config *config)
{
    if (tri_cli_launcher_rank() > 0)
        return;
    tri_error *err = tri_error_create();
    printf("trine %s\noptions that differ from the defaults (calculate_per_token_loss is %s):\n",
           TRI_VERSION,
           config->train.calculate_per_token_loss ? "true; Megatron-LM's is false" : "false");
    tri_run_config_print(stdout, config, true);
    printf("\n");
    tri_run_print_plan(stdout, config, NULL, tri_cli_world_size(config), 0, err);
    printf("\n");
    fflush(stdout);
    tri_error_destroy(&err);
}

/* A model in place of a run file may be meant in two ways. */
static int refuse_model(const char *model)
{
    tri_error *err = tri_error_create();
    tri_error_add(
        err, TRI_INVALID,
        "'%s' is a model, no run file; use --load %s to train it further, or --shape-from "
        "%s to train a new one of its shape",
        model, model, model);
    int exit_code = tri_cli_refuse(err, "train");
    tri_error_destroy(&err);
    return exit_code;
}

static int train_run(int argc, char **argv)
{
    struct tri_run_config config;
    int exit_code = tri_cli_read_run("train", argc, argv, NULL, &config);
    if (exit_code < 0 && config.model[0])
        exit_code = refuse_model(config.model);
    if (exit_code >= 0)
        return exit_code;
    exit_code = tri_cli_check_run("train", &config, TRI_NEEDS_DATA | TRI_NEEDS_SCHEDULE);
    if (exit_code >= 0)
        return exit_code;
    struct screen screen = {.is_terminal = isatty(STDERR_FILENO)};
    struct tri_pretrain_request request = {
        .config = &config,
        .observer = {.arg = &screen,
                     .line = print_line,
                     .note = print_note,
                     .progress = print_progress},
        .cancel = &cancel,
    };
    print_header(&config);
    catch_signals();
    exit_code = tri_cli_launch(&config, tri_pretrain, &request);
    clear_bar(&screen);
    return exit_code;
}

const struct tri_command tri_cmd_train = {
    .name = "train",
    .usage = "RUN.yaml",
    .summary = "pre-train or fine-tune a model",
    .run = train_run,
};
