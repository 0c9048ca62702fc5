/* SPDX-License-Identifier: Apache-2.0 */
/* A DeepSpeed configuration: JSON whose inner keys are written with dots here. */
#include "explain/record.h"
#include "explain/word_rows.h"

#include "base/number.h"

#include <string.h>
#include <strings.h>

static const char low_why[] = "low precision is not built yet; trine computes in fp32";
static const char scale_why[] = "loss scaling belongs to fp16, which is not built yet";
static const char zero_why[] = "when and how ZeRO sends its messages; results are the same";
static const char offload_why[] = "offloading is not built yet; results are the same without it";
static const char memory_why[] = "recomputation is not built yet; results are the same without it";
static const char report_why[] = "not built yet; --log-json has the numbers of every iteration";
static const char other_why[] = "not built yet";

static const struct tri_word spec_words[] = {
    VALUE("activation_checkpointing.*", NULL, TRI_NO_EFFECT, NULL, memory_why),
    VALUE("sparse_attention.*", NULL, TRI_LATER, NULL, "sparse attention is not built yet"),
    VALUE("compression_training.* weight_quantization.* quantize_training.*", NULL, TRI_LATER, NULL,
          low_why),
    VALUE("compile.*", NULL, TRI_NO_EFFECT, NULL, "trine is compiled already"),
};
static const struct tri_word placement_words[] = {
    VALUE("zero_optimization.stage", NULL, TRI_UNDERSTOOD, "=", NULL),
    VALUE("zero_optimization.offload* zero_optimization.cpu_offload*", "false", TRI_LATER, NULL,
          offload_why),
    VALUE("zero_optimization.zero_quantized* zero_optimization.zeropp*", "false", TRI_LATER, NULL,
          low_why),
    VALUE("zero_optimization.zero_hpz_partition_size zero_optimization.mics*", "1", TRI_LATER, NULL,
          "sharding inside groups of ranks is not built yet"),
    VALUE("zero_optimization.*", NULL, TRI_NO_EFFECT, NULL, zero_why),
    VALUE("zero_allow_untested_optimizer zero_force_ds_cpu_optimizer", NULL, TRI_NO_EFFECT, NULL,
          "trine has its own optimizer"),
    VALUE("tensor_parallel.autotp_size tensor_parallel.tp_size", "1", TRI_UNDERSTOOD,
          "tensor_model_parallel_size", NULL),
    VALUE("pipeline.stages", "1", TRI_UNDERSTOOD, "pipeline_model_parallel_size", NULL),
    VALUE("pipeline.* tensor_parallel.* communication_data_type "
          "seq_parallel_communication_data_type prescale_gradients gradient_predivide_factor "
          "sparse_gradients disable_allgather use_node_local_storage",
          NULL, TRI_NO_EFFECT, NULL, "gradients are summed in fp32 in rank order and divided once"),
    VALUE("sequence_parallel_size", "1", TRI_LATER, NULL, "context parallelism is not built yet"),
};
static const struct tri_word train_words[] = {
    VALUE("train_batch_size", NULL, TRI_UNDERSTOOD, "global_batch_size", NULL),
    VALUE("train_micro_batch_size_per_gpu", NULL, TRI_UNDERSTOOD, "micro_batch_size", NULL),
    VALUE("gradient_accumulation_steps", NULL, TRI_DIFFERS, NULL,
          "follows from global_batch_size, micro_batch_size and the number of ranks"),
    VALUE("gradient_clipping max_grad_norm", NULL, TRI_UNDERSTOOD, "clip_grad", NULL),
    VALUE("seed", NULL, TRI_UNDERSTOOD, "seed", NULL),
    VALUE("optimizer.type", NULL, TRI_UNDERSTOOD, "=", NULL),
    VALUE("optimizer.params.lr", NULL, TRI_UNDERSTOOD, "lr", NULL),
    LIST("optimizer.params.betas", NULL, TRI_UNDERSTOOD, "=", NULL),
    VALUE("optimizer.params.eps", NULL, TRI_UNDERSTOOD, "adam_eps", NULL),
    VALUE("optimizer.params.weight_decay", NULL, TRI_UNDERSTOOD, "weight_decay", NULL),
    VALUE("optimizer.params.adam_w_mode optimizer.params.bias_correction", "true", TRI_REFUSED,
          NULL, "trine's Adam decouples the weight decay and corrects the bias"),
    VALUE("optimizer.params.torch_adam optimizer.params.freeze_step optimizer.legacy_fusion", NULL,
          TRI_NO_EFFECT, NULL, "which code computes Adam; trine has its own"),
    VALUE("optimizer.params.*", NULL, TRI_LATER, NULL, "this optimizer is not built yet"),
    VALUE("scheduler.type", NULL, TRI_UNDERSTOOD, "=", NULL),
    VALUE("scheduler.params.warmup_min_lr", NULL, TRI_UNDERSTOOD, "lr_warmup_init", NULL),
    VALUE("scheduler.params.warmup_max_lr", NULL, TRI_UNDERSTOOD, "lr", NULL),
    VALUE("scheduler.params.warmup_num_steps", NULL, TRI_UNDERSTOOD, "lr_warmup_iters", NULL),
    VALUE("scheduler.params.total_num_steps", NULL, TRI_UNDERSTOOD, "lr_decay_iters", NULL),
    VALUE("scheduler.params.warmup_type", "linear", TRI_REFUSED, NULL, "trine's warm-up is linear"),
    VALUE("scheduler.params.cos_min_ratio scheduler.params.warmup_min_ratio", NULL, TRI_DIFFERS,
          NULL, "give min_lr and lr_warmup_init"),
    VALUE("scheduler.params.last_batch_iteration", "-1", TRI_DIFFERS, NULL,
          "a resumed run knows its iteration"),
    VALUE("scheduler.params.*", NULL, TRI_REFUSED, NULL,
          "use lr_decay_style constant, linear, cosine, inverse-square-root or WSD"),
    FLAG("fp16.enabled", TRI_UNDERSTOOD, "fp16=true", low_why),
    FLAG("bf16.enabled bfloat16.enabled", TRI_UNDERSTOOD, "bf16=true", low_why),
    VALUE("fp16.* fp16_master_weights_and_gradients", NULL, TRI_NO_EFFECT, NULL, scale_why),
    VALUE("bf16.* bfloat16.*", NULL, TRI_NO_EFFECT, NULL, low_why),
    FLAG("amp.enabled torch_autocast.enabled", TRI_LATER, NULL, low_why),
    VALUE("amp.* torch_autocast.*", NULL, TRI_NO_EFFECT, NULL, low_why),
    VALUE("data_types.grad_accum_dtype", "fp32", TRI_DIFFERS, NULL,
          "gradients are always accumulated in fp32"),
    VALUE("progressive_layer_drop.* eigenvalue.* hybrid_engine.* elasticity.*", NULL, TRI_LATER,
          NULL, other_why),
};
static const struct tri_word data_words[] = {
    VALUE("data_efficiency.* curriculum_learning.* data_sampling.*", NULL, TRI_LATER, NULL,
          other_why),
    VALUE("dataloader_drop_last", NULL, TRI_NO_EFFECT, NULL, "samples fill every batch"),
};
static const struct tri_word checkpoint_words[] = {
    VALUE("checkpoint.* load_universal_checkpoint nebula.* datastates_ckpt.*", NULL, TRI_NO_EFFECT,
          NULL, "a checkpoint is a Hugging Face directory that every layout reads"),
    VALUE("aio.*", NULL, TRI_NO_EFFECT, NULL, "how DeepSpeed reads and writes files"),
};
static const struct tri_word logging_words[] = {
    VALUE("steps_per_print", NULL, TRI_UNDERSTOOD, "log_interval", NULL),
    VALUE("wall_clock_breakdown flops_profiler.*", NULL, TRI_NO_EFFECT, NULL,
          "time per phase and flops are in every log line"),
    VALUE("dump_state memory_breakdown comms_logger.* autotuning.*", NULL, TRI_NO_EFFECT, NULL,
          "'trine plan' says it before the run"),
    VALUE("tensorboard.* wandb.* csv_monitor.* comet.* monitor_config.*", NULL, TRI_NO_EFFECT, NULL,
          report_why),
};
#define LISTED(s, w)                                                                               \
    {                                                                                              \
        .section = s, .words = w, .num = sizeof w / sizeof w[0]                                    \
    }
static const struct tri_word_list lists[] = {
    LISTED(TRI_SECTION_SPEC, spec_words),
    LISTED(TRI_SECTION_PLACEMENT, placement_words),
    LISTED(TRI_SECTION_TRAIN, train_words),
    LISTED(TRI_SECTION_DATA, data_words),
    LISTED(TRI_SECTION_CHECKPOINT, checkpoint_words),
    LISTED(TRI_SECTION_LOGGING, logging_words),
};
static const struct tri_word_list *const list_pointers[] = {
    &lists[0], &lists[1], &lists[2], &lists[3], &lists[4], &lists[5], NULL};
static const struct tri_vocabulary words = {.title = "a DeepSpeed configuration",
                                            .unknown = "no key of DeepSpeed that is known here",
                                            .lists = list_pointers};

static void refuse(struct tri_explain_field *field, const char *why)
{
    field->answer = TRI_REFUSED;
    field->becomes = "";
    field->why = why;
}

void tri_explain_zero_stage(tri_explanation *out, struct tri_explain_field *field, int64_t stage)
{
    if (stage < 0 || stage > 3) {
        refuse(field, "it must be 0, 1, 2 or 3");
        return;
    }
    tri_explain_set(out, field, "use_distributed_optimizer", stage > 0 ? "true" : "false");
    if (stage < 2)
        return;
    field->answer = TRI_DIFFERS;
    field->why = stage == 2 ? "the optimizer's state is sharded, gradients are not yet"
                            : "the optimizer's state is sharded, gradients and weights are not yet";
}

static void explain_optimizer(tri_explanation *out, struct tri_explain_field *field,
                              const char *type)
{
    bool is_adam = strcasecmp(type, "adam") == 0 || strcasecmp(type, "adamw") == 0 ||
                   strcasecmp(type, "fusedadam") == 0;
    tri_explain_set(out, field, "optimizer", is_adam ? "adam" : type);
}

static void explain_scheduler(tri_explanation *out, struct tri_explain_field *field,
                              const char *type)
{
    static const char *const styles[][2] = {
        {"WarmupLR", "constant"}, {"WarmupDecayLR", "linear"}, {"WarmupCosineLR", "cosine"}};
    for (size_t i = 0; i < sizeof styles / sizeof styles[0]; i++) {
        if (strcmp(type, styles[i][0]) == 0) {
            tri_explain_set(out, field, "lr_decay_style", styles[i][1]);
            return;
        }
    }
    refuse(field, "use lr_decay_style constant, linear, cosine, inverse-square-root or WSD");
}

static void explain_betas(tri_explanation *out, struct tri_explain_field *field,
                          const json_t *value)
{
    static const char *const names[] = {"adam_beta1", "adam_beta2"};
    char text[TRI_NUMBER_TEXT];
    for (size_t i = 0; i < 2; i++) {
        const json_t *beta = json_array_get(value, i);
        if (!json_is_number(beta)) {
            refuse(field, "it must be a list of two numbers");
            return;
        }
        tri_number_format_double(json_number_value(beta), text);
        tri_explain_set(out, field, names[i], text);
    }
}

static void explain_left(tri_explanation *out, struct tri_explain_field *field, const char *name,
                         const json_t *value)
{
    const char *text = json_string_value(value);
    if (strcmp(name, "zero_optimization.stage") == 0)
        tri_explain_zero_stage(out, field, json_is_integer(value) ? json_integer_value(value) : -1);
    else if (strcmp(name, "optimizer.params.betas") == 0)
        explain_betas(out, field, value);
    else if (!text)
        refuse(field, "it must be a text");
    else if (strcmp(name, "optimizer.type") == 0)
        explain_optimizer(out, field, text);
    else
        explain_scheduler(out, field, text);
}

static tri_status read_deepspeed(struct tri_explain_input *input)
{
    tri_explanation *out = input->out;
    json_t *root;
    int first = out->num_fields;
    TRI_TRY(tri_explain_parse(input, &root));
    tri_explain_object(out, &words, root, explain_left);
    json_decref(root);
    for (int i = first; i < out->num_fields; i++) {
        if (strcmp(out->fields[i].value, "auto") != 0 || out->fields[i].answer == TRI_UNKNOWN)
            continue;
        out->fields[i].answer = TRI_DIFFERS;
        out->fields[i].becomes = "";
        out->fields[i].why = "filled in by the program that hands it over; give it in the run file";
    }
    return TRI_OK;
}

const struct tri_explain_kind tri_explain_deepspeed = {
    .name = "deepspeed",
    .title = "a DeepSpeed configuration",
    .read = read_deepspeed,
};
