/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Which device makes a proof: what can be asked for, what is said when it is not there, how auto
 * chooses, and several at once. Reports A2, D4 and D5.
 */
#include "api/api_internal.h"
#include "support/proof_case.h"
#include "support/proof_check.h"
#include "support/toy_circuits.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { N_DEVICES = 2, N_THREADS = 16, N_ROUNDS = 4 };

static struct proof_case subject;
static pm_context *plain;
static struct fake_device devices[N_DEVICES];

static int open_all(void **state) {
    (void)state;
    plain = toy_context(2, PM_ARITHMETIC_BEST);
    return proof_case_open(plain, "mult3", CASE_ZKEY, &subject) ? 0 : -1;
}

static int close_all(void **state) {
    (void)state;
    proof_case_close(&subject);
    pm_context_destroy(plain);
    return 0;
}

/* Each with memory of its own. */
static pm_context *open_on_fakes(uint32_t n) {
    struct pm_backend *backends[N_DEVICES];
    pm_context *context = toy_context(2, PM_ARITHMETIC_BEST);
    pm_context_set_strict(context, true);
    for (uint32_t i = 0; i < n; ++i) {
        fake_device_init(&devices[i], i % 2 != 0);
        devices[i].backend.pool = PM_POOL_VRAM_0 + i;
        backends[i] = &devices[i].backend;
    }
    assert_int_equal(pm_context_set_backends(context, backends, n, NULL), PM_OK);
    return context;
}

static void close_fakes(pm_context *context, uint32_t n) {
    (void)pm_resident_evict(subject.key);
    pm_context_destroy(context);
    for (uint32_t i = 0; i < n; ++i) {
        fake_device_close(&devices[i]);
    }
}

/* What the log said. */
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

static pm_prove_stats prove_on(pm_context *context, struct sayings *sayings, pm_status expected) {
    const pm_control control = {.struct_bytes = sizeof control, .log = listen, .user = sayings};
    pm_prove_stats stats = {.struct_bytes = sizeof stats};
    pm_error error = PM_ERROR_INIT;
    pm_proof proof;
    toy_expect(
        pm_prove(context, subject.key, subject.witness, NULL, &control, &proof, &stats, &error),
        expected, &error);
    if (expected == PM_OK) {
        assert_int_equal(proof_case_verify(&subject, &proof), PM_OK);
    }
    return stats;
}

/* ---- What can be asked for ------------------------------------------------------------------ */

static void words_are_read(void **state) {
    (void)state;
    struct pm_devices_wish wish;
    assert_int_equal(pm_devices_read(NULL, &wish, NULL), PM_OK);
    assert_int_equal(wish.mode, PM_DEVICES_CPU);
    assert_int_equal(pm_devices_read("cpu", &wish, NULL), PM_OK);
    assert_int_equal(wish.mode, PM_DEVICES_CPU);
    assert_int_equal(pm_devices_read("auto", &wish, NULL), PM_OK);
    assert_int_equal(wish.mode, PM_DEVICES_AUTO);
    assert_int_equal(pm_devices_read("cuda", &wish, NULL), PM_OK);
    assert_true(wish.mode == PM_DEVICES_CARDS && wish.n == 1 && wish.ordinal[0] == 0);
    assert_int_equal(pm_devices_read("cuda:3", &wish, NULL), PM_OK);
    assert_true(wish.mode == PM_DEVICES_CARDS && wish.n == 1 && wish.ordinal[0] == 3);
    assert_int_equal(pm_devices_read("cuda:1,0,15", &wish, NULL), PM_OK);
    assert_true(wish.n == 3 && wish.ordinal[0] == 1 && wish.ordinal[1] == 0 &&
                wish.ordinal[2] == 15);
    assert_int_equal(pm_devices_read("cuda:0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15", &wish, NULL),
                     PM_OK);
    assert_int_equal(wish.n, PM_DEVICES_MAX);
}

static void D5_other_words_are_refused_by_name(void **state) {
    (void)state;
    static const char *const words[] = {"",
                                        "gpu",
                                        "CUDA",
                                        "cuda:",
                                        "cuda:x",
                                        "cuda:-1",
                                        "cuda:0,",
                                        "cuda:,0",
                                        "cuda:0,0",
                                        "cuda:16",
                                        "cuda:0 ",
                                        "cuda 0",
                                        "cuda:0;1",
                                        "cuda:0,1,0",
                                        "cpu:0",
                                        "auto:0",
                                        "cpu ",
                                        "cuda:0x1",
                                        "0",
                                        "false",
                                        "cuda:4294967296",
                                        "cuda:+1",
                                        "cuda:0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,0"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i) {
        const pm_context_options options = {.struct_bytes = sizeof options, .device = words[i]};
        pm_context *context = NULL;
        pm_error error = PM_ERROR_INIT;
        char named[64];
        (void)snprintf(named, sizeof named, "\"%.60s\"", words[i]);
        assert_int_equal(pm_context_create(&options, &context, &error), PM_INVALID_ARGUMENT);
        assert_non_null(strstr(error.message, named));
        assert_null(context);
    }
}

/* A caller of before there were devices. */
static void shorter_options_mean_the_cpu(void **state) {
    (void)state;
    struct {
        uint32_t struct_bytes, threads, arithmetic, behind[9];
    } options = {.struct_bytes = 12, .threads = 1};
    pm_context *context = NULL;
    pm_error error = PM_ERROR_INIT;
    memset(options.behind, 0xff, sizeof options.behind);
    toy_expect(
        pm_context_create((const pm_context_options *)(const void *)&options, &context, &error),
        PM_OK, &error);
    struct sayings sayings = {0};
    const pm_prove_stats stats = prove_on(context, &sayings, PM_OK);
    assert_string_equal(stats.device, "cpu");
    assert_int_equal(sayings.n, 0);
    pm_context_destroy(context);
}

/* ---- What is not there ---------------------------------------------------------------------- */

#define NOWHERE "/nowhere/libproofmill-gpu.so.0"

static void A2_D4_an_absent_device_is_an_error(void **state) {
    (void)state;
    static const char *const words[] = {"cuda", "cuda:1", "cuda:0,1"};
    for (size_t i = 0; i < 3; ++i) {
        const pm_context_options options = {
            .struct_bytes = sizeof options, .device = words[i], .gpu_library = NOWHERE};
        pm_context *context = NULL;
        pm_error error = PM_ERROR_INIT;
        assert_int_equal(pm_context_create(&options, &context, &error), PM_NO_DEVICE);
        assert_int_equal(error.status, PM_NO_DEVICE);
        assert_non_null(strstr(error.message, NOWHERE));
        assert_null(context);
        assert_int_equal(pm_context_create(&options, &context, NULL), PM_NO_DEVICE);
    }
}

static void A2_auto_falls_back_and_says_so_once(void **state) {
    (void)state;
    const pm_context_options options = {
        .struct_bytes = sizeof options, .threads = 1, .device = "auto", .gpu_library = NOWHERE};
    for (int i = 0; i < 2; ++i) { /* each context says it */
        pm_context *context = NULL;
        pm_error error = PM_ERROR_INIT;
        struct sayings sayings = {0};
        toy_expect(pm_context_create(&options, &context, &error), PM_OK, &error);
        pm_proof proof; /* nobody listens yet */
        toy_expect(
            pm_prove(context, subject.key, subject.witness, NULL, NULL, &proof, NULL, &error),
            PM_OK, &error);
        for (int k = 0; k < 3; ++k) {
            const pm_prove_stats stats = prove_on(context, &sayings, PM_OK);
            assert_string_equal(stats.device, "cpu");
            assert_non_null(strstr(stats.device_why, NOWHERE));
            assert_int_equal(stats.device_peak_bytes, 0);
            assert_int_equal(sayings.n, 1);
            assert_non_null(strstr(sayings.last, NOWHERE));
        }
        pm_context_destroy(context);
    }
}

static void cards_are_not_counted_without_their_library(void **state) {
    (void)state;
    uint32_t n = 77;
    pm_error error = PM_ERROR_INIT;
    pm_device_facts facts = {.struct_bytes = sizeof facts};
    assert_int_equal(pm_device_count(NOWHERE, &n, &error), PM_NO_DEVICE);
    assert_non_null(strstr(error.message, NOWHERE));
    assert_int_equal(n, 77);
    assert_int_equal(pm_device_describe(NOWHERE, 0, &facts, &error), PM_NO_DEVICE);
    assert_int_equal(facts.total_bytes, 0);
    assert_int_equal(pm_device_count(NOWHERE, NULL, &error), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_device_describe(NOWHERE, 0, NULL, &error), PM_INVALID_ARGUMENT);
}

/* ---- auto ----------------------------------------------------------------------------------- */

/* One fake card, open or not, and what things take. */
static pm_context *open_auto(const struct pm_device_costs *costs) {
    pm_context *context = open_on_fakes(1);
    context->devices.mode = PM_DEVICES_AUTO;
    context->devices.costs = costs;
    return context;
}

static void auto_takes_what_is_quicker(void **state) {
    (void)state;
    const struct pm_device_costs slow_cpu = {.cpu_fixed_ns = 50000000, .card_fixed_ns = 1000000};
    const struct pm_device_costs slow_card = {.cpu_fixed_ns = 1000000, .card_fixed_ns = 50000000};
    struct sayings sayings = {0};
    pm_context *context = open_auto(&slow_cpu);
    pm_prove_stats stats = prove_on(context, &sayings, PM_OK);
    assert_string_equal(stats.device, "fake:0");
    assert_non_null(strstr(stats.device_why, "1 ms, the CPU some 50"));
    assert_true(devices[0].n_steps > 0 && stats.device_peak_bytes > 0);
    const uint64_t n_steps = devices[0].n_steps;
    context->devices.costs = &slow_card;
    stats = prove_on(context, &sayings, PM_OK);
    assert_string_equal(stats.device, "cpu");
    assert_non_null(strstr(stats.device_why, "some 1 ms here, a card some 50"));
    assert_int_equal(devices[0].n_steps, n_steps);
    assert_int_equal(sayings.n, 0);
    close_fakes(context, 1);
}

/* A key is brought to the card when that is worth it, or when it would have been all along. */
static void auto_adds_up_what_it_forgoes(void **state) {
    (void)state;
    pm_context *context = open_auto(NULL);
    struct pm_plan_sizes sizes;
    pm_proving_key_sizes(&subject.key->proving_key, &sizes);
    struct pm_device_costs costs = {.cpu_fixed_ns = 40000000, .card_fixed_ns = 1000000};
    costs.card_ps_a_key_byte = 1000; /* so that the estimate shows how many bytes there are */
    const uint64_t key_bytes =
        pm_device_estimate_costs(&costs, &sizes, 2, PM_BODY_PORTABLE).card_key_ns;
    assert_true(key_bytes > 0);
    costs.card_ps_a_key_byte = UINT64_C(100000000) * 1000 / key_bytes; /* 100 ms for the key */
    context->devices.costs = &costs;
    struct sayings sayings = {0};
    for (int i = 0; i < 2; ++i) { /* 39 ms are lost each time */
        const pm_prove_stats stats = prove_on(context, &sayings, PM_OK);
        assert_string_equal(stats.device, "cpu");
        assert_non_null(strstr(stats.device_why, "before it can begin"));
    }
    for (int i = 0; i < 3; ++i) { /* with the third it is more than 100; then the key is there */
        const pm_prove_stats stats = prove_on(context, &sayings, PM_OK);
        assert_string_equal(stats.device, "fake:0");
        assert_int_equal(devices[0].n_keys_opened, 1);
    }
    (void)pm_resident_evict(subject.key);
    assert_string_equal(prove_on(context, &sayings, PM_OK).device, "cpu");
    close_fakes(context, 1);
}

/* A plan is for the device that a proof would get, and changes nothing. */
static void auto_plans_as_it_proves(void **state) {
    (void)state;
    const struct pm_device_costs costs[] = {{.cpu_fixed_ns = 50000000, .card_fixed_ns = 1000000},
                                            {.cpu_fixed_ns = 1000000, .card_fixed_ns = 50000000}};
    struct sayings sayings = {0};
    pm_context *context = open_auto(NULL);
    for (size_t i = 0; i < 2; ++i) {
        pm_proof_plan *plan = NULL, *of_sizes = NULL;
        pm_error error = PM_ERROR_INIT;
        pm_plan_options choices = {.struct_bytes = sizeof choices}, same = choices;
        pm_circuit_sizes sizes = {.struct_bytes = sizeof sizes};
        context->devices.costs = &costs[i];
        toy_expect(pm_proof_plan_of_key(context, subject.key, NULL, &plan, &error), PM_OK, &error);
        assert_int_equal(pm_proof_plan_choices(plan, &choices), PM_OK);
        assert_int_equal(pm_proof_plan_sizes(plan, &sizes), PM_OK);
        toy_expect(pm_proof_plan_of_sizes(context, &sizes, NULL, &of_sizes, &error), PM_OK, &error);
        assert_int_equal(pm_proof_plan_choices(of_sizes, &same), PM_OK);
        assert_string_equal(choices.device, same.device);
        assert_string_equal(choices.device, i == 0 ? "fake:0" : "cpu");
        const pm_prove_stats stats = prove_on(context, &sayings, PM_OK);
        assert_string_equal(stats.device, choices.device);
        assert_string_equal(stats.device_why, pm_proof_plan_device_why(plan));
        pm_proof_plan_destroy(plan);
        pm_proof_plan_destroy(of_sizes);
    }
    assert_int_equal(context->devices.device[0]->n_proofs, 0);
    close_fakes(context, 1);
}

static void auto_passes_over_a_card_that_is_too_small(void **state) {
    (void)state;
    const struct pm_device_costs slow_cpu = {.cpu_fixed_ns = 50000000};
    struct sayings sayings = {0};
    pm_context *context = open_auto(&slow_cpu);
    devices[0].limit_bytes = 4096;
    const pm_prove_stats stats = prove_on(context, &sayings, PM_OK);
    assert_string_equal(stats.device, "cpu");
    assert_non_null(strstr(stats.device_why, "the card cannot"));
    assert_int_equal(sayings.n, 1);
    assert_int_equal(devices[0].n_steps, 0);
    assert_int_equal(context->devices.device[0]->n_proofs, 0);
    pm_proof_plan *plan = NULL;
    assert_int_equal(pm_proof_plan_of_key(context, subject.key, NULL, &plan, NULL), PM_OK);
    assert_non_null(strstr(pm_proof_plan_device_why(plan), "the card cannot"));
    pm_proof_plan_destroy(plan);
    close_fakes(context, 1);
}

static void auto_leaves_a_card_that_has_failed(void **state) {
    (void)state;
    const struct pm_device_costs slow_cpu = {.cpu_fixed_ns = 50000000};
    struct sayings sayings = {0};
    pm_context *context = open_auto(&slow_cpu);
    devices[0].fail_step = PM_STEP_MSM_A;
    (void)prove_on(context, &sayings, PM_DEVICE);
    fake_device_heal(&devices[0]);
    const pm_prove_stats stats = prove_on(context, &sayings, PM_OK);
    assert_string_equal(stats.device, "cpu");
    assert_non_null(strstr(stats.device_why, "failed before"));
    close_fakes(context, 1);
}

/* The table has a size from which a card is quicker, and its figures grow as they should. */
static void costs_make_sense(void **state) {
    (void)state;
    for (int curve = PM_CURVE_BN254; curve <= PM_CURVE_BLS12_381; ++curve) {
        const struct pm_device_costs *costs = pm_device_costs_of((pm_curve_id)curve);
        bool was_quicker = false;
        struct pm_device_estimate before = {0};
        for (uint32_t log_n = 0; log_n <= PM_LOG_N_MAX; ++log_n) {
            const struct pm_plan_sizes sizes = {.curve = (pm_curve_id)curve, .log_n = log_n};
            const struct pm_device_estimate estimate =
                pm_device_estimate_costs(costs, &sizes, 16, PM_BODY_IFMA);
            const bool is_quicker = estimate.card_ns < estimate.cpu_ns;
            assert_true(estimate.cpu_ns >= before.cpu_ns && estimate.card_ns >= before.card_ns);
            assert_true(is_quicker || !was_quicker);
            assert_true(pm_device_estimate_costs(costs, &sizes, 16, PM_BODY_PORTABLE).cpu_ns >=
                        estimate.cpu_ns);
            was_quicker = is_quicker;
            before = estimate;
        }
        assert_true(was_quicker);
    }
}

/* ---- Several -------------------------------------------------------------------------------- */

struct member {
    pm_context *context;
    uint32_t n_on[N_DEVICES];
    const char *failure;
};

/* Everything of the proof's was on one device, and as planned. */
static void look_at(struct member *member, const pm_report *report) {
    const uint32_t n = pm_report_n_entries(report);
    const char *own = NULL;
    for (uint32_t i = 0; i < n; ++i) {
        pm_measured_entry entry;
        if (pm_report_entry(report, i, &entry) != PM_OK || strncmp(entry.pool, "vram:", 5) != 0) {
            continue;
        }
        if (own != NULL && strcmp(own, entry.pool) != 0) {
            member->failure = "a proof was on two devices";
        }
        own = entry.pool;
    }
    if (own == NULL) {
        member->failure = "a proof was on no device";
    } else {
        ++member->n_on[strcmp(own, "vram:1") == 0];
    }
    if (pm_report_n_divergences(report) != 0) {
        member->failure = "a proof left its plan";
    }
}

static void *member_main(void *argument) {
    struct member *member = argument;
    pm_report *report = NULL;
    if (pm_report_create(&report, NULL) != PM_OK) {
        member->failure = "no report";
        return NULL;
    }
    const pm_prove_options options = {.struct_bytes = sizeof options, .report = report};
    for (int i = 0; i < N_ROUNDS && member->failure == NULL; ++i) {
        pm_proof proof;
        const pm_status status = pm_prove(member->context, subject.key, subject.witness, &options,
                                          NULL, &proof, NULL, NULL);
        if (status != PM_OK) {
            member->failure = pm_status_name(status);
        } else if (proof_case_verify(&subject, &proof) != PM_OK) {
            member->failure = "a proof does not verify";
        } else {
            look_at(member, report);
        }
    }
    pm_report_destroy(report);
    return NULL;
}

static void several_devices_share_the_proofs(void **state) {
    (void)state;
    static struct member members[N_THREADS];
    pthread_t threads[N_THREADS];
    uint32_t n_on[N_DEVICES] = {0};
    pm_context *context = open_on_fakes(N_DEVICES);
    devices[0].latency_ns = devices[1].latency_ns = 100000;
    for (size_t i = 0; i < N_THREADS; ++i) {
        members[i] = (struct member){.context = context};
        assert_int_equal(pthread_create(&threads[i], NULL, member_main, &members[i]), 0);
    }
    for (size_t i = 0; i < N_THREADS; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        if (members[i].failure != NULL) {
            fail_msg("thread %zu: %s", i, members[i].failure);
        }
        n_on[0] += members[i].n_on[0];
        n_on[1] += members[i].n_on[1];
    }
    print_message("  %u and %u proofs\n", n_on[0], n_on[1]);
    assert_int_equal(n_on[0] + n_on[1], N_THREADS * N_ROUNDS);
    assert_true(n_on[0] > N_ROUNDS && n_on[1] > N_ROUNDS);
    assert_int_equal(devices[0].n_keys_opened, 1);
    assert_int_equal(devices[1].n_keys_opened, 1);
    for (uint32_t i = 0; i < N_DEVICES; ++i) {
        assert_int_equal(context->devices.device[i]->n_proofs, 0);
    }
    close_fakes(context, N_DEVICES);
}

/* One after another they stay where the key is. */
static void one_proof_at_a_time_needs_one_device(void **state) {
    (void)state;
    struct sayings sayings = {0};
    pm_context *context = open_on_fakes(N_DEVICES);
    for (int i = 0; i < 3; ++i) {
        const pm_prove_stats stats = prove_on(context, &sayings, PM_OK);
        assert_non_null(strstr(stats.device_why, "of the 2 that were asked for"));
    }
    assert_int_equal(devices[0].n_keys_opened, 1);
    assert_int_equal(devices[1].n_keys_opened, 0);
    close_fakes(context, N_DEVICES);
}

/* A proof that is pending needs its device no more, so it stands in no queue. */
static void pending_proofs_stand_in_no_queue(void **state) {
    (void)state;
    pm_context *context = open_on_fakes(N_DEVICES);
    pm_pending *pending[4];
    pm_error error = PM_ERROR_INIT;
    for (int i = 0; i < 4; ++i) {
        toy_expect(
            pm_prove_start(context, subject.key, subject.witness, NULL, NULL, &pending[i], &error),
            PM_OK, &error);
        assert_int_equal(context->devices.device[0]->n_proofs, 0);
    }
    assert_int_equal(devices[1].n_keys_opened, 0);
    for (int i = 0; i < 4; ++i) {
        pm_pending_drop(pending[i]);
    }
    close_fakes(context, N_DEVICES);
}

static void a_device_that_failed_is_not_chosen_again(void **state) {
    (void)state;
    struct sayings sayings = {0};
    pm_context *context = open_on_fakes(N_DEVICES);
    devices[0].fail_step = PM_STEP_MSM_L;
    (void)prove_on(context, &sayings, PM_DEVICE);
    const uint64_t n_locks = devices[0].n_locks;
    fake_device_heal(&devices[0]);
    for (int i = 0; i < 4; ++i) {
        (void)prove_on(context, &sayings, PM_OK);
    }
    assert_int_equal(devices[0].n_locks, n_locks);
    assert_int_equal(devices[1].n_keys_opened, 1);
    /* When none is left that has not failed, they are tried: what is broken for good says so. */
    devices[1].fail_step = PM_STEP_MSM_L;
    (void)prove_on(context, &sayings, PM_DEVICE);
    (void)prove_on(context, &sayings, PM_OK);
    assert_true(devices[0].n_locks > n_locks);
    close_fakes(context, N_DEVICES);
}

/* What the caller has done wrong, or cancelled, is not the device's fault. */
static void other_failures_are_not_the_devices(void **state) {
    (void)state;
    struct sayings sayings = {0};
    pm_context *context = open_on_fakes(N_DEVICES);
    const int stop = 1;
    const pm_control control = {.struct_bytes = sizeof control, .cancel = &stop};
    pm_proof proof;
    assert_int_equal(
        pm_prove(context, subject.key, subject.witness, NULL, &control, &proof, NULL, NULL),
        PM_CANCELLED);
    devices[0].fail_allocation_at = 1;
    (void)prove_on(context, &sayings, PM_NO_MEMORY);
    fake_device_heal(&devices[0]);
    assert_false(pm_device_has_failed(context->devices.device[0]));
    const uint64_t n_locks = devices[0].n_locks;
    (void)prove_on(context, &sayings, PM_OK);
    assert_true(devices[0].n_locks > n_locks);
    close_fakes(context, N_DEVICES);
}

/* A key may live longer than the context that brought it to a device. */
static void a_key_outlives_its_context(void **state) {
    (void)state;
    struct sayings sayings = {0};
    pm_context *context = open_on_fakes(1);
    (void)prove_on(context, &sayings, PM_OK);
    pm_context_destroy(context);
    assert_int_equal(devices[0].n_keys_opened, 1);
    pm_key_facts facts = {.struct_bytes = sizeof facts};
    assert_int_equal(pm_key_get_facts(subject.key, &facts), PM_OK);
    assert_int_equal(facts.device_bytes, devices[0].live_bytes[PM_POOL_VRAM_0]);
    assert_true(facts.device_bytes > 0);
    assert_int_equal(pm_resident_evict(subject.key), 0);
    assert_int_equal(pm_key_get_facts(subject.key, &facts), PM_OK);
    assert_int_equal(facts.device_bytes, 0);
    fake_device_close(&devices[0]);
}

/* ---- The process's cards ----------------------------------------------------------------------
 */

#if defined(PM_FAKE_GPU_LIBRARY)

static pm_status open_card(const char *device, uint64_t vram_bytes, pm_context **context,
                           pm_error *error) {
    const pm_context_options options = {.struct_bytes = sizeof options,
                                        .threads = 1,
                                        .device = device,
                                        .gpu_library = PM_FAKE_GPU_LIBRARY,
                                        .vram_bytes = vram_bytes};
    return pm_context_create(&options, context, error);
}

static void cards_are_counted_and_described(void **state) {
    (void)state;
    uint32_t n = 0;
    pm_error error = PM_ERROR_INIT;
    struct {
        pm_device_facts facts;
        uint8_t behind[8];
    } whole = {.facts = {.struct_bytes = sizeof whole.facts}}, part = whole;
    part.facts.struct_bytes = offsetof(pm_device_facts, major);
    toy_expect(pm_device_count(PM_FAKE_GPU_LIBRARY, &n, &error), PM_OK, &error);
    assert_int_equal(n, 1);
    toy_expect(pm_device_describe(PM_FAKE_GPU_LIBRARY, 0, &whole.facts, &error), PM_OK, &error);
    assert_string_equal(whole.facts.name, "fake gpu");
    assert_int_equal(whole.facts.total_bytes, UINT64_C(1) << 30);
    assert_int_equal(whole.facts.free_bytes, UINT64_C(1) << 30);
    assert_int_equal(whole.facts.n_multiprocessors, 1);
    toy_expect(pm_device_describe(PM_FAKE_GPU_LIBRARY, 0, &part.facts, &error), PM_OK, &error);
    assert_string_equal(part.facts.name, "fake gpu");
    assert_int_equal(part.facts.n_multiprocessors, 0);
    assert_int_equal(pm_device_describe(PM_FAKE_GPU_LIBRARY, 1, &whole.facts, &error),
                     PM_NO_DEVICE);
}

static void contexts_share_a_card(void **state) {
    (void)state;
    pm_context *first = NULL, *second = NULL, *none = NULL;
    pm_error error = PM_ERROR_INIT;
    struct sayings sayings = {0};
    toy_expect(open_card("cuda", 0, &first, &error), PM_OK, &error);
    toy_expect(open_card("cuda:0", 0, &second, &error), PM_OK, &error);
    assert_ptr_equal(first->devices.device[0], second->devices.device[0]);
    assert_int_equal(open_card("cuda", 1 << 20, &none, &error), PM_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "another limit"));
    assert_int_equal(open_card("cuda:0,1", 0, &none, &error), PM_NO_DEVICE); /* 0 is given back */
    assert_int_equal(first->devices.device[0]->n_references, 2);
    assert_string_equal(prove_on(first, &sayings, PM_OK).device, "cuda:0");
    assert_string_equal(prove_on(second, &sayings, PM_OK).device, "cuda:0");
    assert_int_equal(first->devices.device[0]->n_references, 3); /* the key is there, once */
    (void)pm_resident_evict(subject.key);
    pm_context_destroy(first);
    pm_context_destroy(second);
    toy_expect(open_card("cuda", 1 << 20, &first, &error), PM_OK, &error); /* it was closed */
    pm_context_destroy(first);
}

static void a_key_keeps_its_card_open(void **state) {
    (void)state;
    pm_context *context = NULL;
    pm_error error = PM_ERROR_INIT;
    struct sayings sayings = {0};
    toy_expect(open_card("cuda", 0, &context, &error), PM_OK, &error);
    (void)prove_on(context, &sayings, PM_OK);
    pm_context_destroy(context);
    assert_int_equal(open_card("cuda", 1 << 20, &context, &error), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_resident_evict(subject.key), 0);
    toy_expect(open_card("cuda", 1 << 20, &context, &error), PM_OK, &error);
    pm_context_destroy(context);
}

/* A report says where its proof was made when the card has long been closed. */
static void reports_outlive_their_card(void **state) {
    (void)state;
    pm_context *context = NULL;
    pm_report *report = NULL;
    pm_error error = PM_ERROR_INIT;
    pm_proof proof;
    pm_prove_stats stats = {.struct_bytes = sizeof stats};
    pm_plan_options choices = {.struct_bytes = sizeof choices};
    assert_int_equal(pm_report_create(&report, NULL), PM_OK);
    const pm_prove_options options = {.struct_bytes = sizeof options, .report = report};
    toy_expect(open_card("cuda", 0, &context, &error), PM_OK, &error);
    toy_expect(
        pm_prove(context, subject.key, subject.witness, &options, NULL, &proof, &stats, &error),
        PM_OK, &error);
    (void)pm_resident_evict(subject.key);
    pm_context_destroy(context);
    assert_int_equal(pm_proof_plan_choices(pm_report_plan(report), &choices), PM_OK);
    assert_string_equal(choices.device, "cuda:0");
    assert_string_equal(stats.device, "cuda:0");
    assert_string_equal(pm_proof_plan_device_why(pm_report_plan(report)), "it was asked for");
    pm_report_destroy(report);
}

/* auto opens the card when it is worth it, and not before. */
static void auto_opens_the_card_late(void **state) {
    (void)state;
    const struct pm_device_costs costs = {
        .cpu_fixed_ns = 50000000, .card_fixed_ns = 1000000, .card_open_ns = 90000000};
    pm_context *context = NULL;
    pm_error error = PM_ERROR_INIT;
    struct sayings sayings = {0};
    toy_expect(open_card("auto", 0, &context, &error), PM_OK, &error);
    /* Where no driver can be, it is asked at once whether there is a card; this one says yes. */
    assert_false(context->devices.was_sought);
    context->devices.costs = &costs;
    assert_string_equal(prove_on(context, &sayings, PM_OK).device, "cpu");
    assert_int_equal(context->devices.n, 0);
    assert_string_equal(prove_on(context, &sayings, PM_OK).device, "cuda:0");
    assert_string_equal(prove_on(context, &sayings, PM_OK).device, "cuda:0");
    assert_int_equal(sayings.n, 0);
    (void)pm_resident_evict(subject.key);
    pm_context_destroy(context);
}

static void *come_and_go(void *argument) {
    struct member *member = argument;
    for (int i = 0; i < N_ROUNDS && member->failure == NULL; ++i) {
        pm_context *context = NULL;
        pm_proof proof;
        pm_status status = open_card("cuda", 0, &context, NULL);
        if (status == PM_OK) {
            status =
                pm_prove(context, subject.key, subject.witness, NULL, NULL, &proof, NULL, NULL);
        }
        if (status != PM_OK || proof_case_verify(&subject, &proof) != PM_OK) {
            member->failure = pm_status_name(status);
        }
        (void)pm_resident_evict(subject.key);
        pm_context_destroy(context);
    }
    return NULL;
}

/* Opened, shared and closed by many at once. */
static void contexts_come_and_go(void **state) {
    (void)state;
    enum { N = 8 };
    static struct member members[N];
    pthread_t threads[N];
    pm_context *context = NULL;
    pm_error error = PM_ERROR_INIT;
    for (size_t i = 0; i < N; ++i) {
        members[i] = (struct member){0};
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &members[i]), 0);
    }
    for (size_t i = 0; i < N; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    for (size_t i = 0; i < N; ++i) {
        if (members[i].failure != NULL) {
            fail_msg("thread %zu: %s", i, members[i].failure);
        }
    }
    toy_expect(open_card("cuda", 1 << 20, &context, &error), PM_OK, &error); /* all are gone */
    pm_context_destroy(context);
}

#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_read),
        cmocka_unit_test(D5_other_words_are_refused_by_name),
        cmocka_unit_test(shorter_options_mean_the_cpu),
        cmocka_unit_test(A2_D4_an_absent_device_is_an_error),
        cmocka_unit_test(A2_auto_falls_back_and_says_so_once),
        cmocka_unit_test(cards_are_not_counted_without_their_library),
        cmocka_unit_test(auto_takes_what_is_quicker),
        cmocka_unit_test(auto_adds_up_what_it_forgoes),
        cmocka_unit_test(auto_plans_as_it_proves),
        cmocka_unit_test(auto_passes_over_a_card_that_is_too_small),
        cmocka_unit_test(auto_leaves_a_card_that_has_failed),
        cmocka_unit_test(costs_make_sense),
        cmocka_unit_test(several_devices_share_the_proofs),
        cmocka_unit_test(one_proof_at_a_time_needs_one_device),
        cmocka_unit_test(pending_proofs_stand_in_no_queue),
        cmocka_unit_test(a_device_that_failed_is_not_chosen_again),
        cmocka_unit_test(other_failures_are_not_the_devices),
        cmocka_unit_test(a_key_outlives_its_context),
#if defined(PM_FAKE_GPU_LIBRARY)
        cmocka_unit_test(cards_are_counted_and_described),
        cmocka_unit_test(contexts_share_a_card),
        cmocka_unit_test(a_key_keeps_its_card_open),
        cmocka_unit_test(reports_outlive_their_card),
        cmocka_unit_test(auto_opens_the_card_late),
        cmocka_unit_test(contexts_come_and_go),
#endif
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
