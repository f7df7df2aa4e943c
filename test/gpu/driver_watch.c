/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Stands in for libcuda.so.1 and writes down which memory is asked of the driver, so that our own
 * ledger need not be believed. Its folder is the first of LD_LIBRARY_PATH. Everything is handed
 * through to the real driver; each call that allocates or frees adds one line to the file that
 * PM_WATCH_LOG names:
 *
 *     NANOSECONDS THREAD CALL BYTES POINTER RESULT
 *
 * of CLOCK_MONOTONIC, the ledger's clock. BYTES of a release are 0. A release in stream order is
 * noted when it is asked for. The first line is a `begin`, an orderly end of the process adds an
 * `end`; `watching:CALL` says that somebody has got a call to use, `unwatched` that it was one with
 * arguments of long ago. PM_WATCH_DRIVER names the real driver; without it the usual places are
 * searched.
 *
 * The CUDA runtime looks up one name in the library, cuGetProcAddress_v2, and asks that for all
 * others: those two are all that is exported. No header of CUDA is needed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* CUDA's: what it calls CUresult, CUdeviceptr, and handles. */
typedef int outcome_t;
typedef unsigned long long device_pointer_t;
typedef void *handle_t;

#define OUTCOME_NOT_INITIALISED 303 /* CUDA_ERROR_SHARED_OBJECT_INIT_FAILED */
#define FLAG_PER_THREAD UINT64_C(2) /* CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM */
#define VERSION_OF_V2 12000         /* from here on cuGetProcAddress takes five arguments */

/* ---- The log --------------------------------------------------------------------------------- */

/* Held over a call and its line, so that lines stand in the order of the calls. */
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = -1;

static void note(const char *call, uint64_t bytes, uint64_t pointer, outcome_t outcome) {
    struct timespec now;
    char line[160];
    if (log_fd < 0) {
        return;
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    const int length =
        snprintf(line, sizeof line, "%llu %ld %s %llu 0x%llx %d\n",
                 (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec,
                 (long)syscall(SYS_gettid), call, (unsigned long long)bytes,
                 (unsigned long long)pointer, outcome);
    if (write(log_fd, line, (size_t)length) != length) { /* the checker misses the end then */
        (void)close(log_fd);
        log_fd = -1;
    }
}

__attribute__((destructor)) static void note_end(void) {
    note("end", 0, 0, 0);
}

/* ---- What is watched ------------------------------------------------------------------------- */

/* A call that looks like the driver's, and the driver's behind it. */
#define WATCH(id, parameters, arguments, n_bytes, pointer)                                         \
    static outcome_t(*real_##id) parameters;                                                       \
    static outcome_t watch_##id parameters {                                                       \
        (void)pthread_mutex_lock(&order);                                                          \
        const outcome_t outcome = real_##id arguments;                                             \
        note(#id, (uint64_t)(n_bytes), (uint64_t)(pointer), outcome);                              \
        (void)pthread_mutex_unlock(&order);                                                        \
        return outcome;                                                                            \
    }
/* What was asked for where a call of the driver has written it, or nothing after a failure. */
#define GIVEN(at) (outcome == 0 ? (uintptr_t) * (at) : 0)

WATCH(cuMemAlloc, (device_pointer_t * p, size_t n), (p, n), n, GIVEN(p))
WATCH(cuMemAllocManaged, (device_pointer_t * p, size_t n, unsigned flags), (p, n, flags), n,
      GIVEN(p))
WATCH(cuMemAllocPitch,
      (device_pointer_t * p, size_t *pitch, size_t width, size_t height, unsigned element),
      (p, pitch, width, height, element), (outcome == 0 ? *pitch : width) * height, GIVEN(p))
WATCH(cuMemFree, (device_pointer_t p), (p), 0, p)
WATCH(cuMemAllocAsync, (device_pointer_t * p, size_t n, handle_t stream), (p, n, stream), n,
      GIVEN(p))
WATCH(cuMemAllocAsync_ptsz, (device_pointer_t * p, size_t n, handle_t stream), (p, n, stream), n,
      GIVEN(p))
WATCH(cuMemAllocFromPoolAsync, (device_pointer_t * p, size_t n, handle_t pool, handle_t stream),
      (p, n, pool, stream), n, GIVEN(p))
WATCH(cuMemAllocFromPoolAsync_ptsz,
      (device_pointer_t * p, size_t n, handle_t pool, handle_t stream), (p, n, pool, stream), n,
      GIVEN(p))
WATCH(cuMemFreeAsync, (device_pointer_t p, handle_t stream), (p, stream), 0, p)
WATCH(cuMemFreeAsync_ptsz, (device_pointer_t p, handle_t stream), (p, stream), 0, p)
WATCH(cuMemPoolCreate, (handle_t * pool, const void *properties), (pool, properties), 0,
      GIVEN(pool))
WATCH(cuMemPoolDestroy, (handle_t pool), (pool), 0, (uintptr_t)pool)
WATCH(cuMemPoolTrimTo, (handle_t pool, size_t n), (pool, n), n, (uintptr_t)pool)
WATCH(cuMemHostAlloc, (void **p, size_t n, unsigned flags), (p, n, flags), n, GIVEN(p))
WATCH(cuMemAllocHost, (void **p, size_t n), (p, n), n, GIVEN(p))
WATCH(cuMemFreeHost, (void *p), (p), 0, (uintptr_t)p)
WATCH(cuMemHostRegister, (void *p, size_t n, unsigned flags), (p, n, flags), n, (uintptr_t)p)
WATCH(cuMemHostUnregister, (void *p), (p), 0, (uintptr_t)p)
WATCH(cuMemCreate,
      (device_pointer_t * memory, size_t n, const void *properties, unsigned long long flags),
      (memory, n, properties, flags), n, GIVEN(memory))
WATCH(cuMemRelease, (device_pointer_t memory), (memory), 0, memory)
/* Memory of other kinds, whose size only their descriptions say: that they are asked for at all is
 * what is of interest. */
WATCH(cuArrayCreate, (handle_t * p, const void *description), (p, description), 0, GIVEN(p))
WATCH(cuArray3DCreate, (handle_t * p, const void *description), (p, description), 0, GIVEN(p))
WATCH(cuMipmappedArrayCreate, (handle_t * p, const void *description, unsigned levels),
      (p, description, levels), 0, GIVEN(p))
WATCH(cuGraphAddMemAllocNode,
      (handle_t * p, handle_t graph, const handle_t *after, size_t n, void *parameters),
      (p, graph, after, n, parameters), 0, GIVEN(p))

struct watched {
    const char *name;
    const char *watching; /* how the log says that somebody holds the stand-in from now on */
    int version_min;      /* of the signature above; before it the call took other arguments */
    bool is_per_thread;
    void *stand_in;
    void *real; /* where the driver's function is kept */
};

#define WATCHED(name, version, id)                                                                 \
    { name, "watching:" #id, version, false, (void *)watch_##id, &real_##id }
#define WATCHED_PER_THREAD(name, version, id)                                                      \
    { name, "watching:" #id, version, true, (void *)watch_##id, &real_##id }
static const struct watched watched[] = {
    WATCHED("cuMemAlloc", 3020, cuMemAlloc),
    WATCHED("cuMemAllocManaged", 6000, cuMemAllocManaged),
    WATCHED("cuMemAllocPitch", 3020, cuMemAllocPitch),
    WATCHED("cuMemFree", 3020, cuMemFree),
    WATCHED("cuMemAllocAsync", 11020, cuMemAllocAsync),
    WATCHED_PER_THREAD("cuMemAllocAsync", 11020, cuMemAllocAsync_ptsz),
    WATCHED("cuMemAllocFromPoolAsync", 11020, cuMemAllocFromPoolAsync),
    WATCHED_PER_THREAD("cuMemAllocFromPoolAsync", 11020, cuMemAllocFromPoolAsync_ptsz),
    WATCHED("cuMemFreeAsync", 11020, cuMemFreeAsync),
    WATCHED_PER_THREAD("cuMemFreeAsync", 11020, cuMemFreeAsync_ptsz),
    WATCHED("cuMemPoolCreate", 11020, cuMemPoolCreate),
    WATCHED("cuMemPoolDestroy", 11020, cuMemPoolDestroy),
    WATCHED("cuMemPoolTrimTo", 11020, cuMemPoolTrimTo),
    WATCHED("cuMemHostAlloc", 2020, cuMemHostAlloc),
    WATCHED("cuMemAllocHost", 3020, cuMemAllocHost),
    WATCHED("cuMemFreeHost", 2000, cuMemFreeHost),
    WATCHED("cuMemHostRegister", 4000, cuMemHostRegister),
    WATCHED("cuMemHostUnregister", 4000, cuMemHostUnregister),
    WATCHED("cuMemCreate", 10020, cuMemCreate),
    WATCHED("cuMemRelease", 10020, cuMemRelease),
    WATCHED("cuArrayCreate", 3020, cuArrayCreate),
    WATCHED("cuArray3DCreate", 3020, cuArray3DCreate),
    WATCHED("cuMipmappedArrayCreate", 5000, cuMipmappedArrayCreate),
    WATCHED("cuGraphAddMemAllocNode", 11040, cuGraphAddMemAllocNode),
};
#define N_WATCHED (sizeof watched / sizeof watched[0])

/* ---- The real driver ------------------------------------------------------------------------- */

typedef outcome_t lookup_function(const char *name, void **function, int version, uint64_t flags);
typedef outcome_t lookup_v2_function(const char *name, void **function, int version, uint64_t flags,
                                     int *found);

static lookup_function *real_lookup; /* NULL: a driver that has only the other */
static lookup_v2_function *real_lookup_v2;

static bool is_this_library(const char *path) {
    struct stat theirs, ours;
    Dl_info info;
    return dladdr(&watched, &info) != 0 && stat(info.dli_fname, &ours) == 0 &&
           stat(path, &theirs) == 0 && ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

static bool open_driver(const char *path) {
    if (access(path, R_OK) != 0 || is_this_library(path)) {
        return false;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        (void)fprintf(stderr, "driver watch: %s\n", dlerror());
        return false;
    }
    void *symbols[2] = {dlsym(library, "cuGetProcAddress_v2"), dlsym(library, "cuGetProcAddress")};
    memcpy(&real_lookup_v2, &symbols[0], sizeof symbols[0]); /* ISO C has no such cast */
    memcpy(&real_lookup, &symbols[1], sizeof symbols[1]);
    if (real_lookup_v2 == NULL) {
        (void)fprintf(stderr, "driver watch: %s is older than CUDA 12\n", path);
        (void)dlclose(library);
        return false;
    }
    (void)fprintf(stderr, "driver watch: the driver is %s\n", path);
    return true;
}

/* Of folders between colons. */
static bool open_driver_in(const char *folders) {
    while (folders != NULL && *folders != '\0') {
        char path[4096];
        const size_t n = strcspn(folders, ":");
        const int length = snprintf(path, sizeof path, "%.*s/libcuda.so.1", (int)n, folders);
        if (n > 0 && length < (int)sizeof path && open_driver(path)) {
            return true;
        }
        folders += n + (folders[n] == ':' ? 1 : 0);
    }
    return false;
}

static void open_log(void) {
    const char *path = getenv("PM_WATCH_LOG");
    if (path == NULL) {
        return;
    }
    log_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    if (log_fd < 0) {
        (void)fprintf(stderr, "driver watch: %s: %s\n", path, strerror(errno));
    }
    note("begin", 0, 0, 0);
}

static void begin(void) {
    const char *path = getenv("PM_WATCH_DRIVER");
    const bool is_open = path != NULL
                             ? open_driver(path)
                             : open_driver_in(getenv("LD_LIBRARY_PATH")) ||
                                   open_driver_in("/usr/lib/x86_64-linux-gnu:/lib/x86_64-linux-gnu:"
                                                  "/usr/lib/aarch64-linux-gnu:/usr/lib64:/usr/lib:"
                                                  "/usr/local/nvidia/lib64:/usr/local/nvidia/lib:"
                                                  "/usr/local/cuda/compat:/usr/lib/wsl/lib");
    if (!is_open) {
        (void)fprintf(stderr, "driver watch: no driver found; PM_WATCH_DRIVER=PATH names one\n");
    }
    open_log();
}

static bool has_driver(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, begin);
    return real_lookup_v2 != NULL;
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* The name without _v2, _ptsz: how the driver's own exports mark what is asked for by version and
 * flags otherwise. */
static size_t base_length(const char *name, int *version, bool *is_per_thread) {
    size_t n = strlen(name);
    if (n > 5 && strcmp(name + n - 5, "_ptsz") == 0) {
        n -= 5;
        *is_per_thread = true;
    }
    if (n > 3 && strncmp(name + n - 3, "_v2", 3) == 0) {
        n -= 3;
        *version = INT32_MAX;
    }
    return n;
}

/* Puts the call that looks like it in the place of the driver's function. */
static void replace(const char *name, int version, uint64_t flags, void **function);

#define EXPORTED __attribute__((visibility("default")))
EXPORTED outcome_t cuGetProcAddress(const char *name, void **function, int version, uint64_t flags);
EXPORTED outcome_t cuGetProcAddress_v2(const char *name, void **function, int version,
                                       uint64_t flags, int *found);

outcome_t cuGetProcAddress(const char *name, void **function, int version, uint64_t flags) {
    if (!has_driver()) {
        return OUTCOME_NOT_INITIALISED;
    }
    const outcome_t outcome = real_lookup != NULL
                                  ? real_lookup(name, function, version, flags)
                                  : real_lookup_v2(name, function, version, flags, NULL);
    if (outcome == 0) {
        replace(name, version, flags, function);
    }
    return outcome;
}

outcome_t cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                              int *found) {
    if (!has_driver()) {
        return OUTCOME_NOT_INITIALISED;
    }
    const outcome_t outcome = real_lookup_v2(name, function, version, flags, found);
    if (outcome == 0) {
        replace(name, version, flags, function);
    }
    return outcome;
}

static void replace(const char *name, int version, uint64_t flags, void **function) {
    bool is_per_thread = (flags & FLAG_PER_THREAD) != 0;
    const size_t n = base_length(name, &version, &is_per_thread);
    if (function == NULL || *function == NULL) {
        return;
    }
    if (n == strlen("cuGetProcAddress") && strncmp(name, "cuGetProcAddress", n) == 0) {
        *function =
            version >= VERSION_OF_V2 ? (void *)cuGetProcAddress_v2 : (void *)cuGetProcAddress;
        return;
    }
    const struct watched *match = NULL;
    for (size_t i = 0; i < N_WATCHED; i++) {
        const struct watched *entry = &watched[i];
        /* The same function serves threads of either kind where there is only one. */
        if (strlen(entry->name) == n && strncmp(entry->name, name, n) == 0 &&
            (match == NULL || entry->is_per_thread == is_per_thread)) {
            match = entry;
        }
    }
    if (match == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&order);
    if (version < match->version_min) {
        note("unwatched", (uint64_t)version, 0, 0);
    } else {
        memcpy(match->real, function, sizeof *function);
        *function = match->stand_in;
        note(match->watching, 0, 0, 0);
    }
    (void)pthread_mutex_unlock(&order);
}
