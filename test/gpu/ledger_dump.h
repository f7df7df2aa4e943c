/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * ledger_dump.h - one line of what a program says of its memory on a card, for
 * check_driver_watch.py to lay beside the driver's calls.
 *
 * Fields between tabs: nanoseconds of CLOCK_MONOTONIC, thread, kind, mechanism, bytes, 1 inside the
 * device's lock or 0, owner, where, name. Kinds:
 *
 *     get, release     what libproofmill-gpu has asked the runtime for, in that order
 *     lock, unlock     the device's lock, by whom
 *     enter, leave     entries of a proof's ledger; owner: which proof
 *     plan             a line of that proof's plan
 *     peak             the most that the plan says of a pool, name: which
 */
#ifndef PM_TEST_GPU_LEDGER_DUMP_H
#define PM_TEST_GPU_LEDGER_DUMP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct ledger_dump_line {
    uint64_t at_ns; /* 0: now */
    const char *kind, *mechanism;
    uint64_t bytes;
    bool in_lock;
    uint32_t owner; /* 0: nobody */
    const char *where, *name;
};

static inline void ledger_dump(FILE *file, const struct ledger_dump_line *line) {
    struct timespec now;
    uint64_t at_ns = line->at_ns;
    if (at_ns == 0) {
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        at_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    }
    (void)fprintf(file, "%llu\t%ld\t%s\t%s\t%llu\t%d\t%u\t%s\t%s\n", (unsigned long long)at_ns,
                  (long)syscall(SYS_gettid), line->kind,
                  line->mechanism != NULL ? line->mechanism : "-", (unsigned long long)line->bytes,
                  line->in_lock ? 1 : 0, line->owner, line->where != NULL ? line->where : "-",
                  line->name != NULL ? line->name : "-");
}

#endif
