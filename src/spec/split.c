/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of spec/split.h: tensor parallelism cuts heads and the feed-forward width whole, and groups
   unless there are fewer of them. */
#include "spec/split.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Lists the divisors of n, "1, 2 or 4"; with many of them, the first eight and "...". */
static void split_divisors(int64_t n, char *text, size_t bytes)
{
    int64_t found[9];
    int count = 0;
    for (int64_t d = 1; d <= n && count < 9 && d <= 65536; d++)
        if (n % d == 0)
            found[count++] = d;
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < count && i < 8 && used < bytes; i++) {
        const char *joint = i == 0 ? "" : i == count - 1 ? " or " : ", ";
        int n_written = snprintf(text + used, bytes - used, "%s%" PRId64, joint, found[i]);
        used += n_written > 0 ? (size_t)n_written : 0;
    }
    if (count == 9 && used < bytes)
        snprintf(text + used, bytes - used, ", ...");
}

static int64_t split_gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Adds a problem when tp does not divide value; common is the number all of whose divisors work. */
static void split_check_tp(int64_t tp, const char *name, int64_t value, int64_t common,
                           tri_error *err)
{
    if (value % tp == 0)
        return;
    char works[160];
    split_divisors(common, works, sizeof(works));
    tri_error_add(err, TRI_INVALID,
                  "'tensor_model_parallel_size' %" PRId64 " does not divide '%s' %" PRId64
                  "; use %s (what divides heads and feed-forward width alike)",
                  tp, name, value, works);
}

/* tp cuts groups, or several ranks hold the same one: one must divide the other. */
static bool split_check_groups(int64_t tp, int64_t groups, int64_t common, tri_error *err)
{
    if (groups % tp == 0 || tp % groups == 0)
        return false;
    char works[160];
    size_t used = 0;
    for (int64_t d = 1; d <= common && d <= 65536 && used + 24 < sizeof(works); d++)
        if (common % d == 0 && (groups % d == 0 || d % groups == 0))
            used += (size_t)snprintf(works + used, sizeof(works) - used, "%s%" PRId64,
                                     used ? ", " : "", d);
    tri_error_add(
        err, TRI_INVALID,
        "'tensor_model_parallel_size' %" PRId64 " and 'num_query_groups' %" PRId64
        " do not divide each other; use %s (key/value heads are cut or held several times)",
        tp, groups, works);
    return true;
}

tri_status tri_split_check(const struct tri_gpt_config *shape, const struct tri_split *split,
                           int64_t seq_length, tri_error *err)
{
    const struct tri_transformer_config *t = &shape->transformer;
    TRI_CHECK(split->tp >= 1 && split->sp >= 1, err, TRI_INVALID,
              "'tensor_model_parallel_size' %" PRId64 " is below 1", split->tp);
    int64_t common = split_gcd(t->num_attention_heads, t->ffn_hidden_size);
    bool bad = t->num_attention_heads % split->tp || t->ffn_hidden_size % split->tp ||
               seq_length % split->sp;
    split_check_tp(split->tp, "num_attention_heads", t->num_attention_heads, common, err);
    bad |= split_check_groups(split->tp, t->num_query_groups, common, err);
    for (int64_t i = 0; i < t->layer_query_groups.num; i++)
        if (t->layer_query_groups.value[i] > 0)
            bad |= split_check_groups(split->tp, t->layer_query_groups.value[i], common, err);
    split_check_tp(split->tp, "ffn_hidden_size", t->ffn_hidden_size, common, err);
    if (seq_length % split->sp != 0) {
        char works[160];
        split_divisors(split_gcd(seq_length, common), works, sizeof(works));
        tri_error_add(err, TRI_INVALID,
                      "under 'sequence_parallel' 'tensor_model_parallel_size' %" PRId64
                      " must divide 'seq_length' %" PRId64 "; use %s, or turn it off",
                      split->sp, seq_length, works);
    }
    return bad ? TRI_INVALID : TRI_OK;
}
