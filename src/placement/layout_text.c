/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layout strings in Megatron-LM's grammar: E the embedding, t a layer, L the head, | a slice
 * border; commas mean nothing, "x*N" repeats one character and "(...)*N" a text, in one pass each
 * and without nesting. The other form is a list of layer counts: "3,4".
 */
#include "placement/layout.h"

#include <stdlib.h>
#include <string.h>

#define LAYOUT_MAX_TEXT 65536

/* A text that grows up to LAYOUT_MAX_TEXT. */
struct layout_text {
    char *at; /* [LAYOUT_MAX_TEXT + 1] */
    size_t size;
};

static tri_status layout_text_append(struct layout_text *text, const char *from, size_t size,
                                     int64_t times, tri_error *err)
{
    if (size > 0 && times > (int64_t)((LAYOUT_MAX_TEXT - text->size) / size))
        return tri_error_add(err, TRI_INVALID,
                             "'pipeline_model_parallel_layout' is longer than %d characters when "
                             "written out; use smaller repetitions",
                             LAYOUT_MAX_TEXT);
    for (int64_t i = 0; i < times; i++) {
        memcpy(text->at + text->size, from, size);
        text->size += size;
    }
    text->at[text->size] = '\0';
    return TRI_OK;
}

/* The number behind a '*' at *from, which moves behind it; -1 if there is none. */
static int64_t layout_repetition(const char **from)
{
    const char *p = *from;
    int64_t number = 0;
    if (*p++ != '*' || *p < '0' || *p > '9')
        return -1;
    for (; *p >= '0' && *p <= '9'; p++)
        if (number <= LAYOUT_MAX_TEXT)
            number = 10 * number + (*p - '0');
    *from = p;
    return number;
}

/* Replaces every "(text)*N"; other brackets survive and are found later. */
static tri_status layout_expand_brackets(const char *from, struct layout_text *to, tri_error *err)
{
    while (*from) {
        const char *close = *from == '(' ? strchr(from, ')') : NULL;
        const char *rest = close ? close + 1 : from;
        int64_t times = close ? layout_repetition(&rest) : -1;
        if (times >= 0) {
            TRI_TRY(layout_text_append(to, from + 1, (size_t)(close - from - 1), times, err));
            from = rest;
        } else {
            TRI_TRY(layout_text_append(to, from++, 1, 1, err));
        }
    }
    return TRI_OK;
}

static tri_status layout_expand_characters(const char *from, struct layout_text *to, tri_error *err)
{
    while (*from) {
        const char *rest = from + 1;
        int64_t times = layout_repetition(&rest);
        TRI_TRY(layout_text_append(to, from, 1, times >= 0 ? times : 1, err));
        from = times >= 0 ? rest : from + 1;
    }
    return TRI_OK;
}

static tri_status layout_text_init(struct layout_text *text, tri_arena *arena, tri_error *err)
{
    *text = (struct layout_text){.at = tri_arena_alloc(arena, LAYOUT_MAX_TEXT + 1)};
    return text->at ? TRI_OK
                    : tri_error_set(err, TRI_NOMEM, "out of memory while reading a layout");
}

/* Writes the string out until only E, t, L and | should be left. */
static tri_status layout_write_out(const char *string, tri_arena *arena, tri_error *err,
                                   const char **written)
{
    struct layout_text bare, flat, full;
    TRI_TRY(layout_text_init(&bare, arena, err));
    TRI_TRY(layout_text_init(&flat, arena, err));
    TRI_TRY(layout_text_init(&full, arena, err));
    for (const char *c = string; *c; c++)
        if (*c != ',')
            TRI_TRY(layout_text_append(&bare, c, 1, 1, err));
    TRI_TRY(layout_expand_brackets(bare.at, &flat, err));
    TRI_TRY(layout_expand_characters(flat.at, &full, err));
    *written = full.at;
    return TRI_OK;
}

static tri_status layout_check_character(char c, const char *string, tri_error *err)
{
    if (c == 'm')
        return tri_error_add(err, TRI_UNSUPPORTED,
                             "'pipeline_model_parallel_layout' %s has a prediction layer 'm', and "
                             "the model has none; use E, t, L and | alone",
                             string);
    return tri_error_add(
        err, TRI_INVALID,
        "'pipeline_model_parallel_layout' %s has a '%c' when written out; use E, t, "
        "L and |, with x*N and (...)*N not nested",
        string, c);
}

static tri_status layout_read_string(const char *string, tri_arena *arena, tri_error *err, int *num,
                                     int64_t *counts)
{
    const char *text;
    TRI_TRY(layout_write_out(string, arena, err, &text));
    int num_embeddings = 0, num_heads = 0, n = 0;
    for (const char *c = text; *c; c++) {
        if (*c == 't')
            counts[n]++;
        else if (*c == '|')
            n++;
        else if (*c == 'E')
            num_embeddings++;
        else if (*c == 'L')
            num_heads++;
        else
            return layout_check_character(*c, string, err);
    }
    *num = n + 1;
    size_t size = strlen(text);
    if (num_embeddings != 1 || num_heads != 1 || text[0] != 'E' || text[size - 1] != 'L')
        return tri_error_add(err, TRI_INVALID,
                             "'pipeline_model_parallel_layout' %s has %d E and %d L; exactly one E "
                             "must come first and exactly one L last",
                             string, num_embeddings, num_heads);
    return TRI_OK;
}

static tri_status layout_read_counts(const char *text, tri_error *err, int *num, int64_t *counts)
{
    const char *at = text;
    for (*num = 0;; at++) {
        char *end;
        counts[*num] = strtoll(at, &end, 10);
        if (end == at || counts[*num] > LAYOUT_MAX_TEXT || (*end && *end != ','))
            return tri_error_add(err, TRI_INVALID,
                                 "'pipeline_model_parallel_layout' %s is no list of layer counts "
                                 "like '3,4'",
                                 text);
        (*num)++;
        at = end;
        if (!*at)
            return TRI_OK;
    }
}

tri_status tri_layout_read(const char *text, int64_t num_layers, tri_arena *arena, tri_error *err,
                           int *num, int64_t **counts)
{
    int64_t *found = tri_arena_alloc(arena, (LAYOUT_MAX_TEXT + 1) * sizeof(*found));
    TRI_CHECK(found, err, TRI_NOMEM, "out of memory while reading a layout");
    bool is_counts = strspn(text, "0123456789, ") == strlen(text);
    TRI_TRY(is_counts ? layout_read_counts(text, err, num, found)
                      : layout_read_string(text, arena, err, num, found));
    int64_t total = 0;
    for (int i = 0; i < *num; i++)
        total += found[i];
    *counts = found;
    if (total == num_layers)
        return TRI_OK;
    return tri_error_add(err, TRI_INVALID,
                         "'pipeline_model_parallel_layout' %s places %lld layers, and 'num_layers' "
                         "is %lld; place every layer once",
                         text, (long long)total, (long long)num_layers);
}
