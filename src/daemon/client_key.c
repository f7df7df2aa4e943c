/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/client_key.c - keys and devices: list, add, load, evict, forget, plan; restore. */
#include "daemon/client_view.h"

#include "base/status.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------------------------------------
 * Keys
 * ------------------------------------------------------------------------------------------- */

pm_status pm_client_key_list(struct pm_client *client) {
    const Proofmill__V1__ListKeysRequest request = PROOFMILL__V1__LIST_KEYS_REQUEST__INIT;
    ProtobufCMessage *answer = NULL;
    struct pm_client_table table;
    struct pm_client_text text = {0};
    PM_TRY(pm_client_ask(client, "ListKeys", &request.base,
                         &proofmill__v1__list_keys_response__descriptor, pm_client_ask_ms(client),
                         &answer));
    const Proofmill__V1__ListKeysResponse *list = (const void *)answer;
    pm_client_keys_table(list->keys, list->n_keys, true, &table);
    pm_client_table_write(&table, list->n_keys, 0, &text);
    pm_client_table_free(&table);
    pm_client_result(client, pm_client_message_json(answer));
    pm_client_message_free(answer);
    return pm_client_print_text(client, &text);
}

pm_status pm_client_key_add(struct pm_client *client) {
    const struct pm_client_options *given = &client->options;
    Proofmill__V1__RegisterKeyRequest request = PROOFMILL__V1__REGISTER_KEY_REQUEST__INIT;
    ProtobufCMessage *answer = NULL;
    char *path = NULL, *r1cs = NULL;
    char name[256], file[1024], proof[PM_CLIENT_SIZE_CHARS];
    pm_status status = pm_client_absolute(client, given->words[1], &path);
    if (status == PM_OK && given->r1cs_path != NULL) {
        status = pm_client_absolute(client, given->r1cs_path, &r1cs);
    }
    if (status == PM_OK) {
        request.name = (char *)(uintptr_t)given->words[0];
        request.path = path;
        request.r1cs_path = r1cs != NULL ? r1cs : request.r1cs_path;
        request.check = given->check;
        if (given->has_digest) {
            request.digest =
                (ProtobufCBinaryData){sizeof given->digest, (uint8_t *)(uintptr_t)given->digest};
        }
        status = pm_client_ask(client, "RegisterKey", &request.base,
                               &proofmill__v1__key__descriptor, given->timeout_ms, &answer);
    }
    free(path);
    free(r1cs);
    PM_TRY(status);
    const Proofmill__V1__Key *key = (const void *)answer;
    pm_client_tell(client, "%s: %s, 2^%u, %u public signal%s; a proof takes %s\n",
                   pm_client_printable(key->name, name, sizeof name),
                   pm_client_curve_word(key->curve), key->log_n, key->n_public,
                   key->n_public == 1 ? "" : "s", pm_client_size_text(key->proof_bytes, proof));
    if (key->replaced_path[0] != '\0') {
        pm_client_tell(client, "it replaced %s, which had the name before\n",
                       pm_client_printable(key->replaced_path, file, sizeof file));
    }
    if (key->warning[0] != '\0') {
        pm_client_tell(client, "warning: %s\n",
                       pm_client_printable(key->warning, file, sizeof file));
    }
    pm_client_result(client, pm_client_message_json(answer));
    pm_client_message_free(answer);
    return PM_OK;
}

static pm_status ask_key(struct pm_client *client, const char *method, uint64_t timeout_ms,
                         const ProtobufCMessageDescriptor *type, ProtobufCMessage **answer) {
    Proofmill__V1__KeyRequest request = PROOFMILL__V1__KEY_REQUEST__INIT;
    request.name = (char *)(uintptr_t)client->options.words[0];
    request.timeout_ms = timeout_ms;
    const pm_status status = pm_client_ask(client, method, &request.base, type, timeout_ms, answer);
    if (status == PM_OK) {
        pm_client_result(client, pm_client_message_json(*answer));
    }
    return status;
}

pm_status pm_client_key_load(struct pm_client *client) {
    ProtobufCMessage *answer = NULL;
    char name[256], span[PM_CLIENT_TIME_CHARS];
    PM_TRY(ask_key(client, "PreloadKey", client->options.timeout_ms,
                   &proofmill__v1__preload_key_response__descriptor, &answer));
    const Proofmill__V1__PreloadKeyResponse *loaded = (const void *)answer;
    (void)pm_client_printable(client->options.words[0], name, sizeof name);
    if (loaded->already_loaded) {
        pm_client_tell(client, "%s was in memory already\n", name);
    } else {
        pm_client_tell(client, "%s is in memory; opening it took %s\n", name,
                       pm_client_span_text(loaded->load_ms, span));
    }
    pm_client_message_free(answer);
    return PM_OK;
}

pm_status pm_client_key_evict(struct pm_client *client) {
    ProtobufCMessage *answer = NULL;
    char name[256], size[PM_CLIENT_SIZE_CHARS];
    PM_TRY(ask_key(client, "EvictKey", client->options.timeout_ms,
                   &proofmill__v1__evict_key_response__descriptor, &answer));
    const Proofmill__V1__EvictKeyResponse *evicted = (const void *)answer;
    (void)pm_client_printable(client->options.words[0], name, sizeof name);
    if (evicted->was_loaded) {
        pm_client_tell(client, "%s is out of memory: %s\n", name,
                       pm_client_size_text(evicted->freed_bytes, size));
    } else {
        pm_client_tell(client, "%s was not in memory\n", name);
    }
    pm_client_message_free(answer);
    return PM_OK;
}

pm_status pm_client_key_forget(struct pm_client *client) {
    ProtobufCMessage *answer = NULL;
    const pm_status status = ask_key(client, "ForgetKey", pm_client_ask_ms(client),
                                     &proofmill__v1__empty__descriptor, &answer);
    pm_client_message_free(answer);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Plans
 * ------------------------------------------------------------------------------------------- */

static void plan_table(const Proofmill__V1__Plan *plan, struct pm_client_table *table) {
    char size[PM_CLIENT_SIZE_CHARS];
    pm_client_table_begin(table, 0xe, "STEP|HOST|PINNED|DEVICE");
    for (size_t i = 0; i < plan->n_steps; i++) {
        const Proofmill__V1__PlanStep *step = plan->steps[i];
        const uint64_t bytes[3] = {step->host_bytes, step->pinned_bytes, step->vram_bytes};
        pm_client_table_cell(table, "%s", step->name);
        for (size_t k = 0; k < 3; k++) {
            pm_client_table_cell(table, "%s",
                                 bytes[k] != 0 ? pm_client_size_text(bytes[k], size) : "");
        }
    }
}

pm_status pm_client_key_plan(struct pm_client *client) {
    Proofmill__V1__PlanRequest request = PROOFMILL__V1__PLAN_REQUEST__INIT;
    ProtobufCMessage *answer = NULL;
    struct pm_client_table table;
    struct pm_client_text text = {0};
    char name[256], device[128], size[PM_CLIENT_SIZE_CHARS];
    request.key = (char *)(uintptr_t)client->options.words[0];
    if (client->options.device != NULL) {
        request.device = (char *)(uintptr_t)client->options.device;
    }
    PM_TRY(pm_client_ask(client, "GetPlan", &request.base, &proofmill__v1__plan__descriptor,
                         pm_client_ask_ms(client), &answer));
    const Proofmill__V1__Plan *plan = (const void *)answer;
    pm_client_text_add(&text, "%s on %s; the key itself takes %s\n",
                       pm_client_printable(request.key, name, sizeof name),
                       pm_client_printable(plan->device, device, sizeof device),
                       pm_client_size_text(plan->key_bytes, size));
    plan_table(plan, &table);
    pm_client_table_write(&table, plan->n_steps, 0, &text);
    pm_client_table_free(&table);
    pm_client_result(client, pm_client_message_json(answer));
    pm_client_message_free(answer);
    return pm_client_print_text(client, &text);
}

/* ---------------------------------------------------------------------------------------------
 * Devices
 * ------------------------------------------------------------------------------------------- */

/* Asked before, as the daemon says OK either way. False: it was given up, or nobody knows. */
static bool is_healthy(struct pm_client *client, const char *name) {
    const Proofmill__V1__Empty request = PROOFMILL__V1__EMPTY__INIT;
    ProtobufCMessage *answer = NULL;
    bool healthy = false;
    if (pm_client_ask(client, "GetStatus", &request.base, &proofmill__v1__status__descriptor,
                      pm_client_ask_ms(client), &answer) == PM_OK) {
        const Proofmill__V1__Status *all = (const void *)answer;
        for (size_t i = 0; i < all->n_devices; i++) {
            healthy |= strcmp(all->devices[i]->name, name) == 0 && !all->devices[i]->is_quarantined;
        }
    }
    pm_client_message_free(answer);
    return healthy;
}

pm_status pm_client_device_restore(struct pm_client *client) {
    Proofmill__V1__DeviceRequest request = PROOFMILL__V1__DEVICE_REQUEST__INIT;
    ProtobufCMessage *answer = NULL;
    char name[128];
    request.name = (char *)(uintptr_t)client->options.words[0];
    const bool was_healthy = is_healthy(client, request.name);
    const pm_status status =
        pm_client_ask(client, "RestoreDevice", &request.base, &proofmill__v1__empty__descriptor,
                      client->options.timeout_ms, &answer);
    pm_client_message_free(answer);
    if (status == PM_OK) {
        pm_client_tell(client, "%s %s\n", pm_client_printable(request.name, name, sizeof name),
                       was_healthy ? "had not been given up: nothing has changed"
                                   : "is open again and is given work");
    }
    return status;
}
