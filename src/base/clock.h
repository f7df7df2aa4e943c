/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* base/clock.h - monotonic time, waiting by it, and processor time. */
#ifndef PM_BASE_CLOCK_H
#define PM_BASE_CLOCK_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t pm_clock_now_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock on Linux */
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* A condition for pm_clock_wait_until(): the wall clock may jump. Gives errno's value, or 0. */
static inline int pm_clock_condition_init(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    int failed = pthread_condattr_init(&attributes);
    if (failed == 0) {
        failed = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        failed = failed != 0 ? failed : pthread_cond_init(condition, &attributes);
        (void)pthread_condattr_destroy(&attributes);
    }
    return failed;
}

/* Under the lock: until woken, at_ns at the latest; spurious wake-ups are the caller's to notice.
 */
static inline void pm_clock_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock,
                                       uint64_t at_ns) {
    const struct timespec at = {.tv_sec = (time_t)(at_ns / UINT64_C(1000000000)),
                                .tv_nsec = (long)(at_ns % UINT64_C(1000000000))};
    (void)pthread_cond_timedwait(condition, lock, &at);
}

/* Processor time of all threads of this process so far. */
static inline uint64_t pm_clock_cpu_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); /* nor for this one */
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

#endif
