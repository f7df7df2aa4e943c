/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Runs plans made by hand on a backend that only writes down what it is asked: what is allocated,
 * computed, released and given back in which order, on which side of the lock, and that nothing is
 * left after a failure at any point.
 */
#include "base/memory.h"
#include "groth16/execute.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define VRAM PM_POOL_VRAM_0
#define NO_FAILURE UINT32_MAX

/* ---- A backend that writes down ------------------------------------------------------------- */

struct recorder {
    struct pm_backend backend; /* first: the functions get a pointer to it */
    char text[4096];           /* a word for each event */
    bool is_locked, is_beside;
    uint32_t n_live;             /* buffers of its pool */
    uint32_t n_calls, fail_call; /* those that can fail, counted; which one does */
    uint32_t n_returned[PM_BUFFER_IDS];
    bool returned_in_lock;
    struct pm_execution *lies; /* whose ledger a step makes lie; NULL: none does */
};

__attribute__((format(printf, 2, 3))) static void say(struct recorder *recorder, const char *format,
                                                      ...) {
    const size_t at = strlen(recorder->text);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(recorder->text + at, sizeof recorder->text - at, format, arguments);
    va_end(arguments);
}

static struct recorder *recorder_of(struct pm_backend *backend) {
    return (struct recorder *)(void *)backend;
}

static pm_status may_fail(struct recorder *recorder, const char *what, pm_error *error) {
    if (recorder->n_calls++ == recorder->fail_call) {
        pm_error_set(error, PM_DEVICE, "%s failed", what);
        pm_error_need_have(error, 77, 33);
        return PM_DEVICE;
    }
    return PM_OK;
}

static pm_status lock(struct pm_backend *backend, const struct pm_plan *plan,
                      const pm_control *control, pm_error *error) {
    struct recorder *recorder = recorder_of(backend);
    (void)control;
    assert_string_equal(plan->device_name, "recorder");
    assert_false(recorder->is_locked);
    PM_TRY(may_fail(recorder, "lock", error));
    recorder->is_locked = true;
    say(recorder, "lock ");
    return PM_OK;
}

static void unlock(struct pm_backend *backend) {
    struct recorder *recorder = recorder_of(backend);
    assert_true(recorder->is_locked);
    recorder->is_locked = false;
    say(recorder, "unlock ");
}

static pm_status allocate(struct pm_backend *backend, struct pm_ledger *ledger,
                          const struct pm_ledger_note *note, uint64_t bytes, bool secret,
                          void **buffer, pm_error *error) {
    struct recorder *recorder = recorder_of(backend);
    assert_int_equal(note->pool, VRAM);
    assert_int_equal(note->in_device_lock, recorder->is_locked);
    assert_true(secret);
    PM_TRY(may_fail(recorder, "allocation", error));
    *buffer = malloc(bytes);
    assert_non_null(*buffer);
    pm_ledger_allocated(ledger, note, bytes);
    ++recorder->n_live;
    say(recorder, "+%u ", note->plan_line);
    return PM_OK;
}

static void release(struct pm_backend *backend, struct pm_ledger *ledger,
                    const struct pm_ledger_note *note, void *buffer) {
    struct recorder *recorder = recorder_of(backend);
    assert_int_equal(note->in_device_lock, recorder->is_locked);
    /* The bytes are those of the plan's line, which the test knows by heart. */
    pm_ledger_released(ledger, note, note->plan_line == 3 ? 4000 : 500);
    free(buffer);
    --recorder->n_live;
    say(recorder, "-%u ", note->plan_line);
}

static pm_status synchronise(struct pm_backend *backend, pm_error *error) {
    struct recorder *recorder = recorder_of(backend);
    PM_TRY(may_fail(recorder, "synchronisation", error));
    say(recorder, "sync ");
    return PM_OK;
}

static pm_status step(struct pm_backend *backend, const struct pm_step_data *data,
                      pm_error *error) {
    struct recorder *recorder = recorder_of(backend);
    (void)data;
    PM_TRY(may_fail(recorder, "step", error));
    say(recorder, recorder->is_locked ? "STEP " : "step ");
    if (recorder->lies != NULL) {
        const struct pm_ledger_note note = {.name = "a lie",
                                            .plan_line = PM_LEDGER_UNPLANNED,
                                            .step = PM_LEDGER_NO_STEP,
                                            .pool = PM_POOL_HOST};
        pm_ledger_allocated(&recorder->lies->ledger, &note, 64);
        recorder->lies = NULL;
    }
    return PM_OK;
}

static const struct pm_backend_table recording = {.kind = "recorder",
                                                  .lock = lock,
                                                  .unlock = unlock,
                                                  .allocate = allocate,
                                                  .release = release,
                                                  .synchronise = synchronise,
                                                  .step = {[PM_STEP_LOAD_VECTORS] = step,
                                                           [PM_STEP_QUOTIENT] = step,
                                                           [PM_STEP_MSM_H] = step,
                                                           [PM_STEP_MSM_L] = step,
                                                           [PM_STEP_MSM_B1] = step}};

static void give_back(void *user, enum pm_buffer_id which) {
    struct recorder *recorder = user;
    ++recorder->n_returned[which];
    recorder->returned_in_lock |= recorder->is_locked;
    say(recorder, "back%d ", (int)which);
}

/* ---- The plan ------------------------------------------------------------------------------- */

/*
 *   0 load vectors (lock)   1 quotient (lock)   2 msm h (lock)   3 msm l        4 msm b1 (lock)
 *   caller inputs 0-3       caller a 0-0        a 0-2 vram       scratch 2-2    b scalars 3-4 host
 */
static void make_plan(struct pm_plan *plan) {
    *plan = (struct pm_plan){.device_name = "recorder",
                             .device_pool = VRAM,
                             .n_steps = 5,
                             .n_start_steps = 4,
                             .n_buffers = 7,
                             .steps = {{PM_STEP_LOAD_VECTORS, true, true, false, false},
                                       {PM_STEP_QUOTIENT, true, true, false, false},
                                       {PM_STEP_MSM_H, true, true, false, false},
                                       {PM_STEP_MSM_L, true, false, false, false},
                                       {PM_STEP_MSM_B1, false, true, false, false}},
                             .buffers = {{.id = PM_BUFFER_CALLER_INPUTS,
                                          .bytes = 30,
                                          .pool = PM_POOL_CALLER,
                                          .mechanism = PM_BY_CALLER,
                                          .lifetime = PM_LIFETIME_PROOF,
                                          .first_step = 0,
                                          .last_step = 3},
                                         {.id = PM_BUFFER_CALLER_A,
                                          .bytes = 40,
                                          .pool = PM_POOL_CALLER,
                                          .mechanism = PM_BY_CALLER,
                                          .lifetime = PM_LIFETIME_PROOF,
                                          .first_step = 0,
                                          .last_step = 0},
                                         {.id = PM_BUFFER_KEY_HOST,
                                          .bytes = 1000000,
                                          .pool = PM_POOL_HOST,
                                          .lifetime = PM_LIFETIME_RESIDENT,
                                          .first_step = 0,
                                          .last_step = 4},
                                         {.id = PM_BUFFER_A,
                                          .bytes = 4000,
                                          .pool = VRAM,
                                          .lifetime = PM_LIFETIME_PROOF,
                                          .first_step = 0,
                                          .last_step = 2,
                                          .in_device_lock = true,
                                          .secret = true},
                                         {.id = PM_BUFFER_SCRATCH_MSM_H,
                                          .bytes = 500,
                                          .pool = VRAM,
                                          .lifetime = PM_LIFETIME_STEP,
                                          .first_step = 2,
                                          .last_step = 2,
                                          .in_device_lock = true,
                                          .secret = true},
                                         {.id = PM_BUFFER_B_SCALARS,
                                          .bytes = 600,
                                          .pool = PM_POOL_HOST,
                                          .lifetime = PM_LIFETIME_PROOF,
                                          .first_step = 3,
                                          .last_step = 4,
                                          .secret = true},
                                         {.id = PM_BUFFER_PENDING,
                                          .bytes = 70,
                                          .pool = PM_POOL_HOST,
                                          .lifetime = PM_LIFETIME_PROOF,
                                          .first_step = 0,
                                          .last_step = 4}}};
}

static uint8_t lent_inputs[30], lent_a[40], lent_c[8];

struct run {
    struct recorder recorder;
    struct pm_execution execution;
    struct pm_ledger_entry entries[64];
    struct pm_budget budget;
    pm_control control;
};

static void run_open(struct run *run, uint32_t fail_call, bool strict) {
    pm_error error = PM_ERROR_INIT;
    uint64_t bytes[PM_POOLS_MAX];
    memset(run, 0, sizeof *run);
    run->recorder.backend = (struct pm_backend){.table = &recording, .pool = VRAM};
    run->recorder.fail_call = fail_call;
    run->control = (pm_control){.struct_bytes = sizeof run->control, .cancel = NULL};
    struct pm_execution *execution = &run->execution;
    make_plan(&execution->plan);
    execution->backend = &run->recorder.backend;
    execution->release = give_back;
    execution->release_user = &run->recorder;
    execution->strict = strict;
    execution->data.control = &run->control;
    execution->data.buffer[PM_BUFFER_CALLER_INPUTS] = lent_inputs;
    execution->data.buffer[PM_BUFFER_CALLER_A] = lent_a;
    execution->ledger.log = (struct pm_ledger_log){.entries = run->entries, .n_entries_max = 64};
    for (uint32_t pool = 0; pool < PM_POOLS_MAX; ++pool) {
        bytes[pool] = 10000;
    }
    assert_int_equal(pm_budget_init(&run->budget, bytes, &error), PM_OK);
    pm_plan_remaining(&execution->plan, 0, bytes);
    assert_int_equal(pm_budget_try(&run->budget, bytes, &execution->reservation, &error), PM_OK);
}

/* Everything is back: memory, arrays, lock, budget, ledger. */
static void run_close(struct run *run) {
    const struct pm_execution *execution = &run->execution;
    static const struct pm_sums nothing;
    assert_int_equal(run->recorder.n_live, 0);
    assert_false(run->recorder.is_locked);
    assert_int_equal(run->recorder.n_returned[PM_BUFFER_CALLER_INPUTS], 1);
    assert_int_equal(run->recorder.n_returned[PM_BUFFER_CALLER_A], 1);
    for (uint32_t pool = 0; pool < PM_POOLS_MAX; ++pool) {
        assert_int_equal(run->budget.reserved_bytes[pool], 0);
        assert_int_equal(pm_ledger_pool_live_bytes(&execution->ledger, pool), 0);
    }
    for (int id = 0; id < PM_BUFFER_IDS; ++id) {
        assert_null(execution->data.buffer[id]);
    }
    assert_memory_equal(&execution->sums, &nothing, sizeof nothing);
    assert_int_equal(execution->ledger.log.n_lost, 0);
    pm_budget_close(&run->budget);
}

/* ---- Order ---------------------------------------------------------------------------------- */

static void steps_buffers_and_lock_come_in_order(void **state) {
    (void)state;
    struct run run;
    pm_error error = PM_ERROR_INIT;
    run_open(&run, NO_FAILURE, true);
    struct pm_execution *execution = &run.execution;
    assert_int_equal(pm_execution_run(execution, 4, &error), PM_OK);
    assert_string_equal(run.recorder.text,
                        "lock +3 STEP sync back2 STEP sync +4 STEP sync -3 -4 unlock "
                        "step sync back0 ");
    assert_false(run.recorder.is_locked);
    assert_int_equal(execution->next_step, 4);
    assert_int_equal(pm_ledger_live_bytes(&execution->ledger), 670);
    assert_int_equal(execution->records[0].live_bytes[0], 70);
    assert_int_equal(execution->records[0].live_bytes[1], 4000);
    assert_int_equal(execution->records[2].live_bytes[1], 4500);
    assert_int_equal(execution->records[3].live_bytes[0], 670);
    assert_int_equal(execution->records[4].end_ns, 0);
    run.recorder.text[0] = '\0';
    assert_int_equal(pm_execution_run(execution, 5, &error), PM_OK);
    assert_string_equal(run.recorder.text, "lock STEP sync unlock ");
    for (uint32_t i = 0; i < 5; ++i) {
        assert_true(execution->records[i].begin_ns > 0);
        assert_true(execution->records[i].end_ns >= execution->records[i].begin_ns);
    }
    assert_int_equal(execution->n_divergences, 0);
    pm_execution_end(execution);
    pm_execution_end(execution);
    assert_string_equal(run.recorder.text, "lock STEP sync unlock ");
    run_close(&run);
}

static pm_status lock_beside(struct pm_backend *backend, const struct pm_plan *plan,
                             const pm_control *control, pm_error *error) {
    struct recorder *recorder = recorder_of(backend);
    (void)control;
    assert_int_equal(plan->n_steps, 5);
    PM_TRY(may_fail(recorder, "place", error));
    recorder->is_beside = true;
    say(recorder, "next ");
    return PM_OK;
}

static void unlock_beside(struct pm_backend *backend) {
    struct recorder *recorder = recorder_of(backend);
    assert_true(recorder->is_beside);
    recorder->is_beside = false;
    say(recorder, "gone ");
}

/* A first step beside the proof that has the device: its buffer comes before the lock and goes
 * inside it; the place is given up once the lock has been taken, or when anything fails. */
static void a_step_beside_takes_the_next_place(void **state) {
    (void)state;
    struct pm_backend_table table = recording;
    table.lock_beside = lock_beside;
    table.unlock_beside = unlock_beside;
    for (uint32_t fail_call = 0;; ++fail_call) {
        struct run run;
        pm_error error = PM_ERROR_INIT;
        run_open(&run, fail_call, true);
        run.recorder.backend.table = &table;
        struct pm_plan *plan = &run.execution.plan;
        plan->steps[0] =
            (struct pm_plan_step){.id = PM_STEP_LOAD_VECTORS, .in_start = true, .is_beside = true};
        plan->buffers[3].in_device_lock = false;
        const pm_status status = pm_execution_run(&run.execution, 4, &error);
        assert_false(run.recorder.is_beside);
        if (status == PM_OK) {
            assert_string_equal(run.recorder.text,
                                "next +3 step sync back2 lock gone STEP sync +4 STEP sync -3 -4 "
                                "unlock step sync back0 ");
        } else {
            assert_int_equal(status, PM_DEVICE);
        }
        pm_execution_end(&run.execution);
        run_close(&run);
        if (status == PM_OK) {
            assert_true(fail_call > 8);
            break;
        }
    }
}

/* The step is that of the caller; what is around it is the same. */
static pm_status own_step(void *argument, struct pm_execution *execution, pm_error *error) {
    struct recorder *recorder = argument;
    (void)error;
    assert_int_equal(execution->next_step, 4);
    say(recorder, recorder->is_locked ? "OWN " : "own ");
    return PM_OK;
}

static void a_step_of_the_caller_runs_like_any_other(void **state) {
    (void)state;
    struct run run;
    pm_error error = PM_ERROR_INIT;
    run_open(&run, NO_FAILURE, true);
    assert_int_equal(pm_execution_run(&run.execution, 4, &error), PM_OK);
    run.recorder.text[0] = '\0';
    assert_int_equal(pm_execution_run_step(&run.execution, own_step, &run.recorder, &error), PM_OK);
    assert_string_equal(run.recorder.text, "lock OWN unlock ");
    assert_int_equal(run.execution.next_step, 5);
    /* There is no sixth. */
    assert_int_equal(pm_execution_run_step(&run.execution, own_step, &run.recorder, &error),
                     PM_INTERNAL);
    run_close(&run);
}

/* Each entry of the ledger names a line of the plan, the step and the side of the lock. */
static void the_ledger_tells_the_whole_story(void **state) {
    (void)state;
    static const struct {
        uint16_t plan_line, step;
        bool released, in_lock;
        uint64_t live_bytes;
    } expected[] = {
        {0, 0, false, false, 30},  {1, 0, false, false, 70}, {6, 0, false, false, 70},
        {3, 0, false, true, 4000}, {1, 0, true, true, 30},   {4, 2, false, true, 4500},
        {3, 2, true, true, 500},   {4, 2, true, true, 0},    {5, 3, false, false, 670},
        {0, 3, true, false, 0},    {5, 4, true, false, 70},  {6, 4, true, false, 0},
    };
    struct run run;
    pm_error error = PM_ERROR_INIT;
    run_open(&run, NO_FAILURE, true);
    assert_int_equal(pm_execution_run(&run.execution, 5, &error), PM_OK);
    pm_execution_end(&run.execution);
    const struct pm_ledger_log *log = &run.execution.ledger.log;
    assert_int_equal(log->n_entries, sizeof expected / sizeof expected[0]);
    for (uint32_t i = 0; i < log->n_entries; ++i) {
        assert_int_equal(log->entries[i].note.plan_line, expected[i].plan_line);
        assert_int_equal(log->entries[i].note.step, expected[i].step);
        assert_int_equal(log->entries[i].released, expected[i].released);
        assert_int_equal(log->entries[i].note.in_device_lock, expected[i].in_lock);
        assert_int_equal(log->entries[i].live_bytes, expected[i].live_bytes);
    }
    run_close(&run);
}

/* A proof that went before its time gives back as much as one that failed. */
static void ending_early_gives_everything_back(void **state) {
    (void)state;
    for (uint32_t until = 0; until <= 5; ++until) {
        struct run run;
        pm_error error = PM_ERROR_INIT;
        run_open(&run, NO_FAILURE, true);
        assert_int_equal(pm_execution_run(&run.execution, until, &error), PM_OK);
        memset(&run.execution.sums, 1, sizeof run.execution.sums);
        pm_execution_end(&run.execution);
        run_close(&run);
        if (until < 5) {
            assert_int_not_equal(pm_execution_run(&run.execution, 5, &error), PM_OK);
        }
    }
}

/* An array that no step reads goes back before the first one; one that was never lent, never. */
static void unread_arrays_go_back_at_once(void **state) {
    (void)state;
    struct run run;
    pm_error error = PM_ERROR_INIT;
    run_open(&run, NO_FAILURE, true);
    run.execution.data.buffer[PM_BUFFER_CALLER_C] = lent_c;
    assert_int_equal(pm_execution_run(&run.execution, 1, &error), PM_OK);
    assert_string_equal(run.recorder.text, "back4 lock +3 STEP sync unlock back2 ");
    pm_execution_end(&run.execution);
    assert_int_equal(run.recorder.n_returned[PM_BUFFER_CALLER_C], 1);
    assert_int_equal(run.recorder.n_returned[PM_BUFFER_CALLER_B], 0);
    assert_int_equal(run.recorder.n_returned[PM_BUFFER_CALLER_AUX], 0);
    run_close(&run);
}

/* What is reserved is at each moment what the steps to come need. */
static void the_reservation_shrinks_with_the_steps(void **state) {
    (void)state;
    static const uint64_t host[] = {670, 670, 670, 670, 670, 0};
    static const uint64_t vram[] = {4500, 4500, 4500, 0, 0, 0};
    struct run run;
    pm_error error = PM_ERROR_INIT;
    run_open(&run, NO_FAILURE, true);
    for (uint32_t until = 0; until <= 5; ++until) {
        assert_int_equal(pm_execution_run(&run.execution, until, &error), PM_OK);
        assert_int_equal(run.budget.reserved_bytes[PM_POOL_HOST], host[until]);
        assert_int_equal(run.budget.reserved_bytes[VRAM], vram[until]);
        assert_int_equal(run.budget.reserved_bytes[PM_POOL_CALLER], 0);
    }
    pm_execution_end(&run.execution);
    run_close(&run);
}

/* ---- Failure -------------------------------------------------------------------------------- */

static void failure_at_any_point_leaves_nothing(void **state) {
    (void)state;
    uint32_t n_failures = 0;
    for (uint32_t fail_call = 0;; ++fail_call) {
        struct run run;
        pm_error error = PM_ERROR_INIT;
        run_open(&run, fail_call, true);
        memset(&run.execution.sums, 1, sizeof run.execution.sums);
        const pm_status status = pm_execution_run(&run.execution, 5, &error);
        if (status == PM_OK) {
            assert_true(run.recorder.n_calls <= fail_call);
            pm_execution_end(&run.execution);
            run_close(&run);
            break;
        }
        assert_int_equal(status, PM_DEVICE);
        assert_int_equal(error.need, 77);
        assert_int_equal(error.have, 33);
        run_close(&run);
        /* It stays failed. */
        assert_int_equal(pm_execution_run(&run.execution, 5, &error), PM_DEVICE);
        assert_int_equal(run.recorder.n_calls, fail_call + 1);
        ++n_failures;
    }
    /* five steps and synchronisations, two allocations, two locks */
    assert_int_equal(n_failures, 14);
}

static void C1_memory_that_is_not_there_is_named(void **state) {
    (void)state;
    struct run run;
    pm_error error = PM_ERROR_INIT;
    run_open(&run, NO_FAILURE, true);
    run.execution.plan.buffers[5].bytes = UINT64_C(1) << 61;
    assert_int_equal(pm_execution_run(&run.execution, 5, &error), PM_NO_MEMORY);
    assert_int_equal(error.need, UINT64_C(1) << 61);
    assert_int_equal(run.execution.next_step, 3);
    run_close(&run);
}

static void A18_cancel_between_steps_is_seen(void **state) {
    (void)state;
    struct run run;
    pm_error error = PM_ERROR_INIT;
    volatile int cancel = 0;
    run_open(&run, NO_FAILURE, true);
    run.control.cancel = &cancel;
    assert_int_equal(pm_execution_run(&run.execution, 1, &error), PM_OK);
    cancel = 1;
    assert_int_equal(pm_execution_run(&run.execution, 5, &error), PM_CANCELLED);
    assert_string_equal(run.recorder.text, "lock +3 STEP sync unlock back2 -3 back0 ");
    run_close(&run);
}

/* ---- The plan and what happened ------------------------------------------------------------- */

static void a_lying_ledger_is_found_out(void **state) {
    (void)state;
    for (int strict = 0; strict <= 1; ++strict) {
        struct run run;
        pm_error error = PM_ERROR_INIT;
        run_open(&run, NO_FAILURE, strict == 1);
        run.recorder.lies = &run.execution;
        const pm_status status = pm_execution_run(&run.execution, 2, &error);
        const struct pm_ledger_note note = {
            .name = "a lie", .plan_line = PM_LEDGER_UNPLANNED, .pool = PM_POOL_HOST};
        if (strict == 1) {
            assert_int_equal(status, PM_INTERNAL);
            assert_int_equal(error.need, 70);
            assert_int_equal(error.have, 134);
            assert_int_equal(run.execution.n_divergences, 1);
        } else {
            assert_int_equal(status, PM_OK);
            assert_int_equal(run.execution.n_divergences, 2); /* in both steps */
            pm_execution_end(&run.execution);
        }
        pm_ledger_released(&run.execution.ledger, &note, 64);
        run_close(&run);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_buffers_and_lock_come_in_order),
        cmocka_unit_test(a_step_beside_takes_the_next_place),
        cmocka_unit_test(a_step_of_the_caller_runs_like_any_other),
        cmocka_unit_test(the_ledger_tells_the_whole_story),
        cmocka_unit_test(ending_early_gives_everything_back),
        cmocka_unit_test(unread_arrays_go_back_at_once),
        cmocka_unit_test(the_reservation_shrinks_with_the_steps),
        cmocka_unit_test(failure_at_any_point_leaves_nothing),
        cmocka_unit_test(C1_memory_that_is_not_there_is_named),
        cmocka_unit_test(A18_cancel_between_steps_is_seen),
        cmocka_unit_test(a_lying_ledger_is_found_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
