# SPDX-License-Identifier: Apache-2.0
# Modules (src/nn), each alone: harness/nn_fixture.h runs them.
set(nn_fixture harness/nn_fixture.c harness/nn_edge.c harness/nn_result.c harness/nn_cases.c)
foreach(test t300-build t310-module t320-tensor-parallel t330-attention t331-positions t340-ends
        t350-golden)
  tri_test(${test} ROOMS nn LABELS quick)
  target_sources(${test} PRIVATE ${nn_fixture})
  target_include_directories(${test} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
endforeach()
