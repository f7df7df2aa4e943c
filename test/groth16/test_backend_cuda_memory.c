/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Whose memory of a card is whose: plans that fit what is there, sums side by side or one by one,
 * other keys, a pool that keeps what it has got, two proofs at a time, and what happens before a
 * proof has begun.
 */
#include "api/api_pending.h"
#include "groth16/backend_cuda.h"
#include "support/fake_gpu.h"
#include "support/proof_case.h"
#include "support/proof_check.h"
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

#define GIB (UINT64_C(1) << 30)

static const struct pm_blinding some_blinding = {.r = {0x1234, 5, 6, 7}, .s = {0x9876, 5, 4, 3}};
static const struct pm_cuda_options narrow = {.window_bytes = 12288, .pack_scalars = 64};

static pm_context *cpu, *card;
static struct pm_backend *backend;
enum { SMALL, LARGE, BARE, SUBJECTS };
static struct proof_case subjects[SUBJECTS];
static pm_proof expected[SUBJECTS]; /* of the bare key none */

/* A fresh card for each test: its pool keeps nothing. */
static int open_card(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    fake_gpu_heal();
    memset(fake_gpu.peak_bytes, 0, sizeof fake_gpu.peak_bytes);
    card = toy_context(1, PM_ARITHMETIC_BEST);
    pm_context_set_strict(card, true);
    toy_expect(pm_backend_cuda_open(fake_gpu_api(), 0, &narrow, &backend, &error), PM_OK, &error);
    (void)pm_context_set_backend(card, backend);
    return 0;
}

static int close_card(void **state) {
    (void)state;
    fake_gpu_heal();
    for (int i = 0; i < SUBJECTS; ++i) {
        assert_int_equal(pm_resident_evict(subjects[i].key), 0);
    }
    pm_context_destroy(card);
    pm_backend_cuda_close(backend);
    fake_gpu_expect_tidy();
    return 0;
}

static int open_all(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    cpu = toy_context(1, PM_ARITHMETIC_BEST);
    const bool opened = proof_case_open(cpu, "mult3_bls", CASE_PARAMS, &subjects[SMALL]) &&
                        proof_case_open(cpu, "poseidon2", CASE_ZKEY, &subjects[LARGE]) &&
                        proof_case_open(cpu, "mult3_bls", CASE_BARE_PARAMS, &subjects[BARE]);
    for (int i = 0; opened && i < BARE; ++i) {
        toy_expect(pm_prove_with_blinding(cpu, subjects[i].key, subjects[i].witness, &some_blinding,
                                          NULL, NULL, &expected[i], NULL, &error),
                   PM_OK, &error);
    }
    return opened ? 0 : -1;
}

static int close_all(void **state) {
    (void)state;
    for (int i = 0; i < SUBJECTS; ++i) {
        proof_case_close(&subjects[i]);
    }
    pm_context_destroy(cpu);
    return 0;
}

static pm_status prove(int which, uint32_t residency, pm_report *report, pm_prove_stats *stats,
                       pm_error *error) {
    const pm_prove_options options = {.struct_bytes = sizeof options,
                                      .no_self_verify = 1,
                                      .residency = residency,
                                      .report = report};
    pm_proof proof;
    const pm_status status =
        pm_prove_with_blinding(card, subjects[which].key, subjects[which].witness, &some_blinding,
                               &options, NULL, &proof, stats, error);
    if (status == PM_OK) {
        assert_memory_equal(&proof, &expected[which], sizeof proof);
    }
    return status;
}

static void prove_well(int which, uint32_t residency) {
    pm_error error = PM_ERROR_INIT;
    toy_expect(prove(which, residency, NULL, NULL, &error), PM_OK, &error);
}

static void evict(int which) {
    assert_int_equal(pm_resident_evict(subjects[which].key), 0);
}

/* Of the device, key included, with all the memory that is of use. */
static uint64_t planned_bytes(int which, uint32_t residency) {
    const pm_plan_options options = {
        .struct_bytes = sizeof options, .residency = residency, .no_self_verify = 1};
    pm_proof_plan *plan = NULL;
    pm_error error = PM_ERROR_INIT;
    toy_expect(pm_proof_plan_of_key(card, subjects[which].key, &options, &plan, &error), PM_OK,
               &error);
    const uint64_t bytes = plan->plan.peak_bytes[PM_POOL_VRAM_0];
    pm_proof_plan_destroy(plan);
    return bytes;
}

static bool has_step(const struct pm_plan *plan, enum pm_step_id id) {
    for (uint32_t i = 0; i < plan->n_steps; ++i) {
        if (plan->steps[i].id == id) {
            return true;
        }
    }
    return false;
}

/* ---- Plans ---------------------------------------------------------------------------------- */

static pm_status plan_partition(uint64_t limit_bytes, enum pm_vectors_from vectors,
                                struct pm_plan *plan, pm_error *error) {
    const struct pm_cuda_options options = {.memory_limit_bytes = limit_bytes};
    struct pm_plan_sizes sizes = pm_plan_preset_find("porep-32g")->sizes;
    const struct pm_plan_choices choices = {.vectors = vectors,
                                            .caller_brings_c = vectors == PM_VECTORS_FROM_CALLER};
    struct pm_plan_device device;
    struct pm_backend *limited = NULL;
    pm_plan_sizes_add_key(&sizes);
    toy_expect(pm_backend_cuda_open(fake_gpu_api(), 0, &options, &limited, error), PM_OK, error);
    limited->table->describe(limited, NULL, &device);
    const pm_status status = pm_plan_make(&sizes, &device, &choices, plan, error);
    pm_backend_cuda_close(limited);
    return status;
}

/* A partition of 2^27 rows. With 24 GiB its sums are made side by side, in panes long enough to be
 * worth it, and the next one's w has room; with 16 it still fits. */
static void a_partition_fits_small_cards(void **state) {
    (void)state;
    static struct pm_plan plan;
    pm_error error = PM_ERROR_INIT;
    toy_expect(plan_partition(24 * GIB, PM_VECTORS_FROM_W, &plan, &error), PM_OK, &error);
    assert_int_equal(plan.choices.key, PM_KEY_STREAMED);
    assert_int_equal(plan.choices.b2, PM_B2_IN_START);
    assert_true(has_step(&plan, PM_STEP_MSM_ALL) && !has_step(&plan, PM_STEP_MSM_H));
    assert_int_equal(plan.steps[0].id, PM_STEP_LOAD_WITNESS);
    assert_true(plan.steps[0].is_beside);
    assert_true(plan.peak_bytes[PM_POOL_VRAM_0] + pm_plan_beside_bytes(&plan) <= 24 * GIB);
    assert_true(pm_plan_find(&plan, PM_BUFFER_KEY_WINDOW)->bytes >= 5 * GIB);
    assert_true(pm_plan_find(&plan, PM_BUFFER_SCRATCH_MSM_ALL)->bytes <= 3 * GIB);
    const struct pm_plan_buffer *rows = pm_plan_find(&plan, PM_BUFFER_MATRIX_WINDOW);
    assert_true(rows->bytes > plan.sizes.n_nonzeros[2] * 8 + (UINT64_C(4) << 27)); /* all of C */
    assert_int_equal(plan.steps[rows->first_step].id, PM_STEP_PRODUCTS);
    assert_int_equal(plan.steps[rows->last_step].id, PM_STEP_RECOMPUTE_C);
    const struct pm_plan_buffer *packed = pm_plan_find(&plan, PM_BUFFER_PACKED);
    assert_true(packed->first_step == 0 && packed->last_step == 0 && packed->secret);

    toy_expect(plan_partition(16 * GIB, PM_VECTORS_FROM_W, &plan, &error), PM_OK, &error);
    assert_true(has_step(&plan, PM_STEP_MSM_ALL) && !plan.steps[0].is_beside);
    assert_true(plan.peak_bytes[PM_POOL_VRAM_0] <= 16 * GIB);
    assert_int_equal(pm_plan_find(&plan, PM_BUFFER_MATRIX_WINDOW)->bytes, UINT64_C(64) << 20);
    toy_expect(plan_partition(16 * GIB - (UINT64_C(64) << 20), PM_VECTORS_FROM_W, &plan, &error),
               PM_OVER_BUDGET, &error);
    toy_expect(plan_partition(16 * GIB, PM_VECTORS_FROM_CALLER, &plan, &error), PM_OK, &error);
    assert_true(has_step(&plan, PM_STEP_MSM_ALL));
    toy_expect(plan_partition(12 * GIB + GIB / 4, PM_VECTORS_FROM_CALLER, &plan, &error), PM_OK,
               &error);
    /* With all the memory there is the key stays, and its sums are made one after the other. */
    toy_expect(plan_partition(0, PM_VECTORS_FROM_W, &plan, &error), PM_OK, &error);
    assert_true(plan.choices.key == PM_KEY_RESIDENT && has_step(&plan, PM_STEP_MSM_H));
}

/* From the caller's a, b and c. */
static pm_status prove_lent(int which, pm_report *report, pm_error *error) {
    const pm_prove_options options = {.struct_bytes = sizeof options,
                                      .no_self_verify = 1,
                                      .residency = PM_RESIDENCY_STREAM,
                                      .report = report};
    pm_pending *pending = NULL;
    struct lent_arrays lent;
    pm_proof proof;
    lent_arrays_make(&subjects[which], PM_SCALAR_CANONICAL, LENT_A_B_C, false, &lent);
    pm_status status = pm_prove_start_assignment(card, subjects[which].key, &lent.assignment,
                                                 &options, NULL, &pending, error);
    if (status == PM_OK) {
        status = pm_pending_finish(pending, &some_blinding, NULL, &proof, NULL, error);
        assert_memory_equal(&proof, &expected[which], sizeof proof);
    }
    lent_arrays_close(&lent);
    return status;
}

/* The backend as it is, and one that cannot make sums side by side. */
static const struct pm_backend_table *as_it_is;
static struct pm_backend_table in_turn;

static void describe_in_turn(const struct pm_backend *described, struct pm_team *team,
                             struct pm_plan_device *device) {
    as_it_is->describe(described, team, device);
    device->sums_together = false;
}

/* The sums of a streamed key side by side, or one by one: the proof is the same. */
static void sums_are_the_same_side_by_side(void **state) {
    (void)state;
    pm_report *report = NULL;
    assert_int_equal(pm_report_create(&report, NULL), PM_OK);
    as_it_is = backend->table;
    in_turn = *as_it_is;
    in_turn.describe = describe_in_turn;
    for (int i = 0; i < 2 * 2 * BARE; ++i) {
        const int which = i / 4;
        pm_error error = PM_ERROR_INIT;
        toy_expect(i % 2 == 0 ? prove(which, PM_RESIDENCY_STREAM, report, NULL, &error)
                              : prove_lent(which, report, &error),
                   PM_OK, &error);
        report_expect_as_planned(report);
        assert_true(has_step(&report->plan.plan, PM_STEP_MSM_ALL) == (i / 2 % 2 == 0));
        assert_true(has_step(&report->plan.plan, PM_STEP_MSM_H) == (i / 2 % 2 != 0));
        if (i % 2 != 0) {
            backend->table = i % 4 == 1 ? &in_turn : as_it_is;
        }
    }
    pm_report_destroy(report);
}

/* Whether points are page-locked is asked of each query, however many pieces it comes in. */
static void nobody_asks_of_each_piece(void **state) {
    (void)state;
    uint64_t n_questions[2], n_sums[2];
    for (int i = 0; i < 2; ++i) {
        const struct pm_cuda_options options = {.window_bytes = i == 0 ? 12288 : 1 << 20};
        struct pm_backend *other = NULL;
        pm_error error = PM_ERROR_INIT;
        toy_expect(pm_backend_cuda_open(fake_gpu_api(), 0, &options, &other, &error), PM_OK,
                   &error);
        (void)pm_context_set_backend(card, other);
        prove_well(LARGE, PM_RESIDENCY_STREAM);
        fake_gpu_heal();
        prove_well(LARGE, PM_RESIDENCY_STREAM);
        n_questions[i] = fake_gpu.n_pinned_questions;
        n_sums[i] = fake_gpu.n_sums;
        evict(LARGE);
        (void)pm_context_set_backend(card, backend);
        pm_backend_cuda_close(other);
    }
    assert_true(n_sums[0] > 2 * n_sums[1]);
    assert_int_equal(n_questions[0], n_questions[1]);
}

/* ---- Other keys ----------------------------------------------------------------------------- */

/* What another key holds is not there for a proof: it is refused before any work, unless whoever
 * asks takes the other key away first. */
static void other_keys_keep_their_memory(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    const uint64_t small_bytes = planned_bytes(SMALL, PM_RESIDENCY_KEEP);
    prove_well(LARGE, PM_RESIDENCY_KEEP);
    const uint64_t large_bytes = fake_gpu.live_bytes[PM_GPU_ONCE];
    assert_true(large_bytes > small_bytes);
    /* The large key again, on a card that has made no proof: its pool has got nothing. */
    evict(LARGE);
    pm_backend_cuda_close(backend);
    toy_expect(pm_backend_cuda_open(fake_gpu_api(), 0, &narrow, &backend, &error), PM_OK, &error);
    (void)pm_context_set_backend(card, backend);
    struct pm_resident *resident = NULL;
    static struct pm_plan plan;
    struct pm_plan_sizes sizes;
    const struct pm_plan_choices choices = {.key = PM_KEY_RESIDENT};
    const struct pm_device_keys none = {.may_go = false};
    struct pm_device *device = card->devices.device[0];
    pm_proving_key_sizes(&subjects[LARGE].key->proving_key, &sizes);
    toy_expect(pm_device_plan(device, 1, &sizes, &none, &choices, &plan, &error), PM_OK, &error);
    toy_expect(pm_resident_acquire(subjects[LARGE].key, device, &plan, NULL, &resident, &error),
               PM_OK, &error);
    pm_resident_give_up(subjects[LARGE].key, resident);
    fake_gpu.total_bytes = large_bytes + small_bytes * 3 / 4;
    const uint64_t n_allocations = fake_gpu.n_allocations;
    toy_expect(prove(SMALL, PM_RESIDENCY_KEEP, NULL, NULL, &error), PM_OVER_BUDGET, &error);
    assert_int_equal(fake_gpu.n_allocations, n_allocations);
    pm_plan_options options = {.struct_bytes = sizeof options, .residency = PM_RESIDENCY_KEEP};
    pm_proof_plan *planned = NULL;
    toy_expect(pm_proof_plan_of_key(card, subjects[SMALL].key, &options, &planned, &error),
               PM_OVER_BUDGET, &error);
    options.evicts_keys = 1;
    toy_expect(pm_proof_plan_of_key(card, subjects[SMALL].key, &options, &planned, &error), PM_OK,
               &error);
    pm_proof_plan_destroy(planned);
    evict(LARGE);
    prove_well(SMALL, PM_RESIDENCY_KEEP);
    prove_well(SMALL, PM_RESIDENCY_KEEP); /* its own memory it has twice: no more is needed */
}

/* A key for which nothing is free gets what the pool keeps of the proofs before. */
static void a_key_gets_what_the_pool_keeps(void **state) {
    (void)state;
    prove_well(LARGE, PM_RESIDENCY_KEEP);
    evict(LARGE);
    const uint64_t kept_bytes = fake_gpu.peak_bytes[PM_GPU_STREAM];
    assert_true(kept_bytes > 2 * planned_bytes(SMALL, PM_RESIDENCY_KEEP));
    fake_gpu.total_bytes = kept_bytes + 256;
    fake_gpu.n_closed = 0;
    prove_well(SMALL, PM_RESIDENCY_KEEP);
    assert_int_equal(fake_gpu.n_closed, 1);
    prove_well(SMALL, PM_RESIDENCY_KEEP);
    assert_int_equal(fake_gpu.n_closed, 1);
}

/* ---- Two at a time -------------------------------------------------------------------------- */

/* A plan that holds so much beside another proof, or while it has the device. */
static struct pm_plan plan_of(uint64_t bytes, bool is_beside) {
    return (struct pm_plan){
        .device_pool = PM_POOL_VRAM_0,
        .n_steps = 1,
        .n_buffers = 1,
        .steps = {{.in_start = true, .in_device_lock = !is_beside, .is_beside = is_beside}},
        .buffers = {{.bytes = bytes, .pool = PM_POOL_VRAM_0, .lifetime = PM_LIFETIME_STEP}}};
}

struct taker {
    struct pm_plan plan;
    bool is_beside;
    bool has_it; /* atomic */
    pthread_t thread;
};

static void *take_lock(void *argument) {
    struct taker *taker = argument;
    const struct pm_backend_table *table = backend->table;
    pm_error error = PM_ERROR_INIT;
    const pm_status status = taker->is_beside
                                 ? table->lock_beside(backend, &taker->plan, NULL, &error)
                                 : table->lock(backend, &taker->plan, NULL, &error);
    if (status == PM_OK) {
        __atomic_store_n(&taker->has_it, true, __ATOMIC_RELEASE);
        (taker->is_beside ? table->unlock_beside : table->unlock)(backend);
    }
    return NULL;
}

static void begin_taking(struct taker *taker, uint64_t bytes, bool is_beside) {
    *taker = (struct taker){.plan = plan_of(bytes, is_beside), .is_beside = is_beside};
    assert_int_equal(pthread_create(&taker->thread, NULL, take_lock, taker), 0);
}

static bool has_it_soon(const struct taker *taker) {
    const struct timespec wait = {.tv_nsec = 2000000};
    for (int i = 0; i < 25 && !__atomic_load_n(&taker->has_it, __ATOMIC_ACQUIRE); ++i) {
        (void)nanosleep(&wait, NULL);
    }
    return __atomic_load_n(&taker->has_it, __ATOMIC_ACQUIRE);
}

static void join_taker(struct taker *taker) {
    assert_int_equal(pthread_join(taker->thread, NULL), 0);
    assert_true(taker->has_it);
}

/* A larger key's witness does not take what the proof at work still needs, and a proof does not
 * begin on what the next one's witness has. */
static void two_proofs_fit_or_wait(void **state) {
    (void)state;
    const struct pm_backend_table *table = backend->table;
    struct taker taker;
    pm_error error = PM_ERROR_INIT;
    fake_gpu.total_bytes = 1 << 20;
    const struct pm_plan holder = plan_of(600 << 10, false), next = plan_of(500 << 10, true);
    toy_expect(table->lock(backend, &holder, NULL, &error), PM_OK, &error);
    begin_taking(&taker, 500 << 10, true);
    assert_false(has_it_soon(&taker));
    table->unlock(backend);
    join_taker(&taker);

    toy_expect(table->lock(backend, &holder, NULL, &error), PM_OK, &error);
    begin_taking(&taker, 400 << 10, true); /* that fits */
    join_taker(&taker);
    table->unlock(backend);

    toy_expect(table->lock_beside(backend, &next, NULL, &error), PM_OK, &error);
    begin_taking(&taker, 600 << 10, false);
    assert_false(has_it_soon(&taker));
    toy_expect(table->lock(backend, &holder, NULL, &error), PM_OK, &error); /* its own turn */
    table->unlock_beside(backend);
    struct taker after; /* would fit, but the one that was refused comes first */
    begin_taking(&after, 1 << 10, true);
    assert_false(has_it_soon(&after));
    table->unlock(backend);
    join_taker(&taker);
    join_taker(&after);

    /* A wait for room can be cancelled. */
    const volatile int cancel = 1;
    const pm_control control = {.struct_bytes = sizeof control, .cancel = &cancel};
    toy_expect(table->lock(backend, &holder, NULL, &error), PM_OK, &error);
    toy_expect(table->lock_beside(backend, &next, &control, &error), PM_CANCELLED, &error);
    table->unlock(backend);
    toy_expect(table->lock_beside(backend, &next, NULL, &error), PM_OK, &error);
    table->unlock_beside(backend);
}

/* All page-locked memory stands in a plan, or in the ledger of the key that is brought. */
static void staging_is_in_the_plan(void **state) {
    (void)state;
    pm_report *report = NULL;
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_report_create(&report, NULL), PM_OK);
    for (int i = 0; i < 2; ++i) {
        toy_expect(prove(SMALL, PM_RESIDENCY_KEEP, report, NULL, &error), PM_OK, &error);
        const struct pm_plan *plan = &report->plan.plan;
        const struct pm_plan_buffer *staging = pm_plan_find(plan, PM_BUFFER_STAGING);
        assert_true(plan->steps[0].is_beside);
        assert_int_equal(staging->lifetime, PM_LIFETIME_RESIDENT);
        assert_int_equal(staging->bytes, fake_gpu.live_bytes[PM_GPU_PINNED]);
        const struct pm_ledger *ledger = &subjects[SMALL].key->ledger;
        assert_int_equal(pm_ledger_pool_live_bytes(ledger, PM_POOL_PINNED), 0);
        const uint64_t key_way_bytes = pm_ledger_pool_peak_bytes(ledger, PM_POOL_PINNED);
        assert_true(key_way_bytes > 0);
        assert_int_equal(fake_gpu.peak_bytes[PM_GPU_PINNED],
                         staging->bytes > key_way_bytes ? staging->bytes : key_way_bytes);
        fake_gpu.peak_bytes[PM_GPU_PINNED] = fake_gpu.live_bytes[PM_GPU_PINNED];
    }
    pm_report_destroy(report);
}

/* ---- Before a proof has begun --------------------------------------------------------------- */

struct sayings {
    uint32_t n;
    char last[512];
};

static void listen(void *user, pm_log_level level, const char *sentence) {
    struct sayings *sayings = user;
    if (level == PM_LOG_WARNING) {
        ++sayings->n;
        (void)snprintf(sayings->last, sizeof sayings->last, "%s", sentence);
    }
}

static pm_status prove_freely(int which, pm_prove_stats *stats, struct sayings *sayings,
                              pm_error *error) {
    const pm_control control = {.struct_bytes = sizeof control, .log = listen, .user = sayings};
    const pm_prove_options options = {.struct_bytes = sizeof options, .no_self_verify = 1};
    pm_pending *pending = NULL;
    struct lent_arrays lent;
    pm_proof proof;
    *sayings = (struct sayings){.n = 0};
    if (which != BARE) {
        return pm_prove(card, subjects[which].key, subjects[which].witness, &options, &control,
                        &proof, stats, error);
    }
    lent_arrays_make(&subjects[which], PM_SCALAR_MONTGOMERY, LENT_A_B_C, true, &lent);
    pm_status status = pm_prove_start_assignment(card, subjects[which].key, &lent.assignment,
                                                 &options, &control, &pending, error);
    if (status == PM_OK) {
        status = pm_prove_finish(pending, NULL, &proof, stats, error);
    }
    if (status == PM_OK) {
        assert_int_equal(proof_case_verify(&subjects[which], &proof), PM_OK);
    }
    lent_arrays_close(&lent); /* each is back once, whoever made the proof */
    return status;
}

/* Where the context may choose, a card that cannot even be given the key leaves the proof to the
 * CPU, which says so. Afterwards it is chosen again. */
static void auto_proves_all_the_same(void **state) {
    (void)state;
    static const struct pm_device_costs slow_cpu = {.cpu_fixed_ns = 50000000};
    uint32_t n_fell_back = 0, n_failed = 0;
    card->devices.mode = PM_DEVICES_AUTO;
    card->devices.costs = &slow_cpu;
    for (int i = 0; i < 2 * SUBJECTS; ++i) {
        const int which = i / 2;
        for (uint64_t n = 1;; ++n) {
            pm_prove_stats stats = {.struct_bytes = sizeof stats};
            struct sayings sayings;
            pm_error error = PM_ERROR_INIT;
            evict(which);
            fake_gpu.fail_allocation_at = i % 2 == 0 ? n : 0;
            fake_gpu.fail_call_at = i % 2 != 0 ? n : 0;
            const pm_status status = prove_freely(which, &stats, &sayings, &error);
            const bool was_met = fake_gpu.fail_allocation_at == 0 && fake_gpu.fail_call_at == 0;
            fake_gpu_heal();
            if (status == PM_OK && strcmp(stats.device, "cpu") == 0) {
                assert_non_null(strstr(stats.device_why, "the card cannot: "));
                assert_int_equal(sayings.n, 1);
                assert_non_null(strstr(sayings.last, "the CPU makes this proof: "));
                ++n_fell_back;
            } else {
                assert_true(status == PM_OK || status == PM_DEVICE || status == PM_NO_MEMORY);
                n_failed += status != PM_OK;
            }
            assert_false(fake_gpu.is_locked);
            assert_int_equal(fake_gpu.live_bytes[PM_GPU_STREAM], 0);
            if (!was_met || n_failed > 40 * (uint32_t)(i + 1)) {
                break;
            }
        }
    }
    print_message("  %u by the CPU, %u failed later\n", n_fell_back, n_failed);
    assert_true(n_fell_back >= 20 && n_failed >= 20);
}

/* One error is no lost card. A card that fails at everything is one, even if nobody has said so. */
static void only_a_lost_card_is_given_up(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    prove_well(SMALL, PM_RESIDENCY_KEEP);
    struct pm_device *device = card->devices.device[0];
    fake_gpu.fail_call_at = 20;
    toy_expect(prove(SMALL, PM_RESIDENCY_KEEP, NULL, NULL, &error), PM_DEVICE, &error);
    assert_false(pm_device_has_failed(device));
    prove_well(SMALL, PM_RESIDENCY_KEEP);
    fake_gpu.fail_call_at = 20;
    fake_gpu.goes_bad_silently = true;
    toy_expect(prove(SMALL, PM_RESIDENCY_KEEP, NULL, NULL, &error), PM_DEVICE, &error);
    assert_true(pm_device_has_failed(device));
    const uint64_t n_calls = fake_gpu.n_calls;
    toy_expect(prove(SMALL, PM_RESIDENCY_KEEP, NULL, NULL, &error), PM_DEVICE, &error);
    assert_int_equal(fake_gpu.n_calls, n_calls);
}

#define ON_A_CARD(test) cmocka_unit_test_setup_teardown(test, open_card, close_card)

int main(void) {
    const struct CMUnitTest tests[] = {
        ON_A_CARD(a_partition_fits_small_cards),   ON_A_CARD(sums_are_the_same_side_by_side),
        ON_A_CARD(nobody_asks_of_each_piece),      ON_A_CARD(other_keys_keep_their_memory),
        ON_A_CARD(a_key_gets_what_the_pool_keeps), ON_A_CARD(two_proofs_fit_or_wait),
        ON_A_CARD(staging_is_in_the_plan),         ON_A_CARD(auto_proves_all_the_same),
        ON_A_CARD(only_a_lost_card_is_given_up),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
