/* SPDX-License-Identifier: Apache-2.0 */
/* Rotary positions, cut over positions and batch rows; the half-split form eight pairs at a time. */
#include "kernels/cpu_fast/cpu_fast.h"
#include "kernels/cpu_fast/cut.h"

struct rope {
    struct tri_tensor x, cos, sin;
    const struct tri_rope *rope;
    float sign; /* of the sine */
    int64_t section
        [4]; /* borders, in pairs: those between section[i] and the next turn by position i */
    struct fast_cut cut;
};

/* Pairs (k, k + half), k from first to end */
static void rope_halves(float *x, const float *cosine, const float *sine, float sign, int64_t half,
                        int64_t first, int64_t end)
{
    float *x2 = x + half;
    int64_t k = first;
    for (; k + V8 <= end; k += V8) {
        v8f a = v8_load(x + k), b = v8_load(x2 + k);
        v8f c = v8_load(cosine + k), s = v8_set(sign) * v8_load(sine + k);
        v8_store(x + k, a * c - b * s);
        v8_store(x2 + k, b * c + a * s);
    }
    for (; k < end; k++) {
        float a = x[k], b = x2[k], c = cosine[k], s = sign * sine[k];
        x[k] = a * c - b * s;
        x2[k] = b * c + a * s;
    }
}

/* Pairs (2k, 2k + 1), k from first to end */
static void rope_pairs(float *x, const float *cosine, const float *sine, float sign, int64_t first,
                       int64_t end)
{
    for (int64_t k = first; k < end; k++) {
        float a = x[2 * k], b = x[2 * k + 1], c = cosine[k], s = sign * sine[k];
        x[2 * k] = a * c - b * s;
        x[2 * k + 1] = b * c + a * s;
    }
}

/* All heads of row r, the pairs of one section. */
static void rope_section(const struct rope *t, int64_t r, int section)
{
    int64_t S = t->x.dims[0], B = t->x.dims[1], H = t->x.dims[2], half = t->cos.dims[1];
    int64_t first = t->section[section], end = t->section[section + 1];
    if (first == end)
        return;
    int64_t s = r / B, b = r % B, position = t->rope->positions[section][b * S + s];
    const float *cosine = tri_tensor_f32(&t->cos) + position * t->cos.strides[0];
    const float *sine = tri_tensor_f32(&t->sin) + position * t->sin.strides[0];
    float *x = tri_tensor_f32(&t->x) + s * t->x.strides[0] + b * t->x.strides[1];
    for (int64_t h = 0; h < H; h++, x += t->x.strides[2]) {
        if (t->rope->interleaved)
            rope_pairs(x, cosine, sine, t->sign, first, end);
        else
            rope_halves(x, cosine, sine, t->sign, half, first, end);
    }
}

static void rope_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct rope *t = arg;
    struct fast_piece piece = fast_cut_piece(&t->cut, task);
    for (int64_t r = piece.first_row; r < piece.end_row; r++)
        for (int section = 0; section < 3; section++)
            rope_section(t, r, section);
}

void tri_fast_rope(struct tri_queue *q, struct tri_tensor x, struct tri_tensor cos,
                   struct tri_tensor sin, const struct tri_rope *rope)
{
    const int64_t *sections = rope->sections;
    int64_t half = cos.dims[1], first = sections[0], second = first + sections[1];
    struct rope t = {.x = x,
                     .cos = cos,
                     .sin = sin,
                     .rope = rope,
                     .sign = rope->inverse ? -1.0f : 1.0f,
                     .section = {0, first, second, half}};
    if (second + sections[2] == 0)
        t.section[1] = t.section[2] = half;
    t.cut = fast_cut_rows(x.dims[0] * x.dims[1], x.dims[2] * x.dims[3]);
    tri_team_run(q->team, rope_task, &t, t.cut.num_tasks);
}
