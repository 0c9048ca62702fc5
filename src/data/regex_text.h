/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the regular expressions of tokenizer.json files (Oniguruma's Ruby syntax) into PCRE2
 * patterns that match the same text: classes of Unicode 16 whatever the library's tables, Unicode's
 * white space, and {n,m}+ as a repetition of a repetition. What is not known to mean the same is
 * refused by name.
 */
#pragma once

#include "data/buffer.h"

/* Appends the PCRE2 pattern for pattern (UTF-8), ended by a zero byte that is not counted.
   Compile it with PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE. */
tri_status tri_regex_text_convert(const char *pattern, struct tri_bytes *out, tri_error *err);
