/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A scheduler with the machine around it, small enough to try every order of events: what the
 * engine would do with threads and cards is here a list of things that may happen next.
 */
#ifndef PM_TEST_SCHED_WORLD_H
#define PM_TEST_SCHED_WORLD_H

#include "sched/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define WORLD_JOBS 3
#define WORLD_TASKS 4
#define WORLD_KEYS 2
#define WORLD_PARTS 2

/* A machine, its load, and how much may go wrong. */
struct world_plan {
    const char *name;
    struct pm_sched_config config;
    uint64_t host_bytes, vram_bytes;
    uint32_t n_devices, n_workers, n_express;
    bool has_cpu; /* the last device is the CPU */
    uint64_t key_bytes[WORLD_KEYS][PM_SCHED_KINDS];
    uint32_t n_jobs;
    struct pm_sched_request requests[WORLD_JOBS];
    bool returns[WORLD_JOBS]; /* comes again and again, a new job each time */
    bool records_later;       /* a job is accepted some time before it is on record */
    uint32_t n_faults_max, n_cancels_max, n_losses_max, n_bad_loads_max, n_acquittals_max;
    uint32_t n_passed_max; /* starts of others while a job waits; 0: not looked at */
};

/* What can be done to the world. */
enum world_event {
    WORLD_ARRIVE,
    WORLD_RECORD,
    WORLD_STEP,
    WORLD_FAULT,
    WORLD_CANCEL,
    WORLD_LOADED,
    WORLD_BAD_LOAD,
    WORLD_EVICTED,
    WORLD_LOSE,
    WORLD_RESTORE,
    WORLD_ACQUIT,
    WORLD_TICK
};
struct world_move {
    uint8_t event;
    uint8_t a; /* the job, task, key or device it happens to */
    uint8_t b; /* the fault, or device + 1 (0: the process) */
};
#define WORLD_MOVES_MAX 64
enum world_copy { WORLD_NONE, WORLD_THERE, WORLD_LEAVING };

struct world {
    struct pm_sched sched;
    struct pm_sched_key keys[WORLD_KEYS];
    struct pm_sched_job jobs[WORLD_JOBS];
    struct pm_sched_task tasks[WORLD_TASKS];
    uint64_t now_ns, until_ns;
    uint32_t slot_of[WORLD_JOBS]; /* the job's index; PM_SCHED_NONE: not there */
    bool has_come[WORLD_JOBS];
    /* Copies of a key as they really are, [0] in the process: none, there, leaving. */
    uint8_t copies[WORLD_KEYS][1 + PM_DEVICES_MAX];
    uint8_t n_proved[WORLD_JOBS][WORLD_PARTS]; /* times that a part has been proved */
    uint8_t n_passed[WORLD_JOBS];              /* starts of others while it waits */
    uint8_t n_faults, n_cancels, n_losses, n_bad_loads, n_acquittals;
    /* Of devices: known to be dead; faults blamed on it that may yet be taken back; on which parts
     * have failed. */
    bool is_dead[PM_DEVICES_MAX];
    uint8_t n_blamed[PM_DEVICES_MAX];
    uint8_t failed_on[WORLD_JOBS][WORLD_PARTS];
};

/* What went wrong, for people; "" if nothing did. */
extern char world_complaint[512];

/* The state's arrays are inside the world: after a copy they must be found again. */
void world_adopt(struct world *world);
bool world_begin(struct world *world, const struct world_plan *plan);
size_t world_moves(const struct world *world, const struct world_plan *plan,
                   struct world_move moves[WORLD_MOVES_MAX]);
/* Makes the move, asks the policy until it waits, and looks at everything that must hold. */
bool world_make(struct world *world, const struct world_plan *plan, const struct world_move *move);
/* Whether, without anything from outside, something is still going to happen. */
bool world_is_asleep(const struct world *world, const struct world_plan *plan);
/* A fingerprint of all that matters for what can happen next. */
struct world_print {
    uint64_t a, b;
};
struct world_print world_fingerprint(const struct world *world, const struct world_plan *plan);
void world_describe_move(const struct world_move *move, char text[64]);

#endif
