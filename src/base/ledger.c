/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "base/ledger.h"

#include "base/clock.h"

#include <stddef.h>

const char *pm_pool_name(uint32_t pool) {
    static const char *const names[PM_POOLS_MAX] = {
        "host",    "pinned",  "file",    "caller",  "vram:0",  "vram:1", "vram:2",
        "vram:3",  "vram:4",  "vram:5",  "vram:6",  "vram:7",  "vram:8", "vram:9",
        "vram:10", "vram:11", "vram:12", "vram:13", "vram:14", "vram:15"};
    return pool < PM_POOLS_MAX ? names[pool] : "unknown";
}
_Static_assert(PM_POOLS_MAX == 20, "every pool has its name");

const char *pm_mechanism_name(uint32_t mechanism) {
    switch (mechanism) {
    case PM_BY_HEAP:
        return "malloc";
    case PM_BY_MMAP:
        return "mmap";
    case PM_BY_FILE_MAPPING:
        return "file mapping";
    case PM_BY_CALLER:
        return "lent";
    case PM_BY_HOST_REGISTER:
        return "cudaHostRegister";
    case PM_BY_HOST_ALLOC:
        return "cudaHostAlloc";
    case PM_BY_DEVICE_ALLOC:
        return "cudaMalloc";
    case PM_BY_STREAM_ORDER:
        return "cudaMallocAsync";
    case PM_BY_FAKE:
        return "fake device";
    default:
        return "unknown";
    }
}

/* A spin lock: it is held for a dozen stores, and a mutex would need its own initialisation where
 * zero is a valid ledger. */
static void ledger_lock(struct pm_ledger *ledger) {
    while (__atomic_exchange_n(&ledger->lock, 1, __ATOMIC_ACQUIRE) != 0) {
        while (__atomic_load_n(&ledger->lock, __ATOMIC_RELAXED) != 0) {
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        }
    }
}

static void ledger_unlock(struct pm_ledger *ledger) {
    __atomic_store_n(&ledger->lock, 0, __ATOMIC_RELEASE);
}

/* Under the lock. */
static void enter_in_log(struct pm_ledger_log *log, const struct pm_ledger_note *note,
                         bool released, uint64_t bytes, uint64_t live_bytes) {
    if (log->n_entries_max == 0) {
        return;
    }
    if (log->n_entries == log->n_entries_max) {
        log->n_lost++;
        return;
    }
    log->entries[log->n_entries++] = (struct pm_ledger_entry){.note = *note,
                                                              .released = released,
                                                              .at_ns = pm_clock_now_ns(),
                                                              .bytes = bytes,
                                                              .live_bytes = live_bytes};
}

/* The totals are stored atomically because they are read without the lock. */
void pm_ledger_allocated(struct pm_ledger *ledger, const struct pm_ledger_note *note,
                         uint64_t bytes) {
    if (ledger == NULL || note->pool >= PM_POOLS_MAX) {
        return;
    }
    ledger_lock(ledger);
    const uint64_t live_bytes = ledger->live_bytes[note->pool] + bytes;
    __atomic_store_n(&ledger->live_bytes[note->pool], live_bytes, __ATOMIC_RELAXED);
    if (live_bytes > ledger->peak_bytes[note->pool]) {
        __atomic_store_n(&ledger->peak_bytes[note->pool], live_bytes, __ATOMIC_RELAXED);
    }
    ledger->n_allocations++;
    enter_in_log(&ledger->log, note, false, bytes, live_bytes);
    ledger_unlock(ledger);
}

void pm_ledger_released(struct pm_ledger *ledger, const struct pm_ledger_note *note,
                        uint64_t bytes) {
    if (ledger == NULL || note->pool >= PM_POOLS_MAX) {
        return;
    }
    ledger_lock(ledger);
    const uint64_t live_bytes = ledger->live_bytes[note->pool] - bytes;
    __atomic_store_n(&ledger->live_bytes[note->pool], live_bytes, __ATOMIC_RELAXED);
    enter_in_log(&ledger->log, note, true, bytes, live_bytes);
    ledger_unlock(ledger);
}

uint64_t pm_ledger_live_bytes(const struct pm_ledger *ledger) {
    return pm_ledger_pool_live_bytes(ledger, PM_POOL_HOST);
}

uint64_t pm_ledger_peak_bytes(const struct pm_ledger *ledger) {
    return pm_ledger_pool_peak_bytes(ledger, PM_POOL_HOST);
}

uint64_t pm_ledger_pool_live_bytes(const struct pm_ledger *ledger, uint32_t pool) {
    return ledger == NULL || pool >= PM_POOLS_MAX
               ? 0
               : __atomic_load_n(&ledger->live_bytes[pool], __ATOMIC_RELAXED);
}

uint64_t pm_ledger_pool_peak_bytes(const struct pm_ledger *ledger, uint32_t pool) {
    return ledger == NULL || pool >= PM_POOLS_MAX
               ? 0
               : __atomic_load_n(&ledger->peak_bytes[pool], __ATOMIC_RELAXED);
}
