/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Random machines under random loads, thousands of events each: what holds in every state of the
 * small machines of test_sched_model.c holds here after every event, and in the end every job has
 * ended and nothing is held.
 */
#include "sched/policy.h"

#include "support/seeded_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define TASKS 200
#define JOBS 60
#define KEYS 5
#define CURVES 6

static struct seeded_random source;

struct machine {
    struct pm_sched sched;
    struct pm_sched_key keys[KEYS];
    struct pm_sched_job jobs[JOBS];
    struct pm_sched_task tasks[TASKS];
    struct pm_sched_curve curves[CURVES];
    uint64_t now_ns;
    uint32_t n_submitted, n_ended;
    bool calm; /* nothing fails any more */
};

static uint64_t below(uint64_t n) {
    return seeded_random_below(&source, n);
}

/* ---- A machine --------------------------------------------------------------------------------
 */

static void random_curve(struct pm_sched_curve *curve) {
    const uint32_t n_prepare = (uint32_t)below(3), n_prove = 1 + (uint32_t)below(4);
    const uint32_t n_finish = (uint32_t)below(3);
    *curve = (struct pm_sched_curve){.n_steps = n_prepare + n_prove + n_finish + 1,
                                     .device_ns = below(5)};
    bool on_worker = true;
    for (uint32_t i = 0; i < curve->n_steps; i++) {
        struct pm_sched_step *step = &curve->steps[i];
        step->stage = i < n_prepare                        ? PM_STAGE_PREPARE
                      : i < n_prepare + n_prove            ? PM_STAGE_PROVE
                      : i < n_prepare + n_prove + n_finish ? PM_STAGE_FINISH
                                                           : PM_STAGE_VERIFY;
        step->in_lock = step->stage == PM_STAGE_PROVE && below(3) != 0;
        on_worker = on_worker && below(3) != 0;
        step->on_worker = step->stage > PM_STAGE_PROVE && on_worker;
        if (step->stage == PM_STAGE_PROVE) {
            on_worker = true;
        }
        step->bytes[PM_KIND_HOST] = below(30);
        step->bytes[PM_KIND_PINNED] = below(10);
        step->bytes[PM_KIND_DEVICE] = step->stage == PM_STAGE_PREPARE ? 0 : below(30);
    }
    assert_int_equal(pm_sched_curve_check(curve, NULL), PM_OK);
}

static void random_machine(struct machine *machine) {
    uint64_t total_bytes[PM_POOLS_MAX];
    struct pm_sched_config config = pm_sched_config_default();
    memset(machine, 0, sizeof *machine);
    for (uint32_t i = 0; i < PM_POOLS_MAX; i++) {
        total_bytes[i] = 40 + below(100);
    }
    total_bytes[PM_POOL_PINNED] = below(2) == 0 ? UINT64_MAX : 20 + below(20);
    config.age_ns = below(200);
    config.age_every = 1 + (uint32_t)below(5);
    config.group_max = (uint32_t)below(5);
    config.interleave = 1 + (uint32_t)below(20);
    config.n_slots = (uint32_t)below(6);
    config.n_ahead_max = (uint32_t)below(4);
    config.n_attempts_max = 1 + (uint32_t)below(4);
    config.n_faults_max = (uint32_t)below(4);
    config.retry_ns = below(20);
    config.evict_idle_ns = below(3) == 0 ? below(50) : 0;
    const struct pm_sched_storage storage = {machine->keys, machine->jobs, machine->tasks,
                                             KEYS,          JOBS,          TASKS};
    assert_int_equal(pm_sched_init(&machine->sched, &config, total_bytes, &storage, NULL), PM_OK);
    const uint32_t n_devices = 1 + (uint32_t)below(4);
    for (uint32_t d = 0; d < n_devices; d++) {
        uint32_t device;
        assert_int_equal(pm_sched_add_device(&machine->sched, PM_POOL_VRAM_0 + d,
                                             1 + (uint32_t)below(2), (uint32_t)below(2), &device,
                                             NULL),
                         PM_OK);
    }
    for (uint32_t k = 0; k < KEYS; k++) {
        const uint64_t bytes[PM_SCHED_KINDS] = {below(20), below(5), below(20)};
        const uint64_t load_ns[2] = {below(9), below(9)};
        uint32_t key;
        assert_int_equal(pm_sched_add_key(&machine->sched, bytes, load_ns, &key, NULL), PM_OK);
    }
    for (uint32_t c = 0; c < CURVES; c++) {
        random_curve(&machine->curves[c]);
    }
}

/* ---- Events -----------------------------------------------------------------------------------
 */

static void settle(struct machine *machine) {
    struct pm_sched_decision decision;
    pm_error error = PM_ERROR_INIT;
    for (uint32_t n = 0;; n++) {
        assert_true(n < 10000);
        pm_sched_decide(&machine->sched, machine->now_ns, &decision);
        if (decision.action == PM_SCHED_WAIT) {
            break;
        }
        if (pm_sched_apply(&machine->sched, &decision, machine->now_ns, &error) != PM_OK ||
            pm_sched_check(&machine->sched, &error) != PM_OK) {
            fail_msg("%s", error.message);
        }
    }
    while (pm_sched_next_runnable(&machine->sched) != PM_SCHED_NONE) {
    }
    for (uint32_t j = 0; j < JOBS; j++) {
        const struct pm_sched_job *job = &machine->jobs[j];
        if (job->used && job->n_ended == job->request.n_parts) {
            const enum pm_job_state state = pm_sched_job_state(&machine->sched, j);
            assert_true(pm_job_is_final(state));
            assert_true((state == PM_JOB_DONE) ==
                        (job->n_done == job->request.n_parts && !job->failed && !job->cancelled));
            assert_int_equal(pm_sched_forget(&machine->sched, j, NULL), PM_OK);
            machine->n_ended++;
        }
    }
}

static void arrive(struct machine *machine) {
    const uint32_t all = (UINT32_C(1) << machine->sched.n_devices) - 1;
    struct pm_sched_request request = {.priority = (enum pm_priority)below(PM_PRIORITIES),
                                       .deadline_ns =
                                           below(4) == 0 ? machine->now_ns + below(400) : 0,
                                       .key = (uint32_t)below(KEYS),
                                       .n_parts = 1 + (uint32_t)below(6),
                                       .n_variants = 1 + (uint32_t)below(2)};
    for (uint32_t v = 0; v < request.n_variants; v++) {
        const uint32_t mask = 1 + (uint32_t)below(all);
        request.variants[v] = (struct pm_sched_variant){&machine->curves[below(CURVES)], mask};
    }
    uint32_t job;
    bool known;
    pm_error error = PM_ERROR_INIT;
    const pm_status status =
        pm_sched_submit(&machine->sched, &request, machine->now_ns, &job, &known, &error);
    if (status != PM_OK) {
        assert_true(status == PM_OVER_BUDGET || status == PM_BUDGET_BUSY ||
                    status == PM_NO_DEVICE || status == PM_UNSUPPORTED);
        assert_true(status != PM_OVER_BUDGET || error.need > error.have);
        return;
    }
    machine->n_submitted++;
    assert_int_equal(pm_sched_record(&machine->sched, job, machine->now_ns, NULL), PM_OK);
}

/* The end of one of the steps that run; false if none does. */
static bool end_a_step(struct machine *machine) {
    uint32_t running[TASKS], n = 0;
    for (uint32_t i = 0; i < machine->sched.n_tasks_end; i++) {
        if (machine->tasks[i].used && machine->tasks[i].running) {
            running[n++] = i;
        }
    }
    if (n == 0) {
        return false;
    }
    const uint32_t i = running[below(n)];
    if (!machine->calm && below(12) == 0) {
        const enum pm_fault fault = (enum pm_fault)(below(30) == 0 ? 3 : below(3));
        assert_int_equal(
            pm_sched_fault(&machine->sched, i, fault, PM_DEVICE, machine->now_ns, NULL), PM_OK);
    } else {
        assert_int_equal(pm_sched_step_done(&machine->sched, i, machine->now_ns, NULL), PM_OK);
    }
    return true;
}

/* The end of one of the loads and evictions under way; false if there is none. */
static bool end_a_move(struct machine *machine) {
    for (uint32_t n = 0, at = (uint32_t)below(KEYS * 5); n < KEYS * 5; n++, at++) {
        const uint32_t k = at / 5 % KEYS, d = at % 5;
        const struct pm_sched_place *process = &machine->keys[k].process;
        const struct pm_sched_place *place = d == 0 ? process : &machine->keys[k].devices[d - 1];
        const uint32_t device = d == 0 ? PM_SCHED_NONE : d - 1;
        if (d > machine->sched.n_devices) {
            continue;
        }
        if (place->residency == PM_EVICTING) {
            assert_int_equal(pm_sched_key_evicted(&machine->sched, k, device, NULL), PM_OK);
            return true;
        }
        if (place->residency == PM_LOADING && (d == 0 || process->residency == PM_RESIDENT)) {
            const bool is_bad = !machine->calm && below(15) == 0;
            assert_int_equal(pm_sched_key_loaded(&machine->sched, k, device,
                                                 is_bad ? PM_NO_MEMORY : PM_OK, machine->now_ns,
                                                 NULL),
                             PM_OK);
            return true;
        }
    }
    return false;
}

static void disturb(struct machine *machine) {
    const uint32_t j = (uint32_t)below(JOBS), k = (uint32_t)below(KEYS);
    const uint32_t d = (uint32_t)below(machine->sched.n_devices);
    switch (below(6)) {
    case 0:
        if (machine->jobs[j].used) {
            assert_int_equal(pm_sched_cancel(&machine->sched, j, machine->now_ns, NULL), PM_OK);
        }
        break;
    case 1:
        (void)pm_sched_preload(&machine->sched, k, NULL);
        break;
    case 2:
        (void)pm_sched_evict(&machine->sched, k, NULL);
        break;
    case 3:
        if (below(10) == 0) {
            assert_int_equal(pm_sched_quarantine(&machine->sched, d, machine->now_ns, NULL), PM_OK);
        }
        break;
    default:
        if (machine->sched.devices[d].quarantined) {
            (void)pm_sched_restore(&machine->sched, d, machine->now_ns, NULL);
        }
        break;
    }
}

static void run_one(uint32_t n_events) {
    static struct machine machine;
    pm_error error = PM_ERROR_INIT;
    random_machine(&machine);
    for (uint32_t n = 0; n < n_events; n++) {
        machine.now_ns += below(10);
        switch (below(8)) {
        case 0:
        case 1:
            arrive(&machine);
            break;
        case 2:
            disturb(&machine);
            break;
        case 3:
        case 4:
            (void)end_a_move(&machine);
            break;
        default:
            (void)end_a_step(&machine);
            break;
        }
        if (pm_sched_check(&machine.sched, &error) != PM_OK) {
            fail_msg("%s", error.message);
        }
        settle(&machine);
    }
    /* What is there ends, whatever the order, without anything more from outside. */
    machine.calm = true;
    for (uint32_t idle = 0; machine.n_ended < machine.n_submitted;) {
        struct pm_sched_decision decision;
        idle = end_a_move(&machine) || end_a_step(&machine) ? 0 : idle + 1;
        settle(&machine);
        pm_sched_decide(&machine.sched, machine.now_ns, &decision);
        if (idle > 0) {
            assert_true(decision.until_ns != PM_SCHED_NEVER ||
                        machine.n_ended == machine.n_submitted);
            machine.now_ns = decision.until_ns;
            settle(&machine);
        }
        assert_true(idle < 1000);
    }
    for (uint32_t i = 0; i < TASKS; i++) {
        assert_false(machine.tasks[i].used);
    }
    assert_int_equal(machine.sched.n_slots_used + machine.sched.n_ahead, 0);
}

static void random_loads_on_random_machines(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 40; i++) {
        run_one(1000);
    }
}

/* C3: mixed sizes, fifty queued at once: the sum of what is reserved never exceeds the budget. That
 * is checked after each decision; here that everything is still done, as fast as bytes allow. */
static void c3_fifty_at_once(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 20; i++) {
        static struct machine machine;
        random_machine(&machine);
        machine.calm = true;
        for (uint32_t j = 0; j < 50; j++) {
            arrive(&machine);
        }
        for (uint32_t idle = 0; machine.n_ended < machine.n_submitted;) {
            settle(&machine);
            struct pm_sched_decision decision;
            pm_sched_decide(&machine.sched, machine.now_ns, &decision);
            idle = end_a_move(&machine) || end_a_step(&machine) ? 0 : idle + 1;
            machine.now_ns += idle > 0 && decision.until_ns != PM_SCHED_NEVER
                                  ? decision.until_ns - machine.now_ns
                                  : 1;
            assert_true(idle < 1000);
            settle(&machine);
        }
    }
}

int main(void) {
    source = seeded_random_from_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_loads_on_random_machines),
        cmocka_unit_test(c3_fifty_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
