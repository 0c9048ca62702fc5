/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model family: one const row per file spec/model_x.c. It says how its config.json is spelled, which layer
 * spec its shape gets, and how its file tensors relate to logical parameters. The readers in shape/ and
 * checkpoint/ take the row as an argument and know no family.
 */
#pragma once

#include "shape/hf_config.h"
#include "spec/module_spec.h"

/* All parts, group by group: for every unit of the last one (a head of v) its share of each part's rows (the
   heads of q that go with it, one of k, one of v). */
#define TRI_PART_INTERLEAVED "*"

/*
 * One file tensor. "{}" stands for the 0-based layer number in both names. A row applies when the model has
 * the logical parameter (a bias row of a model without biases is not expected in the file).
 */
struct tri_file_tensor {
    const char *file;    /* name in the safetensors files */
    const char *logical; /* logical parameter name */
    /* The part of it ("q", "gate") that the file tensor holds; NULL: all of it; or TRI_PART_INTERLEAVED. */
    const char *part;
    bool transposed; /* the file holds [in, out] where the parameter is [out, in] */
};

/* What the weight files of a family, or of several, hold. */
struct tri_family_files {
    const struct tri_file_tensor *tensors;
    int num_tensors;
    const char *prefix; /* may be missing from every name of a file: "transformer." */
    /* NULL, or NULL-ended patterns of file tensors that are no parameters; "{}" is a layer number:
       "h.{}.attn.bias" (without prefix) */
    const char *const *ignored;
};

struct tri_family {
    const char *name;                   /* "llama" */
    const struct tri_hf_family *config; /* model_type, architecture, keys (shape/hf_config.h) */
    const struct tri_family_files *files;
};

/* By name or by config.json's model_type; NULL if unknown. */
const struct tri_family *tri_family_find(const char *name);
/* "gpt2, llama, ...", for messages. */
const char *tri_family_list(void);
/* The i-th row, NULL past the end. */
const struct tri_family *tri_family_get(int i);

/* Megatron-LM's own names. Its files have no config.json and fit any shape, so it is none of the families above:
   config is NULL, and whoever reads such files says so. */
extern const struct tri_family tri_family_megatron;

/* Reads the config.json that path is or holds, by the family that it names: config is resolved and checked,
   its family set. Every problem is added to err; notes say which values are defaults. */
tri_status tri_gpt_config_read_hf(const char *path, tri_error *err, struct tri_gpt_config *config);
/* The text of config.json for config; see tri_hf_config_write(). */
tri_status tri_gpt_config_write_hf(const struct tri_gpt_config *config, const char *dtype,
                                   const char *original, tri_error *err, char **text);
/* The first family whose config.json can say all of config; NULL if none can. */
const struct tri_family *tri_family_holding(const struct tri_gpt_config *config);
/* The families that come nearest to config, which none of them holds, and what each cannot say: "llama cannot say
   'window_size'; mistral cannot say 'window_size', 'qk_layernorm'". */
void tri_family_nearest(const struct tri_gpt_config *config, char *text, size_t bytes);
