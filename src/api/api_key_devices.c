/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "api/api_internal.h"

#include <proofmill/experimental.h>

uint32_t pm_key_leave_devices(pm_key *key) {
    return key == NULL ? 0 : pm_resident_evict(key);
}
