# SPDX-License-Identifier: Apache-2.0
# The program from end to end: make train, and what it saves.
if(TARGET trine)
  tri_script_test(t840-train-curve)
  tri_script_test(t841-saved-opens LABELS quick)
  tri_script_test(t842-make-train)
endif()
