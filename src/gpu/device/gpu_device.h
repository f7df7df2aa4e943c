/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * gpu/device/gpu_device.h - one device: its memory, its streams, its lock, its errors.
 *
 * Handles are plain C; no header of CUDA is needed to use them. Calls that can fail return a
 * pm_status with a sentence that names CUDA's call, its size and CUDA's own words. An error after
 * which CUDA refuses everything in this process (a fault inside a kernel) marks the device bad:
 * from then on each call answers DEVICE at once, and so does opening it again.
 *
 * Threads: a device may be used by many threads, each with streams of its own.
 */
#ifndef PM_GPU_DEVICE_H
#define PM_GPU_DEVICE_H

#include "base/status.h"

#include <proofmill/proofmill.h>

#include <stdbool.h>
#include <stdint.h>

struct pm_gpu_device;

/* How memory was come by. */
enum pm_gpu_mechanism {
    PM_GPU_ONCE = 0,       /* cudaMalloc: what is resident with a key; synchronises the device */
    PM_GPU_STREAM = 1,     /* from the device's pool, in stream order; nothing waits */
    PM_GPU_PINNED = 2,     /* cudaHostAlloc */
    PM_GPU_REGISTERED = 3, /* cudaHostRegister of the caller's own memory */
    PM_GPU_MECHANISMS = 4
};

/* One allocation, or its release, as it happens: what a ledger needs to hold against its plan. */
struct pm_gpu_memory_event {
    const char *name; /* static: the plan's name of the buffer */
    const char *file; /* where it was asked for; a release repeats it */
    int line;
    enum pm_gpu_mechanism mechanism;
    bool is_release;
    bool inside_lock; /* the calling thread holds the device's lock */
    uint64_t bytes;
    uint64_t live_bytes; /* of this mechanism on this device, afterwards */
};

struct pm_gpu_options {
    /* Called by the allocating thread, NULL: nobody asks. */
    void (*report)(void *user, const struct pm_gpu_memory_event *event);
    void *user;
    /* For tests: the n-th allocation from now on fails as if memory had run out; 0: none does. */
    uint64_t failing_allocation;
};

struct pm_gpu_facts {
    char name[256];
    uint32_t ordinal;
    uint32_t major, minor; /* compute capability */
    uint32_t n_multiprocessors;
    uint32_t clock_khz;
    uint32_t driver, runtime; /* 13000: CUDA 13.0 */
    uint64_t total_bytes, l2_bytes, shared_bytes_per_block_max;
};

/* Memory of the device or pinned memory of the host. bytes 0: nothing. */
struct pm_gpu_buffer {
    void *address;
    uint64_t bytes;
    const char *name, *file;
    int line;
    enum pm_gpu_mechanism mechanism;
};

/* How many devices there are. NO_DEVICE, with the reason, if there is none that can be used. */
pm_status pm_gpu_device_count(uint32_t *n, pm_error *error);
/* options may be NULL. Errors: NO_DEVICE (no such one, or too old for this build), NO_MEMORY,
 * DEVICE. */
pm_status pm_gpu_device_open(uint32_t ordinal, const struct pm_gpu_options *options,
                             struct pm_gpu_device **device, pm_error *error);
/* Everything made on the device must be gone. NULL is fine. */
void pm_gpu_device_close(struct pm_gpu_device *device);
void pm_gpu_device_facts(const struct pm_gpu_device *device, struct pm_gpu_facts *facts);
/* Free memory as the driver sees it now; what the pool keeps for later counts as used. */
pm_status pm_gpu_device_free_bytes(struct pm_gpu_device *device, uint64_t *free_bytes,
                                   pm_error *error);
bool pm_gpu_device_is_bad(const struct pm_gpu_device *device);
uint64_t pm_gpu_device_live_bytes(const struct pm_gpu_device *device,
                                  enum pm_gpu_mechanism mechanism);
/* Kernels launched since the device was opened: that work was done here and nowhere else. */
uint64_t pm_gpu_device_n_launches(const struct pm_gpu_device *device);
void pm_gpu_device_count_launches(struct pm_gpu_device *device, uint64_t n);

/* The lock that one job holds while its kernels run. */
void pm_gpu_device_lock(struct pm_gpu_device *device);
void pm_gpu_device_unlock(struct pm_gpu_device *device);
/* Takes the lock if it can be had in that time: a caller who also listens to a pm_control asks
 * again and again. */
bool pm_gpu_device_lock_within(struct pm_gpu_device *device, uint32_t timeout_ms);

/* Makes the device the calling thread's; every function below does it. Errors: DEVICE (bad). */
pm_status pm_gpu_device_enter(struct pm_gpu_device *device, pm_error *error);
/* PM_OK for cudaSuccess; else NO_MEMORY or DEVICE with `call`, `bytes` (0: it has no size) and
 * CUDA's words. */
pm_status pm_gpu_device_check(struct pm_gpu_device *device, int cuda_status, const char *call,
                              uint64_t bytes, pm_error *error);

/* ---- Streams and events ---- */

struct pm_gpu_stream {
    struct pm_gpu_device *device;
    void *raw; /* a cudaStream_t */
};

pm_status pm_gpu_stream_create(struct pm_gpu_device *device, struct pm_gpu_stream *stream,
                               pm_error *error);
/* Waits for what it holds. */
void pm_gpu_stream_destroy(struct pm_gpu_stream *stream);
/* Waits, and says what went wrong in the meantime. */
pm_status pm_gpu_stream_wait(const struct pm_gpu_stream *stream, pm_error *error);
/* Does not wait: has the stream done all that was put on it? Errors: DEVICE (what went wrong). */
pm_status pm_gpu_stream_is_done(const struct pm_gpu_stream *stream, bool *is_done, pm_error *error);

/* After a launcher: counts one launch and passes on what CUDA said of it. */
pm_status pm_gpu_stream_launched(const struct pm_gpu_stream *stream, int cuda_status,
                                 const char *kernel, uint64_t bytes, pm_error *error);

struct pm_gpu_event {
    struct pm_gpu_device *device;
    void *raw; /* a cudaEvent_t that can be timed */
};

pm_status pm_gpu_event_create(struct pm_gpu_device *device, struct pm_gpu_event *event,
                              pm_error *error);
void pm_gpu_event_destroy(struct pm_gpu_event *event);
pm_status pm_gpu_event_record(const struct pm_gpu_event *event, const struct pm_gpu_stream *stream,
                              pm_error *error);
/* The stream goes on only when the event has been reached. */
pm_status pm_gpu_stream_await(const struct pm_gpu_stream *stream, const struct pm_gpu_event *event,
                              pm_error *error);
/* Between two events that have been reached. */
pm_status pm_gpu_event_elapsed_ms(const struct pm_gpu_event *from, const struct pm_gpu_event *to,
                                  float *ms, pm_error *error);

/* ---- Memory ---- */

/* The one way to memory of the device and to pinned memory. stream: needed for PM_GPU_STREAM alone;
 * what is given out may be used on it at once. Contents are unspecified. address: the caller's
 * memory for PM_GPU_REGISTERED, else NULL. *buffer is untouched on failure. Errors: NO_MEMORY with
 * need and have, DEVICE. */
pm_status pm_gpu_memory_get(struct pm_gpu_device *device, const struct pm_gpu_stream *stream,
                            enum pm_gpu_mechanism mechanism, const char *name, uint64_t bytes,
                            void *address, const char *file, int line, struct pm_gpu_buffer *buffer,
                            pm_error *error);
#define PM_GPU_GET(device, stream, mechanism, name, bytes, buffer, error)                          \
    pm_gpu_memory_get((device), (stream), (mechanism), (name), (bytes), NULL, __FILE__, __LINE__,  \
                      (buffer), (error))
/* Gives it back, in stream order for PM_GPU_STREAM, and clears *buffer. Nothing to do on an empty
 * one. What held a secret is overwritten by its owner before (pm_gpu_fill), on the same stream. */
void pm_gpu_memory_release(struct pm_gpu_device *device, const struct pm_gpu_stream *stream,
                           struct pm_gpu_buffer *buffer);
/* Whether host memory is page-locked, by whomever: then an upload from there does not wait. */
bool pm_gpu_memory_is_pinned(struct pm_gpu_device *device, const void *address);

/* On the stream; host memory that is not pinned makes the caller wait. */
pm_status pm_gpu_upload(const struct pm_gpu_stream *stream, void *to, const void *from,
                        uint64_t bytes, pm_error *error);
pm_status pm_gpu_download(const struct pm_gpu_stream *stream, void *to, const void *from,
                          uint64_t bytes, pm_error *error);
pm_status pm_gpu_copy(const struct pm_gpu_stream *stream, void *to, const void *from,
                      uint64_t bytes, pm_error *error);
pm_status pm_gpu_fill(const struct pm_gpu_stream *stream, void *to, int byte, uint64_t bytes,
                      pm_error *error);

#endif
