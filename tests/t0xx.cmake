# SPDX-License-Identifier: Apache-2.0
# base/ and tensor/, and the house rules: headers, includes, format, names.
tri_test(t010-status ROOMS base LABELS quick)
tri_test(t011-arena ROOMS base LABELS quick)
tri_test(t012-dtype ROOMS base LABELS quick)
tri_test(t013-rng ROOMS base LABELS quick)
tri_test(t014-exact-sum ROOMS base LABELS quick)
tri_test(t015-team ROOMS base LABELS quick)
tri_test(t016-number ROOMS base LABELS quick)
tri_test(t017-options ROOMS base LABELS quick)
tri_test(t018-options-file ROOMS base LABELS quick)
tri_test(t019-options-flags ROOMS base LABELS quick)
