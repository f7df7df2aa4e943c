/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The table of a job's states: every pair of state and event, and what a fault means. */
#include "sched/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* What is expected, a line a state: the next state for each event, '.' where it is an error.
 * A=accepted Q=queued a=admitted p=preparing r=prepared P=proving f=finishing v=verifying D=done
 * F=failed C=cancelled. Events in the order of enum pm_job_event: record admit prepare ready prove
 * finish verify complete retry fail cancel. */
static const char letters[] = "AQaprPfvDFC";
static const char *const expected[PM_JOB_STATES] = {
    "Q........FC", /* accepted */
    ".a.......FC", /* queued */
    "..p.P...QFC", /* admitted */
    "...r....QFC", /* preparing */
    "....P...QFC", /* prepared */
    ".....fv.QFC", /* proving */
    "......v.QFC", /* finishing */
    ".......DQFC", /* verifying */
    "...........", "...........", "...........",
};

static void every_pair(void **state) {
    (void)state;
    for (uint32_t from = 0; from < PM_JOB_STATES; from++) {
        for (uint32_t event = 0; event < PM_JOB_EVENTS; event++) {
            enum pm_job_state to = PM_JOB_STATES;
            pm_error error = PM_ERROR_INIT;
            const char letter = expected[from][event];
            const pm_status status =
                pm_job_next((enum pm_job_state)from, (enum pm_job_event)event, &to, &error);
            if (letter == '.') {
                assert_int_equal(status, PM_INVALID_ARGUMENT);
                assert_int_equal(to, PM_JOB_STATES);
                assert_non_null(strstr(error.message, pm_job_state_name((enum pm_job_state)from)));
                assert_non_null(strstr(error.message, pm_job_event_name((enum pm_job_event)event)));
            } else {
                assert_int_equal(status, PM_OK);
                assert_int_equal(to, strchr(letters, letter) - letters);
            }
        }
    }
}

static void numbers_that_are_no_state_or_event(void **state) {
    (void)state;
    enum pm_job_state to = PM_JOB_DONE;
    assert_int_equal(pm_job_next((enum pm_job_state)99, PM_JOB_FAIL, &to, NULL),
                     PM_INVALID_ARGUMENT);
    assert_int_equal(pm_job_next(PM_JOB_QUEUED, (enum pm_job_event)99, &to, NULL),
                     PM_INVALID_ARGUMENT);
    assert_int_equal(to, PM_JOB_DONE);
    assert_string_equal(pm_job_state_name((enum pm_job_state)99), "unknown");
    assert_string_equal(pm_job_event_name((enum pm_job_event)99), "unknown");
}

static void what_holds_and_what_is_final(void **state) {
    (void)state;
    for (uint32_t s = 0; s < PM_JOB_STATES; s++) {
        const bool is_final = strcmp(expected[s], "...........") == 0;
        assert_int_equal(pm_job_is_final((enum pm_job_state)s), is_final);
        assert_int_equal(pm_job_holds((enum pm_job_state)s),
                         !is_final && s != PM_JOB_ACCEPTED && s != PM_JOB_QUEUED);
    }
}

/* There is no way to done that does not go through verifying. */
static void done_is_verified(void **state) {
    (void)state;
    for (uint32_t from = 0; from < PM_JOB_STATES; from++) {
        for (uint32_t event = 0; event < PM_JOB_EVENTS; event++) {
            enum pm_job_state to = PM_JOB_ACCEPTED;
            if (pm_job_next((enum pm_job_state)from, (enum pm_job_event)event, &to, NULL) ==
                    PM_OK &&
                to == PM_JOB_DONE) {
                assert_int_equal(from, PM_JOB_VERIFYING);
                assert_int_equal(event, PM_JOB_COMPLETE);
            }
        }
    }
}

/* F6: a missing or damaged key is permanent; F5, F13: what a device did is not. */
static void faults(void **state) {
    (void)state;
    const pm_status permanent[] = {
        PM_IO,           PM_NOT_THIS_KIND,    PM_TRUNCATED,   PM_LENGTH,
        PM_CURVE,        PM_WITNESS_MISMATCH, PM_DEADLINE,    PM_UNSATISFIED,
        PM_INTERNAL,     PM_INVALID_ARGUMENT, PM_OVER_BUDGET, PM_CANCELLED,
        PM_FILE_CHANGED, PM_UNSUPPORTED};
    for (size_t i = 0; i < sizeof permanent / sizeof permanent[0]; i++) {
        assert_int_equal(pm_fault_of(permanent[i]), PM_FAULT_PERMANENT);
    }
    assert_int_equal(pm_fault_of(PM_NO_MEMORY), PM_FAULT_TRANSIENT);
    assert_int_equal(pm_fault_of(PM_NO_THREADS), PM_FAULT_TRANSIENT);
    assert_int_equal(pm_fault_of(PM_BUDGET_BUSY), PM_FAULT_TRANSIENT);
    assert_int_equal(pm_fault_of(PM_DEVICE), PM_FAULT_DEVICE);
    assert_int_equal(pm_fault_of(PM_SELF_VERIFY), PM_FAULT_DEVICE);
    assert_int_equal(pm_fault_of(PM_NO_DEVICE), PM_FAULT_DEVICE_LOST);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair),
        cmocka_unit_test(numbers_that_are_no_state_or_event),
        cmocka_unit_test(what_holds_and_what_is_final),
        cmocka_unit_test(done_is_verified),
        cmocka_unit_test(faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
