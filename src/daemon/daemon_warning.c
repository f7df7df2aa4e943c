/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/daemon_warning.c - keys that anybody can forge proofs with.
 *
 * The file of each key is looked at once, which reads little of it; what it is like is remembered
 * by its digest.
 */
#include "daemon/daemon_internal.h"

#include "base/status.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* More than an engine has keys: an older one gives way. */
#define SEEN_MAX 1024

struct seen {
    uint8_t digest[64];
    uint32_t insecure; /* PM_INSECURE_* */
};

struct pm_daemon_warnings {
    pm_context *context;
    pthread_mutex_t lock; /* guards the rest */
    struct seen seen[SEEN_MAX];
    uint32_t n_seen, next;
};

static const char *sentence(uint32_t insecure) {
    return (insecure & PM_INSECURE_DEVELOPMENT) != 0
               ? "this is a development key, whose secrets are known: anyone can forge proofs"
           : (insecure & PM_INSECURE_DELTA_IS_GAMMA) != 0
               ? "delta equals gamma, so nobody has contributed to this key: anyone can forge "
                 "proofs"
           : (insecure & PM_INSECURE_DELTA_IS_GENERATOR) != 0
               ? "delta is the generator, so nobody has contributed to this key: anyone can forge "
                 "proofs"
               : "";
}

pm_status pm_daemon_warnings_create(struct pm_daemon_warnings **warnings, pm_error *error) {
    const pm_context_options options = {.struct_bytes = (uint32_t)sizeof options, .threads = 1};
    struct pm_daemon_warnings *made = calloc(1, sizeof *made);
    PM_FAIL_IF(made == NULL, error, PM_NO_MEMORY, "out of memory");
    const pm_status status = pm_context_create(&options, &made->context, error);
    if (status != PM_OK || pthread_mutex_init(&made->lock, NULL) != 0) {
        pm_context_destroy(made->context);
        free(made);
        return status != PM_OK ? status : pm_error_set(error, PM_NO_MEMORY, "out of memory");
    }
    *warnings = made;
    return PM_OK;
}

void pm_daemon_warnings_destroy(struct pm_daemon_warnings *warnings) {
    if (warnings != NULL) {
        pm_context_destroy(warnings->context);
        (void)pthread_mutex_destroy(&warnings->lock);
        free(warnings);
    }
}

/* Under the lock. */
static const struct seen *find(const struct pm_daemon_warnings *warnings, const uint8_t *digest) {
    for (uint32_t i = 0; i < warnings->n_seen; i++) {
        if (memcmp(warnings->seen[i].digest, digest, sizeof warnings->seen[i].digest) == 0) {
            return &warnings->seen[i];
        }
    }
    return NULL;
}

/* False: it is there already. */
static bool remember(struct pm_daemon_warnings *warnings, const uint8_t *digest,
                     uint32_t insecure) {
    (void)pthread_mutex_lock(&warnings->lock);
    const bool is_fresh = find(warnings, digest) == NULL;
    if (is_fresh) {
        struct seen *seen = &warnings->seen[warnings->next];
        memcpy(seen->digest, digest, sizeof seen->digest);
        seen->insecure = insecure;
        warnings->next = (warnings->next + 1) % SEEN_MAX;
        warnings->n_seen += warnings->n_seen < SEEN_MAX;
    }
    (void)pthread_mutex_unlock(&warnings->lock);
    return is_fresh;
}

static bool is_seen(struct pm_daemon_warnings *warnings, const uint8_t *digest) {
    (void)pthread_mutex_lock(&warnings->lock);
    const bool is = find(warnings, digest) != NULL;
    (void)pthread_mutex_unlock(&warnings->lock);
    return is;
}

/* A file that cannot be read is somebody else's to tell of. */
static void look(struct pm_daemon_warnings *warnings, const pm_engine_key_info *key,
                 const char *path) {
    pm_file_info *info = calloc(1, sizeof *info);
    if (info == NULL) {
        return;
    }
    info->struct_bytes = (uint32_t)sizeof *info;
    if (pm_file_describe(warnings->context, path, 0, NULL, info, NULL) == PM_OK &&
        remember(warnings, key->digest, info->insecure) && info->insecure != 0) {
        pm_daemon_log(PM_LOG_WARNING, "key %s: %s", key->name, sentence(info->insecure));
    }
    free(info);
}

void pm_daemon_warnings_look(struct pm_daemon_warnings *warnings, pm_engine *engine,
                             const char *name, const char *path) {
    uint32_t n = 0;
    (void)pm_engine_keys(engine, NULL, &n);
    const uint32_t n_max = n;
    pm_engine_key_info *infos = calloc((size_t)n_max + 1, sizeof *infos);
    if (infos == NULL || pm_engine_keys(engine, infos, &n) != PM_OK) {
        free(infos);
        return;
    }
    for (uint32_t i = 0; i < n && i < n_max; i++) {
        if ((name == NULL || strcmp(infos[i].name, name) == 0) &&
            !is_seen(warnings, infos[i].digest)) {
            look(warnings, &infos[i], path != NULL ? path : infos[i].path);
        }
    }
    free(infos);
}

const char *pm_daemon_warnings_of(struct pm_daemon_warnings *warnings,
                                  const pm_engine_key_info *info) {
    (void)pthread_mutex_lock(&warnings->lock);
    const struct seen *seen = find(warnings, info->digest);
    const uint32_t insecure = seen != NULL ? seen->insecure : 0;
    (void)pthread_mutex_unlock(&warnings->lock);
    return sentence(insecure);
}
