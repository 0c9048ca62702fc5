# SPDX-License-Identifier: Apache-2.0
# optim/ and data parallelism. harness/train_run.h trains a tiny model on any grid.
set(train_run harness/train_run.c harness/train_compare.c harness/train_drop.c harness/nn_edge.c)
# tri_train_test(tNNN-noun [ARGS ...] [LABELS ...]): tri_test() with the harness.
function(tri_train_test name)
  if(NOT TARGET ${name})
    set(is_new TRUE)
  endif()
  tri_test(${name} ROOMS train ${ARGN})
  if(is_new AND TARGET ${name})
    target_sources(${name} PRIVATE ${train_run})
    target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
endfunction()

tri_test(t600-lr ROOMS train LABELS quick)
tri_train_test(t610-optimizer LABELS quick)
tri_train_test(t620-data-parallel LABELS quick)
