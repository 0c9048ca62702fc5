/* SPDX-License-Identifier: Apache-2.0 */
/* The check of train/vocabulary.h. */
#include "train/vocabulary.h"

#include "data/tokenizer.h"

#include <inttypes.h>

tri_status tri_run_check_vocabulary(struct tri_run_config *config, tri_error *err)
{
    const char *path = config->data.tokenizer;
    int64_t *size = &config->shape.vocab_size;
    if (!path[0])
        return TRI_OK;
    tri_tokenizer *tokenizer = NULL;
    tri_error *faults = tri_error_create();
    TRI_CHECK(faults, err, TRI_NOMEM, "out of memory for the tokenizer '%s'", path);
    tri_status status = tri_tokenizer_create(path, &tokenizer, faults);
    for (int i = 0; status != TRI_OK && *size == TRI_UNSET && i < tri_error_count(faults); i++)
        tri_error_add(err, TRI_IO, "%s", tri_error_message(faults, i));
    tri_error_destroy(&faults);
    if (status != TRI_OK)
        return *size == TRI_UNSET ? TRI_IO : TRI_OK;
    int64_t num_ids = tri_tokenizer_num_ids(tokenizer);
    tri_tokenizer_destroy(&tokenizer);
    if (*size == TRI_UNSET)
        *size = num_ids;
    if (*size >= num_ids)
        return TRI_OK;
    return tri_error_add(err, TRI_IO,
                         "'vocab_size' %" PRId64 " is smaller than tokenizer '%s', which has "
                         "%" PRId64 " ids; use %" PRId64 " or more, or leave it unset",
                         *size, path, num_ids, num_ids);
}
