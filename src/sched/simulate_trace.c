/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* sched/simulate_trace.c - what is measured while a simulation runs, and what is made of it. */
#include "sched/simulate_internal.h"

#include <stdlib.h>
#include <string.h>

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* ---- Over time --------------------------------------------------------------------------------
 */

/* Twice the time a bin: neighbours become one. */
static void halve_bins(struct pm_sim_result *result) {
    for (uint32_t i = 0; i < PM_SIM_BINS / 2; i++) {
        const struct pm_sim_bin *a = &result->bins[2 * i], *b = a + 1;
        result->bins[i] = (struct pm_sim_bin){
            larger(a->reserved_bytes, b->reserved_bytes), larger(a->held_bytes, b->held_bytes),
            larger(a->device_bytes, b->device_bytes), a->busy_ns + b->busy_ns,
            (uint32_t)larger(a->n_waiting, b->n_waiting)};
    }
    memset(result->bins + PM_SIM_BINS / 2, 0, PM_SIM_BINS / 2 * sizeof result->bins[0]);
    result->bin_ns *= 2;
    result->n_bins = (result->n_bins + 1) / 2;
}

void sim_trace_pass(struct simulation *simulation, struct sim_machine *machine) {
    struct pm_sim_result *result = simulation->result;
    const uint64_t now_ns = simulation->clock.now_ns;
    if (machine != simulation->machines) {
        machine->seen_ns = now_ns;
        return;
    }
    while (now_ns / result->bin_ns >= PM_SIM_BINS) {
        halve_bins(result);
    }
    for (uint64_t at_ns = machine->seen_ns; at_ns < now_ns;) {
        const uint64_t i = at_ns / result->bin_ns;
        const uint64_t end_ns =
            (i + 1) * result->bin_ns < now_ns ? (i + 1) * result->bin_ns : now_ns;
        struct pm_sim_bin *bin = &result->bins[i];
        bin->reserved_bytes = larger(bin->reserved_bytes, machine->reserved_bytes);
        bin->held_bytes = larger(bin->held_bytes, machine->held_bytes);
        bin->device_bytes = larger(bin->device_bytes, machine->device_bytes);
        bin->n_waiting = (uint32_t)larger(bin->n_waiting, machine->n_waiting);
        bin->busy_ns += (end_ns - at_ns) * machine->busy_devices;
        result->n_bins = (uint32_t)larger(result->n_bins, i + 1);
        at_ns = end_ns;
    }
    machine->seen_ns = now_ns;
}

/* What is held now, kind by kind; a device's in devices. */
struct holding {
    uint64_t kinds[PM_KIND_DEVICE];
    uint64_t devices[PM_DEVICES_MAX];
};

static void hold_tasks(const struct sim_machine *machine, struct holding *holding,
                       uint32_t *n_waiting) {
    const struct pm_sched *sched = &machine->sched;
    *n_waiting = 0;
    for (uint32_t i = 0; i < sched->n_tasks_end; i++) {
        const struct pm_sched_task *task = &sched->tasks[i];
        if (!task->used || !pm_job_holds((enum pm_job_state)task->state)) {
            *n_waiting += task->used && task->state == PM_JOB_QUEUED;
            continue;
        }
        const struct pm_sched_curve *curve =
            sched->jobs[task->job].request.variants[task->variant].curve;
        const uint64_t *bytes = curve->steps[task->step].bytes;
        if (task->state == PM_JOB_ADMITTED) {
            continue; /* nothing has been allocated yet */
        }
        holding->kinds[PM_KIND_HOST] += bytes[PM_KIND_HOST];
        holding->kinds[PM_KIND_PINNED] += bytes[PM_KIND_PINNED];
        if (task->device != PM_SCHED_NONE) {
            holding->devices[task->device] += bytes[PM_KIND_DEVICE];
        }
    }
}

static void hold_keys(const struct sim_machine *machine, struct holding *holding) {
    const struct pm_sched *sched = &machine->sched;
    for (uint32_t k = 0; k < sched->n_keys_max; k++) {
        const struct pm_sched_key *key = &sched->keys[k];
        if (key->process.residency != PM_COLD) {
            holding->kinds[PM_KIND_HOST] += key->bytes[PM_KIND_HOST];
            holding->kinds[PM_KIND_PINNED] += key->bytes[PM_KIND_PINNED];
        }
        for (uint32_t d = 0; d < sched->n_devices; d++) {
            if (key->devices[d].residency != PM_COLD) {
                holding->devices[d] += key->bytes[PM_KIND_DEVICE];
            }
        }
    }
}

void sim_trace_measure(struct simulation *simulation, struct sim_machine *machine) {
    struct pm_sim_result *result = simulation->result;
    const struct pm_sched *sched = &machine->sched;
    const uint64_t baseline = simulation->scenario->machine.baseline_bytes;
    struct holding holding = {{0}, {0}};
    uint64_t reserved_on_device = 0;
    hold_tasks(machine, &holding, &machine->n_waiting);
    hold_keys(machine, &holding);
    machine->device_bytes = 0;
    machine->busy_devices = 0;
    for (uint32_t d = 0; d < sched->n_devices; d++) {
        const bool is_cpu = sched->devices[d].pool == PM_POOL_HOST;
        machine->busy_devices += machine->devices[d].holder != PM_SCHED_NONE;
        machine->device_bytes = larger(machine->device_bytes, holding.devices[d]);
        reserved_on_device =
            larger(reserved_on_device, is_cpu ? 0 : sched->reserved_bytes[sched->devices[d].pool]);
    }
    const uint64_t reserved[PM_SCHED_KINDS] = {baseline + sched->reserved_bytes[PM_POOL_HOST],
                                               sched->reserved_bytes[PM_POOL_PINNED],
                                               reserved_on_device};
    const uint64_t held[PM_SCHED_KINDS] = {baseline + holding.kinds[PM_KIND_HOST],
                                           holding.kinds[PM_KIND_PINNED], machine->device_bytes};
    for (uint32_t kind = 0; kind < PM_SCHED_KINDS; kind++) {
        result->peak_reserved_bytes[kind] =
            larger(result->peak_reserved_bytes[kind], reserved[kind]);
        result->peak_held_bytes[kind] = larger(result->peak_held_bytes[kind], held[kind]);
    }
    machine->reserved_bytes = reserved[PM_KIND_HOST] + reserved[PM_KIND_PINNED];
    machine->held_bytes = held[PM_KIND_HOST] + held[PM_KIND_PINNED];
    result->peak_memory_bytes = larger(result->peak_memory_bytes, machine->held_bytes);
}

/* ---- Afterwards -------------------------------------------------------------------------------
 */

static int compare_times(const void *a, const void *b) {
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* The smallest time that so many of a hundred do not exceed. */
static uint64_t percentile(const uint64_t *sorted, uint64_t n, uint64_t hundredths) {
    const uint64_t rank = (n * hundredths + 99) / 100;
    return sorted[rank == 0 ? 0 : rank - 1];
}

static void summarise(uint64_t *times, uint64_t n, struct pm_sim_latency *latency) {
    unsigned __int128 sum = 0;
    *latency = (struct pm_sim_latency){.n = n};
    if (n == 0) {
        return;
    }
    qsort(times, n, sizeof times[0], compare_times);
    for (uint64_t i = 0; i < n; i++) {
        sum += times[i];
    }
    latency->mean_ns = (uint64_t)(sum / n);
    latency->p50_ns = percentile(times, n, 50);
    latency->p90_ns = percentile(times, n, 90);
    latency->p99_ns = percentile(times, n, 99);
    latency->max_ns = times[n - 1];
}

/* Brings the times of one priority to the front of what has not been summarised yet. */
static uint64_t gather(uint64_t *times, uint8_t *priorities, uint64_t n, uint8_t priority) {
    uint64_t n_found = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (priorities[i] == priority) {
            const uint64_t time = times[i];
            times[i] = times[n_found];
            priorities[i] = priorities[n_found];
            times[n_found] = time;
            priorities[n_found++] = priority;
        }
    }
    return n_found;
}

void sim_result_finish(struct simulation *simulation) {
    struct pm_sim_result *result = simulation->result;
    uint64_t begin = 0;
    for (uint32_t priority = 0; priority < PM_PRIORITIES; priority++) {
        const uint64_t n = gather(simulation->latencies + begin, simulation->priorities + begin,
                                  result->n_done - begin, (uint8_t)priority);
        summarise(simulation->latencies + begin, n, &result->latency[priority]);
        begin += n;
    }
    summarise(simulation->latencies, result->n_done, &result->latency[PM_PRIORITIES]);
    for (uint32_t m = 0; m < simulation->scenario->machine.count; m++) {
        for (uint32_t d = 0; d < simulation->machines[m].sched.n_devices; d++) {
            const struct sim_device *device = &simulation->machines[m].devices[d];
            result->busy_us += device->busy_ns / 1000;
            result->steady_us += device->was_used ? (device->last_ns - device->first_ns) / 1000 : 0;
            result->end_ns = larger(result->end_ns, device->last_ns);
        }
    }
    result->end_ns = larger(result->end_ns, result->last_done_ns);
}
