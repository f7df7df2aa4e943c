/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "par/background.h"

#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

/*
 * A thread's stack. What runs on it needs less than 64 KiB; the thread-local variables of the host
 * program, which glibc places on the same stack, are the larger unknown. Fixed, so that it does not
 * depend on `ulimit -s`, and only what is touched becomes memory.
 */
#define STACK_BYTES ((size_t)1 << 20)

/* How often a waiting owner looks at its control. */
#define LOOK_INTERVAL_NS UINT64_C(10000000)

static int start_with_stack(pthread_t *thread, void *(*body)(void *), void *argument) {
    pthread_attr_t attributes;
    int failed = pthread_attr_init(&attributes);
    if (failed != 0) {
        return failed;
    }
    failed = pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (failed == 0) {
        failed = pthread_create(thread, &attributes, body, argument);
    }
    (void)pthread_attr_destroy(&attributes);
    /* So many thread-local variables that they do not fit: what the system gives by default does.
     */
    return failed == EINVAL ? pthread_create(thread, NULL, body, argument) : failed;
}

int pm_thread_start(pthread_t *thread, void *(*body)(void *), void *argument) {
    static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t blocked, before;
    (void)sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        (void)sigdelset(&blocked, faults[i]);
    }
    int failed = pthread_sigmask(SIG_SETMASK, &blocked, &before);
    if (failed == 0) {
        failed = start_with_stack(thread, body, argument);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    return failed;
}

static void *background_main(void *argument) {
    struct pm_background *background = argument;
    background->work(background->argument);
    pthread_mutex_lock(&background->mutex);
    background->has_ended = true;
    pthread_cond_signal(&background->ended);
    pthread_mutex_unlock(&background->mutex);
    return NULL;
}

pm_status pm_background_start(struct pm_background *background, void (*work)(void *argument),
                              void *argument, pm_error *error) {
    *background = (struct pm_background){.work = work, .argument = argument};
    /* None of these can fail with these attributes. */
    (void)pthread_mutex_init(&background->mutex, NULL);
    (void)pm_clock_condition_init(&background->ended);
    const int failed = pm_thread_start(&background->thread, background_main, background);
    if (failed != 0) {
        (void)pthread_cond_destroy(&background->ended);
        (void)pthread_mutex_destroy(&background->mutex);
        PM_FAIL(error, PM_NO_THREADS, "a thread in the background could not be started: %s",
                strerrordesc_np(failed));
    }
    return PM_OK;
}

void pm_background_stop(struct pm_background *background) {
    __atomic_store_n(&background->stop, 1, __ATOMIC_RELAXED);
}

void pm_background_join(struct pm_background *background, const pm_control *control) {
    pthread_mutex_lock(&background->mutex);
    while (control != NULL && !background->has_ended) {
        if (pm_control_stopped(control)) {
            pm_background_stop(background);
            break;
        }
        pm_clock_wait_until(&background->ended, &background->mutex,
                            pm_clock_now_ns() + LOOK_INTERVAL_NS);
    }
    pthread_mutex_unlock(&background->mutex);
    (void)pthread_join(background->thread, NULL);
    (void)pthread_cond_destroy(&background->ended);
    (void)pthread_mutex_destroy(&background->mutex);
}
