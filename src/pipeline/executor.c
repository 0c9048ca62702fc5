/* SPDX-License-Identifier: Apache-2.0 */
/* The loop that runs any schedule. */
#include "pipeline/executor.h"

#include <stdlib.h>
#include <string.h>

/* What a slot of a slice holds while a list runs. */
struct slot_state {
    int current; /* microbatch in it, -1: none */
    struct tri_microbatch microbatch;
    tri_request *sent; /* output on its way to the next stage */
    int dout_row;      /* staging copy that holds the gradient of its output, -1: none */
    float *loss_room;  /* token losses and weights for a hook's own loss, or NULL */
};

struct tri_executor {
    struct tri_model *model;
    struct tri_context *context;
    const struct tri_rank_schedule *schedule;
    struct tri_execution *execution;
    struct slot_state **slots; /* [slice][slot] */
    int *din_row;              /* [action]: staging copy that a backward's input gradient goes to */
    tri_request **staged;      /* [staging copy]: gradient on its way to the previous stage */
    int send_row, recv_row;    /* plan rows of gradient staging, -1: none */
};

/* A backward writes into the staging copy from which the next send of its slot takes. */
static void find_din_rows(tri_executor *executor)
{
    const struct tri_rank_schedule *schedule = executor->schedule;
    for (int i = schedule->num_actions - 1; i >= 0; i--) {
        const struct tri_action *action = &schedule->actions[i];
        if (action->kind == TRI_ACTION_REDUCE) /* has no slot */
            continue;
        int *row = &executor->slots[action->slice][action->slot].dout_row;
        if (action->kind == TRI_ACTION_SEND_BWD)
            *row = action->staging;
        executor->din_row[i] = *row;
    }
}

static tri_status make_slots(tri_executor *executor)
{
    struct tri_model *model = executor->model;
    const struct tri_plan_request *request = &executor->context->placement->request;
    size_t room = (size_t)(2 * request->micro_batch_size * request->seq_length);
    for (int i = 0; i < model->num_slices; i++) {
        const struct tri_slice *slice = model->slices[i];
        executor->slots[i] = calloc((size_t)slice->num_slots + 1, sizeof **executor->slots);
        if (!executor->slots[i])
            return TRI_NOMEM;
        for (int s = 0; s < slice->num_slots; s++) {
            executor->slots[i][s].dout_row = -1;
            if (!slice->plan->has_head || !model->hooks.forward_step)
                continue;
            executor->slots[i][s].loss_room = calloc(room, sizeof(float));
            if (!executor->slots[i][s].loss_room)
                return TRI_NOMEM;
        }
    }
    return TRI_OK;
}

tri_status tri_executor_create(struct tri_model *model, const struct tri_rank_schedule *schedule,
                               tri_executor **result)
{
    tri_executor *executor = calloc(1, sizeof *executor);
    if (!executor)
        return tri_error_set(model->context->err, TRI_NOMEM, "out of memory for the executor");
    executor->model = model;
    executor->context = model->context;
    executor->schedule = schedule;
    executor->slots = calloc((size_t)model->num_slices + 1, sizeof(struct slot_state *));
    executor->din_row = calloc((size_t)schedule->num_actions + 1, sizeof(int));
    executor->staged = calloc((size_t)schedule->num_send_staging + 1, sizeof(tri_request *));
    if (!executor->slots || !executor->din_row || !executor->staged ||
        make_slots(executor) != TRI_OK) {
        tri_executor_destroy(&executor);
        return tri_error_set(model->context->err, TRI_NOMEM, "out of memory for the executor");
    }
    executor->send_row = tri_rank_plan_row(model->context->plan, "pipeline", "send gradient");
    executor->recv_row = tri_rank_plan_row(model->context->plan, "pipeline", "receive gradient");
    find_din_rows(executor);
    *result = executor;
    return TRI_OK;
}

void tri_executor_destroy(tri_executor **result)
{
    tri_executor *executor = *result;
    if (!executor)
        return;
    for (int i = 0; executor->slots && i < executor->model->num_slices; i++) {
        for (int s = 0; executor->slots[i] && s < executor->model->slices[i]->num_slots; s++)
            free(executor->slots[i][s].loss_room);
        free(executor->slots[i]);
    }
    free(executor->slots);
    free(executor->din_row);
    free(executor->staged);
    free(executor);
    *result = NULL;
}

/* The neighbour in the pipeline's group; after the last stage comes the first (several slices a
   rank). */
static int neighbour(const tri_executor *executor, int step)
{
    int size = executor->context->pp->size;
    return (executor->context->pp->rank + step + size) % size;
}

static float seed_of(const struct tri_execution *execution, const struct tri_microbatch *microbatch)
{
    int64_t valid = microbatch->num_valid > 0 ? microbatch->num_valid : 1;
    return execution->mean_over > 0 ? (float)(1.0 / ((double)valid * execution->mean_over))
                                    : execution->seed;
}

/* Puts the action's microbatch into its slot, once; the slot is free when its last output has
   left. */
static tri_status load_slot(tri_executor *executor, const struct tri_action *action,
                            struct tri_slot **result)
{
    struct tri_execution *execution = executor->execution;
    struct tri_slot *slot = &executor->model->slices[action->slice]->slots[action->slot];
    struct slot_state *state = &executor->slots[action->slice][action->slot];
    *result = slot;
    if (state->current == action->microbatch)
        return TRI_OK;
    if (state->sent)
        TRI_TRY(tri_request_end(executor->context->pp, &state->sent));
    TRI_TRY(execution->microbatch(execution->arg, action->microbatch, &state->microbatch));
    state->current = action->microbatch;
    slot->microbatch = &state->microbatch;
    slot->training = execution->training;
    slot->seed = seed_of(execution, &state->microbatch);
    slot->cache = execution->cache;
    slot->token_loss = state->loss_room;
    slot->token_entropy = NULL;
    slot->logits = NULL;
    slot->all_logits = false;
    memset(slot->loss, 0, sizeof slot->loss);
    return TRI_OK;
}

/* Turns token losses into a hook's own loss; its weights seed backward. */
static tri_status apply_loss(tri_executor *executor, struct slot_state *state,
                             struct tri_slot *slot, tri_loss_fn *loss)
{
    const struct tri_execution *execution = executor->execution;
    struct tri_microbatch *microbatch = &state->microbatch;
    struct tri_loss_term *term = &slot->loss[TRI_LOSS_LM];
    float *weights = state->loss_room + microbatch->rows * microbatch->length;
    TRI_TRY(loss(executor->model->hooks.user, microbatch, slot->token_loss, weights, term));
    microbatch->weights = weights;
    if (execution->mean_over > 0) /* the loss has a count of its own */
        slot->seed = (float)(1.0 / ((term->count > 0 ? term->count : 1.0) * execution->mean_over));
    return TRI_OK;
}

static void add_losses(struct tri_execution *execution, const struct tri_slot *slot)
{
    for (int i = 0; i < TRI_MAX_LOSS_TERMS; i++) {
        execution->loss[i].value += slot->loss[i].value;
        execution->loss[i].count += slot->loss[i].count;
    }
}

static tri_status forward(tri_executor *executor, const struct tri_action *action)
{
    struct tri_execution *execution = executor->execution;
    const struct tri_hooks *hooks = &executor->model->hooks;
    struct tri_slice *slice = executor->model->slices[action->slice];
    struct slot_state *state = &executor->slots[action->slice][action->slot];
    struct tri_slot *slot;
    TRI_TRY(load_slot(executor, action, &slot));
    if (action->unit == 0 && execution->before)
        TRI_TRY(execution->before(execution->arg, action->microbatch, slice, slot));

    tri_loss_fn *loss = NULL;
    if (hooks->forward_step)
        TRI_TRY(
            hooks->forward_step(hooks->user, slice, slot, action->unit, action->num_units, &loss));
    else
        TRI_TRY(tri_slice_forward(slice, slot, action->unit, action->num_units));

    if (action->unit + action->num_units < slice->num_units)
        return TRI_OK;
    if (slice->plan->has_head) {
        if (loss && slot->microbatch->labels)
            TRI_TRY(apply_loss(executor, state, slot, loss));
        add_losses(execution, slot);
    }
    return execution->after ? execution->after(execution->arg, action->microbatch, slice, slot)
                            : TRI_OK;
}

static void *staging(const tri_executor *executor, int row, int copy)
{
    return copy < 0 || row < 0 ? NULL : tri_context_row(executor->context, row, copy);
}

static tri_status backward(tri_executor *executor, int index, enum tri_backward_half half)
{
    const struct tri_action *action = &executor->schedule->actions[index];
    struct tri_slice *slice = executor->model->slices[action->slice];
    int in = executor->slots[action->slice][action->slot].dout_row, out = executor->din_row[index];
    bool writes_din = half != TRI_BACKWARD_WEIGHT && action->unit == 0 && out >= 0;
    if (writes_din && executor->staged[out])
        TRI_TRY(tri_request_end(executor->context->pp, &executor->staged[out]));
    return tri_slice_backward(slice, &slice->slots[action->slot], action->unit, action->num_units,
                              half, staging(executor, executor->recv_row, in),
                              staging(executor, executor->send_row, out));
}

static tri_status receive(tri_executor *executor, const struct tri_action *action)
{
    struct tri_slice *slice = executor->model->slices[action->slice];
    tri_group *pp = executor->context->pp;
    bool is_forward = action->kind == TRI_ACTION_RECV_FWD;
    struct tri_slot *slot;
    TRI_TRY(load_slot(executor, action, &slot));
    if (!is_forward)
        executor->slots[action->slice][action->slot].dout_row = action->staging;
    void *into = is_forward ? tri_slice_input(slice, slot)
                            : staging(executor, executor->recv_row, action->staging);
    return tri_group_recv(pp, into, tri_slice_boundary_elements(slice, slot), TRI_DTYPE_F32,
                          neighbour(executor, is_forward ? -1 : 1),
                          is_forward ? TRI_CHANNEL_FORWARD : TRI_CHANNEL_BACKWARD);
}

static tri_status send(tri_executor *executor, const struct tri_action *action)
{
    struct tri_slice *slice = executor->model->slices[action->slice];
    const struct tri_slot *slot = &slice->slots[action->slot];
    tri_group *pp = executor->context->pp;
    int64_t count = tri_slice_boundary_elements(slice, slot);
    if (action->kind == TRI_ACTION_SEND_FWD)
        return pp->ops->send_begin(pp, tri_slice_output(slice, slot), count, TRI_DTYPE_F32,
                                   neighbour(executor, 1), TRI_CHANNEL_FORWARD,
                                   &executor->slots[action->slice][action->slot].sent);
    return pp->ops->send_begin(pp, staging(executor, executor->send_row, action->staging), count,
                               TRI_DTYPE_F32, neighbour(executor, -1), TRI_CHANNEL_BACKWARD,
                               &executor->staged[action->staging]);
}

static tri_status run_action(tri_executor *executor, int index)
{
    const struct tri_action *action = &executor->schedule->actions[index];
    switch (action->kind) {
    case TRI_ACTION_FWD:
        return forward(executor, action);
    case TRI_ACTION_BWD:
        return backward(executor, index, TRI_BACKWARD_BOTH);
    case TRI_ACTION_BWD_INPUT:
        return backward(executor, index, TRI_BACKWARD_INPUT);
    case TRI_ACTION_BWD_WEIGHT:
        return backward(executor, index, TRI_BACKWARD_WEIGHT);
    case TRI_ACTION_REDUCE:
        return tri_model_reduce_begin(executor->model, action->slice, action->bucket);
    case TRI_ACTION_RECV_FWD:
    case TRI_ACTION_RECV_BWD:
        return receive(executor, action);
    case TRI_ACTION_SEND_FWD:
    case TRI_ACTION_SEND_BWD:
        return send(executor, action);
    case TRI_NUM_ACTION_KINDS:
        break;
    }
    return tri_error_set(executor->context->err, TRI_BUG, "unknown action %d", (int)action->kind);
}

static tri_status end_sends(tri_executor *executor)
{
    for (int i = 0; i < executor->model->num_slices; i++)
        for (int s = 0; s < executor->model->slices[i]->num_slots; s++)
            if (executor->slots[i][s].sent)
                TRI_TRY(tri_request_end(executor->context->pp, &executor->slots[i][s].sent));
    for (int i = 0; i < executor->schedule->num_send_staging; i++)
        if (executor->staged[i])
            TRI_TRY(tri_request_end(executor->context->pp, &executor->staged[i]));
    return TRI_OK;
}

tri_status tri_executor_run(tri_executor *executor, struct tri_execution *execution)
{
    executor->execution = execution;
    memset(execution->loss, 0, sizeof execution->loss);
    for (int i = 0; i < executor->model->num_slices; i++)
        for (int s = 0; s < executor->model->slices[i]->num_slots; s++) {
            executor->slots[i][s].current = -1;
            executor->slots[i][s].dout_row = -1;
        }
    for (int i = 0; i < executor->schedule->num_actions; i++)
        TRI_TRY(run_action(executor, i));
    return end_sends(executor);
}
