# SPDX-License-Identifier: Apache-2.0
# Log-probabilities of given tokens: three families, plain and fused, on each axis of the grid and on several.
foreach(case gpt2 llama qwen3)
  foreach(grid one tp2 pp2 dp2 sp2-pp2 tp2-pp2-dp2)
    tri_test(t823-score ROOMS train ARGS ${case} ${grid} LABELS quick)
  endforeach()
  foreach(grid one tp2 pp2 dp2 sp2-pp2)
    tri_test(t823-score ROOMS train ARGS ${case} ${grid} plain LABELS quick)
  endforeach()
endforeach()
tri_fuzz(sequences ROOMS data)
