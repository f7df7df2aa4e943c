/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Preloaded into the command (LD_PRELOAD): writes down what it asks libc and the kernel for, so
 * that its own ledger need not be believed. PM_RECORD names the file, which gets one line for each
 * event when the process ends:
 *
 *     NANOSECONDS OPERATION ADDRESS BYTES
 *
 * of CLOCK_MONOTONIC; operations: map, unmap (anonymous mappings), take, give (the heap; bytes of
 * give are 0). Calls that libc makes within itself, such as those for stacks of threads, are not
 * seen.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum operation { MAP, UNMAP, TAKE, GIVE };

struct event {
    uint64_t at_ns, bytes;
    uintptr_t address;
    enum operation operation;
};

#define N_EVENTS_MAX (1u << 19)
static struct event events[N_EVENTS_MAX];
static uint32_t n_events; /* atomic; may exceed N_EVENTS_MAX, which the report then says */

static void note(enum operation operation, const void *address, size_t bytes) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    const uint32_t i = __atomic_fetch_add(&n_events, 1, __ATOMIC_RELAXED);
    if (i < N_EVENTS_MAX) {
        events[i] =
            (struct event){(uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec,
                           bytes, (uintptr_t)address, operation};
    }
}

/* dlsym() allocates, so the allocator is reached by glibc's own names. */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

void *malloc(size_t n) {
    void *block = __libc_malloc(n);
    note(TAKE, block, n);
    return block;
}

void *calloc(size_t n, size_t bytes) {
    void *block = __libc_calloc(n, bytes);
    note(TAKE, block, n * bytes);
    return block;
}

void *realloc(void *old, size_t n) {
    void *block = __libc_realloc(old, n);
    note(GIVE, old, 0);
    note(TAKE, block, n);
    return block;
}

int posix_memalign(void **block, size_t alignment, size_t n) {
    *block = __libc_memalign(alignment, n);
    note(TAKE, *block, n);
    return *block == NULL ? 12 /* ENOMEM */ : 0;
}

void free(void *block) {
    if (block != NULL) {
        note(GIVE, block, 0);
    }
    __libc_free(block);
}

void *mmap(void *at, size_t n, int rights, int flags, int fd, off_t offset) {
    void *mapping = (void *)syscall(SYS_mmap, at, n, rights, flags, fd, offset);
    if (mapping != MAP_FAILED && (flags & MAP_ANONYMOUS) != 0) {
        note(MAP, mapping, n);
    }
    return mapping;
}

/* Of files too: the reader looks for the address. */
int munmap(void *at, size_t n) {
    note(UNMAP, at, n);
    return (int)syscall(SYS_munmap, at, n);
}

/* With system calls alone: what is noted now is no event of the program. */
__attribute__((destructor)) static void report(void) {
    static const char *const names[] = {"map", "unmap", "take", "give"};
    const char *path = getenv("PM_RECORD");
    if (path == NULL) {
        return;
    }
    const uint32_t n = __atomic_load_n(&n_events, __ATOMIC_RELAXED);
    const long fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (uint32_t i = 0; i < n && i < N_EVENTS_MAX; i++) {
        char line[128];
        const int length = snprintf(line, sizeof line, "%" PRIu64 " %s %" PRIuPTR " %" PRIu64 "\n",
                                    events[i].at_ns, names[events[i].operation], events[i].address,
                                    events[i].bytes);
        (void)syscall(SYS_write, fd, line, (size_t)length);
    }
    if (n <= N_EVENTS_MAX) {
        (void)syscall(SYS_write, fd, "0 end 0 0\n", 10L);
    }
    (void)syscall(SYS_close, fd);
}
