/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences of any content, plain or compressed: what is read is within the limits, or there are reasons. */
#include "replay.h"

#include "data/sequences.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void check(const struct tri_sequences_config *config, const struct tri_sequences *sequences)
{
    int64_t total = 0;
    for (int64_t n = 0; n < sequences->num; n++) {
        int64_t length = sequences->lengths[n], prompt = sequences->prompt_lengths[n];
        if (length < 1 || length - 1 > config->seq_length || prompt < 0 || prompt > length)
            abort();
        total += length;
    }
    if (total != sequences->tokens.num || sequences->num < 1)
        abort();
    for (int64_t i = 0; i < total; i++)
        if (sequences->tokens.data[i] < 0 || sequences->tokens.data[i] >= config->vocab_size)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("fuzz", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const struct tri_sequences_config config = {.path = path,
                                                .tokenizer = "/proc/self/no-tokenizer",
                                                .vocab_size = 101,
                                                .seq_length = 7,
                                                .max_positions = 11};
    struct tri_sequences sequences = {0};
    tri_error *err = tri_error_create();
    if (tri_sequences_read_lines(&config, &sequences, err) == TRI_OK)
        check(&config, &sequences);
    else if (tri_error_count(err) == 0)
        abort();
    tri_sequences_fini(&sequences);
    tri_error_destroy(&err);
    close(fd);
    return 0;
}
