/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A libcuda.so.1 of no card, behind driver_watch.c in its own test: each call that the watch knows
 * hands out addresses of a range that says which function it was, and counts what it is given back.
 * driver_stub_live_bytes() is what is out. More than STUB_BYTES at once are not to be had.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define STUB_BYTES (UINT64_C(1) << 40)
#define EXPORTED __attribute__((visibility("default")))
enum { GOOD = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_FOUND = 500 };

/* ---- What is out ----------------------------------------------------------------------------- */

struct block {
    uint64_t address, bytes;
};
#define BLOCKS_MAX 4096
static struct block blocks[BLOCKS_MAX];
static uint64_t live_bytes, next_page = 1;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* series: the highest byte of the address. */
static int put(uint64_t address, uint64_t series, uint64_t bytes, uint64_t *out) {
    int outcome = OUT_OF_MEMORY;
    (void)pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < BLOCKS_MAX && live_bytes + bytes <= STUB_BYTES; ++i) {
        if (blocks[i].address == 0) {
            *out = address != 0 ? address : series << 40 | next_page++ << 12;
            blocks[i] = (struct block){*out, bytes};
            live_bytes += bytes;
            outcome = GOOD;
            break;
        }
    }
    (void)pthread_mutex_unlock(&mutex);
    return outcome;
}

static int take(uint64_t address) {
    int outcome = INVALID_VALUE;
    (void)pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < BLOCKS_MAX && address != 0; ++i) {
        if (blocks[i].address == address) {
            live_bytes -= blocks[i].bytes;
            blocks[i] = (struct block){0, 0};
            outcome = GOOD;
            break;
        }
    }
    (void)pthread_mutex_unlock(&mutex);
    return outcome;
}

EXPORTED uint64_t driver_stub_live_bytes(void);
uint64_t driver_stub_live_bytes(void) {
    return live_bytes;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static int mem_alloc(uint64_t *p, size_t n) {
    return put(0, 0x10, n, p);
}
static int mem_alloc_of_long_ago(uint32_t *p, unsigned n) {
    uint64_t address = 0;
    const int outcome = put(0, 0, n, &address);
    *p = (uint32_t)address;
    return outcome;
}
static int mem_alloc_managed(uint64_t *p, size_t n, unsigned flags) {
    return flags != 1 ? INVALID_VALUE : put(0, 0x11, n, p);
}
static int mem_alloc_pitch(uint64_t *p, size_t *pitch, size_t width, size_t height, unsigned size) {
    *pitch = (width + 511) / 512 * 512;
    return size != 16 ? INVALID_VALUE : put(0, 0x12, *pitch * height, p);
}
static int mem_alloc_async(uint64_t *p, size_t n, void *stream) {
    return stream == NULL ? INVALID_VALUE : put(0, 0x13, n, p);
}
static int mem_alloc_async_ptsz(uint64_t *p, size_t n, void *stream) {
    return stream == NULL ? INVALID_VALUE : put(0, 0x14, n, p);
}
static int mem_alloc_from_pool(uint64_t *p, size_t n, void *pool, void *stream) {
    return pool == NULL || stream == NULL ? INVALID_VALUE : put(0, 0x15, n, p);
}
static int mem_alloc_from_pool_ptsz(uint64_t *p, size_t n, void *pool, void *stream) {
    return pool == NULL || stream == NULL ? INVALID_VALUE : put(0, 0x16, n, p);
}
static int pool_create(void **pool, const void *properties) {
    return properties == NULL ? INVALID_VALUE : put(0, 0x17, 0, (uint64_t *)(void *)pool);
}
static int pool_trim(void *pool, size_t n) {
    return pool == NULL || n != 4096 ? INVALID_VALUE : GOOD;
}
static int host_alloc(void **p, size_t n, unsigned flags) {
    return flags != 1 ? INVALID_VALUE : put(0, 0x18, n, (uint64_t *)(void *)p);
}
static int mem_alloc_host(void **p, size_t n) {
    return put(0, 0x19, n, (uint64_t *)(void *)p);
}
static int host_register(void *p, size_t n, unsigned flags) {
    uint64_t same;
    return flags != 1 ? INVALID_VALUE : put((uintptr_t)p, 0, n, &same);
}
static int mem_create(uint64_t *memory, size_t n, const void *properties, uint64_t flags) {
    return properties == NULL || flags != 0 ? INVALID_VALUE : put(0, 0x1a, n, memory);
}
static int give_address(uint64_t p) {
    return take(p);
}
static int give_pointer(void *p) {
    return take((uintptr_t)p);
}
static int free_async(uint64_t p, void *stream) {
    return stream == NULL || p >> 40 == 0x14 || p >> 40 == 0x16 ? INVALID_VALUE : take(p);
}
static int free_async_ptsz(uint64_t p, void *stream) {
    return stream == NULL || (p >> 40 != 0x14 && p >> 40 != 0x16) ? INVALID_VALUE : take(p);
}
static int array_create(void **p, const void *description) {
    return description == NULL ? INVALID_VALUE : put(0, 0x1b, 0, (uint64_t *)(void *)p);
}
static int driver_version(int *version) {
    *version = 13000;
    return GOOD;
}

/* ---- Names ----------------------------------------------------------------------------------- */

EXPORTED int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags);
EXPORTED int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                                 int *found);

/* The last entry whose version is not above the asked one; per_thread 2: for both. */
static const struct {
    const char *name;
    int version;
    int per_thread;
    void *function;
} calls[] = {
    {"cuGetProcAddress", 11030, 2, (void *)cuGetProcAddress},
    {"cuGetProcAddress", 12000, 2, (void *)cuGetProcAddress_v2},
    {"cuDriverGetVersion", 2020, 2, (void *)driver_version},
    {"cuMemAlloc", 2000, 2, (void *)mem_alloc_of_long_ago},
    {"cuMemAlloc", 3020, 2, (void *)mem_alloc},
    {"cuMemAllocManaged", 6000, 2, (void *)mem_alloc_managed},
    {"cuMemAllocPitch", 3020, 2, (void *)mem_alloc_pitch},
    {"cuMemFree", 3020, 2, (void *)give_address},
    {"cuMemAllocAsync", 11020, 0, (void *)mem_alloc_async},
    {"cuMemAllocAsync", 11020, 1, (void *)mem_alloc_async_ptsz},
    {"cuMemAllocFromPoolAsync", 11020, 0, (void *)mem_alloc_from_pool},
    {"cuMemAllocFromPoolAsync", 11020, 1, (void *)mem_alloc_from_pool_ptsz},
    {"cuMemFreeAsync", 11020, 0, (void *)free_async},
    {"cuMemFreeAsync", 11020, 1, (void *)free_async_ptsz},
    {"cuMemPoolCreate", 11020, 2, (void *)pool_create},
    {"cuMemPoolDestroy", 11020, 2, (void *)give_pointer},
    {"cuMemPoolTrimTo", 11020, 2, (void *)pool_trim},
    {"cuMemHostAlloc", 2020, 2, (void *)host_alloc},
    {"cuMemAllocHost", 3020, 2, (void *)mem_alloc_host},
    {"cuMemFreeHost", 2000, 2, (void *)give_pointer},
    {"cuMemHostRegister", 6050, 2, (void *)host_register},
    {"cuMemHostUnregister", 4000, 2, (void *)give_pointer},
    {"cuMemCreate", 10020, 2, (void *)mem_create},
    {"cuMemRelease", 10020, 2, (void *)give_address},
    {"cuArrayCreate", 3020, 2, (void *)array_create},
};

int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags) {
    const int per_thread = (flags & 2) != 0;
    *function = NULL;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i) {
        if (strcmp(calls[i].name, name) == 0 && calls[i].version <= version &&
            (calls[i].per_thread == 2 || calls[i].per_thread == per_thread)) {
            *function = calls[i].function;
        }
    }
    return *function != NULL ? GOOD : NOT_FOUND;
}

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                        int *found) {
    const int outcome = cuGetProcAddress(name, function, version, flags);
    if (found != NULL) {
        *found = outcome == GOOD ? 0 : 1;
    }
    return outcome;
}
