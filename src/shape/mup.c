/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of shape/mup.h. */
#include "shape/mup.h"

#include <math.h>

double tri_mup_width(const struct tri_gpt_config *config)
{
    const struct tri_transformer_config *t = &config->transformer;
    if (!t->use_mup || t->mup_base_hidden_size == TRI_UNSET)
        return 1;
    return (double)t->hidden_size / (double)t->mup_base_hidden_size;
}

double tri_embedding_factor(const struct tri_gpt_config *config)
{
    const struct tri_transformer_config *t = &config->transformer;
    double factor = config->embedding_multiplier * (t->use_mup ? t->mup_embedding_mult : 1);
    return config->multiply_embedding_by_sqrt_hidden ? factor * sqrt((double)t->hidden_size)
                                                     : factor;
}

double tri_logits_factor(const struct tri_gpt_config *config)
{
    const struct tri_transformer_config *t = &config->transformer;
    double factor = 1 / config->logits_scaling;
    if (!t->use_mup)
        return factor;
    return factor * (t->mup_output_mult == 1 ? 1 / tri_mup_width(config) : t->mup_output_mult);
}

double tri_mup_attention_scale(const struct tri_gpt_config *config)
{
    const struct tri_transformer_config *t = &config->transformer;
    if (!t->use_mup)
        return 0;
    double base = t->mup_base_head_dim == TRI_UNSET ? 1 : sqrt((double)t->mup_base_head_dim);
    return base / pow((double)t->kv_channels, t->mup_attn_scale_power);
}
