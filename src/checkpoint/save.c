/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Saving. Rank 0 makes the temporary directory with every file at its full size; all ranks write
 * their own bytes; rank 0 adds checksums and index, renames, and moves `latest`. Between these
 * steps all ranks agree, so that a failure anywhere ends in no change at all.
 */
#include "checkpoint/checkpoint.h"

#include "checkpoint/format.h"
#include "checkpoint/io.h"
#include "checkpoint/json_write.h"
#include "checkpoint/pieces.h"
#include "checkpoint/publish.h"
#include "checkpoint/transfer.h"

#include <stdlib.h>
#include <string.h>

/* The weights, or one moment. */
struct save_part {
    const struct tri_state_list *list;
    struct tri_disk_set set;
    const char *dir;  /* of its files, temporary */
    uint64_t *sums;   /* [set.num_tensors] */
    uint64_t *counts; /* [set.num_tensors]: elements written */
};

struct save_run {
    tri_group *world;
    const struct tri_checkpoint_save *save;
    tri_error *err;
    tri_arena *arena;
    struct tri_checksum checksum;
    struct tri_publish publish;
    int num_parts;
    struct save_part *parts; /* 0: weights, then the moments */
    int64_t *scratch;        /* for the sum over ranks */
};

static tri_status save_no_memory(tri_error *err)
{
    return tri_error_add(err, TRI_NOMEM, "out of memory for the tables of a checkpoint");
}

static bool is_moment_name(const char *name)
{
    return name && name[0] && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}

static tri_status save_plan_part(struct save_run *run, int i, int64_t limit)
{
    const struct tri_checkpoint_save *save = run->save;
    struct save_part *part = &run->parts[i];
    const char *stem = "model";
    if (i == 0) {
        part->list = &save->weights;
        part->dir = run->publish.temp;
        TRI_TRY(tri_disk_set_weights(save->model, run->arena, run->err, &part->set));
    } else {
        part->list = &save->moments[i - 1];
        part->dir = tri_io_path(run->arena, run->err, run->publish.temp, TRI_STATE_FOLDER);
        TRI_CHECK(is_moment_name(part->list->name), run->err, TRI_BUG,
                  "moment name '%s' is not made of a-z, 0-9 and _",
                  part->list->name ? part->list->name : "");
        stem = tri_arena_format(run->arena, "optim-%s", part->list->name);
        TRI_TRY(tri_disk_set_logical(save->model, run->arena, run->err, &part->set));
    }
    if (!part->dir || !stem)
        return save_no_memory(run->err);
    TRI_TRY(tri_disk_set_split(&part->set, stem, limit, run->arena, run->err));
    TRI_TRY(tri_pieces_check(&part->set, part->list, run->err));
    size_t bytes = ((size_t)part->set.num_tensors + 1) * sizeof(uint64_t);
    part->sums = tri_arena_alloc(run->arena, bytes);
    part->counts = tri_arena_alloc(run->arena, bytes);
    return part->sums && part->counts ? TRI_OK : save_no_memory(run->err);
}

static tri_status save_plan(struct save_run *run)
{
    const struct tri_checkpoint_save *save = run->save;
    TRI_CHECK(save->staging && save->config_json && save->state, run->err, TRI_BUG,
              "a save needs staging, state and the text of config.json");
    int64_t limit = save->file_limit > 0 ? save->file_limit : TRI_DEFAULT_FILE_LIMIT;
    TRI_TRY(tri_publish_plan(save->folder, save->state->iteration, run->arena, run->err,
                             &run->publish));
    run->num_parts = 1 + save->num_moments;
    run->parts = tri_arena_alloc(run->arena, (size_t)run->num_parts * sizeof(*run->parts));
    if (!run->parts)
        return save_no_memory(run->err);
    size_t most = 0;
    for (int i = 0; i < run->num_parts; i++) {
        TRI_TRY(save_plan_part(run, i, limit));
        if ((size_t)run->parts[i].set.num_tensors > most)
            most = (size_t)run->parts[i].set.num_tensors;
    }
    run->scratch = tri_arena_alloc(run->arena, (2 * most + 1) * sizeof(int64_t));
    return run->scratch ? TRI_OK : save_no_memory(run->err);
}

/* A data file at its full size, with its header. */
static tri_status save_make_file(struct save_run *run, const struct save_part *part, int file)
{
    const struct tri_disk_file *f = &part->set.files[file];
    const char *path = tri_io_path(run->arena, run->err, part->dir, f->name);
    int fd = -1;
    if (!path)
        return TRI_NOMEM;
    TRI_TRY(tri_io_open_new(path, run->err, &fd));
    tri_status status = tri_io_reserve(fd, path, f->bytes, run->err);
    if (status == TRI_OK)
        status = tri_io_write_at(fd, path, f->header, f->header_bytes, 0, run->err);
    if (status == TRI_OK)
        status = tri_io_sync(fd, path, run->err);
    tri_status closed = tri_io_close(path, status == TRI_OK ? run->err : NULL, &fd);
    return status != TRI_OK ? status : closed;
}

static tri_status save_write_index(struct save_run *run)
{
    const struct tri_disk_set *set = &run->parts[0].set;
    if (set->num_files < 2)
        return TRI_OK;
    const char *path =
        tri_io_path(run->arena, run->err, run->publish.temp, "model.safetensors.index.json");
    json_t *map = json_object();
    for (int i = 0; i < set->num_tensors; i++)
        json_object_set_new(map, set->tensors[i].name,
                            json_string(set->files[set->tensors[i].file].name));
    json_t *root =
        json_pack("{s{sI sI} so}", "metadata", "total_parameters", (json_int_t)set->elements,
                  "total_size", (json_int_t)(4 * set->elements), "weight_map", map);
    if (!root || !path) {
        json_decref(root);
        return save_no_memory(run->err);
    }
    tri_status status = tri_json_write_file(path, root, true, run->err);
    json_decref(root);
    return status;
}

static tri_status save_write_text(struct save_run *run, const char *name, const char *text)
{
    const char *path = tri_io_path(run->arena, run->err, run->publish.temp, name);
    if (!path)
        return TRI_NOMEM;
    return text ? tri_io_write_all(path, text, (int64_t)strlen(text), run->err) : TRI_OK;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static tri_status save_copy_files(struct save_run *run)
{
    const struct tri_checkpoint_save *save = run->save;
    for (int i = 0; i < save->num_copies; i++) {
        const char *to =
            tri_io_path(run->arena, run->err, run->publish.temp, base_name(save->copies[i]));
        if (!to)
            return TRI_NOMEM;
        TRI_CHECK(!tri_io_exists(to), run->err, TRI_INVALID,
                  "'%s' cannot be copied into a checkpoint, which has a file of that name already",
                  save->copies[i]);
        TRI_TRY(tri_io_copy(save->copies[i], to, save->staging, TRI_STAGING_BYTES, run->err));
    }
    return TRI_OK;
}

/* Rank 0: the temporary directory, with the room for everything taken. */
static tri_status save_prepare(struct save_run *run)
{
    const struct tri_checkpoint_save *save = run->save;
    TRI_TRY(tri_publish_begin(&run->publish, run->arena, run->err));
    const char *state_dir = tri_io_path(run->arena, run->err, run->publish.temp, TRI_STATE_FOLDER);
    const char *state = tri_io_path(run->arena, run->err, run->publish.temp, TRI_STATE_FILE);
    struct tri_disk_set *sets = tri_arena_alloc(run->arena, (size_t)run->num_parts * sizeof(*sets));
    if (!state_dir || !state || !sets)
        return save_no_memory(run->err);
    TRI_TRY(tri_io_make_dir(state_dir, run->err));
    for (int i = 0; i < run->num_parts; i++) {
        if (i > 0)
            sets[i - 1] = run->parts[i].set;
        for (int f = 0; f < run->parts[i].set.num_files; f++)
            TRI_TRY(save_make_file(run, &run->parts[i], f));
    }
    TRI_TRY(save_write_text(run, "config.json", save->config_json));
    TRI_TRY(save_write_text(run, "generation_config.json", save->generation_config_json));
    TRI_TRY(save_write_index(run));
    TRI_TRY(save_copy_files(run));
    return tri_format_write_state(state, save, sets, run->err);
}

/* Writes this rank's elements of the tensors of one file. */
static tri_status save_write_pieces(struct save_run *run, struct save_part *part, int file, int fd,
                                    const char *path)
{
    const struct tri_transfer transfer = {
        .staging = run->save->staging, .checksum = &run->checksum, .err = run->err};
    for (int i = 0; i < part->list->num; i++) {
        const struct tri_state_tensor *piece = &part->list->tensors[i];
        if (!piece->writes || piece->count == 0)
            continue;
        int param = tri_disk_set_find_param(&part->set, piece->spec->name);
        struct tri_local_range range = tri_piece_range(piece);
        for (int t = part->set.param_first[param]; t < part->set.param_first[param + 1]; t++) {
            const struct tri_disk_tensor *disk = &part->set.tensors[t];
            if (disk->file != file)
                continue;
            TRI_TRY(
                tri_transfer_write(&transfer, fd, path, disk, &range, piece->data, &part->sums[t]));
            part->counts[t] += (uint64_t)tri_layout_shared(&range, disk);
        }
    }
    return TRI_OK;
}

static bool save_has_file(const struct save_part *part, int file)
{
    for (int i = 0; i < part->list->num; i++) {
        const struct tri_state_tensor *piece = &part->list->tensors[i];
        int param = tri_disk_set_find_param(&part->set, piece->spec->name);
        for (int t = part->set.param_first[param]; t < part->set.param_first[param + 1]; t++)
            if (piece->writes && piece->count > 0 && part->set.tensors[t].file == file)
                return true;
    }
    return false;
}

static tri_status save_write_file(struct save_run *run, struct save_part *part, int file)
{
    if (!save_has_file(part, file))
        return TRI_OK;
    const char *path = tri_io_path(run->arena, run->err, part->dir, part->set.files[file].name);
    int fd = -1;
    if (!path)
        return TRI_NOMEM;
    TRI_TRY(tri_io_open_parts(path, run->err, &fd));
    tri_status status = save_write_pieces(run, part, file, fd, path);
    if (status == TRI_OK)
        status = tri_io_sync(fd, path, run->err);
    tri_status closed = tri_io_close(path, status == TRI_OK ? run->err : NULL, &fd);
    return status != TRI_OK ? status : closed;
}

/* All ranks: this rank's bytes of every file. */
static tri_status save_write(struct save_run *run)
{
    for (int i = 0; i < run->num_parts; i++)
        for (int f = 0; f < run->parts[i].set.num_files; f++)
            TRI_TRY(save_write_file(run, &run->parts[i], f));
    return TRI_OK;
}

static tri_status save_add_sums(struct save_run *run, json_t *files)
{
    const struct tri_checkpoint_save *save = run->save;
    for (int i = 0; i < run->num_parts; i++) {
        const struct save_part *part = &run->parts[i];
        for (int f = 0; f < part->set.num_files; f++) {
            const char *name = tri_arena_format(run->arena, "%s%s", i == 0 ? "" : "trine/",
                                                part->set.files[f].name);
            if (!name)
                return save_no_memory(run->err);
            TRI_TRY(tri_format_add_sums(files, &run->checksum, name, &part->set, f, part->sums,
                                        run->err));
        }
    }
    const char *const fixed[] = {"config.json", TRI_STATE_FILE, "generation_config.json",
                                 "model.safetensors.index.json"};
    const bool there[] = {true, true, save->generation_config_json != NULL,
                          run->parts[0].set.num_files > 1};
    for (int i = 0; i < 4; i++)
        if (there[i])
            TRI_TRY(tri_format_add_file(files, &run->checksum, run->publish.temp, fixed[i],
                                        save->staging, TRI_STAGING_BYTES, run->err));
    for (int i = 0; i < save->num_copies; i++)
        TRI_TRY(tri_format_add_file(files, &run->checksum, run->publish.temp,
                                    base_name(save->copies[i]), save->staging, TRI_STAGING_BYTES,
                                    run->err));
    return TRI_OK;
}

/* Rank 0: checksums, then the directory becomes visible. */
static tri_status save_publish(struct save_run *run)
{
    const char *path = tri_io_path(run->arena, run->err, run->publish.temp, TRI_CHECKSUM_FILE);
    const char *state_dir = tri_io_path(run->arena, run->err, run->publish.temp, TRI_STATE_FOLDER);
    json_t *files = json_object();
    tri_status status = TRI_NOMEM;
    if (path && state_dir && files)
        status = save_add_sums(run, files);
    if (status == TRI_OK)
        status = tri_format_write_sums(path, files, run->err);
    json_decref(files);
    TRI_TRY(status);
    TRI_TRY(tri_io_sync_dir(state_dir, run->err));
    return tri_publish_end(&run->publish, run->arena, run->err);
}

/* Sums over all ranks; every element must have been written once. Collective. */
static tri_status save_reduce(struct save_run *run)
{
    tri_status status = TRI_OK;
    for (int i = 0; i < run->num_parts; i++) {
        const struct save_part *part = &run->parts[i];
        TRI_TRY(tri_sums_reduce(run->world, part->sums, run->scratch, part->set.num_tensors));
        TRI_TRY(tri_sums_reduce(run->world, part->counts, run->scratch, part->set.num_tensors));
        for (int t = 0; t < part->set.num_tensors; t++)
            if (part->counts[t] != (uint64_t)part->set.tensors[t].elements)
                status = tri_error_add(
                    run->err, TRI_BUG, "ranks wrote %llu elements of '%s', which has %lld",
                    (unsigned long long)part->counts[t], part->set.tensors[t].name,
                    (long long)part->set.tensors[t].elements);
    }
    return tri_group_agree(run->world, status);
}

static tri_status save_steps(struct save_run *run)
{
    bool first = run->world->rank == 0;
    TRI_TRY(tri_group_agree(run->world, save_plan(run)));
    TRI_TRY(tri_group_agree(run->world, first ? save_prepare(run) : TRI_OK));
    TRI_TRY(tri_group_agree(run->world, save_write(run)));
    TRI_TRY(save_reduce(run));
    return tri_group_agree(run->world, first ? save_publish(run) : TRI_OK);
}

tri_status tri_checkpoint_save(tri_group *world, const struct tri_checkpoint_save *save,
                               tri_error *err)
{
    struct save_run run = {.world = world, .save = save, .err = err};
    run.arena = tri_arena_create();
    if (!run.arena)
        return tri_group_agree(world, save_no_memory(err));
    tri_checksum_init(&run.checksum);
    tri_status status = save_steps(&run);
    if (world->rank == 0 && status != TRI_OK && run.publish.temp && run.publish.begun)
        tri_io_remove_tree(run.publish.temp, NULL);
    if (world->rank == 0 && status == TRI_OK)
        tri_publish_retain(&run.publish, save->keep, save->first_iteration, run.arena, err);
    tri_arena_destroy(&run.arena);
    return status;
}
