/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/daemon_guardian.c - the process that outlives a fault.
 *
 *     proofmilld serve                the guardian: one thread, no card, no key, no witness
 *      `- the serving process         everything else; killed by the kernel if the guardian ends
 *
 * A fault in a card's library ends the process it is in, and a card that was lost is only had again
 * by another process. The journal makes such an end harmless; the guardian makes it short.
 *
 * The serving process is a fork and not another program: it is what was started, with the same
 * descriptors, limits and folder, even when the file of the program has been replaced meanwhile.
 */
#include "daemon/daemon_internal.h"

#include "base/clock.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)
#define TICK_NS SECOND_NS
#define PAUSE_LEAST_MS 200
#define PAUSE_MOST_MS 30000
/* Whoever has served for so long has had an accident and is not one. */
#define SERVED_WELL_NS (60 * SECOND_NS)
/* What never was ready after so many starts will not be at the next. */
#define FAILURES_MOST 5

struct guardian {
    struct pm_notify notify;
    sigset_t signals;
    pid_t child;
    int ready_fd;      /* of the pipe through which the serving process says that it serves */
    uint64_t ready_ns; /* since when this serving process serves; 0: it does not yet */
    uint64_t told_ns;  /* when the manager last heard from us */
    uint64_t pause_ms;
    uint32_t n_failures; /* without once having been ready */
    uint32_t n_restarts;
    bool was_ready; /* one of them */
    bool is_ending; /* told to end */
};

/* Until the serving process is ready it says nothing to the manager's watchdog, and reading keys
 * takes minutes; from then on it is watched itself. */
static void tell_watchdog(struct guardian *guardian) {
    const uint64_t at_ns = pm_clock_now_ns();
    uint64_t ready_ns;
    if (guardian->ready_fd >= 0 && guardian->ready_ns == 0 &&
        read(guardian->ready_fd, &ready_ns, sizeof ready_ns) == (ssize_t)sizeof ready_ns) {
        guardian->ready_ns = ready_ns;
        guardian->was_ready = true;
    }
    if (guardian->notify.watchdog_ms != 0 && guardian->ready_ns == 0 &&
        at_ns - guardian->told_ns >= guardian->notify.watchdog_ms * (SECOND_NS / 1000) / 2) {
        guardian->told_ns = at_ns;
        (void)pm_notify_send(&guardian->notify, "WATCHDOG=1");
    }
}

/* The next signal, or -1 when there was none until then. */
static int next_signal(struct guardian *guardian, uint64_t until_ns) {
    for (;;) {
        const uint64_t at_ns = pm_clock_now_ns();
        uint64_t wait_ns = until_ns > at_ns ? until_ns - at_ns : 0;
        const uint64_t tick_ns = guardian->notify.watchdog_ms != 0
                                     ? guardian->notify.watchdog_ms * (SECOND_NS / 1000) / 2
                                     : TICK_NS;
        wait_ns = wait_ns < tick_ns ? wait_ns : tick_ns;
        const struct timespec wait = {.tv_sec = (time_t)(wait_ns / SECOND_NS),
                                      .tv_nsec = (long)(wait_ns % SECOND_NS)};
        const int number = sigtimedwait(&guardian->signals, NULL, &wait);
        tell_watchdog(guardian);
        if (number > 0 || at_ns >= until_ns) {
            return number;
        }
    }
}

/* ---- The serving process -------------------------------------------------------------------- */

/* What is left of the guardian in it: it dies with the guardian, and lets SIGCHLD be. */
static void become_server(const struct guardian *guardian, const int ends[2], pid_t parent,
                          const sigset_t *signals_before,
                          struct pm_daemon_environment *environment) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent) {
        _exit(128 + SIGKILL); /* it has died before we could ask for that */
    }
    sigset_t child_signal;
    (void)sigemptyset(&child_signal);
    (void)sigaddset(&child_signal, SIGCHLD);
    if (!sigismember(signals_before, SIGCHLD)) {
        (void)sigprocmask(SIG_UNBLOCK, &child_signal, NULL);
    }
    (void)close(ends[0]);
    environment->guardian = parent;
    environment->ready_fd = ends[1];
    environment->n_restarts = guardian->n_restarts;
}

void pm_daemon_tell_guardian(const struct pm_daemon_environment *environment) {
    const uint64_t at_ns = pm_clock_now_ns();
    if (environment->ready_fd >= 0) {
        (void)!write(environment->ready_fd, &at_ns, sizeof at_ns);
        (void)close(environment->ready_fd);
    }
}

/* Forks. False: this is the serving process, or there is none (child is -1 then). */
static bool start(struct guardian *guardian, const sigset_t *signals_before,
                  struct pm_daemon_environment *environment) {
    int ends[2];
    const pid_t self = getpid();
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        guardian->child = -1;
        return false;
    }
    guardian->ready_ns = 0;
    guardian->child = fork();
    if (guardian->child == 0) {
        become_server(guardian, ends, self, signals_before, environment);
        return false;
    }
    const int number = errno;
    (void)close(ends[1]);
    guardian->ready_fd = ends[0];
    if (guardian->child < 0) {
        (void)close(ends[0]);
        guardian->ready_fd = -1;
        errno = number;
        return false;
    }
    return true;
}

/* Signals go on to the serving process until it has ended; how it has. */
static int await_end(struct guardian *guardian) {
    int how = 0;
    for (;;) {
        const int number = next_signal(guardian, pm_clock_now_ns() + TICK_NS);
        if (number == SIGTERM || number == SIGINT || number == SIGHUP) {
            guardian->is_ending |= number != SIGHUP;
            (void)kill(guardian->child, number);
        }
        if (waitpid(guardian->child, &how, WNOHANG) == guardian->child) {
            tell_watchdog(guardian); /* what it wrote before it ended */
            (void)close(guardian->ready_fd);
            guardian->ready_fd = -1;
            return how;
        }
    }
}

/* ---- Between two of them -------------------------------------------------------------------- */

static int exit_code(int how) {
    return WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
}

static bool may_restart(const struct guardian *guardian, int how) {
    return !guardian->is_ending && (WIFSIGNALED(how) || exit_code(how) == PM_DAEMON_EXIT_RESTART);
}

static void describe(int how, char *out, size_t n_bytes) {
    if (WIFSIGNALED(how)) {
        (void)snprintf(out, n_bytes, "was ended by signal %d (%s)", WTERMSIG(how),
                       strsignal(WTERMSIG(how)));
    } else {
        (void)snprintf(out, n_bytes, "ended with code %d", exit_code(how));
    }
}

/* Longer from failure to failure, until one has served well. */
static void lengthen_pause(struct guardian *guardian) {
    const uint64_t ready_ns = guardian->ready_ns;
    const bool has_served_well = ready_ns != 0 && pm_clock_now_ns() - ready_ns >= SERVED_WELL_NS;
    guardian->pause_ms =
        guardian->pause_ms == 0 || has_served_well ? PAUSE_LEAST_MS : guardian->pause_ms * 2;
    if (guardian->pause_ms > PAUSE_MOST_MS) {
        guardian->pause_ms = PAUSE_MOST_MS;
    }
    guardian->ready_ns = 0;
}

/* False: it has failed too often without having been ready. */
static bool plan_restart(struct guardian *guardian, int how) {
    char end[96];
    describe(how, end, sizeof end);
    guardian->n_failures++;
    if (!guardian->was_ready && guardian->n_failures >= FAILURES_MOST) {
        pm_daemon_log(PM_LOG_WARNING,
                      "the serving process %s; given up after %u starts, none of which was ready",
                      end, guardian->n_failures);
        return false;
    }
    guardian->n_restarts++;
    lengthen_pause(guardian);
    pm_daemon_log(PM_LOG_WARNING, "the serving process %s; restart %u in %.1f s", end,
                  guardian->n_restarts, (double)guardian->pause_ms / 1000);
    (void)pm_notify_send(&guardian->notify, "STATUS=the serving process %s; restart %u in %.1f s",
                         end, guardian->n_restarts, (double)guardian->pause_ms / 1000);
    return true;
}

/* False: told to end. A SIGHUP asks for what the next start does anyway. */
static bool pause_is_over(struct guardian *guardian) {
    const uint64_t until_ns = pm_clock_now_ns() + guardian->pause_ms * (SECOND_NS / 1000);
    for (;;) {
        const int number = next_signal(guardian, until_ns);
        if (number == SIGTERM || number == SIGINT) {
            (void)pm_notify_send(&guardian->notify, "STOPPING=1");
            pm_daemon_log(PM_LOG_INFO, "ended while nothing served");
            return false;
        }
        if (number < 0) {
            return true;
        }
    }
}

static int say_no_process(int number) {
    pm_error error = PM_ERROR_INIT;
    (void)pm_error_set(&error, PM_NO_THREADS,
                       "no process can be made that serves: %s; --no-guardian needs none",
                       strerror(number));
    return pm_daemon_say_error(PM_NO_THREADS, &error);
}

bool pm_daemon_guard(struct pm_daemon_environment *environment, int *code) {
    struct guardian guardian = {.ready_fd = -1, .told_ns = pm_clock_now_ns()};
    sigset_t before;
    pm_notify_open(&guardian.notify, environment);
    if (guardian.notify.watchdog_ms != 0) {
        environment->watchdog_pid = NULL; /* ours, and so that of the serving process */
    }
    /* Where the caller ignores it, the kernel forgets children before we know how they ended. */
    (void)signal(SIGCHLD, SIG_DFL);
    pm_daemon_signals(&guardian.signals);
    (void)sigaddset(&guardian.signals, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &guardian.signals, &before);
    do {
        if (!start(&guardian, &before, environment)) {
            *code = guardian.child < 0 ? say_no_process(errno) : 0;
            return guardian.child == 0;
        }
        const int how = await_end(&guardian);
        *code = exit_code(how);
        if (!may_restart(&guardian, how) || !plan_restart(&guardian, how)) {
            return false;
        }
    } while (pause_is_over(&guardian));
    *code = 0;
    return false;
}
