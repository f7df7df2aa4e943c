/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* base/random.h - randomness of the operating system. No state is kept, so a fork or a restored
 * snapshot of this process cannot repeat it. */
#ifndef PM_BASE_RANDOM_H
#define PM_BASE_RANDOM_H

#include "base/status.h"

#include <stddef.h>

/* Fills all n_bytes from getrandom(2) or returns PM_NO_RANDOM with the buffer wiped. */
pm_status pm_random_bytes(void *bytes, size_t n_bytes, pm_error *error);

#endif
