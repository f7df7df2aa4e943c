/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * cli/cli.h - what the command's files share.
 *
 * main() reads the command line into a pm_cli, finds the verb and runs it. A verb returns a
 * pm_status and leaves the sentence in cli->error; main() prints it, and one table (cli_report.c)
 * turns the status into the exit code. Results go to stdout, everything else to stderr.
 */
#ifndef PM_CLI_CLI_H
#define PM_CLI_CLI_H

#include <proofmill/proofmill.h>

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---------------------------------------------------------------------------------------------
 * Files, options, verbs
 * ------------------------------------------------------------------------------------------- */

/* What a file on the command line is for. */
enum pm_cli_role {
    PM_ROLE_ZKEY,
    PM_ROLE_WITNESS,
    PM_ROLE_PROOF,
    PM_ROLE_PUBLIC,
    PM_ROLE_VKEY,
    PM_ROLE_R1CS,
    PM_ROLE_PTAU,
    PM_ROLE_SOLIDITY,
    PM_ROLE_KEY_JSON,
    PM_ROLE_FILE,
    PM_ROLE_COUNT
};

#define PM_CLI_SLOTS_MAX 4

/* A verb's place for a file. */
struct pm_cli_slot {
    enum pm_cli_role role;
    const char *placeholder; /* "ZKEY" */
    const char *file;        /* taken when the place is left empty; NULL: must be given */
};

/* Groups of options that a verb takes. */
enum pm_cli_group {
    PM_GROUP_ALL = 1,       /* --json --quiet --verbose --help */
    PM_GROUP_COMPUTE = 2,   /* --threads --arithmetic --timeout --stats */
    PM_GROUP_PROVE = 4,     /* --no-self-verify */
    PM_GROUP_KEY = 8,       /* --load --check --cache */
    PM_GROUP_DIGEST = 16,   /* --digest */
    PM_GROUP_VERSION = 32,  /* --version, without a verb */
    PM_GROUP_SETUP = 64,    /* --insecure-known-tau --format */
    PM_GROUP_FILES = 128,   /* named files; the verb's slots say which */
    PM_GROUP_CIRCUIT = 256, /* --r1cs, for a verb that has no place for it */
    PM_GROUP_MEMORY = 512,  /* --mem --form --residency --b2 */
    PM_GROUP_REPORT = 1024, /* --memory --trace */
    PM_GROUP_PLAN = 2048,   /* --sizes --caller-vectors */
    PM_GROUP_DEVICE = 4096, /* --device --vram-limit */
    PM_GROUP_PLOT = 8192    /* --svg */
};
#define PM_GROUP_LAST PM_GROUP_PLOT

struct pm_cli;

struct pm_cli_verb {
    const char *name;    /* "export vkey" */
    const char *summary; /* NULL: another spelling, left out of the overview */
    const char *description;
    struct pm_cli_slot slots[PM_CLI_SLOTS_MAX];
    size_t n_slots;
    bool many; /* any number of words after the verb, at least one, instead of slots */
    uint32_t groups;
    pm_status (*run)(struct pm_cli *cli);
};

struct pm_cli_option {
    const char *name;
    char letter; /* or 0 */
    uint32_t group;
    int role;             /* of a named file, or -1 */
    const char *argument; /* placeholder, NULL for a switch; "[=X]": may be left out */
    const char *summary;  /* NULL: another spelling, left out of the help */
};

/* A step of the run and its time. */
struct pm_cli_step {
    const char *name;
    uint64_t start_ns, wall_ns;
};

#define PM_CLI_STEPS_MAX 8

/* So much memory, and who says so. */
struct pm_cli_allowance {
    uint64_t bytes; /* UINT64_MAX: nothing bounds it */
    char by[64];    /* "--mem allows", "MemAvailable leaves" */
};

/* What the environment says; NULL: nothing. */
struct pm_cli_environment {
    const char *device;      /* PROOFMILL_DEVICE */
    const char *no_gpu;      /* PROOFMILL_NO_GPU */
    const char *gpu_library; /* PROOFMILL_GPU_LIBRARY */
};

struct pm_cli {
    const struct pm_cli_verb *verb;
    bool drop_in; /* called as prover or verifier */

    const char *files[PM_ROLE_COUNT]; /* by role; NULL: not given */
    const char **words;               /* what is no option; after the verb is found, what follows */
    size_t n_words;
    uint32_t seen_groups[PM_GROUP_LAST + 1]; /* by group: index + 1 of an option that was given */
    uint64_t seen_options;                   /* bit i: the i-th option has been given a value */

    uint32_t threads, arithmetic, load, check, key_format;
    uint32_t seed; /* with known_tau */
    uint32_t timeout_s;
    uint64_t mem_bytes;                   /* 0: not given */
    const char *mem_text;                 /* as it was given */
    uint32_t form, residency, b2;         /* as pm_vector_form, pm_key_residency, pm_b2_schedule */
    const char *trace_path;               /* NULL: none */
    const char *svg_path;                 /* NULL: none */
    const char *sizes_text, *device_text; /* --sizes and --device; NULL: not given */
    const char *vram_text;                /* --vram-limit as it was given */
    uint64_t vram_bytes;                  /* 0: not given */
    struct pm_cli_environment environment;
    const char *device;      /* as pm_cli_choose_device() leaves it; NULL: the CPU */
    const char *device_from; /* the variable that asked for it; NULL: an option, or nobody */
    const char *system_root; /* where /proc and /sys stand: "", or a folder in tests */
    struct pm_cli_allowance allowance;
    int verbosity;
    bool memory_table; /* --memory */
    bool caller_vectors;
    bool json, quiet, stats, no_self_verify, digest, cache, known_tau, help, version;

    pm_context *context; /* NULL until pm_cli_start() */
    pm_control control;
    pm_error error;
    json_t *result; /* what --json prints; always there */

    uint64_t start_ns;
    struct pm_cli_step steps[PM_CLI_STEPS_MAX];
    size_t n_steps;
    pm_prove_stats prove_stats;
    uint64_t phase_bytes[PM_PHASES_MAX]; /* live at the end of each; 0: not known */
    uint64_t n_constraints;              /* 0: not known */

    uint64_t progress_start_ns; /* of the count that is running, and where it stands */
    uint64_t progress_done, progress_total;
    bool drawn;
};

/* cli_options.c: reads options and words; assigns words to the verb's slots once it is known. */
pm_status pm_cli_read_arguments(struct pm_cli *cli, int n, char **arguments);
pm_status pm_cli_assign_files(struct pm_cli *cli);
extern const struct pm_cli_option pm_cli_option_table[];
extern const size_t pm_cli_n_options;
/* The distance at which a misspelt word is still recognised; SIZE_MAX beyond it. */
size_t pm_cli_likeness(const char *word, const char *candidate);

/* "2GiB", "512M", "1.5G", bytes: K M G T with or without iB are powers of 1024, KB MB GB TB powers
 * of 1000. False for anything else, and for none. */
bool pm_cli_read_size(const char *text, uint64_t *bytes);
#define PM_CLI_SIZE_CHARS 24
/* "1.25 GiB", for people. Returns text. */
const char *pm_cli_size_text(uint64_t bytes, char text[PM_CLI_SIZE_CHARS]);

/* cli_verbs.c: finds the verb in the leading words and takes them away. */
pm_status pm_cli_find_verb(struct pm_cli *cli);
const struct pm_cli_verb *pm_cli_verb_named(const char *name);
extern const struct pm_cli_verb pm_cli_verb_table[];
extern const size_t pm_cli_n_verbs;

/* cmd_remote.c: the index among the arguments of a verb that proofmilld has; 0: it is none. */
int pm_cli_remote_word(int n, char **arguments);
/* Becomes proofmilld, with the verb first; returns only when that cannot be. Errors: IO (it is not
 * there), NO_MEMORY. */
pm_status pm_cli_execute_remote(struct pm_cli *cli, int n, char **arguments, int verb);

/* The verb that --insecure-known-tau makes of `setup`. */
#define PM_CLI_SETUP_KNOWN "setup --insecure-known-tau"

/* The verbs, cmd_*.c. */
pm_status pm_cmd_prove(struct pm_cli *cli);
pm_status pm_cmd_plan(struct pm_cli *cli);
pm_status pm_cmd_simulate(struct pm_cli *cli);
pm_status pm_cmd_verify(struct pm_cli *cli);
pm_status pm_cmd_setup(struct pm_cli *cli);
pm_status pm_cmd_setup_known(struct pm_cli *cli);
pm_status pm_cmd_info(struct pm_cli *cli);
pm_status pm_cmd_devices(struct pm_cli *cli);
pm_status pm_cmd_check_file(struct pm_cli *cli);
pm_status pm_cmd_check(struct pm_cli *cli);
pm_status pm_cmd_export_vkey(struct pm_cli *cli);
pm_status pm_cmd_export_solidity(struct pm_cli *cli);
pm_status pm_cmd_export_calldata(struct pm_cli *cli);
pm_status pm_cmd_export_json(struct pm_cli *cli);
pm_status pm_cmd_remote(struct pm_cli *cli);
pm_status pm_cmd_help(struct pm_cli *cli);
pm_status pm_cmd_version(struct pm_cli *cli);

/* ---------------------------------------------------------------------------------------------
 * Running
 * ------------------------------------------------------------------------------------------- */

/* cli_main.c: from here on Ctrl-C is a request to stop. Called when the inputs have been read:
 * until then there is nothing to tidy up, and the signal's default ends a wait for standard input
 * at once. */
void pm_cli_listen_for_signals(void);
/* The signal that asked us to stop, or 0. */
int pm_cli_signal(void);

/* cli_report.c */
/* One thread, unless --threads says otherwise, for work on so few bytes: it is over before another
 * thread has woken. 0: not known. Comes before pm_cli_start(). */
void pm_cli_choose_threads(struct pm_cli *cli, uint64_t input_bytes);
/* Makes the context and the control. */
pm_status pm_cli_start(struct pm_cli *cli);
/* The caller's mistake: INVALID_ARGUMENT, exit code 2. */
__attribute__((format(printf, 2, 3))) pm_status pm_cli_usage(struct pm_cli *cli, const char *format,
                                                             ...);
/* An error of the command's own. */
__attribute__((format(printf, 4, 5))) pm_status
pm_cli_fail(struct pm_cli *cli, pm_status status, const char *file, const char *format, ...);
/* A line on stderr unless --quiet, and an entry of "warnings". */
__attribute__((format(printf, 2, 3))) void pm_cli_warn(struct pm_cli *cli, const char *format, ...);
/* A line on stderr under -v. */
__attribute__((format(printf, 2, 3))) void pm_cli_note(struct pm_cli *cli, const char *format, ...);
/* Text for stdout; nothing under --json. */
__attribute__((format(printf, 2, 3))) void pm_cli_print(const struct pm_cli *cli,
                                                        const char *format, ...);
/* A string whose bytes may be anything, as JSON. */
json_t *pm_cli_json_string(const char *string);
/* Ends a step that began at start_ns. */
void pm_cli_step_done(struct pm_cli *cli, const char *name, uint64_t start_ns);
/* At most one of the paths may be "-". */
pm_status pm_cli_one_stream(struct pm_cli *cli, const char *const *paths, size_t n,
                            const char *stream);
/* Fails early, before an hour of work, when the folder of an output cannot be written to. */
pm_status pm_cli_check_output(struct pm_cli *cli, const char *path);
/* Prints statistics, the error or the JSON result, and gives the exit code. */
int pm_cli_finish(struct pm_cli *cli, pm_status status);
/* Exit codes in order, for the help: false after the last. */
bool pm_cli_exit_code(size_t i, int *code, const char **sentence);

/* A line on stderr unless --quiet. */
__attribute__((format(printf, 2, 3))) void pm_cli_say(struct pm_cli *cli, const char *format, ...);

/* cli_device.c */
/* 0, false, no, off or nothing; 1, true, yes, on: in any case. False for any other word. */
bool pm_cli_read_switch(const char *word, bool *on);
/* The device for a verb that takes --device, from the options or else from the environment. Errors:
 * INVALID_ARGUMENT, which names the variable. */
pm_status pm_cli_choose_device(struct pm_cli *cli);

/* cli_key.c: opens the file of role ZKEY: a zkey, or bellman's parameters, which to prove with need
 * the constraint system of role R1CS. */
pm_status pm_cli_open_key(struct pm_cli *cli, bool to_prove, pm_key **key);

/* cli_admit.c: how much memory a proof may take, by --mem or by what cgroup and machine leave.
 * OVER_BUDGET with both numbers when it cannot be enough. */
/* Fills in cli->allowance. */
void pm_cli_find_allowance(struct pm_cli *cli);
/* What a run holds beside its proof. */
struct pm_cli_beside {
    uint32_t threads;
    uint64_t key_file_bytes; /* counted where --load read takes them into memory */
    uint64_t key_memory_bytes, input_bytes, n_public;
    uint64_t pinned_bytes; /* page-locked, for a card */
};
struct pm_proof_plan;
/* What a plan takes of that, on all of its devices. */
uint64_t pm_cli_pinned_bytes(const struct pm_proof_plan *plan);
uint64_t pm_cli_beside_bytes(const struct pm_cli *cli, const struct pm_cli_beside *beside);
/* OVER_BUDGET, with the allowance. */
pm_status pm_cli_refuse_memory(struct pm_cli *cli, const char *path, uint64_t need_bytes);
/* Of a regular file; 0: none, or not that. */
uint64_t pm_cli_file_bytes(const char *path);
/* Before the key is read. */
pm_status pm_cli_admit_key(struct pm_cli *cli);
/* Before the witness is. *memory_bytes is for pm_prove_options; 0: nothing bounds it. */
pm_status pm_cli_admit_proof(struct pm_cli *cli, const pm_key *key, const pm_key_facts *facts,
                             uint64_t *memory_bytes);

/* cli_memory.c: what a run holds beside the buffers of its proof. */
struct pm_cli_holdings {
    uint64_t key_mapped_bytes, key_memory_bytes, json_bytes;
};
/* Remembers for --stats what each phase of prove_stats held, and for the JSON result what each of
 * several devices did. report may be NULL. */
void pm_cli_keep_phase_bytes(struct pm_cli *cli, const pm_report *report);
/* Prints the tables, or adds "memory" to the JSON result. */
void pm_cli_memory(struct pm_cli *cli, const pm_report *report,
                   const struct pm_cli_holdings *holdings);
/* Host bytes of a plan that stay with the key, and all during a step. */
uint64_t pm_cli_resident_host_bytes(const struct pm_proof_plan *plan);
uint64_t pm_cli_planned_host_bytes(const struct pm_proof_plan *plan, uint32_t step);
/* The index of the pool that is a card's memory; UINT32_MAX when the plan is for none. */
uint32_t pm_cli_device_pool(const struct pm_proof_plan *plan);

/* cli_trace.c: *text is freed by the caller. */
pm_status pm_cli_trace_text(struct pm_cli *cli, const pm_report *report, char **text);

/* cli_progress.c: the line on the terminal. */
void pm_cli_progress(void *user, const char *phase, uint64_t done, uint64_t total);
void pm_cli_progress_clear(struct pm_cli *cli);

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t pm_cli_now_ns(void);

/* What PM_INSECURE_* flags say of a key, in words; NULL when there are none. */
const char *pm_cli_insecurity(uint32_t flags);

#endif
