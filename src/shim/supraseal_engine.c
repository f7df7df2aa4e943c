/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * shim/supraseal_engine.c - the process's contexts, and what the environment says.
 *
 * The interface has no object to hang threads on. They are there as long as a parameter file or a
 * proof is: made for the first, joined with the last.
 */
#include "shim/supraseal.h"

#include <proofmill/experimental.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Cards that the interface's indices may name. */
#define DEVICES_MAX 16
#define DEVICE_TEXT_BYTES 128

struct pm_supraseal_engine {
    pm_context *context; /* of all cards, or the CPU */
    uint32_t n_cards;    /* 0: the CPU */
    uint32_t threads;
    bool verifies, may_fall_back, caches;
    bool is_open; /* nobody said which device */
    uint32_t check;
    char *record_folder;
    char device[DEVICE_TEXT_BYTES]; /* for pm_context_options */
    pthread_mutex_t lock;
    pm_context *of_card[DEVICES_MAX]; /* under lock: made when first asked for */
};

static pthread_mutex_t engine_lock = PTHREAD_MUTEX_INITIALIZER;
static struct pm_supraseal_engine *engine_shared; /* under engine_lock, as its count */
static size_t engine_references;

/* ---- What the user is told ------------------------------------------------------------------- */

/* The interface has no channel for what is no error, and its users look at the host's output: so
 * this one thing goes there, once a process. */
static void say_once(const char *sentence) {
    static bool has_said; /* atomic */
    char line[512];
    if (getenv("PROOFMILL_QUIET") != NULL ||
        __atomic_exchange_n(&has_said, true, __ATOMIC_RELAXED)) {
        return;
    }
    const int n = snprintf(line, sizeof line, "proofmill: %.480s\n", sentence);
    if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0) {
        return; /* nobody reads it */
    }
}

void pm_supraseal_log(void *user, pm_log_level level, const char *sentence) {
    (void)user;
    if (level == PM_LOG_WARNING) {
        say_once(sentence);
    }
}

/* ---- The environment ------------------------------------------------------------------------- */

/* NULL when it is not set, or empty. */
static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* One of words; *index is left alone when the variable is not set. */
static pm_status read_word(const char *name, const char *const *words, uint32_t n_words,
                           uint32_t *index, pm_error *error) {
    const char *value = variable(name);
    if (value == NULL) {
        return PM_OK;
    }
    for (uint32_t i = 0; i < n_words; i++) {
        if (strcmp(value, words[i]) == 0) {
            *index = i;
            return PM_OK;
        }
    }
    return pm_supraseal_fail(error, PM_INVALID_ARGUMENT,
                             "the environment variable %s has no such value as this one, see "
                             "doc/filecoin.md",
                             name);
}

static pm_status read_threads(uint32_t *threads, pm_error *error) {
    const char *const name = "CUZK_GPU_THREADS"; /* the fork's own name for it */
    const char *value = variable(name);
    char *end = NULL;
    *threads = 0;
    if (value == NULL) {
        return PM_OK;
    }
    const unsigned long number = strtoul(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end != '\0' || number > UINT32_MAX) {
        return pm_supraseal_fail(error, PM_INVALID_ARGUMENT,
                                 "the environment variable %s is not a number of threads", name);
    }
    *threads = (uint32_t)number;
    return PM_OK;
}

static pm_status read_switch(const char *name, bool *is_on, pm_error *error) {
    static const char *const words[] = {"0", "1"};
    uint32_t index = *is_on ? 1 : 0;
    const pm_status status = read_word(name, words, 2, &index, error);
    *is_on = index == 1;
    return status;
}

static pm_status read_settings(struct pm_supraseal_engine *engine, pm_error *error) {
    static const char *const checks[] = {"none", "fast", "full"};
    const char *folder = variable("PROOFMILL_RECORD");
    engine->check = PM_CHECK_FAST; /* as bellperson's own reader */
    engine->verifies = true;
    engine->may_fall_back = true;
    pm_status status = read_switch("PROOFMILL_VERIFY", &engine->verifies, error);
    if (status == PM_OK) {
        status = read_switch("PROOFMILL_FALLBACK", &engine->may_fall_back, error);
    }
    if (status == PM_OK) {
        status = read_switch("PROOFMILL_CACHE", &engine->caches, error);
    }
    if (status == PM_OK) {
        status = read_word("PROOFMILL_CHECK", checks, 3, &engine->check, error);
    }
    if (status == PM_OK) {
        status = read_threads(&engine->threads, error);
    }
    if (status == PM_OK && folder != NULL) {
        engine->record_folder = pm_supraseal_text(folder);
        if (engine->record_folder == NULL) {
            status = pm_supraseal_fail(error, PM_NO_MEMORY, "no memory for a folder's name");
        }
    }
    return status;
}

/* ---- Devices --------------------------------------------------------------------------------- */

/* "cuda:0,1,2" */
static void name_all_cards(struct pm_supraseal_engine *engine) {
    size_t at = 0;
    for (uint32_t i = 0; i < engine->n_cards && at < sizeof engine->device; i++) {
        at += (size_t)snprintf(engine->device + at, sizeof engine->device - at, "%s%u",
                               i == 0 ? "cuda:" : ",", i);
    }
}

/* What the command takes for no: anything else that is said is yes. */
static bool is_said(const char *name) {
    static const char *const no[] = {"0", "false", "no", "off"};
    const char *value = variable(name);
    for (size_t i = 0; value != NULL && i < sizeof no / sizeof no[0]; i++) {
        if (strcasecmp(value, no[i]) == 0) {
            return false;
        }
    }
    return value != NULL;
}

/* Every card there is; the CPU where there is none. */
static pm_status choose_device(struct pm_supraseal_engine *engine, pm_error *error) {
    const char *given = is_said("PROOFMILL_NO_GPU") ? "cpu" : variable("PROOFMILL_DEVICE");
    engine->is_open = given == NULL || strcmp(given, "auto") == 0;
    if (!engine->is_open) {
        (void)snprintf(engine->device, sizeof engine->device, "%s", given);
        for (const char *at = given; strncmp(given, "cuda", 4) == 0 && at != NULL;
             at = strchr(at + 1, ',')) {
            engine->n_cards++;
        }
        return PM_OK;
    }
    const pm_status status =
        pm_device_count(variable("PROOFMILL_GPU_LIBRARY"), &engine->n_cards, error);
    if (status != PM_OK) {
        char sentence[sizeof error->message];
        if (!engine->may_fall_back) {
            return status;
        }
        engine->n_cards = 0;
        (void)snprintf(sentence, sizeof sentence, "proofs are made by the CPU: %.400s",
                       error->message);
        say_once(sentence);
        (void)snprintf(engine->device, sizeof engine->device, "cpu");
        return PM_OK;
    }
    engine->n_cards = engine->n_cards < DEVICES_MAX ? engine->n_cards : DEVICES_MAX;
    if (engine->n_cards == 1 && engine->may_fall_back) {
        (void)snprintf(engine->device, sizeof engine->device, "auto"); /* small ones by the CPU */
    } else {
        name_all_cards(engine);
    }
    return PM_OK;
}

static pm_status open_context(const struct pm_supraseal_engine *engine, const char *device,
                              pm_context **context, pm_error *error) {
    const pm_context_options options = {.struct_bytes = sizeof options,
                                        .threads = engine->threads,
                                        .device = device,
                                        .gpu_library = variable("PROOFMILL_GPU_LIBRARY")};
    return pm_context_create(&options, context, error);
}

/* The card's own context; or, where it cannot be opened and need not be, that of all devices. */
static pm_status open_card(struct pm_supraseal_engine *engine, int index, pm_context **context,
                           pm_error *error) {
    char device[16], sentence[sizeof error->message];
    (void)snprintf(device, sizeof device, "cuda:%d", index);
    *context = engine->of_card[index];
    if (*context != NULL) {
        return PM_OK;
    }
    const pm_status status = open_context(engine, device, &engine->of_card[index], error);
    *context = engine->of_card[index];
    if (status == PM_OK || !engine->is_open || !engine->may_fall_back) {
        return status;
    }
    (void)snprintf(sentence, sizeof sentence, "%s is not used: %.400s", device, error->message);
    say_once(sentence);
    *context = engine->context;
    return PM_OK;
}

pm_status pm_supraseal_engine_context(struct pm_supraseal_engine *engine, int gpu_index,
                                      pm_context **context, pm_error *error) {
    const uint32_t n_cards = engine->is_open ? engine->n_cards : DEVICES_MAX;
    if (gpu_index < 0 || engine->n_cards == 0) {
        *context = engine->context;
        return PM_OK;
    }
    if ((uint32_t)gpu_index >= n_cards) {
        return pm_supraseal_fail(error, PM_NO_DEVICE, "there is no card with number %d", gpu_index);
    }
    (void)pthread_mutex_lock(&engine->lock);
    const pm_status status = open_card(engine, gpu_index, context, error);
    (void)pthread_mutex_unlock(&engine->lock);
    return status;
}

size_t pm_supraseal_engine_n_devices(const struct pm_supraseal_engine *engine) {
    return engine->n_cards > 1 ? engine->n_cards : 1;
}

bool pm_supraseal_engine_verifies(const struct pm_supraseal_engine *engine) {
    return engine->verifies;
}

uint32_t pm_supraseal_engine_check(const struct pm_supraseal_engine *engine) {
    return engine->check;
}

bool pm_supraseal_engine_caches(const struct pm_supraseal_engine *engine) {
    return engine->caches;
}

const char *pm_supraseal_engine_record_folder(const struct pm_supraseal_engine *engine) {
    return engine->record_folder;
}

/* ---- The one engine ---------------------------------------------------------------------------
 */

static void engine_free(struct pm_supraseal_engine *engine) {
    for (size_t i = 0; i < DEVICES_MAX; i++) {
        pm_context_destroy(engine->of_card[i]);
    }
    pm_context_destroy(engine->context);
    (void)pthread_mutex_destroy(&engine->lock);
    free(engine->record_folder);
    free(engine);
}

static pm_status engine_make(struct pm_supraseal_engine **out, pm_error *error) {
    struct pm_supraseal_engine *engine = calloc(1, sizeof *engine);
    if (engine == NULL) {
        return pm_supraseal_fail(error, PM_NO_MEMORY, "no memory for a context");
    }
    (void)pthread_mutex_init(&engine->lock, NULL);
    pm_status status = read_settings(engine, error);
    if (status == PM_OK) {
        status = choose_device(engine, error);
    }
    if (status == PM_OK) {
        status = open_context(engine, engine->device, &engine->context, error);
    }
    if (status != PM_OK) {
        engine_free(engine);
        return status;
    }
    *out = engine;
    return PM_OK;
}

pm_status pm_supraseal_engine_acquire(struct pm_supraseal_engine **engine, pm_error *error) {
    pm_status status = PM_OK;
    (void)pthread_mutex_lock(&engine_lock);
    if (engine_shared == NULL) {
        status = engine_make(&engine_shared, error);
    }
    if (status == PM_OK) {
        engine_references++;
        *engine = engine_shared;
    }
    (void)pthread_mutex_unlock(&engine_lock);
    return status;
}

struct pm_supraseal_engine *pm_supraseal_engine_retain(struct pm_supraseal_engine *engine) {
    (void)pthread_mutex_lock(&engine_lock);
    engine_references++;
    (void)pthread_mutex_unlock(&engine_lock);
    return engine;
}

void pm_supraseal_engine_release(struct pm_supraseal_engine *engine) {
    (void)pthread_mutex_lock(&engine_lock);
    const bool is_last = engine != NULL && --engine_references == 0;
    if (is_last) {
        engine_shared = NULL;
    }
    (void)pthread_mutex_unlock(&engine_lock);
    if (is_last) {
        engine_free(engine);
    }
}

/* ---- Threads --------------------------------------------------------------------------------- */

pm_status pm_supraseal_thread_start(pthread_t *thread, void *(*body)(void *), void *argument,
                                    pm_error *error) {
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failure = pthread_create(thread, NULL, body, argument);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure == 0 ? PM_OK
                        : pm_supraseal_fail(error, PM_NO_THREADS, "a thread cannot be started");
}

/* ---- The host's synthesis ----------------------------------------------------------------------
 */

/* Defined by the fork's Rust side, where that is linked: a flag of the process. */
extern void set_membw_throttle(int value) __attribute__((weak));

static pthread_mutex_t throttle_lock = PTHREAD_MUTEX_INITIALIZER;
static size_t throttle_count; /* under throttle_lock */

void pm_supraseal_throttle_begin(void) {
    (void)pthread_mutex_lock(&throttle_lock);
    if (throttle_count++ == 0 && set_membw_throttle != NULL) {
        set_membw_throttle(1);
    }
    (void)pthread_mutex_unlock(&throttle_lock);
}

void pm_supraseal_throttle_end(void) {
    (void)pthread_mutex_lock(&throttle_lock);
    if (--throttle_count == 0 && set_membw_throttle != NULL) {
        set_membw_throttle(0);
    }
    (void)pthread_mutex_unlock(&throttle_lock);
}
