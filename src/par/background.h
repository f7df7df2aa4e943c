/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * par/background.h - one piece of work on a thread of its own, and somebody who comes back for it.
 *
 * The owner starts it once and joins it once; what the work wrote is the owner's again after the
 * join. The thread blocks the signals that are meant for the host's threads.
 */
#ifndef PM_PAR_BACKGROUND_H
#define PM_PAR_BACKGROUND_H

#include "base/control.h"
#include "base/status.h"

#include <pthread.h>
#include <stdbool.h>

struct pm_background {
    void (*work)(void *argument);
    void *argument;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    bool has_ended;    /* under the mutex */
    volatile int stop; /* atomic: what work gives its pm_control as cancel flag */
};

/* Errors: NO_THREADS; nothing is to be joined then. */
pm_status pm_background_start(struct pm_background *background, void (*work)(void *argument),
                              void *argument, pm_error *error);
/* Waits for the end. When control stops, the work is asked to stop, and waited for. control may be
 * NULL. */
void pm_background_join(struct pm_background *background, const pm_control *control);
/* Asks the work to stop; does not wait. */
void pm_background_stop(struct pm_background *background);

/* pthread_create() as this library does it: a stack of fixed size, and no signals of the host's.
 * Returns 0 or an error number. */
int pm_thread_start(pthread_t *thread, void *(*body)(void *), void *argument);

#endif
