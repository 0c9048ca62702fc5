/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments that programs derived from Megatron-LM took besides: Megatron-DeepSpeed of BigScience and of
 * Microsoft, Megatron-LLM, Pai-Megatron-Patch, NeMo. Megatron-LM itself never took them.
 */
#include "explain/megatron.h"
#include "explain/word_rows.h"

static const char moe_why[] = "mixture of experts is not built yet";
static const char distill_why[] = "learning from a teacher model is not built yet";
static const char falcon_why[] =
    "Falcon's block is not built yet; use_parallel_residual is GPT-NeoX's, with two norms";

static const struct tri_word shape_words[] = {
    FLAG("layernorm-1p", TRI_UNDERSTOOD, "layernorm_zero_centered_gamma=true",
         "use --layernorm-zero-centered-gamma"),
    FLAG("embed-layernorm", TRI_LATER, NULL, "a norm behind the embedding is not built yet"),
    FLAG("use-alibi-mask", TRI_LATER, NULL, "positions by ALiBi are not built yet"),
    VALUE("glu-activation", NULL, TRI_UNDERSTOOD, "=",
          "use --activation-func and --gated-linear-unit"),
    VALUE("num-attention-heads-kv num-key-value-heads n-head-kv", NULL, TRI_UNDERSTOOD,
          "num_query_groups", "use --num-query-groups"),
    VALUE("rope-theta rotary-position-embeddings-theta", "10000", TRI_UNDERSTOOD, "rotary_base",
          "use --rotary-base"),
    FLAG("use-llama2-rotary-position-embeddings use-mistral-rotary-position-embeddings",
         TRI_UNDERSTOOD, "position_embedding_type=rope", "use --position-embedding-type rope"),
    FLAG("use-rms-norm", TRI_UNDERSTOOD, "normalization=RMSNorm", "use --normalization RMSNorm"),
    FLAG("use-bias", TRI_UNDERSTOOD, "add_bias_linear=true", "use --add-bias-linear"),
    FLAG("no-tie-embed-logits", TRI_UNDERSTOOD, "untie_embeddings_and_output_weights=true",
         "use --untie-embeddings-and-output-weights"),
    FLAG("parallel-attn parallel-layernorm", TRI_LATER, NULL, falcon_why),
    FLAG("use-post-ln", TRI_LATER, NULL, "the norm behind the sum is not built yet"),
    FLAG("lima-dropout", TRI_LATER, NULL, "dropout that grows with the layer is not built yet"),
    VALUE("sliding-window sliding-window-size", NULL, TRI_REFUSED, NULL,
          "use --window-size, in tokens before and behind"),
    VALUE("attention-head-type", "multihead", TRI_REFUSED, NULL, "use --num-query-groups"),
    NEGATED("disable-bias-linear-fc disable-bias-attn-fc", TRI_REFUSED, NULL,
            "use --disable-bias-linear, with --add-mlp-bias or --add-proj-bias where one is meant"),
    VALUE("rotary-scale-factor", "1", TRI_REFUSED, NULL,
          "use --rotary-seq-len-interpolation-factor"),
    VALUE("extra-vocab-size pad-vocab-size-to", NULL, TRI_DIFFERS, NULL,
          "trine pads vocab_size itself, masks the padding in the loss, and never saves it"),
    FLAG("position-encoding-2d use-normhead", TRI_LATER, NULL, "this model is not built yet"),
    VALUE("hidden-size-teacher num-layers-teacher num-attention-heads-teacher", NULL, TRI_LATER,
          NULL, distill_why),
    LIST("num-experts-teacher", NULL, TRI_LATER, NULL, distill_why),
    VALUE("expert-interval mlp-type topk moe-topk num-experts-switch num-shared-experts "
          "shared-moe-ffn-hidden-size router-type",
          NULL, TRI_LATER, NULL, moe_why),
    FLAG("moe enable-shared-expert", TRI_LATER, NULL, moe_why),
    VALUE("qk-nope-head-dim qk-rope-head-dim", NULL, TRI_LATER, NULL,
          "multi-latent attention is not built yet"),
};

static const char kernel_why[] = "a choice among GPU kernels; trine has its own";
static const char memory_why[] =
    "how recomputation and tiling save memory; results are the same without";
static const char offload_why[] =
    "offloading is not built yet; results are the same without it, memory is not";

static const struct tri_word spec_words[] = {
    FLAG("abort-on-unmet-fused-kernel-constraints disable-mem-efficient-ln disable-te-fused-rope "
         "use-flash-attn-v1 use-flash-attn-v2 use-flash-attn-triton use-flash-attn-builder "
         "transformer-timers",
         TRI_NO_EFFECT, NULL, kernel_why),
    VALUE("transformer-type", "megatron", TRI_NO_EFFECT, NULL, kernel_why),
    FLAG("deepspeed-activation-checkpointing partition-activations contigious-checkpointing "
         "synchronize-each-layer profile-backward split-transformers memory-centric-tiled-linear",
         TRI_NO_EFFECT, NULL, memory_why),
    VALUE("tile-factor", "1", TRI_NO_EFFECT, NULL, memory_why),
    FLAG("scattered-embeddings", TRI_DIFFERS, NULL, "dropout is the same in every layout"),
    FLAG("checkpoint-in-cpu cpu-offloading", TRI_LATER, NULL, offload_why),
    NEGATED("disable-parallel-output", TRI_NO_EFFECT, NULL, kernel_why),
};

static const char zero_why[] = "when and how ZeRO sends its messages; results are the same";
static const char cp_why[] = "context parallelism is not built yet";

static const struct tri_word placement_words[] = {
    VALUE("zero-stage", "0", TRI_UNDERSTOOD, "=", "use --use-distributed-optimizer"),
    FLAG("zero-contigious-gradients zero-reduce-scatter", TRI_NO_EFFECT, NULL, zero_why),
    VALUE("zero-reduce-bucket-size zero-allgather-bucket-size", NULL, TRI_NO_EFFECT, NULL,
          zero_why),
    VALUE("remote-device", "none", TRI_LATER, NULL, offload_why),
    FLAG("use-pin-memory", TRI_NO_EFFECT, NULL, offload_why),
    FLAG("cpu-optimizer", TRI_LATER, NULL, offload_why),
    VALUE("optimizer-offload-policy optimizer-offload-chunk-size optimizer-offload-auto-threshold",
          NULL, TRI_LATER, NULL, offload_why),
    VALUE("pp-partition-method", NULL, TRI_DIFFERS, NULL,
          "layers are spread evenly; write another split with --pipeline-model-parallel-layout"),
    FLAG("no-pipeline-parallel", TRI_NO_EFFECT, NULL, "trine has one way to run one stage"),
    FLAG("enable-zbh1-pipeline enable-zbh1-exact-semantics", TRI_DIFFERS, NULL,
         "--schedule takes a schedule in text form; results are the same"),
    FLAG("sync-tp-duplicated-parameters", TRI_NO_EFFECT, NULL,
         "replicas hold the same bits by construction"),
    VALUE("ds-sequence-parallel-size", "1", TRI_LATER, NULL, cp_why),
    FLAG("ds-sequence-parallel-fpdt ds-sequence-parallel-fpdt-offloading "
         "force-ds-sequence-parallel",
         TRI_LATER, NULL, cp_why),
    VALUE("ds-sequence-parallel-fpdt-chunk-size", NULL, TRI_LATER, NULL, cp_why),
    VALUE("moe-expert-parallel-size", "1", TRI_LATER, NULL, moe_why),
    FLAG("enable-expert-tensor-parallelism create-moe-param-group use-tutel "
         "moe-input-feature-slicing",
         TRI_LATER, NULL, moe_why),
    FLAG("deepspeed deepspeed-mpi deepscale ds-fused-adam cpu-torch-adam", TRI_NO_EFFECT, NULL,
         "which code trains; trine has its own"),
};

static const char token_count_why[] =
    "counted in iterations of global_batch_size x seq_length tokens, rounded down";
static const char sft_why[] = "supervised fine-tuning is not built yet";
static const char skip_why[] = "skipping iterations is not built yet";
static const char score_why[] = "use 'trine evaluate'";
static const char stop_why[] = "send SIGTERM instead: the run saves and stops";
static const char prefix_why[] = "objectives of prefix and T5 models; trine trains GPT models";

static const struct tri_word train_words[] = {
    VALUE("deepspeed-config deepscale-config", NULL, TRI_DIFFERS, NULL,
          "give that file to 'trine explain' too"),
    VALUE("train-tokens lr-decay-tokens", NULL, TRI_DIFFERS, "=", token_count_why),
    VALUE("lr-warmup-tokens", "0", TRI_DIFFERS, "=", token_count_why),
    FLAG("data-efficiency-curriculum-learning random-ltd", TRI_LATER, NULL,
         "curricula are not built yet"),
    LIST("skip-train-iteration-range skip-iters", NULL, TRI_LATER, NULL, skip_why),
    FLAG("no-calculate-per-token-loss", TRI_UNDERSTOOD, "calculate_per_token_loss=false",
         "use --calculate-per-token-loss=false"),
    FLAG("loss-on-targets-only", TRI_LATER, NULL, sft_why),
    VALUE("scalar-loss-mask", "0.0", TRI_LATER, NULL, sft_why),
    FLAG("reweight-loss-based-on-position-frequency", TRI_REFUSED, NULL, prefix_why),
    VALUE("noise-density mean-noise-span-length", NULL, TRI_REFUSED, NULL, prefix_why),
    FLAG("use-bnb-optimizer", TRI_LATER, NULL, "optimizers of 8 bits are not built yet"),
    VALUE("z-loss-weight", "0.0", TRI_LATER, NULL, "an added loss is not built yet"),
    VALUE("eval-only", NULL, TRI_DIFFERS, NULL, score_why),
    FLAG("inference ds-inference", TRI_DIFFERS, NULL, score_why),
    LIST("metrics", NULL, TRI_DIFFERS, NULL, score_why),
    VALUE("kill-switch-path kill-switch-file", NULL, TRI_DIFFERS, NULL, stop_why),
    VALUE("train-mode", "pretrain", TRI_DIFFERS, NULL, "say --finetune where weights alone go on"),
    FLAG("kd mos", TRI_LATER, NULL, distill_why),
    VALUE("kd-alpha-ce kd-beta-ce kd-temp", NULL, TRI_LATER, NULL, distill_why),
    VALUE("moe-train-capacity-factor moe-eval-capacity-factor", "1.0", TRI_LATER, NULL, moe_why),
    VALUE("moe-min-capacity", "4", TRI_LATER, NULL, moe_why),
    NEGATED("disable-moe-token-dropping disable-moe-top2-2nd-expert-sampling", TRI_LATER, NULL,
            moe_why),
};

static const char cache_why[] =
    "how the index of samples is built and kept; the samples are the same";
static const char index_why[] = "the order of samples follows from seed; leave it out";
static const char split_why[] = "use --train-data-path, --valid-data-path and --test-data-path";
static const char tok_why[] = "a detail of a Python tokenizer; trine reads tokenizer.json";

static const struct tri_word data_words[] = {
    VALUE("tokenizer-name-or-path", NULL, TRI_DIFFERS, "=", "trine reads tokenizer.json"),
    VALUE("patch-tokenizer-type vocab-extra-ids-list", NULL, TRI_NO_EFFECT, NULL, tok_why),
    FLAG("no-new-tokens", TRI_NO_EFFECT, NULL, tok_why),
    LIST("train-weighted-split-paths valid-weighted-split-paths test-weighted-split-paths", NULL,
         TRI_REFUSED, NULL, split_why),
    VALUE("train-weighted-split-paths-path valid-weighted-split-paths-path "
          "test-weighted-split-paths-path",
          NULL, TRI_REFUSED, NULL, split_why),
    VALUE("valid-num-workers aml-data-download-path use-dataset-only", NULL, TRI_NO_EFFECT, NULL,
          cache_why),
    FLAG("repeated-dataloader return-data-index keep-last", TRI_NO_EFFECT, NULL, cache_why),
    VALUE("train-desc-path train-doc-idx-path train-idx-path train-sample-idx-path "
          "train-shuffle-idx-path",
          NULL, TRI_REFUSED, NULL, index_why),
    VALUE("train-data-exact-num-epochs", NULL, TRI_REFUSED, NULL,
          "say how long the run is with --train-iters"),
    VALUE("dataset", NULL, TRI_DIFFERS, NULL, "trine reads token files: --data-path"),
    VALUE("max-padding-length", NULL, TRI_NO_EFFECT, NULL, "samples are full; nothing is padded"),
    FLAG("variable-seq-lengths", TRI_REFUSED, NULL, "every sample has seq_length tokens"),
};

static const struct tri_word checkpoint_words[] = {
    FLAG("universal-checkpoint", TRI_NO_EFFECT, NULL, "a checkpoint is read by every layout"),
    VALUE("load-iters", NULL, TRI_UNDERSTOOD, "ckpt_step", "use --ckpt-step"),
    VALUE("load-tag", NULL, TRI_REFUSED, NULL, "use --ckpt-step"),
    VALUE("load-teacher", NULL, TRI_LATER, NULL, distill_why),
    FLAG("reset-iteration reset-progress", TRI_REFUSED, NULL, "use --finetune"),
    FLAG("no-load-lr-state", TRI_REFUSED, NULL, "use --override-opt-param-scheduler"),
};

static const char wandb_why[] = "not built yet; --log-json has the same numbers";

static const struct tri_word logging_words[] = {
    FLAG("log-optimizer-states-to-tensorboard wandb-logger", TRI_LATER, NULL, wandb_why),
    VALUE("wandb-api-key wandb-id wandb-name wandb-resume", NULL, TRI_LATER, NULL, wandb_why),
    VALUE("codecarbon-dir log-path", NULL, TRI_NO_EFFECT, NULL, wandb_why),
    VALUE("log-level log-level-replica", NULL, TRI_NO_EFFECT, NULL, "Megatron-LM's own messages"),
    VALUE("profile-steps", NULL, TRI_NO_EFFECT, NULL,
          "GPU and PyTorch profilers; trine prints the time per phase"),
    FLAG("barrier-with-L1-time", TRI_NO_EFFECT, NULL, "the time per phase is in every log line"),
};

#define LISTED(s, w)                                                                               \
    {                                                                                              \
        .section = s, .words = w, .num = sizeof w / sizeof w[0], .is_never_guessed = true          \
    }
const struct tri_word_list tri_megatron_forks[TRI_NUM_SECTIONS - 1] = {
    LISTED(TRI_SECTION_SHAPE, shape_words),
    LISTED(TRI_SECTION_SPEC, spec_words),
    LISTED(TRI_SECTION_PLACEMENT, placement_words),
    LISTED(TRI_SECTION_TRAIN, train_words),
    LISTED(TRI_SECTION_DATA, data_words),
    LISTED(TRI_SECTION_CHECKPOINT, checkpoint_words),
    LISTED(TRI_SECTION_LOGGING, logging_words),
};
