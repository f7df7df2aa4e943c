/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * fault/fault_interposer.h - makes the n-th call of a function fail.
 *
 * One source, two ways in:
 *   wrapped    linked into a test program with the linker's --wrap for each function below: calls
 *              that our own objects make are counted, those inside libc and cmocka are not. Works
 *              under sanitizers. Set up through the functions of this header.
 *   preloaded  a shared object for LD_PRELOAD on the command, which sees the calls of every shared
 *              object. Set up through the environment:
 *                PM_FAULT_FUNCTION   a name of the list below, or "any"
 *                PM_FAULT_AT         which call, from 1
 *                PM_FAULT_REASON     ENOMEM EIO ENOSPC EINTR EAGAIN, SHORT (read, write), or KILL
 *                PM_FAULT_PERSISTS   1: that call and all after it
 *                PM_FAULT_REPORT     a file that receives "calls faults" at exit
 */
#ifndef PM_TEST_FAULT_INTERPOSER_H
#define PM_TEST_FAULT_INTERPOSER_H

#include <stdbool.h>
#include <stdint.h>

#define FAULT_FUNCTIONS(X)                                                                         \
    X(malloc)                                                                                      \
    X(calloc)                                                                                      \
    X(realloc)                                                                                     \
    X(posix_memalign)                                                                              \
    X(mmap)                                                                                        \
    X(open)                                                                                        \
    X(fstat)                                                                                       \
    X(stat)                                                                                        \
    X(fchmod)                                                                                      \
    X(read)                                                                                        \
    X(pread)                                                                                       \
    X(write)                                                                                       \
    X(rename)                                                                                      \
    X(linkat)                                                                                      \
    X(fsync)                                                                                       \
    X(fdatasync)                                                                                   \
    X(ftruncate)                                                                                   \
    X(pthread_create)                                                                              \
    X(getrandom)

enum fault_function {
#define FAULT_ENUM(name) FAULT_##name,
    FAULT_FUNCTIONS(FAULT_ENUM)
#undef FAULT_ENUM
        FAULT_any /* also: how many functions there are */
};

/* In place of an error number: the call moves FAULT_SHORT_BYTES at most. */
#define FAULT_SHORT (-1)
#define FAULT_SHORT_BYTES 7
/* In place of an error number: the process is killed before the call, as by kill -9. */
#define FAULT_KILL (-2)

struct fault_plan {
    enum fault_function function;
    uint64_t at;   /* 1: the next call; 0: only count */
    int reason;    /* an error number, FAULT_SHORT, or FAULT_KILL */
    bool persists; /* with EINTR: every other call, so that trying again helps */
};

struct fault_count {
    uint64_t n_calls, n_faults;
};

/* EINTR and FAULT_SHORT only touch functions that may answer so. */
void fault_arm(const struct fault_plan *plan);
struct fault_count fault_disarm(void);
const char *fault_function_name(enum fault_function function);

/* What wrapped calls have allocated and mapped and not given back. */
struct fault_live {
    int64_t heap_bytes, heap_blocks, mapped_bytes;
};
struct fault_live fault_live_now(void);

#endif
