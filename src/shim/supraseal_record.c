/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "shim/supraseal_record.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

static uint64_t n_recorded; /* atomic: names differ within the process */

pm_status pm_supraseal_record(const struct pm_supraseal_engine *engine,
                              const pm_assignment *assignment, pm_error *error) {
    char path[PATH_MAX];
    const uint64_t number = __atomic_fetch_add(&n_recorded, 1, __ATOMIC_RELAXED);
    const int n =
        snprintf(path, sizeof path, "%s/%ld-%llu.pmasg", pm_supraseal_engine_record_folder(engine),
                 (long)getpid(), (unsigned long long)number);
    if (n < 0 || (size_t)n >= sizeof path) {
        return pm_supraseal_fail(error, PM_INVALID_ARGUMENT,
                                 "the folder's name in PROOFMILL_RECORD is too long");
    }
    return pm_assignment_file_write(path, assignment, NULL, error);
}
