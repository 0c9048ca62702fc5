/* SPDX-License-Identifier: Apache-2.0 */
/* Initial values of matrices: pure functions of seed, name and global element; here only which. */
#include "spec/describe.h"

#include <math.h>

void tri_sizer_init_linear(struct tri_param_spec *spec, const struct tri_linear_init *init)
{
    double inputs = (double)spec->dims[1], outputs = (double)spec->dims[0];
    spec->init = init->xavier ? TRI_INIT_UNIFORM : TRI_INIT_NORMAL;
    spec->init_std = init->xavier ? sqrt(6 / (inputs + outputs)) : init->std;
}
