/* SPDX-License-Identifier: Apache-2.0 */
/* A small config with every type of option row, for the option tests. */
#pragma once

#include "base/options.h"

#include <math.h>
#include <string.h>

struct toy_shape {
    int64_t num_layers;
    int64_t hidden_size;
    int64_t position; /* choice */
    bool add_bias_linear;
    struct tri_option_list layer_widths;
};

struct toy_train {
    double lr, min_lr, clip_grad, dropout;
    int64_t train_iters, save_interval;
    char save[TRI_OPTION_TEXT];
    char data_path[TRI_OPTION_LONG_TEXT];
    char override[TRI_OPTION_LONG_TEXT];
    bool log_loss;
};

struct toy_flags {
    int64_t ranks;
};

static const char *const toy_positions[] = {"learned", "rope", "none", NULL};
static const char *const toy_position_aliases[] = {"learned_absolute", "learned", NULL};

static const struct tri_option toy_shape_rows[] = {
    {.name = "num_layers",
     .type = TRI_OPTION_INT,
     .offset = offsetof(struct toy_shape, num_layers),
     .flags = TRI_OPTION_POSITIVE,
     .help = "transformer layers"},
    {.name = "hidden_size",
     .type = TRI_OPTION_INT,
     .offset = offsetof(struct toy_shape, hidden_size),
     .default_text = "1k",
     .min = 8,
     .max = 65536,
     .help = "width of the residual stream"},
    {.name = "position_embedding_type",
     .type = TRI_OPTION_CHOICE,
     .offset = offsetof(struct toy_shape, position),
     .default_text = "rope",
     .choices = toy_positions,
     .aliases = toy_position_aliases,
     .help = "how a token knows its place"},
    {.name = "add_bias_linear",
     .type = TRI_OPTION_BOOL,
     .offset = offsetof(struct toy_shape, add_bias_linear),
     .default_text = "true",
     .help = "biases in linear layers"},
    {.name = "layer_widths",
     .type = TRI_OPTION_INTS,
     .offset = offsetof(struct toy_shape, layer_widths),
     .default_text = "[4, 5]",
     .flags = TRI_OPTION_NON_NEGATIVE | TRI_OPTION_HIDDEN,
     .help = "one width per layer",
     .when = "position_embedding_type=learned|rope|none !add_bias_linear or hidden_size>2000"},
};

static const struct tri_option toy_train_rows[] = {
    {.name = "lr",
     .type = TRI_OPTION_DOUBLE,
     .offset = offsetof(struct toy_train, lr),
     .flags = TRI_OPTION_POSITIVE,
     .help = "largest learning rate"},
    {.name = "min_lr",
     .type = TRI_OPTION_DOUBLE,
     .offset = offsetof(struct toy_train, min_lr),
     .default_text = "0",
     .flags = TRI_OPTION_NON_NEGATIVE,
     .help = "Smallest learning rate.",
     .when = "lr"},
    {.name = "clip_grad",
     .type = TRI_OPTION_DOUBLE,
     .offset = offsetof(struct toy_train, clip_grad),
     .default_text = "1.0",
     .flags = TRI_OPTION_NON_NEGATIVE,
     .help = "largest gradient norm; 0: no limit"},
    {.name = "hidden_dropout",
     .type = TRI_OPTION_DOUBLE,
     .offset = offsetof(struct toy_train, dropout),
     .default_text = "0.1",
     .min = 0,
     .max = 0.999,
     .help = "share of zeroed | activations"},
    {.name = "train_iters",
     .type = TRI_OPTION_INT,
     .offset = offsetof(struct toy_train, train_iters),
     .flags = TRI_OPTION_NON_NEGATIVE,
     .unit = "steps",
     .help = "steps in all"},
    {.name = "save_interval",
     .type = TRI_OPTION_INT,
     .offset = offsetof(struct toy_train, save_interval),
     .default_text = "none",
     .flags = TRI_OPTION_POSITIVE,
     .help = "steps between two checkpoints",
     .when = "save !log_loss"},
    {.name = "save",
     .type = TRI_OPTION_STRING,
     .offset = offsetof(struct toy_train, save),
     .help = "folder of checkpoints"},
    {.name = "data_path",
     .type = TRI_OPTION_STRINGS,
     .offset = offsetof(struct toy_train, data_path),
     .help = "corpora, with weights"},
    {.name = "override",
     .type = TRI_OPTION_MAP,
     .offset = offsetof(struct toy_train, override),
     .help = "spec by path"},
    {.name = "log_loss",
     .type = TRI_OPTION_BOOL,
     .offset = offsetof(struct toy_train, log_loss),
     .help = "print the loss",
     .when = "not_bound save"},
};

static const struct tri_option toy_flag_rows[] = {
    {.name = "ranks",
     .type = TRI_OPTION_INT,
     .offset = offsetof(struct toy_flags, ranks),
     .default_text = "1",
     .min = 1,
     .max = 4096,
     .help = "ranks in this process"},
};

#define TOY_NUM(rows) ((int)(sizeof(rows) / sizeof((rows)[0])))

static const struct tri_option_table toy_shape_table = {.section = "shape",
                                                        .rows = toy_shape_rows,
                                                        .num_rows = TOY_NUM(toy_shape_rows),
                                                        .struct_bytes = sizeof(struct toy_shape),
                                                        .scalar_row = "num_layers"};
static const struct tri_option_table toy_train_table = {.section = "train",
                                                        .rows = toy_train_rows,
                                                        .num_rows = TOY_NUM(toy_train_rows),
                                                        .struct_bytes = sizeof(struct toy_train)};
static const struct tri_option_table toy_flag_table = {.section = "",
                                                       .rows = toy_flag_rows,
                                                       .num_rows = TOY_NUM(toy_flag_rows),
                                                       .struct_bytes = sizeof(struct toy_flags)};

struct toy {
    struct toy_shape shape;
    struct toy_train train;
    struct toy_flags flags;
    unsigned char train_origin[TOY_NUM(toy_train_rows)];
    struct tri_option_place train_places[TOY_NUM(toy_train_rows)];
    struct tri_option_binding bindings[3];
    tri_error *err;
};

static inline void toy_init(struct toy *toy)
{
    memset(toy, 0, sizeof(*toy));
    toy->bindings[0] = (struct tri_option_binding){&toy_shape_table, &toy->shape, NULL, NULL};
    toy->bindings[1] = (struct tri_option_binding){&toy_train_table, &toy->train, toy->train_origin,
                                                   toy->train_places};
    toy->bindings[2] = (struct tri_option_binding){&toy_flag_table, &toy->flags, NULL, NULL};
    for (int i = 0; i < 3; i++)
        tri_option_set_defaults(toy->bindings[i].table, toy->bindings[i].config);
    toy->err = tri_error_create();
}

static inline void toy_fini(struct toy *toy)
{
    tri_error_destroy(&toy->err);
}

/* Another program's options, by the names of flags and of keys. */
static inline const char *toy_why(const char *name)
{
    if (strcmp(name, "swiglu") == 0)
        return "use activation_func";
    if (strcmp(name, "use-flash-attn") == 0 || strcmp(name, "use_flash_attn") == 0)
        return "it chooses GPU kernels";
    if (strcmp(name, "log-lossy") == 0)
        return "it is another loss";
    return NULL;
}

static inline bool toy_near(const char *name, char *buffer, int bytes)
{
    bool is_flash = strncmp(name, "use_flash", 9) == 0 || strncmp(name, "use-flash", 9) == 0;
    snprintf(buffer, (size_t)bytes, "%s", is_flash ? "use-flash-attn" : "log-lossy");
    return is_flash || strncmp(name, "log", 3) == 0;
}

static const char *toy_whose(const char *name)
{
    (void)name;
    return "Megatron-LM";
}
static const struct tri_option_megatron toy_megatron = {
    .why = toy_why, .whose = toy_whose, .nearest = toy_near};

static inline tri_status toy_read(struct toy *toy, const char *text)
{
    tri_error_clear(toy->err);
    return tri_option_read_text(text, strlen(text), "run.yaml", toy->bindings, 3, &toy_megatron,
                                toy->err);
}
