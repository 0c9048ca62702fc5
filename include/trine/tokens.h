/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Token files, PREFIX.bin and PREFIX.idx as Megatron-LM has them (docs/FORMATS.md): what data_path
 * names. 'trine data encode' makes them from text; a program with tokens of its own writes them
 * here.
 */
#pragma once

#include "trine/error.h"

#include <stdint.h>

/* The parts of data_path, cut by the option split; a part may have paths of its own. */
enum tri_data_part { TRI_DATA_TRAIN, TRI_DATA_VALID, TRI_DATA_TEST, TRI_NUM_DATA_PARTS };

/*
 * Writes one document of one sequence per entry of lengths, tokens one after another. The files get
 * their names only when they are whole. Fails for an id that is not below vocab_size.
 */
tri_status tri_tokens_write(const char *prefix, int64_t vocab_size, const int32_t *tokens,
                            const int64_t *lengths, int64_t num_documents, tri_error *err);
