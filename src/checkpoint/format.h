/* SPDX-License-Identifier: Apache-2.0 */
/* The files of trine/ in a checkpoint: names, version, and their reading and writing. Local. */
#pragma once

#include "checkpoint/checkpoint.h"
#include "checkpoint/checksum.h"

#include <jansson.h>

#define TRI_CHECKPOINT_VERSION   1
#define TRI_MAX_JSON_BYTES_STATE 100000000
#define TRI_STATE_FOLDER         "trine"
#define TRI_STATE_FILE           "trine/state.json"
#define TRI_CHECKSUM_FILE        "trine/checksums.json"

/* Files of one moment, names within trine/. */
struct tri_moment_files {
    const char *name;
    int num_files;
    const char *const *files;
};

tri_status tri_format_write_state(const char *path, const struct tri_checkpoint_save *save,
                                  const struct tri_disk_set *moment_sets, tri_error *err);
/* The files that state.json lists for the moment name. */
tri_status tri_format_read_moment(const char *dir, const char *name, tri_arena *arena,
                                  tri_error *err, struct tri_moment_files *files);

/* The names of the moments that state.json lists. */
tri_status tri_format_list_moments(const char *dir, tri_arena *arena, tri_error *err,
                                   const char *const **names, int *num);

/* Adds the entry of a safetensors file: its size, header and tensors (sums by tensor of set). */
tri_status tri_format_add_sums(json_t *files, const struct tri_checksum *checksum,
                               const char *file_name, const struct tri_disk_set *set, int file,
                               const uint64_t *sums, tri_error *err);
/* Adds the entry of another file below dir, reading it. */
tri_status tri_format_add_file(json_t *files, const struct tri_checksum *checksum, const char *dir,
                               const char *file_name, void *buffer, size_t buffer_bytes,
                               tri_error *err);
/* Size and sum of a whole file through buffer (a multiple of 4 bytes). */
tri_status tri_format_sum_file(const struct tri_checksum *checksum, const char *path, void *buffer,
                               size_t buffer_bytes, tri_error *err, int64_t *bytes, uint64_t *sum);
tri_status tri_format_write_sums(const char *path, json_t *files, tri_error *err);
/* The "files" of dir's checksums.json; *root is the caller's to json_decref(). */
tri_status tri_format_read_sums(const char *dir, tri_error *err, json_t **root, json_t **files);
/* A sum as it is written; false when text is none. */
bool tri_format_parse_sum(const json_t *text, uint64_t *sum);
/* Every safetensors file and the state of dir have the sizes that checksums.json says. */
tri_status tri_format_check_sizes(const char *dir, tri_arena *arena, tri_error *err);
