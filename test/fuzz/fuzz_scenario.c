/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Any text given as a scenario: what is accepted can be simulated, and a small one is. Its jobs all
 * end, and no machine holds more than it has.
 */
#include "fuzz/harness.h"

#include "cli/cmd_simulate.h"

#include <stdlib.h>
#include <string.h>

#define RUNS_MAX 4
#define PARTS_MAX 300
#define JOBS_MAX 100
#define MACHINES_MAX 3
#define CHUNKS_MAX 100

static bool is_small(const struct pm_sim_scenario *sim) {
    uint64_t n_jobs = 0, n_parts = 0;
    for (uint32_t i = 0; i < sim->n_loads; i++) {
        n_jobs += sim->loads[i].n_jobs;
        n_parts += (uint64_t)sim->loads[i].n_jobs * sim->proofs[sim->loads[i].proof].n_parts;
    }
    for (uint32_t p = 0; p < sim->n_proofs; p++) {
        for (uint32_t i = 0; i < sim->proofs[p].n_steps; i++) {
            if (sim->proofs[p].steps[i].memory.in_lock && sim->proofs[p].steps[i].chunk_ns != 0 &&
                sim->proofs[p].steps[i].most_ns / sim->proofs[p].steps[i].chunk_ns > CHUNKS_MAX) {
                return false;
            }
        }
    }
    return n_jobs <= JOBS_MAX && n_parts <= PARTS_MAX && sim->machine.count <= MACHINES_MAX;
}

static void check_run(const struct pm_sim_scenario *sim) {
    static struct pm_sim_result result;
    pm_error error = PM_ERROR_INIT;
    uint64_t n_jobs = 0;
    const pm_status status = pm_sim_run(sim, NULL, &result, &error);
    if (!fuzz_succeeded(status, &error)) {
        FUZZ_REQUIRE(status == PM_UNSUPPORTED); /* a hundred years */
        return;
    }
    for (uint32_t i = 0; i < sim->n_loads; i++) {
        n_jobs += sim->loads[i].n_jobs;
    }
    FUZZ_REQUIRE(result.n_done + result.n_expired + result.n_refused == n_jobs);
    FUZZ_REQUIRE(result.peak_reserved_bytes[PM_KIND_HOST] <= sim->machine.memory_bytes);
    FUZZ_REQUIRE(result.peak_held_bytes[PM_KIND_HOST] <= result.peak_reserved_bytes[PM_KIND_HOST]);
    FUZZ_REQUIRE(result.peak_reserved_bytes[PM_KIND_PINNED] <= sim->machine.pinned_bytes);
    FUZZ_REQUIRE(result.peak_reserved_bytes[PM_KIND_DEVICE] <= sim->machine.vram_bytes);
    FUZZ_REQUIRE(result.n_bins <= PM_SIM_BINS && result.busy_us <= result.steady_us + PARTS_MAX);
    FUZZ_REQUIRE((result.refusal[0] != '\0') == (result.n_refused != 0));
}

static void check_scenario(const struct pm_scenario *scenario) {
    FUZZ_REQUIRE(scenario->n_runs >= 1 && scenario->n_runs < PM_SCENARIO_RUNS_MAX);
    FUZZ_REQUIRE(scenario->title[0] != '\0' &&
                 memchr(scenario->title, '\0', sizeof scenario->title) != NULL);
    for (uint32_t i = 0; i < scenario->n_runs; i++) {
        const struct pm_scenario_run *run = &scenario->runs[i];
        FUZZ_REQUIRE(run->name[0] != '\0' && memchr(run->name, '\0', sizeof run->name) != NULL);
        FUZZ_REQUIRE(pm_sim_check(&run->sim, NULL) == PM_OK);
        if (i < RUNS_MAX && is_small(&run->sim)) {
            check_run(&run->sim);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    struct pm_scenario *scenario = malloc(sizeof *scenario);
    pm_error error = PM_ERROR_INIT;
    FUZZ_REQUIRE(scenario != NULL);
    const pm_status status =
        pm_scenario_parse((const char *)bytes, n_bytes, "scenario.json", scenario, &error);
    if (fuzz_succeeded(status, &error)) {
        check_scenario(scenario);
    } else {
        FUZZ_REQUIRE(status == PM_ENCODING || status == PM_LENGTH);
        FUZZ_REQUIRE(strcmp(error.file, "scenario.json") == 0);
        FUZZ_REQUIRE(error.offset == PM_NO_OFFSET || error.offset <= n_bytes);
        FUZZ_REQUIRE(status != PM_ENCODING || strncmp(error.message, "line ", 5) == 0 ||
                     strncmp(error.message, "not ", 4) == 0);
    }
    free(scenario);
    return 0;
}
