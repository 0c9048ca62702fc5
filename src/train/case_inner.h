/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of the forms of a case share. Sizes are known when they run. */
#pragma once

#include "train/case.h"

extern const struct tri_case_form tri_case_megatron;

tri_status tri_case_read_bytes(const struct tri_safetensors *file, int64_t begin, int64_t bytes,
                               void *into, tri_error *err);
/* The numbers of the [b, s] tensor called name, which is of dtype; *numbers is the caller's to free(). */
tri_status tri_case_read_table(const struct tri_case *result, const struct tri_safetensors *file,
                               const char *name, const char *dtype, tri_error *err, void **numbers);
/* Tokens and labels under their names. */
tri_status tri_case_read_batch(struct tri_case *result, const struct tri_safetensors *file,
                               const char *tokens, const char *labels, tri_error *err,
                               struct tri_case_batch *batch);
