/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/config.h - what the daemon is told: a TOML file, and options that go before it.
 *
 * Every key has a default, and a laptop needs no file at all. A key that is not known, a value of
 * the wrong kind or out of range is an error that names file and line. Names are those of the cuzk
 * daemon's sections where they mean the same.
 */
#ifndef PM_DAEMON_CONFIG_H
#define PM_DAEMON_CONFIG_H

#include <proofmill/engine.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define PM_CONFIG_LISTEN_MAX 8
#define PM_CONFIG_KEYS_MAX 256
#define PM_CONFIG_DEVICES_MAX PM_ENGINE_DEVICES_MAX
#define PM_CONFIG_ENTRIES_MAX 64

/* A key that is registered when the daemon starts. Strings are the config's. */
struct pm_config_key {
    char *name, *path;
    char *r1cs_path; /* NULL: none */
    uint32_t check;  /* a pm_check */
    bool preload;
    bool has_digest;
    uint8_t digest[64];
    uint32_t line; /* where it stands; 0: not in a file */
};

struct pm_config {
    char *path;                            /* of the file; NULL: there is none */
    uint32_t lines[PM_CONFIG_ENTRIES_MAX]; /* where values stand in it; 0: they do not */

    /* [daemon] */
    char *listen[PM_CONFIG_LISTEN_MAX]; /* "unix:///path", "127.0.0.1:9820", "[::1]:9820" */
    uint32_t n_listen;
    char *status_listen;  /* HTTP; "" : none. Default "127.0.0.1:9821" */
    bool insecure_listen; /* TCP beyond loopback without TLS, HTTP beyond loopback */
    char *state_dir;      /* "": nobody said, and there is no home */
    char *journal_path;   /* state_dir/journal; follows state_dir */
    uint64_t drain_timeout_ms;
    bool restart_on_hang; /* end with EX_TEMPFAIL when a card hangs, so that guardian or manager
                             starts the daemon anew: nothing else frees such a card */
    bool guardian;        /* serve in a process of its own, which is started again after a fault */

    /* [tls] Files in PEM; all NULL: no TLS. client_ca makes clients show a certificate. */
    char *tls_certificate, *tls_key, *tls_client_ca;

    /* [rpc] */
    uint64_t message_limit_bytes; /* 0: "auto", as is the other; what comes of them: */
    uint64_t upload_limit_bytes;
    uint64_t message_bytes_max; /* of one message; at most 256 MiB when nobody says */
    uint64_t upload_bytes_max;  /* of inputs on their way in, all together; taken off the budget;
                                   at most 512 MiB and an eighth of it when nobody says */
    uint32_t n_threads;         /* that run calls, and as many that read files */
    uint32_t n_connections_max;
    uint32_t n_calls_max;      /* under way at a time, those that wait for proofs included */
    bool allow_paths_over_tcp; /* inputs and keys by path for callers that are not local */

    /* [memory]; sizes as integers or "5GiB" */
    uint64_t total_budget_bytes;  /* 0: "auto" */
    uint64_t safety_margin_bytes; /* 0: "auto" */
    uint64_t pinned_budget_bytes; /* 0: "unlimited" */
    uint64_t eviction_min_idle_ms;

    /* [gpus] */
    char *devices[PM_CONFIG_DEVICES_MAX]; /* "auto", "cpu", "cuda:0"; default "auto" */
    uint32_t n_devices;
    uint32_t workers_per_device;
    uint32_t threads;          /* of each device's team; 0: all */
    uint64_t vram_limit_bytes; /* 0: what is free, less a twentieth */
    char *library;             /* libproofmill-gpu; "": found */
    uint64_t stall_ms;

    /* [scheduler] */
    uint32_t n_jobs_max;
    uint32_t n_attempts_max;
    uint64_t ageing_ms, retry_ms;

    /* [journal] */
    bool journal;              /* false: nothing is kept */
    uint64_t stored_bytes_max; /* 0: "auto" */
    uint64_t results_age_ms, results_bytes_max;
    uint32_t n_results_max;

    /* [logging] */
    pm_log_level log_level;

    /* [srs] */
    char *param_cache; /* where paths of keys that do not begin with / are; "": where it runs */

    /* [[key]] */
    struct pm_config_key *keys;
    uint32_t n_keys;
};

/* Where the daemon listens and the client looks when nobody says otherwise:
 * "unix:///run/proofmill/proofmill.sock" for root, else below $XDG_RUNTIME_DIR, else below
 * /tmp/proofmill-UID. Environment values are handed in, as only mains read them; NULL: unset. */
pm_status pm_config_default_address(const char *runtime_dir, char *out, size_t n_bytes,
                                    pm_error *error);

/* Defaults alone. state_home: $XDG_STATE_HOME, home: $HOME; NULL: unset. Free with
 * pm_config_free(). */
pm_status pm_config_init(struct pm_config *config, const char *runtime_dir, const char *state_home,
                         const char *home, pm_error *error);
/* Reads a file on top of what is there. Nothing changes on error: ENCODING (a syntax error, an
 * unknown key, a bad value; the sentence has file, line and key), IO, LENGTH, COUNT, NO_MEMORY. */
pm_status pm_config_read(struct pm_config *config, const char *path, pm_error *error);
/* The same from memory; name stands for the file in sentences. */
pm_status pm_config_parse(struct pm_config *config, const char *text, size_t n_bytes,
                          const char *name, pm_error *error);
/* Sets one key as an option of the command line does: "daemon.listen" (adds to the list, which
 * clear empties first), "daemon.state_dir", "memory.total_budget", ... The sentence begins with
 * option. Errors: INVALID_ARGUMENT, NO_MEMORY. */
pm_status pm_config_set(struct pm_config *config, const char *key, const char *value, bool clear,
                        const char *option, pm_error *error);
/* Adds a key, or gives the one of that name another file. Errors: INVALID_ARGUMENT, NO_MEMORY. */
pm_status pm_config_set_key(struct pm_config *config, const char *name, const char *path,
                            const char *option, pm_error *error);
/* What no single key shows: addresses, TLS files that go together, TCP that is not loopback without
 * certificates of both sides or insecure_listen. Errors: ENCODING for what stands in the file, with
 * its line, INVALID_ARGUMENT for the rest. */
pm_status pm_config_check(const struct pm_config *config, pm_error *error);
/* Whether files of [tls], and those of keys, can be opened. Errors: IO. */
pm_status pm_config_check_files(const struct pm_config *config, bool with_keys, pm_error *error);
/* A sentence about what is allowed and cannot be meant, or "". */
void pm_config_doubt(const struct pm_config *config, char *out, size_t n_bytes);
/* "1.5 GiB", "64 MiB", "3 bytes": for people. */
#define PM_CONFIG_SHORT_CHARS 32
void pm_config_short_size(uint64_t bytes, char text[PM_CONFIG_SHORT_CHARS]);
/* Every key with its value, and a comment that says what it does: a file that reads back as this
 * config. */
pm_status pm_config_print(const struct pm_config *config, FILE *out, pm_error *error);
/* Whether another configuration needs another start: "" if not, else names of keys that differ, as
 * "daemon.listen, gpus.devices". Keys ([[key]]) and the level of the log do not. */
void pm_config_restart_keys(const struct pm_config *a, const struct pm_config *b, char *out,
                            size_t n_bytes);
/* A key's file, param_cache before it where that is so. False: longer than n_bytes. */
bool pm_config_key_path(const struct pm_config *config, const char *path, char *out,
                        size_t n_bytes);
/* The engine's options; strings stay the config's. devices has room for PM_CONFIG_DEVICES_MAX. What
 * "auto" means is found out here: cards, free memory. */
void pm_config_engine_options(const struct pm_config *config, pm_engine_device *devices,
                              pm_engine_options *options);
void pm_config_free(struct pm_config *config);

#endif
