/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of one size that are taken and given back again and again: requests and operations under
 * way. The pool grows by blocks and never shrinks, so that a steady state allocates nothing; the
 * object given back last is taken first, so that a repeated pattern meets the same objects. An
 * object starts with a struct tri_pool_node, is zero when it is new and keeps its content (what it
 * allocated, for example) while it lies in the pool. Not safe between threads.
 */
#pragma once

#include <stddef.h>

struct tri_pool_node {
    struct tri_pool_node *next;
};

struct tri_pool {
    size_t object_bytes;
    struct tri_pool_node *unused;
    struct tri_pool_block *blocks;
};

void tri_pool_init(struct tri_pool *pool, size_t object_bytes);
/* Calls release (may be NULL) on every object, taken or not, and frees them all. */
void tri_pool_fini(struct tri_pool *pool, void (*release)(void *object));
/* NULL when out of memory. */
void *tri_pool_take(struct tri_pool *pool);
void tri_pool_give(struct tri_pool *pool, void *object);
