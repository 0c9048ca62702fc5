/* SPDX-License-Identifier: Apache-2.0 */
/* The end of the process after one of our own mistakes. */
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

_Noreturn void tri_assert_fail(const char *condition, const char *file, int line)
{
    dprintf(STDERR_FILENO, "bug: %s:%d: assertion '%s' failed\n", file, line, condition);
    abort();
}
