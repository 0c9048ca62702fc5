/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A user's own implementation of a module. Extensions are passed when the context is created and
 * are looked up before the registry, by the module's name; no global is written.
 */
#pragma once

#include "nn/build.h"

struct tri_extension {
    const struct tri_module_class *module_class;
};
