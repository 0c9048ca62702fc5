# SPDX-License-Identifier: Apache-2.0
# Variants of modules on every kind of grid, and the values they start from.
tri_train_test(t803-modules)
tri_train_test(t804-initial-values LABELS quick)
