/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading safetensors headers: JSON by jansson (which checks UTF-8, depth and double keys),
 * everything else here. safetensors.h has the format.
 */
#include "checkpoint/safetensors.h"

#include "checkpoint/io.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct tri_safetensors_dtype dtypes[] = {
    /* name       bits readable dtype */
    {"F32", 32, true, TRI_DTYPE_F32},        {"BF16", 16, true, TRI_DTYPE_BF16},
    {"F16", 16, true, TRI_DTYPE_F16},        {"F64", 64, false, TRI_DTYPE_F64},
    {"I64", 64, false, TRI_DTYPE_I64},       {"I32", 32, false, TRI_DTYPE_I32},
    {"I16", 16, false, TRI_DTYPE_I16},       {"U16", 16, false, TRI_DTYPE_U16},
    {"I8", 8, false, TRI_DTYPE_I8},          {"U8", 8, false, TRI_DTYPE_U8},
    {"BOOL", 8, false, TRI_DTYPE_BOOL},      {"U64", 64, false, TRI_DTYPE_I64},
    {"U32", 32, false, TRI_DTYPE_I32},       {"C64", 64, false, TRI_DTYPE_I64},
    {"F8_E5M2", 8, false, TRI_DTYPE_U8},     {"F8_E4M3", 8, false, TRI_DTYPE_U8},
    {"F8_E8M0", 8, false, TRI_DTYPE_U8},     {"F8_E4M3FNUZ", 8, false, TRI_DTYPE_U8},
    {"F8_E5M2FNUZ", 8, false, TRI_DTYPE_U8}, {"F6_E2M3", 6, false, TRI_DTYPE_U8},
    {"F6_E3M2", 6, false, TRI_DTYPE_U8},     {"F4", 4, false, TRI_DTYPE_U8},
};

/* A file under inspection. */
struct header_check {
    const char *path;
    tri_arena *arena;
    tri_error *err;
    int64_t header_bytes; /* 8 + N */
    int64_t file_bytes;
};

static tri_status header_no_memory(const struct header_check *check)
{
    return tri_error_add(check->err, TRI_NOMEM, "out of memory for the header of '%s'",
                         check->path);
}

/* A name from the file as it may stand in a message: short, printable. */
static const char *header_name(const char *name, char *buffer, size_t bytes)
{
    size_t n = 0;
    for (; name[n] && n + 4 < bytes; n++)
        buffer[n] = (unsigned char)name[n] < 0x20 || name[n] == 0x7f ? '?' : name[n];
    snprintf(buffer + n, bytes - n, "%s", name[n] ? "..." : "");
    return buffer;
}

#define NAME_ROOM 160

static tri_status header_fault(const struct header_check *check, const char *tensor,
                               const char *what)
{
    char name[NAME_ROOM];
    return tri_error_add(check->err, TRI_INVALID, "'%s': tensor '%s': %s", check->path,
                         header_name(tensor, name, sizeof(name)), what);
}

static tri_status header_shape(const struct header_check *check, const json_t *shape,
                               struct tri_safetensors_tensor *tensor)
{
    size_t num = json_array_size(shape);
    if (!json_is_array(shape) || num > TRI_SAFETENSORS_MAX_DIMS)
        return header_fault(check, tensor->name, "shape is not a list of at most 16 whole numbers");
    int64_t *dims = tri_arena_alloc(check->arena, (num + 1) * sizeof(*dims));
    if (!dims)
        return header_no_memory(check);
    tensor->num_dims = (int)num;
    tensor->dims = dims;
    tensor->elements = 1;
    bool empty = false;
    for (size_t i = 0; i < num; i++) {
        const json_t *dim = json_array_get(shape, i);
        if (!json_is_integer(dim) || json_integer_value(dim) < 0)
            return header_fault(check, tensor->name,
                                "shape has an entry that is no whole number "
                                "of at least 0");
        dims[i] = json_integer_value(dim);
        empty = empty || dims[i] == 0;
    }
    for (size_t i = 0; i < num && !empty; i++)
        if (__builtin_mul_overflow(tensor->elements, dims[i], &tensor->elements))
            return header_fault(check, tensor->name, "the number of elements exceeds 2^63");
    if (empty)
        tensor->elements = 0;
    return TRI_OK;
}

static tri_status header_offsets(const struct header_check *check, const json_t *offsets,
                                 struct tri_safetensors_tensor *tensor)
{
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    if (!json_is_array(offsets) || json_array_size(offsets) != 2 || !json_is_integer(begin) ||
        !json_is_integer(end))
        return header_fault(check, tensor->name, "data_offsets is not a pair of whole numbers");
    int64_t b = json_integer_value(begin), e = json_integer_value(end);
    int64_t room = check->file_bytes - check->header_bytes;
    char name[NAME_ROOM];
    header_name(tensor->name, name, sizeof(name));
    if (b < 0 || e < b || e > room)
        return tri_error_add(check->err, TRI_INVALID,
                             "'%s': tensor '%s': data_offsets [%lld, %lld] do not lie within the "
                             "%lld bytes behind the header (byte %lld on); the file is cut or torn",
                             check->path, name, (long long)b, (long long)e, (long long)room,
                             (long long)check->header_bytes);
    int64_t bits;
    if (__builtin_mul_overflow(tensor->elements, (int64_t)tensor->dtype->bits, &bits) ||
        bits % 8 != 0)
        return header_fault(check, tensor->name, "its elements do not fill whole bytes");
    if (bits / 8 != e - b)
        return tri_error_add(
            check->err, TRI_INVALID,
            "'%s': tensor '%s': data_offsets [%lld, %lld] hold %lld bytes, but %s "
            "%s needs %lld",
            check->path, name, (long long)b, (long long)e, (long long)(e - b), tensor->dtype->name,
            tri_safetensors_shape_text(check->arena, tensor->num_dims, tensor->dims),
            (long long)(bits / 8));
    tensor->begin = check->header_bytes + b;
    tensor->end = check->header_bytes + e;
    return TRI_OK;
}

static tri_status header_tensor(const struct header_check *check, const char *name,
                                const json_t *value, struct tri_safetensors_tensor *tensor)
{
    if (!json_is_object(value))
        return header_fault(check, name, "is not an object");
    tensor->name = tri_arena_format(check->arena, "%s", name);
    if (!tensor->name)
        return header_no_memory(check);
    const json_t *dtype = json_object_get(value, "dtype");
    if (!json_is_string(dtype))
        return header_fault(check, name, "dtype is missing or no text");
    for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++)
        if (strcmp(dtypes[i].name, json_string_value(dtype)) == 0)
            tensor->dtype = &dtypes[i];
    if (!tensor->dtype) {
        char text[NAME_ROOM], what[NAME_ROOM + 64];
        snprintf(what, sizeof(what), "unknown dtype '%s'; F32, BF16 and F16 are read",
                 header_name(json_string_value(dtype), text, sizeof(text)));
        return header_fault(check, name, what);
    }
    if (json_object_size(value) != 3)
        return header_fault(check, name,
                            "must have dtype, shape and data_offsets, and no other key");
    TRI_TRY(header_shape(check, json_object_get(value, "shape"), tensor));
    return header_offsets(check, json_object_get(value, "data_offsets"), tensor);
}

static tri_status header_metadata(const struct header_check *check, const json_t *value,
                                  struct tri_safetensors *file)
{
    if (!json_is_object(value))
        return tri_error_add(check->err, TRI_INVALID, "'%s': __metadata__ is not an object",
                             check->path);
    const char **pairs =
        tri_arena_alloc(check->arena, (2 * json_object_size(value) + 1) * sizeof(*pairs));
    if (!pairs)
        return header_no_memory(check);
    const char *key;
    json_t *item;
    int num = 0;
    json_object_foreach((json_t *)value, key, item)
    {
        char name[NAME_ROOM];
        if (!json_is_string(item))
            return tri_error_add(check->err, TRI_INVALID, "'%s': __metadata__ '%s' is no text",
                                 check->path, header_name(key, name, sizeof(name)));
        pairs[2 * num] = tri_arena_format(check->arena, "%s", key);
        pairs[2 * num + 1] = tri_arena_format(check->arena, "%s", json_string_value(item));
        if (!pairs[2 * num] || !pairs[2 * num + 1])
            return header_no_memory(check);
        num++;
    }
    file->metadata = pairs;
    file->num_metadata = num;
    return TRI_OK;
}

static int tensor_compare_place(const void *a, const void *b)
{
    const struct tri_safetensors_tensor *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

static int tensor_compare_name(const void *a, const void *b)
{
    const struct tri_safetensors_tensor *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* In order of place, each tensor begins where the one before ends, and the last ends with the
   file. */
static tri_status header_check_places(const struct header_check *check,
                                      struct tri_safetensors_tensor *tensors, int num)
{
    qsort(tensors, (size_t)num, sizeof(*tensors), tensor_compare_place);
    int64_t at = check->header_bytes;
    for (int i = 0; i < num; i++) {
        char name[NAME_ROOM], before[NAME_ROOM];
        header_name(tensors[i].name, name, sizeof(name));
        header_name(i > 0 ? tensors[i - 1].name : "the header", before, sizeof(before));
        if (tensors[i].begin != at)
            return tri_error_add(check->err, TRI_INVALID,
                                 "'%s': tensor '%s' begins at byte %lld, expected %lld: %lld %s "
                                 "'%s'",
                                 check->path, name, (long long)tensors[i].begin, (long long)at,
                                 (long long)llabs(tensors[i].begin - at),
                                 tensors[i].begin > at ? "unused bytes behind" : "bytes overlap",
                                 before);
        at = tensors[i].end;
    }
    if (at != check->file_bytes)
        return tri_error_add(check->err, TRI_INVALID,
                             "'%s': the last tensor ends at byte %lld, but the file is %lld bytes: "
                             "%lld too many; the copy may be torn",
                             check->path, (long long)at, (long long)check->file_bytes,
                             (long long)(check->file_bytes - at));
    return TRI_OK;
}

static tri_status header_walk(const struct header_check *check, json_t *root,
                              struct tri_safetensors *file)
{
    size_t num = json_object_size(root);
    struct tri_safetensors_tensor *tensors =
        tri_arena_alloc(check->arena, (num + 1) * sizeof(*tensors));
    if (!tensors)
        return header_no_memory(check);
    tri_status status = TRI_OK;
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value)
    {
        tri_status got;
        if (strcmp(key, "__metadata__") == 0)
            got = header_metadata(check, value, file);
        else
            got = header_tensor(check, key, value, &tensors[file->num_tensors++]);
        if (status == TRI_OK)
            status = got;
    }
    TRI_TRY(status);
    TRI_TRY(header_check_places(check, tensors, file->num_tensors));
    qsort(tensors, (size_t)file->num_tensors, sizeof(*tensors), tensor_compare_name);
    file->tensors = tensors;
    return TRI_OK;
}

/* The eight length bytes; fills header_bytes. */
static tri_status header_length(struct header_check *check, const unsigned char *head)
{
    if (check->file_bytes < 8)
        return tri_error_add(check->err, TRI_INVALID,
                             "'%s' is %lld bytes; a safetensors file begins with 8 bytes of header "
                             "length",
                             check->path, (long long)check->file_bytes);
    if (memcmp(head, "version ", 8) == 0)
        return tri_error_add(check->err, TRI_INVALID,
                             "'%s' is a pointer of Git LFS, not the file; fetch that with 'git lfs "
                             "pull'",
                             check->path);
    uint64_t length = 0;
    for (int i = 7; i >= 0; i--)
        length = length << 8 | head[i];
    if (length == 0 || length > TRI_SAFETENSORS_MAX_HEADER)
        return tri_error_add(check->err, TRI_INVALID,
                             "'%s': byte 0: header length %llu, expected 1 to %d: not a "
                             "safetensors file",
                             check->path, (unsigned long long)length, TRI_SAFETENSORS_MAX_HEADER);
    if ((int64_t)length > check->file_bytes - 8)
        return tri_error_add(check->err, TRI_INVALID,
                             "'%s': byte 0: header length %llu, but only %lld bytes follow; the "
                             "file is cut",
                             check->path, (unsigned long long)length,
                             (long long)(check->file_bytes - 8));
    check->header_bytes = 8 + (int64_t)length;
    return TRI_OK;
}

static tri_status header_parse(const struct header_check *check, const char *text,
                               struct tri_safetensors *file)
{
    size_t length = (size_t)(check->header_bytes - 8);
    if (text[0] != '{')
        return tri_error_add(check->err, TRI_INVALID,
                             "'%s': byte 8: expected '{', found 0x%02x: not a safetensors file",
                             check->path, (unsigned char)text[0]);
    json_error_t why;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
    if (!root) {
        char name[NAME_ROOM];
        return tri_error_add(check->err, TRI_INVALID, "'%s': byte %lld: the header is not JSON: %s",
                             check->path, 8LL + why.position,
                             header_name(why.text, name, sizeof(name)));
    }
    tri_status status = header_walk(check, root, file);
    json_decref(root);
    return status;
}

tri_status tri_safetensors_parse(const char *path, const void *head, int64_t head_bytes,
                                 int64_t file_bytes, tri_arena *arena, tri_error *err,
                                 struct tri_safetensors *file)
{
    struct header_check check = {
        .path = path, .arena = arena, .err = err, .file_bytes = file_bytes};
    TRI_TRY(header_length(&check, head));
    if (check.header_bytes > head_bytes)
        return tri_error_add(err, TRI_INVALID, "'%s': header of %lld bytes, only %lld at hand",
                             path, (long long)check.header_bytes, (long long)head_bytes);
    const char *slash = strrchr(path, '/');
    struct tri_safetensors made = {.path = path,
                                   .name = slash ? slash + 1 : path,
                                   .fd = -1,
                                   .bytes = file_bytes,
                                   .header_bytes = check.header_bytes};
    TRI_TRY(header_parse(&check, (const char *)head + 8, &made));
    *file = made;
    return TRI_OK;
}

static tri_status safetensors_open_fd(int fd, const char *path, tri_arena *arena, tri_error *err,
                                      struct tri_safetensors *file)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return tri_io_fail(err, "read", path, errno);
    if (!S_ISREG(st.st_mode))
        return tri_error_add(err, TRI_INVALID, "'%s' is not a file", path);
    struct header_check check = {.path = path, .err = err, .file_bytes = st.st_size};
    unsigned char length[8] = {0};
    if (st.st_size >= 8)
        TRI_TRY(tri_io_read_at(fd, path, length, 8, 0, err));
    TRI_TRY(header_length(&check, length));
    char *head = malloc((size_t)check.header_bytes);
    if (!head)
        return tri_error_add(err, TRI_NOMEM, "out of memory for the header of '%s'", path);
    tri_status status = tri_io_read_at(fd, path, head, check.header_bytes, 0, err);
    if (status == TRI_OK)
        status =
            tri_safetensors_parse(path, head, check.header_bytes, st.st_size, arena, err, file);
    free(head);
    return status;
}

tri_status tri_safetensors_open(const char *path, tri_arena *arena, tri_error *err,
                                struct tri_safetensors *file)
{
    const char *kept = tri_arena_format(arena, "%s", path);
    if (!kept)
        return tri_error_add(err, TRI_NOMEM, "out of memory for the name of '%s'", path);
    int fd = -1;
    TRI_TRY(tri_io_open_read(path, err, &fd));
    tri_status status = safetensors_open_fd(fd, kept, arena, err, file);
    if (status == TRI_OK)
        file->fd = fd;
    else
        close(fd);
    return status;
}

void tri_safetensors_close(struct tri_safetensors *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

static int tensor_compare_key(const void *key, const void *tensor)
{
    return strcmp(key, ((const struct tri_safetensors_tensor *)tensor)->name);
}

const struct tri_safetensors_tensor *tri_safetensors_find(const struct tri_safetensors *file,
                                                          const char *name)
{
    if (file->num_tensors == 0)
        return NULL;
    return bsearch(name, file->tensors, (size_t)file->num_tensors, sizeof(*file->tensors),
                   tensor_compare_key);
}

const char *tri_safetensors_shape_text(tri_arena *arena, int num_dims, const int64_t *dims)
{
    char text[TRI_SAFETENSORS_MAX_DIMS * 22 + 3] = "[";
    size_t n = 1;
    for (int i = 0; i < num_dims; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%lld", i ? ", " : "",
                              (long long)dims[i]);
    const char *made = tri_arena_format(arena, "%s]", text);
    return made ? made : "[...]";
}
