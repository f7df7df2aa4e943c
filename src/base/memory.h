/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * base/memory.h - the only door to the heap.
 *
 * Every buffer has a name and is recorded in a ledger: who holds how many bytes now, and the most
 * that were ever held at once. A ledger belongs to one owner (a key, one proof); NULL is allowed
 * for small permanent objects. Buffers are zero-filled, PM_BUFFER_ALIGNMENT-aligned and carry their
 * size, so that freeing can wipe and account without being told it.
 */
#ifndef PM_BASE_MEMORY_H
#define PM_BASE_MEMORY_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Counters of one owner. Updated atomically; read them through the functions. */
struct pm_ledger {
    uint64_t live_bytes;
    uint64_t peak_bytes;
    uint64_t n_allocations;
};

uint64_t pm_ledger_live_bytes(const struct pm_ledger *ledger);
uint64_t pm_ledger_peak_bytes(const struct pm_ledger *ledger);

enum pm_memory_flags {
    PM_MEMORY_PLAIN = 0,
    PM_MEMORY_SECRET = 1 /* wiped when freed, left out of core dumps */
};

/* Allocates `bytes` zeroed bytes as *out. `name` is static and appears in the error. Errors:
 * NO_MEMORY. */
pm_status pm_memory_alloc(struct pm_ledger *ledger, const char *name, uint64_t bytes,
                          enum pm_memory_flags flags, void **out, pm_error *error);
/* n * element_bytes with the product checked. */
pm_status pm_memory_alloc_array(struct pm_ledger *ledger, const char *name, uint64_t n,
                                uint64_t element_bytes, enum pm_memory_flags flags, void **out,
                                pm_error *error);
/* Frees what pm_memory_alloc gave out (NULL is fine) and takes it off the ledger it was entered in.
 */
void pm_memory_free(void *buffer);
/* The bytes asked for. */
uint64_t pm_memory_bytes(const void *buffer);

/* Overwrites with zeros in a way the compiler keeps. */
void pm_memory_wipe(void *buffer, size_t bytes);

#endif
