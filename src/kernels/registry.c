/* SPDX-License-Identifier: Apache-2.0 */
/* The backends by name: one line each. */
#include "kernels/kernels.h"
#include "kernels/scratch.h"

#include <string.h>

static const struct {
    const char *name;
    const struct tri_kernels *(*table)(void);
    const struct tri_scratch_table *scratch;
} backends[] = {
    {"cpu_ref", tri_kernels_cpu_ref, &tri_scratch_cpu_ref},
    {"cpu_fast", tri_kernels_cpu_fast, &tri_scratch_cpu_fast},
};
#define NUM_BACKENDS ((int)(sizeof(backends) / sizeof(backends[0])))

const struct tri_kernels *tri_kernels_find(const char *name, tri_error *err)
{
    for (int i = 0; i < NUM_BACKENDS; i++)
        if (strcmp(name, backends[i].name) == 0)
            return backends[i].table();
    tri_error_set(err, TRI_INVALID, "no kernel backend '%s'; use cpu_ref or cpu_fast", name);
    return NULL;
}

const struct tri_scratch_table *tri_kernels_scratch(const char *name)
{
    for (int i = 0; i < NUM_BACKENDS; i++)
        if (strcmp(name, backends[i].name) == 0)
            return backends[i].scratch;
    return NULL;
}
