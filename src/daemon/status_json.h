/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/status_json.h - what the files that build /status share.
 *
 * An object that cannot be made is NULL, and what is put into it is dropped: every failure is one
 * of memory, and they are counted (json/json_memory.h) and asked for once, at the end.
 */
#ifndef PM_DAEMON_STATUS_JSON_H
#define PM_DAEMON_STATUS_JSON_H

#include "daemon/http.h"

#include <jansson.h>

/* value is stolen. */
void pm_put(json_t *object, const char *name, json_t *value);
void pm_put_text(json_t *object, const char *name, const char *text);
/* What does not fit JSON's integers is "not counted": null. */
void pm_put_number(json_t *object, const char *name, uint64_t number);
void pm_put_bool(json_t *object, const char *name, bool value);
void pm_put_ms(json_t *object, const char *name, uint64_t ns);
void pm_put_secs(json_t *object, const char *name, uint64_t ns);

#define PM_STATUS_JOBS_MAX 1000 /* that are told of at a time */
#define PM_STATUS_WORKERS_MAX 8 /* of a device, as in pm_engine_device_info */

/* A part that a worker is at, or was last. */
struct pm_status_worker {
    uint64_t job, busy_ns;
    uint32_t part;
};

struct pm_status_jobs {
    json_t *jobs;      /* those that have not ended, and the last that have */
    json_t *pipelines; /* in cuzk's shape: under way, or ended within 30 seconds */
    uint64_t n_preparing, n_proving, n_finishing; /* parts */
    uint64_t n_parts;                             /* told of so far */
    bool is_cut;                                  /* there are more jobs, or parts */
    struct pm_status_worker workers[PM_ENGINE_DEVICES_MAX][PM_STATUS_WORKERS_MAX];
    const pm_engine_device_info *devices;
    uint32_t n_devices;
};

/* devices and n_devices are set by the caller, the rest is 0. Errors: NO_MEMORY. */
pm_status pm_status_jobs_collect(struct pm_daemon *daemon, _Atomic uint64_t *floor,
                                 struct pm_status_jobs *status, pm_error *error);

#endif
