/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding and decoding (tokenizer.h). */
#include "data/tokenizer_private.h"
#include "data/unicode.h"

#include <stdlib.h>
#include <string.h>

void tri_tokenizer_destroy(tri_tokenizer **tokenizer)
{
    tri_tokenizer *t = *tokenizer;
    if (!t)
        return;
    tri_bpe_destroy(&t->bpe);
    tri_pretokenizer_destroy(&t->pretokenizer);
    tri_added_tokens_fini(&t->raw);
    tri_added_tokens_fini(&t->normalized);
    for (int32_t i = 0; t->contents && i < t->num_added; i++)
        free(t->contents[i]);
    free(t->contents);
    free(t->special);
    free(t->added);
    tri_ids_fini(&t->prefix);
    tri_ids_fini(&t->suffix);
    free(t);
    *tokenizer = NULL;
}

int64_t tri_tokenizer_num_ids(const tri_tokenizer *tokenizer)
{
    return tri_bpe_num_ids(tokenizer->bpe);
}

int32_t tri_tokenizer_eod(const tri_tokenizer *tokenizer)
{
    return tokenizer->eod;
}

int32_t tri_tokenizer_bos(const tri_tokenizer *tokenizer)
{
    return tokenizer->bos;
}

int32_t tri_tokenizer_pad(const tri_tokenizer *tokenizer)
{
    return tokenizer->pad;
}

int32_t tri_tokenizer_find(const tri_tokenizer *tokenizer, const char *text)
{
    size_t bytes = strlen(text);
    for (int32_t i = 0; i < tokenizer->num_added; i++) {
        const struct tri_added_token *added = &tokenizer->added[i];
        if (added->num == bytes && memcmp(added->content, text, bytes) == 0)
            return added->id;
    }
    return tri_bpe_find(tokenizer->bpe, text, bytes);
}

/* One call of tri_tokenizer_encode. */
struct encode_call {
    tri_tokenizer *tokenizer;
    struct tri_ids *ids;
    int flags;
    tri_error *err;
};

static tri_status encode_piece(void *context, const char *piece, size_t bytes, tri_error *err)
{
    struct encode_call *call = context;
    return tri_bpe_encode(call->tokenizer->bpe, piece, bytes, call->ids, err);
}

/* Text without added tokens, normalised. */
static tri_status encode_text(struct encode_call *call, const char *text, size_t bytes)
{
    struct tri_bytes spaced = {0};
    tri_pretokenizer *pretokenizer = call->tokenizer->pretokenizer;
    if (!call->tokenizer->add_prefix_space || bytes == 0 || *text == ' ')
        return tri_pretokenizer_split(pretokenizer, text, bytes, encode_piece, call, call->err);
    tri_status status = tri_bytes_append_byte(&spaced, ' ', call->err);
    if (status == TRI_OK)
        status = tri_bytes_append(&spaced, text, bytes, call->err);
    if (status == TRI_OK)
        status = tri_pretokenizer_split(pretokenizer, spaced.data, spaced.num, encode_piece, call,
                                        call->err);
    tri_bytes_fini(&spaced);
    return status;
}

typedef tri_status (*encode_function)(struct encode_call *call, const char *text, size_t bytes);

/* Gives the text between the set's tokens to next, and the ids of the tokens themselves. */
static tri_status encode_between(struct encode_call *call, const struct tri_added_tokens *set,
                                 const char *text, size_t bytes, encode_function next)
{
    struct tri_added_search search = {
        .set = set,
        .text = text,
        .num = bytes,
        .plain_special = call->flags & TRI_ENCODE_SPECIAL_AS_TEXT,
    };
    struct tri_added_part part;
    if (set->num == 0 || call->flags & TRI_ENCODE_ALL_AS_TEXT)
        return next(call, text, bytes);
    while (tri_added_search_next(&search, &part)) {
        if (part.token)
            TRI_TRY(tri_ids_append(call->ids, part.token->id, call->err));
        else
            TRI_TRY(next(call, text + part.begin, part.end - part.begin));
    }
    return TRI_OK;
}

static bool encode_is_ascii(const char *text, size_t bytes)
{
    unsigned char all = 0;
    for (size_t i = 0; i < bytes; i++)
        all |= (unsigned char)text[i];
    return all < 0x80;
}

/* Text without the tokens that are searched before normalisation. */
static tri_status encode_raw(struct encode_call *call, const char *text, size_t bytes)
{
    const struct tri_added_tokens *set = &call->tokenizer->normalized;
    struct tri_bytes normalized = {0};
    if (!call->tokenizer->nfc || encode_is_ascii(text, bytes))
        return encode_between(call, set, text, bytes, encode_text);
    tri_status status = tri_unicode_nfc(text, bytes, &normalized, call->err);
    if (status == TRI_OK)
        status = encode_between(call, set, normalized.data, normalized.num, encode_text);
    tri_bytes_fini(&normalized);
    return status;
}

static tri_status encode_valid(struct encode_call *call, const char *text, size_t bytes)
{
    const tri_tokenizer *t = call->tokenizer;
    bool template = call->flags & TRI_ENCODE_TEMPLATE;
    if (template)
        TRI_TRY(tri_ids_append_all(call->ids, t->prefix.data, t->prefix.num, call->err));
    TRI_TRY(encode_between(call, &t->raw, text, bytes, encode_raw));
    if (template)
        TRI_TRY(tri_ids_append_all(call->ids, t->suffix.data, t->suffix.num, call->err));
    return TRI_OK;
}

tri_status tri_tokenizer_encode(tri_tokenizer *tokenizer, const char *text, size_t bytes, int flags,
                                struct tri_ids *ids, tri_error *err)
{
    struct encode_call call = {.tokenizer = tokenizer, .ids = ids, .flags = flags, .err = err};
    size_t good = tri_utf8_check(text, bytes);
    if (good == bytes)
        return encode_valid(&call, text, bytes);
    TRI_CHECK(flags & TRI_ENCODE_REPLACE_INVALID, err, TRI_INVALID,
              "the text is not UTF-8: byte 0x%02x at offset %zu", (unsigned char)text[good], good);
    struct tri_bytes replaced = {0};
    tri_status status = tri_utf8_replace(text, bytes, &replaced, err);
    if (status == TRI_OK)
        status = encode_valid(&call, replaced.data, replaced.num);
    tri_bytes_fini(&replaced);
    return status;
}

const char *tri_tokenizer_token(const tri_tokenizer *tokenizer, int64_t id, size_t *bytes)
{
    return tri_bpe_token(tokenizer->bpe, id, bytes);
}

bool tri_tokenizer_is_special(const tri_tokenizer *tokenizer, int64_t id)
{
    return id >= 0 && id < tri_tokenizer_num_ids(tokenizer) && tokenizer->special[id];
}

tri_status tri_tokenizer_decode(const tri_tokenizer *tokenizer, const int32_t *ids, int64_t num,
                                bool skip_special, struct tri_bytes *text, tri_error *err)
{
    struct tri_bytes raw = {0};
    tri_status status = TRI_OK;
    for (int64_t i = 0; i < num && status == TRI_OK; i++) {
        size_t bytes;
        const char *token = tri_bpe_token(tokenizer->bpe, ids[i], &bytes);
        if (token && !(skip_special && tokenizer->special[ids[i]]))
            status = tri_bytes_append(&raw, token, bytes, err);
    }
    if (status == TRI_OK)
        status = tri_utf8_replace(raw.data, raw.num, text, err);
    tri_bytes_fini(&raw);
    return status;
}

static tri_status index_normalized(tri_tokenizer *t, int32_t i, tri_error *err)
{
    struct tri_bytes content = {0};
    tri_status status = tri_unicode_nfc(t->contents[i], t->added[i].num, &content, err);
    if (status == TRI_OK)
        status = tri_bytes_append_byte(&content, '\0', err);
    if (status != TRI_OK) {
        tri_bytes_fini(&content);
        return status;
    }
    free(t->contents[i]);
    t->contents[i] = content.data;
    t->added[i].content = content.data;
    t->added[i].num = content.num - 1;
    return TRI_OK;
}

tri_status tri_tokenizer_index_added(tri_tokenizer *t, tri_error *err)
{
    for (int32_t i = 0; i < t->num_added; i++) {
        const struct tri_added_token *token = &t->added[i];
        if (token->normalized && t->nfc && !encode_is_ascii(token->content, token->num))
            TRI_TRY(index_normalized(t, i, err));
        TRI_TRY(tri_added_tokens_add(token->normalized ? &t->normalized : &t->raw, token, err));
    }
    return TRI_OK;
}
