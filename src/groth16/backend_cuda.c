/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The card itself: opened, locked, its buffers given out and taken back. */
#include "groth16/backend_cuda.h"

#include "groth16/backend_cuda_card.h"

#include <stdio.h>
#include <time.h>

/* How often a proof that waits for the device looks at its control. */
#define LOOK_INTERVAL_MS 10

/* ---- The locks --------------------------------------------------------------------------------
 */

static pm_status check_good(const struct pm_cuda *cuda, pm_error *error) {
    PM_FAIL_IF(cuda->api->device_is_bad(cuda->device), error, PM_DEVICE,
               "%s failed some time ago and takes no more work in this process", cuda->name);
    return PM_OK;
}

/* Tries to take a lock for a while. */
typedef bool try_function(struct pm_cuda *cuda);

static bool try_device(struct pm_cuda *cuda) {
    return cuda->api->device_lock_within(cuda->device, LOOK_INTERVAL_MS);
}

static bool try_beside(struct pm_cuda *cuda) {
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until); /* the clock that timedlock knows */
    until.tv_nsec += LOOK_INTERVAL_MS * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        ++until.tv_sec;
    }
    return pthread_mutex_timedlock(&cuda->beside, &until) == 0;
}

static pm_status take(struct pm_cuda *cuda, try_function *try, const pm_control *control,
                      pm_error *error) {
    PM_TRY(check_good(cuda, error));
    while (!try(cuda)) {
        PM_TRY(check_good(cuda, error));
        PM_TRY(pm_control_check(control, error));
    }
    return PM_OK;
}

static pm_status lock(struct pm_backend *backend, const pm_control *control, pm_error *error) {
    struct pm_cuda *cuda = pm_cuda_of(backend);
    PM_TRY(take(cuda, try_device, control, error));
    const pm_status status = check_good(cuda, error);
    if (status != PM_OK) {
        cuda->api->device_unlock(cuda->device);
        return status;
    }
    __atomic_store_n(&cuda->holder.thread, pthread_self(), __ATOMIC_RELAXED);
    __atomic_store_n(&cuda->holder.is_held, true, __ATOMIC_RELEASE);
    return PM_OK;
}

/* What was asked for is done before somebody else asks. */
static void unlock(struct pm_backend *backend) {
    struct pm_cuda *cuda = pm_cuda_of(backend);
    (void)cuda->api->stream_wait(&cuda->holder.stream, NULL);
    __atomic_store_n(&cuda->holder.is_held, false, __ATOMIC_RELEASE);
    cuda->api->device_unlock(cuda->device);
}

static pm_status lock_beside(struct pm_backend *backend, const pm_control *control,
                             pm_error *error) {
    return take(pm_cuda_of(backend), try_beside, control, error);
}

static void unlock_beside(struct pm_backend *backend) {
    (void)pthread_mutex_unlock(&pm_cuda_of(backend)->beside);
}

static pm_status synchronise(struct pm_backend *backend, pm_error *error) {
    struct pm_cuda *cuda = pm_cuda_of(backend);
    return cuda->api->stream_wait(&pm_cuda_side(cuda)->stream, error);
}

/* ---- Staging ----------------------------------------------------------------------------------
 */

pm_status pm_cuda_staging_get(struct pm_cuda *cuda, const char *name, uint64_t bytes,
                              struct pm_gpu_buffer *staging, pm_error *error) {
    *staging = (struct pm_gpu_buffer){0};
    (void)pthread_mutex_lock(&cuda->mutex);
    for (uint32_t i = 0; i < PM_CUDA_SPARES && staging->bytes == 0; ++i) {
        if (cuda->spare_staging[i].bytes == bytes) {
            *staging = cuda->spare_staging[i];
            cuda->spare_staging[i] = (struct pm_gpu_buffer){0};
        }
    }
    (void)pthread_mutex_unlock(&cuda->mutex);
    return staging->bytes != 0
               ? PM_OK
               : cuda->api->memory_get(cuda->device, NULL, PM_GPU_PINNED, name, bytes, NULL,
                                       __FILE__, __LINE__, staging, error);
}

void pm_cuda_staging_put(struct pm_cuda *cuda, struct pm_gpu_buffer *staging) {
    (void)pthread_mutex_lock(&cuda->mutex);
    for (uint32_t i = 0; i < PM_CUDA_SPARES && staging->bytes == cuda->staging_bytes; ++i) {
        if (cuda->spare_staging[i].bytes == 0) {
            cuda->spare_staging[i] = *staging;
            *staging = (struct pm_gpu_buffer){0};
        }
    }
    (void)pthread_mutex_unlock(&cuda->mutex);
    cuda->api->memory_release(cuda->device, NULL, staging);
}

/* Nothing is on its way any more when the memory is wiped: steps wait for their loads, and sums for
 * what they bring down, unless they failed. Failures here are those of a bad device, which the next
 * call tells. */
static void staging_release(struct pm_cuda *cuda, struct pm_cuda_buffer *held) {
    uint8_t *staging = held->buffer.address;
    (void)cuda->api->stream_wait(&pm_cuda_side(cuda)->stream, NULL);
    (void)pthread_mutex_lock(&cuda->mutex);
    const uint64_t outputs_bytes = cuda->outputs_most_bytes;
    (void)pthread_mutex_unlock(&cuda->mutex);
    for (uint64_t i = 0; i < 2; ++i) {
        uint8_t *half = staging + i * cuda->half_bytes;
        pm_memory_wipe(half, held->used_bytes);
        for (uint64_t slot = 0; slot < PM_CUDA_SLOTS && held->slot_used_bytes != 0; ++slot) {
            pm_memory_wipe(half + slot * held->slot_bytes, held->slot_used_bytes);
        }
    }
    pm_memory_wipe(staging + 2 * cuda->half_bytes, outputs_bytes);
    pm_cuda_staging_put(cuda, &held->buffer);
}

/* ---- Buffers of plans -------------------------------------------------------------------------
 */

/* Under the mutex. address NULL: a free entry. */
static struct pm_cuda_buffer *find_buffer(struct pm_cuda *cuda, const void *address) {
    for (uint32_t i = 0; i < PM_CUDA_BUFFERS_MAX; ++i) {
        struct pm_cuda_buffer *entry = &cuda->buffers[i];
        if (address == NULL ? entry->bytes == 0
                            : entry->bytes != 0 && entry->buffer.address == address) {
            return entry;
        }
    }
    return NULL;
}

static uint64_t greater(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

void pm_cuda_staging_used(struct pm_cuda *cuda, const struct pm_cuda_way *way) {
    (void)pthread_mutex_lock(&cuda->mutex);
    struct pm_cuda_buffer *entry = find_buffer(cuda, way->lanes[0].half);
    for (int i = 0; i < 2 && entry != NULL; ++i) { /* that of a key's way is none, and no secret */
        const struct pm_cuda_lane *lane = &way->lanes[i];
        entry->used_bytes = greater(lane->used_bytes, entry->used_bytes);
        entry->slot_used_bytes = greater(lane->slot_used_bytes, entry->slot_used_bytes);
        entry->slot_bytes = greater(way->slot_bytes, entry->slot_bytes);
    }
    (void)pthread_mutex_unlock(&cuda->mutex);
}

static pm_status get(struct pm_cuda *cuda, const struct pm_ledger_note *note, uint64_t bytes,
                     struct pm_gpu_buffer *buffer, pm_error *error) {
    if (note->pool == PM_POOL_PINNED) {
        return pm_cuda_staging_get(cuda, note->name, bytes, buffer, error);
    }
    return cuda->api->memory_get(cuda->device, &pm_cuda_side(cuda)->stream, PM_GPU_STREAM,
                                 note->name, bytes, NULL, note->file, (int)note->line, buffer,
                                 error);
}

static pm_status allocate(struct pm_backend *backend, struct pm_ledger *ledger,
                          const struct pm_ledger_note *note, uint64_t bytes, bool secret,
                          void **buffer, pm_error *error) {
    struct pm_cuda *cuda = pm_cuda_of(backend);
    struct pm_gpu_buffer got = {0};
    PM_TRY(get(cuda, note, bytes, &got, error));
    (void)pthread_mutex_lock(&cuda->mutex);
    struct pm_cuda_buffer *entry = find_buffer(cuda, NULL);
    if (entry != NULL) {
        const uint64_t live_bytes = cuda->api->device_live_bytes(cuda->device, PM_GPU_STREAM);
        *entry = (struct pm_cuda_buffer){.buffer = got, .bytes = bytes, .secret = secret};
        cuda->pool_peak_bytes =
            live_bytes > cuda->pool_peak_bytes ? live_bytes : cuda->pool_peak_bytes;
    }
    (void)pthread_mutex_unlock(&cuda->mutex);
    if (entry == NULL) {
        cuda->api->memory_release(cuda->device, &pm_cuda_side(cuda)->stream, &got);
        PM_FAIL(error, PM_INTERNAL, "more than %u buffers of proofs on %s", PM_CUDA_BUFFERS_MAX,
                cuda->name);
    }
    *buffer = got.address;
    pm_ledger_allocated(ledger, note, bytes);
    return PM_OK;
}

static void release(struct pm_backend *backend, struct pm_ledger *ledger,
                    const struct pm_ledger_note *note, void *buffer) {
    struct pm_cuda *cuda = pm_cuda_of(backend);
    struct pm_cuda_buffer held = {.bytes = 0};
    (void)pthread_mutex_lock(&cuda->mutex);
    struct pm_cuda_buffer *entry = find_buffer(cuda, buffer);
    if (entry != NULL) {
        held = *entry;
        *entry = (struct pm_cuda_buffer){0};
    }
    (void)pthread_mutex_unlock(&cuda->mutex);
    if (held.buffer.mechanism == PM_GPU_PINNED) {
        staging_release(cuda, &held);
    } else if (held.bytes != 0) {
        const struct pm_gpu_stream *stream = &pm_cuda_side(cuda)->stream;
        if (held.secret) { /* a device that cannot do that is bad, and lost with what it holds */
            (void)cuda->api->fill(stream, buffer, 0, held.bytes, NULL);
        }
        cuda->api->memory_release(cuda->device, stream, &held.buffer);
    }
    pm_ledger_released(ledger, note, held.bytes);
}

/* ---- Opened and closed ------------------------------------------------------------------------
 */

static const struct pm_backend_table table = {
    .kind = "cuda",
    .describe = pm_cuda_describe,
    .can_run = pm_cuda_can_run,
    .open_key = pm_cuda_open_key,
    .close_key = pm_cuda_close_key,
    .lock = lock,
    .unlock = unlock,
    .lock_beside = lock_beside,
    .unlock_beside = unlock_beside,
    .allocate = allocate,
    .release = release,
    .synchronise = synchronise,
    .step =
        {
            [PM_STEP_LOAD_WITNESS] = pm_cuda_load_witness,
            [PM_STEP_LOAD_VECTORS] = pm_cuda_load_vectors,
            [PM_STEP_PRODUCTS] = pm_cuda_products,
            [PM_STEP_QUOTIENT] = pm_cuda_quotient,
            [PM_STEP_COSET_PRODUCT] = pm_cuda_coset_product,
            [PM_STEP_RECOMPUTE_C] = pm_cuda_recompute_c,
            [PM_STEP_QUOTIENT_OF_C] = pm_cuda_quotient_of_c,
            [PM_STEP_MSM_H] = pm_cuda_msm_h,
            [PM_STEP_CLASSIFY] = pm_cuda_classify,
            [PM_STEP_MSM_A] = pm_cuda_msm_a,
            [PM_STEP_MSM_B1] = pm_cuda_msm_b1,
            [PM_STEP_MSM_L] = pm_cuda_msm_l,
            [PM_STEP_MSM_B2] = pm_cuda_msm_b2,
        },
};

static pm_status open_side(struct pm_cuda *cuda, struct pm_cuda_side *side, pm_error *error) {
    const struct pm_gpu_api *api = cuda->api;
    PM_TRY(api->stream_create(cuda->device, &side->stream, error));
    PM_TRY(api->event_create(cuda->device, &side->way.fence, error));
    for (int i = 0; i < 2; ++i) {
        PM_TRY(api->stream_create(cuda->device, &side->way.lanes[i].stream, error));
        PM_TRY(api->event_create(cuda->device, &side->used[i], error));
    }
    return PM_OK;
}

static void close_side(struct pm_cuda *cuda, struct pm_cuda_side *side) {
    const struct pm_gpu_api *api = cuda->api;
    for (int i = 0; i < 2; ++i) {
        api->event_destroy(&side->used[i]);
        api->stream_destroy(&side->way.lanes[i].stream);
    }
    api->event_destroy(&side->way.fence);
    api->stream_destroy(&side->stream);
}

pm_status pm_backend_cuda_open(const struct pm_gpu_api *api, uint32_t ordinal,
                               const struct pm_cuda_options *options, struct pm_backend **backend,
                               pm_error *error) {
    void *memory = NULL;
    PM_FAIL_IF(ordinal >= PM_DEVICES_MAX, error, PM_NO_DEVICE,
               "device %u: a process uses the first %u at most", ordinal, PM_DEVICES_MAX);
    PM_TRY(
        pm_memory_alloc(NULL, "device", sizeof(struct pm_cuda), PM_MEMORY_PLAIN, &memory, error));
    struct pm_cuda *cuda = memory;
    cuda->backend = (struct pm_backend){.table = &table, .pool = PM_POOL_VRAM_0 + ordinal};
    cuda->api = api;
    cuda->options = options != NULL ? *options : (struct pm_cuda_options){0};
    cuda->half_bytes = PM_CUDA_SLOTS * pm_cuda_slot_bytes(cuda->options.pack_scalars != 0
                                                              ? cuda->options.pack_scalars
                                                              : PM_CUDA_PACK_SCALARS_MAX);
    cuda->staging_bytes = 2 * cuda->half_bytes + PM_CUDA_OUTPUTS_BYTES;
    (void)snprintf(cuda->name, sizeof cuda->name, "cuda:%u", ordinal);
    (void)pthread_mutex_init(&cuda->mutex, NULL); /* cannot fail with default attributes */
    (void)pthread_mutex_init(&cuda->beside, NULL);
    pm_status status = api->device_open(ordinal, NULL, &cuda->device, error);
    if (status == PM_OK) {
        api->device_facts(cuda->device, &cuda->facts);
        status = open_side(cuda, &cuda->holder, error);
    }
    if (status == PM_OK) {
        status = open_side(cuda, &cuda->next, error);
    }
    if (status != PM_OK) {
        pm_backend_cuda_close(&cuda->backend);
        return status;
    }
    *backend = &cuda->backend;
    return PM_OK;
}

void pm_backend_cuda_close(struct pm_backend *backend) {
    if (backend == NULL) {
        return;
    }
    struct pm_cuda *cuda = pm_cuda_of(backend);
    const struct pm_gpu_api *api = cuda->api;
    if (cuda->device != NULL) {
        for (uint32_t i = 0; i < PM_CUDA_SPARES; ++i) {
            api->memory_release(cuda->device, NULL, &cuda->spare_staging[i]);
        }
        close_side(cuda, &cuda->holder);
        close_side(cuda, &cuda->next);
        api->device_close(cuda->device);
    }
    (void)pthread_mutex_destroy(&cuda->beside);
    (void)pthread_mutex_destroy(&cuda->mutex);
    pm_memory_free(cuda);
}
