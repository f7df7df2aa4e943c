/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The drop-in, the watch before the cards, and this process's memory. */
#include "card_supraseal.h"

#include "card_prove.h"

#include "gpu/load/gpu_load.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WATCH_NAME "card_supraseal_watch.so"
#define LOOK_INTERVAL_NS 5000000

static card_watch_take_function *take_figures; /* NULL: no card is watched */

/* A function's address is an object pointer to dlsym(). */
static void find(void *library, const char *name, void *function) {
    void *const address = dlsym(library, name);
    CARD_PROVE_CHECK(address != NULL, "%s is missing: %s", name, dlerror());
    memcpy(function, &address, sizeof address);
}

/* folder of another file, then name. */
static void beside(const char *file, const char *name, char path[PATH_MAX]) {
    char folder[PATH_MAX];
    (void)snprintf(folder, sizeof folder, "%s", file);
    const int n = snprintf(path, PATH_MAX, "%s/%s", dirname(folder), name);
    CARD_PROVE_CHECK(n > 0 && n < PATH_MAX, "%s: the path is too long", file);
}

static void put_watch(const struct pm_gpu_api *api) {
    char self[PATH_MAX], path[PATH_MAX];
    card_watch_open_function *open_watch = NULL;
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    CARD_PROVE_CHECK(n > 0, "/proc/self/exe cannot be read");
    self[n] = '\0';
    beside(self, WATCH_NAME, path);
    void *watch = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CARD_PROVE_CHECK(watch != NULL, "%s", dlerror());
    find(watch, CARD_WATCH_OPEN_NAME, &open_watch);
    find(watch, CARD_WATCH_TAKE_NAME, &take_figures);
    open_watch(api);
    CARD_PROVE_CHECK(setenv("PROOFMILL_GPU_LIBRARY", path, 1) == 0, "no memory");
}

/* Installed, the libraries lie side by side; where they were built, this one lies above. */
static pm_status load_gpu(const char *drop_in, char path[PATH_MAX], const struct pm_gpu_api **api,
                          pm_error *error) {
    const char *named = getenv("PROOFMILL_GPU_LIBRARY");
    if (named != NULL && named[0] != '\0') {
        (void)snprintf(path, PATH_MAX, "%s", named);
    } else {
        beside(drop_in, PM_GPU_LIBRARY_NAME, path);
        if (access(path, R_OK) != 0) {
            beside(drop_in, "../" PM_GPU_LIBRARY_NAME, path);
        }
    }
    return pm_gpu_load(path, api, error);
}

static void watch_cards(const char *drop_in) {
    char path[PATH_MAX];
    const struct pm_gpu_api *api = NULL;
    pm_error error = PM_ERROR_INIT;
    uint32_t n_devices = 0;
    if (load_gpu(drop_in, path, &api, &error) == PM_OK &&
        api->device_count(&n_devices, &error) == PM_OK) {
        (void)printf("cards: %u, by %s\n", n_devices, path);
        put_watch(api);
    } else {
        (void)printf("no card is watched: %s\n", error.message);
    }
}

void card_supraseal_load(const char *path, struct card_supraseal_calls *calls) {
    watch_cards(path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CARD_PROVE_CHECK(library != NULL, "%s", dlerror());
    find(library, "create_SRS", &calls->create);
    find(library, "clone_SRS", &calls->clone);
    find(library, "drop_SRS", &calls->drop);
    find(library, "generate_groth16_proofs_start_c", &calls->start);
    find(library, "finalize_groth16_proof_c", &calls->finalize);
    find(library, "destroy_pending_proof", &calls->destroy);
    find(library, "create_gpu_mutex", &calls->create_mutex);
    find(library, "destroy_gpu_mutex", &calls->destroy_mutex);
}

bool card_supraseal_watched(struct card_watch_figures *figures) {
    *figures = (struct card_watch_figures){.n_locks = 0};
    if (take_figures != NULL) {
        take_figures(figures);
    }
    return take_figures != NULL;
}

/* ---- This process's memory --------------------------------------------------------------------
 */

static uint64_t peak_kib; /* atomic */

static uint64_t anonymous_kib(void) {
    char line[256];
    unsigned long long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "RssAnon: %llu", &kib) == 1) {
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kib;
}

static void *look(void *argument) {
    const struct timespec interval = {.tv_nsec = LOOK_INTERVAL_NS};
    (void)argument;
    for (;;) {
        const uint64_t kib = anonymous_kib();
        if (kib > __atomic_load_n(&peak_kib, __ATOMIC_RELAXED)) {
            __atomic_store_n(&peak_kib, kib, __ATOMIC_RELAXED);
        }
        (void)nanosleep(&interval, NULL);
    }
    return NULL;
}

void card_host_watch(void) {
    pthread_t thread;
    CARD_PROVE_CHECK(pthread_create(&thread, NULL, look, NULL) == 0, "no thread");
    (void)pthread_detach(thread); /* to the program's end */
}

double card_host_peak_gib(void) {
    const uint64_t now = anonymous_kib(),
                   peak = __atomic_exchange_n(&peak_kib, 0, __ATOMIC_RELAXED);
    return (double)(now > peak ? now : peak) / (1 << 20);
}
