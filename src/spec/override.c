/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spec.override: "decoder.layers[0:4].mlp = plain". A pattern is matched against every module path; the
 * module it names and all below it get the implementation, those of them that have it.
 */
#include "spec/implementation.h"
#include "spec/layer.h"
#include "spec/path.h"

#include "base/options_inner.h"
#include "trine/spec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEAR_PATHS 3

/* "*", "3", "0:4" or "2:" at *text, which is moved behind it. */
static bool override_read_range(const char **text, int64_t *first, int64_t *end)
{
    const char *p = *text;
    char *after;
    *first = 0;
    *end = INT64_MAX;
    if (*p == '*') {
        *text = p + 1;
        return true;
    }
    bool has_first = *p >= '0' && *p <= '9';
    if (has_first) {
        *first = strtoll(p, &after, 10);
        p = after;
        *end = *first == INT64_MAX ? *first : *first + 1;
    }
    if (*p == ':') {
        p++;
        *end = INT64_MAX;
        if (*p >= '0' && *p <= '9') {
            *end = strtoll(p, &after, 10);
            p = after;
        }
    } else if (!has_first) {
        return false;
    }
    *text = p;
    return true;
}

/* "[3]", "[0:4]", "[0:2,3:5]" at *text, which is moved behind it; *inside: number is in one of them. */
static bool override_read_ranges(const char **text, int64_t number, bool *inside)
{
    *inside = false;
    do {
        int64_t first, end;
        ++*text; /* "[" or "," */
        if (!override_read_range(text, &first, &end))
            return false;
        *inside |= number >= first && number < end;
    } while (**text == ',');
    return *(*text)++ == ']';
}

enum match { MATCH_NO, MATCH_YES, MATCH_SYNTAX };

/* Compares pattern with path, name by name; any_layer: whatever stands in brackets. */
static enum match override_match(const char *pattern, const char *path, bool any_layer)
{
    bool same = true;
    for (;;) {
        size_t name = strcspn(pattern, ".[");
        size_t length = strcspn(path, ".");
        if (name == 0)
            return MATCH_SYNTAX;
        if (!(name == 1 && *pattern == '*') &&
            (name != length || strncmp(pattern, path, name) != 0))
            same = false;
        pattern += name;
        path += length + (path[length] == '.');
        if (*pattern == '[') {
            char *after;
            int64_t number = strtoll(path, &after, 10);
            bool inside, is_number = after != path && (*after == '\0' || *after == '.');
            if (!override_read_ranges(&pattern, number, &inside))
                return MATCH_SYNTAX;
            same &= is_number && (inside || any_layer);
            path += strcspn(path, ".");
            path += *path == '.';
        }
        if (*pattern == '\0')
            return same && *path == '\0' ? MATCH_YES : MATCH_NO;
        if (*pattern++ != '.')
            return MATCH_SYNTAX;
        if (*path == '\0')
            same = false; /* the rest of the pattern is read for its syntax only */
    }
}

/* The best candidates so far, nearest first. */
struct near_paths {
    const char *path[NEAR_PATHS];
    int distance[NEAR_PATHS];
    int count;
};

struct override {
    struct tri_model_spec *spec;
    const char *pattern, *implementation, *reason;
    tri_arena *arena;                    /* of the spec */
    const struct tri_module_spec *named; /* the first module that the pattern names */
    int changed;
    bool failed;
    struct near_paths *near; /* not NULL: collect candidates instead of matching */
};

static void near_add(struct near_paths *near, const char *path, int distance)
{
    for (int i = 0; i < near->count; i++)
        if (strcmp(near->path[i], path) == 0)
            return; /* of another layer */
    int at = near->count < NEAR_PATHS ? near->count++ : NEAR_PATHS - 1;
    if (at == NEAR_PATHS - 1 && near->path[at] && near->distance[at] <= distance)
        return;
    for (; at > 0 && near->distance[at - 1] > distance; at--) {
        near->path[at] = near->path[at - 1];
        near->distance[at] = near->distance[at - 1];
    }
    near->path[at] = path;
    near->distance[at] = distance;
}

/* A name that not every module has goes to those that have it, whatever else is matched. */
static void override_set(struct override *o, struct tri_module_spec *node)
{
    struct tri_module_spec changed = *node;
    changed.implementation = o->implementation;
    changed.reason = o->reason;
    if (!tri_implementation_exists(o->spec->extensions, o->spec->num_extensions, &changed))
        return;
    *node = changed;
    o->changed++;
}

static void override_visit(struct override *o, struct tri_module_spec *node, const char *path,
                           bool inside)
{
    if (!path) {
        o->failed = true;
        return;
    }
    if (o->near) {
        near_add(o->near, path, tri_option_distance(o->pattern, path));
    } else if (inside || override_match(o->pattern, path, false) == MATCH_YES) {
        o->named = o->named ? o->named : node;
        inside = true;
        override_set(o, node);
    }
    for (int i = 0; i < node->num_children && !o->failed; i++)
        override_visit(o, &node->children[i],
                       tri_spec_child_path(o->arena, path, node->children[i].slot), inside);
}

/* Whether node or a module below it is what the pattern names in some other layer. */
static bool override_is_elsewhere(struct override *o, const struct tri_module_spec *node,
                                  const char *path)
{
    bool found = path && override_match(o->pattern, path, true) == MATCH_YES;
    for (int i = 0; path && i < node->num_children && !found; i++)
        found = override_is_elsewhere(o, &node->children[i],
                                      tri_spec_child_path(o->arena, path, node->children[i].slot));
    return found;
}

/* The layers that have what the pattern names in others: "0 to 3" or "0, 2 to 5"; false: none has it. */
static bool override_layers(struct override *o, char *list, size_t bytes)
{
    const struct tri_model_spec *spec = o->spec;
    size_t used = 0;
    for (int layer = 0, last; layer < spec->num_units - 2; layer = last + 1) {
        for (last = layer; last < spec->num_units - 2; last++)
            if (!override_is_elsewhere(o, &spec->units[last + 1], spec->unit_path[last + 1]))
                break;
        if (last > layer && used < bytes)
            used += (size_t)snprintf(list + used, bytes - used,
                                     last - layer > 1 ? "%s%d to %d" : "%s%d", used ? ", " : "",
                                     layer, last - 1);
    }
    return used > 0;
}

static tri_status override_no_match(struct override *o, tri_error *err)
{
    char layers[128];
    if (override_layers(o, layers, sizeof(layers)))
        return tri_error_add(err, TRI_INVALID,
                             "'override' pattern '%s' matches no module; the layers that have it "
                             "are %s",
                             o->pattern, layers);
    struct near_paths near = {.count = 0};
    struct tri_model_spec *spec = o->spec;
    o->near = &near;
    for (int unit = 0; unit < spec->num_units && !o->failed; unit++) {
        bool is_layer = unit > 0 && unit < spec->num_units - 1;
        override_visit(o, &spec->units[unit],
                       is_layer ? "decoder.layers[*]" : spec->unit_path[unit], false);
    }
    o->near = NULL;
    char list[512] = "";
    size_t used = 0;
    for (int i = 0; i < near.count && used < sizeof(list); i++)
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s'%s'", i ? ", " : "",
                                 near.path[i]);
    return tri_error_add(err, TRI_INVALID,
                         "'override' pattern '%s' matches no module of the %d layers 0 to %d; near "
                         "are %s",
                         o->pattern, spec->num_units - 2, spec->num_units - 3, list);
}

/* What the pattern names has no such implementation. */
static tri_status override_has_none(const struct override *o, tri_error *err)
{
    const struct tri_model_spec *spec = o->spec;
    char list[512];
    tri_implementation_format(spec->extensions, spec->num_extensions, o->named->module, list,
                              sizeof(list));
    return tri_error_add(
        err, TRI_INVALID,
        "'override' pattern '%s' matches no module '%s', which is what "
        "implementation '%s' is of; module '%s' has %s",
        o->pattern,
        tri_implementation_module(spec->extensions, spec->num_extensions, o->implementation),
        o->implementation, o->named->module, list);
}

/* A copy of text up to end without the blanks round it. */
static const char *override_trim(tri_arena *arena, const char *text, const char *end)
{
    while (text < end && *text == ' ')
        text++;
    while (end > text && end[-1] == ' ')
        end--;
    return tri_arena_format(arena, "%.*s", (int)(end - text), text);
}

/* Reads "pattern = implementation" into o; what is wrong with it in every model is a problem. */
static tri_status override_read(const char *item, const struct tri_extension *extensions,
                                int num_extensions, tri_error *err, struct override *o)
{
    const char *end = item + strlen(item), *equals = strchr(item, '=');
    o->pattern = override_trim(o->arena, item, equals ? equals : end);
    o->implementation = override_trim(o->arena, equals ? equals + 1 : end, end);
    o->reason = tri_arena_format(o->arena, "override %s", o->pattern ? o->pattern : "");
    if (!o->pattern || !o->implementation || !o->reason)
        return tri_error_set(err, TRI_NOMEM, "out of memory while reading 'override'");
    if (strcmp(o->implementation, "local") == 0)
        o->implementation = "plain";
    if (strcmp(o->implementation, "transformer_engine") == 0)
        o->implementation = "fused";
    tri_status status = TRI_OK;
    char list[512];
    tri_implementation_format(extensions, num_extensions, NULL, list, sizeof(list));
    if (!o->implementation[0])
        status = tri_error_add(err, TRI_INVALID,
                               "'override' item '%s' names no implementation; write path=%s", item,
                               list);
    else if (!tri_implementation_known(o->implementation) &&
             !tri_implementation_module(extensions, num_extensions, o->implementation))
        status = tri_error_add(err, TRI_UNSUPPORTED,
                               "'override' of '%s' asks for implementation '%s', which is not in "
                               "this build; use %s",
                               o->pattern, o->implementation, list);
    if (override_match(o->pattern, "", false) == MATCH_SYNTAX) {
        tri_status syntax = tri_error_add(
            err, TRI_INVALID,
            "'override' pattern '%s' is not a path like "
            "decoder.layers[0:4].mlp.linear_fc1, with [*], [3], [0:4] or [0:2,5] for layers",
            o->pattern);
        status = status == TRI_OK ? syntax : status;
    }
    return status;
}

static tri_status override_item(struct tri_model_spec *spec, const char *item, tri_error *err)
{
    struct override o = {.spec = spec, .arena = spec->arena};
    TRI_TRY(override_read(item, spec->extensions, spec->num_extensions, err, &o));
    for (int unit = 0; unit < spec->num_units; unit++)
        override_visit(&o, &spec->units[unit], spec->unit_path[unit], false);
    if (o.failed)
        return tri_error_set(err, TRI_NOMEM, "out of memory while applying 'override'");
    if (o.changed)
        return TRI_OK;
    return o.named ? override_has_none(&o, err) : override_no_match(&o, err);
}

/* Takes the next item from the list at *text; false at its end. */
static bool override_next(const char **text, char item[TRI_OPTION_LONG_TEXT])
{
    *text += strspn(*text, "\n");
    size_t length = strcspn(*text, "\n");
    memcpy(item, *text, length);
    item[length] = '\0';
    *text += length;
    return length > 0;
}

tri_status tri_override_apply(struct tri_model_spec *spec, const struct tri_spec_config *config,
                              tri_error *err)
{
    tri_status first = TRI_OK;
    char item[TRI_OPTION_LONG_TEXT];
    for (const char *p = config->override; override_next(&p, item);) {
        tri_status status = override_item(spec, item, err);
        first = first == TRI_OK ? status : first;
    }
    return first;
}

tri_status tri_override_check(const struct tri_spec_config *config, tri_error *err)
{
    tri_status first = TRI_OK;
    char item[TRI_OPTION_LONG_TEXT];
    struct override o = {.arena = tri_arena_create()};
    TRI_CHECK(o.arena, err, TRI_NOMEM, "out of memory while reading 'override'");
    for (const char *p = config->override; override_next(&p, item);) {
        tri_status status =
            override_read(item, config->extensions, config->num_extensions, err, &o);
        first = first == TRI_OK ? status : first;
    }
    tri_arena_destroy(&o.arena);
    return first;
}

tri_status tri_model_spec_override(struct tri_model_spec *spec, const char *path,
                                   const char *implementation, tri_error *err)
{
    const char *item = tri_arena_format(spec->arena, "%s=%s", path, implementation);
    TRI_CHECK(item, err, TRI_NOMEM, "out of memory while applying an override");
    return override_item(spec, item, err);
}

tri_status tri_layer_spec_override(struct tri_module_spec *layer, const char *path,
                                   const char *implementation, tri_error *err)
{
    const char *rest = path;
    struct tri_module_spec *node = layer;
    while (*rest) {
        size_t length = strcspn(rest, ".");
        struct tri_module_spec *next = NULL;
        for (int i = 0; i < node->num_children && !next; i++)
            if (strlen(node->children[i].slot) == length &&
                strncmp(node->children[i].slot, rest, length) == 0)
                next = &node->children[i];
        TRI_CHECK(next, err, TRI_INVALID, "'%s' of path '%s' is no part of module '%s'", rest, path,
                  node->module);
        node = next;
        rest += length + (rest[length] == '.');
    }
    node->implementation = implementation;
    node->reason = "the layer's spec function";
    bool is_of_all = tri_implementation_known(implementation);
    for (int i = 0; is_of_all && i < node->num_children; i++)
        TRI_TRY(tri_layer_spec_override(&node->children[i], "", implementation, err));
    return TRI_OK;
}
