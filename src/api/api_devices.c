/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "api/api_devices.h"

#include "api/api_internal.h"
#include "base/control.h"
#include "base/memory.h"
#include "gpu/load/gpu_load.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- What is asked for ---------------------------------------------------------------------- */

/* A number of at most three digits, which *text is moved behind. */
static bool read_ordinal(const char **text, uint32_t *ordinal) {
    const size_t n = strspn(*text, "0123456789");
    *ordinal = 0;
    for (size_t i = 0; i < n && n <= 3; ++i) {
        *ordinal = *ordinal * 10 + (uint32_t)((*text)[i] - '0');
    }
    *text += n;
    return n >= 1 && n <= 3 && *ordinal < PM_DEVICES_MAX;
}

/* "0,1": each of them once. */
static bool read_ordinals(const char *text, struct pm_devices_wish *wish) {
    uint32_t seen = 0;
    while (wish->n < PM_DEVICES_MAX) {
        uint32_t *ordinal = &wish->ordinal[wish->n];
        if (!read_ordinal(&text, ordinal) || (seen >> *ordinal & 1) != 0) {
            return false;
        }
        seen |= 1u << *ordinal;
        ++wish->n;
        if (*text == '\0') {
            return true;
        }
        if (*text++ != ',') {
            return false;
        }
    }
    return false;
}

pm_status pm_devices_read(const char *text, struct pm_devices_wish *wish, pm_error *error) {
    static const char prefix[] = "cuda:";
    *wish = (struct pm_devices_wish){.mode = PM_DEVICES_CPU};
    if (text == NULL || strcmp(text, "cpu") == 0) {
        return PM_OK;
    }
    if (strcmp(text, "auto") == 0) {
        wish->mode = PM_DEVICES_AUTO;
        return PM_OK;
    }
    wish->mode = PM_DEVICES_CARDS;
    if (strcmp(text, "cuda") == 0) {
        wish->n = 1;
        return PM_OK;
    }
    PM_FAIL_IF(strncmp(text, prefix, sizeof prefix - 1) != 0 ||
                   !read_ordinals(text + sizeof prefix - 1, wish),
               error, PM_INVALID_ARGUMENT,
               "there is no device \"%.60s\": cpu, cuda, cuda:N or cuda:N,M... with numbers from 0 "
               "to %u, each once, and auto are known",
               text, PM_DEVICES_MAX - 1);
    return PM_OK;
}

/* ---- Beginning and end ---------------------------------------------------------------------- */

/* For good. Under the lock, or before anybody else knows of it. */
static void set_none(struct pm_devices *devices, const pm_error *error) {
    devices->was_sought = true;
    (void)snprintf(devices->why_none, sizeof devices->why_none, "%.*s", PM_DEVICE_WHY_BYTES - 1,
                   error->message);
}

/* Whether a driver may be there. If so, nothing is asked of it before a proof needs it: its answer
 * takes longer than many a proof. */
static bool may_have_driver(void) {
    return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

static void look_for_card(struct pm_devices *devices) {
    const struct pm_gpu_api *api = NULL;
    pm_error error = PM_ERROR_INIT;
    uint32_t n = 0;
    if (pm_gpu_load(devices->library, &api, &error) != PM_OK ||
        (!may_have_driver() && api->device_count(&n, &error) != PM_OK)) {
        set_none(devices, &error);
    }
}

static pm_status open_cards(const struct pm_devices_wish *wish, struct pm_devices *devices,
                            pm_error *error) {
    for (uint32_t i = 0; i < wish->n; ++i) {
        PM_TRY(pm_device_open(devices->library, wish->ordinal[i], devices->vram_bytes,
                              &devices->device[i], error));
        ++devices->n;
    }
    return PM_OK;
}

static pm_status copy_text(const char *text, char **copy, pm_error *error) {
    void *buffer = NULL;
    *copy = NULL;
    if (text != NULL) {
        PM_TRY(pm_memory_alloc(NULL, "name of the device library", strlen(text) + 1,
                               PM_MEMORY_PLAIN, &buffer, error));
        *copy = memcpy(buffer, text, strlen(text) + 1);
    }
    return PM_OK;
}

pm_status pm_devices_open(const pm_context_options *options, struct pm_devices *devices,
                          pm_error *error) {
    struct pm_devices_wish wish;
    char *library = NULL;
    PM_TRY(pm_devices_read(options->device, &wish, error));
    PM_TRY(copy_text(options->gpu_library, &library, error));
    *devices = (struct pm_devices){
        .mode = wish.mode, .library = library, .vram_bytes = options->vram_bytes};
    (void)pthread_mutex_init(&devices->lock, NULL); /* cannot fail with default attributes */
    const pm_status status = open_cards(&wish, devices, error);
    if (status != PM_OK) {
        pm_devices_close(devices);
        return status;
    }
    if (wish.mode == PM_DEVICES_AUTO) {
        look_for_card(devices);
    }
    return PM_OK;
}

static void give_up_all(struct pm_devices *devices) {
    for (uint32_t i = 0; i < devices->n; ++i) {
        pm_device_give_up(devices->device[i]);
    }
    devices->n = 0;
}

void pm_devices_close(struct pm_devices *devices) {
    give_up_all(devices);
    pm_memory_free(devices->library);
    (void)pthread_mutex_destroy(&devices->lock);
}

pm_status pm_devices_replace(struct pm_devices *devices, struct pm_backend *const *backends,
                             uint32_t n, pm_error *error) {
    give_up_all(devices);
    devices->mode = PM_DEVICES_CPU;
    devices->was_sought = true;
    for (uint32_t i = 0; i < n; ++i) {
        PM_TRY(pm_device_lend(backends[i], &devices->device[i], error));
        devices->mode = PM_DEVICES_CARDS;
        ++devices->n;
    }
    return PM_OK;
}

/* ---- The choice ----------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void
choose(struct pm_device_choice *choice, struct pm_device *device, const char *format, ...) {
    va_list arguments;
    *choice = (struct pm_device_choice){.device = device};
    va_start(arguments, format);
    (void)vsnprintf(choice->why, sizeof choice->why, format, arguments);
    va_end(arguments);
}

static void choose_card(const struct pm_devices *devices, const struct pm_device_seeker *seeker,
                        struct pm_device_choice *choice) {
    uint32_t n_before = 0;
    struct pm_device *device = pm_device_join(devices->device, devices->n, &n_before);
    if (seeker->is_plan) {
        pm_device_leave(device, PM_OK);
    }
    if (devices->n == 1) {
        choose(choice, device, "it was asked for");
    } else {
        choose(choice, device,
               "of the %u that were asked for it had the shortest queue: %u proof%s", devices->n,
               n_before, n_before == 1 ? "" : "s");
    }
}

/* Once a context, whoever listens first is told that there is no card. Under the lock. */
static bool is_to_be_told(struct pm_devices *devices, const pm_control *control) {
    pm_control known;
    pm_options_read(&known, sizeof known, control);
    const bool is_time =
        devices->was_sought && devices->n == 0 && !devices->was_told && known.log != NULL;
    devices->was_told |= is_time;
    return is_time;
}

/* Under the lock. */
static void open_first_card(struct pm_devices *devices) {
    pm_error error = PM_ERROR_INIT;
    devices->was_sought = true;
    if (pm_device_open(devices->library, 0, devices->vram_bytes, &devices->device[0], &error) ==
        PM_OK) {
        devices->n = 1;
    } else {
        set_none(devices, &error);
    }
}

/* What comes before the first proof with this key on the card. Under the lock. */
static uint64_t before_card_ns(const struct pm_devices *devices,
                               const struct pm_device_seeker *seeker,
                               const struct pm_device_estimate *estimate) {
    if (devices->n == 0) {
        return estimate->card_open_ns + estimate->card_key_ns;
    }
    const bool has_key =
        seeker->has_key != NULL && seeker->has_key(seeker->user, devices->device[0]);
    return has_key ? 0 : estimate->card_key_ns;
}

static double ms(uint64_t ns) {
    return (double)ns / 1e6;
}

/* Whether the card would be worth it. If not, the CPU is chosen. Under the lock. */
static bool is_worth_it(struct pm_devices *devices, const struct pm_device_seeker *seeker,
                        const struct pm_device_estimate *estimate,
                        struct pm_device_choice *choice) {
    struct pm_device *cpu = pm_device_cpu();
    if (estimate->cpu_ns <= estimate->card_ns) {
        choose(choice, cpu, "it takes some %.0f ms here, a card some %.0f", ms(estimate->cpu_ns),
               ms(estimate->card_ns));
        return false;
    }
    const uint64_t before_ns = before_card_ns(devices, seeker, estimate);
    const uint64_t saved_ns = estimate->cpu_ns - estimate->card_ns;
    if (before_ns > saved_ns + devices->foregone_ns) {
        choose(choice, cpu,
               "it takes some %.0f ms here, a card some %.0f, and some %.0f more before it can "
               "begin",
               ms(estimate->cpu_ns), ms(estimate->card_ns), ms(before_ns));
        devices->foregone_ns += seeker->is_plan ? 0 : saved_ns;
        return false;
    }
    if (before_ns != 0 && !seeker->is_plan) {
        devices->foregone_ns = 0;
    }
    return true;
}

/* Under the lock. */
static void choose_freely(struct pm_devices *devices, const struct pm_device_seeker *seeker,
                          struct pm_device_choice *choice) {
    const struct pm_device_costs *costs =
        devices->costs != NULL ? devices->costs : pm_device_costs_of(seeker->sizes->curve);
    const struct pm_device_estimate estimate =
        pm_device_estimate_costs(costs, seeker->sizes, seeker->threads, seeker->body);
    const bool has_none = devices->was_sought && devices->n == 0;
    if (!has_none && !is_worth_it(devices, seeker, &estimate, choice)) {
        return;
    }
    if (!devices->was_sought) {
        open_first_card(devices);
    }
    if (devices->n == 0) {
        choose(choice, pm_device_cpu(), "no card can be used: %s", devices->why_none);
        return;
    }
    if (pm_device_has_failed(devices->device[0])) {
        choose(choice, pm_device_cpu(), "the card has failed before");
        return;
    }
    choose_card(devices, seeker, choice);
    choose(choice, choice->device, "it takes some %.0f ms, the CPU some %.0f", ms(estimate.card_ns),
           ms(estimate.cpu_ns));
}

void pm_devices_choose(struct pm_devices *devices, const struct pm_device_seeker *seeker,
                       struct pm_device_choice *choice) {
    bool tells = false;
    switch (devices->mode) {
    case PM_DEVICES_CPU:
        choose(choice, pm_device_cpu(), "no other device was asked for");
        break;
    case PM_DEVICES_CARDS:
        choose_card(devices, seeker, choice);
        break;
    case PM_DEVICES_AUTO:
        (void)pthread_mutex_lock(&devices->lock);
        choose_freely(devices, seeker, choice);
        tells = is_to_be_told(devices, seeker->control);
        (void)pthread_mutex_unlock(&devices->lock);
        break;
    }
    if (tells) { /* without the lock: what listens may do as it likes */
        pm_control_log(seeker->control, PM_LOG_WARNING,
                       "no card can be used, so proofs are made on the CPU: %s", devices->why_none);
    }
}

bool pm_devices_fall_back(const struct pm_devices *devices, bool is_plan, const pm_control *control,
                          pm_status status, const pm_error *because,
                          struct pm_device_choice *choice) {
    if (devices->mode != PM_DEVICES_AUTO || choice->device == pm_device_cpu() ||
        (status != PM_OVER_BUDGET && status != PM_UNSUPPORTED && status != PM_NO_MEMORY &&
         status != PM_DEVICE)) {
        return false;
    }
    if (!is_plan) {
        pm_device_leave(choice->device, status);
        pm_control_log(control, PM_LOG_WARNING, "the CPU makes this proof: %s", because->message);
    }
    choose(choice, pm_device_cpu(), "the card cannot: %s", because->message);
    return true;
}
