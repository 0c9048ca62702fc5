# SPDX-License-Identifier: Apache-2.0
# Modules (src/nn), each alone: harness/nn_fixture.h runs them.
set(nn_fixture harness/nn_fixture.c harness/nn_edge.c harness/nn_result.c harness/nn_cases.c)
foreach(test t300-build t310-module t320-tensor-parallel t330-attention t331-positions t340-ends
        t350-golden)
  tri_test(${test} ROOMS nn LABELS quick)
  target_sources(${test} PRIVATE ${nn_fixture})
  target_include_directories(${test} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
endforeach()
target_sources(t310-module PRIVATE harness/nn_difference.c)

# The same in double: nn/, what it is sized by, and cpu_ref.
file(GLOB double_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/nn/*.c
     ${CMAKE_SOURCE_DIR}/src/spec/*.c ${CMAKE_SOURCE_DIR}/src/tensor/*.c
     ${CMAKE_SOURCE_DIR}/src/kernels/cpu_ref/*.c)
tri_test(t314-differences ROOMS nn LABELS quick)
target_sources(t314-differences PRIVATE ${double_sources} ${nn_fixture} harness/nn_difference.c
               $<TARGET_OBJECTS:as_double>)
target_compile_options(t314-differences PRIVATE
                       "SHELL:-include ${CMAKE_CURRENT_SOURCE_DIR}/harness/as_double.h")
