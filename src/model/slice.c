/* SPDX-License-Identifier: Apache-2.0 */
/* Building a slice on the rows of the plan, and walking its units. */
#include "model/slice.h"

#include <stdio.h>
#include <stdlib.h>

static tri_status find_row(const struct tri_context *context, const char *owner, const char *name,
                           int *row)
{
    *row = tri_rank_plan_row(context->plan, owner, name);
    TRI_CHECK(*row >= 0, context->err, TRI_BUG, "the plan has no row '%s' of '%s'", name, owner);
    return TRI_OK;
}

/* A [S, B, h] row of the plan: in the slot for the SAVED arena, else at a fixed address. */
static tri_status hidden_row(const struct tri_slice *slice, const char *owner, const char *name,
                             struct tri_row_ref *ref)
{
    const struct tri_context *context = slice->context;
    int number;
    TRI_TRY(find_row(context, owner, name, &number));
    const struct tri_plan_row *row = &context->plan->rows[number];
    const struct tri_plan_request *request = &context->placement->request;
    *ref = (struct tri_row_ref){
        .in_slot = row->arena == TRI_ARENA_SAVED,
        .bytes = row->bytes,
        .dtype = TRI_DTYPE_F32,
        .num_dims = 3,
        .dims = {request->seq_length / context->placement->split.sp, request->micro_batch_size,
                 context->placement->spec->shape.transformer.hidden_size},
    };
    if (ref->in_slot)
        ref->offset = row->offset - tri_rank_plan_slot_offset(context->plan, slice->index, 0);
    else
        ref->base = tri_context_row(context, number, 0);
    return TRI_OK;
}

static tri_status find_rows(struct tri_slice *slice)
{
    const struct tri_context *context = slice->context;
    char owner[256];
    snprintf(owner, sizeof owner, "slice %d", slice->index);
    if (!slice->plan->has_embedding)
        TRI_TRY(hidden_row(slice, owner, "input", &slice->input));
    for (int u = 0; u < slice->num_units - (slice->plan->has_head ? 1 : 0); u++) {
        snprintf(owner, sizeof owner, "slice %d %s", slice->index,
                 context->placement->spec->unit_path[slice->plan->first_unit + u]);
        TRI_TRY(hidden_row(slice, owner, "hidden", &slice->hidden[u]));
    }
    if (context->placement->request.forward_only)
        return TRI_OK;
    if (slice->num_units > 1)
        TRI_TRY(hidden_row(slice, "units", "dhidden 0", &slice->gradient[0]));
    if (slice->num_units > 2)
        TRI_TRY(hidden_row(slice, "units", "dhidden 1", &slice->gradient[1]));
    return TRI_OK;
}

static tri_status build_unit(struct tri_slice *slice, int u)
{
    struct tri_context *context = slice->context;
    const struct tri_placement *placement = context->placement;
    int unit = slice->plan->first_unit + u;
    struct tri_build build = {
        .err = context->err,
        .queue = &context->queue,
        .size = &placement->units[unit],
        .sizing = &placement->sizing,
        .seed = context->seed,
        .tp = context->tp,
        .sequence_parallel = placement->split.sp > 1,
        .work = tri_storage_get(context->arena[TRI_ARENA_WORK], 0),
        .run = tri_storage_get(context->arena[TRI_ARENA_RUN],
                               tri_rank_plan_run_offset(context->plan, slice->index, u)),
        .slot_offset = tri_rank_plan_unit_offset(context->plan, slice->index, u),
        .first_index = slice->num_modules,
        .params = slice->params + slice->first_param,
        .num_params = slice->num_params,
        .num_kernels = context->num_kernels,
        .extensions = context->extensions,
        .num_extensions = context->num_extensions,
    };
    for (int i = 0; i < context->num_kernels; i++)
        build.kernels[i] = context->kernels[i];
    slice->num_modules += placement->units[unit].num_modules;
    return tri_build_module(&build, &placement->spec->units[unit], &slice->units[u]);
}

static tri_status make_slots(struct tri_slice *slice)
{
    const struct tri_context *context = slice->context;
    size_t num_views = (size_t)slice->num_modules * TRI_VIEWS_PER_MODULE;
    for (int s = 0; s < slice->num_slots; s++) {
        struct tri_slot *slot = &slice->slots[s];
        slot->saved = tri_storage_get(context->arena[TRI_ARENA_SAVED],
                                      tri_rank_plan_slot_offset(context->plan, slice->index, s));
        slot->views = calloc(num_views, sizeof *slot->views);
        if (!slot->views)
            return tri_error_set(context->err, TRI_NOMEM, "out of memory for the slots");
    }
    return TRI_OK;
}

static void find_params(struct tri_slice *slice)
{
    const struct tri_rank_plan *plan = slice->context->plan;
    slice->first_param = -1;
    for (int i = 0; i < plan->num_params; i++)
        if (plan->params[i].slice == slice->index) {
            if (slice->first_param < 0)
                slice->first_param = i;
            slice->num_params++;
        }
    if (slice->first_param < 0)
        slice->first_param = 0;
}

tri_status tri_slice_build(struct tri_context *context, int index, struct tri_param *params,
                           struct tri_slice **result)
{
    const struct tri_slice_plan *plan = &context->plan->slices[index];
    struct tri_slice *slice = calloc(1, sizeof *slice);
    if (!slice)
        return tri_error_set(context->err, TRI_NOMEM, "out of memory for slice %d", index);
    slice->context = context;
    slice->plan = plan;
    slice->index = index;
    slice->params = params;
    slice->num_units = plan->num_units;
    slice->num_slots = context->plan->num_slots[index];
    slice->units = calloc((size_t)plan->num_units + 1, sizeof *slice->units);
    slice->hidden = calloc((size_t)plan->num_units + 1, sizeof *slice->hidden);
    slice->slots = calloc((size_t)slice->num_slots + 1, sizeof *slice->slots);
    find_params(slice);

    tri_status status = TRI_OK;
    if (!slice->units || !slice->hidden || !slice->slots)
        status = tri_error_set(context->err, TRI_NOMEM, "out of memory for slice %d", index);
    if (status == TRI_OK)
        status = find_rows(slice);
    for (int u = 0; status == TRI_OK && u < plan->num_units; u++)
        status = build_unit(slice, u);
    if (status == TRI_OK)
        status = make_slots(slice);
    if (status != TRI_OK) {
        tri_slice_destroy(&slice);
        return status;
    }
    *result = slice;
    return TRI_OK;
}

void tri_slice_destroy(struct tri_slice **result)
{
    struct tri_slice *slice = *result;
    if (!slice)
        return;
    for (int u = 0; slice->units && u < slice->num_units; u++)
        tri_module_destroy(&slice->units[u]);
    for (int s = 0; slice->slots && s < slice->num_slots; s++)
        free(slice->slots[s].views);
    free(slice->slots);
    free(slice->hidden);
    free(slice->units);
    free(slice);
    *result = NULL;
}

static struct tri_tensor hidden_tensor(const struct tri_slice *slice, const struct tri_slot *slot,
                                       void *data)
{
    const struct tri_placement *placement = slice->context->placement;
    int64_t dims[3] = {slot->microbatch->length / placement->split.sp, slot->microbatch->rows,
                       placement->spec->shape.transformer.hidden_size};
    return tri_tensor_view(data, TRI_DTYPE_F32, 3, dims);
}

int64_t tri_slice_boundary_elements(const struct tri_slice *slice, const struct tri_slot *slot)
{
    struct tri_tensor hidden = hidden_tensor(slice, slot, NULL);
    return tri_tensor_elements(&hidden);
}

void *tri_slice_input(const struct tri_slice *slice, const struct tri_slot *slot)
{
    return tri_row_address(&slice->input, slot);
}

void *tri_slice_output(const struct tri_slice *slice, const struct tri_slot *slot)
{
    /* A slice without units passes its input on. */
    if (slice->num_units == 0)
        return tri_slice_input(slice, slot);
    return tri_row_address(&slice->hidden[slice->num_units - 1], slot);
}

tri_status tri_slice_forward(struct tri_slice *slice, struct tri_slot *slot, int unit,
                             int num_units)
{
    for (int u = unit; u < unit + num_units; u++) {
        bool is_embedding = u == 0 && slice->plan->has_embedding;
        bool is_head = u == slice->num_units - 1 && slice->plan->has_head;
        struct tri_tensor in, out;
        if (!is_embedding)
            in = hidden_tensor(slice, slot,
                               tri_row_address(u ? &slice->hidden[u - 1] : &slice->input, slot));
        if (!is_head)
            out = hidden_tensor(slice, slot, tri_row_address(&slice->hidden[u], slot));
        TRI_TRY(slice->units[u]->ops->forward(slice->units[u], slot, is_embedding ? NULL : &in,
                                              is_head ? NULL : &out));
    }
    return TRI_OK;
}

static tri_status backward_unit(struct tri_slice *slice, struct tri_slot *slot, int u,
                                enum tri_backward_half half, void *slice_dout, void *slice_din)
{
    tri_module *module = slice->units[u];
    if (half == TRI_BACKWARD_WEIGHT)
        return module->ops->backward_weight(module, slot);
    struct tri_tensor dout, din;
    bool is_last = u == slice->num_units - 1;
    bool has_dout = !(is_last && slice->plan->has_head);
    bool has_din = !(u == 0 && slice->plan->has_embedding);
    if (has_dout)
        dout = hidden_tensor(slice, slot, is_last ? slice_dout : slice->gradient[u % 2].base);
    if (has_din)
        din = hidden_tensor(slice, slot, u == 0 ? slice_din : slice->gradient[(u - 1) % 2].base);
    if (half == TRI_BACKWARD_INPUT)
        return module->ops->backward_input(module, slot, has_dout ? &dout : NULL,
                                           has_din ? &din : NULL);
    return module->ops->backward(module, slot, has_dout ? &dout : NULL, has_din ? &din : NULL);
}

/* The gradient of a slice without units is that of its output. */
static void pass_on(const struct tri_slice *slice, const struct tri_slot *slot, void *dout,
                    void *din)
{
    struct tri_context *context = slice->context;
    context->update->copy(&context->queue, hidden_tensor(slice, slot, din),
                          hidden_tensor(slice, slot, dout));
}

tri_status tri_slice_backward(struct tri_slice *slice, struct tri_slot *slot, int unit,
                              int num_units, enum tri_backward_half half, void *dout, void *din)
{
    if (slice->num_units == 0 && half != TRI_BACKWARD_WEIGHT)
        pass_on(slice, slot, dout, din);
    for (int u = unit + num_units - 1; u >= unit; u--)
        TRI_TRY(backward_unit(slice, slot, u, half, dout, din));
    return TRI_OK;
}
