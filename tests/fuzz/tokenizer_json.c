/* SPDX-License-Identifier: Apache-2.0 */
/* A tokenizer.json of any content; where it loads, text is encoded and decoded with it. */
#include "replay.h"

#include "data/tokenizer.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char text[] = "ab ba 12 <s>x\xc3\xa9\n  y<t>";
    tri_error *err = tri_error_create();
    tri_tokenizer *tokenizer = NULL;
    struct tri_ids ids = {0};
    struct tri_bytes back = {0};
    tri_status status =
        tri_tokenizer_create_from_json((const char *)data, size, "fuzz", &tokenizer, err);
    if ((status == TRI_OK) != (tri_error_count(err) == 0))
        abort();
    if (status == TRI_OK) {
        tri_tokenizer_encode(tokenizer, text, strlen(text), TRI_ENCODE_TEMPLATE, &ids, err);
        tri_tokenizer_encode(tokenizer, (const char *)data, size, TRI_ENCODE_REPLACE_INVALID, &ids,
                             err);
        for (int64_t i = 0; i < ids.num; i++) {
            if (ids.data[i] < 0 || ids.data[i] >= tri_tokenizer_num_ids(tokenizer))
                abort();
        }
        tri_tokenizer_decode(tokenizer, ids.data, ids.num, true, &back, err);
    }
    tri_ids_fini(&ids);
    tri_bytes_fini(&back);
    tri_tokenizer_destroy(&tokenizer);
    tri_error_destroy(&err);
    return 0;
}
