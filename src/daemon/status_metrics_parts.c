/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "daemon/http.h"

typedef unsigned long long ull;

void pm_metrics_family(struct pm_text *text, const char *name, const char *type, const char *help) {
    pm_text_add(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void pm_metrics_one(struct pm_text *text, const char *name, const char *type, const char *help,
                    uint64_t value) {
    pm_metrics_family(text, name, type, help);
    pm_text_add(text, "%s %llu\n", name, (ull)value);
}

void pm_metrics_label(struct pm_text *text, const char *name, const char *value) {
    char clean[512];
    pm_text_clean(value, clean, sizeof clean);
    pm_text_add(text, "%s=\"", name);
    for (const char *c = clean; *c != '\0'; ++c) {
        if (*c == '\n') {
            pm_text_add(text, "\\n");
        } else {
            pm_text_add(text, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
        }
    }
    pm_text_add(text, "\"");
}

static void add_sample(struct pm_text *text, const char *name, const char *label, const char *value,
                       uint64_t number) {
    pm_text_add(text, "%s{", name);
    pm_metrics_label(text, label, value);
    pm_text_add(text, "} %llu\n", (ull)number);
}

/* ---- Keys ----------------------------------------------------------------------------------- */

static uint64_t key_resident_bytes(const pm_engine_key_info *key) {
    return key->tier == PM_ENGINE_COLD ? 0 : key->bytes;
}
static uint64_t key_proof_bytes(const pm_engine_key_info *key) {
    return key->proof_bytes;
}
static uint64_t key_users(const pm_engine_key_info *key) {
    return key->n_users;
}
static uint64_t key_loads(const pm_engine_key_info *key) {
    return key->n_loads;
}
static uint64_t key_evictions(const pm_engine_key_info *key) {
    return key->n_evictions;
}
static uint64_t key_failing(const pm_engine_key_info *key) {
    return key->status != PM_OK;
}

static void add_tiers(struct pm_text *text, const pm_engine_key_info *keys, uint32_t n_keys) {
    static const char *const names[] = {"hot", "warm", "cold"};
    uint32_t n[3] = {0};
    for (uint32_t k = 0; k < n_keys; ++k) {
        n[keys[k].tier <= PM_ENGINE_COLD ? keys[k].tier : PM_ENGINE_COLD]++;
    }
    pm_metrics_family(text, "proofmill_keys", "gauge",
                      "Registered keys: hot on a device, warm in this process, cold in a file.");
    for (uint32_t t = 0; t < 3; ++t) {
        add_sample(text, "proofmill_keys", "tier", names[t], n[t]);
    }
}

static void add_residency(struct pm_text *text, const pm_engine_key_info *keys, uint32_t n_keys,
                          const pm_engine_device_info *devices, uint32_t n_devices) {
    pm_metrics_family(text, "proofmill_key_hot", "gauge", "1: the key is on this device.");
    for (uint32_t k = 0; k < n_keys; ++k) {
        for (uint32_t d = 0; d < n_devices; ++d) {
            if ((keys[k].device_mask >> d & 1) != 0) {
                pm_text_add(text, "proofmill_key_hot{");
                pm_metrics_label(text, "key", keys[k].name);
                pm_text_add(text, ",");
                pm_metrics_label(text, "device", devices[d].name);
                pm_text_add(text, "} 1\n");
            }
        }
    }
    pm_metrics_family(text, "proofmill_key_load_seconds", "gauge",
                      "What opening the key took the last time.");
    for (uint32_t k = 0; k < n_keys; ++k) {
        pm_text_add(text, "proofmill_key_load_seconds{");
        pm_metrics_label(text, "key", keys[k].name);
        pm_text_add(text, "} %.6f\n", (double)keys[k].load_ns / 1e9);
    }
}

void pm_metrics_keys(struct pm_text *text, const pm_engine_key_info *keys, uint32_t n_keys,
                     const pm_engine_device_info *devices, uint32_t n_devices) {
    static const struct {
        const char *name, *type, *help;
        uint64_t (*value)(const pm_engine_key_info *key);
    } families[] = {
        {"proofmill_key_resident_bytes", "gauge", "Of this process, while the key is not cold.",
         key_resident_bytes},
        {"proofmill_key_proof_bytes", "gauge", "Of this process during a proof with the key.",
         key_proof_bytes},
        {"proofmill_key_users", "gauge", "Jobs that have the key in use.", key_users},
        {"proofmill_key_loads_total", "counter", "How often the key was opened.", key_loads},
        {"proofmill_key_evictions_total", "counter", "How often the key was evicted.",
         key_evictions},
        {"proofmill_key_failing", "gauge", "1: it could not be opened the last time.", key_failing},
    };
    add_tiers(text, keys, n_keys);
    for (size_t f = 0; f < sizeof families / sizeof families[0]; ++f) {
        pm_metrics_family(text, families[f].name, families[f].type, families[f].help);
        for (uint32_t k = 0; k < n_keys; ++k) {
            add_sample(text, families[f].name, "key", keys[k].name, families[f].value(&keys[k]));
        }
    }
    add_residency(text, keys, n_keys, devices, n_devices);
}

/* ---- Devices -------------------------------------------------------------------------------- */

static uint64_t device_workers(const pm_engine_device_info *device) {
    return (uint64_t)device->n_workers + device->n_express;
}
static uint64_t device_busy(const pm_engine_device_info *device) {
    return device->n_busy;
}
static uint64_t device_proofs(const pm_engine_device_info *device) {
    return device->n_proofs;
}
static uint64_t device_faults(const pm_engine_device_info *device) {
    return device->n_faults;
}
static uint64_t device_quarantined(const pm_engine_device_info *device) {
    return device->is_quarantined;
}

static void add_device_memory(struct pm_text *text, const pm_engine_device_info *devices,
                              uint32_t n) {
    static const char total[] = "proofmill_device_memory_bytes";
    static const char reserved[] = "proofmill_device_reserved_bytes";
    pm_metrics_family(text, total, "gauge", "Memory of the device that may be used.");
    for (uint32_t d = 0; d < n; ++d) {
        if (devices[d].total_bytes != 0) {
            add_sample(text, total, "device", devices[d].name, devices[d].total_bytes);
        }
    }
    pm_metrics_family(text, reserved, "gauge", "Memory of the device that is reserved.");
    for (uint32_t d = 0; d < n; ++d) {
        if (devices[d].total_bytes != 0) {
            add_sample(text, reserved, "device", devices[d].name, devices[d].reserved_bytes);
        }
    }
}

static void add_device_time(struct pm_text *text, const char *name, const char *help,
                            const pm_engine_device_info *devices, uint32_t n, bool is_held) {
    pm_metrics_family(text, name, "counter", help);
    for (uint32_t d = 0; d < n; ++d) {
        const uint64_t ns = is_held ? devices[d].held_ns : devices[d].busy_ns;
        pm_text_add(text, "%s{", name);
        pm_metrics_label(text, "device", devices[d].name);
        pm_text_add(text, "} %.6f\n", (double)ns / 1e9);
    }
}

void pm_metrics_devices(struct pm_text *text, const pm_engine_device_info *devices, uint32_t n) {
    static const struct {
        const char *name, *type, *help;
        uint64_t (*value)(const pm_engine_device_info *device);
    } families[] = {
        {"proofmill_device_workers", "gauge", "Workers, those for urgent jobs included.",
         device_workers},
        {"proofmill_device_workers_busy", "gauge", "Workers that are at a proof.", device_busy},
        {"proofmill_device_proofs_total", "counter", "Proofs made and verified.", device_proofs},
        {"proofmill_device_faults_total", "counter", "Faults of the device.", device_faults},
        {"proofmill_device_quarantined", "gauge", "1: given up after faults.", device_quarantined},
    };
    pm_metrics_family(text, "proofmill_device_info", "gauge", "Always 1; labels say what it is.");
    for (uint32_t d = 0; d < n; ++d) {
        pm_text_add(text, "proofmill_device_info{");
        pm_metrics_label(text, "device", devices[d].name);
        pm_text_add(text, ",");
        pm_metrics_label(text, "model", devices[d].model);
        pm_text_add(text, "} 1\n");
    }
    add_device_time(text, "proofmill_device_busy_seconds_total",
                    "Time in which at least one worker was computing.", devices, n, false);
    add_device_time(text, "proofmill_device_held_seconds_total",
                    "Of a card: time in which a proof had it to itself; counted when the proof is "
                    "finished.",
                    devices, n, true);
    for (size_t f = 0; f < sizeof families / sizeof families[0]; ++f) {
        pm_metrics_family(text, families[f].name, families[f].type, families[f].help);
        for (uint32_t d = 0; d < n; ++d) {
            add_sample(text, families[f].name, "device", devices[d].name,
                       families[f].value(&devices[d]));
        }
    }
    add_device_memory(text, devices, n);
}

/* ---- Calls, and the process ----------------------------------------------------------------- */

void pm_metrics_rpc(struct pm_text *text, const struct pm_rpc_counts *counts) {
    static const char *const codes[17] = {"OK",
                                          "CANCELLED",
                                          "UNKNOWN",
                                          "INVALID_ARGUMENT",
                                          "DEADLINE_EXCEEDED",
                                          "NOT_FOUND",
                                          "ALREADY_EXISTS",
                                          "PERMISSION_DENIED",
                                          "RESOURCE_EXHAUSTED",
                                          "FAILED_PRECONDITION",
                                          "ABORTED",
                                          "OUT_OF_RANGE",
                                          "UNIMPLEMENTED",
                                          "INTERNAL",
                                          "UNAVAILABLE",
                                          "DATA_LOSS",
                                          "UNAUTHENTICATED"};
    pm_metrics_one(text, "proofmill_rpc_calls_total", "counter", "Calls that came in.",
                   counts->n_calls);
    pm_metrics_one(text, "proofmill_rpc_refused_total", "counter",
                   "Calls refused because too many were under way.", counts->n_refused);
    pm_metrics_one(text, "proofmill_rpc_under_way", "gauge", "Calls that have not ended.",
                   counts->n_under_way);
    pm_metrics_one(text, "proofmill_rpc_parked", "gauge", "Calls that wait for a job.",
                   counts->n_parked);
    pm_metrics_family(text, "proofmill_rpc_ended_total", "counter", "Calls that ended, by code.");
    for (uint32_t c = 0; c < 17; ++c) {
        add_sample(text, "proofmill_rpc_ended_total", "code", codes[c], counts->n_by_code[c]);
    }
}

/* Under the names that every exporter gives them. */
void pm_metrics_process(struct pm_text *text) {
    struct pm_process_usage usage;
    pm_process_usage_now(&usage);
    pm_metrics_one(text, "process_resident_memory_bytes", "gauge", "Resident memory.",
                   usage.resident_bytes);
    pm_metrics_one(text, "process_virtual_memory_bytes", "gauge", "Virtual memory.",
                   usage.virtual_bytes);
    pm_metrics_family(text, "process_cpu_seconds_total", "counter",
                      "Processor time of all threads.");
    pm_text_add(text, "process_cpu_seconds_total %.3f\n", (double)usage.cpu_ns / 1e9);
    pm_metrics_one(text, "process_open_fds", "gauge", "Open file descriptors.", usage.n_fds);
    pm_metrics_one(text, "process_max_fds", "gauge", "The most of them.", usage.n_fds_max);
    pm_metrics_one(text, "process_threads", "gauge", "Threads.", usage.n_threads);
    pm_metrics_one(text, "proofmill_resident_peak_bytes", "gauge",
                   "The most resident memory since the start.", usage.resident_peak_bytes);
}
