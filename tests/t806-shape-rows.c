/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every option of section shape changes what the model is: a tiny model is run with and without another
 * value of each row, and the parameter list, the initial values, the logits or what training makes of it
 * must differ. A row that changes nothing is none of shape; one that is refused must be meant to be.
 */
#include "harness/train_run.h"

#include "shape/options.h"
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

/* Rows whose other value is not the usual one, or that act only beside others. */
#define ROPE "position_embedding_type: rope, kv_channels: 8"
#define YARN                                                                                       \
    "position_embedding_type: yarn, kv_channels: 8, rotary_scaling_factor: 4, "                    \
    "original_max_position_embeddings: 512"
#define YARN_RAMP YARN ", yarn_correction_range_round_to_int: false"
#define LLAMA3    ROPE ", use_rope_scaling: true, original_max_position_embeddings: 16"
#define MUP       "use_mup: true, mup_base_hidden_size: 12"
#define NO_BIAS   "add_bias_linear: false"
#define GATED     "gated_linear_unit: true"

static const struct context {
    const char *row, *base, *value; /* value NULL: the usual one */
} contexts[] = {
    {"shape_from", NULL, "golden/hf/llama/model"},
    {"position_embedding_type", "mrope_section: [1, 1, 1]", NULL},
    {"hidden_size", NULL, "32"},
    {"num_attention_heads", NULL, "2"},
    {"num_query_groups", NULL, "2"},
    {"kv_channels", NULL, "8"},
    {"ffn_hidden_size", NULL, "40"},
    {"layernorm_epsilon", NULL, "0.1"},
    {"activation_func_clamp_value", GATED, "0.1"},
    {"glu_linear_offset", GATED, "0.5"},
    {"add_qkv_bias", NO_BIAS, NULL},
    {"add_proj_bias", NO_BIAS, NULL},
    {"add_mlp_bias", NO_BIAS, NULL},
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
    {"rotary_base", ROPE, NULL},
    {"rotary_base_local", ROPE ", window_size: [3, 0]", "100"},
    {"rotary_percent", ROPE, "0.5"},
    {"rotary_interleaved", ROPE, NULL},
    {"final_logit_softcapping", NULL, "0.5"},
    {"qk_norm_across_heads", "qk_layernorm: true, normalization: RMSNorm", NULL},
    {"softmax_scale", NULL, "0.9"},
    {"attn_logit_softcapping", NULL, "0.2"},
    {"window_size", NULL, "[2, 0]"},
    {"window_attn_skip_freq", "window_size: [2, 0]", "2"},
    {"no_rope_freq", ROPE, "2"},
    {"rotary_seq_len_interpolation_factor", ROPE, "2"},
    {"rope_dynamic_factor", ROPE ", max_position_embeddings: 6, rope_dynamic_factor: 2", "3"},
    {"use_rope_scaling", ROPE ", original_max_position_embeddings: 16", NULL},
    {"rope_scaling_factor", LLAMA3, NULL},
    {"rope_low_freq_factor", LLAMA3, "0.5"},
    {"rope_high_freq_factor", LLAMA3, NULL},
    {"original_max_position_embeddings", LLAMA3, "32"},
    {"rotary_scaling_factor", YARN, NULL},
    {"beta_fast", YARN_RAMP, NULL},
    {"beta_slow", YARN_RAMP, NULL},
    {"mscale", YARN, NULL},
    {"mscale_all_dim", YARN, "0.5"},
    {"yarn_attention_factor", YARN, "1.7"},
    {"yarn_correction_range_round_to_int", YARN, NULL},
    {"mrope_section", "position_embedding_type: mrope, kv_channels: 8, mrope_section: [2, 1, 1]",
     "[1, 1, 2]"},
    {"norm_epsilon", NULL, "0.1"},
    {"openai_gelu", "activation_func: silu", NULL},
    {"yarn_original_max_position_embeddings",
     "position_embedding_type: yarn, kv_channels: 8, rotary_scaling_factor: 4", "300"},
    {"yarn_beta_fast", YARN_RAMP, "48"},
    {"yarn_beta_slow", YARN_RAMP, "2"},
    {"disable_bias_linear", NULL, "true"},
    {"heterogeneous_layers_config_path", NULL, "golden/shape/blocks.json"},
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

/* The request of first_text with base's keys in its shape, and row set to value where that is given. */
static void set_options(struct observation *seen, const char *base, const char *name,
                        const char *value)
{
    static struct tri_shape_short given;
    static unsigned char origins[TRI_RUN_MAX_BINDINGS + 1][TRI_RUN_MAX_ROWS];
    struct tri_option_binding bindings[TRI_RUN_MAX_BINDINGS + 1];
    char text[1024];
    memset(origins, 0, sizeof origins);
    tri_run_config_set_defaults(&seen->config);
    tri_option_set_defaults(&tri_shape_short_options, &given);
    int num = tri_run_bind(&seen->config, bindings);
    bindings[num++] =
        (struct tri_option_binding){.table = &tri_shape_short_options, .config = &given};
    for (int i = 0; i < num; i++)
        bindings[i].origin = origins[i];
    tri_status status = tri_option_read_text(first_text, strlen(first_text), "first.yaml", bindings,
                                             num, NULL, seen->err);
    snprintf(text, sizeof text, "shape: {%s}\n", base ? base : "");
    if (status == TRI_OK)
        status =
            tri_option_read_text(text, strlen(text), "base.yaml", bindings, num, NULL, seen->err);
    snprintf(text, sizeof text, "shape: {%s: %s}\n", name, value ? value : "");
    if (status == TRI_OK && value)
        status =
            tri_option_read_text(text, strlen(text), "row.yaml", bindings, num, NULL, seen->err);
    if (status == TRI_OK)
        tri_run_config_complete(bindings, &given, &seen->config, seen->err);
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

static struct observation *observe(const char *base, const char *name, const char *value)
{
    struct observation *seen = observe_start();
    set_options(seen, base, name, value);
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

static enum change change_of(const char *base, const char *name, const char *value)
{
    struct observation *without = observe(base, name, NULL), *with = observe(base, name, value);
    enum change change = compare(without, with);
    if (tri_error_count(without->err) > 0)
        fail_msg("'%s': the shape beside it is refused: %s", name,
                 tri_error_message(without->err, 0));
    if (tri_error_count(with->err) > 0)
        print_message("'%s': %s\n", name, tri_error_message(with->err, 0));
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
        char room[TRI_OPTION_LONG_TEXT];
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

/* 1 when row with value does not change the model, or is refused and not meant to be. */
static int check_row(const struct tri_option *row, const char *base, const char *value)
{
    enum change change = change_of(base, row->name, value);
    print_message("%-40s %-28s %s\n", row->name, value, change_names[change]);
    if (change == NO_CHANGE)
        print_error("'%s' %s changes nothing: it is no option of shape\n", row->name, value);
    else if ((change == REFUSED) != is_refused_row(row->name))
        print_error("'%s' %s is %srefused\n", row->name, value, change == REFUSED ? "" : "not ");
    else
        return 0;
    return 1;
}

static int walk_table(const struct tri_option_table *table)
{
    int failures = 0;
    for (int i = 0; i < table->num_rows; i++) {
        const struct tri_option *row = &table->rows[i];
        const struct context *context = context_of(row->name);
        char value[128];
        usual_value(row, value, sizeof value);
        if (!row->choices)
            failures += check_row(row, context->base, context->value ? context->value : value);
        for (int c = 0; row->choices && row->choices[c]; c++)
            if (strcmp(row->choices[c], row->default_text) != 0)
                failures += check_row(row, context->base, row->choices[c]);
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

/* The walk would find a row without effect: one that acts only beside another, without that. */
static void a_row_without_effect_is_found(void **state)
{
    assert_int_equal(change_of(NULL, "rotary_base", "500"), NO_CHANGE);
    assert_int_equal(change_of("add_bias_linear: true", "add_qkv_bias", "true"), NO_CHANGE);
    assert_int_equal(change_of(NULL, "hidden_dropout", "0.1"), NO_CHANGE);
    (void)state;
}

/* Options of gpt_config that are none of shape change nothing. */
static void padding_and_token_ids_change_nothing(void **state)
{
    struct observation *plain = observe_start(), *other = observe_start();
    set_options(plain, NULL, "", NULL);
    set_options(other, NULL, "", NULL);
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
        cmocka_unit_test(a_row_without_effect_is_found),
        cmocka_unit_test(padding_and_token_ids_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
