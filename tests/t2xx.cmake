# SPDX-License-Identifier: Apache-2.0
# kernels/: one battery per family, run on every backend against a reference in double.
foreach(backend cpu_ref cpu_fast checked)
  tri_test(t200-elementwise ROOMS kernels ARGS ${backend} LABELS quick)
  tri_test(t201-norms ROOMS kernels ARGS ${backend} LABELS quick)
  tri_test(t202-cross-entropy ROOMS kernels ARGS ${backend} LABELS quick)
  tri_test(t203-gemm ROOMS kernels ARGS ${backend} LABELS quick)
  tri_test(t204-attention ROOMS kernels ARGS ${backend} LABELS quick)
  tri_test(t205-dropout ROOMS kernels ARGS ${backend} LABELS quick)
  tri_test(t206-embedding ROOMS kernels ARGS ${backend} LABELS quick)
  tri_test(t207-optimizer ROOMS kernels ARGS ${backend} LABELS quick)
  tri_test(t208-gate ROOMS kernels ARGS ${backend} LABELS quick)
endforeach()
tri_test(t210-teams ROOMS kernels LABELS quick)
tri_test(t211-checked ROOMS kernels LABELS quick)
tri_test(t212-registry ROOMS kernels LABELS quick)
tri_test(t213-bench ROOMS kernels LABELS quick)

# cpu_ref once more, in double.
file(GLOB cpu_ref_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/kernels/cpu_ref/*.c)
add_library(as_double OBJECT harness/as_double.c)
tri_test(t214-differences ROOMS tensor LABELS quick)
target_sources(t214-differences PRIVATE ${cpu_ref_sources} $<TARGET_OBJECTS:as_double>
               harness/difference.c harness/difference_rows.c harness/difference_model.c)
target_compile_options(t214-differences PRIVATE
                       "SHELL:-include ${CMAKE_CURRENT_SOURCE_DIR}/harness/as_double.h")
