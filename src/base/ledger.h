/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * base/ledger.h - what is held now, by whom, and how it came and went.
 *
 * A ledger belongs to one owner: a key, one proof. Without a log it keeps totals a pool; with one
 * it also keeps an entry for every allocation and release, against the line of the plan that
 * foresaw it. A proof's ledger is what its plan is checked against (groth16/execute.h).
 */
#ifndef PM_BASE_LEDGER_H
#define PM_BASE_LEDGER_H

#include "base/limits.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Where bytes live. Device k has the pool PM_POOL_VRAM_0 + k. */
enum pm_pool {
    PM_POOL_HOST = 0,   /* anonymous memory of this process */
    PM_POOL_PINNED = 1, /* page-locked host memory */
    PM_POOL_FILE = 2,   /* mapped files: page cache, which the kernel may reclaim */
    PM_POOL_CALLER = 3, /* arrays lent by the caller */
    PM_POOL_VRAM_0 = 4
};
#define PM_POOLS_MAX (PM_POOL_VRAM_0 + PM_DEVICES_MAX)

/* How bytes come. */
enum pm_mechanism {
    PM_BY_HEAP = 0,          /* malloc */
    PM_BY_MMAP = 1,          /* an anonymous mapping of its own */
    PM_BY_FILE_MAPPING = 2,  /* a mapped file */
    PM_BY_CALLER = 3,        /* lent */
    PM_BY_HOST_REGISTER = 4, /* cudaHostRegister */
    PM_BY_HOST_ALLOC = 5,    /* cudaHostAlloc */
    PM_BY_DEVICE_ALLOC = 6,  /* cudaMalloc, once */
    PM_BY_STREAM_ORDER = 7,  /* cudaMallocAsync */
    PM_BY_FAKE = 8           /* a test's device */
};

/* "host", "pinned", "file", "caller", "vram:0"...; "mmap", "cudaMalloc"...; never NULL. */
const char *pm_pool_name(uint32_t pool);
const char *pm_mechanism_name(uint32_t mechanism);

#define PM_LEDGER_UNPLANNED UINT16_MAX /* no line of the plan */
#define PM_LEDGER_NO_STEP UINT16_MAX   /* outside the plan's steps */

/* What is said of an allocation when it is made. Strings are static. */
struct pm_ledger_note {
    const char *name;
    const char *file;
    uint32_t line;
    uint16_t plan_line; /* PM_LEDGER_UNPLANNED: none */
    uint16_t step;      /* PM_LEDGER_NO_STEP: none */
    uint8_t pool;
    uint8_t mechanism;
    bool in_device_lock;
};

struct pm_ledger_entry {
    struct pm_ledger_note note; /* on a release: that of the allocation, but for step and lock */
    bool released;              /* else allocated */
    uint64_t at_ns;             /* CLOCK_MONOTONIC */
    uint64_t bytes;
    uint64_t live_bytes; /* of the pool, after it */
};

/* Entries in the order in which they happened. */
struct pm_ledger_log {
    struct pm_ledger_entry *entries;
    uint32_t n_entries, n_entries_max;
    uint32_t n_lost; /* that found no room */
};

/* Zero is a valid ledger without a log. Updated under its lock; read it through the functions. */
struct pm_ledger {
    uint64_t live_bytes[PM_POOLS_MAX];
    uint64_t peak_bytes[PM_POOLS_MAX];
    uint64_t n_allocations;
    uint32_t lock; /* a spin lock held for a few stores */
    struct pm_ledger_log log;
};

/* ledger may be NULL everywhere. */
void pm_ledger_allocated(struct pm_ledger *ledger, const struct pm_ledger_note *note,
                         uint64_t bytes);
/* note is that of the allocation, with the step and lock of the release. */
void pm_ledger_released(struct pm_ledger *ledger, const struct pm_ledger_note *note,
                        uint64_t bytes);
/* Of the host pool. */
uint64_t pm_ledger_live_bytes(const struct pm_ledger *ledger);
uint64_t pm_ledger_peak_bytes(const struct pm_ledger *ledger);
/* Of any pool. */
uint64_t pm_ledger_pool_live_bytes(const struct pm_ledger *ledger, uint32_t pool);
uint64_t pm_ledger_pool_peak_bytes(const struct pm_ledger *ledger, uint32_t pool);

#endif
