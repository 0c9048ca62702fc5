/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes to printable characters and back (byte_map.h). */
#include "data/byte_map.h"
#include "data/unicode.h"

static bool byte_map_is_direct(unsigned byte)
{
    return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

/* The others, in increasing order: 0x00 to 0x20, 0x7f to 0xa0, 0xad. */
uint32_t tri_byte_map_char(unsigned char byte)
{
    if (byte_map_is_direct(byte))
        return byte;
    if (byte <= 0x20)
        return 0x100u + byte;
    return byte == 0xad ? 0x143 : 0x121u + (byte - 0x7fu);
}

int tri_byte_map_byte(uint32_t c)
{
    if (c < 0x100)
        return byte_map_is_direct(c) ? (int)c : -1;
    if (c <= 0x120)
        return (int)(c - 0x100);
    if (c <= 0x142)
        return (int)(c - 0x121 + 0x7f);
    return c == 0x143 ? 0xad : -1;
}

unsigned char tri_byte_map_sorted(int index)
{
    int direct = index;
    for (int byte = 0; byte < 256; byte++) {
        if (byte_map_is_direct((unsigned)byte) && direct-- == 0)
            return (unsigned char)byte;
    }
    return (unsigned char)tri_byte_map_byte(0x100u + (uint32_t)(index - 188));
}

tri_status tri_byte_map_write(const char *bytes, size_t num, struct tri_bytes *out, tri_error *err)
{
    for (size_t i = 0; i < num; i++) {
        char text[4];
        int length = tri_utf8_encode(tri_byte_map_char((unsigned char)bytes[i]), text);
        TRI_TRY(tri_bytes_append(out, text, (size_t)length, err));
    }
    return TRI_OK;
}

tri_status tri_byte_map_read(const char *text, size_t num, struct tri_bytes *out, bool *is_mapped,
                             tri_error *err)
{
    size_t start = out->num;
    bool mapped = true;
    for (size_t i = 0; i < num && mapped;) {
        uint32_t c = 0;
        int length = tri_utf8_decode(text + i, num - i, &c);
        int byte = length > 0 ? tri_byte_map_byte(c) : -1;
        mapped = byte >= 0;
        if (mapped)
            TRI_TRY(tri_bytes_append_byte(out, (char)byte, err));
        i += length > 0 ? (size_t)length : 1;
    }
    if (is_mapped)
        *is_mapped = mapped;
    if (mapped)
        return TRI_OK;
    out->num = start;
    return tri_bytes_append(out, text, num, err);
}
