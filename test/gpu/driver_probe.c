/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Uses a driver as the CUDA runtime does: opens libcuda.so.1, looks up cuGetProcAddress_v2 and asks
 * that for everything else, by version and flags. For the test of driver_watch.c, over
 * driver_stub.c.
 *
 *   driver_probe calls         each call that is watched, in turn; one allocation fails
 *   driver_probe proof FILE    what a proof does, and its ledger in FILE (ledger_dump.h)
 *   driver_probe threads       four threads at once, 500 allocations and releases each
 */
#include "ledger_dump.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                  \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

typedef int lookup_function(const char *name, void **function, int version, uint64_t flags);
typedef int lookup_v2_function(const char *name, void **function, int version, uint64_t flags,
                               int *found);
/* Numbers and pointers all come in registers: one type of function has room for every call. */
typedef int call_function(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e);

static lookup_v2_function *lookup;
static char some_stream, some_properties;
#define STREAM ((uintptr_t)&some_stream)
#define PROPERTIES ((uintptr_t)&some_properties)

static call_function *find(const char *name, int version, uint64_t flags) {
    void *symbol = NULL;
    call_function *function;
    int found = 7;
    CHECK(lookup(name, &symbol, version, flags, &found) == 0 && symbol != NULL && found == 0);
    memcpy(&function, &symbol, sizeof function);
    return function;
}

static void open_driver(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    void *symbol = dlsym(library, "cuGetProcAddress_v2");
    CHECK(symbol != NULL);
    memcpy(&lookup, &symbol, sizeof lookup);
    lookup_v2_function *first = lookup;
    CHECK(first("cuGetProcAddress", &symbol, 12000, 0, NULL) == 0);
    memcpy(&lookup, &symbol, sizeof lookup);
    CHECK(lookup == first); /* the watch is not left by asking it for its own kind */
    int version = 0, found = 7;
    CHECK(find("cuDriverGetVersion", 2020, 0)((uintptr_t)&version, 0, 0, 0, 0) == 0);
    CHECK(version == 13000);
    CHECK(lookup("cuNothing", &symbol, 13000, 0, &found) == 500 && found == 1);
}

/* ---- Every call ------------------------------------------------------------------------------ */

/* series: of the stub's function, so that no call went to another one. */
static uint64_t made(call_function *call, uint64_t series, uintptr_t b, uintptr_t c, uintptr_t d,
                     uintptr_t e) {
    uint64_t p = 0;
    CHECK(call((uintptr_t)&p, b, c, d, e) == 0 && p >> 40 == series);
    return p;
}

static void device_calls(void) {
    call_function *free_it = find("cuMemFree", 3020, 0);
    size_t pitch = 0;
    uint64_t p = made(find("cuMemAlloc", 3020, 0), 0x10, 1001, 0, 0, 0);
    CHECK(free_it(p, 0, 0, 0, 0) == 0);
    p = made(find("cuMemAllocManaged", 6000, 0), 0x11, 1002, 1, 0, 0);
    CHECK(free_it(p, 0, 0, 0, 0) == 0);
    p = made(find("cuMemAllocPitch", 3020, 0), 0x12, (uintptr_t)&pitch, 1000, 3, 16);
    CHECK(pitch == 1024 && free_it(p, 0, 0, 0, 0) == 0);
    CHECK(free_it(p, 0, 0, 0, 0) == 1); /* a second time: the driver's refusal comes through */
    uint64_t none = 5;
    CHECK(find("cuMemAlloc", 3020, 0)((uintptr_t)&none, (uintptr_t)1 << 50, 0, 0, 0) == 2);
    CHECK(none == 5);
    p = made(find("cuMemCreate", 10020, 0), 0x1a, 2097152, PROPERTIES, 0, 0);
    CHECK(find("cuMemRelease", 10020, 0)(p, 0, 0, 0, 0) == 0);
    (void)made(find("cuArrayCreate", 3020, 0), 0x1b, PROPERTIES, 0, 0, 0);
    uint32_t little = 0;
    CHECK(find("cuMemAlloc", 2000, 0)((uintptr_t)&little, 77, 0, 0, 0) == 0 && little != 0);
}

static void stream_calls(void) {
    const uint64_t pool = made(find("cuMemPoolCreate", 11020, 0), 0x17, PROPERTIES, 0, 0, 0);
    for (uint64_t flags = 0; flags <= 2; flags += 2) {
        call_function *free_it = find("cuMemFreeAsync", 11020, flags);
        uint64_t p =
            made(find("cuMemAllocAsync", 11020, flags), 0x13 + flags / 2, 1003, STREAM, 0, 0);
        CHECK(free_it(p, STREAM, 0, 0, 0) == 0);
        p = made(find("cuMemAllocFromPoolAsync", 11020, flags), 0x15 + flags / 2, 1004, pool,
                 STREAM, 0);
        CHECK(free_it(p, STREAM, 0, 0, 0) == 0);
    }
    CHECK(find("cuMemPoolTrimTo", 11020, 0)(pool, 4096, 0, 0, 0) == 0);
    CHECK(find("cuMemPoolDestroy", 11020, 0)(pool, 0, 0, 0, 0) == 0);
}

static void host_calls(void) {
    static char own[4096];
    call_function *free_it = find("cuMemFreeHost", 2000, 0);
    uint64_t p = made(find("cuMemHostAlloc", 2020, 0), 0x18, 1005, 1, 0, 0);
    CHECK(free_it(p, 0, 0, 0, 0) == 0);
    p = made(find("cuMemAllocHost", 3020, 0), 0x19, 1006, 0, 0, 0);
    CHECK(free_it(p, 0, 0, 0, 0) == 0);
    CHECK(find("cuMemHostRegister", 6050, 0)((uintptr_t)own, sizeof own, 1, 0, 0) == 0);
    CHECK(find("cuMemHostUnregister", 4000, 0)((uintptr_t)own, 0, 0, 0, 0) == 0);
}

/* By the function of four arguments, as runtimes before CUDA 12 do. */
static void old_calls(void) {
    void *symbol = NULL;
    lookup_function *old;
    call_function *call;
    CHECK(lookup("cuGetProcAddress", &symbol, 11030, 0, NULL) == 0);
    memcpy(&old, &symbol, sizeof old);
    CHECK(old("cuMemAlloc", &symbol, 3020, 0) == 0);
    memcpy(&call, &symbol, sizeof call);
    const uint64_t p = made(call, 0x10, 1007, 0, 0, 0);
    CHECK(old("cuMemFree", &symbol, 3020, 0) == 0);
    memcpy(&call, &symbol, sizeof call);
    CHECK(call(p, 0, 0, 0, 0) == 0);
}

/* ---- A proof --------------------------------------------------------------------------------- */

struct buffer {
    const char *name, *mechanism;
    uint64_t bytes;
    bool in_lock;
    uint64_t address;
};

static FILE *dump;
static bool has_lock;
static uint64_t pool;

static void say(const char *kind, const struct buffer *buffer, uint32_t owner, bool in_lock) {
    ledger_dump(dump, &(struct ledger_dump_line){.kind = kind,
                                                 .mechanism = buffer->mechanism,
                                                 .bytes = buffer->bytes,
                                                 .in_lock = in_lock,
                                                 .owner = owner,
                                                 .where = "proof",
                                                 .name = buffer->name});
}

static void get(struct buffer *buffer) {
    uint64_t *p = &buffer->address;
    const uint64_t n = buffer->bytes;
    if (strcmp(buffer->mechanism, "cudaMalloc") == 0) {
        *p = made(find("cuMemAlloc", 3020, 0), 0x10, n, 0, 0, 0);
    } else if (strcmp(buffer->mechanism, "cudaHostAlloc") == 0) {
        *p = made(find("cuMemHostAlloc", 2020, 0), 0x18, n, 1, 0, 0);
    } else {
        *p = made(find("cuMemAllocFromPoolAsync", 11020, 0), 0x15, n, pool, STREAM, 0);
    }
    say("get", buffer, 0, has_lock);
}

static void release(struct buffer *buffer) {
    if (strcmp(buffer->mechanism, "cudaMalloc") == 0) {
        CHECK(find("cuMemFree", 3020, 0)(buffer->address, 0, 0, 0, 0) == 0);
    } else if (strcmp(buffer->mechanism, "cudaHostAlloc") == 0) {
        CHECK(find("cuMemFreeHost", 2000, 0)(buffer->address, 0, 0, 0, 0) == 0);
    } else {
        CHECK(find("cuMemFreeAsync", 11020, 0)(buffer->address, STREAM, 0, 0, 0) == 0);
    }
    say("release", buffer, 0, has_lock);
}

static void set_lock(bool is_held) {
    const struct buffer none = {.mechanism = "-", .name = "-"};
    has_lock = is_held;
    say(is_held ? "lock" : "unlock", &none, 0, is_held);
}

/* w outside the lock, a and b inside; a goes first. */
static void prove(struct buffer *held, uint32_t owner) {
    const struct buffer key = {.name = "key on device", .mechanism = "cudaMalloc", .bytes = 9700};
    const struct buffer staging = {.name = "staging", .mechanism = "cudaHostAlloc", .bytes = 640};
    const struct buffer most = {.name = "vram:0", .mechanism = "-", .bytes = 9700 + 4000 + 2 * 768};
    ledger_dump(dump, &(struct ledger_dump_line){.kind = "plan",
                                                 .mechanism = key.mechanism,
                                                 .bytes = key.bytes,
                                                 .owner = owner,
                                                 .where = "resident",
                                                 .name = key.name});
    ledger_dump(dump, &(struct ledger_dump_line){.kind = "plan",
                                                 .mechanism = staging.mechanism,
                                                 .bytes = staging.bytes,
                                                 .owner = owner,
                                                 .where = "resident",
                                                 .name = staging.name});
    say("peak", &most, owner, false);
    for (int i = 0; i < 3; ++i) {
        say("plan", &held[i], owner, held[i].in_lock);
        if (i == 1) {
            set_lock(true);
        }
        get(&held[i]);
        say("enter", &held[i], owner, has_lock);
    }
    static const int away[3] = {1, 2, 0};
    for (int i = 0; i < 3; ++i) {
        if (i == 2) {
            set_lock(false);
        }
        release(&held[away[i]]);
        say("leave", &held[away[i]], owner, has_lock);
    }
}

static void key_and_proofs(const char *path) {
    struct buffer key[] = {{.name = "key on device", .mechanism = "cudaMalloc", .bytes = 9000},
                           {.name = "ntt factors", .mechanism = "cudaMalloc", .bytes = 500},
                           {.name = "coset powers", .mechanism = "cudaMalloc", .bytes = 100},
                           {.name = "coset powers", .mechanism = "cudaMalloc", .bytes = 100}};
    struct buffer staging = {.name = "staging", .mechanism = "cudaHostAlloc", .bytes = 640};
    struct buffer held[] = {
        {.name = "w", .mechanism = "cudaMallocAsync", .bytes = 4000},
        {.name = "a", .mechanism = "cudaMallocAsync", .bytes = 768, .in_lock = true},
        {.name = "b", .mechanism = "cudaMallocAsync", .bytes = 768, .in_lock = true}};
    dump = fopen(path, "w");
    CHECK(dump != NULL);
    (void)find("cuMemHostRegister", 6050, 0); /* a runtime asks for all that it may ever need */
    (void)find("cuMemHostUnregister", 4000, 0);
    pool = made(find("cuMemPoolCreate", 11020, 0), 0x17, PROPERTIES, 0, 0, 0);
    get(&staging);
    for (int i = 0; i < 4; ++i) {
        get(&key[i]);
    }
    prove(held, 1);
    prove(held, 2);
    for (int i = 3; i >= 0; --i) {
        release(&key[i]);
    }
    release(&staging);
    CHECK(find("cuMemPoolDestroy", 11020, 0)(pool, 0, 0, 0, 0) == 0);
    say("end", &(struct buffer){.mechanism = "-", .name = "-"}, 0, false);
    CHECK(fclose(dump) == 0);
}

/* ---- Threads --------------------------------------------------------------------------------- */

static void *work(void *unused) {
    call_function *get_it = find("cuMemAlloc", 3020, 0), *free_it = find("cuMemFree", 3020, 0);
    for (uintptr_t i = 0; i < 500; ++i) {
        CHECK(free_it(made(get_it, 0x10, 1 + i, 0, 0, 0), 0, 0, 0, 0) == 0);
    }
    return unused;
}

static void threads(void) {
    pthread_t thread[4];
    for (int i = 0; i < 4; ++i) {
        CHECK(pthread_create(&thread[i], NULL, work, NULL) == 0);
    }
    for (int i = 0; i < 4; ++i) {
        CHECK(pthread_join(thread[i], NULL) == 0);
    }
}

int main(int argc, char **argv) {
    CHECK(argc >= 2);
    open_driver();
    if (strcmp(argv[1], "calls") == 0) {
        device_calls();
        stream_calls();
        host_calls();
        old_calls();
    } else if (strcmp(argv[1], "proof") == 0 && argc == 3) {
        key_and_proofs(argv[2]);
    } else {
        threads();
    }
    return 0;
}
