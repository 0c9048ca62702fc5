/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three macros of error handling. TRI_TRY passes a failure upward in silence. TRI_CHECK is for
 * values from outside (user, file, peer) and is on in every build. TRI_ASSERT is for our own
 * mistakes: it prints file and line and aborts.
 */
#pragma once

#include "trine/error.h"

#define TRI_TRY(call)                                                                              \
    do {                                                                                           \
        tri_status tri_try_status_ = (call);                                                       \
        if (tri_try_status_ != TRI_OK)                                                             \
            return tri_try_status_;                                                                \
    } while (0)

#define TRI_CHECK(cond, err, status, ...)                                                          \
    do {                                                                                           \
        if (!(cond))                                                                               \
            return tri_error_set((err), (status), __VA_ARGS__);                                    \
    } while (0)

#define TRI_ASSERT(cond) ((cond) ? (void)0 : tri_assert_fail(#cond, __FILE__, __LINE__))

_Noreturn void tri_assert_fail(const char *condition, const char *file, int line);
