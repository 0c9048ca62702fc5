# SPDX-License-Identifier: Apache-2.0
# Shapes at the edge, layers that differ, and one module replaced, as whole training runs.
tri_train_test(t860-edges)
tri_train_test(t861-layers)
