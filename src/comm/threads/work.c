/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a part of an operation does with the members' buffers. Borders of parts depend on count,
 * type and group size alone, but no bit depends on them: every element is reduced by itself in rank
 * order.
 */
#include "comm/threads/threads.h"

#include <string.h>

/* Work on this many bytes at a time, so that what was just reduced or read is copied out of the
   cache; whole work of at most this many bytes is done by the last member to begin. */
#define BLOCK_BYTES ((int64_t)16384)
#define SMALL_BYTES ((int64_t)16384)
/* Borders of parts lie on cache lines of a buffer that starts on one. */
#define LINE_BYTES ((int64_t)64)

static int64_t element_bytes(const struct threads_op *op)
{
    return (int64_t)tri_dtype_bytes(op->call.dtype);
}

bool tri_threads_is_small(const struct threads_op *op)
{
    if (op->call.op == TRI_COMM_ALL_TO_ALL)
        return false;
    return op->call.count * element_bytes(op) <= SMALL_BYTES;
}

int tri_threads_num_parts(const struct threads_op *op)
{
    switch (op->call.op) {
    case TRI_COMM_SEND:
    case TRI_COMM_RECV:
        return op->call.count > 0 ? 1 : 0;
    case TRI_COMM_ALL_REDUCE:
    case TRI_COMM_BROADCAST:
        if (tri_threads_is_small(op))
            return op->call.count > 0 ? 1 : 0;
        return op->num_members;
    case TRI_COMM_REDUCE_SCATTER:
    case TRI_COMM_ALL_GATHER:
        return op->call.count > 0 ? op->num_members : 0;
    case TRI_COMM_ALL_TO_ALL:
        return op->num_members;
    case TRI_COMM_BARRIER:
    case TRI_NUM_COMM_OPS:
        break;
    }
    return 0;
}

/* The elements [*first, *last) of part in count elements. */
static void part_range(const struct threads_op *op, int part, int64_t *first, int64_t *last)
{
    int64_t line = LINE_BYTES / element_bytes(op);
    int64_t each = (op->call.count + op->num_parts - 1) / op->num_parts;
    each = (each + line - 1) / line * line;
    *first = part * each < op->call.count ? part * each : op->call.count;
    *last = *first + each < op->call.count ? *first + each : op->call.count;
}

static void all_reduce_part(const struct threads_op *op, int part, tri_reduce_fn *reduce,
                            const void **inputs)
{
    int64_t bytes = element_bytes(op), step = BLOCK_BYTES / bytes, first, last;
    part_range(op, part, &first, &last);
    for (int64_t at = first; at < last; at += step) {
        int64_t num = last - at < step ? last - at : step;
        for (int i = 0; i < op->num_members; i++)
            inputs[i] = (const char *)op->member[i].in + at * bytes;
        char *sum = (char *)op->member[0].out + at * bytes;
        reduce(op->call.reduce, op->call.dtype, sum, inputs, op->num_members, num);
        for (int i = 1; i < op->num_members; i++)
            memcpy((char *)op->member[i].out + at * bytes, sum, (size_t)(num * bytes));
    }
}

static void reduce_scatter_part(const struct threads_op *op, int part, tri_reduce_fn *reduce,
                                const void **inputs)
{
    for (int i = 0; i < op->num_members; i++)
        inputs[i] = (const char *)op->member[i].in + part * op->call.count * element_bytes(op);
    reduce(op->call.reduce, op->call.dtype, op->member[part].out, inputs, op->num_members,
           op->call.count);
}

/* Copies bytes from the member 'from' to all others at the same place. */
static void spread(const struct threads_op *op, int from, const char *in, int64_t offset,
                   int64_t bytes, bool with_own)
{
    for (int64_t at = 0; at < bytes; at += BLOCK_BYTES) {
        size_t num = (size_t)(bytes - at < BLOCK_BYTES ? bytes - at : BLOCK_BYTES);
        for (int i = 0; i < op->num_members; i++) {
            char *to = (char *)op->member[i].out + offset + at;
            if ((i != from || with_own) && to != in + at)
                memcpy(to, in + at, num);
        }
    }
}

static void all_to_all_part(const struct threads_op *op, int part)
{
    int64_t bytes = element_bytes(op);
    const struct threads_member *to = &op->member[part];
    for (int i = 0; i < op->num_members; i++) {
        const struct threads_member *from = &op->member[i];
        if (to->out_counts[i] > 0)
            memcpy((char *)to->out + to->out_first[i] * bytes,
                   (const char *)from->in + from->in_first[part] * bytes,
                   (size_t)(to->out_counts[i] * bytes));
    }
}

void tri_threads_do_part(const struct threads_op *op, int part, tri_reduce_fn *reduce,
                         const void **inputs)
{
    int64_t bytes = element_bytes(op), first, last;
    const struct threads_member *own = &op->member[part];
    switch (op->call.op) {
    case TRI_COMM_ALL_REDUCE:
        all_reduce_part(op, part, reduce, inputs);
        break;
    case TRI_COMM_REDUCE_SCATTER:
        reduce_scatter_part(op, part, reduce, inputs);
        break;
    case TRI_COMM_ALL_GATHER:
        spread(op, part, own->in, part * op->call.count * bytes, op->call.count * bytes, true);
        break;
    case TRI_COMM_BROADCAST:
        part_range(op, part, &first, &last);
        spread(op, op->call.root, (const char *)op->member[op->call.root].in + first * bytes,
               first * bytes, (last - first) * bytes, false);
        break;
    case TRI_COMM_ALL_TO_ALL:
        all_to_all_part(op, part);
        break;
    case TRI_COMM_SEND:
    case TRI_COMM_RECV:
        memcpy(op->member[1].out, op->member[0].in, (size_t)(op->call.count * bytes));
        break;
    case TRI_COMM_BARRIER:
    case TRI_NUM_COMM_OPS:
        break;
    }
}
