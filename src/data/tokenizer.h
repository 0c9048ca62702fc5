/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A byte-level BPE tokenizer as the tokenizers library computes it, read from a tokenizer.json (or
 * from GPT-2's vocab.json and merges.txt). Names of end, beginning and padding come from the
 * tokenizer_config.json beside it. Other kinds of tokenizer are refused by name. One object is used
 * from one thread at a time: it remembers pieces and owns the matcher's memory. Training a new one
 * is in bpe_train.h.
 */
#pragma once

#include "base/check.h"
#include "data/buffer.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tri_tokenizer tri_tokenizer;

/* Reads the file path, or the tokenizer in the folder path. */
tri_status tri_tokenizer_create(const char *path, tri_tokenizer **tokenizer, tri_error *err);
/* The same from memory, without a tokenizer_config.json; name stands for the file in messages. */
tri_status tri_tokenizer_create_from_json(const char *json, size_t bytes, const char *name,
                                          tri_tokenizer **tokenizer, tri_error *err);
void tri_tokenizer_destroy(tri_tokenizer **tokenizer);

/* Number of ids: the highest id + 1. A model's vocabulary must be at least this. */
int64_t tri_tokenizer_num_ids(const tri_tokenizer *tokenizer);
/* End of a document, beginning of a text, padding; -1 when the tokenizer names none. The end falls
   back to the first added token among "<|endoftext|>", "<|end_of_text|>", "</s>" and "<eos>". */
int32_t tri_tokenizer_eod(const tri_tokenizer *tokenizer);
int32_t tri_tokenizer_bos(const tri_tokenizer *tokenizer);
int32_t tri_tokenizer_pad(const tri_tokenizer *tokenizer);
/* The id of an added token or a vocabulary entry with this text, -1 if there is none. */
int32_t tri_tokenizer_find(const tri_tokenizer *tokenizer, const char *text);

enum tri_encode_flags {
    TRI_ENCODE_SPECIAL_AS_TEXT = 1, /* added tokens flagged special are not recognised */
    TRI_ENCODE_ALL_AS_TEXT = 2,     /* no added token is */
    TRI_ENCODE_TEMPLATE = 4,        /* add what the post-processor adds, such as a beginning */
    TRI_ENCODE_REPLACE_INVALID = 8  /* broken UTF-8 becomes U+FFFD instead of an error */
};

/* Appends the ids of text. Fails on broken UTF-8, naming the offset. */
tri_status tri_tokenizer_encode(tri_tokenizer *tokenizer, const char *text, size_t bytes, int flags,
                                struct tri_ids *ids, tri_error *err);

/* The bytes of one id; borrowed. They may end inside a character. NULL and 0 for an id without a
   token (a model's vocabulary may be larger than its tokenizer's). */
const char *tri_tokenizer_token(const tri_tokenizer *tokenizer, int64_t id, size_t *bytes);
bool tri_tokenizer_is_special(const tri_tokenizer *tokenizer, int64_t id);
/* Appends the text of ids, broken UTF-8 as U+FFFD; ids without a token give nothing. */
tri_status tri_tokenizer_decode(const tri_tokenizer *tokenizer, const int32_t *ids, int64_t num,
                                bool skip_special, struct tri_bytes *text, tri_error *err);
