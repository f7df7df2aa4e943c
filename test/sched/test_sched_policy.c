/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What the policy decides, case by case; tests of a report are named after its id. */
#include "sched/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define GIB (UINT64_C(1) << 30)
#define S UINT64_C(1000000000)
#define TASKS 2048
#define JOBS 512
#define KEYS 8

static struct pm_sched_key keys[KEYS];
static struct pm_sched_job jobs[JOBS];
static struct pm_sched_task tasks[TASKS];
static struct pm_sched sched;

static const struct pm_sched_curve plain = {
    .n_steps = 2,
    .device_ns = 2 * S,
    .steps = {{.bytes = {4 * GIB, 0, 10 * GIB}, .stage = PM_STAGE_PROVE, .in_lock = true},
              {.bytes = {1 * GIB, 0, 0}, .stage = PM_STAGE_VERIFY, .on_worker = true}}};
static const struct pm_sched_curve prepared = {
    .n_steps = 4,
    .steps = {{.bytes = {25 * GIB, 0, 0}, .stage = PM_STAGE_PREPARE},
              {.bytes = {16 * GIB, 0, 10 * GIB}, .stage = PM_STAGE_PROVE, .in_lock = true},
              {.bytes = {4 * GIB, 0, 0}, .stage = PM_STAGE_FINISH},
              {.bytes = {0, 0, 0}, .stage = PM_STAGE_VERIFY}}};

/* ---- A machine --------------------------------------------------------------------------------
 */

static void machine(uint64_t host_bytes, uint64_t vram_bytes, uint32_t n_devices,
                    uint32_t n_express) {
    uint64_t total_bytes[PM_POOLS_MAX];
    struct pm_sched_config config = pm_sched_config_default();
    for (uint32_t i = 0; i < PM_POOLS_MAX; i++) {
        total_bytes[i] = i == PM_POOL_HOST ? host_bytes : vram_bytes;
    }
    config.n_slots = 64;
    const struct pm_sched_storage storage = {keys, jobs, tasks, KEYS, JOBS, TASKS};
    assert_int_equal(pm_sched_init(&sched, &config, total_bytes, &storage, NULL), PM_OK);
    for (uint32_t d = 0; d < n_devices; d++) {
        uint32_t device;
        assert_int_equal(
            pm_sched_add_device(&sched, PM_POOL_VRAM_0 + d, 2, n_express, &device, NULL), PM_OK);
    }
}

static uint32_t add_key(uint64_t host_bytes, uint64_t device_bytes, uint64_t load_on_device_ns) {
    uint32_t key;
    const uint64_t bytes[PM_SCHED_KINDS] = {host_bytes, 0, device_bytes};
    const uint64_t load_ns[2] = {0, load_on_device_ns};
    assert_int_equal(pm_sched_add_key(&sched, bytes, load_ns, &key, NULL), PM_OK);
    return key;
}

static struct pm_sched_request of(uint32_t key, enum pm_priority priority,
                                  const struct pm_sched_curve *curve, uint32_t n_parts) {
    return (struct pm_sched_request){.priority = priority,
                                     .key = key,
                                     .n_parts = n_parts,
                                     .n_variants = 1,
                                     .variants = {{curve, (UINT32_C(1) << sched.n_devices) - 1}}};
}

static uint32_t submit(const struct pm_sched_request *request, uint64_t now_ns) {
    uint32_t job;
    bool known;
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_sched_submit(&sched, request, now_ns, &job, &known, &error), PM_OK);
    assert_false(known);
    assert_int_equal(pm_sched_record(&sched, job, now_ns, NULL), PM_OK);
    return job;
}

/* Decides and does until it waits; loads and evictions take no time. Returns the number of starts;
 * *last is the last of them. */
static uint32_t settle(uint64_t now_ns, struct pm_sched_decision *last) {
    uint32_t n_starts = 0;
    for (uint32_t n = 0; n < 10000; n++) {
        struct pm_sched_decision decision;
        pm_error error = PM_ERROR_INIT;
        pm_sched_decide(&sched, now_ns, &decision);
        if (decision.action == PM_SCHED_WAIT) {
            while (pm_sched_next_runnable(&sched) != PM_SCHED_NONE) {
            }
            assert_int_equal(pm_sched_check(&sched, &error), PM_OK);
            return n_starts;
        }
        assert_int_equal(pm_sched_apply(&sched, &decision, now_ns, &error), PM_OK);
        if (decision.action == PM_SCHED_EVICT) {
            assert_int_equal(pm_sched_key_evicted(&sched, decision.key, decision.device, NULL),
                             PM_OK);
        }
        if (decision.load_key) {
            assert_int_equal(
                pm_sched_key_loaded(&sched, decision.key, PM_SCHED_NONE, PM_OK, now_ns, NULL),
                PM_OK);
        }
        if (decision.load_on_device) {
            assert_int_equal(
                pm_sched_key_loaded(&sched, decision.key, decision.device, PM_OK, now_ns, NULL),
                PM_OK);
        }
        if (decision.action == PM_SCHED_START) {
            n_starts++;
            if (last != NULL) {
                *last = decision;
            }
        }
        assert_int_equal(pm_sched_check(&sched, &error), PM_OK);
    }
    fail();
    return 0;
}

/* Ends the running step of a task. */
static void step(uint32_t task, uint64_t now_ns) {
    assert_int_equal(pm_sched_step_done(&sched, task, now_ns, NULL), PM_OK);
    while (pm_sched_next_runnable(&sched) != PM_SCHED_NONE) {
    }
}

/* The only task of a job of one part. */
static uint32_t task_of(uint32_t job) {
    for (uint32_t i = 0; i < sched.n_tasks_end; i++) {
        if (tasks[i].used && tasks[i].job == job) {
            return i;
        }
    }
    fail();
    return 0;
}

static void finish(uint32_t job, uint64_t now_ns) {
    const uint32_t task = task_of(job);
    while (tasks[task].state != PM_JOB_DONE) {
        step(task, now_ns);
    }
}

static bool is_proving(uint32_t job) {
    return tasks[task_of(job)].state == PM_JOB_PROVING;
}

/* ---- Taking in --------------------------------------------------------------------------------
 */

/* C2: refused before any work, with both numbers; not parked for ever. */
static void c2_what_can_never_fit_is_refused_with_numbers(void **state) {
    (void)state;
    machine(20 * GIB, 24 * GIB, 1, 0);
    const uint32_t key = add_key(10 * GIB, 8 * GIB, 0);
    struct pm_sched_request request = of(key, PM_PRIORITY_NORMAL, &prepared, 1);
    uint32_t job;
    bool known;
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_sched_submit(&sched, &request, 0, &job, &known, &error), PM_OVER_BUDGET);
    assert_int_equal(error.need, 35 * GIB);
    assert_int_equal(error.have, 20 * GIB);
    assert_non_null(strstr(error.message, "host"));
    request = of(key, PM_PRIORITY_NORMAL, &plain, 1);
    assert_int_equal(pm_sched_submit(&sched, &request, 0, &job, &known, &error), PM_OK);
    machine(64 * GIB, 16 * GIB, 1, 0);
    request.key = add_key(10 * GIB, 8 * GIB, 0);
    assert_int_equal(pm_sched_submit(&sched, &request, 0, &job, &known, &error), PM_OVER_BUDGET);
    assert_int_equal(error.need, 18 * GIB);
    assert_int_equal(error.have, 16 * GIB);
    assert_non_null(strstr(error.message, "vram:0"));
}

/* F15, B5: the same id is the same job; with another witness it is refused. */
static void f15_a_request_id_is_computed_once(void **state) {
    (void)state;
    machine(64 * GIB, 24 * GIB, 1, 0);
    struct pm_sched_request request = of(add_key(0, 0, 0), PM_PRIORITY_NORMAL, &plain, 3);
    request.id.bytes[31] = 7;
    request.content.bytes[0] = 1;
    const uint32_t job = submit(&request, 5);
    uint32_t again = PM_SCHED_NONE;
    bool known = false;
    assert_int_equal(pm_sched_submit(&sched, &request, 9, &again, &known, NULL), PM_OK);
    assert_true(known);
    assert_int_equal(again, job);
    assert_int_equal(sched.n_sequence, 1);
    request.content.bytes[0] = 2;
    assert_int_equal(pm_sched_submit(&sched, &request, 9, &again, &known, NULL),
                     PM_INVALID_ARGUMENT);
    assert_int_equal(pm_sched_cancel(&sched, job, 10, NULL), PM_OK);
    request.content.bytes[0] = 1;
    assert_int_equal(pm_sched_submit(&sched, &request, 11, &again, &known, NULL), PM_OK);
    assert_true(known); /* its end is the answer until it is forgotten */
    assert_int_equal(pm_sched_job_state(&sched, again), PM_JOB_CANCELLED);
    assert_int_equal(pm_sched_forget(&sched, job, NULL), PM_OK);
    assert_int_equal(pm_sched_submit(&sched, &request, 12, &again, &known, NULL), PM_OK);
    assert_false(known);
}

static void malformed_requests(void **state) {
    (void)state;
    machine(64 * GIB, 24 * GIB, 1, 0);
    const struct pm_sched_request good = of(add_key(0, 0, 0), PM_PRIORITY_LOW, &plain, 1);
    static struct pm_sched_curve backwards, endless, early;
    backwards = endless = early = plain;
    backwards.steps[1].stage = PM_STAGE_PREPARE;
    endless.n_steps = PM_SCHED_STEPS_MAX + 1;
    early.n_steps = 1; /* nothing is verified */
    struct pm_sched_request bad[10];
    for (size_t i = 0; i < 10; i++) {
        bad[i] = good;
    }
    bad[0].priority = (enum pm_priority)4;
    bad[1].key = 1;
    bad[2].key = KEYS;
    bad[3].n_parts = 0;
    bad[4].n_variants = 0;
    bad[5].n_variants = PM_SCHED_VARIANTS_MAX + 1;
    bad[6].variants[0].device_mask = 2;
    bad[7].variants[0].curve = &backwards;
    bad[8].variants[0].curve = &endless;
    bad[9].variants[0].curve = &early;
    for (size_t i = 0; i < 10; i++) {
        uint32_t job;
        bool known;
        assert_int_equal(pm_sched_submit(&sched, &bad[i], 0, &job, &known, NULL),
                         PM_INVALID_ARGUMENT);
    }
    assert_int_equal(sched.n_tasks_end, 0);
}

static void a_full_queue_says_so(void **state) {
    (void)state;
    machine(64 * GIB, 24 * GIB, 1, 0);
    struct pm_sched_request request = of(add_key(0, 0, 0), PM_PRIORITY_LOW, &plain, TASKS - 1);
    uint32_t job;
    bool known;
    pm_error error = PM_ERROR_INIT;
    (void)submit(&request, 0);
    request.n_parts = 2;
    assert_int_equal(pm_sched_submit(&sched, &request, 0, &job, &known, &error), PM_BUDGET_BUSY);
    assert_non_null(strstr(error.message, "room for 1"));
    request.n_parts = TASKS + 1;
    assert_int_equal(pm_sched_submit(&sched, &request, 0, &job, &known, &error), PM_OVER_BUDGET);
}

/* ---- Order ------------------------------------------------------------------------------------
 */

static void the_highest_then_the_earliest_deadline_then_the_first(void **state) {
    (void)state;
    machine(64 * GIB, 14 * GIB, 1, 0); /* one proof at a time */
    const uint32_t key = add_key(0, 0, 0);
    struct pm_sched_request late = of(key, PM_PRIORITY_NORMAL, &plain, 1), soon = late;
    late.deadline_ns = 1000 * S;
    soon.deadline_ns = 900 * S;
    const struct pm_sched_request low = of(key, PM_PRIORITY_LOW, &plain, 1);
    const struct pm_sched_request high = of(key, PM_PRIORITY_HIGH, &plain, 1);
    const struct pm_sched_request critical = of(key, PM_PRIORITY_CRITICAL, &plain, 1);
    const struct pm_sched_request normal = of(key, PM_PRIORITY_NORMAL, &plain, 1);
    const uint32_t running = submit(&low, 0);
    assert_int_equal(settle(0, NULL), 1);
    const uint32_t arrived[] = {submit(&low, 1),  submit(&normal, 2),   submit(&late, 3),
                                submit(&soon, 4), submit(&critical, 5), submit(&high, 6)};
    const uint32_t expected[] = {4, 5, 3, 2, 1, 0};
    finish(running, S);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(settle((i + 1) * S, NULL), 1);
        assert_true(is_proving(arrived[expected[i]]));
        finish(arrived[expected[i]], (i + 1) * S);
    }
}

/* A large one sets memory aside: small ones that come later do not overtake it for ever. */
static void nothing_overtakes_what_does_not_fit_yet(void **state) {
    (void)state;
    static const struct pm_sched_curve large = {
        .n_steps = 2,
        .steps = {{.bytes = {30 * GIB, 0, GIB}, .stage = PM_STAGE_PROVE, .in_lock = true},
                  {.bytes = {GIB, 0, 0}, .stage = PM_STAGE_VERIFY, .on_worker = true}}};
    machine(32 * GIB, 24 * GIB, 2, 0);
    const uint32_t key = add_key(0, 0, 0);
    const struct pm_sched_request small = of(key, PM_PRIORITY_NORMAL, &plain, 1);
    const struct pm_sched_request big = of(key, PM_PRIORITY_NORMAL, &large, 1);
    const uint32_t first = submit(&small, 0);
    assert_int_equal(settle(0, NULL), 1);
    const uint32_t waits = submit(&big, 1);
    const uint32_t after = submit(&small, 2);
    assert_int_equal(settle(2, NULL), 0);
    struct pm_sched_why why;
    pm_sched_why(&sched, task_of(waits), 2, &why); /* F14 */
    assert_int_equal(why.reason, PM_REASON_BYTES);
    assert_int_equal(why.need_bytes, 30 * GIB);
    assert_int_equal(why.have_bytes, 28 * GIB);
    pm_sched_why(&sched, task_of(after), 2, &why);
    assert_int_equal(why.reason, PM_REASON_TURN);
    finish(first, 3);
    assert_int_equal(settle(3, NULL), 1);
    assert_true(is_proving(waits));
    step(task_of(waits), 4); /* 30 GiB become 1 with its step */
    assert_int_equal(settle(4, NULL), 1);
    assert_true(is_proving(after));
}

/* F2: under a stream of HIGH, LOW has one start in five once it has aged. */
static void f2_low_progresses_among_high(void **state) {
    (void)state;
    machine(64 * GIB, 14 * GIB, 1, 0);
    const uint32_t key = add_key(0, 0, 0);
    const struct pm_sched_request low = of(key, PM_PRIORITY_LOW, &plain, 1);
    const struct pm_sched_request high = of(key, PM_PRIORITY_HIGH, &plain, 1);
    uint32_t n_low = 0, n = 0, n_high_in_a_row = 0;
    for (uint32_t i = 0; i < 20; i++) {
        (void)submit(&low, 0);
    }
    for (uint64_t now_ns = 61 * S; n < 100; now_ns += S, n++) {
        (void)submit(&high, now_ns);
        struct pm_sched_decision last;
        assert_int_equal(settle(now_ns, &last), 1);
        const uint32_t job = tasks[last.task].job;
        const bool is_low = jobs[job].request.priority == PM_PRIORITY_LOW;
        n_low += is_low;
        n_high_in_a_row = is_low ? 0 : n_high_in_a_row + 1;
        assert_true(n_high_in_a_row <= sched.config.age_every);
        finish(job, now_ns);
        assert_int_equal(pm_sched_forget(&sched, job, NULL), PM_OK);
    }
    assert_int_equal(n_low, 100 / (sched.config.age_every + 1));
}

/* D10: however many LOW jobs wait, and however old they are, HIGH waits for at most the proofs that
 * are on the device and one aged one; with an express worker it has a worker at once. */
static void d10_high_waits_for_what_runs_alone(void **state) {
    (void)state;
    for (uint32_t n_express = 0; n_express < 2; n_express++) {
        machine(256 * GIB, 64 * GIB, 1, n_express);
        const uint32_t key = add_key(0, 0, 0);
        const struct pm_sched_request low = of(key, PM_PRIORITY_LOW, &plain, 1);
        const struct pm_sched_request high = of(key, PM_PRIORITY_HIGH, &plain, 1);
        for (uint32_t i = 0; i < 200; i++) {
            (void)submit(&low, 0);
        }
        struct pm_sched_decision last;
        uint64_t now_ns = 1000 * S; /* all of them have aged */
        assert_int_equal(settle(now_ns, &last), 2);
        const uint32_t job = submit(&high, now_ns);
        uint32_t n_before = 0;
        while (settle(now_ns, &last), !is_proving(job)) {
            finish(tasks[sched.devices[0].workers[n_before++ % 2]].job, now_ns += S);
        }
        assert_true(n_express == 0 ? n_before <= 2 : n_before == 0);
        assert_int_equal(last.worker == 2, n_express);
    }
}

/* ---- Keys -------------------------------------------------------------------------------------
 */

/* C9: two keys that take 60 % of the device's memory each take turns; who wants the one that is at
 * hand goes first, but not for ever. */
static void c9_two_keys_that_do_not_fit_together(void **state) {
    (void)state;
    machine(64 * GIB, 40 * GIB, 1, 0);
    const uint32_t one = add_key(GIB, 24 * GIB, 30 * S), two = add_key(GIB, 24 * GIB, 30 * S);
    const struct pm_sched_request of_one = of(one, PM_PRIORITY_NORMAL, &plain, 1);
    const struct pm_sched_request of_two = of(two, PM_PRIORITY_NORMAL, &plain, 1);
    uint32_t wanted[40];
    for (uint32_t i = 0; i < 40; i++) {
        wanted[i] = submit(i % 2 == 0 ? &of_one : &of_two, i);
    }
    uint32_t n_done = 0, n_changes = 0, before = PM_SCHED_NONE;
    uint64_t now_ns = 100;
    while (n_done < 40) {
        struct pm_sched_decision last;
        assert_true(settle(now_ns, &last) >= 1);
        const uint32_t job = tasks[last.task].job;
        n_changes += jobs[job].request.key != before;
        before = jobs[job].request.key;
        finish(job, ++now_ns);
        n_done++;
    }
    for (uint32_t i = 0; i < 40; i++) {
        assert_int_equal(pm_sched_job_state(&sched, wanted[i]), PM_JOB_DONE);
    }
    assert_true(n_changes >= 2 && n_changes <= 8); /* without grouping: 40 */
    assert_int_equal(sched.counters.n_loaded, n_changes + 2);
    assert_true(sched.counters.n_evicted > 0);
}

/* D3: the second proof of a key loads nothing. */
static void d3_a_key_stays(void **state) {
    (void)state;
    machine(64 * GIB, 40 * GIB, 1, 0);
    const struct pm_sched_request request =
        of(add_key(8 * GIB, 8 * GIB, S), PM_PRIORITY_NORMAL, &plain, 1);
    const uint32_t first = submit(&request, 0);
    assert_int_equal(settle(0, NULL), 1);
    finish(first, 1);
    assert_int_equal(sched.counters.n_loaded, 2);
    const uint32_t second = submit(&request, 2);
    struct pm_sched_decision last;
    assert_int_equal(settle(2, &last), 1);
    assert_false(last.load_key);
    assert_false(last.load_on_device);
    finish(second, 3);
    assert_int_equal(sched.counters.n_loaded, 2);
    /* By hand: off the device first. */
    assert_int_equal(pm_sched_evict(&sched, request.key, NULL), PM_BUDGET_BUSY);
}

static void keys_in_use_stay_and_the_oldest_leaves(void **state) {
    (void)state;
    machine(20 * GIB, 40 * GIB, 1, 0);
    uint32_t key[3];
    for (uint32_t k = 0; k < 3; k++) {
        key[k] = add_key(6 * GIB, 0, 0);
    }
    for (uint32_t k = 0; k < 2; k++) { /* two fit beside a proof */
        const struct pm_sched_request request = of(key[k], PM_PRIORITY_NORMAL, &plain, 1);
        const uint32_t job = submit(&request, 10 * k);
        assert_int_equal(settle(10 * k, NULL), 1);
        finish(job, 10 * k + 5);
    }
    const struct pm_sched_request again = of(key[0], PM_PRIORITY_NORMAL, &plain, 1);
    const uint32_t uses = submit(&again, 30);
    assert_int_equal(settle(30, NULL), 1);
    const struct pm_sched_request third = of(key[2], PM_PRIORITY_NORMAL, &plain, 1);
    (void)submit(&third, 31);
    struct pm_sched_decision decision;
    pm_sched_decide(&sched, 31, &decision);
    assert_int_equal(decision.action, PM_SCHED_EVICT); /* the one that nobody uses */
    assert_int_equal(decision.key, key[1]);
    assert_int_equal(settle(31, NULL), 1);
    assert_int_equal(keys[key[0]].process.residency, PM_RESIDENT);
    assert_int_equal(keys[key[1]].process.residency, PM_COLD);
    finish(uses, 32);
}

static void idle_keys_stay_for_a_while(void **state) {
    (void)state;
    machine(12 * GIB, 40 * GIB, 1, 0);
    sched.config.evict_idle_ns = 300 * S;
    sched.config.age_ns = 1000 * S;
    const struct pm_sched_request one = of(add_key(6 * GIB, 0, 0), PM_PRIORITY_NORMAL, &plain, 1);
    const struct pm_sched_request two = of(add_key(6 * GIB, 0, 0), PM_PRIORITY_NORMAL, &plain, 1);
    const uint32_t first = submit(&one, 0);
    assert_int_equal(settle(0, NULL), 1);
    finish(first, 10 * S);
    (void)submit(&two, 11 * S);
    struct pm_sched_decision decision;
    pm_sched_decide(&sched, 11 * S, &decision);
    assert_int_equal(decision.action, PM_SCHED_WAIT);
    assert_int_equal(decision.until_ns, 310 * S);
    assert_int_equal(settle(310 * S, NULL), 1);
}

static void preload_and_evict(void **state) {
    (void)state;
    machine(12 * GIB, 40 * GIB, 1, 0);
    const uint32_t key = add_key(6 * GIB, 0, 0), huge = add_key(13 * GIB, 0, 0);
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_sched_preload(&sched, huge, &error), PM_OVER_BUDGET);
    assert_int_equal(error.need, 13 * GIB);
    assert_int_equal(pm_sched_evict(&sched, key, NULL), PM_BUDGET_BUSY);
    assert_int_equal(pm_sched_preload(&sched, key, NULL), PM_OK);
    assert_int_equal(settle(0, NULL), 0);
    assert_int_equal(keys[key].process.residency, PM_RESIDENT);
    assert_int_equal(sched.reserved_bytes[PM_POOL_HOST], 6 * GIB);
    assert_int_equal(pm_sched_evict(&sched, key, NULL), PM_OK);
    assert_int_equal(sched.reserved_bytes[PM_POOL_HOST], 6 * GIB);
    assert_int_equal(pm_sched_key_evicted(&sched, key, PM_SCHED_NONE, NULL), PM_OK);
    assert_int_equal(sched.reserved_bytes[PM_POOL_HOST], 0);
    assert_int_equal(pm_sched_remove_key(&sched, key, NULL), PM_OK);
}

/* B16: a job of a key that cannot be had fails; the next one of it is tried anew. */
static void b16_a_key_that_cannot_be_loaded(void **state) {
    (void)state;
    machine(64 * GIB, 40 * GIB, 1, 0);
    const struct pm_sched_request request = of(add_key(GIB, GIB, 0), PM_PRIORITY_NORMAL, &plain, 1);
    const uint32_t one = submit(&request, 0), two = submit(&request, 0);
    struct pm_sched_decision decision;
    for (uint32_t i = 0; i < 2; i++) {
        pm_sched_decide(&sched, 0, &decision);
        assert_int_equal(decision.action, PM_SCHED_START);
        assert_int_equal(decision.load_key, i == 0);
        assert_int_equal(pm_sched_apply(&sched, &decision, 0, NULL), PM_OK);
    }
    assert_int_equal(pm_sched_next_runnable(&sched), PM_SCHED_NONE);
    assert_int_equal(pm_sched_key_loaded(&sched, request.key, PM_SCHED_NONE, PM_TRUNCATED, 1, NULL),
                     PM_OK);
    assert_int_equal(pm_sched_job_state(&sched, one), PM_JOB_FAILED);
    assert_int_equal(jobs[two].why, PM_TRUNCATED); /* F6: no retry */
    assert_int_equal(sched.counters.n_retried, 0);
    assert_int_equal(sched.reserved_bytes[PM_POOL_HOST], 0);
    assert_int_equal(sched.reserved_bytes[PM_POOL_VRAM_0], 0);
    assert_int_equal(pm_sched_check(&sched, NULL), PM_OK);
    const uint32_t three = submit(&request, 2);
    assert_int_equal(settle(2, NULL), 1);
    finish(three, 3);
}

/* ---- Devices ----------------------------------------------------------------------------------
 */

/* D6: two jobs, two devices. */
static void d6_two_jobs_on_two_devices(void **state) {
    (void)state;
    machine(64 * GIB, 40 * GIB, 2, 0);
    const struct pm_sched_request request = of(add_key(GIB, 0, 0), PM_PRIORITY_NORMAL, &plain, 1);
    const uint32_t one = submit(&request, 0), two = submit(&request, 0);
    assert_int_equal(settle(0, NULL), 2);
    assert_int_not_equal(tasks[task_of(one)].device, tasks[task_of(two)].device);
}

/* The parts of a job spread over all workers of all devices, and come back in order. */
static void parts_spread_and_are_given_out_in_order(void **state) {
    (void)state;
    machine(256 * GIB, 40 * GIB, 4, 0);
    const struct pm_sched_request request = of(add_key(GIB, 0, 0), PM_PRIORITY_NORMAL, &plain, 8);
    const uint32_t job = submit(&request, 0);
    assert_int_equal(settle(0, NULL), 8);
    uint32_t n_on[4] = {0};
    for (uint32_t i = 0; i < 8; i++) {
        n_on[tasks[i].device]++;
    }
    assert_true(n_on[0] == 2 && n_on[1] == 2 && n_on[2] == 2 && n_on[3] == 2);
    const uint32_t order[] = {3, 1, 0, 7, 2, 4, 6, 5}, expected[] = {0, 0, 2, 2, 4, 5, 5, 8};
    for (uint32_t i = 0; i < 8; i++) {
        step(order[i], 1);
        step(order[i], 2);
        assert_int_equal(pm_sched_parts_in_order(&sched, job), expected[i]);
    }
    assert_int_equal(pm_sched_job_state(&sched, job), PM_JOB_DONE);
}

/* A job of a thousand parts gives way to its equals after `interleave` of them. */
static void large_jobs_give_way_to_their_equals(void **state) {
    (void)state;
    machine(64 * GIB, 14 * GIB, 1, 0);
    const uint32_t key = add_key(0, 0, 0);
    const struct pm_sched_request thousand = of(key, PM_PRIORITY_NORMAL, &plain, 1000);
    const struct pm_sched_request single = of(key, PM_PRIORITY_NORMAL, &plain, 1);
    (void)submit(&thousand, 0);
    const uint32_t other = submit(&single, 1);
    uint32_t n_before = 0;
    for (struct pm_sched_decision last; settle(2, &last), !is_proving(other); n_before++) {
        step(last.task, 2);
        step(last.task, 2);
        assert_true(n_before < 100);
    }
    assert_int_equal(n_before, sched.config.interleave);
}

/* A16, F5, F13: a device that gave a wrong proof is not asked again for it; after three in a row it
 * is asked for nothing; who has only it fails with a reason. */
static void f5_faults_go_elsewhere_then_end(void **state) {
    (void)state;
    machine(64 * GIB, 40 * GIB, 2, 0);
    const uint32_t key = add_key(GIB, 0, 0);
    struct pm_sched_request request = of(key, PM_PRIORITY_NORMAL, &plain, 1);
    const uint32_t job = submit(&request, 0);
    assert_int_equal(settle(0, NULL), 1);
    const uint32_t task = task_of(job), first = tasks[task].device;
    assert_int_equal(
        pm_sched_fault(&sched, task, pm_fault_of(PM_SELF_VERIFY), PM_SELF_VERIFY, 1, NULL), PM_OK);
    assert_int_equal(tasks[task].state, PM_JOB_QUEUED);
    struct pm_sched_decision decision;
    pm_sched_decide(&sched, 1, &decision);
    assert_int_equal(decision.action, PM_SCHED_WAIT);
    assert_int_equal(decision.until_ns, 1 + S);
    assert_int_equal(settle(1 + S, NULL), 1);
    assert_int_equal(tasks[task].device, 1 - first);
    assert_int_equal(pm_sched_fault(&sched, task, PM_FAULT_DEVICE, PM_DEVICE, 2 * S, NULL), PM_OK);
    assert_int_equal(settle(5 * S, NULL), 1); /* both have failed: either may try again */
    assert_int_equal(pm_sched_fault(&sched, task, PM_FAULT_TRANSIENT, PM_NO_MEMORY, 6 * S, NULL),
                     PM_OK);
    assert_int_equal(pm_sched_job_state(&sched, job), PM_JOB_FAILED);
    assert_int_equal(jobs[job].why, PM_NO_MEMORY);
    assert_int_equal(tasks[task].n_attempts, 3);
    assert_int_equal(tasks[task].attempts[0].status, PM_SELF_VERIFY);
    assert_int_equal(tasks[task].attempts[0].device, first);
    assert_int_equal(tasks[task].attempts[1].device, 1 - first);
}

static void a_lost_device_is_quarantined(void **state) {
    (void)state;
    machine(64 * GIB, 40 * GIB, 2, 0);
    const uint32_t key = add_key(GIB, 4 * GIB, 0);
    struct pm_sched_request anywhere = of(key, PM_PRIORITY_NORMAL, &plain, 1), there = anywhere;
    there.variants[0].device_mask = 1;
    const uint32_t bound = submit(&there, 0), free_one = submit(&anywhere, 0);
    assert_int_equal(settle(0, NULL), 2);
    const uint32_t waits = submit(&there, 1);
    assert_int_equal(
        pm_sched_fault(&sched, task_of(bound), PM_FAULT_DEVICE_LOST, PM_DEVICE, 2, NULL), PM_OK);
    assert_true(sched.devices[0].quarantined);
    assert_int_equal(pm_sched_job_state(&sched, bound), PM_JOB_FAILED);
    assert_int_equal(jobs[waits].why, PM_NO_DEVICE);
    uint32_t job;
    bool known;
    assert_int_equal(pm_sched_submit(&sched, &there, 3, &job, &known, NULL), PM_NO_DEVICE);
    finish(free_one, 4);
    assert_int_equal(pm_sched_restore(&sched, 0, 4, NULL), PM_OK);
    assert_int_equal(keys[key].devices[0].residency, PM_COLD);
    job = submit(&there, 5);
    assert_int_equal(settle(5, NULL), 1);
    assert_int_equal(tasks[task_of(job)].device, 0);
}

/* A16: whoever failed a task is avoided for it whatever the way: one that is preferred, on the card
 * that failed, is not taken while the CPU is there, and is when that is lost. */
static void a16_a_fault_counts_for_every_way(void **state) {
    (void)state;
    uint32_t cpu;
    machine(64 * GIB, 40 * GIB, 1, 0);
    assert_int_equal(pm_sched_add_device(&sched, PM_POOL_HOST, 1, 0, &cpu, NULL), PM_OK);
    struct pm_sched_request request = of(add_key(GIB, 0, 0), PM_PRIORITY_NORMAL, &plain, 1);
    static const struct pm_sched_curve on_cpu = {
        .n_steps = 2,
        .steps = {{.bytes = {2 * GIB, 0, 0}, .stage = PM_STAGE_PROVE},
                  {.bytes = {GIB, 0, 0}, .stage = PM_STAGE_VERIFY, .on_worker = true}}};
    request.variants[0].device_mask = 1;
    request.variants[1] = (struct pm_sched_variant){&on_cpu, UINT32_C(1) << cpu};
    request.n_variants = 2;
    const uint32_t job = submit(&request, 0), task = task_of(job);
    assert_int_equal(settle(0, NULL), 1);
    assert_int_equal(tasks[task].device, 0);
    assert_int_equal(pm_sched_fault(&sched, task, PM_FAULT_DEVICE, PM_DEVICE, 1, NULL), PM_OK);
    assert_int_equal(settle(5 * S, NULL), 1);
    assert_int_equal(tasks[task].device, cpu);
    assert_int_equal(pm_sched_fault(&sched, task, PM_FAULT_DEVICE_LOST, PM_DEVICE, 6 * S, NULL),
                     PM_OK);
    assert_int_equal(settle(20 * S, NULL), 1);
    assert_int_equal(tasks[task].device, 0);
    finish(job, 21 * S);
    assert_int_equal(pm_sched_job_state(&sched, job), PM_JOB_DONE);
}

/* F13: three witnesses that were wrong cost a device its work, until it turns out that they were. A
 * device that is lost stays so. */
static void f13_a_fault_can_be_taken_back(void **state) {
    (void)state;
    machine(64 * GIB, 40 * GIB, 2, 0);
    struct pm_sched_request request = of(add_key(GIB, 0, 0), PM_PRIORITY_NORMAL, &plain, 1);
    request.variants[0].device_mask = 3;
    for (uint32_t i = 0; i < 3; i++) {
        request.variants[0].device_mask = i < 2 ? 1 : 3;
        const uint32_t task = task_of(submit(&request, i * S));
        assert_int_equal(settle(i * S, NULL), 1);
        assert_int_equal(tasks[task].device, 0);
        assert_int_equal(pm_sched_fault(&sched, task, PM_FAULT_DEVICE, PM_SELF_VERIFY, i * S, NULL),
                         PM_OK);
        assert_int_equal(sched.devices[0].quarantined, i == 2);
        (void)pm_sched_cancel(&sched, tasks[task].job, i * S, NULL);
        (void)pm_sched_forget(&sched, tasks[task].job, NULL);
    }
    assert_int_equal(pm_sched_acquit(&sched, 0, 9 * S, NULL), PM_OK);
    assert_false(sched.devices[0].quarantined);
    assert_int_equal(sched.devices[0].n_faults, 2);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(pm_sched_acquit(&sched, 0, 9 * S, NULL), PM_OK);
    }
    assert_int_equal(sched.devices[0].n_faults, 0);
    assert_int_equal(pm_sched_quarantine(&sched, 0, 9 * S, NULL), PM_OK);
    assert_int_equal(pm_sched_acquit(&sched, 0, 9 * S, NULL), PM_OK);
    assert_true(sched.devices[0].quarantined);
    assert_int_equal(pm_sched_acquit(&sched, 2, 9 * S, NULL), PM_INVALID_ARGUMENT);
}

/* ---- Ends -------------------------------------------------------------------------------------
 */

/* F9: what runs is asked to stop and holds its bytes until it has. */
static void f9_cancel_frees_when_it_has_stopped(void **state) {
    (void)state;
    machine(64 * GIB, 40 * GIB, 1, 0);
    const struct pm_sched_request request = of(add_key(0, 0, 0), PM_PRIORITY_NORMAL, &plain, 5);
    const uint32_t job = submit(&request, 0);
    assert_int_equal(settle(0, NULL), 2);
    assert_int_equal(pm_sched_cancel(&sched, job, 1, NULL), PM_OK);
    assert_int_equal(pm_sched_forget(&sched, job, NULL), PM_BUDGET_BUSY);
    uint32_t n_stopping = 0;
    for (uint32_t i = 0; i < 5; i++) {
        n_stopping += tasks[i].stopping;
        assert_true(tasks[i].stopping || tasks[i].state == PM_JOB_CANCELLED);
    }
    assert_int_equal(n_stopping, 2);
    assert_int_equal(sched.reserved_bytes[PM_POOL_HOST], 8 * GIB);
    assert_int_equal(settle(1, NULL), 0);
    for (uint32_t i = 0; i < 5; i++) {
        if (tasks[i].stopping) {
            assert_int_equal(pm_sched_fault(&sched, i, PM_FAULT_PERMANENT, PM_CANCELLED, 2, NULL),
                             PM_OK);
        }
    }
    assert_int_equal(pm_sched_job_state(&sched, job), PM_JOB_CANCELLED);
    assert_int_equal(sched.reserved_bytes[PM_POOL_HOST], 0);
    assert_int_equal(pm_sched_cancel(&sched, job, 3, NULL), PM_OK);
    assert_int_equal(sched.counters.n_cancelled, 1);
    assert_int_equal(pm_sched_forget(&sched, job, NULL), PM_OK);
    assert_int_equal(sched.n_tasks_end, 0);
}

/* F15: a job whose deadline has passed costs no device time. */
static void f15_expired_before_it_began(void **state) {
    (void)state;
    machine(64 * GIB, 14 * GIB, 1, 0);
    const uint32_t key = add_key(0, 0, 0);
    struct pm_sched_request request = of(key, PM_PRIORITY_CRITICAL, &plain, 1);
    const uint32_t running = submit(&request, 0);
    assert_int_equal(settle(0, NULL), 1);
    request.deadline_ns = 10 * S;
    const uint32_t expires = submit(&request, 1);
    struct pm_sched_decision decision;
    pm_sched_decide(&sched, 2, &decision);
    assert_int_equal(decision.until_ns, 10 * S);
    assert_int_equal(settle(10 * S, NULL), 0);
    assert_int_equal(pm_sched_job_state(&sched, expires), PM_JOB_FAILED);
    assert_int_equal(jobs[expires].why, PM_DEADLINE);
    assert_int_equal(sched.counters.n_expired, 1);
    finish(running, 11 * S);
}

/* Whoever decides twice starts nothing twice. */
static void stale_decisions_are_refused(void **state) {
    (void)state;
    machine(64 * GIB, 40 * GIB, 1, 0);
    const struct pm_sched_request request = of(add_key(0, 0, 0), PM_PRIORITY_NORMAL, &plain, 1);
    const uint32_t job = submit(&request, 0);
    struct pm_sched_decision decision, odd;
    pm_sched_decide(&sched, 0, &decision);
    assert_int_equal(pm_sched_apply(&sched, &decision, 0, NULL), PM_OK);
    assert_int_equal(pm_sched_apply(&sched, &decision, 0, NULL), PM_INVALID_ARGUMENT);
    odd = decision;
    odd.task = 77;
    assert_int_equal(pm_sched_apply(&sched, &odd, 0, NULL), PM_INVALID_ARGUMENT);
    odd = decision;
    odd.device = 3;
    assert_int_equal(pm_sched_apply(&sched, &odd, 0, NULL), PM_INVALID_ARGUMENT);
    odd.action = PM_SCHED_LOAD;
    odd.key = KEYS;
    assert_int_equal(pm_sched_apply(&sched, &odd, 0, NULL), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_sched_step_done(&sched, task_of(job), 0, NULL), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_sched_fault(&sched, 99, PM_FAULT_TRANSIENT, PM_DEVICE, 0, NULL),
                     PM_INVALID_ARGUMENT);
    assert_int_equal(pm_sched_key_loaded(&sched, request.key, PM_SCHED_NONE, PM_OK, 0, NULL),
                     PM_OK);
    assert_int_equal(pm_sched_key_loaded(&sched, request.key, PM_SCHED_NONE, PM_OK, 0, NULL),
                     PM_INVALID_ARGUMENT);
    assert_int_equal(pm_sched_check(&sched, NULL), PM_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c2_what_can_never_fit_is_refused_with_numbers),
        cmocka_unit_test(f15_a_request_id_is_computed_once),
        cmocka_unit_test(malformed_requests),
        cmocka_unit_test(a_full_queue_says_so),
        cmocka_unit_test(the_highest_then_the_earliest_deadline_then_the_first),
        cmocka_unit_test(nothing_overtakes_what_does_not_fit_yet),
        cmocka_unit_test(f2_low_progresses_among_high),
        cmocka_unit_test(d10_high_waits_for_what_runs_alone),
        cmocka_unit_test(c9_two_keys_that_do_not_fit_together),
        cmocka_unit_test(d3_a_key_stays),
        cmocka_unit_test(keys_in_use_stay_and_the_oldest_leaves),
        cmocka_unit_test(idle_keys_stay_for_a_while),
        cmocka_unit_test(preload_and_evict),
        cmocka_unit_test(b16_a_key_that_cannot_be_loaded),
        cmocka_unit_test(d6_two_jobs_on_two_devices),
        cmocka_unit_test(parts_spread_and_are_given_out_in_order),
        cmocka_unit_test(large_jobs_give_way_to_their_equals),
        cmocka_unit_test(f5_faults_go_elsewhere_then_end),
        cmocka_unit_test(a_lost_device_is_quarantined),
        cmocka_unit_test(a16_a_fault_counts_for_every_way),
        cmocka_unit_test(f13_a_fault_can_be_taken_back),
        cmocka_unit_test(f9_cancel_frees_when_it_has_stopped),
        cmocka_unit_test(f15_expired_before_it_began),
        cmocka_unit_test(stale_decisions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
