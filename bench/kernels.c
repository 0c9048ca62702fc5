/* SPDX-License-Identifier: Apache-2.0 */
/* bench-kernels [BACKEND [TEAM [REPEATS [ONLY]]]]: the CSV of kernels/bench.h on stdout. */
#include "kernels/bench.h"

#include "trine/error.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
    const struct tri_kernels_bench options = {
        .backend = argc > 1 ? argv[1] : "cpu_fast",
        .team_size = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 2,
        .repeats = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 11,
        .only = argc > 4 ? argv[4] : NULL,
    };
    tri_error *err = tri_error_create();
    if (tri_kernels_bench(stdout, &options, err) != TRI_OK) {
        fprintf(stderr, "error: %s\n", tri_error_message(err, 0));
        tri_error_destroy(&err);
        return 1;
    }
    tri_error_destroy(&err);
    return 0;
}
