/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a tokenizer.json: each part is accepted when it is known to give the reference's ids, and
 * refused by its type name when it is not.
 */
#include "data/tokenizer_private.h"

#include <string.h>

enum { JSON_MAX_DEPTH = 8 };

static const char *part_type(const json_t *part)
{
    const char *type = json_string_value(json_object_get(part, "type"));
    return type ? type : "without a type";
}

static tri_status json_refuse(const char *name, const char *part, const char *type, tri_error *err)
{
    return tri_error_set(err, TRI_UNSUPPORTED,
                         "'%s': the %s %s is not supported; byte-level BPE tokenizers are", name,
                         part, type);
}

/* Empty text counts as none. */
static bool json_is_none(const json_t *value)
{
    return !value || json_is_null(value) || (json_is_string(value) && !json_string_length(value)) ||
           (json_is_number(value) && json_number_value(value) == 0.0);
}

static tri_status read_normalizer(tri_tokenizer *t, const json_t *part, int depth, const char *name,
                                  tri_error *err)
{
    size_t i;
    json_t *member;
    if (json_is_none(part))
        return TRI_OK;
    const char *type = part_type(part);
    if (strcmp(type, "NFC") == 0) {
        t->nfc = true;
        return TRI_OK;
    }
    if (strcmp(type, "Sequence") != 0 || depth == JSON_MAX_DEPTH)
        return json_refuse(name, "normalizer", type, err);
    json_array_foreach(json_object_get(part, "normalizers"), i, member)
        TRI_TRY(read_normalizer(t, member, depth + 1, name, err));
    return TRI_OK;
}

/* Writes pattern so that a literal text matches itself. */
static tri_status escape_literal(const char *text, struct tri_bytes *out, tri_error *err)
{
    for (; *text; text++) {
        bool plain = (*text & 0x80) || (*text >= '0' && *text <= '9') ||
                     ((*text | 32) >= 'a' && (*text | 32) <= 'z') || *text < ' ';
        if (!plain)
            TRI_TRY(tri_bytes_append_byte(out, '\\', err));
        TRI_TRY(tri_bytes_append_byte(out, *text, err));
    }
    return tri_bytes_append_byte(out, '\0', err);
}

static tri_status read_split(tri_tokenizer *t, const json_t *part, const char *name, tri_error *err)
{
    const json_t *pattern = json_object_get(part, "pattern");
    const char *regex = json_string_value(json_object_get(pattern, "Regex"));
    const char *literal = json_string_value(json_object_get(pattern, "String"));
    const char *behavior = json_string_value(json_object_get(part, "behavior"));
    bool invert = json_is_true(json_object_get(part, "invert"));
    TRI_CHECK((regex || literal) && behavior, err, TRI_INVALID,
              "'%s': a Split without pattern or behavior", name);
    enum tri_split_behavior what = TRI_SPLIT_ISOLATED;
    if (strcmp(behavior, "Removed") == 0)
        what = invert ? TRI_SPLIT_KEEP_MATCHES : TRI_SPLIT_REMOVE_MATCHES;
    else if (strcmp(behavior, "Isolated") != 0)
        return json_refuse(name, "Split behavior", behavior, err);
    if (regex)
        return tri_pretokenizer_add(t->pretokenizer, regex, what, err);
    struct tri_bytes escaped = {0};
    tri_status status = escape_literal(literal, &escaped, err);
    if (status == TRI_OK)
        status = tri_pretokenizer_add(t->pretokenizer, escaped.data, what, err);
    tri_bytes_fini(&escaped);
    return status;
}

/* What the parts of a pre_tokenizer add up to. */
struct pretokenizer_reading {
    bool has_bytes; /* a ByteLevel was seen; it must be the last part */
};

static tri_status read_pretokenizer(tri_tokenizer *t, const json_t *part, int depth,
                                    struct pretokenizer_reading *reading, const char *name,
                                    tri_error *err)
{
    size_t i;
    json_t *member;
    const char *type = part_type(part);
    if (strcmp(type, "Sequence") == 0 && depth < JSON_MAX_DEPTH) {
        json_array_foreach(json_object_get(part, "pretokenizers"), i, member)
            TRI_TRY(read_pretokenizer(t, member, depth + 1, reading, name, err));
        return TRI_OK;
    }
    if (reading->has_bytes)
        return json_refuse(name, "pre_tokenizer behind ByteLevel,", type, err);
    if (strcmp(type, "Split") == 0)
        return read_split(t, part, name, err);
    if (strcmp(type, "Digits") == 0)
        return tri_pretokenizer_add(
            t->pretokenizer,
            json_is_true(json_object_get(part, "individual_digits")) ? "\\p{N}" : "\\p{N}+",
            TRI_SPLIT_ISOLATED, err);
    if (strcmp(type, "ByteLevel") != 0)
        return json_refuse(name, "pre_tokenizer", type, err);
    reading->has_bytes = true;
    t->add_prefix_space = json_is_true(json_object_get(part, "add_prefix_space"));
    if (json_is_false(json_object_get(part, "use_regex")))
        return TRI_OK;
    return tri_pretokenizer_add(t->pretokenizer, tri_pretokenizer_gpt2_pattern, TRI_SPLIT_ISOLATED,
                                err);
}

static tri_status read_template(tri_tokenizer *t, const json_t *part, const char *name,
                                tri_error *err)
{
    const json_t *specials = json_object_get(part, "special_tokens");
    struct tri_ids *side = &t->prefix;
    size_t i, k;
    json_t *item, *id;
    json_array_foreach(json_object_get(part, "single"), i, item)
    {
        const json_t *special = json_object_get(item, "SpecialToken");
        if (!special) {
            side = &t->suffix;
            continue;
        }
        const char *key = json_string_value(json_object_get(special, "id"));
        const json_t *ids = json_object_get(key ? json_object_get(specials, key) : NULL, "ids");
        TRI_CHECK(json_array_size(ids) > 0, err, TRI_INVALID,
                  "'%s': the template's special token '%s' has no ids", name, key ? key : "");
        json_array_foreach(ids, k, id)
        {
            json_int_t value = json_is_integer(id) ? json_integer_value(id) : -1;
            TRI_CHECK(value >= 0 && value < tri_bpe_num_ids(t->bpe), err, TRI_INVALID,
                      "'%s': the template's id %lld is not in the vocabulary", name,
                      (long long)value);
            TRI_TRY(tri_ids_append(side, (int32_t)value, err));
        }
    }
    return TRI_OK;
}

static tri_status read_processor(tri_tokenizer *t, const json_t *part, int depth, const char *name,
                                 tri_error *err)
{
    size_t i;
    json_t *member;
    if (json_is_none(part))
        return TRI_OK;
    const char *type = part_type(part);
    if (strcmp(type, "ByteLevel") == 0)
        return TRI_OK;
    if (strcmp(type, "TemplateProcessing") == 0)
        return read_template(t, part, name, err);
    if (strcmp(type, "Sequence") != 0 || depth == JSON_MAX_DEPTH)
        return json_refuse(name, "post_processor", type, err);
    json_array_foreach(json_object_get(part, "processors"), i, member)
        TRI_TRY(read_processor(t, member, depth + 1, name, err));
    return TRI_OK;
}

/* Decoding goes from tokens to bytes to text. Parts that only concern tokens a byte-level
   vocabulary does not have may stand before ByteLevel. */
static tri_status check_decoder(const json_t *part, int depth, const char *name, tri_error *err)
{
    static const char *const harmless[] = {"ByteLevel", "ByteFallback", "Fuse", "Replace"};
    size_t i;
    json_t *member;
    if (json_is_none(part))
        return TRI_OK;
    const char *type = part_type(part);
    if (strcmp(type, "Sequence") == 0 && depth < JSON_MAX_DEPTH) {
        json_array_foreach(json_object_get(part, "decoders"), i, member)
            TRI_TRY(check_decoder(member, depth + 1, name, err));
        return TRI_OK;
    }
    for (i = 0; i < sizeof(harmless) / sizeof(*harmless); i++) {
        if (strcmp(type, harmless[i]) == 0)
            return TRI_OK;
    }
    return json_refuse(name, "decoder", type, err);
}

/* A vocabulary without some bytes: they become the unknown token, one each, or are an error. */
static tri_status read_unknown(tri_tokenizer *t, const json_t *model, const char *name,
                               tri_error *err)
{
    const char *unknown = json_string_value(json_object_get(model, "unk_token"));
    if (tri_bpe_has_all_bytes(t->bpe))
        return TRI_OK;
    TRI_CHECK(
        !json_is_true(json_object_get(model, "byte_fallback")) &&
            (!unknown || !json_is_true(json_object_get(model, "fuse_unk"))),
        err, TRI_UNSUPPORTED,
        "'%s': the vocabulary lacks some bytes, and the model option byte_fallback or fuse_unk "
        "for them is not supported",
        name);
    if (!unknown || !unknown[0])
        return TRI_OK;
    int32_t id = tri_tokenizer_find(t, unknown);
    TRI_CHECK(id >= 0, err, TRI_INVALID, "'%s': unk_token '%s' is not in the vocabulary", name,
              unknown);
    tri_bpe_set_unknown(t->bpe, id);
    return TRI_OK;
}

static tri_status check_model(const json_t *model, const char *name, tri_error *err)
{
    static const char *const none[] = {"dropout", "continuing_subword_prefix",
                                       "end_of_word_suffix"};
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
        if (!json_is_none(json_object_get(model, none[i])))
            return json_refuse(name, "model option", none[i], err);
    }
    return TRI_OK;
}

tri_status tri_tokenizer_read_json(tri_tokenizer *t, const json_t *root, const char *name,
                                   tri_error *err)
{
    struct pretokenizer_reading reading = {0};
    const json_t *model = json_object_get(root, "model");
    const json_t *pretokenizer = json_object_get(root, "pre_tokenizer");
    TRI_CHECK(json_is_object(model), err, TRI_INVALID, "'%s' is no tokenizer.json: it has no model",
              name);
    const json_t *type = json_object_get(model, "type");
    if (type && strcmp(part_type(model), "BPE") != 0)
        return json_refuse(name, "model", part_type(model), err);
    TRI_TRY(check_model(model, name, err));
    if (json_is_none(pretokenizer))
        return json_refuse(name, "pre_tokenizer", "null", err);
    TRI_TRY(read_normalizer(t, json_object_get(root, "normalizer"), 0, name, err));
    TRI_TRY(tri_pretokenizer_create(&t->pretokenizer, err));
    TRI_TRY(read_pretokenizer(t, pretokenizer, 0, &reading, name, err));
    TRI_CHECK(reading.has_bytes, err, TRI_UNSUPPORTED,
              "'%s': the pre_tokenizer has no ByteLevel; only byte-level BPE is supported", name);
    TRI_TRY(check_decoder(json_object_get(root, "decoder"), 0, name, err));
    TRI_TRY(tri_tokenizer_read_model(t, model, json_object_get(root, "added_tokens"), name, err));
    TRI_TRY(read_unknown(t, model, name, err));
    return read_processor(t, json_object_get(root, "post_processor"), 0, name, err);
}
