/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "base/cpu.h"

#include "base/cgroup.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

const char *pm_body_name(enum pm_body body) {
    switch (body) {
    case PM_BODY_PORTABLE:
        return "portable";
    case PM_BODY_ADX:
        return "adx";
    case PM_BODY_IFMA:
        return "ifma";
    case PM_BODY_COUNT:
        break;
    }
    return "unknown";
}

#if defined(__x86_64__)
/* What XCR0 says that the operating system saves; 0 where it cannot be asked. */
static uint64_t saved_state(void) {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0, low = 0, high = 0;
    const unsigned osxsave = 1u << 27;
    __cpuid(1, eax, ebx, ecx, edx);
    if ((ecx & osxsave) != 0) {
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    }
    return (uint64_t)high << 32 | low;
}
#endif

/* Bit b: the CPU can run body b; bit PM_BODY_COUNT: it has been asked. Kept, because a virtual
 * machine may take 50 us for each CPUID, and every lookup of a kernel asks: for the same reason it
 * is three of them, not the dozen of __builtin_cpu_init(). Whoever comes first writes what anybody
 * else would write. */
static unsigned bodies_asked;

static unsigned ask_bodies(void) {
    unsigned bodies = 1u << PM_BODY_COUNT | 1u << PM_BODY_PORTABLE;
#if defined(__x86_64__)
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
        const unsigned bmi2_and_adx = 1u << 8 | 1u << 19;
        const unsigned avx512_f_and_ifma = 1u << 16 | 1u << 21;
        const uint64_t wide_registers = 0xe6; /* those of SSE, AVX and AVX-512 */
        if ((ebx & bmi2_and_adx) == bmi2_and_adx) {
            bodies |= 1u << PM_BODY_ADX;
            if ((ebx & avx512_f_and_ifma) == avx512_f_and_ifma &&
                (saved_state() & wide_registers) == wide_registers) {
                bodies |= 1u << PM_BODY_IFMA;
            }
        }
    }
#endif
    return bodies;
}

bool pm_cpu_has_body(enum pm_body body) {
    unsigned bodies = __atomic_load_n(&bodies_asked, __ATOMIC_RELAXED);
    if (bodies == 0) {
        bodies = ask_bodies();
        __atomic_store_n(&bodies_asked, bodies, __ATOMIC_RELAXED);
    }
    return (unsigned)body < PM_BODY_COUNT && (bodies >> body & 1) != 0;
}

enum pm_body pm_cpu_best_body(void) {
    if (pm_cpu_has_body(PM_BODY_IFMA)) {
        return PM_BODY_IFMA;
    }
    return pm_cpu_has_body(PM_BODY_ADX) ? PM_BODY_ADX : PM_BODY_PORTABLE;
}

static uint32_t affinity_count(void) {
    /* The mask may be larger than a cpu_set_t on big machines: the kernel says so with EINVAL. */
    for (int n_cpus = CPU_SETSIZE; n_cpus <= (1 << 18); n_cpus *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)n_cpus);
        if (set == NULL) {
            return 1;
        }
        const size_t set_bytes = CPU_ALLOC_SIZE((size_t)n_cpus);
        const int failed = sched_getaffinity(0, set_bytes, set);
        const int reason = errno;
        const int count = failed ? 0 : CPU_COUNT_S(set_bytes, set);
        CPU_FREE(set);
        if (!failed) {
            return count > 0 ? (uint32_t)count : 1;
        }
        if (reason != EINVAL) {
            return 1;
        }
    }
    return 1;
}

static uint32_t quota_to_threads(long long quota, long long period) {
    if (quota <= 0 || period <= 0) {
        return UINT32_MAX;
    }
    const long long threads = quota / period + (quota % period != 0);
    return threads < 1 ? 1 : threads > (long long)INT_MAX ? UINT32_MAX : (uint32_t)threads;
}

/* The quota of one group alone. */
static uint32_t cgroup_quota(bool is_v2, const char *folder) {
    char text[128], quota_text[64], period_text[64];
    long long quota = 0, period = 0;
    if (is_v2) {
        return pm_small_file_read_in(folder, "cpu.max", text, sizeof text) &&
                       sscanf(text, "%lld %lld", &quota, &period) == 2
                   ? quota_to_threads(quota, period)
                   : UINT32_MAX;
    }
    if (!pm_small_file_read_in(folder, "cpu.cfs_quota_us", quota_text, sizeof quota_text) ||
        !pm_small_file_read_in(folder, "cpu.cfs_period_us", period_text, sizeof period_text)) {
        return UINT32_MAX;
    }
    return quota_to_threads(strtoll(quota_text, NULL, 10), strtoll(period_text, NULL, 10));
}

static void least_quota(void *user, bool is_v2, const char *folder) {
    uint32_t *least = user;
    const uint32_t quota = cgroup_quota(is_v2, folder);
    *least = quota < *least ? quota : *least;
}

static uint32_t cgroup_count(void) {
    uint32_t least = UINT32_MAX;
    pm_cgroup_visit("", "cpu", least_quota, &least);
    return least;
}

uint32_t pm_cpu_available(void) {
    const uint32_t by_affinity = affinity_count(), by_cgroup = cgroup_count();
    return by_affinity < by_cgroup ? by_affinity : by_cgroup;
}
