/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * sched/sched.h - who proves what, where, and with whose bytes: the state, and what changes it.
 *
 * A *job* is a request: one or more *parts*, each a proof over the same key. The parts of all jobs
 * are *tasks*, which are queued, admitted and run one by one and in any order; a job is done when
 * all of its parts are. A task's memory is a *curve*: bytes of each kind during each step. It is
 * reserved whole - the most that is still to come - before the first step begins, and every step
 * gives back what later ones do not need.
 *
 * policy.h reads this state and the time and says what to do next; the functions here write down
 * what has been decided and what has happened. Nothing here waits, reads a clock, allocates or
 * knows what a thread is: the engine calls under its lock with the real time, the simulator with a
 * virtual one, the tests with every order of events.
 *
 *     pm_sched_submit, pm_sched_record      a job comes
 *     pm_sched_decide, pm_sched_apply       until it says wait
 *     pm_sched_next_runnable                tasks whose next step may run: run it
 *     pm_sched_step_done, pm_sched_fault    the step ended
 *     pm_sched_key_loaded, _key_evicted     so did a decision's load or eviction
 *     pm_sched_forget                       the result has been given out
 */
#ifndef PM_SCHED_SCHED_H
#define PM_SCHED_SCHED_H

#include "base/ledger.h"
#include "base/limits.h"
#include "sched/job.h"

#include <stdbool.h>
#include <stdint.h>

#define PM_SCHED_NONE UINT32_MAX
#define PM_SCHED_NEVER UINT64_MAX
#define PM_SCHED_STEPS_MAX 32
#define PM_SCHED_VARIANTS_MAX 4
#define PM_SCHED_WORKERS_MAX 4
#define PM_SCHED_PARTS_MAX 65536
#define PM_SCHED_ATTEMPTS_MAX 8
#define PM_SCHED_BYTES_MAX (UINT64_C(1) << 58)

/* Kinds of memory that a curve speaks of; a device's is its own pool. Lent arrays and mapped files
 * are nobody's to reserve. */
enum pm_sched_kind { PM_KIND_HOST, PM_KIND_PINNED, PM_KIND_DEVICE, PM_SCHED_KINDS };

enum pm_priority {
    PM_PRIORITY_LOW,
    PM_PRIORITY_NORMAL,
    PM_PRIORITY_HIGH,
    PM_PRIORITY_CRITICAL,
    PM_PRIORITIES
};
/* "low"...; "unknown" for other numbers. */
const char *pm_priority_name(enum pm_priority priority);

/* In this order within a curve. */
enum pm_sched_stage {
    PM_STAGE_PREPARE, /* on the CPU, before a device is chosen */
    PM_STAGE_PROVE,   /* a device's worker has it, with or without the device's lock */
    PM_STAGE_FINISH,  /* the device's lock is not needed any more */
    PM_STAGE_VERIFY
};

struct pm_sched_step {
    uint64_t bytes[PM_SCHED_KINDS]; /* held during it */
    uint8_t stage;                  /* enum pm_sched_stage */
    bool in_lock;                   /* PROVE alone: the device computes for nobody else */
    bool on_worker;                 /* FINISH, VERIFY: the worker stays with it (PROVE: always) */
};

/* The memory of a task, step by step; also how long it is expected to keep the device. */
struct pm_sched_curve {
    uint32_t n_steps;
    uint64_t device_ns; /* 0: not known */
    struct pm_sched_step steps[PM_SCHED_STEPS_MAX];
};

/* Stages in order, PROVE and VERIFY among them, device memory in no step of PREPARE, sizes below
 * PM_SCHED_BYTES_MAX. Errors: INVALID_ARGUMENT. */
pm_status pm_sched_curve_check(const struct pm_sched_curve *curve, pm_error *error);
/* The most of each kind that step `step` and later ones hold; 0 behind the last. */
void pm_sched_curve_remaining(const struct pm_sched_curve *curve, uint32_t step,
                              uint64_t bytes[PM_SCHED_KINDS]);

/* ---- Keys -------------------------------------------------------------------------------------
 */

enum pm_residency {
    PM_COLD,     /* not there */
    PM_LOADING,  /* its bytes are reserved */
    PM_RESIDENT, /* usable; may be evicted when nobody uses it */
    PM_EVICTING  /* its bytes are still reserved */
};

/* In one place: the process's memory, or one device's. */
struct pm_sched_place {
    uint8_t residency; /* enum pm_residency */
    uint32_t n_users;  /* tasks that count on it */
    uint64_t last_used_ns;
};

/* A key. Resident in the process it is warm; on a device too it is hot there. */
struct pm_sched_key {
    bool used;
    bool wanted;                    /* asked for by pm_sched_preload */
    uint64_t bytes[PM_SCHED_KINDS]; /* in the process, and on each device (0: it is streamed) */
    uint64_t load_ns[2];            /* into the process, onto a device; 0: not known */
    struct pm_sched_place process;
    struct pm_sched_place devices[PM_DEVICES_MAX];
};

/* ---- Devices ----------------------------------------------------------------------------------
 */

struct pm_sched_device {
    uint32_t pool;      /* PM_POOL_HOST (the CPU) or PM_POOL_VRAM_0 + k */
    uint32_t n_workers; /* for everybody */
    uint32_t n_express; /* and so many more for HIGH and above */
    bool quarantined;
    bool for_faults;                        /* that is why, and nothing else is known of it */
    uint32_t n_faults;                      /* in a row */
    uint32_t workers[PM_SCHED_WORKERS_MAX]; /* the task, PM_SCHED_NONE if free */
};

/* ---- Jobs and tasks ---------------------------------------------------------------------------
 */

/* One way to prove: this curve, on any of these devices. */
struct pm_sched_variant {
    const struct pm_sched_curve *curve; /* outlives the job */
    uint32_t device_mask;               /* bit d: devices[d] */
};

/* 32 bytes that stand for something: a digest, or zero for nothing. */
struct pm_sched_digest {
    uint8_t bytes[32];
};

struct pm_sched_request {
    struct pm_sched_digest id;      /* of the request id; zero: none was given */
    struct pm_sched_digest content; /* of key, witness and whatever else decides the proof */
    enum pm_priority priority;
    uint64_t deadline_ns; /* 0: none */
    uint32_t key;         /* index into keys */
    uint32_t n_parts;
    uint32_t n_variants;
    struct pm_sched_variant variants[PM_SCHED_VARIANTS_MAX]; /* the preferred first */
};

struct pm_sched_job {
    bool used;
    struct pm_sched_request request;
    uint64_t sequence; /* order of arrival */
    uint64_t arrival_ns;
    uint32_t n_done, n_ended; /* parts: proved; in a final state */
    bool cancelled, failed;
    pm_status why; /* it failed */
};

struct pm_sched_attempt {
    uint32_t device; /* PM_SCHED_NONE: it had none */
    pm_status status;
};

struct pm_sched_task {
    bool used;
    bool running;    /* handed out by pm_sched_next_runnable, its end not yet reported */
    bool stopping;   /* cancelled while it ran: stop it */
    bool in_slot;    /* has a preparation slot */
    bool ahead;      /* admitted, no device yet */
    bool uses_key;   /* counts among the key's users in the process */
    bool on_device;  /* counts among the key's users on the device */
    uint8_t state;   /* enum pm_job_state */
    uint8_t variant; /* chosen when it was admitted */
    uint32_t job, part;
    uint32_t step;           /* the next to run, or running */
    uint32_t device, worker; /* PM_SCHED_NONE: none */
    uint32_t avoid_mask;     /* devices on which it has failed: while there are others */
    uint64_t queued_ns;      /* when it came */
    uint64_t not_before_ns;  /* after a fault: not at once */
    uint64_t reserved_bytes[PM_SCHED_KINDS];
    uint32_t n_attempts; /* that failed */
    struct pm_sched_attempt attempts[PM_SCHED_ATTEMPTS_MAX];
};

/* ---- The whole --------------------------------------------------------------------------------
 */

struct pm_sched_config {
    uint64_t age_ns;         /* who has waited so long takes turns with the higher ones */
    uint32_t age_every;      /* one start in so many is theirs, at least 1 */
    uint32_t group_max;      /* starts that may pass a task because their key is at hand */
    uint32_t interleave;     /* parts of a job before its equals have a turn; at least 1 */
    uint32_t n_slots;        /* tasks that prepare at a time; 0: none can */
    uint32_t n_ahead_max;    /* tasks admitted and not yet on a device; 0: bytes alone decide */
    uint32_t n_attempts_max; /* then the job fails: 1 to PM_SCHED_ATTEMPTS_MAX */
    uint32_t n_faults_max;   /* in a row, then a device is quarantined; 0: never */
    uint64_t retry_ns;       /* before the second attempt; twice as long before each later one */
    uint64_t evict_idle_ns;  /* a key is evicted once nobody has used it for so long */
};
/* 60 s, 1 in 4, 8, 16, no slots, no bound ahead, 3 attempts, 3 faults, 1 s, 0. */
struct pm_sched_config pm_sched_config_default(void);

struct pm_sched_counters {
    uint64_t n_admitted, n_started, n_retried, n_expired, n_evicted, n_loaded, n_passed;
    uint64_t n_done, n_failed, n_cancelled; /* jobs */
};

struct pm_sched {
    struct pm_sched_config config;
    uint64_t total_bytes[PM_POOLS_MAX];
    uint64_t reserved_bytes[PM_POOLS_MAX];
    uint32_t n_devices, n_keys_max, n_jobs_max, n_tasks_max;
    struct pm_sched_device devices[PM_DEVICES_MAX];
    struct pm_sched_key *keys;
    struct pm_sched_job *jobs;
    struct pm_sched_task *tasks;
    uint32_t n_tasks_end; /* no task behind this index is used */
    uint32_t n_slots_used, n_ahead;
    uint32_t n_since_aged; /* starts since one was an aged task's, at most age_every */
    uint32_t n_passed;     /* starts that have passed the first in turn */
    uint64_t n_sequence;
    struct pm_sched_counters counters;
};

/* Arrays of the caller's, of so many elements, which the state uses until it is thrown away. */
struct pm_sched_storage {
    struct pm_sched_key *keys;
    struct pm_sched_job *jobs;
    struct pm_sched_task *tasks;
    uint32_t n_keys, n_jobs, n_tasks;
};

/* total_bytes: PM_POOLS_MAX of them, UINT64_MAX where nobody counts. Errors: INVALID_ARGUMENT. */
pm_status pm_sched_init(struct pm_sched *sched, const struct pm_sched_config *config,
                        const uint64_t *total_bytes, const struct pm_sched_storage *storage,
                        pm_error *error);
/* *device is its index. Errors: INVALID_ARGUMENT, COUNT (too many). */
pm_status pm_sched_add_device(struct pm_sched *sched, uint32_t pool, uint32_t n_workers,
                              uint32_t n_express, uint32_t *device, pm_error *error);
/* bytes: PM_SCHED_KINDS of them. *key is its index. Errors: INVALID_ARGUMENT, COUNT. */
pm_status pm_sched_add_key(struct pm_sched *sched, const uint64_t *bytes, const uint64_t load_ns[2],
                           uint32_t *key, pm_error *error);
/* Errors: BUDGET_BUSY (a job uses it, or it is not cold). */
pm_status pm_sched_remove_key(struct pm_sched *sched, uint32_t key, pm_error *error);

/*
 * Takes a job in: its parts are accepted, and queued when pm_sched_record says that it is on
 * record. A job whose id is known already is not taken in again: *job is the one there is and
 * *known is true. Errors: OVER_BUDGET (no device and budget can ever hold it: pool, need and have),
 * BUDGET_BUSY (no room in the queue now), INVALID_ARGUMENT (malformed; or the id is known with
 * another content), NO_DEVICE (every device it may use is quarantined).
 */
pm_status pm_sched_submit(struct pm_sched *sched, const struct pm_sched_request *request,
                          uint64_t now_ns, uint32_t *job, bool *known, pm_error *error);
pm_status pm_sched_record(struct pm_sched *sched, uint32_t job, uint64_t now_ns, pm_error *error);
/* What waits is cancelled at once; what runs is marked stopping, and ends when its end is
 * reported. Cancelling what has ended changes nothing. */
pm_status pm_sched_cancel(struct pm_sched *sched, uint32_t job, uint64_t now_ns, pm_error *error);
/* Makes room for others. Errors: BUDGET_BUSY (it has not ended, or parts of it still run). */
pm_status pm_sched_forget(struct pm_sched *sched, uint32_t job, pm_error *error);

/* The next task whose step may run, which is then running; PM_SCHED_NONE: none. */
uint32_t pm_sched_next_runnable(struct pm_sched *sched);
/* The step of a running task ended well: what it alone needed is given back. Errors:
 * INVALID_ARGUMENT (the task is not running). */
pm_status pm_sched_step_done(struct pm_sched *sched, uint32_t task, uint64_t now_ns,
                             pm_error *error);
/* The step of a running task failed, or was stopped: everything is given back. The task is queued
 * again, or its job fails and the other parts with it. */
pm_status pm_sched_fault(struct pm_sched *sched, uint32_t task, enum pm_fault fault,
                         pm_status status, uint64_t now_ns, pm_error *error);

/* device: PM_SCHED_NONE for the process. status: PM_OK, or why the key cannot be had, which fails
 * the tasks that wait for it. A key is loaded into the process first; if that fails, loads onto
 * devices that were to follow are off, and not reported. */
pm_status pm_sched_key_loaded(struct pm_sched *sched, uint32_t key, uint32_t device,
                              pm_status status, uint64_t now_ns, pm_error *error);
pm_status pm_sched_key_evicted(struct pm_sched *sched, uint32_t key, uint32_t device,
                               pm_error *error);
/* Wishes of an operator: to have the key in the process before anybody asks for it, and to be rid
 * of it. pm_sched_evict leaves it EVICTING. Errors: BUDGET_BUSY (in use, or not resident). */
pm_status pm_sched_preload(struct pm_sched *sched, uint32_t key, pm_error *error);
pm_status pm_sched_evict(struct pm_sched *sched, uint32_t key, pm_error *error);

/* No task is started there any more. Those that run end with a fault each, as they find out; jobs
 * that no other device may take fail with NO_DEVICE. */
pm_status pm_sched_quarantine(struct pm_sched *sched, uint32_t device, uint64_t now_ns,
                              pm_error *error);
/* A fault that the device was blamed for was not its own: it counts one less in a row, and where
 * those in a row were why it is given no work, it is given work again. */
pm_status pm_sched_acquit(struct pm_sched *sched, uint32_t device, uint64_t now_ns,
                          pm_error *error);
/* What the device held is gone: its keys are cold. No task may be running there. */
pm_status pm_sched_restore(struct pm_sched *sched, uint32_t device, uint64_t now_ns,
                           pm_error *error);

/* A job's state, from its parts: done when all are, failed or cancelled when it is and nothing of
 * it runs any more, else the furthest that any part has come. */
enum pm_job_state pm_sched_job_state(const struct pm_sched *sched, uint32_t job);
/* How many parts from the first on have been proved: those may be handed out, in order. */
uint32_t pm_sched_parts_in_order(const struct pm_sched *sched, uint32_t job);
/* Whose turn the device's lock is among tasks whose step wants it: the highest priority, then the
 * earliest job. tasks: n > 0 of them. Returns an index into tasks. */
uint32_t pm_sched_lock_turn(const struct pm_sched *sched, const uint32_t *tasks, uint32_t n);

/* Counts everything again: reservations against tasks and keys, against the totals, users, slots,
 * workers. PM_OK, or INTERNAL with what does not add up. */
pm_status pm_sched_check(const struct pm_sched *sched, pm_error *error);

#endif
