/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Reservations: all or nothing, never more than there is, in the order of arrival, nobody left
 * asleep. */
#include "base/budget.h"
#include "base/clock.h"
#include "base/limits.h"

#include "support/seeded_random.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)
/* Whom nobody wakes looks again after 100 ms. On a busy machine single rounds take as long for
 * other reasons, but not all of them. */
#define QUICK_MS 60
/* What takes longer on a busy machine has not ended by itself. */
#define BUSY_MS 20000

static struct seeded_random source;

struct pools {
    uint64_t bytes[PM_POOLS_MAX];
};

static struct pools host(uint64_t bytes) {
    struct pools pools = {{0}};
    pools.bytes[PM_POOL_HOST] = bytes;
    return pools;
}

static void open_budget(struct pm_budget *budget, uint64_t host_bytes) {
    struct pools total;
    for (uint32_t i = 0; i < PM_POOLS_MAX; i++) {
        total.bytes[i] = PM_BUDGET_UNLIMITED;
    }
    total.bytes[PM_POOL_HOST] = host_bytes;
    assert_int_equal(pm_budget_init(budget, total.bytes, NULL), PM_OK);
}

static void close_budget(struct pm_budget *budget) {
    for (uint32_t i = 0; i < PM_POOLS_MAX; i++) {
        assert_int_equal(budget->reserved_bytes[i], 0);
    }
    assert_null(budget->first);
    assert_null(budget->last);
    pm_budget_close(budget);
}

static void sleep_ms(uint64_t ms) {
    const struct timespec time = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000 * MS)};
    (void)nanosleep(&time, NULL);
}

/* ---- Alone ------------------------------------------------------------------------------------
 */

static void all_or_nothing(void **state) {
    (void)state;
    struct pm_budget budget;
    struct pools total = {{0}};
    total.bytes[PM_POOL_HOST] = 100;
    total.bytes[PM_POOL_VRAM_0] = 50;
    assert_int_equal(pm_budget_init(&budget, total.bytes, NULL), PM_OK);
    struct pm_reservation one = {0}, two = {0};
    struct pools want = {{0}};
    want.bytes[PM_POOL_HOST] = 60;
    want.bytes[PM_POOL_VRAM_0] = 30;
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_budget_try(&budget, want.bytes, &one, &error), PM_OK);
    want.bytes[PM_POOL_HOST] = 40; /* fits, but the device has 20 left */
    assert_int_equal(pm_budget_try(&budget, want.bytes, &two, &error), PM_BUDGET_BUSY);
    assert_non_null(strstr(error.message, "vram:0"));
    assert_int_equal(error.need, 30);
    assert_int_equal(error.have, 20);
    assert_null(two.budget);
    assert_int_equal(budget.reserved_bytes[PM_POOL_HOST], 60);
    want.bytes[PM_POOL_VRAM_0] = 20;
    assert_int_equal(pm_budget_try(&budget, want.bytes, &two, &error), PM_OK);
    assert_int_equal(budget.reserved_bytes[PM_POOL_HOST], 100);
    pm_reservation_release(&one);
    pm_reservation_release(&one);
    pm_reservation_release(&two);
    close_budget(&budget);
}

static void what_can_never_fit_is_refused_at_once(void **state) {
    (void)state;
    struct pm_budget budget;
    open_budget(&budget, 100);
    struct pm_reservation held = {0}, none = {0};
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_budget_try(&budget, host(100).bytes, &held, &error), PM_OK);
    assert_int_equal(pm_budget_try(&budget, host(101).bytes, &none, &error), PM_OVER_BUDGET);
    assert_non_null(strstr(error.message, "host"));
    assert_non_null(strstr(error.message, "101"));
    assert_non_null(strstr(error.message, "100"));
    assert_int_equal(error.need, 101);
    assert_int_equal(error.have, 100);
    /* Without a control it would wait for ever. */
    assert_int_equal(pm_budget_wait(&budget, host(UINT64_MAX).bytes, NULL, &none, &error),
                     PM_OVER_BUDGET);
    assert_null(none.budget);
    pm_reservation_release(&held);
    close_budget(&budget);
}

static void a_reservation_only_shrinks(void **state) {
    (void)state;
    struct pm_budget budget;
    open_budget(&budget, 100);
    struct pm_reservation one = {0};
    assert_int_equal(pm_budget_try(&budget, host(80).bytes, &one, NULL), PM_OK);
    pm_reservation_shrink(&one, host(90).bytes);
    assert_int_equal(budget.reserved_bytes[PM_POOL_HOST], 80);
    pm_reservation_shrink(&one, host(30).bytes);
    assert_int_equal(budget.reserved_bytes[PM_POOL_HOST], 30);
    assert_int_equal(one.bytes[PM_POOL_HOST], 30);
    pm_reservation_shrink(&one, host(50).bytes);
    assert_int_equal(budget.reserved_bytes[PM_POOL_HOST], 30);
    pm_reservation_release(&one);
    assert_int_equal(budget.reserved_bytes[PM_POOL_HOST], 0);
    struct pm_reservation nothing = {0};
    pm_reservation_shrink(&nothing, host(1).bytes);
    pm_reservation_release(&nothing);
    close_budget(&budget);
}

static void unlimited_pools_do_not_wrap(void **state) {
    (void)state;
    struct pm_budget budget;
    open_budget(&budget, PM_BUDGET_UNLIMITED);
    struct pm_reservation one = {0}, two = {0};
    assert_int_equal(pm_budget_try(&budget, host(UINT64_MAX - 5).bytes, &one, NULL), PM_OK);
    assert_int_equal(pm_budget_try(&budget, host(6).bytes, &two, NULL), PM_BUDGET_BUSY);
    assert_int_equal(pm_budget_try(&budget, host(5).bytes, &two, NULL), PM_OK);
    pm_reservation_release(&one);
    pm_reservation_release(&two);
    close_budget(&budget);
}

static void a_deadline_or_a_cancel_ends_the_wait(void **state) {
    (void)state;
    struct pm_budget budget;
    open_budget(&budget, 100);
    struct pm_reservation held = {0}, none = {0};
    assert_int_equal(pm_budget_try(&budget, host(100).bytes, &held, NULL), PM_OK);
    const uint64_t begin_ns = pm_clock_now_ns();
    pm_control control = {.struct_bytes = sizeof control, .deadline_ns = begin_ns + 50 * MS};
    assert_int_equal(pm_budget_wait(&budget, host(1).bytes, &control, &none, NULL), PM_DEADLINE);
    assert_in_range((pm_clock_now_ns() - begin_ns) / MS, 50, BUSY_MS);
    const volatile int yes = 1;
    control = (pm_control){.struct_bytes = sizeof control, .cancel = &yes};
    assert_int_equal(pm_budget_wait(&budget, host(1).bytes, &control, &none, NULL), PM_CANCELLED);
    assert_null(none.budget);
    assert_null(budget.first);
    pm_reservation_release(&held);
    close_budget(&budget);
}

/* ---- With others ------------------------------------------------------------------------------
 */

struct visitor {
    struct pm_budget *budget;
    uint64_t bytes;
    volatile int cancel;
    uint64_t deadline_ns;
    pthread_t thread;
    /* Written by the visitor's thread, atomically. */
    int status; /* -1: still waiting */
    uint32_t turn;
    struct pm_reservation reservation;
};

static uint32_t n_turns; /* atomic: how many have been served */

static void *visit(void *argument) {
    struct visitor *visitor = argument;
    const pm_control control = {.struct_bytes = sizeof control,
                                .cancel = &visitor->cancel,
                                .deadline_ns = visitor->deadline_ns};
    const pm_status status = pm_budget_wait(visitor->budget, host(visitor->bytes).bytes, &control,
                                            &visitor->reservation, NULL);
    if (status == PM_OK) {
        visitor->turn = __atomic_add_fetch(&n_turns, 1, __ATOMIC_SEQ_CST);
    }
    __atomic_store_n(&visitor->status, (int)status, __ATOMIC_SEQ_CST);
    return NULL;
}

static size_t queue_length(struct pm_budget *budget) {
    size_t n = 0;
    (void)pthread_mutex_lock(&budget->lock);
    /* The waiters are opaque: only that the queue is empty, or that first and last differ, shows.
     */
    n = budget->first == NULL ? 0 : budget->first == budget->last ? 1 : 2;
    (void)pthread_mutex_unlock(&budget->lock);
    return n;
}

static void *last_of(struct pm_budget *budget) {
    (void)pthread_mutex_lock(&budget->lock);
    void *last = budget->last;
    (void)pthread_mutex_unlock(&budget->lock);
    return last;
}

/* Starts a visitor and waits until it stands at the end of the queue. */
static void arrive(struct visitor *visitor, struct pm_budget *budget, uint64_t bytes) {
    const void *before = last_of(budget);
    *visitor = (struct visitor){.budget = budget, .bytes = bytes, .status = -1};
    assert_int_equal(pthread_create(&visitor->thread, NULL, visit, visitor), 0);
    while (last_of(budget) == before) {
        sleep_ms(1);
    }
}

static int status_of(struct visitor *visitor) {
    return __atomic_load_n(&visitor->status, __ATOMIC_SEQ_CST);
}

static void leave(struct visitor *visitor) {
    assert_int_equal(pthread_join(visitor->thread, NULL), 0);
}

static void waiters_are_served_in_order(void **state) {
    (void)state;
    struct pm_budget budget;
    open_budget(&budget, 100);
    struct pm_reservation held = {0}, none = {0};
    assert_int_equal(pm_budget_try(&budget, host(100).bytes, &held, NULL), PM_OK);
    n_turns = 0;
    struct visitor large, small, third;
    arrive(&large, &budget, 90);
    arrive(&small, &budget, 10);
    arrive(&third, &budget, 20);
    /* 20 bytes are free: enough for `small` and `third`, but `large` came first. */
    pm_reservation_shrink(&held, host(80).bytes);
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_budget_try(&budget, host(1).bytes, &none, &error), PM_BUDGET_BUSY);
    assert_non_null(strstr(error.message, "waiting"));
    sleep_ms(3 * PM_CANCEL_LATENCY_MS / 10);
    assert_int_equal(status_of(&large), -1);
    assert_int_equal(status_of(&small), -1);
    assert_int_equal(status_of(&third), -1);
    /* Now the first two fit; the third does not until one of them leaves. */
    pm_reservation_release(&held);
    leave(&large);
    leave(&small);
    assert_int_equal(status_of(&third), -1);
    pm_reservation_release(&large.reservation);
    leave(&third);
    assert_int_equal(small.status, PM_OK);
    assert_int_equal(third.turn, 3);
    pm_reservation_release(&small.reservation);
    pm_reservation_release(&third.reservation);
    close_budget(&budget);
}

static void a_waiter_wakes_at_once(void **state) {
    (void)state;
    struct pm_budget budget;
    open_budget(&budget, 100);
    uint32_t n_quick = 0;
    for (int i = 0; i < 100; i++) {
        struct pm_reservation held = {0};
        struct visitor visitor;
        assert_int_equal(pm_budget_try(&budget, host(100).bytes, &held, NULL), PM_OK);
        const uint64_t begin_ns = pm_clock_now_ns();
        arrive(&visitor, &budget, 100);
        pm_reservation_release(&held);
        leave(&visitor);
        n_quick += pm_clock_now_ns() - begin_ns < QUICK_MS * MS;
        assert_int_equal(visitor.status, PM_OK);
        pm_reservation_release(&visitor.reservation);
    }
    assert_true(n_quick >= 20);
    close_budget(&budget);
}

static void whoever_was_served_wakes_the_next(void **state) {
    (void)state;
    struct pm_budget budget;
    open_budget(&budget, 100);
    /* The release wakes the first alone. */
    uint32_t n_quick = 0;
    for (int round = 0; round < 30; round++) {
        struct pm_reservation held = {0};
        struct visitor visitors[4];
        assert_int_equal(pm_budget_try(&budget, host(100).bytes, &held, NULL), PM_OK);
        const uint64_t begin_ns = pm_clock_now_ns();
        for (size_t i = 0; i < 4; i++) {
            arrive(&visitors[i], &budget, 1);
        }
        pm_reservation_release(&held);
        for (size_t i = 0; i < 4; i++) {
            leave(&visitors[i]);
            assert_int_equal(visitors[i].status, PM_OK);
        }
        n_quick += pm_clock_now_ns() - begin_ns < QUICK_MS * MS;
        for (size_t i = 0; i < 4; i++) {
            pm_reservation_release(&visitors[i].reservation);
        }
    }
    assert_true(n_quick >= 3);
    close_budget(&budget);
}

static void a_cancelled_first_wakes_the_next(void **state) {
    (void)state;
    struct pm_budget budget;
    open_budget(&budget, 100);
    struct pm_reservation held = {0};
    assert_int_equal(pm_budget_try(&budget, host(50).bytes, &held, NULL), PM_OK);
    struct visitor first, second, middle, last;
    arrive(&first, &budget, 80);
    arrive(&second, &budget, 30);
    arrive(&middle, &budget, 90);
    arrive(&last, &budget, 20);
    assert_int_equal(queue_length(&budget), 2);
    const uint64_t begin_ns = pm_clock_now_ns();
    __atomic_store_n(&first.cancel, 1, __ATOMIC_SEQ_CST);
    leave(&first);
    assert_int_equal(first.status, PM_CANCELLED);
    leave(&second); /* 30 of 50 free bytes, as soon as nobody stands before it */
    assert_int_equal(second.status, PM_OK);
    assert_true(pm_clock_now_ns() - begin_ns < BUSY_MS * MS);
    assert_int_equal(status_of(&middle), -1);
    /* From the middle of the queue, and then from its end. */
    __atomic_store_n(&middle.cancel, 1, __ATOMIC_SEQ_CST);
    leave(&middle);
    leave(&last);
    assert_int_equal(last.status, PM_OK);
    assert_int_equal(queue_length(&budget), 0);
    pm_reservation_release(&held);
    pm_reservation_release(&second.reservation);
    pm_reservation_release(&last.reservation);
    close_budget(&budget);
}

static void the_last_of_the_queue_may_leave(void **state) {
    (void)state;
    struct pm_budget budget;
    open_budget(&budget, 100);
    struct pm_reservation held = {0};
    assert_int_equal(pm_budget_try(&budget, host(100).bytes, &held, NULL), PM_OK);
    struct visitor first, gone, after;
    arrive(&first, &budget, 10);
    arrive(&gone, &budget, 10);
    __atomic_store_n(&gone.cancel, 1, __ATOMIC_SEQ_CST);
    leave(&gone);
    arrive(&after, &budget, 10); /* the queue must still know its end */
    pm_reservation_release(&held);
    leave(&first);
    leave(&after);
    assert_int_equal(after.status, PM_OK);
    pm_reservation_release(&first.reservation);
    pm_reservation_release(&after.reservation);
    close_budget(&budget);
}

/* ---- At random --------------------------------------------------------------------------------
 */

#define N_THREADS 8
#define N_OPERATIONS_EACH 1250
#define N_POOLS 3

struct crowd {
    struct pm_budget budget;
    /* What threads hold as they count it themselves, atomic. */
    int64_t held_bytes[N_POOLS];
    uint64_t n_exceeded, n_served, n_busy, n_stopped;
};

struct member {
    struct crowd *crowd;
    struct seeded_random random;
    pthread_t thread;
};

static const uint64_t crowd_total_bytes[N_POOLS] = {1000, 500, 64};

static void count_held(struct crowd *crowd, const uint64_t *bytes, int64_t sign) {
    for (uint32_t i = 0; i < N_POOLS; i++) {
        const int64_t now =
            __atomic_add_fetch(&crowd->held_bytes[i], sign * (int64_t)bytes[i], __ATOMIC_SEQ_CST);
        if (now > (int64_t)crowd_total_bytes[i]) {
            __atomic_add_fetch(&crowd->n_exceeded, 1, __ATOMIC_SEQ_CST);
        }
    }
}

/* Gives back in a few steps. What is given back is uncounted first, so that the count never says
 * more than is reserved. */
static void shrink_to_nothing(struct member *member, struct pm_reservation *reservation) {
    while (reservation->budget != NULL) {
        uint64_t keep[PM_POOLS_MAX] = {0}, less[N_POOLS];
        const bool all = seeded_random_below(&member->random, 3) == 0;
        for (uint32_t i = 0; i < N_POOLS; i++) {
            keep[i] = all ? 0 : seeded_random_below(&member->random, reservation->bytes[i] + 1);
            less[i] = reservation->bytes[i] - keep[i];
        }
        count_held(member->crowd, less, -1);
        if (all) {
            pm_reservation_release(reservation);
        } else {
            pm_reservation_shrink(reservation, keep);
        }
    }
}

static void *live_at_random(void *argument) {
    struct member *member = argument;
    struct crowd *crowd = member->crowd;
    for (int i = 0; i < N_OPERATIONS_EACH; i++) {
        struct pm_reservation reservation = {0};
        uint64_t bytes[PM_POOLS_MAX] = {0};
        for (uint32_t k = 0; k < N_POOLS; k++) {
            const uint64_t most = crowd_total_bytes[k];
            bytes[k] = seeded_random_below(&member->random, 4) == 0
                           ? most
                           : seeded_random_below(&member->random, most / 2 + 1);
        }
        const bool waits = seeded_random_below(&member->random, 4) != 0;
        const pm_control control = {.struct_bytes = sizeof control,
                                    .deadline_ns = seeded_random_below(&member->random, 50) == 0
                                                       ? pm_clock_now_ns() + 1
                                                       : 0};
        const pm_status status =
            waits ? pm_budget_wait(&crowd->budget, bytes, &control, &reservation, NULL)
                  : pm_budget_try(&crowd->budget, bytes, &reservation, NULL);
        if (status == PM_OK) {
            count_held(crowd, bytes, 1);
            shrink_to_nothing(member, &reservation);
        }
        __atomic_add_fetch(status == PM_OK            ? &crowd->n_served
                           : status == PM_BUDGET_BUSY ? &crowd->n_busy
                                                      : &crowd->n_stopped,
                           1, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

static void a_crowd_never_exceeds_the_total(void **state) {
    (void)state;
    static struct crowd crowd;
    static struct member members[N_THREADS];
    uint64_t total_bytes[PM_POOLS_MAX] = {0};
    memcpy(total_bytes, crowd_total_bytes, sizeof crowd_total_bytes);
    assert_int_equal(pm_budget_init(&crowd.budget, total_bytes, NULL), PM_OK);
    for (size_t i = 0; i < N_THREADS; i++) {
        members[i].crowd = &crowd;
        members[i].random.state = seeded_random_u64(&source);
        assert_int_equal(pthread_create(&members[i].thread, NULL, live_at_random, &members[i]), 0);
    }
    for (size_t i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(members[i].thread, NULL), 0);
    }
    assert_int_equal(crowd.n_exceeded, 0);
    assert_int_equal(crowd.n_served + crowd.n_busy + crowd.n_stopped,
                     N_THREADS * N_OPERATIONS_EACH);
    assert_true(crowd.n_served > N_THREADS * N_OPERATIONS_EACH / 2);
    close_budget(&crowd.budget);
}

int main(void) {
    source = seeded_random_from_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_or_nothing),
        cmocka_unit_test(what_can_never_fit_is_refused_at_once),
        cmocka_unit_test(a_reservation_only_shrinks),
        cmocka_unit_test(unlimited_pools_do_not_wrap),
        cmocka_unit_test(a_deadline_or_a_cancel_ends_the_wait),
        cmocka_unit_test(waiters_are_served_in_order),
        cmocka_unit_test(a_waiter_wakes_at_once),
        cmocka_unit_test(whoever_was_served_wakes_the_next),
        cmocka_unit_test(a_cancelled_first_wakes_the_next),
        cmocka_unit_test(the_last_of_the_queue_may_leave),
        cmocka_unit_test(a_crowd_never_exceeds_the_total),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
