/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8, white space, word characters and NFC (unicode.h). */
#include "data/unicode.h"

#include <stdlib.h>
#include <utf8proc.h>

int tri_utf8_decode(const char *text, size_t bytes, uint32_t *code_point)
{
    const unsigned char *at = (const unsigned char *)text;
    unsigned lead = at[0], low = 0x80, high = 0xbf;
    if (lead < 0x80) {
        *code_point = lead;
        return 1;
    }
    if (lead < 0xc2 || lead > 0xf4)
        return -1;
    int length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (lead == 0xe0)
        low = 0xa0; /* shorter forms exist */
    else if (lead == 0xf0)
        low = 0x90;
    else if (lead == 0xed)
        high = 0x9f; /* surrogates */
    else if (lead == 0xf4)
        high = 0x8f; /* above U+10FFFF */
    uint32_t value = lead & (0x7fu >> length);
    for (int i = 1; i < length; i++) {
        if ((size_t)i >= bytes || at[i] < low || at[i] > high)
            return -i;
        value = value << 6 | (at[i] & 0x3fu);
        low = 0x80;
        high = 0xbf;
    }
    *code_point = value;
    return length;
}

int tri_utf8_encode(uint32_t c, char *text)
{
    if (c < 0x80) {
        text[0] = (char)c;
        return 1;
    }
    int length = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (int i = length - 1; i > 0; i--, c >>= 6)
        text[i] = (char)(0x80 | (c & 0x3f));
    text[0] = (char)((0xf00 >> length & 0xff) | c);
    return length;
}

size_t tri_utf8_check(const char *text, size_t bytes)
{
    uint32_t code_point;
    size_t i = 0;
    while (i < bytes) {
        if (!(text[i] & 0x80)) {
            i++;
            continue;
        }
        int length = tri_utf8_decode(text + i, bytes - i, &code_point);
        if (length < 0)
            return i;
        i += (size_t)length;
    }
    return bytes;
}

tri_status tri_utf8_replace(const char *text, size_t bytes, struct tri_bytes *out, tri_error *err)
{
    uint32_t code_point;
    for (size_t i = 0; i < bytes;) {
        size_t good = tri_utf8_check(text + i, bytes - i);
        TRI_TRY(tri_bytes_append(out, text + i, good, err));
        i += good;
        if (i == bytes)
            break;
        TRI_TRY(tri_bytes_append(out, "\xef\xbf\xbd", 3, err));
        i += (size_t)-tri_utf8_decode(text + i, bytes - i, &code_point);
    }
    return TRI_OK;
}

bool tri_unicode_is_space(uint32_t c)
{
    return (c >= 9 && c <= 13) || c == 32 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000;
}

static bool unicode_in(const struct tri_unicode_range *ranges, uint32_t c, int categories)
{
    for (; ranges->last; ranges++) {
        if (c >= ranges->first && c <= ranges->last)
            return !categories || (ranges->categories & categories);
    }
    return false;
}

bool tri_unicode_is_word(uint32_t c)
{
    if (c < 0x80)
        return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
    if (c == 0x200c || c == 0x200d)
        return true;
    /* Symbols with the Alphabetic property: circled and squared letters. */
    if ((c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) ||
        (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189))
        return true;
    int category = utf8proc_category((utf8proc_int32_t)c);
    bool is_word = (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NL) ||
                   category == UTF8PROC_CATEGORY_PC;
    return is_word || unicode_in(tri_unicode_newer, c, TRI_UNICODE_L | TRI_UNICODE_M);
}

static tri_status unicode_nfc_part(const char *text, size_t bytes, struct tri_bytes *out,
                                   tri_error *err)
{
    utf8proc_uint8_t *composed = NULL;
    utf8proc_ssize_t length = utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)bytes,
                                           &composed, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    TRI_CHECK(length >= 0, err, TRI_NOMEM, "cannot normalise %zu bytes of text: %s", bytes,
              utf8proc_errmsg(length));
    tri_status status = tri_bytes_append(out, composed, (size_t)length, err);
    free(composed);
    return status;
}

/* An inert code point has combining class 0 and composes with nothing, so the text on its two sides
   is normalised apart. */
tri_status tri_unicode_nfc(const char *text, size_t bytes, struct tri_bytes *out, tri_error *err)
{
    size_t start = 0;
    for (size_t i = 0; i < bytes;) {
        uint32_t c;
        int length = tri_utf8_decode(text + i, bytes - i, &c);
        TRI_ASSERT(length > 0);
        if (c >= 0x80 && unicode_in(tri_unicode_nfc_inert, c, 0)) {
            TRI_TRY(unicode_nfc_part(text + start, i - start, out, err));
            TRI_TRY(tri_bytes_append(out, text + i, (size_t)length, err));
            start = i + (size_t)length;
        }
        i += (size_t)length;
    }
    return unicode_nfc_part(text + start, bytes - start, out, err);
}
