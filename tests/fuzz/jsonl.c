/* SPDX-License-Identifier: Apache-2.0 */
/* JSONL of any content, plain or compressed: the input reader, and each line through the scanner. */
#include "replay.h"

#include "data/input.h"
#include "data/json_line.h"
#include "data/unicode.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* What the scanner gives out is sound text, cut in order. */
static void check_line(const char *line, size_t bytes, struct tri_json_line *value)
{
    if (tri_json_line_read(line, bytes, "text", value) != TRI_JSON_LINE_OK)
        return;
    int32_t last = 0;
    for (int64_t i = 0; i < value->ends.num; i++) {
        if (value->ends.data[i] < last || (size_t)value->ends.data[i] > value->text.num)
            abort();
        last = value->ends.data[i];
    }
    if (tri_utf8_check(value->text.data, value->text.num) != value->text.num)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("fuzz", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    tri_error *err = tri_error_create();
    tri_input *input = NULL;
    struct tri_json_line value = {0};
    tri_status status = tri_input_create(path, &input, err);
    bool has_line = status == TRI_OK;
    size_t total = 0;
    while (has_line && total < 1 << 24) {
        const char *line = NULL;
        size_t bytes = 0;
        if (tri_input_read_line(input, &line, &bytes, &has_line, err) != TRI_OK)
            break;
        if (has_line)
            check_line(line, bytes, &value);
        total += bytes + 1;
    }
    tri_json_line_fini(&value);
    tri_input_destroy(&input);
    tri_error_destroy(&err);
    close(fd);
    return 0;
}
