/* SPDX-License-Identifier: Apache-2.0 */
/* What is differenced of rotary positions, attention and cross entropy. */
#include "difference.h"

/* ---- rotary positions ---- */

/* Bits of a variant. */
enum { ROPE_INTERLEAVED = 1, ROPE_PART = 2, ROPE_SECTIONS = 4 };

static void rope_shape(struct difference *d)
{
    d->size['D'] = 2 * d->size['K'] + (d->variant & ROPE_PART ? 3 : 0);
}

static void rope_turn(struct difference *d, struct tri_tensor x, bool inverse)
{
    const int32_t *ids = difference_ids(d, d->size['T']);
    struct tri_rope rope = {.positions = {ids, ids + 64, ids + 128},
                            .interleaved = d->variant & ROPE_INTERLEAVED,
                            .inverse = inverse};
    if (d->variant & ROPE_SECTIONS) {
        rope.sections[0] = d->size['K'] / 3;
        rope.sections[1] = d->size['K'] / 2 - rope.sections[0];
        rope.sections[2] = d->size['K'] - d->size['K'] / 2;
    }
    CALL(d, rope)(d->q, x, d->kept[0], d->kept[1], &rope);
}

static void rope_forward(struct difference *d)
{
    CALL(d, copy)(d->q, d->out[0], d->in[0]);
    rope_turn(d, d->out[0], false);
}

static void rope_backward(struct difference *d)
{
    CALL(d, copy)(d->q, d->grad[0], d->dout[0]);
    rope_turn(d, d->grad[0], true);
}

/* ---- attention ---- */

static const struct attention_variant {
    bool is_full; /* not causal, as many keys as drawn */
    int64_t window, offset;
    bool has_segments, drops, is_blind; /* blind: late queries see no key */
    bool has_sink, learns_sink;
    double softcap;
} attention_variants[] = {
    {.is_full = false},
    {.is_full = true},
    {.is_full = true, .window = 2, .softcap = 0.8},
    {.window = 2},
    {.offset = 4},
    {.window = 3, .offset = 2, .has_segments = true},
    {.window = 1, .is_blind = true},
    {.window = 1, .is_blind = true, .has_sink = true, .learns_sink = true},
    {.drops = true},
    {.softcap = 1.1},
    {.has_sink = true},
    {.has_sink = true, .learns_sink = true},
    {.window = 2,
     .offset = 1,
     .has_segments = true,
     .drops = true,
     .has_sink = true,
     .learns_sink = true,
     .softcap = 0.9},
};
enum { NUM_ATTENTION = sizeof(attention_variants) / sizeof(attention_variants[0]) };

static void attention_shape(struct difference *d)
{
    const struct attention_variant *v = &attention_variants[d->variant];
    if (!v->is_full)
        d->size['T'] = v->is_blind ? (d->size['S'] + 1) / 2 : d->size['S'] + v->offset;
}

/* The description of d's variant; ids hold its segments. */
static struct tri_attention attention_of(struct difference *d)
{
    static const int64_t samples[3] = {5, 1 + ((int64_t)7 << 32), 11};
    const struct attention_variant *v = &attention_variants[d->variant];
    return (struct tri_attention){
        .scale = 0.8,
        .causal = !v->is_full,
        .softcap = v->softcap,
        .has_sink = v->has_sink,
        .sink = v->learns_sink ? tri_tensor_f32(&d->in[3]) : NULL,
        .window = v->window,
        .query_offset = v->offset,
        .segments = v->has_segments ? difference_ids(d, 2) : NULL,
        .dropout = {.threshold = v->drops ? tri_dropout_threshold(0.3) : 0,
                    .scale = 1 / 0.7,
                    .key = {3, 14},
                    .sample_ids = samples},
        .first_head = 2,
        .seq_length = 16};
}

static void attention_forward(struct difference *d)
{
    struct tri_attention attention = attention_of(d);
    CALL(d, attention)
    (d->q, d->out[0], d->kept[0], d->in[0], d->in[1], d->in[2], &attention, NULL);
}

static void attention_backward(struct difference *d)
{
    struct tri_attention attention = attention_of(d);
    CALL(d, attention_backward)
    (d->q, d->grad[0], d->grad[1], d->grad[2], d->dout[0], d->out[0], d->kept[0], d->in[0],
     d->in[1], d->in[2], &attention, NULL);
    if (attention_variants[d->variant].learns_sink)
        CALL(d, attention_sink_backward)
    (d->q, d->grad[3], d->dout[0], d->out[0], d->kept[0], d->in[3]);
}

/* ---- cross entropy: capped or not, some columns padding, some labels ignored ---- */

/* Bits of a variant. */
enum { CE_CAP = 1, CE_PADDED = 2, CE_CUT = 4, CE_WEIGHTS = 8 };
/* What is kept; behind the last three, what they are of part 0. */
enum { CE_CAPPED, CE_MAX, CE_SUM, CE_TARGET, CE_NUM_JOINED = 3 };

#define CE_SEED    0.5
#define CE_SOFTCAP 1.2

/* Without weights every token counts as much as the seed. */
static void ce_adjust(struct difference *d)
{
    for (int64_t r = 0; r < d->size['R'] && !(d->variant & CE_WEIGHTS); r++)
        tri_tensor_f32(&d->dout[0])[r] = CE_SEED;
}

static int64_t ce_valid(const struct difference *d)
{
    int64_t V = d->size['V'];
    return d->variant & CE_PADDED && V > 2 ? V - 2 : V;
}

static const int32_t *ce_labels(struct difference *d)
{
    difference_ids(d, ce_valid(d));
    for (int i = 0; i < DIFFERENCE_IDS; i++)
        d->ids[i] = d->number[i] % 5 == 0 ? -100 : d->ids[i];
    return d->ids;
}

/* Columns of part 0 or 1 of a vocabulary cut in two; part 0 of one that is not is all of it. */
static struct tri_tensor ce_part(const struct difference *d, int part, int64_t *first)
{
    int64_t V = d->size['V'], cut = d->variant & CE_CUT ? V / 2 : V;
    *first = part == 0 ? 0 : cut;
    return tri_tensor_slice(&d->kept[CE_CAPPED], 2, *first, part == 0 ? cut : V - cut);
}

/* What the ranks of a group do together: kept[what] becomes the maximum or the sum of both parts. */
static void ce_join(struct difference *d, int what, int part, bool is_max)
{
    double *all = tri_tensor_f32(&d->kept[what]),
           *own = tri_tensor_f32(&d->kept[what + CE_NUM_JOINED]);
    for (int64_t r = 0; r < d->size['R']; r++)
        if (part == 0)
            own[r] = all[r];
        else
            all[r] = is_max ? fmax(all[r], own[r]) : all[r] + own[r];
}

static void ce_forward(struct difference *d)
{
    const int32_t *labels = ce_labels(d);
    struct tri_tensor *kept = d->kept, none = {.data = NULL};
    int64_t first, valid = ce_valid(d);
    if (d->variant & CE_CAP)
        CALL(d, softcap)(d->q, kept[CE_CAPPED], d->in[0], CE_SOFTCAP);
    else
        CALL(d, copy)(d->q, kept[CE_CAPPED], d->in[0]);
    for (int part = 0; part < 2; part++) {
        struct tri_tensor logits = ce_part(d, part, &first);
        CALL(d, ce_max)(d->q, kept[CE_MAX], logits, first, valid);
        ce_join(d, CE_MAX, part, true);
    }
    for (int part = 0; part < 2; part++) {
        struct tri_tensor logits = ce_part(d, part, &first);
        CALL(d, ce_sum)
        (d->q, kept[CE_SUM], kept[CE_TARGET], none, logits, kept[CE_MAX], labels, first, valid);
        ce_join(d, CE_SUM, part, false);
        ce_join(d, CE_TARGET, part, false);
    }
    CALL(d, ce_loss)
    (d->q, d->out[0], kept[CE_SUM], kept[CE_TARGET], labels, d->size['B'], d->size['S']);
}

static void ce_backward(struct difference *d)
{
    int64_t first, B = d->size['B'], S = d->size['S'];
    double weights[64], softcap = d->variant & CE_CAP ? CE_SOFTCAP : 0;
    assert_true(B * S <= 64);
    for (int64_t r = 0; r < B * S; r++)
        weights[r % B * S + r / B] = tri_tensor_f32(&d->dout[0])[r] / CE_SEED;
    for (int part = 0; part < 2; part++) {
        struct tri_tensor logits = ce_part(d, part, &first);
        CALL(d, ce_backward)
        (d->q, logits, d->kept[CE_MAX], d->kept[CE_SUM], d->ids,
         d->variant & CE_WEIGHTS ? weights : NULL, CE_SEED, softcap, first, ce_valid(d));
    }
    CALL(d, copy)(d->q, d->grad[0], d->kept[CE_CAPPED]);
}

/* ---- the rows ---- */

/* A row of the table is one to three lines of text. */
/* clang-format off */
const struct difference_case difference_model[] = {
    {"rope", .in = {"SBHD"}, .out = {"SBHD"}, .kept = {"TK", "TK"}, .forward = rope_forward,
     .backward = rope_backward, .num_variants = 8, .shape = rope_shape},
    {"attention", .in = {"SBHD", "TBGD", "TBGD", "+H"}, .out = {"SBHD"}, .kept = {"BHS"},
     .forward = attention_forward, .backward = attention_backward, .num_variants = NUM_ATTENTION,
     .shape = attention_shape},
    {"cross entropy", .in = {"SBV"}, .out = {"R"}, .kept = {"SBV", "R", "R", "R", "R", "R", "R"},
     .forward = ce_forward, .backward = ce_backward, .num_variants = 16, .adjust = ce_adjust},
};
/* clang-format on */
const int difference_num_model = sizeof(difference_model) / sizeof(difference_model[0]);
