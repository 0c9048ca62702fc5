# SPDX-License-Identifier: Apache-2.0
tri_test(t740-safetensors ROOMS checkpoint LABELS quick)
tri_test(t741-layout ROOMS checkpoint LABELS quick)
tri_test(t742-hf-weights ROOMS checkpoint LABELS quick)
tri_test(t743-save-load ROOMS checkpoint LABELS quick)
tri_test(t744-save-faults ROOMS checkpoint LABELS quick)
tri_test(t745-inspect ROOMS checkpoint LABELS quick)
tri_fuzz(safetensors ROOMS checkpoint)
