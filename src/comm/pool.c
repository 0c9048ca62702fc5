/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of comm/pool.h. */
#include "comm/pool.h"

#include <stdalign.h>
#include <stdlib.h>

#define OBJECTS_PER_BLOCK 32

struct tri_pool_block {
    struct tri_pool_block *next;
    alignas(max_align_t) unsigned char objects[];
};

void tri_pool_init(struct tri_pool *pool, size_t object_bytes)
{
    size_t align = alignof(max_align_t);
    *pool = (struct tri_pool){.object_bytes = (object_bytes + align - 1) / align * align};
}

void tri_pool_fini(struct tri_pool *pool, void (*release)(void *object))
{
    while (pool->blocks) {
        struct tri_pool_block *block = pool->blocks;
        pool->blocks = block->next;
        for (size_t i = 0; release && i < OBJECTS_PER_BLOCK; i++)
            release(block->objects + i * pool->object_bytes);
        free(block);
    }
    pool->unused = NULL;
}

static struct tri_pool_block *pool_grow(struct tri_pool *pool)
{
    struct tri_pool_block *block =
        calloc(1, sizeof *block + OBJECTS_PER_BLOCK * pool->object_bytes);
    if (!block)
        return NULL;
    block->next = pool->blocks;
    pool->blocks = block;
    for (size_t i = OBJECTS_PER_BLOCK; i-- > 0;)
        tri_pool_give(pool, block->objects + i * pool->object_bytes);
    return block;
}

void *tri_pool_take(struct tri_pool *pool)
{
    if (!pool->unused && !pool_grow(pool))
        return NULL;
    struct tri_pool_node *node = pool->unused;
    pool->unused = node->next;
    node->next = NULL;
    return node;
}

void tri_pool_give(struct tri_pool *pool, void *object)
{
    struct tri_pool_node *node = object;
    node->next = pool->unused;
    pool->unused = node;
}
