/* SPDX-License-Identifier: Apache-2.0 */
/* The host device, and storage with its paint. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tensor/storage.h"

#include <string.h>

static void test_device(void **state)
{
    (void)state;
    assert_ptr_equal(tri_device_find("host"), &tri_device_host);
    assert_null(tri_device_find("hos"));
    const struct tri_device *host = &tri_device_host;
    struct tri_queue queue = {.device = host};
    void *address = NULL;
    assert_int_equal(host->alloc(100001, NULL, &address), TRI_OK);
    assert_int_equal((uintptr_t)address % 4096, 0);
    unsigned char *bytes = address;
    for (int i = 0; i < 100001; i++)
        assert_int_equal(bytes[i], 0);
    memset(bytes, 7, 50);
    assert_int_equal(host->copy(&queue, bytes + 60, bytes, 50, NULL), TRI_OK);
    assert_int_equal(bytes[109], 7);
    assert_int_equal(host->copy(&queue, NULL, NULL, 0, NULL), TRI_OK);
    assert_ptr_equal(host->map(&queue, bytes + 3, 5, TRI_MAP_READ), bytes + 3);
    host->unmap(&queue, bytes + 3, bytes + 3);
    assert_int_equal(host->finish(&queue, NULL), TRI_OK);
    host->free(address, 100001);
    assert_int_equal(host->alloc(0, NULL, &address), TRI_OK);
    assert_null(address);
    host->free(address, 0);
}

static void test_storage(void **state)
{
    (void)state;
    tri_storage *storage = NULL;
    assert_int_equal(tri_storage_create(&tri_device_host, "grads", 10007, NULL, &storage), TRI_OK);
    assert_int_equal(tri_storage_bytes(storage), 10007);
    assert_string_equal(tri_storage_name(storage), "grads");
    unsigned char *first = tri_storage_get(storage, 0);
    assert_ptr_equal(tri_storage_get(storage, 77), first + 77);
    tri_storage_paint(storage);
    assert_int_equal(tri_storage_highest(storage), 0);
    first[123] = 1;
    first[4321] = 0;
    assert_int_equal(tri_storage_highest(storage), 4322);
    first[10006] = 9;
    assert_int_equal(tri_storage_highest(storage), 10007);
    tri_storage_destroy(&storage);
    assert_null(storage);
    tri_storage_destroy(&storage);
}

static void test_gaps(void **state)
{
    (void)state;
    tri_storage *storage = NULL;
    for (int round = 0; round < 2; round++) {
        assert_int_equal(tri_storage_create(&tri_device_host, "work", 4096, NULL, &storage),
                         TRI_OK);
        unsigned char *bytes = tri_storage_get(storage, 0);
        memset(bytes, 1, 4096);
        tri_storage_close_gap(storage, 1024, 64);
        bytes[1023] = bytes[1088] = 2;
        tri_storage_open_gap(storage, 1024, 64);
        assert_int_equal(bytes[1024], tri_storage_paints_gaps() ? 0xa5 : 1);
        tri_storage_close_gap(storage, 2048, 2048);
        tri_storage_close_gap(storage, 4096, 0);
        tri_storage_destroy(&storage);
    }
}

/* Where gaps are painted, the first byte written since is found; elsewhere nothing is. */
static void test_damaged_gap(void **state)
{
    (void)state;
    tri_storage *storage = NULL;
    assert_int_equal(tri_storage_create(&tri_device_host, "work", 4096, NULL, &storage), TRI_OK);
    unsigned char *bytes = tri_storage_get(storage, 0);
    tri_storage_close_gap(storage, 1024, 64);
    assert_int_equal(tri_storage_gap_damage(storage, 1024, 64), 64);
    bytes[1023] = bytes[1088] = 2;
    assert_int_equal(tri_storage_gap_damage(storage, 1024, 64), 64);
    if (tri_storage_paints_gaps()) {
        bytes[1024 + 63] = 2;
        assert_int_equal(tri_storage_gap_damage(storage, 1024, 64), 63);
    }
    tri_storage_destroy(&storage);
}

static void test_empty_storage(void **state)
{
    (void)state;
    tri_storage *storage = NULL;
    assert_int_equal(tri_storage_create(&tri_device_host, "none", 0, NULL, &storage), TRI_OK);
    assert_null(tri_storage_get(storage, 0));
    tri_storage_paint(storage);
    assert_int_equal(tri_storage_highest(storage), 0);
    tri_storage_destroy(&storage);
}

static void test_too_much(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    tri_storage *storage = NULL;
    size_t bytes = (size_t)1 << 60;
    assert_int_equal(tri_storage_create(&tri_device_host, "saved", bytes, err, &storage),
                     TRI_NOMEM);
    assert_null(storage);
    assert_string_equal(tri_error_message(err, 0),
                        "cannot allocate 1152921504606846976 bytes on device 'host' for arena "
                        "'saved'; 'trine plan' shows what needs them");
    tri_error_destroy(&err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device),        cmocka_unit_test(test_storage),
        cmocka_unit_test(test_gaps),          cmocka_unit_test(test_damaged_gap),
        cmocka_unit_test(test_empty_storage), cmocka_unit_test(test_too_much)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
