/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "support/fake_device.h"

#include "groth16/plan_device.h"
#include "groth16/proving_key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define POISON 0xa5
#define LOOK_INTERVAL_NS 2000000

static struct fake_device *device_of(struct pm_backend *backend) {
    return (struct fake_device *)(void *)backend;
}

static const struct fake_device *device_of_const(const struct pm_backend *backend) {
    return (const struct fake_device *)(const void *)backend;
}

static void violation(struct fake_device *device) {
    (void)__atomic_add_fetch(&device->n_violations, 1, __ATOMIC_RELAXED);
}

/* ---- Memory --------------------------------------------------------------------------------- */

/* Under the mutex. */
static pm_status take_block(struct fake_device *device, uint32_t pool, uint64_t bytes,
                            struct fake_block **out, pm_error *error) {
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t room = device->limit_bytes - device->live_bytes[pool];
    const bool fails = device->fail_allocation_at != 0 && --device->fail_allocation_at == 0;
    struct fake_block *block = device->blocks;
    while (block < device->blocks + FAKE_DEVICE_BLOCKS_MAX && block->pages != NULL) {
        ++block;
    }
    if (fails || bytes > room || block == device->blocks + FAKE_DEVICE_BLOCKS_MAX) {
        pm_error_set(error, PM_NO_MEMORY, "the fake device cannot allocate %llu bytes",
                     (unsigned long long)bytes);
        pm_error_need_have(error, bytes, room);
        return PM_NO_MEMORY;
    }
    block->mapped_bytes = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    void *pages =
        mmap(NULL, block->mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
        pm_error_set(error, PM_NO_MEMORY, "the machine has no memory for the fake device");
        pm_error_need_have(error, bytes, 0);
        return PM_NO_MEMORY;
    }
    block->pages = pages;
    memset(block->pages, POISON, block->mapped_bytes);
    block->bytes = bytes;
    block->pool = pool;
    ++device->n_allocations;
    device->live_bytes[pool] += bytes;
    if (device->live_bytes[pool] > device->peak_bytes[pool]) {
        device->peak_bytes[pool] = device->live_bytes[pool];
    }
    *out = block;
    return PM_OK;
}

static void protect(const struct fake_device *device, const struct fake_block *block, bool open) {
    if (block->pool == device->backend.pool &&
        mprotect(block->pages, block->mapped_bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE) !=
            0) {
        abort(); /* the test itself is broken, and no cmocka here: this may be any thread */
    }
}

static pm_status allocate(struct pm_backend *backend, struct pm_ledger *ledger,
                          const struct pm_ledger_note *note, uint64_t bytes, bool secret,
                          void **buffer, pm_error *error) {
    struct fake_device *device = device_of(backend);
    struct fake_block *block = NULL;
    (void)secret; /* everything is wiped */
    pthread_mutex_lock(&device->mutex);
    const pm_status status = take_block(device, note->pool, bytes, &block, error);
    if (status == PM_OK) {
        *buffer = block->pages;
        protect(device, block, false);
    }
    pthread_mutex_unlock(&device->mutex);
    if (status == PM_OK) {
        pm_ledger_allocated(ledger, note, bytes);
    }
    return status;
}

/* Under the mutex. NULL when it is none of ours. */
static struct fake_block *find_block(struct fake_device *device, const void *buffer) {
    for (size_t i = 0; i < FAKE_DEVICE_BLOCKS_MAX; ++i) {
        if (device->blocks[i].pages != NULL && device->blocks[i].pages == buffer) {
            return &device->blocks[i];
        }
    }
    return NULL;
}

static void release(struct pm_backend *backend, struct pm_ledger *ledger,
                    const struct pm_ledger_note *note, void *buffer) {
    struct fake_device *device = device_of(backend);
    pthread_mutex_lock(&device->mutex);
    struct fake_block *block = find_block(device, buffer);
    uint64_t bytes = 0;
    if (block == NULL || block->pool != note->pool) {
        violation(device);
    } else {
        bytes = block->bytes;
        device->live_bytes[block->pool] -= bytes;
        ++device->n_releases;
        (void)munmap(block->pages, block->mapped_bytes);
        *block = (struct fake_block){0};
    }
    pthread_mutex_unlock(&device->mutex);
    pm_ledger_released(ledger, note, bytes);
}

/* ---- The lock ------------------------------------------------------------------------------- */

static pm_status lock(struct pm_backend *backend, const struct pm_plan *plan,
                      const pm_control *control, pm_error *error) {
    struct fake_device *device = device_of(backend);
    (void)plan;
    pm_status status = PM_OK;
    pthread_mutex_lock(&device->mutex);
    if (device->fails_to_lock) {
        status = pm_error_set(error, PM_DEVICE, "the fake device is marked bad");
    }
    while (status == PM_OK && device->is_locked) {
        struct timespec until;
        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_INTERVAL_NS;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            ++until.tv_sec;
        }
        (void)pthread_cond_timedwait(&device->unlocked, &device->mutex, &until);
        status = pm_control_check(control, error);
    }
    if (status == PM_OK) {
        device->is_locked = true;
        device->owner = pthread_self();
        ++device->n_locks;
    }
    pthread_mutex_unlock(&device->mutex);
    return status;
}

static void unlock(struct pm_backend *backend) {
    struct fake_device *device = device_of(backend);
    pthread_mutex_lock(&device->mutex);
    if (!device->is_locked || !pthread_equal(device->owner, pthread_self())) {
        violation(device);
    }
    device->is_locked = false;
    ++device->n_unlocks;
    pthread_cond_signal(&device->unlocked);
    pthread_mutex_unlock(&device->mutex);
}

static pm_status synchronise(struct pm_backend *backend, pm_error *error) {
    struct fake_device *device = device_of(backend);
    pthread_mutex_lock(&device->mutex);
    const bool has_fault = device->has_late_fault;
    device->has_late_fault = false;
    pthread_mutex_unlock(&device->mutex);
    PM_FAIL_IF(has_fault, error, PM_DEVICE, "the fake device failed some time ago");
    return PM_OK;
}

/* ---- Keys ----------------------------------------------------------------------------------- */

/* A key of which the points lie on the device. */
struct fake_key {
    struct pm_proving_key key;
    struct fake_block *points; /* NULL: streamed */
    struct pm_ledger *ledger;
    struct pm_ledger_note note;
};

static uint64_t query_bytes(const struct pm_key_query *query, uint64_t point_bytes) {
    return query->n * point_bytes;
}

static void bring(struct pm_key_query *query, uint64_t point_bytes, uint8_t **to) {
    const uint64_t bytes = query_bytes(query, point_bytes);
    if (bytes != 0) {
        memcpy(*to, query->points, bytes);
    }
    query->points = *to;
    *to += bytes;
}

/* B2 stays with the host unless the device sums it. The snarkjs queries of B have a point for each
 * variable, also where sizes count fewer. */
static uint64_t points_bytes(const struct pm_plan_sizes *sizes, bool with_b2) {
    const uint64_t g1_bytes = 2 * (uint64_t)pm_curve_fp_bytes(sizes->curve);
    const uint64_t n_b = sizes->reduction == PM_REDUCTION_SNARKJS ? sizes->n_vars : sizes->n_b;
    return (sizes->n_a + n_b + sizes->n_l + sizes->n_h) * g1_bytes +
           (with_b2 ? n_b * 2 * g1_bytes : 0);
}

static pm_status open_key(struct pm_backend *backend, const struct pm_proving_key *key,
                          const struct pm_plan *plan, struct pm_ledger *ledger,
                          const pm_control *control, void **resident, pm_error *error) {
    struct fake_device *device = device_of(backend);
    const uint64_t g1_bytes = 2 * (uint64_t)pm_curve_fp_bytes(key->header.curve);
    PM_TRY(pm_control_check(control, error));
    struct fake_key *made = calloc(1, sizeof *made);
    if (made == NULL) {
        pm_error_set(error, PM_NO_MEMORY, "the machine has no memory for the fake device");
        pm_error_need_have(error, sizeof *made, 0);
        return PM_NO_MEMORY;
    }
    made->key = *key;
    made->ledger = ledger;
    pm_status status = PM_OK;
    pthread_mutex_lock(&device->mutex);
    if (plan->choices.key == PM_KEY_RESIDENT) {
        const uint64_t bytes = points_bytes(&plan->sizes, device->b2_on_device);
        status = take_block(device, backend->pool, bytes, &made->points, error);
        if (status == PM_OK) {
            uint8_t *at = made->points->pages;
            bring(&made->key.a, g1_bytes, &at);
            bring(&made->key.b1, g1_bytes, &at);
            bring(&made->key.l, g1_bytes, &at);
            bring(&made->key.h, g1_bytes, &at);
            if (device->b2_on_device) {
                bring(&made->key.b2, 2 * g1_bytes, &at);
            }
            if (at != made->points->pages + bytes) {
                violation(device);
            }
            protect(device, made->points, false);
            made->note = (struct pm_ledger_note){.name = "fake key",
                                                 .file = __FILE__,
                                                 .line = __LINE__,
                                                 .plan_line = PM_LEDGER_UNPLANNED,
                                                 .step = PM_LEDGER_NO_STEP,
                                                 .pool = (uint8_t)backend->pool,
                                                 .mechanism = PM_BY_FAKE};
            pm_ledger_allocated(ledger, &made->note, bytes);
            device->keys_bytes += bytes;
        }
    }
    device->n_keys_opened += status == PM_OK;
    pthread_mutex_unlock(&device->mutex);
    if (status != PM_OK) {
        free(made);
        return status;
    }
    *resident = made;
    return PM_OK;
}

static void close_key(struct pm_backend *backend, void *resident) {
    struct fake_device *device = device_of(backend);
    struct fake_key *key = resident;
    pthread_mutex_lock(&device->mutex);
    ++device->n_keys_closed;
    device->keys_bytes -= key->points != NULL ? key->points->bytes : 0;
    pthread_mutex_unlock(&device->mutex);
    if (key->points != NULL) {
        release(backend, key->ledger, &key->note, key->points->pages);
    }
    free(key);
}

/* ---- Steps ---------------------------------------------------------------------------------- */

/* Opens the device's memory to the step, or closes it. */
static void open_memory(struct fake_device *device, const struct pm_step_data *data, bool open) {
    const struct fake_key *key = data->resident;
    pthread_mutex_lock(&device->mutex);
    for (size_t i = 0; i < PM_BUFFER_IDS; ++i) {
        const struct fake_block *block =
            data->buffer[i] == NULL ? NULL : find_block(device, data->buffer[i]);
        if (block != NULL) {
            protect(device, block, open);
        }
    }
    if (key->points != NULL) {
        protect(device, key->points, open);
    }
    pthread_mutex_unlock(&device->mutex);
}

static bool is_upload(enum pm_step_id step) {
    return step == PM_STEP_LOAD_WITNESS || step == PM_STEP_LOAD_VECTORS ||
           step == PM_STEP_RECOMPUTE_C;
}

static struct pm_group_point *sum_of(enum pm_step_id step, struct pm_sums *sums) {
    switch (step) {
    case PM_STEP_MSM_H:
        return &sums->h;
    case PM_STEP_MSM_A:
        return &sums->a;
    case PM_STEP_MSM_B1:
        return &sums->b1;
    case PM_STEP_MSM_L:
        return &sums->l;
    case PM_STEP_MSM_B2:
        return &sums->b2;
    default:
        return NULL;
    }
}

static void spoil(const struct fake_device *device, enum pm_step_id step,
                  const struct pm_step_data *data) {
    struct pm_group_point *sum = sum_of(step, data->sums);
    const struct pm_curve *curve = pm_curve_get(data->proving_key->header.curve, data->body);
    const struct pm_group *group = step == PM_STEP_MSM_B2 ? curve->g2 : curve->g1;
    if (device->wrong == FAKE_RIGHT || device->wrong_step != step || sum == NULL) {
        return;
    }
    if (device->wrong == FAKE_FLIPS_A_BIT) {
        sum->limb[0] ^= 1;
    } else if (group->is_infinity(sum)) {
        group->from_affine(sum, group->generator);
    } else {
        group->dbl(sum, sum);
    }
}

/* Like the CPU's step, on the device's memory and with its copy of the key. */
static pm_status run_step(struct pm_backend *backend, const struct pm_step_data *data,
                          enum pm_step_id step, pm_error *error) {
    struct fake_device *device = device_of(backend);
    const struct fake_key *key = data->resident;
    struct pm_backend *cpu = pm_backend_cpu();
    struct pm_step_data seen = *data;
    struct pm_proving_key proving_key = key->key;
    struct pm_plan plan = *data->plan;
    /* Densities may be those of this one proof. */
    proving_key.a_density = data->proving_key->a_density;
    proving_key.b_density = data->proving_key->b_density;
    plan.device_pool = PM_POOL_HOST; /* so that the CPU takes w for its own */
    seen.plan = &plan;
    seen.proving_key = &proving_key;
    for (int i = PM_BUFFER_CALLER_INPUTS; i <= PM_BUFFER_CALLER_C && !is_upload(step); ++i) {
        seen.buffer[i] = NULL;
    }
    pthread_mutex_lock(&device->mutex);
    if (!device->is_locked || !pthread_equal(device->owner, pthread_self())) {
        violation(device);
    }
    ++device->n_steps;
    const bool fails = device->fail_step == step;
    device->has_late_fault = fails && device->fails_late;
    pthread_mutex_unlock(&device->mutex);
    PM_FAIL_IF(fails && !device->fails_late, error, PM_DEVICE, "the fake device failed in %s",
               pm_step_name(step));
    if (device->latency_ns != 0) {
        const struct timespec wait = {.tv_sec = (time_t)(device->latency_ns / 1000000000),
                                      .tv_nsec = (long)(device->latency_ns % 1000000000)};
        (void)nanosleep(&wait, NULL);
    }
    open_memory(device, data, true);
    if (step == PM_STEP_PRODUCTS) { /* records add up to what is there */
        memset(data->buffer[PM_BUFFER_A], 0, PM_FR_BYTES << plan.sizes.log_n);
        memset(data->buffer[PM_BUFFER_B], 0, PM_FR_BYTES << plan.sizes.log_n);
    }
    const pm_status status = cpu->table->step[step](cpu, &seen, error);
    spoil(device, step, data);
    open_memory(device, data, false);
    return status;
}

#define FAKE_STEP(name, id)                                                                        \
    static pm_status name(struct pm_backend *backend, const struct pm_step_data *data,             \
                          pm_error *error) {                                                       \
        return run_step(backend, data, id, error);                                                 \
    }
FAKE_STEP(load_witness, PM_STEP_LOAD_WITNESS)
FAKE_STEP(load_vectors, PM_STEP_LOAD_VECTORS)
FAKE_STEP(products, PM_STEP_PRODUCTS)
FAKE_STEP(quotient, PM_STEP_QUOTIENT)
FAKE_STEP(coset_product, PM_STEP_COSET_PRODUCT)
FAKE_STEP(recompute_c, PM_STEP_RECOMPUTE_C)
FAKE_STEP(quotient_of_c, PM_STEP_QUOTIENT_OF_C)
FAKE_STEP(msm_h, PM_STEP_MSM_H)
FAKE_STEP(msm_a, PM_STEP_MSM_A)
FAKE_STEP(msm_b1, PM_STEP_MSM_B1)
FAKE_STEP(msm_l, PM_STEP_MSM_L)
FAKE_STEP(msm_b2, PM_STEP_MSM_B2)

/* Classes that nobody reads: the CPU has none. */
static pm_status classify(struct pm_backend *backend, const struct pm_step_data *data,
                          pm_error *error) {
    struct fake_device *device = device_of(backend);
    if (data->buffer[PM_BUFFER_CLASSES] == NULL || data->buffer[PM_BUFFER_W] == NULL) {
        violation(device);
    }
    return pm_control_check(data->control, error);
}

/* ---- The table ------------------------------------------------------------------------------ */

/* Who sums B2 needs the same either way. */
static uint64_t scratch_bytes(const struct pm_plan_device *device, enum pm_step_id step,
                              const struct pm_plan_sizes *sizes,
                              const struct pm_plan_choices *choices) {
    struct pm_plan_device cpu;
    pm_plan_device_cpu(device->threads, &cpu);
    return cpu.scratch_bytes(&cpu, step, sizes, choices);
}

static uint64_t classes_bytes(const struct pm_plan_device *device,
                              const struct pm_plan_sizes *sizes) {
    (void)device;
    return (sizes->n_vars + 3) / 4;
}

static uint64_t key_bytes(const struct pm_plan_device *device, const struct pm_plan_sizes *sizes,
                          enum pm_key_place place) {
    const struct fake_device *fake = device->user;
    return place == PM_KEY_STREAMED ? 0 : points_bytes(sizes, fake->b2_on_device);
}

static uint64_t window_bytes(const struct pm_plan_device *device, const struct pm_plan_sizes *sizes,
                             const struct pm_plan_choices *choices) {
    (void)device;
    (void)sizes;
    (void)choices;
    return 4096;
}

/* Beside what keys hold. */
static uint64_t memory_bytes(const struct fake_device *fake, uint64_t keys_bytes) {
    if (fake->limit_bytes == UINT64_MAX) {
        return UINT64_MAX;
    }
    return fake->limit_bytes > keys_bytes ? fake->limit_bytes - keys_bytes : 0;
}

static void describe(const struct pm_backend *backend, struct pm_team *team,
                     struct pm_plan_device *device) {
    const struct fake_device *fake = device_of_const(backend);
    pthread_mutex_t *mutex = (pthread_mutex_t *)(uintptr_t)&fake->mutex;
    pthread_mutex_lock(mutex);
    const uint64_t keys_bytes = fake->keys_bytes;
    pthread_mutex_unlock(mutex);
    *device = (struct pm_plan_device){.name = "fake:0",
                                      .pool = backend->pool,
                                      .mechanism = PM_BY_FAKE,
                                      .own_memory = true,
                                      .classifies = fake->classifies,
                                      .b2_on_device = fake->b2_on_device,
                                      .memory_bytes = memory_bytes(fake, keys_bytes),
                                      .keys_bytes = keys_bytes,
                                      .staging_bytes = FAKE_DEVICE_STAGING_BYTES,
                                      .threads = pm_team_threads(team),
                                      .user = (void *)(uintptr_t)fake,
                                      .scratch_bytes = scratch_bytes,
                                      .classes_bytes = classes_bytes,
                                      .key_bytes = key_bytes,
                                      .window_bytes = window_bytes};
}

static pm_status can_run(const struct pm_backend *backend, const struct pm_plan_sizes *sizes,
                         pm_error *error) {
    return pm_backend_cpu()->table->can_run(pm_backend_cpu(), sizes,
                                            backend == NULL ? NULL : error);
}

static const struct pm_backend_table fake_table = {
    .kind = "fake",
    .describe = describe,
    .can_run = can_run,
    .open_key = open_key,
    .close_key = close_key,
    .lock = lock,
    .unlock = unlock,
    .allocate = allocate,
    .release = release,
    .synchronise = synchronise,
    .step = {[PM_STEP_LOAD_WITNESS] = load_witness,
             [PM_STEP_LOAD_VECTORS] = load_vectors,
             [PM_STEP_PRODUCTS] = products,
             [PM_STEP_QUOTIENT] = quotient,
             [PM_STEP_COSET_PRODUCT] = coset_product,
             [PM_STEP_RECOMPUTE_C] = recompute_c,
             [PM_STEP_QUOTIENT_OF_C] = quotient_of_c,
             [PM_STEP_MSM_H] = msm_h,
             [PM_STEP_CLASSIFY] = classify,
             [PM_STEP_MSM_A] = msm_a,
             [PM_STEP_MSM_B1] = msm_b1,
             [PM_STEP_MSM_L] = msm_l,
             [PM_STEP_MSM_B2] = msm_b2},
};

void fake_device_init(struct fake_device *device, bool b2_on_device) {
    *device = (struct fake_device){.backend = {.table = &fake_table, .pool = PM_POOL_VRAM_0},
                                   .b2_on_device = b2_on_device,
                                   .classifies = true,
                                   .limit_bytes = UINT64_MAX};
    (void)pthread_mutex_init(&device->mutex, NULL);
    (void)pthread_cond_init(&device->unlocked, NULL);
    fake_device_heal(device);
}

void fake_device_heal(struct fake_device *device) {
    device->latency_ns = device->fail_allocation_at = 0;
    device->fail_step = PM_STEP_IDS;
    device->fails_late = device->fails_to_lock = device->has_late_fault = false;
    device->wrong = FAKE_RIGHT;
    device->n_steps = 0;
}

void fake_device_close(struct fake_device *device) {
    assert_int_equal(device->n_violations, 0);
    assert_int_equal(device->n_locks, device->n_unlocks);
    assert_int_equal(device->n_keys_opened, device->n_keys_closed);
    assert_int_equal(device->n_allocations, device->n_releases);
    for (uint32_t pool = 0; pool < PM_POOLS_MAX; ++pool) {
        assert_int_equal(device->live_bytes[pool], 0);
    }
    (void)pthread_cond_destroy(&device->unlocked);
    (void)pthread_mutex_destroy(&device->mutex);
}
