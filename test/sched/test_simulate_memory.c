/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Every allocation of a simulation and of its plot fails once: an error that says so, and nothing
 * kept. */
#include "sched/simulate.h"

#include "fault/fault_interposer.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct pm_sim_scenario scenario;
static struct pm_sim_result result;

static void describe(void) {
    scenario.machine = (struct pm_sim_machine){.count = 3,
                                               .memory_bytes = 1000,
                                               .pinned_bytes = UINT64_MAX,
                                               .vram_bytes = UINT64_MAX,
                                               .n_devices = 1,
                                               .n_workers = 1};
    scenario.config = pm_sched_config_default();
    scenario.n_keys = scenario.n_proofs = 1;
    scenario.n_loads = PM_SIM_LOADS_MAX;
    scenario.proofs[0].n_parts = 600; /* more events at a time than there is room for at first */
    scenario.proofs[0].n_steps = 3;
    scenario.config.n_slots = 2000;
    scenario.proofs[0].steps[0].memory.stage = PM_STAGE_PREPARE;
    scenario.proofs[0].steps[0].memory.bytes[PM_KIND_HOST] = 1;
    scenario.proofs[0].steps[0].least_ns = scenario.proofs[0].steps[0].most_ns = 1000000;
    scenario.proofs[0].steps[1].memory.stage = PM_STAGE_PROVE;
    scenario.proofs[0].steps[2].memory.stage = PM_STAGE_VERIFY;
    for (uint32_t i = 0; i < PM_SIM_LOADS_MAX; i++) {
        scenario.loads[i].n_jobs = 1;
    }
}

static pm_status run_and_plot(pm_error *error) {
    const struct pm_sim_plot plot = {"run", &scenario, &result};
    char *text = NULL;
    size_t n_bytes;
    pm_status status = pm_sim_run(&scenario, NULL, &result, error);
    if (status == PM_OK) {
        status = pm_sim_plot("title", &plot, 1, &text, &n_bytes, error);
    }
    pm_sim_plot_free(text);
    return status;
}

static void every_allocation_fails_once(void **state) {
    (void)state;
    describe();
    const struct fault_live before = fault_live_now();
    uint64_t n_faults = 0;
    for (uint64_t at = 1;; at++) {
        pm_error error = PM_ERROR_INIT;
        const struct fault_plan plan = {.function = FAULT_any, .at = at, .reason = ENOMEM};
        fault_arm(&plan);
        const pm_status status = run_and_plot(&error);
        const struct fault_count count = fault_disarm();
        const struct fault_live after = fault_live_now();
        assert_int_equal(after.heap_blocks, before.heap_blocks);
        assert_int_equal(after.mapped_bytes, before.mapped_bytes);
        if (count.n_faults == 0) {
            assert_int_equal(status, PM_OK);
            break;
        }
        assert_int_equal(status, PM_NO_MEMORY);
        assert_int_equal(error.status, PM_NO_MEMORY);
        assert_true(error.message[0] != '\0');
        n_faults++;
    }
    assert_true(n_faults >= 11);
    assert_int_equal(result.n_done, PM_SIM_LOADS_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_fails_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
