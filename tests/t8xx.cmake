# SPDX-License-Identifier: Apache-2.0
# train/: whole steps on whole grids (tri_train_test() is in t5xx-executor.cmake).
foreach(model gpt2 gpt2_untied llama)
  tri_train_test(t800-grid ARGS ${model})
endforeach()
tri_train_test(t801-grid-faults LABELS quick)
if(MPI_C_FOUND)
  tri_mpi_test(t800-grid-mpi-tp2 2 t800-grid gpt2 mpi 2 1 1)
  tri_mpi_test(t800-grid-mpi-tp2-pp2 4 t800-grid llama mpi 2 2 1)
  tri_mpi_test(t800-grid-mpi-pp2-dp2 4 t800-grid gpt2 mpi 1 2 2)
  tri_mpi_test(t800-grid-mpi-tp2-pp2-dp2 8 t800-grid llama mpi 2 2 2)
endif()
