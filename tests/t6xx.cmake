# SPDX-License-Identifier: Apache-2.0
# optim/ and data parallelism (tri_train_test() is in t5xx-executor.cmake).
tri_test(t600-lr ROOMS train LABELS quick)
tri_train_test(t610-optimizer LABELS quick)
tri_train_test(t620-data-parallel LABELS quick)
