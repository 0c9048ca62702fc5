/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UTF-8 and the few facts about Unicode that tokenizers depend on. Reference tokenizers use the
 * classes of Unicode 16; the installed PCRE2 and utf8proc may be older, so what Unicode 15 and 16
 * added is in a table here (adding it to a newer library changes nothing).
 */
#pragma once

#include "data/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bits of a set of general categories. */
enum {
    TRI_UNICODE_LU = 1,
    TRI_UNICODE_LL = 2,
    TRI_UNICODE_LT = 4,
    TRI_UNICODE_LM = 8,
    TRI_UNICODE_LO = 16,
    TRI_UNICODE_L = 31,
    TRI_UNICODE_M = 32,
    TRI_UNICODE_N = 64,
    TRI_UNICODE_P = 128,
    TRI_UNICODE_S = 256
};

struct tri_unicode_range {
    uint32_t first, last;
    int categories;
};

/* Ranges assigned since Unicode 14, ended by a row of zeros. */
extern const struct tri_unicode_range tri_unicode_newer[];
/* Code points that the tokenizers library's NFC, of Unicode 9, leaves where they are. */
extern const struct tri_unicode_range tri_unicode_nfc_inert[];

/* Reads one code point of text[0, bytes), bytes > 0. Returns its length, or minus the length of the
   longest prefix that could have begun a character (at least 1) when the text is broken here. */
int tri_utf8_decode(const char *text, size_t bytes, uint32_t *code_point);
/* Writes code_point to text (room for 4) and returns its length. */
int tri_utf8_encode(uint32_t code_point, char *text);
/* Offset of the first broken byte, or bytes when all is well. */
size_t tri_utf8_check(const char *text, size_t bytes);
/* Appends text with each broken part replaced by U+FFFD, as Python's errors="replace" does. */
tri_status tri_utf8_replace(const char *text, size_t bytes, struct tri_bytes *out, tri_error *err);

/* Unicode's White_Space. */
bool tri_unicode_is_space(uint32_t code_point);
/* A word character as the Rust regex crate has it: letters, marks, decimal digits, connectors,
   letter-like numbers and symbols, ZWJ and ZWNJ. */
bool tri_unicode_is_word(uint32_t code_point);

/* Appends text (valid UTF-8) in normal form C as the tokenizers library computes it. */
tri_status tri_unicode_nfc(const char *text, size_t bytes, struct tri_bytes *out, tri_error *err);
