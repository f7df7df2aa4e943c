/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * fuzz/memory_limit.c - stands before mmap in fuzzers: no input, which is small, may make the
 * library map as much as FUZZ_MEMORY_BYTES. libFuzzer's -malloc_limit_mb sees the heap alone, and a
 * block that is never touched does not show in the resident size.
 */
#include "fuzz/harness.h"

#include <sys/mman.h>

void *__real_mmap(void *address, size_t n_bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *address, size_t n_bytes, int protection, int flags, int fd, off_t offset);

void *__wrap_mmap(void *address, size_t n_bytes, int protection, int flags, int fd, off_t offset) {
    if ((flags & MAP_ANONYMOUS) != 0) {
        FUZZ_REQUIRE(n_bytes <= FUZZ_MEMORY_BYTES);
    }
    return __real_mmap(address, n_bytes, protection, flags, fd, offset);
}
