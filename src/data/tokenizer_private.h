/* SPDX-License-Identifier: Apache-2.0 */
/* The insides of a tri_tokenizer, shared by tokenizer.c (use) and the files that read one. */
#pragma once

#include "data/added_tokens.h"
#include "data/bpe.h"
#include "data/pretokenize.h"
#include "data/tokenizer.h"

#include <jansson.h>

struct tri_tokenizer {
    tri_bpe *bpe;
    tri_pretokenizer *pretokenizer;
    bool nfc;
    bool add_prefix_space;
    char **contents;               /* [num_added] owned; the sets below borrow them */
    bool *special;                 /* [num_ids] */
    struct tri_added_token *added; /* [num_added] */
    int32_t num_added;
    struct tri_added_tokens raw, normalized; /* searched before and after normalisation */
    struct tri_ids prefix, suffix;           /* what the template adds */
    int32_t eod, bos, pad;
};

/* Fills an empty tokenizer from a parsed tokenizer.json. */
tri_status tri_tokenizer_read_json(tri_tokenizer *tokenizer, const json_t *root, const char *name,
                                   tri_error *err);
/* Reads model.vocab and model.merges, and the added tokens, into the tokenizer. */
tri_status tri_tokenizer_read_model(tri_tokenizer *tokenizer, const json_t *model,
                                    const json_t *added, const char *name, tri_error *err);
/* Fills an empty tokenizer from GPT-2's two files. */
tri_status tri_tokenizer_read_gpt2(tri_tokenizer *tokenizer, const char *vocab_path,
                                   const char *merges_path, tri_error *err);
/* Adds added tokens to the two sets, normalising the contents of those that are. */
tri_status tri_tokenizer_index_added(tri_tokenizer *tokenizer, tri_error *err);
