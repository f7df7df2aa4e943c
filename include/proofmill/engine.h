/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * proofmill/engine.h - many proofs at a time, by bytes: libproofmill-engine.
 *
 *   1. Start:      pm_engine_create()        devices, budgets, a journal
 *   2. Keys:       pm_engine_key_register()  a name for a proving key's file
 *   3. Jobs:       pm_engine_submit()        a key's name and a witness
 *   4. Proofs:     pm_engine_await(), pm_engine_result()
 *   5. Stop:       pm_engine_drain(), pm_engine_destroy()
 *
 * The rules of proofmill.h hold, but that structs may change from version to version, as those of
 * experimental.h do. What is particular here:
 *
 * - Memory. A job is admitted when what its plan says it will hold fits what the budget has left,
 *   in every pool, beside the keys that are in use. It gives back what it no longer needs as it
 *   goes. A job that could never fit is refused when it is submitted, with the numbers.
 *
 * - Keys are cold (a file), warm (open in this process) or hot (on a device too). They come when a
 *   job needs them and leave, the least recently used first, when others need their bytes; never
 *   while a job uses them.
 *
 * - Nothing leaves unverified. Every proof is verified against the key's verifying key, with the
 *   public signals of the witness, before anybody can ask for it. One that does not verify is made
 *   again, on another device if there is one.
 *
 * - Nothing is lost. With a journal, a job is on disk before pm_engine_submit() returns its number,
 *   and its outcome is before anybody is told of it. After a crash, a kill or a loss of power the
 *   next pm_engine_create() on the same folder goes on with what was accepted. Each job has one
 *   outcome, once.
 *
 * - Nothing is done twice. A request id that is known already, with the same key and inputs, is the
 *   job there is: its proof is given out again, and never computed again. With another key or other
 *   inputs it is refused. After a job has failed or was cancelled its request id is free again.
 *
 * - Witnesses are named by path, or handed over as bytes. A file must be complete when it is
 *   submitted and must stay as it is until the job has ended: its digest is taken when it is
 *   submitted, and a job whose file has changed since fails. Whoever computes witnesses in parallel
 *   must know that their generator may be: many are not re-entrant.
 *
 * - Threads. Any thread may make any call at any time, but for pm_engine_destroy(), which is the
 *   last one.
 */
#ifndef PROOFMILL_ENGINE_H
#define PROOFMILL_ENGINE_H

#include <proofmill/proofmill.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PM_ENGINE_NAME_BYTES 128 /* of keys and request ids, the NUL included */
#define PM_ENGINE_DEVICES_MAX 16
#define PM_ENGINE_PARTS_MAX 4096

typedef struct pm_engine pm_engine;

/* ---------------------------------------------------------------------------------------------
 * Start and stop
 * ------------------------------------------------------------------------------------------- */

typedef struct pm_engine_device {
    uint32_t struct_bytes;
    uint32_t n_workers;  /* proofs under way at a time, so that one reads or finishes while the
                            other computes; 0: 2 */
    uint32_t n_express;  /* and so many more for HIGH and CRITICAL; 0: 1 for the CPU, else
                            none; UINT32_MAX: none. Together with n_workers at most 4 */
    uint32_t threads;    /* of its team; 0: as many as pm_threads_available() */
    const char *device;  /* "cpu" or "cuda:N", as in pm_context_options; one card each */
    uint64_t vram_bytes; /* the most of its memory to use; 0: what is free, less a twentieth */
} pm_engine_device;

typedef struct pm_engine_options {
    uint32_t struct_bytes;
    uint32_t n_devices;              /* 0: the CPU */
    const pm_engine_device *devices; /* n_devices of them */
    const char *gpu_library;         /* as in pm_context_options */
    /* Memory of this process for proofs and keys. 0: what cgroup and machine leave free now, less
     * safety_margin_bytes (0: a twentieth of it). */
    uint64_t host_bytes;
    uint64_t safety_margin_bytes;
    uint64_t pinned_bytes; /* page-locked memory; 0: not counted */
    /* A folder of the engine's own, made with mode 0700 if it is missing; NULL: nothing is kept,
     * and whoever accepted a job loses it with the process. */
    const char *journal_path;
    uint64_t stored_bytes_max; /* of inputs handed over as bytes; 0: 8 GiB with a journal, without
                                  one an eighth of host_bytes, which is taken off it */
    /* How long outcomes are kept, beside the budget; 0: 7 days, 10000 jobs, 64 MiB. Time in which
     * no engine runs counts as long as the machine has not been started anew. */
    uint64_t results_age_ms;
    uint32_t n_results_max;
    uint32_t n_jobs_max; /* that have not ended; 0: 4096 */
    uint64_t results_bytes_max;
    uint32_t n_attempts_max; /* of a part, then its job fails; 0: 3 */
    uint32_t reserved;
    uint64_t age_ms;        /* who has waited so long takes turns with higher ones; 0: a minute */
    uint64_t evict_idle_ms; /* a key may be evicted once nobody has used it for so long */
    uint64_t retry_ms;      /* before a second attempt, doubled for each after it; 0: a second */
    uint64_t stall_ms;      /* a card that is at one step for so long hangs; 0: 10 minutes */
    /* From any thread; it must not call the engine, and waits for nothing. NULL: none. */
    void (*log)(void *user, pm_log_level level, const char *sentence);
    void *user;
    /* Asked while the engine is created, as reading the journal's keys takes as long as their disks
     * do, and not kept. When it ends that, the journal is as it was. NULL: none. */
    const pm_control *control;
} pm_engine_options;

/* options may be NULL. Jobs of the journal that have not ended are queued again. Errors:
 * INVALID_ARGUMENT, those of pm_context_create(), IO (the journal cannot be written, or another
 * engine has it), ENCODING (it is damaged: see pm_engine_salvage()), VERSION (it is a later
 * proofmill's), NO_MEMORY, CANCELLED, DEADLINE. */
PM_API pm_status pm_engine_create(const pm_engine_options *options, pm_engine **engine,
                                  pm_error *error);
/* Takes no more jobs, and returns when all have ended; DEADLINE after timeout_ms (0: waits for as
 * long as it takes). Submitting is refused from then on, whatever is returned. */
PM_API pm_status pm_engine_drain(pm_engine *engine, uint64_t timeout_ms, pm_error *error);
/* Takes no more jobs and stops those that run at once. Jobs that have not ended stay in the
 * journal, for the next engine; without a journal they end cancelled. Everybody who waits is sent
 * away with CANCELLED. Everything that has ended can still be asked for. */
PM_API void pm_engine_stop(pm_engine *engine);
/* Stops, joins every thread, frees everything. NULL is fine. A thread that a hung card keeps (see
 * stall_ms) is not waited for: it is left, and all memory of the engine with it; the journal's
 * folder can be used by another engine. */
PM_API void pm_engine_destroy(pm_engine *engine);

typedef struct pm_engine_salvaged {
    uint32_t struct_bytes;
    uint32_t was_damaged;  /* 0: nothing has been changed, and all else is 0 */
    uint32_t n_keys;       /* carried over; their files are read once more by the next engine */
    uint32_t n_jobs;       /* carried over whole, */
    uint32_t n_open;       /* and of these: have not ended, and go on with the next engine */
    uint32_t n_lost;       /* are not whole any more, and have failed */
    char damaged_file[64]; /* what the damaged journal is called now, within its folder */
} pm_engine_salvaged;

/*
 * A journal that pm_engine_create() says is damaged (ENCODING): what can still be read of it makes
 * another one, in its place; the damaged one stays beside it, and no page of it is written. Rows
 * are read page by page, those of damaged pages are missing, and those whose seal is broken count
 * as damaged. A job that is not whole is on record as failed, so that whoever waits for it is told;
 * one of which nothing at all is left is no longer known. A kill or a loss of power leaves the one
 * or the other, never something between. lost: at most *n_lost numbers of jobs that failed so,
 * *n_lost how many were filled; both may be NULL. Errors: INVALID_ARGUMENT, IO (there is no
 * journal; an engine has it; it cannot be read or written), VERSION (it is a later proofmill's),
 * NO_MEMORY.
 */
PM_API pm_status pm_engine_salvage(const char *journal_path, pm_engine_salvaged *salvaged,
                                   uint64_t *lost, uint32_t *n_lost, pm_error *error);

/* ---------------------------------------------------------------------------------------------
 * Keys
 * ------------------------------------------------------------------------------------------- */

typedef struct pm_engine_key {
    uint32_t struct_bytes;
    uint32_t check;        /* a pm_check, each time the key is opened */
    const char *name;      /* letters, digits and -_.: */
    const char *path;      /* a .zkey, or bellman's .params */
    const char *r1cs_path; /* beside .params: the constraint system; NULL: inputs bring a, b, c */
    /* BLAKE2b-512 of the file, if it is known: 64 bytes. NULL: it is computed, which reads the file
     * once, unless the journal has it from before and the file has not been touched since. */
    const uint8_t *digest;
    uint32_t must_fit; /* not 0: a key that no proof could ever be made with here is refused, with
                          the numbers, and what had its name stays */
    uint32_t reserved;
} pm_engine_key;

/*
 * Gives a key a name. Its file is opened, checked as pm_key_open() does, and closed again; what a
 * proof with it takes is planned for each device. What opening it takes is reserved meanwhile:
 * where there is no room now, it waits for that. The journal remembers it. A name that is known
 * stays what it is if the file is the same and was not written to since; with another one it is
 * replaced, if no job uses it; keys are registered one at a time, and waiting for the turn ends by
 * the control as well. Keys are mapped: a program installs pm_guard_install() against files
 * that shrink. Its file may be replaced by another while it is in use, and must not be changed in
 * place. Errors: those of pm_key_open() and pm_key_open_params(), OVER_BUDGET (opening it takes
 * more than there is in all, with the numbers; see must_fit), BUDGET_BUSY (it is in use),
 * FILE_CHANGED (the digest is another one), COUNT (too many keys), CANCELLED, DEADLINE (control);
 * with must_fit, also why no device can make a proof.
 */
PM_API pm_status pm_engine_key_register(pm_engine *engine, const pm_engine_key *key,
                                        const pm_control *control, pm_error *error);
/* Brings it into the process before anybody asks for it, and returns when it is there.
 * *already (may be NULL): it was. Errors: INVALID_ARGUMENT (no such key), OVER_BUDGET, DEADLINE
 * (after timeout_ms; 0: as long as it takes), those of opening it, CANCELLED (the engine stops). */
PM_API pm_status pm_engine_key_preload(pm_engine *engine, const char *name, uint64_t timeout_ms,
                                       int *already, pm_error *error);
/* Takes it out of the devices' and the process's memory. *freed_bytes (may be NULL) of the process;
 * 0: it was not there. Errors: INVALID_ARGUMENT (no such key), BUDGET_BUSY (in use), DEADLINE,
 * CANCELLED. */
PM_API pm_status pm_engine_key_evict(pm_engine *engine, const char *name, uint64_t timeout_ms,
                                     uint64_t *freed_bytes, pm_error *error);
/* Forgets a name. Errors: INVALID_ARGUMENT (no such key), BUDGET_BUSY (jobs use it). */
PM_API pm_status pm_engine_key_forget(pm_engine *engine, const char *name, pm_error *error);

typedef enum pm_engine_tier {
    PM_ENGINE_HOT = 0,  /* on a device */
    PM_ENGINE_WARM = 1, /* open in this process */
    PM_ENGINE_COLD = 2
} pm_engine_tier;

typedef struct pm_engine_key_info {
    uint32_t struct_bytes;
    uint32_t tier;  /* a pm_engine_tier */
    uint32_t curve; /* a pm_curve_id */
    uint32_t log_n, n_public;
    uint32_t n_users;     /* jobs that have it in use now */
    uint32_t device_mask; /* bit d: hot on device d */
    int32_t status;       /* PM_OK, or why it could not be opened the last time */
    uint64_t n_vars;
    uint64_t bytes;       /* of the process while it is warm */
    uint64_t proof_bytes; /* of the process during a proof, witness included; 0: cannot be */
    uint64_t idle_ms;     /* since it was used last */
    uint64_t n_loads, n_evictions;
    uint64_t load_ns;         /* that opening it took the last time */
    uint64_t opening_ns;      /* for so long it is being opened already; 0: it is not */
    uint64_t warm_ms, hot_ms; /* for so long it is open, and on a device; 0: it is not */
    uint8_t digest[64];
    char name[PM_ENGINE_NAME_BYTES];
    char path[256]; /* shortened from the left */
} pm_engine_key_info;

/* Fills at most *n infos (their struct_bytes are set here) and says in *n how many keys there are.
 * infos may be NULL to ask. */
PM_API pm_status pm_engine_keys(pm_engine *engine, pm_engine_key_info *infos, uint32_t *n);

/* One of them. Errors: INVALID_ARGUMENT (no such key). */
PM_API pm_status pm_engine_key_find(pm_engine *engine, const char *name, pm_engine_key_info *info,
                                    pm_error *error);

/* A step of a proof, and what is reserved for it while it runs, the key's own bytes not counted. */
typedef struct pm_engine_plan_step {
    char name[16];      /* "read", "prove", "finish", "verify" */
    uint32_t stage;     /* a pm_engine_stage */
    uint32_t on_worker; /* it keeps a worker of the device; else any thread does it */
    uint64_t host_bytes, pinned_bytes, device_bytes;
} pm_engine_plan_step;

/* The steps of one proof with this key on this device, in order, as the scheduler counts them: of a
 * witness, or where the key has no matrices of an assignment with a, b and c. Fills at most *n and
 * says in *n how many there are. steps may be NULL to ask. Errors: INVALID_ARGUMENT (no such key or
 * device), and why there can be no proof with it there. */
PM_API pm_status pm_engine_key_plan(pm_engine *engine, const char *name, uint32_t device,
                                    pm_engine_plan_step *steps, uint32_t *n, pm_error *error);

/* ---------------------------------------------------------------------------------------------
 * Jobs
 * ------------------------------------------------------------------------------------------- */

typedef enum pm_engine_priority {
    PM_ENGINE_DEFAULT = 0, /* NORMAL */
    PM_ENGINE_LOW = 1,
    PM_ENGINE_NORMAL = 2,
    PM_ENGINE_HIGH = 3,
    PM_ENGINE_CRITICAL = 4
} pm_engine_priority;

/* What one proof is made from: one of path and bytes. */
typedef struct pm_engine_input {
    const char *path;  /* a .wtns or a .pmasg; as seen from this process */
    const void *bytes; /* the same in memory; copied before the call returns */
    uint64_t n_bytes;
} pm_engine_input;

typedef struct pm_engine_request {
    uint32_t struct_bytes;
    uint32_t priority;             /* a pm_engine_priority */
    const char *key;               /* its name */
    const char *request_id;        /* NULL or "": none */
    const pm_engine_input *inputs; /* one for each part of the proof, */
    uint32_t n_inputs;             /* which are proved in any order and given out in this one */
    uint32_t reserved;
    uint64_t timeout_ms; /* from now; then the job fails with DEADLINE. 0: none */
} pm_engine_request;

/*
 * *job is the job's number, never 0. *known (may be NULL): the request id was known, and this is
 * its job. Reads every input once, for its digest. control: for that. Errors: INVALID_ARGUMENT (no
 * such key; malformed; the request id is known with another key or other inputs), WITNESS_MISMATCH
 * (larger than any of this key; others are found out when they are read, and fail the job),
 * OVER_BUDGET (it can never fit), BUDGET_BUSY (too many jobs, or too many stored bytes, now),
 * NO_DEVICE (all are quarantined), IO (an input cannot be read; or the journal cannot be written,
 * and then the job is not accepted), those of opening inputs, CANCELLED, DEADLINE.
 */
PM_API pm_status pm_engine_submit(pm_engine *engine, const pm_engine_request *request,
                                  const pm_control *control, uint64_t *job, int *known,
                                  pm_error *error);

typedef enum pm_engine_state {
    PM_ENGINE_QUEUED = 0,
    PM_ENGINE_PREPARING = 1, /* admitted: the key or a witness is being read */
    PM_ENGINE_PROVING = 2,
    PM_ENGINE_FINISHING = 3, /* the devices have done their part; verification included */
    PM_ENGINE_DONE = 4,
    PM_ENGINE_FAILED = 5,
    PM_ENGINE_CANCELLED = 6
} pm_engine_state;
PM_API const char *pm_engine_state_name(pm_engine_state state);          /* "queued", ... */
PM_API const char *pm_engine_priority_name(pm_engine_priority priority); /* "low", ... */

typedef struct pm_engine_job {
    uint32_t struct_bytes;
    uint32_t state; /* a pm_engine_state: as far as any of its parts has come */
    uint64_t job;
    uint32_t priority;
    uint32_t n_parts, n_parts_done;
    uint32_t n_public;     /* of each part */
    uint32_t curve;        /* of its proofs */
    uint32_t n_retries;    /* of all parts together */
    uint32_t n_ahead;      /* jobs that have their turn before it, while it is queued */
    int32_t status;        /* of a job that has failed: why; PM_CANCELLED for one that was */
    int32_t device;        /* that proves or has proved a part last; -1: none yet */
    uint32_t is_permanent; /* of a failed one: the same again would fail again */
    int64_t accepted_ms, ended_ms; /* of the wall clock, for people; 0: not yet */
    /* queue_ns until it begins; key_ns that it waited for its key to be opened, 0 when that was
     * there; the others are sums over the parts. Of a job that an earlier engine has ended they
     * are as its journal has them; where it has none, all but total_ns are 0. */
    uint64_t queue_ns, key_ns, prepare_ns, prove_ns, finish_ns, total_ns;
    /* While it is PROVING: where the part is that has said so last; total 0: not known. */
    uint64_t phase_done, phase_total;
    char phase[32];
    char key[PM_ENGINE_NAME_BYTES];
    char request_id[PM_ENGINE_NAME_BYTES];
    char waits_for[128]; /* while it is QUEUED: why it, or its next part, does not begin, for
                            people; else "" */
    char message[512];   /* why it failed; "" */
    char history[512];   /* what failed on the way: "cuda:0: the device failed; ..." */
} pm_engine_job;

/* Errors: INVALID_ARGUMENT (no such job: never, or its result is no longer kept). */
PM_API pm_status pm_engine_job_info(pm_engine *engine, uint64_t job, pm_engine_job *info,
                                    pm_error *error);
/* The job of a request id. */
PM_API pm_status pm_engine_find(pm_engine *engine, const char *request_id, uint64_t *job,
                                pm_error *error);
/* Jobs with numbers above `after`, in order: at most *n infos; *n is how many were filled. */
PM_API pm_status pm_engine_jobs(pm_engine *engine, uint64_t after, pm_engine_job *infos,
                                uint32_t *n);

typedef struct pm_engine_part {
    uint32_t part;       /* its number within the job, from 0 */
    uint32_t state;      /* a pm_engine_state */
    int32_t device;      /* that proves it, or did last; -1: none yet, or not on record */
    uint32_t worker;     /* of that device */
    uint32_t n_attempts; /* that failed */
    int32_t status;      /* of the last one that failed; OK: none has */
    /* Of all attempts together, the step that runs now included; verifying counts as finishing. */
    uint64_t prepare_ns, prove_ns, finish_ns;
} pm_engine_part;

/* Parts first .. of a job, in order: at most *n; *n is how many were filled, 0 behind the last.
 * In a job that has ended, a part that is not DONE is as its job. What an earlier engine did is not
 * on record: state alone then. Errors: INVALID_ARGUMENT (no such job). */
PM_API pm_status pm_engine_job_parts(pm_engine *engine, uint64_t job, uint32_t first,
                                     pm_engine_part *parts, uint32_t *n, pm_error *error);
/*
 * Waits until the job has ended, well or not: then OK, and info (may be NULL) says how. Errors:
 * DEADLINE (after timeout_ms; 0: as long as it takes), CANCELLED (control, or the engine stops),
 * INVALID_ARGUMENT (no such job). control may be NULL.
 */
PM_API pm_status pm_engine_await(pm_engine *engine, uint64_t job, uint64_t timeout_ms,
                                 const pm_control *control, pm_engine_job *info, pm_error *error);
/* The same, and calls watch for each change it sees, the first time at once, the last time when it
 * has ended; never under a lock. watch returning non-zero ends the wait: CANCELLED, for the caller
 * alone. */
typedef int pm_engine_watcher(void *user, const pm_engine_job *info);
PM_API pm_status pm_engine_watch(pm_engine *engine, uint64_t job, uint64_t timeout_ms,
                                 pm_engine_watcher *watch, void *user, pm_error *error);
/* A job that has not ended is cancelled: what waits at once, what runs within a second.
 * *was_running (may be NULL): some of it was being worked on. Cancelling what has ended changes
 * nothing. Errors: INVALID_ARGUMENT (no such job), IO (the journal). */
PM_API pm_status pm_engine_cancel(pm_engine *engine, uint64_t job, int *was_running,
                                  pm_error *error);
/* Proofs first .. first + n - 1 of a job that is DONE. publics (may be NULL): n times n_public
 * values of PM_FR_BYTES, canonical. Errors: INVALID_ARGUMENT (no such job or parts), BUDGET_BUSY
 * (it has not ended), CANCELLED and the job's own status (it has ended otherwise). */
PM_API pm_status pm_engine_result(pm_engine *engine, uint64_t job, uint32_t first, uint32_t n,
                                  pm_proof *proofs, void *publics, pm_error *error);

/* ---------------------------------------------------------------------------------------------
 * What goes on
 * ------------------------------------------------------------------------------------------- */

typedef struct pm_engine_device_info {
    uint32_t struct_bytes;
    uint32_t is_quarantined;
    uint32_t n_workers, n_express;
    uint32_t n_busy; /* workers with a proof; and proofs that hang while they are finished */
    int32_t status;  /* why it was quarantined */
    uint32_t n_hung; /* proofs that it was given up for and that have not come back */
    uint32_t reserved;
    uint64_t total_bytes,
        reserved_bytes; /* of its memory; total 0: the process's, or not counted */
    uint64_t busy_ns;   /* in which at least one worker was computing */
    uint64_t held_ns;   /* of a card: in which a proof had it to itself; counted once it is
                           finished */
    uint64_t n_proofs, n_faults;
    uint64_t jobs[8]; /* of its workers; 0: idle */
    char name[64];    /* "cpu", "cuda:0" */
    char model[256];  /* what it calls itself, or "" */
} pm_engine_device_info;

PM_API pm_status pm_engine_devices(pm_engine *engine, pm_engine_device_info *infos, uint32_t *n);
/* A device that was quarantined is opened anew and given work again. Errors: INVALID_ARGUMENT (no
 * such device), BUDGET_BUSY (proofs on it have not ended yet), those of pm_context_create(). */
PM_API pm_status pm_engine_device_restore(pm_engine *engine, uint32_t device, pm_error *error);

#define PM_ENGINE_POOLS_MAX 18
#define PM_ENGINE_BUCKETS 24
typedef struct pm_engine_pool {
    char name[16];        /* "host", "pinned", "vram:0" */
    uint64_t total_bytes; /* UINT64_MAX: not counted */
    uint64_t reserved_bytes, peak_bytes;
} pm_engine_pool;

typedef enum pm_engine_stage {
    PM_ENGINE_STAGE_QUEUE, /* from being accepted to the first start */
    PM_ENGINE_STAGE_KEY,   /* opening keys */
    PM_ENGINE_STAGE_PREPARE,
    PM_ENGINE_STAGE_PROVE,
    PM_ENGINE_STAGE_FINISH,
    PM_ENGINE_STAGE_VERIFY,
    PM_ENGINE_STAGE_JOB, /* from being accepted to the end */
    PM_ENGINE_STAGES
} pm_engine_stage;
PM_API const char *pm_engine_stage_name(pm_engine_stage stage);

/* buckets[i]: how many took at most 2^i milliseconds and more than half of that; the last one: all
 * that took longer. */
typedef struct pm_engine_histogram {
    uint64_t n, sum_ns;
    uint64_t buckets[PM_ENGINE_BUCKETS];
} pm_engine_histogram;

#define PM_ENGINE_CAUSES 100
typedef struct pm_engine_metrics {
    uint32_t struct_bytes;
    uint32_t n_pools;
    uint64_t uptime_ns;
    /* Since the start of this engine. */
    uint64_t n_submitted, n_known, n_refused; /* accepted anew; known already; not accepted */
    uint64_t n_recovered;                     /* taken over from the journal */
    uint64_t n_done, n_failed, n_cancelled, n_expired;
    uint64_t n_proofs, n_retries;
    uint64_t n_wrong_proofs; /* of devices that computed wrongly: withheld, and the part was made
                                well afterwards */
    uint64_t n_key_loads, n_key_evictions;
    uint64_t n_failed_by[PM_ENGINE_CAUSES]; /* by pm_status */
    /* Now. */
    uint32_t n_queued[5]; /* by pm_engine_priority */
    uint32_t n_running;   /* jobs */
    uint32_t n_kept;      /* outcomes */
    uint32_t is_draining;
    uint32_t n_threads;
    uint32_t journal_is_failing; /* what it should have written is tried again every second */
    uint64_t stored_bytes, stored_bytes_max;
    uint64_t settled_job;   /* no job with a number up to this one comes any more; above it one may
                               that is still put on record, while there are later ones */
    uint64_t kept_bytes;    /* of outcomes, in memory, beside the budget */
    uint64_t proving_bytes; /* what proofs under way hold of host memory, of what is reserved */
    pm_engine_pool pools[PM_ENGINE_POOLS_MAX];
    pm_engine_histogram stages[PM_ENGINE_STAGES];
} pm_engine_metrics;

PM_API pm_status pm_engine_metrics_now(pm_engine *engine, pm_engine_metrics *metrics);

typedef enum pm_engine_event_kind {
    PM_ENGINE_EVENT_JOB = 1,    /* changed its state */
    PM_ENGINE_EVENT_BEGIN = 2,  /* a worker begins a stage of a part, */
    PM_ENGINE_EVENT_END = 3,    /* and ends it: status says how */
    PM_ENGINE_EVENT_KEY = 4,    /* came (status OK), could not come, or went (tier COLD) */
    PM_ENGINE_EVENT_DEVICE = 5, /* was quarantined, or restored (status OK) */
    PM_ENGINE_EVENT_JOURNAL = 6 /* fails, or works again (status OK) */
} pm_engine_event_kind;

typedef struct pm_engine_event {
    uint32_t struct_bytes;
    uint32_t kind; /* a pm_engine_event_kind */
    uint64_t sequence;
    uint64_t at_ns;  /* CLOCK_MONOTONIC */
    int64_t wall_ms; /* for people */
    uint64_t job;    /* 0: none */
    uint32_t part;
    int32_t device; /* -1: none */
    uint32_t worker;
    uint32_t stage; /* a pm_engine_stage */
    uint32_t state; /* JOB: a pm_engine_state; KEY: a pm_engine_tier */
    int32_t status;
    /* END of PM_ENGINE_STAGE_FINISH, well, on a card: when the proof had the card to itself, of
     * CLOCK_MONOTONIC. 0: not so. */
    uint64_t taken_ns, left_ns;
    char key[PM_ENGINE_NAME_BYTES];
} pm_engine_event;

/*
 * The first event with a sequence above `after` (0: the oldest that is remembered; UINT64_MAX: the
 * next one from now on). The last 4096 are remembered: a gap in the sequence says that some were
 * missed. Errors: DEADLINE (none within timeout_ms; 0: does not wait), CANCELLED (the engine
 * stops).
 */
PM_API pm_status pm_engine_next_event(pm_engine *engine, uint64_t after, uint64_t timeout_ms,
                                      pm_engine_event *event);

#ifdef __cplusplus
}
#endif

#endif /* PROOFMILL_ENGINE_H */
