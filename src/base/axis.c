/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the grid axes. */
#include "base/axis.h"

#include "base/check.h"

const char *tri_axis_name(enum tri_axis axis)
{
    static const char *const names[TRI_NUM_AXES] = {
        [TRI_AXIS_TP] = "tp", [TRI_AXIS_CP] = "cp",   [TRI_AXIS_EP] = "ep",   [TRI_AXIS_DP] = "dp",
        [TRI_AXIS_PP] = "pp", [TRI_AXIS_ETP] = "etp", [TRI_AXIS_EDP] = "edp",
    };
    TRI_ASSERT((int)axis >= 0 && axis < TRI_NUM_AXES);
    return names[axis];
}
