# SPDX-License-Identifier: Apache-2.0
# The program: tests/cli has a folder per case (t910-cli.sh runs it), t9-make makes their inputs. A case
# has the label quick unless its file 'labels' says otherwise.
tri_test(t911-failures ROOMS train)
tri_fuzz(request ROOMS train)

if(TARGET trine)
  add_executable(t9-make t9-make.c)
  target_link_libraries(t9-make PRIVATE tri_train)
  tri_script_test(t912-bad)
  tri_script_test(t913-bad-fails LABELS quick)
  tri_script_test(t914-plan-refuses)
  file(GLOB cases CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cli/*/cmd)
  foreach(cmd ${cases})
    get_filename_component(folder ${cmd} DIRECTORY)
    get_filename_component(case ${folder} NAME)
    set(labels quick)
    if(EXISTS ${folder}/labels)
      file(STRINGS ${folder}/labels labels)
    endif()
    if(NOT "mpi" IN_LIST labels OR MPI_C_FOUND)
      add_test(NAME t910-cli-${case}
               COMMAND ${CMAKE_COMMAND} -E env SOURCE=${CMAKE_SOURCE_DIR} BUILD=${CMAKE_BINARY_DIR}
                       TRINE=$<TARGET_FILE:trine> MAKE_INPUTS=$<TARGET_FILE:t9-make>
                       bash ${CMAKE_CURRENT_SOURCE_DIR}/t910-cli.sh ${case})
      tri_test_properties(t910-cli-${case} "${labels}")
      if(case MATCHES "^(killed|signals)-mpi$") # waits for lost ranks: not beside tests that take the cores
        set_tests_properties(t910-cli-${case} PROPERTIES RUN_SERIAL TRUE)
      endif()
    endif()
  endforeach()
endif()
