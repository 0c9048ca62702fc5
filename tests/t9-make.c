/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the inputs of the program's tests, and takes files apart that it wrote. Two toy models are
 * exact by construction: the logits of toy-a are the given ones whatever the context, and toy-b follows
 * a chain of tokens greedily (both llama, one layer, output projections zero). Usage:
 *
 *   t9-make toy-a DIR LOGIT...            t9-make toy-b DIR NEXT...   (NEXT of token 0, 1, ...)
 *   t9-make tokens PREFIX VOCAB ID...     "/" ends a document
 *   t9-make random PREFIX VOCAB DOCUMENTS LENGTH
 *   t9-make edit FILE OPERATION...        on a safetensors file, see edits[]
 *   t9-make config FILE KEY JSON...       sets keys of a JSON file, "-" takes one away; a.0.b is a path
 *   t9-make json FILE KEY                 values of KEY in JSON lines, read strictly
 *   t9-make bytes FILE                    sizes, or "missing"
 */
#include "base/file.h"
#include "base/json.h"
#include "base/rng.h"
#include "trine/tokens.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_TOKENS (1 << 20)
#define MAX_PATH   4096

static void die(const char *what, const char *subject)
{
    fprintf(stderr, "t9-make: %s '%s'\n", what, subject);
    exit(1);
}

/* What is asked for lives to the end. */
static struct block {
    struct block *next;
    max_align_t data[];
} * blocks;

static void *room(size_t bytes)
{
    struct block *block = calloc(1, sizeof *block + bytes);
    if (!block)
        die("out of memory for", "a block");
    block->next = blocks;
    blocks = block;
    return block->data;
}

static FILE *open_out(const char *path)
{
    FILE *out = fopen(path, "wb");
    if (!out)
        die(strerror(errno), path);
    return out;
}

/* ---- safetensors in memory ---- */

struct tensor {
    char name[256], dtype[8];
    int64_t dims[8];
    int num_dims;
    char *data;
    size_t bytes, gap; /* gap: unused bytes in front of it */
};

struct file {
    struct tensor tensor[256];
    int num;
    size_t tail; /* bytes behind the last tensor */
};

static struct tensor *add_tensor(struct file *file, const char *name, const char *dtype,
                                 int num_dims, const int64_t *dims, size_t bytes)
{
    struct tensor *tensor = &file->tensor[file->num++];
    *tensor = (struct tensor){.num_dims = num_dims, .data = room(bytes), .bytes = bytes};
    snprintf(tensor->name, sizeof tensor->name, "%s", name);
    snprintf(tensor->dtype, sizeof tensor->dtype, "%s", dtype);
    memcpy(tensor->dims, dims, (size_t)num_dims * sizeof *dims);
    return tensor;
}

static struct tensor *find_tensor(struct file *file, const char *name)
{
    for (int i = 0; i < file->num; i++)
        if (strcmp(file->tensor[i].name, name) == 0)
            return &file->tensor[i];
    die("no tensor", name);
    return NULL;
}

static void read_file(const char *path, struct file *file)
{
    char *text = NULL;
    size_t bytes = 0;
    if (tri_file_read(path, (size_t)1 << 30, NULL, &text, &bytes) != TRI_OK)
        die("cannot read", path);
    uint64_t header;
    memcpy(&header, text, 8);
    json_t *root = json_loadb(text + 8, header, 0, NULL);
    const char *name;
    json_t *value;
    memset(file, 0, sizeof *file);
    json_object_foreach(root, name, value)
    {
        if (strcmp(name, "__metadata__") == 0)
            continue;
        const json_t *offsets = json_object_get(value, "data_offsets");
        size_t begin = (size_t)json_integer_value(json_array_get(offsets, 0));
        size_t end = (size_t)json_integer_value(json_array_get(offsets, 1));
        const json_t *shape = json_object_get(value, "shape");
        int64_t dims[8];
        int num_dims = (int)json_array_size(shape);
        for (int i = 0; i < num_dims; i++)
            dims[i] = json_integer_value(json_array_get(shape, (size_t)i));
        struct tensor *tensor =
            add_tensor(file, name, json_string_value(json_object_get(value, "dtype")), num_dims,
                       dims, end - begin);
        memcpy(tensor->data, text + 8 + header + begin, end - begin);
    }
    json_decref(root);
    free(text);
}

static json_t *describe(const struct tensor *tensor, size_t begin)
{
    json_t *shape = json_array();
    for (int i = 0; i < tensor->num_dims; i++)
        json_array_append_new(shape, json_integer(tensor->dims[i]));
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", tensor->dtype, "shape", shape, "data_offsets",
                     (json_int_t)begin, (json_int_t)(begin + tensor->bytes));
}

static void write_zeros(FILE *out, size_t bytes)
{
    while (bytes-- > 0)
        fputc(0, out);
}

static void write_file(const char *path, const struct file *file)
{
    json_t *root = json_object();
    size_t at = 0;
    for (int i = 0; i < file->num; i++) {
        at += file->tensor[i].gap;
        json_object_set_new(root, file->tensor[i].name, describe(&file->tensor[i], at));
        at += file->tensor[i].bytes;
    }
    json_object_set_new(root, "__metadata__", json_pack("{s:s}", "format", "pt"));
    char *text = json_dumps(root, JSON_COMPACT);
    uint64_t header = strlen(text);
    FILE *out = open_out(path);
    fwrite(&header, 8, 1, out);
    fwrite(text, 1, header, out);
    for (int i = 0; i < file->num; i++) {
        write_zeros(out, file->tensor[i].gap);
        fwrite(file->tensor[i].data, 1, file->tensor[i].bytes, out);
    }
    write_zeros(out, file->tail);
    fclose(out);
    free(text);
    json_decref(root);
}

/* ---- edits ---- */

struct edit {
    const char *name;
    int num_args;
    void (*run)(struct file *file, char **args);
};

static void edit_drop(struct file *file, char **args)
{
    struct tensor *tensor = find_tensor(file, args[0]);
    *tensor = file->tensor[--file->num];
}
static void edit_rename(struct file *file, char **args)
{
    struct tensor *tensor = find_tensor(file, args[0]);
    snprintf(tensor->name, sizeof tensor->name, "%s", args[1]);
}
/* Sets element INDEX ("all": every one) to VALUE. */
static void edit_set(struct file *file, char **args)
{
    struct tensor *tensor = find_tensor(file, args[0]);
    float value = strtof(args[2], NULL);
    size_t num = tensor->bytes / sizeof value, index = strtoul(args[1], NULL, 10);
    for (size_t i = 0; i < num; i++)
        if (strcmp(args[1], "all") == 0 || i == index)
            memcpy(tensor->data + i * sizeof value, &value, sizeof value);
}
/* Gives the first dim ROWS rows; new ones are zero. */
static void edit_rows(struct file *file, char **args)
{
    struct tensor *tensor = find_tensor(file, args[0]);
    int64_t rows = strtol(args[1], NULL, 10);
    size_t row = tensor->bytes / (size_t)tensor->dims[0], bytes = row * (size_t)rows;
    char *data = room(bytes);
    memcpy(data, tensor->data, bytes < tensor->bytes ? bytes : tensor->bytes);
    tensor->data = data;
    tensor->bytes = bytes;
    tensor->dims[0] = rows;
}
static void edit_gap(struct file *file, char **args)
{
    find_tensor(file, args[0])->gap = strtoul(args[1], NULL, 10);
}
static void edit_tail(struct file *file, char **args)
{
    file->tail = strtoul(args[0], NULL, 10);
}
/* A tensor of zeros: NAME DTYPE BYTES DIMS, as in "x U8 64 1,1,8,8"; "-": no dims. */
static void edit_add(struct file *file, char **args)
{
    int64_t dims[8];
    int num_dims = 0;
    for (char *at = args[3]; *at && *at != '-';) {
        dims[num_dims++] = strtol(at, &at, 10);
        at += *at == ',';
    }
    add_tensor(file, args[0], args[1], num_dims, dims, strtoul(args[2], NULL, 10));
}
/* Takes PREFIX off every name that has it. */
static void edit_strip(struct file *file, char **args)
{
    size_t length = strlen(args[0]);
    for (int i = 0; i < file->num; i++) {
        char *name = file->tensor[i].name;
        if (strncmp(name, args[0], length) == 0)
            memmove(name, name + length, strlen(name) - length + 1);
    }
}
/* Adds one unit in the last place to element INDEX. */
static void edit_flip(struct file *file, char **args)
{
    find_tensor(file, args[0])->data[4 * strtoul(args[1], NULL, 10)] ^= 1;
}

static const struct edit edits[] = {
    {"drop", 1, edit_drop}, {"rename", 2, edit_rename}, {"set", 3, edit_set},
    {"rows", 2, edit_rows}, {"gap", 2, edit_gap},       {"tail", 1, edit_tail},
    {"add", 4, edit_add},   {"strip", 1, edit_strip},   {"flip", 2, edit_flip},
};

static void make_edit(int argc, char **argv)
{
    struct file *file = room(sizeof *file);
    read_file(argv[0], file);
    for (int i = 1; i < argc;) {
        const struct edit *edit = NULL;
        for (size_t k = 0; k < sizeof edits / sizeof edits[0]; k++)
            if (strcmp(edits[k].name, argv[i]) == 0)
                edit = &edits[k];
        if (!edit || i + edit->num_args >= argc)
            die("no such edit", argv[i]);
        edit->run(file, argv + i + 1);
        i += 1 + edit->num_args;
    }
    write_file(argv[0], file);
}

/* ---- toys ---- */

static float *add_matrix(struct file *file, const char *name, int64_t rows, int64_t cols)
{
    const int64_t dims[] = {rows, cols};
    bool is_vector = cols == 0;
    size_t bytes = (size_t)rows * (size_t)(is_vector ? 1 : cols) * sizeof(float);
    return (float *)(void *)add_tensor(file, name, "F32", is_vector ? 1 : 2, dims, bytes)->data;
}

static void fill(float *values, int64_t num, float value)
{
    for (int64_t i = 0; i < num; i++)
        values[i] = value;
}

/* All but embedding and head: what the layer adds is zero. */
static void add_layer(struct file *file, int64_t hidden)
{
    static const char *const squares[] = {
        "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
        "mlp.gate_proj",    "mlp.up_proj",      "mlp.down_proj"};
    static const char *const norms[] = {"model.layers.0.input_layernorm.weight",
                                        "model.layers.0.post_attention_layernorm.weight",
                                        "model.norm.weight"};
    for (size_t i = 0; i < sizeof squares / sizeof squares[0]; i++) {
        char name[128];
        bool is_output = strstr(squares[i], "o_proj") || strstr(squares[i], "down_proj");
        snprintf(name, sizeof name, "model.layers.0.%s.weight", squares[i]);
        float *values = add_matrix(file, name, hidden, hidden);
        for (int64_t k = 0; k < hidden * hidden && !is_output; k++)
            values[k] = (float)(k % 5) * 0.1f - 0.2f;
    }
    for (size_t i = 0; i < sizeof norms / sizeof norms[0]; i++)
        fill(add_matrix(file, norms[i], hidden, 0), hidden, 1.0f);
}

static void write_config(const char *dir, int64_t hidden, int64_t vocab)
{
    char path[MAX_PATH];
    snprintf(path, sizeof path, "%s/config.json", dir);
    FILE *out = open_out(path);
    fprintf(out,
            "{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\",\n"
            " \"hidden_size\": %" PRId64 ", \"num_hidden_layers\": 1, \"num_attention_heads\": 2,\n"
            " \"num_key_value_heads\": 2, \"intermediate_size\": %" PRId64
            ", \"vocab_size\": %" PRId64 ",\n"
            " \"rms_norm_eps\": 1e-12, \"hidden_act\": \"silu\", \"max_position_embeddings\": 16,\n"
            " \"rope_theta\": 10000.0, \"tie_word_embeddings\": false, \"eos_token_id\": null}\n",
            hidden, hidden, vocab);
    fclose(out);
}

static void save_toy(const char *dir, struct file *file, int64_t hidden, int64_t vocab)
{
    char path[MAX_PATH];
    add_layer(file, hidden);
    mkdir(dir, 0777);
    write_config(dir, hidden, vocab);
    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    write_file(path, file);
}

static void make_toy_a(int argc, char **argv)
{
    struct file *file = room(sizeof *file);
    int64_t vocab = argc - 1;
    fill(add_matrix(file, "model.embed_tokens.weight", vocab, 4), vocab * 4, 1.0f);
    float *head = add_matrix(file, "lm_head.weight", vocab, 4);
    for (int64_t v = 0; v < vocab; v++)
        head[v * 4] = strtof(argv[1 + v], NULL);
    save_toy(argv[0], file, 4, vocab);
}

static void make_toy_b(int argc, char **argv)
{
    struct file *file = room(sizeof *file);
    int64_t vocab = argc - 1, hidden = (vocab + 3) / 4 * 4;
    float *table = add_matrix(file, "model.embed_tokens.weight", vocab, hidden);
    float *head = add_matrix(file, "lm_head.weight", vocab, hidden);
    for (int64_t v = 0; v < vocab; v++) {
        table[v * hidden + v] = 1.0f;
        head[strtol(argv[1 + v], NULL, 10) * hidden + v] = 10.0f;
    }
    save_toy(argv[0], file, hidden, vocab);
}

/* ---- tokens ---- */

static void write_tokens(const char *prefix, int64_t vocab, const int32_t *tokens,
                         const int64_t *lengths, int64_t num)
{
    tri_error *err = tri_error_create();
    if (tri_tokens_write(prefix, vocab, tokens, lengths, num, err) != TRI_OK)
        die(tri_error_message(err, 0), prefix);
    tri_error_destroy(&err);
}

static void make_tokens(int argc, char **argv)
{
    int32_t *tokens = room(MAX_TOKENS * sizeof *tokens);
    int64_t *lengths = room(MAX_TOKENS * sizeof *lengths), num = 0, documents = 0;
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "/") == 0) {
            documents++;
            continue;
        }
        tokens[num++] = (int32_t)strtol(argv[i], NULL, 10);
        lengths[documents]++;
    }
    write_tokens(argv[0], strtol(argv[1], NULL, 10), tokens, lengths,
                 documents + (lengths[documents] > 0));
}

static void make_random(int argc, char **argv)
{
    (void)argc;
    int64_t vocab = strtol(argv[1], NULL, 10), documents = strtol(argv[2], NULL, 10);
    int64_t length = strtol(argv[3], NULL, 10), num = documents * length;
    if (num > MAX_TOKENS)
        die("too many tokens for", argv[0]);
    int32_t *tokens = room((size_t)num * sizeof *tokens);
    int64_t *lengths = room((size_t)documents * sizeof *lengths);
    struct tri_rng_key key = tri_rng_key(9, TRI_RNG_TEST, 0);
    for (int64_t i = 0; i < num; i++)
        tokens[i] = (int32_t)(tri_rng_double(key, (uint64_t)i) * (double)vocab);
    for (int64_t i = 0; i < documents; i++)
        lengths[i] = length;
    write_tokens(argv[0], vocab, tokens, lengths, documents);
}

/* ---- JSON ---- */

static json_t *child_of(json_t *value, const char *key)
{
    return json_is_array(value) ? json_array_get(value, strtoul(key, NULL, 10))
                                : json_object_get(value, key);
}

static void set_key(json_t *root, const char *path, const char *text)
{
    char key[256];
    for (;; path += strlen(key) + 1) {
        snprintf(key, sizeof key, "%.*s", (int)strcspn(path, "."), path);
        if (!path[strlen(key)])
            break;
        root = child_of(root, key);
    }
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    if (strcmp(text, "-") == 0)
        json_object_del(root, key);
    else if (!value)
        die("no JSON", text);
    else if (json_is_array(root) ? json_array_set_new(root, strtoul(key, NULL, 10), value)
                                 : json_object_set_new(root, key, value))
        die("cannot set", key);
}

static void make_config(int argc, char **argv)
{
    json_t *root = NULL;
    if (tri_json_read_file(argv[0], (size_t)1 << 28, NULL, &root) != TRI_OK)
        die("cannot read", argv[0]);
    for (int i = 1; i + 1 < argc; i += 2)
        set_key(root, argv[i], argv[i + 1]);
    char *text = json_dumps(root, JSON_INDENT(2));
    FILE *out = open_out(argv[0]);
    fprintf(out, "%s\n", text);
    fclose(out);
    free(text);
    json_decref(root);
}

/* ---- looking ---- */

static void show_json(int argc, char **argv)
{
    (void)argc;
    char *text = NULL;
    size_t bytes = 0;
    if (tri_file_read(argv[0], (size_t)1 << 28, NULL, &text, &bytes) != TRI_OK)
        die("cannot read", argv[0]);
    for (char *line = text; *line;) {
        char *end = strchr(line, '\n');
        if (!end)
            die("the last line has no end in", argv[0]);
        json_error_t error;
        json_t *root = json_loadb(line, (size_t)(end - line), JSON_REJECT_DUPLICATES, &error);
        if (!root)
            die(error.text, line);
        char *value = json_dumps(json_object_get(root, argv[1]), JSON_ENCODE_ANY);
        puts(value ? value : "absent");
        free(value);
        json_decref(root);
        line = end + 1;
    }
    free(text);
}

static void show_bytes(int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        struct stat info;
        if (stat(argv[i], &info) != 0)
            printf("%s missing\n", argv[i]);
        else
            printf("%s %lld\n", argv[i], (long long)info.st_size);
    }
}

static const struct {
    const char *name;
    int least;
    void (*run)(int argc, char **argv);
} tasks[] = {
    {"toy-a", 3, make_toy_a},   {"toy-b", 3, make_toy_b}, {"tokens", 3, make_tokens},
    {"random", 4, make_random}, {"edit", 2, make_edit},   {"config", 3, make_config},
    {"json", 2, show_json},     {"bytes", 1, show_bytes},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof tasks / sizeof tasks[0]; i++) {
        if (strcmp(tasks[i].name, argv[1]) != 0)
            continue;
        if (argc - 2 < tasks[i].least)
            die("too few words for", argv[1]);
        tasks[i].run(argc - 2, argv + 2);
        return 0;
    }
    die("no such task", argc > 1 ? argv[1] : "");
}
