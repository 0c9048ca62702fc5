# SPDX-License-Identifier: Apache-2.0
# comm/: the battery on every backend, failures, and the reduction that worlds are created with.
tri_test(t400-comm ROOMS comm kernels ARGS self LABELS quick)
tri_test(t400-comm ROOMS comm kernels ARGS threads LABELS quick)
tri_test(t401-reduce ROOMS comm kernels LABELS quick)
tri_test(t402-comm-failure ROOMS comm kernels ARGS threads LABELS quick)
foreach(backend self threads)
  tri_test(t403-comm-misuse ROOMS comm kernels ARGS ${backend} LABELS quick)
  tri_test(t404-comm-steady ROOMS comm kernels ARGS ${backend} LABELS quick)
endforeach()
target_link_options(t404-comm-steady PRIVATE
                    LINKER:--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc)

# tri_mpi_test(name NUM_RANKS program [arguments])
function(tri_mpi_test name num_ranks program)
  add_test(NAME ${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/run_mpi.sh ${num_ranks}
                                $<TARGET_FILE:${program}> ${ARGN}
           WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  tri_test_properties(${name} mpi)
endfunction()

if(MPI_C_FOUND)
  foreach(num_ranks 1 3 8)
    tri_mpi_test(t400-comm-mpi-${num_ranks} ${num_ranks} t400-comm mpi)
  endforeach()
  tri_mpi_test(t403-comm-misuse-mpi 3 t403-comm-misuse mpi)
  tri_mpi_test(t404-comm-steady-mpi 4 t404-comm-steady mpi)
  foreach(case stall fail chain circle abandon absent trace flip_refused mismatch_kind
          mismatch_count mismatch_root mismatch_reduce mismatch_message mismatch_pair)
    tri_mpi_test(t402-comm-failure-mpi-${case} 4 t402-comm-failure mpi ${case})
  endforeach()
  add_test(NAME t402-comm-hang COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/t402-comm-hang.sh
                                       $<TARGET_FILE:t402-comm-failure>)
  tri_test_properties(t402-comm-hang mpi)
else()
  tri_test(t403-comm-misuse ROOMS comm kernels ARGS none LABELS quick)
endif()
