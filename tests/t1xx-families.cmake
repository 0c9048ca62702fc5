# SPDX-License-Identifier: Apache-2.0
# Families: what their files mean.
tri_test(t123-config-keys ROOMS spec LABELS quick)
tri_test(t124-config-changes ROOMS spec LABELS quick)
