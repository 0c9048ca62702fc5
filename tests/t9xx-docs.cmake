# SPDX-License-Identifier: Apache-2.0
# What is said about the program is what it does.
tri_script_test(t901-options-page LABELS quick)
tri_script_test(t902-docs)
tri_test(t903-public ROOMS train infer LABELS quick)
