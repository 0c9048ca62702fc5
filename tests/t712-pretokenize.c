/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splitting: character classes of Unicode 16 against recorded ones, quantifiers as Oniguruma has them,
 * and the parts of a tokenizer.json that are refused by name.
 */
#include "t70-cases.h"

#include "data/pretokenize.h"
#include "data/tokenizer.h"
#include "data/unicode.h"

static tri_error *err;

struct pieces {
    char text[256];
    int num;
};

static tri_status take_piece(void *context, const char *piece, size_t bytes, tri_error *problem)
{
    struct pieces *pieces = context;
    size_t length = strlen(pieces->text);
    (void)problem;
    snprintf(pieces->text + length, sizeof(pieces->text) - length, "[%.*s]", (int)bytes, piece);
    pieces->num++;
    return TRI_OK;
}

static void expect_split(const char *pattern, enum tri_split_behavior behavior, const char *text,
                         const char *expected)
{
    tri_pretokenizer *pretokenizer = NULL;
    struct pieces pieces = {.text = ""};
    case_ok(err, tri_pretokenizer_create(&pretokenizer, err));
    case_ok(err, tri_pretokenizer_add(pretokenizer, pattern, behavior, err));
    case_ok(err,
            tri_pretokenizer_split(pretokenizer, text, strlen(text), take_piece, &pieces, err));
    assert_string_equal(pieces.text, expected);
    tri_pretokenizer_destroy(&pretokenizer);
}

static void test_splits(void **state)
{
    (void)state;
    expect_split(tri_pretokenizer_gpt2_pattern, TRI_SPLIT_ISOLATED, "I'll  go 12x\n\n y",
                 "[I]['ll][ ][ go][ 12][x][\n\n][ y]");
    expect_split("[0-9]", TRI_SPLIT_ISOLATED, "a1bc23", "[a][1][bc][2][3]");
    expect_split(" +", TRI_SPLIT_REMOVE_MATCHES, " a  b ", "[a][b]");
    expect_split("[a-z]+", TRI_SPLIT_KEEP_MATCHES, "1ab 2c", "[ab][c]");
    expect_split("x*", TRI_SPLIT_ISOLATED, "axxb", "[a][xx][b]");
    /* {n,m}+ repeats; a real possessive quantifier stays one. */
    expect_split("\\p{N}{1,3}+", TRI_SPLIT_ISOLATED, "1234567", "[1234567]");
    expect_split("\\p{N}{1,3}", TRI_SPLIT_ISOLATED, "1234567", "[123][456][7]");
    expect_split("(?:ab|c){2}+d", TRI_SPLIT_ISOLATED, "ababababd", "[ababababd]");
    expect_split("\\p{L}++.", TRI_SPLIT_ISOLATED, "ab1ab", "[ab1][ab]");
    expect_split("\\s+$", TRI_SPLIT_ISOLATED, "a \nb", "[a][ ][\nb]");
    expect_split("(?i:'s)", TRI_SPLIT_ISOLATED,
                 "a'\xc5\xbf"
                 "b",
                 "[a]['\xc5\xbf][b]");
    expect_split("\\u0041|[\\u0042\\n]", TRI_SPLIT_ISOLATED, "xAB\n", "[x][A][B][\n]");
}

static void expect_refused(const char *pattern, tri_status status, const char *word)
{
    tri_pretokenizer *pretokenizer = NULL;
    case_ok(err, tri_pretokenizer_create(&pretokenizer, err));
    case_expect(err, tri_pretokenizer_add(pretokenizer, pattern, TRI_SPLIT_ISOLATED, err), status,
                word, NULL);
    tri_pretokenizer_destroy(&pretokenizer);
}

static void test_refused_patterns(void **state)
{
    (void)state;
    expect_refused("\\bx", TRI_UNSUPPORTED, "this escape at offset 1");
    expect_refused("[[:alpha:]]", TRI_UNSUPPORTED, "set within a set");
    expect_refused("[a&&b]", TRI_UNSUPPORTED, "set within a set");
    expect_refused("(a)\\1", TRI_UNSUPPORTED, "numbered escape");
    expect_refused("(?<n>a)", TRI_UNSUPPORTED, "kind of group");
    expect_refused("\\p{Greek}", TRI_UNSUPPORTED, "property");
    expect_refused("[\\S]", TRI_UNSUPPORTED, "negated set");
    expect_refused("[abc", TRI_UNSUPPORTED, "closing bracket");
    expect_refused("(abc", TRI_UNSUPPORTED, "end inside a group");
    expect_refused("abc)", TRI_UNSUPPORTED, "parenthesis");
    expect_refused("abc\\", TRI_UNSUPPORTED, "backslash");
    expect_refused("*", TRI_INVALID, "quantifier");
    expect_refused("[z-a]", TRI_INVALID, "range");
}

static tri_status take_match(void *context, const char *piece, size_t bytes, tri_error *problem)
{
    (void)piece;
    (void)bytes;
    (void)problem;
    *(int *)context += 1;
    return TRI_OK;
}

static void check_class(const json_t *classes, const char *name, const char *pattern)
{
    const json_t *ranges = json_object_get(classes, name);
    tri_pretokenizer *pretokenizer = NULL;
    size_t range = 0;
    case_ok(err, tri_pretokenizer_create(&pretokenizer, err));
    case_ok(err, tri_pretokenizer_add(pretokenizer, pattern, TRI_SPLIT_KEEP_MATCHES, err));
    for (uint32_t c = 0; c < 0x110000; c++) {
        char text[4];
        int matches = 0;
        if (c >= 0xd800 && c < 0xe000)
            continue;
        size_t bytes = (size_t)tri_utf8_encode(c, text);
        case_ok(err, tri_pretokenizer_split(pretokenizer, text, bytes, take_match, &matches, err));
        while (range < json_array_size(ranges) &&
               json_integer_value(json_array_get(json_array_get(ranges, range), 1)) < c)
            range++;
        const json_t *here = json_array_get(ranges, range);
        bool expected = here && json_integer_value(json_array_get(here, 0)) <= c;
        if (expected != (matches == 1))
            fail_msg("U+%04X is %sin %s", (unsigned)c, expected ? "" : "not ", name);
    }
    tri_pretokenizer_destroy(&pretokenizer);
}

static void test_classes(void **state)
{
    (void)state;
    static const char *const names[] = {"L", "N", "M", "P", "S", "Lu", "Ll", "Lt", "Lm", "Lo"};
    json_t *classes = case_load("golden/tokenizer/unicode_classes.json");
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char pattern[16];
        snprintf(pattern, sizeof(pattern), "%s\\p{%s}%s", i % 2 ? "[" : "", names[i],
                 i % 2 ? "]" : "");
        check_class(classes, names[i], pattern);
    }
    check_class(classes, "white_space", "\\s");
    json_decref(classes);
}

static json_t *small_json(void)
{
    return json_pack("{s:[],s:n,s:{s:s},s:n,s:{s:s},s:{s:s,s:{s:i,s:i,s:i},s:[[s,s]]}}",
                     "added_tokens", "normalizer", "pre_tokenizer", "type", "ByteLevel",
                     "post_processor", "decoder", "type", "ByteLevel", "model", "type", "BPE",
                     "vocab", "a", 0, "b", 1, "ab", 2, "merges", "a", "b");
}

/* Replaces root[part] by the JSON text, or root.model[part] when there. */
static void expect_json(const char *part, const char *text, tri_status status, const char *word)
{
    tri_tokenizer *tokenizer = NULL;
    json_t *root = small_json(), *model = json_object_get(root, "model");
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_non_null(value);
    bool in_model = json_object_get(model, part) || strcmp(part, "dropout") == 0 ||
                    strcmp(part, "unk_token") == 0 || strcmp(part, "byte_fallback") == 0;
    json_object_set_new(in_model ? model : root, part, value);
    char *dump = json_dumps(root, 0);
    tri_status found =
        tri_tokenizer_create_from_json(dump, strlen(dump), "it.json", &tokenizer, err);
    if (status == TRI_OK)
        case_ok(err, found);
    else
        case_expect(err, found, status, "it.json", word, NULL);
    tri_tokenizer_destroy(&tokenizer);
    free(dump);
    json_decref(root);
}

static void test_tokenizer_refused(void **state)
{
    (void)state;
    expect_json("normalizer", "null", TRI_OK, NULL);
    expect_json("normalizer", "{\"type\":\"NFKC\"}", TRI_UNSUPPORTED, "normalizer NFKC");
    expect_json("pre_tokenizer", "{\"type\":\"Metaspace\"}", TRI_UNSUPPORTED, "Metaspace");
    expect_json("pre_tokenizer", "null", TRI_UNSUPPORTED, "pre_tokenizer null");
    expect_json("pre_tokenizer", "{\"type\":\"Digits\"}", TRI_UNSUPPORTED, "no ByteLevel");
    expect_json("post_processor", "{\"type\":\"BertProcessing\"}", TRI_UNSUPPORTED, "Bert");
    expect_json("decoder", "{\"type\":\"Metaspace\"}", TRI_UNSUPPORTED, "decoder Metaspace");
    expect_json("type", "\"Unigram\"", TRI_UNSUPPORTED, "model Unigram");
    expect_json("dropout", "0.1", TRI_UNSUPPORTED, "dropout");
    expect_json("unk_token", "\"zz\"", TRI_INVALID, "unk_token 'zz'");
    expect_json("byte_fallback", "true", TRI_UNSUPPORTED, "byte_fallback");
    expect_json("merges", "[\"a c\"]", TRI_INVALID, "merge 0 ('a', 'c')");
    expect_json("merges", "[\"ab\"]", TRI_INVALID, "merge 0 'ab'");
    expect_json("merges", "[[\"a\"]]", TRI_INVALID, "merge 0");
    expect_json("merges", "{}", TRI_INVALID, "no merges");
    expect_json("vocab", "{\"a\":0,\"b\":\"x\"}", TRI_INVALID, "'b'");
    expect_json("added_tokens", "[{\"id\":1,\"content\":\"zz\"}]", TRI_INVALID, "another token's");
    expect_json("added_tokens", "[{\"id\":9}]", TRI_INVALID, "added token 0");
    expect_json("added_tokens", "[{\"id\":-1,\"content\":\"x\"}]", TRI_INVALID, "-1");
    expect_json("added_tokens", "[{\"id\":1,\"content\":\"b\"}]", TRI_OK, NULL);
}

static void test_damaged(void **state)
{
    (void)state;
    tri_tokenizer *tokenizer = NULL;
    char *dump = NULL;
    json_t *root = small_json();
    dump = json_dumps(root, 0);
    for (size_t cut = 0; cut < strlen(dump); cut++) {
        assert_int_not_equal(tri_tokenizer_create_from_json(dump, cut, "cut", &tokenizer, err),
                             TRI_OK);
        tri_error_clear(err);
    }
    free(dump);
    json_decref(root);
    static const char *const broken[] = {
        "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"a\":1},\"merges\":[]}}",
        "{\"pre_tokenizer\":{\"type\":\"ByteLevel\"},\"model\":{\"vocab\":{\"a\":4294967296},"
        "\"merges\":[]}}",
        "{\"pre_tokenizer\":{\"type\":\"ByteLevel\"},\"model\":{\"vocab\":{\"a\":0,\"b\":0},"
        "\"merges\":[]}}",
        "[]",
        "{}",
    };
    for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
        assert_int_equal(
            tri_tokenizer_create_from_json(broken[i], strlen(broken[i]), "bad", &tokenizer, err),
            TRI_INVALID);
        tri_error_clear(err);
    }
    case_expect(err, tri_tokenizer_create("/nowhere/tokenizer.json", &tokenizer, err), TRI_IO,
                "/nowhere/tokenizer.json", NULL);
    case_write("tokenizer.model", "\x0a\x0e", 2);
    case_expect(err, tri_tokenizer_create(case_path("tokenizer.model"), &tokenizer, err),
                TRI_UNSUPPORTED, "sentencepiece", NULL);
    case_expect(err, tri_tokenizer_create(case_path(""), &tokenizer, err), TRI_IO,
                "neither tokenizer.json nor vocab.json", NULL);
    case_expect(err,
                tri_tokenizer_create("golden/tokenizer/metaspace.tokenizer.json", &tokenizer, err),
                TRI_UNSUPPORTED, "not supported", NULL);
}

/* A byte without a token is named. */
static void test_missing_byte(void **state)
{
    (void)state;
    tri_tokenizer *tokenizer = NULL;
    struct tri_ids ids = {0};
    json_t *root = small_json();
    char *dump = json_dumps(root, 0);
    case_ok(err, tri_tokenizer_create_from_json(dump, strlen(dump), "x", &tokenizer, err));
    case_ok(err, tri_tokenizer_encode(tokenizer, "abba", 4, 0, &ids, err));
    assert_int_equal(ids.num, 3);
    case_expect(err, tri_tokenizer_encode(tokenizer, "abc", 3, 0, &ids, err), TRI_INVALID,
                "byte 0x63", NULL);
    tri_tokenizer_destroy(&tokenizer);
    free(dump);
    json_object_set_new(json_object_get(root, "model"), "unk_token", json_string("b"));
    dump = json_dumps(root, 0);
    ids.num = 0;
    case_ok(err, tri_tokenizer_create_from_json(dump, strlen(dump), "x", &tokenizer, err));
    case_ok(err, tri_tokenizer_encode(tokenizer, "cca", 3, 0, &ids, err));
    assert_int_equal(ids.num, 3);
    assert_int_equal(ids.data[1], 1);
    tri_ids_fini(&ids);
    tri_tokenizer_destroy(&tokenizer);
    free(dump);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_splits),  cmocka_unit_test(test_refused_patterns),
        cmocka_unit_test(test_classes), cmocka_unit_test(test_tokenizer_refused),
        cmocka_unit_test(test_damaged), cmocka_unit_test(test_missing_byte),
    };
    err = tri_error_create();
    int failed = cmocka_run_group_tests(tests, case_dir_create, case_dir_remove);
    tri_error_destroy(&err);
    return failed;
}
