/* SPDX-License-Identifier: Apache-2.0 */
/* Looking up modules and model families, which spec/module_list.h and spec/families.h name. */
#include "spec/describe.h"
#include "spec/family.h"
#include "spec/families.h"

#include <string.h>

#define MODULE_ROW(name) &tri_spec_##name,
static const struct tri_module_row *const module_rows[] = {TRI_MODULES(MODULE_ROW)};
enum { NUM_ROWS = sizeof(module_rows) / sizeof(module_rows[0]) };

#define FAMILY_ROW(name)  &tri_family_##name,
#define FAMILY_TEXT(name) ", " #name
static const struct tri_family *const family_rows[] = {TRI_FAMILIES(FAMILY_ROW)};
static const char family_list[] = TRI_FAMILIES(FAMILY_TEXT);
enum { NUM_FAMILIES = sizeof(family_rows) / sizeof(family_rows[0]) };

const struct tri_module_row *tri_module_row_get(int i)
{
    return i >= 0 && i < NUM_ROWS ? module_rows[i] : NULL;
}

const struct tri_module_row *tri_module_row_find(const char *name, const char *implementation)
{
    const struct tri_module_row *found = NULL;
    for (int i = 0; i < NUM_ROWS; i++) {
        const struct tri_module_row *row = module_rows[i];
        if (strcmp(row->name, name) != 0)
            continue;
        if (!row->implementation)
            found = row;
        else if (implementation && strcmp(row->implementation, implementation) == 0)
            return row;
    }
    return found;
}

const char *tri_family_list(void)
{
    return family_list + 2; /* behind the first comma */
}

const struct tri_family *tri_family_get(int i)
{
    return i >= 0 && i < NUM_FAMILIES ? family_rows[i] : NULL;
}

const struct tri_family *tri_family_find(const char *name)
{
    for (int i = 0; i < NUM_FAMILIES; i++)
        if (strcmp(family_rows[i]->name, name) == 0 ||
            strcmp(family_rows[i]->config->model_type, name) == 0)
            return family_rows[i];
    return NULL;
}
