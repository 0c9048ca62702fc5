/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a tokenizer's files and putting a tri_tokenizer together (tokenizer.h). */
#include "data/tokenizer_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static tri_status tokenizer_alloc(tri_tokenizer **tokenizer, tri_error *err)
{
    tri_tokenizer *result = calloc(1, sizeof(*result));
    TRI_CHECK(result, err, TRI_NOMEM, "out of memory for the tokenizer");
    result->eod = result->bos = result->pad = -1;
    *tokenizer = result;
    return TRI_OK;
}

static void tokenizer_guess_eod(tri_tokenizer *t)
{
    static const char *const names[] = {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>"};
    for (size_t n = 0; t->eod < 0 && n < sizeof(names) / sizeof(*names); n++) {
        for (int32_t i = 0; i < t->num_added; i++) {
            if (strcmp(t->added[i].content, names[n]) == 0)
                t->eod = t->added[i].id;
        }
    }
}

static tri_status tokenizer_finish(tri_tokenizer *t, tri_status status, tri_tokenizer **tokenizer,
                                   tri_error *err)
{
    if (status == TRI_OK)
        status = tri_tokenizer_index_added(t, err);
    if (status != TRI_OK) {
        tri_tokenizer_destroy(&t);
        return status;
    }
    tokenizer_guess_eod(t);
    *tokenizer = t;
    return TRI_OK;
}

tri_status tri_tokenizer_create_from_json(const char *json, size_t bytes, const char *name,
                                          tri_tokenizer **tokenizer, tri_error *err)
{
    json_error_t problem;
    tri_tokenizer *result = NULL;
    json_t *root = json_loadb(json, bytes, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &problem);
    TRI_CHECK(root, err, TRI_INVALID, "'%s' is no tokenizer.json: %s (line %d, column %d)", name,
              problem.text, problem.line, problem.column);
    tri_status status = tokenizer_alloc(&result, err);
    if (status == TRI_OK) {
        status = tri_tokenizer_read_json(result, root, name, err);
        status = tokenizer_finish(result, status, tokenizer, err);
    }
    json_decref(root);
    return status;
}

/* A name in tokenizer_config.json is a text or an object with content. */
static int32_t config_find(const tri_tokenizer *t, const json_t *config, const char *key)
{
    const json_t *value = json_object_get(config, key);
    if (json_is_object(value))
        value = json_object_get(value, "content");
    return json_is_string(value) ? tri_tokenizer_find(t, json_string_value(value)) : -1;
}

static tri_status tokenizer_read_config(tri_tokenizer *t, const char *path, tri_error *err)
{
    json_error_t problem;
    if (access(path, F_OK) != 0)
        return TRI_OK;
    json_t *config = json_load_file(path, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &problem);
    TRI_CHECK(config, err, TRI_IO, "cannot read '%s': %s (line %d)", path, problem.text,
              problem.line);
    int32_t eod = config_find(t, config, "eos_token");
    if (eod >= 0)
        t->eod = eod;
    t->bos = config_find(t, config, "bos_token");
    t->pad = config_find(t, config, "pad_token");
    json_decref(config);
    return TRI_OK;
}

static tri_status tokenizer_read_file(const char *path, tri_tokenizer **tokenizer, tri_error *err)
{
    struct tri_bytes text = {0};
    tri_status status = tri_bytes_read_file(&text, path, err);
    size_t start = 0;
    while (start < text.num && strchr(" \t\r\n", text.data[start]))
        start++;
    if (status == TRI_OK && (start == text.num || text.data[start] != '{'))
        status =
            tri_error_set(err, TRI_UNSUPPORTED,
                          "'%s' is no tokenizer.json; sentencepiece and tiktoken files are not "
                          "supported",
                          path);
    if (status == TRI_OK)
        status = tri_tokenizer_create_from_json(text.data, text.num, path, tokenizer, err);
    tri_bytes_fini(&text);
    return status;
}

static tri_status tokenizer_read_folder(const char *folder, tri_tokenizer **tokenizer,
                                        tri_error *err)
{
    char json[4096], vocab[4096], merges[4096];
    snprintf(json, sizeof(json), "%s/tokenizer.json", folder);
    snprintf(vocab, sizeof(vocab), "%s/vocab.json", folder);
    snprintf(merges, sizeof(merges), "%s/merges.txt", folder);
    if (access(json, F_OK) == 0)
        return tokenizer_read_file(json, tokenizer, err);
    TRI_CHECK(access(vocab, F_OK) == 0 && access(merges, F_OK) == 0, err, TRI_IO,
              "'%s' holds no tokenizer: neither tokenizer.json nor vocab.json and merges.txt",
              folder);
    tri_tokenizer *result = NULL;
    TRI_TRY(tokenizer_alloc(&result, err));
    return tokenizer_finish(result, tri_tokenizer_read_gpt2(result, vocab, merges, err), tokenizer,
                            err);
}

tri_status tri_tokenizer_create(const char *path, tri_tokenizer **tokenizer, tri_error *err)
{
    char config[4096];
    struct stat info;
    tri_tokenizer *result = NULL;
    TRI_CHECK(strlen(path) < sizeof(config) - 32, err, TRI_INVALID,
              "the path '%.40s...' is too long", path);
    bool is_folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    const char *slash = strrchr(path, '/');
    if (is_folder)
        TRI_TRY(tokenizer_read_folder(path, &result, err));
    else
        TRI_TRY(tokenizer_read_file(path, &result, err));
    int folder = is_folder ? (int)strlen(path) : slash ? (int)(slash - path) : 0;
    snprintf(config, sizeof(config), "%.*s%stokenizer_config.json", folder, path,
             is_folder || slash ? "/" : "");
    tri_status status = tokenizer_read_config(result, config, err);
    if (status != TRI_OK) {
        tri_tokenizer_destroy(&result);
        return status;
    }
    *tokenizer = result;
    return TRI_OK;
}
