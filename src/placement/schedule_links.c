/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a schedule's proof that look at all stages: on each link the messages come in the
 * order in which they are asked for, and nobody waits for ever.
 */
#include "placement/schedule_build.h"

void tri_schedule_fault(tri_error *err, const struct tri_schedule *schedule, int stage, int index,
                        const char *text)
{
    if (index < 0) {
        tri_error_add(err, TRI_INVALID, "schedule '%s', stage %d: %s", schedule->name, stage, text);
        return;
    }
    const struct tri_action *a = &schedule->ranks[stage].actions[index];
    tri_error_add(err, TRI_INVALID, "schedule '%s', stage %d, action %d '%s %d.%d': %s",
                  schedule->name, stage, index, tri_action_name(a->kind),
                  a->kind == TRI_ACTION_REDUCE ? a->bucket : a->microbatch, a->slice, text);
}

/* The index of the next action of kind in a stage's list from index on; num_actions: no more. */
static int links_next(const struct tri_rank_schedule *rank, enum tri_action_kind kind, int index)
{
    while (index < rank->num_actions && rank->actions[index].kind != kind)
        index++;
    return index;
}

/* Messages that stage sends by kind send, against what peer receives; shift leads from the number
   of a slice here to that of the slice there. */
static void links_check(const struct tri_schedule *schedule, int stage, enum tri_action_kind send,
                        int peer, int shift, tri_error *err)
{
    enum tri_action_kind receive =
        send == TRI_ACTION_SEND_FWD ? TRI_ACTION_RECV_FWD : TRI_ACTION_RECV_BWD;
    const struct tri_rank_schedule *from = &schedule->ranks[stage], *to = &schedule->ranks[peer];
    int i = links_next(from, send, 0), j = links_next(to, receive, 0);
    char text[160];
    for (; i < from->num_actions && j < to->num_actions;
         i = links_next(from, send, i + 1), j = links_next(to, receive, j + 1)) {
        const struct tri_action *a = &from->actions[i], *b = &to->actions[j];
        if (a->microbatch == b->microbatch && a->slice + shift == b->slice)
            continue;
        snprintf(text, sizeof(text), "stage %d expects %d.%d next on this link, not %d.%d", peer,
                 b->microbatch, b->slice, a->microbatch, a->slice + shift);
        tri_schedule_fault(err, schedule, stage, i, text);
        return;
    }
    if (i < from->num_actions) {
        snprintf(text, sizeof(text), "stage %d never receives it", peer);
        tri_schedule_fault(err, schedule, stage, i, text);
    }
    if (j < to->num_actions) {
        snprintf(text, sizeof(text), "stage %d never sends it", stage);
        tri_schedule_fault(err, schedule, peer, j, text);
    }
}

tri_status tri_schedule_check_links(const struct tri_schedule *schedule, bool can_run,
                                    tri_arena *arena, tri_error *err)
{
    int p = schedule->num_stages;
    for (int stage = 0; stage < p; stage++) {
        links_check(schedule, stage, TRI_ACTION_SEND_FWD, (stage + 1) % p, stage == p - 1, err);
        links_check(schedule, stage, TRI_ACTION_SEND_BWD, (stage + p - 1) % p, stage == 0 ? -1 : 0,
                    err);
    }
    if (!can_run)
        return TRI_OK;
    struct tri_schedule_run run;
    TRI_TRY(tri_schedule_simulate(schedule, arena, &run));
    for (int stage = 0; stage < p; stage++) {
        char text[96];
        if (run.position[stage] == schedule->ranks[stage].num_actions)
            continue;
        snprintf(text, sizeof(text), "it waits for ever, with %d staging rows to send from",
                 schedule->ranks[stage].num_send_staging);
        tri_schedule_fault(err, schedule, stage, run.position[stage], text);
    }
    return TRI_OK;
}
