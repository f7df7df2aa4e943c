/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "groth16/plan.h"

#include "base/budget.h"
#include "groth16/plan_layout.h"
#include "groth16/plan_sizes.h"

#include <stdio.h>
#include <string.h>

/* A value of a choice: what it is called, and what is to be said of it when nobody asked for it.
 * delay orders the values of one choice by the time of the whole proof; equal means as fast. */
struct option {
    int value;
    uint32_t delay;
    const char *what, *why;
};

/* The values that one choice may take: the first is taken where nothing is limited. */
struct menu {
    struct option options[3];
    uint32_t n;
    bool asked; /* there is but one, as the caller wants it */
};

static void offer(struct menu *menu, int value, uint32_t delay, const char *what, const char *why) {
    menu->options[menu->n++] = (struct option){value, delay, what, why};
}

/* Leaves the value that was asked for. */
static pm_status keep_asked(struct menu *menu, int asked, const char *refusal, pm_error *error) {
    if (asked == 0) {
        return PM_OK;
    }
    for (uint32_t i = 0; i < menu->n; i++) {
        if (menu->options[i].value == asked) {
            menu->options[0] = menu->options[i];
            menu->n = 1;
            menu->asked = true;
            return PM_OK;
        }
    }
    PM_FAIL(error, PM_INVALID_ARGUMENT, "%s", refusal);
}

/* ---------------------------------------------------------------------------------------------
 * What may be chosen
 * ------------------------------------------------------------------------------------------- */

static pm_status form_menu(const struct pm_plan_sizes *sizes, const struct pm_plan_choices *choices,
                           struct menu *menu, pm_error *error) {
    const bool from_w = choices->vectors == PM_VECTORS_FROM_W;
    if (from_w && sizes->reduction == PM_REDUCTION_BELLMAN) {
        offer(menu, PM_FORM_TWO_VECTORS, 0, "two vectors",
              ", since c = C w is wanted only when a and b have become one, which costs nothing");
        offer(menu, PM_FORM_THREE_VECTORS, 0, "three vectors", "");
    } else {
        offer(menu, PM_FORM_THREE_VECTORS, 0, "three vectors", ", which is the fastest");
        if (!from_w) {
            offer(menu, PM_FORM_TWO_VECTORS, 1, "two vectors",
                  ", for which c is made from what the caller has lent");
        } else if (sizes->rows_sorted) {
            offer(menu, PM_FORM_TWO_VECTORS, 1, "two vectors",
                  ", for one more pass over the matrices");
        }
    }
    return keep_asked(menu, (int)choices->form,
                      "the rows of this key's matrices are not in order, which two vectors need",
                      error);
}

static pm_status key_menu(const struct pm_plan_sizes *sizes, const struct pm_plan_device *device,
                          const struct pm_plan_choices *choices, struct menu *menu,
                          pm_error *error) {
    const bool has_window =
        device->window_bytes != NULL && device->window_bytes(device, sizes, choices) != 0;
    offer(menu, PM_KEY_RESIDENT, 0, "the key stays", "");
    if (has_window && (device->own_memory || sizes->key_bytes != 0)) {
        offer(menu, PM_KEY_STREAMED, 1, "the key is streamed", "");
    }
    return keep_asked(menu, (int)choices->key, "no mapped file that could be streamed", error);
}

static pm_status b2_menu(const struct pm_plan_sizes *sizes, const struct pm_plan_device *device,
                         const struct pm_plan_choices *choices, struct menu *menu,
                         pm_error *error) {
    /* From w on the CPU: w must be one array on the host, and so must the densities be there. */
    const bool pieces = device->own_memory && choices->scalars_are_lent;
    const bool from_w = !pieces && !(choices->densities_are_lent && sizes->n_b < sizes->n_vars);
    /* The sum takes as long before the end of start as after it; a copy has to be made, and where
     * points are not compact spread out again, window by window. */
    const uint32_t on_cpu = device->b2_on_device ? 1 : 0, from_copy = on_cpu + 1;
    if (device->b2_on_device) {
        offer(menu, PM_B2_IN_START, 0, "B2 is the device's", "");
    }
    if (from_w) {
        offer(menu, PM_B2_FROM_W, on_cpu, "B2 is made after start from the witness itself", "");
    }
    offer(menu, PM_B2_FROM_COPY, from_copy,
          "B2 is made after start from a copy of the scalars it needs", "");
    if (!device->b2_on_device && !pieces) {
        offer(menu, PM_B2_IN_START, on_cpu, "B2 is made within start", "");
    }
    return keep_asked(
        menu, (int)choices->b2,
        "scalars or densities are lent: B2 can only be made from a copy of its scalars", error);
}

static pm_status check_choices(const struct pm_plan_sizes *sizes,
                               const struct pm_plan_device *device,
                               const struct pm_plan_choices *choices, pm_error *error) {
    PM_FAIL_IF(sizes->share.is_cut && !device->takes_shares, error, PM_UNSUPPORTED,
               "%s makes all of a proof, or nothing", device->name);
    PM_FAIL_IF((unsigned)choices->form > PM_FORM_TWO_VECTORS ||
                   (unsigned)choices->key > PM_KEY_STREAMED ||
                   (unsigned)choices->b2 > PM_B2_FROM_COPY ||
                   (unsigned)choices->vectors > PM_VECTORS_FROM_CALLER,
               error, PM_INVALID_ARGUMENT, "a choice of the plan has a value that does not exist");
    PM_FAIL_IF(choices->vectors == PM_VECTORS_FROM_W && !sizes->has_matrices, error,
               PM_INVALID_ARGUMENT,
               "the key has no matrices, so a, b and c must come from the caller");
    PM_FAIL_IF(choices->pending_bytes > PM_PLAN_BYTES_MAX, error, PM_INVALID_ARGUMENT,
               "a pending handle of %llu bytes", (unsigned long long)choices->pending_bytes);
    return PM_OK;
}

/* ---------------------------------------------------------------------------------------------
 * What fits
 * ------------------------------------------------------------------------------------------- */

uint64_t pm_plan_device_bytes(const struct pm_plan_device *device, enum pm_key_place place) {
    uint64_t bytes = 0;
    return __builtin_add_overflow(device->memory_bytes, device->there_bytes[place], &bytes)
               ? UINT64_MAX
               : bytes;
}

static uint64_t held_peak_bytes(const struct pm_plan *plan, uint32_t pool) {
    uint64_t bytes[PM_POOLS_MAX];
    pm_plan_remaining(plan, 0, bytes);
    return bytes[pool];
}

/* The bytes that a pool lacks for this plan, the device's own bound included. */
static uint64_t lacking_bytes(const struct pm_plan *plan, const struct pm_plan_device *device,
                              uint32_t pool, uint64_t *need, uint64_t *have) {
    const uint64_t limit = plan->choices.limit_bytes[pool];
    const uint64_t counted =
        pool == PM_POOL_PINNED ? plan->peak_bytes[pool] : held_peak_bytes(plan, pool);
    uint64_t lacking = 0;
    if (limit != 0 && limit != PM_BUDGET_UNLIMITED && counted > limit) {
        *need = counted;
        *have = limit;
        lacking = *need - *have;
    }
    const uint64_t bound = pm_plan_device_bytes(device, plan->choices.key);
    if (pool == device->pool && plan->peak_bytes[pool] > bound &&
        plan->peak_bytes[pool] - bound > lacking) {
        *need = plan->peak_bytes[pool];
        *have = bound;
        lacking = *need - *have;
    }
    return lacking;
}

/* What the plans that were tried and did not fit lacked, for the error. */
struct shortage {
    uint64_t lacking_bytes, need_bytes, have_bytes; /* of the plan that lacked least */
    uint32_t pool;
};

static bool fits(const struct pm_plan *plan, const struct pm_plan_device *device,
                 struct shortage *shortage) {
    struct shortage most = {0};
    for (uint32_t pool = 0; pool < PM_POOLS_MAX; pool++) {
        uint64_t need = 0, have = 0;
        const uint64_t lacking = lacking_bytes(plan, device, pool, &need, &have);
        if (lacking > most.lacking_bytes) {
            most = (struct shortage){lacking, need, have, pool};
        }
    }
    if (most.lacking_bytes != 0 &&
        (shortage->lacking_bytes == 0 || most.lacking_bytes < shortage->lacking_bytes)) {
        *shortage = most;
    }
    return most.lacking_bytes == 0;
}

/* Whether a mapped key that stays leaves the pages of its file room beside the proof. */
static bool file_fits(const struct pm_plan *plan, const struct pm_plan_device *device) {
    const uint64_t limit = plan->choices.limit_bytes[PM_POOL_HOST];
    return limit == 0 || limit == PM_BUDGET_UNLIMITED || device->own_memory ||
           plan->choices.key != PM_KEY_RESIDENT ||
           held_peak_bytes(plan, PM_POOL_HOST) + plan->sizes.key_bytes <= limit;
}

/* ---------------------------------------------------------------------------------------------
 * The choice
 * ------------------------------------------------------------------------------------------- */

/* Places in the three menus. */
struct pick {
    uint32_t key, form, b2;
};

struct menus {
    struct menu key, form, b2;
};

/* One part of the sentence. */
static void say(char *text, size_t n, const struct menu *menu, uint32_t chosen) {
    const struct option *option = &menu->options[chosen];
    bool has_faster = false;
    if (menu->asked) {
        (void)snprintf(text, n, "%s as asked", option->what);
        return;
    }
    for (uint32_t i = 0; i < menu->n; i++) {
        has_faster |= menu->options[i].delay < option->delay;
    }
    (void)snprintf(text, n, "%s%s%s", option->what, option->why,
                   has_faster   ? " (what is faster does not fit)"
                   : chosen > 0 ? " (which is as fast, and needs less)"
                                : "");
}

/* Which points one of several devices has. */
static void say_share(char *text, size_t n, const struct pm_plan_share *share) {
    static const char *const names[PM_SHARED_SUMS] = {"a", "b1", "l", "b2"};
    const char *before = "of the sums over w it makes points ";
    size_t at = 0;
    for (int i = 0; i < PM_SHARED_SUMS && at < n; i++) {
        const struct pm_plan_range *range = &share->points[i];
        if (range->n != 0) {
            at += (size_t)snprintf(text + at, n - at, "%s%llu-%llu of %s", before,
                                   (unsigned long long)range->first,
                                   (unsigned long long)(range->first + range->n - 1), names[i]);
            before = ", ";
        }
    }
    if (at == 0) {
        (void)snprintf(text, n, "no sum over w is made here");
    }
}

static void say_why(struct pm_plan *plan, const struct menus *menus, struct pick pick) {
    char parts[3][PM_PLAN_WHY_BYTES / 3 - 3] = {"neither vectors nor h"};
    if (!plan->sizes.share.is_further) {
        say(parts[0], sizeof parts[0], &menus->form, pick.form);
    }
    say(parts[1], sizeof parts[1], &menus->key, pick.key);
    if (plan->sizes.share.is_cut) {
        say_share(parts[2], sizeof parts[2], &plan->sizes.share);
    } else {
        say(parts[2], sizeof parts[2], &menus->b2, pick.b2);
    }
    (void)snprintf(plan->why, sizeof plan->why, "%s; %s; %s.", parts[0], parts[1], parts[2]);
}

/* By the key first, then by the form, then by B2. */
static uint32_t delay_of(const struct menus *menus, struct pick pick) {
    return menus->key.options[pick.key].delay << 16 | menus->form.options[pick.form].delay << 8 |
           menus->b2.options[pick.b2].delay;
}

/* No more in any pool, and less in one. */
static bool needs_less(const struct pm_plan *plan, const struct pm_plan *other) {
    uint64_t ours[PM_POOLS_MAX], theirs[PM_POOLS_MAX];
    bool less = false;
    pm_plan_remaining(plan, 0, ours);
    pm_plan_remaining(other, 0, theirs);
    for (uint32_t pool = 0; pool < PM_POOLS_MAX; pool++) {
        if (ours[pool] > theirs[pool]) {
            return false;
        }
        less |= ours[pool] < theirs[pool];
    }
    return less;
}

static bool is_limited(const struct pm_plan *plan, const struct pm_plan_device *device) {
    bool limited = device->memory_bytes != UINT64_MAX;
    for (uint32_t pool = 0; pool < PM_POOLS_MAX; pool++) {
        const uint64_t limit = plan->choices.limit_bytes[pool];
        limited |= limit != 0 && limit != PM_BUDGET_UNLIMITED;
    }
    return limited;
}

/* Tries all that the menus have. Of what fits, *plan becomes the fastest, and under a limit nothing
 * that is as fast and fits needs less than it. with_file: beside the key's file. */
static pm_status choose(const struct pm_plan_device *device, const struct menus *menus,
                        bool with_file, struct pm_plan *plan, struct shortage *shortage,
                        pm_error *error) {
    const bool limited = is_limited(plan, device);
    const uint32_t n_b2 = menus->b2.n, n_form = menus->form.n;
    const uint32_t n_all = menus->key.n * n_form * n_b2;
    struct pm_plan tried = *plan;
    struct pick best = {0};
    bool found = false;
    for (uint32_t i = 0; i < n_all && !(found && !limited); i++) {
        const struct pick pick = {i / n_b2 / n_form, i / n_b2 % n_form, i % n_b2};
        tried.choices.form = (enum pm_form)menus->form.options[pick.form].value;
        tried.choices.key = (enum pm_key_place)menus->key.options[pick.key].value;
        tried.choices.b2 = (enum pm_b2_place)menus->b2.options[pick.b2].value;
        PM_TRY(pm_plan_lay_out(&tried, device, error));
        if (!fits(&tried, device, shortage) || (with_file && !file_fits(&tried, device))) {
            continue;
        }
        const uint32_t delay = delay_of(menus, pick), least = delay_of(menus, best);
        if (!found || delay < least || (delay == least && needs_less(&tried, plan))) {
            *plan = tried;
            best = pick;
            found = true;
        }
    }
    if (!found) {
        return PM_OVER_BUDGET;
    }
    say_why(plan, menus, best);
    return PM_OK;
}

pm_status pm_plan_make(const struct pm_plan_sizes *sizes, const struct pm_plan_device *device,
                       const struct pm_plan_choices *choices, struct pm_plan *plan,
                       pm_error *error) {
    struct menus menus = {.key = {.n = 0}};
    PM_TRY(pm_plan_check_sizes(sizes, error));
    PM_TRY(check_choices(sizes, device, choices, error));
    PM_TRY(form_menu(sizes, choices, &menus.form, error));
    PM_TRY(key_menu(sizes, device, choices, &menus.key, error));
    PM_TRY(b2_menu(sizes, device, choices, &menus.b2, error));
    struct pm_plan made = {.sizes = *sizes, .choices = *choices};
    struct shortage shortage = {0};
    pm_status status = choose(device, &menus, !menus.key.asked, &made, &shortage, error);
    if (status == PM_OVER_BUDGET && shortage.lacking_bytes == 0) {
        /* Only the pages of the file found no room, and those the kernel takes back by itself. */
        status = choose(device, &menus, false, &made, &shortage, error);
    }
    if (status == PM_OVER_BUDGET) {
        pm_error_set(error, PM_OVER_BUDGET,
                     "the leanest plan needs %llu bytes of %s memory, %llu are allowed",
                     (unsigned long long)shortage.need_bytes, pm_pool_name(shortage.pool),
                     (unsigned long long)shortage.have_bytes);
        pm_error_need_have(error, shortage.need_bytes, shortage.have_bytes);
    }
    if (status == PM_OK) {
        *plan = made;
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Questions
 * ------------------------------------------------------------------------------------------- */

const struct pm_plan_buffer *pm_plan_find(const struct pm_plan *plan, enum pm_buffer_id id) {
    for (uint32_t i = 0; i < plan->n_buffers; i++) {
        if (plan->buffers[i].id == id) {
            return &plan->buffers[i];
        }
    }
    return NULL;
}

static bool is_held_at(const struct pm_plan_buffer *buffer, uint32_t step) {
    return buffer->lifetime != PM_LIFETIME_RESIDENT && buffer->pool != PM_POOL_CALLER &&
           buffer->pool != PM_POOL_FILE && buffer->first_step <= step && step <= buffer->last_step;
}

uint64_t pm_plan_held_bytes(const struct pm_plan *plan, uint32_t step, uint32_t pool) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < plan->n_buffers; i++) {
        const struct pm_plan_buffer *buffer = &plan->buffers[i];
        if (is_held_at(buffer, step) && buffer->pool == pool) {
            bytes += buffer->bytes;
        }
    }
    return bytes;
}

void pm_plan_remaining(const struct pm_plan *plan, uint32_t step, uint64_t bytes[PM_POOLS_MAX]) {
    memset(bytes, 0, PM_POOLS_MAX * sizeof *bytes);
    for (uint32_t at = step; at < plan->n_steps; at++) {
        uint64_t held[PM_POOLS_MAX] = {0};
        for (uint32_t i = 0; i < plan->n_buffers; i++) {
            const struct pm_plan_buffer *buffer = &plan->buffers[i];
            if (is_held_at(buffer, at)) {
                held[buffer->pool] += buffer->bytes;
            }
        }
        for (uint32_t pool = 0; pool < PM_POOLS_MAX; pool++) {
            bytes[pool] = held[pool] > bytes[pool] ? held[pool] : bytes[pool];
        }
    }
}

uint64_t pm_plan_beside_bytes(const struct pm_plan *plan) {
    uint64_t most = 0;
    for (uint32_t step = 0; step < plan->n_steps; step++) {
        const uint64_t held = pm_plan_held_bytes(plan, step, plan->device_pool);
        most = plan->steps[step].is_beside && held > most ? held : most;
    }
    return most;
}
