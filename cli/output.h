/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of results that gets its name only when it is whole: written as PATH.tmp, synced, renamed.
 * "-" is standard output; what is no ordinary file (a pipe, a device) is written as it stands.
 */
#pragma once

#include "trine/error.h"

#include <stdio.h>

struct tri_output {
    FILE *file;
    const char *path;
    char *temporary; /* NULL where there is none */
};

/* path stays the caller's and must outlive the output. */
tri_status tri_output_begin(struct tri_output *output, const char *path, tri_error *err);
/* Ends the output whether or not status is TRI_OK: publishes it, or removes what was written.
   Returns status, or how the writing failed. */
tri_status tri_output_end(struct tri_output *output, tri_status status, tri_error *err);
