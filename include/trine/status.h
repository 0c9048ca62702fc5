/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outcome of every function that can fail. One list makes the enum and the texts, so they
 * cannot drift. What went wrong in words is in the error record (trine/error.h).
 */
#pragma once

#define TRI_STATUS_LIST(X)                                                                         \
    X(OK, "success")                                                                               \
    X(INVALID, "the caller or the user gave a bad value")                                          \
    X(UNSUPPORTED, "not available in this build or backend")                                       \
    X(NOMEM, "out of memory")                                                                      \
    X(IO, "file or device error")                                                                  \
    X(COMM, "communication error")                                                                 \
    X(NUMERIC, "non-finite value")                                                                 \
    X(PEER, "another rank failed first")                                                           \
    X(BUG, "internal inconsistency")                                                               \
    X(STOPPED, "stopped on request")

#define TRI_STATUS_ENUM(name, text) TRI_##name,
typedef enum tri_status { TRI_STATUS_LIST(TRI_STATUS_ENUM) TRI_NUM_STATUS } tri_status;
#undef TRI_STATUS_ENUM

/* A short English text for status; "unknown status" for a value outside the list. */
const char *tri_status_text(tri_status status);
