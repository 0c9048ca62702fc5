/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of spec/split.h: tensor parallelism cuts heads and feed-forward widths whole, and groups unless
   there are fewer of them; sequence parallelism cuts the sample as often. */
#include "spec/split.h"

#include <inttypes.h>
#include <stdio.h>

#define MOST_SIZES 8 /* that are listed */

/* One number of the shape that tp has to suit. */
struct split_size {
    const char *name;
    int64_t value, layer; /* layer -1: of the model */
};

static bool size_suits(const struct split_size *size, bool is_groups, int64_t tp)
{
    return size->value % tp == 0 || (is_groups && tp % size->value == 0);
}

/* The i-th number: 0 is the heads, then groups and feed-forward width, of the model or of each layer that has
   its own. False behind the last; value 0: nothing to cut. Groups that do not divide the heads are a fault of
   the shape, and no size is told for them. */
static bool split_size(const struct tri_transformer_config *t, int64_t i, struct split_size *size,
                       bool *is_groups)
{
    static const char *const names[2][2] = {{"num_query_groups", "ffn_hidden_size"},
                                            {"layer_query_groups", "layer_ffn_sizes"}};
    const struct tri_option_list *lists[] = {&t->layer_query_groups, &t->layer_ffn_sizes};
    int64_t own[] = {t->num_query_groups, t->ffn_hidden_size};
    *is_groups = false;
    *size = (struct split_size){"num_attention_heads", t->num_attention_heads, -1};
    if (i-- == 0)
        return true;
    for (int which = 0; which < 2; which++) {
        int64_t num = lists[which]->num > 0 ? lists[which]->num : 1;
        if (i >= num) {
            i -= num;
            continue;
        }
        bool is_own = lists[which]->num == 0;
        *size = (struct split_size){names[!is_own][which],
                                    is_own ? own[which] : lists[which]->value[i], is_own ? -1 : i};
        *is_groups = which == 0;
        if (size->value < 1 || (*is_groups && t->num_attention_heads % size->value != 0))
            size->value = 0;
        return true;
    }
    return false;
}

static bool split_suits(const struct tri_transformer_config *t, int64_t tp)
{
    struct split_size size;
    bool is_groups;
    for (int64_t i = 0; split_size(t, i, &size, &is_groups); i++)
        if (size.value > 0 && !size_suits(&size, is_groups, tp))
            return false;
    return true;
}

/* Lists the sizes that suit all of the shape, and length as well unless it is 0: "1, 2 or 4"; behind the first
   eight stands "...". */
static void split_list(const struct tri_transformer_config *t, int64_t length, char *text,
                       size_t bytes)
{
    int64_t found[MOST_SIZES + 1];
    int count = 0;
    for (int64_t d = 1; d <= t->num_attention_heads && d <= 65536 && count <= MOST_SIZES; d++)
        if (split_suits(t, d) && (length == 0 || length % d == 0))
            found[count++] = d;
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < count && i < MOST_SIZES && used < bytes; i++) {
        const char *joint = i == 0 ? "" : i == count - 1 ? " or " : ", ";
        int written = snprintf(text + used, bytes - used, "%s%" PRId64, joint, found[i]);
        used += written > 0 ? (size_t)written : 0;
    }
    if (count > MOST_SIZES && used < bytes)
        snprintf(text + used, bytes - used, ", ...");
}

static void split_refuse(const struct split_size *size, bool is_groups, int64_t tp,
                         const char *works, tri_error *err)
{
    char layer[48] = "";
    if (size->layer >= 0)
        snprintf(layer, sizeof(layer), " of layer %" PRId64, size->layer);
    if (is_groups)
        tri_error_add(err, TRI_INVALID,
                      "'tensor_model_parallel_size' %" PRId64 " and '%s' %" PRId64
                      "%s do not divide each other; use %s (key/value heads are cut or held "
                      "several times)",
                      tp, size->name, size->value, layer, works);
    else
        tri_error_add(err, TRI_INVALID,
                      "'tensor_model_parallel_size' %" PRId64 " does not divide '%s' %" PRId64
                      "%s; use %s (what heads, groups and feed-forward width allow alike)",
                      tp, size->name, size->value, layer, works);
}

tri_status tri_split_check(const struct tri_gpt_config *shape, const struct tri_split *split,
                           int64_t seq_length, tri_error *err)
{
    const struct tri_transformer_config *t = &shape->transformer;
    TRI_CHECK(split->tp >= 1 && split->sp >= 1, err, TRI_INVALID,
              "'tensor_model_parallel_size' %" PRId64 " is below 1", split->tp);
    bool cuts_length = seq_length % split->sp != 0;
    if (split_suits(t, split->tp) && !cuts_length)
        return TRI_OK;
    char works[160];
    struct split_size size;
    bool is_groups;
    split_list(t, split->sp > 1 ? seq_length : 0, works, sizeof(works));
    for (int64_t i = 0; split_size(t, i, &size, &is_groups); i++)
        if (size.value > 0 && !size_suits(&size, is_groups, split->tp))
            split_refuse(&size, is_groups, split->tp, works, err);
    if (cuts_length)
        tri_error_add(err, TRI_INVALID,
                      "under 'sequence_parallel' 'tensor_model_parallel_size' %" PRId64
                      " must divide 'seq_length' %" PRId64 "; use %s, or turn it off",
                      split->sp, seq_length, works);
    return TRI_INVALID;
}
