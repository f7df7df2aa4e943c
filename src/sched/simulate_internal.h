/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* sched/simulate_internal.h - one machine in virtual time, and the clock they all share. */
#ifndef PM_SCHED_SIMULATE_INTERNAL_H
#define PM_SCHED_SIMULATE_INTERNAL_H

#include "base/control.h"
#include "sched/simulate.h"

enum sim_event_kind {
    SIM_ARRIVAL,  /* a: the load */
    SIM_STEP_END, /* a: the task; or the end of a chunk of its time in the lock */
    SIM_LOADED,   /* a: the key, b: device, NONE for the process */
    SIM_EVICTED,
    SIM_WAKE /* the policy asked for it */
};

struct sim_event {
    uint64_t at_ns;
    uint64_t sequence; /* of events at the same time the earlier made comes first */
    uint32_t machine, a, b;
    uint8_t kind;
};

/* A heap that grows. */
struct sim_clock {
    struct sim_event *events;
    size_t n, capacity;
    uint64_t now_ns, n_sequence;
};

/* Errors: NO_MEMORY. */
pm_status sim_clock_add(struct sim_clock *clock, uint64_t at_ns, enum sim_event_kind kind,
                        uint32_t machine, uint32_t a, uint32_t b, pm_error *error);
bool sim_clock_next(struct sim_clock *clock, struct sim_event *event);

/* Beside a scheduler's task. */
struct sim_task {
    uint64_t left_ns;  /* of its step, in the lock */
    uint64_t since_ns; /* has had the lock from then on */
    bool wants_lock, has_lock;
};

/* Beside a scheduler's job. */
struct sim_job {
    uint32_t load, number; /* the how many-th of its load */
    uint64_t arrival_ns;
};

struct sim_device {
    uint32_t holder; /* of the lock; NONE */
    uint64_t first_ns, last_ns, busy_ns;
    bool was_used;
};

struct sim_machine {
    struct pm_sched sched;
    struct sim_device devices[PM_DEVICES_MAX];
    struct sim_task *tasks;
    struct sim_job *jobs;
    uint64_t wake_ns; /* a SIM_WAKE is under way for then */
    uint64_t seen_ns; /* the trace is complete up to here */
    uint32_t n_parts; /* in hand */
    uint64_t reserved_bytes, held_bytes, device_bytes, busy_devices; /* since seen_ns */
    uint32_t n_waiting;
};

/* All that a run has. */
struct simulation {
    const struct pm_sim_scenario *scenario;
    struct pm_sim_result *result;
    struct sim_clock clock;
    struct pm_sched_curve curves[PM_SIM_PROOFS_MAX];
    struct sim_machine *machines;
    uint32_t n_tasks_max; /* of one machine */
    uint64_t *latencies;  /* n_done of them */
    uint8_t *priorities;
};

/* simulate_machine.c */
/* How long so many bytes take, at most PM_SIM_NS_MAX; no time where the rate is not known. */
uint64_t sim_time_of(uint64_t bytes, uint64_t bytes_per_s);
pm_status sim_machine_init(struct simulation *simulation, struct sim_machine *machine,
                           const struct pm_sched_storage *storage, pm_error *error);
/* OVER_BUDGET and the like: the job is refused. */
pm_status sim_machine_submit(struct simulation *simulation, uint32_t machine, uint32_t load,
                             uint32_t number, uint64_t arrival_ns, pm_error *error);
pm_status sim_machine_event(struct simulation *simulation, const struct sim_event *event,
                            pm_error *error);
/* Asks the policy until it waits, and starts what may run. */
pm_status sim_machine_settle(struct simulation *simulation, uint32_t machine, pm_error *error);

/* simulate_trace.c: what stands since the last time was so until now; then, what stands now. */
void sim_trace_pass(struct simulation *simulation, struct sim_machine *machine);
void sim_trace_measure(struct simulation *simulation, struct sim_machine *machine);
/* Percentiles and the like. */
void sim_result_finish(struct simulation *simulation);

#endif
