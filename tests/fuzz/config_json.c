/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzer of the config.json reader: any bytes give a config or a message, and a config that was read is
 * written as text that reads back to the same config.
 */
#include "replay.h"

#include "spec/family.h"
#include "spec/model_spec.h"

#include <stdlib.h>
#include <string.h>

/* Written over the text that it came from, and anew. */
static void check_round_trip(const struct tri_family *family, const struct tri_gpt_config *config,
                             const char *original)
{
    struct tri_gpt_config again;
    char *text = NULL, *second = NULL;
    TRI_ASSERT(tri_hf_config_write(family->config, config, "float32", original, NULL, &text) ==
               TRI_OK);
    TRI_ASSERT(tri_hf_config_read(family->config, text, strlen(text), "again", NULL, &again) ==
               TRI_OK);
    TRI_ASSERT(tri_hf_config_write(family->config, &again, "float32", text, NULL, &second) ==
               TRI_OK);
    TRI_ASSERT(strcmp(text, second) == 0);
    free(text);
    free(second);
}

/* What is planned from it: the spec, and how many parameters that has. */
static void count_params(const struct tri_gpt_config *config)
{
    struct tri_spec_config spec_config = {.num_extensions = 0};
    struct tri_model_spec *spec = NULL;
    struct tri_param_count count;
    tri_error *err = tri_error_create();
    tri_option_set_defaults(&tri_spec_options, &spec_config);
    tri_status status = tri_model_spec_create(config, &spec_config, err, &spec);
    if (status == TRI_OK)
        status = tri_model_count_params(spec, err, &count);
    TRI_ASSERT((status == TRI_OK) == (tri_error_count(err) == 0));
    tri_model_spec_destroy(&spec);
    tri_error_destroy(&err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = calloc(1, size + 1);
    char type[64] = "";
    tri_error *err = tri_error_create();
    TRI_ASSERT(text && err);
    memcpy(text, data, size);
    tri_hf_config_model_type(text, size, "fuzz", err, type, sizeof(type));
    const struct tri_family *named = tri_family_find(type); /* NULL: every family reads it */
    for (int i = 0; tri_family_get(i); i++) {
        const struct tri_family *family = tri_family_get(i);
        struct tri_gpt_config config;
        if (named && family != named)
            continue;
        tri_error_clear(err);
        if (tri_hf_config_read(family->config, text, size, "fuzz", err, &config) == TRI_OK) {
            check_round_trip(family, &config, NULL);
            check_round_trip(family, &config, text);
            if (config.transformer.num_layers <= 2)
                count_params(&config);
        } else
            TRI_ASSERT(tri_error_count(err) > 0);
    }
    free(text);
    tri_error_destroy(&err);
    return 0;
}
