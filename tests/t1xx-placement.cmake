# SPDX-License-Identifier: Apache-2.0
# placement/: question three, but for the schedules (t5xx-schedule.cmake).
tri_test(t140-grid ROOMS placement LABELS quick)
tri_test(t141-layout ROOMS placement LABELS quick)
tri_test(t150-placement ROOMS placement LABELS quick)
tri_test(t151-buckets ROOMS placement LABELS quick)
tri_test(t152-memory ROOMS placement LABELS quick)
tri_test(t153-summary ROOMS placement LABELS quick)
tri_test(t154-plan-print ROOMS placement LABELS quick)
