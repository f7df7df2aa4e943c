/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * sched/simulate.h - the scheduler in virtual time, on a machine that is described.
 *
 * What goes in: a machine (memory, devices, rates), keys and proofs (steps with times and bytes)
 * and a load (who comes when). What decides is pm_sched_decide, as in the engine; nothing else here
 * knows a policy. What comes out follows from stage times and buffer bytes alone.
 *
 * Many machines stand behind one door: a job goes, by priority and then in the order of arrival, to
 * the machine with the fewest parts in hand.
 */
#ifndef PM_SCHED_SIMULATE_H
#define PM_SCHED_SIMULATE_H

#include "sched/policy.h"

#include <stddef.h>
#include <stdint.h>

#define PM_SIM_NAME_CHARS 48
#define PM_SIM_KEYS_MAX 16
#define PM_SIM_PROOFS_MAX 16
#define PM_SIM_LOADS_MAX 32
#define PM_SIM_MACHINES_MAX 10000
#define PM_SIM_JOBS_MAX 1000000
#define PM_SIM_NS_MAX (UINT64_C(1) << 56) /* two years */
#define PM_SIM_BINS 800

struct pm_sim_step {
    char name[PM_SIM_NAME_CHARS];
    struct pm_sched_step memory;
    uint64_t least_ns, most_ns; /* each run takes a time between them, all equally likely */
    uint64_t transfer_bytes;    /* moved over the bus besides */
    uint64_t chunk_ns; /* in the lock: how long until a higher one may have it; 0: at the end */
};

struct pm_sim_proof {
    char name[PM_SIM_NAME_CHARS];
    uint32_t key; /* index */
    uint32_t n_parts;
    uint32_t n_steps; /* the last verifies */
    struct pm_sim_step steps[PM_SCHED_STEPS_MAX];
};

struct pm_sim_key {
    char name[PM_SIM_NAME_CHARS];
    uint64_t bytes[PM_SCHED_KINDS];
    uint64_t load_ns[2]; /* into the process, onto a device; 0: bytes at the machine's rates */
};

struct pm_sim_machine {
    uint32_t count;                /* of such machines */
    uint64_t memory_bytes;         /* all there is; UINT64_MAX: nobody counts */
    uint64_t baseline_bytes;       /* of them, never the scheduler's */
    uint64_t pinned_bytes;         /* that may be page-locked; UINT64_MAX: nobody counts */
    uint64_t vram_bytes;           /* of each device */
    uint32_t n_devices;            /* 0: the CPU proves */
    uint32_t n_workers, n_express; /* of each device */
    uint64_t bus_bytes_per_s, disk_bytes_per_s; /* 0: they cost no time */
};

struct pm_sim_load {
    uint32_t proof; /* index */
    enum pm_priority priority;
    uint32_t n_jobs;
    uint64_t first_ns, every_ns;
    bool is_random;       /* every_ns is the mean of an exponential distribution */
    uint64_t deadline_ns; /* after arrival; 0: none */
};

struct pm_sim_scenario {
    uint64_t seed;
    struct pm_sim_machine machine;
    struct pm_sched_config config;
    uint32_t n_keys, n_proofs, n_loads;
    struct pm_sim_key keys[PM_SIM_KEYS_MAX];
    struct pm_sim_proof proofs[PM_SIM_PROOFS_MAX];
    struct pm_sim_load loads[PM_SIM_LOADS_MAX];
};

struct pm_sim_latency {
    uint64_t n;
    uint64_t mean_ns, p50_ns, p90_ns, p99_ns, max_ns;
};

/* During one of the plot's intervals, on the first machine. */
struct pm_sim_bin {
    uint64_t reserved_bytes,
        held_bytes;        /* of host and pinned memory, baseline included: the most */
    uint64_t device_bytes; /* held on the fullest device: the most */
    uint64_t busy_ns;      /* of all devices together */
    uint32_t n_waiting;    /* parts that hold nothing yet: the most */
};

struct pm_sim_result {
    uint64_t n_done, n_expired, n_refused; /* jobs */
    uint64_t n_parts;                      /* proved */
    uint64_t end_ns;                       /* when the last of all ended */
    uint64_t first_done_ns, last_done_ns;
    struct pm_sim_latency latency[PM_PRIORITIES + 1]; /* from arrival to done; the last: of all */
    /* Of one machine, the most at any time: as reserved, and as really held step by step. HOST has
     * the baseline; DEVICE is the fullest device's. */
    uint64_t peak_reserved_bytes[PM_SCHED_KINDS], peak_held_bytes[PM_SCHED_KINDS];
    /* Host and pinned together. */
    uint64_t peak_memory_bytes;
    uint64_t busy_us;   /* of all devices of all machines */
    uint64_t steady_us; /* from each device's first use to its last, added up */
    uint64_t n_loads, n_evictions, n_events;
    uint64_t bin_ns;
    uint32_t n_bins;
    struct pm_sim_bin bins[PM_SIM_BINS];
    char refusal[256]; /* why the first refused job was; "" if none was */
};

/* The sizes of a scenario, its curves and indices. Errors: INVALID_ARGUMENT, COUNT. */
pm_status pm_sim_check(const struct pm_sim_scenario *scenario, pm_error *error);
/* Runs until every job has ended. control: cancel and deadline. Errors: those of pm_sim_check,
 * NO_MEMORY, CANCELLED, DEADLINE, INTERNAL. */
pm_status pm_sim_run(const struct pm_sim_scenario *scenario, const pm_control *control,
                     struct pm_sim_result *result, pm_error *error);

/* One panel of a plot. */
struct pm_sim_plot {
    const char *title; /* UTF-8 */
    const struct pm_sim_scenario *scenario;
    const struct pm_sim_result *result;
};
/* Memory against the budget, and the devices' use, over time: an SVG picture with a panel for each
 * run. *text is freed with pm_sim_plot_free; *n_bytes does not count its NUL. Errors: NO_MEMORY. */
pm_status pm_sim_plot(const char *title, const struct pm_sim_plot *plots, size_t n_plots,
                      char **text, size_t *n_bytes, pm_error *error);
void pm_sim_plot_free(char *text); /* NULL is fine */

#endif
