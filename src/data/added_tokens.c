/* SPDX-License-Identifier: Apache-2.0 */
/* Searching for added tokens with a trie (added_tokens.h). */
#include "data/added_tokens.h"
#include "data/unicode.h"

#include <stdlib.h>

struct tri_added_node {
    unsigned char byte;
    int32_t child, sibling; /* 0: none */
    int32_t token;          /* -1: none ends here */
};

static tri_status added_node_create(struct tri_added_tokens *set, unsigned char byte, int32_t *node,
                                    tri_error *err)
{
    if (set->num_nodes == set->room_nodes) {
        int32_t room = set->room_nodes ? 2 * set->room_nodes : 256;
        struct tri_added_node *nodes = realloc(set->nodes, (size_t)room * sizeof(*nodes));
        TRI_CHECK(nodes, err, TRI_NOMEM, "out of memory for added tokens");
        set->nodes = nodes;
        set->room_nodes = room;
    }
    *node = set->num_nodes++;
    set->nodes[*node] = (struct tri_added_node){.byte = byte, .token = -1};
    return TRI_OK;
}

static int32_t added_node_find(const struct tri_added_tokens *set, int32_t node, unsigned char byte)
{
    int32_t child = set->nodes[node].child;
    while (child && set->nodes[child].byte != byte)
        child = set->nodes[child].sibling;
    return child;
}

tri_status tri_added_tokens_add(struct tri_added_tokens *set, const struct tri_added_token *token,
                                tri_error *err)
{
    if (token->num == 0)
        return TRI_OK;
    int32_t node = 0;
    if (set->num_nodes == 0)
        TRI_TRY(added_node_create(set, 0, &node, err));
    if (set->num == set->room) {
        int32_t room = set->room ? 2 * set->room : 16;
        struct tri_added_token *tokens = realloc(set->tokens, (size_t)room * sizeof(*tokens));
        TRI_CHECK(tokens, err, TRI_NOMEM, "out of memory for added tokens");
        set->tokens = tokens;
        set->room = room;
    }
    for (size_t i = 0; i < token->num; i++) {
        unsigned char byte = (unsigned char)token->content[i];
        int32_t child = added_node_find(set, node, byte);
        if (!child) {
            TRI_TRY(added_node_create(set, byte, &child, err));
            set->nodes[child].sibling = set->nodes[node].child;
            set->nodes[node].child = child;
        }
        node = child;
    }
    TRI_CHECK(set->nodes[node].token < 0, err, TRI_INVALID, "added token '%.*s' is given twice",
              (int)(token->num < 64 ? token->num : 64), token->content);
    set->nodes[node].token = set->num;
    set->tokens[set->num++] = *token;
    return TRI_OK;
}

void tri_added_tokens_fini(struct tri_added_tokens *set)
{
    free(set->tokens);
    free(set->nodes);
    *set = (struct tri_added_tokens){0};
}

/* The longest token that starts at text[at]. */
static const struct tri_added_token *added_match(const struct tri_added_search *search, size_t at)
{
    const struct tri_added_tokens *set = search->set;
    int32_t node = 0, token = -1;
    for (size_t i = at; i < search->num; i++) {
        node = added_node_find(set, node, (unsigned char)search->text[i]);
        if (!node)
            break;
        if (set->nodes[node].token >= 0)
            token = set->nodes[node].token;
    }
    return token >= 0 ? &set->tokens[token] : NULL;
}

/* The code point that ends before text[at]; at > 0. Returns its length. */
static size_t added_char_before(const char *text, size_t at, uint32_t *code_point)
{
    size_t start = at - 1;
    while (start > 0 && (text[start] & 0xc0) == 0x80)
        start--;
    tri_utf8_decode(text + start, at - start, code_point);
    return at - start;
}

static bool added_is_word_alone(const struct tri_added_search *search, size_t begin, size_t end)
{
    uint32_t c;
    if (begin > 0) {
        added_char_before(search->text, begin, &c);
        if (tri_unicode_is_word(c))
            return false;
    }
    if (end == search->num)
        return true;
    tri_utf8_decode(search->text + end, search->num - end, &c);
    return !tri_unicode_is_word(c);
}

static size_t added_strip_left(const struct tri_added_search *search, size_t begin)
{
    uint32_t c;
    while (begin > search->taken) {
        size_t length = added_char_before(search->text, begin, &c);
        if (!tri_unicode_is_space(c))
            break;
        begin -= length;
    }
    return begin > search->taken ? begin : search->taken;
}

static size_t added_strip_right(const struct tri_added_search *search, size_t end)
{
    uint32_t c;
    while (end < search->num) {
        int length = tri_utf8_decode(search->text + end, search->num - end, &c);
        if (!tri_unicode_is_space(c))
            break;
        end += (size_t)length;
    }
    return end;
}

/* The next token that counts, as a part; false when there is none. */
static bool added_find(struct tri_added_search *search, struct tri_added_part *part)
{
    while (search->set->num && search->cursor < search->num) {
        size_t begin = search->cursor;
        const struct tri_added_token *token = added_match(search, begin);
        if (!token) {
            search->cursor++;
            continue;
        }
        size_t end = begin + token->num;
        search->cursor = end;
        if ((token->special && search->plain_special) || begin < search->taken ||
            (token->single_word && !added_is_word_alone(search, begin, end)))
            continue;
        part->token = token;
        part->begin = token->lstrip ? added_strip_left(search, begin) : begin;
        part->end = token->rstrip ? added_strip_right(search, end) : end;
        return true;
    }
    return false;
}

bool tri_added_search_next(struct tri_added_search *search, struct tri_added_part *part)
{
    if (!search->has_pending) {
        struct tri_added_part found = {.begin = search->num, .end = search->num};
        added_find(search, &found);
        search->pending = found;
        search->has_pending = true;
    }
    if (search->taken < search->pending.begin) {
        *part = (struct tri_added_part){.begin = search->taken, .end = search->pending.begin};
        search->taken = search->pending.begin;
        return true;
    }
    if (!search->pending.token)
        return false;
    *part = search->pending;
    search->taken = part->end;
    search->has_pending = false;
    return true;
}
