/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "base/cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

const char *pm_body_name(enum pm_body body) {
    switch (body) {
    case PM_BODY_PORTABLE:
        return "portable";
    case PM_BODY_ADX:
        return "adx";
    case PM_BODY_COUNT:
        break;
    }
    return "unknown";
}

static bool cpu_has_bmi2_and_adx(void) {
#if defined(__x86_64__)
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
        return false;
    }
    const unsigned bmi2 = 1u << 8, adx = 1u << 19;
    return (ebx & bmi2) != 0 && (ebx & adx) != 0;
#else
    return false;
#endif
}

bool pm_cpu_has_body(enum pm_body body) {
    switch (body) {
    case PM_BODY_PORTABLE:
        return true;
    case PM_BODY_ADX:
        return cpu_has_bmi2_and_adx();
    case PM_BODY_COUNT:
        break;
    }
    return false;
}

enum pm_body pm_cpu_best_body(void) {
    return pm_cpu_has_body(PM_BODY_ADX) ? PM_BODY_ADX : PM_BODY_PORTABLE;
}

/* Reads a small pseudo-file into a NUL-terminated buffer; false when there is none. */
static bool read_small_file(const char *path, char *text, size_t capacity) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t n;
    do {
        n = read(fd, text, capacity - 1);
    } while (n < 0 && errno == EINTR);
    (void)close(fd);
    if (n < 0) {
        return false;
    }
    text[n] = '\0';
    return true;
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

/* The quota of the cgroup directory `dir` alone (not of its parents). */
static uint32_t cgroup_v2_quota_at(const char *dir) {
    char path[PATH_MAX], text[128];
    if (snprintf(path, sizeof path, "%s/cpu.max", dir) >= (int)sizeof path ||
        !read_small_file(path, text, sizeof text)) {
        return UINT32_MAX;
    }
    long long quota = 0, period = 0;
    return sscanf(text, "%lld %lld", &quota, &period) == 2 ? quota_to_threads(quota, period)
                                                           : UINT32_MAX;
}

static uint32_t cgroup_v1_quota_at(const char *dir) {
    char path[PATH_MAX], quota_text[64], period_text[64];
    if (snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", dir) >= (int)sizeof path ||
        !read_small_file(path, quota_text, sizeof quota_text)) {
        return UINT32_MAX;
    }
    if (snprintf(path, sizeof path, "%s/cpu.cfs_period_us", dir) >= (int)sizeof path ||
        !read_small_file(path, period_text, sizeof period_text)) {
        return UINT32_MAX;
    }
    return quota_to_threads(strtoll(quota_text, NULL, 10), strtoll(period_text, NULL, 10));
}

/* A quota binds every descendant, so the tightest one on the way up to the mount point counts. */
static uint32_t cgroup_quota_upwards(const char *mount, char *group,
                                     uint32_t (*quota_at)(const char *)) {
    uint32_t least = UINT32_MAX;
    for (;;) {
        char dir[PATH_MAX];
        if (snprintf(dir, sizeof dir, "%s%s", mount, group) < (int)sizeof dir) {
            const uint32_t quota = quota_at(dir);
            least = quota < least ? quota : least;
        }
        char *slash = strrchr(group, '/');
        if (slash == NULL) {
            return least;
        }
        *slash = '\0';
    }
}

static uint32_t cgroup_count(void) {
    static const char v2_mount[] = "/sys/fs/cgroup", v1_mount[] = "/sys/fs/cgroup/cpu";
    char text[8192];
    if (!read_small_file("/proc/self/cgroup", text, sizeof text)) {
        return UINT32_MAX;
    }
    uint32_t least = UINT32_MAX;
    char *rest = text;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        char *controllers = strchr(line, ':');
        char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (group == NULL) {
            continue;
        }
        *group++ = '\0';
        ++controllers;
        uint32_t quota = UINT32_MAX;
        if (controllers[0] == '\0') {
            quota = cgroup_quota_upwards(v2_mount, group, cgroup_v2_quota_at);
        } else if (strcmp(controllers, "cpu") == 0 || strncmp(controllers, "cpu,", 4) == 0 ||
                   strstr(controllers, ",cpu,") != NULL) {
            quota = cgroup_quota_upwards(v1_mount, group, cgroup_v1_quota_at);
        }
        least = quota < least ? quota : least;
    }
    return least;
}

uint32_t pm_cpu_available(void) {
    const uint32_t by_affinity = affinity_count(), by_cgroup = cgroup_count();
    return by_affinity < by_cgroup ? by_affinity : by_cgroup;
}
