/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a model looks like on disk: its list of file tensors, for the weights by its family's table,
 * for a moment one tensor per logical parameter, and how they are dealt out to files. Everything
 * follows from the model and the size limit, never from the grid, so all ranks know every byte's
 * place before any data exists. Lives in an arena; pure.
 */
#pragma once

#include "checkpoint/layout.h"
#include "spec/family.h"

/* A model as the checkpoint sees it. */
struct tri_checkpoint_model {
    const struct tri_family *family;
    int64_t vocab_size;
    bool tied; /* the output layer is the word table */
    int num_params;
    const struct tri_param_spec *const
        *params; /* of the whole model, in model order, each logical name
                                                   once (no tied copies); local dims are not used */
};

/* The logical names that the tied table's two homes have. */
#define TRI_WORD_TABLE   "embedding.word_embeddings.weight"
#define TRI_OUTPUT_LAYER "output_layer.weight"

#define TRI_DEFAULT_FILE_LIMIT 5000000000

struct tri_disk_file {
    const char *name;
    const char *header;
    int64_t header_bytes, bytes;
};

struct tri_disk_set {
    int num_params;
    const int *
        param_first; /* [num_params + 1]: tensors of parameter p are [param_first[p], param_first[p+1]) */
    const int *by_name; /* parameters sorted by logical name */
    const struct tri_checkpoint_model *model;
    int num_tensors;
    struct tri_disk_tensor *tensors;
    int64_t elements; /* of all tensors */
    int num_files;    /* 0 until split */
    const struct tri_disk_file *files;
};

/* The weight tensors by model's family. Fails when a parameter has no file tensor, naming each. */
tri_status tri_disk_set_weights(const struct tri_checkpoint_model *model, tri_arena *arena,
                                tri_error *err, struct tri_disk_set *set);
/* One tensor per parameter, under its logical name. */
tri_status tri_disk_set_logical(const struct tri_checkpoint_model *model, tri_arena *arena,
                                tri_error *err, struct tri_disk_set *set);
/* Deals the tensors to files in model order; a new file begins where the next tensor would
   exceed limit bytes of data. One file is STEM.safetensors, several are
   STEM-00001-of-0000n.safetensors. */
tri_status tri_disk_set_split(struct tri_disk_set *set, const char *stem, int64_t limit,
                              tri_arena *arena, tri_error *err);
/* Index of the parameter with that logical name; -1 if there is none. */
int tri_disk_set_find_param(const struct tri_disk_set *set, const char *name);
/* True when text is pattern with a decimal number, written to *number, in the place of "{}". */
bool tri_name_matches(const char *pattern, const char *text, int64_t *number);
