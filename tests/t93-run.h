/* SPDX-License-Identifier: Apache-2.0 */
/* A run's options with origins, as trine explain has them. */
#pragma once

#include "explain/explain.h"
#include "train/run_config.h"

struct explain_run {
    struct tri_run_config config;
    struct tri_shape_short given;
    unsigned char origins[TRI_RUN_MAX_BINDINGS + 1][TRI_RUN_MAX_ROWS];
    struct tri_option_binding bindings[TRI_RUN_MAX_BINDINGS + 1];
    int num;
};

static inline void explain_run_init(struct explain_run *run)
{
    tri_run_config_set_defaults(&run->config);
    tri_option_set_defaults(&tri_shape_short_options, &run->given);
    run->num = tri_run_bind(&run->config, run->bindings);
    run->bindings[run->num++] =
        (struct tri_option_binding){.table = &tri_shape_short_options, .config = &run->given};
    for (int i = 0; i < run->num; i++) {
        run->bindings[i].origin = run->origins[i];
        for (int r = 0; r < TRI_RUN_MAX_ROWS; r++)
            run->origins[i][r] = 0;
    }
}
