/* SPDX-License-Identifier: Apache-2.0 */
/* What the files behind shape/hf_config.h share. */
#pragma once

#include "shape/hf_config.h"

#include <jansson.h>

/* Values of "layer_types", and keys of "rope_parameters" where layers differ. */
#define TRI_HF_SLIDING "sliding_attention"
#define TRI_HF_FULL    "full_attention"

/* A shape option and the struct that holds it, at either level. */
struct tri_hf_field {
    const struct tri_option *row;
    void *base;
};
struct tri_hf_field tri_hf_field_find(struct tri_gpt_config *config, const char *option);

/* transformers' name of a nonlinearity to the option's choice and back; NULL if there is none. */
const char *tri_hf_activation_choice(const char *name);
const char *tri_hf_activation_name(const char *choice);
/* "gelu, gelu_new, ..." for messages. */
const char *tri_hf_activation_list(void);

/* True for another place of a field that has one already. */
bool tri_hf_is_second(const struct tri_hf_key *key);
/* The row of an option, its first place, or NULL. */
const struct tri_hf_key *tri_hf_key_of(const struct tri_hf_keys *keys, const char *option);
/* The row of a kind, or NULL. */
const struct tri_hf_key *tri_hf_key_of_kind(const struct tri_hf_keys *keys,
                                            enum tri_hf_key_kind kind);
/* True when a and b have the same value of option. */
bool tri_hf_same_option(const char *option, const struct tri_gpt_config *a,
                        const struct tri_gpt_config *b);
/* The value of a number or boolean option; a new reference. */
json_t *tri_hf_write_field(const struct tri_gpt_config *config, const char *option);

/* A new reference to root, with rope_parameters that are told apart by layer_types turned into those of the full
   layers and rope_local_base_freq, where the family has that key. NULL: the problem is in err. */
json_t *tri_hf_rope_flatten(const struct tri_hf_keys *keys, const json_t *root, const char *name,
                            tri_error *err);
/* Rotary scaling of root into config (hf_rope.c); returns the number of problems, added to err. only_type: that
   of the family. */
int tri_hf_rope_read(const struct tri_hf_keys *keys, const char *only_type, const json_t *root,
                     const char *name, tri_error *err, struct tri_gpt_config *config);
/* True for rows of the rotary base and share, which tri_hf_rope_write() writes. */
bool tri_hf_is_rope_key(const struct tri_hf_key *key);
/* Sets root's keys of rotary positions in the spelling that it has, unless was (NULL: nothing) says the same as config
   (hf_rope_write.c); not 0: out of memory. */
int tri_hf_rope_write(const struct tri_hf_keys *keys, const struct tri_gpt_config *config,
                      const struct tri_gpt_config *was, json_t *root);

/* Sliding windows (hf_window.c): likewise. */
bool tri_hf_is_window_key(enum tri_hf_key_kind kind);
int tri_hf_window_read(const struct tri_hf_keys *keys, const json_t *root, const char *name,
                       tri_error *err, struct tri_gpt_config *config);
/* Sets root's keys of windows unless they say already what config says. */
int tri_hf_window_write(const struct tri_hf_keys *keys, const struct tri_gpt_config *config,
                        json_t *root);

/* tri_gpt_config_check() of what came from the file called name: its problems name that file and its keys. */
tri_status tri_hf_check(const struct tri_hf_keys *keys, const struct tri_gpt_config *config,
                        const char *name, tri_error *err);

/* Same value; 1 and 1.0 are the same. */
bool tri_hf_json_equal(const json_t *a, const json_t *b);
/* value on one line, cut where it is long. */
void tri_hf_json_text(const json_t *value, char *buffer, size_t bytes);

/* Reads text as one JSON object without duplicate keys; NULL with the problem in err. */
json_t *tri_hf_parse(const char *text, size_t bytes, const char *name, tri_error *err);

/* tri_hf_config_read() of a parsed object. */
tri_status tri_hf_read_object(const struct tri_hf_family *family, const json_t *root,
                              const char *name, tri_error *err, struct tri_gpt_config *config);
