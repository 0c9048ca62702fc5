/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a trained tokenizer as tokenizer.json and tokenizer_config.json (bpe_train.h). */
#include "data/bpe_train_private.h"
#include "data/byte_map.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The token in mapped characters, or as it is when special. */
static json_t *train_token_json(const tri_bpe_trainer *t, int32_t id)
{
    struct tri_bytes text = {0};
    size_t num;
    const char *bytes = tri_bpe_trainer_token(t, id, &num);
    tri_status status = id < t->num_special ? tri_bytes_append(&text, bytes, num, NULL)
                                            : tri_byte_map_write(bytes, num, &text, NULL);
    json_t *json = status == TRI_OK ? json_stringn(text.data, text.num) : NULL;
    tri_bytes_fini(&text);
    return json;
}

static json_t *train_added_json(const tri_bpe_trainer *t)
{
    json_t *added = json_array();
    for (int32_t i = 0; i < t->num_special; i++)
        json_array_append_new(added, json_pack("{s:i,s:o,s:b,s:b,s:b,s:b,s:b}", "id", i, "content",
                                               train_token_json(t, i), "single_word", 0, "lstrip",
                                               0, "rstrip", 0, "normalized", 0, "special", 1));
    return added;
}

static json_t *train_model_json(const tri_bpe_trainer *t)
{
    json_t *vocab = json_object(), *merges = json_array();
    for (int64_t i = 0; i < t->num_tokens; i++) {
        json_t *token = train_token_json(t, (int32_t)i);
        if (token)
            json_object_set_new(vocab, json_string_value(token), json_integer(i));
        json_decref(token);
    }
    for (int64_t i = 0; i < t->num_merges; i++)
        json_array_append_new(merges, json_pack("[o,o]", train_token_json(t, t->merges[i].left),
                                                train_token_json(t, t->merges[i].right)));
    return json_pack("{s:s,s:n,s:n,s:n,s:n,s:b,s:b,s:b,s:o,s:o}", "type", "BPE", "dropout",
                     "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", 0,
                     "byte_fallback", 0, "ignore_merges", 0, "vocab", vocab, "merges", merges);
}

static json_t *train_byte_level_json(bool add_prefix_space, bool use_regex)
{
    return json_pack("{s:s,s:b,s:b,s:b}", "type", "ByteLevel", "add_prefix_space", add_prefix_space,
                     "trim_offsets", 1, "use_regex", use_regex);
}

static json_t *train_pretokenizer_json(const tri_bpe_trainer *t)
{
    if (strcmp(t->pattern, tri_pretokenizer_gpt2_pattern) == 0)
        return train_byte_level_json(false, true);
    return json_pack("{s:s,s:[{s:s,s:{s:s},s:s,s:b},o]}", "type", "Sequence", "pretokenizers",
                     "type", "Split", "pattern", "Regex", t->pattern, "behavior", "Isolated",
                     "invert", 0, train_byte_level_json(false, false));
}

static tri_status write_json(const json_t *json, const char *path, tri_error *err)
{
    char temporary[4096];
    int length = snprintf(temporary, sizeof(temporary), "%s.tmp", path);
    TRI_CHECK(length > 0 && (size_t)length < sizeof(temporary), err, TRI_INVALID,
              "the path '%.40s...' is too long", path);
    FILE *file = fopen(temporary, "wb");
    TRI_CHECK(file, err, TRI_IO, "cannot write '%s': %s", temporary, strerror(errno));
    bool failed = json_dumpf(json, file, JSON_INDENT(2)) != 0 || fputc('\n', file) == EOF ||
                  fflush(file) != 0 || fsync(fileno(file)) != 0;
    int cause = errno;
    failed = fclose(file) != 0 || failed;
    if (!failed && rename(temporary, path) == 0)
        return TRI_OK;
    cause = failed ? cause : errno;
    unlink(temporary);
    return tri_error_set(err, TRI_IO, "cannot write '%s': %s", path, strerror(cause));
}

static tri_status write_config(const tri_bpe_trainer *t, const char *path, tri_error *err)
{
    char beside[4096];
    const char *slash = strrchr(path, '/');
    json_t *config = json_pack("{s:s,s:b}", "tokenizer_class", "PreTrainedTokenizerFast",
                               "clean_up_tokenization_spaces", 0);
    if (config && t->num_special > 0)
        json_object_set_new(config, "eos_token", train_token_json(t, 0));
    int length = snprintf(beside, sizeof(beside), "%.*stokenizer_config.json",
                          slash ? (int)(slash - path) + 1 : 0, path);
    tri_status status = TRI_OK;
    if (!config || length < 0 || (size_t)length >= sizeof(beside))
        status = tri_error_set(err, TRI_NOMEM, "cannot write the configuration beside '%s'", path);
    if (status == TRI_OK)
        status = write_json(config, beside, err);
    json_decref(config);
    return status;
}

tri_status tri_bpe_trainer_write(const tri_bpe_trainer *t, const char *path, tri_error *err)
{
    json_t *root =
        json_pack("{s:s,s:n,s:n,s:o,s:n,s:o,s:n,s:o,s:o}", "version", "1.0", "truncation",
                  "padding", "added_tokens", train_added_json(t), "normalizer", "pre_tokenizer",
                  train_pretokenizer_json(t), "post_processor", "decoder",
                  train_byte_level_json(true, true), "model", train_model_json(t));
    TRI_CHECK(root, err, TRI_NOMEM, "out of memory writing '%s'", path);
    tri_status status = write_json(root, path, err);
    json_decref(root);
    return status == TRI_OK ? write_config(t, path, err) : status;
}
