/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * base/budget.h - so many bytes of each pool, shared by whoever proves.
 *
 * A proof reserves its whole curve or nothing: the most it will hold of each pool. While it runs it
 * only ever gives back, so that whoever was admitted ends without waiting for anybody (no deadlock)
 * and what a step no longer needs is there for the next proof at once.
 *
 * Fair: waiters are served in the order in which they came; a small one does not overtake a large
 * one. A reservation larger than the whole is refused at once, with both numbers.
 */
#ifndef PM_BASE_BUDGET_H
#define PM_BASE_BUDGET_H

#include "base/control.h"
#include "base/ledger.h"
#include "base/status.h"

#include <pthread.h>
#include <stdint.h>

#define PM_BUDGET_UNLIMITED UINT64_MAX

struct pm_budget_waiter;

struct pm_budget {
    pthread_mutex_t lock;
    uint64_t total_bytes[PM_POOLS_MAX];
    uint64_t reserved_bytes[PM_POOLS_MAX];
    struct pm_budget_waiter *first, *last; /* in the order of arrival */
};

/* What one proof holds. Zero holds nothing. */
struct pm_reservation {
    struct pm_budget *budget;
    uint64_t bytes[PM_POOLS_MAX];
};

/* total_bytes: PM_POOLS_MAX of them; PM_BUDGET_UNLIMITED where nobody counts. Errors: NO_MEMORY. */
pm_status pm_budget_init(struct pm_budget *budget, const uint64_t *total_bytes, pm_error *error);
/* Nothing may be reserved or waited for. */
void pm_budget_close(struct pm_budget *budget);

/* Both fill *reservation only on PM_OK; bytes: PM_POOLS_MAX of them. Both refuse at once what can
 * never fit: OVER_BUDGET, with the pool's name, need and have. */
/* BUDGET_BUSY when it does not fit now, or when others wait already. */
pm_status pm_budget_try(struct pm_budget *budget, const uint64_t *bytes,
                        struct pm_reservation *reservation, pm_error *error);
/* Waits for its turn and its bytes. Errors: CANCELLED, DEADLINE (within PM_CANCEL_LATENCY_MS). */
pm_status pm_budget_wait(struct pm_budget *budget, const uint64_t *bytes, const pm_control *control,
                         struct pm_reservation *reservation, pm_error *error);
/* Gives back what exceeds bytes, pool by pool; never takes more. */
void pm_reservation_shrink(struct pm_reservation *reservation, const uint64_t *bytes);
/* Hands bytes of one reservation to another one, which holds nothing; each then ends by itself. */
void pm_reservation_split(struct pm_reservation *reservation, const uint64_t *bytes,
                          struct pm_reservation *other);
/* Gives everything back; *reservation holds nothing afterwards and may be released again. */
void pm_reservation_release(struct pm_reservation *reservation);

/*
 * How much memory this process may still take: the least of the machine's MemAvailable and, for
 * each cgroup (v1 or v2) from this process's up to the root, limit less usage, where usage does not
 * count the page cache that can be reclaimed. root is "" or the folder that stands for / (tests).
 * Where a file is missing or strange that bound is left out; with no bound at all the answer is
 * PM_BUDGET_UNLIMITED.
 */
struct pm_memory_room {
    uint64_t bytes;
    uint64_t total_bytes; /* of the bound that decided: the cgroup's limit, the machine's memory */
    const char *bound_name; /* static: "cgroup v2 memory.max", "MemAvailable", ... */
};
struct pm_memory_room pm_memory_room_read(const char *root);

#endif
