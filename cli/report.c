/* SPDX-License-Identifier: Apache-2.0 */
/* Printing, exit codes and launching. */
#include "cli/report.h"

#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "cli/request.h"
#include "train/run_model.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

void tri_cli_keep_standard_files(void)
{
    /* A limit on file sizes becomes an error of the write instead of a death. */
    signal(SIGXFSZ, SIG_IGN);
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY);
}

int tri_cli_finish(int exit_code)
{
    if (fflush(stdout) == 0 || errno == EPIPE || exit_code != TRI_EXIT_DONE)
        return exit_code;
    fprintf(stderr, "error: cannot write the result: %s\n", strerror(errno));
    return TRI_EXIT_FAILED;
}

static const char *severity(const tri_error *err, int i)
{
    return tri_error_status_at(err, i) == TRI_BUG ? "bug" : "error";
}

/* Notes are the same on every rank, so the first one prints them. */
static void print_notes(const tri_error *err, int rank)
{
    for (int i = 0; rank <= 0 && i < tri_error_note_count(err); i++)
        fprintf(stderr, "note: %s\n", tri_error_note_message(err, i));
}

void tri_cli_print_record(const tri_error *err)
{
    int rank = tri_cli_launcher_rank();
    print_notes(err, rank);
    char prefix[24] = "";
    if (rank > 0)
        snprintf(prefix, sizeof prefix, "rank %d: ", rank);
    /* A line is one write: the launcher mixes what its processes write. */
    for (int i = 0; i < tri_error_count(err); i++)
        fprintf(stderr, "%s%s: %s\n", prefix, severity(err, i), tri_error_message(err, i));
}

struct refusal {
    const tri_error *err;
    const char *command;
    bool has_spoken;
};

static void print_refusal(struct refusal *refusal)
{
    refusal->has_spoken = true;
    if (tri_cli_launcher_rank() > 0)
        return;
    tri_cli_print_record(refusal->err);
    fprintf(stderr, "try 'trine %s --help'\n", refusal->command);
}

static void report_refusal(void *arg, int rank, tri_status status, const tri_error *err)
{
    (void)rank;
    (void)status;
    (void)err;
    print_refusal(arg);
}

static tri_status refuse_on_rank(void *arg, tri_world *world)
{
    const struct refusal *refusal = arg;
    tri_error_append(tri_world_get_error(world), refusal->err);
    return tri_error_status(refusal->err);
}

/* The first rank speaks for all. A launcher ends every process once one has gone, so none goes
   before the first has spoken. */
int tri_cli_refuse(const tri_error *err, const char *command)
{
    struct refusal refusal = {.err = err, .command = command};
    struct tri_launch launch = {
        .mpi = true, .time_limit_seconds = 60.0, .report = report_refusal, .report_arg = &refusal};
    tri_error *own = tri_error_create();
    if (own && tri_mpi_was_launched(environ))
        tri_launch_run(&launch, refuse_on_rank, &refusal, &own);
    if (!refusal.has_spoken)
        print_refusal(&refusal);
    tri_error_destroy(&own);
    return TRI_EXIT_REQUEST;
}

static bool asks_help(int argc, char **argv, bool *short_form)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        *short_form = strcmp(argv[i], "-h") == 0;
        if (*short_form || strcmp(argv[i], "--help") == 0)
            return true;
    }
    return false;
}

static void print_help(const char *command, const struct tri_option_binding *own, bool short_form)
{
    const struct tri_option_table *tables[TRI_RUN_MAX_BINDINGS + 1];
    int num = 0;
    if (own)
        tables[num++] = own->table;
    for (const struct tri_option_table *const *table = tri_run_tables(); *table; table++)
        tables[num++] = *table;
    const char *usage = tri_command_find(command)->usage;
    printf("usage: trine %s %s [--option value ...]\n\n", command, usage);
    if (strstr(usage, "MODEL"))
        printf("MODEL: a model's directory%s.\n\n", strstr(usage, "--load")
                                                        ? ", instead of --load"
                                                        : ", or a config.json, for its shape");
    tri_option_print_help(stdout, tables, num, short_form);
}

/* A number that an MPI launcher puts into the environment; -1 without one. */
static int launcher_number(const char *const *names)
{
    for (; *names; names++) {
        const char *text = getenv(*names);
        if (text && text[0])
            return (int)strtol(text, NULL, 10);
    }
    return -1;
}

/* The processes that the launcher started; 0 without one. */
static int num_processes(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", NULL};
    int launched = tri_mpi_was_launched(environ) ? launcher_number(names) : -1;
    return launched > 0 ? launched : 0;
}

int tri_cli_read_run(const char *command, int argc, char **argv, struct tri_option_binding *own,
                     struct tri_run_config *config)
{
    bool short_form;
    if (asks_help(argc, argv, &short_form)) {
        print_help(command, own, short_form);
        return TRI_EXIT_DONE;
    }
    tri_error *err = tri_error_create();
    int exit_code = -1;
    tri_status status = tri_run_config_read(argc - 1, argv + 1, num_processes(), own, config, err);
    if (status == TRI_OK || status == TRI_IO)
        tri_cli_print_record(err);
    if (status == TRI_IO) {
        exit_code = TRI_EXIT_FAILED;
    } else if (status != TRI_OK) {
        tri_cli_check_more(config, err);
        exit_code = tri_cli_refuse(err, command);
    }
    tri_error_destroy(&err);
    return exit_code;
}

int tri_cli_read_model_run(const char *command, int argc, char **argv,
                           struct tri_option_binding *own, struct tri_run_config *config)
{
    int exit_code = tri_cli_read_run(command, argc, argv, own, config);
    if (exit_code >= 0)
        return exit_code;
    tri_error *err = tri_error_create();
    tri_arena *arena = tri_arena_create();
    const char *dir;
    char *load = config->checkpoint.load;
    if (load[0] && config->model[0])
        tri_error_add(err, TRI_INVALID, "'%s' and --load '%s' both name a model; give one",
                      config->model, load);
    if (!load[0])
        snprintf(load, sizeof config->checkpoint.load, "%s", config->model);
    if (!load[0])
        tri_error_add(err, TRI_INVALID, "no model given; use --load DIR");
    if (tri_error_count(err) > 0) {
        exit_code = tri_cli_refuse(err, command);
    } else if (tri_checkpoint_resolve(load, arena, err, &dir) != TRI_OK ||
               tri_run_check_loaded_shape(config, err) != TRI_OK) {
        tri_cli_print_record(err);
        exit_code = TRI_EXIT_FAILED;
    }
    tri_arena_destroy(&arena);
    tri_error_destroy(&err);
    return exit_code;
}

int tri_cli_launcher_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", NULL};
    return tri_mpi_was_launched(environ) ? launcher_number(names) : -1;
}

int tri_cli_world_size(const struct tri_run_config *config)
{
    if (num_processes() > 0)
        return num_processes();
    return config->train.ranks == TRI_UNSET ? 1 : (int)config->train.ranks;
}

static int exit_code_of(tri_status status)
{
    if (status == TRI_OK)
        return TRI_EXIT_DONE;
    return status == TRI_STOPPED ? TRI_EXIT_STOPPED : TRI_EXIT_FAILED;
}

/* How many ranks have this very message in their record. */
static int num_with(tri_error **errs, int num, const char *message)
{
    int count = 0;
    for (int r = 0; r < num; r++)
        for (int i = 0; i < tri_error_count(errs[r]); i++)
            if (strcmp(tri_error_message(errs[r], i), message) == 0) {
                count++;
                break;
            }
    return count;
}

/* What all ranks found alike, as in a file that all of them read, is said once and for no rank. */
static void print_rank(tri_error **errs, int num, int rank)
{
    for (int i = 0; i < tri_error_count(errs[rank]); i++) {
        const char *message = tri_error_message(errs[rank], i);
        bool is_shared = num == 1 || (tri_error_status_at(errs[rank], i) != TRI_PEER &&
                                      num_with(errs, num, message) == num);
        if (!is_shared)
            fprintf(stderr, "rank %d: %s: %s\n", rank, severity(errs[rank], i), message);
        else if (rank == 0)
            fprintf(stderr, "%s: %s\n", severity(errs[rank], i), message);
    }
}

/* The rank with the cause speaks; ranks that only learned of it stay quiet, unless nobody else
   spoke or a peer was lost, which every survivor names. */
static void print_records(tri_error **errs, int num)
{
    bool spoken = false;
    for (int r = 0; r < num; r++)
        spoken = spoken || (tri_error_count(errs[r]) > 0 && tri_error_status(errs[r]) != TRI_PEER);
    print_notes(errs[0], 0);
    for (int r = 0; r < num; r++)
        if (!spoken || tri_error_status(errs[r]) != TRI_PEER)
            print_rank(errs, num, r);
}

/* Under MPI, where each process has one rank: those that only learned of a failure leave the
   word to the one that has the cause. */
static void print_own(void *arg, int rank, tri_status status, const tri_error *err)
{
    bool *is_reported = arg;
    *is_reported = true;
    if (status == TRI_PEER)
        print_notes(err, rank);
    else
        tri_cli_print_record(err);
}

int tri_cli_launch(const struct tri_run_config *config, tri_rank_fn *body, void *arg)
{
    bool is_reported = false;
    struct tri_launch launch = {
        .ranks = tri_cli_world_size(config),
        .mpi = tri_mpi_was_launched(environ),
        .time_limit_seconds = config->train.distributed_timeout_minutes * 60.0,
        .report = print_own,
        .report_arg = &is_reported,
    };
    int num = launch.mpi ? 1 : launch.ranks;
    tri_error **errs = calloc((size_t)num, sizeof(tri_error *));
    if (!errs)
        return TRI_EXIT_FAILED;
    for (int r = 0; r < num; r++)
        errs[r] = tri_error_create();
    tri_status status = tri_launch_run(&launch, body, arg, errs);
    if (!is_reported)
        print_records(errs, num);
    for (int r = 0; r < num; r++)
        tri_error_destroy(&errs[r]);
    free(errs);
    return exit_code_of(status);
}
