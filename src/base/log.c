/* SPDX-License-Identifier: Apache-2.0 */
/* Messages for people: prefix, text, sink. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static size_t log_prefix(enum tri_log_level level, int rank, char line[TRI_LOG_LINE])
{
    static const char *const prefixes[] = {
        [TRI_LOG_INFO] = "", [TRI_LOG_WARNING] = "warning: ", [TRI_LOG_ERROR] = "error: "};
    int length = rank == 0 ? snprintf(line, TRI_LOG_LINE, "%s", prefixes[level])
                           : snprintf(line, TRI_LOG_LINE, "rank %d: %s", rank, prefixes[level]);
    return (size_t)length;
}

void tri_log_write(const struct tri_log *log, enum tri_log_level level, const char *format, ...)
{
    if (!log || !log->sink || level < log->least)
        return;
    char line[TRI_LOG_LINE];
    size_t used = log_prefix(level, log->rank, line);
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line + used, TRI_LOG_LINE - used, format, args);
    va_end(args);
    if (length < 0)
        return;
    if ((size_t)length >= TRI_LOG_LINE - used)
        memcpy(line + TRI_LOG_LINE - 4, "...", 4);
    log->sink(log->arg, level, log->rank, line);
}

void tri_log_errors(const struct tri_log *log, const tri_error *err)
{
    for (int i = 0; i < tri_error_note_count(err); i++)
        tri_log_write(log, TRI_LOG_WARNING, "%s", tri_error_note_message(err, i));
    for (int i = 0; i < tri_error_count(err); i++)
        tri_log_write(log, TRI_LOG_ERROR, "%s", tri_error_message(err, i));
}
