/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The simulator: what it says follows from stage times and bytes, and from nothing else. Scenarios
 * that are shipped are read from examples/scenarios by check_simulate.sh; here the machines are
 * small enough for their figures to be worked out by hand.
 */
#include "sched/simulate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define GIB (UINT64_C(1) << 30)
#define MS UINT64_C(1000000)
#define S UINT64_C(1000000000)

static struct pm_sim_scenario scenario;
static struct pm_sim_result result;

static struct pm_sim_step timed(uint8_t stage, uint64_t ns, uint64_t host_bytes, bool in_lock) {
    return (struct pm_sim_step){.name = "step",
                                .memory = {.bytes = {host_bytes, 0, 0},
                                           .stage = stage,
                                           .in_lock = in_lock,
                                           .on_worker = stage == PM_STAGE_PROVE},
                                .least_ns = ns,
                                .most_ns = ns};
}

/* One card; a proof is prepared for 8 s, keeps the card for 2 s, is finished in 1 s. */
static void begin(uint32_t n_jobs, uint32_t n_parts, uint32_t n_slots) {
    memset(&scenario, 0, sizeof scenario);
    scenario.seed = 1;
    scenario.machine = (struct pm_sim_machine){.count = 1,
                                               .memory_bytes = UINT64_MAX,
                                               .pinned_bytes = UINT64_MAX,
                                               .vram_bytes = UINT64_MAX,
                                               .n_devices = 1,
                                               .n_workers = 2};
    scenario.config = pm_sched_config_default();
    scenario.config.n_slots = n_slots;
    scenario.n_keys = scenario.n_proofs = scenario.n_loads = 1;
    struct pm_sim_proof *proof = &scenario.proofs[0];
    proof->n_parts = n_parts;
    proof->n_steps = 4;
    proof->steps[0] = timed(PM_STAGE_PREPARE, 8 * S, 20 * GIB, false);
    proof->steps[1] = timed(PM_STAGE_PROVE, 2 * S, 16 * GIB, true);
    proof->steps[2] = timed(PM_STAGE_FINISH, S, 4 * GIB, false);
    proof->steps[3] = timed(PM_STAGE_VERIFY, 0, 0, false);
    scenario.loads[0] =
        (struct pm_sim_load){.proof = 0, .priority = PM_PRIORITY_NORMAL, .n_jobs = n_jobs};
}

static void run(void) {
    pm_error error = PM_ERROR_INIT;
    if (pm_sim_run(&scenario, NULL, &result, &error) != PM_OK) {
        fail_msg("%s", error.message);
    }
}

/* ---- By hand ----------------------------------------------------------------------------------
 */

static void one_proof(void **state) {
    (void)state;
    begin(1, 1, 1);
    run();
    assert_int_equal(result.n_done, 1);
    assert_int_equal(result.end_ns, 11 * S);
    assert_int_equal(result.latency[PM_PRIORITIES].max_ns, 11 * S);
    assert_int_equal(result.peak_memory_bytes, 20 * GIB);
    assert_int_equal(result.busy_us, 2 * S / 1000);
}

/* One slot: a part every 8 s; the card waits. Four: a part every 2 s; the card never waits. */
static void the_slower_stage_decides(void **state) {
    (void)state;
    begin(1, 20, 1);
    run();
    assert_int_equal(result.end_ns, (20 * 8 + 3) * S);
    const uint64_t starved_busy_us = result.busy_us, starved_us = result.steady_us;
    assert_int_equal(starved_busy_us, 40 * S / 1000);
    assert_int_equal(starved_us, (19 * 8 + 2) * S / 1000);
    begin(1, 20, 4);
    run();
    assert_int_equal(result.end_ns, (8 + 20 * 2 + 1) * S);
    assert_int_equal(result.busy_us, result.steady_us);
}

/* Every time and every size moves what depends on it, by as much as it must. */
static void a_stage_time_moves_the_result(void **state) {
    (void)state;
    begin(1, 20, 4);
    scenario.proofs[0].steps[1].least_ns = scenario.proofs[0].steps[1].most_ns = 3 * S;
    run();
    assert_int_equal(result.end_ns, (8 + 20 * 3 + 1) * S);
    begin(1, 20, 1);
    scenario.proofs[0].steps[0].least_ns = scenario.proofs[0].steps[0].most_ns = 9 * S;
    run();
    assert_int_equal(result.end_ns, (20 * 9 + 3) * S);
    begin(1, 20, 4);
    scenario.proofs[0].steps[1].transfer_bytes = 10 * 1000 * 1000;
    scenario.machine.bus_bytes_per_s = 10 * 1000 * 1000; /* a second each */
    run();
    assert_int_equal(result.end_ns, (8 + 20 * 3 + 1) * S);
    begin(1, 1, 4);
    scenario.proofs[0].steps[0].memory.bytes[PM_KIND_HOST] = 33 * GIB;
    scenario.machine.baseline_bytes = 7 * GIB;
    run();
    assert_int_equal(result.peak_memory_bytes, 40 * GIB);
}

/* Bytes bound concurrency: three times 20 GiB fit beside the baseline, whatever the slots. */
static void bytes_decide_how_many(void **state) {
    (void)state;
    begin(1, 30, 30);
    scenario.machine.memory_bytes = 70 * GIB;
    scenario.machine.baseline_bytes = 10 * GIB;
    run();
    assert_int_equal(result.n_parts, 30);
    assert_true(result.peak_memory_bytes <= 70 * GIB);
    assert_true(result.peak_reserved_bytes[PM_KIND_HOST] <= 70 * GIB);
    assert_int_equal(result.peak_memory_bytes, 70 * GIB);
    /* Three parts in 8 s, less what waits for the card: 10 rounds. */
    assert_true(result.end_ns >= 80 * S && result.end_ns <= 115 * S);
    scenario.machine.memory_bytes = 29 * GIB;
    run();
    assert_int_equal(result.n_refused, 1);
    assert_int_equal(result.n_done, 0);
    assert_non_null(strstr(result.refusal, "host"));
}

/* ---- Several devices, many machines -----------------------------------------------------------
 */

/* D6: a second card doubles what leaves the machine. */
static void d6_two_devices_are_twice_one(void **state) {
    (void)state;
    uint64_t end_ns[3];
    for (uint32_t n = 1; n <= 2; n++) {
        begin(40, 1, 0);
        scenario.proofs[0].steps[0] = timed(PM_STAGE_PROVE, S, 4 * GIB, false); /* upload */
        scenario.machine.n_devices = n;
        run();
        end_ns[n] = result.end_ns;
    }
    assert_true(end_ns[1] * 10 >= end_ns[2] * 18);
}

/* D11: with two workers one prepares while the other computes; with one the card waits for each
 * upload and each end. */
static void d11_two_workers_keep_the_device_busy(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= 2; n++) {
        begin(40, 1, 0);
        scenario.proofs[0].steps[0] = timed(PM_STAGE_PROVE, S, 4 * GIB, false);
        scenario.proofs[0].steps[2].memory.on_worker = true;
        scenario.machine.n_workers = n;
        run();
        const double idle = 1 - (double)result.busy_us / (double)result.steady_us;
        assert_true(n == 1 ? idle > 0.4 : idle < 0.05);
    }
}

static void machines_share_a_load(void **state) {
    (void)state;
    begin(400, 2, 4);
    run();
    const uint64_t alone_ns = result.end_ns;
    scenario.machine.count = 100;
    run();
    assert_int_equal(result.n_done, 400);
    assert_true(result.end_ns * 60 < alone_ns);
    assert_true(result.end_ns >= (8 + 2 * 8 + 1) * S); /* four proofs each */
}

/* ---- Priorities -------------------------------------------------------------------------------
 */

/* D10, F2: a CRITICAL proof every minute among two hundred LOW ones that came before. It waits for
 * the chunk that runs, not for a proof; LOW is all done. */
static void d10_high_is_bounded_under_low(void **state) {
    (void)state;
    begin(200, 1, 0);
    struct pm_sim_proof *low = &scenario.proofs[0], *high = &scenario.proofs[1];
    *high = *low;
    low->n_steps = high->n_steps = 3;
    low->steps[0] = timed(PM_STAGE_PROVE, S, 4 * GIB, false);
    low->steps[1] = timed(PM_STAGE_PROVE, 40 * S, 4 * GIB, true);
    low->steps[1].chunk_ns = S;
    low->steps[2] = timed(PM_STAGE_VERIFY, 0, 0, false);
    high->steps[0] = timed(PM_STAGE_PROVE, 100 * MS, GIB, false);
    high->steps[1] = timed(PM_STAGE_PROVE, 500 * MS, GIB, true);
    high->steps[2] = low->steps[2];
    scenario.machine.n_express = 1;
    scenario.n_proofs = scenario.n_loads = 2;
    scenario.loads[0].priority = PM_PRIORITY_LOW;
    scenario.loads[1] = (struct pm_sim_load){.proof = 1,
                                             .priority = PM_PRIORITY_HIGH,
                                             .n_jobs = 100,
                                             .first_ns = 90 * S,
                                             .every_ns = 60 * S,
                                             .is_random = true};
    run();
    assert_int_equal(result.n_done, 300);
    const struct pm_sim_latency *latency = &result.latency[PM_PRIORITY_HIGH];
    assert_int_equal(latency->n, 100);
    assert_true(latency->p50_ns <= 2 * S);
    assert_true(latency->p99_ns <= 4 * S); /* two that came together */
    /* Without the express worker and the chunks it waits for whole proofs. */
    scenario.machine.n_express = 0;
    low->steps[1].chunk_ns = 0;
    run();
    assert_true(latency->p50_ns > 10 * S);
}

/* F2: the other way round: LOW among a stream of HIGH that would fill the card alone. */
static void f2_low_is_done_among_high(void **state) {
    (void)state;
    begin(600, 1, 0);
    scenario.proofs[0].n_steps = 2;
    scenario.proofs[0].steps[0] = timed(PM_STAGE_PROVE, S, GIB, true);
    scenario.proofs[0].steps[1] = timed(PM_STAGE_VERIFY, 0, 0, false);
    scenario.n_loads = 2;
    scenario.loads[0].priority = PM_PRIORITY_HIGH;
    scenario.loads[0].every_ns = S;
    scenario.loads[1] = (struct pm_sim_load){.priority = PM_PRIORITY_LOW, .n_jobs = 20};
    run();
    assert_int_equal(result.n_done, 620);
    /* Aged after a minute, then one start in five is theirs. */
    assert_true(result.latency[PM_PRIORITY_LOW].max_ns <= (60 + 20 * 5 + 10) * S);
    assert_true(result.latency[PM_PRIORITY_HIGH].p99_ns <= 30 * S);
}

/* F15: what cannot be in time is dropped before it costs anything. */
static void f15_deadlines(void **state) {
    (void)state;
    begin(20, 1, 1);
    scenario.loads[0].deadline_ns = 50 * S;
    run();
    assert_int_equal(result.n_done + result.n_expired, 20);
    assert_true(result.n_expired >= 13 && result.n_done >= 5);
    assert_true(result.end_ns <= 70 * S);
}

/* C9 in time: alternating keys, each 60 % of the card's memory. */
static void c9_alternating_keys(void **state) {
    (void)state;
    begin(20, 1, 0);
    scenario.n_keys = scenario.n_proofs = scenario.n_loads = 2;
    scenario.machine.vram_bytes = 40 * GIB;
    for (uint32_t i = 0; i < 2; i++) {
        scenario.keys[i].bytes[PM_KIND_DEVICE] = 24 * GIB;
        scenario.keys[i].load_ns[1] = 10 * S;
        scenario.proofs[i] = scenario.proofs[0];
        scenario.proofs[i].key = i;
        scenario.proofs[i].steps[0] = timed(PM_STAGE_PROVE, 0, GIB, false);
        scenario.proofs[i].steps[1].memory.bytes[PM_KIND_DEVICE] = 6 * GIB;
        scenario.loads[i] = (struct pm_sim_load){.proof = i,
                                                 .priority = PM_PRIORITY_NORMAL,
                                                 .n_jobs = 20,
                                                 .first_ns = i * S,
                                                 .every_ns = 2 * S};
    }
    run();
    assert_int_equal(result.n_done, 40);
    assert_true(result.n_loads >= 2 && result.n_loads <= 10);
    assert_true(result.n_evictions + 1 >= result.n_loads);
    assert_true(result.peak_held_bytes[PM_KIND_DEVICE] <= 40 * GIB);
}

/* ---- The same again, and never out of bounds --------------------------------------------------
 */

static void the_same_seed_is_the_same_run(void **state) {
    (void)state;
    static struct pm_sim_result first;
    begin(50, 3, 5);
    scenario.proofs[0].steps[0].most_ns = 12 * S;
    scenario.loads[0].every_ns = 9 * S;
    scenario.loads[0].is_random = true;
    run();
    first = result;
    run();
    assert_memory_equal(&first, &result, sizeof result);
    scenario.seed = 2;
    run();
    assert_int_not_equal(first.end_ns, result.end_ns);
}

/* Random arrivals have the mean that was asked for. */
static void random_arrivals_have_their_mean(void **state) {
    (void)state;
    begin(20000, 1, 0);
    scenario.proofs[0].n_steps = 2;
    scenario.proofs[0].steps[0] = timed(PM_STAGE_PROVE, 1, GIB, true);
    scenario.proofs[0].steps[1] = timed(PM_STAGE_VERIFY, 0, 0, false);
    scenario.loads[0].every_ns = S;
    scenario.loads[0].is_random = true;
    run();
    assert_in_range(result.end_ns, 19400 * S, 20600 * S); /* four standard deviations */
}

static void what_cannot_be_simulated(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    begin(1, 1, 1);
    scenario.machine.count = PM_SIM_MACHINES_MAX + 1;
    assert_int_equal(pm_sim_run(&scenario, NULL, &result, &error), PM_INVALID_ARGUMENT);
    begin(1, PM_SCHED_PARTS_MAX, 1);
    scenario.machine.count = 1000;
    assert_int_equal(pm_sim_run(&scenario, NULL, &result, &error), PM_COUNT);
    begin(1, 1, 1);
    scenario.machine.memory_bytes = 5;
    scenario.machine.baseline_bytes = 5;
    assert_int_equal(pm_sim_run(&scenario, NULL, &result, &error), PM_OVER_BUDGET);
    begin(1, 1, 1);
    scenario.proofs[0].steps[1].memory.stage = PM_STAGE_PREPARE;
    assert_int_equal(pm_sim_run(&scenario, NULL, &result, &error), PM_INVALID_ARGUMENT);
    begin(0, 1, 1);
    assert_int_equal(pm_sim_run(&scenario, NULL, &result, &error), PM_INVALID_ARGUMENT);
    begin(1000, 1, 1);
    scenario.proofs[0].steps[0].least_ns = scenario.proofs[0].steps[0].most_ns = PM_SIM_NS_MAX;
    assert_int_equal(pm_sim_run(&scenario, NULL, &result, &error), PM_UNSUPPORTED);
    begin(1, 1, 0); /* it must be prepared, and nobody can */
    run();
    assert_int_equal(result.n_refused, 1);
    const volatile int cancelled = 1;
    const pm_control control = {.struct_bytes = sizeof control, .cancel = &cancelled};
    begin(1, 1, 1);
    assert_int_equal(pm_sim_run(&scenario, &control, &result, &error), PM_CANCELLED);
}

static void a_plot_is_well_formed(void **state) {
    (void)state;
    begin(20, 3, 4);
    scenario.machine.memory_bytes = 128 * GIB;
    run();
    const struct pm_sim_plot plots[2] = {{"one & <two>", &scenario, &result},
                                         {"\x01", &scenario, &result}};
    char *text = NULL;
    size_t n_bytes = 0;
    assert_int_equal(pm_sim_plot("a \"title\"", plots, 2, &text, &n_bytes, NULL), PM_OK);
    assert_int_equal(strlen(text), n_bytes);
    assert_non_null(strstr(text, "one &amp; &lt;two&gt;"));
    assert_null(strchr(text, 1));
    assert_string_equal(text + n_bytes - 7, "</svg>\n");
    assert_non_null(strstr(text, "128 GiB"));
    uint64_t n_open = 0, n_close = 0;
    for (const char *at = text; *at != '\0'; at++) {
        n_open += *at == '<';
        n_close += *at == '>';
    }
    assert_int_equal(n_open, n_close);
    pm_sim_plot_free(text);
    pm_sim_plot_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_proof),
        cmocka_unit_test(the_slower_stage_decides),
        cmocka_unit_test(a_stage_time_moves_the_result),
        cmocka_unit_test(bytes_decide_how_many),
        cmocka_unit_test(d6_two_devices_are_twice_one),
        cmocka_unit_test(d11_two_workers_keep_the_device_busy),
        cmocka_unit_test(machines_share_a_load),
        cmocka_unit_test(d10_high_is_bounded_under_low),
        cmocka_unit_test(f2_low_is_done_among_high),
        cmocka_unit_test(f15_deadlines),
        cmocka_unit_test(c9_alternating_keys),
        cmocka_unit_test(the_same_seed_is_the_same_run),
        cmocka_unit_test(random_arrivals_have_their_mean),
        cmocka_unit_test(what_cannot_be_simulated),
        cmocka_unit_test(a_plot_is_well_formed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
