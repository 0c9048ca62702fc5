/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments that Megatron-LM took once, from its first commit of March 2019 on, and takes no more; scripts still
 * have them. An old name sets what its successor sets; the others have the reason why nothing follows from them.
 */
#include "explain/megatron.h"
#include "explain/word_rows.h"

static const char moe_why[] = "mixture of experts is not built yet";
static const char hybrid_why[] = "state-space and hybrid layers are not built yet";
static const char shared_why[] = "layers that share their weights are not built yet";
static const char bert_why[] = "BERT and T5 models; trine trains GPT models";
static const char loose_why[] = "encode texts with 'trine data encode', and give --data-path";

static const struct tri_word shape_words[] = {
    VALUE("intermediate-size", NULL, TRI_UNDERSTOOD, "ffn_hidden_size", "use --ffn-hidden-size"),
    FLAG("multi-query-attention", TRI_UNDERSTOOD, "num_query_groups=1", "use --num-query-groups 1"),
    FLAG("erf-gelu", TRI_UNDERSTOOD, "activation_func=gelu", "use --activation-func gelu"),
    FLAG("deep-init", TRI_NO_EFFECT, NULL,
         "layers that end in the residual always start at init_method_std / sqrt(2 num_layers)"),
    VALUE("num-unique-layers", NULL, TRI_LATER, NULL, shared_why),
    VALUE("param-sharing-style", "grouped", TRI_LATER, NULL, shared_why),
    VALUE("hybrid-attention-ratio hybrid-mlp-ratio", "0.0", TRI_LATER, NULL, hybrid_why),
    VALUE("moe-frequency", "1", TRI_LATER, NULL, moe_why),
    VALUE("moe-router-type moe-router-topk-limited-devices", NULL, TRI_LATER, NULL, moe_why),
};

static const char recompute_why[] =
    "a method of recomputation, which is not built yet; results are the same without it";
static const char fusion_why[] =
    "trine chooses fused or plain kernels by transformer_impl; the function is the same";
static const char fp32_why[] = "trine computes it in fp32";
static const char paths_why[] = "Megatron-LM chooses among its own code paths; trine has one";

static const struct tri_word spec_words[] = {
    FLAG("checkpoint-activations", TRI_UNDERSTOOD,
         "recompute_granularity=full recompute_method=uniform", recompute_why),
    FLAG("checkpoint-attention", TRI_UNDERSTOOD, "recompute_granularity=selective", recompute_why),
    VALUE("checkpoint-granularity", NULL, TRI_UNDERSTOOD, "recompute_granularity", recompute_why),
    VALUE("checkpoint-method", NULL, TRI_UNDERSTOOD, "recompute_method", recompute_why),
    VALUE("activations-checkpoint-method", NULL, TRI_UNDERSTOOD,
          "recompute_granularity=full recompute_method", recompute_why),
    VALUE("checkpoint-num-layers activations-checkpoint-num-layers", "1", TRI_UNDERSTOOD,
          "recompute_num_layers", recompute_why),
    FLAG("distribute-checkpointed-activations distribute-recomputed-activations", TRI_UNDERSTOOD,
         "distribute_saved_activations=true", recompute_why),
    NEGATED("no-query-key-layer-scaling", TRI_UNDERSTOOD, "apply_query_key_layer_scaling=false",
            "use --apply-query-key-layer-scaling=false, the default"),
    FLAG("bias-gelu-fusion bias-swiglu-fusion bias-dropout-fusion scaled-masked-softmax-fusion "
         "scaled-upper-triang-masked-softmax-fusion",
         TRI_NO_EFFECT, NULL, fusion_why),
    NEGATED("no-scaled-masked-softmax-fusion", TRI_NO_EFFECT, NULL, fusion_why),
    FLAG("fp32-layernorm fp32-embedding fp32-tokentypes embedding-weights-in-fp32", TRI_NO_EFFECT,
         NULL, fp32_why),
    FLAG("enable-cuda-graph external-cuda-graph", TRI_NO_EFFECT, NULL,
         "CUDA graphs; nothing to record on a CPU"),
    FLAG("use-gpu-initialization", TRI_NO_EFFECT, NULL,
         "initial values are the same on every machine and grid"),
    FLAG("use-legacy-models", TRI_NO_EFFECT, NULL, paths_why),
    VALUE("onnx-safe lazy-mpu-init", NULL, TRI_NO_EFFECT, NULL, paths_why),
    VALUE("empty-unused-memory-each-iter", "0", TRI_NO_EFFECT, NULL,
          "a GPU's memory; trine allocates nothing in a step"),
    LIST("model-spec", NULL, TRI_LATER, NULL,
         "a Python module cannot be read; trine takes spec.override by path"),
    FLAG("moe-use-legacy-grouped-gemm moe-extended-tp", TRI_LATER, NULL, moe_why),
};

static const char overlap_why[] =
    "when messages run; trine overlaps what its schedule allows, results are the same";
static const char encoder_why[] = "encoders of T5 and vision models; trine trains GPT models";
static const char layout_why[] = "write the split out with --pipeline-model-parallel-layout";
static const char sums_why[] = "gradients are summed in fp32 in rank order and divided once";

static const struct tri_word placement_words[] = {
    VALUE("model-parallel-size intra-layer-model-parallel-size", "1", TRI_UNDERSTOOD,
          "tensor_model_parallel_size", "use --tensor-model-parallel-size"),
    VALUE("inter-layer-model-parallel-size", "1", TRI_UNDERSTOOD, "pipeline_model_parallel_size",
          "use --pipeline-model-parallel-size"),
    FLAG("model-parallel-memory-opt", TRI_UNDERSTOOD, "sequence_parallel=true",
         "use --sequence-parallel"),
    FLAG("use-custom-fsdp", TRI_UNDERSTOOD, "use_megatron_fsdp=true",
         "sharded parameters are not built yet; use_distributed_optimizer shards the optimizer"),
    VALUE("max-seqlen-per-cp-rank", NULL, TRI_UNDERSTOOD, "max_seqlen_per_dp_cp_rank",
          "context parallelism is not built yet"),
    VALUE("DDP-impl", "local", TRI_NO_EFFECT, NULL, sums_why),
    FLAG("use-contiguous-buffers-in-ddp fp32-allreduce", TRI_NO_EFFECT, NULL, sums_why),
    NEGATED("no-contiguous-buffers-in-local-ddp", TRI_NO_EFFECT, NULL, sums_why),
    FLAG("use-pipelining", TRI_NO_EFFECT, NULL, "a pipeline always works on several microbatches"),
    FLAG("overlap-p2p-communication delay-param-gather align-param-gather "
         "async-tensor-parallel-allreduce async-tensor-model-parallel-allreduce "
         "deallocate-pipeline-outputs scatter-gather-tensors-in-pipeline",
         TRI_NO_EFFECT, NULL, overlap_why),
    NEGATED("no-delay-grad-reduce no-async-tensor-model-parallel-allreduce "
            "no-scatter-gather-tensors-in-pipeline tp-comm-bulk-wgrad tp-comm-bulk-dgrad "
            "tp-comm-split-ag tp-comm-split-rs",
            TRI_NO_EFFECT, NULL, overlap_why),
    VALUE("distrib-opt-comm-mem-savings disrib-opt-comm-mem-savings", "0", TRI_NO_EFFECT, NULL,
          overlap_why),
    VALUE("encoder-tensor-model-parallel-size encoder-pipeline-model-parallel-size", "0",
          TRI_REFUSED, NULL, encoder_why),
    VALUE("pipeline-model-parallel-split-rank", NULL, TRI_REFUSED, NULL, encoder_why),
    FLAG("standalone-embedding-stage standalone-embed-stage", TRI_REFUSED, NULL, layout_why),
    FLAG("expert-parallel", TRI_LATER, NULL, moe_why),
};

static const char fp8_why[] = "fp8 is not built yet";
static const char count_why[] =
    "follows from global_batch_size, micro_batch_size and the number of ranks";
static const char length_why[] = "say how long the run is with --train-iters";
static const char score_why[] = "use 'trine evaluate'";

static const struct tri_word train_words[] = {
    VALUE("batch-size", NULL, TRI_UNDERSTOOD, "micro_batch_size", "use --micro-batch-size"),
    VALUE("num-microbatches num-microbatches-in-minibatch", NULL, TRI_DIFFERS, NULL, count_why),
    VALUE("warmup lr-warmup-percent", NULL, TRI_UNDERSTOOD, "lr_warmup_fraction",
          "use --lr-warmup-fraction"),
    VALUE("start-wd", NULL, TRI_UNDERSTOOD, "start_weight_decay", "use --start-weight-decay"),
    VALUE("end-wd", NULL, TRI_UNDERSTOOD, "end_weight_decay", "use --end-weight-decay"),
    VALUE("wd-incr-style", "constant", TRI_UNDERSTOOD, "weight_decay_incr_style",
          "use --weight-decay-incr-style"),
    FLAG("override-lr-scheduler", TRI_UNDERSTOOD, "override_opt_param_scheduler=true",
         "use --override-opt-param-scheduler"),
    FLAG("use-checkpoint-lr-scheduler", TRI_UNDERSTOOD, "use_checkpoint_opt_param_scheduler=true",
         "use --use-checkpoint-opt-param-scheduler"),
    VALUE("min-scale", "1", TRI_UNDERSTOOD, "min_loss_scale",
          "loss scaling belongs to fp16, which is not built yet"),
    FLAG("muon-use-nesterov", TRI_UNDERSTOOD, "muon_nesterov=true", "muon is not built yet"),
    FLAG("fp8-e4m3 fp8-hybrid keep-fp8-transpose-cache-when-using-custom-fsdp", TRI_LATER, NULL,
         fp8_why),
    FLAG("moe-token-dropping", TRI_LATER, NULL, moe_why),
    VALUE("moe-loss-coeff", NULL, TRI_LATER, NULL, moe_why),
    VALUE("eval-batch-size", NULL, TRI_UNDERSTOOD, "eval_micro_batch_size",
          "evaluation has the run's micro_batch_size"),
    VALUE("eval-seq-length", NULL, TRI_REFUSED, NULL, "evaluation has the run's seq_length"),
    VALUE("epochs data-epochs max-num-samples", NULL, TRI_REFUSED, NULL, length_why),
    FLAG("cloze-eval strict-lambada eval-hf", TRI_DIFFERS, NULL, score_why),
    VALUE("overlapping-eval", "32", TRI_DIFFERS, NULL, score_why),
};

static const char map_why[] = "token files are mapped, and samples are shuffled by the seed";
static const char tok_why[] = "a detail of a Python tokenizer; trine reads tokenizer.json";

static const struct tri_word data_words[] = {
    VALUE("data-impl", "mmap", TRI_DIFFERS, NULL,
          "token files of the mmap form are read, as 'trine data encode' writes them"),
    FLAG("mmap-warmup skip-mmap-warmup lazy-loader shuffle", TRI_NO_EFFECT, NULL, map_why),
    FLAG("resume-dataloader", TRI_NO_EFFECT, NULL, "a resumed run goes on with the next sample"),
    LIST("train-data valid-data test-data", NULL, TRI_REFUSED, NULL, loose_why),
    VALUE("val-data-path input-data-sizes-file data-loader delim text-key eval-text-key", NULL,
          TRI_REFUSED, NULL, loose_why),
    FLAG("loose-json presplit-sentences use-tfrecords use-npy-data-loader", TRI_REFUSED, NULL,
         loose_why),
    FLAG("renormalize-blend-weights", TRI_NO_EFFECT, NULL, "weights of a blend add up to 1"),
    VALUE("s3-cache-path", NULL, TRI_NO_EFFECT, NULL,
          "how the index of samples is built and kept; the samples are the same"),
    VALUE("vocab tokenizer-path", NULL, TRI_DIFFERS, NULL,
          "trine reads one tokenizer.json: data.tokenizer"),
    VALUE("tokenizer-model-type cache-dir", NULL, TRI_REFUSED, NULL, bert_why),
    FLAG("pretrained-bert", TRI_REFUSED, NULL, bert_why),
    VALUE("max-preds-per-seq eval-max-preds-per-seq", NULL, TRI_REFUSED, NULL, bert_why),
    FLAG("legacy-tokenizer tokenizer-hf-use-fast tokenizer-hf-include-special-tokens",
         TRI_NO_EFFECT, NULL, tok_why),
    LIST("tiktoken-special-tokens", NULL, TRI_NO_EFFECT, NULL, tok_why),
    FLAG("disable-msc", TRI_NO_EFFECT, NULL, "a client of object stores; trine reads files"),
};

static const char form_why[] =
    "a checkpoint is a Hugging Face directory that every layout reads; no conversion";
static const char random_why[] = "random numbers have no state: they follow from seed and position";

static const struct tri_word checkpoint_words[] = {
    VALUE("save-iters", NULL, TRI_UNDERSTOOD, "save_interval", "use --save-interval"),
    FLAG("save-optim", TRI_UNDERSTOOD, "no_save_optim=false", "use --no-save-optim=false"),
    FLAG("load-optim", TRI_UNDERSTOOD, "no_load_optim=false", "use --no-load-optim=false"),
    FLAG("save-rng save-all-rng load-rng load-all-rng", TRI_NO_EFFECT, NULL, random_why),
    FLAG("use-dist-ckpt", TRI_DIFFERS, NULL, form_why),
    VALUE("dist-ckpt-format override-checkpoint-version", NULL, TRI_DIFFERS, NULL, form_why),
    FLAG("ckpt-fully-parallel-save", TRI_NO_EFFECT, NULL,
         "details of torch_dist files; trine writes Hugging Face directories"),
    FLAG("load-openai", TRI_DIFFERS, NULL, "--load takes the Hugging Face directory of GPT-2"),
    FLAG("load-model-opt-format", TRI_REFUSED, NULL,
         "NVIDIA's Model Optimizer; not a question of pre-training"),
    FLAG("validate-model-load", TRI_NO_EFFECT, NULL, "every read checks sums"),
};

static const char board_why[] =
    "TensorBoard files are not built yet; --log-json has the same numbers";
static const char telemetry_why[] = "not built yet; --log-json has the numbers of every iteration";

static const struct tri_word logging_words[] = {
    FLAG("log-batch-size-to-tensorboard", TRI_LATER, NULL, board_why),
    NEGATED("no-log-learnig-rate-to-tensorboard no-log-memory-to-tensorboard", TRI_LATER, NULL,
            board_why),
    FLAG("log-zeros", TRI_UNDERSTOOD, "log_num_zeros_in_grad=true", "not in the log yet"),
    FLAG("enable-one-logger enable-onelogger", TRI_NO_EFFECT, NULL, telemetry_why),
    VALUE("one-logger-entity", NULL, TRI_NO_EFFECT, NULL, telemetry_why),
};

static const char serving_why[] = "serving; trine generates with 'trine generate'";
static const char rl_why[] = "reinforcement learning; trine pre-trains";
static const char retrieval_why[] = "retrieval models; trine trains GPT models";
static const char vision_why[] = "vision models; trine trains GPT models";

static const struct tri_word other_words[] = {
    FLAG("greedy recompute disable-chunked-prefill initialize-socket-comms "
         "inference-dynamic-batching-mamba-triton-conv1d inference-flask-server-logging",
         TRI_REFUSED, NULL, serving_why),
    VALUE("temperature top-k top-p out-seq-length genfile num-samples sample-input-file "
          "sample-output-file inference-max-batch-size inference-mp-coordinator-port "
          "inference-wandb-logging-step-interval inference-dynamic-batching-chunk-size "
          "inference-dynamic-batching-active-buffer-size-gb "
          "inference-dynamic-batching-buffer-guaranteed-fraction "
          "inference-dynamic-batching-buffer-overflow-factor "
          "inference-dynamic-batching-cuda-graph-max-tokens "
          "inference-dynamic-batching-max-requests-override "
          "inference-dynamic-batching-max-tokens-override",
          NULL, TRI_REFUSED, NULL, serving_why),
    FLAG("langrl-external-server rl-calculate-intra-group-similarity "
         "rl-offload-kv-cache-during-training rl-remove-kv-cache-during-training "
         "rl-reset-cuda-graphs",
         TRI_REFUSED, NULL, rl_why),
    VALUE("grpo-default-temperature grpo-default-top-p langrl-inference-server-type "
          "langrl-inference-server-conversation-template rl-generation-batch-size "
          "rl-num-parallel-generation-batches rl-num-parallel-generations "
          "rl-parallel-generation-tasks rl-sequence-packing-bin-size",
          NULL, TRI_REFUSED, NULL, rl_why),
    FLAG("allow-trivial-doc async-indexer debug faiss-use-gpu ict-one-sent "
         "shared-query-context-model use-random-spans use-regular-masking retro-add-retriever "
         "retro-fix-sub-epoch retro-no-verify-neighbor-count retro-return-doc-ids",
         TRI_REFUSED, NULL, retrieval_why),
    VALUE("block-index-path block-top-k cased-data-path cased-vocab hash-data-path "
          "index-reload-interval max-training-rank ner-data-path pool-type projection-dim "
          "retriever-seq-length retro-attention-gate retro-cyclic-train-iters "
          "retro-encoder-attention-dropout retro-encoder-hidden-dropout retro-encoder-layers "
          "retro-num-neighbors retro-num-retrieved-chunks retro-project-dir "
          "retro-split-preprocessing retro-workdir",
          NULL, TRI_REFUSED, NULL, retrieval_why),
    LIST("report-topk-accuracies retro-split-constraint", NULL, TRI_REFUSED, NULL, retrieval_why),
    VALUE("img-dim vit-load", NULL, TRI_REFUSED, NULL, vision_why),
};

#define LISTED(s, w)                                                                               \
    {                                                                                              \
        .section = s, .words = w, .num = sizeof w / sizeof w[0], .is_never_guessed = true          \
    }
const struct tri_word_list tri_megatron_past[TRI_NUM_SECTIONS] = {
    LISTED(TRI_SECTION_SHAPE, shape_words),
    LISTED(TRI_SECTION_SPEC, spec_words),
    LISTED(TRI_SECTION_PLACEMENT, placement_words),
    LISTED(TRI_SECTION_TRAIN, train_words),
    LISTED(TRI_SECTION_DATA, data_words),
    LISTED(TRI_SECTION_CHECKPOINT, checkpoint_words),
    LISTED(TRI_SECTION_LOGGING, logging_words),
    LISTED(TRI_SECTION_OTHER, other_words),
};
