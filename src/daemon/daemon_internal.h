/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/daemon_internal.h - what the files around the daemon's main share.
 */
#ifndef PM_DAEMON_DAEMON_INTERNAL_H
#define PM_DAEMON_DAEMON_INTERNAL_H

#include "daemon/config.h"
#include "daemon/daemon.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The exit code that asks to be started anew: EX_TEMPFAIL of sysexits.h. */
#define PM_DAEMON_EXIT_RESTART 75

/* What main has read of the environment; NULL: unset. */
struct pm_daemon_environment {
    const char *runtime_dir, *state_home, *config_home, *home;
    const char *gpu_library;                             /* PROOFMILL_GPU_LIBRARY */
    const char *service_runtime_dir, *service_state_dir; /* RUNTIME_DIRECTORY, STATE_DIRECTORY */
    const char *notify_socket, *watchdog_us, *watchdog_pid, *journal_stream;
    const char *system_config; /* the file for all users */
    /* Of a process that has a guardian: */
    pid_t guardian;      /* 0: none */
    int ready_fd;        /* where the guardian is told that it serves */
    uint32_t n_restarts; /* how often there has been another before */
};

/* daemon_options.c: the command line of `proofmilld serve`. Strings are argv's. */
struct pm_daemon_option {
    const char *option; /* "--listen" */
    const char *key;    /* of the configuration; NULL: --key */
    const char *value;
};
struct pm_daemon_options {
    const char *config_path;      /* NULL: where there is one */
    struct pm_daemon_option *set; /* free() */
    size_t n_set;
    bool print_config, check_config, salvage, version, help;
};
/* Errors: INVALID_ARGUMENT, NO_MEMORY. */
pm_status pm_daemon_read_options(int n, char **arguments, struct pm_daemon_options *options,
                                 pm_error *error);
/* Environment, file, options, in this order; checked. Errors: those of pm_config_*. */
pm_status pm_daemon_load_config(const struct pm_daemon_options *options,
                                const struct pm_daemon_environment *environment,
                                struct pm_config *config, pm_error *error);
void pm_daemon_print_help(void);

/* daemon_salvage.c: saves what is left of a damaged journal and says what; the exit code. */
int pm_daemon_salvage(const struct pm_daemon_options *options,
                      const struct pm_daemon_environment *environment);

/* daemon_run.c: serves until a signal ends it; the exit code. Signals that it waits for must be
 * blocked in every thread already: pm_daemon_signals(). */
int pm_daemon_run(const struct pm_daemon_options *options,
                  const struct pm_daemon_environment *environment);
void pm_daemon_signals(sigset_t *set);

/* daemon_guardian.c: forks the process that serves, and again when a fault has ended it. Returns
 * true in each process that is to serve, whose environment it has completed, and false in the
 * guardian when all is over: *code is then the exit code. Nothing that a fork breaks may have been
 * begun: no thread, no card, no gRPC. The signals of pm_daemon_signals() are blocked afterwards. */
bool pm_daemon_guard(struct pm_daemon_environment *environment, int *code);
/* The guardian, if there is one, learns that this process serves. Once. */
void pm_daemon_tell_guardian(const struct pm_daemon_environment *environment);

/* daemon_signal.c: the next of the signals, or -1 when there was none for wait_ms. One that the
 * guardian hands on and that came to this process as well, as those of a terminal and of a control
 * group do, counts once. */
struct pm_daemon_last_signal {
    int number;
    bool was_handed_on;
    uint64_t at_ns;
};
int pm_daemon_next_signal(struct pm_daemon_last_signal *last, const sigset_t *signals,
                          uint64_t wait_ms, pid_t guardian);

/* daemon_hang.c: cards that were given up and whose proofs do not come back: only the end of the
 * process frees them. */
struct pm_daemon_hang {
    uint64_t since_ms[PM_ENGINE_DEVICES_MAX]; /* of CLOCK_MONOTONIC; 0: it does not */
};
/* Whether there is one that has been so for grace_ms, and its name; called again and again. */
bool pm_daemon_find_hang(pm_engine *engine, struct pm_daemon_hang *hang, uint64_t grace_ms,
                         char name[64]);
/* Whether a thread of the engine may never end, so that nobody must wait for it. */
bool pm_daemon_has_stuck_thread(pm_engine *engine);

/* daemon_folder.c: makes a folder of the daemon's own with mode 0700, its parents too, or checks
 * the one there is. Errors: IO (it cannot be made; it is another user's; others may write to it).
 */
pm_status pm_daemon_own_folder(const char *path, pm_error *error);
/* The folders of state and of unix sockets. */
pm_status pm_daemon_make_folders(const struct pm_config *config, pm_error *error);

/* daemon_keys.c: a thread that brings the engine's keys to what the configuration says. It tries
 * again what jobs in use are in the way of. names_path: where names of keys that came from a
 * configuration are kept, so that those it no longer has are forgotten at the next start; NULL:
 * nowhere, as no key outlives the engine. */
pm_status pm_daemon_keys_start(pm_engine *engine, const char *names_path,
                               struct pm_daemon_keys **keys, pm_error *error);
/* From now on these; a copy is taken. Returns at once. */
pm_status pm_daemon_keys_want(struct pm_daemon_keys *keys, const struct pm_config *config,
                              pm_error *error);
/* After pm_engine_stop(), which ends what it waits for. NULL is fine. */
void pm_daemon_keys_stop(struct pm_daemon_keys *keys);

/* daemon_names.c: calls take with each name of the file; none if there is no file. Errors: IO,
 * ENCODING. */
typedef void pm_daemon_name_taker(void *user, const char *name);
pm_status pm_daemon_names_read(const char *path, pm_daemon_name_taker *take, void *user,
                               pm_error *error);
/* Writes the file whole or not at all. Errors: IO, LENGTH. */
pm_status pm_daemon_names_write(const char *path, const char *const *names, size_t n,
                                pm_error *error);

/* daemon_warning.c: what is known of key files that are not secure. */
struct pm_daemon_warnings;
/* Errors: NO_MEMORY, those of pm_context_create(). */
pm_status pm_daemon_warnings_create(struct pm_daemon_warnings **warnings, pm_error *error);
/* Looks at each key of the engine that has not been looked at, and logs what is wrong with it.
 * path: of the key of that name; NULL: as the engine shows it. */
void pm_daemon_warnings_look(struct pm_daemon_warnings *warnings, pm_engine *engine,
                             const char *name, const char *path);
/* A static sentence, or "". */
const char *pm_daemon_warnings_of(struct pm_daemon_warnings *warnings,
                                  const pm_engine_key_info *info);
void pm_daemon_warnings_destroy(struct pm_daemon_warnings *warnings);

/* daemon_log.c. journal_stream: what systemd says of the stream that it reads. */
void pm_daemon_log_open(pm_log_level level, const char *journal_stream);
void pm_daemon_log_set_level(pm_log_level level);
/* For the engine and for gRPC. */
void pm_daemon_log_sentence(void *user, pm_log_level level, const char *sentence);
/* "proofmilld: FILE: SENTENCE" on stderr, whatever the level: before the daemon runs, and when it
 * cannot. Returns the exit code. */
int pm_daemon_say_error(pm_status status, const pm_error *error);

/* daemon_notify.c: what systemd is told, if it wants to know. */
struct pm_notify {
    char address[108];    /* "": nobody listens; '@' begins an abstract name */
    uint64_t watchdog_ms; /* 0: none; it wants to hear from us so often */
};
void pm_notify_open(struct pm_notify *notify, const struct pm_daemon_environment *environment);
/* One message: lines of NAME=VALUE. False: it could not be sent. */
__attribute__((format(printf, 2, 3))) bool pm_notify_send(const struct pm_notify *notify,
                                                          const char *format, ...);

#endif
