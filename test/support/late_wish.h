/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* support/late_wish.h - a wish to stop that comes while nothing happens that it could interrupt. */
#ifndef PM_TEST_SUPPORT_LATE_WISH_H
#define PM_TEST_SUPPORT_LATE_WISH_H

#include <proofmill/proofmill.h>

#include <pthread.h>

struct late_wish {
    pm_control control; /* cancelled in a little while */
    int is_wished;
    pthread_t thread;
};

/* Each begin is ended. Both fail the running test when there is no thread. */
void late_wish_begin(struct late_wish *wish);
void late_wish_end(struct late_wish *wish);

#endif
