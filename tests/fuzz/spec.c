/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Overrides and layers of their own sizes: the input's lines up to one that begins with '{' are items of
 * spec.override, the rest is the JSON of the layers. Any bytes give a spec that can be counted and printed, or a
 * message.
 */
#include "replay.h"

#include "../t1-shapes.h"

#include "shape/check.h"
#include "shape/heterogeneous.h"
#include "spec/model_spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Where the JSON begins; size: there is none. */
static size_t find_layers(const char *text, size_t size)
{
    size_t at = 0;
    while (at < size && !(text[at] == '{' && (at == 0 || text[at - 1] == '\n')))
        at++;
    return at;
}

static tri_status read_layers(const char *text, size_t size, struct tri_gpt_config *shape,
                              tri_error *err)
{
    char path[64];
    int fd = memfd_create("fuzz", 0);
    if (fd < 0 || write(fd, text, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    tri_status status = tri_heterogeneous_read(path, &shape->transformer, err);
    close(fd);
    return status;
}

static void use_spec(const struct tri_model_spec *spec, tri_error *err)
{
    static FILE *nothing;
    struct tri_param_count count;
    struct tri_sizing_input input = {.shape = &spec->shape,
                                     .split = {.tp = 1, .sp = 1, .cp = 1, .ep = 1, .etp = 1},
                                     .micro_batch_size = 2,
                                     .seq_length = 8,
                                     .team_size = 1,
                                     .shared_head = true};
    if (!nothing)
        nothing = fopen("/dev/null", "w");
    if (!nothing || tri_model_count_params(spec, err, &count) != TRI_OK || count.total < 1 ||
        tri_model_spec_print(nothing, spec, &input, err) != TRI_OK ||
        tri_model_spec_print_json(nothing, spec, &input, err) != TRI_OK)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct tri_gpt_config shape = shape_llama(TRI_UNSET, 64, 8, 4, 96, 101);
    struct tri_spec_config config = {.num_extensions = 0};
    struct tri_model_spec *spec = NULL;
    tri_error *err = tri_error_create();
    size_t layers = find_layers(text, size);
    tri_status status = TRI_OK;
    tri_option_set_defaults(&tri_spec_options, &config);
    if (layers < sizeof(config.override))
        snprintf(config.override, sizeof(config.override), "%.*s", (int)layers, text);
    if (layers < size)
        status = read_layers(text + layers, size - layers, &shape, err);
    else
        shape.transformer.num_layers = 4;
    tri_gpt_config_resolve(&shape);
    if (status == TRI_OK)
        status = tri_gpt_config_check(&shape, err);
    if (status == TRI_OK)
        status = tri_model_spec_create(&shape, &config, err, &spec);
    if ((status == TRI_OK) != (tri_error_count(err) == 0) || (status == TRI_OK) != (spec != NULL))
        abort();
    if (spec)
        use_spec(spec, err);
    tri_model_spec_destroy(&spec);
    tri_error_destroy(&err);
    return 0;
}
