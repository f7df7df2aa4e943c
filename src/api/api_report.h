/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* api/api_report.h - what stands behind a pm_report. */
#ifndef PM_API_API_REPORT_H
#define PM_API_API_REPORT_H

#include "api/api_internal.h"
#include "groth16/execute.h"

#include <stdbool.h>
#include <stdint.h>

/* Every buffer of a plan comes and goes once; as many again for what no plan foresaw. */
#define PM_REPORT_ENTRIES_MAX (4 * PM_PLAN_BUFFERS_MAX)

struct pm_report {
    bool has_plan;
    pm_proof_plan plan;
    struct pm_step_record records[PM_PLAN_STEPS_MAX];
    uint32_t n_divergences;
    uint64_t staging_bytes, key_bytes;
    uint32_t n_entries;
    struct pm_ledger_entry entries[PM_REPORT_ENTRIES_MAX];
    uint32_t n_parts, n_parts_made; /* of a proof on several devices; of part that are there */
    struct pm_report *part[PM_DEVICES_MAX - 1];
};

/* Room for the reports of n further devices. report may be NULL. Errors: NO_MEMORY. */
pm_status pm_report_make_room(pm_report *report, uint32_t n, pm_error *error);

/* Copies what an execution with key that has ended leaves behind: its plan, times, and log; and why
 * it was on its device. report may be NULL. */
void pm_report_fill(pm_report *report, const struct pm_execution *execution,
                    const struct pm_key *key, const char *device_why);
/* Forgets the proof before. report may be NULL. */
void pm_report_clear(pm_report *report);

#endif
