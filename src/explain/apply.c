/* SPDX-License-Identifier: Apache-2.0 */
/* What a word's row says, done: options set, or the reason why not. */
#include "explain/record.h"

#include "base/number.h"
#include "base/options_inner.h"

#include <string.h>

#define MAX_GUESSES 100 /* nearest names per explanation; each one is a search */

static const char *join(tri_explanation *out, const char *const *values, int num)
{
    const char *joined = num > 0 ? values[0] : "";
    for (int i = 1; i < num && i < 64; i++)
        joined = tri_explain_format(out, "%s %s", joined, values[i]);
    return num > 64 ? tri_explain_format(out, "%s ...", joined) : joined;
}

/* True when value says what the other program does anyway. */
static bool is_preset(const struct tri_word *word, const char *value)
{
    if (!word->preset)
        return strcasecmp(value, "none") == 0 || strcasecmp(value, "null") == 0;
    double a, b;
    if (tri_number_read_double(word->preset, &a) == TRI_NUMBER_OK &&
        tri_number_read_double(value, &b) == TRI_NUMBER_OK)
        return a == b;
    return strcasecmp(word->preset, value) == 0;
}

/* Sets "a=1 b": a to 1, and b to the values; false when an option is missing. */
static bool apply_sets(tri_explanation *out, struct tri_explain_field *field, const char *sets,
                       const char *const *values, int num)
{
    while (*sets) {
        char option[128], value[64];
        int length = (int)strcspn(sets, " "), name = (int)strcspn(sets, "= ");
        bool is_constant = name < length;
        snprintf(option, sizeof option, "%.*s", name, sets);
        snprintf(value, sizeof value, "%.*s", is_constant ? length - name - 1 : 0, sets + name + 1);
        if (!(is_constant ? tri_explain_set(out, field, option, value)
                          : tri_explain_set_list(out, field, option, values, num)))
            return false;
        sets += length + strspn(sets + length, " ");
    }
    return true;
}

/* A word that is refused, or whose option trine has not: its usual value asks for nothing. */
static void refuse_unless_preset(struct tri_explain_field *field, const struct tri_word *word,
                                 const char *value, int num)
{
    if (num > 0 && is_preset(word, value)) {
        field->answer = TRI_UNDERSTOOD;
        field->why = "off, or the only way there is";
    } else {
        field->why = word->why ? word->why : "trine has no such option yet";
    }
}

bool tri_explain_word(tri_explanation *out, const struct tri_word_found *found, const char *name,
                      const char *const *values, int num, struct tri_explain_field **field)
{
    const struct tri_word *word = found->word;
    const char *value = join(out, values, num);
    struct tri_explain_field *added =
        tri_explain_add(out, found->section, word->answer, name, value);
    *field = added;
    if (word->answer == TRI_DIFFERS || word->answer == TRI_NO_EFFECT)
        added->why = word->why ? word->why : "";
    bool needs_value = word->kind == TRI_WORD_VALUE || word->kind == TRI_WORD_LIST;
    if (needs_value && num == 0) {
        added->answer = TRI_REFUSED;
        added->why = "it needs a value";
        return false;
    }
    if (word->answer == TRI_LATER || word->answer == TRI_REFUSED) {
        refuse_unless_preset(added, word, value, num);
        return false;
    }
    if (word->sets && strcmp(word->sets, "=") == 0)
        return true;
    if (word->sets && !apply_sets(out, added, word->sets, values, num)) {
        added->answer = TRI_LATER;
        refuse_unless_preset(added, word, value, num);
    }
    /* trine's row knows fewer values than the other program, and this is the usual one */
    if (added->answer == TRI_REFUSED && word->preset && is_preset(word, value)) {
        added->answer = TRI_UNDERSTOOD;
        added->why = "the other program's default";
    }
    return false;
}

void tri_explain_unknown(tri_explanation *out, const struct tri_vocabulary *vocabulary,
                         const char *prefix, const char *name, const char *const *values, int num)
{
    char nearest[64];
    const char *shown = tri_explain_format(out, "%s%.200s", prefix, name);
    struct tri_option_found own = tri_option_lookup(name, NULL, out->bindings, out->num_bindings);
    enum tri_section section =
        own.row ? tri_section_find(own.binding->table->section) : TRI_SECTION_OTHER;
    struct tri_explain_field *field =
        tri_explain_add(out, section, TRI_UNKNOWN, shown, join(out, values, num));
    if (own.row && strlen(name) < 128) {
        const char *yes = "true";
        bool is_flag = num == 0 && own.row->type == TRI_OPTION_BOOL;
        field->answer = TRI_UNDERSTOOD;
        tri_explain_set_list(out, field, own.row->name, is_flag ? &yes : values, is_flag ? 1 : num);
        if (field->answer == TRI_UNDERSTOOD)
            field->why = "an option of trine's own";
    } else if (out->num_guesses++ < MAX_GUESSES &&
               tri_word_nearest(vocabulary, name, nearest, sizeof nearest)) {
        field->why = tri_explain_format(out, "did you mean '%s%s'?", prefix, nearest);
    } else {
        field->why = vocabulary->unknown;
    }
}

/* A key that is a place for other keys has no word of its own. */
static void explain_key(tri_explanation *out, const struct tri_vocabulary *vocabulary,
                        const char *name, const json_t *value, tri_explain_left *left)
{
    const char *values[64];
    int num = 0;
    char *dumped = NULL;
    if (json_is_array(value)) {
        size_t i;
        json_t *item;
        json_array_foreach(value, i, item)
        {
            if (num < 64 && json_is_string(item))
                values[num++] = json_string_value(item);
        }
    }
    if (json_is_string(value))
        values[num++] = json_string_value(value);
    if (num == 0) {
        dumped = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
        values[num++] = dumped ? dumped : "";
    }
    struct tri_word_found found = tri_word_find(vocabulary, name);
    struct tri_explain_field *field;
    if (!found.word)
        tri_explain_unknown(out, vocabulary, "", name, values, num);
    else if (found.word->kind == TRI_WORD_FLAG && json_is_false(value))
        tri_explain_add(out, found.section, TRI_UNDERSTOOD, name, "false")->why = "off";
    else if (tri_explain_word(out, &found, name, values, num, &field) && left)
        left(out, field, name, value);
    free(dumped);
}

static void explain_inner(tri_explanation *out, const struct tri_vocabulary *vocabulary,
                          const char *prefix, const json_t *object, int depth,
                          tri_explain_left *left)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        const char *name =
            tri_explain_format(out, "%.150s%s%.100s", prefix, prefix[0] ? "." : "", key);
        bool goes_in = json_is_object(value) && json_object_size(value) > 0 && depth < 8;
        if (goes_in && !tri_word_find(vocabulary, name).word)
            explain_inner(out, vocabulary, name, value, depth + 1, left);
        else
            explain_key(out, vocabulary, name, value, left);
    }
}

void tri_explain_object(tri_explanation *out, const struct tri_vocabulary *vocabulary,
                        const json_t *object, tri_explain_left *left)
{
    explain_inner(out, vocabulary, "", object, 0, left);
}
