/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "api/api_resident.h"

#include "api/api_internal.h"
#include "base/clock.h"
#include "groth16/plan_share.h"

#include <errno.h>

/* How often a proof that waits for another one's upload looks at its control. */
#define LOOK_INTERVAL_NS 20000000

struct pm_resident {
    struct pm_resident *next;
    struct pm_device *device;   /* a reference */
    enum pm_key_place place;    /* all of the key, or what a streamed one keeps there */
    struct pm_plan_share share; /* where it is one of several devices for a proof */
    uint32_t n_users;
    void *on_device; /* what open_key() gave */
};

/* Whether a proof with this share finds what it needs. */
static bool serves(const struct pm_resident *resident, const struct pm_backend *backend,
                   const struct pm_plan_share *share) {
    return resident->device->backend == backend &&
           (!resident->share.is_cut || pm_plan_share_equal(&resident->share, share));
}

void pm_residents_init(struct pm_residents *residents) {
    residents->first = NULL;
    (void)pthread_mutex_init(&residents->lock, NULL); /* cannot fail with default attributes */
}

static void resident_close(struct pm_resident *resident) {
    struct pm_backend *backend = resident->device->backend;
    backend->table->close_key(backend, resident->on_device);
    pm_device_give_up(resident->device);
    pm_memory_free(resident);
}

void pm_residents_close(struct pm_residents *residents) {
    while (residents->first != NULL) {
        struct pm_resident *resident = residents->first;
        residents->first = resident->next;
        resident_close(resident);
    }
    (void)pthread_mutex_destroy(&residents->lock);
}

/* An upload by another proof may take a while. */
static pm_status lock_residents(struct pm_residents *residents, const pm_control *control,
                                pm_error *error) {
    for (;;) {
        struct timespec until;
        (void)clock_gettime(CLOCK_REALTIME, &until); /* the clock that timedlock knows */
        until.tv_nsec += LOOK_INTERVAL_NS;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            ++until.tv_sec;
        }
        if (pthread_mutex_timedlock(&residents->lock, &until) == 0) {
            return PM_OK;
        }
        PM_TRY(pm_control_check(control, error));
    }
}

/* Under the lock. */
static pm_status open_resident(struct pm_key *key, struct pm_device *device,
                               const struct pm_plan *plan, const pm_control *control,
                               struct pm_resident **resident, pm_error *error) {
    void *buffer = NULL;
    PM_TRY(pm_memory_alloc(NULL, "resident key", sizeof(struct pm_resident), PM_MEMORY_PLAIN,
                           &buffer, error));
    struct pm_resident *made = buffer;
    *made = (struct pm_resident){.next = key->residents.first,
                                 .device = pm_device_retain(device),
                                 .place = plan->choices.key,
                                 .share = plan->sizes.share};
    struct pm_backend *backend = device->backend;
    struct pm_proving_key seen;
    pm_proving_key_cut(&key->proving_key, &made->share, &seen);
    const pm_status status = backend->table->open_key(backend, &seen, plan, &key->ledger, control,
                                                      &made->on_device, error);
    if (status != PM_OK) {
        pm_device_give_up(device);
        pm_memory_free(made);
        return status;
    }
    key->residents.first = made;
    *resident = made;
    return PM_OK;
}

pm_status pm_resident_acquire(struct pm_key *key, struct pm_device *device,
                              const struct pm_plan *plan, const pm_control *control,
                              struct pm_resident **resident, pm_error *error) {
    const struct pm_backend *backend = device->backend;
    *resident = NULL;
    if (backend->table->open_key == NULL) {
        return PM_OK;
    }
    PM_TRY(lock_residents(&key->residents, control, error));
    struct pm_resident *found = key->residents.first;
    while (found != NULL &&
           (!serves(found, backend, &plan->sizes.share) || found->place != plan->choices.key)) {
        found = found->next;
    }
    pm_status status = PM_OK;
    if (found == NULL) {
        status = open_resident(key, device, plan, control, &found, error);
    }
    if (status == PM_OK) {
        ++found->n_users;
        *resident = found;
    }
    (void)pthread_mutex_unlock(&key->residents.lock);
    return status;
}

void pm_resident_give_up(struct pm_key *key, struct pm_resident *resident) {
    if (resident != NULL) {
        (void)pthread_mutex_lock(&key->residents.lock);
        --resident->n_users;
        (void)pthread_mutex_unlock(&key->residents.lock);
    }
}

bool pm_resident_is_on(struct pm_key *key, const struct pm_backend *backend) {
    if (pthread_mutex_trylock(&key->residents.lock) != 0) {
        return true;
    }
    const struct pm_resident *found = key->residents.first;
    while (found != NULL && found->device->backend != backend) {
        found = found->next;
    }
    (void)pthread_mutex_unlock(&key->residents.lock);
    return found != NULL;
}

pm_status pm_resident_find(struct pm_key *key, const struct pm_backend *backend,
                           const struct pm_plan_share *share, bool waits, const pm_control *control,
                           bool is_there[PM_KEY_STREAMED + 1], pm_error *error) {
    for (int place = 0; place <= PM_KEY_STREAMED; ++place) {
        is_there[place] = backend->table->open_key != NULL;
    }
    if (backend->table->open_key == NULL) {
        return PM_OK;
    }
    if (waits) {
        PM_TRY(lock_residents(&key->residents, control, error));
    } else if (pthread_mutex_trylock(&key->residents.lock) != 0) {
        return PM_OK;
    }
    for (int place = 0; place <= PM_KEY_STREAMED; ++place) {
        is_there[place] = false;
    }
    for (const struct pm_resident *at = key->residents.first; at != NULL; at = at->next) {
        is_there[at->place] |= serves(at, backend, share);
    }
    (void)pthread_mutex_unlock(&key->residents.lock);
    return PM_OK;
}

void *pm_resident_on_device(const struct pm_resident *resident) {
    return resident == NULL ? NULL : resident->on_device;
}

uint32_t pm_resident_evict(struct pm_key *key) {
    uint32_t n_used = 0;
    (void)pthread_mutex_lock(&key->residents.lock);
    for (struct pm_resident **at = &key->residents.first; *at != NULL;) {
        struct pm_resident *resident = *at;
        if (resident->n_users != 0) {
            ++n_used;
            at = &resident->next;
        } else {
            *at = resident->next;
            resident_close(resident);
        }
    }
    (void)pthread_mutex_unlock(&key->residents.lock);
    return n_used;
}
