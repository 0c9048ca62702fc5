/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Learning merges from counted words (bpe_train.h). Every pair keeps its count and the words that
 * had it at some time; a heap orders pairs. Merging one pair visits its words only: the counts of
 * all their pairs are taken away, the word is rewritten, and the counts of its new pairs are added,
 * so that overlaps (aaa has two aa) need no case of their own. An entry of the heap whose count is
 * no longer the pair's is pushed back with the right one.
 */
#include "data/bpe_train_private.h"
#include "data/hash.h"

#include <stdlib.h>
#include <string.h>

static bool entry_before(const struct train_entry *a, const struct train_entry *b)
{
    return a->count != b->count ? a->count > b->count : a->key < b->key;
}

static tri_status train_heap_push(tri_bpe_trainer *t, int32_t pair, tri_error *err)
{
    struct train_entry entry = {
        .count = t->pairs[pair].count, .key = t->pairs[pair].key, .pair = pair};
    if (t->heap_num == t->heap_room) {
        int64_t room = t->heap_room ? 2 * t->heap_room : 4096;
        struct train_entry *heap = realloc(t->heap, (size_t)room * sizeof(*heap));
        TRI_CHECK(heap, err, TRI_NOMEM, "out of memory for %lld pairs", (long long)room);
        t->heap = heap;
        t->heap_room = room;
    }
    int64_t i = t->heap_num++;
    while (i > 0 && entry_before(&entry, &t->heap[(i - 1) / 2])) {
        t->heap[i] = t->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    t->heap[i] = entry;
    return TRI_OK;
}

static struct train_entry train_heap_pop(tri_bpe_trainer *t)
{
    struct train_entry top = t->heap[0], last = t->heap[--t->heap_num];
    int64_t i = 0;
    for (;;) {
        int64_t child = 2 * i + 1;
        if (child >= t->heap_num)
            break;
        if (child + 1 < t->heap_num && entry_before(&t->heap[child + 1], &t->heap[child]))
            child++;
        if (!entry_before(&t->heap[child], &last))
            break;
        t->heap[i] = t->heap[child];
        i = child;
    }
    t->heap[i] = last;
    return top;
}

static int32_t *pair_slot(const tri_bpe_trainer *t, uint64_t key)
{
    size_t slot = tri_hash_u64(key) & t->pair_mask;
    while (t->pair_table[slot] >= 0 && t->pairs[t->pair_table[slot]].key != key)
        slot = (slot + 1) & t->pair_mask;
    return &t->pair_table[slot];
}

static tri_status pair_table_grow(tri_bpe_trainer *t, tri_error *err)
{
    if (t->pair_table && (size_t)t->num_pairs * 2 < t->pair_mask)
        return TRI_OK;
    size_t room = t->pair_table ? (t->pair_mask + 1) * 4 : 1 << 14;
    free(t->pair_table);
    t->pair_table = malloc(room * sizeof(*t->pair_table));
    TRI_CHECK(t->pair_table, err, TRI_NOMEM, "out of memory for %d pairs", t->num_pairs);
    memset(t->pair_table, 0xff, room * sizeof(*t->pair_table));
    t->pair_mask = room - 1;
    for (int32_t i = 0; i < t->num_pairs; i++)
        *pair_slot(t, t->pairs[i].key) = i;
    return TRI_OK;
}

static tri_status train_find_pair(tri_bpe_trainer *t, uint64_t key, int32_t *pair, tri_error *err)
{
    TRI_TRY(pair_table_grow(t, err));
    int32_t *slot = pair_slot(t, key);
    if (*slot < 0) {
        if (t->num_pairs == t->room_pairs) {
            int32_t room = t->room_pairs ? 2 * t->room_pairs : 4096;
            struct train_pair *pairs = realloc(t->pairs, (size_t)room * sizeof(*pairs));
            TRI_CHECK(pairs, err, TRI_NOMEM, "out of memory for %d pairs", room);
            t->pairs = pairs;
            t->room_pairs = room;
        }
        t->pairs[t->num_pairs] = (struct train_pair){.key = key};
        *slot = t->num_pairs++;
    }
    *pair = *slot;
    return TRI_OK;
}

/* Adds sign times the word's count to each of its pairs; new pairs learn that the word has them. */
static tri_status train_count_word(tri_bpe_trainer *t, int32_t index, int sign, tri_error *err)
{
    const struct train_word *word = &t->words[index];
    const int32_t *symbols = t->symbols.data + word->start;
    for (int64_t i = 0; i + 1 < word->num; i++) {
        int32_t pair;
        TRI_TRY(train_find_pair(t, tri_hash_pair(symbols[i], symbols[i + 1]), &pair, err));
        struct train_pair *p = &t->pairs[pair];
        p->count += sign * word->count;
        if (sign < 0)
            continue;
        if (p->words.num == 0 || p->words.data[p->words.num - 1] != index)
            TRI_TRY(tri_ids_append(&p->words, index, err));
    }
    return TRI_OK;
}

/* After a word was rewritten the pairs it has now may have become more frequent. */
static tri_status train_push_word(tri_bpe_trainer *t, int32_t index, int32_t id, tri_error *err)
{
    const struct train_word *word = &t->words[index];
    const int32_t *symbols = t->symbols.data + word->start;
    for (int64_t i = 0; i + 1 < word->num; i++) {
        int32_t pair;
        if (symbols[i] != id && symbols[i + 1] != id)
            continue;
        TRI_TRY(train_find_pair(t, tri_hash_pair(symbols[i], symbols[i + 1]), &pair, err));
        TRI_TRY(train_heap_push(t, pair, err));
    }
    return TRI_OK;
}

static bool train_merge_word(tri_bpe_trainer *t, int32_t index, int32_t left, int32_t right,
                             int32_t id)
{
    struct train_word *word = &t->words[index];
    int32_t *symbols = t->symbols.data + word->start;
    int64_t kept = 0;
    for (int64_t i = 0; i < word->num; kept++) {
        bool here = i + 1 < word->num && symbols[i] == left && symbols[i + 1] == right;
        symbols[kept] = here ? id : symbols[i];
        i += here ? 2 : 1;
    }
    bool changed = kept != word->num;
    word->num = kept;
    return changed;
}

static bool train_word_has(const tri_bpe_trainer *t, int32_t index, int32_t left, int32_t right)
{
    const struct train_word *word = &t->words[index];
    const int32_t *symbols = t->symbols.data + word->start;
    for (int64_t i = 0; i + 1 < word->num; i++) {
        if (symbols[i] == left && symbols[i + 1] == right)
            return true;
    }
    return false;
}

/* The token that left and right make: a new id unless the same bytes have one already. */
static tri_status train_join(tri_bpe_trainer *t, int32_t left, int32_t right, int32_t *id,
                             tri_error *err)
{
    struct train_token a = t->tokens[left], b = t->tokens[right];
    struct train_token joined = {.start = t->text.num, .num = a.num + b.num};
    TRI_TRY(tri_bytes_reserve(&t->text, joined.num, err));
    TRI_TRY(tri_bytes_append(&t->text, t->text.data + a.start, a.num, err));
    TRI_TRY(tri_bytes_append(&t->text, t->text.data + b.start, b.num, err));
    const char *bytes = t->text.data + joined.start;
    size_t slot = tri_hash_bytes(bytes, joined.num) & t->token_mask;
    for (; t->token_table[slot] >= 0; slot = (slot + 1) & t->token_mask) {
        const struct train_token *token = &t->tokens[t->token_table[slot]];
        if (token->num == joined.num &&
            memcmp(t->text.data + token->start, bytes, joined.num) == 0) {
            *id = t->token_table[slot];
            t->text.num = joined.start;
            return TRI_OK;
        }
    }
    *id = (int32_t)t->num_tokens;
    t->token_table[slot] = *id;
    t->tokens[t->num_tokens++] = joined;
    return TRI_OK;
}

static tri_status train_note_merge(tri_bpe_trainer *t, struct tri_bpe_merge merge, tri_error *err)
{
    if (t->num_merges == t->room_merges) {
        int64_t room = t->room_merges ? 2 * t->room_merges : 1024;
        struct tri_bpe_merge *merges = realloc(t->merges, (size_t)room * sizeof(*merges));
        TRI_CHECK(merges, err, TRI_NOMEM, "out of memory for %lld merges", (long long)room);
        t->merges = merges;
        t->room_merges = room;
    }
    t->merges[t->num_merges++] = merge;
    return TRI_OK;
}

static tri_status train_merge_pair(tri_bpe_trainer *t, int32_t pair, tri_error *err)
{
    int32_t left = (int32_t)(t->pairs[pair].key >> 32), right = (int32_t)t->pairs[pair].key, id;
    int64_t count = t->pairs[pair].count;
    TRI_TRY(train_join(t, left, right, &id, err));
    struct tri_bpe_merge merge = {.left = left, .right = right, .id = id, .count = count};
    TRI_TRY(train_note_merge(t, merge, err));
    struct tri_ids words = t->pairs[pair].words;
    t->pairs[pair].words = (struct tri_ids){0};
    tri_status status = TRI_OK;
    for (int64_t i = 0; i < words.num && status == TRI_OK; i++) {
        int32_t word = words.data[i];
        if (!train_word_has(t, word, left, right))
            continue;
        status = train_count_word(t, word, -1, err);
        train_merge_word(t, word, left, right, id);
        if (status == TRI_OK)
            status = train_count_word(t, word, 1, err);
    }
    for (int64_t i = 0; i < words.num && status == TRI_OK; i++)
        status = train_push_word(t, words.data[i], id, err);
    tri_ids_fini(&words);
    return status;
}

static tri_status train_prepare(tri_bpe_trainer *t, tri_error *err)
{
    size_t room = 1024;
    while (room < (size_t)t->vocab_size * 2)
        room *= 2;
    t->token_table = malloc(room * sizeof(*t->token_table));
    TRI_CHECK(t->token_table, err, TRI_NOMEM, "out of memory for %lld tokens",
              (long long)t->vocab_size);
    memset(t->token_table, 0xff, room * sizeof(*t->token_table));
    t->token_mask = room - 1;
    for (int64_t i = 0; i < t->num_words; i++)
        TRI_TRY(train_count_word(t, (int32_t)i, 1, err));
    for (int32_t i = 0; i < t->num_pairs; i++)
        TRI_TRY(train_heap_push(t, i, err));
    return TRI_OK;
}

tri_status tri_bpe_trainer_run(tri_bpe_trainer *t, tri_error *err)
{
    TRI_ASSERT(!t->token_table);
    TRI_TRY(train_prepare(t, err));
    while (t->heap_num > 0 && t->num_tokens < t->vocab_size) {
        struct train_entry top = train_heap_pop(t);
        int64_t count = t->pairs[top.pair].count;
        if (top.count != count && count >= t->min_frequency)
            TRI_TRY(train_heap_push(t, top.pair, err));
        if (top.count != count)
            continue;
        if (count < t->min_frequency)
            break;
        TRI_TRY(train_merge_pair(t, top.pair, err));
    }
    return TRI_OK;
}
