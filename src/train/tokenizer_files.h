/* SPDX-License-Identifier: Apache-2.0 */
/* Which files make up a tokenizer, so that a checkpoint can hold copies of all of them. */
#pragma once

#include "base/arena.h"
#include "base/check.h"

/*
 * path is what the option tokenizer names: a tokenizer.json, or a folder that holds one (or
 * vocab.json and merges.txt). *files: those that are there, tokenizer_config.json and its like
 * beside it among them; all live in arena. An empty path has none. Local.
 */
tri_status tri_tokenizer_files(const char *path, tri_arena *arena, tri_error *err,
                               const char *const **files, int *num_files);
