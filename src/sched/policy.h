/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * sched/policy.h - what to do next: a pure function of the state and the time.
 *
 * Order. The first in turn is the highest priority; within one, the earlier round of `interleave`
 * parts, the earlier deadline, the earlier job, the earlier part. One start in every age_every + 1
 * is the oldest aged task's, whatever its priority: so LOW progresses under any load of HIGH, and
 * HIGH is held up by at most one start in so many.
 *
 * Nobody is overtaken for good. When the first in turn does not fit, what it needs is set aside:
 * others start only in what is left (EASY backfilling: Lifka, "The ANL/IBM SP Scheduling System",
 * JSSPP 1995). At most group_max starts in a row pass it because their key is at hand where its own
 * would have to be loaded.
 *
 * No deadlock. Bytes of the process are reserved before those of a device, and a task that holds
 * some of a device never waits for anything but work that is under way. What is set aside for a
 * queued task binds queued tasks alone, unless all that it lacks is a device's memory.
 *
 * Keys that nobody uses stay until their bytes are wanted; then the least recently used leave, no
 * more of them than are needed, and only if that will be enough.
 */
#ifndef PM_SCHED_POLICY_H
#define PM_SCHED_POLICY_H

#include "sched/sched.h"

enum pm_sched_action {
    PM_SCHED_WAIT,    /* for an event, or for until_ns */
    PM_SCHED_EXPIRE,  /* task: its job's deadline has passed before it began */
    PM_SCHED_EVICT,   /* key, from the process (device NONE) or from device */
    PM_SCHED_LOAD,    /* key into the process, ahead of need */
    PM_SCHED_PREPARE, /* task: admitted into a preparation slot */
    PM_SCHED_START    /* task on device, worker: admitted too, if it was queued */
};

struct pm_sched_decision {
    enum pm_sched_action action;
    uint32_t task;           /* PM_SCHED_NONE where there is none */
    uint32_t variant;        /* PREPARE, START */
    uint32_t device, worker; /* START; EVICT: where from */
    uint32_t key;            /* of the task; EVICT, LOAD: this one */
    bool load_key;           /* into the process first */
    bool load_on_device;     /* and onto the device */
    bool is_aged;            /* an aged task's turn */
    bool is_first;           /* the first in turn itself */
    bool passes;             /* the first in turn is passed for the sake of a key at hand */
    uint64_t until_ns;       /* WAIT: the same question may have another answer then; or NEVER */
};

/* What to do at now_ns, the caller's clock, which never runs backwards. Call pm_sched_apply with
 * the answer and ask again, until it is WAIT; then after every event, and at until_ns. */
void pm_sched_decide(const struct pm_sched *sched, uint64_t now_ns,
                     struct pm_sched_decision *decision);
/*
 * Writes a decision down. The caller then carries it out: evicts and says pm_sched_key_evicted;
 * loads what load_key and load_on_device say, in this order, and says pm_sched_key_loaded for each;
 * runs what pm_sched_next_runnable hands out. Errors: INVALID_ARGUMENT (not a decision about this
 * state), INTERNAL.
 */
pm_status pm_sched_apply(struct pm_sched *sched, const struct pm_sched_decision *decision,
                         uint64_t now_ns, pm_error *error);

enum pm_sched_reason {
    PM_REASON_NONE,        /* it does not wait: it runs, has ended, or may start now */
    PM_REASON_RECORD,      /* not on record yet */
    PM_REASON_RETRY,       /* a moment after a fault */
    PM_REASON_TURN,        /* others are first */
    PM_REASON_SLOT,        /* every preparation slot is taken */
    PM_REASON_AHEAD,       /* enough tasks are prepared or preparing */
    PM_REASON_BYTES,       /* pool, need, have */
    PM_REASON_WORKER,      /* every worker of its devices is busy */
    PM_REASON_KEY_LEAVING, /* its key is being evicted */
    PM_REASON_KEY_LOADING, /* its key is being loaded */
    PM_REASON_NO_DEVICE,   /* none that it may use */
    PM_REASON_EVICT        /* an idle key must go first */
};
/* "its turn"...; "unknown" for other numbers. */
const char *pm_sched_reason_name(enum pm_sched_reason reason);

struct pm_sched_why {
    enum pm_sched_reason reason;
    uint32_t pool;
    uint64_t need_bytes, have_bytes;
};
/* Why a task waits, for its owner. */
void pm_sched_why(const struct pm_sched *sched, uint32_t task, uint64_t now_ns,
                  struct pm_sched_why *why);

#endif
