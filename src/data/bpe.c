/* SPDX-License-Identifier: Apache-2.0 */
/* The vocabulary and merge tables of byte-pair encoding (bpe.h); merging itself is in
   bpe_merge.c. */
#include "data/bpe_private.h"
#include "data/hash.h"

#include <stdlib.h>
#include <string.h>

/* Ids above this are refused: a table of all ids must stay small. */
enum { BPE_MAX_ID = 1 << 22 };

static size_t bpe_table_room(int64_t entries)
{
    size_t room = 64;
    while (room < (size_t)entries * 2)
        room *= 2;
    return room;
}

tri_status tri_bpe_create(int64_t num_tokens, int64_t num_merges, tri_bpe **bpe, tri_error *err)
{
    tri_bpe *result = calloc(1, sizeof(*result));
    TRI_CHECK(result, err, TRI_NOMEM, "out of memory for the tokenizer");
    result->token_table.mask = bpe_table_room(num_tokens) - 1;
    result->merge_table.mask = bpe_table_room(num_merges) - 1;
    result->token_table.ids = malloc((result->token_table.mask + 1) * sizeof(int32_t));
    result->merge_table.rows =
        malloc((result->merge_table.mask + 1) * sizeof(struct bpe_merge_row));
    result->cache = calloc(BPE_CACHE_ROWS, sizeof(*result->cache));
    if (!result->token_table.ids || !result->merge_table.rows || !result->cache) {
        tri_bpe_destroy(&result);
        return tri_error_set(err, TRI_NOMEM, "out of memory for a tokenizer of %lld tokens",
                             (long long)num_tokens);
    }
    memset(result->token_table.ids, 0xff, (result->token_table.mask + 1) * sizeof(int32_t));
    memset(result->merge_table.rows, 0xff,
           (result->merge_table.mask + 1) * sizeof(struct bpe_merge_row));
    for (int byte = 0; byte < 256; byte++)
        result->byte_ids[byte] = -1;
    *bpe = result;
    return TRI_OK;
}

void tri_bpe_destroy(tri_bpe **bpe)
{
    if (!*bpe)
        return;
    free((*bpe)->token_table.ids);
    free((*bpe)->merge_table.rows);
    free((*bpe)->tokens);
    free((*bpe)->cache);
    free((*bpe)->symbols);
    free((*bpe)->heap);
    tri_bytes_fini(&(*bpe)->text);
    free(*bpe);
    *bpe = NULL;
}

const char *tri_bpe_token(const tri_bpe *bpe, int64_t id, size_t *num)
{
    if (id < 0 || id >= bpe->num_ids || !bpe->tokens[id].present) {
        *num = 0;
        return NULL;
    }
    *num = bpe->tokens[id].num;
    return bpe->text.data + bpe->tokens[id].start;
}

static int32_t *bpe_find_slot(const tri_bpe *bpe, const char *bytes, size_t num)
{
    size_t slot = tri_hash_bytes(bytes, num) & bpe->token_table.mask;
    for (;; slot = (slot + 1) & bpe->token_table.mask) {
        int32_t id = bpe->token_table.ids[slot];
        if (id < 0)
            return &bpe->token_table.ids[slot];
        const struct bpe_token *token = &bpe->tokens[id];
        if (token->num == num && memcmp(bpe->text.data + token->start, bytes, num) == 0)
            return &bpe->token_table.ids[slot];
    }
}

int32_t tri_bpe_find(const tri_bpe *bpe, const char *bytes, size_t num)
{
    return *bpe_find_slot(bpe, bytes, num);
}

static tri_status bpe_reserve_ids(tri_bpe *bpe, int64_t num, tri_error *err)
{
    if (num <= bpe->room_ids)
        return TRI_OK;
    int64_t room = bpe->room_ids + bpe->room_ids / 2;
    room = room > num ? room : num < 512 ? 512 : num;
    struct bpe_token *tokens = realloc(bpe->tokens, (size_t)room * sizeof(*tokens));
    TRI_CHECK(tokens, err, TRI_NOMEM, "out of memory for %lld tokens", (long long)room);
    memset(tokens + bpe->room_ids, 0, (size_t)(room - bpe->room_ids) * sizeof(*tokens));
    bpe->tokens = tokens;
    bpe->room_ids = room;
    return TRI_OK;
}

tri_status tri_bpe_add_token(tri_bpe *bpe, int64_t id, const char *bytes, size_t num, bool is_bytes,
                             tri_error *err)
{
    TRI_CHECK(id >= 0 && id <= BPE_MAX_ID, err, TRI_INVALID,
              "token '%.*s' has the id %lld; ids are 0 to %d", (int)(num < 64 ? num : 64), bytes,
              (long long)id, BPE_MAX_ID);
    TRI_TRY(bpe_reserve_ids(bpe, id + 1, err));
    struct bpe_token *token = &bpe->tokens[id];
    TRI_CHECK(!token->present, err, TRI_INVALID, "two tokens have the id %lld", (long long)id);
    int32_t *slot = is_bytes && num ? bpe_find_slot(bpe, bytes, num) : NULL;
    TRI_CHECK(!slot || *slot < 0, err, TRI_INVALID, "tokens %lld and %d are the same text",
              (long long)id, slot ? *slot : -1);
    TRI_ASSERT(!slot || bpe->token_table.num < bpe->token_table.mask);
    *token = (struct bpe_token){.start = bpe->text.num, .num = num, .present = true};
    TRI_TRY(tri_bytes_append(&bpe->text, bytes, num, err));
    if (slot) {
        *slot = (int32_t)id;
        bpe->token_table.num++;
        if (num == 1)
            bpe->byte_ids[(unsigned char)*bytes] = (int32_t)id;
    }
    bpe->num_ids = id >= bpe->num_ids ? id + 1 : bpe->num_ids;
    return TRI_OK;
}

tri_status tri_bpe_add_merge(tri_bpe *bpe, int32_t left, int32_t right, tri_error *err)
{
    struct tri_bytes joined = {0};
    size_t num_left, num_right;
    const char *left_bytes = tri_bpe_token(bpe, left, &num_left);
    const char *right_bytes = tri_bpe_token(bpe, right, &num_right);
    tri_status status = tri_bytes_append(&joined, left_bytes, num_left, err);
    if (status == TRI_OK)
        status = tri_bytes_append(&joined, right_bytes, num_right, err);
    int32_t id = status == TRI_OK ? tri_bpe_find(bpe, joined.data, joined.num) : -1;
    tri_bytes_fini(&joined);
    TRI_TRY(status);
    TRI_CHECK(id >= 0, err, TRI_INVALID,
              "merge %d joins tokens %d and %d into a text that is no token", bpe->num_merges, left,
              right);
    uint64_t key = tri_hash_pair(left, right);
    size_t slot = tri_hash_u64(key) & bpe->merge_table.mask;
    while (bpe->merge_table.rows[slot].key != UINT64_MAX && bpe->merge_table.rows[slot].key != key)
        slot = (slot + 1) & bpe->merge_table.mask;
    TRI_ASSERT((size_t)bpe->num_merges < bpe->merge_table.mask);
    bpe->merge_table.rows[slot] =
        (struct bpe_merge_row){.key = key, .rank = bpe->num_merges++, .id = id};
    return TRI_OK;
}

void tri_bpe_set_whole_pieces(tri_bpe *bpe, bool whole_pieces)
{
    bpe->whole_pieces = whole_pieces;
}

void tri_bpe_set_unknown(tri_bpe *bpe, int32_t id)
{
    for (int byte = 0; byte < 256; byte++) {
        if (bpe->byte_ids[byte] < 0)
            bpe->byte_ids[byte] = id;
    }
}

int64_t tri_bpe_num_ids(const tri_bpe *bpe)
{
    return bpe->num_ids;
}

bool tri_bpe_has_all_bytes(const tri_bpe *bpe)
{
    for (int byte = 0; byte < 256; byte++) {
        if (bpe->byte_ids[byte] < 0)
            return false;
    }
    return true;
}
