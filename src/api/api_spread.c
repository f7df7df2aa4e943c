/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "api/api_spread.h"

#include "api/api_internal.h"
#include "api/api_parts.h"
#include "groth16/plan_share.h"

#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static void add_why(struct pm_device_choice *choice,
                                                          const char *format, ...) {
    const size_t n = strlen(choice->why);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(choice->why + n, sizeof choice->why - n, format, arguments);
    va_end(arguments);
}

static const char beside[] = "; sums are made beside it by ";

/* Who takes part is said last, and anew when the shares are. */
void pm_spread_tell(const char *device_name, const pm_error *because, const pm_control *control,
                    struct pm_device_choice *choice) {
    char *said = strstr(choice->why, beside);
    if (said != NULL) {
        *said = '\0';
    }
    pm_control_log(control, PM_LOG_WARNING, "%s takes no part in this proof: %s", device_name,
                   because->message);
    add_why(choice, "; %s takes no part: %.100s", device_name, because->message);
}

uint32_t pm_spread_bit(const struct pm_devices *devices, const struct pm_device *device) {
    uint32_t bits = 0;
    for (uint32_t i = 0; i < devices->n; ++i) {
        bits |= devices->device[i] == device ? 1u << i : 0;
    }
    return bits;
}

static const char *name_of(const struct pm_device *device) {
    struct pm_plan_device described;
    if (device->name != NULL) {
        return device->name;
    }
    device->backend->table->describe(device->backend, NULL, &described);
    return described.name;
}

/* ---- Who --------------------------------------------------------------------------------------
 */

static void find_devices(const struct pm_devices *devices, const struct pm_spread_wish *wish,
                         struct pm_spread *spread) {
    struct pm_device *others[PM_DEVICES_MAX];
    uint32_t n = 0;
    for (uint32_t i = 0; i < devices->n; ++i) {
        if (devices->device[i] != spread->device[0] && (wish->excluded >> i & 1) == 0) {
            others[n++] = devices->device[i];
        }
    }
    spread->n = 1 + pm_device_join_idle(others, n, !wish->is_plan, &spread->device[1]);
}

/* Leaves device i, for good as far as this proof is concerned. */
static void drop(struct pm_spread *spread, uint32_t i, pm_status status) {
    if (!spread->is_plan) {
        pm_device_leave(spread->device[i], status);
    }
    --spread->n;
    memmove(&spread->device[i], &spread->device[i + 1], (spread->n - i) * sizeof spread->device[0]);
}

/* ---- What -------------------------------------------------------------------------------------
 */

/* What one of the devices is asked for; pinned_bytes: of staging memory that the others have. */
static struct pm_plan_choices choices_for(const struct pm_spread_wish *wish,
                                          const struct pm_spread *spread, uint32_t i,
                                          uint64_t pinned_bytes) {
    struct pm_plan_choices choices = *wish->choices;
    uint64_t *limit = &choices.limit_bytes[PM_POOL_PINNED];
    if (*limit != 0 && *limit != PM_BUDGET_UNLIMITED) {
        *limit = pinned_bytes < *limit ? *limit - pinned_bytes : 1;
    }
    if (i == 0) {
        choices.b2 = choices.b2 == PM_B2_ANY ? PM_B2_IN_START : choices.b2;
        choices.pending_bytes += pm_parts_bytes(spread->n - 1);
        return choices;
    }
    choices.form = PM_FORM_THREE_VECTORS; /* it has none */
    choices.b2 = PM_B2_IN_START;
    choices.densities_are_lent = false; /* the first device's plan has the copy */
    choices.no_self_verify = true;
    choices.pending_bytes = 0;
    choices.limit_bytes[PM_POOL_HOST] = PM_BUDGET_UNLIMITED;
    return choices;
}

static pm_status plan_one(const struct pm_spread_wish *wish, struct pm_spread *spread, uint32_t i,
                          const struct pm_plan_share *share, uint64_t *pinned_bytes,
                          pm_error *error) {
    const struct pm_plan_choices choices = choices_for(wish, spread, i, *pinned_bytes);
    const struct pm_device *device = spread->device[i];
    struct pm_plan_sizes sizes = *wish->sizes;
    struct pm_device_keys keys = {.may_go = wish->keys_may_go};
    PM_FAIL_IF(!pm_plan_share_has_sums(share) && share->is_further, error, PM_UNSUPPORTED,
               "the proof is so small that nothing is left for it");
    sizes.share = *share;
    if (wish->key != NULL) {
        PM_TRY(pm_resident_find(wish->key, device->backend, share, !wish->is_plan, wish->control,
                                keys.is_there, error));
    }
    PM_TRY(pm_device_plan(device, wish->threads, &sizes, &keys, &choices, &spread->plan[i], error));
    *pinned_bytes += spread->plan[i].peak_bytes[PM_POOL_PINNED];
    return PM_OK;
}

/* *failed: which of them cannot; n when all can. */
static pm_status plan_all(const struct pm_spread_wish *wish, struct pm_spread *spread,
                          uint32_t *failed, pm_error *error) {
    const enum pm_b2_place b2 = wish->choices->b2;
    struct pm_plan_share shares[PM_DEVICES_MAX];
    uint64_t pinned_bytes = 0;
    pm_plan_shares(wish->sizes, spread->n, b2 == PM_B2_ANY || b2 == PM_B2_IN_START, shares);
    for (*failed = 0; *failed < spread->n; ++*failed) {
        PM_TRY(plan_one(wish, spread, *failed, &shares[*failed], &pinned_bytes, error));
    }
    return PM_OK;
}

/* The first device's plan is the proof's: if that fails, there is nothing to take part in. */
static void settle(const struct pm_spread_wish *wish, struct pm_device_choice *choice,
                   struct pm_spread *spread) {
    uint32_t failed = 0;
    while (spread->n > 1 && failed < spread->n) {
        pm_error own = PM_ERROR_INIT;
        const pm_status status = plan_all(wish, spread, &failed, &own);
        if (status != PM_OK && failed == 0) {
            while (spread->n > 1) {
                drop(spread, spread->n - 1, PM_OK);
            }
        } else if (status != PM_OK) {
            pm_spread_tell(name_of(spread->device[failed]), &own,
                           wish->is_plan ? NULL : wish->control, choice);
            drop(spread, failed, status);
            failed = 0;
        }
    }
}

pm_status pm_spread_create(const struct pm_devices *devices, const struct pm_spread_wish *wish,
                           struct pm_device_choice *choice, struct pm_spread **spread,
                           pm_error *error) {
    void *memory = NULL;
    *spread = NULL;
    if (devices->mode != PM_DEVICES_CARDS || devices->n < 2) {
        return PM_OK;
    }
    PM_TRY(pm_memory_alloc(NULL, "plans of several devices", sizeof(struct pm_spread),
                           PM_MEMORY_PLAIN, &memory, error));
    struct pm_spread *made = memory;
    made->device[0] = choice->device;
    made->is_plan = wish->is_plan;
    find_devices(devices, wish, made);
    settle(wish, choice, made);
    if (made->n < 2) {
        pm_memory_free(made);
        return PM_OK;
    }
    for (uint32_t i = 1; i < made->n; ++i) {
        add_why(choice, "%s%s", i == 1 ? beside : ", ", made->plan[i].device_name);
    }
    *spread = made;
    return PM_OK;
}

void pm_spread_destroy(struct pm_spread *spread, bool leaves) {
    while (spread != NULL && leaves && spread->n > 1) {
        drop(spread, spread->n - 1, PM_OK);
    }
    pm_memory_free(spread);
}
