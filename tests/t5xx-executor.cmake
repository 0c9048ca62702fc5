# SPDX-License-Identifier: Apache-2.0
# pipeline/: the executor; and how tests train a tiny model on any grid with harness/train_run.h.

# tri_train_test(tNNN-noun [ARGS ...] [LABELS ...]): tri_test() with that harness.
function(tri_train_test name)
  if(NOT TARGET ${name})
    set(is_new TRUE)
  endif()
  tri_test(${name} ROOMS train ${ARGN})
  if(is_new AND TARGET ${name})
    target_sources(${name} PRIVATE harness/train_run.c harness/train_compare.c harness/train_drop.c
                                   harness/nn_edge.c)
    target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
endfunction()

tri_train_test(t510-executor LABELS quick)
