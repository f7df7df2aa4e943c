/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The two halves of a proof with every allocation, thread and random number of theirs failing in
 * turn, on the CPU and on a fake device; and the ledger, held against a second count that knows
 * nothing of it: what the process has mapped, step by step.
 */
#include "fault/fault_interposer.h"

#include "api/api_pending.h"
#include "support/data_limit.h"
#include "support/proof_case.h"
#include "support/proof_check.h"
#include "support/toy_circuits.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct places places;

static int open_places(void **state) {
    (void)state;
    places_open(2, &places);
    return 0;
}

static int close_places(void **state) {
    (void)state;
    places_close(&places);
    return 0;
}

/* ---- Faults --------------------------------------------------------------------------------- */

enum half { IN_START, IN_FINISH, HALVES };

static const struct {
    enum fault_function function;
    pm_status expected;
    int reason;
} faults[] = {{FAULT_malloc, PM_NO_MEMORY, ENOMEM},         {FAULT_calloc, PM_NO_MEMORY, ENOMEM},
              {FAULT_posix_memalign, PM_NO_MEMORY, ENOMEM}, {FAULT_mmap, PM_NO_MEMORY, ENOMEM},
              {FAULT_pthread_create, PM_OK, EAGAIN}, /* then finish does it */
              {FAULT_getrandom, PM_NO_RANDOM, EIO}};

static pm_status start(const struct proof_case *subject, enum place place, struct lent_arrays *lent,
                       pm_pending **pending, pm_error *error) {
    pm_context *context = places.context[place];
    return lent == NULL
               ? pm_prove_start(context, subject->key, subject->witness, NULL, NULL, pending, error)
               : pm_prove_start_assignment(context, subject->key, &lent->assignment, NULL, NULL,
                                           pending, error);
}

static void expect_good(const struct proof_case *subject, pm_pending *pending) {
    pm_error error = PM_ERROR_INIT;
    pm_proof proof;
    toy_expect(pm_prove_finish(pending, NULL, &proof, NULL, &error), PM_OK, &error);
    assert_int_equal(proof_case_verify(subject, &proof), PM_OK);
}

static void expect_fault(pm_status status, pm_status expected, const pm_error *error) {
    toy_expect(status, expected, error);
    assert_int_equal(error->status, status);
    assert_true(error->message[0] != '\0');
    if (status == PM_NO_MEMORY) {
        assert_true(error->need > 0);
    }
}

/* Returns whether the fault was met. */
static bool try_fault(const struct proof_case *subject, enum place place, enum half half,
                      const struct fault_plan *plan, pm_status expected, struct lent_arrays *lent) {
    pm_error error = PM_ERROR_INIT;
    pm_proof proof;
    pm_pending *pending = NULL;
    struct fault_count count = {0};
    if (half == IN_START) {
        fault_arm(plan);
    }
    pm_status status = start(subject, place, lent, &pending, &error);
    if (half == IN_START) {
        count = fault_disarm();
    }
    if (status != PM_OK) {
        assert_null(pending);
        expect_fault(status, expected, &error);
        return true;
    }
    if (half == IN_START) { /* what is in the background may have met it */
        status = pm_prove_finish(pending, NULL, &proof, NULL, &error);
    } else {
        fault_arm(plan);
        status = pm_prove_finish(pending, NULL, &proof, NULL, &error);
        count = fault_disarm();
    }
    if (status == PM_OK) {
        assert_int_equal(proof_case_verify(subject, &proof), PM_OK);
    } else {
        expect_fault(status, expected, &error);
    }
    return count.n_faults > 0;
}

static uint64_t try_every_fault(const struct proof_case *subject, enum place place,
                                enum half half) {
    const bool is_lent = subject->kind == CASE_BARE_PARAMS;
    uint64_t n_met = 0;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; ++i) {
        for (uint64_t at = 1, persists = 0; persists < 2;) {
            const struct fault_plan plan = {faults[i].function, at, faults[i].reason,
                                            persists != 0};
            struct lent_arrays lent;
            (void)pm_resident_evict(subject->key);
            const struct fault_live before = fault_live_now();
            if (is_lent) {
                lent_arrays_make(subject, PM_SCALAR_MONTGOMERY, LENT_A_B_C, true, &lent);
            }
            const bool was_met =
                try_fault(subject, place, half, &plan, faults[i].expected, is_lent ? &lent : NULL);
            if (is_lent) {
                lent_arrays_close(&lent);
            }
            (void)pm_resident_evict(subject->key);
            const struct fault_live after = fault_live_now();
            assert_int_equal(after.heap_blocks, before.heap_blocks);
            assert_int_equal(after.heap_bytes, before.heap_bytes);
            assert_int_equal(after.mapped_bytes, before.mapped_bytes);
            n_met += was_met;
            at = was_met ? at + 1 : 1;
            persists += !was_met;
        }
    }
    return n_met;
}

/* Reports C1, C10 and RC4. */
static void RC4_every_fault_is_a_clean_status(void **state) {
    (void)state;
    static const char *const half_names[HALVES] = {"start", "finish"};
    for (int kind = CASE_ZKEY; kind < CASE_KINDS; ++kind) {
        struct proof_case subject;
        assert_true(proof_case_open(places.context[PLACE_CPU], "mult3_bls",
                                    (enum proof_case_kind)kind, &subject));
        if (kind != CASE_BARE_PARAMS) { /* its vk is prepared from here on */
            pm_pending *pending = NULL;
            assert_int_equal(start(&subject, PLACE_CPU, NULL, &pending, NULL), PM_OK);
            expect_good(&subject, pending);
        } else {
            const pm_vk *vk = NULL;
            assert_int_equal(pm_key_shared_vk(places.context[PLACE_CPU], subject.key, &vk, NULL),
                             PM_OK);
        }
        for (int place = 0; place < PLACES; ++place) {
            for (int half = 0; half < HALVES; ++half) {
                const uint64_t n = try_every_fault(&subject, (enum place)place, (enum half)half);
                print_message("  %s, %s, %s: %llu faults\n", subject.name, place_names[place],
                              half_names[half], (unsigned long long)n);
                assert_true(n > 0);
            }
        }
        proof_case_close(&subject);
    }
}

/* Giving a proof up needs nothing. */
static void drop_needs_nothing(void **state) {
    (void)state;
    static const struct fault_plan all_fail = {FAULT_any, 1, ENOMEM, true};
    struct proof_case subject;
    assert_true(proof_case_open(places.context[PLACE_CPU], "mult3", CASE_ZKEY, &subject));
    for (uint32_t b2 = PM_B2_SCHEDULE_ANY; b2 <= PM_B2_SCHEDULE_COPY; ++b2) {
        const pm_prove_options options = {.struct_bytes = sizeof options, .b2 = b2};
        pm_pending *pending = NULL;
        assert_int_equal(pm_prove_start(places.context[PLACE_CPU], subject.key, subject.witness,
                                        &options, NULL, &pending, NULL),
                         PM_OK);
        fault_arm(&all_fail);
        pm_pending_drop(pending);
        assert_int_equal(fault_disarm().n_faults, 0);
    }
    proof_case_close(&subject);
}

/* ---- The second count ----------------------------------------------------------------------- */

/* What a proof's buffers take of the process when a step begins, by the plan. */
struct second_count {
    struct pm_plan plan;
    int64_t mapped_before, heap_before; /* the proof */
    uint32_t n_steps_seen, n_wrong;
};

static int64_t whole_pages(uint64_t bytes) {
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    return (int64_t)((bytes + page_bytes - 1) / page_bytes * page_bytes);
}

/* A buffer on the host has a page before it, for its header; every one of a proof is a mapping. */
static int64_t mapped_by(const struct pm_plan_buffer *buffer) {
    switch (buffer->pool) {
    case PM_POOL_HOST:
        assert_int_equal(buffer->mechanism, PM_BY_MMAP);
        return whole_pages(buffer->bytes) + whole_pages(1);
    case PM_POOL_FILE:
    case PM_POOL_CALLER:
        return 0;
    default:
        return whole_pages(buffer->bytes);
    }
}

/* Called before a step has allocated anything. */
static void count_at_step(void *user, const char *phase, uint64_t done, uint64_t total) {
    struct second_count *count = user;
    const struct pm_plan *plan = &count->plan;
    const struct fault_live now = fault_live_now();
    int64_t expected = 0;
    if (done == total) {
        return;
    }
    assert_string_equal(phase, pm_step_name(plan->steps[done].id));
    for (uint32_t i = 0; i < plan->n_buffers; ++i) {
        const struct pm_plan_buffer *buffer = &plan->buffers[i];
        const bool lives = buffer->lifetime != PM_LIFETIME_RESIDENT &&
                           (buffer->first_step < done || buffer->id == PM_BUFFER_PENDING) &&
                           done <= buffer->last_step;
        expected += lives ? mapped_by(buffer) : 0;
    }
    ++count->n_steps_seen;
    if (now.mapped_bytes - count->mapped_before != expected ||
        now.heap_bytes != count->heap_before) {
        ++count->n_wrong;
        print_message("  %s: %lld bytes mapped, %lld on the heap, planned %lld\n", phase,
                      (long long)(now.mapped_bytes - count->mapped_before),
                      (long long)(now.heap_bytes - count->heap_before), (long long)expected);
    }
}

static void count_proof(const struct proof_case *subject, enum place place,
                        const pm_prove_options *options, pm_report *report) {
    pm_error error = PM_ERROR_INIT;
    struct second_count count = {.plan = report->plan.plan};
    const struct fault_live before = fault_live_now();
    const pm_control control = {
        .struct_bytes = sizeof control, .progress = count_at_step, .user = &count};
    pm_proof proof;
    count.mapped_before = before.mapped_bytes;
    count.heap_before = before.heap_bytes;
    toy_expect(pm_prove(places.context[place], subject->key, subject->witness, options, &control,
                        &proof, NULL, &error),
               PM_OK, &error);
    assert_int_equal(count.n_wrong, 0);
    /* But for a step in the background, each was seen. */
    assert_true(count.n_steps_seen + 1 >= count.plan.n_steps);
    const struct fault_live after = fault_live_now();
    assert_int_equal(after.mapped_bytes, before.mapped_bytes);
    assert_int_equal(after.heap_bytes, before.heap_bytes);
}

/* Plan and ledger agree with each other; here the process agrees with them. */
static void the_process_maps_what_the_plan_says(void **state) {
    (void)state;
    static const char *const names[] = {"own_mimc", "mult3_bls", "own_mimc_bls"};
    pm_report *report = NULL;
    assert_int_equal(pm_report_create(&report, NULL), PM_OK);
    for (size_t i = 0; i < 3 * CASE_BARE_PARAMS; ++i) {
        struct proof_case subject;
        if (!proof_case_open(places.context[PLACE_CPU], names[i % 3], (enum proof_case_kind)(i / 3),
                             &subject)) {
            continue;
        }
        const uint32_t stride = PM_TEST_IS_SANITIZED ? 5 : 1; /* every place and form is in it */
        for (uint32_t choice = 0; choice < PLACES * 2 * 4; choice += stride) {
            pm_error error = PM_ERROR_INIT;
            pm_proof proof;
            const enum place place = (enum place)(choice % PLACES);
            pm_prove_options options = {.struct_bytes = sizeof options,
                                        .form = 1 + choice / PLACES % 2,
                                        .b2 = choice / PLACES / 2,
                                        .report = report};
            const pm_status status = pm_prove(places.context[place], subject.key, subject.witness,
                                              &options, NULL, &proof, NULL, &error);
            if (status != PM_INVALID_ARGUMENT) { /* the plan has no such choice */
                toy_expect(status, PM_OK, &error);
                report_expect_as_planned(report);
                options.report = NULL;
                count_proof(&subject, place, &options, report);
            }
        }
        proof_case_close(&subject);
    }
    pm_report_destroy(report);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(RC4_every_fault_is_a_clean_status),
        cmocka_unit_test(drop_needs_nothing),
        cmocka_unit_test(the_process_maps_what_the_plan_says),
    };
    return cmocka_run_group_tests(tests, open_places, close_places);
}
