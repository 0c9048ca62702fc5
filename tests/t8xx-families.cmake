# SPDX-License-Identifier: Apache-2.0
# The cases of families that differ in attention, on each axis of the grid that heads and rows allow: of
# llama3's 3 heads and qwen2_yarn's 2 all share one key/value head, so tensor-parallel ranks hold it several
# times.
foreach(case llama3 llama_linear qwen2_yarn mistral qwen2 qwen3)
  foreach(grid one pp2)
    tri_test(t830-compare ROOMS train ARGS ${case} ${grid} LABELS quick)
  endforeach()
  tri_test(t830-compare ROOMS train ARGS ${case} one plain LABELS quick)
endforeach()
foreach(case llama_linear qwen2_yarn mistral qwen2 qwen3)
  foreach(grid tp2 sp2 tp2-pp2 sp2-pp2)
    tri_test(t830-compare ROOMS train ARGS ${case} ${grid} LABELS quick)
  endforeach()
  tri_test(t830-compare ROOMS train ARGS ${case} sp2-pp2 plain LABELS quick)
endforeach()
foreach(case llama_linear mistral qwen3)
  tri_test(t830-compare ROOMS train ARGS ${case} dp2 LABELS quick)
endforeach()
tri_test(t830-compare ROOMS train ARGS llama3 tp3 LABELS quick)
tri_test(t830-compare ROOMS train ARGS qwen2 dp3 LABELS quick)
