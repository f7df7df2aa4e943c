/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/config_engine.c - what the engine is told, and what another configuration would change. */
#include "daemon/config.h"
#include "daemon/config_internal.h"

#include "base/characters.h"

#include <proofmill/experimental.h>

#include <stdio.h>
#include <string.h>

/* As the engine's own choice is. */
#define MARGIN_SHARE 20

static const char *const card_names[PM_CONFIG_DEVICES_MAX] = {
    "cuda:0", "cuda:1", "cuda:2",  "cuda:3",  "cuda:4",  "cuda:5",  "cuda:6",  "cuda:7",
    "cuda:8", "cuda:9", "cuda:10", "cuda:11", "cuda:12", "cuda:13", "cuda:14", "cuda:15"};

uint64_t pm_config_budget_bytes(const struct pm_config *config) {
    pm_host_memory memory;
    if (config->total_budget_bytes != 0) {
        return config->total_budget_bytes;
    }
    if (pm_host_memory_now(NULL, &memory) != PM_OK || memory.free_bytes == UINT64_MAX) {
        return 0;
    }
    const uint64_t free_bytes = memory.free_bytes;
    const uint64_t margin_bytes =
        config->safety_margin_bytes != 0 ? config->safety_margin_bytes : free_bytes / MARGIN_SHARE;
    return margin_bytes < free_bytes ? free_bytes - margin_bytes : 1;
}

/* What messages on their way in may take comes off, as nothing else counts it. */
static uint64_t host_bytes(const struct pm_config *config) {
    const uint64_t budget_bytes = pm_config_budget_bytes(config);
    const uint64_t upload_bytes = config->upload_bytes_max;
    return budget_bytes == 0 ? 0 : upload_bytes < budget_bytes ? budget_bytes - upload_bytes : 1;
}

/* The names of devices; "auto" is every card, or the CPU. */
static uint32_t name_devices(const struct pm_config *config, const char **names) {
    uint32_t n_cards = 0;
    if (config->n_devices == 0 || strcmp(config->devices[0], "auto") != 0) {
        for (uint32_t i = 0; i < config->n_devices; i++) {
            names[i] = config->devices[i];
        }
        return config->n_devices;
    }
    const char *library = config->library[0] != '\0' ? config->library : NULL;
    if (pm_device_count(library, &n_cards, NULL) != PM_OK || n_cards == 0) {
        names[0] = "cpu";
        return 1;
    }
    for (uint32_t i = 0; i < n_cards && i < PM_CONFIG_DEVICES_MAX; i++) {
        names[i] = card_names[i];
    }
    return n_cards < PM_CONFIG_DEVICES_MAX ? n_cards : PM_CONFIG_DEVICES_MAX;
}

void pm_config_engine_options(const struct pm_config *config, pm_engine_device *devices,
                              pm_engine_options *options) {
    const char *names[PM_CONFIG_DEVICES_MAX];
    const uint32_t n_devices = name_devices(config, names);
    for (uint32_t i = 0; i < n_devices; i++) {
        const bool is_card = strcmp(names[i], "cpu") != 0;
        /* Four workers leave no room for an express one. */
        devices[i] =
            (pm_engine_device){.struct_bytes = (uint32_t)sizeof devices[i],
                               .n_workers = config->workers_per_device,
                               .n_express = config->workers_per_device == 4 ? UINT32_MAX : 0,
                               .threads = config->threads,
                               .device = names[i],
                               .vram_bytes = is_card ? config->vram_limit_bytes : 0};
    }
    *options =
        (pm_engine_options){.struct_bytes = (uint32_t)sizeof *options,
                            .n_devices = n_devices,
                            .devices = devices,
                            .gpu_library = config->library[0] != '\0' ? config->library : NULL,
                            .host_bytes = host_bytes(config),
                            .safety_margin_bytes = config->safety_margin_bytes,
                            .pinned_bytes = config->pinned_budget_bytes,
                            .journal_path = config->journal ? config->journal_path : NULL,
                            .stored_bytes_max = config->stored_bytes_max,
                            .results_age_ms = config->results_age_ms,
                            .n_results_max = config->n_results_max,
                            .n_jobs_max = config->n_jobs_max,
                            .results_bytes_max = config->results_bytes_max,
                            .n_attempts_max = config->n_attempts_max,
                            .age_ms = config->ageing_ms,
                            .evict_idle_ms = config->eviction_min_idle_ms,
                            .retry_ms = config->retry_ms,
                            .stall_ms = config->stall_ms};
}

/* ---- Differences ---------------------------------------------------------------------------- */

static bool same_list(const struct config_entry *entry, const char *a, const char *b) {
    char *const *list_a = (char *const *)(a + entry->offset);
    char *const *list_b = (char *const *)(b + entry->offset);
    for (uint32_t i = 0; i < entry->list_max; i++) {
        if (!pm_same_text(list_a[i], list_b[i])) {
            return false;
        }
    }
    return true;
}

static bool same_value(const struct config_entry *entry, const char *a, const char *b) {
    size_t n_bytes;
    switch (entry->kind) {
    case CONFIG_TEXT:
    case CONFIG_FILE:
        return pm_same_text(*(char *const *)(a + entry->offset),
                            *(char *const *)(b + entry->offset));
    case CONFIG_LIST:
        return same_list(entry, a, b);
    case CONFIG_FLAG:
        n_bytes = sizeof(bool);
        break;
    case CONFIG_SIZE:
    case CONFIG_DURATION:
        n_bytes = sizeof(uint64_t);
        break;
    default:
        n_bytes = sizeof(uint32_t);
        break;
    }
    return memcmp(a + entry->offset, b + entry->offset, n_bytes) == 0;
}

void pm_config_restart_keys(const struct pm_config *a, const struct pm_config *b, char *out,
                            size_t n_bytes) {
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < pm_config_n_entries; i++) {
        const struct config_entry *entry = &pm_config_entries[i];
        const bool is_followed =
            strcmp(entry->section, "logging") == 0 || strcmp(entry->section, "srs") == 0;
        if (is_followed || same_value(entry, (const char *)a, (const char *)b)) {
            continue;
        }
        const int n = snprintf(out + used, n_bytes - used, "%s%s.%s", used > 0 ? ", " : "",
                               entry->section, entry->key);
        if (n < 0 || (size_t)n >= n_bytes - used) {
            out[used] = '\0';
            return;
        }
        used += (size_t)n;
    }
}
