/* SPDX-License-Identifier: Apache-2.0 */
/* Writing token files from memory. */
#include "trine/tokens.h"

#include "data/indexed_writer.h"

#include <inttypes.h>

static tri_status tokens_check(int64_t vocab_size, const int32_t *tokens, int64_t num,
                               int64_t document, tri_error *err)
{
    for (int64_t i = 0; i < num; i++)
        TRI_CHECK(tokens[i] >= 0 && tokens[i] < vocab_size, err, TRI_INVALID,
                  "token %" PRId64 " of document %" PRId64 " has the id %" PRId32
                  "; ids of this vocabulary are 0 to %" PRId64,
                  i, document, tokens[i], vocab_size - 1);
    return TRI_OK;
}

static tri_status tokens_add(tri_indexed_writer *writer, int64_t vocab_size, const int32_t *tokens,
                             const int64_t *lengths, int64_t num_documents, tri_error *err)
{
    for (int64_t d = 0; d < num_documents; tokens += lengths[d++]) {
        TRI_TRY(tokens_check(vocab_size, tokens, lengths[d], d, err));
        TRI_TRY(tri_indexed_writer_add_sequence(writer, tokens, lengths[d], err));
        TRI_TRY(tri_indexed_writer_end_document(writer, err));
    }
    return tri_indexed_writer_end(writer, err);
}

tri_status tri_tokens_write(const char *prefix, int64_t vocab_size, const int32_t *tokens,
                            const int64_t *lengths, int64_t num_documents, tri_error *err)
{
    tri_indexed_writer *writer = NULL;
    TRI_TRY(tri_indexed_writer_create(prefix, tri_indexed_writer_type(vocab_size), &writer, err));
    tri_status status = tokens_add(writer, vocab_size, tokens, lengths, num_documents, err);
    tri_indexed_writer_destroy(&writer);
    return status;
}
