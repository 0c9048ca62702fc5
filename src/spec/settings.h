/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes a module the function that it is, besides its kind and implementation: sizes, factors, switches,
 * each with a name. A row of the registry notes those of a node's parameters; the tree prints them, and layers
 * that differ in one are not the same. What says nothing (no dropout, a factor of 1) is left out, and so is a
 * layer's number.
 */
#pragma once

#include "spec/module_spec.h"

struct tri_linear_init;

/* A flag that is set has neither word nor number. */
struct tri_setting {
    const char *name;
    const char *word; /* NULL: none */
    double number;    /* NaN: none */
};

enum { TRI_MAX_SETTINGS = 24 };
struct tri_settings {
    int num;
    struct tri_setting list[TRI_MAX_SETTINGS];
};

/* Those of node itself, without what lies below it. */
void tri_module_spec_settings(const struct tri_module_spec *node, struct tri_settings *settings);
bool tri_settings_equal(const struct tri_settings *a, const struct tri_settings *b);
/* "in 48, out 144, bias" */
void tri_settings_format(const struct tri_settings *settings, char *text, size_t bytes);

/* ---- for the registry's rows ---- */

void tri_settings_number(struct tri_settings *settings, const char *name, double number);
/* Noted unless it is neutral. */
void tri_settings_unless(struct tri_settings *settings, const char *name, double number,
                         double neutral);
void tri_settings_word(struct tri_settings *settings, const char *name, const char *word);
/* Noted when set. */
void tri_settings_flag(struct tri_settings *settings, const char *name, bool is_set);
/* How a weight's initial values are drawn. */
void tri_settings_init(struct tri_settings *settings, const struct tri_linear_init *init);
/* Of any linear. */
void tri_settings_linear(struct tri_settings *settings, int64_t in, int64_t out, bool bias,
                         const struct tri_linear_init *init);
/* Of any norm. */
struct tri_norm_params;
void tri_settings_norm(struct tri_settings *settings, const struct tri_norm_params *params);
