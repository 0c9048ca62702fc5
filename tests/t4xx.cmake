# SPDX-License-Identifier: Apache-2.0
# comm/: the battery on every backend, failures, and the reduction that worlds are created with.
tri_test(t400-comm ROOMS comm kernels ARGS self LABELS quick)
tri_test(t400-comm ROOMS comm kernels ARGS threads LABELS quick)
tri_test(t401-reduce ROOMS comm kernels LABELS quick)
