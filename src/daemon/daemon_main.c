/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/daemon_main.c - proofmilld: what the process is made to be, and which verb it is. */
#include "daemon/daemon_internal.h"

#include "json/exit_code.h"

#include <proofmill/proofmill.h>

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_WANTED 65536
#define SYSTEM_CONFIG "/etc/proofmill/proofmill.toml"

/* A standard stream that the caller has closed stays unusable, instead of becoming the next file
 * that is opened. */
static void occupy_closed_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            /* The lowest free number is this one; the wrong direction makes each use of it fail. */
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
}

/* Witnesses pass through this memory: no core has it, and nobody traces the process. What the
 * daemon makes is its user's alone. */
static void keep_secrets(void) {
    const struct rlimit none = {0, 0};
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)umask(077);
}

/* Who connects costs a file, and gRPC's listener for TLS is deaf for ever once there was none left:
 * as many as the system allows, which is more than the usual 1024. */
static void raise_file_limit(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < FILES_WANTED) {
        files.rlim_cur = files.rlim_max < FILES_WANTED ? files.rlim_max : FILES_WANTED;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

/* Blocks as large as those of 64 KiB that gRPC receives into are the system's again as soon as they
 * are freed, and few arenas keep smaller ones. The C library would otherwise come to keep blocks of
 * any size, for each of many threads, and more would be resident than the budget says. */
static void give_back_memory(void) {
    (void)mallopt(M_MMAP_THRESHOLD, 64 << 10);
    (void)mallopt(M_ARENA_MAX, 2);
}

/* Before any thread is made: each inherits it, so that the main thread alone takes them. */
static void block_signals(void) {
    sigset_t set;
    pm_daemon_signals(&set);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is an error of its write */
}

static int print_config(const struct pm_config *config) {
    pm_error error = PM_ERROR_INIT;
    const pm_status status = pm_config_print(config, stdout, &error);
    return status == PM_OK ? 0 : pm_daemon_say_error(status, &error);
}

static int tell_config(const struct pm_daemon_options *options,
                       const struct pm_daemon_environment *environment) {
    struct pm_config config;
    pm_error error = PM_ERROR_INIT;
    pm_status status = pm_daemon_load_config(options, environment, &config, &error);
    char doubt[256];
    int code = 0;
    if (status != PM_OK) {
        return pm_daemon_say_error(status, &error);
    }
    if (options->print_config) {
        code = print_config(&config);
    } else if ((status = pm_config_check_files(&config, true, &error)) != PM_OK) {
        code = pm_daemon_say_error(status, &error);
    } else {
        pm_config_doubt(&config, doubt, sizeof doubt);
        if (doubt[0] != '\0') {
            pm_daemon_log(PM_LOG_WARNING, "%s", doubt);
        }
        (void)printf("%s: fine\n", config.path != NULL ? config.path : "no file");
    }
    pm_config_free(&config);
    return code;
}

/* In the process that was started, or in those that it guards. */
static int serve_jobs(const struct pm_daemon_options *options,
                      const struct pm_daemon_environment *outer) {
    struct pm_daemon_environment environment = *outer;
    struct pm_config config;
    pm_error error = PM_ERROR_INIT;
    const pm_status status = pm_daemon_load_config(options, &environment, &config, &error);
    int code = 0;
    if (status != PM_OK) {
        return pm_daemon_say_error(status, &error);
    }
    const bool is_guarded = config.guardian;
    pm_config_free(&config);
    if (!is_guarded || pm_daemon_guard(&environment, &code)) {
        block_signals();
        code = pm_daemon_run(options, &environment);
    }
    return code;
}

static int serve(int n, char **arguments, const struct pm_daemon_environment *environment) {
    struct pm_daemon_options options;
    pm_error error = PM_ERROR_INIT;
    const pm_status status = pm_daemon_read_options(n, arguments, &options, &error);
    int code = 0;
    if (status != PM_OK) {
        return pm_daemon_say_error(status, &error);
    }
    if (options.help) {
        pm_daemon_print_help();
    } else if (options.version) {
        (void)printf("proofmilld %s\n", pm_version());
    } else if (options.print_config || options.check_config) {
        code = tell_config(&options, environment);
    } else if (options.salvage) {
        code = pm_daemon_salvage(&options, environment);
    } else {
        code = serve_jobs(&options, environment);
    }
    free(options.set);
    return code;
}

static bool is_client_verb(const char *word) {
    static const char *const verbs[] = {"submit", "await", "watch", "status", "top",
                                        "cancel", "jobs",  "key",   "device"};
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(word, verbs[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* `help VERB...` is `VERB... --help`. */
static int help(int n, char **arguments, const char *address, const char *runtime_dir) {
    if (n == 0 || !is_client_verb(arguments[0])) {
        pm_daemon_print_help();
        return 0;
    }
    char option[] = "--help", **words = calloc((size_t)n + 2, sizeof *words);
    if (words == NULL) {
        return pm_exit_code(PM_NO_MEMORY);
    }
    memcpy(words, arguments, (size_t)n * sizeof *words);
    words[n] = option;
    const int code = pm_client_run(n + 1, words, address, runtime_dir);
    free(words);
    return code;
}

static int run(int n, char **arguments, const struct pm_daemon_environment *environment) {
    const char *address = getenv("PROOFMILL_ADDRESS");
    const char *word = n > 0 && arguments[0][0] != '-' ? arguments[0] : "serve";
    if (is_client_verb(word)) {
        return pm_client_run(n, arguments, address, environment->runtime_dir);
    }
    if (strcmp(word, "help") == 0) {
        return help(n - 1, arguments + 1, address, environment->runtime_dir);
    }
    if (strcmp(word, "serve") != 0) {
        (void)fprintf(stderr, "proofmilld: there is no verb %.60s; `proofmilld --help` has them\n",
                      word);
        return pm_exit_code(PM_INVALID_ARGUMENT);
    }
    const int n_verb = n > 0 && arguments[0][0] != '-';
    return serve(n - n_verb, arguments + n_verb, environment);
}

int main(int n, char **arguments) {
    const struct pm_daemon_environment environment = {
        .runtime_dir = getenv("XDG_RUNTIME_DIR"),
        .state_home = getenv("XDG_STATE_HOME"),
        .config_home = getenv("XDG_CONFIG_HOME"),
        .home = getenv("HOME"),
        .gpu_library = getenv("PROOFMILL_GPU_LIBRARY"),
        .service_runtime_dir = getenv("RUNTIME_DIRECTORY"),
        .service_state_dir = getenv("STATE_DIRECTORY"),
        .notify_socket = getenv("NOTIFY_SOCKET"),
        .watchdog_us = getenv("WATCHDOG_USEC"),
        .watchdog_pid = getenv("WATCHDOG_PID"),
        .journal_stream = getenv("JOURNAL_STREAM"),
        .system_config = SYSTEM_CONFIG,
        .ready_fd = -1};
    occupy_closed_streams();
    keep_secrets();
    raise_file_limit();
    give_back_memory();
    pm_daemon_log_open(PM_LOG_INFO, environment.journal_stream);
    const int code = run(n - 1, arguments + 1, &environment);
    if (fflush(stdout) != 0 && code == 0) {
        (void)fputs("proofmilld: standard output cannot be written\n", stderr);
        return pm_exit_code(PM_IO);
    }
    return code;
}
