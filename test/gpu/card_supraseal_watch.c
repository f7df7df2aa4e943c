/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "card_supraseal_watch.h"

#include <pthread.h>
#include <time.h>

#define EXPORTED __attribute__((visibility("default")))

static const struct pm_gpu_api *real;
static struct pm_gpu_api watched;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct card_watch_figures seen; /* under mutex, as the next two */
static uint64_t device_bytes, pinned_bytes;
static __thread double lock_begin_ms; /* of the one lock that a thread holds */

card_watch_open_function card_watch_open;
card_watch_take_function card_watch_take;
pm_gpu_api_get_function pm_gpu_api_get;

static double now_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static void keep_peak(uint64_t *peak, uint64_t bytes) {
    *peak = bytes > *peak ? bytes : *peak;
}

static void on_memory(void *user, const struct pm_gpu_memory_event *event) {
    (void)user;
    if (event->mechanism == PM_GPU_REGISTERED) {
        return; /* the caller's own */
    }
    (void)pthread_mutex_lock(&mutex);
    uint64_t *bytes = event->mechanism == PM_GPU_PINNED ? &pinned_bytes : &device_bytes;
    *bytes = event->is_release ? *bytes - event->bytes : *bytes + event->bytes;
    keep_peak(&seen.device_peak_bytes, device_bytes);
    keep_peak(&seen.pinned_peak_bytes, pinned_bytes);
    (void)pthread_mutex_unlock(&mutex);
}

static pm_status device_open(uint32_t ordinal, const struct pm_gpu_options *options,
                             struct pm_gpu_device **device, pm_error *error) {
    struct pm_gpu_options told = {.report = on_memory};
    told.failing_allocation = options != NULL ? options->failing_allocation : 0;
    return real->device_open(ordinal, &told, device, error);
}

static void device_lock(struct pm_gpu_device *device) {
    real->device_lock(device);
    lock_begin_ms = now_ms();
}

static bool device_lock_within(struct pm_gpu_device *device, uint32_t timeout_ms) {
    const bool is_held = real->device_lock_within(device, timeout_ms);
    if (is_held) {
        lock_begin_ms = now_ms();
    }
    return is_held;
}

static void device_unlock(struct pm_gpu_device *device) {
    const double locked_ms = now_ms() - lock_begin_ms;
    struct pm_gpu_facts facts = {.total_bytes = 0};
    pm_error error = PM_ERROR_INIT;
    uint64_t free_bytes = 0;
    real->device_facts(device, &facts);
    const bool is_known = real->device_free_bytes(device, &free_bytes, &error) == PM_OK;
    (void)pthread_mutex_lock(&mutex);
    ++seen.n_locks;
    seen.locked_ms += locked_ms;
    if (is_known) {
        keep_peak(&seen.used_peak_bytes, facts.total_bytes - free_bytes);
    }
    (void)pthread_mutex_unlock(&mutex);
    real->device_unlock(device);
}

EXPORTED void card_watch_open(const struct pm_gpu_api *api) {
    real = api;
    watched = *api;
    watched.device_open = device_open;
    watched.device_lock = device_lock;
    watched.device_lock_within = device_lock_within;
    watched.device_unlock = device_unlock;
}

EXPORTED void card_watch_take(struct card_watch_figures *figures) {
    (void)pthread_mutex_lock(&mutex);
    *figures = seen;
    seen.n_locks = 0;
    seen.locked_ms = 0;
    (void)pthread_mutex_unlock(&mutex);
}

EXPORTED const struct pm_gpu_api *pm_gpu_api_get(void) {
    return real != NULL ? &watched : NULL;
}
