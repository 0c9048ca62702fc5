# SPDX-License-Identifier: Apache-2.0
# Families: directories there and back.
tri_test(t746-family-trip ROOMS train LABELS quick)
