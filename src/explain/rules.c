/* SPDX-License-Identifier: Apache-2.0 */
/* Rules over several of Megatron-LM's arguments. */
#include "explain/rules.h"

#include "base/number.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define GPT2_VOCABULARY "50257"

static int field_number(const struct tri_megatron_rules *rules,
                        const struct tri_explain_field *field)
{
    bool is_there =
        field >= rules->out->fields && field < rules->out->fields + rules->out->num_fields;
    return is_there ? (int)(field - rules->out->fields) : -1;
}

/* Arguments are spelled with '-' or '_'. */
static bool name_is(const char *name, const char *known)
{
    for (; *name && *known; name++, known++) {
        if ((*name == '_' ? '-' : *name) != *known)
            return false;
    }
    return *name == *known;
}

/* Arguments that count samples or tokens where trine counts iterations; samples come first. */
static const struct {
    const char *name, *option;
    bool is_tokens;
} counted[TRI_MEGATRON_COUNTED] = {
    {"train-samples", "train_iters", false},
    {"lr-decay-samples", "lr_decay_iters", false},
    {"lr-warmup-samples", "lr_warmup_iters", false},
    {"lr-wsd-decay-samples", "lr_wsd_decay_iters", false},
    {"train-tokens", "train_iters", true},
    {"lr-decay-tokens", "lr_decay_iters", true},
    {"lr-warmup-tokens", "lr_warmup_iters", true},
};

/* The gated activations of Megatron-DeepSpeed. */
static void note_gate(struct tri_megatron_rules *rules, struct tri_explain_field *field,
                      const char *gate)
{
    static const char *const gates[][2] = {
        {"swiglu", "silu"}, {"geglu", "gelu"}, {"reglu", "relu"}};
    for (size_t i = 0; i < sizeof gates / sizeof gates[0]; i++) {
        if (strcmp(gate, gates[i][0]) != 0)
            continue;
        tri_explain_set(rules->out, field, "activation_func", gates[i][1]);
        tri_explain_set(rules->out, field, "gated_linear_unit", "true");
        return;
    }
    field->answer = TRI_REFUSED;
    gate = tri_explain_printable(rules->out, tri_explain_format(rules->out, "%.60s", gate));
    field->why = tri_explain_format(rules->out, "is '%s'; use swiglu, geglu or reglu", gate);
}

void tri_megatron_note(struct tri_megatron_rules *rules, const char *name,
                       struct tri_explain_field *field, const char *const *values, int num)
{
    int64_t stage = -1;
    int number = field_number(rules, field);
    const char *value = num > 0 ? values[0] : "";
    if (name_is(name, "group-query-attention"))
        rules->has_groups = true;
    if (name_is(name, "no-position-embedding")) {
        rules->has_no_positions = number >= 0;
        rules->positions_field = number;
    }
    if (name_is(name, "tokenizer-type"))
        rules->tokenizer_type = value;
    if (name_is(name, "tokenizer-model") || name_is(name, "tokenizer-name-or-path")) {
        rules->tokenizer_model = value;
        rules->model_field = number;
    }
    if (name_is(name, "glu-activation"))
        note_gate(rules, field, value);
    if (name_is(name, "zero-stage")) {
        bool is_whole = tri_number_read_int(value, &stage) == TRI_NUMBER_OK;
        tri_explain_zero_stage(rules->out, field, is_whole ? stage : -1);
    }
    for (int i = 0; i < TRI_MEGATRON_COUNTED; i++) {
        if (!name_is(name, counted[i].name))
            continue;
        rules->counted[i].value = value;
        rules->counted[i].field = number;
    }
    tri_launcher_note(&rules->launcher, name, value);
}

/* No batch of evaluation is no evaluation. */
static void see_no_evaluation(struct tri_megatron_rules *rules)
{
    struct tri_explain_field *field = &rules->out->fields[rules->out->num_fields - 1];
    rules->evaluates_nothing = strcmp(field->value, "0") == 0;
    if (!rules->evaluates_nothing)
        return;
    field->answer = TRI_DIFFERS;
    field->why = "no evaluation: eval_interval is left out";
}

/* "0.3 a 0.7 b": where the first word is a weight, every other one is. */
static void see_blend(struct tri_megatron_rules *rules, const char *option,
                      const char *const *values, int num)
{
    double weight;
    struct tri_explain_field *field = &rules->out->fields[rules->out->num_fields - 1];
    if (num < 2 || tri_number_read_double(values[0], &weight) != TRI_NUMBER_OK)
        return;
    bool alternates = num % 2 == 0;
    for (int i = 0; i < num && alternates; i += 2)
        alternates = tri_number_read_double(values[i], &weight) == TRI_NUMBER_OK;
    if (alternates || field->answer != TRI_UNDERSTOOD)
        return;
    tri_explain_unset(rules->out, option);
    field->answer = TRI_REFUSED;
    field->becomes = "";
    field->why = "weights and paths must take turns, or no path has a weight";
}

void tri_megatron_see(struct tri_megatron_rules *rules, const char *name, const char *const *values,
                      int num)
{
    static const char *const blends[][2] = {{"data-path", "data_path"},
                                            {"train-data-path", "train_data_path"},
                                            {"valid-data-path", "valid_data_path"},
                                            {"test-data-path", "test_data_path"}};
    for (size_t i = 0; i < sizeof blends / sizeof blends[0]; i++) {
        if (name_is(name, blends[i][0]))
            see_blend(rules, blends[i][1], values, num);
    }
    if (name_is(name, "calculate-per-token-loss") || name_is(name, "no-calculate-per-token-loss"))
        rules->has_per_token_loss = true;
    if (name_is(name, "eval-iters"))
        see_no_evaluation(rules);
    if (name_is(name, "num-query-groups")) {
        rules->has_num_groups = true;
        rules->groups_field = rules->out->num_fields - 1;
    }
}

void tri_megatron_ranks(struct tri_megatron_rules *rules)
{
    tri_explanation *out = rules->out;
    bool is_per_node;
    int64_t ranks = tri_launcher_ranks(&rules->launcher, &is_per_node);
    if (ranks < 1 || rules->is_launcher_told)
        return;
    rules->ranks = is_per_node ? 0 : ranks;
    rules->is_launcher_told = true;
    rules->launcher_field = out->num_fields;
    struct tri_explain_field *field = tri_explain_add(
        out, TRI_SECTION_PLACEMENT, TRI_DIFFERS, "(launcher)",
        tri_explain_format(out, "%" PRId64 " rank%s%s", ranks, ranks == 1 ? "" : "s",
                           is_per_node ? " on each node" : ""));
    field->why =
        tri_explain_format(out, "trine takes --ranks %" PRId64 "%s, or the MPI launcher's number",
                           ranks, is_per_node ? " x the number of nodes" : "");
}

/* The option's whole number; 0 when it is not given. */
static int64_t whole_option(tri_explanation *out, const char *option)
{
    int64_t number;
    const char *text = tri_explain_get(out, option);
    return text && tri_number_read_int(text, &number) == TRI_NUMBER_OK ? number : 0;
}

/* Iterations of a count of samples or tokens, set in its option. A run ends at the first of two ends. */
static void finish_count(struct tri_megatron_rules *rules, int i)
{
    tri_explanation *out = rules->out;
    struct tri_explain_field *field = &out->fields[rules->counted[i].field];
    const char *option = counted[i].option;
    int64_t count, each = whole_option(out, "global_batch_size");
    int64_t length = counted[i].is_tokens ? whole_option(out, "seq_length") : 1;
    bool is_number = tri_number_read_int(rules->counted[i].value, &count) == TRI_NUMBER_OK;
    bool is_open = strchr(rules->counted[i].value, '$') != NULL;
    if (is_number && count == 0) {
        field->answer = TRI_UNDERSTOOD;
        field->why = "off";
    } else if (is_open) {
        field->why = "known only where the script runs; fill it in";
    } else if (!is_number || count < 0) {
        field->answer = TRI_REFUSED;
        field->why = "it needs a whole number";
    } else if (each < 1 || length < 1 || __builtin_mul_overflow(each, length, &each)) {
        field->answer = TRI_REFUSED;
        field->why =
            counted[i].is_tokens
                ? "counts of tokens become iterations by global_batch_size and seq_length, "
                  "which are not both given"
                : "counts of samples become iterations by global_batch_size, which is not "
                  "given";
    } else {
        int64_t given = whole_option(out, option), iterations = count / each;
        bool ends_earlier = strcmp(option, "train_iters") == 0 && given > 0 && given < iterations;
        tri_explain_set(out, field, option,
                        tri_explain_format(out, "%" PRId64, ends_earlier ? given : iterations));
    }
}

static void finish_counts(struct tri_megatron_rules *rules)
{
    for (int i = 0; i < TRI_MEGATRON_COUNTED; i++) {
        if (rules->counted[i].value && rules->counted[i].field >= 0)
            finish_count(rules, i);
    }
}

/* Without --group-query-attention the number of groups is not looked at. */
static void finish_groups(struct tri_megatron_rules *rules)
{
    tri_explanation *out = rules->out;
    if (rules->has_groups && !rules->has_num_groups) {
        tri_explain_set(out,
                        tri_explain_add(out, TRI_SECTION_SHAPE, TRI_UNDERSTOOD, "(not given)",
                                        "--num-query-groups"),
                        "num_query_groups", "1");
    } else if (rules->has_num_groups && !rules->has_groups) {
        struct tri_explain_field *field = &out->fields[rules->groups_field];
        tri_explain_unset(out, "num_query_groups");
        field->answer = TRI_DIFFERS;
        field->becomes = "";
        field->why = "Megatron-LM takes no notice of it without --group-query-attention; left out";
    }
}

/* --no-position-embedding asks for no learned table, and scripts give it beside rotary positions. */
static void finish_positions(struct tri_megatron_rules *rules)
{
    tri_explanation *out = rules->out;
    const char *type = tri_explain_get(out, "position_embedding_type");
    if (!rules->has_no_positions)
        return;
    struct tri_explain_field *field = &out->fields[rules->positions_field];
    if (type && strcmp(type, "learned_absolute") != 0)
        field->why =
            tri_explain_format(out, "position_embedding_type %s has no learned table", type);
    else
        tri_explain_set(out, field, "position_embedding_type", "none");
}

/* tokenizer.json stands in the folder that a Hugging Face tokenizer is read from. */
static void finish_tokenizer(struct tri_megatron_rules *rules)
{
    tri_explanation *out = rules->out;
    const char *model = rules->tokenizer_model, *type = rules->tokenizer_type;
    if (model && rules->model_field >= 0 &&
        (!type || strstr(type, "HuggingFace") || strcmp(type, "PretrainedFromHF") == 0)) {
        const char *dot = strrchr(model, '.');
        bool is_file = dot && strcmp(dot, ".json") == 0;
        const char *path =
            is_file ? model : tri_explain_format(out, "%.900s/tokenizer.json", model);
        struct tri_explain_field *field = &out->fields[rules->model_field];
        tri_explain_set(out, field, "tokenizer", path);
        if (access(path, R_OK) != 0 && !strchr(path, '$'))
            field->why =
                "trine reads tokenizer.json, and there is none of that name here: fetch it";
    } else if (model && rules->model_field >= 0) {
        out->fields[rules->model_field].why =
            "trine reads tokenizer.json; convert it, and give data.tokenizer";
    }
}

/* A vocabulary that only the tokenizer knows is GPT-2's by default. */
static void finish_vocabulary(struct tri_megatron_rules *rules)
{
    tri_explanation *out = rules->out;
    const char *type = rules->tokenizer_type;
    bool is_gpt2 = !type || strcmp(type, "GPT2BPETokenizer") == 0;
    if (tri_explain_get(out, "vocab_size") || (!is_gpt2 && tri_explain_get(out, "tokenizer")))
        return;
    struct tri_explain_field *field =
        tri_explain_add(out, TRI_SECTION_SHAPE, TRI_DIFFERS, "(not given)", "--vocab-size");
    if (!is_gpt2)
        field->why = "the tokenizer knows it: give vocab_size, or a tokenizer.json as tokenizer";
    else if (tri_explain_set(out, field, "vocab_size", GPT2_VOCABULARY))
        field->why = "GPT2BPETokenizer is the default; its vocabulary of that size is assumed";
}

/* What a run needs, and a script left to its surroundings or to another program's defaults. */
static void finish_required(struct tri_megatron_rules *rules)
{
    static const char *const needed[] = {"num_layers", "hidden_size", "num_attention_heads",
                                         "seq_length"};
    const char *missing = "";
    for (size_t i = 0; rules->program && i < sizeof needed / sizeof needed[0]; i++) {
        if (!tri_explain_get(rules->out, needed[i]))
            missing = tri_explain_format(rules->out, "%s%s%s", missing, missing[0] ? ", " : "",
                                         needed[i]);
    }
    if (missing[0])
        tri_explain_add(rules->out, TRI_SECTION_SHAPE, TRI_DIFFERS, "(no value)", "")->why =
            tri_explain_format(rules->out, "a run needs %s; give it in the run file", missing);
}

/* The launcher's ranks must hold whole replicas, and the batch whole microbatches of each. */
static void finish_ranks(struct tri_megatron_rules *rules)
{
    static const char *const sizes[] = {"tensor_model_parallel_size",
                                        "pipeline_model_parallel_size", "context_parallel_size"};
    tri_explanation *out = rules->out;
    int64_t replica = 1, size, step;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size = whole_option(out, sizes[i]);
        if (size > 1 && __builtin_mul_overflow(replica, size, &replica))
            return;
    }
    if (rules->ranks == 0)
        return;
    struct tri_explain_field *field = &out->fields[rules->launcher_field];
    int64_t batch = whole_option(out, "global_batch_size");
    int64_t micro = whole_option(out, "micro_batch_size");
    if (rules->ranks % replica != 0) {
        field->why = tri_explain_format(
            out, "no multiple of the %" PRId64 " ranks of one replica; give --ranks %" PRId64,
            replica, replica);
    } else if (!__builtin_mul_overflow(rules->ranks / replica, micro > 0 ? micro : 1, &step) &&
               batch % step != 0) {
        field->why = tri_explain_format(out,
                                        "%s; but global_batch_size %" PRId64
                                        " is no multiple of %" PRId64 " samples per microbatch",
                                        field->why, batch, step);
    }
}

void tri_megatron_finish(struct tri_megatron_rules *rules)
{
    tri_explanation *out = rules->out;
    if (rules->evaluates_nothing)
        tri_explain_unset(out, "eval_interval");
    finish_groups(rules);
    finish_positions(rules);
    finish_counts(rules);
    tri_megatron_ranks(rules);
    finish_tokenizer(rules);
    finish_vocabulary(rules);
    finish_required(rules);
    finish_ranks(rules);
    if (!rules->has_per_token_loss) {
        struct tri_explain_field *field = tri_explain_add(
            out, TRI_SECTION_TRAIN, TRI_DIFFERS, "(not given)", "--calculate-per-token-loss");
        if (tri_explain_set(out, field, "calculate_per_token_loss", "false"))
            field->why = "Megatron-LM's default is the mean of microbatch means, trine's the mean "
                         "over tokens";
    }
    tri_explain_add(out, TRI_SECTION_SHAPE, TRI_DIFFERS, "(vocabulary padding)", "")->why =
        "masked in the loss and never saved; Megatron-LM lets it count";
}
