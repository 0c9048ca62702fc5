/* SPDX-License-Identifier: Apache-2.0 */
/* The classes of the modules that spec/module_list.h names. */
#pragma once

#include "nn/build.h"
#include "spec/module_list.h"
#include "spec/modules.h"

#define TRI_MODULE_CLASS(name) extern const struct tri_module_class tri_module_class_##name;
TRI_MODULES(TRI_MODULE_CLASS)
#undef TRI_MODULE_CLASS
