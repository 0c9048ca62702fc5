/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages for people, handed to whoever wants them: the library never prints by itself. A log is a
 * small struct that a context carries and lends; it allocates nothing, so a training step may
 * write.
 */
#pragma once

#include "trine/error.h"

#include <stddef.h>

enum tri_log_level { TRI_LOG_INFO, TRI_LOG_WARNING, TRI_LOG_ERROR };

/* Gets one finished line without its end. May be called by several ranks at once. */
typedef void tri_log_sink(void *arg, enum tri_log_level level, int rank, const char *line);

struct tri_log {
    tri_log_sink *sink; /* NULL: messages go nowhere */
    void *arg;
    int rank;
    enum tri_log_level least; /* messages below it go nowhere */
};

/* A longer line is cut and ends in "...". */
#define TRI_LOG_LINE 2048

/* log may be NULL. The line is "text" at INFO on rank 0, else with its prefixes: "rank 3: warning:
   text". */
void tri_log_write(const struct tri_log *log, enum tri_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Every note as a warning, then every problem as an error. */
void tri_log_errors(const struct tri_log *log, const tri_error *err);
