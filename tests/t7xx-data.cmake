# SPDX-License-Identifier: Apache-2.0
# Tests of the data room.
foreach(noun 700-mt19937 701-indexed 702-gpt-dataset 703-blend 704-batch)
  tri_test(t${noun} ROOMS data LABELS quick)
  target_link_libraries(t${noun} PRIVATE PkgConfig::JANSSON PkgConfig::ZLIB PkgConfig::ZSTD)
endforeach()
