# SPDX-License-Identifier: Apache-2.0
# Schedules: generators, the checker, the text form.
tri_test(t500-schedule ROOMS placement LABELS quick)
tri_test(t501-schedule-check ROOMS placement LABELS quick)
tri_test(t502-schedule-text ROOMS placement LABELS quick)
