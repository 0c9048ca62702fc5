/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A user's own implementation of a module. Extensions are passed with a session or a training run
 * and are looked up before the registry, by the module's name; no global is written. Who writes a
 * module implements a table and so includes src/nn/build.h, which has the class and the rules.
 */
#pragma once

struct tri_module_class;

struct tri_extension {
    const struct tri_module_class *module_class;
};
