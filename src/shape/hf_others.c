/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of config.json that a family's table does not have: those with which the models of some family compute
 * something else, unless they are off, and those that never matter. The first list holds what the configurations
 * of transformers' decoders (5.24) and well-known files of other origin have; keys that only give a size or the
 * detail of another key's function are not in it.
 */
#include "shape/hf_inner.h"

#include <string.h>

#define MOE    "mixtures of experts"
#define MLA    "latent attention"
#define HYBRID "state-space, linear-attention and hybrid models"

/* A trailing * of a name stands for any rest. off: the values, or the items of a list, that mean nothing; null
   always does. of: whose models compute something else with it. */
static const struct changing {
    const char *name, *of, *off[2];
} changing_keys[] = {
    {"_remove_final_layer_norm", "opt", {"false"}},
    {"activation_sparsity_pattern", "gemma3n", {"0"}},
    {"add_cross_attention", "models with an encoder", {"false"}},
    {"add_full_attention_sink_bias", "mimo_v2", {"false"}},
    {"add_swa_attention_sink_bias", "mimo_v2", {"false"}},
    {"alibi", "falcon and mpt", {"false"}},
    {"altup_num_inputs", "gemma3n", {"1"}},
    {"apply_residual_connection_post_layernorm", "bloom and falcon", {"false"}},
    {"attention_bias", "llama, qwen3 and others", {"false"}},
    {"attention_chunk_size", "llama4", {NULL}},
    {"attention_in_multiplier", "falcon_h1", {"1"}},
    {"attention_k_eq_v", "gemma4", {"false"}},
    {"attention_layers", "gpt_neo", {"\"global\""}},
    {"attention_multiplier", "granite", {NULL}},
    {"attention_out_bias", "seed_oss", {"false"}},
    {"attention_out_multiplier", "falcon_h1", {"1"}},
    {"attention_output_gate", "qwen3_next", {"false"}},
    {"attention_sink", "models with attention sinks", {"false", "0"}},
    {"attention_sinks", "models with attention sinks", {"false", "0"}},
    {"attention_types", "gpt_neo", {NULL}},
    {"attention_value_scale", "mimo_v2", {"1"}},
    {"attention_window_size", "recurrent_gemma", {NULL}},
    {"attn_config", "mpt and dbrx", {"{}"}},
    {"attn_layer_indices", "bamba", {NULL}},
    {"attn_layer_period", "jamba and zamba", {"1"}},
    {"attn_logit_softcapping", "gemma2", {NULL}},
    {"attn_output_gate", "qwen3_next", {"false"}},
    {"attn_temperature_tuning", "llama4", {"false", "0"}},
    {"audio_config", "models that hear", {NULL}},
    {"bias", "falcon and internlm", {"false"}},
    {"block_auto_adjust_ff_dim", "lfm2", {"false"}},
    {"block_configs", "nemotron-nas", {NULL}},
    {"block_ffn_dim_multiplier", "lfm2", {"1"}},
    {"block_types", "recurrent_gemma", {"\"attention\""}},
    {"cca_time0", "zaya", {NULL}},
    {"chain_hidden_post_norm", "inkling", {"false"}},
    {"clip_qkv", "olmo, dbrx and mpt", {NULL}},
    {"compress_rates", "deepseek_v4", {NULL}},
    {"compression_config", "quantised models", {NULL}},
    {"conv_L_cache", "lfm2", {NULL}},
    {"cross_attention_hidden_size", "models with an encoder", {NULL}},
    {"cross_attention_layers", "mllama", {NULL}},
    {"d_rel", "inkling", {NULL}},
    {"decoder_bias", "modernbert_decoder", {"false"}},
    {"decoder_sparse_step", MOE, {NULL}},
    {"dim_model_base", "minicpm", {NULL}},
    {"do_layer_norm_before", "opt", {"true"}},
    {"embedding_fraction", "mpt", {"1"}},
    {"embedding_multiplier", "granite", {"1"}},
    {"embedding_scale", "hrm_text", {"1"}},
    {"embedding_size", "electra and roformer", {NULL}},
    {"enable_bias", "opt", {"false"}},
    {"enable_moe_block", "gemma4", {"false"}},
    {"expert_*", MOE, {NULL}},
    {"ffn_config", "dbrx", {"{}"}},
    {"final_logit_softcapping", "gemma2", {NULL}},
    {"final_logits_soft_cap", "models with soft caps", {NULL}},
    {"full_attn_alpha_factor", "minimax", {"1"}},
    {"full_attn_beta_factor", "minimax", {"1"}},
    {"full_attn_idxs", "lfm2", {NULL}},
    {"gated_norm_rank", "axk2", {NULL}},
    {"gating", "laguna", {"false"}},
    {"global_attn_every_n_layers", "afmoe and modernbert", {"1"}},
    {"H_cycles", "hrm_text", {"1"}},
    {"hc_count", "qwen4_exp", {"1"}},
    {"hc_mult", "deepseek_v4", {"1"}},
    {"head_dim", "llama and others", {NULL}},
    {"hidden_size_per_layer_input", "gemma3n and gemma4", {"0"}},
    {"hybrid_override_pattern", HYBRID, {NULL}},
    {"index_head_dim", "deepseek_v32", {NULL}},
    {"index_n_heads", "deepseek_v32", {NULL}},
    {"index_topk", "deepseek_v32", {NULL}},
    {"indexer_*", "qwen4_exp and glm_moe_dsa", {NULL}},
    {"input_embedding_size", "rembert", {NULL}},
    {"is_causal", "models that see what follows", {"true"}},
    {"is_encoder_decoder", "models with an encoder", {"false"}},
    {"is_moe", "doge", {"false"}},
    {"keep_window_size", "doge", {NULL}},
    {"key_multiplier", "falcon_h1", {"1"}},
    {"kv_lora_rank", MLA, {NULL}},
    {"L_cycles", "hrm_text", {"1"}},
    {"lambda_std_dev", "diffllama", {NULL}},
    {"laurel_rank", "gemma3n", {NULL}},
    {"layer_norm_elementwise_affine", "opt", {"true"}},
    {"layer_rope_theta", "granite_swa", {NULL}},
    {"layer_types", "gemma3, qwen3 and others", {"\"full_attention\""}},
    {"layers_block_type", HYBRID, {"\"attention\""}},
    {"learnable_sink_init", "hy_v4", {NULL}},
    {"learned_pos_emb", "mpt", {"false"}},
    {"linear_attn_config", "kimi_linear", {NULL}},
    {"linear_num_*", HYBRID, {"0"}},
    {"lm_head_bias", "phimoe and zaya", {"false"}},
    {"lm_head_multiplier", "falcon_h1", {"1"}},
    {"local_attention", "modernbert_decoder", {NULL}},
    {"local_attention_window_len", "blt", {NULL}},
    {"local_layer_ids", "inkling", {NULL}},
    {"log_scaling_n_floor", "inkling", {NULL}},
    {"logit_scale", "cohere", {"1"}},
    {"logits_mup_width_multiplier", "inkling", {"1"}},
    {"logits_scaling", "granite", {"1"}},
    {"logits_soft_cap", "recurrent_gemma", {NULL}},
    {"loop_num_passes", "inkling2_loop", {"1"}},
    {"lru_width", "recurrent_gemma", {NULL}},
    {"mamba_*", HYBRID, {NULL}},
    {"mlp_alpha_factor", "minimax", {"1"}},
    {"mlp_beta_factor", "minimax", {"1"}},
    {"mlp_bias", "llama and others", {"false"}},
    {"mlp_gate_softcap", "inkling2", {NULL}},
    {"mlp_layer_types", MOE, {"\"dense\""}},
    {"mlp_multipliers", "falcon_h1", {"1"}},
    {"mlp_up_softcap", "inkling2", {NULL}},
    {"moe_intermediate_size", MOE, {NULL}},
    {"moe_num_experts", MOE, {"0"}},
    {"multi_query", "falcon and gpt_bigcode", {"false"}},
    {"mup_attn_multiplier", "phi3small", {"1"}},
    {"mup_embedding_multiplier", "phi3small", {"1"}},
    {"mup_enabled", "afmoe", {"false"}},
    {"mup_use_scaling", "phi3small", {"false"}},
    {"mup_width_multiplier", "phi3small", {"1"}},
    {"n_layers_per_attn_res_block", "inkling2", {NULL}},
    {"n_mamba_heads", HYBRID, {NULL}},
    {"n_recurrent_loops", "dory", {"1"}},
    {"n_routed_experts", MOE, {"0"}},
    {"n_shared_experts", MOE, {"0"}},
    {"new_decoder_architecture", "falcon", {"false"}},
    {"ngpt_alpha_init", "dory", {NULL}},
    {"ngram_size", "qwen4_exp", {NULL}},
    {"no_bias", "mpt", {"true"}},
    {"no_rope_layer_interval", "smollm3 and llama4", {"0"}},
    {"no_rope_layers", "smollm3 and llama4", {"1"}},
    {"nope_layer_interval", "models with layers that do not turn", {"0"}},
    {"norm_bias", "modernbert_decoder", {"false"}},
    {"num_attention_heads_per_layer", "laguna", {NULL}},
    {"num_experts", MOE, {"0"}},
    {"num_key_value_heads_per_layer", "deci", {NULL}},
    {"num_kv_shared_layers", "gemma3n and gemma4", {"0"}},
    {"num_layers_per_stack", "hrm_text", {NULL}},
    {"num_ln_in_parallel_attn", "falcon", {NULL}},
    {"num_local_experts", MOE, {"0"}},
    {"num_mem_blocks", "zamba2", {NULL}},
    {"num_mtp_layers", "models with several predictions", {"0"}},
    {"num_nextn_predict_layers", "models with several predictions", {"0"}},
    {"num_shared_experts", MOE, {"0"}},
    {"o_lora_rank", "deepseek_v4", {NULL}},
    {"output_gate_type", "qwen4_exp", {NULL}},
    {"output_logit_soft_cap", "xlstm", {NULL}},
    {"parallel_attn", "falcon", {"false"}},
    {"partial_rotary_factor", "phi, glm and others", {"1"}},
    {"per_layer_config", "models whose layers differ", {"{}"}},
    {"ple_layer_ids", "qwen4_exp", {NULL}},
    {"position_embedding_type", "bert, granitemoehybrid and others", {"\"rope\"", "\"absolute\""}},
    {"prefix_lm", "mpt and hrm_text", {"false"}},
    {"pruned_heads", "models with heads cut out", {"{}"}},
    {"q_lora_rank", MLA, {NULL}},
    {"qk_dim_factor", "xlstm", {NULL}},
    {"qk_l2_clip_threshold", "inkling2", {NULL}},
    {"qk_layernorm", "phi, persimmon and stablelm", {"false"}},
    {"qk_ln", "mpt", {"false"}},
    {"qk_nope_head_dim", MLA, {NULL}},
    {"qk_rope_head_dim", MLA, {NULL}},
    {"quantization_config", "quantised models", {NULL}},
    {"query_pre_attn_scalar", "gemma2", {NULL}},
    {"relative_attention_num_buckets", "t5", {NULL}},
    {"rescale_embeddings", "big_bird", {"false"}},
    {"residual_multiplier", "granite", {"1"}},
    {"residual_scale", "models with scaled residuals", {"1"}},
    {"rope_interleave", "deepseek_v3", {"false"}},
    {"rope_interleaved", "models that turn neighbours", {"false"}},
    {"rope_local_base_freq", "gemma3", {NULL}},
    {"rope_parameters", "llama and others", {NULL}},
    {"rope_ratio", "chatglm", {"1"}},
    {"rope_scaling", "llama and others", {NULL}},
    {"rope_theta", "llama and others", {NULL}},
    {"rotary_dim", "gptj and codegen", {NULL}},
    {"rotary_emb_base", "gpt_neox", {NULL}},
    {"rotary_pct", "gpt_neox", {"1"}},
    {"scale_attn_by_inverse_layer_idx", "gpt2", {"false"}},
    {"scale_attn_weights", "gpt2", {"true"}},
    {"scale_depth", "minicpm", {NULL}},
    {"scale_emb", "minicpm", {"1"}},
    {"scale_embedding", "bart, xglm and others", {"false"}},
    {"sliding_window", "mistral and others", {NULL}},
    {"sliding_window_size", "inkling", {NULL}},
    {"ssm_*", HYBRID, {NULL}},
    {"state_size", HYBRID, {NULL}},
    {"swa_head_dim", "inkling", {NULL}},
    {"swa_num_*", "inkling", {NULL}},
    {"swiglu_alpha", "gpt_oss", {NULL}},
    {"swiglu_limit", "gpt_oss and deepseek_v4", {NULL}},
    {"text_config", "models that read more than text", {NULL}},
    {"total_ut_steps", "ouro", {"1"}},
    {"use_attention_gate", "lfm3", {"false"}},
    {"use_attention_sinks", "models with attention sinks", {"false"}},
    {"use_bias", "starcoder2, ernie4_5 and others", {"false"}},
    {"use_bidirectional_attention", "gemma3", {"false"}},
    {"use_double_wide_mlp", "gemma4", {"false"}},
    {"use_dynamic_ntk", "qwen", {"false"}},
    {"use_learned_position_embeddings", "trocr", {"false"}},
    {"use_logn_attn", "qwen", {"false"}},
    {"use_long_context", "zamba2", {"false"}},
    {"use_mem_rope", "zamba2", {"false"}},
    {"use_mrope", "qwen2_vl", {"false"}},
    {"use_parallel_residual", "gpt_neox and stablelm", {"false"}},
    {"use_post_norm", "hyperclovax", {"false"}},
    {"use_qk_norm", "cohere, glm4_moe and llama4", {"false"}},
    {"use_qkv_bias", "stablelm", {"false"}},
    {"use_rope", "models without positions", {"true"}},
    {"use_sandwich_norm", "lfm3", {"false"}},
    {"use_sliding_window", "qwen2 and qwen3", {"false"}},
    {"v_head_dim", MLA, {NULL}},
    {"vision_config", "models that see", {NULL}},
    {"vocab_size_per_layer_input", "gemma3n and gemma4", {"0"}},
    {"window_size", "gpt_neo", {NULL}},
    {"word_embed_proj_dim", "opt", {NULL}},
    {"zero_expert_num", MOE, {"0"}},
};
enum { NUM_CHANGING = sizeof(changing_keys) / sizeof(changing_keys[0]) };

/* What keys are for that never matter; a trailing * stands for any rest. */
static const struct harmless {
    const char *names, *why;
} harmless_keys[] = {
    {"bad_words_ids begin_suppress_tokens cache_implementation decoder_start_token_id "
     "diversity_penalty do_sample early_stopping encoder_no_repeat_ngram_size "
     "exponential_decay_length_penalty forced_bos_token_id forced_eos_token_id length_penalty "
     "max_length max_new_tokens min_length no_repeat_ngram_size num_beam_groups num_beams "
     "num_logits_to_keep num_return_sequences prefix remove_invalid_values repetition_penalty "
     "suppress_tokens temperature top_k top_p typical_p use_cache",
     "a setting of generation"},
    {"boi_token_id boi_token_index boa_token_id cls_token_id eod_token_id eoa_token_id "
     "eoi_token_id eoi_token_index image_token_id image_token_index mask_token_id sep_token_id "
     "tokenizer_class unk_token_id video_token_id",
     "a matter of the tokenizer"},
    {"classifier_* finetuning_task id2label is_decoder label2id num_labels problem_type summary_* "
     "task_specific_params use_bfloat16",
     "a matter of other tasks"},
    {"attention_softmax_in_fp32 attn_implementation chunk_size_feed_forward "
     "gradient_checkpointing "
     "init_device output_attentions output_hidden_states output_router_logits output_scores "
     "output_past pretraining_tp reorder_and_upcast_attn return_dict return_dict_in_generate "
     "scale_attention_softmax_in_fp32 slow_but_exact tie_encoder_decoder tf_legacy_loss "
     "torchscript "
     "use_flash_attn use_flash_attention",
     "a way of computing, not what is computed"},
    {"_* architectures auto_map is_llama_config n_ctx original_max_position_embeddings "
     "tie_last_hidden_states transformers.js_config transformers_version model_type",
     "told to other programs"},
    {"dtype torch_dtype", "the type of the weights in the files"},
    {"pad_token_id", "the token that fills up batches"},
    {"embd_pdrop", "a dropout that transformers does not use"},
    {"max_window_layers", "it needs a sliding window"},
};
enum { NUM_HARMLESS = sizeof(harmless_keys) / sizeof(harmless_keys[0]) };

/* True when the word that begins at pattern and has length bytes stands for name. */
static bool stands_for(const char *pattern, size_t length, const char *name)
{
    bool any_rest = pattern[length - 1] == '*';
    size_t compared = length - any_rest;
    return strncmp(pattern, name, compared) == 0 && (any_rest || name[compared] == '\0');
}

static bool is_among(const char *names, const char *name)
{
    while (*names) {
        size_t length = strcspn(names, " ");
        if (stands_for(names, length, name))
            return true;
        names += length + strspn(names + length, " ");
    }
    return false;
}

static bool is_off_value(const struct changing *key, const json_t *value)
{
    for (int i = 0; i < 2 && key->off[i]; i++) {
        json_t *off = json_loads(key->off[i], JSON_DECODE_ANY, NULL);
        bool same = off && tri_hf_json_equal(off, value);
        json_decref(off);
        if (same)
            return true;
    }
    return json_is_null(value);
}

static bool is_off(const struct changing *key, const json_t *value)
{
    size_t i;
    json_t *item;
    if (!json_is_array(value))
        return is_off_value(key, value);
    json_array_foreach(value, i, item)
    {
        if (!is_off_value(key, item))
            return false;
    }
    return true;
}

struct tri_hf_other tri_hf_other_key(const char *name, const json_t *value)
{
    for (int i = 0; i < NUM_CHANGING; i++)
        if (is_among(changing_keys[i].name, name))
            return (struct tri_hf_other){.kind = is_off(&changing_keys[i], value) ? TRI_HF_OFF
                                                                                  : TRI_HF_CHANGES,
                                         .text = changing_keys[i].of};
    for (int i = 0; i < NUM_HARMLESS; i++)
        if (is_among(harmless_keys[i].names, name))
            return (struct tri_hf_other){.kind = TRI_HF_HARMLESS, .text = harmless_keys[i].why};
    return (struct tri_hf_other){.kind = TRI_HF_UNKNOWN, .text = ""};
}
