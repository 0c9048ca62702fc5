/* SPDX-License-Identifier: Apache-2.0 */
/* The bump allocator: alignment, zeroes, large requests, formatted texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"

#include <string.h>

static void test_alloc(void **state)
{
    (void)state;
    tri_arena *arena = tri_arena_create();
    unsigned char *before = NULL;
    for (size_t bytes = 0; bytes < 3000; bytes += 7) {
        unsigned char *address = tri_arena_alloc(arena, bytes);
        assert_non_null(address);
        assert_int_equal((uintptr_t)address % _Alignof(max_align_t), 0);
        assert_ptr_not_equal(address, before);
        for (size_t i = 0; i < bytes; i++)
            assert_int_equal(address[i], 0);
        memset(address, 0xff, bytes);
        before = address;
    }
    unsigned char *large = tri_arena_alloc(arena, 1 << 20);
    memset(large, 1, 1 << 20);
    assert_null(tri_arena_alloc(arena, SIZE_MAX));
    assert_null(tri_arena_alloc(arena, ((size_t)1 << 36) + 1));
    tri_arena_destroy(&arena);
    assert_null(arena);
    tri_arena_destroy(&arena);
}

static void test_format(void **state)
{
    (void)state;
    tri_arena *arena = tri_arena_create();
    const char *first = tri_arena_format(arena, "decoder.layers.%d.%s", 17, "weight");
    const char *second = tri_arena_format(arena, "%s", "");
    char wide[70001];
    memset(wide, 'w', sizeof(wide));
    wide[sizeof(wide) - 1] = '\0';
    assert_string_equal(tri_arena_format(arena, "%s", wide), wide);
    assert_string_equal(first, "decoder.layers.17.weight");
    assert_string_equal(second, "");
    tri_arena_destroy(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_alloc), cmocka_unit_test(test_format)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
