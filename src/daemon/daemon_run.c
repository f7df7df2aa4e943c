/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/daemon_run.c - the daemon from its start to its end.
 *
 *     start:  folders, engine (a signal ends that), keys (in a thread), gRPC, HTTP, READY=1
 *     then:   signals, the watchdog, cards that hang
 *     end:    no new jobs; those that are open may end; the engine stops; gRPC, HTTP, the rest
 *
 * What the journal has of jobs that are still open goes on at the next start.
 */
#include "daemon/daemon_internal.h"

#include "base/clock.h"
#include "base/status.h"

#include <proofmill/experimental.h>

#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)
#define PATH_BYTES 4096
#define TICK_MS 1000
#define DRAIN_TICK_MS 100
#define STATUS_TICKS 5
/* gRPC leaves much free memory between little that is in use when large calls break off. */
#define TRIM_TICKS 20
/* A card that was given up answers at its next kernel; one that does not for so long hangs. */
#define HANG_MS 10000
/* For answers that are on their way when the jobs have ended. */
#define GRACE_MS 2000
/* How often it is looked whether the start is over that a signal may end. */
#define EARLY_TICK_MS 20

enum stage { SERVING, DRAINING, ENDING };

struct serve {
    struct pm_daemon daemon;
    const struct pm_daemon_options *options;
    const struct pm_daemon_environment *environment;
    struct pm_notify notify;
    struct pm_daemon_last_signal last_signal;
    enum stage stage;
    bool at_once;
    bool ended_early; /* told to end before it served */
    int code;
    uint64_t drain_until_ns;
    struct pm_daemon_hang hang;
    bool hang_is_said;
    uint32_t n_ticks;
    char status[160]; /* as systemd was told last */
};

void pm_daemon_signals(sigset_t *set) {
    (void)sigemptyset(set);
    (void)sigaddset(set, SIGTERM);
    (void)sigaddset(set, SIGINT);
    (void)sigaddset(set, SIGHUP);
}

/* ---- Start ---------------------------------------------------------------------------------- */

/* "auto" without a card is the CPU, and somebody may wonder why. */
static void say_why_no_card(const struct pm_config *config, const pm_engine_options *options) {
    uint32_t n_cards = 0;
    pm_error error = PM_ERROR_INIT;
    if (strcmp(config->devices[0], "auto") == 0 && strcmp(options->devices[0].device, "cpu") == 0 &&
        pm_device_count(options->gpu_library, &n_cards, &error) != PM_OK) {
        pm_daemon_log(
            config->library[0] != '\0' ? PM_LOG_WARNING : PM_LOG_DEBUG, "no card is used: %s",
            error.message[0] != '\0' ? error.message : pm_status_sentence((pm_status)error.status));
    }
}

/* Takes the signals that end the daemon while nobody else does, and has the start end. */
struct early_stop {
    pthread_t thread;
    volatile int cancel; /* atomic: the signal that came, or 0 */
    int is_over;         /* atomic */
};

static void *await_early_stop(void *argument) {
    struct early_stop *early = argument;
    const struct timespec slice = {.tv_nsec = EARLY_TICK_MS * 1000000};
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    int number = -1;
    while (number <= 0 && !__atomic_load_n(&early->is_over, __ATOMIC_RELAXED)) {
        number = sigtimedwait(&signals, NULL, &slice);
    }
    if (number > 0) {
        __atomic_store_n(&early->cancel, number, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* The journal's keys are opened, which a signal ends. */
static pm_status create_engine(struct serve *serve, pm_engine_options *options, pm_error *error) {
    struct early_stop early = {.cancel = 0};
    const pm_control control = {.struct_bytes = (uint32_t)sizeof control, .cancel = &early.cancel};
    PM_FAIL_IF(pthread_create(&early.thread, NULL, await_early_stop, &early) != 0, error,
               PM_NO_THREADS, "no thread to wait for signals");
    options->control = &control;
    pm_status status = pm_engine_create(options, &serve->daemon.engine, error);
    __atomic_store_n(&early.is_over, 1, __ATOMIC_RELAXED);
    (void)pthread_join(early.thread, NULL);
    serve->ended_early = early.cancel != 0 && (status == PM_OK || status == PM_CANCELLED);
    return serve->ended_early ? pm_error_set(error, PM_CANCELLED, "told to end before it serves")
                              : status;
}

static pm_status start_engine(struct serve *serve, pm_error *error) {
    const struct pm_config *config = &serve->daemon.config;
    pm_engine_device devices[PM_CONFIG_DEVICES_MAX];
    pm_engine_options options;
    PM_TRY(pm_daemon_make_folders(config, error));
    pm_config_engine_options(config, devices, &options);
    options.log = pm_daemon_log_sentence;
    say_why_no_card(config, &options);
    const pm_status status = create_engine(serve, &options, error);
    static const char taken[] = "another engine";
    if (status == PM_IO && strncmp(error->message, taken, sizeof taken - 1) == 0) {
        return pm_error_set(error, PM_IO,
                            "another proofmilld keeps its state in %s: give this one a "
                            "daemon.state_dir of its own",
                            config->state_dir);
    }
    if (status == PM_ENCODING) {
        return pm_error_set(error, PM_ENCODING,
                            "the journal in %s is damaged: `proofmill serve --salvage` saves what "
                            "can still be read; or bring back a copy",
                            config->state_dir);
    }
    return status;
}

static pm_status start_rpc(struct serve *serve, pm_error *error) {
    const struct pm_config *config = &serve->daemon.config;
    static const struct pm_rpc_method *const services[] = {pm_service_prover, pm_service_cuzk};
    const struct pm_rpc_options options = {.listen = (const char *const *)config->listen,
                                           .n_listen = config->n_listen,
                                           .insecure_listen = config->insecure_listen,
                                           .tls_certificate = config->tls_certificate,
                                           .tls_key = config->tls_key,
                                           .tls_client_ca = config->tls_client_ca,
                                           .message_bytes_max = config->message_bytes_max,
                                           .upload_bytes_max = config->upload_bytes_max,
                                           .n_threads = config->n_threads,
                                           .n_connections_max = config->n_connections_max,
                                           .n_calls_max = config->n_calls_max,
                                           .services = services,
                                           .n_services = 2,
                                           .user = &serve->daemon,
                                           .engine = serve->daemon.engine,
                                           .log = pm_daemon_log_sentence};
    return pm_rpc_start(&options, &serve->daemon.rpc, error);
}

struct line {
    char text[1024];
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line, const char *format, ...) {
    const size_t room = sizeof line->text - line->used;
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(line->text + line->used, room, format, arguments);
    va_end(arguments);
    line->used = n >= 0 && (size_t)n < room ? line->used + (size_t)n : sizeof line->text - 1;
}

/* What people want to know, in one line. */
static void say_started(const struct serve *serve) {
    const struct pm_config *config = &serve->daemon.config;
    pm_engine_device_info devices[PM_ENGINE_DEVICES_MAX];
    pm_engine_metrics metrics = {.struct_bytes = (uint32_t)sizeof metrics};
    uint32_t n_devices = PM_ENGINE_DEVICES_MAX;
    struct line line = {{0}, 0};
    add(&line, "proofmilld %s serves on", pm_version());
    for (uint32_t i = 0; i < config->n_listen; i++) {
        add(&line, "%s %s", i > 0 ? "," : "", config->listen[i]);
    }
    if (config->status_listen[0] != '\0') {
        add(&line, "; status on http://%s/", config->status_listen);
    }
    if (pm_engine_devices(serve->daemon.engine, devices, &n_devices) == PM_OK) {
        for (uint32_t i = 0; i < n_devices && i < PM_ENGINE_DEVICES_MAX; i++) {
            add(&line, "%s %s", i > 0 ? "," : "; devices", devices[i].name);
        }
    }
    if (pm_engine_metrics_now(serve->daemon.engine, &metrics) == PM_OK &&
        metrics.pools[0].total_bytes != UINT64_MAX) {
        char total[PM_CONFIG_SHORT_CHARS], upload[PM_CONFIG_SHORT_CHARS];
        pm_config_short_size(metrics.pools[0].total_bytes + config->upload_bytes_max, total);
        pm_config_short_size(config->upload_bytes_max, upload);
        add(&line, "; budget %s, of which %s for uploads", total, upload);
    }
    add(&line, "; %s%s", config->journal ? "state in " : "no journal: a crash loses jobs",
        config->journal ? config->state_dir : "");
    pm_daemon_log(PM_LOG_INFO, "%s", line.text);
    pm_config_doubt(config, line.text, sizeof line.text);
    if (line.text[0] != '\0') {
        pm_daemon_log(PM_LOG_WARNING, "%s", line.text);
    }
}

static pm_status start_keys(struct pm_daemon *daemon, pm_error *error) {
    char path[PATH_BYTES];
    const int n = snprintf(path, sizeof path, "%s/configured_keys", daemon->config.state_dir);
    PM_FAIL_IF(n < 0 || (size_t)n >= sizeof path, error, PM_LENGTH,
               "daemon.state_dir: the path is too long");
    return pm_daemon_keys_start(daemon->engine, daemon->config.journal ? path : NULL, &daemon->keys,
                                error);
}

static pm_status start(struct serve *serve, pm_error *error) {
    struct pm_daemon *daemon = &serve->daemon;
    daemon->started_ns = pm_clock_now_ns();
    PM_TRY(pm_guard_install(error));
    PM_TRY(pm_config_check_files(&daemon->config, false, error));
    /* Keys of bellman's form are read whole, which takes as long as the disk does. */
    (void)pm_notify_send(&serve->notify, "STATUS=opens the journal and its keys");
    PM_TRY(start_engine(serve, error));
    PM_TRY(start_keys(daemon, error));
    PM_TRY(pm_daemon_keys_want(daemon->keys, &daemon->config, error));
    PM_TRY(start_rpc(serve, error));
    PM_TRY(pm_http_start(daemon, daemon->config.status_listen, daemon->config.insecure_listen,
                         &daemon->http, error));
    say_started(serve);
    pm_daemon_tell_guardian(serve->environment);
    (void)pm_notify_send(&serve->notify, "READY=1\nSTATUS=serves");
    return PM_OK;
}

/* ---- While it runs -------------------------------------------------------------------------- */

/* Keys and the level of the log follow; a bad file changes nothing. */
static void reload(struct serve *serve) {
    struct pm_config config;
    char names[512];
    pm_error error = PM_ERROR_INIT;
    (void)pm_notify_send(&serve->notify, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
                         pm_clock_now_ns() / 1000);
    pm_status status = pm_daemon_load_config(serve->options, serve->environment, &config, &error);
    if (status == PM_OK) {
        pm_config_restart_keys(&serve->daemon.config, &config, names, sizeof names);
        status = pm_daemon_keys_want(serve->daemon.keys, &config, &error);
    }
    if (status == PM_OK) {
        pm_daemon_log_set_level(config.log_level);
        if (names[0] != '\0') {
            pm_daemon_log(PM_LOG_WARNING, "these take effect at the next start: %s", names);
        }
        pm_config_free(&config);
    }
    if (status == PM_OK) {
        pm_daemon_log(PM_LOG_INFO, "the configuration was read again");
    } else {
        pm_daemon_log(PM_LOG_WARNING, "everything stays as it is: %s%s%s", error.file,
                      error.file[0] != '\0' ? ": " : "", error.message);
    }
    (void)pm_notify_send(&serve->notify, "READY=1");
}

static void begin_drain(struct serve *serve, int number) {
    const uint64_t drain_ms = serve->daemon.config.drain_timeout_ms;
    if (serve->stage == DRAINING || drain_ms == 0) {
        serve->at_once = true;
        serve->code = serve->stage == DRAINING ? 128 + number : 0;
        serve->stage = ENDING;
        return;
    }
    serve->stage = DRAINING;
    serve->drain_until_ns = pm_clock_now_ns() + drain_ms * (SECOND_NS / 1000);
    pm_daemon_log(PM_LOG_INFO, "no new jobs; those that are open have %" PRIu64 " s to end",
                  (drain_ms + 999) / 1000);
    (void)pm_notify_send(&serve->notify, "STOPPING=1\nSTATUS=waits for jobs to end");
}

/* Lets jobs end for a moment. */
static void drain(struct serve *serve) {
    pm_error error = PM_ERROR_INIT;
    const pm_status status = pm_engine_drain(serve->daemon.engine, DRAIN_TICK_MS, &error);
    if (status == PM_OK || pm_clock_now_ns() > serve->drain_until_ns) {
        if (status != PM_OK) {
            pm_daemon_log(PM_LOG_WARNING, "%s; %s", error.message,
                          serve->daemon.config.journal ? "they go on at the next start"
                                                       : "they are lost, as there is no journal");
        }
        serve->stage = ENDING;
    }
}

static void watch_cards(struct serve *serve) {
    char name[64];
    if (!pm_daemon_find_hang(serve->daemon.engine, &serve->hang, HANG_MS, name)) {
        serve->hang_is_said = false;
        return;
    }
    const bool restarts = serve->daemon.config.restart_on_hang;
    if (!serve->hang_is_said) {
        serve->hang_is_said = true;
        pm_daemon_log(PM_LOG_WARNING, "%s hangs, and nothing but a restart frees it%s", name,
                      restarts ? ": the process ends with code 75" : " (daemon.restart_on_hang)");
    }
    if (restarts) {
        serve->code = PM_DAEMON_EXIT_RESTART;
        serve->at_once = true;
        serve->stage = ENDING;
    }
}

/* Says that we are alive, which takes the engine's lock: a daemon that is stuck is not. */
static void tell_manager(struct serve *serve) {
    pm_engine_metrics metrics = {.struct_bytes = (uint32_t)sizeof metrics};
    char status[sizeof serve->status];
    if (serve->notify.address[0] == '\0' ||
        pm_engine_metrics_now(serve->daemon.engine, &metrics) != PM_OK) {
        return;
    }
    if (serve->notify.watchdog_ms != 0) {
        (void)pm_notify_send(&serve->notify, "WATCHDOG=1");
    }
    (void)snprintf(status, sizeof status,
                   "%s%u jobs run, %u wait, %" PRIu64 " done, %" PRIu64 " failed",
                   serve->stage == DRAINING ? "ends: " : "", metrics.n_running,
                   pm_daemon_n_queued(&metrics), metrics.n_done, metrics.n_failed);
    if (serve->n_ticks % STATUS_TICKS == 0 && strcmp(status, serve->status) != 0) {
        memcpy(serve->status, status, sizeof status);
        (void)pm_notify_send(&serve->notify, "STATUS=%s", status);
    }
}

static int next_signal(struct serve *serve, const sigset_t *signals) {
    uint64_t wait_ms = serve->stage == DRAINING ? 0 : TICK_MS;
    if (serve->notify.watchdog_ms != 0 && serve->notify.watchdog_ms < wait_ms) {
        wait_ms = serve->notify.watchdog_ms;
    }
    return pm_daemon_next_signal(&serve->last_signal, signals, wait_ms,
                                 serve->environment->guardian);
}

static void loop(struct serve *serve) {
    sigset_t signals;
    uint64_t ticked_ns = 0;
    pm_daemon_signals(&signals);
    while (serve->stage != ENDING) {
        const int number = next_signal(serve, &signals);
        if (number == SIGHUP && serve->stage == SERVING) {
            reload(serve);
        } else if (number == SIGTERM || number == SIGINT) {
            begin_drain(serve, number);
        }
        if (serve->stage == DRAINING) {
            drain(serve);
        }
        const uint64_t tick_ms =
            serve->notify.watchdog_ms != 0 && serve->notify.watchdog_ms < TICK_MS
                ? serve->notify.watchdog_ms
                : TICK_MS;
        if (serve->stage != ENDING &&
            pm_clock_now_ns() - ticked_ns >= tick_ms * (SECOND_NS / 1000) / 2) {
            ticked_ns = pm_clock_now_ns();
            watch_cards(serve);
            tell_manager(serve);
            if (++serve->n_ticks % TRIM_TICKS == 0) {
                (void)malloc_trim(0);
            }
        }
    }
}

/* ---- End ------------------------------------------------------------------------------------ */

/* To the manager a process that its guardian starts anew does not stop. */
static void say_stopping(const struct serve *serve) {
    if (serve->code != PM_DAEMON_EXIT_RESTART || serve->environment->guardian == 0) {
        (void)pm_notify_send(&serve->notify, "STOPPING=1");
    }
}

/* The engine's threads are joined, and one that a card keeps never comes. Without them the process
 * ends as in a crash, which the journal is made for; callers lose their connections, and a socket
 * that is left behind is replaced at the next start. */
static void end_if_stuck(const struct serve *serve) {
    if (pm_daemon_has_stuck_thread(serve->daemon.engine)) {
        pm_daemon_log(PM_LOG_WARNING, "a card hangs: the process ends without waiting for it");
        say_stopping(serve);
        _exit(serve->code);
    }
}

static void stop(struct serve *serve) {
    struct pm_daemon *daemon = &serve->daemon;
    if (daemon->engine != NULL) {
        end_if_stuck(serve);
        pm_engine_stop(daemon->engine);
    }
    if (daemon->rpc != NULL) {
        pm_rpc_stop(daemon->rpc, serve->at_once ? 0 : GRACE_MS);
    }
    if (daemon->http != NULL) {
        pm_http_stop(daemon->http);
    }
    pm_daemon_keys_stop(daemon->keys);
    daemon->keys = NULL;
    pm_engine_destroy(daemon->engine);
    pm_rpc_destroy(daemon->rpc);
}

int pm_daemon_run(const struct pm_daemon_options *options,
                  const struct pm_daemon_environment *environment) {
    pm_error error = PM_ERROR_INIT;
    struct serve *serve = calloc(1, sizeof *serve);
    if (serve == NULL) {
        return pm_daemon_say_error(PM_NO_MEMORY, &error);
    }
    serve->options = options;
    serve->environment = environment;
    serve->daemon.n_restarts = environment->n_restarts;
    pm_notify_open(&serve->notify, environment);
    pm_status status = pm_daemon_load_config(options, environment, &serve->daemon.config, &error);
    if (status != PM_OK) {
        free(serve);
        return pm_daemon_say_error(status, &error);
    }
    pm_daemon_log_set_level(serve->daemon.config.log_level);
    status = start(serve, &error);
    const bool is_good = status == PM_OK || serve->ended_early;
    if (status == PM_OK) {
        loop(serve);
    } else {
        serve->at_once = true;
        serve->code = is_good ? 0 : pm_daemon_say_error(status, &error);
    }
    if (is_good) {
        say_stopping(serve);
    }
    stop(serve);
    if (is_good) {
        pm_daemon_log(PM_LOG_INFO, serve->ended_early ? "ended before it served" : "ended");
    }
    const int code = serve->code;
    pm_config_free(&serve->daemon.config);
    free(serve);
    return code;
}
