/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * base/memory.h - the only door to the heap.
 *
 * Every buffer has a name and is entered in its owner's ledger (base/ledger.h) when it comes and
 * when it goes; NULL is allowed for small permanent objects. Buffers are zero-filled,
 * PM_BUFFER_ALIGNMENT-aligned and carry their size, so that freeing can wipe and account without
 * being told it.
 */
#ifndef PM_BASE_MEMORY_H
#define PM_BASE_MEMORY_H

#include "base/ledger.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pm_memory_flags {
    PM_MEMORY_PLAIN = 0,
    PM_MEMORY_SECRET = 1 /* wiped when freed, left out of core dumps */
};

/* An allocation that no plan foresaw, made at this line. `name` is static. */
#define PM_MEMORY_NOTE(buffer_name)                                                                \
    (&(const struct pm_ledger_note){.name = (buffer_name),                                         \
                                    .file = __FILE__,                                              \
                                    .line = __LINE__,                                              \
                                    .plan_line = PM_LEDGER_UNPLANNED,                              \
                                    .step = PM_LEDGER_NO_STEP,                                     \
                                    .pool = PM_POOL_HOST})

/* pm_status: allocates `bytes` zeroed bytes as *out. `name` appears in the error. Errors:
 * NO_MEMORY. */
#define pm_memory_alloc(ledger, name, bytes, flags, out, error)                                    \
    pm_memory_alloc_noted((ledger), PM_MEMORY_NOTE(name), (bytes), (flags), (out), (error))
/* pm_status: n * element_bytes with the product checked. */
#define pm_memory_alloc_array(ledger, name, n, element_bytes, flags, out, error)                   \
    pm_memory_alloc_array_noted((ledger), PM_MEMORY_NOTE(name), (n), (element_bytes), (flags),     \
                                (out), (error))

/* The same with all that is to be said of it; what *note says of pool and mechanism is replaced by
 * host and pm_memory_mechanism(). */
pm_status pm_memory_alloc_noted(struct pm_ledger *ledger, const struct pm_ledger_note *note,
                                uint64_t bytes, enum pm_memory_flags flags, void **out,
                                pm_error *error);
pm_status pm_memory_alloc_array_noted(struct pm_ledger *ledger, const struct pm_ledger_note *note,
                                      uint64_t n, uint64_t element_bytes,
                                      enum pm_memory_flags flags, void **out, pm_error *error);
/* Whether a buffer comes from the heap or is a mapping of its own. */
enum pm_mechanism pm_memory_mechanism(uint64_t bytes, enum pm_memory_flags flags);

/* Frees what pm_memory_alloc gave out (NULL is fine) and takes it off the ledger it was entered in.
 */
void pm_memory_free(void *buffer);
/* The same in a step of a plan: that is entered with the release. */
void pm_memory_free_noted(void *buffer, uint16_t step, bool in_device_lock);
/*
 * Wiping a large secret buffer is work for many threads: each wipes pieces of it, multiples of
 * PM_MEMORY_WIPE_BYTES apart, and when all have, pm_memory_wiped() keeps pm_memory_free() from
 * doing it again. begin and end: multiples of it, or the end of the buffer. Nobody writes to the
 * buffer from the first piece on.
 */
#define PM_MEMORY_WIPE_BYTES (UINT64_C(2) << 20)
void pm_memory_wipe_piece(void *buffer, uint64_t begin, uint64_t end);
void pm_memory_wiped(void *buffer);
/*
 * Makes a buffer of no ledger larger that is a mapping of its own: pages are moved, no byte is
 * copied, and what is added is zero. Errors: NO_MEMORY; then *buffer is what it was.
 */
pm_status pm_memory_grow(void **buffer, uint64_t bytes, pm_error *error);
/* The bytes asked for. */
uint64_t pm_memory_bytes(const void *buffer);

/* Overwrites with zeros in a way the compiler keeps. */
void pm_memory_wipe(void *buffer, size_t bytes);

#endif
