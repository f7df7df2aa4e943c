/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "fault/fault_interposer.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct fault_plan plan = {.function = FAULT_any};
static uint64_t n_calls, n_faults;                    /* atomic */
static int64_t heap_bytes, heap_blocks, mapped_bytes; /* atomic */

static const char *const names[] = {
#define FAULT_NAME(name) #name,
    FAULT_FUNCTIONS(FAULT_NAME)
#undef FAULT_NAME
        "any"};

const char *fault_function_name(enum fault_function function) {
    return names[function];
}

void fault_arm(const struct fault_plan *wanted) {
    plan.at = 0;
    __atomic_store_n(&n_calls, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&n_faults, 0, __ATOMIC_SEQ_CST);
    plan = *wanted;
}

struct fault_count fault_disarm(void) {
    const struct fault_count count = {__atomic_load_n(&n_calls, __ATOMIC_SEQ_CST),
                                      __atomic_load_n(&n_faults, __ATOMIC_SEQ_CST)};
    plan = (struct fault_plan){.function = FAULT_any};
    return count;
}

struct fault_live fault_live_now(void) {
    return (struct fault_live){__atomic_load_n(&heap_bytes, __ATOMIC_SEQ_CST),
                               __atomic_load_n(&heap_blocks, __ATOMIC_SEQ_CST),
                               __atomic_load_n(&mapped_bytes, __ATOMIC_SEQ_CST)};
}

static bool can_answer(enum fault_function function, int reason) {
    switch (function) {
    case FAULT_read:
    case FAULT_pread:
    case FAULT_write:
        return true;
    case FAULT_open:
    case FAULT_fsync:
    case FAULT_fdatasync:
    case FAULT_ftruncate:
    case FAULT_getrandom:
        return reason != FAULT_SHORT;
    default:
        return reason != FAULT_SHORT && reason != EINTR;
    }
}

/* 0: go on; else the error number, or FAULT_SHORT. */
static int fault_of(enum fault_function function) {
    if ((plan.function != function && plan.function != FAULT_any) ||
        !can_answer(function, plan.reason)) {
        return 0;
    }
    const uint64_t call = __atomic_add_fetch(&n_calls, 1, __ATOMIC_SEQ_CST);
    if (plan.at == 0 || call < plan.at || (call > plan.at && !plan.persists) ||
        (plan.reason == EINTR && (call - plan.at) % 2 != 0)) {
        return 0;
    }
    __atomic_add_fetch(&n_faults, 1, __ATOMIC_SEQ_CST);
    if (plan.reason == FAULT_KILL) {
        (void)kill(getpid(), SIGKILL);
    }
    return plan.reason;
}

/* The value that says "failed" when the call is to fail. */
static bool fails(enum fault_function function) {
    const int fault = fault_of(function);
    errno = fault > 0 ? fault : errno;
    return fault > 0;
}

/* The same for calls that may be short. */
static bool fails_or_shortens(enum fault_function function, size_t *n) {
    const int fault = fault_of(function);
    if (fault == FAULT_SHORT) {
        *n = *n < FAULT_SHORT_BYTES ? *n : FAULT_SHORT_BYTES;
    }
    errno = fault > 0 ? fault : errno;
    return fault > 0;
}

static void count_heap(void *block, int64_t sign) {
    if (block != NULL) {
        __atomic_add_fetch(&heap_bytes, sign * (int64_t)malloc_usable_size(block),
                           __ATOMIC_SEQ_CST);
        __atomic_add_fetch(&heap_blocks, sign, __ATOMIC_SEQ_CST);
    }
}

#if defined(PM_FAULT_WRAPPED)
#define FAKE(name) __wrap_##name
#define REAL(name) __real_##name
#define DECLARE(result, name, parameters)                                                          \
    result __real_##name parameters;                                                               \
    result __wrap_##name parameters;
/* clang-format off: a list of declarations */
DECLARE(void *, malloc, (size_t))
DECLARE(void *, calloc, (size_t, size_t))
DECLARE(void *, realloc, (void *, size_t))
DECLARE(int, posix_memalign, (void **, size_t, size_t))
DECLARE(void, free, (void *))
DECLARE(void *, mmap, (void *, size_t, int, int, int, off_t))
DECLARE(int, munmap, (void *, size_t))
DECLARE(int, open, (const char *, int, ...))
DECLARE(int, fstat, (int, struct stat *))
DECLARE(int, stat, (const char *, struct stat *))
DECLARE(int, fchmod, (int, mode_t))
DECLARE(ssize_t, read, (int, void *, size_t))
DECLARE(ssize_t, pread, (int, void *, size_t, off_t))
DECLARE(ssize_t, write, (int, const void *, size_t))
DECLARE(int, rename, (const char *, const char *))
DECLARE(int, linkat, (int, const char *, int, const char *, int))
int __wrap_fsync(int);
int __wrap_fdatasync(int);
DECLARE(int, ftruncate, (int, off_t))
DECLARE(int, pthread_create, (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))
DECLARE(ssize_t, getrandom, (void *, size_t, unsigned))
/* clang-format on */
#define REAL_MALLOC __real_malloc
#define REAL_CALLOC __real_calloc
#define REAL_REALLOC __real_realloc
#define REAL_FREE __real_free
#else
#define FAKE(name) name
/* Looked up at each call: a lookup is cheap beside a system call, and needs no lock of ours. */
#define REAL(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))
/* dlsym() allocates, so the allocator is reached by glibc's own names. */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);
#define REAL_MALLOC __libc_malloc
#define REAL_CALLOC __libc_calloc
#define REAL_REALLOC __libc_realloc
#define REAL_FREE __libc_free
#endif

/* ---- The heap ------------------------------------------------------------------------------- */

void *FAKE(malloc)(size_t n) {
    void *block = fails(FAULT_malloc) ? NULL : REAL_MALLOC(n);
    count_heap(block, 1);
    return block;
}

void *FAKE(calloc)(size_t n, size_t bytes) {
    void *block = fails(FAULT_calloc) ? NULL : REAL_CALLOC(n, bytes);
    count_heap(block, 1);
    return block;
}

void *FAKE(realloc)(void *old, size_t n) {
    if (fails(FAULT_realloc)) {
        return NULL;
    }
    count_heap(old, -1);
    void *block = REAL_REALLOC(old, n);
    count_heap(block, 1);
    return block;
}

int FAKE(posix_memalign)(void **block, size_t alignment, size_t n) {
    const int fault = fault_of(FAULT_posix_memalign);
    if (fault != 0) {
        return fault;
    }
#if defined(PM_FAULT_WRAPPED)
    const int failed = __real_posix_memalign(block, alignment, n);
#else
    *block = __libc_memalign(alignment, n);
    const int failed = *block == NULL ? ENOMEM : 0;
#endif
    if (failed == 0) {
        count_heap(*block, 1);
    }
    return failed;
}

void FAKE(free)(void *block) {
    count_heap(block, -1);
    REAL_FREE(block);
}

/* ---- Mappings, threads, randomness ---------------------------------------------------------- */

void *FAKE(mmap)(void *at, size_t n, int rights, int flags, int fd, off_t offset) {
    if (fails(FAULT_mmap)) {
        return MAP_FAILED;
    }
    void *mapping = REAL(mmap)(at, n, rights, flags, fd, offset);
    if (mapping != MAP_FAILED && (flags & MAP_FIXED) == 0) {
        __atomic_add_fetch(&mapped_bytes, (int64_t)n, __ATOMIC_SEQ_CST);
    }
    return mapping;
}

int FAKE(munmap)(void *at, size_t n) {
    const int failed = REAL(munmap)(at, n);
    if (failed == 0) {
        __atomic_sub_fetch(&mapped_bytes, (int64_t)n, __ATOMIC_SEQ_CST);
    }
    return failed;
}

int FAKE(pthread_create)(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                         void *argument) {
    const int fault = fault_of(FAULT_pthread_create);
    return fault != 0 ? fault : REAL(pthread_create)(thread, attributes, body, argument);
}

ssize_t FAKE(getrandom)(void *bytes, size_t n, unsigned flags) {
    return fails(FAULT_getrandom) ? -1 : REAL(getrandom)(bytes, n, flags);
}

/* ---- Files ---------------------------------------------------------------------------------- */

int FAKE(open)(const char *path, int flags, ...) {
    mode_t mode = 0;
    if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE) {
        va_list arguments;
        va_start(arguments, flags);
        mode = va_arg(arguments, mode_t);
        va_end(arguments);
    }
    return fails(FAULT_open) ? -1 : REAL(open)(path, flags, mode);
}

int FAKE(fstat)(int fd, struct stat *facts) {
    return fails(FAULT_fstat) ? -1 : REAL(fstat)(fd, facts);
}

int FAKE(stat)(const char *path, struct stat *facts) {
    return fails(FAULT_stat) ? -1 : REAL(stat)(path, facts);
}

int FAKE(fchmod)(int fd, mode_t mode) {
    return fails(FAULT_fchmod) ? -1 : REAL(fchmod)(fd, mode);
}

ssize_t FAKE(read)(int fd, void *bytes, size_t n) {
    return fails_or_shortens(FAULT_read, &n) ? -1 : REAL(read)(fd, bytes, n);
}

ssize_t FAKE(pread)(int fd, void *bytes, size_t n, off_t offset) {
    return fails_or_shortens(FAULT_pread, &n) ? -1 : REAL(pread)(fd, bytes, n, offset);
}

ssize_t FAKE(write)(int fd, const void *bytes, size_t n) {
    return fails_or_shortens(FAULT_write, &n) ? -1 : REAL(write)(fd, bytes, n);
}

int FAKE(rename)(const char *from, const char *to) {
    return fails(FAULT_rename) ? -1 : REAL(rename)(from, to);
}

int FAKE(linkat)(int from_fd, const char *from, int to_fd, const char *to, int flags) {
    return fails(FAULT_linkat) ? -1 : REAL(linkat)(from_fd, from, to_fd, to, flags);
}

/* Good ones do not wait for a disk: no test outlives a power cut. */
int FAKE(fsync)(int fd) {
    (void)fd;
    return fails(FAULT_fsync) ? -1 : 0;
}

int FAKE(fdatasync)(int fd) {
    (void)fd;
    return fails(FAULT_fdatasync) ? -1 : 0;
}

int FAKE(ftruncate)(int fd, off_t n) {
    return fails(FAULT_ftruncate) ? -1 : REAL(ftruncate)(fd, n);
}

/* ---- Set up from the environment ------------------------------------------------------------ */

#if !defined(PM_FAULT_WRAPPED)
static int reason_named(const char *name) {
    static const struct {
        const char *name;
        int reason;
    } reasons[] = {{"ENOMEM", ENOMEM},  {"EIO", EIO},       {"ENOSPC", ENOSPC},
                   {"EINTR", EINTR},    {"EAGAIN", EAGAIN}, {"SHORT", FAULT_SHORT},
                   {"KILL", FAULT_KILL}};
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        if (strcmp(name, reasons[i].name) == 0) {
            return reasons[i].reason;
        }
    }
    _exit(99); /* a test that asks for nonsense must not pass */
}

static enum fault_function function_named(const char *name) {
    for (int i = 0; i <= FAULT_any; i++) {
        if (strcmp(name, names[i]) == 0) {
            return (enum fault_function)i;
        }
    }
    _exit(99);
}

__attribute__((constructor)) static void read_environment(void) {
    const char *function = getenv("PM_FAULT_FUNCTION"), *at = getenv("PM_FAULT_AT");
    const char *reason = getenv("PM_FAULT_REASON"), *persists = getenv("PM_FAULT_PERSISTS");
    if (function != NULL) {
        const struct fault_plan wanted = {.function = function_named(function),
                                          .at = at != NULL ? strtoull(at, NULL, 10) : 0,
                                          .reason = reason != NULL ? reason_named(reason) : ENOMEM,
                                          .persists =
                                              persists != NULL && strcmp(persists, "1") == 0};
        fault_arm(&wanted);
    }
}

__attribute__((destructor)) static void report(void) {
    const char *path = getenv("PM_FAULT_REPORT");
    if (path != NULL) {
        char line[64];
        const struct fault_count count = fault_disarm();
        const int n = snprintf(line, sizeof line, "%llu %llu\n", (unsigned long long)count.n_calls,
                               (unsigned long long)count.n_faults);
        const long fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        (void)syscall(SYS_write, fd, line, (size_t)n);
        (void)syscall(SYS_close, fd);
    }
}
#endif
