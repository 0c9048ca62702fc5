# SPDX-License-Identifier: Apache-2.0
# The option rows of a run, all of them.
tri_script_test(t104-options-read)
tri_test(t105-family-options ROOMS spec LABELS quick)
