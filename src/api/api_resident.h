/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * api/api_resident.h - what of a key stays on devices, brought there by the first proof that needs
 * it and shared by all.
 */
#ifndef PM_API_API_RESIDENT_H
#define PM_API_API_RESIDENT_H

#include "api/api_device.h"
#include "base/control.h"
#include "groth16/backend.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct pm_key;
struct pm_resident; /* a key on one device, in one way of being there */

/* Of one key. */
struct pm_residents {
    pthread_mutex_t lock; /* held while a key is brought to a device */
    struct pm_resident *first;
};

void pm_residents_init(struct pm_residents *residents);
/* When no proof uses them any more: with the key. */
void pm_residents_close(struct pm_residents *residents);

/* What plan needs of key on its device, or all of it where that is there already, for a proof that
 * gives it up when it has ended. *resident is NULL for a device that keeps nothing; else it keeps
 * the device open. Errors: those of open_key(), NO_MEMORY, CANCELLED, DEADLINE. */
pm_status pm_resident_acquire(struct pm_key *key, struct pm_device *device,
                              const struct pm_plan *plan, const pm_control *control,
                              struct pm_resident **resident, pm_error *error);
/* NULL is fine. It stays on the device until it is evicted. */
void pm_resident_give_up(struct pm_key *key, struct pm_resident *resident);
/* Whether the key is there, in whatever way, or about to come; waits for nobody. */
bool pm_resident_is_on(struct pm_key *key, const struct pm_backend *backend);
/* In which ways the key, or so much of it, is there, by enum pm_key_place. Waits for one that is on
 * its way; with waits false it counts as there in every way. Errors: CANCELLED, DEADLINE. */
pm_status pm_resident_find(struct pm_key *key, const struct pm_backend *backend,
                           const struct pm_plan_share *share, bool waits, const pm_control *control,
                           bool is_there[PM_KEY_STREAMED + 1], pm_error *error);
/* For pm_step_data. NULL for NULL. */
void *pm_resident_on_device(const struct pm_resident *resident);
/* Takes off the device what no proof uses. Returns how many are left in use. */
uint32_t pm_resident_evict(struct pm_key *key);

#endif
