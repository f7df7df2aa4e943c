/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/daemon_signal.c - signals that come once and twice. */
#include "daemon/daemon_internal.h"

#include "base/clock.h"

#include <time.h>

/* Within which the guardian hands on what both have got. */
#define TWIN_NS UINT64_C(500000000)

/* A second SIGTERM ends the daemon at once; this one is the first, on another way. */
static bool is_twin(struct pm_daemon_last_signal *last, int number, bool is_handed_on) {
    const uint64_t at_ns = pm_clock_now_ns();
    const bool is_it = last->number == number && last->was_handed_on != is_handed_on &&
                       at_ns - last->at_ns < TWIN_NS;
    *last = (struct pm_daemon_last_signal){is_it ? 0 : number, is_handed_on, at_ns};
    return is_it;
}

int pm_daemon_next_signal(struct pm_daemon_last_signal *last, const sigset_t *signals,
                          uint64_t wait_ms, pid_t guardian) {
    const struct timespec wait = {.tv_sec = (time_t)(wait_ms / 1000),
                                  .tv_nsec = (long)(wait_ms % 1000) * 1000000};
    siginfo_t about = {0};
    const int number = sigtimedwait(signals, &about, &wait);
    if (number <= 0 || guardian == 0) {
        return number;
    }
    const bool is_handed_on = about.si_code == SI_USER && about.si_pid == guardian;
    return is_twin(last, number, is_handed_on) ? -1 : number;
}
