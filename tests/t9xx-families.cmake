# SPDX-License-Identifier: Apache-2.0
# Families at the command line.
tri_script_test(t950-published LABELS quick)
