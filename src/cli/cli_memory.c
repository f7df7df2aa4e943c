/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * cli/cli_memory.c - prove --memory: what was planned beside what was measured.
 *
 * The facts are gathered as JSON, which --json prints as it is; the tables for people are printed
 * from the same JSON.
 */
#include "cli/cli.h"

#include <proofmill/experimental.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static json_t *bytes_json(uint64_t bytes) {
    return json_integer((json_int_t)bytes);
}

static json_t *step_json(uint32_t step) {
    return step == UINT32_MAX ? json_null() : json_integer((json_int_t)step + 1);
}

/* ---------------------------------------------------------------------------------------------
 * Lines of the plan
 * ------------------------------------------------------------------------------------------- */

/* What the ledger knows of one line. */
struct measurement {
    bool found;
    uint64_t bytes;
    uint32_t first_step, last_step; /* UINT32_MAX: not in a step, or not released */
    pm_measured_entry allocation;
};

static struct measurement measure(const pm_report *report, uint32_t buffer) {
    struct measurement line = {.first_step = UINT32_MAX, .last_step = UINT32_MAX};
    for (uint32_t i = 0; i < pm_report_n_entries(report); i++) {
        pm_measured_entry entry;
        if (pm_report_entry(report, i, &entry) != PM_OK || entry.buffer != buffer) {
            continue;
        }
        if (entry.released != 0) {
            line.last_step = entry.step;
        } else {
            line.found = true;
            line.bytes += entry.bytes;
            line.first_step = entry.step;
            line.allocation = entry;
        }
    }
    return line;
}

static void set_source(json_t *json, const pm_measured_entry *entry) {
    char source[256];
    (void)snprintf(source, sizeof source, "%s:%u", entry->file, entry->line);
    (void)json_object_set_new(json, "source", json_string(source));
}

/* The key is no allocation of the proof's: it was counted when it was opened, as staging memory was
 * when its device first needed it. Of a file that is streamed nobody has counted how much was in
 * memory at once. */
static bool measure_resident(const pm_planned_buffer *planned, const pm_report *report,
                             const struct pm_cli_holdings *holdings, uint64_t *bytes) {
    if (strcmp(planned->lifetime, "resident") != 0) {
        return false;
    }
    const bool is_file = strcmp(planned->pool, "file") == 0;
    const bool is_host = strcmp(planned->pool, "host") == 0;
    const bool is_pinned = strcmp(planned->pool, "pinned") == 0;
    *bytes = is_file     ? holdings->key_mapped_bytes
             : is_host   ? holdings->key_memory_bytes
             : is_pinned ? pm_report_staging_bytes(report)
                         : pm_report_key_bytes(report);
    return !is_file || planned->bytes == *bytes;
}

static json_t *planned_json(const pm_report *report, const pm_proof_plan *plan,
                            const struct pm_cli_holdings *holdings) {
    json_t *lines = json_array();
    uint64_t resident_bytes = 0;
    for (uint32_t i = 0; i < pm_proof_plan_n_buffers(plan); i++) {
        pm_planned_buffer planned;
        if (pm_proof_plan_buffer(plan, i, &planned) != PM_OK) {
            continue;
        }
        json_t *line = json_object();
        const struct measurement measured = measure(report, i);
        (void)json_object_set_new(line, "buffer", json_string(planned.name));
        (void)json_object_set_new(line, "pool", json_string(planned.pool));
        (void)json_object_set_new(line, "mechanism", json_string(planned.mechanism));
        (void)json_object_set_new(line, "lifetime", json_string(planned.lifetime));
        (void)json_object_set_new(line, "planned_bytes", bytes_json(planned.bytes));
        (void)json_object_set_new(line, "first_step", step_json(planned.first_step));
        (void)json_object_set_new(line, "last_step", step_json(planned.last_step));
        if (measured.found) {
            (void)json_object_set_new(line, "measured_bytes", bytes_json(measured.bytes));
            (void)json_object_set_new(line, "measured_mechanism",
                                      json_string(measured.allocation.mechanism));
            (void)json_object_set_new(line, "measured_first_step", step_json(measured.first_step));
            (void)json_object_set_new(line, "measured_last_step", step_json(measured.last_step));
            set_source(line, &measured.allocation);
        } else if (measure_resident(&planned, report, holdings, &resident_bytes)) {
            (void)json_object_set_new(line, "measured_bytes", bytes_json(resident_bytes));
        }
        (void)json_array_append_new(lines, line);
    }
    return lines;
}

static json_t *steps_json(const pm_report *report, const pm_proof_plan *plan) {
    json_t *steps = json_array();
    const uint64_t resident_bytes = pm_cli_resident_host_bytes(plan);
    const uint32_t device_pool = pm_cli_device_pool(plan);
    for (uint32_t i = 0; i < pm_proof_plan_n_steps(plan); i++) {
        pm_planned_step planned;
        pm_measured_step measured = {0};
        if (pm_proof_plan_step(plan, i, &planned) != PM_OK) {
            continue;
        }
        (void)pm_report_step(report, i, &measured);
        json_t *step = json_object();
        (void)json_object_set_new(step, "step", step_json(i));
        (void)json_object_set_new(step, "name", json_string(planned.name));
        (void)json_object_set_new(step, "planned_bytes",
                                  bytes_json(pm_cli_planned_host_bytes(plan, i) - resident_bytes));
        (void)json_object_set_new(step, "measured_bytes", bytes_json(measured.host_bytes));
        if (device_pool != UINT32_MAX) {
            (void)json_object_set_new(step, "device_planned_bytes",
                                      bytes_json(pm_proof_plan_held_bytes(plan, device_pool, i)));
            (void)json_object_set_new(step, "device_measured_bytes",
                                      bytes_json(measured.device_bytes));
        }
        (void)json_object_set_new(
            step, "wall_ms",
            json_real(measured.end_ns == 0 ? 0
                                           : (double)(measured.end_ns - measured.begin_ns) / 1e6));
        (void)json_array_append_new(steps, step);
    }
    return steps;
}

/* ---------------------------------------------------------------------------------------------
 * What no plan foresaw
 * ------------------------------------------------------------------------------------------- */

static bool is_first_of_its_line(const pm_report *report, uint32_t index,
                                 const pm_measured_entry *entry) {
    for (uint32_t i = 0; i < index; i++) {
        pm_measured_entry before;
        if (pm_report_entry(report, i, &before) == PM_OK && before.buffer == UINT32_MAX &&
            before.line == entry->line && strcmp(before.file, entry->file) == 0) {
            return false;
        }
    }
    return true;
}

/* Allocations of one source line together: how many, and the most that were live at once. */
static json_t *unplanned_line_json(const pm_report *report, const pm_measured_entry *first) {
    uint64_t live_bytes = 0, peak_bytes = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < pm_report_n_entries(report); i++) {
        pm_measured_entry entry;
        if (pm_report_entry(report, i, &entry) != PM_OK || entry.buffer != UINT32_MAX ||
            entry.line != first->line || strcmp(entry.file, first->file) != 0) {
            continue;
        }
        live_bytes += entry.released != 0 ? -entry.bytes : entry.bytes;
        peak_bytes = live_bytes > peak_bytes ? live_bytes : peak_bytes;
        n += entry.released == 0;
    }
    json_t *line = json_object();
    (void)json_object_set_new(line, "buffer", json_string(first->name));
    (void)json_object_set_new(line, "pool", json_string(first->pool));
    (void)json_object_set_new(line, "mechanism", json_string(first->mechanism));
    (void)json_object_set_new(line, "measured_bytes", bytes_json(peak_bytes));
    (void)json_object_set_new(line, "n", json_integer(n));
    set_source(line, first);
    return line;
}

static void add_other(json_t *lines, const char *name, const char *pool, const char *mechanism,
                      uint64_t bytes) {
    json_t *line = json_object();
    (void)json_object_set_new(line, "buffer", json_string(name));
    (void)json_object_set_new(line, "pool", json_string(pool));
    (void)json_object_set_new(line, "mechanism", json_string(mechanism));
    (void)json_object_set_new(line, "measured_bytes", bytes_json(bytes));
    (void)json_array_append_new(lines, line);
}

/* A line of /proc/self/status in bytes; 0 when it cannot be read. */
static uint64_t status_bytes(const char *name) {
    char line[256];
    uint64_t kib = 0;
    FILE *file = fopen("/proc/self/status", "re");
    while (file != NULL && kib == 0 && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0 &&
            sscanf(line + strlen(name), ": %" SCNu64, &kib) != 1) {
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kib * 1024;
}

static bool plans_all_of(const pm_proof_plan *plan, const char *pool, uint64_t bytes) {
    for (uint32_t i = 0; i < pm_proof_plan_n_buffers(plan); i++) {
        pm_planned_buffer planned;
        if (pm_proof_plan_buffer(plan, i, &planned) == PM_OK && strcmp(planned.pool, pool) == 0 &&
            planned.bytes == bytes) {
            return true;
        }
    }
    return false;
}

/* holdings NULL: of a further device, which holds nothing of the process's. */
static json_t *unplanned_json(const pm_report *report, const pm_proof_plan *plan,
                              const struct pm_cli_holdings *holdings) {
    json_t *lines = json_array();
    for (uint32_t i = 0; i < pm_report_n_entries(report); i++) {
        pm_measured_entry entry;
        if (pm_report_entry(report, i, &entry) == PM_OK && entry.buffer == UINT32_MAX &&
            is_first_of_its_line(report, i, &entry)) {
            (void)json_array_append_new(lines, unplanned_line_json(report, &entry));
        }
    }
    if (holdings == NULL) {
        return lines;
    }
    if (!plans_all_of(plan, "file", holdings->key_mapped_bytes)) {
        add_other(lines, "key, all that is mapped", "file", "file mapping",
                  holdings->key_mapped_bytes);
    }
    add_other(lines, "JSON of the outputs", "host", "malloc", holdings->json_bytes);
    add_other(lines, "anonymous, now", "process", "RssAnon", status_bytes("RssAnon"));
    add_other(lines, "resident, at most", "process", "VmHWM", status_bytes("VmHWM"));
    return lines;
}

static uint64_t measured_peak_bytes(const pm_report *report, const char *pool) {
    uint64_t peak_bytes = 0;
    for (uint32_t i = 0; i < pm_report_n_entries(report); i++) {
        pm_measured_entry entry;
        if (pm_report_entry(report, i, &entry) == PM_OK && strcmp(entry.pool, pool) == 0 &&
            entry.live_bytes > peak_bytes) {
            peak_bytes = entry.live_bytes;
        }
    }
    return peak_bytes;
}

/* Pools that the proof itself allocates from. */
static json_t *pools_json(const pm_report *report, const pm_proof_plan *plan) {
    json_t *pools = json_array();
    const char *name;
    for (uint32_t i = 0; (name = pm_proof_plan_pool(plan, i)) != NULL; i++) {
        if (strcmp(name, "file") == 0 || strcmp(name, "caller") == 0) {
            continue;
        }
        uint64_t held_bytes = 0;
        for (uint32_t step = 0; step < pm_proof_plan_n_steps(plan); step++) {
            const uint64_t bytes = pm_proof_plan_held_bytes(plan, i, step);
            held_bytes = bytes > held_bytes ? bytes : held_bytes;
        }
        json_t *pool = json_object();
        (void)json_object_set_new(pool, "pool", json_string(name));
        (void)json_object_set_new(pool, "planned_peak_bytes", bytes_json(held_bytes));
        (void)json_object_set_new(pool, "measured_peak_bytes",
                                  bytes_json(measured_peak_bytes(report, name)));
        (void)json_array_append_new(pools, pool);
    }
    return pools;
}

/* ---------------------------------------------------------------------------------------------
 * Questions to a plan
 * ------------------------------------------------------------------------------------------- */

uint64_t pm_cli_resident_host_bytes(const pm_proof_plan *plan) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < pm_proof_plan_n_buffers(plan); i++) {
        pm_planned_buffer buffer;
        if (pm_proof_plan_buffer(plan, i, &buffer) == PM_OK &&
            strcmp(buffer.lifetime, "resident") == 0 && strcmp(buffer.pool, "host") == 0) {
            bytes += buffer.bytes;
        }
    }
    return bytes;
}

uint32_t pm_cli_device_pool(const pm_proof_plan *plan) {
    const char *name;
    for (uint32_t i = 0; (name = pm_proof_plan_pool(plan, i)) != NULL; i++) {
        if (strncmp(name, "vram:", 5) == 0) {
            return i;
        }
    }
    return UINT32_MAX;
}

uint64_t pm_cli_planned_host_bytes(const pm_proof_plan *plan, uint32_t step) {
    const char *name;
    for (uint32_t i = 0; (name = pm_proof_plan_pool(plan, i)) != NULL; i++) {
        if (strcmp(name, "host") == 0) {
            return pm_proof_plan_live_bytes(plan, i, step);
        }
    }
    return 0;
}

static const char *device_of(const pm_report *report) {
    pm_plan_options choices = {.struct_bytes = (uint32_t)sizeof choices};
    return pm_proof_plan_choices(pm_report_plan(report), &choices) == PM_OK ? choices.device : "";
}

/* What one of several devices did, and for how long. */
static json_t *device_json(const pm_report *report) {
    const pm_proof_plan *plan = pm_report_plan(report);
    const uint32_t pool = pm_cli_device_pool(plan);
    json_t *json = json_object(), *steps = json_object();
    (void)json_object_set_new(json, "device", json_string(device_of(report)));
    for (uint32_t i = 0; i < pm_proof_plan_n_steps(plan); i++) {
        pm_planned_step planned;
        pm_measured_step measured = {0};
        if (pm_proof_plan_step(plan, i, &planned) == PM_OK && planned.on_cpu == 0 &&
            pm_report_step(report, i, &measured) == PM_OK && measured.end_ns != 0) {
            (void)json_object_set_new(
                steps, planned.name,
                json_real((double)(measured.end_ns - measured.begin_ns) / 1e6));
        }
    }
    (void)json_object_set_new(json, "steps_ms", steps);
    (void)json_object_set_new(json, "key_bytes", bytes_json(pm_report_key_bytes(report)));
    (void)json_object_set_new(
        json, "peak_bytes",
        bytes_json(measured_peak_bytes(report, pm_proof_plan_pool(plan, pool))));
    return json;
}

static void keep_devices(struct pm_cli *cli, const pm_report *report) {
    json_t *devices = json_array();
    (void)json_array_append_new(devices, device_json(report));
    for (uint32_t i = 0; i < pm_report_n_parts(report); i++) {
        (void)json_array_append_new(devices, device_json(pm_report_part(report, i)));
    }
    (void)json_object_set_new(cli->result, "devices", devices);
}

void pm_cli_keep_phase_bytes(struct pm_cli *cli, const pm_report *report) {
    const pm_proof_plan *plan = pm_report_plan(report);
    if (pm_report_n_parts(report) != 0) {
        keep_devices(cli, report);
    }
    pm_circuit_sizes sizes = {.struct_bytes = (uint32_t)sizeof sizes};
    if (plan == NULL || pm_proof_plan_sizes(plan, &sizes) != PM_OK) {
        return;
    }
    cli->n_constraints = sizes.n_rows != 0 ? sizes.n_rows : UINT64_C(1) << sizes.log_n;
    for (uint32_t i = 0; i < pm_proof_plan_n_steps(plan); i++) {
        pm_planned_step planned;
        pm_measured_step measured;
        if (pm_proof_plan_step(plan, i, &planned) != PM_OK ||
            pm_report_step(report, i, &measured) != PM_OK) {
            continue;
        }
        for (uint32_t k = 0; k < cli->prove_stats.n_phases; k++) {
            if (strcmp(cli->prove_stats.phases[k].name, planned.name) == 0) {
                cli->phase_bytes[k] = measured.host_bytes;
            }
        }
    }
}

/* ---------------------------------------------------------------------------------------------
 * Tables
 * ------------------------------------------------------------------------------------------- */

static const char *text_of(const json_t *line, const char *key) {
    const char *text = json_string_value(json_object_get(line, key));
    return text != NULL ? text : "";
}

/* A number, or a dash where there is none. */
static const char *number_of(const json_t *line, const char *key, char text[24]) {
    const json_t *number = json_object_get(line, key);
    if (json_is_integer(number)) {
        (void)snprintf(text, 24, "%" PRId64, (int64_t)json_integer_value(number));
    } else {
        (void)snprintf(text, 24, "-");
    }
    return text;
}

static void print_line(const json_t *line, bool is_planned) {
    char planned[24], measured[24], first[24], last[24], steps[52] = "";
    if (is_planned) {
        (void)snprintf(steps, sizeof steps, "%s-%s", number_of(line, "first_step", first),
                       number_of(line, "last_step", last));
    }
    (void)fprintf(stderr, "%-22s %-7s %-13s %15s %15s %7s  %s\n", text_of(line, "buffer"),
                  text_of(line, "pool"), text_of(line, "mechanism"),
                  number_of(line, "planned_bytes", planned),
                  number_of(line, "measured_bytes", measured), steps, text_of(line, "source"));
}

static void print_device(const json_t *memory) {
    size_t i;
    const json_t *line;
    char planned[24], measured[24], number[24];
    (void)fprintf(stderr, "%-22s %-7s %-13s %15s %15s %7s  %s\n", "buffer", "pool", "how",
                  "planned bytes", "measured bytes", "steps", "allocated at");
    json_array_foreach(json_object_get(memory, "buffers"), i, line) {
        print_line(line, true);
    }
    (void)fprintf(stderr, "not in the plan\n");
    json_array_foreach(json_object_get(memory, "unplanned"), i, line) {
        print_line(line, false);
    }
    (void)fprintf(stderr, "step\n");
    json_array_foreach(json_object_get(memory, "steps"), i, line) {
        (void)fprintf(stderr, "%2s %-41s %15s %15s %10.3f ms\n", number_of(line, "step", number),
                      text_of(line, "name"), number_of(line, "planned_bytes", planned),
                      number_of(line, "measured_bytes", measured),
                      json_real_value(json_object_get(line, "wall_ms")));
        if (json_object_get(line, "device_planned_bytes") != NULL) {
            (void)fprintf(stderr, "   %-41s %15s %15s\n", "  on the device",
                          number_of(line, "device_planned_bytes", planned),
                          number_of(line, "device_measured_bytes", measured));
        }
    }
    json_array_foreach(json_object_get(memory, "pools"), i, line) {
        (void)fprintf(stderr, "at most, %-35s %15s %15s\n", text_of(line, "pool"),
                      number_of(line, "planned_peak_bytes", planned),
                      number_of(line, "measured_peak_bytes", measured));
    }
    (void)fprintf(stderr, "%-44s %15s\n", "divergences from the plan",
                  number_of(memory, "divergences", number));
}

static void print_tables(const json_t *memory) {
    size_t i;
    const json_t *part;
    print_device(memory);
    json_array_foreach(json_object_get(memory, "parts"), i, part) {
        (void)fprintf(stderr, "\nbeside it, on %s\n", text_of(part, "device"));
        print_device(part);
    }
}

/* holdings as of unplanned_json(). */
static json_t *memory_json(const pm_report *report, const struct pm_cli_holdings *holdings) {
    static const struct pm_cli_holdings none;
    const pm_proof_plan *plan = pm_report_plan(report);
    json_t *memory = json_object();
    (void)json_object_set_new(memory, "buffers",
                              planned_json(report, plan, holdings != NULL ? holdings : &none));
    (void)json_object_set_new(memory, "unplanned", unplanned_json(report, plan, holdings));
    (void)json_object_set_new(memory, "steps", steps_json(report, plan));
    (void)json_object_set_new(memory, "pools", pools_json(report, plan));
    (void)json_object_set_new(memory, "divergences", json_integer(pm_report_n_divergences(report)));
    (void)json_object_set_new(memory, "why", json_string(pm_proof_plan_why(plan)));
    return memory;
}

void pm_cli_memory(struct pm_cli *cli, const pm_report *report,
                   const struct pm_cli_holdings *holdings) {
    if (pm_report_plan(report) == NULL) {
        return;
    }
    json_t *memory = memory_json(report, holdings);
    for (uint32_t i = 0; i < pm_report_n_parts(report); i++) {
        json_t *part = memory_json(pm_report_part(report, i), NULL);
        if (i == 0) {
            (void)json_object_set_new(memory, "parts", json_array());
        }
        (void)json_object_set_new(part, "device",
                                  json_string(device_of(pm_report_part(report, i))));
        (void)json_array_append_new(json_object_get(memory, "parts"), part);
    }
    if (!cli->json) {
        pm_cli_progress_clear(cli);
        print_tables(memory);
    }
    (void)json_object_set_new(cli->result, "memory", memory);
}
