/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "api/api_report.h"

#include <proofmill/experimental.h>

#include <stdio.h>
#include <string.h>

pm_status pm_report_create(pm_report **report, pm_error *error) {
    PM_FAIL_IF(report == NULL, error, PM_INVALID_ARGUMENT, "report is NULL");
    void *buffer = NULL;
    PM_TRY(pm_memory_alloc(NULL, "report", sizeof(pm_report), PM_MEMORY_PLAIN, &buffer, error));
    *report = buffer;
    return PM_OK;
}

void pm_report_destroy(pm_report *report) {
    for (uint32_t i = 0; report != NULL && i < report->n_parts_made; ++i) {
        pm_memory_free(report->part[i]);
    }
    pm_memory_free(report);
}

pm_status pm_report_make_room(pm_report *report, uint32_t n, pm_error *error) {
    while (report != NULL && report->n_parts_made < n) {
        PM_TRY(pm_report_create(&report->part[report->n_parts_made], error));
        ++report->n_parts_made;
    }
    for (uint32_t i = 0; report != NULL && i < n; ++i) {
        pm_report_clear(report->part[i]);
        report->plan.part[i] = &report->part[i]->plan;
    }
    if (report != NULL) {
        report->n_parts = n;
        report->plan.n_parts = n;
    }
    return PM_OK;
}

void pm_report_clear(pm_report *report) {
    if (report != NULL) {
        report->has_plan = false;
        report->n_divergences = report->n_entries = 0;
        report->n_parts = report->plan.n_parts = 0;
        memset(report->records, 0, sizeof report->records);
    }
}

void pm_report_fill(pm_report *report, const struct pm_execution *execution,
                    const struct pm_key *key, const char *device_why) {
    if (report == NULL) {
        return;
    }
    const struct pm_ledger_log *log = &execution->ledger.log;
    report->plan.plan = execution->plan;
    (void)snprintf(report->plan.device_why, sizeof report->plan.device_why, "%s", device_why);
    memcpy(report->records, execution->records, sizeof report->records);
    report->n_divergences = execution->n_divergences;
    report->staging_bytes = 0;
    report->key_bytes = execution->plan.device_pool >= PM_POOL_VRAM_0
                            ? pm_ledger_pool_live_bytes(&key->ledger, execution->plan.device_pool)
                            : 0;
    if (execution->backend->table->staging_bytes != NULL) {
        report->staging_bytes = execution->backend->table->staging_bytes(execution->backend);
    }
    report->n_entries =
        log->n_entries < PM_REPORT_ENTRIES_MAX ? log->n_entries : PM_REPORT_ENTRIES_MAX;
    if (report->n_entries != 0) {
        memcpy(report->entries, log->entries, report->n_entries * sizeof *report->entries);
    }
    report->has_plan = true;
}

const pm_proof_plan *pm_report_plan(const pm_report *report) {
    return report == NULL || !report->has_plan ? NULL : &report->plan;
}

uint32_t pm_report_n_parts(const pm_report *report) {
    return report == NULL ? 0 : report->n_parts;
}

const pm_report *pm_report_part(const pm_report *report, uint32_t index) {
    return index >= pm_report_n_parts(report) ? NULL : report->part[index];
}

pm_status pm_report_step(const pm_report *report, uint32_t index, pm_measured_step *step) {
    if (report == NULL || step == NULL || !report->has_plan || index >= report->plan.plan.n_steps) {
        return PM_INVALID_ARGUMENT;
    }
    const struct pm_step_record *record = &report->records[index];
    *step = (pm_measured_step){.begin_ns = record->begin_ns,
                               .end_ns = record->end_ns,
                               .cpu_ns = record->cpu_ns,
                               .lock_wait_ns = record->lock_wait_ns,
                               .host_bytes = record->live_bytes[0],
                               .device_bytes = record->live_bytes[1]};
    return PM_OK;
}

uint32_t pm_report_n_entries(const pm_report *report) {
    return report == NULL ? 0 : report->n_entries;
}

pm_status pm_report_entry(const pm_report *report, uint32_t index, pm_measured_entry *entry) {
    if (report == NULL || entry == NULL || index >= report->n_entries) {
        return PM_INVALID_ARGUMENT;
    }
    const struct pm_ledger_entry *from = &report->entries[index];
    const struct pm_ledger_note *note = &from->note;
    *entry = (pm_measured_entry){
        .name = note->name,
        .pool = pm_pool_name(note->pool),
        .mechanism = pm_mechanism_name(note->mechanism),
        .file = note->file != NULL ? note->file : "",
        .line = note->line,
        .released = from->released,
        .buffer = note->plan_line == PM_LEDGER_UNPLANNED ? UINT32_MAX : note->plan_line,
        .step = note->step >= report->plan.plan.n_steps ? UINT32_MAX : note->step,
        .in_device_lock = note->in_device_lock,
        .at_ns = from->at_ns,
        .bytes = from->bytes,
        .live_bytes = from->live_bytes};
    return PM_OK;
}

uint64_t pm_report_staging_bytes(const pm_report *report) {
    return report == NULL || !report->has_plan ? 0 : report->staging_bytes;
}

uint64_t pm_report_key_bytes(const pm_report *report) {
    return report == NULL || !report->has_plan ? 0 : report->key_bytes;
}

uint32_t pm_report_n_divergences(const pm_report *report) {
    return report == NULL ? 0 : report->n_divergences;
}
