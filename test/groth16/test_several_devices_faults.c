/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * One proof on several devices of which one fails, is full, busy, lost, or too slow: the proof ends
 * with that device's name or goes on without it, nothing is left anywhere, and the next one is
 * good. The devices are fakes (support/fake_gpu.h).
 */
#include "api/api_pending.h"
#include "base/clock.h"
#include "fault/fault_interposer.h"
#include "groth16/backend_cuda.h"
#include "support/data_limit.h"
#include "support/fake_gpu.h"
#include "support/proof_case.h"
#include "support/proof_check.h"
#include "support/toy_circuits.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { N_CARDS = 3 };
static const struct pm_cuda_options small = {.window_bytes = 12288, .pack_scalars = 64};
static const struct pm_blinding some_blinding = {.r = {0x1234, 5, 6, 7}, .s = {0x9876, 5, 4, 3}};

static pm_context *cpu;
static pm_context *cards[N_CARDS + 1]; /* by number of devices; a team of one each */
static struct pm_backend *backends[N_CARDS];
static struct proof_case subjects[3];
#define N_SUBJECTS (sizeof subjects / sizeof subjects[0])

/* Devices that have failed are forgotten: they are good ones again. */
static void renew(uint32_t n) {
    fake_gpu_heal();
    assert_int_equal(pm_context_set_backends(cards[n], backends, n, NULL), PM_OK);
}

/* So that a device that has been lost is opened as a new process would open it. */
static void reopen(void) {
    fake_gpu_heal();
    for (uint32_t i = 0; i < N_CARDS; ++i) {
        pm_error error = PM_ERROR_INIT;
        pm_backend_cuda_close(backends[i]);
        toy_expect(pm_backend_cuda_open(fake_gpu_api(), i, &small, &backends[i], &error), PM_OK,
                   &error);
    }
    for (uint32_t n = 1; n <= N_CARDS; ++n) {
        renew(n);
    }
}

static int open_all(void **state) {
    (void)state;
    fake_gpu.n_devices = N_CARDS;
    cpu = toy_context(1, PM_ARITHMETIC_BEST);
    for (uint32_t n = 1; n <= N_CARDS; ++n) {
        cards[n] = toy_context(1, PM_ARITHMETIC_BEST);
        pm_context_set_strict(cards[n], true);
    }
    reopen();
    const bool opened = proof_case_open(cpu, "mult3", CASE_ZKEY, &subjects[0]) &&
                        proof_case_open(cpu, "mult3_bls", CASE_PARAMS, &subjects[1]) &&
                        proof_case_open(cpu, "mult3_bls", CASE_BARE_PARAMS, &subjects[2]);
    return opened ? 0 : -1;
}

static int close_all(void **state) {
    (void)state;
    for (size_t i = 0; i < N_SUBJECTS; ++i) {
        proof_case_close(&subjects[i]);
    }
    pm_context_destroy(cpu);
    for (uint32_t n = 1; n <= N_CARDS; ++n) {
        pm_context_destroy(cards[n]);
    }
    for (uint32_t i = 0; i < N_CARDS; ++i) {
        pm_backend_cuda_close(backends[i]);
    }
    fake_gpu_expect_tidy();
    return 0;
}

/* ---- Proofs ---------------------------------------------------------------------------------- */

static pm_status prove(const struct proof_case *subject, uint32_t n_cards,
                       const pm_prove_options *options, const pm_control *control, pm_proof *proof,
                       pm_prove_stats *stats, pm_error *error) {
    pm_pending *pending = NULL;
    struct lent_arrays lent;
    if (subject->kind != CASE_BARE_PARAMS) {
        return pm_prove(cards[n_cards], subject->key, subject->witness, options, control, proof,
                        stats, error);
    }
    lent_arrays_make(subject, PM_SCALAR_MONTGOMERY, LENT_A_B_C, true, &lent);
    pm_status status = pm_prove_start_assignment(cards[n_cards], subject->key, &lent.assignment,
                                                 options, control, &pending, error);
    if (status == PM_OK) {
        status = pm_prove_finish(pending, control, proof, stats, error);
    }
    lent_arrays_close(&lent); /* all of them are back, whatever happened */
    return status;
}

static void expect_idle(void) {
    assert_false(fake_gpu.is_locked);
    assert_int_equal(fake_gpu.live_bytes[PM_GPU_STREAM], 0);
    for (uint32_t n = 1; n <= N_CARDS; ++n) {
        for (uint32_t i = 0; i < cards[n]->devices.n; ++i) {
            assert_int_equal(cards[n]->devices.device[i]->n_proofs, 0);
        }
    }
}

/* Whatever becomes of it, nothing is left; what does not succeed leaves *proof alone. *n_parts:
 * further devices that took part. */
static pm_status prove_badly(const struct proof_case *subject, uint32_t n_cards, uint32_t residency,
                             const pm_control *control, uint32_t *n_parts, pm_error *error) {
    pm_proof proof, untouched;
    pm_report *report = NULL;
    assert_int_equal(pm_report_create(&report, NULL), PM_OK);
    const pm_prove_options options = {
        .struct_bytes = sizeof options, .residency = residency, .all_devices = 1, .report = report};
    memset(&proof, 0x5a, sizeof proof);
    untouched = proof;
    const pm_status status = prove(subject, n_cards, &options, control, &proof, NULL, error);
    if (status != PM_OK) {
        assert_memory_equal(&proof, &untouched, sizeof proof);
        assert_int_equal(error->status, status);
    } else {
        assert_int_equal(proof_case_verify(subject, &proof), PM_OK);
    }
    report_expect_nothing_left(report);
    *n_parts = pm_report_n_parts(report);
    for (uint32_t i = 0; i < *n_parts; ++i) {
        report_expect_nothing_left(pm_report_part(report, i));
    }
    pm_report_destroy(report);
    expect_idle();
    return status;
}

static void prove_well(const struct proof_case *subject, uint32_t n_cards) {
    pm_error error = PM_ERROR_INIT;
    uint32_t n_parts = 0;
    toy_expect(prove_badly(subject, n_cards, 0, NULL, &n_parts, &error), PM_OK, &error);
    assert_int_equal(n_parts, n_cards - 1);
}

static void evict(const struct proof_case *subject) {
    assert_int_equal(pm_resident_evict(subject->key), 0);
    assert_int_equal(fake_gpu.live_bytes[PM_GPU_ONCE], 0);
}

/* ---- Failures -------------------------------------------------------------------------------- */

enum failure { OF_CALL, OF_CALL_FOR_GOOD, OF_ALLOCATION, FAILURES };

/* The n-th of a device. True when there is no n-th any more. */
static bool fail_once(const struct proof_case *subject, uint32_t n_cards, uint32_t device,
                      enum failure failure, uint64_t n, uint32_t *n_ended, uint32_t *n_left_out) {
    char name[16];
    pm_error error = PM_ERROR_INIT;
    uint32_t n_parts = 0;
    evict(subject);
    fake_gpu_heal();
    fake_gpu.failing_device = device;
    fake_gpu.goes_bad = failure == OF_CALL_FOR_GOOD;
    uint64_t *at = failure == OF_ALLOCATION ? &fake_gpu.fail_allocation_at : &fake_gpu.fail_call_at;
    *at = n;
    const pm_status status =
        prove_badly(subject, n_cards, 1 + (uint32_t)n % 2, NULL, &n_parts, &error);
    const bool was_met = *at == 0;
    if (status != PM_OK) {
        (void)snprintf(name, sizeof name, "cuda:%u", device);
        assert_true(was_met);
        assert_true(status == PM_DEVICE || status == PM_NO_MEMORY || status == PM_OVER_BUDGET);
        /* What comes before the first step is not of several devices yet. */
        assert_true(n_parts == 0 || strstr(error.message, name) != NULL);
        ++*n_ended;
    } else if (n_parts + 1 < n_cards) {
        assert_true(was_met); /* or the first one could not be asked for its memory */
        ++*n_left_out;
    }
    if (fake_gpu.is_bad) {
        evict(subject);
        reopen();
    }
    renew(n_cards);
    if (was_met) {
        prove_well(subject, n_cards);
    }
    return !was_met;
}

/* Every call and every allocation of either device in turn: those of the key's upload, after which
 * the proof goes on without the further device, and those of the proof. */
static void RC4_C10_whatever_fails_on_whichever_device(void **state) {
    (void)state;
    uint32_t n_ended = 0, n_left_out = 0;
    const uint64_t step = PM_TEST_IS_SANITIZED ? 7 : 1;
    for (uint32_t i = 0; i < N_SUBJECTS * 2 * FAILURES; ++i) {
        const struct proof_case *subject = &subjects[i % N_SUBJECTS];
        const uint32_t device = i / N_SUBJECTS % 2;
        const enum failure failure = (enum failure)(i / N_SUBJECTS / 2);
        uint64_t n = 1;
        while (!fail_once(subject, 2, device, failure, n, &n_ended, &n_left_out)) {
            n += failure == OF_ALLOCATION ? 1 : step;
        }
        assert_true(n > (failure == OF_ALLOCATION ? 5 : 20));
        evict(subject);
    }
    print_message("  %u proofs ended, %u went on without the device\n", n_ended, n_left_out);
    assert_true(n_ended >= 60 && n_left_out >= 10);
}

static void the_third_device_may_fail_too(void **state) {
    (void)state;
    uint32_t n_ended = 0, n_left_out = 0;
    for (uint64_t n = 1; !fail_once(&subjects[1], 3, 2, OF_CALL, n, &n_ended, &n_left_out);
         n += 3) {
    }
    evict(&subjects[1]);
    assert_true(n_ended >= 3 && n_left_out >= 3);
}

/* A sum that is wrong on either device, each of them in turn. */
static void wrong_sums_never_leave(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 2 * 5 * N_SUBJECTS; ++i) {
        const struct proof_case *subject = &subjects[i % N_SUBJECTS];
        pm_error error = PM_ERROR_INIT;
        uint32_t n_parts = 0;
        renew(2);
        fake_gpu.wrong = i / N_SUBJECTS % 2 == 0 ? FAKE_GPU_FLIPS_A_BIT : FAKE_GPU_DOUBLES_A_SUM;
        fake_gpu.wrong_sum = 1 + i / N_SUBJECTS / 2;
        toy_expect(prove_badly(subject, 2, 1, NULL, &n_parts, &error), PM_SELF_VERIFY, &error);
        assert_int_equal(n_parts, 1);
        renew(2);
        prove_well(subject, 2);
        evict(subject);
    }
}

/* The sentence of a scalar that is none, from one device and from several, whichever of them is the
 * first to see it. */
static void a_bad_scalar_is_named_as_by_one_device(void **state) {
    (void)state;
    const struct proof_case *subject = &subjects[2];
    for (int which = 0; which < 5; ++which) {
        char sentences[N_CARDS + 1][sizeof(((pm_error *)NULL)->message)];
        for (uint32_t n = 1; n <= N_CARDS; ++n) {
            pm_error error = PM_ERROR_INIT;
            struct lent_arrays lent;
            pm_pending *pending = NULL;
            const pm_prove_options options = {.struct_bytes = sizeof options, .all_devices = 1};
            renew(n);
            lent_arrays_make(subject, (pm_scalar_form)(which % 2), LENT_A_B_C, true, &lent);
            const void *const arrays[] = {lent.assignment.inputs, lent.assignment.aux,
                                          lent.assignment.a, lent.assignment.b, lent.assignment.c};
            memset((uint8_t *)(uintptr_t)arrays[which] + PM_FR_BYTES, 0xff, PM_FR_BYTES);
            toy_expect(pm_prove_start_assignment(cards[n], subject->key, &lent.assignment, &options,
                                                 NULL, &pending, &error),
                       PM_NOT_CANONICAL, &error);
            memcpy(sentences[n], error.message, sizeof error.message);
            lent_arrays_close(&lent);
            expect_idle();
            assert_string_equal(sentences[n], sentences[1]);
        }
        assert_non_null(strstr(sentences[1], "[1] of the assignment"));
        evict(subject);
    }
}

/* ---- Stopped --------------------------------------------------------------------------------- */

struct stopper {
    int stop_at, calls;
    volatile int cancel;
};

static void stop_at_progress(void *user, const char *phase, uint64_t done, uint64_t total) {
    struct stopper *stopper = user;
    assert_non_null(phase);
    assert_true(done <= total);
    stopper->cancel |= ++stopper->calls == stopper->stop_at;
}

/* At every report of progress, those of the keys' uploads included. */
static void a_proof_can_be_cancelled_at_each_step(void **state) {
    (void)state;
    for (int stop_at = 1, go_on = 1; go_on; ++stop_at) {
        struct stopper stopper = {.stop_at = stop_at};
        const pm_control control = {.struct_bytes = sizeof control,
                                    .cancel = &stopper.cancel,
                                    .progress = stop_at_progress,
                                    .user = &stopper};
        pm_error error = PM_ERROR_INIT;
        uint32_t n_parts = 0;
        evict(&subjects[1]);
        const pm_status status = prove_badly(&subjects[1], 3, 0, &control, &n_parts, &error);
        go_on = stopper.calls >= stop_at;
        assert_true(go_on ? status == PM_CANCELLED || status == PM_OK /* the last step is short */
                          : status == PM_OK);
        assert_true(go_on || stop_at > 10);
    }
    prove_well(&subjects[1], 3);
    evict(&subjects[1]);
}

/* A card whose sums set the flag of a control. */
static struct {
    struct pm_gpu_api api;
    volatile int cancel;
    uint64_t n_sums, at;
} slow;

static pm_status cancel_and_sum(const struct pm_gpu_stream *stream,
                                const struct pm_gpu_sum_input *input, void *workspace,
                                uint64_t workspace_bytes, void *outputs, uint64_t outputs_bytes,
                                void *result, pm_error *error) {
    if (__atomic_add_fetch(&slow.n_sums, 1, __ATOMIC_RELAXED) == slow.at) {
        __atomic_store_n(&slow.cancel, 1, __ATOMIC_RELAXED);
    }
    return fake_gpu_api()->sum_run(stream, input, workspace, workspace_bytes, outputs,
                                   outputs_bytes, result, error);
}

/* While the further device is at work on each of its sums. */
static void a_proof_can_be_cancelled_from_its_second_device(void **state) {
    (void)state;
    struct pm_backend *pair[2] = {backends[0], NULL};
    pm_error error = PM_ERROR_INIT;
    uint32_t n_parts = 0, n_cancelled = 0;
    slow.api = *fake_gpu_api();
    slow.api.sum_run = cancel_and_sum;
    renew(2);
    toy_expect(pm_backend_cuda_open(&slow.api, 1, &small, &pair[1], &error), PM_OK, &error);
    assert_int_equal(pm_context_set_backends(cards[2], pair, 2, NULL), PM_OK);
    for (slow.at = 1;; ++slow.at) {
        const pm_control control = {.struct_bytes = sizeof control, .cancel = &slow.cancel};
        slow.cancel = 0;
        slow.n_sums = 0;
        const pm_status status = prove_badly(&subjects[1], 2, 2, &control, &n_parts, &error);
        assert_true(status == PM_OK || status == PM_CANCELLED);
        n_cancelled += status == PM_CANCELLED;
        if (slow.n_sums < slow.at) {
            toy_expect(status, PM_OK, &error);
            break;
        }
    }
    assert_true(n_cancelled >= 2);
    evict(&subjects[1]);
    renew(2);
    pm_backend_cuda_close(pair[1]);
}

/* Somebody else has the second device: the proof waits for it, and for no longer than it may; its
 * own device is free meanwhile, and a failure there ends the wait. */
static void a_wait_for_the_second_device_ends(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    uint32_t n_parts = 0;
    struct pm_backend *second = backends[1];
    renew(2);
    prove_well(&subjects[0], 2);
    fake_gpu_heal();
    prove_well(&subjects[0], 2);
    const uint64_t n_calls = fake_gpu.n_calls_on[0];
    toy_expect(second->table->lock(second, NULL, NULL, &error), PM_OK, &error);
    const pm_control soon = {.struct_bytes = sizeof soon,
                             .deadline_ns = pm_clock_now_ns() + 60000000};
    pm_pending *pending = NULL;
    const pm_prove_options options = {.struct_bytes = sizeof options, .all_devices = 1};
    toy_expect(pm_prove_start(cards[2], subjects[0].key, subjects[0].witness, &options, &soon,
                              &pending, &error),
               PM_DEADLINE, &error);
    fake_gpu.fail_call_at = n_calls / 2;
    toy_expect(pm_prove_start(cards[2], subjects[0].key, subjects[0].witness, &options, NULL,
                              &pending, &error),
               PM_DEVICE, &error);
    assert_non_null(strstr(error.message, "cuda:0"));
    second->table->unlock(second);
    renew(2);
    toy_expect(prove_badly(&subjects[0], 2, 0, NULL, &n_parts, &error), PM_OK, &error);
    evict(&subjects[0]);
}

/* ---- Who takes part -------------------------------------------------------------------------- */

struct sayings {
    uint32_t n;
    char last[512];
};

static void listen(void *user, pm_log_level level, const char *sentence) {
    struct sayings *sayings = user;
    sayings->n += level == PM_LOG_WARNING;
    (void)snprintf(sayings->last, sizeof sayings->last, "%s", sentence);
}

/* A device that is full, one that is lost: the others make the proof, and the log names it. */
static void who_cannot_is_left_out(void **state) {
    (void)state;
    struct sayings sayings = {.n = 0};
    const pm_control control = {.struct_bytes = sizeof control, .log = listen, .user = &sayings};
    pm_error error = PM_ERROR_INIT;
    uint32_t n_parts = 0;
    reopen(); /* nothing is kept for proofs yet */
    fake_gpu.failing_device = 1;
    fake_gpu.taken_bytes = fake_gpu.total_bytes - 4096;
    toy_expect(prove_badly(&subjects[1], 3, 0, &control, &n_parts, &error), PM_OK, &error);
    assert_int_equal(n_parts, 1);
    assert_int_equal(fake_gpu.n_sums_on[1], 0);
    assert_true(fake_gpu.n_sums_on[0] != 0 && fake_gpu.n_sums_on[2] != 0);
    assert_int_equal(sayings.n, 1);
    assert_non_null(strstr(sayings.last, "cuda:1 takes no part in this proof: "));
    evict(&subjects[1]);
    /* Lost within a proof, which ends; then the next ones do without it. */
    renew(3);
    fake_gpu.failing_device = 2;
    fake_gpu.is_bad = true;
    sayings.n = 0;
    toy_expect(prove_badly(&subjects[1], 3, 0, &control, &n_parts, &error), PM_OK, &error);
    assert_int_equal(n_parts, 1);
    assert_true(sayings.n == 1 && strstr(sayings.last, "cuda:2 takes no part") != NULL);
    toy_expect(prove_badly(&subjects[1], 3, 0, &control, &n_parts, &error), PM_OK, &error);
    assert_true(n_parts == 1 && sayings.n == 1); /* it is not asked any more */
    evict(&subjects[1]);
    reopen();
}

static void who_is_busy_is_left_alone(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    uint32_t n_parts = 9;
    struct pm_device *second = cards[2]->devices.device[1], *joined = NULL;
    assert_int_equal(pm_device_join_idle(&second, 1, true, &joined), 1);
    assert_int_equal(pm_device_join_idle(&second, 1, true, &joined), 0);
    pm_proof proof;
    pm_report *report = NULL;
    assert_int_equal(pm_report_create(&report, NULL), PM_OK);
    pm_prove_options options = {.struct_bytes = sizeof options, .all_devices = 1, .report = report};
    toy_expect(prove(&subjects[0], 2, &options, NULL, &proof, NULL, &error), PM_OK, &error);
    assert_int_equal(pm_report_n_parts(report), 0);
    pm_device_leave(second, PM_OK);
    toy_expect(prove(&subjects[0], 2, &options, NULL, &proof, NULL, &error), PM_OK, &error);
    assert_int_equal(pm_report_n_parts(report), 1);
    options.all_devices = 0; /* nobody asks for more than one */
    toy_expect(prove(&subjects[0], 2, &options, NULL, &proof, NULL, &error), PM_OK, &error);
    assert_int_equal(pm_report_n_parts(report), 0);
    pm_report_destroy(report);
    toy_expect(prove_badly(&subjects[0], 1, 0, NULL, &n_parts, &error), PM_OK, &error);
    assert_int_equal(n_parts, 0);
    evict(&subjects[0]);
}

/* A device that has all of the key needs no share of it. */
static void a_whole_key_serves_for_a_share(void **state) {
    (void)state;
    for (size_t i = 0; i < N_SUBJECTS; ++i) {
        pm_error error = PM_ERROR_INIT;
        pm_proof proof;
        const pm_prove_options alone = {.struct_bytes = sizeof alone, .residency = 1};
        struct pm_device *first = cards[2]->devices.device[0], *joined = NULL;
        toy_expect(prove(&subjects[i], 2, &alone, NULL, &proof, NULL, &error), PM_OK, &error);
        assert_int_equal(pm_device_join_idle(&first, 1, true, &joined), 1);
        toy_expect(prove(&subjects[i], 2, &alone, NULL, &proof, NULL, &error), PM_OK, &error);
        pm_device_leave(first, PM_OK);
        const uint64_t held[2] = {fake_gpu.live_on[0], fake_gpu.live_on[1]};
        assert_true(held[0] != 0 && held[1] != 0);
        prove_well(&subjects[i], 2);
        assert_int_equal(fake_gpu.live_on[0], held[0]);
        assert_int_equal(fake_gpu.live_on[1], held[1]);
        evict(&subjects[i]);
        prove_well(&subjects[i], 2);
        assert_true(fake_gpu.live_on[0] < held[0] && fake_gpu.live_on[1] < held[1]);
        evict(&subjects[i]);
    }
}

/* Threads that cannot be had: the caller makes the parts himself. */
static void parts_need_no_thread(void **state) {
    (void)state;
    for (uint64_t at = 1; at <= 3; ++at) {
        pm_error error = PM_ERROR_INIT;
        uint32_t n_parts = 0;
        const struct fault_plan plan = {
            .function = FAULT_pthread_create, .at = at, .reason = EAGAIN, .persists = true};
        renew(3);
        prove_well(&subjects[1], 3);
        fault_arm(&plan);
        const pm_status status = prove_badly(&subjects[1], 3, 0, NULL, &n_parts, &error);
        (void)fault_disarm();
        toy_expect(status, PM_OK, &error);
        assert_int_equal(n_parts, 2);
    }
    evict(&subjects[1]);
}

/* Every allocation of the host that a proof makes, its further devices' included. */
static void host_memory_may_run_out(void **state) {
    (void)state;
    const struct proof_case *subject = &subjects[1];
    const enum fault_function functions[] = {FAULT_posix_memalign, FAULT_mmap};
    uint32_t n_failed = 0;
    for (uint64_t i = 0, at = 1; i < 2; ++at) {
        pm_error error = PM_ERROR_INIT;
        pm_proof proof;
        const struct fault_plan plan = {.function = functions[i], .at = at, .reason = ENOMEM};
        const pm_prove_options options = {.struct_bytes = sizeof options, .all_devices = 1};
        evict(subject);
        prove_well(subject, 2); /* the verifying key is there */
        evict(subject);
        fault_arm(&plan);
        const pm_status status = prove(subject, 2, &options, NULL, &proof, NULL, &error);
        const bool was_met = fault_disarm().n_faults != 0;
        expect_idle();
        assert_true(status == PM_OK || (was_met && status == PM_NO_MEMORY));
        n_failed += status != PM_OK;
        i += !was_met;
        at = was_met ? at : 0;
    }
    evict(subject);
    print_message("  %u failures\n", n_failed);
    assert_true(n_failed >= 5);
}

/* ---- Budgets --------------------------------------------------------------------------------- */

/* The devices' memory is reserved at once and given back; what cannot be had has no part. */
static void a_budget_counts_every_device(void **state) {
    (void)state;
    uint32_t seen[2] = {0};
    for (uint64_t vram_bytes = UINT64_C(1) << 22; vram_bytes > 2048; vram_bytes /= 2) {
        pm_budget *budget = NULL;
        pm_error error = PM_ERROR_INIT;
        pm_proof proof;
        pm_report *report = NULL;
        const pm_budget_options limits = {.struct_bytes = sizeof limits, .vram_bytes = vram_bytes};
        assert_int_equal(pm_report_create(&report, NULL), PM_OK);
        toy_expect(pm_budget_create(&limits, &budget, &error), PM_OK, &error);
        const pm_prove_options options = {
            .struct_bytes = sizeof options, .budget = budget, .all_devices = 1, .report = report};
        const pm_status status = prove(&subjects[1], 2, &options, NULL, &proof, NULL, &error);
        assert_true(status == PM_OK || status == PM_OVER_BUDGET);
        if (status == PM_OK && pm_report_n_parts(report) == 1) {
            report_expect_as_planned(report);
            report_expect_as_planned(pm_report_part(report, 0));
            for (int i = 0; i < 2; ++i) {
                const struct pm_plan *plan =
                    i == 0 ? &report->plan.plan : &report->part[0]->plan.plan;
                uint64_t bytes[PM_POOLS_MAX];
                pm_plan_remaining(plan, 0, bytes);
                assert_true(bytes[PM_POOL_VRAM_0 + i] <= vram_bytes);
            }
        }
        ++seen[status != PM_OK];
        for (uint32_t pool = 0; pool < PM_POOLS_MAX; ++pool) {
            assert_int_equal(budget->reserved_bytes[pool], 0);
        }
        pm_budget_destroy(budget);
        pm_report_destroy(report);
        expect_idle();
        evict(&subjects[1]);
    }
    assert_true(seen[0] >= 3 && seen[1] >= 1);
}

/* ---- Secrets --------------------------------------------------------------------------------- */

/* On no device, and in no page-locked memory, of proofs that succeed, fail and are refused. */
static void no_scalar_of_a_witness_stays(void **state) {
    (void)state;
    struct proof_case subject;
    pm_error error = PM_ERROR_INIT;
    uint32_t n_parts = 0, n_ended = 0;
    renew(3);
    assert_true(proof_case_open(cpu, "poseidon2", CASE_ZKEY, &subject));
    prove_well(&subject, 3);
    assert_true(fake_gpu_n_packed() >= 2 * subject.n_vars);
    assert_true(fake_gpu.live_bytes[PM_GPU_ONCE] > 0 && fake_gpu.live_bytes[PM_GPU_PINNED] > 0);
    proof_case_expect_absent(&subject, fake_gpu_holds);
    for (uint64_t n = 5; n < 60; n += 9) {
        renew(3);
        fake_gpu.failing_device = 1 + (uint32_t)n % 2;
        fake_gpu.fail_call_at = n;
        n_ended += prove_badly(&subject, 3, 0, NULL, &n_parts, &error) != PM_OK;
        proof_case_expect_absent(&subject, fake_gpu_holds);
    }
    assert_true(n_ended >= 3);
    renew(3);
    evict(&subject);
    proof_case_close(&subject);
}

/* ---- Several proofs at once ------------------------------------------------------------------ */

struct worker {
    pm_context *context;
    const pm_proof *expected;
    uint32_t first, n_wrong, n_shared;
};

/* Some of all devices, some of one, with two keys in turn. */
static void *work(void *argument) {
    struct worker *worker = argument;
    pm_report *report = NULL;
    (void)pm_report_create(&report, NULL);
    for (uint32_t i = 0; i < 12; ++i) {
        const uint32_t which = (worker->first + i) % 2;
        pm_error error = PM_ERROR_INIT;
        pm_proof proof;
        const pm_prove_options options = {.struct_bytes = sizeof options,
                                          .residency = 1 + i / 2 % 2,
                                          .all_devices = (worker->first + i) % 4 != 3,
                                          .report = report};
        const pm_status status =
            pm_prove_with_blinding(worker->context, subjects[which].key, subjects[which].witness,
                                   &some_blinding, &options, NULL, &proof, NULL, &error);
        worker->n_wrong +=
            status != PM_OK || memcmp(&proof, &worker->expected[which], sizeof proof) != 0;
        worker->n_shared += pm_report_n_parts(report) != 0;
    }
    pm_report_destroy(report);
    return NULL;
}

/* Two contexts of the same devices, whose queues do not know of each other: proofs meet at the
 * locks, in either order. */
static void proofs_meet_on_the_same_devices(void **state) {
    (void)state;
    enum { N_WORKERS = 4 };
    pthread_t threads[N_WORKERS];
    struct worker workers[N_WORKERS];
    pm_proof expected[2];
    pm_error error = PM_ERROR_INIT;
    struct pm_backend *const turned[] = {backends[1], backends[0], backends[2]};
    renew(3);
    renew(2);
    assert_int_equal(pm_context_set_backends(cards[2], turned, 2, NULL), PM_OK);
    for (int i = 0; i < 2; ++i) {
        toy_expect(pm_prove_with_blinding(cpu, subjects[i].key, subjects[i].witness, &some_blinding,
                                          NULL, NULL, &expected[i], NULL, &error),
                   PM_OK, &error);
    }
    for (uint32_t i = 0; i < N_WORKERS; ++i) {
        workers[i] =
            (struct worker){.context = cards[2 + i % 2], .expected = expected, .first = i / 2};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    uint32_t n_shared = 0;
    for (uint32_t i = 0; i < N_WORKERS; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(workers[i].n_wrong, 0);
        n_shared += workers[i].n_shared;
    }
    print_message("  %u of %u proofs were made by several devices\n", n_shared, N_WORKERS * 12);
    assert_true(n_shared >= 4);
    expect_idle();
    (void)pm_resident_evict(subjects[0].key);
    evict(&subjects[1]);
    renew(2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(RC4_C10_whatever_fails_on_whichever_device),
        cmocka_unit_test(the_third_device_may_fail_too),
        cmocka_unit_test(wrong_sums_never_leave),
        cmocka_unit_test(a_bad_scalar_is_named_as_by_one_device),
        cmocka_unit_test(a_proof_can_be_cancelled_at_each_step),
        cmocka_unit_test(a_proof_can_be_cancelled_from_its_second_device),
        cmocka_unit_test(a_wait_for_the_second_device_ends),
        cmocka_unit_test(who_cannot_is_left_out),
        cmocka_unit_test(who_is_busy_is_left_alone),
        cmocka_unit_test(a_whole_key_serves_for_a_share),
        cmocka_unit_test(parts_need_no_thread),
        cmocka_unit_test(host_memory_may_run_out),
        cmocka_unit_test(a_budget_counts_every_device),
        cmocka_unit_test(no_scalar_of_a_witness_stays),
        cmocka_unit_test(proofs_meet_on_the_same_devices),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
