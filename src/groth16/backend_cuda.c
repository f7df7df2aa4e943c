/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The card itself: opened, locked, its buffers given out and taken back. */
#include "groth16/backend_cuda.h"

#include "groth16/backend_cuda_card.h"

#include <stdio.h>
#include <time.h>

/* How often a proof that waits for the device looks at its control. */
#define LOOK_INTERVAL_MS 10
/* Of free memory so many of the highest bits count, so that plans do not change with every page. */
#define MEMORY_BITS 8

/* ---- The card's state -------------------------------------------------------------------------
 */

bool pm_cuda_is_bad(const struct pm_cuda *cuda) {
    return cuda->api->device_is_bad(cuda->device) ||
           __atomic_load_n(&cuda->is_lost, __ATOMIC_RELAXED);
}

static pm_status check_good(const struct pm_cuda *cuda, pm_error *error) {
    PM_FAIL_IF(pm_cuda_is_bad(cuda), error, PM_DEVICE,
               "%s failed some time ago and takes no more work in this process", cuda->name);
    return PM_OK;
}

/* What is no failure of the card for good leaves a question without harm answered: the first one
 * may still be told of what went wrong before. */
static bool is_lost(struct pm_backend *backend) {
    struct pm_cuda *cuda = pm_cuda_of(backend);
    uint64_t bytes = 0;
    if (!pm_cuda_is_bad(cuda) &&
        cuda->api->device_free_bytes(cuda->device, &bytes, NULL) != PM_OK &&
        cuda->api->device_free_bytes(cuda->device, &bytes, NULL) != PM_OK) {
        __atomic_store_n(&cuda->is_lost, true, __ATOMIC_RELAXED);
    }
    return pm_cuda_is_bad(cuda);
}

uint64_t pm_cuda_memory_bytes(struct pm_cuda *cuda) {
    const struct pm_gpu_api *api = cuda->api;
    const uint64_t limit = cuda->options.memory_limit_bytes;
    const uint64_t keys_bytes = api->device_live_bytes(cuda->device, PM_GPU_ONCE);
    uint64_t bytes = 0;
    if (api->device_free_bytes(cuda->device, &bytes, NULL) != PM_OK) {
        return 0;
    }
    (void)pthread_mutex_lock(&cuda->mutex);
    bytes += cuda->pool_peak_bytes;
    (void)pthread_mutex_unlock(&cuda->mutex);
    const int shift = bytes >> MEMORY_BITS != 0 ? 64 - MEMORY_BITS - __builtin_clzll(bytes) : 0;
    bytes = bytes >> shift << shift;
    const uint64_t allowed = limit > keys_bytes ? limit - keys_bytes : 0;
    return limit != 0 && allowed < bytes ? allowed : bytes;
}

/* ---- The locks --------------------------------------------------------------------------------
 */

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

/* Between two looks whether there is room. */
static pm_status wait_a_little(const struct pm_cuda *cuda, const pm_control *control,
                               pm_error *error) {
    const struct timespec wait = {.tv_nsec = LOOK_INTERVAL_MS * 1000000 / 10};
    (void)nanosleep(&wait, NULL);
    PM_TRY(check_good(cuda, error));
    return pm_control_check(control, error);
}

/* By who has just taken the side's lock. */
static pm_status have_staging(struct pm_cuda *cuda, struct pm_cuda_side *side, pm_error *error) {
    if (side->staging.bytes != 0) {
        return PM_OK;
    }
    PM_TRY(cuda->api->memory_get(cuda->device, NULL, PM_GPU_PINNED, "staging", cuda->staging_bytes,
                                 NULL, __FILE__, __LINE__, &side->staging, error));
    (void)__atomic_add_fetch(&cuda->kept_bytes, side->staging.bytes, __ATOMIC_RELAXED);
    return PM_OK;
}

static uint64_t staging_bytes(struct pm_backend *backend) {
    return __atomic_load_n(&pm_cuda_of(backend)->kept_bytes, __ATOMIC_RELAXED);
}

static void hold(struct pm_cuda_side *side) {
    __atomic_store_n(&side->thread, pthread_self(), __ATOMIC_RELAXED);
    __atomic_store_n(&side->is_held, true, __ATOMIC_RELEASE);
}

/* Nothing of it is on its way any more. */
static void let_go(struct pm_cuda *cuda, struct pm_cuda_side *side) {
    (void)cuda->api->stream_wait(&side->stream, NULL);
    (void)pthread_mutex_lock(&cuda->mutex);
    const uint64_t outputs_bytes = cuda->outputs_most_bytes;
    side->bytes = 0;
    (void)pthread_mutex_unlock(&cuda->mutex);
    if (side->staging.bytes != 0) {
        pm_memory_wipe(pm_cuda_landing(cuda, side), outputs_bytes);
    }
    __atomic_store_n(&side->is_held, false, __ATOMIC_RELEASE);
}

/* Enters what side's proof may hold of the pool, unless that and what the other's may hold are more
 * than there is. own: of the other, what the caller itself has: it goes over into side's. */
static bool is_admitted(struct pm_cuda *cuda, struct pm_cuda_side *side, struct pm_cuda_side *other,
                        bool own, uint64_t bytes) {
    (void)pthread_mutex_lock(&cuda->mutex);
    const bool is_shared = !own && other->bytes != 0;
    (void)pthread_mutex_unlock(&cuda->mutex);
    /* The driver is asked where the answer counts; one who comes meanwhile is asked for next time.
     */
    const uint64_t room = is_shared ? pm_cuda_memory_bytes(cuda) : 0;
    (void)pthread_mutex_lock(&cuda->mutex);
    const uint64_t others_bytes = own ? 0 : other->bytes;
    const bool waits = side == &cuda->next && cuda->n_refused != 0;
    const bool fits =
        !waits && (others_bytes == 0 || (bytes <= room && others_bytes <= room - bytes));
    if (fits) {
        side->bytes = bytes;
        other->bytes = others_bytes;
    }
    (void)pthread_mutex_unlock(&cuda->mutex);
    return fits;
}

static uint64_t peak_bytes(const struct pm_plan *plan) {
    uint64_t bytes[PM_POOLS_MAX] = {0};
    if (plan == NULL) {
        return 0;
    }
    pm_plan_remaining(plan, 0, bytes);
    return bytes[plan->device_pool];
}

static void count_refused(struct pm_cuda *cuda, bool is_one_more) {
    (void)pthread_mutex_lock(&cuda->mutex);
    cuda->n_refused += is_one_more ? 1 : UINT32_MAX;
    (void)pthread_mutex_unlock(&cuda->mutex);
}

/* Who is next and has loaded its witness, although this proof needs the memory, goes first; nobody
 * else loads one until this proof has had its turn. */
static pm_status take_device(struct pm_cuda *cuda, uint64_t bytes, const pm_control *control,
                             bool *was_refused, pm_error *error) {
    const bool is_next = pm_cuda_is_held(&cuda->next);
    bool has_it = false;
    while (!has_it) {
        PM_TRY(take(cuda, try_device, control, error));
        pm_status status = check_good(cuda, error);
        if (status == PM_OK) {
            status = have_staging(cuda, &cuda->holder, error);
        }
        has_it = status == PM_OK && is_admitted(cuda, &cuda->holder, &cuda->next, is_next, bytes);
        if (!has_it) {
            cuda->api->device_unlock(cuda->device);
            PM_TRY(status);
            if (!*was_refused) {
                *was_refused = true;
                count_refused(cuda, true);
            }
            PM_TRY(wait_a_little(cuda, control, error));
        }
    }
    hold(&cuda->holder);
    return PM_OK;
}

static pm_status lock(struct pm_backend *backend, const struct pm_plan *plan,
                      const pm_control *control, pm_error *error) {
    struct pm_cuda *cuda = pm_cuda_of(backend);
    bool was_refused = false;
    const pm_status status = take_device(cuda, peak_bytes(plan), control, &was_refused, error);
    if (was_refused) {
        count_refused(cuda, false);
    }
    return status;
}

static void unlock(struct pm_backend *backend) {
    struct pm_cuda *cuda = pm_cuda_of(backend);
    let_go(cuda, &cuda->holder);
    cuda->api->device_unlock(cuda->device);
}

/* A witness that leaves too little to who holds the device comes when that proof is done. */
static pm_status lock_beside(struct pm_backend *backend, const struct pm_plan *plan,
                             const pm_control *control, pm_error *error) {
    struct pm_cuda *cuda = pm_cuda_of(backend);
    const uint64_t bytes = plan != NULL ? pm_plan_beside_bytes(plan) : 0;
    PM_TRY(take(cuda, try_beside, control, error));
    pm_status status = have_staging(cuda, &cuda->next, error);
    while (status == PM_OK && !is_admitted(cuda, &cuda->next, &cuda->holder, false, bytes)) {
        status = wait_a_little(cuda, control, error);
    }
    if (status != PM_OK) {
        (void)pthread_mutex_unlock(&cuda->beside);
        return status;
    }
    hold(&cuda->next);
    return PM_OK;
}

static void unlock_beside(struct pm_backend *backend) {
    struct pm_cuda *cuda = pm_cuda_of(backend);
    let_go(cuda, &cuda->next);
    (void)pthread_mutex_unlock(&cuda->beside);
}

static pm_status synchronise(struct pm_backend *backend, pm_error *error) {
    struct pm_cuda *cuda = pm_cuda_of(backend);
    return cuda->api->stream_wait(&pm_cuda_side(cuda)->stream, error);
}

/* ---- The pool ---------------------------------------------------------------------------------
 */

/* Both locks are held: nobody asks the pool for anything. */
static pm_status renew_pool(struct pm_cuda *cuda, pm_error *error) {
    const struct pm_gpu_api *api = cuda->api;
    struct pm_gpu_device *pool = NULL;
    PM_TRY(api->stream_wait(&cuda->holder.stream, error));
    PM_TRY(api->stream_wait(&cuda->next.stream, error));
    if (api->device_live_bytes(cuda->pool, PM_GPU_STREAM) != 0) {
        return PM_OK;
    }
    PM_TRY(api->device_open(cuda->facts.ordinal, NULL, &pool, error));
    api->device_close(cuda->pool);
    cuda->pool = pool;
    (void)pthread_mutex_lock(&cuda->mutex);
    cuda->pool_peak_bytes = 0;
    (void)pthread_mutex_unlock(&cuda->mutex);
    return PM_OK;
}

/* In the order in which proofs take the locks. */
pm_status pm_cuda_trim(struct pm_cuda *cuda, const pm_control *control, pm_error *error) {
    PM_TRY(take(cuda, try_beside, control, error));
    pm_status status = take(cuda, try_device, control, error);
    if (status == PM_OK) {
        status = renew_pool(cuda, error);
        cuda->api->device_unlock(cuda->device);
    }
    (void)pthread_mutex_unlock(&cuda->beside);
    return status;
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

static pm_status allocate(struct pm_backend *backend, struct pm_ledger *ledger,
                          const struct pm_ledger_note *note, uint64_t bytes, bool secret,
                          void **buffer, pm_error *error) {
    struct pm_cuda *cuda = pm_cuda_of(backend);
    struct pm_gpu_buffer got = {0};
    PM_TRY(cuda->api->memory_get(cuda->pool, &pm_cuda_side(cuda)->stream, PM_GPU_STREAM, note->name,
                                 bytes, NULL, note->file, (int)note->line, &got, error));
    (void)pthread_mutex_lock(&cuda->mutex);
    struct pm_cuda_buffer *entry = find_buffer(cuda, NULL);
    if (entry != NULL) {
        const uint64_t live_bytes = cuda->api->device_live_bytes(cuda->pool, PM_GPU_STREAM);
        *entry = (struct pm_cuda_buffer){.buffer = got, .bytes = bytes, .secret = secret};
        cuda->pool_peak_bytes =
            live_bytes > cuda->pool_peak_bytes ? live_bytes : cuda->pool_peak_bytes;
    }
    (void)pthread_mutex_unlock(&cuda->mutex);
    if (entry == NULL) {
        cuda->api->memory_release(cuda->pool, &pm_cuda_side(cuda)->stream, &got);
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
    if (held.bytes != 0) {
        const struct pm_gpu_stream *stream = &pm_cuda_side(cuda)->stream;
        if (held.secret) { /* a device that cannot do that is bad, and lost with what it holds */
            (void)cuda->api->fill(stream, buffer, 0, held.bytes, NULL);
        }
        cuda->api->memory_release(cuda->pool, stream, &held.buffer);
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
    .is_lost = is_lost,
    .staging_bytes = staging_bytes,
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
            [PM_STEP_MSM_ALL] = pm_cuda_msm_all,
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
    api->memory_release(cuda->device, NULL, &side->staging);
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
        status = api->device_open(ordinal, NULL, &cuda->pool, error);
    }
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
        close_side(cuda, &cuda->holder);
        close_side(cuda, &cuda->next);
        api->device_close(cuda->pool);
        api->device_close(cuda->device);
    }
    (void)pthread_mutex_destroy(&cuda->beside);
    (void)pthread_mutex_destroy(&cuda->mutex);
    pm_memory_free(cuda);
}
