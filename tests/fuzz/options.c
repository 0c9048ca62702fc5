/* SPDX-License-Identifier: Apache-2.0 */
/* Run files of any content: read, print, and what was accepted reads back to the same values. */
#include "replay.h"

#include "../options_table.h"

#include <stdio.h>
#include <stdlib.h>

static void check_round_trip(const struct toy *toy)
{
    struct toy back;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return;
    tri_option_print_file(out, toy->bindings, 3, false);
    fclose(out);
    toy_init(&back);
    if (toy_read(&back, text) != TRI_OK)
        abort();
    if (memcmp(&back.shape, &toy->shape, sizeof(back.shape)) != 0)
        abort();
    if (strcmp(back.train.data_path, toy->train.data_path) != 0 ||
        strcmp(back.train.override, toy->train.override) != 0)
        abort();
    toy_fini(&back);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct toy toy;
    toy_init(&toy);
    tri_status status =
        tri_option_read_text((const char *)data, size, "fuzz.yaml", toy.bindings, 3, NULL, toy.err);
    if ((status == TRI_OK) != (tri_error_count(toy.err) == 0))
        abort();
    if (status == TRI_OK)
        check_round_trip(&toy);
    toy_fini(&toy);
    return 0;
}
