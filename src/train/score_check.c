/* SPDX-License-Identifier: Apache-2.0 */
/* Checking a request to score. */
#include "train/score_check.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum { MAX_LISTED = 20 };

/* Problems found so far; the first are listed. */
struct findings {
    tri_error *err; /* NULL on ranks that leave the word to another */
    int64_t num;
};

static void note(struct findings *findings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void note(struct findings *findings, const char *format, ...)
{
    char text[512];
    va_list args;
    if (findings->num++ >= MAX_LISTED || !findings->err)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tri_error_add(findings->err, TRI_INVALID, "%s", text);
}

static void check_length(struct findings *findings, const struct tri_session *session,
                         const struct tri_score_request *request, int64_t n)
{
    const struct tri_gpt_config *shape = &session->config.shape;
    bool is_dynamic = !isnan(shape->transformer.attention.rope_dynamic_factor);
    int64_t length = request->lengths[n];
    if (length < 1) {
        note(findings, "sequence %" PRId64 " has %" PRId64 " tokens; give 1 or more", n, length);
        return;
    }
    int64_t needed = tri_score_positions(request, n);
    if (needed > shape->seq_length && needed > shape->max_position_embeddings && !is_dynamic)
        note(findings,
             "sequence %" PRId64 " has %" PRId64 " tokens, which take %" PRId64
             " positions; the model knows %" PRId64 ", so shorten it",
             n, length, needed, shape->max_position_embeddings);
    else if (needed > shape->seq_length)
        note(findings,
             "sequence %" PRId64 " has %" PRId64 " tokens, which take %" PRId64
             " positions; make the session with --seq-length %" PRId64 " instead of %" PRId64
             ", or shorten it",
             n, length, needed, needed, shape->seq_length);
    if (request->prompt_lengths &&
        (request->prompt_lengths[n] < 0 || request->prompt_lengths[n] > length))
        note(findings,
             "sequence %" PRId64 " has a prompt of %" PRId64 " tokens and %" PRId64
             " in all; use 0 to %" PRId64,
             n, request->prompt_lengths[n], length, length);
}

/* The first id of a sequence that the vocabulary does not have. */
static void check_ids(struct findings *findings, const struct tri_session *session,
                      const char *what, const int32_t *ids, int32_t least, int64_t length,
                      int64_t n)
{
    int64_t size = session->config.shape.vocab_size;
    for (int64_t i = 0; i < length; i++)
        if (ids[i] < least || ids[i] >= size) {
            note(findings,
                 "sequence %" PRId64 ", position %" PRId64 ": %s %" PRId32
                 " is outside the vocabulary; use 0 to %" PRId64,
                 n, i, what, ids[i], size - 1);
            return;
        }
}

static void check_sequences(struct findings *findings, const struct tri_session *session,
                            const struct tri_score_request *request)
{
    int64_t start = 0;
    for (int64_t n = 0; n < request->num_sequences; n++) {
        int64_t length = request->lengths[n];
        check_length(findings, session, request, n);
        if (length < 0 || length > INT32_MAX) /* where the next one begins is unknown */
            return;
        check_ids(findings, session, "token", request->tokens + start, 0, length, n);
        if (request->targets)
            check_ids(findings, session, "target", request->targets + start, INT32_MIN, length, n);
        start += length;
    }
}

static void check_request(struct findings *findings, const struct tri_session *session,
                          const struct tri_score_request *request)
{
    if (request->num_sequences < 0)
        note(findings, "%" PRId64 " sequences; use 0 or more", request->num_sequences);
    else if (request->num_sequences > 0 && (!request->lengths || !request->tokens))
        note(findings, "%" PRId64 " sequences without %s", request->num_sequences,
             request->lengths ? "tokens" : "lengths");
    else
        check_sequences(findings, session, request);
    if (findings->err && findings->num > MAX_LISTED)
        tri_error_add(findings->err, TRI_INVALID, "%" PRId64 " more problems of this request",
                      findings->num - MAX_LISTED);
}

/* FNV-1a over bytes; a missing array counts as one byte. */
static uint64_t add_bytes(uint64_t hash, const void *data, int64_t num)
{
    const unsigned char *bytes = data;
    for (int64_t i = 0; bytes && i < num; i++)
        hash = (hash ^ bytes[i]) * 1099511628211u;
    return (hash ^ (bytes != NULL)) * 1099511628211u;
}

static int64_t hash_request(const struct tri_score_request *request, bool is_right)
{
    int64_t num = request->num_sequences, total = 0;
    uint64_t hash = add_bytes(14695981039346656037u, &num, sizeof num);
    if (!is_right)
        return (int64_t)hash;
    for (int64_t n = 0; n < num; n++)
        total += request->lengths[n];
    hash = add_bytes(hash, request->lengths, num * (int64_t)sizeof(int64_t));
    hash = add_bytes(hash, request->prompt_lengths, num * (int64_t)sizeof(int64_t));
    hash = add_bytes(hash, request->tokens, total * (int64_t)sizeof(int32_t));
    hash = add_bytes(hash, request->targets, total * (int64_t)sizeof(int32_t));
    return (int64_t)add_bytes(hash, request->mask, total);
}

tri_status tri_score_check(const struct tri_session *session,
                           const struct tri_score_request *request, bool *entropies)
{
    int rank = session->world->rank;
    struct findings findings = {.err = rank == 0 ? session->err : NULL};
    check_request(&findings, session, request);
    int64_t hash = hash_request(request, findings.num == 0);
    int64_t bounds[3] = {hash, ~hash, *entropies};
    TRI_TRY(tri_group_all_reduce(session->context->all, bounds, 3, TRI_DTYPE_I64, TRI_REDUCE_MAX));
    TRI_CHECK(bounds[0] == ~bounds[1], session->err, TRI_INVALID,
              "rank %d was given other sequences to score than other ranks; give all the same",
              rank);
    *entropies = bounds[2] != 0;
    if (findings.num == 0)
        return TRI_OK;
    return rank == 0
               ? TRI_INVALID
               : tri_error_set(session->err, TRI_PEER, "the request was refused; rank 0 says why");
}
