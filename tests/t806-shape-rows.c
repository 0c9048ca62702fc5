/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every option of section shape changes what the model is: a tiny model is run with and without another
 * value of each row, and the parameter list, the initial values, the logits or what training makes of it
 * must differ. A row that changes nothing is none of shape; one that is refused must be meant to be. A row that
 * acts only beside others says so in its condition, and nothing changes without it, whatever its section.
 */
#include "harness/train_run.h"

#include "shape/options.h"
#include "t80-conditions.h"
#include "train/evaluate.h"
#include "trine/launch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const first_text =
    "shape: {num_layers: 2, hidden_size: 24, num_attention_heads: 4, vocab_size: 37, seq_length: "
    "12,\n"
    "  max_position_embeddings: 16, init_method_std: 0.2}\n"
    "placement: {team_size: 1}\n"
    "train: {micro_batch_size: 2, global_batch_size: 2, train_iters: 2, lr: 0.01}\n";

/* Rows whose other value is not the usual one, or that show what they do only beside values that their condition
   does not ask for; these are of the row's section. */
#define HEADS "kv_channels: 8"
#define YARN  HEADS ", rotary_scaling_factor: 4, original_max_position_embeddings: 512"
#define RAMP  YARN ", yarn_correction_range_round_to_int: false"
#define SHORT HEADS ", original_max_position_embeddings: 16"
#define MUP   "mup_base_hidden_size: 12"
#define BARE  "add_bias_linear: false"

static const struct context {
    const char *row, *beside, *value; /* value NULL: the usual one */
} contexts[] = {
    {"shape_from", NULL, "golden/hf/llama/model"},
    {"position_embedding_type", "mrope_section: [1, 1, 1]", NULL},
    {"hidden_size", NULL, "32"},
    {"num_attention_heads", NULL, "2"},
    {"num_query_groups", NULL, "2"},
    {"kv_channels", NULL, "8"},
    {"ffn_hidden_size", NULL, "40"},
    {"layernorm_epsilon", NULL, "0.1"},
    {"activation_func_clamp_value", NULL, "0.1"},
    {"glu_linear_offset", NULL, "0.5"},
    {"add_qkv_bias", BARE, NULL},
    {"add_proj_bias", BARE, NULL},
    {"add_mlp_bias", BARE, NULL},
    {"layer_query_groups", NULL, "[2, 4]"},
    {"layer_ffn_sizes", NULL, "[16, 40]"},
    {"mup_base_hidden_size", MUP, "6"},
    {"mup_embedding_mult", MUP, NULL},
    {"mup_output_mult", MUP, "3"},
    {"mup_base_head_dim", MUP, "4"},
    {"mup_attn_scale_power", MUP, "0.75"},
    {"vocab_size", NULL, "41"},
    {"seq_length", NULL, "10"},
    {"max_position_embeddings", NULL, "20"},
    {"rotary_base", HEADS, NULL},
    {"rotary_base_local", HEADS, "100"},
    {"rotary_percent", HEADS, "0.5"},
    {"rotary_interleaved", HEADS, NULL},
    {"final_logit_softcapping", NULL, "0.5"},
    {"softmax_scale", NULL, "0.9"},
    {"attn_logit_softcapping", NULL, "0.2"},
    {"window_size", NULL, "[2, 0]"},
    {"window_attn_skip_freq", NULL, "2"},
    {"no_rope_freq", HEADS, "2"},
    {"rotary_seq_len_interpolation_factor", HEADS, "2"},
    {"rope_dynamic_factor", HEADS ", max_position_embeddings: 6, rope_dynamic_factor: 2", "3"},
    {"use_rope_scaling", SHORT, NULL},
    {"rope_scaling_factor", SHORT, NULL},
    {"rope_low_freq_factor", SHORT, "0.5"},
    {"rope_high_freq_factor", SHORT, NULL},
    {"original_max_position_embeddings", HEADS ", rotary_scaling_factor: 4", "300"},
    {"rotary_scaling_factor", YARN, NULL},
    {"beta_fast", RAMP, NULL},
    {"beta_slow", RAMP, NULL},
    {"mscale", YARN, NULL},
    {"mscale_all_dim", YARN, "0.5"},
    {"yarn_attention_factor", YARN, "1.7"},
    {"yarn_correction_range_round_to_int", YARN, NULL},
    {"mrope_section", HEADS ", mrope_section: [2, 1, 1]", "[1, 1, 2]"},
    {"norm_epsilon", NULL, "0.1"},
    {"openai_gelu", "activation_func: silu", NULL},
    {"yarn_original_max_position_embeddings", HEADS ", rotary_scaling_factor: 4", "300"},
    {"yarn_beta_fast", RAMP, "48"},
    {"yarn_beta_slow", RAMP, "2"},
    {"disable_bias_linear", NULL, "true"},
    {"heterogeneous_layers_config_path", NULL, "golden/shape/blocks.json"},
    {"heterogeneous_layers_config_encoded_json", NULL,
     "'{\"block_configs\": [{}, {\"attention\": {\"no_op\": true}}]}'"},
    {"min_lr", NULL, "0.001"},
    {"lr_wsd_decay_style", "lr_wsd_decay_iters: 2", NULL},
    {"lr_wsd_decay_iters", "lr_wsd_decay_iters: 1", "2"},
    {"lr_warmup_init", NULL, "0.001"},
    {"weight_decay", "start_weight_decay: 0.1, end_weight_decay: 0.2", NULL},
};

/* A row that this build only knows in order to refuse it, and one that says what is the default and is refused
   beside anything else. */
static const char *const refused_rows[] = {"num_experts", "openai_gelu"};

/* ---- what a shape comes to ---- */

enum change { NO_CHANGE, REFUSED, PARAMETERS, INITIAL_VALUES, OUTPUT, TRAINING };
static const char *const change_names[] = {"nothing",        "refused", "parameters",
                                           "initial values", "logits",  "training"};

struct observation {
    tri_error *err;
    struct tri_run_config config;
    char *parameters; /* names and sizes */
    struct train_result tensors;
    float *logits;
    size_t num_logits;
    double loss[2];
    int32_t *axis_positions;
    struct train_source source;
};

static tri_status observed_microbatch(void *arg, int index, struct tri_microbatch *microbatch)
{
    struct observation *seen = arg;
    struct tri_batch_source plain = train_source_get(&seen->source);
    TRI_TRY(plain.microbatch(plain.arg, index, microbatch));
    int64_t num = microbatch->rows * microbatch->length;
    for (int64_t i = 0; i < num; i++) { /* three kinds of positions, each its own */
        int32_t position = microbatch->positions[i];
        seen->axis_positions[i] = position;
        seen->axis_positions[num + i] = (int32_t)microbatch->length - 1 - position;
        seen->axis_positions[2 * num + i] = position / 2;
    }
    microbatch->axis_positions = seen->axis_positions;
    return TRI_OK;
}

static tri_status observed_begin(void *arg, int64_t consumed)
{
    struct observation *seen = arg;
    struct tri_batch_source plain = train_source_get(&seen->source);
    return plain.begin_step(plain.arg, consumed);
}

static tri_status want_logits(void *arg, int index, const struct tri_slice *slice,
                              struct tri_slot *slot)
{
    struct observation *seen = arg;
    (void)index;
    if (slice->plan->has_head) {
        slot->logits = seen->logits;
        slot->all_logits = true;
    }
    return TRI_OK;
}

/* "name elements" for each parameter, in model order. */
static char *list_parameters(const struct tri_session *session)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    for (int u = 0; u < session->placement->spec->num_units; u++)
        for (int i = 0; i < session->placement->units[u].num_params; i++) {
            const struct tri_param_spec *spec = &session->placement->units[u].params[i];
            fprintf(out, "%s %lld %lld\n", spec->name, (long long)spec->dims[0],
                    spec->num_dims == 2 ? (long long)spec->dims[1] : 1LL);
        }
    assert_int_equal(fclose(out), 0);
    return text;
}

static tri_status observe_steps(struct observation *seen, struct tri_session *session,
                                const struct tri_batch_source *batches)
{
    struct tri_lr_schedule schedule;
    struct tri_progress progress = {0};
    TRI_TRY(train_schedule(session, &schedule));
    for (int i = 0; i < 2; i++) {
        struct tri_step_result step;
        TRI_TRY(tri_step_run(session, batches, &schedule, false, &progress, &step));
        seen->loss[i] = step.loss;
    }
    return TRI_OK;
}

static tri_status observe_session(struct observation *seen, struct tri_session *session)
{
    const struct tri_gpt_config *shape = &session->config.shape;
    size_t tokens = (size_t)(session->config.train.micro_batch_size * shape->seq_length);
    struct tri_batch_source batches = {.begin_step = observed_begin,
                                       .microbatch = observed_microbatch,
                                       .before = want_logits,
                                       .arg = seen};
    struct tri_evaluation evaluation;
    seen->num_logits = tokens * (size_t)shape->vocab_size;
    seen->logits = calloc(seen->num_logits, sizeof(float));
    seen->axis_positions = calloc(3 * tokens, sizeof(int32_t));
    assert_true(seen->logits && seen->axis_positions);
    seen->parameters = list_parameters(session);
    train_list_tensors(session, &seen->tensors);
    TRI_TRY(train_source_init(&seen->source, session));
    TRI_TRY(tri_params_initialise(session->context, session->model->params));
    TRI_TRY(train_gather(session, &seen->tensors, TRAIN_VALUES, 1, &seen->tensors.initial));
    TRI_TRY(tri_evaluate(session, &batches, 1, &evaluation));
    batches.before = NULL;
    TRI_TRY(observe_steps(seen, session, &batches));
    return train_gather(session, &seen->tensors, TRAIN_VALUES, 1, &seen->tensors.final);
}

static tri_status observe_rank(void *arg, tri_world *world)
{
    struct observation *seen = arg;
    struct tri_session_request request = {.config = &seen->config, .world = world};
    struct tri_session *session = NULL;
    tri_status status = tri_session_create(&request, &session);
    if (status == TRI_OK)
        status = observe_session(seen, session);
    train_source_fini(&seen->source);
    tri_session_destroy(&session);
    return status;
}

/* One request: row of table has value (NULL: its own) beside the keys of its context and what its condition
   asks for, but term number 'broken' the other way round (-1: none). */
struct wanted {
    const struct tri_option_table *table;
    const struct tri_option *row;
    const char *beside, *value;
    int broken, way; /* way: number of the way in which it does not hold */
    bool is_kept;    /* the value is nobody's, so that it is not set back where it has no effect */
};

static void read_keys(struct observation *seen, struct tri_option_binding *bindings, int num,
                      const char *section, const char *keys)
{
    char text[1024];
    snprintf(text, sizeof text, "%s: {%s}\n", section, keys);
    if (tri_error_count(seen->err) == 0)
        tri_option_read_text(text, strlen(text), "row.yaml", bindings, num, NULL, seen->err);
}

static void forget_origin(const struct tri_option *row, struct tri_option_binding *bindings,
                          int num)
{
    const struct tri_option_found found = tri_option_lookup(row->name, NULL, bindings, num);
    tri_option_note_origin(&found, TRI_OPTION_FROM_DEFAULT);
}

static void set_options(struct observation *seen, const struct wanted *wanted)
{
    static struct tri_shape_short given;
    static unsigned char origins[TRI_RUN_MAX_BINDINGS + 1][TRI_RUN_MAX_ROWS];
    struct tri_run_facts facts = {.data_parallel_size = 1};
    struct tri_option_binding bindings[TRI_RUN_MAX_BINDINGS + 2];
    char keys[512];
    memset(origins, 0, sizeof origins);
    tri_run_config_set_defaults(&seen->config);
    tri_option_set_defaults(&tri_shape_short_options, &given);
    int num = tri_run_bind(&seen->config, bindings);
    bindings[num++] =
        (struct tri_option_binding){.table = &tri_shape_short_options, .config = &given};
    for (int i = 0; i < num; i++)
        bindings[i].origin = origins[i];
    bindings[num] = (struct tri_option_binding){.table = &tri_run_fact_options, .config = &facts};
    tri_option_read_text(first_text, strlen(first_text), "first.yaml", bindings, num, NULL,
                         seen->err);
    if (wanted->beside)
        read_keys(seen, bindings, num, wanted->table->section, wanted->beside);
    if (wanted->broken >= 0)
        memset(origins, 0, sizeof origins); /* what stands beside the row is not set back */
    if (wanted->row && wanted->row->when)
        set_terms(wanted->row, wanted->broken, wanted->way, bindings, num + 1);
    if (wanted->value) {
        snprintf(keys, sizeof keys, "%s: %s", wanted->row->name, wanted->value);
        read_keys(seen, bindings, num, wanted->table->section, keys);
    }
    if (wanted->is_kept)
        forget_origin(wanted->row, bindings, num);
    if (tri_error_count(seen->err) == 0)
        tri_run_config_complete(bindings, num + 1, &given, &seen->config, seen->err);
}

static struct observation *observe_start(void)
{
    struct observation *seen = calloc(1, sizeof *seen);
    assert_non_null(seen);
    seen->err = tri_error_create();
    return seen;
}

static void observe_run(struct observation *seen)
{
    struct tri_launch launch = {.ranks = 1, .time_limit_seconds = 600};
    if (tri_error_count(seen->err) == 0)
        tri_launch_run(&launch, observe_rank, seen, &seen->err);
}

static struct observation *observe(const struct wanted *wanted)
{
    struct observation *seen = observe_start();
    set_options(seen, wanted);
    observe_run(seen);
    return seen;
}

static void forget(struct observation *seen)
{
    train_result_free(&seen->tensors);
    free(seen->parameters);
    free(seen->logits);
    free(seen->axis_positions);
    tri_error_destroy(&seen->err);
    free(seen);
}

static bool same_floats(const float *a, const float *b, size_t num)
{
    return memcmp(a, b, num * sizeof *a) == 0;
}

/* The first thing in which two observations differ. */
static enum change compare(const struct observation *a, const struct observation *b)
{
    if (tri_error_count(a->err) > 0 || tri_error_count(b->err) > 0)
        return REFUSED;
    size_t elements = (size_t)a->tensors.elements;
    if (strcmp(a->parameters, b->parameters) != 0)
        return PARAMETERS;
    if (!same_floats(a->tensors.initial, b->tensors.initial, elements))
        return INITIAL_VALUES;
    if (a->num_logits != b->num_logits || !same_floats(a->logits, b->logits, a->num_logits))
        return OUTPUT;
    return a->loss[0] != b->loss[0] || a->loss[1] != b->loss[1] ||
                   !same_floats(a->tensors.final, b->tensors.final, elements)
               ? TRAINING
               : NO_CHANGE;
}

/* How many notes say that row has no effect. */
static int notes_of(const struct observation *seen, const struct tri_option *row)
{
    char text[160];
    int num = 0;
    snprintf(text, sizeof text, "'%s' has no effect: ", row->name);
    for (int i = 0; i < tri_error_note_count(seen->err); i++)
        num += strstr(tri_error_note_message(seen->err, i), text) != NULL;
    return num;
}

/* How many notes the value gets when somebody gives it. */
static int num_notes_of(const struct wanted *wanted)
{
    struct observation *seen = observe_start();
    set_options(seen, wanted);
    int num_notes = notes_of(seen, wanted->row);
    forget(seen);
    return num_notes;
}

static enum change change_of(const struct wanted *wanted)
{
    struct wanted plain = *wanted;
    plain.value = NULL;
    struct observation *without = observe(&plain), *with = observe(wanted);
    enum change change = compare(without, with);
    if (tri_error_count(without->err) > 0)
        fail_msg("'%s': the shape beside it is refused: %s", wanted->row->name,
                 tri_error_message(without->err, 0));
    if (tri_error_count(with->err) > 0)
        print_message("'%s': %s\n", wanted->row->name, tri_error_message(with->err, 0));
    forget(without);
    forget(with);
    return change;
}

/* ---- the walk ---- */

/* A value that is not the default: the other boolean, half as much again. */
static void usual_value(const struct tri_option *row, char *text, size_t bytes)
{
    union {
        double real;
        bool flag;
        char room[TRI_OPTION_JSON_TEXT];
    } value;
    struct tri_option alone = *row;
    alone.offset = 0;
    const struct tri_option_table table = {.rows = &alone, .num_rows = 1};
    tri_option_set_defaults(&table, &value);
    if (row->type == TRI_OPTION_BOOL)
        snprintf(text, bytes, "%s", value.flag ? "false" : "true");
    else if (row->type == TRI_OPTION_DOUBLE)
        snprintf(text, bytes, "%.17g",
                 value.real != 0 && value.real == value.real ? 1.5 * value.real : 0.25);
    else
        snprintf(text, bytes, "3");
}

static const struct context *context_of(const char *row)
{
    static const struct context none;
    for (size_t i = 0; i < sizeof contexts / sizeof contexts[0]; i++)
        if (strcmp(contexts[i].row, row) == 0)
            return &contexts[i];
    return &none;
}

static bool is_refused_row(const char *name)
{
    for (size_t i = 0; i < sizeof refused_rows / sizeof refused_rows[0]; i++)
        if (strcmp(refused_rows[i], name) == 0)
            return true;
    return false;
}

/* 1 when row with value does not change the model, or is refused and not meant to be, or is noted. */
static int check_row(const struct wanted *wanted)
{
    const char *name = wanted->row->name, *value = wanted->value;
    enum change change = change_of(wanted);
    print_message("%-40s %-28s %s\n", name, value, change_names[change]);
    if (change == NO_CHANGE)
        print_error("'%s' %s changes nothing: it is no option of shape\n", name, value);
    else if ((change == REFUSED) != is_refused_row(name))
        print_error("'%s' %s is %srefused\n", name, value, change == REFUSED ? "" : "not ");
    else if (num_notes_of(wanted) > 0)
        print_error("'%s' %s is noted although it acts\n", name, value);
    else
        return 0;
    return 1;
}

/* 1 when row does something without one term of its condition, or when that is not noted, or refused. */
static int check_idle_row(const struct wanted *wanted)
{
    bool needs = wanted->row->flags & TRI_OPTION_NEEDS;
    struct wanted kept = *wanted;
    kept.is_kept = true;
    enum change change = change_of(&kept);
    int num_notes = num_notes_of(wanted);
    print_message("%-40s %-28s without term %d: %s\n", wanted->row->name, wanted->value,
                  wanted->broken, change_names[change]);
    if (change == (needs ? REFUSED : NO_CHANGE) && num_notes == !needs)
        return 0;
    print_error("'%s' %s: %s, and %d notes\n", wanted->row->name, wanted->value,
                change_names[change], num_notes);
    return 1;
}

static struct wanted wanted_of(const struct tri_option_table *table, const struct tri_option *row,
                               char *value, size_t bytes)
{
    const struct context *context = context_of(row->name);
    usual_value(row, value, bytes);
    if (row->choices)
        snprintf(value, bytes, "%s", row->choices[strcmp(row->choices[0], row->default_text) == 0]);
    return (struct wanted){.table = table,
                           .row = row,
                           .beside = context->beside,
                           .value = context->value ? context->value : value,
                           .broken = -1};
}

static int walk_table(const struct tri_option_table *table)
{
    int failures = 0;
    for (int i = 0; i < table->num_rows; i++) {
        const struct tri_option *row = &table->rows[i];
        char value[128];
        struct wanted wanted = wanted_of(table, row, value, sizeof value);
        if (!row->choices)
            failures += check_row(&wanted);
        for (int c = 0; row->choices && (wanted.value = row->choices[c]); c++)
            if (strcmp(row->choices[c], row->default_text) != 0)
                failures += check_row(&wanted);
    }
    return failures;
}

static void every_row_changes_the_model(void **state)
{
    int failures = walk_table(&tri_shape_short_options);
    for (const struct tri_option_table *const *table = tri_run_tables(); *table; table++)
        if (strcmp((*table)->section, "shape") == 0)
            failures += walk_table(*table);
    assert_int_equal(failures, 0);
    (void)state;
}

/* Whether there is a run without the value: a table of positions has no dynamic scaling that lets samples be
   longer than it, and one rank makes no two stages. */
static bool is_possible(struct wanted wanted)
{
    wanted.value = NULL;
    struct observation *seen = observe(&wanted);
    bool is_good = tri_error_count(seen->err) == 0;
    forget(seen);
    return is_good;
}

/* The note alone, where there is no run to look at. */
static int check_idle_note(const struct wanted *wanted)
{
    print_message("%-40s %-28s without term %d: no run\n", wanted->row->name, wanted->value,
                  wanted->broken);
    return num_notes_of(wanted) != 1;
}

static bool has_way(const struct wanted *wanted)
{
    static struct tri_run_config config;
    struct tri_run_facts facts;
    struct tri_option_binding bindings[TRI_RUN_MAX_BINDINGS + 1];
    int num = tri_run_bind(&config, bindings);
    bindings[num++] = (struct tri_option_binding){.table = &tri_run_fact_options, .config = &facts};
    return set_terms(wanted->row, wanted->broken, wanted->way, bindings, num);
}

static int walk_idle(const struct tri_option_table *table)
{
    int failures = 0;
    for (int i = 0; i < table->num_rows; i++) {
        const struct tri_option *row = &table->rows[i];
        struct condition_term terms[MAX_TERMS];
        char value[128];
        struct wanted wanted = wanted_of(table, row, value, sizeof value);
        int num_terms = row->when ? condition_terms(row, terms) : 0;
        for (wanted.broken = 0; wanted.broken < num_terms; wanted.broken++)
            for (wanted.way = 0; has_way(&wanted); wanted.way++) {
                wanted.beside = context_of(row->name)->beside;
                if (!is_possible(wanted))
                    wanted.beside = NULL;
                failures +=
                    is_possible(wanted) ? check_idle_row(&wanted) : check_idle_note(&wanted);
            }
    }
    return failures;
}

/* Of all sections: without a term of its condition a row is noted, and everything is as without it. */
static void rows_without_their_condition_change_nothing(void **state)
{
    int failures = walk_idle(&tri_shape_short_options);
    for (const struct tri_option_table *const *table = tri_run_tables(); *table; table++)
        failures += walk_idle(*table);
    assert_int_equal(failures, 0);
    (void)state;
}

/* The walk would find a row without effect. */
static void a_row_without_effect_is_found(void **state)
{
    static const struct {
        const char *name, *value;
    } rows[] = {{"add_qkv_bias", "true"}, {"hidden_dropout", "0.1"}};
    for (int i = 0; i < 2; i++) {
        const struct wanted wanted = {.table = &tri_transformer_options,
                                      .row =
                                          tri_option_find(&tri_transformer_options, rows[i].name),
                                      .value = rows[i].value,
                                      .broken = -1};
        assert_int_equal(change_of(&wanted), NO_CHANGE);
    }
    (void)state;
}

/* Options of gpt_config that are none of shape change nothing. */
static void padding_and_token_ids_change_nothing(void **state)
{
    struct observation *plain = observe_start(), *other = observe_start();
    set_options(plain, &(struct wanted){0});
    set_options(other, &(struct wanted){0});
    other->config.shape.make_vocab_size_divisible_by = 64;
    other->config.shape.bos_token_id = 1;
    other->config.shape.eos_token_id = 2;
    observe_run(plain);
    observe_run(other);
    assert_int_equal(compare(plain, other), NO_CHANGE);
    forget(plain);
    forget(other);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_changes_the_model),
        cmocka_unit_test(rows_without_their_condition_change_nothing),
        cmocka_unit_test(a_row_without_effect_is_found),
        cmocka_unit_test(padding_and_token_ids_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
