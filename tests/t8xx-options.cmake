# SPDX-License-Identifier: Apache-2.0
# The option rows of a run: written and read back, and what each option of the shape changes.
tri_test(t805-option-rows ROOMS train LABELS quick)
tri_train_test(t806-shape-rows LABELS quick)
tri_test(t807-megatron-options ROOMS train LABELS quick)
tri_test(t808-option-effects ROOMS train LABELS quick)
