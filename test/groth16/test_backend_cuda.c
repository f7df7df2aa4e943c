/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The CUDA backend over a table that computes with the CPU's library: every proof is the CPU's, bit
 * for bit, and carried out as planned. test_backend_cuda_faults.c is about what goes wrong.
 *
 *     test_backend_cuda [ROUNDS]    ROUNDS: proofs in a row that must leave memory as it was
 */
#include "api/api_pending.h"
#include "groth16/backend_cuda.h"
#include "support/data_limit.h"
#include "support/fake_gpu.h"
#include "support/proof_case.h"
#include "support/proof_check.h"
#include "support/seeded_random.h"
#include "support/toy_circuits.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static const char *const names[] = {"mult3",    "mult3_bls",    "nopriv",    "nopriv_bls",
                                    "one",      "one_bls",      "own_mimc",  "own_mimc_bls",
                                    "multipub", "multipub_bls", "poseidon2", "poseidon2_bls",
                                    "eddsa",    "eddsa_bls"};
#define N_NAMES (sizeof names / sizeof names[0])

static const struct pm_blinding some_blinding = {.r = {0x1234, 5, 6, 7}, .s = {0x9876, 5, 4, 3}};

/* Cards: as they are, with windows and chunks so small that small circuits take many, and one that
 * a single thread serves and that makes all sums one by one. */
enum { CARD_WIDE, CARD_NARROW, CARD_ALONE, CARDS };
static const struct pm_cuda_options card_options[CARDS] = {
    [CARD_NARROW] = {.window_bytes = 12288, .pack_scalars = 64},
    [CARD_ALONE] = {.window_bytes = 32768, .pack_scalars = 192}};

static pm_context *cpu;
static pm_context *contexts[CARDS];
static struct pm_backend *backends[CARDS];
static uint64_t n_rounds = 20;

static const struct pm_backend_table *as_it_is;
static struct pm_backend_table in_turn;

static void describe_in_turn(const struct pm_backend *backend, struct pm_team *team,
                             struct pm_plan_device *device) {
    as_it_is->describe(backend, team, device);
    device->sums_together = false;
}

static int open_all(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    cpu = toy_context(2, PM_ARITHMETIC_BEST);
    for (int i = 0; i < CARDS; ++i) {
        contexts[i] = toy_context(i == CARD_ALONE ? 1 : 2, PM_ARITHMETIC_BEST);
        pm_context_set_strict(contexts[i], true);
        toy_expect(pm_backend_cuda_open(fake_gpu_api(), 0, &card_options[i], &backends[i], &error),
                   PM_OK, &error);
        (void)pm_context_set_backend(contexts[i], backends[i]);
    }
    as_it_is = backends[CARD_ALONE]->table;
    in_turn = *as_it_is;
    in_turn.describe = describe_in_turn;
    backends[CARD_ALONE]->table = &in_turn;
    return 0;
}

static int close_all(void **state) {
    (void)state;
    pm_context_destroy(cpu);
    for (int i = 0; i < CARDS; ++i) {
        pm_context_destroy(contexts[i]);
        pm_backend_cuda_close(backends[i]);
    }
    fake_gpu_expect_tidy();
    return 0;
}

/* What the plan says of the key is what the key holds on the card. */
static void expect_key_as_planned(const pm_key *key, const pm_report *report) {
    const struct pm_plan_buffer *planned = pm_plan_find(&report->plan.plan, PM_BUFFER_KEY_DEVICE);
    assert_non_null(planned);
    assert_int_equal(pm_ledger_pool_live_bytes(&key->ledger, PM_POOL_VRAM_0), planned->bytes);
}

static void evict(pm_key *key) {
    assert_int_equal(pm_resident_evict(key), 0);
    assert_int_equal(pm_ledger_pool_live_bytes(&key->ledger, PM_POOL_VRAM_0), 0);
}

/* ---- Choices -------------------------------------------------------------------------------- */

/* What needs the card lies within the time in which the proof had it to itself, all else outside.
 */
static void expect_turn(const pm_report *report, const pm_prove_stats *stats) {
    const pm_proof_plan *plan = pm_report_plan(report);
    assert_true(stats->device_taken_ns != 0);
    for (uint32_t i = 0; i < pm_proof_plan_n_steps(plan); ++i) {
        pm_planned_step planned;
        pm_measured_step measured;
        assert_int_equal(pm_proof_plan_step(plan, i, &planned), PM_OK);
        assert_int_equal(pm_report_step(report, i, &measured), PM_OK);
        if (planned.in_device_lock) {
            assert_true(measured.begin_ns + measured.lock_wait_ns <= stats->device_taken_ns ||
                        measured.begin_ns >= stats->device_taken_ns);
            assert_true(measured.end_ns > stats->device_taken_ns);
            assert_true(measured.end_ns <= stats->device_left_ns);
        } else {
            assert_true(measured.end_ns <= stats->device_taken_ns ||
                        measured.begin_ns >= stats->device_left_ns);
        }
    }
}

static uint32_t try_every_choice(const struct proof_case *subject, int card,
                                 const pm_proof *expected) {
    pm_report *report = toy_report();
    /* Without a divisor in common with the number of choices: every value of each comes up. */
    const uint32_t most = subject->n_vars > 500 ? 11 : strstr(subject->name, "mult3") ? 1 : 5;
    const uint32_t stride = PM_TEST_IS_SANITIZED ? 7 * most + 12 : most;
    uint32_t n_done = 0;
    for (uint32_t choice = (uint32_t)card % stride; choice < 3 * 3 * 4; choice += stride) {
        pm_error error = PM_ERROR_INIT;
        pm_proof proof;
        pm_prove_stats stats = {.struct_bytes = sizeof stats};
        const pm_prove_options options = {.struct_bytes = sizeof options,
                                          .form = choice % 3,
                                          .residency = choice / 3 % 3,
                                          .b2 = choice / 9,
                                          .no_self_verify = choice % 4 != 0,
                                          .report = report};
        evict(subject->key);
        const pm_status status =
            pm_prove_with_blinding(contexts[card], subject->key, subject->witness, &some_blinding,
                                   &options, NULL, &proof, &stats, &error);
        if (status == PM_INVALID_ARGUMENT) {
            assert_null(pm_report_plan(report)); /* a choice that this key does not have */
            continue;
        }
        toy_expect(status, PM_OK, &error);
        assert_memory_equal(&proof, expected, sizeof proof);
        report_expect_as_planned(report);
        expect_turn(report, &stats);
        expect_key_as_planned(subject->key, report);
        assert_true(options.residency == 0 || stats.residency == options.residency);
        assert_true(options.form == 0 || stats.form == options.form);
        ++n_done;
    }
    pm_report_destroy(report);
    return n_done;
}

static void every_choice_gives_the_proof_of_the_cpu(void **state) {
    (void)state;
    uint32_t n_cases = 0, n_proofs = 0;
    for (size_t i = 0; i < N_NAMES * CASE_BARE_PARAMS; ++i) {
        struct proof_case subject;
        pm_error error = PM_ERROR_INIT;
        pm_proof expected;
        if (!proof_case_open(cpu, names[i % N_NAMES], (enum proof_case_kind)(i / N_NAMES),
                             &subject)) {
            continue;
        }
        toy_expect(pm_prove_with_blinding(cpu, subject.key, subject.witness, &some_blinding, NULL,
                                          NULL, &expected, NULL, &error),
                   PM_OK, &error);
        for (int card = 0; card < CARDS; ++card) {
            const uint32_t n = try_every_choice(&subject, card, &expected);
            assert_true(n >= 1);
            n_proofs += n;
        }
        ++n_cases;
        proof_case_close(&subject);
    }
    print_message("  %u keys, %u proofs, each as planned\n", n_cases, n_proofs);
    assert_true(n_cases >= 9);
}

/* ---- Lent arrays ---------------------------------------------------------------------------- */

struct manner {
    pm_scalar_form form;
    enum lent_vectors vectors;
    uint32_t b2, vector_form, residency;
};

static void prove_by(const struct proof_case *subject, int card, const struct manner *manner,
                     pm_report *report, pm_proof *proof) {
    pm_error error = PM_ERROR_INIT;
    struct lent_arrays lent;
    pm_pending *pending = NULL;
    const pm_prove_options options = {.struct_bytes = sizeof options,
                                      .form = manner->vector_form,
                                      .residency = manner->residency,
                                      .b2 = manner->b2,
                                      .report = report};
    lent_arrays_make(subject, manner->form, manner->vectors, subject->kind == CASE_BARE_PARAMS,
                     &lent);
    toy_expect(pm_prove_start_assignment(contexts[card], subject->key, &lent.assignment, &options,
                                         NULL, &pending, &error),
               PM_OK, &error);
    lent_arrays_drop_densities(&lent);
    assert_true(lent_arrays_are_back(&lent, false)); /* nothing of the caller's is left */
    toy_expect(pm_pending_finish(pending, &some_blinding, NULL, proof, NULL, &error), PM_OK,
               &error);
    lent_arrays_close(&lent);
}

static uint32_t try_every_manner(const struct proof_case *subject, int card,
                                 const pm_proof *expected) {
    const bool is_bare = subject->kind == CASE_BARE_PARAMS;
    const uint32_t most = subject->n_vars > 500                                       ? 25
                          : card == CARD_NARROW && strstr(subject->name, "mult3_bls") ? 1
                                                                                      : 13;
    const uint32_t stride = PM_TEST_IS_SANITIZED ? 4 * most + 9 : most;
    uint32_t n_proofs = 0;
    pm_report *report = toy_report();
    for (uint32_t i = (uint32_t)card % stride; i < 2 * 3 * 2 * 3 * 3; i += stride) {
        const struct manner manner = {.form = (pm_scalar_form)(i % 2),
                                      .vectors = (enum lent_vectors)(i / 2 % 3),
                                      .b2 = i / 6 % 2 == 0 ? PM_B2_SCHEDULE_START
                                                           : PM_B2_SCHEDULE_COPY,
                                      .vector_form = i / 12 % 3,
                                      .residency = i / 36};
        pm_proof proof;
        if (is_bare && manner.vectors == LENT_NO_VECTORS) {
            continue;
        }
        evict(subject->key);
        prove_by(subject, card, &manner, report, &proof);
        assert_memory_equal(&proof, expected, sizeof proof);
        report_expect_as_planned(report);
        expect_key_as_planned(subject->key, report);
        ++n_proofs;
    }
    pm_report_destroy(report);
    return n_proofs;
}

/* The bare key's proof is that of its twin. */
static void every_assignment_gives_the_proof_of_the_cpu(void **state) {
    (void)state;
    uint32_t n_cases = 0, n_proofs = 0;
    for (size_t i = 0; i < N_NAMES * CASE_KINDS; ++i) {
        const enum proof_case_kind kind = (enum proof_case_kind)(i % CASE_KINDS);
        struct proof_case subject, twin;
        pm_error error = PM_ERROR_INIT;
        pm_proof expected;
        if (!proof_case_open(cpu, names[i / CASE_KINDS], kind, &subject)) {
            continue;
        }
        assert_true(proof_case_open(cpu, names[i / CASE_KINDS],
                                    kind == CASE_BARE_PARAMS ? CASE_PARAMS : kind, &twin));
        toy_expect(pm_prove_with_blinding(cpu, twin.key, twin.witness, &some_blinding, NULL, NULL,
                                          &expected, NULL, &error),
                   PM_OK, &error);
        for (int card = 0; card < CARDS; ++card) {
            n_proofs += try_every_manner(&subject, card, &expected);
        }
        ++n_cases;
        proof_case_close(&twin);
        proof_case_close(&subject);
    }
    print_message("  %u keys, %u proofs from lent arrays\n", n_cases, n_proofs);
    assert_true(n_cases >= 8);
}

/* ---- Degenerate circuits and scalars of all kinds ------------------------------------------- */

static void toy_circuits_give_the_proof_of_the_cpu(void **state) {
    (void)state;
    for (size_t i = 0; i < 2 * n_toy_cases; ++i) {
        struct toy toy;
        toy_open(cpu, i % 2 == 0 ? PM_CURVE_BN254 : PM_CURVE_BLS12_381, &toy_cases[i / 2], &toy);
        for (int card = 0; card < CARDS; ++card) {
            for (uint32_t choice = 0; choice < 9; ++choice) {
                pm_error error = PM_ERROR_INIT;
                pm_proof expected, proof;
                const pm_prove_options options = {
                    .struct_bytes = sizeof options, .form = choice % 3, .residency = choice / 3};
                toy_expect(pm_prove_with_blinding(cpu, toy.key, toy.witness, &some_blinding, NULL,
                                                  NULL, &expected, NULL, &error),
                           PM_OK, &error);
                toy_expect(pm_prove_with_blinding(contexts[card], toy.key, toy.witness,
                                                  &some_blinding, &options, NULL, &proof, NULL,
                                                  &error),
                           PM_OK, &error);
                assert_memory_equal(&proof, &expected, sizeof proof);
            }
        }
        toy_close(&toy);
    }
}

enum mix { MIX_ZERO, MIX_ONE, MIX_MINUS_ONE, MIX_SMALL, MIX_FULL, MIX_ANY, MIXES };

static void draw(struct seeded_random *random, pm_curve_id curve, enum mix mix, uint64_t i,
                 uint8_t *out) {
    const struct pm_field *fr = pm_field_fr(curve, PM_BODY_PORTABLE);
    uint64_t value[PM_FR_LIMBS_MAX] = {0}, wide[8];
    switch (mix == MIX_ANY ? (enum mix)seeded_random_below(random, MIX_ANY) : mix) {
    case MIX_ONE:
        value[0] = 1;
        break;
    case MIX_MINUS_ONE:
        memcpy(value, fr->modulus, sizeof value);
        --value[0];
        break;
    case MIX_SMALL:
        value[0] = seeded_random_below(random, 1 << 20);
        break;
    case MIX_FULL:
        for (int k = 0; k < 8; ++k) {
            wide[k] = seeded_random_u64(random);
        }
        fr->reduce_wide(value, wide);
        break;
    default:
        break;
    }
    if (i == 0) {
        memset(value, 0, sizeof value);
        value[0] = 1;
    }
    memcpy(out, value, sizeof value);
}

/* Witnesses that satisfy nothing: what is computed from them must be the same all the same. */
static void every_mix_of_scalars_gives_the_proof_of_the_cpu(void **state) {
    (void)state;
    struct seeded_random random = seeded_random_from_environment();
    static const char *const some[] = {"own_mimc", "own_mimc_bls", "mult3_bls"};
    for (size_t i = 0; i < 3 * 2 * MIXES; ++i) {
        struct proof_case subject;
        const enum mix mix = (enum mix)(i / 6);
        if (!proof_case_open(cpu, some[i % 3], (enum proof_case_kind)(i / 3 % 2), &subject)) {
            continue;
        }
        pm_error error = PM_ERROR_INIT;
        pm_witness *witness = NULL;
        for (uint64_t k = 0; k < subject.n_vars; ++k) {
            draw(&random, subject.curve, mix, k, subject.values + k * PM_FR_BYTES);
        }
        toy_expect(pm_witness_from_values(cpu, subject.curve, subject.values, subject.n_vars, NULL,
                                          &witness, &error),
                   PM_OK, &error);
        const pm_prove_options simple = {.struct_bytes = sizeof simple, .no_self_verify = 1};
        pm_proof expected, proof;
        toy_expect(pm_prove_with_blinding(cpu, subject.key, witness, &some_blinding, &simple, NULL,
                                          &expected, NULL, &error),
                   PM_OK, &error);
        const uint32_t step = PM_TEST_IS_SANITIZED ? 5 : 1;
        for (uint32_t choice = (uint32_t)i % step; choice < CARDS * 4; choice += step) {
            const pm_prove_options options = {.struct_bytes = sizeof options,
                                              .no_self_verify = 1,
                                              .form = 1 + choice / CARDS % 2,
                                              .residency = 1 + choice / CARDS / 2};
            toy_expect(pm_prove_with_blinding(contexts[choice % CARDS], subject.key, witness,
                                              &some_blinding, &options, NULL, &proof, NULL, &error),
                       PM_OK, &error);
            assert_memory_equal(&proof, &expected, sizeof proof);
        }
        pm_witness_destroy(witness);
        proof_case_close(&subject);
    }
}

/* ---- Several at once ------------------------------------------------------------------------ */

struct worker {
    const struct proof_case *subjects;
    const pm_proof *expected;
    uint64_t n;
    uint64_t n_wrong;
};

/* Two keys in turn, finished one after the other has been started. */
static void *work(void *argument) {
    struct worker *worker = argument;
    for (uint64_t i = 0; i < worker->n; ++i) {
        const struct proof_case *subject = &worker->subjects[i % 2];
        pm_error error = PM_ERROR_INIT;
        pm_proof proof;
        const pm_prove_options options = {.struct_bytes = sizeof options,
                                          .residency = 1 + (uint32_t)(i / 2 % 2)};
        const pm_status status =
            pm_prove_with_blinding(contexts[CARD_NARROW], subject->key, subject->witness,
                                   &some_blinding, &options, NULL, &proof, NULL, &error);
        worker->n_wrong +=
            status != PM_OK || memcmp(&proof, &worker->expected[i % 2], sizeof proof) != 0;
    }
    return NULL;
}

static void two_workers_share_a_card(void **state) {
    (void)state;
    struct proof_case subjects[2];
    pm_proof expected[2];
    pthread_t threads[3];
    struct worker workers[3];
    pm_error error = PM_ERROR_INIT;
    assert_true(proof_case_open(cpu, "own_mimc", CASE_ZKEY, &subjects[0]));
    assert_true(proof_case_open(cpu, "mult3_bls", CASE_PARAMS, &subjects[1]));
    for (int i = 0; i < 2; ++i) {
        toy_expect(pm_prove_with_blinding(cpu, subjects[i].key, subjects[i].witness, &some_blinding,
                                          NULL, NULL, &expected[i], NULL, &error),
                   PM_OK, &error);
    }
    for (int i = 0; i < 3; ++i) {
        workers[i] = (struct worker){.subjects = subjects, .expected = expected, .n = 8};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(workers[i].n_wrong, 0);
    }
    for (int i = 0; i < 2; ++i) {
        proof_case_close(&subjects[i]);
    }
}

static void *prove_for(void *argument) {
    struct worker *worker = argument;
    pm_error error = PM_ERROR_INIT;
    pm_proof proof;
    worker->n_wrong = pm_prove_with_blinding(contexts[CARD_NARROW], worker->subjects->key,
                                             worker->subjects->witness, &some_blinding, NULL, NULL,
                                             &proof, NULL, &error) != PM_OK ||
                      memcmp(&proof, worker->expected, sizeof proof) != 0;
    return NULL;
}

/* Somebody has the card: the next proof's scalars go up all the same, those of the one behind it do
 * not. */
static void scalars_go_up_beside_another_proof(void **state) {
    (void)state;
    struct proof_case subject;
    pm_proof expected;
    pthread_t threads[2];
    pm_error error = PM_ERROR_INIT;
    assert_true(proof_case_open(cpu, "own_mimc", CASE_ZKEY, &subject));
    toy_expect(pm_prove_with_blinding(cpu, subject.key, subject.witness, &some_blinding, NULL, NULL,
                                      &expected, NULL, &error),
               PM_OK, &error);
    struct worker workers[2] = {{.subjects = &subject, .expected = &expected},
                                {.subjects = &subject, .expected = &expected}};
    (void)prove_for(&workers[0]); /* brings the key */
    assert_int_equal(workers[0].n_wrong, 0);
    struct pm_backend *backend = backends[CARD_NARROW];
    toy_expect(backend->table->lock(backend, NULL, NULL, &error), PM_OK, &error);
    fake_gpu_heal();
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(pthread_create(&threads[i], NULL, prove_for, &workers[i]), 0);
    }
    const struct timespec wait = {.tv_nsec = 2000000};
    for (int i = 0; i < 5000 && fake_gpu_n_packed() < subject.n_vars; ++i) {
        (void)nanosleep(&wait, NULL);
    }
    for (int i = 0; i < 25; ++i) {
        (void)nanosleep(&wait, NULL);
    }
    assert_int_equal(fake_gpu_n_packed(), subject.n_vars);
    backend->table->unlock(backend);
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(workers[i].n_wrong, 0);
    }
    assert_int_equal(fake_gpu_n_packed(), 2 * subject.n_vars);
    proof_case_close(&subject);
}

/* Reports A6 and RC5 for the card: what was held before is held afterwards, and nothing else. */
static void many_proofs_leave_memory_as_it_was(void **state) {
    (void)state;
    struct proof_case subject;
    uint64_t live_bytes[PM_GPU_MECHANISMS], peak_bytes = 0, n_allocations = 0;
    assert_true(proof_case_open(cpu, "own_mimc", CASE_ZKEY, &subject));
    for (uint64_t i = 0; i < n_rounds; ++i) {
        pm_error error = PM_ERROR_INIT;
        pm_proof proof;
        const uint64_t before = fake_gpu.n_allocations;
        toy_expect(pm_prove(contexts[CARD_WIDE], subject.key, subject.witness, NULL, NULL, &proof,
                            NULL, &error),
                   PM_OK, &error);
        if (i == 1) {
            memcpy(live_bytes, fake_gpu.live_bytes, sizeof live_bytes);
            peak_bytes = fake_gpu.peak_bytes[PM_GPU_STREAM];
            n_allocations = fake_gpu.n_allocations - before;
        } else if (i > 1) {
            assert_memory_equal(live_bytes, fake_gpu.live_bytes, sizeof live_bytes);
            assert_int_equal(fake_gpu.peak_bytes[PM_GPU_STREAM], peak_bytes);
            assert_int_equal(fake_gpu.n_allocations - before, n_allocations);
        }
    }
    proof_case_close(&subject);
    assert_int_equal(fake_gpu.n_violations, 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_choice_gives_the_proof_of_the_cpu),
        cmocka_unit_test(every_assignment_gives_the_proof_of_the_cpu),
        cmocka_unit_test(toy_circuits_give_the_proof_of_the_cpu),
        cmocka_unit_test(every_mix_of_scalars_gives_the_proof_of_the_cpu),
        cmocka_unit_test(two_workers_share_a_card),
        cmocka_unit_test(scalars_go_up_beside_another_proof),
        cmocka_unit_test(many_proofs_leave_memory_as_it_was),
    };
    if (argc > 1) {
        n_rounds = strtoull(argv[1], NULL, 10);
    }
    return cmocka_run_group_tests(tests, open_all, close_all);
}
