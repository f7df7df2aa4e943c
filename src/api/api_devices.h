/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * api/api_devices.h - the devices of one context, and which of them makes a proof.
 *
 *   "cpu"          the CPU
 *   "cuda:0,1"     these cards and nothing else: the one with the fewest proofs before this one
 *   "auto"         the first card where it is quicker, else the CPU
 *
 * auto weighs a proof's time on the CPU against that on a card, what comes before it included: a
 * card has to be opened, a key to be brought there. Small proofs that would be quicker there alone
 * do not wait for that; but what they lose by it is added up, and once it is as much as opening the
 * card takes, it is opened (the rule of the ski rental: Karlin, Manasse, Rudolph, Sleator,
 * "Competitive snoopy caching", Algorithmica 1988, section 1).
 */
#ifndef PM_API_API_DEVICES_H
#define PM_API_API_DEVICES_H

#include "api/api_device.h"
#include "api/api_device_costs.h"
#include "base/cpu.h"
#include "base/limits.h"

#include <proofmill/experimental.h>
#include <proofmill/proofmill.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum pm_devices_mode { PM_DEVICES_CPU, PM_DEVICES_CARDS, PM_DEVICES_AUTO };

/* What "cuda:0,1" says. */
struct pm_devices_wish {
    enum pm_devices_mode mode;
    uint32_t n;
    uint32_t ordinal[PM_DEVICES_MAX];
};

/* NULL is "cpu". INVALID_ARGUMENT for what is none of the above; the sentence has the text. */
pm_status pm_devices_read(const char *text, struct pm_devices_wish *wish, pm_error *error);

struct pm_devices {
    enum pm_devices_mode mode;
    uint32_t n;
    struct pm_device *device[PM_DEVICES_MAX]; /* a reference each */
    /* Of auto, under the lock. */
    pthread_mutex_t lock;
    bool was_sought; /* n is 0 or 1 for good */
    bool was_told;   /* that there is none */
    uint64_t foregone_ns;
    char why_none[PM_DEVICE_WHY_BYTES];
    const struct pm_device_costs *costs; /* NULL: the measured ones */
    char *library;                       /* a copy; or NULL */
    uint64_t vram_bytes;
};

/* Cards that were asked for are opened; for auto, what can be known without opening one. Errors:
 * those of pm_devices_read() and pm_device_open(). After a failure there is nothing to close. */
pm_status pm_devices_open(const pm_context_options *options, struct pm_devices *devices,
                          pm_error *error);
void pm_devices_close(struct pm_devices *devices);
/* Instead of those it has: n backends of the caller's, or none for the CPU. Errors: NO_MEMORY. */
pm_status pm_devices_replace(struct pm_devices *devices, struct pm_backend *const *backends,
                             uint32_t n, pm_error *error);

/* A proof, or a plan for one, that looks for its device. */
struct pm_device_seeker {
    const struct pm_plan_sizes *sizes;
    uint32_t threads;
    enum pm_body body;
    bool (*has_key)(void *user, const struct pm_device *device); /* NULL: no device has */
    void *user;
    bool is_plan; /* nothing is added up, and no queue is joined */
    const pm_control *control;
};

struct pm_device_choice {
    struct pm_device *device;
    char why[PM_DEVICE_WHY_BYTES]; /* a sentence without its dot */
};

/* Who does not only plan leaves the device again with pm_device_leave(). */
void pm_devices_choose(struct pm_devices *devices, const struct pm_device_seeker *seeker,
                       struct pm_device_choice *choice);
/* The chosen card cannot make this proof, says *because, and nothing of it has been made: whether
 * the CPU is to make it instead, which *choice then says. */
bool pm_devices_fall_back(const struct pm_devices *devices, bool is_plan, const pm_control *control,
                          pm_status status, const pm_error *because,
                          struct pm_device_choice *choice);

#endif
