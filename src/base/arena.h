/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bump allocator for describing and planning: names, trees, row lists. It grows by blocks, frees
 * everything at once, and is never used for tensors (those live in the arenas of the plan).
 */
#pragma once

#include <stddef.h>

typedef struct tri_arena tri_arena;

/* NULL when out of memory. */
tri_arena *tri_arena_create(void);
void tri_arena_destroy(tri_arena **arena);
/* Zeroed memory aligned for any type; NULL when out of memory. */
void *tri_arena_alloc(tri_arena *arena, size_t bytes);
/* A copy of text in the arena; printf-like. NULL when out of memory. */
char *tri_arena_format(tri_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
