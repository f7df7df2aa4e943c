/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cmd_simulate.h - a scenario: what `proofmill simulate` reads (doc/simulate.md). */
#ifndef PM_CLI_CMD_SIMULATE_H
#define PM_CLI_CMD_SIMULATE_H

#include "sched/simulate.h"

#include <proofmill/proofmill.h>

#include <stddef.h>
#include <stdint.h>

#define PM_SCENARIO_BYTES_MAX ((size_t)1 << 20)
#define PM_SCENARIO_RUNS_MAX 32
#define PM_SCENARIO_TITLE_CHARS 160

struct pm_scenario_run {
    char name[PM_SIM_NAME_CHARS];
    struct pm_sim_scenario sim;
};

/* Some megabytes: on the heap. */
struct pm_scenario {
    char title[PM_SCENARIO_TITLE_CHARS];
    uint32_t n_runs; /* at least 1 */
    struct pm_scenario_run runs[PM_SCENARIO_RUNS_MAX];
};

/* name is the file's, for errors. Every key must be known and every value in its range; errors
 * name the line. Errors: ENCODING, LENGTH, NO_MEMORY, and those of pm_sim_check. */
pm_status pm_scenario_parse(const char *text, size_t n_bytes, const char *name,
                            struct pm_scenario *scenario, pm_error *error);

#endif
