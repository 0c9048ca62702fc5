# SPDX-License-Identifier: Apache-2.0
# libtrine, static and shared, from the objects of all rooms; headers, program and pkg-config files. Who
# writes a module of one's own (trine/extension.h) needs the headers of the rooms as well: these are installed
# apart, for the compiler flags of trine-extension.pc, and may change with every version.
include(GNUInstallDirs)

get_property(room_objects GLOBAL PROPERTY TRI_ROOM_OBJECTS)
set(trine_libraries Threads::Threads m PkgConfig::JANSSON PkgConfig::YAML PkgConfig::PCRE2
                    PkgConfig::UTF8PROC PkgConfig::ZLIB PkgConfig::ZSTD PkgConfig::OPENBLAS)
if(MPI_C_FOUND)
  list(APPEND trine_libraries MPI::MPI_C)
endif()
foreach(kind STATIC SHARED)
  string(TOLOWER ${kind} suffix)
  add_library(trine_${suffix} ${kind} ${room_objects})
  set_target_properties(trine_${suffix} PROPERTIES OUTPUT_NAME trine LINKER_LANGUAGE C
                        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  target_link_libraries(trine_${suffix} PUBLIC ${trine_libraries})
  install(TARGETS trine_${suffix} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
                                  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()

set(trine_mpi_libraries "")
if(MPI_C_FOUND)
  list(JOIN MPI_C_LIBRARIES " " trine_mpi_libraries)
endif()
# trine.pc finds its prefix from its own place, so that "cmake --install --prefix" and moves work.
file(RELATIVE_PATH trine_up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
foreach(name trine trine-extension)
  configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
install(DIRECTORY include/trine DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY src/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/trine-extension
        FILES_MATCHING PATTERN "*.h")
if(TARGET trine)
  install(TARGETS trine RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
