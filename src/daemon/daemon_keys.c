/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/daemon_keys.c - the configuration's keys in the engine.
 *
 * A key's file may take minutes to read, and a key that jobs use can be neither replaced nor
 * forgotten yet: a thread of its own sees to that, and the daemon serves meanwhile.
 */
#include "daemon/config_internal.h"
#include "daemon/daemon_internal.h"

#include "base/characters.h"
#include "base/clock.h"
#include "base/status.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Those that leave are there beside those that come. */
#define KEYS_MAX (2 * PM_CONFIG_KEYS_MAX)
#define PATH_BYTES 4096
#define RETRY_S 5
#define PRELOAD_SLICE_MS 1000

struct known_key {
    pm_engine_key spec; /* strings are ours */
    uint8_t digest[64];
    bool preload;
    bool is_wanted;     /* by the configuration as it is now */
    bool is_in_engine;  /* with this file or an earlier one */
    bool is_current;    /* with this one */
    bool keeps_earlier; /* as this one could never fit the budget: the earlier one is used */
    bool is_checked;    /* whether its file is still the one that was registered */
    bool is_preloaded;
    bool is_added;    /* by a caller since: what is in the engine is the caller's */
    pm_status status; /* why it is not as it should be */
    char message[512];
};

struct pm_daemon_keys {
    pm_engine *engine;
    pthread_t thread;
    /* Guards what other threads see: wanted, stops, known, n_known. What the thread alone writes it
     * also reads without. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char *names_path;           /* NULL: none */
    pthread_mutex_t names_lock; /* one writes that file; before lock */
    struct pm_daemon_warnings *warnings;
    struct pm_config *wanted; /* not yet taken; NULL: none */
    bool stops;
    volatile int cancel; /* of what the engine does for us; atomic */
    struct known_key known[KEYS_MAX];
    uint32_t n_known;
};

/* ---- What is wanted ------------------------------------------------------------------------- */

static void free_known(struct known_key *key) {
    free((char *)key->spec.name);
    free((char *)key->spec.path);
    free((char *)key->spec.r1cs_path);
}

/* A path as the engine wants it; NULL where it is too long, or there is no memory. */
static char *whole_path(const struct pm_config *config, const char *path) {
    char whole[PATH_BYTES];
    return pm_config_key_path(config, path, whole, sizeof whole) ? strdup(whole) : NULL;
}

static bool make_known(const struct pm_config *config, const struct pm_config_key *from,
                       struct known_key *key) {
    *key = (struct known_key){.spec = {.struct_bytes = (uint32_t)sizeof key->spec,
                                       .check = from->check,
                                       .name = strdup(from->name),
                                       .path = whole_path(config, from->path)},
                              .preload = from->preload,
                              .is_wanted = true};
    if (from->r1cs_path != NULL) {
        key->spec.r1cs_path = whole_path(config, from->r1cs_path);
    }
    if (from->has_digest) {
        memcpy(key->digest, from->digest, sizeof key->digest);
    }
    const bool is_made = key->spec.name != NULL && key->spec.path != NULL &&
                         (from->r1cs_path == NULL || key->spec.r1cs_path != NULL);
    if (!is_made) {
        free_known(key);
    }
    return is_made;
}

static bool is_same(const struct known_key *a, const struct known_key *b) {
    return pm_same_text(a->spec.path, b->spec.path) &&
           pm_same_text(a->spec.r1cs_path, b->spec.r1cs_path) && a->spec.check == b->spec.check &&
           memcmp(a->digest, b->digest, sizeof a->digest) == 0;
}

/* Under the lock. */
static void want_key(struct pm_daemon_keys *keys, struct known_key *key) {
    for (uint32_t i = 0; i < keys->n_known; i++) {
        struct known_key *known = &keys->known[i];
        if (strcmp(known->spec.name, key->spec.name) != 0) {
            continue;
        }
        key->is_in_engine = known->is_in_engine || known->is_added;
        key->is_current = known->is_current && !known->is_added && is_same(known, key);
        key->is_preloaded = key->is_current && known->is_preloaded;
        free_known(known);
        *known = *key;
        return;
    }
    if (keys->n_known < KEYS_MAX) {
        keys->known[keys->n_known++] = *key;
    } else {
        pm_daemon_log(PM_LOG_WARNING, "key %s: too many keys are still leaving", key->spec.name);
        free_known(key);
    }
}

static void drop_known(struct pm_daemon_keys *keys, uint32_t i) {
    free_known(&keys->known[i]);
    keys->known[i] = keys->known[--keys->n_known];
}

static void take_wanted(struct pm_daemon_keys *keys, const struct pm_config *config) {
    (void)pthread_mutex_lock(&keys->lock);
    for (uint32_t i = 0; i < keys->n_known; i++) {
        keys->known[i].is_wanted = false;
    }
    for (uint32_t i = 0; i < config->n_keys; i++) {
        struct known_key key;
        if (make_known(config, &config->keys[i], &key)) {
            want_key(keys, &key);
        } else {
            pm_daemon_log(PM_LOG_WARNING, "key %s: its path is too long, or memory is short",
                          config->keys[i].name);
        }
    }
    for (uint32_t i = 0; i < keys->n_known;) {
        if (!keys->known[i].is_wanted && keys->known[i].is_added) {
            drop_known(keys, i); /* the caller's, whom it stays with */
        } else {
            i++;
        }
    }
    (void)pthread_mutex_unlock(&keys->lock);
}

/* ---- Names ---------------------------------------------------------------------------------- */

/* Of a configuration of an earlier start: it goes, unless it is wanted again. */
static void take_name(void *user, const char *name) {
    struct pm_daemon_keys *keys = user;
    struct known_key key = {.spec = {.struct_bytes = (uint32_t)sizeof key.spec,
                                     .name = strdup(name),
                                     .path = strdup("")},
                            .is_in_engine = true};
    if (key.spec.name == NULL || key.spec.path == NULL || keys->n_known == KEYS_MAX) {
        free_known(&key);
        return;
    }
    keys->known[keys->n_known++] = key;
}

/* A file that cannot be read whole takes no key away. */
static void read_names(struct pm_daemon_keys *keys) {
    pm_error error = PM_ERROR_INIT;
    if (keys->names_path != NULL &&
        pm_daemon_names_read(keys->names_path, take_name, keys, &error) != PM_OK) {
        while (keys->n_known > 0) {
            free_known(&keys->known[--keys->n_known]);
        }
        pm_daemon_log(PM_LOG_WARNING,
                      "%s: %s; keys that left the configuration may stay registered", error.file,
                      error.message);
    }
}

/* Before a key comes and after it has gone, so that after a crash none is left that is not there.
 */
static void write_names(struct pm_daemon_keys *keys) {
    static char names[KEYS_MAX][PM_ENGINE_NAME_BYTES]; /* under names_lock */
    const char *pointers[KEYS_MAX];
    pm_error error = PM_ERROR_INIT;
    size_t n = 0;
    if (keys->names_path == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&keys->names_lock);
    (void)pthread_mutex_lock(&keys->lock);
    for (uint32_t i = 0; i < keys->n_known; i++) {
        if (!keys->known[i].is_added) {
            (void)snprintf(names[n], sizeof names[n], "%s", keys->known[i].spec.name);
            pointers[n] = names[n];
            n++;
        }
    }
    (void)pthread_mutex_unlock(&keys->lock);
    if (pm_daemon_names_write(keys->names_path, pointers, n, &error) != PM_OK) {
        pm_daemon_log(PM_LOG_WARNING,
                      "%s: %s; keys that leave the configuration may stay registered", error.file,
                      error.message);
    }
    (void)pthread_mutex_unlock(&keys->names_lock);
}

/* ---- What is done --------------------------------------------------------------------------- */

/* Says what is wrong with a key, once for each thing. */
static void note(struct pm_daemon_keys *keys, struct known_key *key, pm_status status,
                 const pm_error *error) {
    char message[512] = "";
    if (status != PM_OK) {
        const bool has_file = error->file[0] != '\0';
        (void)snprintf(message, sizeof message, "%.200s%s%.300s", error->file, has_file ? ": " : "",
                       error->message[0] != '\0' ? error->message : pm_status_sentence(status));
    }
    const bool is_said = key->status == status && strcmp(key->message, message) == 0;
    (void)pthread_mutex_lock(&keys->lock);
    key->status = status;
    memcpy(key->message, message, sizeof message);
    (void)pthread_mutex_unlock(&keys->lock);
    if (status != PM_OK && status != PM_CANCELLED && !is_said) {
        pm_daemon_log(PM_LOG_WARNING, "key %s: %s%s", key->spec.name, message,
                      status == PM_BUDGET_BUSY ? "; it is tried again until no job uses it"
                      : key->keeps_earlier     ? "; the earlier one stays in use"
                                               : "");
    }
}

/* Of what the engine has under this name; false and all 0: nothing. */
static bool find_digest(struct pm_daemon_keys *keys, const char *name, uint8_t digest[64]) {
    pm_engine_key_info info = {0};
    const bool is_there = pm_engine_key_find(keys->engine, name, &info, NULL) == PM_OK;
    memcpy(digest, info.digest, 64);
    return is_there;
}

/* Also one that is registered: the engine then looks whether its file is still the same. One that
 * no proof could be made with takes no name away. */
static void register_key(struct pm_daemon_keys *keys, struct known_key *key) {
    static const uint8_t none[64];
    const pm_control control = {.struct_bytes = (uint32_t)sizeof control, .cancel = &keys->cancel};
    const bool was_current = key->is_current;
    uint8_t before[64], after[64];
    pm_error error = PM_ERROR_INIT;
    key->spec.digest = memcmp(key->digest, none, sizeof none) != 0 ? key->digest : NULL;
    const bool has_earlier = find_digest(keys, key->spec.name, before);
    key->spec.must_fit = has_earlier;
    const pm_status status = pm_engine_key_register(keys->engine, &key->spec, &control, &error);
    (void)find_digest(keys, key->spec.name, after);
    const bool is_another = memcmp(before, after, sizeof before) != 0;
    (void)pthread_mutex_lock(&keys->lock);
    key->is_current = status == PM_OK;
    key->keeps_earlier = has_earlier && status == PM_OVER_BUDGET;
    key->is_checked = true;
    key->is_in_engine |= key->is_current;
    key->is_preloaded &= key->is_current && !is_another;
    (void)pthread_mutex_unlock(&keys->lock);
    note(keys, key, status, &error);
    if (status == PM_OK && (is_another || !was_current)) {
        pm_daemon_log(PM_LOG_INFO, "key %s is registered%s: %s", key->spec.name,
                      was_current ? " again, as its file is another one" : "", key->spec.path);
    }
    if (status == PM_OK) {
        pm_daemon_warnings_look(keys->warnings, keys->engine, key->spec.name, key->spec.path);
    }
}

/* True: it is gone. */
static bool forget_key(struct pm_daemon_keys *keys, struct known_key *key) {
    pm_error error = PM_ERROR_INIT;
    const pm_status status =
        key->is_in_engine ? pm_engine_key_forget(keys->engine, key->spec.name, &error) : PM_OK;
    if (status != PM_OK && status != PM_INVALID_ARGUMENT) {
        note(keys, key, status, &error);
        return false;
    }
    if (key->is_in_engine) {
        pm_daemon_log(PM_LOG_INFO, "key %s is no longer configured, and forgotten", key->spec.name);
    }
    return true;
}

static void remove_known(struct pm_daemon_keys *keys, uint32_t i) {
    (void)pthread_mutex_lock(&keys->lock);
    drop_known(keys, i);
    (void)pthread_mutex_unlock(&keys->lock);
}

static bool is_added(struct pm_daemon_keys *keys, const struct known_key *key) {
    (void)pthread_mutex_lock(&keys->lock);
    const bool is = key->is_added;
    (void)pthread_mutex_unlock(&keys->lock);
    return is;
}

static bool is_interrupted(struct pm_daemon_keys *keys) {
    (void)pthread_mutex_lock(&keys->lock);
    const bool is = keys->stops || keys->wanted != NULL;
    (void)pthread_mutex_unlock(&keys->lock);
    return is;
}

/* In slices, as another configuration may come meanwhile. */
static void preload_key(struct pm_daemon_keys *keys, struct known_key *key) {
    pm_error error = PM_ERROR_INIT;
    pm_status status = PM_DEADLINE;
    while (status == PM_DEADLINE && !is_interrupted(keys)) {
        status =
            pm_engine_key_preload(keys->engine, key->spec.name, PRELOAD_SLICE_MS, NULL, &error);
    }
    key->is_preloaded = status != PM_DEADLINE; /* well or not: jobs will try again */
    if (status != PM_DEADLINE) {
        note(keys, key, status, &error);
    }
    if (status == PM_OK) {
        pm_daemon_log(PM_LOG_INFO, "key %s is in memory", key->spec.name);
    }
}

static bool must_register(struct pm_daemon_keys *keys, const struct known_key *key, bool is_retry) {
    return key->is_wanted && !(key->is_current && key->is_checked) &&
           (!is_retry || key->status == PM_BUDGET_BUSY) && !is_added(keys, key);
}

/* Brings every key to where it should be. True: some could not because jobs use them. The array is
 * only changed by this thread. */
static bool work(struct pm_daemon_keys *keys, bool is_retry) {
    bool is_busy = false, has_left = false;
    for (uint32_t i = 0; i < keys->n_known && !is_interrupted(keys);) {
        struct known_key *key = &keys->known[i];
        if (!key->is_wanted && (is_added(keys, key) || forget_key(keys, key))) {
            remove_known(keys, i);
            has_left = true;
            continue;
        }
        if (must_register(keys, key, is_retry)) {
            register_key(keys, key);
        }
        is_busy |= key->status == PM_BUDGET_BUSY && !(key->is_wanted && key->is_current);
        i++;
    }
    if (has_left) {
        write_names(keys);
    }
    for (uint32_t i = 0; i < keys->n_known && !is_interrupted(keys); i++) {
        struct known_key *key = &keys->known[i];
        if (key->is_wanted && key->is_current && key->preload && !key->is_preloaded) {
            preload_key(keys, key);
        }
    }
    return is_busy;
}

/* ---- The thread ----------------------------------------------------------------------------- */

/* What is wanted now; NULL with *stops false: it is time to try again. */
static struct pm_config *wait_for_work(struct pm_daemon_keys *keys, bool is_busy, bool *stops) {
    const uint64_t until_ns =
        is_busy ? pm_clock_now_ns() + RETRY_S * UINT64_C(1000000000) : UINT64_MAX;
    (void)pthread_mutex_lock(&keys->lock);
    while (keys->wanted == NULL && !keys->stops && pm_clock_now_ns() < until_ns) {
        pm_clock_wait_until(&keys->changed, &keys->lock, until_ns);
    }
    struct pm_config *wanted = keys->wanted;
    keys->wanted = NULL;
    *stops = keys->stops;
    (void)pthread_mutex_unlock(&keys->lock);
    return wanted;
}

static void free_config(struct pm_config *config) {
    if (config != NULL) {
        pm_config_free(config);
        free(config);
    }
}

static void *run(void *user) {
    struct pm_daemon_keys *keys = user;
    bool stops = false, is_busy = false;
    pm_daemon_warnings_look(keys->warnings, keys->engine, NULL, NULL);
    while (!stops) {
        struct pm_config *wanted = wait_for_work(keys, is_busy, &stops);
        if (!stops && wanted != NULL) {
            take_wanted(keys, wanted);
            write_names(keys);
        }
        if (!stops) {
            is_busy = work(keys, wanted == NULL);
        }
        free_config(wanted);
    }
    return NULL;
}

static bool make_locks(struct pm_daemon_keys *keys) {
    return pm_clock_condition_init(&keys->changed) == 0 &&
           pthread_mutex_init(&keys->names_lock, NULL) == 0 &&
           pthread_mutex_init(&keys->lock, NULL) == 0;
}

static void free_keys(struct pm_daemon_keys *keys) {
    for (uint32_t i = 0; i < keys->n_known; i++) {
        free_known(&keys->known[i]);
    }
    pm_daemon_warnings_destroy(keys->warnings);
    free(keys->names_path);
    free(keys);
}

static pm_status prepare(struct pm_daemon_keys *keys, const char *names_path, pm_error *error) {
    keys->names_path = names_path != NULL ? strdup(names_path) : NULL;
    PM_FAIL_IF(names_path != NULL && keys->names_path == NULL, error, PM_NO_MEMORY,
               "out of memory");
    PM_TRY(pm_daemon_warnings_create(&keys->warnings, error));
    read_names(keys);
    PM_FAIL_IF(!make_locks(keys) || pthread_create(&keys->thread, NULL, run, keys) != 0, error,
               PM_NO_THREADS, "no thread for keys could be started");
    return PM_OK;
}

pm_status pm_daemon_keys_start(pm_engine *engine, const char *names_path,
                               struct pm_daemon_keys **keys, pm_error *error) {
    struct pm_daemon_keys *made = calloc(1, sizeof *made);
    PM_FAIL_IF(made == NULL, error, PM_NO_MEMORY, "out of memory");
    made->engine = engine;
    const pm_status status = prepare(made, names_path, error);
    if (status != PM_OK) {
        free_keys(made);
        return status;
    }
    *keys = made;
    return PM_OK;
}

pm_status pm_daemon_keys_want(struct pm_daemon_keys *keys, const struct pm_config *config,
                              pm_error *error) {
    struct pm_config *copy = calloc(1, sizeof *copy);
    PM_FAIL_IF(copy == NULL, error, PM_NO_MEMORY, "out of memory");
    const pm_status status = pm_config_copy(config, copy, error);
    if (status != PM_OK) {
        free(copy);
        return status;
    }
    (void)pthread_mutex_lock(&keys->lock);
    struct pm_config *before = keys->wanted;
    keys->wanted = copy;
    (void)pthread_cond_broadcast(&keys->changed);
    (void)pthread_mutex_unlock(&keys->lock);
    free_config(before);
    return PM_OK;
}

void pm_daemon_keys_stop(struct pm_daemon_keys *keys) {
    if (keys == NULL) {
        return;
    }
    __atomic_store_n(&keys->cancel, 1, __ATOMIC_RELAXED);
    (void)pthread_mutex_lock(&keys->lock);
    keys->stops = true;
    (void)pthread_cond_broadcast(&keys->changed);
    (void)pthread_mutex_unlock(&keys->lock);
    (void)pthread_join(keys->thread, NULL);
    free_config(keys->wanted);
    (void)pthread_mutex_destroy(&keys->lock);
    (void)pthread_mutex_destroy(&keys->names_lock);
    (void)pthread_cond_destroy(&keys->changed);
    free_keys(keys);
}

uint32_t pm_daemon_key_faults(struct pm_daemon *daemon, struct pm_daemon_key_fault *faults,
                              uint32_t n_max) {
    struct pm_daemon_keys *keys = daemon->keys;
    uint32_t n = 0;
    if (keys == NULL) {
        return 0;
    }
    (void)pthread_mutex_lock(&keys->lock);
    for (uint32_t i = 0; i < keys->n_known; i++) {
        const struct known_key *key = &keys->known[i];
        if (key->status == PM_OK || key->is_current || key->is_added) {
            continue; /* of a key that is registered the engine knows best */
        }
        if (n < n_max) {
            const size_t n_path = strlen(key->spec.path);
            const size_t room = sizeof faults[n].path - 1;
            faults[n].status = key->status;
            (void)snprintf(faults[n].name, sizeof faults[n].name, "%s", key->spec.name);
            (void)snprintf(faults[n].path, sizeof faults[n].path, "%s",
                           key->spec.path + (n_path > room ? n_path - room : 0));
            memcpy(faults[n].message, key->message, sizeof key->message);
        }
        n++;
    }
    (void)pthread_mutex_unlock(&keys->lock);
    return n;
}

static pm_engine_key_info *find_listed(pm_engine_key_info *infos, uint32_t n, const char *name) {
    for (uint32_t i = 0; infos != NULL && i < n; i++) {
        if (strcmp(infos[i].name, name) == 0) {
            return &infos[i];
        }
    }
    return NULL;
}

/* Each that is wanted and is not in the engine is one behind those that are. */
static uint32_t add_missing(struct pm_daemon_keys *keys, pm_engine_key_info *infos, uint32_t n,
                            uint32_t n_max) {
    const uint32_t n_engine = n < n_max ? n : n_max;
    (void)pthread_mutex_lock(&keys->lock);
    for (uint32_t i = 0; i < keys->n_known; i++) {
        const struct known_key *key = &keys->known[i];
        pm_engine_key_info *listed = find_listed(infos, n_engine, key->spec.name);
        if (key->status == PM_OK || key->is_added) {
            continue;
        }
        if (listed != NULL) {
            listed->status = (int32_t)key->status;
            continue;
        }
        if (infos != NULL && n < n_max) {
            const size_t n_path = strlen(key->spec.path), room = sizeof infos[n].path - 1;
            infos[n] = (pm_engine_key_info){.struct_bytes = (uint32_t)sizeof infos[n],
                                            .tier = PM_ENGINE_COLD,
                                            .status = (int32_t)key->status};
            (void)snprintf(infos[n].name, sizeof infos[n].name, "%s", key->spec.name);
            (void)snprintf(infos[n].path, sizeof infos[n].path, "%s",
                           key->spec.path + (n_path > room ? n_path - room : 0));
        }
        n++;
    }
    (void)pthread_mutex_unlock(&keys->lock);
    return n;
}

pm_status pm_daemon_list_keys(struct pm_daemon *daemon, pm_engine_key_info *infos, uint32_t *n) {
    const uint32_t n_max = infos != NULL ? *n : 0;
    const pm_status status = pm_engine_keys(daemon->engine, infos, n);
    if (status == PM_OK && daemon->keys != NULL) {
        *n = add_missing(daemon->keys, infos, *n, n_max);
    }
    return status;
}

/* ---- What calls ask ------------------------------------------------------------------------- */

/* What the engine has from this file is as good as the file: it looks when it opens it. */
static bool has_this_file(struct pm_daemon_keys *keys, const char *name, const char *path) {
    pm_engine_key_info info;
    if (pm_engine_key_find(keys->engine, name, &info, NULL) != PM_OK) {
        return false;
    }
    /* A long path is shortened from the left. */
    const size_t n_path = strlen(path), n_shown = strlen(info.path);
    return n_shown <= n_path && strcmp(info.path, path + (n_path - n_shown)) == 0 &&
           (n_shown == n_path || n_shown + 1 == sizeof info.path);
}

bool pm_daemon_key_is_refused(struct pm_daemon *daemon, const char *name, char message[512]) {
    struct pm_daemon_keys *keys = daemon->keys;
    char path[PATH_BYTES] = "";
    bool is_refused = false, is_pending = false;
    if (keys == NULL) {
        return false;
    }
    (void)pthread_mutex_lock(&keys->lock);
    for (uint32_t i = 0; i < keys->n_known; i++) {
        const struct known_key *key = &keys->known[i];
        if (strcmp(key->spec.name, name) == 0 && key->is_wanted && !key->is_current &&
            !key->keeps_earlier && !key->is_added) {
            is_refused = true;
            is_pending = key->status == PM_OK;
            memcpy(message, key->message, sizeof key->message);
            (void)snprintf(path, sizeof path, "%s", key->spec.path);
        }
    }
    (void)pthread_mutex_unlock(&keys->lock);
    if (is_pending) {
        (void)snprintf(message, 512, "%.400s is still being read", path);
        is_refused = !has_this_file(keys, name, path);
    }
    return is_refused;
}

void pm_daemon_key_was_added(struct pm_daemon *daemon, const char *name, const char *path) {
    struct pm_daemon_keys *keys = daemon->keys;
    bool is_known = false;
    if (keys == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&keys->lock);
    for (uint32_t i = 0; i < keys->n_known; i++) {
        if (strcmp(keys->known[i].spec.name, name) == 0) {
            keys->known[i].is_added = is_known = true;
        }
    }
    (void)pthread_mutex_unlock(&keys->lock);
    if (is_known) {
        write_names(keys);
    }
    pm_daemon_warnings_look(keys->warnings, keys->engine, name, path);
}

const char *pm_daemon_key_warning(struct pm_daemon *daemon, const pm_engine_key_info *info) {
    return daemon->keys != NULL ? pm_daemon_warnings_of(daemon->keys->warnings, info) : "";
}
