/* SPDX-License-Identifier: Apache-2.0 */
/* The frequencies of spec/rope.h; pair i of d channels turns by base^(-2i/d) before scaling. */
#include "spec/rope.h"

#include <math.h>

#define TWO_PI 6.283185307179586

/* base^(2i/d) in fp32, with base itself rounded. */
static float rope_power(double base, int64_t i, int64_t width)
{
    float exponent = (float)(2 * i) / (float)width;
    return (float)pow((double)(float)base, (double)exponent);
}

static double rope_dynamic_base(const struct tri_rope_spec *rope, int64_t length)
{
    double longest =
        (double)(length > rope->original_positions ? length : rope->original_positions);
    double d = (double)rope->width;
    double stretch = rope->factor * longest / (double)rope->original_positions - (rope->factor - 1);
    return rope->base * pow(stretch, d / (d - 2));
}

static float rope_llama3(const struct tri_rope_spec *rope, float frequency)
{
    float factor = (float)rope->factor, original = (float)rope->original_positions;
    float low = (float)rope->low_freq_factor, high = (float)rope->high_freq_factor;
    float wave = (float)TWO_PI / frequency;
    if (wave < (float)((double)rope->original_positions / rope->high_freq_factor))
        return frequency;
    if (wave > (float)((double)rope->original_positions / rope->low_freq_factor))
        return frequency / factor;
    float smooth = (original / wave - low) / (high - low);
    return (1.0f - smooth) * frequency / factor + smooth * frequency;
}

/* The pair, fractional, that makes so many turns within the original positions. */
static double yarn_pair(const struct tri_rope_spec *rope, double turns)
{
    return (double)rope->width * log((double)rope->original_positions / (turns * TWO_PI)) /
           (2 * log(rope->base));
}

static void rope_yarn(const struct tri_rope_spec *rope, float *frequency)
{
    double low = yarn_pair(rope, rope->beta_fast), high = yarn_pair(rope, rope->beta_slow);
    if (rope->truncate) {
        low = floor(low);
        high = ceil(high);
    }
    low = fmax(low, 0);
    high = fmin(high, (double)(rope->width - 1));
    if (low == high)
        high += 0.001;
    for (int64_t i = 0; i < rope->width / 2; i++) {
        float ramp = ((float)i - (float)low) / (float)(high - low);
        float kept = 1.0f - fminf(fmaxf(ramp, 0), 1);
        float power = rope_power(rope->base, i, rope->width);
        float stretched = 1.0f / ((float)rope->factor * power);
        frequency[i] = stretched * (1.0f - kept) + 1.0f / power * kept;
    }
}

void tri_rope_frequencies(const struct tri_rope_spec *rope, int64_t length, float *frequency)
{
    double base = rope->kind == TRI_ROPE_DYNAMIC ? rope_dynamic_base(rope, length) : rope->base;
    for (int64_t i = 0; i < rope->width / 2; i++) {
        frequency[i] = 1.0f / rope_power(base, i, rope->width);
        if (rope->kind == TRI_ROPE_LINEAR)
            frequency[i] /= (float)rope->factor;
        if (rope->kind == TRI_ROPE_LLAMA3)
            frequency[i] = rope_llama3(rope, frequency[i]);
    }
    if (rope->kind == TRI_ROPE_YARN)
        rope_yarn(rope, frequency);
}

double tri_yarn_mscale(double factor, double mscale)
{
    return factor <= 1 ? 1 : 0.1 * mscale * log(factor) + 1;
}

double tri_rope_attention_factor(const struct tri_rope_spec *rope)
{
    if (rope->kind != TRI_ROPE_YARN)
        return 1;
    if (rope->attention_factor > 0)
        return rope->attention_factor;
    return tri_yarn_mscale(rope->factor, rope->mscale) /
           tri_yarn_mscale(rope->factor, rope->mscale_all_dim);
}
