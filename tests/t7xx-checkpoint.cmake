# SPDX-License-Identifier: Apache-2.0
tri_test(t740-safetensors ROOMS checkpoint LABELS quick)
tri_test(t741-layout ROOMS checkpoint LABELS quick)
