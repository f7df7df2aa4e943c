/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "daemon/service_internal.h"

#include "base/clock.h"
#include "base/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)
/* How soon a preload notices that its caller is gone. */
#define LOOK_MS 250
#define STEPS_MAX 32

/* replaced_path: of the file that had the name; "": none had. */
static void reply_key(struct pm_rpc_call *call, const pm_engine_key_info *info,
                      const char *replaced_path) {
    struct pm_device_names names;
    struct pm_key_view view;
    pm_service_device_names(pm_service_daemon(call)->engine, &names);
    pm_service_view_key(info, &names, &view);
    view.key.warning = pm_service_text(pm_daemon_key_warning(pm_service_daemon(call), info));
    view.key.replaced_path = pm_service_text(replaced_path);
    pm_service_reply(call, &view.key.base);
}

/* ---- RegisterKey ---------------------------------------------------------------------------- */

static bool check_of(Proofmill__V1__RegisterKeyRequest__Check check, uint32_t *out) {
    switch (check) {
    case PROOFMILL__V1__REGISTER_KEY_REQUEST__CHECK__CHECK_DEFAULT:
    case PROOFMILL__V1__REGISTER_KEY_REQUEST__CHECK__CHECK_FAST:
        *out = PM_CHECK_FAST;
        return true;
    case PROOFMILL__V1__REGISTER_KEY_REQUEST__CHECK__CHECK_FULL:
        *out = PM_CHECK_FULL;
        return true;
    case PROOFMILL__V1__REGISTER_KEY_REQUEST__CHECK__CHECK_NONE:
        *out = PM_CHECK_NONE;
        return true;
    default:
        return false;
    }
}

static bool check_register(struct pm_rpc_call *call,
                           const Proofmill__V1__RegisterKeyRequest *request, uint32_t *check) {
    const char *fault = NULL;
    if (!pm_service_is_name(request->name)) {
        fault = "a key's name has 1 to 127 letters, digits and -_.:";
    } else if (!check_of(request->check, check)) {
        fault = "check is CHECK_FAST, CHECK_FULL or CHECK_NONE";
    } else if (request->digest.len != 0 && request->digest.len != 64) {
        fault = "a digest has 64 bytes: BLAKE2b-512";
    }
    if (fault != NULL) {
        pm_rpc_fail(call, PM_RPC_INVALID_ARGUMENT, "%s", fault);
        return false;
    }
    return pm_service_may_use_path(call, "a key", request->path) &&
           (request->r1cs_path[0] == '\0' ||
            pm_service_may_use_path(call, "a constraint system", request->r1cs_path));
}

static void reply_registered(struct pm_rpc_call *call, const char *name, const char *path,
                             const pm_engine_key_info *before) {
    pm_engine_key_info info;
    if (!pm_service_known_key(call, name, &info)) {
        return;
    }
    const bool is_another = strcmp(before->path, info.path) != 0 ||
                            memcmp(before->digest, info.digest, sizeof info.digest) != 0;
    pm_daemon_key_was_added(pm_service_daemon(call), name, path);
    reply_key(call, &info, is_another ? before->path : "");
}

static void register_key(struct pm_rpc_call *call,
                         const Proofmill__V1__RegisterKeyRequest *request) {
    struct pm_daemon *daemon = pm_service_daemon(call);
    pm_error error = PM_ERROR_INIT;
    pm_engine_key_info before = {0};
    uint32_t check;
    if (!check_register(call, request, &check)) {
        return;
    }
    const pm_engine_key key = {.struct_bytes = sizeof key,
                               .check = check,
                               .name = request->name,
                               .path = request->path,
                               .r1cs_path =
                                   request->r1cs_path[0] != '\0' ? request->r1cs_path : NULL,
                               .digest = request->digest.len != 0 ? request->digest.data : NULL,
                               .must_fit = 1};
    (void)pm_engine_key_find(daemon->engine, request->name, &before, NULL); /* or there is none */
    if (pm_engine_key_register(daemon->engine, &key, pm_rpc_control(call), &error) != PM_OK) {
        pm_service_fail(call, PM_MATTER_KEY, &error);
    } else {
        reply_registered(call, request->name, request->path, &before);
    }
}

void pm_service_register_key(struct pm_rpc_call *call, void *user, const uint8_t *message,
                             size_t n_bytes) {
    (void)user;
    Proofmill__V1__RegisterKeyRequest *request = pm_service_request(
        call, &proofmill__v1__register_key_request__descriptor, message, n_bytes);
    if (request != NULL) {
        register_key(call, request);
        pm_message_free(&request->base);
    }
}

/* ---- PreloadKey, EvictKey ------------------------------------------------------------------- */

/* The shorter of the caller's deadline and what was asked for; 0: none. */
static uint64_t patience_ms(struct pm_rpc_call *call, uint64_t timeout_ms) {
    const uint64_t remaining_ms = pm_rpc_remaining_ms(call);
    if (remaining_ms == UINT64_MAX) {
        return timeout_ms;
    }
    /* 0 would be for ever. */
    const uint64_t most_ms = remaining_ms != 0 ? remaining_ms : 1;
    return timeout_ms != 0 && timeout_ms < most_ms ? timeout_ms : most_ms;
}

/* The engine's call is not interrupted, so it is made again and again for as long as somebody
 * wants the key: each one goes on waiting where the one before left off. */
bool pm_service_preload(struct pm_rpc_call *call, const char *name, uint64_t timeout_ms,
                        int *already) {
    pm_engine *engine = pm_service_daemon(call)->engine;
    const uint64_t patience = patience_ms(call, timeout_ms);
    const uint64_t begin_ns = pm_clock_now_ns();
    int *was_there = already;
    for (;;) {
        const uint64_t waited_ms = (pm_clock_now_ns() - begin_ns) / MS;
        const bool is_last = patience != 0 && patience <= waited_ms + LOOK_MS;
        const uint64_t slice_ms = !is_last               ? LOOK_MS
                                  : patience > waited_ms ? patience - waited_ms
                                                         : 1;
        pm_error error = PM_ERROR_INIT;
        const pm_status status = pm_engine_key_preload(engine, name, slice_ms, was_there, &error);
        if (status == PM_OK) {
            return true;
        }
        was_there = NULL; /* as it was when the call came */
        const pm_status wish = pm_control_check(pm_rpc_control(call), NULL);
        if (status != PM_DEADLINE || is_last || wish != PM_OK) {
            pm_service_fail(call, PM_MATTER_LOADING, &error);
            return false;
        }
    }
}

bool pm_service_evict(struct pm_rpc_call *call, const char *name, uint64_t timeout_ms,
                      uint64_t *freed_bytes) {
    pm_error error = PM_ERROR_INIT;
    if (pm_engine_key_evict(pm_service_daemon(call)->engine, name, patience_ms(call, timeout_ms),
                            freed_bytes, &error) != PM_OK) {
        pm_service_fail(call, PM_MATTER_KEY, &error);
        return false;
    }
    return true;
}

/* Of a key that there is, or one for proofs; NULL: the call has been ended. */
static Proofmill__V1__KeyRequest *key_request(struct pm_rpc_call *call, bool for_proofs,
                                              const uint8_t *message, size_t n_bytes) {
    Proofmill__V1__KeyRequest *request =
        pm_service_request(call, &proofmill__v1__key_request__descriptor, message, n_bytes);
    if (request != NULL &&
        !(for_proofs ? pm_service_key : pm_service_known_key)(call, request->name, NULL)) {
        pm_message_free(&request->base);
        request = NULL;
    }
    return request;
}

void pm_service_preload_key(struct pm_rpc_call *call, void *user, const uint8_t *message,
                            size_t n_bytes) {
    Proofmill__V1__PreloadKeyResponse answer = PROOFMILL__V1__PRELOAD_KEY_RESPONSE__INIT;
    pm_engine_key_info info;
    int already = 0;
    (void)user;
    Proofmill__V1__KeyRequest *request = key_request(call, true, message, n_bytes);
    if (request == NULL) {
        return;
    }
    if (pm_service_preload(call, request->name, request->timeout_ms, &already) &&
        pm_service_key(call, request->name, &info)) {
        answer.already_loaded = already != 0;
        answer.load_ms = info.load_ns / MS;
        pm_service_reply(call, &answer.base);
    }
    pm_message_free(&request->base);
}

void pm_service_evict_key(struct pm_rpc_call *call, void *user, const uint8_t *message,
                          size_t n_bytes) {
    Proofmill__V1__EvictKeyResponse answer = PROOFMILL__V1__EVICT_KEY_RESPONSE__INIT;
    uint64_t freed_bytes = 0;
    (void)user;
    Proofmill__V1__KeyRequest *request = key_request(call, false, message, n_bytes);
    if (request == NULL) {
        return;
    }
    if (pm_service_evict(call, request->name, request->timeout_ms, &freed_bytes)) {
        answer.was_loaded = freed_bytes != 0;
        answer.freed_bytes = freed_bytes;
        pm_service_reply(call, &answer.base);
    }
    pm_message_free(&request->base);
}

void pm_service_forget_key(struct pm_rpc_call *call, void *user, const uint8_t *message,
                           size_t n_bytes) {
    Proofmill__V1__Empty answer = PROOFMILL__V1__EMPTY__INIT;
    pm_error error = PM_ERROR_INIT;
    (void)user;
    Proofmill__V1__KeyRequest *request = key_request(call, false, message, n_bytes);
    if (request == NULL) {
        return;
    }
    if (pm_engine_key_forget(pm_service_daemon(call)->engine, request->name, &error) != PM_OK) {
        pm_service_fail(call, PM_MATTER_KEY, &error);
    } else {
        pm_service_reply(call, &answer.base);
    }
    pm_message_free(&request->base);
}

/* ---- ListKeys ------------------------------------------------------------------------------- */

void pm_service_list_keys(struct pm_rpc_call *call, void *user, const uint8_t *message,
                          size_t n_bytes) {
    Proofmill__V1__ListKeysResponse answer = PROOFMILL__V1__LIST_KEYS_RESPONSE__INIT;
    struct pm_key_views views;
    (void)user;
    Proofmill__V1__ListKeysRequest *request =
        pm_service_request(call, &proofmill__v1__list_keys_request__descriptor, message, n_bytes);
    if (request == NULL) {
        return;
    }
    pm_message_free(&request->base);
    if (pm_service_view_keys(call, &views)) {
        answer.n_keys = views.n;
        answer.keys = views.pointers;
        pm_service_reply(call, &answer.base);
        pm_service_free_keys(&views);
    }
}

/* ---- GetPlan -------------------------------------------------------------------------------- */

struct plan {
    pm_engine_plan_step steps[STEPS_MAX];
    Proofmill__V1__PlanStep messages[STEPS_MAX];
    Proofmill__V1__PlanStep *pointers[STEPS_MAX];
    uint32_t n;
};

static void view_steps(struct plan *plan) {
    for (uint32_t i = 0; i < plan->n; ++i) {
        const pm_engine_plan_step *step = &plan->steps[i];
        Proofmill__V1__PlanStep *message = &plan->messages[i];
        proofmill__v1__plan_step__init(message);
        message->name = pm_service_text(step->name);
        message->host_bytes = step->host_bytes;
        message->pinned_bytes = step->pinned_bytes;
        message->vram_bytes = step->device_bytes;
        plan->pointers[i] = message;
    }
}

static void get_plan(struct pm_rpc_call *call, const Proofmill__V1__PlanRequest *request) {
    Proofmill__V1__Plan answer = PROOFMILL__V1__PLAN__INIT;
    pm_engine *engine = pm_service_daemon(call)->engine;
    struct pm_device_names names;
    struct plan plan = {.n = STEPS_MAX};
    pm_error error = PM_ERROR_INIT;
    pm_engine_key_info info;
    uint32_t device;
    if (!pm_service_key(call, request->key, &info) ||
        !pm_service_device(call, request->device, &device)) {
        return;
    }
    if (pm_engine_key_plan(engine, request->key, device, plan.steps, &plan.n, &error) != PM_OK) {
        pm_service_fail(call, PM_MATTER_KEY, &error);
        return;
    }
    plan.n = plan.n < STEPS_MAX ? plan.n : STEPS_MAX;
    view_steps(&plan);
    pm_service_device_names(engine, &names);
    answer.device = names.name[device];
    answer.n_steps = plan.n;
    answer.steps = plan.pointers;
    answer.key_bytes = info.bytes;
    pm_service_reply(call, &answer.base);
}

void pm_service_get_plan(struct pm_rpc_call *call, void *user, const uint8_t *message,
                         size_t n_bytes) {
    (void)user;
    Proofmill__V1__PlanRequest *request =
        pm_service_request(call, &proofmill__v1__plan_request__descriptor, message, n_bytes);
    if (request != NULL) {
        get_plan(call, request);
        pm_message_free(&request->base);
    }
}
