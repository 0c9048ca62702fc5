/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing a config.json by the family that it names. */
#include "spec/family.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tri_status family_read_text(const char *text, size_t bytes, const char *name, tri_error *err,
                                   struct tri_gpt_config *config)
{
    char type[64];
    TRI_TRY(tri_hf_config_model_type(text, bytes, name, err, type, sizeof(type)));
    const struct tri_family *family = tri_family_find(type);
    if (!family)
        return tri_error_add(err, TRI_UNSUPPORTED,
                             "%s: 'model_type' \"%s\" is not in this build; use %s", name, type,
                             tri_family_list());
    return tri_hf_config_read(family->config, text, bytes, name, err, config);
}

tri_status tri_gpt_config_read_hf(const char *path, tri_error *err, struct tri_gpt_config *config)
{
    char *text;
    size_t bytes;
    TRI_TRY(tri_hf_config_load(path, err, &text, &bytes));
    tri_status status = family_read_text(text, bytes, path, err, config);
    free(text);
    return status;
}

tri_status tri_gpt_config_write_hf(const struct tri_gpt_config *config, const char *dtype,
                                   const char *original, tri_error *err, char **text)
{
    const struct tri_family *family = tri_family_find(config->family);
    TRI_CHECK(family, err, TRI_UNSUPPORTED,
              "cannot write config.json: family '%s' is not in this build; use %s", config->family,
              tri_family_list());
    return tri_hf_config_write(family->config, config, dtype, original, err, text);
}

const struct tri_family *tri_family_holding(const struct tri_gpt_config *config)
{
    for (int i = 0; tri_family_get(i); i++)
        if (tri_hf_config_misfits(tri_family_get(i)->config, config, NULL, 0) == 0)
            return tri_family_get(i);
    return NULL;
}

enum { NUM_NEAREST = 3 };

void tri_family_nearest(const struct tri_gpt_config *config, char *text, size_t bytes)
{
    char names[TRI_OPTION_TEXT];
    int fewest = 0, num = 0;
    for (int i = 0; tri_family_get(i); i++) {
        int misfits = tri_hf_config_misfits(tri_family_get(i)->config, config, NULL, 0);
        if (misfits > 0 && (fewest == 0 || misfits < fewest))
            fewest = misfits;
    }
    snprintf(text, bytes, "no config.json says what it asks for");
    for (int i = 0; tri_family_get(i) && num < NUM_NEAREST; i++) {
        const struct tri_family *family = tri_family_get(i);
        if (tri_hf_config_misfits(family->config, config, names, sizeof names) != fewest ||
            fewest == 0)
            continue;
        size_t length = num++ ? strlen(text) : 0;
        snprintf(text + length, bytes - length, "%s%s cannot say %s", length ? "; " : "",
                 family->name, names);
    }
}
