/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/config_table.c - every key of the configuration, its bounds, default and meaning. */
#include "daemon/config_internal.h"

#include <string.h>

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define PIB (UINT64_C(1) << 50)
#define SECOND UINT64_C(1000)
#define MINUTE (60 * SECOND)
#define DAY (24 * 60 * MINUTE)
#define YEAR (365 * DAY)

#define AT(field) .offset = offsetof(struct pm_config, field)
#define LIST_AT(field, count)                                                                      \
    .offset = offsetof(struct pm_config, field), .count_offset = offsetof(struct pm_config, count)
#define KEY_AT(field) .offset = offsetof(struct pm_config_key, field)

const struct config_entry pm_config_entries[] = {
    {"daemon", "listen", CONFIG_LIST, LIST_AT(listen, n_listen), .list_max = PM_CONFIG_LISTEN_MAX,
     .what = "Where gRPC is served: \"unix:///path\" (mode 0600), \"127.0.0.1:9820\", "
             "\"[::1]:9820\";\none of them, or an array."},
    {"daemon", "status_listen", CONFIG_TEXT, AT(status_listen),
     .what = "Where HTTP is served: /metrics, /status, /healthz and a page. \"\": nowhere."},
    {"daemon", "insecure_listen", CONFIG_FLAG, AT(insecure_listen),
     .what = "Whether other machines may connect without certificates: whoever reaches such an\n"
             "address may prove, cancel and look on."},
    {"daemon", "state_dir", CONFIG_TEXT, AT(state_dir),
     .what = "The daemon's own folder, with the journal in it. One daemon at a time."},
    {"daemon", "drain_timeout", CONFIG_DURATION, AT(drain_timeout_ms), .most = DAY,
     .initial = MINUTE,
     .what = "How long a stop waits for jobs. Those that have not ended then stay in the journal\n"
             "and go on when the daemon is started again."},
    {"daemon", "restart_on_hang", CONFIG_FLAG, AT(restart_on_hang),
     .what =
         "Whether the serving process ends with exit code 75 when a card hangs, so that the\n"
         "guardian starts it anew, or without one the system's manager: nothing but the end of\n"
         "the process frees such a card."},
    {"daemon", "guardian", CONFIG_FLAG, AT(guardian), .initial = 1,
     .what =
         "Whether a second process, small and without cards, stands by and starts the one that\n"
         "serves again when a fault ends it. false: for debuggers."},

    {"tls", "certificate", CONFIG_FILE, AT(tls_certificate),
     .what = "The server's certificate with its chain, a file in PEM. \"\": no TLS."},
    {"tls", "key", CONFIG_FILE, AT(tls_key), .what = "The key of that certificate, in PEM."},
    {"tls", "client_ca", CONFIG_FILE, AT(tls_client_ca),
     .what = "Who signs the certificates that clients must show. \"\": they show none."},

    {"rpc", "max_message", CONFIG_SIZE, AT(message_limit_bytes), .least = 64 * KIB,
     .most = INT32_MAX, .zero = "auto",
     .what = "The most bytes of one message. Larger witnesses are sent in chunks, or by path.\n"
             "\"auto\": 256 MiB, or half of max_upload if that is less."},
    {"rpc", "max_upload", CONFIG_SIZE, AT(upload_limit_bytes), .least = MIB, .most = PIB,
     .zero = "auto",
     .what = "The most bytes of messages and uploads on their way in, all together, of which a\n"
             "quarter, or 32 MiB, is for messages alone; off memory.total_budget.\n"
             "\"auto\": 512 MiB, or an eighth of the budget if that is less."},
    {"rpc", "threads", CONFIG_COUNT, AT(n_threads), .least = 1, .most = 256, .initial = 8,
     .what =
         "Threads that answer calls, as many again for calls that read whole files, and as many\n"
         "for calls about keys."},
    {"rpc", "max_connections", CONFIG_COUNT, AT(n_connections_max), .least = 1, .most = 65536,
     .initial = 256, .what = "Connections at a time."},
    {"rpc", "max_calls", CONFIG_COUNT, AT(n_calls_max), .least = 1, .most = 1000000,
     .initial = 1024,
     .what = "Calls under way at a time, those that wait for proofs included. A connection has at\n"
             "most three for each that it leaves to others."},
    {"rpc", "allow_paths_over_tcp", CONFIG_FLAG, AT(allow_paths_over_tcp),
     .what = "Whether callers over TCP may name files of this machine, as those over a unix\n"
             "socket may."},

    {"memory", "total_budget", CONFIG_SIZE, AT(total_budget_bytes), .least = MIB, .most = PIB,
     .zero = "auto",
     .what = "Memory for proofs and keys: \"64GiB\". \"auto\": what cgroup and machine leave free\n"
             "at the start, less safety_margin."},
    {"memory", "safety_margin", CONFIG_SIZE, AT(safety_margin_bytes), .least = 1, .most = PIB,
     .zero = "auto", .what = "What \"auto\" leaves alone: \"5GiB\". \"auto\": a twentieth."},
    {"memory", "pinned_budget", CONFIG_SIZE, AT(pinned_budget_bytes), .least = 1, .most = PIB,
     .zero = "unlimited",
     .what = "Page-locked memory. It is part of total_budget; \"unlimited\": no bound of its own."},
    {"memory", "eviction_min_idle", CONFIG_DURATION, AT(eviction_min_idle_ms), .most = YEAR,
     .what = "A key leaves memory for another once nobody has used it for so long: \"5m\". Jobs\n"
             "with other keys wait for that. \"0s\": when its bytes are needed."},

    {"gpus", "devices", CONFIG_LIST, LIST_AT(devices, n_devices), .list_max = PM_CONFIG_DEVICES_MAX,
     .what = "What proves: \"cpu\", \"cuda:0\", ... \"auto\": every card, or the CPU if there is "
             "none."},
    {"gpus", "gpu_workers_per_device", CONFIG_COUNT, AT(workers_per_device), .least = 1, .most = 4,
     .initial = 2, .what = "Proofs at a time on each: while one computes, others read and finish."},
    {"gpus", "gpu_threads", CONFIG_COUNT, AT(threads), .most = 4096,
     .what = "CPU threads of each device. 0: all."},
    {"gpus", "vram_limit", CONFIG_SIZE, AT(vram_limit_bytes), .least = MIB, .most = PIB,
     .zero = "auto",
     .what = "The most of each card's memory: \"40GiB\". \"auto\": what is free, less a "
             "twentieth."},
    {"gpus", "library", CONFIG_TEXT, AT(library),
     .what = "libproofmill-gpu. \"\": where the system's loader finds it."},
    {"gpus", "stall_timeout", CONFIG_DURATION, AT(stall_ms), .least = SECOND, .most = YEAR,
     .initial = 10 * MINUTE, .what = "A card that is at one step of a proof for so long hangs."},

    {"scheduler", "max_jobs", CONFIG_COUNT, AT(n_jobs_max), .least = 1, .most = 1000000,
     .initial = 4096, .what = "Jobs that have not ended, at most; others are refused."},
    {"scheduler", "max_attempts", CONFIG_COUNT, AT(n_attempts_max), .least = 1, .most = 8,
     .initial = 3, .what = "How often a proof is tried when devices or memory fail."},
    {"scheduler", "ageing", CONFIG_DURATION, AT(ageing_ms), .least = 1, .most = YEAR,
     .initial = MINUTE,
     .what = "Who has waited for so long takes turns with jobs of higher priority."},
    {"scheduler", "retry_delay", CONFIG_DURATION, AT(retry_ms), .least = 1, .most = DAY,
     .initial = SECOND, .what = "Before a second attempt; doubled for each after it."},

    {"journal", "enabled", CONFIG_FLAG, AT(journal), .initial = 1,
     .what = "Whether jobs outlive the process. Without it, a crash loses what was accepted."},
    {"journal", "max_stored", CONFIG_SIZE, AT(stored_bytes_max), .least = MIB, .most = PIB,
     .zero = "auto",
     .what =
         "The most bytes of inputs that came with calls. \"auto\": 8 GiB, and an eighth of the\n"
         "budget when they are kept in memory because enabled is false."},
    {"journal", "results_age", CONFIG_DURATION, AT(results_age_ms), .least = SECOND,
     .most = 10 * YEAR, .initial = 7 * DAY, .what = "How long outcomes can be asked for,"},
    {"journal", "max_results", CONFIG_COUNT, AT(n_results_max), .least = 1, .most = 10000000,
     .initial = 10000, .what = "how many of them, the latest,"},
    {"journal", "max_results_bytes", CONFIG_SIZE, AT(results_bytes_max), .least = MIB, .most = PIB,
     .initial = 64 * MIB, .what = "and how many bytes of them."},

    {"logging", "level", CONFIG_LEVEL, AT(log_level), .initial = PM_LOG_INFO,
     .what = "What is said on stderr: \"warning\", \"info\" or \"debug\"."},

    {"srs", "param_cache", CONFIG_TEXT, AT(param_cache),
     .what = "Where paths of keys that do not begin with / are looked up. \"\": in the folder in\n"
             "which the daemon was started."},
};
_Static_assert(sizeof pm_config_entries / sizeof pm_config_entries[0] <= PM_CONFIG_ENTRIES_MAX,
               "each has a line");
const size_t pm_config_n_entries = sizeof pm_config_entries / sizeof pm_config_entries[0];

const struct config_entry pm_config_key_entries[] = {
    {"key", "name", CONFIG_TEXT, KEY_AT(name),
     .what = "The name that jobs use: letters, digits and -_.:"},
    {"key", "path", CONFIG_TEXT, KEY_AT(path), .what = "A .zkey, or bellman's .params."},
    {"key", "r1cs", CONFIG_FILE, KEY_AT(r1cs_path),
     .what = "Beside .params: the constraint system. \"\": jobs bring a, b and c."},
    {"key", "check", CONFIG_CHECK, KEY_AT(check),
     .what = "What is checked each time it is opened: \"none\", \"fast\" (points on the curve) or\n"
             "\"full\" (in the subgroup too)."},
    {"key", "preload", CONFIG_FLAG, KEY_AT(preload),
     .what = "Whether it is brought into memory at the start."},
    {"key", "digest", CONFIG_DIGEST, KEY_AT(digest),
     .count_offset = offsetof(struct pm_config_key, has_digest),
     .what =
         "BLAKE2b-512 of the file, in hex, as `proofmill info --digest` prints it. \"\": it is\n"
         "computed."},
};
const size_t pm_config_n_key_entries =
    sizeof pm_config_key_entries / sizeof pm_config_key_entries[0];

const char *pm_config_foreign(const char *section, const char *key) {
    static const struct {
        const char *section, *key, *why;
    } foreign[] = {
        {"srs", "preload", "keys are [[key]] tables, and preload = true stands in them"},
        {"memory", "working_memory_budget", "keys and proofs share memory.total_budget"},
        {"synthesis", "", "jobs bring witnesses or assignments, and nothing is synthesised"},
        {"pipeline", "", "jobs are admitted by their bytes, so that there is nothing to tune"},
        {"scheduler", "max_batch_size", "parts of jobs are interleaved, never batched"},
        {"scheduler", "max_batch_wait_ms", "parts of jobs are interleaved, never batched"},
        {"scheduler", "sort_by_type", "jobs with the same key are grouped always"},
        {"logging", "format", "lines are plain text, with the levels that systemd reads"},
    };
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        if (strcmp(section, foreign[i].section) == 0 &&
            (foreign[i].key[0] == '\0' || strcmp(key, foreign[i].key) == 0)) {
            return foreign[i].why;
        }
    }
    return NULL;
}
