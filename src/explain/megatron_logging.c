/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of Megatron-LM's pretrain_gpt.py (commit d98e8a64, 22 August 2026): what a run reports. */
#include "explain/megatron.h"
#include "explain/word_rows.h"

static const char moe_why[] = "mixture of experts is not built yet";
static const char profiler_why[] = "GPU and PyTorch profilers; trine prints the time per phase";
static const char dumps_why[] = "writing tensors of a run for study is not built yet";
static const char tensorboard_why[] =
    "TensorBoard files are not built yet; --log-json has the same numbers";
static const char wandb_why[] = "not built yet; --log-json has the same numbers";
static const char telemetry_why[] = "not built yet; --log-json has the numbers of every iteration";
static const char straggler_why[] = "finding slow ranks is not built yet";

static const struct tri_word words[] = {
    FLAG("moe-per-layer-logging", TRI_LATER, NULL, moe_why),
    VALUE("config-logger-dir", NULL, TRI_NO_EFFECT, NULL, "Megatron-LM's own messages"),
    FLAG("profile", TRI_NO_EFFECT, NULL, profiler_why),
    VALUE("profile-step-start", "10", TRI_NO_EFFECT, NULL, profiler_why),
    VALUE("profile-step-end", "12", TRI_NO_EFFECT, NULL, profiler_why),
    FLAG("use-pytorch-profiler", TRI_NO_EFFECT, NULL, profiler_why),
    FLAG("pytorch-profiler-collect-shapes", TRI_NO_EFFECT, NULL, profiler_why),
    FLAG("pytorch-profiler-collect-callstack", TRI_NO_EFFECT, NULL, profiler_why),
    FLAG("pytorch-profiler-collect-chakra", TRI_NO_EFFECT, NULL, profiler_why),
    LIST("profile-ranks", NULL, TRI_NO_EFFECT, NULL, profiler_why),
    FLAG("record-memory-history", TRI_NO_EFFECT, NULL, profiler_why),
    VALUE("memory-snapshot-path", "snapshot.pickle", TRI_NO_EFFECT, NULL, profiler_why),
    FLAG("record-shapes", TRI_NO_EFFECT, NULL, profiler_why),
    FLAG("nvtx-ranges", TRI_NO_EFFECT, NULL, profiler_why),
    VALUE("save-params-interval", NULL, TRI_LATER, NULL, dumps_why),
    VALUE("save-activations-interval", NULL, TRI_LATER, NULL, dumps_why),
    VALUE("save-tokens-per-expert-interval", NULL, TRI_LATER, NULL, moe_why),
    VALUE("save-wgrads-interval", NULL, TRI_LATER, NULL, dumps_why),
    VALUE("save-dgrads-interval", NULL, TRI_LATER, NULL, dumps_why),
    VALUE("log-interval", "100", TRI_UNDERSTOOD, "log_interval", NULL),
    FLAG("log-params-norm", TRI_UNDERSTOOD, "log_params_norm=true", "not in the log yet"),
    FLAG("log-throughput", TRI_NO_EFFECT, NULL, "every log line has it"),
    FLAG("log-progress", TRI_NO_EFFECT, NULL, "every log line has it"),
    VALUE("timing-log-level", "0", TRI_NO_EFFECT, NULL, "the time per phase is in every log line"),
    VALUE("timing-log-option", "minmax", TRI_NO_EFFECT, NULL,
          "the time per phase is in every log line"),
    VALUE("tensorboard-dir", NULL, TRI_UNDERSTOOD, "tensorboard_dir", tensorboard_why),
    VALUE("tensorboard-log-interval", "1", TRI_UNDERSTOOD, "tensorboard_log_interval",
          tensorboard_why),
    VALUE("tensorboard-queue-size", "1000", TRI_UNDERSTOOD, "tensorboard_queue_size",
          tensorboard_why),
    FLAG("log-timers-to-tensorboard", TRI_UNDERSTOOD, "log_timers_to_tensorboard=true",
         tensorboard_why),
    NEGATED("no-log-loss-scale-to-tensorboard disable-log-loss-scale-to-tensorboard", TRI_LATER,
            NULL, tensorboard_why),
    FLAG("log-validation-ppl-to-tensorboard", TRI_UNDERSTOOD,
         "log_validation_ppl_to_tensorboard=true", tensorboard_why),
    FLAG("log-memory-to-tensorboard", TRI_UNDERSTOOD, "log_memory_to_tensorboard=true",
         tensorboard_why),
    VALUE("log-memory-interval", NULL, TRI_UNDERSTOOD, "log_memory_interval", "not in the log yet"),
    FLAG("log-device-memory-used", TRI_UNDERSTOOD, "log_device_memory_used=true",
         "not in the log yet"),
    FLAG("log-num-zeros-in-grad", TRI_UNDERSTOOD, "log_num_zeros_in_grad=true",
         "not in the log yet"),
    FLAG("log-max-attention-logit", TRI_UNDERSTOOD, "log_max_attention_logit=true",
         "not in the log yet"),
    NEGATED("no-barrier-with-level-1-timing", TRI_NO_EFFECT, NULL,
            "the time per phase is in every log line"),
    FLAG("log-world-size-to-tensorboard", TRI_UNDERSTOOD, "log_world_size_to_tensorboard=true",
         tensorboard_why),
    VALUE("wandb-project", NULL, TRI_LATER, NULL, wandb_why),
    VALUE("wandb-exp-name", NULL, TRI_LATER, NULL, wandb_why),
    VALUE("wandb-save-dir", NULL, TRI_LATER, NULL, wandb_why),
    VALUE("wandb-entity", NULL, TRI_LATER, NULL, wandb_why),
    VALUE("logging-level", NULL, TRI_NO_EFFECT, NULL, "Megatron-LM's own messages"),
    FLAG("log-energy", TRI_UNDERSTOOD, "log_energy=true", "not in the log yet"),
    VALUE("moe-routing-trace-path", NULL, TRI_LATER, NULL, moe_why),
    VALUE("moe-routing-trace-max-training-iters", NULL, TRI_LATER, NULL, moe_why),
    FLAG("moe-routing-trace-capture-logits", TRI_LATER, NULL, moe_why),
    FLAG("moe-routing-trace-capture-hidden-states", TRI_LATER, NULL, moe_why),
    FLAG("moe-routing-trace-dump-weights", TRI_LATER, NULL, moe_why),
    FLAG("otel-enabled", TRI_NO_EFFECT, NULL, telemetry_why),
    VALUE("otel-service-name", NULL, TRI_NO_EFFECT, NULL, telemetry_why),
    VALUE("otel-span-groups", NULL, TRI_NO_EFFECT, NULL, telemetry_why),
    FLAG("log-straggler", TRI_LATER, NULL, straggler_why),
    VALUE("straggler-ctrlr-port", "65535", TRI_LATER, NULL, straggler_why),
    VALUE("straggler-minmax-count", "1", TRI_LATER, NULL, straggler_why),
    FLAG("disable-straggler-on-startup", TRI_LATER, NULL, straggler_why),
    FLAG("run-workload-inspector-server", TRI_LATER, NULL, straggler_why),
    NEGATED("no-one-logger", TRI_NO_EFFECT, NULL, telemetry_why),
    VALUE("one-logger-project", "megatron-lm", TRI_NO_EFFECT, NULL, telemetry_why),
    VALUE("one-logger-run-name", NULL, TRI_NO_EFFECT, NULL, telemetry_why),
    FLAG("one-logger-async", TRI_NO_EFFECT, NULL, telemetry_why),
    VALUE("app-tag-run-name", NULL, TRI_NO_EFFECT, NULL, telemetry_why),
    VALUE("app-tag-run-version", "0.0.0", TRI_NO_EFFECT, NULL, telemetry_why),
};

const struct tri_word_list tri_megatron_logging = {
    .section = TRI_SECTION_LOGGING, .words = words, .num = sizeof words / sizeof words[0]};
