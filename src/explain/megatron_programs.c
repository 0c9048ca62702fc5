/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs beside pretrain_gpt.py that scripts of Megatron-LM launch: what they do, and their own arguments, so
 * that none of them is taken for a slip. The launchers' words, which may stand among the arguments, are here too.
 */
#include "explain/megatron.h"
#include "explain/word_rows.h"

#include <string.h>

static const char vision_why[] =
    "an argument of the vision and audio examples, not of pretrain_gpt.py";
static const char serving_why[] = "an argument of the inference programs; use 'trine generate'";
static const char modelopt_why[] =
    "an argument of the Model Optimizer's examples, not of pretrain_gpt.py";
static const char elastic_why[] = "an argument of elastification, not of pretrain_gpt.py";
static const char rl_why[] =
    "an argument of the reinforcement learning tools, not of pretrain_gpt.py";
static const char convert_why[] =
    "an argument of the checkpoint tools; trine reads and writes Hugging Face directories";
static const char prepare_why[] = "an argument of the data tools; use 'trine data encode'";
static const char tasks_why[] = "an argument of the downstream tasks, not of pretrain_gpt.py";
static const char launcher_why[] =
    "a word of the launcher; trine takes --ranks, or the MPI launcher's number";

static const struct tri_word other_words[] = {
    FLAG("allow-checkpoint-without-temporal-compression allow-cross-sample-attention "
         "allow-large-videos allow-missing-conv-merge-checkpoint "
         "allow-missing-sound-model-checkpoint allow-missing-sound-projection-checkpoint "
         "allow-missing-vision-projection-checkpoint apply-data-augment conv-merging "
         "decoder-tp-comm-overlap disable-vision-class-token drop-vision-class-token "
         "dynamic-resolution dynamic-resolution-no-truncate enable-fusions "
         "encoder-ddp-overlap force-system-message freeze-LM freeze-ViT freeze-lm freeze-vit "
         "freeze-projection freeze-sound-model freeze-sound-projection "
         "freeze-vision-projection llm-only log-model-act-norms log-model-grad-norms "
         "masked-tiling-dynamic-resolution match-tiling-dynamic-resolution "
         "mimo-encoder-prefetch mimo-encoder-prefetch-debug only-keep-samples-with-img "
         "optimize-broadcast pixel-shuffle radio-cpe-aspect-ratio-select "
         "radio-disable-cpe radio-force-cpe-eval-mode radio-force-eval-mode "
         "radio-interpolate-only-cpe recompute-sound recompute-sound-projection "
         "recompute-vision recompute-vision-projection relax-sender-check "
         "relax-thinking-trace-check separate-video-embedder sound-pad-to-clip-duration "
         "tokenizer-keep-history-thinking unfreeze-router use-area-weighted-aspect-ratio "
         "use-loss-scaling use-mcore-inference use-new-dataloader-path "
         "use-packed-sequence use-te use-thumbnail use-tile-tags use-tiling "
         "use-vision-backbone-fp8-arch video-aug-scale-resolution-only "
         "video-frame-temporal-jitter video-maintain-aspect-ratio",
         TRI_REFUSED, NULL, vision_why),
    VALUE("audio-encoder-model audio-path ckpt class-token-len config-path "
          "dataloader-save dataloader-seed dataloader-seq-length dataset-config "
          "dataset-provider download-root dynamic-resolution-max-patches "
          "dynamic-resolution-min-patches dynamic-resolution-min-side "
          "efficient-video-sampling-variant encoder-dp encoder-tp eos-id groundtruth-path "
          "gt-path image-break-token image-path image-seq-length image-size "
          "image-tag-type image-token-id input-image input-image-path input-path "
          "input-pipeline-parallel iteration language-model-checkpoint "
          "language-model-type llm-cp llm-dp llm-ep llm-expt-tp llm-offset llm-pp llm-tp "
          "lr-data-range-end lr-data-range-start max-num-tiles mcore-model metadata-path "
          "mimo-encoder-prefetch-depth mock-dataset-size model-name model-provider "
          "model-type num-frames num-partitions num-samples-per-partition "
          "online-evaluation-config output-dir output-path output-pipeline-parallel "
          "packing-buffer-size packing-knapsack-algorithm packing-seq-length pad-length "
          "pad-token-id partition-id recompute-granularity-vision recompute-method-vision "
          "recompute-vision-num-layers sound-batch-split sound-clip-duration "
          "sound-embedding-size sound-min-duration sound-model-type sound-target-rate "
          "tensor-parallel-size thumbnail-area-threshold tokenizer-prompt-format "
          "total-seq-length video-aug-scale-frames-up video-aug-scale-resolution-up "
          "video-default-fps video-max-num-frames video-min-num-frames "
          "video-prompt-version video-target-img-size video-target-num-patches "
          "video-temporal-patch-size vision-model-type vision-projection-type",
          NULL, TRI_REFUSED, NULL, vision_why),
    LIST("hf-assign-unused-tokens num-layers-per-pp-rank prefixes special-tokens", NULL,
         TRI_REFUSED, NULL, vision_why),
    FLAG("async-mode benchmark-profile drain-between-batches inference-ckpt-non-strict "
         "no-record-throughput num-tokens-from-file output-request-events "
         "return-log-probs skip-prompt-log-probs throughput-check-only use-coordinator "
         "use-flashinfer-fused-rope",
         TRI_REFUSED, NULL, serving_why),
    VALUE("batch-boundaries coordinator-host coordinator-port "
          "coordinator-schedule-output-path elements engine-type frontend-replicas host "
          "incoming-requests-duration incoming-requests-per-sec "
          "incoming-requests-per-step inference-repeat-n input-prompts-json "
          "max-batch-size moe-routing-trace-max-inference-steps num-input-tokens "
          "num-tokens-to-generate output-every-n-results port prompt-file "
          "prompt-file-num-truncate suspend-resume-interval suspend-timeout "
          "termination-id top-n-logprobs",
          NULL, TRI_REFUSED, NULL, serving_why),
    LIST("encoder-prompts num-tokens-to-prompt parsers stop-words", NULL, TRI_REFUSED, NULL,
         serving_why),
    FLAG("calib-use-random-offset disable-qkv-quant disable-tqdm export-extra-modules "
         "export-vllm-fq skip-generate sync-expert-weight-amax weight-only",
         TRI_REFUSED, NULL, modelopt_why),
    VALUE("algorithm auto-quantize-bits auto-quantize-checkpoint auto-quantize-method "
          "auto-quantize-score-size calib-batch-size calib-dataset "
          "calib-dataset-path-or-name calib-max-sequence-length calib-size draft-length "
          "draft-topk eagle-config export-dir extra-model-path few-shots fraction "
          "generate-output-len ground-truth-path hf-model lower-bound megatron-model "
          "mix-hidden-states mmlu-batch-size mmlu-dataset offline-distillation-data osl "
          "pretrained-model-name pretrained-model-path prompts prompts-path "
          "prune-export-config prune-intermediate-ckpt recipe references "
          "save-ground-truth-path save-path",
          NULL, TRI_REFUSED, NULL, modelopt_why),
    LIST("auto-quantize-formats", NULL, TRI_REFUSED, NULL, modelopt_why),
    FLAG("add-skipping binary-mask disable-budget distill-only distillation "
         "enable-router flex-hetero-ffn flex-hetero-mamba flex-hetero-moe-expert "
         "flex-strict flextron freeze-model freeze-router is-flex-eval no-attn-skip "
         "normalize-router-logits soft-mask",
         TRI_REFUSED, NULL, elastic_why),
    VALUE("basemodel-type bpe-kv-cache bpe-max-buffer bpe-params bpe-ssm-cache "
          "budget-type curr-iteration distill-coeff flextron-config-file hard-sample-th "
          "linear-scaler-end linear-scaler-start loss-alpha lr-mult-router mem-batch-size "
          "mem-infer-seq-len memory-profile memory-profile-path "
          "original-model-sample-prob param-budget-target prefill-chunk-size router-beta "
          "router-gbs router-inter-dim router-std skip-num-attn-layer-constraint "
          "skip-total-layer-constraint tau-decay tau-init",
          NULL, TRI_REFUSED, NULL, elastic_why),
    LIST("budget-list budget-probs emb-int-list emb-per-list force-emb force-mamba "
         "force-mlp force-router-skip layer-ranking-list log-budgets mamba-int-list "
         "mamba-per-list mlp-int-list mlp-per-list moe-expert-int-list "
         "moe-expert-per-list override-selected-budget",
         NULL, TRI_REFUSED, NULL, elastic_why),
    VALUE("env-config num-benchmark-iterations num-benchmark-warmup refit-mode", NULL, TRI_REFUSED,
          NULL, rl_why),
    FLAG("no-checking reset-iterations", TRI_REFUSED, NULL, convert_why),
    VALUE("d-conv d-model direction input-format load-dir loader loader-transformer-impl "
          "mamba-d-state mamba-version mamba2-head-dim mamba2-n-groups max-queue-size "
          "megatron-path num-gpt-layers output-format save-dir saver "
          "saver-transformer-impl target-expert-parallel-size "
          "target-pipeline-parallel-size target-pp-size target-tensor-parallel-size "
          "target-tp-size true-vocab-size vit-dummy-head-count",
          NULL, TRI_REFUSED, NULL, convert_why),
    FLAG("append-eod find-optimal-num-workers keep-newlines keep-sequential-samples "
         "multimodal split-sentences",
         TRI_REFUSED, NULL, prepare_why),
    VALUE("lang max-documents out-path output-prefix partitions prepare-cache-world-size "
          "prompt-path workers",
          NULL, TRI_REFUSED, NULL, prepare_why),
    LIST("json-keys workers-to-check", NULL, TRI_REFUSED, NULL, prepare_why),
    VALUE("func guess-file answer-file prompt-type num-prompt-examples knwl-gen-file "
          "test-file train-file processed-file",
          NULL, TRI_REFUSED, NULL, tasks_why),
    VALUE("task", NULL, TRI_REFUSED, NULL, tasks_why),
};

static const struct tri_word launcher_words[] = {
    VALUE("nproc-per-node nnodes num-gpus num-nodes num-processes", NULL, TRI_DIFFERS, "=",
          launcher_why),
    VALUE("node-rank master-addr master-port rdzv-* max-restarts monitor-interval role redirects "
          "tee log-dir local-addr start-method local-ranks-filter num-machines machine-rank "
          "main-process-ip main-process-port hostfile include exclude launcher launcher-args",
          NULL, TRI_NO_EFFECT, NULL, launcher_why),
    FLAG("standalone use-env no-python run-path", TRI_NO_EFFECT, NULL, launcher_why),
};

#define LISTED(s, w)                                                                               \
    {                                                                                              \
        .section = s, .words = w, .num = sizeof w / sizeof w[0], .is_never_guessed = true          \
    }
const struct tri_word_list tri_megatron_programs[2] = {
    LISTED(TRI_SECTION_OTHER, other_words),
    LISTED(TRI_SECTION_PLACEMENT, launcher_words),
};

/* What a script whose name has that beginning or part does; the first row that fits. */
static const struct {
    const char *part, *what;
} programs[] = {
    {"bert", "BERT models; trine trains GPT models"},
    {"t5", "T5 models; trine trains GPT models"},
    {"ict", "retrieval models; trine trains GPT models"},
    {"realm", "retrieval models; trine trains GPT models"},
    {"retro", "retrieval models; trine trains GPT models"},
    {"biencoder", "retrieval models; trine trains GPT models"},
    {"mamba", "hybrid models, which are not built yet"},
    {"hybrid", "hybrid models, which are not built yet"},
    {"vlm", "vision models; trine trains GPT models"},
    {"mimo", "vision and audio models; trine trains GPT models"},
    {"vision", "vision models; trine trains GPT models"},
    {"dino", "vision models; trine trains GPT models"},
    {"vit", "vision models; trine trains GPT models"},
    {"text_gen", "serving; use 'trine generate'"},
    {"generat", "serving; use 'trine generate'"},
    {"inference", "serving; use 'trine generate'"},
    {"server", "serving; use 'trine generate'"},
    {"preprocess", "making token files; use 'trine data encode'"},
    {"merge_datasets", "making token files; use 'trine data encode'"},
    {"convert", "converting checkpoints; trine reads and writes Hugging Face directories"},
    {"checkpoint_util", "converting checkpoints; trine reads and writes Hugging Face directories"},
    {"train_rl", "reinforcement learning; trine pre-trains"},
    {"quantize", "the Model Optimizer; trine pre-trains"},
    {"prune", "the Model Optimizer; trine pre-trains"},
    {"export", "the Model Optimizer; trine pre-trains"},
    {"evaluat", "scoring; use 'trine evaluate'"},
    {"lm_eval", "scoring; use 'trine evaluate'"},
};

const char *tri_megatron_program(const char *script)
{
    bool is_gpt = strstr(script, "gpt") && strstr(script, "pretrain") == script;
    if (is_gpt)
        return NULL;
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        if (strstr(script, programs[i].part))
            return programs[i].what;
    }
    return "";
}
