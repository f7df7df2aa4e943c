/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * shim/supraseal_srs.c - parameter files as counted handles.
 *
 * Opening checks the structure and returns; a thread decodes the points meanwhile, so that the
 * caller's synthesis need not wait for the disk. That thread reads the points' object alone, and is
 * joined by whoever drops the last handle.
 */
#include "shim/supraseal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Which file a path led to. */
struct file_identity {
    dev_t device;
    ino_t inode;
    off_t n_bytes;
    struct timespec modified;
};

struct pm_supraseal_points {
    size_t n_references; /* atomic: handles, and the cache */
    struct pm_supraseal_engine *engine;
    pm_context *context; /* of the engine: what the file is read and decoded with */
    struct pm_supraseal_counts counts;
    struct file_identity identity;
    char *path;

    pthread_t loader;
    volatile int cancel; /* atomic */
    pthread_mutex_t lock;
    pthread_cond_t is_loaded_now;
    bool is_loaded; /* under lock, as what follows; nothing of it changes afterwards */
    pm_status status;
    pm_error error;
    pm_key *key;
};

const struct pm_supraseal_counts *
pm_supraseal_points_counts(const struct pm_supraseal_points *points) {
    return &points->counts;
}

const char *pm_supraseal_points_path(const struct pm_supraseal_points *points) {
    return points->path;
}

struct pm_supraseal_engine *pm_supraseal_points_engine(const struct pm_supraseal_points *points) {
    return points->engine;
}

/* ---- Decoding -------------------------------------------------------------------------------- */

static void *load(void *argument) {
    struct pm_supraseal_points *points = argument;
    const pm_key_options options = {.struct_bytes = sizeof options,
                                    .check = pm_supraseal_engine_check(points->engine),
                                    .cache = pm_supraseal_engine_caches(points->engine)};
    const pm_control control = {
        .struct_bytes = sizeof control, .cancel = &points->cancel, .log = pm_supraseal_log};
    pm_error error = PM_ERROR_INIT;
    pm_key *key = NULL;
    const pm_status status =
        pm_key_open_params(points->context, points->path, NULL, &options, &control, &key, &error);
    (void)pthread_mutex_lock(&points->lock);
    points->is_loaded = true;
    points->status = status;
    points->error = error;
    points->key = key;
    (void)pthread_cond_broadcast(&points->is_loaded_now);
    (void)pthread_mutex_unlock(&points->lock);
    return NULL;
}

pm_status pm_supraseal_points_key(struct pm_supraseal_points *points, const pm_key **key,
                                  pm_error *error) {
    (void)pthread_mutex_lock(&points->lock);
    while (!points->is_loaded) {
        (void)pthread_cond_wait(&points->is_loaded_now, &points->lock);
    }
    (void)pthread_mutex_unlock(&points->lock);
    *key = points->key;
    if (points->status != PM_OK) {
        *error = points->error;
    }
    return points->status;
}

static bool has_failed(struct pm_supraseal_points *points) {
    (void)pthread_mutex_lock(&points->lock);
    const bool failed = points->is_loaded && points->status != PM_OK;
    (void)pthread_mutex_unlock(&points->lock);
    return failed;
}

/* ---- The object ------------------------------------------------------------------------------ */

static void points_free(struct pm_supraseal_points *points) {
    pm_key_destroy(points->key);
    (void)pthread_cond_destroy(&points->is_loaded_now);
    (void)pthread_mutex_destroy(&points->lock);
    pm_supraseal_engine_release(points->engine);
    free(points->path);
    free(points);
}

static struct pm_supraseal_points *retain(struct pm_supraseal_points *points) {
    (void)__atomic_add_fetch(&points->n_references, 1, __ATOMIC_RELAXED);
    return points;
}

static void give_up(struct pm_supraseal_points *points) {
    if (__atomic_sub_fetch(&points->n_references, 1, __ATOMIC_ACQ_REL) == 0) {
        __atomic_store_n(&points->cancel, 1, __ATOMIC_RELAXED);
        (void)pthread_join(points->loader, NULL);
        points_free(points);
    }
}

static pm_status read_counts(struct pm_supraseal_points *points, pm_error *error) {
    pm_file_info info = {.struct_bytes = sizeof info};
    pm_status status = pm_supraseal_engine_context(points->engine, -1, &points->context, error);
    if (status == PM_OK) {
        status = pm_file_describe(points->context, points->path, 0, NULL, &info, error);
    }
    if (status != PM_OK) {
        return status;
    }
    if (info.kind != PM_FILE_PARAMS) {
        return pm_supraseal_fail(error, PM_NOT_THIS_KIND,
                                 "the file is no parameter file of bellperson but a %s",
                                 pm_file_kind_name((pm_file_kind)info.kind));
    }
    points->counts = (struct pm_supraseal_counts){.log_n = info.log_n,
                                                  .n_inputs = (uint64_t)info.n_public + 1,
                                                  .n_aux = info.n_l,
                                                  .n_a = info.n_a,
                                                  .n_b = info.n_b};
    return PM_OK;
}

static pm_status points_make(const char *path, const struct file_identity *identity,
                             struct pm_supraseal_points **out, pm_error *error) {
    struct pm_supraseal_points *points = calloc(1, sizeof *points);
    if (points == NULL) {
        return pm_supraseal_fail(error, PM_NO_MEMORY, "no memory for a handle");
    }
    points->n_references = 1;
    points->identity = *identity;
    (void)pthread_mutex_init(&points->lock, NULL);
    (void)pthread_cond_init(&points->is_loaded_now, NULL);
    points->path = pm_supraseal_text(path);
    pm_status status = points->path != NULL
                           ? pm_supraseal_engine_acquire(&points->engine, error)
                           : pm_supraseal_fail(error, PM_NO_MEMORY, "no memory for a path");
    if (status == PM_OK) {
        status = read_counts(points, error);
    }
    if (status == PM_OK) {
        status = pm_supraseal_thread_start(&points->loader, load, points, error);
    }
    if (status != PM_OK) {
        points_free(points);
        return status;
    }
    *out = points;
    return PM_OK;
}

/* ---- The cache ------------------------------------------------------------------------------- */

#define CACHE_SIZE 4

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static struct pm_supraseal_points *cached[CACHE_SIZE]; /* the last used first; then NULLs */

static void cache_remove(size_t i) {
    give_up(cached[i]);
    memmove(&cached[i], &cached[i + 1], (CACHE_SIZE - 1 - i) * sizeof cached[0]);
    cached[CACHE_SIZE - 1] = NULL;
}

/* Takes over a reference. */
static void cache_put_first(struct pm_supraseal_points *points) {
    if (cached[CACHE_SIZE - 1] != NULL) {
        cache_remove(CACHE_SIZE - 1);
    }
    memmove(&cached[1], &cached[0], (CACHE_SIZE - 1) * sizeof cached[0]);
    cached[0] = points;
}

static bool is_same_file(const struct file_identity *a, const struct file_identity *b) {
    return a->device == b->device && a->inode == b->inode && a->n_bytes == b->n_bytes &&
           a->modified.tv_sec == b->modified.tv_sec && a->modified.tv_nsec == b->modified.tv_nsec;
}

/* The file under this name, moved to the front; NULL: not there, or another one by now, or damaged.
 */
static struct pm_supraseal_points *cache_find(const char *path,
                                              const struct file_identity *identity) {
    for (size_t i = 0; i < CACHE_SIZE && cached[i] != NULL; i++) {
        struct pm_supraseal_points *const found = cached[i];
        if (strcmp(found->path, path) != 0) {
            continue;
        }
        if (has_failed(found) || !is_same_file(&found->identity, identity)) {
            cache_remove(i);
            return NULL;
        }
        memmove(&cached[1], &cached[0], i * sizeof cached[0]);
        cached[0] = found;
        return found;
    }
    return NULL;
}

static pm_status take_cached(const char *path, const struct file_identity *identity,
                             struct pm_supraseal_points **out, pm_error *error) {
    pm_status status = PM_OK;
    (void)pthread_mutex_lock(&cache_lock);
    struct pm_supraseal_points *points = cache_find(path, identity);
    if (points == NULL) {
        status = points_make(path, identity, &points, error);
        if (status == PM_OK) {
            cache_put_first(points);
        }
    }
    if (status == PM_OK) {
        *out = retain(points);
    }
    (void)pthread_mutex_unlock(&cache_lock);
    return status;
}

/* ---- What is exported -------------------------------------------------------------------------
 */

/* 0, or why the file cannot be read. */
static int identify(const char *path, struct file_identity *identity) {
    struct stat about;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return errno;
    }
    const int failure = fstat(fd, &about) == 0 ? 0 : errno;
    (void)close(fd);
    if (failure != 0) {
        return failure;
    }
    *identity = (struct file_identity){about.st_dev, about.st_ino, about.st_size, about.st_mtim};
    return S_ISREG(about.st_mode) ? 0 : S_ISDIR(about.st_mode) ? EISDIR : EINVAL;
}

pm_supraseal_error create_SRS(pm_supraseal_srs *ret, const char *path, bool cache) {
    pm_error error = PM_ERROR_INIT;
    struct file_identity identity;
    struct pm_supraseal_points *points = NULL;
    if (ret == NULL || path == NULL) {
        return pm_supraseal_answer(
            pm_supraseal_fail(&error, PM_INVALID_ARGUMENT, "ret or path is NULL"), &error);
    }
    ret->ptr = NULL;
    const int failure = identify(path, &identity);
    if (failure != 0) {
        (void)pm_supraseal_fail(&error, PM_IO, "%s: cannot be read as a parameter file: %s", path,
                                strerrordesc_np(failure));
        return pm_supraseal_answer_code(failure, &error);
    }
    const pm_status status = cache ? take_cached(path, &identity, &points, &error)
                                   : points_make(path, &identity, &points, &error);
    ret->ptr = points;
    return pm_supraseal_answer(status, &error);
}

void evict_SRS(const pm_supraseal_srs *srs) {
    const struct pm_supraseal_points *points = srs != NULL ? srs->ptr : NULL;
    if (points == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&cache_lock);
    for (size_t i = 0; i < CACHE_SIZE && cached[i] != NULL; i++) {
        if (strcmp(cached[i]->path, points->path) == 0) {
            cache_remove(i);
            break;
        }
    }
    (void)pthread_mutex_unlock(&cache_lock);
}

void drop_SRS(pm_supraseal_srs *srs) {
    if (srs != NULL && srs->ptr != NULL) {
        struct pm_supraseal_points *const points = srs->ptr;
        srs->ptr = NULL;
        give_up(points);
    }
}

pm_supraseal_srs clone_SRS(const pm_supraseal_srs *srs) {
    if (srs == NULL || srs->ptr == NULL) {
        return (pm_supraseal_srs){.ptr = NULL};
    }
    return (pm_supraseal_srs){.ptr = retain(srs->ptr)};
}
