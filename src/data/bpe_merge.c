/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merging the bytes of one piece (bpe.h). Symbols are a doubly linked list; a heap orders the pairs
 * that can be merged by rank, then by place. A pair whose symbols have changed since it was pushed
 * is skipped when it comes up. Each merge pushes at most two pairs, so the heap never holds more
 * than three per byte.
 */
#include "data/bpe_private.h"
#include "data/hash.h"

#include <stdlib.h>
#include <string.h>

static bool candidate_before(const struct bpe_candidate *a, const struct bpe_candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void bpe_heap_push(tri_bpe *bpe, struct bpe_candidate candidate)
{
    size_t i = bpe->heap_num++;
    while (i > 0 && candidate_before(&candidate, &bpe->heap[(i - 1) / 2])) {
        bpe->heap[i] = bpe->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    bpe->heap[i] = candidate;
}

static struct bpe_candidate bpe_heap_pop(tri_bpe *bpe)
{
    struct bpe_candidate top = bpe->heap[0], last = bpe->heap[--bpe->heap_num];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= bpe->heap_num)
            break;
        if (child + 1 < bpe->heap_num && candidate_before(&bpe->heap[child + 1], &bpe->heap[child]))
            child++;
        if (!candidate_before(&bpe->heap[child], &last))
            break;
        bpe->heap[i] = bpe->heap[child];
        i = child;
    }
    bpe->heap[i] = last;
    return top;
}

static void bpe_push_pair(tri_bpe *bpe, int32_t at)
{
    int32_t next = at < 0 ? -1 : bpe->symbols[at].next;
    if (next < 0)
        return;
    int32_t left = bpe->symbols[at].id, right = bpe->symbols[next].id;
    uint64_t key = tri_hash_pair(left, right);
    size_t slot = tri_hash_u64(key) & bpe->merge_table.mask;
    while (bpe->merge_table.rows[slot].key != key) {
        if (bpe->merge_table.rows[slot].key == UINT64_MAX)
            return;
        slot = (slot + 1) & bpe->merge_table.mask;
    }
    const struct bpe_merge_row *row = &bpe->merge_table.rows[slot];
    bpe_heap_push(bpe,
                  (struct bpe_candidate){
                      .rank = row->rank, .at = at, .left = left, .right = right, .id = row->id});
}

static tri_status bpe_reserve(tri_bpe *bpe, size_t num, tri_error *err)
{
    if (num <= bpe->room)
        return TRI_OK;
    TRI_CHECK(num < INT32_MAX / 4, err, TRI_INVALID,
              "a piece of %zu bytes without a place to split is too long", num);
    size_t room = num < 64 ? 64 : num + num / 2;
    struct bpe_symbol *symbols = realloc(bpe->symbols, room * sizeof(*symbols));
    if (symbols)
        bpe->symbols = symbols;
    struct bpe_candidate *heap = realloc(bpe->heap, 3 * room * sizeof(*heap));
    if (heap)
        bpe->heap = heap;
    TRI_CHECK(symbols && heap, err, TRI_NOMEM, "out of memory for a piece of %zu bytes", num);
    bpe->room = room;
    return TRI_OK;
}

static tri_status bpe_start(tri_bpe *bpe, const char *piece, size_t num, tri_error *err)
{
    for (size_t i = 0; i < num; i++) {
        int32_t id = bpe->byte_ids[(unsigned char)piece[i]];
        TRI_CHECK(id >= 0, err, TRI_INVALID, "byte 0x%02x of the text has no token",
                  (unsigned char)piece[i]);
        bpe->symbols[i] = (struct bpe_symbol){
            .id = id,
            .previous = (int32_t)i - 1,
            .next = i + 1 < num ? (int32_t)i + 1 : -1,
        };
    }
    bpe->heap_num = 0;
    for (size_t i = 0; i + 1 < num; i++)
        bpe_push_pair(bpe, (int32_t)i);
    return TRI_OK;
}

static void bpe_merge_all(tri_bpe *bpe)
{
    while (bpe->heap_num) {
        struct bpe_candidate pair = bpe_heap_pop(bpe);
        struct bpe_symbol *left = &bpe->symbols[pair.at];
        if (left->id != pair.left || left->next < 0 || bpe->symbols[left->next].id != pair.right)
            continue;
        struct bpe_symbol *right = &bpe->symbols[left->next];
        left->id = pair.id;
        left->next = right->next;
        right->id = -1;
        if (left->next >= 0)
            bpe->symbols[left->next].previous = pair.at;
        bpe_push_pair(bpe, left->previous);
        bpe_push_pair(bpe, pair.at);
    }
}

static tri_status bpe_encode_new(tri_bpe *bpe, const char *piece, size_t num, struct tri_ids *ids,
                                 tri_error *err)
{
    int32_t whole = bpe->whole_pieces ? tri_bpe_find(bpe, piece, num) : -1;
    if (whole >= 0)
        return tri_ids_append(ids, whole, err);
    TRI_TRY(bpe_reserve(bpe, num, err));
    TRI_TRY(bpe_start(bpe, piece, num, err));
    bpe_merge_all(bpe);
    for (int32_t i = 0; i >= 0; i = bpe->symbols[i].next)
        TRI_TRY(tri_ids_append(ids, bpe->symbols[i].id, err));
    return TRI_OK;
}

tri_status tri_bpe_encode(tri_bpe *bpe, const char *piece, size_t num, struct tri_ids *ids,
                          tri_error *err)
{
    if (num == 0)
        return TRI_OK;
    if (num > BPE_CACHE_BYTES)
        return bpe_encode_new(bpe, piece, num, ids, err);
    struct bpe_cache_row *row = &bpe->cache[tri_hash_bytes(piece, num) % BPE_CACHE_ROWS];
    if (row->num_bytes == num && memcmp(row->bytes, piece, num) == 0)
        return tri_ids_append_all(ids, row->ids, row->num_ids, err);
    int64_t start = ids->num;
    TRI_TRY(bpe_encode_new(bpe, piece, num, ids, err));
    if (ids->num - start <= BPE_CACHE_IDS) {
        row->num_bytes = (unsigned char)num;
        row->num_ids = (unsigned char)(ids->num - start);
        memcpy(row->bytes, piece, num);
        memcpy(row->ids, ids->data + start, (size_t)row->num_ids * sizeof(*row->ids));
    }
    return TRI_OK;
}
