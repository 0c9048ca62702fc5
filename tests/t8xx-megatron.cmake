# SPDX-License-Identifier: Apache-2.0
# What Megatron-LM's own modules computed: its dense cases on each axis of the grid, and what is wrong with a
# case.
foreach(case gpt2_erf_gelu gpt2_tanh_gelu llama)
  foreach(grid one tp2 pp2 dp2 sp2 sp2-pp2)
    tri_test(t831-megatron ROOMS train ARGS ${case} ${grid} fused LABELS quick)
  endforeach()
  foreach(grid one sp2-pp2)
    tri_test(t831-megatron ROOMS train ARGS ${case} ${grid} plain LABELS quick)
  endforeach()
endforeach()
tri_test(t832-case ROOMS train LABELS quick)
