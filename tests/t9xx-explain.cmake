# SPDX-License-Identifier: Apache-2.0
# What configurations of other programs mean here; tests/cli/explain-* are the command's cases.
tri_test(t930-explain-words ROOMS train LABELS quick)
tri_test(t931-explain-shell ROOMS explain LABELS quick)
tri_fuzz(arguments ROOMS train)
