/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of pieces, and what is saved beside them. */
#include "train/resume.h"

#include "base/file.h"
#include "optim/optimizer.h"
#include "shape/hf_config.h"
#include "spec/family.h"
#include "train/reconcile.h"
#include "train/tokenizer_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LARGEST_TEXT ((size_t)16 << 20)

struct tri_session_state {
    struct tri_session *session;
    tri_arena *arena;
    struct tri_checkpoint_model model;
    struct tri_state_list weights, grads;
    struct tri_state_list moments[4];
    int num_moments;
    void *staging;
    int64_t first_iteration; /* of this run */
    /* Texts of the directory that the model came from, or NULL: what is saved keeps what they say. */
    char *config_json, *generation_config_json;
    const char *loaded; /* that directory, where its weights were taken; "": none */
};

/* Every parameter of the whole model once, in model order. */
static tri_status list_model(tri_session_state *state, const struct tri_family *names)
{
    const struct tri_placement *placement = state->session->placement;
    int num = 0, num_units = placement->spec->num_units;
    for (int u = 0; u < num_units; u++)
        num += placement->units[u].num_params;
    const struct tri_param_spec **params =
        tri_arena_alloc(state->arena, (size_t)(num + 1) * sizeof *params);
    TRI_CHECK(params, state->session->err, TRI_NOMEM, "out of memory for the list of parameters");
    num = 0;
    for (int u = 0; u < num_units; u++)
        for (int i = 0; i < placement->units[u].num_params; i++)
            if (!placement->units[u].params[i].tied_copy)
                params[num++] = &placement->units[u].params[i];
    const struct tri_gpt_config *shape = &placement->spec->shape;
    state->model = (struct tri_checkpoint_model){
        .family = names ? names : tri_family_find(shape->family),
        .vocab_size = shape->vocab_size,
        .tied = !shape->untie_embeddings_and_output_weights,
        .num_params = num,
        .params = params,
    };
    return TRI_OK; /* without a family nothing is saved or loaded, which the plan has seen to */
}

/* Elements [first, end) of the local tensor, of which data is the first. Those that count on this rank
   are written by it, those that another rank has as well by that one. */
static void add_piece(const tri_session_state *state, struct tri_state_list *list,
                      const struct tri_param_plan *param, int64_t first, int64_t end, float *data,
                      bool writes)
{
    if (first >= end)
        return;
    if (first < param->counted && param->counted < end) {
        add_piece(state, list, param, first, param->counted, data, writes);
        add_piece(state, list, param, param->counted, end, data + (param->counted - first), writes);
        return;
    }
    struct tri_state_tensor *pieces = (struct tri_state_tensor *)list->tensors;
    pieces[list->num++] = (struct tri_state_tensor){
        .spec = param->spec,
        .tp_rank = state->session->context->tp->rank,
        .tp_size = state->session->context->tp->size,
        .first = first,
        .count = end - first,
        .data = data,
        .writes = writes && first < param->counted,
    };
}

static tri_status start_list(tri_session_state *state, struct tri_state_list *list, int max)
{
    list->num = 0;
    list->tensors = tri_arena_alloc(state->arena, (size_t)(max + 1) * sizeof *list->tensors);
    TRI_CHECK(list->tensors, state->session->err, TRI_NOMEM,
              "out of memory for the list of pieces");
    return TRI_OK;
}

/* Whole parameters, of which each dp rank writes its share. */
static tri_status list_params(tri_session_state *state, struct tri_state_list *list)
{
    const struct tri_model *model = state->session->model;
    const tri_group *dp = state->session->context->dp;
    TRI_TRY(start_list(state, list, 4 * model->num_params));
    for (int i = 0; i < model->num_params; i++) {
        const struct tri_param *param = &model->params[i];
        float *data = tri_tensor_f32(&param->value);
        int64_t n = param->plan->elements;
        int64_t first = n * dp->rank / dp->size, end = n * (dp->rank + 1) / dp->size;
        add_piece(state, list, param->plan, 0, first, data, false);
        add_piece(state, list, param->plan, first, end, data + first, true);
        add_piece(state, list, param->plan, end, n, data + end, false);
    }
    return TRI_OK;
}

/* This rank's shards of the gradients (moment -1) or of a moment; without sharding all dp ranks
   hold the same and the first writes. */
static tri_status list_shards(tri_session_state *state, struct tri_state_list *list, int moment)
{
    struct tri_session *session = state->session;
    const struct tri_model *model = session->model;
    bool sharded = session->placement->config.use_distributed_optimizer;
    TRI_TRY(start_list(state, list, 2 * model->num_shards));
    for (int i = 0; i < model->num_shards; i++) {
        const struct tri_shard *shard = &model->shards[i];
        float *data = moment < 0 ? tri_tensor_f32(&shard->grad)
                                 : tri_optimizer_moment(model, moment, shard->state);
        add_piece(state, list, shard->param->plan, shard->first,
                  shard->first + shard->value.dims[0], data,
                  sharded || session->context->dp->rank == 0);
    }
    return TRI_OK;
}

static tri_status list_moments(tri_session_state *state)
{
    const struct tri_optimizer_row *row = tri_optimizer_get(state->session->config.optim.optimizer);
    state->num_moments = row->num_moments;
    for (int m = 0; m < row->num_moments; m++) {
        TRI_TRY(list_shards(state, &state->moments[m], m));
        state->moments[m].name = row->moment_names[m];
    }
    return TRI_OK;
}

static tri_status fill_lists(tri_session_state *state, const struct tri_family *names)
{
    TRI_TRY(list_model(state, names));
    TRI_TRY(list_params(state, &state->weights));
    int row = tri_rank_plan_row(&state->session->plan, "checkpoint", "staging");
    TRI_CHECK(row >= 0, state->session->err, TRI_BUG, "the plan has no staging for checkpoints");
    state->staging = tri_context_row(state->session->context, row, 0);
    if (state->session->request.forward_only)
        return TRI_OK;
    TRI_TRY(list_shards(state, &state->grads, -1));
    return list_moments(state);
}

tri_status tri_session_state_create(struct tri_session *session, const struct tri_family *names,
                                    tri_session_state **result)
{
    tri_session_state *state = calloc(1, sizeof *state);
    if (!state)
        return tri_error_set(session->err, TRI_NOMEM, "out of memory for the state's lists");
    state->session = session;
    state->loaded = "";
    state->arena = tri_arena_create();
    tri_status status = state->arena
                            ? fill_lists(state, names)
                            : tri_error_set(session->err, TRI_NOMEM, "out of memory for the lists");
    if (status != TRI_OK) {
        tri_session_state_destroy(&state);
        return status;
    }
    *result = state;
    return TRI_OK;
}

void tri_session_state_destroy(tri_session_state **result)
{
    tri_session_state *state = *result;
    if (!state)
        return;
    tri_arena_destroy(&state->arena);
    free(state->config_json);
    free(state->generation_config_json);
    free(state);
    *result = NULL;
}

/* The effective options as text; *text is the caller's to free(). */
static tri_status options_text(const tri_session_state *state, char **text)
{
    size_t bytes = 0;
    FILE *out = open_memstream(text, &bytes);
    TRI_CHECK(out, state->session->err, TRI_NOMEM, "out of memory for the options");
    tri_run_config_print(out, &state->session->config, false);
    fclose(out);
    return TRI_OK;
}

static tri_status save_texts(tri_session_state *state, struct tri_checkpoint_save *save,
                             struct tri_checkpoint_state *texts)
{
    struct tri_session *session = state->session;
    char *options = NULL, *config_json = NULL;
    TRI_CHECK(state->model.family->config, session->err, TRI_BUG,
              "files by the names of '%s' have no config.json and are not saved",
              state->model.family->name);
    const char *tokenizer = session->config.data.tokenizer;
    TRI_TRY(tri_tokenizer_files(tokenizer[0] ? tokenizer : state->loaded, state->arena,
                                session->err, &save->copies, &save->num_copies));
    TRI_TRY(tri_hf_config_write(state->model.family->config, &session->spec->shape, "float32",
                                state->config_json, session->err, &config_json));
    tri_status status = options_text(state, &options);
    texts->options = options;
    save->config_json = config_json;
    save->generation_config_json = state->generation_config_json;
    if (status == TRI_OK)
        status = tri_checkpoint_save(session->context->all, save, session->err);
    free(options);
    free(config_json);
    return status;
}

tri_status tri_session_state_save(tri_session_state *state, const struct tri_progress *progress)
{
    struct tri_session *session = state->session;
    const struct tri_checkpoint_config *config = &session->config.checkpoint;
    struct tri_checkpoint_state numbers = {
        .iteration = progress->iteration,
        .consumed_samples = progress->consumed_samples,
        .consumed_tokens = progress->consumed_samples * session->config.shape.seq_length,
        .schedule_position = progress->schedule_samples,
        .optimizer_steps = progress->updates,
    };
    struct tri_checkpoint_save save = {
        .folder = config->save,
        .model = &state->model,
        .state = &numbers,
        .weights = state->weights,
        .moments = state->moments,
        .num_moments = config->no_save_optim ? 0 : state->num_moments,
        .file_limit = (int64_t)(config->max_shard_size_gb * 1e9),
        .keep = config->keep_last == TRI_UNSET ? 0 : (int)config->keep_last,
        .first_iteration = state->first_iteration,
        .staging = state->staging,
    };
    return save_texts(state, &save, &numbers);
}

static tri_status load(tri_session_state *state, const char *dir, const char *file, bool moments)
{
    struct tri_checkpoint_load request = {
        .dir = dir,
        .file = file,
        .model = &state->model,
        .weights = state->weights,
        .moments = state->moments,
        .num_moments = moments ? state->num_moments : 0,
        .staging = state->staging,
    };
    return tri_checkpoint_load(state->session->context->all, &request, state->session->err);
}

tri_status tri_session_state_load_weights(tri_session_state *state, const char *dir,
                                          const char *file)
{
    return load(state, dir, file, false);
}

static bool is_model(const char *path)
{
    char file[TRI_OPTION_TEXT + 16];
    snprintf(file, sizeof file, "%s/config.json", path);
    return access(file, F_OK) == 0;
}

/* The directory that the options name; NULL: start anew, which a run does that saves where it loads
   from and has saved nothing yet. */
static tri_status find_dir(tri_session_state *state, const char **dir, bool *is_run)
{
    const struct tri_checkpoint_config *config = &state->session->config.checkpoint;
    tri_error *err = state->session->err;
    *dir = NULL;
    *is_run = false;
    if (!config->load[0])
        return TRI_OK;
    if (config->ckpt_step != TRI_UNSET)
        TRI_TRY(tri_checkpoint_find_step(config->load, config->ckpt_step, state->arena, err, dir));
    else
        TRI_TRY(tri_checkpoint_find_latest(config->load, state->arena, err, dir));
    if (!*dir && is_model(config->load))
        *dir = config->load;
    if (!*dir) {
        TRI_CHECK(strcmp(config->load, config->save) == 0, err, TRI_IO,
                  "'%s' holds no checkpoint and no model; leave out --load to start anew",
                  config->load);
        TRI_CHECK(!config->exit_on_missing_checkpoint, err, TRI_IO,
                  "'%s' holds no checkpoint, and exit_on_missing_checkpoint is set", config->load);
        return TRI_OK;
    }
    *is_run = tri_checkpoint_has_state(*dir);
    return TRI_OK;
}

/* Keeps what the model's directory says besides weights; without one, what the shape came from says. */
static tri_status keep_texts(tri_session_state *state, const char *dir)
{
    tri_error *err = state->session->err;
    const char *from = dir ? dir : state->session->config.shape_from;
    size_t bytes;
    state->loaded = dir ? dir : "";
    if (!from[0])
        return TRI_OK;
    TRI_TRY(tri_hf_config_load(from, err, &state->config_json, &bytes));
    const char *path = tri_arena_format(state->arena, "%s/generation_config.json", from);
    TRI_CHECK(path, err, TRI_NOMEM, "out of memory for a path below '%s'", from);
    return access(path, F_OK) != 0
               ? TRI_OK
               : tri_file_read(path, LARGEST_TEXT, err, &state->generation_config_json, &bytes);
}

/* Options that decide which sample comes when: another value goes on with other data. */
static const char *const data_options[] = {
    "seed",           "seq_length",      "global_batch_size",
    "data_path",      "train_data_path", "valid_data_path",
    "test_data_path", "split",           "dataloader_type",
};

static void note_changed_data(tri_error *err, const char *dir, struct tri_option_binding *saved,
                              struct tri_option_binding *own, int num)
{
    for (size_t i = 0; i < sizeof data_options / sizeof data_options[0]; i++)
        for (int b = 0; b < num; b++) {
            const struct tri_option *row = tri_option_find(saved[b].table, data_options[i]);
            char theirs[256], ours[256];
            if (!row)
                continue;
            tri_option_format(row, saved[b].config, theirs, sizeof theirs);
            tri_option_format(row, own[b].config, ours, sizeof ours);
            if (strcmp(theirs, ours) != 0)
                tri_error_note(err,
                               "%s is %s, in '%s' it was %s: the run goes on with other samples",
                               row->name, ours, dir, theirs);
        }
}

/* Reads the saved options and holds their schedule against this run's. */
static tri_status reconcile(tri_session_state *state, const struct tri_checkpoint_state *saved,
                            const char *dir, struct tri_lr_schedule *schedule)
{
    struct tri_session *session = state->session;
    if (!saved->options)
        return TRI_OK;
    struct tri_run_config *config = tri_arena_alloc(state->arena, sizeof *config);
    TRI_CHECK(config, session->err, TRI_NOMEM, "out of memory for the saved options");
    struct tri_option_binding bindings[TRI_RUN_MAX_BINDINGS], own[TRI_RUN_MAX_BINDINGS];
    struct tri_lr_schedule theirs;
    tri_run_config_set_defaults(config);
    tri_run_bind(&session->config, own);
    int num = tri_run_bind(config, bindings);
    TRI_TRY(tri_option_read_text(saved->options, strlen(saved->options), dir, bindings, num, NULL,
                                 session->err));
    note_changed_data(session->err, dir, bindings, own, num);
    TRI_TRY(tri_lr_schedule_plan(&config->optim, config->train.train_iters,
                                 config->train.global_batch_size, session->err, &theirs));
    return tri_lr_schedule_reconcile(&theirs, &session->config.optim, dir, session->err, schedule);
}

static tri_status take_up(tri_session_state *state, const char *dir, struct tri_progress *progress,
                          struct tri_lr_schedule *schedule)
{
    struct tri_session *session = state->session;
    struct tri_checkpoint_state saved;
    TRI_TRY(tri_checkpoint_read_state(dir, state->arena, session->err, &saved));
    if (saved.iteration == 0) /* no sample, no rate and no moment that a run could go on from */
        return load(state, dir, NULL, false);
    TRI_CHECK(!tri_train_only_saves(&session->config.train), session->err, TRI_INVALID,
              "train_iters is 0, and '%s' is of iteration %lld: without steps only the model is "
              "written; say --finetune to leave the progress of training behind",
              dir, (long long)saved.iteration);
    TRI_TRY(reconcile(state, &saved, dir, schedule));
    TRI_TRY(load(state, dir, NULL, !session->config.checkpoint.no_load_optim));
    *progress = (struct tri_progress){
        .iteration = saved.iteration,
        .consumed_samples = saved.consumed_samples,
        .schedule_samples = saved.schedule_position,
        .updates = session->config.checkpoint.no_load_optim ? 0 : saved.optimizer_steps,
    };
    state->first_iteration = saved.iteration;
    return TRI_OK;
}

tri_status tri_session_state_start(tri_session_state *state, struct tri_progress *progress,
                                   struct tri_lr_schedule *schedule, bool *found)
{
    const char *dir;
    bool is_run;
    *progress = (struct tri_progress){0};
    *found = false;
    TRI_TRY(tri_group_agree(state->session->context->all, find_dir(state, &dir, &is_run)));
    TRI_TRY(tri_group_agree(state->session->context->all, keep_texts(state, dir)));
    if (!dir)
        return tri_params_initialise(state->session->context, state->session->model->params);
    if (!is_run || state->session->config.checkpoint.finetune)
        return load(state, dir, NULL, false);
    TRI_TRY(take_up(state, dir, progress, schedule));
    *found = progress->iteration > 0;
    return TRI_OK;
}

tri_status tri_session_state_write_grads(tri_session_state *state, const char *folder)
{
    struct tri_session *session = state->session;
    struct tri_checkpoint_state numbers = {.iteration = 1};
    struct tri_checkpoint_save save = {
        .folder = folder,
        .model = &state->model,
        .state = &numbers,
        .weights = state->grads,
        .config_json = "{}\n",
        .staging = state->staging,
    };
    return tri_checkpoint_save(session->context->all, &save, session->err);
}

tri_status tri_session_load(struct tri_session *session, const char *dir)
{
    tri_session_state *state = NULL;
    const char *found;
    TRI_TRY(tri_checkpoint_resolve(dir, session->arena, session->err, &found));
    TRI_TRY(tri_session_state_create(session, NULL, &state));
    tri_status status = tri_session_state_load_weights(state, found, NULL);
    tri_session_state_destroy(&state);
    return status;
}
