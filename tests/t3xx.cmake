# SPDX-License-Identifier: Apache-2.0
# Modules (src/nn), each alone: harness/nn_fixture.h runs them.
set(nn_fixture harness/nn_fixture.c harness/nn_result.c harness/nn_cases.c)

tri_test(t310-module ROOMS nn LABELS quick)
target_sources(t310-module PRIVATE ${nn_fixture})
foreach(test t310-module)
  target_include_directories(${test} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
endforeach()
