/* SPDX-License-Identifier: Apache-2.0 */
/* Counting pieces for a new tokenizer (bpe_train.h); the learning itself is in bpe_learn.c. */
#include "data/bpe_train_private.h"
#include "data/byte_map.h"
#include "data/hash.h"
#include "data/unicode.h"

#include <stdlib.h>
#include <string.h>

static tri_status trainer_add_token(tri_bpe_trainer *t, const char *bytes, size_t num,
                                    tri_error *err)
{
    struct train_token token = {.start = t->text.num, .num = num};
    TRI_TRY(tri_bytes_append(&t->text, bytes, num, err));
    t->tokens[t->num_tokens++] = token;
    return TRI_OK;
}

static tri_status trainer_check_special(const tri_bpe_trainer *t, const char *text, tri_error *err)
{
    TRI_CHECK(*text && tri_utf8_check(text, strlen(text)) == strlen(text), err, TRI_INVALID,
              "special token '%s' is empty or not UTF-8", text);
    for (int64_t i = 0; i < t->num_tokens; i++) {
        TRI_CHECK(t->tokens[i].num != strlen(text) ||
                      memcmp(t->text.data + t->tokens[i].start, text, strlen(text)) != 0,
                  err, TRI_INVALID, "special token '%s' is given twice", text);
    }
    return TRI_OK;
}

static tri_status trainer_start_vocabulary(tri_bpe_trainer *t,
                                           const struct tri_bpe_train_config *config,
                                           tri_error *err)
{
    int64_t num_special = 0;
    while (config->special && config->special[num_special])
        num_special++;
    int64_t least = num_special + 256;
    TRI_CHECK(config->vocab_size >= least && config->vocab_size <= 1 << 22, err, TRI_INVALID,
              "vocab_size %lld is out of range; give %lld (256 bytes and %lld special tokens) to "
              "4194304",
              (long long)config->vocab_size, (long long)least, (long long)num_special);
    t->num_special = (int32_t)num_special;
    t->tokens = calloc((size_t)config->vocab_size, sizeof(*t->tokens));
    TRI_CHECK(t->tokens, err, TRI_NOMEM, "out of memory for %lld tokens",
              (long long)config->vocab_size);
    for (int64_t i = 0; i < num_special; i++) {
        TRI_TRY(trainer_check_special(t, config->special[i], err));
        TRI_TRY(trainer_add_token(t, config->special[i], strlen(config->special[i]), err));
    }
    for (int i = 0; i < 256; i++) {
        char byte = (char)tri_byte_map_sorted(i);
        t->byte_ids[(unsigned char)byte] = (int32_t)t->num_tokens;
        TRI_TRY(trainer_add_token(t, &byte, 1, err));
    }
    return TRI_OK;
}

tri_status tri_bpe_trainer_create(const struct tri_bpe_train_config *config,
                                  tri_bpe_trainer **trainer, tri_error *err)
{
    const char *pattern = config->pattern ? config->pattern : tri_pretokenizer_gpt2_pattern;
    tri_bpe_trainer *t = calloc(1, sizeof(*t));
    TRI_CHECK(t, err, TRI_NOMEM, "out of memory for the tokenizer");
    t->vocab_size = config->vocab_size;
    t->min_frequency = config->min_frequency > 1 ? config->min_frequency : 1;
    t->pattern = strdup(pattern);
    tri_status status = t->pattern ? TRI_OK : tri_error_set(err, TRI_NOMEM, "out of memory");
    if (status == TRI_OK)
        status = trainer_start_vocabulary(t, config, err);
    if (status == TRI_OK)
        status = tri_pretokenizer_create(&t->pretokenizer, err);
    if (status == TRI_OK)
        status = tri_pretokenizer_add(t->pretokenizer, pattern, TRI_SPLIT_ISOLATED, err);
    if (status != TRI_OK) {
        tri_bpe_trainer_destroy(&t);
        return status;
    }
    *trainer = t;
    return TRI_OK;
}

void tri_bpe_trainer_destroy(tri_bpe_trainer **trainer)
{
    tri_bpe_trainer *t = *trainer;
    if (!t)
        return;
    for (int32_t i = 0; i < t->num_pairs; i++)
        tri_ids_fini(&t->pairs[i].words);
    tri_pretokenizer_destroy(&t->pretokenizer);
    tri_bytes_fini(&t->text);
    tri_ids_fini(&t->symbols);
    free(t->pattern);
    free(t->tokens);
    free(t->words);
    free(t->word_table);
    free(t->pairs);
    free(t->pair_table);
    free(t->heap);
    free(t->token_table);
    free(t->merges);
    free(t);
    *trainer = NULL;
}

static int32_t *word_slot(const tri_bpe_trainer *t, const char *piece, size_t bytes)
{
    size_t slot = tri_hash_bytes(piece, bytes) & t->word_mask;
    for (;; slot = (slot + 1) & t->word_mask) {
        int32_t word = t->word_table[slot];
        if (word < 0 || ((size_t)t->words[word].num_bytes == bytes &&
                         memcmp(t->text.data + t->words[word].text_start, piece, bytes) == 0))
            return &t->word_table[slot];
    }
}

/* Keeps the table at most half full. */
static tri_status word_table_grow(tri_bpe_trainer *t, tri_error *err)
{
    if (t->word_table && (size_t)t->num_words * 2 < t->word_mask)
        return TRI_OK;
    size_t room = t->word_table ? (t->word_mask + 1) * 4 : 1 << 14;
    free(t->word_table);
    t->word_table = malloc(room * sizeof(*t->word_table));
    TRI_CHECK(t->word_table, err, TRI_NOMEM, "out of memory for %lld words",
              (long long)t->num_words);
    memset(t->word_table, 0xff, room * sizeof(*t->word_table));
    t->word_mask = room - 1;
    for (int64_t i = 0; i < t->num_words; i++) {
        const struct train_word *word = &t->words[i];
        *word_slot(t, t->text.data + word->text_start, (size_t)word->num_bytes) = (int32_t)i;
    }
    return TRI_OK;
}

static tri_status trainer_add_word(tri_bpe_trainer *t, const char *piece, size_t bytes,
                                   int32_t *slot, tri_error *err)
{
    TRI_CHECK(bytes < INT32_MAX && t->num_words < INT32_MAX, err, TRI_INVALID,
              "the text has too many words, or one of %zu bytes", bytes);
    if (t->num_words == t->room_words) {
        int64_t room = t->room_words ? 2 * t->room_words : 4096;
        struct train_word *words = realloc(t->words, (size_t)room * sizeof(*words));
        TRI_CHECK(words, err, TRI_NOMEM, "out of memory for %lld words", (long long)room);
        t->words = words;
        t->room_words = room;
    }
    t->words[t->num_words] = (struct train_word){
        .text_start = t->text.num,
        .start = t->symbols.num,
        .num = (int64_t)bytes,
        .num_bytes = (int32_t)bytes,
        .count = 1,
    };
    TRI_TRY(tri_bytes_append(&t->text, piece, bytes, err));
    for (size_t i = 0; i < bytes; i++)
        TRI_TRY(tri_ids_append(&t->symbols, t->byte_ids[(unsigned char)piece[i]], err));
    *slot = (int32_t)t->num_words++;
    return TRI_OK;
}

static tri_status trainer_count_piece(void *context, const char *piece, size_t bytes,
                                      tri_error *err)
{
    tri_bpe_trainer *t = context;
    TRI_TRY(word_table_grow(t, err));
    int32_t *slot = word_slot(t, piece, bytes);
    if (*slot < 0)
        return trainer_add_word(t, piece, bytes, slot, err);
    t->words[*slot].count++;
    return TRI_OK;
}

tri_status tri_bpe_trainer_add(tri_bpe_trainer *trainer, const char *text, size_t bytes,
                               tri_error *err)
{
    size_t good = tri_utf8_check(text, bytes);
    TRI_CHECK(good == bytes, err, TRI_INVALID, "the text is not UTF-8: byte 0x%02x at offset %zu",
              (unsigned char)text[good], good);
    return tri_pretokenizer_split(trainer->pretokenizer, text, bytes, trainer_count_piece, trainer,
                                  err);
}

int64_t tri_bpe_trainer_num_ids(const tri_bpe_trainer *trainer)
{
    return trainer->num_tokens;
}

int64_t tri_bpe_trainer_num_merges(const tri_bpe_trainer *trainer)
{
    return trainer->num_merges;
}

const struct tri_bpe_merge *tri_bpe_trainer_merges(const tri_bpe_trainer *trainer)
{
    return trainer->merges;
}

const char *tri_bpe_trainer_token(const tri_bpe_trainer *trainer, int32_t id, size_t *bytes)
{
    TRI_ASSERT(id >= 0 && id < trainer->num_tokens);
    *bytes = trainer->tokens[id].num;
    return trainer->text.data + trainer->tokens[id].start;
}
