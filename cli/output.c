/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a file of results. */
#include "cli/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

tri_status tri_output_begin(struct tri_output *output, const char *path, tri_error *err)
{
    struct stat there;
    bool is_ordinary = stat(path, &there) != 0 || S_ISREG(there.st_mode);
    *output = (struct tri_output){.path = path};
    if (strcmp(path, "-") == 0) {
        output->file = stdout;
        return TRI_OK;
    }
    if (is_ordinary) {
        size_t bytes = strlen(path) + sizeof ".tmp";
        output->temporary = malloc(bytes);
        if (!output->temporary)
            return tri_error_set(err, TRI_NOMEM, "out of memory for '%s'", path);
        snprintf(output->temporary, bytes, "%s.tmp", path);
    }
    output->file = fopen(is_ordinary ? output->temporary : path, "w");
    if (output->file)
        return TRI_OK;
    int cause = errno;
    free(output->temporary);
    return tri_error_set(err, TRI_IO, "cannot open '%s': %s", path, strerror(cause));
}

/* Everything is in the file, and on the disk where it is one. */
static bool is_written(struct tri_output *output)
{
    return !ferror(output->file) && fflush(output->file) == 0 &&
           (!output->temporary || fsync(fileno(output->file)) == 0);
}

tri_status tri_output_end(struct tri_output *output, tri_status status, tri_error *err)
{
    bool written = is_written(output);
    int cause = errno;
    if (output->file != stdout && fclose(output->file) != 0 && written) {
        written = false;
        cause = errno;
    }
    bool renames = status == TRI_OK && written && output->temporary;
    if (renames && rename(output->temporary, output->path) != 0) {
        written = false;
        cause = errno;
    }
    if (status == TRI_OK && !written)
        status =
            tri_error_set(err, TRI_IO, "cannot write to '%s': %s", output->path, strerror(cause));
    if (status != TRI_OK && output->temporary)
        unlink(output->temporary);
    free(output->temporary);
    output->temporary = NULL;
    return status;
}
