/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * cli/cli_trace.c - prove --trace FILE: the run as a Chrome trace, which Perfetto and
 * chrome://tracing open.
 *
 * Format: "Trace Event Format" (Duvall, Sinclair; Google): M metadata, X spans with ts and dur in
 * microseconds, C counters, b and e the ends of an asynchronous span.
 */
#include "cli/cli.h"
#include "json/json_memory.h"

#include <proofmill/experimental.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROCESS 1
/* Rows of the display. */
enum { ROW_COMMAND = 1, ROW_STEPS = 2, ROW_DEVICE = 3 /* and behind it further devices */ };

struct trace {
    json_t *events;
    uint64_t origin_ns;
};

static json_t *microseconds(const struct trace *trace, uint64_t at_ns) {
    return json_real(((double)at_ns - (double)trace->origin_ns) / 1e3);
}

static json_t *add_event(struct trace *trace, const char *phase, const char *name, int row) {
    json_t *event = json_object();
    (void)json_object_set_new(event, "ph", json_string(phase));
    (void)json_object_set_new(event, "name", json_string(name));
    (void)json_object_set_new(event, "pid", json_integer(PROCESS));
    (void)json_object_set_new(event, "tid", json_integer(row));
    (void)json_array_append_new(trace->events, event);
    return event;
}

static void add_name(struct trace *trace, const char *what, int row, const char *name) {
    json_t *args = json_object();
    (void)json_object_set_new(args, "name", json_string(name));
    (void)json_object_set_new(add_event(trace, "M", what, row), "args", args);
}

static void add_span(struct trace *trace, const char *name, const char *category, int row,
                     uint64_t begin_ns, uint64_t end_ns, json_t *args) {
    json_t *event = add_event(trace, "X", name, row);
    (void)json_object_set_new(event, "cat", json_string(category));
    (void)json_object_set_new(event, "ts", microseconds(trace, begin_ns));
    (void)json_object_set_new(event, "dur", json_real((double)(end_ns - begin_ns) / 1e3));
    (void)json_object_set_new(event, "args", args);
}

static void add_counter(struct trace *trace, const char *name, uint64_t at_ns, uint64_t bytes) {
    json_t *args = json_object();
    json_t *event = add_event(trace, "C", name, ROW_STEPS);
    (void)json_object_set_new(event, "ts", microseconds(trace, at_ns));
    (void)json_object_set_new(args, "bytes", json_integer((json_int_t)bytes));
    (void)json_object_set_new(event, "args", args);
}

static const char *device_of(const pm_proof_plan *plan) {
    pm_plan_options choices = {.struct_bytes = (uint32_t)sizeof choices};
    return pm_proof_plan_choices(plan, &choices) == PM_OK ? choices.device : "";
}

/* Steps that a card computes have a row of their own; row: that of this one. */
static void add_steps(struct trace *trace, const pm_report *report, int row) {
    const pm_proof_plan *plan = pm_report_plan(report);
    const uint32_t device_pool = pm_cli_device_pool(plan);
    char counter[64] = "planned: device, key included";
    if (row != ROW_DEVICE) {
        (void)snprintf(counter, sizeof counter, "planned: %s, key included", device_of(plan));
    }
    for (uint32_t i = 0; i < pm_proof_plan_n_steps(plan); i++) {
        pm_planned_step planned;
        pm_measured_step measured;
        if (pm_proof_plan_step(plan, i, &planned) != PM_OK ||
            pm_report_step(report, i, &measured) != PM_OK || measured.end_ns == 0) {
            continue;
        }
        const uint64_t planned_bytes = pm_cli_planned_host_bytes(plan, i);
        json_t *args = json_object();
        (void)json_object_set_new(args, "host_bytes",
                                  json_integer((json_int_t)measured.host_bytes));
        (void)json_object_set_new(args, "device_bytes",
                                  json_integer((json_int_t)measured.device_bytes));
        (void)json_object_set_new(args, "in_device_lock", json_boolean(planned.in_device_lock));
        (void)json_object_set_new(args, "beside", json_boolean(planned.is_beside));
        (void)json_object_set_new(args, "lock_wait_ms",
                                  json_real((double)measured.lock_wait_ns / 1e6));
        add_span(trace, planned.name, planned.in_start ? "start" : "finish",
                 planned.on_cpu ? ROW_STEPS : row, measured.begin_ns, measured.end_ns, args);
        if (row == ROW_DEVICE) {
            add_counter(trace, "planned: host, key included", measured.begin_ns, planned_bytes);
        }
        if (device_pool != UINT32_MAX) {
            add_counter(trace, counter, measured.begin_ns,
                        pm_proof_plan_live_bytes(plan, device_pool, i));
        }
    }
}

/* A name for the life of one buffer: the ends of a span meet by category and id. Unplanned buffers
 * are numbered behind the planned ones, by their source line; those of each device behind those of
 * the one before. */
static uint32_t life_of(const pm_measured_entry *entry, int row) {
    return (uint32_t)(row - ROW_DEVICE) * 100000 +
           (entry->buffer != UINT32_MAX ? entry->buffer : 1000 + entry->line);
}

/* Of a further device, only its own memory is counted: the lent arrays are the first one's, too. */
static void add_entries(struct trace *trace, const pm_report *report, int row) {
    for (uint32_t i = 0; i < pm_report_n_entries(report); i++) {
        pm_measured_entry entry;
        if (pm_report_entry(report, i, &entry) != PM_OK) {
            continue;
        }
        char counter[64], source[256];
        json_t *args = json_object();
        json_t *event = add_event(trace, entry.released != 0 ? "e" : "b", entry.name, ROW_STEPS);
        (void)snprintf(source, sizeof source, "%s:%u", entry.file, entry.line);
        (void)json_object_set_new(event, "cat", json_string("buffer"));
        (void)json_object_set_new(event, "id", json_integer(life_of(&entry, row)));
        (void)json_object_set_new(event, "ts", microseconds(trace, entry.at_ns));
        (void)json_object_set_new(args, "bytes", json_integer((json_int_t)entry.bytes));
        (void)json_object_set_new(args, "mechanism", json_string(entry.mechanism));
        (void)json_object_set_new(
            args, "step",
            entry.step == UINT32_MAX ? json_null() : json_integer((json_int_t)entry.step + 1));
        (void)json_object_set_new(args, "source", json_string(source));
        (void)json_object_set_new(args, "in_device_lock", json_boolean(entry.in_device_lock));
        (void)json_object_set_new(event, "args", args);
        (void)snprintf(counter, sizeof counter, "live: %s", entry.pool);
        if (row == ROW_DEVICE || strncmp(entry.pool, "vram:", 5) == 0) {
            add_counter(trace, counter, entry.at_ns, entry.live_bytes);
        }
    }
}

/* What the devices of a proof have done, or the CPU. */
static void add_proof(struct trace *trace, const pm_report *report, json_t *facts) {
    const pm_proof_plan *plan = pm_report_plan(report);
    (void)json_object_set_new(facts, "device", json_string(device_of(plan)));
    if (pm_cli_device_pool(plan) != UINT32_MAX) {
        add_name(trace, "thread_name", ROW_DEVICE, device_of(plan));
    }
    add_steps(trace, report, ROW_DEVICE);
    add_entries(trace, report, ROW_DEVICE);
    (void)json_object_set_new(facts, "plan", json_string(pm_proof_plan_why(plan)));
    for (uint32_t i = 0; i < pm_report_n_parts(report); i++) {
        const pm_report *part = pm_report_part(report, i);
        const int row = ROW_DEVICE + 1 + (int)i;
        if (pm_report_plan(part) != NULL) {
            add_name(trace, "thread_name", row, device_of(pm_report_plan(part)));
            add_steps(trace, part, row);
            add_entries(trace, part, row);
        }
    }
}

pm_status pm_cli_trace_text(struct pm_cli *cli, const pm_report *report, char **text) {
    struct trace trace = {.events = json_array(), .origin_ns = cli->start_ns};
    add_name(&trace, "process_name", ROW_COMMAND, "proofmill prove");
    add_name(&trace, "thread_name", ROW_COMMAND, "command");
    add_name(&trace, "thread_name", ROW_STEPS, "steps");
    for (size_t i = 0; i < cli->n_steps; i++) {
        const struct pm_cli_step *step = &cli->steps[i];
        add_span(&trace, step->name, "command", ROW_COMMAND, step->start_ns,
                 step->start_ns + step->wall_ns, json_object());
    }
    json_t *facts = json_object();
    (void)json_object_set_new(facts, "version", json_string(pm_version()));
    /* Of CLOCK_MONOTONIC, for whoever lays other records beside this one. */
    (void)json_object_set_new(facts, "origin_ns", json_integer((json_int_t)cli->start_ns));
    if (pm_report_plan(report) != NULL) {
        add_proof(&trace, report, facts);
    }
    json_t *whole = json_object();
    (void)json_object_set_new(whole, "traceEvents", trace.events);
    (void)json_object_set_new(whole, "displayTimeUnit", json_string("ms"));
    (void)json_object_set_new(whole, "otherData", facts);
    *text = json_dumps(whole, JSON_COMPACT | JSON_REAL_PRECISION(12));
    json_decref(whole);
    if (*text == NULL || pm_json_memory_failures() != 0) {
        return pm_cli_fail(cli, PM_NO_MEMORY, cli->trace_path, "no memory for the trace");
    }
    return PM_OK;
}
