/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzer of the config.json reader: any bytes give a config or a message, and a config that was read is
 * written as text that reads back to the same config.
 */
#include "replay.h"

#include "spec/family.h"

#include <stdlib.h>
#include <string.h>

static void check_round_trip(const struct tri_family *family, const struct tri_gpt_config *config,
                             const char *extra)
{
    struct tri_gpt_config again;
    char *text = NULL, *extra_again = NULL, *second = NULL;
    TRI_ASSERT(tri_hf_config_write(family->config, config, "float32", extra, NULL, &text) ==
               TRI_OK);
    TRI_ASSERT(tri_hf_config_read(family->config, text, strlen(text), "again", NULL, &again,
                                  &extra_again) == TRI_OK);
    TRI_ASSERT(tri_hf_config_write(family->config, &again, "float32", extra_again, NULL, &second) ==
               TRI_OK);
    TRI_ASSERT(strcmp(text, second) == 0);
    free(text);
    free(second);
    free(extra_again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    char type[16];
    tri_error *err = tri_error_create();
    tri_hf_config_model_type(text, size, "fuzz", err, type, sizeof(type));
    for (int i = 0; tri_family_get(i); i++) {
        const struct tri_family *family = tri_family_get(i);
        struct tri_gpt_config config;
        char *extra = NULL;
        tri_error_clear(err);
        if (tri_hf_config_read(family->config, text, size, "fuzz", err, &config, &extra) == TRI_OK)
            check_round_trip(family, &config, extra);
        else
            TRI_ASSERT(tri_error_count(err) > 0);
        free(extra);
    }
    tri_error_destroy(&err);
    return 0;
}
