/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of files, and how to tell them apart by their content. */
#include "explain/record.h"

#include "base/file.h"
#include "shape/hf_config.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LARGEST_FILE (1 << 20)

static const struct tri_explain_kind *const kinds[] = {
    &tri_explain_run,  &tri_explain_hf,        &tri_explain_megatron,
    &tri_explain_vllm, &tri_explain_deepspeed, NULL,
};

/* Keys that only one kind of file has at its top, in YAML or JSON. */
static const struct {
    const struct tri_explain_kind *kind;
    const char *key;
} telling_keys[] = {
    {&tri_explain_hf, "model_type"},
    {&tri_explain_hf, "architectures"},
    {&tri_explain_deepspeed, "train_batch_size"},
    {&tri_explain_deepspeed, "train_micro_batch_size_per_gpu"},
    {&tri_explain_deepspeed, "zero_optimization"},
    {&tri_explain_deepspeed, "gradient_accumulation_steps"},
    {&tri_explain_deepspeed, "optimizer"},
    {&tri_explain_run, "shape"},
    {&tri_explain_run, "placement"},
    {&tri_explain_run, "train"},
    {&tri_explain_run, "spec"},
    {&tri_explain_run, "data"},
    {&tri_explain_run, "checkpoint"},
    {&tri_explain_vllm, "model"},
    {&tri_explain_vllm, "tensor_parallel_size"},
    {&tri_explain_vllm, "max_model_len"},
    {&tri_explain_vllm, "served_model_name"},
    {&tri_explain_vllm, "gpu_memory_utilization"},
    {&tri_explain_vllm, "pipeline_parallel_size"},
    {&tri_explain_vllm, "kv_cache_dtype"},
    {&tri_explain_vllm, "max_num_batched_tokens"},
    {&tri_explain_vllm, "max_num_seqs"},
    {&tri_explain_vllm, "enable_prefix_caching"},
    {&tri_explain_vllm, "no_enable_prefix_caching"},
    {&tri_explain_vllm, "compilation_config"},
    {&tri_explain_vllm, "enforce_eager"},
};
enum { NUM_TELLING = sizeof telling_keys / sizeof telling_keys[0] };

const char *tri_explain_kinds(void)
{
    return "run, hf, megatron, vllm or deepspeed";
}

static bool key_is(const char *key, size_t length, const char *known)
{
    for (size_t i = 0; i < length; i++) {
        if (known[i] == '\0' || (key[i] == '-' ? '_' : key[i]) != known[i])
            return false;
    }
    return known[length] == '\0';
}

static const struct tri_explain_kind *kind_by_key(const char *key, size_t length)
{
    for (int i = 0; i < NUM_TELLING; i++) {
        if (key_is(key, length, telling_keys[i].key))
            return telling_keys[i].kind;
    }
    return NULL;
}

/* "key:" at the start of a line. */
static const struct tri_explain_kind *kind_of_yaml(const char *text)
{
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line != '\0') {
        size_t length = 0;
        while (isalnum((unsigned char)line[length]) || line[length] == '_' || line[length] == '-')
            length++;
        const struct tri_explain_kind *kind =
            length > 0 && line[length] == ':' ? kind_by_key(line, length) : NULL;
        if (kind)
            return kind;
    }
    return NULL;
}

/* A key of the outermost object, told without trusting the rest. */
static const struct tri_explain_kind *kind_of_json(const char *text)
{
    int depth = 0;
    for (; *text; text++) {
        if (*text == '{' || *text == '[')
            depth++;
        if (*text == '}' || *text == ']')
            depth--;
        if (*text != '"')
            continue;
        const char *start = ++text;
        while (*text && *text != '"')
            text += text[0] == '\\' && text[1] ? 2 : 1;
        if (*text == '\0')
            return NULL;
        size_t length = (size_t)(text - start), blanks = strspn(text + 1, " \t\r\n");
        const struct tri_explain_kind *kind =
            depth == 1 && text[1 + blanks] == ':' ? kind_by_key(start, length) : NULL;
        if (kind)
            return kind;
    }
    return NULL;
}

static bool has_arguments(const char *text)
{
    for (const char *dashes = strstr(text, "--"); dashes; dashes = strstr(dashes + 2, "--")) {
        bool is_first = dashes == text || strchr(" \t\n\"'(=", dashes[-1]);
        if (is_first && isalpha((unsigned char)dashes[2]))
            return true;
    }
    return false;
}

static const struct tri_explain_kind *kind_of(const char *text)
{
    size_t blanks = strspn(text, " \t\r\n");
    if (text[blanks] == '{')
        return kind_of_json(text + blanks);
    const struct tri_explain_kind *kind = strncmp(text, "#!", 2) == 0 ? NULL : kind_of_yaml(text);
    return kind ? kind : has_arguments(text) ? &tri_explain_megatron : NULL;
}

static const struct tri_explain_kind *kind_named(const char *name)
{
    for (int i = 0; kinds[i]; i++) {
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    }
    return NULL;
}

static tri_status add_source(tri_explanation *out, const char *path, const char *title,
                             tri_error *err)
{
    size_t num = (size_t)out->num_sources + 1;
    struct tri_explain_source *grown = realloc(out->sources, num * sizeof *grown);
    TRI_CHECK(grown, err, TRI_NOMEM, "out of memory for '%s'", path);
    out->sources = grown;
    out->sources[out->num_sources++] =
        (struct tri_explain_source){.path = tri_explain_format(out, "%s", path),
                                    .title = title,
                                    .note = "",
                                    .first_field = out->num_fields};
    return TRI_OK;
}

tri_status tri_explain_text(tri_explanation *explanation, const char *text, size_t bytes,
                            const char *path, const char *kind, tri_error *err)
{
    const struct tri_explain_kind *row = kind ? kind_named(kind) : NULL;
    if (kind && !row)
        return tri_error_add(err, TRI_INVALID, "'%s' is no kind of file; use %s", kind,
                             tri_explain_kinds());
    if (memchr(text, '\0', bytes))
        return tri_error_add(err, TRI_INVALID,
                             "%s: holds a zero byte at %zu; it is no text, and only texts are "
                             "explained",
                             path, (size_t)((const char *)memchr(text, '\0', bytes) - text));
    if (strspn(text, " \t\r\n") == bytes)
        return tri_error_add(err, TRI_INVALID, "%s: is empty", path);
    if (!row)
        row = kind_of(text);
    if (!row)
        return tri_error_add(err, TRI_INVALID,
                             "%s: of no kind that is known by its content; say which with --as: %s",
                             path, tri_explain_kinds());
    TRI_TRY(add_source(explanation, path, row->title, err));
    struct tri_explain_input input = {
        .out = explanation, .text = text, .path = path, .bytes = bytes, .err = err};
    TRI_TRY(row->read(&input));
    if (explanation->is_full)
        return tri_error_add(err, TRI_INVALID,
                             "%s: more words than any real file has, or out of memory", path);
    return TRI_OK;
}

tri_status tri_explain_file(tri_explanation *explanation, const char *path, const char *kind,
                            tri_error *err)
{
    struct stat status;
    char *text = NULL;
    size_t bytes = 0;
    bool is_folder = stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    if (is_folder) {
        TRI_TRY(tri_hf_config_load(path, err, &text, &bytes));
        kind = kind ? kind : "hf";
    } else {
        TRI_TRY(tri_file_read(path, LARGEST_FILE, err, &text, &bytes));
    }
    tri_status result = tri_explain_text(explanation, text, bytes, path, kind, err);
    free(text);
    return result;
}
