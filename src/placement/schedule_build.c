/* SPDX-License-Identifier: Apache-2.0 */
/* The builder of placement/schedule_build.h. */
#include "placement/schedule_build.h"

#include <string.h>

void tri_schedule_builder_init(struct tri_schedule_builder *builder,
                               const struct tri_schedule_input *input, int stage, tri_arena *arena)
{
    *builder = (struct tri_schedule_builder){.input = input, .arena = arena, .stage = stage};
}

void tri_schedule_build_action(struct tri_schedule_builder *builder, struct tri_action action)
{
    if (builder->status != TRI_OK)
        return;
    if (builder->num == builder->room) {
        int room = builder->room ? 2 * builder->room : 64;
        struct tri_action *grown = tri_arena_alloc(builder->arena, (size_t)room * sizeof(*grown));
        if (!grown) {
            builder->status = TRI_NOMEM;
            return;
        }
        if (builder->num)
            memcpy(grown, builder->actions, (size_t)builder->num * sizeof(*grown));
        builder->actions = grown;
        builder->room = room;
    }
    builder->actions[builder->num++] = action;
}

/* Adds an action over units [unit, unit + num_units). */
static void build_range(struct tri_schedule_builder *builder, enum tri_action_kind kind,
                        int microbatch, int slice, int unit, int num_units)
{
    tri_schedule_build_action(builder, (struct tri_action){.kind = kind,
                                                           .microbatch = microbatch,
                                                           .slice = slice,
                                                           .unit = unit,
                                                           .num_units = num_units,
                                                           .bucket = -1,
                                                           .slot = -1,
                                                           .staging = -1});
}

static void build_whole(struct tri_schedule_builder *builder, enum tri_action_kind kind,
                        int microbatch, int slice)
{
    build_range(builder, kind, microbatch, slice, 0,
                tri_schedule_units(builder->input, builder->stage, slice));
}

static void build_reduce(struct tri_schedule_builder *builder, int microbatch, int slice,
                         int bucket)
{
    tri_schedule_build_action(builder, (struct tri_action){.kind = TRI_ACTION_REDUCE,
                                                           .microbatch = microbatch,
                                                           .slice = slice,
                                                           .bucket = bucket,
                                                           .slot = -1,
                                                           .staging = -1});
}

void tri_schedule_build_forward(struct tri_schedule_builder *builder, int microbatch, int slice)
{
    const struct tri_schedule_input *input = builder->input;
    if (tri_schedule_has_previous(builder->stage, slice))
        build_whole(builder, TRI_ACTION_RECV_FWD, microbatch, slice);
    build_whole(builder, TRI_ACTION_FWD, microbatch, slice);
    if (tri_schedule_has_next(input->num_stages, input->num_slices, builder->stage, slice))
        build_whole(builder, TRI_ACTION_SEND_FWD, microbatch, slice);
}

void tri_schedule_build_reduced(struct tri_schedule_builder *builder, enum tri_action_kind kind,
                                int microbatch, int slice)
{
    const struct tri_schedule_input *input = builder->input;
    int where = builder->stage * input->num_slices + slice;
    int num_buckets = tri_schedule_buckets(input, builder->stage, slice);
    int end = input->num_units[where];
    for (int bucket = 0; bucket < num_buckets; bucket++) {
        int unit = input->bucket_unit[where][bucket];
        if (unit < end)
            build_range(builder, kind, microbatch, slice, unit, end - unit);
        end = unit;
        build_reduce(builder, microbatch, slice, bucket);
    }
    if (end > 0 || input->num_units[where] == 0)
        build_range(builder, kind, microbatch, slice, 0, end);
}

void tri_schedule_build_backward(struct tri_schedule_builder *builder, int microbatch, int slice)
{
    const struct tri_schedule_input *input = builder->input;
    if (tri_schedule_has_next(input->num_stages, input->num_slices, builder->stage, slice))
        build_whole(builder, TRI_ACTION_RECV_BWD, microbatch, slice);
    if (microbatch == input->num_microbatches - 1)
        tri_schedule_build_reduced(builder, TRI_ACTION_BWD, microbatch, slice);
    else
        build_whole(builder, TRI_ACTION_BWD, microbatch, slice);
    if (tri_schedule_has_previous(builder->stage, slice))
        build_whole(builder, TRI_ACTION_SEND_BWD, microbatch, slice);
}

/* The slots of one slice: which microbatch has which, and which are free, oldest first. */
struct slot_pool {
    int *of;        /* [microbatch] slot, or -1 */
    int *left;      /* [microbatch] units whose backward is to come */
    int *free_list; /* ring */
    int first_free, num_free, num_slots, room;
};

static int slot_pool_take(struct slot_pool *pool, int microbatch)
{
    if (pool->num_free == 0) {
        pool->of[microbatch] = pool->num_slots++;
    } else {
        pool->of[microbatch] = pool->free_list[pool->first_free];
        pool->first_free = (pool->first_free + 1) % pool->room;
        pool->num_free--;
    }
    return pool->of[microbatch];
}

static void slot_pool_give(struct slot_pool *pool, int microbatch)
{
    pool->free_list[(pool->first_free + pool->num_free++) % pool->room] = pool->of[microbatch];
}

/* Without a backward a slot is free once its output is on its way; a second one lets the next
   forward begin meanwhile, and as many as a stage may run ahead of the wrap-around link keep it
   moving. */
static int build_forward_slots(const struct tri_schedule_builder *builder, int slice)
{
    const struct tri_schedule_input *input = builder->input;
    if (!tri_schedule_has_next(input->num_stages, input->num_slices, builder->stage, slice))
        return 1;
    int wanted = tri_schedule_send_rows(input);
    return wanted < input->num_microbatches ? wanted : input->num_microbatches;
}

static tri_status build_pool_init(const struct tri_schedule_builder *builder, int slice,
                                  struct slot_pool *pool)
{
    int room = builder->input->num_microbatches;
    int *numbers = tri_arena_alloc(builder->arena, 3 * (size_t)room * sizeof(int));
    if (!numbers)
        return TRI_NOMEM;
    *pool = (struct slot_pool){
        .of = numbers, .left = numbers + room, .free_list = numbers + 2 * room, .room = room};
    for (int i = 0; i < room; i++) {
        pool->of[i] = -1;
        pool->left[i] = tri_schedule_units(builder->input, builder->stage, slice);
    }
    if (!builder->input->forward_only)
        return TRI_OK;
    pool->num_slots = pool->num_free = build_forward_slots(builder, slice);
    for (int i = 0; i < pool->num_slots; i++)
        pool->free_list[i] = i;
    return TRI_OK;
}

/* True when action is the last one that needs its microbatch's slot. */
static bool build_ends_slot(const struct tri_schedule_builder *builder, struct slot_pool *pool,
                            const struct tri_action *action)
{
    const struct tri_schedule_input *input = builder->input;
    if (input->forward_only) {
        bool sends = tri_schedule_has_next(input->num_stages, input->num_slices, builder->stage,
                                           action->slice);
        return action->kind == (sends ? TRI_ACTION_SEND_FWD : TRI_ACTION_FWD);
    }
    if (action->kind != TRI_ACTION_BWD && action->kind != TRI_ACTION_BWD_WEIGHT)
        return false;
    pool->left[action->microbatch] -= action->num_units;
    return pool->left[action->microbatch] == 0;
}

static void build_number(struct tri_schedule_builder *builder, struct slot_pool *pools,
                         struct tri_rank_schedule *rank)
{
    int sent = 0, received = 0;
    for (int i = 0; i < builder->num; i++) {
        struct tri_action *action = &builder->actions[i];
        if (action->kind == TRI_ACTION_SEND_BWD)
            action->staging = sent++ % rank->num_send_staging;
        if (action->kind == TRI_ACTION_RECV_BWD)
            action->staging = received++ % rank->num_recv_staging;
        rank->split_backward |= action->kind == TRI_ACTION_BWD_INPUT;
        rank->split_backward |= action->kind == TRI_ACTION_BWD_WEIGHT;
        if (action->kind == TRI_ACTION_REDUCE)
            continue;
        struct slot_pool *pool = &pools[action->slice];
        action->slot = pool->of[action->microbatch];
        if (action->slot < 0)
            action->slot = slot_pool_take(pool, action->microbatch);
        if (build_ends_slot(builder, pool, action))
            slot_pool_give(pool, action->microbatch);
    }
    if (sent == 0)
        rank->num_send_staging = 0;
    if (received == 0)
        rank->num_recv_staging = 0;
}

tri_status tri_schedule_build_end(struct tri_schedule_builder *builder, tri_error *err,
                                  struct tri_rank_schedule *rank)
{
    int num_slices = builder->input->num_slices;
    struct slot_pool *pools = tri_arena_alloc(builder->arena, (size_t)num_slices * sizeof(*pools));
    int *num_slots = tri_arena_alloc(builder->arena, (size_t)num_slices * sizeof(int));
    if (!pools || !num_slots)
        builder->status = TRI_NOMEM;
    for (int slice = 0; slice < num_slices && builder->status == TRI_OK; slice++)
        builder->status = build_pool_init(builder, slice, &pools[slice]);
    TRI_CHECK(builder->status == TRI_OK, err, builder->status, "out of memory while scheduling");
    *rank = (struct tri_rank_schedule){.num_send_staging = tri_schedule_send_rows(builder->input),
                                       .num_recv_staging = 2};
    build_number(builder, pools, rank);
    for (int slice = 0; slice < num_slices; slice++)
        num_slots[slice] = pools[slice].num_slots;
    rank->num_actions = builder->num;
    rank->actions = builder->actions;
    rank->num_slots = num_slots;
    return TRI_OK;
}
