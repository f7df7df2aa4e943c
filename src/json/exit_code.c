/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "json/exit_code.h"

int pm_exit_code(pm_status status) {
    switch (status) {
    case PM_OK:
        return PM_EXIT_DONE;
    case PM_PROOF_INVALID:
        return PM_EXIT_INVALID;
    case PM_INVALID_ARGUMENT:
    case PM_SAME_FILE:
        return PM_EXIT_USAGE;
    case PM_UNSUPPORTED:
    case PM_NOT_THIS_KIND:
    case PM_VERSION:
    case PM_PROTOCOL:
    case PM_CURVE:
    case PM_TRUNCATED:
    case PM_SECTION:
    case PM_LENGTH:
    case PM_COUNT:
    case PM_NOT_CANONICAL:
    case PM_NOT_ON_CURVE:
    case PM_NOT_IN_SUBGROUP:
    case PM_POINT_AT_INFINITY:
    case PM_ENCODING:
    case PM_WITNESS_MISMATCH:
        return PM_EXIT_BAD_INPUT;
    case PM_IO:
    case PM_FILE_CHANGED:
    case PM_NO_RANDOM:
        return PM_EXIT_IO;
    case PM_NO_MEMORY:
    case PM_NO_THREADS:
    case PM_OVER_BUDGET:
    case PM_BUDGET_BUSY:
        return PM_EXIT_MEMORY;
    case PM_NO_DEVICE:
    case PM_DEVICE:
        return PM_EXIT_DEVICE;
    case PM_UNSATISFIED:
    case PM_SELF_VERIFY:
        return PM_EXIT_UNSATISFIED;
    case PM_BUFFER_TOO_SMALL:
    case PM_INTERNAL:
        return PM_EXIT_FAULT;
    case PM_DEADLINE:
        return PM_EXIT_TIMEOUT;
    case PM_CANCELLED:
        return PM_EXIT_SIGNAL + 2;
    }
    return PM_EXIT_FAULT; /* no status has such a number */
}
