/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading. Every rank checks the whole directory for itself, then reads its own elements. Where the
 * directory has checksums, the sums of all ranks' pieces are compared with them at the end.
 */
#include "checkpoint/checkpoint.h"

#include "checkpoint/format.h"
#include "checkpoint/io.h"
#include "checkpoint/pieces.h"
#include "checkpoint/source.h"
#include "checkpoint/transfer.h"

#include <string.h>

struct load_run {
    tri_group *world;
    const struct tri_checkpoint_load *load;
    tri_error *err;
    tri_arena *arena;
    struct tri_checksum checksum;
    json_t *sums_root, *sums_files; /* NULL: a directory without them */
};

/* The weights or one moment, found in files. */
struct load_part {
    const struct tri_state_list *list;
    const char *prefix; /* of its files in checksums.json */
    const struct tri_family *family;
    struct tri_disk_set set;
    struct tri_source source;
    struct tri_source_place *places;
    uint64_t *sums;
    int64_t *scratch;
};

static tri_status load_no_memory(tri_error *err)
{
    return tri_error_add(err, TRI_NOMEM, "out of memory for the tables of a checkpoint");
}

/* Opens the files and finds every tensor; lists all faults even when some files are broken. */
static tri_status load_find(struct load_run *run, struct load_part *part, tri_status opened)
{
    if (!part->source.files)
        return opened;
    size_t n = (size_t)part->set.num_tensors + 1;
    part->places = tri_arena_alloc(run->arena, n * sizeof(*part->places));
    part->sums = tri_arena_alloc(run->arena, n * sizeof(*part->sums));
    part->scratch = tri_arena_alloc(run->arena, 2 * n * sizeof(*part->scratch));
    if (!part->places || !part->sums || !part->scratch)
        return load_no_memory(run->err);
    tri_status matched =
        tri_source_match(&part->source, &part->set, part->family, run->world->rank == 0, run->arena,
                         run->err, part->places);
    TRI_TRY(opened);
    TRI_TRY(matched);
    return tri_pieces_check(&part->set, part->list, run->err);
}

static tri_status load_open_weights(struct load_run *run, struct load_part *part)
{
    const struct tri_checkpoint_load *load = run->load;
    TRI_CHECK(load->staging, run->err, TRI_BUG, "a load needs staging");
    TRI_TRY(tri_disk_set_weights(load->model, run->arena, run->err, &part->set));
    if (tri_checkpoint_has_state(load->dir)) {
        TRI_TRY(tri_format_check_sizes(load->dir, run->arena, run->err));
        TRI_TRY(tri_format_read_sums(load->dir, run->err, &run->sums_root, &run->sums_files));
    }
    tri_status opened =
        load->file
            ? tri_source_open_files(load->dir, &load->file, 1, run->arena, run->err, &part->source)
            : tri_source_open_hf(load->dir, run->arena, run->err, &part->source);
    return load_find(run, part, opened);
}

static tri_status load_open_moment(struct load_run *run, struct load_part *part)
{
    const struct tri_checkpoint_load *load = run->load;
    TRI_CHECK(run->sums_files, run->err, TRI_INVALID,
              "'%s' is a model without training state; load its weights only", load->dir);
    TRI_TRY(tri_disk_set_logical(load->model, run->arena, run->err, &part->set));
    const char *folder = tri_io_path(run->arena, run->err, load->dir, TRI_STATE_FOLDER);
    struct tri_moment_files files;
    if (!folder)
        return TRI_NOMEM;
    TRI_TRY(tri_format_read_moment(load->dir, part->list->name, run->arena, run->err, &files));
    return load_find(run, part,
                     tri_source_open_files(folder, files.files, files.num_files, run->arena,
                                           run->err, &part->source));
}

static tri_status load_read_piece(struct load_run *run, struct load_part *part,
                                  const struct tri_state_tensor *piece)
{
    const struct tri_transfer transfer = {
        .staging = run->load->staging, .checksum = &run->checksum, .err = run->err};
    int param = tri_disk_set_find_param(&part->set, piece->spec->name);
    struct tri_local_range range = tri_piece_range(piece);
    for (int t = part->set.param_first[param]; t < part->set.param_first[param + 1]; t++) {
        const struct tri_safetensors *file = &part->source.files[part->places[t].file];
        const struct tri_safetensors_tensor *tensor = part->places[t].tensor;
        struct tri_disk_tensor disk = part->set.tensors[t];
        disk.begin = tensor->begin;
        bool counts = run->sums_files && piece->writes && tensor->dtype->dtype == TRI_DTYPE_F32;
        TRI_TRY(tri_transfer_read(&transfer, file->fd, file->path, tensor->dtype->dtype, &disk,
                                  &range, piece->data, counts ? &part->sums[t] : NULL));
    }
    int64_t first, count;
    tri_layout_padding(&range, &first, &count);
    if (count > 0)
        memset(piece->data + first, 0, (size_t)count * sizeof(float));
    return TRI_OK;
}

static tri_status load_read(struct load_run *run, struct load_part *part)
{
    for (int i = 0; i < part->list->num; i++)
        if (part->list->tensors[i].count > 0)
            TRI_TRY(load_read_piece(run, part, &part->list->tensors[i]));
    return TRI_OK;
}

/* Compares the sums over all ranks with those of the directory. */
static tri_status load_check_sums(struct load_run *run, struct load_part *part)
{
    tri_status status = TRI_OK;
    for (int t = 0; t < part->set.num_tensors; t++) {
        const struct tri_safetensors *file = &part->source.files[part->places[t].file];
        const char *name = tri_arena_format(run->arena, "%s%s", part->prefix, file->name);
        if (!name)
            return load_no_memory(run->err);
        const json_t *entry = json_object_get(run->sums_files, name);
        const json_t *text =
            json_object_get(json_object_get(entry, "tensors"), part->places[t].tensor->name);
        uint64_t expected;
        if (!tri_format_parse_sum(text, &expected))
            status = tri_error_add(run->err, TRI_INVALID,
                                   "'%s' in '%s' has no checksum in '%s': the file is not the one "
                                   "that was saved; remove the folder '%s' to use the weights "
                                   "without training state",
                                   part->places[t].tensor->name, file->path, TRI_CHECKSUM_FILE,
                                   TRI_STATE_FOLDER);
        else if (expected != part->sums[t])
            status = tri_error_add(run->err, TRI_INVALID,
                                   "'%s' in '%s' has checksum %016llx, expected %016llx: its "
                                   "bytes have changed since they were saved",
                                   part->places[t].tensor->name, file->path,
                                   (unsigned long long)part->sums[t], (unsigned long long)expected);
    }
    return status;
}

static tri_status load_part_run(struct load_run *run, struct load_part *part, bool moment)
{
    tri_status opened = moment ? load_open_moment(run, part) : load_open_weights(run, part);
    tri_status status = tri_group_agree(run->world, opened);
    if (status == TRI_OK)
        status = tri_group_agree(run->world, load_read(run, part));
    if (status == TRI_OK && run->sums_files) {
        status = tri_sums_reduce(run->world, part->sums, part->scratch, part->set.num_tensors);
        if (status == TRI_OK)
            status = tri_group_agree(run->world, load_check_sums(run, part));
    }
    tri_source_close(&part->source);
    return status;
}

tri_status tri_checkpoint_load(tri_group *world, const struct tri_checkpoint_load *load,
                               tri_error *err)
{
    struct load_run run = {.world = world, .load = load, .err = err};
    run.arena = tri_arena_create();
    if (!run.arena)
        return tri_group_agree(world, load_no_memory(err));
    tri_checksum_init(&run.checksum);
    struct load_part weights = {
        .list = &load->weights, .prefix = "", .family = load->model->family};
    tri_status status = load_part_run(&run, &weights, false);
    for (int i = 0; i < load->num_moments && status == TRI_OK; i++) {
        struct load_part moment = {.list = &load->moments[i], .prefix = TRI_STATE_FOLDER "/"};
        status = load_part_run(&run, &moment, true);
    }
    json_decref(run.sums_root);
    tri_arena_destroy(&run.arena);
    return status;
}
