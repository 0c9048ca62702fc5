/* SPDX-License-Identifier: Apache-2.0 */
/* Rules over several of Megatron-LM's arguments. */
#include "explain/rules.h"

#include "base/number.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

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

static void note_samples(struct tri_megatron_rules *rules, const char *option, const char *value,
                         int field)
{
    int i = 0;
    while (i < rules->num_samples && strcmp(rules->samples[i].option, option) != 0)
        i++;
    if (i == TRI_MEGATRON_SAMPLES)
        return;
    rules->num_samples += i == rules->num_samples;
    rules->samples[i].option = option;
    rules->samples[i].value = value;
    rules->samples[i].field = field;
}

void tri_megatron_note(struct tri_megatron_rules *rules, const char *name,
                       struct tri_explain_field *field, const char *const *values, int num)
{
    static const char *const counted[][2] = {{"train-samples", "train_iters"},
                                             {"lr-decay-samples", "lr_decay_iters"},
                                             {"lr-warmup-samples", "lr_warmup_iters"},
                                             {"lr-wsd-decay-samples", "lr_wsd_decay_iters"}};
    int number = field_number(rules, field);
    const char *value = num > 0 ? values[0] : "";
    if (name_is(name, "group-query-attention"))
        rules->has_groups = true;
    if (name_is(name, "tokenizer-type"))
        rules->tokenizer_type = value;
    if (name_is(name, "tokenizer-model")) {
        rules->tokenizer_model = value;
        rules->model_field = number;
    }
    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++) {
        if (name_is(name, counted[i][0]))
            note_samples(rules, counted[i][1], value, number);
    }
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

void tri_megatron_see(struct tri_megatron_rules *rules, const char *name)
{
    if (name_is(name, "calculate-per-token-loss"))
        rules->has_per_token_loss = true;
    if (name_is(name, "eval-iters"))
        see_no_evaluation(rules);
    if (name_is(name, "num-query-groups")) {
        rules->has_num_groups = true;
        rules->groups_field = rules->out->num_fields - 1;
    }
}

void tri_megatron_launcher(struct tri_megatron_rules *rules, const struct tri_shell_words *words)
{
    int64_t ranks = 1, nodes = 1;
    bool has_ranks = false;
    for (int i = 0; i < words->num; i++) {
        const char *word = words->words[i];
        const char *name = word + strspn(word, "-");
        size_t length = strcspn(name, "=");
        const char *value = name[length] == '='  ? name + length + 1
                            : i + 1 < words->num ? words->words[i + 1]
                                                 : "";
        const char *bare = tri_explain_format(rules->out, "%.*s", (int)length, name);
        bool is_ranks = name != word && (name_is(bare, "nproc-per-node") || name_is(bare, "n"));
        bool is_nodes = name != word && name_is(bare, "nnodes");
        if (is_ranks && tri_number_read_int(value, &ranks) == TRI_NUMBER_OK)
            has_ranks = true;
        if (is_nodes && tri_number_read_int(value, &nodes) != TRI_NUMBER_OK)
            nodes = 1;
    }
    int64_t all;
    if (!has_ranks || __builtin_mul_overflow(ranks, nodes, &all) || all < 1)
        return;
    struct tri_explain_field *field =
        tri_explain_add(rules->out, TRI_SECTION_PLACEMENT, TRI_DIFFERS, "(launcher)",
                        tri_explain_format(rules->out, "%" PRId64 " ranks", all));
    field->why = tri_explain_format(
        rules->out, "trine takes --ranks %" PRId64 ", or the MPI launcher's number", all);
}

static void finish_samples(struct tri_megatron_rules *rules)
{
    tri_explanation *out = rules->out;
    const char *batch_text = tri_explain_get(out, "global_batch_size");
    int64_t batch = 0, samples;
    bool has_batch = batch_text && tri_number_read_int(batch_text, &batch) == TRI_NUMBER_OK;
    for (int i = 0; i < rules->num_samples; i++) {
        if (rules->samples[i].field < 0)
            continue;
        struct tri_explain_field *field = &out->fields[rules->samples[i].field];
        bool is_number =
            tri_number_read_int(rules->samples[i].value, &samples) == TRI_NUMBER_OK && samples >= 0;
        if (is_number && samples == 0) {
            field->answer = TRI_UNDERSTOOD;
            field->why = "off";
        } else if (!is_number || !has_batch || batch < 1) {
            field->answer = TRI_REFUSED;
            field->why = is_number ? "counts of samples become iterations by global_batch_size, "
                                     "which is not given"
                                   : "it needs a whole number";
        } else {
            tri_explain_set(out, field, rules->samples[i].option,
                            tri_explain_format(out, "%" PRId64, samples / batch));
        }
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

/* tokenizer.json stands in the folder that a Hugging Face tokenizer is read from; a vocabulary that only the
   tokenizer knows is GPT-2's by default. */
static void finish_tokenizer(struct tri_megatron_rules *rules)
{
    tri_explanation *out = rules->out;
    const char *model = rules->tokenizer_model, *type = rules->tokenizer_type;
    if (model && rules->model_field >= 0 && (!type || strstr(type, "HuggingFace"))) {
        const char *dot = strrchr(model, '.');
        bool is_file = dot && strcmp(dot, ".json") == 0;
        tri_explain_set(out, &out->fields[rules->model_field], "tokenizer",
                        is_file ? model : tri_explain_format(out, "%.900s/tokenizer.json", model));
    } else if (model && rules->model_field >= 0) {
        out->fields[rules->model_field].why =
            "trine reads tokenizer.json; convert it, and give data.tokenizer";
    }
    bool is_gpt2 = !type || strcmp(type, "GPT2BPETokenizer") == 0;
    if (is_gpt2 && !tri_explain_get(out, "vocab_size")) {
        struct tri_explain_field *field =
            tri_explain_add(out, TRI_SECTION_SHAPE, TRI_DIFFERS, "(not given)", "--vocab-size");
        if (tri_explain_set(out, field, "vocab_size", GPT2_VOCABULARY))
            field->why = "GPT2BPETokenizer is the default; its vocabulary of that size is assumed";
    }
}

void tri_megatron_finish(struct tri_megatron_rules *rules)
{
    tri_explanation *out = rules->out;
    if (rules->evaluates_nothing)
        tri_explain_unset(out, "eval_interval");
    finish_groups(rules);
    finish_samples(rules);
    finish_tokenizer(rules);
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
