/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "gpu/device/gpu_device.h"

#include "base/memory.h"

#include <cuda_runtime_api.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct pm_gpu_device {
    uint32_t ordinal;
    struct pm_gpu_facts facts;
    struct pm_gpu_options options;
    cudaMemPool_t pool;
    pthread_mutex_t lock;
    pthread_t holder;    /* atomic: of the lock, while is_locked */
    uint8_t is_locked;   /* atomic */
    uint64_t n_launches; /* atomic, like the next */
    uint64_t live_bytes[PM_GPU_MECHANISMS];
    uint64_t allocations_to_failure;
};

/* ---- Errors ---------------------------------------------------------------------------------- */

/* Devices that this process has lost, by ordinal, atomic. Not of the handle: CUDA lets a lost one
 * be opened again and then fails in every call. */
static uint64_t bad_ordinals;

static uint64_t bad_bit(const struct pm_gpu_device *device) {
    return UINT64_C(1) << (device->ordinal < 63 ? device->ordinal : 63); /* the last: all further */
}

/* By number: headers of CUDA 12 have these only from some release on. */
enum { ERROR_CONTAINED = 226, ERROR_TENSOR_MEMORY_LEAK = 721 };
#if CUDART_VERSION >= 13000
_Static_assert((int)ERROR_CONTAINED == (int)cudaErrorContained &&
                   (int)ERROR_TENSOR_MEMORY_LEAK == (int)cudaErrorTensorMemoryLeak,
               "numbers of CUDA's");
#endif

/* After these the device is of no use to this process. Of most of them driver_types.h says that the
 * process must be relaunched (test/gpu/check_lost_codes.py looks there). It does not say so of the
 * last four: memory or the bus has lost data, the context in which everything of ours was made is
 * gone, or CUDA does not know what has happened. Failures of MPS before its client is up or between
 * it and its server are not among them: whether the device still answers is then found out by
 * asking it (backend_cuda.c). */
static bool is_sticky(int status) {
    static const int sticky[] = {cudaErrorIllegalAddress,
                                 cudaErrorLaunchFailure,
                                 cudaErrorLaunchTimeout,
                                 cudaErrorHardwareStackError,
                                 cudaErrorIllegalInstruction,
                                 cudaErrorMisalignedAddress,
                                 cudaErrorInvalidAddressSpace,
                                 cudaErrorInvalidPc,
                                 cudaErrorAssert,
                                 cudaErrorMpsClientTerminated,
                                 cudaErrorExternalDevice,
                                 ERROR_CONTAINED,
                                 ERROR_TENSOR_MEMORY_LEAK,
                                 cudaErrorECCUncorrectable,
                                 cudaErrorNvlinkUncorrectable,
                                 cudaErrorContextIsDestroyed,
                                 cudaErrorUnknown};
    for (size_t i = 0; i < sizeof sticky / sizeof sticky[0]; i++) {
        if (status == sticky[i]) {
            return true;
        }
    }
    return false;
}

pm_status pm_gpu_device_check(struct pm_gpu_device *device, int cuda_status, const char *call,
                              uint64_t bytes, pm_error *error) {
    if (cuda_status == cudaSuccess) {
        return PM_OK;
    }
    const char *words = cudaGetErrorString((cudaError_t)cuda_status);
    (void)cudaGetLastError(); /* so that the next call does not report this one */
    if (is_sticky(cuda_status)) {
        (void)__atomic_or_fetch(&bad_ordinals, bad_bit(device), __ATOMIC_RELAXED);
    }
    if (cuda_status == cudaErrorMemoryAllocation) {
        size_t free_bytes = 0, total_bytes = 0;
        (void)cudaMemGetInfo(&free_bytes, &total_bytes);
        (void)pm_error_set(error, PM_NO_MEMORY, "device %u (%s): %s of %llu bytes: %s",
                           device->ordinal, device->facts.name, call, (unsigned long long)bytes,
                           words);
        pm_error_need_have(error, bytes, free_bytes);
        return PM_NO_MEMORY;
    }
    if (bytes > 0) {
        return pm_error_set(error, PM_DEVICE, "device %u (%s): %s of %llu bytes: %s",
                            device->ordinal, device->facts.name, call, (unsigned long long)bytes,
                            words);
    }
    return pm_error_set(error, PM_DEVICE, "device %u (%s): %s: %s", device->ordinal,
                        device->facts.name, call, words);
}

pm_status pm_gpu_device_enter(struct pm_gpu_device *device, pm_error *error) {
    PM_FAIL_IF(pm_gpu_device_is_bad(device), error, PM_DEVICE,
               "device %u (%s) failed earlier in this process and can no longer be used",
               device->ordinal, device->facts.name);
    return pm_gpu_device_check(device, cudaSetDevice((int)device->ordinal), "cudaSetDevice", 0,
                               error);
}

/* ---- Discovery ------------------------------------------------------------------------------- */

/* CUDA has the same words for a driver that is too old and for none at all. */
static pm_status no_driver(pm_error *error) {
    int driver = 0, runtime = 0;
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    PM_FAIL_IF(driver == 0, error, PM_NO_DEVICE,
               "there is no NVIDIA driver (libcuda.so.1): install one, or give this container the "
               "machine's devices");
    PM_FAIL(error, PM_NO_DEVICE,
            "the NVIDIA driver is for CUDA %d.%d and this build for CUDA %d.%d: install a newer "
            "driver",
            driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
}

pm_status pm_gpu_device_count(uint32_t *n, pm_error *error) {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess) {
        (void)cudaGetLastError();
    }
    if (status == cudaErrorInsufficientDriver) {
        return no_driver(error);
    }
    PM_FAIL_IF(
        status == cudaErrorNoDevice || (status == cudaSuccess && count <= 0), error, PM_NO_DEVICE,
        "the NVIDIA driver shows no device: there is none, or CUDA_VISIBLE_DEVICES hides it");
    PM_FAIL_IF(status != cudaSuccess, error, PM_NO_DEVICE, "no CUDA device can be used: %s",
               cudaGetErrorString(status));
    *n = (uint32_t)count;
    return PM_OK;
}

static uint32_t attribute(const struct pm_gpu_device *device, enum cudaDeviceAttr which) {
    int value = 0;
    (void)cudaDeviceGetAttribute(&value, which, (int)device->ordinal);
    return value > 0 ? (uint32_t)value : 0;
}

static pm_status read_facts(struct pm_gpu_device *device, pm_error *error) {
    struct cudaDeviceProp properties;
    struct pm_gpu_facts *facts = &device->facts;
    int driver = 0, runtime = 0;
    PM_TRY(pm_gpu_device_check(device, cudaGetDeviceProperties(&properties, (int)device->ordinal),
                               "cudaGetDeviceProperties", 0, error));
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    (void)snprintf(facts->name, sizeof facts->name, "%s", properties.name);
    facts->ordinal = device->ordinal;
    facts->major = (uint32_t)properties.major;
    facts->minor = (uint32_t)properties.minor;
    facts->n_multiprocessors = (uint32_t)properties.multiProcessorCount;
    facts->clock_khz = attribute(device, cudaDevAttrClockRate);
    facts->driver = (uint32_t)driver;
    facts->runtime = (uint32_t)runtime;
    facts->total_bytes = properties.totalGlobalMem;
    facts->l2_bytes = (uint64_t)properties.l2CacheSize;
    facts->shared_bytes_per_block_max = properties.sharedMemPerBlockOptin;
    return PM_OK;
}

/* A pool of our own, which keeps what it has got until the device is closed: giving memory back to
 * the driver and asking again costs a synchronisation each time. */
static pm_status make_pool(struct pm_gpu_device *device, pm_error *error) {
    struct cudaMemPoolProps properties;
    uint64_t keep_all = UINT64_MAX;
    memset(&properties, 0, sizeof properties);
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = (int)device->ordinal;
    PM_TRY(pm_gpu_device_check(device, cudaMemPoolCreate(&device->pool, &properties),
                               "cudaMemPoolCreate", 0, error));
    return pm_gpu_device_check(
        device, cudaMemPoolSetAttribute(device->pool, cudaMemPoolAttrReleaseThreshold, &keep_all),
        "cudaMemPoolSetAttribute", 0, error);
}

pm_status pm_gpu_device_open(uint32_t ordinal, const struct pm_gpu_options *options,
                             struct pm_gpu_device **out, pm_error *error) {
    uint32_t n = 0;
    void *memory = NULL;
    PM_TRY(pm_gpu_device_count(&n, error));
    PM_FAIL_IF(ordinal >= n, error, PM_NO_DEVICE, "there is no CUDA device %u, only %u in all",
               ordinal, n);
    PM_TRY(pm_memory_alloc(NULL, "device", sizeof(struct pm_gpu_device), PM_MEMORY_PLAIN, &memory,
                           error));
    struct pm_gpu_device *device = memory;
    device->ordinal = ordinal;
    (void)snprintf(device->facts.name, sizeof device->facts.name, "CUDA"); /* until it is known */
    if (options != NULL) {
        device->options = *options;
        device->allocations_to_failure = options->failing_allocation;
    }
    (void)pthread_mutex_init(&device->lock, NULL);
    pm_status status = pm_gpu_device_enter(device, error);
    if (status == PM_OK) {
        status = read_facts(device, error);
    }
    if (status == PM_OK) {
        status = make_pool(device, error);
    }
    if (status != PM_OK) {
        pm_gpu_device_close(device);
        return status;
    }
    *out = device;
    return PM_OK;
}

void pm_gpu_device_close(struct pm_gpu_device *device) {
    if (device == NULL) {
        return;
    }
    if (device->pool != NULL && !pm_gpu_device_is_bad(device)) {
        (void)cudaSetDevice((int)device->ordinal);
        (void)cudaMemPoolDestroy(device->pool);
    }
    (void)pthread_mutex_destroy(&device->lock);
    pm_memory_free(device);
}

void pm_gpu_device_facts(const struct pm_gpu_device *device, struct pm_gpu_facts *facts) {
    *facts = device->facts;
}

pm_status pm_gpu_device_free_bytes(struct pm_gpu_device *device, uint64_t *free_bytes,
                                   pm_error *error) {
    size_t have = 0, total = 0;
    PM_TRY(pm_gpu_device_enter(device, error));
    PM_TRY(pm_gpu_device_check(device, cudaMemGetInfo(&have, &total), "cudaMemGetInfo", 0, error));
    *free_bytes = have;
    return PM_OK;
}

bool pm_gpu_device_is_bad(const struct pm_gpu_device *device) {
    return (__atomic_load_n(&bad_ordinals, __ATOMIC_RELAXED) & bad_bit(device)) != 0;
}

uint64_t pm_gpu_device_live_bytes(const struct pm_gpu_device *device,
                                  enum pm_gpu_mechanism mechanism) {
    return __atomic_load_n(&device->live_bytes[mechanism], __ATOMIC_RELAXED);
}

uint64_t pm_gpu_device_n_launches(const struct pm_gpu_device *device) {
    return __atomic_load_n(&device->n_launches, __ATOMIC_RELAXED);
}

void pm_gpu_device_count_launches(struct pm_gpu_device *device, uint64_t n) {
    (void)__atomic_add_fetch(&device->n_launches, n, __ATOMIC_RELAXED);
}

/* ---- The lock -------------------------------------------------------------------------------- */

static void note_holder(struct pm_gpu_device *device) {
    __atomic_store_n(&device->holder, pthread_self(), __ATOMIC_RELAXED);
    __atomic_store_n(&device->is_locked, 1, __ATOMIC_RELEASE);
}

void pm_gpu_device_lock(struct pm_gpu_device *device) {
    (void)pthread_mutex_lock(&device->lock);
    note_holder(device);
}

bool pm_gpu_device_lock_within(struct pm_gpu_device *device, uint32_t timeout_ms) {
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until); /* the clock of pthread_mutex_timedlock */
    const uint64_t ns = (uint64_t)until.tv_nsec + UINT64_C(1000000) * timeout_ms;
    until.tv_sec += (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    if (pthread_mutex_timedlock(&device->lock, &until) != 0) {
        return false;
    }
    note_holder(device);
    return true;
}

void pm_gpu_device_unlock(struct pm_gpu_device *device) {
    __atomic_store_n(&device->is_locked, 0, __ATOMIC_RELEASE);
    (void)pthread_mutex_unlock(&device->lock);
}

/* Another thread's taking or leaving of the lock meanwhile does not matter: the answer is about the
 * caller, who cannot change it while asking. */
static bool is_inside_lock(const struct pm_gpu_device *device) {
    return __atomic_load_n(&device->is_locked, __ATOMIC_ACQUIRE) != 0 &&
           __atomic_load_n(&device->holder, __ATOMIC_RELAXED) == pthread_self();
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static const char *call_of(enum pm_gpu_mechanism mechanism) {
    static const char *const calls[PM_GPU_MECHANISMS] = {"cudaMalloc", "cudaMallocFromPoolAsync",
                                                         "cudaHostAlloc", "cudaHostRegister"};
    return calls[mechanism];
}

static void report(struct pm_gpu_device *device, const struct pm_gpu_buffer *buffer,
                   bool is_release) {
    uint64_t *live = &device->live_bytes[buffer->mechanism];
    const uint64_t now = is_release ? __atomic_sub_fetch(live, buffer->bytes, __ATOMIC_RELAXED)
                                    : __atomic_add_fetch(live, buffer->bytes, __ATOMIC_RELAXED);
    if (device->options.report != NULL) {
        const struct pm_gpu_memory_event event = {.name = buffer->name,
                                                  .file = buffer->file,
                                                  .line = buffer->line,
                                                  .mechanism = buffer->mechanism,
                                                  .is_release = is_release,
                                                  .inside_lock = is_inside_lock(device),
                                                  .bytes = buffer->bytes,
                                                  .live_bytes = now};
        device->options.report(device->options.user, &event);
    }
}

/* Whether this allocation is the one that is to fail. */
static bool must_fail(struct pm_gpu_device *device) {
    uint64_t left = __atomic_load_n(&device->allocations_to_failure, __ATOMIC_RELAXED);
    while (left > 0) {
        if (__atomic_compare_exchange_n(&device->allocations_to_failure, &left, left - 1, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            return left == 1;
        }
    }
    return false;
}

static cudaError_t get(struct pm_gpu_device *device, const struct pm_gpu_stream *stream,
                       struct pm_gpu_buffer *buffer) {
    switch (buffer->mechanism) {
    case PM_GPU_ONCE:
        return cudaMalloc(&buffer->address, buffer->bytes);
    case PM_GPU_STREAM:
        return cudaMallocFromPoolAsync(&buffer->address, buffer->bytes, device->pool,
                                       (cudaStream_t)stream->raw);
    case PM_GPU_PINNED:
        return cudaHostAlloc(&buffer->address, buffer->bytes, cudaHostAllocPortable);
    default:
        return cudaHostRegister(buffer->address, buffer->bytes, cudaHostRegisterPortable);
    }
}

pm_status pm_gpu_memory_get(struct pm_gpu_device *device, const struct pm_gpu_stream *stream,
                            enum pm_gpu_mechanism mechanism, const char *name, uint64_t bytes,
                            void *address, const char *file, int line, struct pm_gpu_buffer *out,
                            pm_error *error) {
    struct pm_gpu_buffer buffer = {.address = address,
                                   .bytes = bytes > 0 ? bytes : 1,
                                   .name = name,
                                   .file = file,
                                   .line = line,
                                   .mechanism = mechanism};
    PM_TRY(pm_gpu_device_enter(device, error));
    const cudaError_t status =
        must_fail(device) ? cudaErrorMemoryAllocation : get(device, stream, &buffer);
    PM_TRY(pm_gpu_device_check(device, status, call_of(mechanism), bytes, error));
    report(device, &buffer, false);
    *out = buffer;
    return PM_OK;
}

void pm_gpu_memory_release(struct pm_gpu_device *device, const struct pm_gpu_stream *stream,
                           struct pm_gpu_buffer *buffer) {
    if (buffer->bytes == 0) {
        return;
    }
    cudaError_t status = cudaSetDevice((int)device->ordinal);
    if (status == cudaSuccess) {
        switch (buffer->mechanism) {
        case PM_GPU_ONCE:
            status = cudaFree(buffer->address);
            break;
        case PM_GPU_STREAM:
            status = cudaFreeAsync(buffer->address, (cudaStream_t)stream->raw);
            break;
        case PM_GPU_PINNED:
            status = cudaFreeHost(buffer->address);
            break;
        default:
            status = cudaHostUnregister(buffer->address);
        }
    }
    /* A release that fails finds the device bad; there is nobody to tell. */
    (void)pm_gpu_device_check(device, status, "release", buffer->bytes, NULL);
    report(device, buffer, true);
    *buffer = (struct pm_gpu_buffer){0};
}

bool pm_gpu_memory_is_pinned(struct pm_gpu_device *device, const void *address) {
    struct cudaPointerAttributes attributes;
    if (pm_gpu_device_enter(device, NULL) != PM_OK) {
        return false;
    }
    if (cudaPointerGetAttributes(&attributes, address) != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    return attributes.type == cudaMemoryTypeHost;
}

static pm_status copy(const struct pm_gpu_stream *stream, void *to, const void *from,
                      uint64_t bytes, enum cudaMemcpyKind kind, pm_error *error) {
    PM_TRY(pm_gpu_device_enter(stream->device, error));
    return pm_gpu_device_check(stream->device,
                               cudaMemcpyAsync(to, from, bytes, kind, (cudaStream_t)stream->raw),
                               "cudaMemcpyAsync", bytes, error);
}

pm_status pm_gpu_upload(const struct pm_gpu_stream *stream, void *to, const void *from,
                        uint64_t bytes, pm_error *error) {
    return copy(stream, to, from, bytes, cudaMemcpyHostToDevice, error);
}

pm_status pm_gpu_download(const struct pm_gpu_stream *stream, void *to, const void *from,
                          uint64_t bytes, pm_error *error) {
    return copy(stream, to, from, bytes, cudaMemcpyDeviceToHost, error);
}

pm_status pm_gpu_copy(const struct pm_gpu_stream *stream, void *to, const void *from,
                      uint64_t bytes, pm_error *error) {
    return copy(stream, to, from, bytes, cudaMemcpyDeviceToDevice, error);
}

pm_status pm_gpu_fill(const struct pm_gpu_stream *stream, void *to, int byte, uint64_t bytes,
                      pm_error *error) {
    PM_TRY(pm_gpu_device_enter(stream->device, error));
    return pm_gpu_device_check(stream->device,
                               cudaMemsetAsync(to, byte, bytes, (cudaStream_t)stream->raw),
                               "cudaMemsetAsync", bytes, error);
}
