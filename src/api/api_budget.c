/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "api/api_internal.h"

#include "base/budget.h"

#include <proofmill/experimental.h>

/* Of what is free a twentieth is left: for the stacks of threads, for the heap's own waste, and for
 * the caller, who lives in the same process. */
#define LEFT_OVER_SHARE 20

static uint64_t host_bytes_free(void) {
    const struct pm_memory_room room = pm_memory_room_read("");
    return room.bytes == PM_BUDGET_UNLIMITED ? room.bytes
                                             : room.bytes - room.bytes / LEFT_OVER_SHARE;
}

pm_status pm_budget_create(const pm_budget_options *options, pm_budget **budget, pm_error *error) {
    PM_FAIL_IF(budget == NULL, error, PM_INVALID_ARGUMENT, "budget is NULL");
    pm_budget_options chosen;
    pm_options_read(&chosen, sizeof chosen, options);
    uint64_t total_bytes[PM_POOLS_MAX];
    for (uint32_t pool = 0; pool < PM_POOLS_MAX; pool++) {
        total_bytes[pool] = pool >= PM_POOL_VRAM_0 && chosen.vram_bytes != 0 ? chosen.vram_bytes
                                                                             : PM_BUDGET_UNLIMITED;
    }
    total_bytes[PM_POOL_HOST] = chosen.host_bytes != 0 ? chosen.host_bytes : host_bytes_free();
    if (chosen.pinned_bytes != 0) {
        total_bytes[PM_POOL_PINNED] = chosen.pinned_bytes;
    }
    void *made = NULL;
    PM_TRY(pm_memory_alloc(NULL, "budget", sizeof(pm_budget), PM_MEMORY_PLAIN, &made, error));
    const pm_status status = pm_budget_init(made, total_bytes, error);
    if (status != PM_OK) {
        pm_memory_free(made);
        return status;
    }
    *budget = made;
    return PM_OK;
}

void pm_budget_destroy(pm_budget *budget) {
    if (budget != NULL) {
        pm_budget_close(budget);
        pm_memory_free(budget);
    }
}

uint64_t pm_budget_host_bytes(const pm_budget *budget) {
    return budget == NULL ? 0 : budget->total_bytes[PM_POOL_HOST];
}

uint64_t pm_budget_reserved_bytes(pm_budget *budget) {
    if (budget == NULL) {
        return 0;
    }
    (void)pthread_mutex_lock(&budget->lock);
    const uint64_t bytes = budget->reserved_bytes[PM_POOL_HOST];
    (void)pthread_mutex_unlock(&budget->lock);
    return bytes;
}

pm_status pm_host_memory_now(const char *root, pm_host_memory *memory) {
    if (memory == NULL) {
        return PM_INVALID_ARGUMENT;
    }
    const struct pm_memory_room room = pm_memory_room_read(root != NULL ? root : "");
    *memory = (pm_host_memory){
        .free_bytes = room.bytes, .total_bytes = room.total_bytes, .bound = room.bound_name};
    return PM_OK;
}
