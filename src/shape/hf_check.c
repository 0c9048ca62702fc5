/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of a shape that came from a config.json, in the words of that file. */
#include "shape/hf_inner.h"

#include "base/options_inner.h"
#include "shape/check.h"

#include <string.h>

#define MESSAGE_TEXT 1024

/* The key for the option whose name has length bytes, or NULL. */
static const char *key_of(const struct tri_hf_keys *keys, const char *option, size_t length)
{
    for (int i = 0; i < keys->num; i++) {
        const struct tri_hf_key *key = &keys->rows[i];
        if (key->option && strlen(key->option) == length &&
            strncmp(key->option, option, length) == 0)
            return key->name;
    }
    return NULL;
}

/* message with the options between its quotes called as in the file. */
static void in_words_of(const struct tri_hf_keys *keys, const char *message,
                        struct tri_option_text *text)
{
    for (bool is_quoted = false;; is_quoted = !is_quoted) {
        size_t length = strcspn(message, "'");
        const char *key = is_quoted ? key_of(keys, message, length) : NULL;
        if (key)
            tri_option_text_add(text, "%s", key);
        else
            tri_option_text_add(text, "%.*s", (int)length, message);
        if (!message[length])
            return;
        tri_option_text_add(text, "'");
        message += length + 1;
    }
}

tri_status tri_hf_check(const struct tri_hf_keys *keys, const struct tri_gpt_config *config,
                        const char *name, tri_error *err)
{
    tri_error *found = tri_error_create();
    TRI_CHECK(found, err, TRI_NOMEM, "out of memory while reading '%s'", name);
    tri_status status = tri_gpt_config_check(config, found);
    for (int i = 0; i < tri_error_count(found); i++) {
        char message[MESSAGE_TEXT];
        struct tri_option_text text;
        tri_option_text_init(&text, message, sizeof(message));
        in_words_of(keys, tri_error_message(found, i), &text);
        tri_error_add(err, tri_error_status_at(found, i), "%s: %s", name, message);
    }
    tri_error_destroy(&found);
    return status;
}
