# SPDX-License-Identifier: Apache-2.0
# Every dense case of golden/hf on every axis of the grid that its heads, layers and rows allow: logits, loss of
# each token, all gradients and twelve steps of training, by both implementations. t830-compare.c says what the
# words mean.

# tri_compare(CASE GRID...)
function(tri_compare case)
  if(NOT TARGET t830-compare)
    add_executable(t830-compare t830-compare.c)
    target_link_libraries(t830-compare PRIVATE tri_train PkgConfig::CMOCKA m)
  endif()
  add_test(NAME t830-compare-${case} COMMAND t830-compare ${case} ${ARGN}
           WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  tri_test_properties(t830-compare-${case} quick)
endfunction()

set(usual one plain pp2 tp2 sp2 tp2-pp2 sp2-pp2 sp2-pp2-plain) # what 2 layers and 2 heads allow
set(two_rows dp2 zero2)

# 4 heads
tri_compare(gpt2            ${usual} ${two_rows} tp4 tp4-pp2)
tri_compare(gpt_neox        ${usual} ${two_rows} tp4)
tri_compare(gpt_neox_serial ${usual} ${two_rows} tp4)
tri_compare(llama_linear    ${usual} ${two_rows} tp4)
# 4 heads that share 2 key/value heads, which 4 tensor-parallel ranks hold twice
tri_compare(granite         ${usual} ${two_rows} tp4)
tri_compare(llama           ${usual} ${two_rows} tp4 sp4-pp2 sp2-pp2-dp2)
tri_compare(olmo2           ${usual} ${two_rows} tp4 sp4)
tri_compare(phi3            ${usual} ${two_rows} tp4)
tri_compare(qwen3           ${usual} ${two_rows} tp4 sp4)
tri_compare(starcoder2      ${usual} ${two_rows} tp4)
tri_compare(qwen2           ${usual} dp3 zero3   tp4) # 3 rows
# and of 3 or 4 layers
tri_compare(gemma2          ${usual} ${two_rows} tp4 pp3)
tri_compare(mistral         ${usual} ${two_rows} tp4 pp3)
tri_compare(gemma3_text     ${usual} ${two_rows} tp4 pp4 pp2-vpp2)
tri_compare(smollm3         ${usual} ${two_rows} tp4 pp4 pp2-vpp2)
# 2 heads that share one, which both ranks hold; 1 row
tri_compare(qwen2_yarn      ${usual})
# 3 heads that share one; 1 row; 44 positions are no multiple of 3
tri_compare(llama3          one plain pp2 pp2-plain tp3 tp3-pp2-plain tp2-refused)
