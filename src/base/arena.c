/* SPDX-License-Identifier: Apache-2.0 */
/* The bump allocator: a list of blocks, the newest first; a large request gets its own block. */
#include "base/arena.h"

#include "base/check.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define ARENA_BLOCK_BYTES 65536
#define ARENA_MAX_BYTES   ((size_t)1 << 36) /* more is a mistake in a size */

struct arena_block {
    struct arena_block *next;
    size_t used, room; /* bytes of data */
    alignas(max_align_t) unsigned char data[];
};

struct tri_arena {
    struct arena_block *blocks;
};

tri_arena *tri_arena_create(void)
{
    return calloc(1, sizeof(tri_arena));
}

void tri_arena_destroy(tri_arena **arena)
{
    if (!*arena)
        return;
    for (struct arena_block *block = (*arena)->blocks; block;) {
        struct arena_block *next = block->next;
        free(block);
        block = next;
    }
    free(*arena);
    *arena = NULL;
}

void *tri_arena_alloc(tri_arena *arena, size_t bytes)
{
    if (bytes > ARENA_MAX_BYTES)
        return NULL;
    size_t align = alignof(max_align_t);
    size_t rounded = (bytes + align - 1) / align * align;
    if (rounded == 0)
        rounded = align; /* so that two requests never share an address */
    struct arena_block *block = arena->blocks;
    if (!block || block->room - block->used < rounded) {
        size_t room = rounded > ARENA_BLOCK_BYTES ? rounded : ARENA_BLOCK_BYTES;
        block = calloc(1, sizeof(*block) + room);
        if (!block)
            return NULL;
        block->room = room;
        block->next = arena->blocks;
        arena->blocks = block;
    }
    void *address = block->data + block->used;
    block->used += rounded;
    return address;
}

char *tri_arena_format(tri_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    TRI_ASSERT(length >= 0);
    char *text = tri_arena_alloc(arena, (size_t)length + 1);
    if (!text)
        return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}
