/* SPDX-License-Identifier: Apache-2.0 */
/* A vLLM configuration: YAML or JSON, keys as its flags. It serves a model, so little of it is a question of
   training; what is, is taken over. */
#include "explain/record.h"
#include "explain/word_rows.h"

#include <string.h>
#include <unistd.h>

static const char serving_why[] = "serving requests; trine generates with 'trine generate'";
static const char gpu_why[] = "GPU memory and kernels; trine plans its memory exactly";
static const char low_why[] = "low precision is not built yet; trine computes in fp32";
static const char moe_why[] = "mixture of experts is not built yet";
static const char lora_why[] = "adapters are not built yet";
static const char other_why[] = "models that read more than text; trine trains GPT models";

static const struct tri_word shape_words[] = {
    VALUE("model", NULL, TRI_DIFFERS, "=", NULL),
    VALUE("max-model-len", NULL, TRI_DIFFERS, "seq_length",
          "the longest text of a request; here the length of a sample"),
    LIST("hf-overrides", NULL, TRI_LATER, NULL,
         "change config.json itself, or its options in shape"),
    VALUE("rope-scaling", NULL, TRI_LATER, NULL, "change config.json itself"),
    VALUE("rope-theta", NULL, TRI_UNDERSTOOD, "rotary_base", NULL),
};
static const struct tri_word spec_words[] = {
    VALUE("enforce-eager compilation-config cudagraph-* max-cudagraph-* max-seq-len-to-capture "
          "attention-backend "
          "attention-config use-v2-block-manager kernel-config moe-backend linear-backend",
          NULL, TRI_NO_EFFECT, NULL, gpu_why),
    VALUE("model-impl", "auto", TRI_NO_EFFECT, NULL, "trine has its own models"),
};
static const struct tri_word placement_words[] = {
    VALUE("tensor-parallel-size tp", "1", TRI_UNDERSTOOD, "tensor_model_parallel_size", NULL),
    VALUE("pipeline-parallel-size pp", "1", TRI_UNDERSTOOD, "pipeline_model_parallel_size", NULL),
    VALUE("data-parallel-size dp", "1", TRI_DIFFERS, NULL,
          "follows from --ranks: ranks / (tp x pp)"),
    VALUE("decode-context-parallel-size dcp prefill-context-parallel-size dcp-*", "1", TRI_LATER,
          NULL, "context parallelism is not built yet"),
    VALUE("enable-expert-parallel ep enable-eplb eplb-config num-redundant-experts all2all-backend",
          "false", TRI_LATER, NULL, moe_why),
    VALUE("distributed-executor-backend data-parallel-* ray-* nnodes node-rank master-addr "
          "master-port disable-custom-all-reduce worker-*",
          NULL, TRI_NO_EFFECT, NULL, "trine takes its ranks from --ranks or the MPI launcher"),
    VALUE("cpu-offload-gb kv-offloading-*", "0", TRI_LATER, NULL, "offloading is not built yet"),
};
static const struct tri_word train_words[] = {
    VALUE("seed", NULL, TRI_UNDERSTOOD, "seed", NULL),
    VALUE("dtype", "float32", TRI_LATER, NULL, low_why),
    VALUE("quantization q quantization-*", NULL, TRI_LATER, NULL, low_why),
    VALUE("kv-cache-dtype kv-cache-dtype-* calculate-kv-scales", "auto", TRI_NO_EFFECT, NULL,
          gpu_why),
};
static const struct tri_word data_words[] = {
    VALUE("tokenizer", NULL, TRI_DIFFERS, "=", "trine reads tokenizer.json"),
    VALUE(
        "tokenizer-mode tokenizer-revision tokenizer-pool-* skip-tokenizer-init trust-remote-code",
        NULL, TRI_NO_EFFECT, NULL, "a detail of a Python tokenizer; trine reads tokenizer.json"),
};
static const struct tri_word checkpoint_words[] = {
    VALUE("load-format download-dir revision code-revision hf-token hf-config-path config-format "
          "model-loader-extra-config ignore-patterns use-tqdm-on-load safetensors-load-strategy "
          "pt-load-map-location",
          NULL, TRI_NO_EFFECT, NULL, "trine loads Hugging Face directories from disk"),
};
static const struct tri_word other_words[] = {
    VALUE("host port uds uvicorn-log-level allow-credentials allowed-* api-key ssl-* root-path "
          "middleware return-tokens-as-token-ids enable-* disable-* no-enable-* no-disable-* "
          "served-model-name task runner "
          "convert generation-config override-generation-config chat-template* "
          "default-chat-template-kwargs response-role "
          "tool-* reasoning-* guided-decoding-backend structured-outputs-config max-logprobs "
          "logprobs-mode logits-processors max-num-* max-long-partial-prefills scheduling-policy "
          "scheduler-* async-scheduling stream-interval num-lookahead-slots preemption-mode "
          "long-prefill-token-threshold speculative-config num-speculative-tokens "
          "additional-config kv-transfer-config kv-events-config ec-transfer-config "
          "otlp-traces-endpoint collect-detailed-traces show-hidden-metrics-for-version "
          "observability-config api-server-count headless config profiler-config "
          "prefix-caching-hash-algo pooler-config override-pooler-config override-attention-dtype",
          NULL, TRI_NO_EFFECT, NULL, serving_why),
    VALUE("gpu-memory-utilization block-size swap-space num-gpu-blocks-override "
          "kv-cache-memory-bytes "
          "kv-sharing-fast-prefill mamba-* device",
          NULL, TRI_NO_EFFECT, NULL, gpu_why),
    VALUE("lora-* max-lora* max-cpu-loras fully-sharded-loras default-mm-loras long-lora-* "
          "max-prompt-adapter*",
          NULL, TRI_LATER, NULL, lora_why),
    VALUE("limit-mm-per-prompt mm-* media-io-kwargs interleave-mm-strings skip-mm-profiling "
          "video-pruning-rate language-model-only",
          NULL, TRI_REFUSED, NULL, other_why),
};
#define LISTED(s, w)                                                                               \
    {                                                                                              \
        .section = s, .words = w, .num = sizeof w / sizeof w[0]                                    \
    }
static const struct tri_word_list lists[] = {
    LISTED(TRI_SECTION_SHAPE, shape_words),
    LISTED(TRI_SECTION_SPEC, spec_words),
    LISTED(TRI_SECTION_PLACEMENT, placement_words),
    LISTED(TRI_SECTION_TRAIN, train_words),
    LISTED(TRI_SECTION_DATA, data_words),
    LISTED(TRI_SECTION_CHECKPOINT, checkpoint_words),
    LISTED(TRI_SECTION_OTHER, other_words),
};
static const struct tri_word_list *const list_pointers[] = {
    &lists[0], &lists[1], &lists[2], &lists[3], &lists[4], &lists[5], &lists[6], NULL};
static const struct tri_vocabulary words = {.title = "a vLLM configuration",
                                            .unknown = "no key of vLLM that is known here",
                                            .lists = list_pointers};

static bool is_there(tri_explanation *out, const char *folder, const char *file)
{
    return access(tri_explain_format(out, "%.1500s/%s", folder, file), R_OK) == 0;
}

/* A model or tokenizer on this disk is taken; a name on the hub must be fetched first. */
static void explain_left(tri_explanation *out, struct tri_explain_field *field, const char *name,
                         const json_t *value)
{
    const char *path = json_string_value(value);
    bool is_model = strcmp(name, "model") == 0;
    const char *file = is_model ? "config.json" : "tokenizer.json";
    if (!path) {
        field->answer = TRI_REFUSED;
        field->why = "it must be a text";
    } else if (!is_there(out, path, file)) {
        field->why = tri_explain_format(out, "fetch it; trine reads '%s' from a folder", file);
    } else {
        field->answer = TRI_UNDERSTOOD;
        field->why = "";
        tri_explain_set(out, field, is_model ? "shape_from" : "tokenizer",
                        is_model ? path : tri_explain_format(out, "%.900s/%s", path, file));
    }
}

static tri_status read_vllm(struct tri_explain_input *input)
{
    json_t *root;
    TRI_TRY(tri_explain_parse(input, &root));
    tri_explain_object(input->out, &words, root, explain_left);
    json_decref(root);
    return TRI_OK;
}

const struct tri_explain_kind tri_explain_vllm = {
    .name = "vllm",
    .title = "a vLLM configuration",
    .read = read_vllm,
};
