/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "api/api_internal.h"

#include "base/limits.h"

#include <string.h>

#define VERSION_TEXT_(x) #x
#define VERSION_TEXT(x) VERSION_TEXT_(x)

const char *pm_version(void) {
    return VERSION_TEXT(PM_VERSION_MAJOR) "." VERSION_TEXT(PM_VERSION_MINOR) "." VERSION_TEXT(
        PM_VERSION_PATCH);
}

void pm_options_read(void *ours, size_t ours_bytes, const void *theirs) {
    memset(ours, 0, ours_bytes);
    if (theirs != NULL) {
        uint32_t theirs_bytes;
        memcpy(&theirs_bytes, theirs, sizeof theirs_bytes);
        memcpy(ours, theirs, theirs_bytes < ours_bytes ? theirs_bytes : ours_bytes);
    }
}

uint32_t pm_threads_available(void) {
    return pm_cpu_available();
}

static pm_status choose_body(uint32_t arithmetic, enum pm_body *body, pm_error *error) {
    switch (arithmetic) {
    case PM_ARITHMETIC_BEST:
        *body = pm_cpu_best_body();
        return PM_OK;
    case PM_ARITHMETIC_PORTABLE:
        *body = PM_BODY_PORTABLE;
        return PM_OK;
    case PM_ARITHMETIC_ADX:
        PM_FAIL_IF(!pm_cpu_has_body(PM_BODY_ADX), error, PM_UNSUPPORTED,
                   "this CPU lacks BMI2 or ADX, which the adx arithmetic needs");
        *body = PM_BODY_ADX;
        return PM_OK;
    case PM_ARITHMETIC_IFMA:
        PM_FAIL_IF(!pm_cpu_has_body(PM_BODY_IFMA), error, PM_UNSUPPORTED,
                   "this CPU lacks AVX-512 IFMA, which the ifma arithmetic needs");
        *body = PM_BODY_IFMA;
        return PM_OK;
    default:
        PM_FAIL(error, PM_INVALID_ARGUMENT, "arithmetic %u is not a pm_arithmetic", arithmetic);
    }
}

pm_status pm_context_create(const pm_context_options *options, pm_context **context,
                            pm_error *error) {
    PM_FAIL_IF(context == NULL, error, PM_INVALID_ARGUMENT, "context is NULL");
    pm_context_options chosen;
    pm_options_read(&chosen, sizeof chosen, options);
    const uint32_t threads = chosen.threads != 0 ? chosen.threads : pm_cpu_available();
    PM_FAIL_IF(threads > PM_THREADS_MAX, error, PM_INVALID_ARGUMENT,
               "%u threads asked for, at most %u are possible", threads, PM_THREADS_MAX);
    void *buffer = NULL;
    enum pm_body body = PM_BODY_PORTABLE;
    PM_TRY(choose_body(chosen.arithmetic, &body, error));
    PM_TRY(pm_memory_alloc(NULL, "context", sizeof(pm_context), PM_MEMORY_PLAIN, &buffer, error));
    pm_context *made = buffer;
    made->body = body;
#ifndef NDEBUG
    made->strict = true;
#endif
    pm_status status = pm_devices_open(&chosen, &made->devices, error);
    if (status == PM_OK) {
        status = pm_team_create(threads, &made->team, error);
        if (status != PM_OK) {
            pm_devices_close(&made->devices);
        }
    }
    if (status != PM_OK) {
        pm_memory_free(made);
        return status;
    }
    *context = made;
    return PM_OK;
}

void pm_context_destroy(pm_context *context) {
    if (context != NULL) {
        pm_team_destroy(context->team);
        pm_devices_close(&context->devices);
        pm_memory_free(context);
    }
}

pm_status pm_context_set_backends(pm_context *context, struct pm_backend *const *backends,
                                  uint32_t n, pm_error *error) {
    return pm_devices_replace(&context->devices, backends, n, error);
}

pm_status pm_context_set_backend(pm_context *context, struct pm_backend *backend) {
    return pm_context_set_backends(context, &backend, backend != NULL, NULL);
}

/* Whether the key is on the device, or being brought there. */
static bool has_key(void *key, const struct pm_device *device) {
    return pm_resident_is_on(key, device->backend);
}

void pm_context_choose_device(pm_context *context, const pm_key *key,
                              const struct pm_plan_sizes *sizes, bool is_plan,
                              const pm_control *control, struct pm_device_choice *choice) {
    const struct pm_device_seeker seeker = {.sizes = sizes,
                                            .threads = pm_context_threads(context),
                                            .body = context->body,
                                            .has_key = key != NULL ? has_key : NULL,
                                            .user = (void *)(uintptr_t)key,
                                            .is_plan = is_plan,
                                            .control = control};
    pm_devices_choose(&context->devices, &seeker, choice);
}

void pm_context_set_strict(pm_context *context, bool strict) {
    context->strict = strict;
}

uint32_t pm_context_threads(const pm_context *context) {
    return context == NULL ? 0 : pm_team_threads(context->team);
}

const char *pm_context_arithmetic(const pm_context *context) {
    return context == NULL ? "none" : pm_body_name(context->body);
}
