/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * api/api_parts.h - the further devices of one proof: each makes its share of the sums over w, on a
 * thread of its own, by the same executor and with a plan and a ledger of its own.
 *
 *   bring    each device gets its share of the key
 *   start    a thread a part; meanwhile the caller runs the first device's steps
 *   join     when those are done: waits, adds the parts' sums to the proof's
 *   end      everything that is left is given back
 *
 * Nobody waits for a device while he holds another one: a thread has one device, and who joins has
 * none any more. So whatever proofs share the devices, and in whatever order, they cannot wait for
 * each other in a circle, and no order of the devices' locks is needed.
 *
 * The first failure of a part ends the proof: the other parts see it at once, the first device at
 * its next step. When the proof is stopped or fails on the first device, the parts are stopped.
 */
#ifndef PM_API_API_PARTS_H
#define PM_API_API_PARTS_H

#include "api/api_resident.h"
#include "api/api_spread.h"
#include "groth16/execute.h"
#include "groth16/proving_key.h"
#include "par/background.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define PM_PART_ENTRIES_MAX 64 /* of the ledger's log: a part's plan has a dozen buffers */

struct pm_parts;
struct pm_report;

struct pm_part {
    struct pm_parts *parts;
    struct pm_device *device; /* whose queue it stands in; NULL: not any more */
    struct pm_resident *resident;
    struct pm_proving_key key; /* what the device sees of it */
    struct pm_execution execution;
    struct pm_background background;
    bool in_background;
    pm_status status;
    pm_error error;
    struct pm_ledger_entry entries[PM_PART_ENTRIES_MAX];
};

/* Of one proof. */
struct pm_parts {
    struct pm_proving_key first_key; /* what the first device sees of the key */
    volatile int stop;               /* atomic: what their controls look at */
    pm_control control;              /* of threads of their own */
    pthread_mutex_t lock;            /* of what follows */
    pthread_cond_t ended;
    uint32_t n_running;
    uint32_t n_failed, first_failed;
    bool first_was_told;   /* the first device stopped because a part has failed */
    uint32_t n_readers[2]; /* of lent inputs, of aux: the first device counted */
    uint32_t n;            /* without the first device; stays as it is */
    struct pm_part part[];
};

/* Of n parts, with what it takes to align them. */
uint64_t pm_parts_bytes(uint32_t n);
/* Parts of a proof, as spread says, whose devices they take over: spread has none to leave any
 * more. memory: zeroed, pm_parts_bytes() of it, of the caller's. first: the execution on the first
 * device, as it will begin: its lent arrays, their release, team and body are the parts', too. */
struct pm_parts *pm_parts_create(void *memory, const struct pm_spread *spread,
                                 struct pm_execution *first);
/* Brings their shares of the key to the devices, when the first device has its own and its
 * execution the whole key; *unable: the part for which that failed. Errors: those of
 * pm_resident_acquire(). */
pm_status pm_parts_bring(struct pm_parts *parts, struct pm_key *key, struct pm_execution *first,
                         const pm_control *control, uint32_t *unable, pm_error *error);
/* A lent array has been read by one of the devices: whether by the last one. Under the lock. */
bool pm_parts_is_read(struct pm_parts *parts, enum pm_buffer_id which);
void pm_parts_start(struct pm_parts *parts);
/* The first device has done its steps; status and error say how. Its sums get those of the parts.
 * control is the caller's, who waits here. Errors: status, or that of the part that failed first,
 * with its device's name; CANCELLED, DEADLINE. */
pm_status pm_parts_join(struct pm_parts *parts, struct pm_execution *first,
                        const pm_control *control, pm_status status, pm_error *error);
/* Nothing of them is left; after that the report may be filled. Idempotent; NULL is fine. */
void pm_parts_end(struct pm_parts *parts, struct pm_key *key);
/* After all else; the memory stays the caller's. NULL is fine. */
void pm_parts_destroy(struct pm_parts *parts);
/* NULL is fine for either. */
void pm_parts_fill_report(const struct pm_parts *parts, const struct pm_key *key,
                          struct pm_report *report);

#endif
