/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * support/data_limit.h - lets this process allocate so much more and nothing beyond.
 *
 * Counts what is asked for, not what is touched: a large block that nobody writes to does not show
 * in the resident size. Does nothing where a sanitizer is compiled in, as its shadow memory counts
 * too.
 */
#ifndef PM_TEST_SUPPORT_DATA_LIMIT_H
#define PM_TEST_SUPPORT_DATA_LIMIT_H

#include <stdio.h>
#include <sys/resource.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PM_TEST_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PM_TEST_IS_SANITIZED 1
#endif
#endif
#ifndef PM_TEST_IS_SANITIZED
#define PM_TEST_IS_SANITIZED 0
#endif

/* The VmData of this process: what RLIMIT_DATA is held against. 0 if it cannot be read. */
static inline size_t data_limit_bytes_now(void) {
    char line[128];
    size_t kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "VmData: %zu", &kib) == 1) {
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kib * 1024;
}

static inline void data_limit_set(size_t more_bytes) {
    const size_t now = data_limit_bytes_now();
    struct rlimit limit;
    if (!PM_TEST_IS_SANITIZED && now > 0 && getrlimit(RLIMIT_DATA, &limit) == 0) {
        limit.rlim_cur = now + more_bytes;
        (void)setrlimit(RLIMIT_DATA, &limit);
    }
}

#endif
