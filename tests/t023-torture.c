/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each allocation of base/ and tensor/ fails in turn: nothing crashes, nothing leaks (the address
 * sanitizer looks), every call answers with success or "out of memory", and a failure is on record.
 * The program is linked so that the rooms' allocations come through here (--wrap).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/team.h"
#include "tensor/storage.h"

#include "options_table.h"

#include <stdio.h>
#include <stdlib.h>

static int64_t allowed = INT64_MAX; /* allocations until one fails */
static int64_t num_failed;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t num, size_t bytes);
void *__real_realloc(void *address, size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
char *__real_strdup(const char *text);
int __real_vasprintf(char **text, const char *format, va_list args);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t num, size_t bytes);
void *__wrap_realloc(void *address, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);
char *__wrap_strdup(const char *text);
int __wrap_vasprintf(char **text, const char *format, va_list args);

static bool fails_now(void)
{
    bool fails = allowed-- == 0;
    num_failed += fails;
    return fails;
}

void *__wrap_malloc(size_t bytes)
{
    return fails_now() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t num, size_t bytes)
{
    return fails_now() ? NULL : __real_calloc(num, bytes);
}

void *__wrap_realloc(void *address, size_t bytes)
{
    return fails_now() ? NULL : __real_realloc(address, bytes);
}

void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
    return fails_now() ? NULL : __real_aligned_alloc(align, bytes);
}

char *__wrap_strdup(const char *text)
{
    return fails_now() ? NULL : __real_strdup(text);
}

int __wrap_vasprintf(char **text, const char *format, va_list args)
{
    return fails_now() ? -1 : __real_vasprintf(text, format, args);
}

/* A scenario returns false when something beyond "out of memory" went wrong. */
typedef bool scenario_fn(void);

/* Runs a scenario with its n-th allocation failing, for every n until none fails. */
static void torture(scenario_fn *scenario)
{
    for (int64_t n = 0;; n++) {
        num_failed = 0;
        allowed = n;
        bool is_good = scenario();
        allowed = INT64_MAX;
        assert_true(is_good);
        if (num_failed == 0) {
            print_message("%lld allocations\n", (long long)n);
            return;
        }
    }
}

static bool is_memory(tri_status status)
{
    return status == TRI_OK || status == TRI_NOMEM;
}

static bool scenario_error(void)
{
    tri_error *err = tri_error_create(), *copy = tri_error_create();
    for (int i = 0; err && i < 9; i++)
        tri_error_add(err, TRI_IO, "problem %d", i);
    bool is_good = !err || tri_error_status(err) == TRI_IO;
    is_good = is_good && (!err || tri_error_count(err) > 0);
    for (int i = 0; i < tri_error_count(err); i++)
        is_good = is_good && tri_error_message(err, i)[0] != '\0';
    tri_error_append(copy, err);
    is_good = is_good && (!err || !copy || tri_error_status(copy) == TRI_IO);
    tri_error_destroy(&copy);
    tri_error_destroy(&err);
    return is_good;
}

static bool scenario_arena(void)
{
    tri_arena *arena = tri_arena_create();
    for (int i = 0; arena && i < 3; i++) {
        tri_arena_alloc(arena, 60000);
        tri_arena_format(arena, "%d", i);
    }
    tri_arena_destroy(&arena);
    return true;
}

static bool scenario_team(void)
{
    tri_team *team = NULL;
    tri_status status = tri_team_create(3, NULL, &team);
    bool is_good = is_memory(status) && (status == TRI_OK) == (team != NULL);
    tri_team_destroy(&team);
    return is_good;
}

static bool scenario_storage(void)
{
    tri_storage *storage = NULL;
    tri_status status = tri_storage_create(&tri_device_host, "work", 5000, NULL, &storage);
    bool is_good = is_memory(status) && (status == TRI_OK) == (storage != NULL);
    tri_storage_destroy(&storage);
    return is_good;
}

static bool scenario_json(void)
{
    tri_error *err = tri_error_create();
    json_t *root = NULL;
    tri_status status = tri_json_read_file("fuzz/corpus/json/object.json", 1 << 20, err, &root);
    bool is_good = is_memory(status) && (status == TRI_OK) == (root != NULL);
    json_decref(root);
    tri_error_destroy(&err);
    return is_good;
}

static bool scenario_options(void)
{
    static struct toy toy;
    toy_init(&toy);
    tri_status status =
        tri_option_read_file("fuzz/corpus/options/full.yaml", toy.bindings, 3, NULL, toy.err);
    bool is_good = is_memory(status);
    tri_error_clear(toy.err);
    status = toy_read(&toy, "train: {data_path: a b}\nshape: {layer_widths: 1 2, bad: 1}\n");
    is_good = is_good && (status == TRI_INVALID || status == TRI_NOMEM);
    toy_fini(&toy);
    return is_good;
}

static void test_error(void **state)
{
    (void)state;
    torture(scenario_error);
}

static void test_arena(void **state)
{
    (void)state;
    torture(scenario_arena);
}

static void test_team(void **state)
{
    (void)state;
    torture(scenario_team);
}

static void test_storage(void **state)
{
    (void)state;
    torture(scenario_storage);
}

static void test_json(void **state)
{
    (void)state;
    torture(scenario_json);
}

static void test_options(void **state)
{
    (void)state;
    torture(scenario_options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error), cmocka_unit_test(test_arena),
        cmocka_unit_test(test_team),  cmocka_unit_test(test_storage),
        cmocka_unit_test(test_json),  cmocka_unit_test(test_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
