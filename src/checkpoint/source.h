/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The safetensors files of a directory, opened and checked: one model.safetensors, or the shards
 * that model.safetensors.index.json names, or a given list. Everything wrong is added to the
 * record; a source with broken files is still good for listing what else is wrong. Local.
 */
#pragma once

#include "checkpoint/disk_set.h"
#include "checkpoint/safetensors.h"

#define TRI_MAX_JSON_BYTES 100000000

struct tri_source_mapped {
    const char *name; /* tensor */
    int file;
};

struct tri_source {
    const char *dir;
    int num_files;
    struct tri_safetensors *files; /* fd -1 and no tensors: broken or absent */
    bool has_index;
    int num_mapped;
    const struct tri_source_mapped *mapped; /* the index's weight_map, by name */
};

/* Opens a Hugging Face directory. Always close the source, also after a failure. */
tri_status tri_source_open_hf(const char *dir, tri_arena *arena, tri_error *err,
                              struct tri_source *source);
/* Opens the named files of dir. */
tri_status tri_source_open_files(const char *dir, const char *const *names, int num,
                                 tri_arena *arena, tri_error *err, struct tri_source *source);
void tri_source_close(struct tri_source *source);

/* Where a tensor of a disk set was found. */
struct tri_source_place {
    int file; /* -1: not found */
    const struct tri_safetensors_tensor *tensor;
};

/*
 * Finds every tensor of set in source and checks names, shapes and dtypes strictly: missing,
 * unexpected, doubly present and misshapen tensors are all added to err. family NULL: names are
 * taken as they are; else its prefix may be missing, its ignored patterns are counted with a note,
 * and the output layer of a tied model may be there when it equals the word table (compare_tied:
 * look at its values, too). places has room for set->num_tensors.
 */
tri_status tri_source_match(const struct tri_source *source, const struct tri_disk_set *set,
                            const struct tri_family *family, bool compare_tied, tri_arena *arena,
                            tri_error *err, struct tri_source_place *places);
