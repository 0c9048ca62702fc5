/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of the run file's spec section: which implementation each module gets. They change speed,
 * never the model's function, and do not travel with a checkpoint.
 */
#pragma once

#include "base/options.h"
#include "trine/extension.h"

enum tri_transformer_impl { TRI_IMPL_FUSED, TRI_IMPL_PLAIN, TRI_IMPL_INFERENCE_OPTIMIZED };

struct tri_spec_config {
    int64_t transformer_impl; /* enum tri_transformer_impl */
    /* "path pattern=implementation" items separated by '\n', the later one wins. A pattern names a module
       path as 'trine spec' prints it; layers[*] stands for all, layers[0:4] for 0 to 3, layers[3] for one,
       layers[0:2,5] for several, and * for any one name. A match covers the module and all below it. */
    char override[TRI_OPTION_LONG_TEXT];
    bool
        apply_query_key_layer_scaling; /* scores over the layer's number, and times it in the softmax */
    bool fp32_residual_connection;     /* what modules add to is fp32 whatever they compute in */
    bool restore_modelopt_state;       /* of the decision list: see there */
    char experimental_attention_variant[TRI_OPTION_TEXT]; /* "": none */
    /* No options: implementations from outside, borrowed from whoever makes the spec. */
    const struct tri_extension *extensions;
    int num_extensions;
};
extern const struct tri_option_table tri_spec_options;
