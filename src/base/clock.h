/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* base/clock.h - monotonic time, and processor time. */
#ifndef PM_BASE_CLOCK_H
#define PM_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t pm_clock_now_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock on Linux */
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Processor time of all threads of this process so far. */
static inline uint64_t pm_clock_cpu_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); /* nor for this one */
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

#endif
