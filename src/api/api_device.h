/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * api/api_device.h - what computes proofs: the CPU, and the cards that this process has opened.
 *
 * A card is opened once, whichever contexts and keys use it, and closed when the last of them lets
 * go of it: its lock, its memory and the queue of proofs before it are those of the process.
 */
#ifndef PM_API_API_DEVICE_H
#define PM_API_API_DEVICE_H

#include "base/status.h"
#include "groth16/backend.h"

#include <stdbool.h>
#include <stdint.h>

struct pm_device {
    struct pm_device *next; /* of the cards that are open */
    struct pm_backend *backend;
    const char *name; /* "cuda:0"; NULL: what the backend calls itself */
    uint32_t ordinal;
    uint64_t vram_bytes; /* of its memory that may be used; 0: all */
    bool is_lent;        /* the backend is somebody else's to close */
    uint32_t n_references;
    uint32_t n_proofs; /* that have chosen it and still need it */
    bool has_failed;   /* for good: after a DEVICE its backend says that it is lost */
};

/* Where the proofs go that no card is asked for. Never NULL, needs no reference. */
struct pm_device *pm_device_cpu(void);
/* One more reference to card `ordinal`, opened if it is not open yet. library: NULL, or the file of
 * libproofmill-gpu. Errors: NO_DEVICE with the reason, NO_MEMORY, DEVICE, INVALID_ARGUMENT (it is
 * open with another vram_bytes). */
pm_status pm_device_open(const char *library, uint32_t ordinal, uint64_t vram_bytes,
                         struct pm_device **device, pm_error *error);
/* A device of the caller's backend, which must outlive it. Errors: NO_MEMORY. */
pm_status pm_device_lend(struct pm_backend *backend, struct pm_device **device, pm_error *error);
/* One more reference. */
struct pm_device *pm_device_retain(struct pm_device *device);
/* One less. NULL is fine. */
void pm_device_give_up(struct pm_device *device);

/* Keys on a device, as a plan for one of them sees them. */
struct pm_device_keys {
    bool is_there[PM_KEY_STREAMED + 1]; /* this one, in this way: what it takes it has already */
    bool may_go;                        /* all others are taken away, if that is of use */
};
/* A plan for it; threads are those of the CPU's part. What other keys hold of its memory is theirs.
 * Errors: those of pm_plan_make(); UNSUPPORTED, DEVICE. */
pm_status pm_device_plan(const struct pm_device *device, uint32_t threads,
                         const struct pm_plan_sizes *sizes, const struct pm_device_keys *keys,
                         const struct pm_plan_choices *choices, struct pm_plan *plan,
                         pm_error *error);

/* Joins the shortest queue; a device that has failed is passed over while there is one that has
 * not. n_before, of n devices, are the proofs that were there already. */
struct pm_device *pm_device_join(struct pm_device *const *devices, uint32_t n, uint32_t *n_before);
/* Of n devices, those on which no proof is or waits and that have not failed, in their order; how
 * many there are. joins: each gets one more proof; else those count on which others are, too. */
uint32_t pm_device_join_idle(struct pm_device *const *devices, uint32_t n, bool joins,
                             struct pm_device **idle);
/* The proof needs the device no more; status says how its part went. */
void pm_device_leave(struct pm_device *device, pm_status status);
bool pm_device_has_failed(const struct pm_device *device);

#endif
