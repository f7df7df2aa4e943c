/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "support/late_wish.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

static void *wish_later(void *argument) {
    const struct timespec wait = {.tv_nsec = 60000000};
    struct late_wish *wish = argument;
    (void)nanosleep(&wait, NULL);
    __atomic_store_n(&wish->is_wished, 1, __ATOMIC_RELAXED);
    return NULL;
}

void late_wish_begin(struct late_wish *wish) {
    wish->is_wished = 0;
    wish->control =
        (pm_control){.struct_bytes = (uint32_t)sizeof wish->control, .cancel = &wish->is_wished};
    assert_int_equal(pthread_create(&wish->thread, NULL, wish_later, wish), 0);
}

void late_wish_end(struct late_wish *wish) {
    assert_int_equal(pthread_join(wish->thread, NULL), 0);
}
