/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "base/budget.h"

#include "base/clock.h"
#include "base/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

/*
 * One in the queue, on its own stack. Only the first may be served, so only it is ever woken: when
 * bytes come back, when the one before it leaves for whatever reason, and when it was served itself
 * the next one is, which may fit as well. Every condition is tested under the lock, so that no
 * wake-up can fall between a test and the wait.
 */
struct pm_budget_waiter {
    const uint64_t *bytes;
    pthread_cond_t wake;
    struct pm_budget_waiter *next;
};

/* How often a waiter looks at its control: nothing wakes it when *cancel changes. */
#define POLL_MS (PM_CANCEL_LATENCY_MS / 10)

pm_status pm_budget_init(struct pm_budget *budget, const uint64_t *total_bytes, pm_error *error) {
    memset(budget, 0, sizeof *budget);
    memcpy(budget->total_bytes, total_bytes, sizeof budget->total_bytes);
    PM_FAIL_IF(pthread_mutex_init(&budget->lock, NULL) != 0, error, PM_NO_MEMORY,
               "cannot make the lock of a budget");
    return PM_OK;
}

void pm_budget_close(struct pm_budget *budget) {
    (void)pthread_mutex_destroy(&budget->lock);
}

/* UINT64_MAX in total_bytes needs no case of its own: it leaves room for whatever can be added
 * without wrapping. */
static uint64_t room_bytes(const struct pm_budget *budget, uint32_t pool) {
    return budget->total_bytes[pool] - budget->reserved_bytes[pool];
}

/* The first pool that bytes exceed, PM_POOLS_MAX if they fit. Under the lock. */
static uint32_t short_pool(const struct pm_budget *budget, const uint64_t *bytes) {
    for (uint32_t pool = 0; pool < PM_POOLS_MAX; pool++) {
        if (bytes[pool] > room_bytes(budget, pool)) {
            return pool;
        }
    }
    return PM_POOLS_MAX;
}

/* Totals never change, so this needs no lock. */
static pm_status refuse_impossible(const struct pm_budget *budget, const uint64_t *bytes,
                                   pm_error *error) {
    for (uint32_t pool = 0; pool < PM_POOLS_MAX; pool++) {
        if (bytes[pool] > budget->total_bytes[pool]) {
            pm_error_set(error, PM_OVER_BUDGET,
                         "needs %llu bytes of %s memory, the budget is %llu bytes in all",
                         (unsigned long long)bytes[pool], pm_pool_name(pool),
                         (unsigned long long)budget->total_bytes[pool]);
            pm_error_need_have(error, bytes[pool], budget->total_bytes[pool]);
            return PM_OVER_BUDGET;
        }
    }
    return PM_OK;
}

static void take(struct pm_budget *budget, const uint64_t *bytes,
                 struct pm_reservation *reservation) {
    for (uint32_t pool = 0; pool < PM_POOLS_MAX; pool++) {
        budget->reserved_bytes[pool] += bytes[pool];
        reservation->bytes[pool] = bytes[pool];
    }
    reservation->budget = budget;
}

static void wake_first(struct pm_budget *budget) {
    if (budget->first != NULL) {
        (void)pthread_cond_signal(&budget->first->wake);
    }
}

/* Under the lock. */
static pm_status say_busy(const struct pm_budget *budget, const uint64_t *bytes, pm_error *error) {
    const uint32_t pool = short_pool(budget, bytes);
    if (pool == PM_POOLS_MAX) {
        PM_FAIL(error, PM_BUDGET_BUSY, "it would fit, but others are waiting for the budget");
    }
    pm_error_set(error, PM_BUDGET_BUSY,
                 "needs %llu bytes of %s memory, %llu bytes of the budget are free now",
                 (unsigned long long)bytes[pool], pm_pool_name(pool),
                 (unsigned long long)room_bytes(budget, pool));
    pm_error_need_have(error, bytes[pool], room_bytes(budget, pool));
    return PM_BUDGET_BUSY;
}

pm_status pm_budget_try(struct pm_budget *budget, const uint64_t *bytes,
                        struct pm_reservation *reservation, pm_error *error) {
    PM_TRY(refuse_impossible(budget, bytes, error));
    (void)pthread_mutex_lock(&budget->lock);
    pm_status status = PM_OK;
    if (budget->first == NULL && short_pool(budget, bytes) == PM_POOLS_MAX) {
        take(budget, bytes, reservation);
    } else {
        status = say_busy(budget, bytes, error);
    }
    (void)pthread_mutex_unlock(&budget->lock);
    return status;
}

static pm_status waiter_init(struct pm_budget_waiter *waiter, const uint64_t *bytes,
                             pm_error *error) {
    *waiter = (struct pm_budget_waiter){.bytes = bytes};
    PM_FAIL_IF(pm_clock_condition_init(&waiter->wake) != 0, error, PM_NO_MEMORY,
               "cannot make a place in the budget's queue");
    return PM_OK;
}

static void enqueue(struct pm_budget *budget, struct pm_budget_waiter *waiter) {
    if (budget->last != NULL) {
        budget->last->next = waiter;
    } else {
        budget->first = waiter;
    }
    budget->last = waiter;
}

static void dequeue(struct pm_budget *budget, struct pm_budget_waiter *waiter) {
    struct pm_budget_waiter *before = NULL;
    for (struct pm_budget_waiter *at = budget->first; at != waiter; at = at->next) {
        before = at;
    }
    if (before != NULL) {
        before->next = waiter->next;
    } else {
        budget->first = waiter->next;
    }
    if (budget->last == waiter) {
        budget->last = before;
    }
}

/* Sleeps until woken, or for POLL_MS; spurious wake-ups are the caller's to notice. */
static void sleep_in_queue(struct pm_budget *budget, struct pm_budget_waiter *waiter) {
    pm_clock_wait_until(&waiter->wake, &budget->lock,
                        pm_clock_now_ns() + POLL_MS * UINT64_C(1000000));
}

pm_status pm_budget_wait(struct pm_budget *budget, const uint64_t *bytes, const pm_control *control,
                         struct pm_reservation *reservation, pm_error *error) {
    struct pm_budget_waiter waiter;
    PM_TRY(refuse_impossible(budget, bytes, error));
    PM_TRY(pm_control_check(control, error));
    PM_TRY(waiter_init(&waiter, bytes, error));
    (void)pthread_mutex_lock(&budget->lock);
    enqueue(budget, &waiter);
    pm_status status = PM_OK;
    while (budget->first != &waiter || short_pool(budget, waiter.bytes) != PM_POOLS_MAX) {
        status = pm_control_check(control, error);
        if (status != PM_OK) {
            break;
        }
        sleep_in_queue(budget, &waiter);
    }
    dequeue(budget, &waiter);
    if (status == PM_OK) {
        take(budget, bytes, reservation);
    }
    wake_first(budget);
    (void)pthread_mutex_unlock(&budget->lock);
    (void)pthread_cond_destroy(&waiter.wake);
    return status;
}

void pm_reservation_shrink(struct pm_reservation *reservation, const uint64_t *bytes) {
    struct pm_budget *budget = reservation->budget;
    if (budget == NULL) {
        return;
    }
    bool freed = false;
    (void)pthread_mutex_lock(&budget->lock);
    for (uint32_t pool = 0; pool < PM_POOLS_MAX; pool++) {
        if (reservation->bytes[pool] > bytes[pool]) {
            budget->reserved_bytes[pool] -= reservation->bytes[pool] - bytes[pool];
            reservation->bytes[pool] = bytes[pool];
            freed = true;
        }
    }
    if (freed) {
        wake_first(budget);
    }
    (void)pthread_mutex_unlock(&budget->lock);
}

void pm_reservation_split(struct pm_reservation *reservation, const uint64_t *bytes,
                          struct pm_reservation *other) {
    *other = (struct pm_reservation){.budget = reservation->budget};
    for (uint32_t pool = 0; reservation->budget != NULL && pool < PM_POOLS_MAX; pool++) {
        const uint64_t has = reservation->bytes[pool];
        other->bytes[pool] = bytes[pool] < has ? bytes[pool] : has;
        reservation->bytes[pool] = has - other->bytes[pool];
    }
}

void pm_reservation_release(struct pm_reservation *reservation) {
    static const uint64_t nothing[PM_POOLS_MAX];
    pm_reservation_shrink(reservation, nothing);
    reservation->budget = NULL;
}
