/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line per operation that begins, through a sink: when a run hangs, the first line in which the
 * ranks of a group differ is the mistake.
 */
#include "comm/wrap.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct trace {
    tri_trace_sink *sink;
    void *arg;
};

static tri_status trace_hook(void *state, tri_world *inner, struct tri_wrap_event *event)
{
    struct trace *trace = state;
    char line[TRI_COMM_TEXT];
    bool is_message = event->call.op == TRI_COMM_SEND || event->call.op == TRI_COMM_RECV;
    int used = snprintf(line, sizeof line, "rank %d group %s op %s bytes %zu sequence %" PRIu64,
                        inner->rank, event->group->name, tri_comm_op_name(event->call.op),
                        event->bytes, event->sequence);
    int peer = event->call.root;
    if (is_message && used > 0 && (size_t)used < sizeof line && peer >= 0 &&
        peer < event->group->size)
        snprintf(line + used, sizeof line - (size_t)used, " peer %d", event->group->ranks[peer]);
    trace->sink(trace->arg, line);
    return TRI_OK;
}

tri_status tri_world_wrap_trace(tri_world *inner, tri_trace_sink *sink, void *arg,
                                tri_world **world)
{
    struct trace *trace = malloc(sizeof *trace);
    TRI_CHECK(trace, inner->err, TRI_NOMEM, "out of memory for the trace of messages");
    *trace = (struct trace){.sink = sink, .arg = arg};
    tri_status status = tri_world_wrap(inner, trace_hook, trace, free, world);
    if (status != TRI_OK)
        free(trace);
    return status;
}
