/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The superaccumulator. Limb i is worth 2^(32 i - 320). An addend of 53 bits falls on three limbs
 * at most and gives each less than 2^32. Addends of 2^352 or more do not fit and count as
 * non-finite.
 */
#include "base/exact_sum.h"

#include <math.h>
#include <string.h>

#define LOWEST_EXPONENT (-320)
#define LIMB_BITS       32
#define LIMB_MASK       0xffffffffu

void tri_exact_sum_init(struct tri_exact_sum *sum)
{
    memset(sum, 0, sizeof(*sum));
}

void tri_exact_sum_add(struct tri_exact_sum *sum, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    int biased = (int)(bits >> 52 & 0x7ff);
    uint64_t mantissa = bits & 0xfffffffffffffu;
    if (biased == 0)
        return; /* zero or subnormal: below the lowest bit */
    mantissa |= (uint64_t)1 << 52;
    int shift = biased - 1075 - LOWEST_EXPONENT;
    if (shift + 53 > LIMB_BITS * TRI_EXACT_SUM_LIMBS) {
        sum->num_non_finite++;
        return;
    }
    if (shift < 0) {
        if (shift <= -53)
            return;
        mantissa >>= -shift;
        shift = 0;
    }
    int limb = shift / LIMB_BITS, offset = shift % LIMB_BITS;
    uint64_t low = (mantissa & LIMB_MASK) << offset;
    uint64_t high = ((mantissa >> LIMB_BITS) << offset) + (low >> LIMB_BITS);
    int64_t sign = bits >> 63 ? -1 : 1;
    const uint64_t parts[3] = {low & LIMB_MASK, high & LIMB_MASK, high >> LIMB_BITS};
    for (int i = 0; i < 3 && limb + i < TRI_EXACT_SUM_LIMBS; i++)
        sum->limb[limb + i] += sign * (int64_t)parts[i];
}

void tri_exact_sum_normalise(struct tri_exact_sum *sum)
{
    int64_t carry = 0;
    for (int i = 0; i < TRI_EXACT_SUM_LIMBS - 1; i++) {
        int64_t total = sum->limb[i] + carry;
        int64_t low = total & (int64_t)LIMB_MASK;
        carry = (total - low) / ((int64_t)1 << LIMB_BITS);
        sum->limb[i] = low;
    }
    sum->limb[TRI_EXACT_SUM_LIMBS - 1] += carry;
}

void tri_exact_sum_merge(struct tri_exact_sum *sum, const struct tri_exact_sum *other)
{
    for (int i = 0; i < TRI_EXACT_SUM_LIMBS; i++)
        sum->limb[i] += other->limb[i];
    sum->num_non_finite += other->num_non_finite;
}

/* The nearest double, ties to even, of the non-negative number in digit[0 .. num-1]. */
static double round_digits(const uint32_t *digit, int num)
{
    int top = num - 1;
    while (top > 1 && digit[top] == 0)
        top--;
    uint64_t window = (uint64_t)digit[top] << LIMB_BITS | digit[top - 1];
    if (window == 0)
        return 0.0;
    int zeros = __builtin_clzll(window);
    uint64_t next = top >= 2 ? (uint64_t)digit[top - 2] << zeros : 0;
    window = window << zeros | next >> LIMB_BITS;
    bool sticky = zeros < LIMB_BITS ? (next & LIMB_MASK) != 0 : false;
    for (int i = top - 3; i >= 0 && !sticky; i--)
        sticky = digit[i] != 0;
    uint64_t mantissa = window >> 11, rest = window & 0x7ff;
    if (rest > 0x400 || (rest == 0x400 && (sticky || (mantissa & 1))))
        mantissa++;
    return ldexp((double)mantissa, LIMB_BITS * (top - 1) + LOWEST_EXPONENT - zeros + 11);
}

double tri_exact_sum_value(const struct tri_exact_sum *sum)
{
    if (sum->num_non_finite != 0)
        return (double)NAN;
    struct tri_exact_sum copy = *sum;
    tri_exact_sum_normalise(&copy);
    bool negative = copy.limb[TRI_EXACT_SUM_LIMBS - 1] < 0;
    if (negative) {
        for (int i = 0; i < TRI_EXACT_SUM_LIMBS; i++)
            copy.limb[i] = -copy.limb[i];
        tri_exact_sum_normalise(&copy);
    }
    uint32_t digit[TRI_EXACT_SUM_LIMBS + 1];
    for (int i = 0; i < TRI_EXACT_SUM_LIMBS; i++)
        digit[i] = (uint32_t)(copy.limb[i] & (int64_t)LIMB_MASK);
    digit[TRI_EXACT_SUM_LIMBS] = (uint32_t)(copy.limb[TRI_EXACT_SUM_LIMBS - 1] >> LIMB_BITS);
    double magnitude = round_digits(digit, TRI_EXACT_SUM_LIMBS + 1);
    return negative ? -magnitude : magnitude;
}
