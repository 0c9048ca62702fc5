/* SPDX-License-Identifier: Apache-2.0 */
/* The models of train/run_model.h. */
#include "train/run_model.h"

#include "base/arena.h"
#include "checkpoint/checkpoint.h"
#include "shape/hf_config.h"
#include "spec/family.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* True for JSON that names a family, as no run file does. */
static bool names_family(const char *path)
{
    char *text = NULL, model_type[64];
    size_t bytes = 0;
    tri_error *unused = tri_error_create();
    bool is_it = tri_hf_config_load(path, unused, &text, &bytes) == TRI_OK &&
                 tri_hf_config_model_type(text, bytes, path, unused, model_type,
                                          sizeof model_type) == TRI_OK;
    free(text);
    tri_error_destroy(&unused);
    return is_it;
}

bool tri_run_is_model(const char *path)
{
    const char *slash = strrchr(path, '/');
    bool is_config = strcmp(slash ? slash + 1 : path, "config.json") == 0;
    return is_folder(path) || (is_config && access(path, F_OK) == 0) || names_family(path);
}

/* The directory of the model that path is or has, into config's shape_from. */
static tri_status take_folder(const char *path, struct tri_run_config *config, tri_error *err)
{
    const char *dir = NULL;
    tri_error *faults = tri_error_create();
    tri_arena *arena = tri_arena_create();
    tri_status status = faults && arena
                            ? tri_checkpoint_resolve(path, arena, faults, &dir)
                            : tri_error_add(err, TRI_NOMEM, "out of memory for what '%s' is", path);
    for (int i = 0; i < tri_error_count(faults); i++)
        status = tri_error_add(err, TRI_IO, "%s", tri_error_message(faults, i));
    if (status == TRI_OK)
        snprintf(config->shape_from, sizeof config->shape_from, "%s", dir);
    tri_arena_destroy(&arena);
    tri_error_destroy(&faults);
    return status;
}

tri_status tri_run_take_model(const char *path, struct tri_run_config *config, tri_error *err)
{
    TRI_CHECK(strlen(path) < sizeof config->model, err, TRI_INVALID, "path '%.64s...' is too long",
              path);
    if (!is_folder(path)) {
        snprintf(config->shape_from, sizeof config->shape_from, "%s", path);
        return TRI_OK;
    }
    snprintf(config->model, sizeof config->model, "%s", path);
    return take_folder(path, config, err);
}

/* Where load names the folder of the run itself, there may be nothing yet. */
static bool loads_later(const struct tri_checkpoint_config *config)
{
    return strcmp(config->load, config->save) == 0 && access(config->load, F_OK) != 0;
}

tri_status tri_run_take_loaded_shape(struct tri_run_config *config, tri_error *err)
{
    const struct tri_transformer_config *t = &config->shape.transformer;
    bool is_complete = t->num_layers != TRI_UNSET && t->hidden_size != TRI_UNSET &&
                       t->num_attention_heads != TRI_UNSET;
    const char *load = config->checkpoint.load;
    if (!load[0] || config->shape_from[0] || is_complete || loads_later(&config->checkpoint))
        return TRI_OK;
    return take_folder(load, config, err);
}

/* The shape of the model that load names; false when it has no config.json that can be read, which loading says. */
static bool read_loaded(const char *load, struct tri_gpt_config *shape, char *name, size_t bytes)
{
    const char *dir = NULL;
    tri_error *unused = tri_error_create();
    tri_arena *arena = tri_arena_create();
    bool is_read = arena && tri_checkpoint_resolve(load, arena, unused, &dir) == TRI_OK && dir &&
                   tri_gpt_config_read_hf(dir, unused, shape) == TRI_OK;
    if (is_read)
        snprintf(name, bytes, "%s/config.json", dir);
    tri_arena_destroy(&arena);
    tri_error_destroy(&unused);
    return is_read;
}

/* Sizes that the tensors of a model have; derived ones follow from those before them when they are not given. */
#define SIZE(field, place, derived)                                                                \
    {                                                                                              \
#field, offsetof(struct tri_gpt_config, place field), derived                              \
    }
static const struct {
    const char *name;
    size_t offset;
    bool is_derived;
} sizes[] = {
    SIZE(num_layers, transformer., false),          SIZE(hidden_size, transformer., false),
    SIZE(num_attention_heads, transformer., false), SIZE(vocab_size, , false),
    SIZE(num_query_groups, transformer., true),     SIZE(kv_channels, transformer., true),
    SIZE(ffn_hidden_size, transformer., true),
};

tri_status tri_run_check_loaded_shape(const struct tri_run_config *config, tri_error *err)
{
    struct tri_gpt_config loaded;
    char name[TRI_OPTION_TEXT + 64];
    tri_status status = TRI_OK;
    if (!config->checkpoint.load[0] ||
        !read_loaded(config->checkpoint.load, &loaded, name, sizeof name))
        return TRI_OK;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (sizes[i].is_derived && status != TRI_OK)
            break;
        int64_t ours, theirs;
        memcpy(&ours, (const char *)&config->shape + sizes[i].offset, sizeof ours);
        memcpy(&theirs, (const char *)&loaded + sizes[i].offset, sizeof theirs);
        if (ours != TRI_UNSET && ours != theirs)
            status = tri_error_add(err, TRI_IO,
                                   "'%s' %" PRId64 " contradicts '%s', which is loaded and has "
                                   "%" PRId64 "; use that, or give no shape",
                                   sizes[i].name, ours, name, theirs);
    }
    return status;
}
