/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPT-2's map between bytes and printable characters, in which vocabularies of byte-level
 * tokenizers are written: printable Latin-1 bytes stand for themselves, the other 68 for U+0100 and
 * up.
 */
#pragma once

#include "data/buffer.h"

#include <stdbool.h>
#include <stdint.h>

uint32_t tri_byte_map_char(unsigned char byte);
/* The byte a character stands for, -1 if it stands for none. */
int tri_byte_map_byte(uint32_t code_point);
/* The byte at place index (0 to 255) when mapped characters are sorted by code point. */
unsigned char tri_byte_map_sorted(int index);

/* Appends the mapped characters of bytes as UTF-8. */
tri_status tri_byte_map_write(const char *bytes, size_t num, struct tri_bytes *out, tri_error *err);
/* Appends the bytes that text stands for; if any character stands for none, text itself, which is
   what the tokenizers library decodes such a token to. is_mapped may be NULL. */
tri_status tri_byte_map_read(const char *text, size_t num, struct tri_bytes *out, bool *is_mapped,
                             tri_error *err);
