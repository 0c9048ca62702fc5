/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Hugging Face config.json to a gpt_config and back. A family's spelling is one table of keys; this
 * reader knows no family. A key is one of: a field, a value that the family must have, or harmless. A key
 * that is known to change the function of some model and is not off is an error; one that nobody knows is
 * kept with a note. Both spellings of rotary settings are read (rope_theta and rope_scaling of
 * transformers 4, rope_parameters of 5). A model that came from a config.json keeps its spelling; a new one
 * has the older, which both read.
 */
#pragma once

#include "shape/config.h"

struct json_t;

enum tri_hf_key_kind {
    TRI_HF_FIELD, /* the value of a shape option: number or boolean */
    TRI_HF_FIELD_OR_NULL, /* the same; null leaves the option unset, and is written when it is the default and
                             what the option derives to */
    TRI_HF_ALIAS,      /* another name of an earlier row's field, never given to a new file */
    TRI_HF_TWIN,       /* the same, which must say what that row says */
    TRI_HF_NOT,        /* boolean, the opposite of a shape option */
    TRI_HF_ACTIVATION, /* name of a nonlinearity, see shape/hf_names.c */
    TRI_HF_ROPE_THETA, /* rotary base in any of its places */
    TRI_HF_WINDOW,     /* sliding windows: see shape/hf_window.c for these five */
    TRI_HF_WINDOW_SWITCH,
    TRI_HF_WINDOW_FIRST,
    TRI_HF_WINDOW_EVERY,
    TRI_HF_LAYER_TYPES,
    TRI_HF_ROPE_LAYERS, /* list with 1 for each layer that turns by positions, 0 for others; null: every n-th
                              does not, n from the next */
    TRI_HF_ROPE_EVERY, /* "no_rope_layer_interval", 4 when absent; kept, never given to a new file */
    TRI_HF_INVERSE_SQUARE, /* softmax_scale is 1 / sqrt of it */
    TRI_HF_TOKEN,          /* token id, null, or a list of ids of which the first is meant */
    TRI_HF_FIXED,          /* must have the value of default_json */
    TRI_HF_NULL, /* null in a new file, where the class's own value would mean something; else anything */
    TRI_HF_NONE, /* a key of the base that this family does not have */
};

struct tri_hf_key {
    const char *name;
    enum tri_hf_key_kind kind;
    const char *option;       /* shape option; NULL for TRI_HF_FIXED */
    const char *default_json; /* meaning of an absent key; NULL: the key must be there */
};

/* What every model of a family has, or what its config.json cannot say. */
struct tri_hf_constant {
    const char *option;
    const char *text; /* as in a run file */
};

struct tri_hf_family {
    /* NULL, or the family that this one is like: it has that one's keys and constants, but for those here. */
    const struct tri_hf_family *base;
    const char *model_type;   /* "llama" */
    const char *architecture; /* "LlamaForCausalLM" */
    const struct tri_hf_key *keys;
    int num_keys;
    const struct tri_hf_constant *constants;
    int num_constants;
    const char *only_rope_type; /* NULL: any */
};

/* A family's rows with those of its base. */
enum { TRI_HF_MAX_KEYS = 40 };
struct tri_hf_keys {
    int num;
    struct tri_hf_key rows[TRI_HF_MAX_KEYS];
};
void tri_hf_list_keys(const struct tri_hf_family *family, struct tri_hf_keys *keys);

/* What a key outside a family's table is (shape/hf_others.c): OFF and CHANGES are of keys with which other models
   compute something else. */
enum tri_hf_other_kind { TRI_HF_HARMLESS, TRI_HF_OFF, TRI_HF_CHANGES, TRI_HF_UNKNOWN };
struct tri_hf_other {
    enum tri_hf_other_kind kind;
    const char *text; /* HARMLESS: what it is for; OFF, CHANGES: whose models; "" */
};
struct tri_hf_other tri_hf_other_key(const char *name, const struct json_t *value);
/* True when the family's config.json, or what all its models have, can give the shape option. */
bool tri_hf_config_sets(const struct tri_hf_family *family, const char *option);

/* The file of path, which is a config.json or a directory with one; size-limited. *text is the caller's
   to free(). TRI_IO when it cannot be read. */
tri_status tri_hf_config_load(const char *path, tri_error *err, char **text, size_t *bytes);

/* The model_type that text (name stands for it in messages) declares; buffer has room for bytes. */
tri_status tri_hf_config_model_type(const char *text, size_t text_bytes, const char *name,
                                    tri_error *err, char *buffer, size_t bytes);

/* Fills config, resolved and checked, from text. Every problem is added to err; what the file does not
   say is noted with the family's default. config is written only on success. */
tri_status tri_hf_config_read(const struct tri_hf_family *family, const char *text,
                              size_t text_bytes, const char *name, tri_error *err,
                              struct tri_gpt_config *config);

/* Writes config (resolved) as config.json: the same bytes for the same arguments. dtype is that of the
   weight files, "float32". original is NULL, or the text of the config.json that the model came from: what is
   still true in it stays as it is, keys that nobody knows included (unless it is of another family). *text is the
   caller's to free(). Fails when the family cannot say what config is, naming the options that differ. */
tri_status tri_hf_config_write(const struct tri_hf_family *family,
                               const struct tri_gpt_config *config, const char *dtype,
                               const char *original, tri_error *err, char **text);

/* How many options of config the family's config.json cannot say, 0: it holds config's function; -1: what it would
   say is no model. text, which may be NULL, gets their names: "'window_size', 'qk_layernorm'". */
int tri_hf_config_misfits(const struct tri_hf_family *family, const struct tri_gpt_config *config,
                          char *text, size_t bytes);
