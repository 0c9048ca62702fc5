/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run file: YAML with one map per section. The whole file becomes a tree of nodes with their
 * positions; then each key is looked up and its value set. Nothing stops at the first problem.
 */
#include "base/options_inner.h"

#include "base/file.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define WHERE_TEXT   400
#define GUESS_TEXT   512
#define RUN_FILE_MAX (16 << 20) /* bytes */

struct file_reader {
    yaml_document_t *document;
    const char *name;
    struct tri_option_binding *bindings;
    int num_bindings;
    const struct tri_option_megatron *megatron;
    const char *where; /* of the whole text when it is no file; else NULL */
    tri_error *err;
    tri_status status; /* of the first problem */
};

static void reader_where(const struct file_reader *reader, const yaml_node_t *node, char *where)
{
    if (reader->where)
        snprintf(where, WHERE_TEXT, "%s", reader->where);
    else
        snprintf(where, WHERE_TEXT, "%s:%zu:%zu", reader->name, node->start_mark.line + 1,
                 node->start_mark.column + 1);
}

static void reader_note_status(struct file_reader *reader, tri_status status)
{
    if (reader->status == TRI_OK)
        reader->status = status;
}

__attribute__((format(printf, 3, 4))) static void
reader_problem(struct file_reader *reader, const yaml_node_t *node, const char *format, ...)
{
    char where[WHERE_TEXT], text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    reader_where(reader, node, where);
    reader_note_status(reader, tri_error_add(reader->err, TRI_INVALID, "%s: %s", where, text));
}

/* The text of a scalar without a zero byte, or NULL. */
static const char *scalar_text(const yaml_node_t *node)
{
    if (node->type != YAML_SCALAR_NODE)
        return NULL;
    const char *text = (const char *)node->data.scalar.value;
    return strlen(text) == node->data.scalar.length ? text : NULL;
}

static const char *node_kind(const yaml_node_t *node)
{
    return node->type == YAML_SEQUENCE_NODE  ? "a list"
           : node->type == YAML_MAPPING_NODE ? "a map"
                                             : "a text with a zero byte";
}

/* The pair of a map whose key equals that of 'pair' and comes before it, or NULL. */
static const yaml_node_t *reader_earlier(struct file_reader *reader, const yaml_node_t *map,
                                         const yaml_node_pair_t *pair)
{
    const char *key = scalar_text(yaml_document_get_node(reader->document, pair->key));
    for (yaml_node_pair_t *other = map->data.mapping.pairs.start; other < pair; other++) {
        const yaml_node_t *node = yaml_document_get_node(reader->document, other->key);
        const char *text = scalar_text(node);
        if (key && text && strcmp(key, text) == 0)
            return node;
    }
    return NULL;
}

/* The key of a pair as text; NULL, with the problem noted, when it is no text or given twice. */
static const char *reader_key(struct file_reader *reader, const yaml_node_t *map,
                              const yaml_node_pair_t *pair)
{
    const yaml_node_t *node = yaml_document_get_node(reader->document, pair->key);
    const char *key = scalar_text(node);
    if (!key) {
        reader_problem(reader, node, "a key is %s; use a name", node_kind(node));
        return NULL;
    }
    const yaml_node_t *earlier = reader_earlier(reader, map, pair);
    if (earlier) {
        reader_problem(reader, node, "'%s' is given twice, first in line %zu; keep one", key,
                       earlier->start_mark.line + 1);
        return NULL;
    }
    return key;
}

/* Adds an item; false once the list is full. */
static bool reader_append(struct file_reader *reader, const struct tri_option *row, void *config,
                          const yaml_node_t *key, const yaml_node_t *value)
{
    char where[WHERE_TEXT];
    const char *key_text = key ? scalar_text(key) : NULL, *text = scalar_text(value);
    if (!text || (key && !key_text)) {
        reader_problem(reader, value, "'%s' has %s as an item; use a number or a text", row->name,
                       node_kind(text ? key : value));
        return true;
    }
    reader_where(reader, value, where);
    tri_status status = tri_option_append(row, config, key_text, text, where, reader->err);
    reader_note_status(reader, status);
    return status != TRI_UNSUPPORTED;
}

static void reader_set(struct file_reader *reader, const struct tri_option *row, void *config,
                       const yaml_node_t *node)
{
    bool is_list = tri_option_is_list(row);
    const char *text = scalar_text(node);
    if (text) {
        char where[WHERE_TEXT];
        reader_where(reader, node, where);
        bool is_quoted = node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
        if (is_list && is_quoted) {
            tri_option_begin(row, config);
            reader_append(reader, row, config, NULL, node);
        } else {
            reader_note_status(reader, tri_option_set(row, config, text, where, reader->err));
        }
    } else if (node->type == YAML_SEQUENCE_NODE && is_list) {
        tri_option_begin(row, config);
        bool has_room = true;
        for (yaml_node_item_t *item = node->data.sequence.items.start;
             item < node->data.sequence.items.top && has_room; item++)
            has_room = reader_append(reader, row, config, NULL,
                                     yaml_document_get_node(reader->document, *item));
    } else if (node->type == YAML_MAPPING_NODE && row->type == TRI_OPTION_MAP) {
        tri_option_begin(row, config);
        bool has_room = true;
        for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
             pair < node->data.mapping.pairs.top && has_room; pair++)
            if (reader_key(reader, node, pair))
                has_room = reader_append(reader, row, config,
                                         yaml_document_get_node(reader->document, pair->key),
                                         yaml_document_get_node(reader->document, pair->value));
    } else {
        reader_problem(reader, node, "'%s' is %s; use %s", row->name, node_kind(node),
                       row->type == TRI_OPTION_JSON ? "its text in quotes" : "one value");
    }
}

static void reader_unknown_key(struct file_reader *reader, const yaml_node_t *node, const char *key,
                               const char *section)
{
    struct tri_option_found found =
        tri_option_lookup(key, NULL, reader->bindings, reader->num_bindings);
    const char *home = found.row ? found.binding->table->section : NULL;
    if (home && home[0] == '\0') {
        reader_problem(reader, node, "'%s' is not for a run file; give it as a flag", key);
    } else if (home && section) {
        reader_problem(reader, node, "'%s' belongs to section '%s', not to '%s'", key, home,
                       section);
    } else if (home) {
        reader_problem(reader, node, "'%s' stands outside a section; put it into '%s'", key, home);
    } else {
        char guess[GUESS_TEXT];
        if (tri_option_foreign(key, key, reader->megatron, guess, sizeof(guess)))
            reader_problem(reader, node, "%s", guess);
        else if (tri_option_guess(key, reader->bindings, reader->num_bindings, reader->megatron,
                                  guess, sizeof(guess)))
            reader_problem(reader, node, "unknown key '%s', did you mean %s?", key, guess);
        else
            reader_problem(reader, node, "unknown key '%s'; see --help for the known ones", key);
    }
}

static void reader_note_place(const struct file_reader *reader,
                              const struct tri_option_found *found, const yaml_node_t *node)
{
    tri_option_note_origin(found, TRI_OPTION_FROM_FILE);
    if (found->binding->places)
        found->binding->places[found->index] =
            (struct tri_option_place){.file = reader->name, .line = node->start_mark.line + 1};
}

/* "section: value" for a section that may be said so; false if it may not. */
static bool reader_scalar_section(struct file_reader *reader, const char *section,
                                  const yaml_node_t *node)
{
    for (int i = 0; i < reader->num_bindings; i++) {
        const struct tri_option_table *table = reader->bindings[i].table;
        if (!table->scalar_row || strcmp(table->section, section) != 0)
            continue;
        struct tri_option_found found =
            tri_option_lookup(table->scalar_row, section, reader->bindings, reader->num_bindings);
        reader_set(reader, found.row, found.binding->config, node);
        reader_note_place(reader, &found, node);
        return true;
    }
    return false;
}

static void reader_section(struct file_reader *reader, const char *section, const yaml_node_t *map)
{
    const char *text = scalar_text(map);
    if (text && (text[0] == '\0' || strcmp(text, "null") == 0 || strcmp(text, "~") == 0))
        return;
    if (map->type != YAML_MAPPING_NODE) {
        if (!text || !reader_scalar_section(reader, section, map))
            reader_problem(reader, map, "section '%s' is %s; write its keys below it, one per line",
                           section, text ? "one value" : node_kind(map));
        return;
    }
    for (yaml_node_pair_t *pair = map->data.mapping.pairs.start; pair < map->data.mapping.pairs.top;
         pair++) {
        const char *key = reader_key(reader, map, pair);
        if (!key)
            continue;
        struct tri_option_found found =
            tri_option_lookup(key, section, reader->bindings, reader->num_bindings);
        if (found.row) {
            reader_set(reader, found.row, found.binding->config,
                       yaml_document_get_node(reader->document, pair->value));
            reader_note_place(reader, &found, yaml_document_get_node(reader->document, pair->key));
        } else {
            reader_unknown_key(reader, yaml_document_get_node(reader->document, pair->key), key,
                               section);
        }
    }
}

static bool reader_has_section(const struct file_reader *reader, const char *name)
{
    for (int i = 0; i < reader->num_bindings; i++) {
        if (name[0] && strcmp(reader->bindings[i].table->section, name) == 0)
            return true;
    }
    return false;
}

/* The sections in the order of the tables, each once: "shape, spec, train". */
static void reader_sections(const struct file_reader *reader, struct tri_option_text *list)
{
    int num = 0;
    for (int i = 0; i < reader->num_bindings; i++) {
        const char *section = reader->bindings[i].table->section;
        int first = 0;
        while (strcmp(reader->bindings[first].table->section, section) != 0)
            first++;
        if (section[0] && first == i)
            tri_option_text_add(list, "%s%s", num++ ? ", " : "", section);
    }
}

static void reader_unknown_section(struct file_reader *reader, const yaml_node_t *key,
                                   const yaml_node_t *value, const char *name)
{
    const char *nearest = NULL;
    int best = tri_option_near(name) + 1;
    for (int i = 0; i < reader->num_bindings; i++) {
        const char *section = reader->bindings[i].table->section;
        int distance = section[0] ? tri_option_distance(name, section) : best;
        if (distance < best) {
            best = distance;
            nearest = section;
        }
    }
    char known[256];
    struct tri_option_text list;
    tri_option_text_init(&list, known, sizeof(known));
    reader_sections(reader, &list);
    if (nearest)
        reader_problem(reader, key, "unknown section '%s', did you mean '%s'?", name, nearest);
    else if (value->type == YAML_MAPPING_NODE)
        reader_problem(reader, key, "unknown section '%s'; use one of %s", name, known);
    else
        reader_unknown_key(reader, key, name, NULL);
}

static void reader_root(struct file_reader *reader, const yaml_node_t *root)
{
    if (root->type != YAML_MAPPING_NODE) {
        reader_problem(reader, root,
                       "the file holds no map of sections; write 'shape:' and its keys below it");
        return;
    }
    for (yaml_node_pair_t *pair = root->data.mapping.pairs.start;
         pair < root->data.mapping.pairs.top; pair++) {
        const char *name = reader_key(reader, root, pair);
        const yaml_node_t *value = yaml_document_get_node(reader->document, pair->value);
        if (!name)
            continue;
        if (reader_has_section(reader, name))
            reader_section(reader, name, value);
        else
            reader_unknown_section(reader, yaml_document_get_node(reader->document, pair->key),
                                   value, name);
    }
}

/* Whether a tab indents the line, which YAML forbids and its parser says in other words. */
static bool line_has_tab(const char *text, size_t bytes, size_t line)
{
    const char *end = text + bytes;
    for (; line > 0 && text; line--) {
        text = memchr(text, '\n', (size_t)(end - text));
        text = text ? text + 1 : NULL;
    }
    while (text && text < end && *text == ' ')
        text++;
    return text && text < end && *text == '\t';
}

static tri_status parser_problem(const yaml_parser_t *parser, const char *text, size_t bytes,
                                 const char *name, tri_error *err)
{
    if (parser->error == YAML_MEMORY_ERROR)
        return tri_error_add(err, TRI_NOMEM, "out of memory while '%s' was read", name);
    const char *problem = parser->problem ? parser->problem : "not readable";
    if (parser->error == YAML_READER_ERROR)
        return tri_error_add(err, TRI_INVALID, "%s: byte %zu: not YAML: %s", name,
                             parser->problem_offset, problem);
    bool has_tab = line_has_tab(text, bytes, parser->problem_mark.line);
    return tri_error_add(err, TRI_INVALID, "%s:%zu:%zu: not YAML: %s%s", name,
                         parser->problem_mark.line + 1, parser->problem_mark.column + 1, problem,
                         has_tab ? "; indent with blanks, not with tabs" : "");
}

/* Loads one document; fn gets its root unless it is empty. */
static tri_status document_read(const char *text, size_t bytes, struct file_reader *reader,
                                void (*fn)(struct file_reader *, const yaml_node_t *))
{
    yaml_parser_t parser;
    yaml_document_t document;
    TRI_CHECK(yaml_parser_initialize(&parser), reader->err, TRI_NOMEM,
              "out of memory while '%s' was read", reader->name);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, bytes);
    if (!yaml_parser_load(&parser, &document)) {
        tri_status status = parser_problem(&parser, text, bytes, reader->name, reader->err);
        yaml_parser_delete(&parser);
        return status;
    }
    reader->document = &document;
    const yaml_node_t *root = yaml_document_get_root_node(&document);
    if (root)
        fn(reader, root);
    yaml_document_delete(&document);
    if (root && yaml_parser_load(&parser, &document)) {
        const yaml_node_t *second = yaml_document_get_root_node(&document);
        if (second)
            reader_problem(reader, second, "a second document starts here; use one per file");
        yaml_document_delete(&document);
    } else if (root) {
        reader_note_status(reader, parser_problem(&parser, text, bytes, reader->name, reader->err));
    }
    yaml_parser_delete(&parser);
    return reader->status;
}

tri_status tri_option_read_text(const char *text, size_t bytes, const char *name,
                                struct tri_option_binding *bindings, int num_bindings,
                                const struct tri_option_megatron *megatron, tri_error *err)
{
    struct file_reader reader = {.name = name,
                                 .bindings = bindings,
                                 .num_bindings = num_bindings,
                                 .megatron = megatron,
                                 .err = err};
    return document_read(text, bytes, &reader, reader_root);
}

struct flow_target {
    struct file_reader reader; /* first, so that the reader's address is this one's */
    const struct tri_option *row;
    void *config;
};

static void flow_root(struct file_reader *reader, const yaml_node_t *root)
{
    struct flow_target *target = (struct flow_target *)reader;
    reader_set(reader, target->row, target->config, root);
}

tri_status tri_option_set_flow(const struct tri_option *row, void *config, const char *text,
                               const char *where, tri_error *err)
{
    struct flow_target target = {
        .reader = {.name = where, .where = where, .err = err}, .row = row, .config = config};
    return document_read(text, strlen(text), &target.reader, flow_root);
}

tri_status tri_option_read_file(const char *path, struct tri_option_binding *bindings,
                                int num_bindings, const struct tri_option_megatron *megatron,
                                tri_error *err)
{
    char *text = NULL;
    size_t bytes = 0;
    TRI_TRY(tri_file_read(path, RUN_FILE_MAX, err, &text, &bytes));
    tri_status status =
        tri_option_read_text(text, bytes, path, bindings, num_bindings, megatron, err);
    free(text);
    return status;
}
