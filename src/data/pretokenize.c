/* SPDX-License-Identifier: Apache-2.0 */
/* Splitting text with PCRE2 (pretokenize.h). */
#include "data/pretokenize.h"
#include "data/regex_text.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

enum {
    PRETOKENIZER_MAX_SPLITS = 16,
    JIT_STACK_START = 32 * 1024,
    JIT_STACK_MAX = 16 * 1024 * 1024
};

const char tri_pretokenizer_gpt2_pattern[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

struct text_split {
    pcre2_code *code;
    pcre2_match_data *match;
    enum tri_split_behavior behavior;
};

struct tri_pretokenizer {
    struct text_split splits[PRETOKENIZER_MAX_SPLITS];
    int num_splits;
    pcre2_match_context *context;
    pcre2_jit_stack *jit_stack;
};

/* What one call of tri_pretokenizer_split carries through its levels. */
struct split_walk {
    const tri_pretokenizer *pretokenizer;
    tri_piece_function take;
    void *context;
    tri_error *err;
};

tri_status tri_pretokenizer_create(tri_pretokenizer **pretokenizer, tri_error *err)
{
    tri_pretokenizer *result = calloc(1, sizeof(*result));
    TRI_CHECK(result, err, TRI_NOMEM, "out of memory for the pre-tokenizer");
    result->context = pcre2_match_context_create(NULL);
    result->jit_stack = pcre2_jit_stack_create(JIT_STACK_START, JIT_STACK_MAX, NULL);
    if (!result->context || !result->jit_stack) {
        tri_pretokenizer_destroy(&result);
        return tri_error_set(err, TRI_NOMEM, "out of memory for the pre-tokenizer");
    }
    pcre2_jit_stack_assign(result->context, NULL, result->jit_stack);
    *pretokenizer = result;
    return TRI_OK;
}

void tri_pretokenizer_destroy(tri_pretokenizer **pretokenizer)
{
    if (!*pretokenizer)
        return;
    for (int i = 0; i < (*pretokenizer)->num_splits; i++) {
        pcre2_match_data_free((*pretokenizer)->splits[i].match);
        pcre2_code_free((*pretokenizer)->splits[i].code);
    }
    pcre2_match_context_free((*pretokenizer)->context);
    pcre2_jit_stack_free((*pretokenizer)->jit_stack);
    free(*pretokenizer);
    *pretokenizer = NULL;
}

static tri_status text_split_init(struct text_split *split, const char *pattern, tri_error *err)
{
    struct tri_bytes converted = {0};
    int error = 0;
    size_t offset = 0;
    tri_status status = tri_regex_text_convert(pattern, &converted, err);
    if (status == TRI_OK) {
        split->code = pcre2_compile((PCRE2_SPTR)converted.data, converted.num,
                                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error, &offset, NULL);
        if (!split->code) {
            PCRE2_UCHAR message[128] = "";
            pcre2_get_error_message(error, message, sizeof(message));
            status = tri_error_set(err, TRI_INVALID, "regular expression '%s': %s", pattern,
                                   (const char *)message);
        }
    }
    tri_bytes_fini(&converted);
    if (status != TRI_OK)
        return status;
    /* Without JIT on this machine the interpreter does the same work more slowly. */
    pcre2_jit_compile(split->code, PCRE2_JIT_COMPLETE);
    split->match = pcre2_match_data_create(1, NULL);
    if (!split->match) {
        pcre2_code_free(split->code);
        return tri_error_set(err, TRI_NOMEM, "out of memory for a regular expression");
    }
    return TRI_OK;
}

tri_status tri_pretokenizer_add(tri_pretokenizer *pretokenizer, const char *pattern,
                                enum tri_split_behavior behavior, tri_error *err)
{
    TRI_CHECK(pretokenizer->num_splits < PRETOKENIZER_MAX_SPLITS, err, TRI_UNSUPPORTED,
              "the pre-tokenizer has more than %d splits", PRETOKENIZER_MAX_SPLITS);
    struct text_split *split = &pretokenizer->splits[pretokenizer->num_splits];
    *split = (struct text_split){.behavior = behavior};
    TRI_TRY(text_split_init(split, pattern, err));
    pretokenizer->num_splits++;
    return TRI_OK;
}

static tri_status split_walk_from(const struct split_walk *walk, int level, const char *text,
                                  size_t bytes);

static tri_status split_walk_piece(const struct split_walk *walk, int level, const char *piece,
                                   size_t bytes)
{
    if (bytes == 0)
        return TRI_OK;
    if (level + 1 < walk->pretokenizer->num_splits)
        return split_walk_from(walk, level + 1, piece, bytes);
    return walk->take(walk->context, piece, bytes, walk->err);
}

/* The next match that is not empty at or after start; begin and end stay as they are without
   one. */
static tri_status split_walk_match(const struct split_walk *walk, const struct text_split *split,
                                   const char *text, size_t bytes, size_t start, size_t *begin,
                                   size_t *end)
{
    int count =
        pcre2_match(split->code, (PCRE2_SPTR)text, bytes, start,
                    PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, split->match, walk->pretokenizer->context);
    if (count == PCRE2_ERROR_NOMATCH)
        return TRI_OK;
    if (count < 0) {
        PCRE2_UCHAR message[128] = "";
        pcre2_get_error_message(count, message, sizeof(message));
        return tri_error_set(walk->err, TRI_INVALID,
                             "cannot split a text of %zu bytes at byte %zu: %s", bytes, start,
                             (const char *)message);
    }
    const PCRE2_SIZE *range = pcre2_get_ovector_pointer(split->match);
    *begin = range[0];
    *end = range[1];
    return TRI_OK;
}

static tri_status split_walk_from(const struct split_walk *walk, int level, const char *text,
                                  size_t bytes)
{
    const struct text_split *split = &walk->pretokenizer->splits[level];
    for (size_t start = 0; start < bytes;) {
        size_t begin = bytes, end = bytes;
        TRI_TRY(split_walk_match(walk, split, text, bytes, start, &begin, &end));
        if (split->behavior != TRI_SPLIT_KEEP_MATCHES)
            TRI_TRY(split_walk_piece(walk, level, text + start, begin - start));
        if (split->behavior != TRI_SPLIT_REMOVE_MATCHES)
            TRI_TRY(split_walk_piece(walk, level, text + begin, end - begin));
        start = end;
    }
    return TRI_OK;
}

tri_status tri_pretokenizer_split(tri_pretokenizer *pretokenizer, const char *text, size_t bytes,
                                  tri_piece_function take, void *context, tri_error *err)
{
    struct split_walk walk = {
        .pretokenizer = pretokenizer, .take = take, .context = context, .err = err};
    if (pretokenizer->num_splits == 0)
        return bytes ? take(context, text, bytes, err) : TRI_OK;
    return split_walk_from(&walk, 0, text, bytes);
}
