/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules as text, one line per stage:
 *
 *   rank 0: RECV_FWD 0.0 FWD 0.0[0:5] SEND_FWD 0.0 ... REDUCE 1.0
 *
 * i.c is microbatch.slice (of a REDUCE: bucket.slice), [first:count] a unit range, left out for the
 * whole slice. '#' starts a comment. Slots and staging rows are not in the text; reading numbers
 * them. A line without REDUCE gets them: the last microbatch's BWD or BWD_WEIGHT of a whole slice
 * is cut at bucket borders, and a bucket that this leaves out is reduced at the end.
 */
#include "placement/schedule_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const action_names[TRI_NUM_ACTION_KINDS] = {
    [TRI_ACTION_RECV_FWD] = "RECV_FWD",
    [TRI_ACTION_FWD] = "FWD",
    [TRI_ACTION_SEND_FWD] = "SEND_FWD",
    [TRI_ACTION_RECV_BWD] = "RECV_BWD",
    [TRI_ACTION_BWD] = "BWD",
    [TRI_ACTION_BWD_INPUT] = "BWD_INPUT",
    [TRI_ACTION_BWD_WEIGHT] = "BWD_WEIGHT",
    [TRI_ACTION_SEND_BWD] = "SEND_BWD",
    [TRI_ACTION_REDUCE] = "REDUCE",
};

const char *tri_action_name(enum tri_action_kind kind)
{
    return (unsigned)kind < TRI_NUM_ACTION_KINDS ? action_names[kind] : "unknown action";
}

static bool action_is_work(enum tri_action_kind kind)
{
    return kind == TRI_ACTION_FWD || kind == TRI_ACTION_BWD || kind == TRI_ACTION_BWD_INPUT ||
           kind == TRI_ACTION_BWD_WEIGHT;
}

/* Units of a slice, as far as the list tells. */
static int text_units(const struct tri_rank_schedule *rank, int slice)
{
    int units = 0;
    for (int i = 0; i < rank->num_actions; i++)
        if (rank->actions[i].slice == slice &&
            rank->actions[i].unit + rank->actions[i].num_units > units)
            units = rank->actions[i].unit + rank->actions[i].num_units;
    return units;
}

void tri_schedule_print(FILE *out, const struct tri_schedule *schedule)
{
    for (int stage = 0; stage < schedule->num_stages; stage++) {
        const struct tri_rank_schedule *rank = &schedule->ranks[stage];
        fprintf(out, "rank %d:", stage);
        for (int i = 0; i < rank->num_actions; i++) {
            const struct tri_action *a = &rank->actions[i];
            fprintf(out, " %s %d.%d", tri_action_name(a->kind),
                    a->kind == TRI_ACTION_REDUCE ? a->bucket : a->microbatch, a->slice);
            if (action_is_work(a->kind) &&
                (a->unit > 0 || a->num_units < text_units(rank, a->slice)))
                fprintf(out, "[%d:%d]", a->unit, a->num_units);
        }
        fputc('\n', out);
    }
}

/* Where the reader stands. */
struct reader {
    const char *path;
    const struct tri_schedule_input *input;
    tri_arena *arena;
    tri_error *err;
    int line;
    char *at;
    struct tri_rank_schedule *ranks;
    bool *is_read; /* [stage] */
};

static void reader_skip_blanks(struct reader *reader)
{
    reader->at += strspn(reader->at, " \t\r");
}

/* A number below limit at the reader's place, which moves behind it. */
static tri_status reader_number(struct reader *reader, const char *what, int limit, int *value)
{
    char *end;
    errno = 0;
    long number = strtol(reader->at, &end, 10);
    if (end == reader->at || *reader->at < '0' || *reader->at > '9')
        return tri_error_add(reader->err, TRI_INVALID, "'%s:%d': a %s is missing at '%.20s'",
                             reader->path, reader->line, what, reader->at);
    if (errno || number >= limit)
        return tri_error_add(reader->err, TRI_INVALID, "'%s:%d': %s %.*s is not below %d",
                             reader->path, reader->line, what, (int)(end - reader->at), reader->at,
                             limit);
    reader->at = end;
    *value = (int)number;
    return TRI_OK;
}

static tri_status reader_character(struct reader *reader, char c)
{
    TRI_CHECK(*reader->at == c, reader->err, TRI_INVALID, "'%s:%d': a '%c' is missing at '%.20s'",
              reader->path, reader->line, c, reader->at);
    reader->at++;
    return TRI_OK;
}

static tri_status reader_kind(struct reader *reader, enum tri_action_kind *kind)
{
    size_t size = strspn(reader->at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
    for (int i = 0; i < TRI_NUM_ACTION_KINDS; i++) {
        if (strlen(action_names[i]) != size || strncmp(action_names[i], reader->at, size) != 0)
            continue;
        *kind = (enum tri_action_kind)i;
        reader->at += size;
        reader_skip_blanks(reader);
        return TRI_OK;
    }
    return tri_error_add(reader->err, TRI_INVALID,
                         "'%s:%d': no action begins with '%.20s'; use RECV_FWD, FWD, SEND_FWD, "
                         "RECV_BWD, BWD, BWD_INPUT, BWD_WEIGHT, SEND_BWD or REDUCE",
                         reader->path, reader->line, reader->at);
}

static tri_status reader_action(struct reader *reader, int stage, struct tri_action *action)
{
    const struct tri_schedule_input *input = reader->input;
    *action = (struct tri_action){.bucket = -1, .slot = -1, .staging = -1};
    TRI_TRY(reader_kind(reader, &action->kind));
    bool reduce = action->kind == TRI_ACTION_REDUCE;
    int first, slice;
    TRI_TRY(reader_number(reader, reduce ? "bucket" : "microbatch",
                          reduce ? INT32_MAX : input->num_microbatches, &first));
    TRI_TRY(reader_character(reader, '.'));
    TRI_TRY(reader_number(reader, "slice", input->num_slices, &slice));
    int units = tri_schedule_units(input, stage, slice);
    action->slice = slice;
    if (reduce) {
        action->bucket = first;
        action->microbatch = input->num_microbatches - 1;
        TRI_CHECK(first < tri_schedule_buckets(input, stage, slice), reader->err, TRI_INVALID,
                  "'%s:%d': bucket %d is not among the slice's %d", reader->path, reader->line,
                  first, tri_schedule_buckets(input, stage, slice));
        return TRI_OK;
    }
    action->microbatch = first;
    action->num_units = units;
    if (*reader->at != '[')
        return TRI_OK;
    reader->at++;
    TRI_TRY(reader_number(reader, "unit", units, &action->unit));
    TRI_TRY(reader_character(reader, ':'));
    TRI_TRY(reader_number(reader, "number of units", units - action->unit + 1, &action->num_units));
    return reader_character(reader, ']');
}

/* True when action is where the generators would begin the reduces of its slice. */
static bool reader_cuts(const struct tri_schedule_input *input, int stage,
                        const struct tri_action *action)
{
    return (action->kind == TRI_ACTION_BWD || action->kind == TRI_ACTION_BWD_WEIGHT) &&
           action->microbatch == input->num_microbatches - 1 &&
           action->num_units == tri_schedule_units(input, stage, action->slice) &&
           tri_schedule_buckets(input, stage, action->slice) > 0;
}

/* Hands the actions of a line without REDUCE on, with reduces. */
static tri_status reader_add_reduces(struct reader *reader, int stage,
                                     const struct tri_schedule_builder *plain,
                                     struct tri_schedule_builder *builder)
{
    const struct tri_schedule_input *input = reader->input;
    bool *reduced = tri_arena_alloc(reader->arena, (size_t)input->num_slices);
    TRI_CHECK(reduced, reader->err, TRI_NOMEM, "out of memory while reading a schedule");
    for (int i = 0; i < plain->num; i++) {
        const struct tri_action *a = &plain->actions[i];
        if (!reader_cuts(input, stage, a) || reduced[a->slice]) {
            tri_schedule_build_action(builder, *a);
            continue;
        }
        reduced[a->slice] = true;
        tri_schedule_build_reduced(builder, a->kind, a->microbatch, a->slice);
    }
    for (int slice = 0; slice < input->num_slices; slice++)
        for (int i = 0; !reduced[slice] && i < tri_schedule_buckets(input, stage, slice); i++)
            tri_schedule_build_action(builder,
                                      (struct tri_action){.kind = TRI_ACTION_REDUCE,
                                                          .microbatch = input->num_microbatches - 1,
                                                          .slice = slice,
                                                          .bucket = i,
                                                          .slot = -1,
                                                          .staging = -1});
    return TRI_OK;
}

/* The actions of one line, behind "rank N:". */
static tri_status reader_actions(struct reader *reader, int stage)
{
    struct tri_schedule_builder plain, builder;
    tri_schedule_builder_init(&plain, reader->input, stage, reader->arena);
    tri_schedule_builder_init(&builder, reader->input, stage, reader->arena);
    bool has_reduce = false;
    for (reader_skip_blanks(reader); *reader->at; reader_skip_blanks(reader)) {
        struct tri_action action;
        TRI_TRY(reader_action(reader, stage, &action));
        has_reduce |= action.kind == TRI_ACTION_REDUCE;
        tri_schedule_build_action(&plain, action);
    }
    if (has_reduce)
        return tri_schedule_build_end(&plain, reader->err, &reader->ranks[stage]);
    TRI_TRY(reader_add_reduces(reader, stage, &plain, &builder));
    return tri_schedule_build_end(&builder, reader->err, &reader->ranks[stage]);
}

static tri_status reader_line(struct reader *reader)
{
    int stage;
    reader_skip_blanks(reader);
    if (!*reader->at)
        return TRI_OK;
    TRI_CHECK(strncmp(reader->at, "rank ", 5) == 0, reader->err, TRI_INVALID,
              "'%s:%d': the line does not begin with 'rank N:'", reader->path, reader->line);
    reader->at += 5;
    TRI_TRY(reader_number(reader, "rank", reader->input->num_stages, &stage));
    TRI_TRY(reader_character(reader, ':'));
    TRI_CHECK(!reader->is_read[stage], reader->err, TRI_INVALID, "'%s:%d': rank %d is here twice",
              reader->path, reader->line, stage);
    reader->is_read[stage] = true;
    return reader_actions(reader, stage);
}

static tri_status reader_lines(struct reader *reader, FILE *file)
{
    char *line = NULL;
    size_t room = 0;
    tri_status status = TRI_OK;
    while (status == TRI_OK && getline(&line, &room, file) >= 0) {
        line[strcspn(line, "#\n")] = '\0';
        reader->line++;
        reader->at = line;
        status = reader_line(reader);
    }
    if (status == TRI_OK && ferror(file))
        status = tri_error_set(reader->err, TRI_IO, "cannot read '%s': %s", reader->path,
                               strerror(errno));
    free(line);
    return status;
}

tri_status tri_schedule_read(const char *path, const struct tri_schedule_input *input,
                             tri_arena *arena, tri_error *err, struct tri_schedule *schedule)
{
    size_t p = (size_t)input->num_stages;
    struct reader reader = {.path = path, .input = input, .arena = arena, .err = err};
    reader.ranks = tri_arena_alloc(arena, p * sizeof(*reader.ranks));
    reader.is_read = tri_arena_alloc(arena, p * sizeof(bool));
    const char *name = tri_arena_format(arena, "%s", path);
    TRI_CHECK(reader.ranks && reader.is_read && name, err, TRI_NOMEM,
              "out of memory while reading a schedule");
    FILE *file = fopen(path, "r");
    if (!file)
        return tri_error_add(err, TRI_INVALID,
                             "schedule '%s' is no file (%s) and none of auto, no_pipelining, 1f1b, "
                             "interleaved",
                             path, strerror(errno));
    tri_status status = reader_lines(&reader, file);
    fclose(file);
    TRI_TRY(status);
    for (int stage = 0; stage < input->num_stages; stage++)
        TRI_CHECK(reader.is_read[stage], err, TRI_INVALID, "'%s' has no line 'rank %d:' of %d",
                  path, stage, input->num_stages);
    *schedule = (struct tri_schedule){.name = name,
                                      .num_stages = input->num_stages,
                                      .num_slices = input->num_slices,
                                      .num_microbatches = input->num_microbatches,
                                      .ranks = reader.ranks};
    return TRI_OK;
}
