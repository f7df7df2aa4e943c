/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "api/api_internal.h"

#include "gpu/load/gpu_load.h"

#include <string.h>

pm_status pm_device_count(const char *gpu_library, uint32_t *n, pm_error *error) {
    const struct pm_gpu_api *api = NULL;
    PM_FAIL_IF(n == NULL, error, PM_INVALID_ARGUMENT, "n is NULL");
    PM_TRY(pm_gpu_load(gpu_library, &api, error));
    return api->device_count(n, error);
}

static void write_facts(const struct pm_gpu_facts *card, uint64_t free_bytes,
                        pm_device_facts *facts) {
    const uint32_t theirs = facts->struct_bytes;
    pm_device_facts ours = {.struct_bytes = theirs,
                            .ordinal = card->ordinal,
                            .major = card->major,
                            .minor = card->minor,
                            .n_multiprocessors = card->n_multiprocessors,
                            .clock_khz = card->clock_khz,
                            .driver = card->driver,
                            .runtime = card->runtime,
                            .total_bytes = card->total_bytes,
                            .free_bytes = free_bytes};
    _Static_assert(sizeof ours.name == sizeof card->name, "names of cards are copied whole");
    memcpy(ours.name, card->name, sizeof ours.name);
    memcpy(facts, &ours, theirs < sizeof ours ? theirs : sizeof ours);
}

pm_status pm_device_describe(const char *gpu_library, uint32_t ordinal, pm_device_facts *facts,
                             pm_error *error) {
    const struct pm_gpu_api *api = NULL;
    struct pm_gpu_device *device = NULL;
    struct pm_gpu_facts card = {.ordinal = ordinal};
    uint64_t free_bytes = 0;
    PM_FAIL_IF(facts == NULL, error, PM_INVALID_ARGUMENT, "facts is NULL");
    PM_TRY(pm_gpu_load(gpu_library, &api, error));
    PM_TRY(api->device_open(ordinal, NULL, &device, error));
    api->device_facts(device, &card);
    const pm_status status = api->device_free_bytes(device, &free_bytes, error);
    api->device_close(device);
    if (status == PM_OK) {
        write_facts(&card, free_bytes, facts);
    }
    return status;
}
