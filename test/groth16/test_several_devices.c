/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * One proof on several devices, which are fakes (support/fake_gpu.h): it is the CPU's, bit for bit,
 * each device holds what its plan says and its share of the key, and whatever fails on whichever
 * device ends it cleanly, or goes on without that device.
 */
#include "api/api_pending.h"
#include "groth16/backend_cuda.h"
#include "groth16/plan_share.h"
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static const char *const names[] = {"mult3",    "mult3_bls",    "nopriv",    "nopriv_bls",
                                    "one",      "one_bls",      "own_mimc",  "own_mimc_bls",
                                    "multipub", "multipub_bls", "poseidon2", "poseidon2_bls"};
#define N_NAMES (sizeof names / sizeof names[0])

static const struct pm_blinding some_blinding = {.r = {0x1234, 5, 6, 7}, .s = {0x9876, 5, 4, 3}};

enum { N_CARDS = 3 };
/* Wide ones, and such that small circuits take many windows and chunks. */
enum { WIDE, NARROW, WIDTHS };
static const struct pm_cuda_options card_options[WIDTHS] = {
    [NARROW] = {.window_bytes = 12288, .pack_scalars = 64}};

static pm_context *cpu;
static struct pm_backend *backends[WIDTHS][N_CARDS];
/* By width and number of devices. */
static pm_context *contexts[WIDTHS][N_CARDS + 1];

static int open_all(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    fake_gpu.n_devices = N_CARDS;
    cpu = toy_context(2, PM_ARITHMETIC_BEST);
    for (int width = 0; width < WIDTHS; ++width) {
        for (uint32_t i = 0; i < N_CARDS; ++i) {
            toy_expect(pm_backend_cuda_open(fake_gpu_api(), i, &card_options[width],
                                            &backends[width][i], &error),
                       PM_OK, &error);
        }
        for (uint32_t n = 1; n <= N_CARDS; ++n) {
            contexts[width][n] = toy_context(2, PM_ARITHMETIC_BEST);
            pm_context_set_strict(contexts[width][n], true);
            assert_int_equal(pm_context_set_backends(contexts[width][n], backends[width], n, NULL),
                             PM_OK);
        }
    }
    return 0;
}

static int close_all(void **state) {
    (void)state;
    for (int width = 0; width < WIDTHS; ++width) {
        for (uint32_t n = 1; n <= N_CARDS; ++n) {
            pm_context_destroy(contexts[width][n]);
        }
        for (uint32_t i = 0; i < N_CARDS; ++i) {
            pm_backend_cuda_close(backends[width][i]);
        }
    }
    pm_context_destroy(cpu);
    fake_gpu_expect_tidy();
    return 0;
}

static void evict(pm_key *key) {
    assert_int_equal(pm_resident_evict(key), 0);
    for (uint32_t i = 0; i < N_CARDS; ++i) {
        assert_int_equal(pm_ledger_pool_live_bytes(&key->ledger, PM_POOL_VRAM_0 + i), 0);
        assert_int_equal(fake_gpu.live_on[i], 0);
    }
}

static pm_proof proof_of_cpu(const struct proof_case *subject) {
    pm_error error = PM_ERROR_INIT;
    pm_proof proof;
    toy_expect(pm_prove_with_blinding(cpu, subject->key, subject->witness, &some_blinding, NULL,
                                      NULL, &proof, NULL, &error),
               PM_OK, &error);
    return proof;
}

/* ---- Shares ---------------------------------------------------------------------------------- */

static uint64_t work_of(const struct pm_plan_share *share) {
    return 10 * (share->points[PM_SHARED_A].n + share->points[PM_SHARED_B1].n +
                 share->points[PM_SHARED_L].n) +
           30 * share->points[PM_SHARED_B2].n;
}

/* Each point once, in order; further devices have as much to do, the first one not more. */
static void expect_a_partition(const struct pm_plan_sizes *sizes, uint32_t n, bool with_b2) {
    struct pm_plan_share shares[PM_DEVICES_MAX];
    uint64_t next[PM_SHARED_SUMS] = {0}, least = UINT64_MAX, most = 0;
    pm_plan_shares(sizes, n, with_b2, shares);
    for (uint32_t i = 0; i < n; ++i) {
        assert_true(shares[i].is_cut && shares[i].is_further == (i != 0));
        for (int sum = 0; sum < PM_SHARED_SUMS; ++sum) {
            const struct pm_plan_range *range = &shares[i].points[sum];
            assert_true(range->n == 0 ? range->first == 0 : range->first == next[sum]);
            next[sum] += range->n;
        }
        if (i != 0) {
            least = work_of(&shares[i]) < least ? work_of(&shares[i]) : least;
            most = work_of(&shares[i]) > most ? work_of(&shares[i]) : most;
        }
    }
    for (int sum = 0; sum < PM_SHARED_SUMS; ++sum) {
        const bool is_theirs = with_b2 || sum != PM_SHARED_B2;
        assert_int_equal(next[sum],
                         is_theirs ? pm_plan_query_points(sizes, (enum pm_shared_sum)sum) : 0);
    }
    /* A cut may fall into a point of each of the four queries. */
    assert_true(most - least <= 4 * 30 + n);
    const uint64_t first = 10 * sizes->n_h + (UINT64_C(3) << sizes->log_n);
    assert_true(work_of(&shares[0]) == 0 || work_of(&shares[0]) + first <= most + 4 * 30 + n);
}

static void shares_are_a_partition(void **state) {
    (void)state;
    struct seeded_random random = seeded_random_from_environment();
    for (int i = 0; i < 2000; ++i) {
        const uint32_t log_n = (uint32_t)seeded_random_below(&random, 32);
        const uint64_t n = UINT64_C(1) << log_n;
        const uint64_t n_vars = 1 + seeded_random_below(&random, 2 * n);
        const struct pm_plan_sizes sizes = {.reduction = (enum pm_reduction)(i % 2),
                                            .log_n = log_n,
                                            .n_vars = n_vars,
                                            .n_inputs = 1,
                                            .n_a = seeded_random_below(&random, n_vars + 1),
                                            .n_b = seeded_random_below(&random, n_vars + 1),
                                            .n_l = n_vars - 1,
                                            .n_h = n - (uint64_t)(i % 2)};
        const uint32_t n_devices = 2 + (uint32_t)seeded_random_below(&random, PM_DEVICES_MAX - 1);
        expect_a_partition(&sizes, n_devices, i % 3 != 0);
    }
    struct pm_plan_share alone;
    const struct pm_plan_sizes sizes = {.n_vars = 5};
    pm_plan_shares(&sizes, 1, true, &alone);
    assert_true(!alone.is_cut && pm_plan_share_has_sums(&alone));
}

/* The point of each variable that has one, and what comes behind the last. */
static void points_are_found_in_a_density(void **state) {
    (void)state;
    struct seeded_random random = seeded_random_from_environment();
    for (uint64_t n = 0; n < 1500; n += 1 + n / 3) {
        struct pm_density density = {.n = 0};
        uint64_t k = 0;
        assert_int_equal(pm_density_create(n, "a density", NULL, &density, NULL), PM_OK);
        for (uint64_t i = 0; i < n; ++i) {
            if (seeded_random_below(&random, 3) == 0) {
                pm_density_set(&density, i);
            }
        }
        pm_density_count(&density);
        for (uint64_t i = 0; i < n; ++i) {
            if (pm_density_has(&density, i)) {
                assert_int_equal(pm_density_find(&density, k++), i);
            }
        }
        assert_int_equal(pm_density_find(&density, k), n);
        pm_density_destroy(&density);
    }
}

/* ---- The same proof -------------------------------------------------------------------------- */

/* Each device's ledger is its plan's, and holds its share of the key and no more. */
static void expect_shares_as_planned(const pm_key *key, const pm_report *report, uint32_t n) {
    assert_int_equal(pm_report_n_parts(report), n - 1);
    assert_int_equal(pm_proof_plan_n_parts(pm_report_plan(report)), n - 1);
    for (uint32_t i = 0; i < n; ++i) {
        const pm_report *of_one = i == 0 ? report : pm_report_part(report, i - 1);
        const struct pm_plan *plan = &of_one->plan.plan;
        const struct pm_plan_buffer *on_device = pm_plan_find(plan, PM_BUFFER_KEY_DEVICE);
        assert_int_equal(plan->device_pool, PM_POOL_VRAM_0 + i);
        assert_true(plan->sizes.share.is_cut && plan->sizes.share.is_further == (i != 0));
        report_expect_as_planned(of_one);
        assert_non_null(on_device);
        assert_int_equal(pm_ledger_pool_live_bytes(&key->ledger, PM_POOL_VRAM_0 + i),
                         on_device->bytes);
        if (i != 0) {
            assert_ptr_equal(pm_proof_plan_part(pm_report_plan(report), i - 1),
                             pm_report_plan(of_one));
        }
    }
    assert_null(pm_report_part(report, n - 1));
    assert_null(pm_proof_plan_part(pm_report_plan(report), n - 1));
}

static uint32_t try_choices(const struct proof_case *subject, const pm_proof *expected,
                            uint32_t first_choice, uint32_t stride) {
    pm_report *report = toy_report();
    uint32_t n_done = 0;
    for (uint32_t i = first_choice; i < 4 * 3 * 4; i += stride) {
        const int width = (int)(i % 2);
        const uint32_t n = 2 + i / 2 % 2, residency = i / 4 % 3, b2 = i / 12;
        pm_error error = PM_ERROR_INIT;
        pm_proof proof;
        pm_prove_stats stats = {.struct_bytes = sizeof stats};
        const pm_prove_options options = {.struct_bytes = sizeof options,
                                          .form = i % 3,
                                          .residency = residency,
                                          .b2 = b2,
                                          .no_self_verify = i % 5 != 0,
                                          .all_devices = 1,
                                          .report = report};
        evict(subject->key);
        fake_gpu_heal();
        const pm_status status =
            pm_prove_with_blinding(contexts[width][n], subject->key, subject->witness,
                                   &some_blinding, &options, NULL, &proof, &stats, &error);
        if (status == PM_INVALID_ARGUMENT) {
            continue; /* a choice that this key does not have */
        }
        toy_expect(status, PM_OK, &error);
        assert_memory_equal(&proof, expected, sizeof proof);
        /* Of the smallest circuits nothing is left for some of the devices. */
        const uint32_t n_parts = pm_report_n_parts(report);
        assert_true(n_parts < n && (n_parts == n - 1 || subject->n_vars < 8));
        if (n_parts == n - 1) {
            expect_shares_as_planned(subject->key, report, n);
            for (uint32_t card = 0; card < n; ++card) {
                assert_true(fake_gpu.n_sums_on[card] >= 1);
            }
            assert_non_null(strstr(stats.device_why, "sums are made beside it by cuda:1"));
            ++n_done;
        }
    }
    pm_report_destroy(report);
    evict(subject->key);
    return n_done;
}

static void every_choice_gives_the_proof_of_the_cpu(void **state) {
    (void)state;
    uint32_t n_cases = 0, n_proofs = 0;
    for (uint32_t i = 0; i < N_NAMES * CASE_BARE_PARAMS; ++i) {
        struct proof_case subject;
        if (!proof_case_open(cpu, names[i % N_NAMES], (enum proof_case_kind)(i / N_NAMES),
                             &subject)) {
            continue;
        }
        const pm_proof expected = proof_of_cpu(&subject);
        const uint32_t stride = subject.n_vars > 100 ? (PM_TEST_IS_SANITIZED ? 23 : 5) : 1;
        n_proofs += try_choices(&subject, &expected, i % stride, stride);
        ++n_cases;
        proof_case_close(&subject);
    }
    print_message("  %u keys, %u proofs on two and three devices, each as planned\n", n_cases,
                  n_proofs);
    assert_true(n_cases >= 8 && n_proofs >= 100);
}

static void toy_circuits_give_the_proof_of_the_cpu(void **state) {
    (void)state;
    uint32_t n_shared = 0;
    for (size_t i = 0; i < 2 * n_toy_cases; ++i) {
        struct toy toy;
        pm_report *report = toy_report();
        toy_open(cpu, i % 2 == 0 ? PM_CURVE_BN254 : PM_CURVE_BLS12_381, &toy_cases[i / 2], &toy);
        for (uint32_t choice = 0; choice < 2 * 2 * 3; ++choice) {
            pm_error error = PM_ERROR_INIT;
            pm_proof expected, proof;
            const pm_prove_options options = {.struct_bytes = sizeof options,
                                              .residency = choice / 4,
                                              .all_devices = 1,
                                              .report = report};
            toy_expect(pm_prove_with_blinding(cpu, toy.key, toy.witness, &some_blinding, NULL, NULL,
                                              &expected, NULL, &error),
                       PM_OK, &error);
            toy_expect(pm_prove_with_blinding(contexts[choice % 2][2 + choice / 2 % 2], toy.key,
                                              toy.witness, &some_blinding, &options, NULL, &proof,
                                              NULL, &error),
                       PM_OK, &error);
            assert_memory_equal(&proof, &expected, sizeof proof);
            n_shared += pm_report_n_parts(report) != 0;
        }
        pm_report_destroy(report);
        toy_close(&toy);
    }
    assert_true(n_shared > n_toy_cases);
}

/* ---- Lent arrays ----------------------------------------------------------------------------- */

static void prove_lent(const struct proof_case *subject, uint32_t i, const pm_proof *expected,
                       pm_report *report) {
    pm_error error = PM_ERROR_INIT;
    struct lent_arrays lent;
    pm_pending *pending = NULL;
    pm_proof proof;
    const uint32_t n = 2 + i % 2;
    const pm_prove_options options = {.struct_bytes = sizeof options,
                                      .form = i / 2 % 3,
                                      .residency = i % 3,
                                      .b2 =
                                          i / 3 % 2 == 0 ? PM_B2_SCHEDULE_ANY : PM_B2_SCHEDULE_COPY,
                                      .all_devices = 1,
                                      .report = report};
    const bool is_bare = subject->kind == CASE_BARE_PARAMS;
    lent_arrays_make(subject, (pm_scalar_form)(i % 2),
                     is_bare || i % 4 == 1 ? LENT_A_B_C : LENT_NO_VECTORS, is_bare, &lent);
    toy_expect(pm_prove_start_assignment(contexts[i / 2 % 2][n], subject->key, &lent.assignment,
                                         &options, NULL, &pending, &error),
               PM_OK, &error);
    lent_arrays_drop_densities(&lent);
    assert_true(lent_arrays_are_back(&lent, false));
    toy_expect(pm_pending_finish(pending, &some_blinding, NULL, &proof, NULL, &error), PM_OK,
               &error);
    lent_arrays_close(&lent);
    assert_memory_equal(&proof, expected, sizeof proof);
    if (pm_report_n_parts(report) == n - 1) {
        expect_shares_as_planned(subject->key, report, n);
    } else {
        assert_true(subject->n_vars < 8);
    }
    evict(subject->key);
}

/* Each array is given back once, by whoever is the last to have read it. */
static void every_assignment_gives_the_proof_of_the_cpu(void **state) {
    (void)state;
    pm_report *report = toy_report();
    uint32_t n_proofs = 0;
    for (uint32_t i = 0; i < N_NAMES; ++i) {
        for (int kind = CASE_ZKEY; kind < CASE_KINDS; ++kind) {
            struct proof_case subject, with_witness;
            pm_proof expected;
            if (!proof_case_open(cpu, names[i], (enum proof_case_kind)kind, &subject)) {
                continue;
            }
            /* A bare key is proved with by the witness when it has its constraint system. */
            if (kind == CASE_BARE_PARAMS) {
                assert_true(proof_case_open(cpu, names[i], CASE_PARAMS, &with_witness));
                expected = proof_of_cpu(&with_witness);
                proof_case_close(&with_witness);
            } else {
                expected = proof_of_cpu(&subject);
            }
            const uint32_t stride = subject.n_vars > 100 ? 5 : 1;
            for (uint32_t choice = i % stride; choice < 12; choice += stride, ++n_proofs) {
                prove_lent(&subject, choice, &expected, report);
            }
            proof_case_close(&subject);
        }
    }
    pm_report_destroy(report);
    print_message("  %u proofs of lent arrays\n", n_proofs);
    assert_true(n_proofs >= 60);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_a_partition),
        cmocka_unit_test(points_are_found_in_a_density),
        cmocka_unit_test(every_choice_gives_the_proof_of_the_cpu),
        cmocka_unit_test(toy_circuits_give_the_proof_of_the_cpu),
        cmocka_unit_test(every_assignment_gives_the_proof_of_the_cpu),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
