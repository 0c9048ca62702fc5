# SPDX-License-Identifier: Apache-2.0
# train/: whole steps on whole grids. harness/train_run.h trains a tiny model on any of them.
set(train_run harness/train_run.c harness/train_compare.c harness/nn_edge.c)
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

foreach(model gpt2 gpt2_untied llama)
  tri_train_test(t800-grid ARGS ${model})
endforeach()
if(MPI_C_FOUND)
  tri_mpi_test(t800-grid-mpi-tp2 2 t800-grid gpt2 mpi 2 1 1)
  tri_mpi_test(t800-grid-mpi-tp2-pp2 4 t800-grid llama mpi 2 2 1)
  tri_mpi_test(t800-grid-mpi-pp2-dp2 4 t800-grid gpt2 mpi 1 2 2)
  tri_mpi_test(t800-grid-mpi-tp2-pp2-dp2 8 t800-grid llama mpi 2 2 2)
endif()
