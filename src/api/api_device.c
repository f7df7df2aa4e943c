/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "api/api_device.h"

#include "base/limits.h"
#include "base/memory.h"
#include "gpu/load/gpu_load.h"
#include "groth16/backend_cuda.h"
#include "par/team.h"

#include <pthread.h>

/* Plans and reports keep the name for longer than the card is open. */
static const char *const names[PM_DEVICES_MAX] = {
    "cuda:0", "cuda:1", "cuda:2",  "cuda:3",  "cuda:4",  "cuda:5",  "cuda:6",  "cuda:7",
    "cuda:8", "cuda:9", "cuda:10", "cuda:11", "cuda:12", "cuda:13", "cuda:14", "cuda:15"};

/* Held while a card is opened or closed, which takes a while. */
static pthread_mutex_t cards_lock = PTHREAD_MUTEX_INITIALIZER;
static struct pm_device *cards;

/* Held for a few stores: counts of proofs, and what has failed. */
static pthread_mutex_t queues_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- Cards ---------------------------------------------------------------------------------- */

static struct pm_device cpu = {.name = "cpu", .is_lent = true};

static void find_cpu(void) {
    cpu.backend = pm_backend_cpu();
}

struct pm_device *pm_device_cpu(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, find_cpu);
    return &cpu;
}

/* Under the lock. */
static struct pm_device *find_card(uint32_t ordinal) {
    struct pm_device *card = cards;
    while (card != NULL && card->ordinal != ordinal) {
        card = card->next;
    }
    return card;
}

static pm_status new_device(struct pm_device **device, pm_error *error) {
    void *buffer = NULL;
    PM_TRY(
        pm_memory_alloc(NULL, "device", sizeof(struct pm_device), PM_MEMORY_PLAIN, &buffer, error));
    *device = buffer;
    (*device)->n_references = 1;
    return PM_OK;
}

/* Under the lock. */
static pm_status open_card(const char *library, uint32_t ordinal, uint64_t vram_bytes,
                           struct pm_device **device, pm_error *error) {
    const struct pm_cuda_options options = {.memory_limit_bytes = vram_bytes};
    const struct pm_gpu_api *api = NULL;
    struct pm_device *made = NULL;
    PM_TRY(pm_gpu_load(library, &api, error));
    PM_TRY(new_device(&made, error));
    const pm_status status = pm_backend_cuda_open(api, ordinal, &options, &made->backend, error);
    if (status != PM_OK) {
        pm_memory_free(made);
        return status;
    }
    made->name = names[ordinal];
    made->ordinal = ordinal;
    made->vram_bytes = vram_bytes;
    made->next = cards;
    cards = made;
    *device = made;
    return PM_OK;
}

pm_status pm_device_open(const char *library, uint32_t ordinal, uint64_t vram_bytes,
                         struct pm_device **device, pm_error *error) {
    PM_FAIL_IF(ordinal >= PM_DEVICES_MAX, error, PM_NO_DEVICE,
               "there is no cuda:%u: devices are counted from 0 to %u", ordinal,
               PM_DEVICES_MAX - 1);
    pm_status status = PM_OK;
    (void)pthread_mutex_lock(&cards_lock);
    struct pm_device *found = find_card(ordinal);
    if (found == NULL) {
        status = open_card(library, ordinal, vram_bytes, device, error);
    } else if (found->vram_bytes != vram_bytes) {
        status = pm_error_set(error, PM_INVALID_ARGUMENT,
                              "%s is in use with another limit of its memory", found->name);
        pm_error_need_have(error, vram_bytes, found->vram_bytes);
    } else {
        ++found->n_references;
        *device = found;
    }
    (void)pthread_mutex_unlock(&cards_lock);
    return status;
}

pm_status pm_device_lend(struct pm_backend *backend, struct pm_device **device, pm_error *error) {
    PM_TRY(new_device(device, error));
    (*device)->backend = backend;
    (*device)->is_lent = true;
    return PM_OK;
}

struct pm_device *pm_device_retain(struct pm_device *device) {
    if (device != pm_device_cpu()) {
        (void)pthread_mutex_lock(&cards_lock);
        ++device->n_references;
        (void)pthread_mutex_unlock(&cards_lock);
    }
    return device;
}

/* Under the lock. */
static void close_device(struct pm_device *device) {
    if (!device->is_lent) {
        struct pm_device **at = &cards;
        while (*at != device) {
            at = &(*at)->next;
        }
        *at = device->next;
        pm_backend_cuda_close(device->backend);
    }
    pm_memory_free(device);
}

void pm_device_give_up(struct pm_device *device) {
    if (device != NULL && device != pm_device_cpu()) {
        (void)pthread_mutex_lock(&cards_lock);
        if (--device->n_references == 0) {
            close_device(device);
        }
        (void)pthread_mutex_unlock(&cards_lock);
    }
}

/* In each way of being there. */
static void add_keys(const struct pm_plan_sizes *sizes, const struct pm_device_keys *keys,
                     struct pm_plan_device *description) {
    for (int place = PM_KEY_RESIDENT; place <= PM_KEY_STREAMED; ++place) {
        if (keys->may_go) {
            description->there_bytes[place] = description->keys_bytes;
        } else if (keys->is_there[place] && description->key_bytes != NULL) {
            description->there_bytes[place] =
                description->key_bytes(description, sizes, (enum pm_key_place)place);
        }
    }
}

pm_status pm_device_plan(const struct pm_device *device, uint32_t threads,
                         const struct pm_plan_sizes *sizes, const struct pm_device_keys *keys,
                         const struct pm_plan_choices *choices, struct pm_plan *plan,
                         pm_error *error) {
    const struct pm_backend *backend = device->backend;
    struct pm_plan_device description;
    PM_TRY(backend->table->can_run(backend, sizes, error));
    backend->table->describe(backend, NULL, &description);
    description.threads = threads;
    add_keys(sizes, keys, &description);
    if (device->name != NULL) {
        description.name = device->name;
    }
    const pm_status status = pm_plan_make(sizes, &description, choices, plan, error);
    /* A card that has failed when it was asked for its memory has none. */
    return status == PM_OVER_BUDGET && backend->table->can_run(backend, sizes, NULL) == PM_DEVICE
               ? backend->table->can_run(backend, sizes, error)
               : status;
}

/* ---- Queues --------------------------------------------------------------------------------- */

static bool is_before(const struct pm_device *a, const struct pm_device *b) {
    return a->has_failed != b->has_failed ? b->has_failed : a->n_proofs < b->n_proofs;
}

struct pm_device *pm_device_join(struct pm_device *const *devices, uint32_t n, uint32_t *n_before) {
    struct pm_device *best = devices[0];
    (void)pthread_mutex_lock(&queues_lock);
    for (uint32_t i = 1; i < n; ++i) {
        best = is_before(devices[i], best) ? devices[i] : best;
    }
    *n_before = best->n_proofs++;
    (void)pthread_mutex_unlock(&queues_lock);
    return best;
}

uint32_t pm_device_join_idle(struct pm_device *const *devices, uint32_t n, bool joins,
                             struct pm_device **idle) {
    uint32_t n_idle = 0;
    (void)pthread_mutex_lock(&queues_lock);
    for (uint32_t i = 0; i < n; ++i) {
        if (!devices[i]->has_failed && (!joins || devices[i]->n_proofs == 0)) {
            devices[i]->n_proofs += joins;
            idle[n_idle++] = devices[i];
        }
    }
    (void)pthread_mutex_unlock(&queues_lock);
    return n_idle;
}

void pm_device_leave(struct pm_device *device, pm_status status) {
    if (device == pm_device_cpu()) {
        return;
    }
    struct pm_backend *backend = device->backend;
    const bool is_lost = status == PM_DEVICE &&
                         (backend->table->is_lost == NULL || backend->table->is_lost(backend));
    (void)pthread_mutex_lock(&queues_lock);
    --device->n_proofs;
    device->has_failed |= is_lost;
    (void)pthread_mutex_unlock(&queues_lock);
}

bool pm_device_has_failed(const struct pm_device *device) {
    (void)pthread_mutex_lock(&queues_lock);
    const bool has_failed = device->has_failed;
    (void)pthread_mutex_unlock(&queues_lock);
    return has_failed;
}
