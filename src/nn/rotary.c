/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rotary positions. The tables are made in the arithmetic of the reference: angle = position * frequency rounded to
 * fp32, then cosine and sine of that angle, times the attention factor (which backward needs as well: turning back
 * multiplies by it again). They are made once, but for dynamic scaling: its frequencies follow from the length of
 * what is turned, so that the rows a microbatch needs are made again when that length changes. Keys in a cache stay as
 * they were turned, as in transformers.
 */
#include "nn/rotary.h"

#include <math.h>
#include <stdlib.h>

/* Makes rows [first, end) for sequences of length positions. */
static void rotary_fill(struct tri_rotary *rotary, struct tri_queue *queue, int64_t length,
                        int64_t first, int64_t end)
{
    int64_t half = rotary->rope.width / 2;
    float factor = (float)tri_rope_attention_factor(&rotary->rope);
    const struct tri_device *device = queue->device;
    float *cosines = device->map(queue, rotary->cos.base, rotary->cos.bytes, TRI_MAP_WRITE);
    float *sines = device->map(queue, rotary->sin.base, rotary->sin.bytes, TRI_MAP_WRITE);
    tri_rope_frequencies(&rotary->rope, length, rotary->frequency);
    for (int64_t position = first; position < end; position++)
        for (int64_t i = 0; i < half; i++) {
            double angle = (double)((float)position * rotary->frequency[i]);
            cosines[position * half + i] = (float)cos(angle) * factor;
            sines[position * half + i] = (float)sin(angle) * factor;
        }
    device->unmap(queue, rotary->sin.base, sines);
    device->unmap(queue, rotary->cos.base, cosines);
    rotary->length = length;
    rotary->first = first;
    rotary->end = end;
}

/* Up to what the model knows, dynamic scaling changes nothing. */
static int64_t rotary_length(const struct tri_rotary *rotary, int64_t length)
{
    int64_t known = rotary->rope.kind == TRI_ROPE_DYNAMIC ? rotary->rope.original_positions : 0;
    return length > known ? length : known;
}

tri_status tri_rotary_init(struct tri_rotary *rotary, struct tri_build *build,
                           const tri_module *self, const struct tri_self_attention_params *params)
{
    rotary->rope = params->rope;
    if (rotary->rope.width == 0)
        return TRI_OK;
    TRI_TRY(tri_build_row(build, self, "cos", &rotary->cos));
    TRI_TRY(tri_build_row(build, self, "sin", &rotary->sin));
    rotary->rows = rotary->cos.dims[0];
    rotary->frequency = malloc((size_t)rotary->rope.width / 2 * sizeof(float));
    TRI_CHECK(rotary->frequency, build->err, TRI_NOMEM, "out of memory for rotary frequencies");
    rotary_fill(rotary, build->queue, rotary_length(rotary, rotary->rows), 0, rotary->rows);
    return TRI_OK;
}

void tri_rotary_fini(struct tri_rotary *rotary)
{
    free(rotary->frequency);
    rotary->frequency = NULL;
}

/* Positions [axis][b, s] that the module turns by: three kinds, or one. */
static const int32_t *rotary_positions(const struct tri_rotary *rotary,
                                       const struct tri_microbatch *microbatch, int axis)
{
    const int64_t *sections = rotary->rope.sections;
    bool has_axes = sections[0] + sections[1] + sections[2] > 0;
    return has_axes && microbatch->axis_positions
               ? microbatch->axis_positions + axis * microbatch->rows * microbatch->length
               : microbatch->positions;
}

tri_status tri_rotary_check(const struct tri_rotary *rotary, const tri_module *self,
                            const struct tri_microbatch *microbatch)
{
    for (int axis = 0; axis < 3 && rotary->rope.width > 0; axis++) {
        const int32_t *positions = rotary_positions(rotary, microbatch, axis);
        if (axis > 0 && positions == microbatch->positions)
            break;
        for (int64_t i = 0; i < microbatch->rows * microbatch->length; i++)
            TRI_CHECK(
                positions[i] >= 0 && positions[i] < rotary->rows, self->err, TRI_INVALID,
                "position %lld of row %lld is outside the %lld rotary positions of '%s'; raise "
                "--seq-length and --max-position-embeddings or use shorter input",
                (long long)positions[i], (long long)(i / microbatch->length),
                (long long)rotary->rows, self->path);
    }
    return TRI_OK;
}

/* Makes the rows of the microbatch's positions anew where its length asks for other ones. */
static void rotary_follow(struct tri_rotary *rotary, const tri_module *self,
                          const struct tri_microbatch *microbatch)
{
    int64_t asked = microbatch->turn_length > 0 ? microbatch->turn_length : rotary->rows;
    int64_t length = rotary_length(rotary, asked), first = rotary->rows, end = 0;
    if (rotary->rope.kind != TRI_ROPE_DYNAMIC)
        return;
    for (int axis = 0; axis < 3; axis++) {
        const int32_t *positions = rotary_positions(rotary, microbatch, axis);
        for (int64_t i = 0; i < microbatch->rows * microbatch->length; i++) {
            first = positions[i] < first ? positions[i] : first;
            end = positions[i] >= end ? positions[i] + 1 : end;
        }
    }
    if (length != rotary->length || first < rotary->first || end > rotary->end)
        rotary_fill(rotary, self->queue, length, first, end);
}

void tri_rotary_turn(struct tri_rotary *rotary, const tri_module *self, const struct tri_slot *slot,
                     struct tri_tensor heads, bool inverse)
{
    if (rotary->rope.width == 0)
        return;
    rotary_follow(rotary, self, slot->microbatch);
    struct tri_rope rope = {.interleaved = rotary->rope.interleaved, .inverse = inverse};
    for (int axis = 0; axis < 3; axis++) {
        rope.positions[axis] = rotary_positions(rotary, slot->microbatch, axis);
        rope.sections[axis] = rotary->rope.sections[axis];
    }
    struct tri_tensor cosines = tri_row_tensor(&rotary->cos, slot, 2, rotary->cos.dims);
    struct tri_tensor sines = tri_row_tensor(&rotary->sin, slot, 2, rotary->sin.dims);
    self->kernels->rope(self->queue, heads, cosines, sines, &rope);
}
