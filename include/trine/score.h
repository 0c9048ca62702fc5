/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log-probabilities of given tokens: what preference and reinforcement learning, reranking and
 * evaluation harnesses ask of a model. A scorer works on a session (forward_only is enough) on any
 * grid; the model is not changed, dropout is off, and the logits stay cut over tp. The entropy of the
 * distribution that each token is scored by comes with it where it is asked for, and costs nothing
 * where it is not: it takes no second pass over the logits. Any number of
 * sequences of differing lengths goes through in one call; its memory is that of the session's
 * global batch, made once, and a call allocates nothing.
 *
 * Values are natural logarithms in fp32. The bits of a sequence's values do not depend on how many
 * sequences the call has, on what the others are, on pp, dp or the global batch. With a
 * micro_batch_size of 1 they depend on the sequence alone, and it costs its own length; with
 * more, each sequence costs seq_length, and its number modulo micro_batch_size and seq_length may
 * move the last bits. Every grid with tp is in the band of rounding.
 * A model with dynamic rotary scaling turns each sequence by its own length, the positions that it takes; where the
 * session has more of them than the model knows, each is run alone, whatever micro_batch_size says.
 * With pp above 1 a global batch of several microbatches keeps the stages busy.
 */
#pragma once

#include "trine/session.h"

typedef struct tri_scorer tri_scorer;

/* Equal on every rank, which is checked. */
struct tri_score_request {
    int64_t num_sequences;
    const int64_t *lengths; /* [num_sequences] tokens of each, 1 or more */
    const int32_t *tokens;  /* of all sequences, one behind the other, without padding */
    /* NULL, or one id per token: what is scored as following it. A negative one (-100) is not
       wanted. */
    const int32_t *targets;
    const int64_t *prompt_lengths; /* [num_sequences], or NULL: so many first values not wanted */
    const uint8_t *mask;           /* one per token, or NULL: 0 where the value is not wanted */
};

/*
 * Where the results go; each may be NULL, on some ranks or on all. Without targets, logprobs[t] is
 * ln p(tokens[t] | the tokens of its sequence before it), and a sequence's first token, which
 * nothing predicts, has none. With targets, logprobs[t] is ln p(targets[t] | the tokens up to t, t
 * included). entropies[t] is that of the distribution behind logprobs[t], -sum of p ln p over the
 * vocabulary. What is not there or not wanted is 0 and does not count.
 */
struct tri_scores {
    float *logprobs;  /* one per token, in the order of tokens */
    double *sums;     /* [num_sequences] of the wanted values, added up in fp64 in their order */
    int64_t *counts;  /* [num_sequences] of wanted values */
    float *entropies; /* one per token, as logprobs; natural logarithms */
};

/* Makes room for a global batch. Local. */
tri_status tri_scorer_create(struct tri_session *session, tri_scorer **scorer);
void tri_scorer_destroy(tri_scorer **scorer);

/*
 * Scores every sequence; each rank that asks gets all results. A sequence needs a position for each
 * token but the last, which is no input (with targets: for each token). A wrong request is refused
 * before anything runs, with its problems in rank 0's record, the first 20 and how many more; the
 * others return TRI_PEER. Then the scorer goes on as before, once the record is cleared. Collective
 * over the world.
 */
tri_status tri_scorer_run(tri_scorer *scorer, const struct tri_score_request *request,
                          const struct tri_scores *scores);
