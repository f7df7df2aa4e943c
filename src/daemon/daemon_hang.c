/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/daemon_hang.c - cards that hang.
 *
 * The engine gives a card up that is at one step for stall_ms, and asks it to stop. One that only
 * was slow does so at its next kernel; one whose kernel never ends keeps a thread for ever.
 */
#include "daemon/daemon_internal.h"

#include "base/clock.h"

#include <stdio.h>

/* How many there are, at most PM_ENGINE_DEVICES_MAX. */
static uint32_t look(pm_engine *engine, pm_engine_device_info *devices) {
    uint32_t n = PM_ENGINE_DEVICES_MAX;
    if (pm_engine_devices(engine, devices, &n) != PM_OK) {
        return 0;
    }
    return n < PM_ENGINE_DEVICES_MAX ? n : PM_ENGINE_DEVICES_MAX;
}

/* A card that was given up for faults may still be at another proof, and does not hang. */
static bool is_stuck(const pm_engine_device_info *device) {
    return device->is_quarantined != 0 && device->n_hung != 0;
}

bool pm_daemon_find_hang(pm_engine *engine, struct pm_daemon_hang *hang, uint64_t grace_ms,
                         char name[64]) {
    pm_engine_device_info devices[PM_ENGINE_DEVICES_MAX];
    const uint32_t n = look(engine, devices);
    const uint64_t at_ms = pm_clock_now_ns() / 1000000;
    bool found = false;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t *since_ms = &hang->since_ms[i];
        if (!is_stuck(&devices[i])) {
            *since_ms = 0;
        } else if (*since_ms == 0) {
            *since_ms = at_ms;
        } else if (at_ms - *since_ms >= grace_ms) {
            found = true;
            (void)snprintf(name, 64, "%s", devices[i].name);
        }
    }
    return found;
}

bool pm_daemon_has_stuck_thread(pm_engine *engine) {
    pm_engine_device_info devices[PM_ENGINE_DEVICES_MAX];
    const uint32_t n = look(engine, devices);
    for (uint32_t i = 0; i < n; i++) {
        if (is_stuck(&devices[i])) {
            return true;
        }
    }
    return false;
}
