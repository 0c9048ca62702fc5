/* SPDX-License-Identifier: Apache-2.0 */
/* JSON, and YAML as JSON: scalars become null, booleans, numbers or texts as YAML's core schema says. */
#include "explain/record.h"

#include "base/json.h"
#include "base/number.h"

#include <string.h>
#include <strings.h>
#include <yaml.h>

#define MAX_DEPTH 64

struct yaml_reader {
    yaml_parser_t parser;
    struct tri_explain_input *input;
    json_t *stack[MAX_DEPTH]; /* borrowed from root */
    char *keys[MAX_DEPTH];    /* of a map whose value comes next; NULL: a key comes next */
    int depth;
    json_t *root;
    bool is_done;
};

static tri_status yaml_problem(struct yaml_reader *reader, const yaml_event_t *event,
                               const char *problem)
{
    yaml_mark_t mark = event ? event->start_mark : reader->parser.problem_mark;
    return tri_error_add(reader->input->err, TRI_INVALID, "%s:%zu:%zu: %s", reader->input->path,
                         mark.line + 1, mark.column + 1, problem);
}

static json_t *yaml_scalar(const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    double number;
    int64_t whole;
    if (event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return json_stringn(text, length);
    if (length == 0 || strcasecmp(text, "null") == 0 || strcmp(text, "~") == 0)
        return json_null();
    if (strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0)
        return json_boolean(strcasecmp(text, "true") == 0);
    if (tri_number_read_int(text, &whole) == TRI_NUMBER_OK && !strpbrk(text, "kKmMgGiIeE."))
        return json_integer(whole);
    if (strspn(text, "+-.0123456789eE") == length &&
        tri_number_read_double(text, &number) == TRI_NUMBER_OK)
        return json_real(number);
    return json_stringn(text, length);
}

/* Puts value, whose reference is taken, where the parser stands. */
static tri_status yaml_put(struct yaml_reader *reader, const yaml_event_t *event, json_t *value)
{
    if (!value)
        return yaml_problem(reader, event, "a text that is no UTF-8, or out of memory");
    int top = reader->depth - 1;
    if (top < 0) {
        reader->root = value;
        return TRI_OK;
    }
    json_t *holder = reader->stack[top];
    if (json_is_array(holder)) {
        json_array_append_new(holder, value);
        return TRI_OK;
    }
    if (!reader->keys[top]) {
        const char *key = json_string_value(value);
        char *text = key ? strdup(key) : json_dumps(value, JSON_ENCODE_ANY);
        bool is_scalar = !json_is_object(value) && !json_is_array(value);
        json_decref(value);
        reader->keys[top] = text;
        return text && is_scalar ? TRI_OK
                                 : yaml_problem(reader, event, "a key must be a word or number");
    }
    bool is_double = json_object_get(holder, reader->keys[top]) != NULL;
    json_object_set_new(holder, reader->keys[top], value);
    free(reader->keys[top]);
    reader->keys[top] = NULL;
    return is_double ? yaml_problem(reader, event, "a key is given twice; leave one of them out")
                     : TRI_OK;
}

static tri_status yaml_open(struct yaml_reader *reader, const yaml_event_t *event, json_t *value)
{
    if (reader->depth == MAX_DEPTH) {
        json_decref(value);
        return yaml_problem(reader, event, "nested more than 64 deep");
    }
    if (reader->depth > 0 && json_is_object(reader->stack[reader->depth - 1]) &&
        !reader->keys[reader->depth - 1]) {
        json_decref(value);
        return yaml_problem(reader, event, "a key must be a word or number");
    }
    TRI_TRY(yaml_put(reader, event, value));
    reader->stack[reader->depth] = value;
    reader->keys[reader->depth++] = NULL;
    return TRI_OK;
}

static tri_status yaml_event(struct yaml_reader *reader, const yaml_event_t *event)
{
    switch ((int)event->type) {
    case YAML_SCALAR_EVENT:
        return yaml_put(reader, event, yaml_scalar(event));
    case YAML_SEQUENCE_START_EVENT:
        return yaml_open(reader, event, json_array());
    case YAML_MAPPING_START_EVENT:
        return yaml_open(reader, event, json_object());
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        reader->depth--;
        return TRI_OK;
    case YAML_ALIAS_EVENT:
        return yaml_problem(reader, event, "an alias is not read; write the value out");
    case YAML_DOCUMENT_END_EVENT:
        reader->is_done = true;
        return TRI_OK;
    default:
        return TRI_OK;
    }
}

static tri_status yaml_read(struct yaml_reader *reader)
{
    while (!reader->is_done) {
        yaml_event_t event;
        if (!yaml_parser_parse(&reader->parser, &event))
            return yaml_problem(reader, NULL,
                                reader->parser.problem ? reader->parser.problem : "not YAML");
        reader->is_done = event.type == YAML_STREAM_END_EVENT;
        tri_status status = yaml_event(reader, &event);
        yaml_event_delete(&event);
        TRI_TRY(status);
    }
    return TRI_OK;
}

static tri_status parse_yaml(struct tri_explain_input *input, json_t **root)
{
    struct yaml_reader reader = {.input = input};
    TRI_CHECK(yaml_parser_initialize(&reader.parser), input->err, TRI_NOMEM,
              "out of memory while '%s' was read", input->path);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)input->text, input->bytes);
    tri_status status = yaml_read(&reader);
    for (int i = 0; i < MAX_DEPTH; i++)
        free(reader.keys[i]);
    yaml_parser_delete(&reader.parser);
    if (status == TRI_OK)
        *root = reader.root;
    else
        json_decref(reader.root);
    return status;
}

tri_status tri_explain_parse(struct tri_explain_input *input, json_t **root)
{
    json_t *read = NULL;
    size_t blanks = strspn(input->text, " \t\r\n");
    if (input->text[blanks] == '{')
        TRI_TRY(tri_json_read_text(input->text, input->bytes, input->path, input->err, &read));
    else
        TRI_TRY(parse_yaml(input, &read));
    if (!json_is_object(read)) {
        json_decref(read);
        return tri_error_add(input->err, TRI_INVALID, "%s: holds no map of keys", input->path);
    }
    *root = read;
    return TRI_OK;
}
