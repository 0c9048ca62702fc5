/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs all stages of a schedule side by side without doing any of the work: each stage goes
 * through its list until it must wait, and stages take turns until nobody gets further. Sends
 * never wait. A gradient's staging row and a forward-only slot are used again only after the peer
 * has received what was in them; the wait for a staging row is put before the backward that fills
 * it, the earliest an executor may do so.
 */
#include "placement/schedule_build.h"

/* Messages of one direction between two neighbours, in order. */
struct run_link {
    double *sent, *received; /* times */
    int num_sent, num_received;
};

struct run_stage {
    const struct tri_rank_schedule *rank;
    struct run_link *out_fwd, *in_fwd, *out_bwd, *in_bwd;
    int stage, position;
    int *units;      /* [slice] */
    int *row_last;   /* [send staging row] number of the last message in it, -1 */
    int **slot_last; /* [slice][slot] the same for forward messages */
    double clock, busy;
};

static int *run_numbers(tri_arena *arena, int num, int value)
{
    int *numbers = tri_arena_alloc(arena, (size_t)(num ? num : 1) * sizeof(int));
    for (int i = 0; numbers && i < num; i++)
        numbers[i] = value;
    return numbers;
}

static tri_status run_stage_init(struct run_stage *stage, int num_slices, tri_arena *arena)
{
    const struct tri_rank_schedule *rank = stage->rank;
    stage->units = run_numbers(arena, num_slices, 0);
    stage->row_last = run_numbers(arena, rank->num_send_staging, -1);
    stage->slot_last = tri_arena_alloc(arena, (size_t)num_slices * sizeof(int *));
    if (!stage->units || !stage->row_last || !stage->slot_last)
        return TRI_NOMEM;
    for (int i = 0; i < num_slices; i++) {
        stage->slot_last[i] = run_numbers(arena, rank->num_slots[i], -1);
        if (!stage->slot_last[i])
            return TRI_NOMEM;
    }
    for (int i = 0; i < rank->num_actions; i++) {
        const struct tri_action *a = &rank->actions[i];
        if (a->unit + a->num_units > stage->units[a->slice])
            stage->units[a->slice] = a->unit + a->num_units;
    }
    return TRI_OK;
}

static tri_status run_link_init(struct run_link *link, int num, tri_arena *arena)
{
    link->sent = tri_arena_alloc(arena, (size_t)(num + 1) * sizeof(double));
    link->received = tri_arena_alloc(arena, (size_t)(num + 1) * sizeof(double));
    return link->sent && link->received ? TRI_OK : TRI_NOMEM;
}

/* Waits for message number last of link to have been received; false: it has not been yet. */
static bool run_wait_received(struct run_stage *stage, const struct run_link *link, int last)
{
    if (last < 0)
        return true;
    if (link->num_received <= last)
        return false;
    if (link->received[last] > stage->clock)
        stage->clock = link->received[last];
    return true;
}

static bool run_receive(struct run_stage *stage, struct run_link *link)
{
    if (link->num_received >= link->num_sent)
        return false;
    if (link->sent[link->num_received] > stage->clock)
        stage->clock = link->sent[link->num_received];
    link->received[link->num_received++] = stage->clock;
    return true;
}

static int run_send(struct run_stage *stage, struct run_link *link)
{
    link->sent[link->num_sent] = stage->clock;
    return link->num_sent++;
}

/* The staging row that the backward at the stage's position will fill; -1 if it fills none. */
static int run_filled_row(const struct run_stage *stage, const struct tri_action *a)
{
    if (a->unit > 0 || !tri_schedule_has_previous(stage->stage, a->slice))
        return -1;
    for (int i = stage->position + 1; i < stage->rank->num_actions; i++) {
        const struct tri_action *b = &stage->rank->actions[i];
        if (b->kind == TRI_ACTION_SEND_BWD && b->microbatch == a->microbatch &&
            b->slice == a->slice)
            return b->staging;
    }
    return -1;
}

static void run_work(struct run_stage *stage, const struct tri_action *a, double time)
{
    int units = stage->units[a->slice];
    double part = units > 0 ? time * a->num_units / units : time;
    stage->clock += part;
    stage->busy += part;
}

static bool run_forward_part(struct run_stage *stage, const struct tri_action *a)
{
    bool receives = a->kind == TRI_ACTION_RECV_FWD;
    bool first = receives || (a->unit == 0 && !tri_schedule_has_previous(stage->stage, a->slice));
    int last = stage->slot_last[a->slice][a->slot];
    if (first && !run_wait_received(stage, stage->out_fwd, last))
        return false;
    if (receives)
        return run_receive(stage, stage->in_fwd);
    run_work(stage, a, 1);
    return true;
}

static bool run_backward_part(struct run_stage *stage, const struct tri_action *a)
{
    int row = run_filled_row(stage, a);
    if (row >= 0 && !run_wait_received(stage, stage->out_bwd, stage->row_last[row]))
        return false;
    run_work(stage, a, a->kind == TRI_ACTION_BWD ? 2 : 1);
    return true;
}

/* Does the action; false: it must wait. */
static bool run_action(struct run_stage *stage, const struct tri_action *a)
{
    switch (a->kind) {
    case TRI_ACTION_RECV_FWD:
    case TRI_ACTION_FWD:
        return run_forward_part(stage, a);
    case TRI_ACTION_SEND_FWD:
        stage->slot_last[a->slice][a->slot] = run_send(stage, stage->out_fwd);
        return true;
    case TRI_ACTION_RECV_BWD:
        return run_receive(stage, stage->in_bwd);
    case TRI_ACTION_BWD:
    case TRI_ACTION_BWD_INPUT:
        return run_backward_part(stage, a);
    case TRI_ACTION_BWD_WEIGHT:
        run_work(stage, a, 1);
        return true;
    case TRI_ACTION_SEND_BWD:
        if (!run_wait_received(stage, stage->out_bwd, stage->row_last[a->staging]))
            return false;
        stage->row_last[a->staging] = run_send(stage, stage->out_bwd);
        return true;
    case TRI_ACTION_REDUCE:
    case TRI_NUM_ACTION_KINDS:
        break;
    }
    return true;
}

static void run_all(struct run_stage *stages, int num_stages)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < num_stages; i++) {
            struct run_stage *stage = &stages[i];
            while (stage->position < stage->rank->num_actions &&
                   run_action(stage, &stage->rank->actions[stage->position])) {
                stage->position++;
                moved = true;
            }
        }
    }
}

static tri_status run_init(const struct tri_schedule *schedule, struct run_stage *stages,
                           struct run_link *fwd, struct run_link *bwd, tri_arena *arena)
{
    int p = schedule->num_stages;
    for (int i = 0; i < p; i++) {
        int previous = (i + p - 1) % p, next = (i + 1) % p;
        stages[i] = (struct run_stage){.rank = &schedule->ranks[i],
                                       .stage = i,
                                       .out_fwd = &fwd[i],
                                       .in_fwd = &fwd[previous],
                                       .out_bwd = &bwd[i],
                                       .in_bwd = &bwd[next]};
        TRI_TRY(run_stage_init(&stages[i], schedule->num_slices, arena));
        TRI_TRY(run_link_init(&fwd[i], schedule->ranks[i].num_actions, arena));
        TRI_TRY(run_link_init(&bwd[i], schedule->ranks[i].num_actions, arena));
    }
    return TRI_OK;
}

tri_status tri_schedule_simulate(const struct tri_schedule *schedule, tri_arena *arena,
                                 struct tri_schedule_run *run)
{
    size_t p = (size_t)schedule->num_stages;
    struct run_stage *stages = tri_arena_alloc(arena, p * sizeof(*stages));
    struct run_link *links = tri_arena_alloc(arena, 2 * p * sizeof(*links));
    int *position = tri_arena_alloc(arena, p * sizeof(int));
    if (!stages || !links || !position)
        return TRI_NOMEM;
    TRI_TRY(run_init(schedule, stages, links, links + p, arena));
    run_all(stages, schedule->num_stages);
    *run = (struct tri_schedule_run){.position = position};
    for (size_t i = 0; i < p; i++) {
        position[i] = stages[i].position;
        run->num_stuck += stages[i].position < stages[i].rank->num_actions;
        run->busy += stages[i].busy;
        if (stages[i].clock > run->time)
            run->time = stages[i].clock;
    }
    return TRI_OK;
}

double tri_schedule_bubble(const struct tri_schedule *schedule)
{
    tri_arena *arena = tri_arena_create();
    struct tri_schedule_run run = {0};
    if (arena && tri_schedule_simulate(schedule, arena, &run) != TRI_OK)
        run = (struct tri_schedule_run){0};
    tri_arena_destroy(&arena);
    if (run.busy <= 0)
        return 0;
    return (run.time * schedule->num_stages - run.busy) / run.busy;
}
