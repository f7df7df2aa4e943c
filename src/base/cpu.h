/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * base/cpu.h - what this processor can run, and how many of it we may use.
 *
 * A *body* is one implementation of the leaf arithmetic. Everything that is specific to a curve is
 * compiled once per (curve, body) and reached through tables (pm_field, pm_curve, pm_ntt, ...), so
 * the choice is made once, at the table, and the field operations inline.
 */
#ifndef PM_BASE_CPU_H
#define PM_BASE_CPU_H

#include <stdbool.h>
#include <stdint.h>

enum pm_body {
    PM_BODY_PORTABLE = 0, /* C */
    PM_BODY_ADX = 1,      /* BMI2 and ADX: one product at a time */
    PM_BODY_IFMA = 2,     /* those, and AVX-512 with its 52-bit multiply-add: eight at a time */
    PM_BODY_COUNT = 3
};

/* "portable", "adx", "ifma". */
const char *pm_body_name(enum pm_body body);
/* True when this CPU runs the body's instructions and the build has it. */
bool pm_cpu_has_body(enum pm_body body);
/* The fastest body for which pm_cpu_has_body() holds. */
enum pm_body pm_cpu_best_body(void);

/* Threads that affinity and the cgroup's cpu quota (v2 cpu.max, v1 cpu.cfs_quota_us) allow this
 * process; at least 1. A fractional quota is rounded up. */
uint32_t pm_cpu_available(void);

#endif
