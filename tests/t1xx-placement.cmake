# SPDX-License-Identifier: Apache-2.0
tri_test(t140-grid ROOMS placement LABELS quick)
tri_test(t141-layout ROOMS placement LABELS quick)
