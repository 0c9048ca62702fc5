/* SPDX-License-Identifier: Apache-2.0 */
/* Looking up the classes of modules. */
#include "nn/classes.h"

#include <string.h>

#define MODULE_CLASS(name) &tri_module_class_##name,
static const struct tri_module_class *const module_classes[] = {TRI_MODULES(MODULE_CLASS)};
enum { NUM_CLASSES = sizeof(module_classes) / sizeof(module_classes[0]) };

const struct tri_module_class *tri_module_class_get(int i)
{
    return i >= 0 && i < NUM_CLASSES ? module_classes[i] : NULL;
}

const struct tri_module_class *tri_module_class_find(const char *name, const char *implementation)
{
    const struct tri_module_class *found = NULL;
    for (int i = 0; i < NUM_CLASSES; i++) {
        const struct tri_module_class *class = module_classes[i];
        if (strcmp(class->name, name) != 0)
            continue;
        if (!class->implementation)
            found = class;
        else if (implementation && strcmp(class->implementation, implementation) == 0)
            return class;
    }
    return found;
}
