# SPDX-License-Identifier: Apache-2.0
# kernels/: one battery per family, run on every backend against a reference in double.
foreach(backend cpu_ref cpu_fast)
  tri_test(t200-elementwise ROOMS kernels ARGS ${backend} LABELS quick)
  tri_test(t201-norms ROOMS kernels ARGS ${backend} LABELS quick)
  tri_test(t202-cross-entropy ROOMS kernels ARGS ${backend} LABELS quick)
  tri_test(t203-gemm ROOMS kernels ARGS ${backend} LABELS quick)
  tri_test(t204-attention ROOMS kernels ARGS ${backend} LABELS quick)
  tri_test(t205-dropout ROOMS kernels ARGS ${backend} LABELS quick)
  tri_test(t206-embedding ROOMS kernels ARGS ${backend} LABELS quick)
  tri_test(t207-optimizer ROOMS kernels ARGS ${backend} LABELS quick)
endforeach()
tri_test(t212-registry ROOMS kernels LABELS quick)
