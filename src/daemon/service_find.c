/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "daemon/service_internal.h"

#include "base/characters.h"

#include <stdlib.h>
#include <string.h>

bool pm_service_is_name(const char *name) {
    return pm_is_name(name, PM_ENGINE_NAME_BYTES - 1);
}

bool pm_service_may_use_path(struct pm_rpc_call *call, const char *what, const char *path) {
    const bool may_name =
        pm_rpc_is_local(call) || pm_service_daemon(call)->config.allow_paths_over_tcp;
    if (!may_name) {
        pm_rpc_fail(call, PM_RPC_PERMISSION_DENIED,
                    "%s by path is taken over a unix socket only, unless allow_paths_over_tcp in "
                    "[rpc] of the daemon's configuration says otherwise",
                    what);
        return false;
    }
    if (path[0] != '/' || strlen(path) >= PM_SERVICE_PATH_BYTES) {
        pm_rpc_fail(call, PM_RPC_INVALID_ARGUMENT,
                    "the path of %s is absolute, and has %d bytes at most", what,
                    PM_SERVICE_PATH_BYTES - 1);
        return false;
    }
    return true;
}

/* ---- Keys ----------------------------------------------------------------------------------- */

bool pm_service_keys(struct pm_rpc_call *call, pm_engine_key_info **infos, uint32_t *n) {
    for (uint32_t room = 0;; room = *n + 8) { /* and for some that are registered meanwhile */
        *infos = calloc(room + 1, sizeof **infos);
        if (*infos == NULL) {
            pm_rpc_fail(call, PM_RPC_RESOURCE_EXHAUSTED, "no memory for a list of %u keys", room);
            return false;
        }
        *n = room;
        (void)pm_daemon_list_keys(pm_service_daemon(call), *infos, n);
        if (*n <= room) {
            return true;
        }
        free(*infos);
    }
}

/* Ends the call: the engine has no such key. One of the configuration may wait for its file. */
static void fail_without_key(struct pm_rpc_call *call, const char *name) {
    struct pm_daemon *daemon = pm_service_daemon(call);
    const uint32_t room = pm_daemon_key_faults(daemon, NULL, 0) + 8;
    struct pm_daemon_key_fault *faults = calloc(room, sizeof *faults);
    uint32_t n = faults != NULL ? pm_daemon_key_faults(daemon, faults, room) : 0, i = 0;
    n = n < room ? n : room;
    while (i < n && strcmp(faults[i].name, name) != 0) {
        ++i;
    }
    if (i < n) {
        pm_rpc_fail(call, PM_RPC_FAILED_PRECONDITION,
                    "the key \"%s\" of the configuration cannot be used: %s", name,
                    faults[i].message);
    } else {
        pm_rpc_fail(call, PM_RPC_NOT_FOUND, "there is no key named \"%s\"", name);
    }
    free(faults);
}

bool pm_service_known_key(struct pm_rpc_call *call, const char *name, pm_engine_key_info *info) {
    pm_engine_key_info found;
    if (!pm_service_is_name(name)) {
        pm_rpc_fail(call, PM_RPC_INVALID_ARGUMENT,
                    "a key's name has 1 to %d letters, digits and -_.:", PM_ENGINE_NAME_BYTES - 1);
        return false;
    }
    if (pm_engine_key_find(pm_service_daemon(call)->engine, name, &found, NULL) != PM_OK) {
        fail_without_key(call, name);
        return false;
    }
    if (info != NULL) {
        *info = found;
    }
    return true;
}

bool pm_service_key(struct pm_rpc_call *call, const char *name, pm_engine_key_info *info) {
    char message[512];
    if (pm_service_is_name(name) &&
        pm_daemon_key_is_refused(pm_service_daemon(call), name, message)) {
        pm_rpc_fail(call, PM_RPC_FAILED_PRECONDITION,
                    "the key \"%s\" of the configuration cannot be used: %s", name, message);
        return false;
    }
    return pm_service_known_key(call, name, info);
}

/* ---- Jobs ----------------------------------------------------------------------------------- */

bool pm_service_job(struct pm_rpc_call *call, uint64_t job, pm_engine_job *info) {
    pm_error error = PM_ERROR_INIT;
    *info = (pm_engine_job){.struct_bytes = sizeof *info};
    if (pm_engine_job_info(pm_service_daemon(call)->engine, job, info, &error) != PM_OK) {
        pm_rpc_fail(call, PM_RPC_NOT_FOUND, "%s", error.message);
        return false;
    }
    return true;
}

bool pm_service_job_of_request(struct pm_rpc_call *call, const char *request_id,
                               pm_engine_job *info) {
    pm_error error = PM_ERROR_INIT;
    uint64_t job = 0;
    if (!pm_service_is_name(request_id)) {
        pm_rpc_fail(call, PM_RPC_INVALID_ARGUMENT,
                    "a request id has 1 to %d letters, digits and -_.:", PM_ENGINE_NAME_BYTES - 1);
        return false;
    }
    if (pm_engine_find(pm_service_daemon(call)->engine, request_id, &job, &error) != PM_OK) {
        pm_rpc_fail(call, PM_RPC_NOT_FOUND, "%s", error.message);
        return false;
    }
    return pm_service_job(call, job, info);
}

/* ---- Devices -------------------------------------------------------------------------------- */

void pm_service_device_names(pm_engine *engine, struct pm_device_names *names) {
    pm_engine_device_info infos[PM_ENGINE_DEVICES_MAX] = {0};
    names->n = PM_ENGINE_DEVICES_MAX;
    (void)pm_engine_devices(engine, infos, &names->n);
    for (uint32_t d = 0; d < names->n; ++d) {
        memcpy(names->name[d], infos[d].name, sizeof names->name[d]);
    }
}

bool pm_service_device(struct pm_rpc_call *call, const char *name, uint32_t *device) {
    struct pm_device_names names;
    uint32_t d = 0;
    pm_service_device_names(pm_service_daemon(call)->engine, &names);
    while (name[0] != '\0' && d < names.n && strcmp(names.name[d], name) != 0) {
        ++d;
    }
    if (d == names.n) {
        pm_rpc_fail(call, PM_RPC_NOT_FOUND, "the daemon has no device of this name");
        return false;
    }
    *device = d;
    return true;
}
