# SPDX-License-Identifier: Apache-2.0
# Tests of the data room.
foreach(noun 700-mt19937 701-indexed 702-gpt-dataset 703-blend 704-batch)
  tri_test(t${noun} ROOMS data LABELS quick)
  target_link_libraries(t${noun} PRIVATE PkgConfig::JANSSON PkgConfig::ZLIB PkgConfig::ZSTD)
endforeach()
add_executable(t710-tokenizer t710-tokenizer.c)
target_link_libraries(t710-tokenizer PRIVATE tri_data PkgConfig::CMOCKA PkgConfig::JANSSON)
foreach(name kjv_bytelevel llama3_like)
  tri_test(t710-tokenizer ARGS ${name} LABELS quick)
endforeach()
foreach(name gpt2 qwen3 deepseek_v3)
  tri_test(t710-tokenizer ARGS ${name})
endforeach()
