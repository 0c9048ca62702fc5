# SPDX-License-Identifier: Apache-2.0
# shape/ and spec/: questions one and two.
tri_test(t100-vocab ROOMS shape LABELS quick)
tri_test(t101-shape-options ROOMS shape LABELS quick)
tri_test(t102-shape-check ROOMS shape LABELS quick)
tri_test(t103-hf-config ROOMS spec LABELS quick)
tri_test(t110-sizing ROOMS spec LABELS quick)
tri_test(t111-params ROOMS spec LABELS quick)
tri_test(t112-split ROOMS spec LABELS quick)
tri_test(t113-rope ROOMS base shape spec LABELS quick)
tri_test(t120-model-spec ROOMS spec LABELS quick)
tri_test(t121-layers ROOMS spec LABELS quick)
tri_test(t122-published ROOMS spec LABELS quick)
tri_fuzz(config_json ROOMS spec)
