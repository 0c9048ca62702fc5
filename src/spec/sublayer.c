/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows and children of half a layer. The norm's output is kept, as input of the body's first linear; the
 * body's output is kept only where a norm behind it reads it again. Its gradient is the dout of the body's
 * last linear, so it is a GRAD row.
 */
#include "spec/sublayer.h"

#include "spec/describe.h"

const struct tri_sublayer_names tri_sublayer_names[TRI_NUM_SUBLAYERS] = {
    [TRI_SUBLAYER_ATTENTION] = {.norm = "input_layernorm",
                                .body = "self_attention",
                                .post_norm = "post_self_attn_layernorm",
                                .bda = "self_attn_bda",
                                .normed = "normed1",
                                .out = "attention_out",
                                .posted = "attention_posted",
                                .dposted = "dattention_posted",
                                .dout = "dattention_out",
                                .dnormed = "dnormed1"},
    [TRI_SUBLAYER_MLP] = {.norm = "pre_mlp_layernorm",
                          .body = "mlp",
                          .post_norm = "post_mlp_layernorm",
                          .bda = "mlp_bda",
                          .normed = "normed2",
                          .out = "mlp_out",
                          .posted = "mlp_posted",
                          .dposted = "dmlp_posted",
                          .dout = "dmlp_out",
                          .dnormed = "dnormed2"},
};

void tri_sizer_sublayer_rows(struct tri_sizer *sizer, const struct tri_module_spec *layer,
                             int which, int64_t hidden)
{
    const struct tri_sublayer_names *names = &tri_sublayer_names[which];
    if (!tri_sublayer_exists(layer, which))
        return;
    const struct tri_sizing_input *input = tri_sizer_input(sizer);
    int64_t S = tri_sizer_local_positions(input), B = input->micro_batch_size;
    bool has_norm = tri_module_spec_child(layer, names->norm) != NULL;
    bool has_post = tri_module_spec_child(layer, names->post_norm) != NULL;
    const struct {
        const char *name;
        enum tri_row_class row_class;
        bool exists;
    } rows[] = {
        {names->normed, TRI_ROW_SAVED_WEIGHT, has_norm},
        {names->out, has_post ? TRI_ROW_SAVED_INPUT : TRI_ROW_WORK_FORWARD, true},
        {names->posted, TRI_ROW_WORK_FORWARD, has_post},
        {names->dposted, TRI_ROW_WORK_BACKWARD, has_post},
        {names->dout, TRI_ROW_GRAD, true},
        {names->dnormed, TRI_ROW_WORK_BACKWARD, has_norm},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].exists)
            tri_sizer_row3(sizer, rows[i].row_class, rows[i].name, S, B, hidden);
}

void tri_sizer_sublayer_children(struct tri_sizer *sizer, const struct tri_module_spec *layer,
                                 int which)
{
    const struct tri_sublayer_names *names = &tri_sublayer_names[which];
    const char *const slots[] = {names->norm, names->body, names->post_norm, names->bda};
    for (int i = 0; i < 4 && tri_sublayer_exists(layer, which); i++)
        if (tri_module_spec_child(layer, slots[i]))
            tri_sizer_child(sizer, layer, slots[i]);
}
