/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "support/fake_gpu.h"

#include "base/cpu.h"
#include "curve/curve.h"
#include "gpu/kernel/gpu_classes.h"
#include "io/modulus.h"
#include "msm/msm.h"
#include "poly/poly.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define POISON 0xa5
#define BLOCKS_MAX 4096
#define LATE_MAX 256
#define PAGE_BYTES 4096u
/* ThreadSanitizer leaves no room for as much. */
#ifdef __SANITIZE_THREAD__
#define ARENA_BYTES (UINT64_C(1) << 37)
#else
#define ARENA_BYTES (UINT64_C(1) << 40)
#endif

struct fake_gpu fake_gpu;

/* One opening of the device. */
struct pm_gpu_device {
    struct pm_gpu_device *next;
    struct pm_gpu_options options;
    uint32_t ordinal;
    uint64_t live_bytes[PM_GPU_MECHANISMS];
    uint64_t pool_bytes; /* that its pool has got; what lives there included */
};

struct block {
    uint8_t *pages; /* NULL: a free entry */
    uint64_t bytes, mapped_bytes;
    enum pm_gpu_mechanism mechanism;
    struct pm_gpu_device *device;
};

/* What a stream has been asked for and has not done. */
struct late {
    uint8_t *to;
    const uint8_t *from;
    uint64_t bytes;
};

struct stream {
    struct late late[LATE_MAX];
    uint32_t n_late;
    struct stream *next; /* of all streams */
};

/* What an event waits for is all that its stream had been asked for. */
struct event {
    struct stream *stream;
};

static struct pm_gpu_device *devices;
/* Of everything above and below; held by each call while it runs, but for sums. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t device_mutex[FAKE_GPUS_MAX] = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_MUTEX_INITIALIZER};
static uint32_t n_locked; /* atomic */
static struct block blocks[BLOCKS_MAX];
static size_t n_blocks;   /* behind the last one that has ever been used */
static uint32_t n_inside; /* calls that have the memory open */
static uint32_t at_work;  /* the device that the call is for: it sees no other's memory */
/* The device's memory: one range, so that it is opened and closed at once. */
static uint8_t *arena;
static uint64_t arena_end; /* behind the last block that lives */
static struct stream *streams;

/* Assembly where there is some: a sanitizer makes vectors slow. */
static enum pm_body fake_body(void) {
    const enum pm_body best = pm_cpu_best_body();
    return best == PM_BODY_IFMA ? PM_BODY_ADX : best;
}

static void violation(const char *what) {
    ++fake_gpu.n_violations;
    print_message("  fake gpu: %s\n", what);
}

static bool is_of_device(const struct block *block) {
    return block->pages != NULL &&
           (block->mechanism == PM_GPU_ONCE || block->mechanism == PM_GPU_STREAM);
}

static void protect_all(bool open) {
    if (arena_end != 0 &&
        mprotect(arena, arena_end, open ? PROT_READ | PROT_WRITE : PROT_NONE) != 0) {
        abort(); /* the test itself is broken, and no cmocka here: this may be any thread */
    }
}

/* Pages of the device, open, at the first place where they fit; NULL: there is none. */
static void *take_pages(uint64_t bytes) {
    uint64_t at = 0;
    if (arena == NULL) {
        void *range =
            mmap(NULL, ARENA_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        arena = range == MAP_FAILED ? NULL : range;
    }
    for (size_t i = 0; i < n_blocks && arena != NULL; ++i) {
        const uint64_t begin = (uint64_t)(blocks[i].pages - arena);
        if (is_of_device(&blocks[i]) && begin < at + bytes && at < begin + blocks[i].mapped_bytes) {
            at = begin + blocks[i].mapped_bytes;
            i = (size_t)-1; /* all of them again */
        }
    }
    if (arena == NULL || bytes > ARENA_BYTES - at ||
        mprotect(arena + at, bytes, PROT_READ | PROT_WRITE) != 0) {
        return NULL;
    }
    arena_end = at + bytes > arena_end ? at + bytes : arena_end;
    return arena + at;
}

/* The block is forgotten already. */
static void give_pages_back(uint8_t *pages, uint64_t bytes) {
    (void)madvise(pages, bytes, MADV_DONTNEED);
    (void)mprotect(pages, bytes, PROT_NONE);
    arena_end = 0;
    for (size_t i = 0; i < n_blocks; ++i) {
        if (is_of_device(&blocks[i])) {
            const uint64_t end = (uint64_t)(blocks[i].pages - arena) + blocks[i].mapped_bytes;
            arena_end = end > arena_end ? end : arena_end;
        }
    }
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static pm_status begin_call(const struct pm_gpu_device *device, pm_error *error) {
    const uint32_t ordinal = device->ordinal;
    (void)pthread_mutex_lock(&mutex);
    ++fake_gpu.n_calls;
    ++fake_gpu.n_calls_on[ordinal];
    const bool is_it = ordinal == fake_gpu.failing_device;
    const bool fails = is_it && fake_gpu.fail_call_at != 0 && --fake_gpu.fail_call_at == 0;
    fake_gpu.is_bad |= fails && (fake_gpu.goes_bad || fake_gpu.goes_bad_silently);
    if (fake_gpu.take_at_call != 0 && --fake_gpu.take_at_call == 0) {
        fake_gpu.taken_bytes = fake_gpu.total_bytes;
        for (struct pm_gpu_device *open = devices; open != NULL; open = open->next) {
            open->pool_bytes = open->live_bytes[PM_GPU_STREAM];
        }
    }
    if (fails || (is_it && fake_gpu.is_bad)) {
        (void)pthread_mutex_unlock(&mutex);
        return pm_error_set(error, PM_DEVICE, "the fake gpu failed");
    }
    if (n_inside++ == 0) {
        protect_all(true);
    }
    at_work = ordinal;
    return PM_OK;
}

static pm_status end_call(void) {
    if (--n_inside == 0) {
        protect_all(false);
    }
    (void)pthread_mutex_unlock(&mutex);
    return PM_OK;
}

static const struct block *block_of(const void *address, uint64_t bytes) {
    const uint8_t *at = address;
    for (size_t i = 0; i < n_blocks; ++i) {
        if (blocks[i].pages != NULL && at >= blocks[i].pages &&
            at + bytes <= blocks[i].pages + blocks[i].bytes) {
            return &blocks[i];
        }
    }
    return NULL;
}

/* Whether the bytes are the device's. */
static bool on_device(const void *address, uint64_t bytes, const char *what) {
    const struct block *block = block_of(address, bytes);
    if (block != NULL && is_of_device(block) && block->device->ordinal == at_work) {
        return true;
    }
    violation(what);
    return false;
}

static bool is_pinned(const void *address, uint64_t bytes) {
    const struct block *block = block_of(address, bytes);
    return block != NULL && !is_of_device(block);
}

/* ---- Streams -------------------------------------------------------------------------------- */

static void catch_up(struct stream *stream) {
    for (uint32_t i = 0; i < stream->n_late; ++i) {
        memcpy(stream->late[i].to, stream->late[i].from, stream->late[i].bytes);
    }
    stream->n_late = 0;
}

/* Inside a call: the stream does something else. */
static void use(const struct pm_gpu_stream *stream) {
    catch_up(stream->raw);
}

static pm_status stream_create(struct pm_gpu_device *device, struct pm_gpu_stream *stream,
                               pm_error *error) {
    PM_TRY(begin_call(device, error));
    struct stream *made = calloc(1, sizeof *made);
    made->next = streams;
    streams = made;
    *stream = (struct pm_gpu_stream){.device = device, .raw = made};
    ++fake_gpu.n_streams;
    return end_call();
}

static pm_status stream_wait(const struct pm_gpu_stream *stream, pm_error *error) {
    PM_TRY(begin_call(stream->device, error));
    use(stream);
    return end_call();
}

static pm_status stream_is_done(const struct pm_gpu_stream *stream, bool *is_done,
                                pm_error *error) {
    PM_TRY(begin_call(stream->device, error));
    *is_done = ((const struct stream *)stream->raw)->n_late == 0;
    return end_call();
}

static void stream_destroy(struct pm_gpu_stream *stream) {
    if (stream->device == NULL) {
        return;
    }
    (void)stream_wait(stream, NULL);
    (void)pthread_mutex_lock(&mutex);
    struct stream **at = &streams;
    while (*at != stream->raw) {
        at = &(*at)->next;
    }
    *at = (*at)->next;
    free(stream->raw);
    *stream = (struct pm_gpu_stream){0};
    --fake_gpu.n_streams;
    (void)pthread_mutex_unlock(&mutex);
}

static pm_status event_create(struct pm_gpu_device *device, struct pm_gpu_event *event,
                              pm_error *error) {
    PM_TRY(begin_call(device, error));
    *event = (struct pm_gpu_event){.device = device, .raw = calloc(1, sizeof(struct event))};
    ++fake_gpu.n_events;
    return end_call();
}

static void event_destroy(struct pm_gpu_event *event) {
    if (event->device != NULL) {
        free(event->raw);
        *event = (struct pm_gpu_event){0};
        (void)pthread_mutex_lock(&mutex);
        --fake_gpu.n_events;
        (void)pthread_mutex_unlock(&mutex);
    }
}

static pm_status event_record(const struct pm_gpu_event *event, const struct pm_gpu_stream *stream,
                              pm_error *error) {
    PM_TRY(begin_call(stream->device, error));
    ((struct event *)event->raw)->stream = stream->raw;
    return end_call();
}

static pm_status stream_await(const struct pm_gpu_stream *stream, const struct pm_gpu_event *event,
                              pm_error *error) {
    PM_TRY(begin_call(stream->device, error));
    const struct event *awaited = event->raw;
    if (awaited->stream != NULL) {
        catch_up(awaited->stream);
    }
    (void)stream;
    return end_call();
}

static pm_status event_elapsed_ms(const struct pm_gpu_event *from, const struct pm_gpu_event *to,
                                  float *ms, pm_error *error) {
    (void)from, (void)to;
    PM_TRY(begin_call(from->device, error));
    *ms = 0;
    return end_call();
}

/* ---- The device ----------------------------------------------------------------------------- */

static pm_status device_count(uint32_t *n, pm_error *error) {
    (void)error;
    *n = fake_gpu.n_devices != 0 ? fake_gpu.n_devices : 1;
    return PM_OK;
}

static pm_status device_open(uint32_t ordinal, const struct pm_gpu_options *options,
                             struct pm_gpu_device **device, pm_error *error) {
    const uint32_t n = fake_gpu.n_devices != 0 ? fake_gpu.n_devices : 1;
    const struct pm_gpu_device asked = {.ordinal = ordinal};
    PM_FAIL_IF(ordinal >= n, error, PM_NO_DEVICE, "there is no fake gpu %u, only %u", ordinal, n);
    PM_TRY(begin_call(&asked, error));
    struct pm_gpu_device *opened = calloc(1, sizeof *opened);
    opened->options = options != NULL ? *options : (struct pm_gpu_options){0};
    opened->ordinal = ordinal;
    opened->next = devices;
    devices = opened;
    *device = opened;
    return end_call();
}

static void device_close(struct pm_gpu_device *device) {
    if (device == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&mutex);
    struct pm_gpu_device **at = &devices;
    while (*at != device) {
        at = &(*at)->next;
    }
    *at = device->next;
    for (int i = 0; i < PM_GPU_MECHANISMS; ++i) {
        if (device->live_bytes[i] != 0) {
            violation("a device was closed with memory of it in use");
        }
    }
    ++fake_gpu.n_closed;
    free(device);
    (void)pthread_mutex_unlock(&mutex);
}

static void device_facts(const struct pm_gpu_device *device, struct pm_gpu_facts *facts) {
    *facts = (struct pm_gpu_facts){.ordinal = device->ordinal,
                                   .name = "fake gpu",
                                   .n_multiprocessors = 1,
                                   .total_bytes = fake_gpu.total_bytes};
}

/* Each has as much memory; what others take is of the one that fails. */
static uint64_t free_bytes_now(uint32_t ordinal) {
    uint64_t used = ordinal == fake_gpu.failing_device ? fake_gpu.taken_bytes : 0;
    for (const struct pm_gpu_device *device = devices; device != NULL; device = device->next) {
        used +=
            device->ordinal == ordinal ? device->live_bytes[PM_GPU_ONCE] + device->pool_bytes : 0;
    }
    return used < fake_gpu.total_bytes ? fake_gpu.total_bytes - used : 0;
}

static pm_status device_free_bytes(struct pm_gpu_device *device, uint64_t *free_bytes,
                                   pm_error *error) {
    PM_TRY(begin_call(device, error));
    *free_bytes = free_bytes_now(device->ordinal);
    return end_call();
}

static bool device_is_bad(const struct pm_gpu_device *device) {
    (void)pthread_mutex_lock(&mutex);
    const bool is_bad = fake_gpu.is_bad && device->ordinal == fake_gpu.failing_device &&
                        !fake_gpu.goes_bad_silently;
    (void)pthread_mutex_unlock(&mutex);
    return is_bad;
}

static uint64_t device_live_bytes(const struct pm_gpu_device *device,
                                  enum pm_gpu_mechanism mechanism) {
    (void)pthread_mutex_lock(&mutex);
    const uint64_t bytes = device->live_bytes[mechanism];
    (void)pthread_mutex_unlock(&mutex);
    return bytes;
}

static uint64_t device_n_launches(const struct pm_gpu_device *device) {
    (void)device;
    return fake_gpu.n_calls;
}

static bool device_lock_within(struct pm_gpu_device *device, uint32_t timeout_ms) {
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    const uint64_t ns = (uint64_t)until.tv_nsec + UINT64_C(1000000) * timeout_ms;
    until.tv_sec += (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    const bool has_it = pthread_mutex_timedlock(&device_mutex[device->ordinal], &until) == 0;
    if (has_it) {
        (void)__atomic_add_fetch(&n_locked, 1, __ATOMIC_RELAXED);
        __atomic_store_n(&fake_gpu.is_locked, true, __ATOMIC_RELAXED);
    }
    return has_it;
}

static void device_lock(struct pm_gpu_device *device) {
    while (!device_lock_within(device, 1000)) {
    }
}

static void device_unlock(struct pm_gpu_device *device) {
    if (__atomic_sub_fetch(&n_locked, 1, __ATOMIC_RELAXED) == 0) {
        __atomic_store_n(&fake_gpu.is_locked, false, __ATOMIC_RELAXED);
    }
    (void)pthread_mutex_unlock(&device_mutex[device->ordinal]);
}

/* ---- Memory --------------------------------------------------------------------------------- */

static pm_status no_memory(uint64_t need, uint64_t have, pm_error *error) {
    pm_error_set(error, PM_NO_MEMORY, "the fake gpu cannot allocate %llu bytes",
                 (unsigned long long)need);
    pm_error_need_have(error, need, have);
    return PM_NO_MEMORY;
}

/* What an allocation takes of what is free: the pool may have some. */
static uint64_t bytes_from_free(const struct pm_gpu_device *device, enum pm_gpu_mechanism mechanism,
                                uint64_t bytes) {
    const uint64_t idle = device->pool_bytes - device->live_bytes[PM_GPU_STREAM];
    return mechanism == PM_GPU_ONCE ? bytes : bytes > idle ? bytes - idle : 0;
}

/* Inside a call. */
static pm_status take_block(struct pm_gpu_device *device, enum pm_gpu_mechanism mechanism,
                            uint64_t bytes, struct block **out, pm_error *error) {
    const bool of_device = mechanism == PM_GPU_ONCE || mechanism == PM_GPU_STREAM;
    const bool fails = device->ordinal == fake_gpu.failing_device &&
                       fake_gpu.fail_allocation_at != 0 && --fake_gpu.fail_allocation_at == 0;
    struct block *block = blocks;
    while (block < blocks + BLOCKS_MAX && block->pages != NULL) {
        ++block;
    }
    const uint64_t from_free = of_device ? bytes_from_free(device, mechanism, bytes) : 0;
    if (fails || from_free > free_bytes_now(device->ordinal) || block == blocks + BLOCKS_MAX) {
        return no_memory(bytes, of_device ? free_bytes_now(device->ordinal) : 0, error);
    }
    const uint64_t mapped_bytes = (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    void *pages = of_device ? take_pages(mapped_bytes)
                            : mmap(NULL, mapped_bytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == NULL || pages == MAP_FAILED) {
        return no_memory(bytes, 0, error);
    }
    /* Large scratch is poisoned at its ends alone. */
    const uint64_t n = mapped_bytes < 65536 ? mapped_bytes : 65536;
    memset(pages, POISON, n);
    memset((uint8_t *)pages + mapped_bytes - n, POISON, n);
    *block = (struct block){pages, bytes, mapped_bytes, mechanism, device};
    n_blocks = (size_t)(block - blocks) < n_blocks ? n_blocks : (size_t)(block - blocks) + 1;
    device->live_bytes[mechanism] += bytes;
    device->pool_bytes += mechanism == PM_GPU_STREAM ? from_free : 0;
    *out = block;
    return PM_OK;
}

static void tell(const struct pm_gpu_device *device, const struct pm_gpu_buffer *buffer,
                 bool is_release) {
    if (device->options.report != NULL) {
        const struct pm_gpu_memory_event event = {.name = buffer->name,
                                                  .file = buffer->file,
                                                  .line = buffer->line,
                                                  .mechanism = buffer->mechanism,
                                                  .is_release = is_release,
                                                  .bytes = buffer->bytes,
                                                  .live_bytes =
                                                      device->live_bytes[buffer->mechanism]};
        device->options.report(device->options.user, &event);
    }
}

static pm_status memory_get(struct pm_gpu_device *device, const struct pm_gpu_stream *stream,
                            enum pm_gpu_mechanism mechanism, const char *name, uint64_t bytes,
                            void *address, const char *file, int line, struct pm_gpu_buffer *buffer,
                            pm_error *error) {
    struct block *block = NULL;
    PM_TRY(begin_call(device, error));
    if ((mechanism == PM_GPU_STREAM && stream == NULL) || address != NULL) {
        violation("memory without its stream, or with an address");
    }
    const pm_status status = take_block(device, mechanism, bytes > 0 ? bytes : 1, &block, error);
    if (status == PM_OK) {
        *buffer = (struct pm_gpu_buffer){block->pages, block->bytes, name, file, line, mechanism};
        uint64_t *live = &fake_gpu.live_bytes[mechanism], *peak = &fake_gpu.peak_bytes[mechanism];
        ++fake_gpu.n_allocations;
        *live += block->bytes;
        fake_gpu.live_on[device->ordinal] += is_of_device(block) ? block->bytes : 0;
        *peak = *live > *peak ? *live : *peak;
        tell(device, buffer, false);
    }
    (void)end_call();
    return status;
}

/* After a failure there may be copies under way that nobody has waited for: they end with what they
 * read or write. */
static void forget_late(const struct block *block) {
    for (struct stream *stream = streams; stream != NULL; stream = stream->next) {
        for (uint32_t i = 0; i < stream->n_late; ++i) {
            struct late *late = &stream->late[i];
            if ((late->to >= block->pages && late->to < block->pages + block->bytes) ||
                (late->from >= block->pages && late->from < block->pages + block->bytes)) {
                late->bytes = 0;
            }
        }
    }
}

/* Works on a bad device too. */
static void memory_release(struct pm_gpu_device *device, const struct pm_gpu_stream *stream,
                           struct pm_gpu_buffer *buffer) {
    if (buffer->bytes == 0) {
        return;
    }
    (void)pthread_mutex_lock(&mutex);
    struct block *block = (struct block *)(uintptr_t)block_of(buffer->address, buffer->bytes);
    if (block == NULL || block->pages != buffer->address || block->bytes != buffer->bytes ||
        block->device != device || (block->mechanism == PM_GPU_STREAM && stream == NULL)) {
        violation("a release of what was not given out");
    } else {
        if (stream != NULL && !(fake_gpu.is_bad && device->ordinal == fake_gpu.failing_device)) {
            protect_all(true);
            catch_up(stream->raw);
            if (n_inside == 0) {
                protect_all(false);
            }
        }
        forget_late(block);
        ++fake_gpu.n_releases;
        device->live_bytes[block->mechanism] -= block->bytes;
        fake_gpu.live_bytes[block->mechanism] -= block->bytes;
        tell(device, buffer, true);
        fake_gpu.live_on[device->ordinal] -= is_of_device(block) ? block->bytes : 0;
        const struct block gone = *block;
        *block = (struct block){0};
        if (is_of_device(&gone)) {
            give_pages_back(gone.pages, gone.mapped_bytes);
        } else {
            (void)munmap(gone.pages, gone.mapped_bytes);
        }
    }
    (void)pthread_mutex_unlock(&mutex);
    *buffer = (struct pm_gpu_buffer){0};
}

static bool memory_is_pinned(struct pm_gpu_device *device, const void *address) {
    (void)device;
    (void)pthread_mutex_lock(&mutex);
    ++fake_gpu.n_pinned_questions;
    const bool pinned = is_pinned(address, 1);
    (void)pthread_mutex_unlock(&mutex);
    return pinned;
}

static pm_status upload(const struct pm_gpu_stream *stream, void *to, const void *from,
                        uint64_t bytes, pm_error *error) {
    PM_TRY(begin_call(stream->device, error));
    struct stream *asked = stream->raw;
    if (on_device(to, bytes, "an upload to what is not the device's")) {
        if (is_pinned(from, bytes) && asked->n_late < LATE_MAX) {
            asked->late[asked->n_late++] = (struct late){to, from, bytes};
        } else {
            catch_up(asked);
            memcpy(to, from, bytes);
        }
    }
    return end_call();
}

static pm_status download(const struct pm_gpu_stream *stream, void *to, const void *from,
                          uint64_t bytes, pm_error *error) {
    PM_TRY(begin_call(stream->device, error));
    use(stream);
    if (on_device(from, bytes, "a download from what is not the device's")) {
        memcpy(to, from, bytes);
    }
    return end_call();
}

static pm_status copy(const struct pm_gpu_stream *stream, void *to, const void *from,
                      uint64_t bytes, pm_error *error) {
    PM_TRY(begin_call(stream->device, error));
    use(stream);
    if (on_device(to, bytes, "a copy to what is not the device's") &&
        on_device(from, bytes, "a copy from what is not the device's")) {
        memmove(to, from, bytes);
    }
    return end_call();
}

static pm_status fill(const struct pm_gpu_stream *stream, void *to, int byte, uint64_t bytes,
                      pm_error *error) {
    PM_TRY(begin_call(stream->device, error));
    use(stream);
    if (on_device(to, bytes, "a fill of what is not the device's")) {
        /* As in take_block(): pages that nobody has written are left alone. */
        if (bytes > (UINT64_C(8) << 20) && byte == 0) {
            const uint64_t skip = PAGE_BYTES - (uintptr_t)to % PAGE_BYTES;
            memset(to, byte, skip);
            const uint64_t whole = (bytes - skip) / PAGE_BYTES * PAGE_BYTES;
            (void)madvise((uint8_t *)to + skip, whole, MADV_DONTNEED);
            memset((uint8_t *)to + skip + whole, byte, bytes - skip - whole);
        } else {
            memset(to, byte, bytes);
        }
    }
    return end_call();
}

/* ---- Transforms ----------------------------------------------------------------------------- */

static const struct pm_domain *domain_in(const struct pm_gpu_domain *domain) {
    return (const struct pm_domain *)(const void *)domain->kernels;
}

static uint64_t domain_bytes(uint32_t log_n) {
    return PM_GPU_FACTOR_BYTES * pm_gpu_factors_count(log_n);
}

static uint64_t powers_bytes(uint32_t log_n) {
    return PM_GPU_FACTOR_BYTES *
           ((UINT64_C(1) << log_n / 2) + (UINT64_C(1) << (log_n - log_n / 2)));
}

static uint64_t h_bytes(uint32_t log_n, enum pm_gpu_reduction reduction) {
    return powers_bytes(log_n) * (reduction == PM_GPU_REDUCTION_BELLMAN ? 3 : 1);
}

static pm_status domain_create(const struct pm_gpu_stream *stream, pm_curve_id curve,
                               uint32_t log_n, enum pm_gpu_root root, uint32_t levels_max,
                               uint32_t tile_log, struct pm_gpu_domain *out, pm_error *error) {
    (void)levels_max, (void)tile_log;
    struct pm_gpu_domain made = {.device = stream->device, .log_n = log_n, .root = root};
    PM_TRY(memory_get(stream->device, NULL, PM_GPU_ONCE, "ntt factors", domain_bytes(log_n), NULL,
                      __FILE__, __LINE__, &made.factors, error));
    pm_status status = begin_call(stream->device, error);
    struct pm_domain *domain = calloc(1, sizeof *domain);
    if (status == PM_OK) {
        use(stream);
        status = pm_domain_create(pm_poly_get(curve, fake_body()), log_n, (enum pm_root)root, NULL,
                                  NULL, domain, error);
        (void)end_call();
    }
    if (status != PM_OK) {
        free(domain);
        memory_release(stream->device, NULL, &made.factors);
        return status;
    }
    made.kernels = (const struct pm_gpu_kernels *)(const void *)domain;
    *out = made;
    return PM_OK;
}

static void domain_destroy(struct pm_gpu_domain *domain) {
    if (domain->device != NULL) {
        struct pm_domain *inner = (struct pm_domain *)(uintptr_t)domain_in(domain);
        pm_domain_destroy(inner);
        free(inner);
        memory_release(domain->device, NULL, &domain->factors);
        *domain = (struct pm_gpu_domain){0};
    }
}

static void powers_destroy(struct pm_gpu_powers *powers) {
    if (powers->device != NULL) {
        memory_release(powers->device, NULL, &powers->tables);
        *powers = (struct pm_gpu_powers){0};
    }
}

static void h_destroy(struct pm_gpu_h *h) {
    powers_destroy(&h->to_coset);
    powers_destroy(&h->from_coset);
    powers_destroy(&h->of_c);
}

static pm_status h_create(const struct pm_gpu_domain *domain, const struct pm_gpu_stream *stream,
                          enum pm_gpu_reduction reduction, struct pm_gpu_h *out, pm_error *error) {
    struct pm_gpu_h h = {.domain = domain, .reduction = reduction};
    struct pm_gpu_powers *const tables[] = {&h.to_coset, &h.from_coset, &h.of_c};
    const int n = reduction == PM_GPU_REDUCTION_BELLMAN ? 3 : 1;
    (void)stream;
    for (int i = 0; i < n; ++i) {
        tables[i]->device = domain->device;
        const pm_status status = memory_get(domain->device, NULL, PM_GPU_ONCE, "coset powers",
                                            powers_bytes(domain->log_n), NULL, __FILE__, __LINE__,
                                            &tables[i]->tables, error);
        if (status != PM_OK) {
            h_destroy(&h);
            return status;
        }
    }
    *out = h;
    return PM_OK;
}

/* Vectors of 2^log_n values, as the domain says. */
static bool good_vector(const struct pm_gpu_h *h, const void *vector) {
    return on_device(vector, (uint64_t)PM_FR_BYTES << h->domain->log_n, "a vector out of place");
}

static pm_status h_product(const struct pm_gpu_h *h, const struct pm_gpu_stream *stream, void *c,
                           const void *a, const void *b, pm_error *error) {
    PM_TRY(begin_call(stream->device, error));
    use(stream);
    if (good_vector(h, a) && good_vector(h, b) && good_vector(h, c)) {
        domain_in(h->domain)->poly->mul_vectors(c, a, b, UINT64_C(1) << h->domain->log_n, NULL);
    }
    return end_call();
}

static void to_coset(const struct pm_gpu_h *h, void *v) {
    const struct pm_domain *domain = domain_in(h->domain);
    if (good_vector(h, v)) {
        (void)(h->reduction == PM_GPU_REDUCTION_BELLMAN
                   ? domain->poly->to_coset
                   : domain->poly->to_odd_coset)(domain, v, NULL, NULL, NULL);
    }
}

static pm_status h_coset(const struct pm_gpu_h *h, const struct pm_gpu_stream *stream, void *v,
                         pm_error *error) {
    PM_TRY(begin_call(stream->device, error));
    use(stream);
    to_coset(h, v);
    return end_call();
}

/* bellman's way back is part of finish() here. */
static pm_status h_multiply(const struct pm_gpu_h *h, const struct pm_gpu_stream *stream, void *a,
                            const void *b, pm_error *error) {
    return h_product(h, stream, a, a, b, error);
}

static pm_status h_c(const struct pm_gpu_h *h, const struct pm_gpu_stream *stream, void *c,
                     pm_error *error) {
    return h->reduction == PM_GPU_REDUCTION_BELLMAN ? PM_OK : h_coset(h, stream, c, error);
}

static pm_status h_finish(const struct pm_gpu_h *h, const struct pm_gpu_stream *stream, void *a,
                          const void *c, pm_error *error) {
    const struct pm_domain *domain = domain_in(h->domain);
    PM_TRY(begin_call(stream->device, error));
    use(stream);
    if (good_vector(h, a) && good_vector(h, c)) {
        if (h->reduction == PM_GPU_REDUCTION_BELLMAN) {
            (void)domain->poly->quotient_coefficients(domain, a, (void *)(uintptr_t)c, NULL, NULL,
                                                      NULL);
        } else {
            domain->poly->quotient_scalars_from_product(a, a, c, UINT64_C(1) << domain->log_n,
                                                        NULL);
        }
    }
    return end_call();
}

static pm_status h_run(const struct pm_gpu_h *h, const struct pm_gpu_stream *stream, void *a,
                       void *b, void *c, bool has_c, pm_error *error) {
    if (!has_c) {
        PM_TRY(h_product(h, stream, c, a, b, error));
    }
    PM_TRY(h_coset(h, stream, a, error));
    PM_TRY(h_coset(h, stream, b, error));
    PM_TRY(h_multiply(h, stream, a, b, error));
    PM_TRY(h_c(h, stream, c, error));
    return h_finish(h, stream, a, c, error);
}

/* ---- Matrices and scalars ------------------------------------------------------------------- */

static uint64_t aligned(uint64_t bytes) {
    return (bytes + 255) / 256 * 256;
}

static uint64_t sparse_bytes(uint64_t n_rows, uint64_t n_terms, uint64_t n_coefficients) {
    return aligned(n_coefficients * PM_FR_BYTES) + aligned(n_terms * 8) + aligned((n_rows + 1) * 4);
}

static void sparse_place(struct pm_gpu_sparse *matrix, void *buffer, uint64_t offsets[3]) {
    uint8_t *bytes = buffer;
    offsets[0] = 0;
    offsets[1] = aligned(matrix->n_coefficients * PM_FR_BYTES);
    offsets[2] = offsets[1] + aligned(matrix->n_terms * 8);
    matrix->coefficients = bytes;
    matrix->terms = bytes + offsets[1];
    matrix->row_starts = bytes + offsets[2];
}

/* One row, with everything in its place. */
static void multiply_row(const struct pm_field *fr, const struct pm_gpu_sparse *matrix,
                         const uint8_t *w, uint64_t row, uint64_t *out) {
    const uint32_t *starts = matrix->row_starts;
    const struct pm_sparse_entry *terms = matrix->terms;
    uint64_t sum[PM_FR_LIMBS_MAX] = {0};
    if (starts[row] > starts[row + 1] || starts[row + 1] > matrix->n_terms ||
        (starts[row] < starts[row + 1] &&
         !on_device(terms + starts[row], (starts[row + 1] - starts[row]) * 8, "terms astray"))) {
        violation("a row that is none");
        return;
    }
    for (uint32_t i = starts[row]; i < starts[row + 1]; ++i) {
        uint64_t value[PM_FR_LIMBS_MAX], coefficient[PM_FR_LIMBS_MAX];
        if (terms[i].column >= matrix->n_columns ||
            terms[i].coefficient >= matrix->n_coefficients) {
            violation("a term that is none");
            return;
        }
        memcpy(value, w + (uint64_t)terms[i].column * PM_FR_BYTES, sizeof value);
        memcpy(coefficient,
               (const uint8_t *)matrix->coefficients + (uint64_t)terms[i].coefficient * PM_FR_BYTES,
               sizeof coefficient);
        fr->mul(value, value, coefficient);
        fr->add(sum, sum, value);
    }
    memcpy(out, sum, sizeof sum);
}

static pm_status sparse_multiply(const struct pm_gpu_stream *stream, pm_curve_id curve,
                                 const struct pm_gpu_sparse *matrix, const void *w, void *out,
                                 uint64_t n_out, pm_error *error) {
    const struct pm_field *fr = pm_field_fr(curve, fake_body());
    const uint64_t n_rows = matrix->n_rows < n_out ? matrix->n_rows : n_out;
    PM_TRY(begin_call(stream->device, error));
    use(stream);
    if (on_device(matrix->row_starts, (n_rows + 1) * 4, "row starts out of place") &&
        on_device(w, matrix->n_columns * PM_FR_BYTES, "a witness out of place") &&
        on_device(out, n_out * PM_FR_BYTES, "a product out of place")) {
        for (uint64_t row = 0; row < n_rows; ++row) {
            multiply_row(fr, matrix, w, row, (uint64_t *)out + row * PM_FR_LIMBS_MAX);
        }
        memset((uint8_t *)out + n_rows * PM_FR_BYTES, 0, (n_out - n_rows) * PM_FR_BYTES);
    }
    return end_call();
}

static pm_status scalars_take(const struct pm_gpu_stream *stream, pm_curve_id curve,
                              enum pm_gpu_conversion conversion, void *values, uint64_t n,
                              void *scratch, uint64_t *lowest, pm_error *error) {
    const struct pm_field *fr = pm_field_fr(curve, fake_body());
    PM_TRY(begin_call(stream->device, error));
    use(stream);
    *lowest = n;
    if (on_device(values, n * PM_FR_BYTES, "scalars out of place") &&
        on_device(scratch, PM_GPU_TAKE_SCRATCH_BYTES, "a counter out of place")) {
        memset(scratch, POISON, PM_GPU_TAKE_SCRATCH_BYTES);
        for (uint64_t i = 0; i < n && *lowest == n; ++i) {
            const uint8_t *value = (const uint8_t *)values + i * PM_FR_BYTES;
            *lowest = pm_modulus_exceeds(pm_modulus_scalar(curve), value) ? n : i;
        }
        if (conversion == PM_GPU_FROM_MONTGOMERY) {
            fr->from_mont(values, values, *lowest);
        } else if (conversion == PM_GPU_TO_MONTGOMERY) {
            fr->to_mont(values, values, *lowest);
        }
    }
    return end_call();
}

static pm_status scalars_expand(const struct pm_gpu_stream *stream, const void *packed, uint64_t n,
                                void *values, pm_error *error) {
    PM_TRY(begin_call(stream->device, error));
    use(stream);
    fake_gpu.n_packed_scalars += n;
    const uint64_t full_offset = pm_gpu_pack_full_offset(n);
    if (on_device(packed, full_offset, "packed scalars out of place") &&
        on_device(values, n * PM_FR_BYTES, "scalars out of place")) {
        for (uint64_t i = 0; i < 2 * n; ++i) {
            uint8_t *out = (uint8_t *)values + 16 * i;
            const void *half = pm_gpu_pack_find(packed, full_offset, i / 2, i % 2);
            if (half == NULL) {
                memset(out, 0, 16);
            } else if (on_device(half, 16, "a packed scalar out of place")) {
                memcpy(out, half, 16);
            }
        }
    }
    return end_call();
}

/* ---- Sums ----------------------------------------------------------------------------------- */

static uint64_t classes_bytes(uint64_t n) {
    return (n + 63) / 64 * sizeof(struct pm_gpu_class_word);
}

static enum pm_gpu_class class_of(pm_curve_id curve, const uint8_t *scalar) {
    static const uint64_t zero[PM_FR_LIMBS_MAX], one[PM_FR_LIMBS_MAX] = {1};
    uint64_t minus_one[PM_FR_LIMBS_MAX];
    memcpy(minus_one, pm_modulus_scalar(curve), sizeof minus_one);
    minus_one[0] -= 1;
    return memcmp(scalar, zero, sizeof zero) == 0             ? PM_GPU_CLASS_ZERO
           : memcmp(scalar, one, sizeof one) == 0             ? PM_GPU_CLASS_ONE
           : memcmp(scalar, minus_one, sizeof minus_one) == 0 ? PM_GPU_CLASS_MINUS_ONE
                                                              : PM_GPU_CLASS_FULL;
}

static pm_status classify(const struct pm_gpu_stream *stream, pm_curve_id curve,
                          const void *scalars, uint64_t n, void *classes, pm_error *error) {
    PM_TRY(begin_call(stream->device, error));
    use(stream);
    if (on_device(scalars, n * PM_FR_BYTES, "scalars out of place") &&
        on_device(classes, classes_bytes(n), "classes out of place")) {
        struct pm_gpu_class_word *words = classes;
        memset(words, 0, classes_bytes(n));
        for (uint64_t i = 0; i < n; ++i) {
            const uint64_t class = class_of(curve, (const uint8_t *)scalars + i * PM_FR_BYTES);
            words[i / 64].low |= (class & 1) << i % 64;
            words[i / 64].high |= (class >> 1) << i % 64;
        }
    }
    return end_call();
}

/* As a card's: something fixed, and more where there is room for it. */
static pm_status sum_bytes(struct pm_gpu_device *device, pm_curve_id curve, enum pm_msm_group group,
                           uint64_t n, bool has_classes, uint64_t limit_bytes,
                           uint64_t *workspace_bytes, uint64_t *outputs_bytes, pm_error *error) {
    const uint64_t least = 4096 + (has_classes ? 4 * n : 0);
    const uint64_t best = least + 16 * n * (group == PM_MSM_G2 ? 2 : 1);
    (void)device, (void)curve;
    if (least > limit_bytes) {
        return no_memory(least, limit_bytes, error);
    }
    *workspace_bytes = best < limit_bytes ? best : limit_bytes;
    *outputs_bytes = 1024;
    return PM_OK;
}

static uint64_t rank_of(const struct pm_gpu_sum_input *input, uint64_t i) {
    uint64_t rank = 0;
    for (uint64_t bit = 0; bit < i; ++bit) {
        rank += input->density[bit / 64] >> bit % 64 & 1;
    }
    if (input->rank[i / PM_MSM_RANK_STEP] > rank) {
        violation("a directory that is not the density's");
    }
    return rank;
}

static bool good_input(const struct pm_gpu_sum_input *input) {
    const uint64_t end = input->first + input->n, words_bytes = (end + 63) / 64 * 8;
    return on_device(input->scalars, end * PM_FR_BYTES, "scalars out of place") &&
           (input->classes == NULL ||
            on_device(input->classes, 2 * words_bytes, "classes out of place")) &&
           (input->density == NULL ||
            on_device(input->density, words_bytes, "a density out of place")) &&
           (!input->is_compact ||
            on_device(input->rank, pm_msm_rank_bytes(end), "ranks out of place"));
}

/* The points and scalars that count, one behind the other. */
static uint64_t gather(const struct pm_gpu_sum_input *input, uint64_t point_bytes, uint8_t *points,
                       uint8_t *scalars) {
    const struct pm_gpu_class_word *words = input->classes;
    uint64_t n = 0, next = 0;
    if (input->is_compact) {
        (void)rank_of(input, input->first);
    }
    for (uint64_t i = input->first; i < input->first + input->n; ++i) {
        const bool has = input->density == NULL || (input->density[i / 64] >> i % 64 & 1) != 0;
        const uint8_t *scalar = (const uint8_t *)input->scalars + i * PM_FR_BYTES;
        const uint64_t at = next;
        next += has || !input->is_compact;
        if (words != NULL &&
            (words[i / 64].low >> i % 64 & 1) + 2 * (words[i / 64].high >> i % 64 & 1) !=
                class_of(input->curve, scalar)) {
            violation("a class that is not the scalar's");
        }
        const uint8_t *point = (const uint8_t *)input->points + at * point_bytes;
        if (has && on_device(point, point_bytes, "a point out of place")) {
            memcpy(points + n * point_bytes, point, point_bytes);
            memcpy(scalars + n * PM_FR_BYTES, scalar, PM_FR_BYTES);
            ++n;
        }
    }
    return n;
}

static void spoil(const struct pm_group *group, struct pm_group_point *sum) {
    const bool is_it = fake_gpu.wrong != FAKE_GPU_RIGHT && fake_gpu.n_sums == fake_gpu.wrong_sum;
    if (is_it && fake_gpu.wrong == FAKE_GPU_FLIPS_A_BIT) {
        sum->limb[0] ^= 1;
    } else if (is_it && group->is_infinity(sum)) {
        group->from_affine(sum, group->generator);
    } else if (is_it) {
        group->dbl(sum, sum);
    }
}

static pm_status sum_run(const struct pm_gpu_stream *stream, const struct pm_gpu_sum_input *input,
                         void *workspace, uint64_t workspace_bytes, void *outputs,
                         uint64_t outputs_bytes, void *result, pm_error *error) {
    const struct pm_curve *curve = pm_curve_get(input->curve, fake_body());
    const struct pm_group *group = input->group == PM_MSM_G2 ? curve->g2 : curve->g1;
    const struct pm_msm *msm = pm_msm_get(input->curve, fake_body());
    uint64_t need_workspace = 0, need_outputs = 0;
    PM_TRY(begin_call(stream->device, error));
    use(stream);
    ++fake_gpu.n_sums;
    ++fake_gpu.n_sums_on[stream->device->ordinal];
    (void)sum_bytes(stream->device, input->curve, input->group, input->n,
                    input->classes != NULL || input->density != NULL, workspace_bytes,
                    &need_workspace, &need_outputs, NULL);
    if (need_workspace == 0 || need_outputs > outputs_bytes ||
        !on_device(workspace, workspace_bytes, "a workspace out of place") ||
        !is_pinned(outputs, outputs_bytes)) {
        violation("a sum without room");
    }
    if (good_input(input)) {
        struct pm_group_point sum;
        const uint64_t room = input->n + 1;
        uint8_t *points = calloc(room, group->affine_bytes);
        uint8_t *scalars = calloc(room, PM_FR_BYTES);
        void *scratch = aligned_alloc(64, (msm->bytes(input->group, room, 1) + 63) / 64 * 64);
        const uint64_t n = gather(input, group->affine_bytes, points, scalars);
        memset(&sum, 0, sizeof sum);
        (void)msm->run(input->group, points, scalars, n, NULL, scratch, NULL, &sum, NULL);
        spoil(group, &sum);
        memcpy(result, &sum, sizeof sum);
        memset(workspace, POISON, workspace_bytes < 4096 ? workspace_bytes : 4096);
        memset(outputs, POISON, need_outputs);
        free(points);
        free(scalars);
        free(scratch);
    }
    return end_call();
}

/* ---- The table ------------------------------------------------------------------------------ */

static const struct pm_gpu_api table = {
    .version = PM_GPU_API_VERSION,
    .struct_bytes = sizeof(struct pm_gpu_api),
    .device_count = device_count,
    .device_open = device_open,
    .device_close = device_close,
    .device_facts = device_facts,
    .device_free_bytes = device_free_bytes,
    .device_is_bad = device_is_bad,
    .device_live_bytes = device_live_bytes,
    .device_n_launches = device_n_launches,
    .device_lock = device_lock,
    .device_unlock = device_unlock,
    .device_lock_within = device_lock_within,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_wait = stream_wait,
    .stream_is_done = stream_is_done,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .stream_await = stream_await,
    .event_elapsed_ms = event_elapsed_ms,
    .memory_get = memory_get,
    .memory_release = memory_release,
    .memory_is_pinned = memory_is_pinned,
    .upload = upload,
    .download = download,
    .copy = copy,
    .fill = fill,
    .domain_bytes = domain_bytes,
    .domain_create = domain_create,
    .domain_destroy = domain_destroy,
    .powers_bytes = powers_bytes,
    .powers_destroy = powers_destroy,
    .h_bytes = h_bytes,
    .h_create = h_create,
    .h_destroy = h_destroy,
    .h_product = h_product,
    .h_coset = h_coset,
    .h_multiply = h_multiply,
    .h_c = h_c,
    .h_finish = h_finish,
    .h_run = h_run,
    .sparse_bytes = sparse_bytes,
    .sparse_place = sparse_place,
    .sparse_multiply = sparse_multiply,
    .scalars_take = scalars_take,
    .scalars_expand = scalars_expand,
    .classes_bytes = classes_bytes,
    .classify = classify,
    .sum_bytes = sum_bytes,
    .sum_run = sum_run,
};

const struct pm_gpu_api *fake_gpu_api(void) {
    if (fake_gpu.total_bytes == 0) {
        fake_gpu.total_bytes = UINT64_MAX / 2;
    }
    return &table;
}

uint64_t fake_gpu_n_packed(void) {
    (void)pthread_mutex_lock(&mutex);
    const uint64_t n = fake_gpu.n_packed_scalars;
    (void)pthread_mutex_unlock(&mutex);
    return n;
}

bool fake_gpu_holds(const void *bytes, size_t n_bytes) {
    bool holds = false;
    (void)pthread_mutex_lock(&mutex);
    protect_all(true);
    for (size_t i = 0; i < n_blocks && !holds; ++i) {
        holds = blocks[i].pages != NULL &&
                memmem(blocks[i].pages, blocks[i].bytes, bytes, n_bytes) != NULL;
    }
    if (n_inside == 0) {
        protect_all(false);
    }
    (void)pthread_mutex_unlock(&mutex);
    return holds;
}

void fake_gpu_heal(void) {
    (void)pthread_mutex_lock(&mutex);
    fake_gpu.total_bytes = UINT64_MAX / 2;
    fake_gpu.taken_bytes = fake_gpu.fail_allocation_at = fake_gpu.fail_call_at = 0;
    fake_gpu.take_at_call = 0;
    fake_gpu.goes_bad = fake_gpu.goes_bad_silently = fake_gpu.is_bad = false;
    fake_gpu.wrong = FAKE_GPU_RIGHT;
    fake_gpu.n_calls = fake_gpu.n_sums = fake_gpu.n_packed_scalars = 0;
    fake_gpu.n_closed = fake_gpu.n_pinned_questions = 0;
    fake_gpu.failing_device = 0;
    memset(fake_gpu.n_calls_on, 0, sizeof fake_gpu.n_calls_on);
    memset(fake_gpu.n_sums_on, 0, sizeof fake_gpu.n_sums_on);
    (void)pthread_mutex_unlock(&mutex);
}

void fake_gpu_expect_tidy(void) {
    assert_int_equal(fake_gpu.n_violations, 0);
    assert_int_equal(fake_gpu.n_allocations, fake_gpu.n_releases);
    assert_int_equal(fake_gpu.n_streams, 0);
    assert_int_equal(fake_gpu.n_events, 0);
    assert_null(devices);
    assert_false(fake_gpu.is_locked);
    for (int i = 0; i < PM_GPU_MECHANISMS; ++i) {
        assert_int_equal(fake_gpu.live_bytes[i], 0);
    }
}
