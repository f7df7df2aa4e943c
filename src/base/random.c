/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "base/random.h"

#include "base/memory.h"

#include <errno.h>
#include <sys/random.h>

pm_status pm_random_bytes(void *bytes, size_t n_bytes, pm_error *error) {
    size_t done = 0;
    while (done < n_bytes) {
        const ssize_t n = getrandom((char *)bytes + done, n_bytes - done, 0);
        if (n > 0) {
            done += (size_t)n;
        } else if (errno != EINTR) {
            const int reason = errno;
            pm_memory_wipe(bytes, n_bytes);
            return pm_error_set_errno(error, PM_NO_RANDOM, reason, NULL, "getrandom failed");
        }
    }
    return PM_OK;
}
