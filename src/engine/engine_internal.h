/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * engine/engine_internal.h - the engine's state, and who does what with it.
 *
 *     engine.c           options, create, drain, stop, destroy
 *     engine_device.c    contexts, pools, quarantine
 *     engine_key.c       the registry: names, files, digests; loading and leaving
 *     engine_curve.c     from a proof's plan to the memory that a task reserves
 *     engine_input.c     inputs: digests, stored bytes, opening
 *     engine_submit.c    jobs come in; request ids
 *     engine_recover.c   jobs come back from the journal
 *     engine_job.c       what is known of a job; await, watch, cancel, result
 *     engine_end.c       outcomes: to the journal, to those who wait, kept and forgotten
 *     engine_work.c      threads: decisions are carried out
 *     engine_step.c      one step of one part
 *     engine_watch.c     metrics and events
 *
 * One lock guards everything but what a running step owns. The policy decides under it; steps, key
 * loads and the journal run without it. Memory is given up before the scheduler is told so: what it
 * has reserved is never less than what is there.
 */
#ifndef PM_ENGINE_ENGINE_INTERNAL_H
#define PM_ENGINE_ENGINE_INTERNAL_H

#include "engine/journal.h"
#include "sched/policy.h"
#include "sched/sched.h"

#include <proofmill/engine.h>
#include <proofmill/experimental.h>
#include <proofmill/proofmill.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define PM_ENGINE_KEYS_MAX 256
/* Of keys in the scheduler: one more, for the room that opening one takes. */
#define PM_ENGINE_PLACES (PM_ENGINE_KEYS_MAX + 1)
#define PM_ENGINE_EVENTS 4096
#define PM_ENGINE_PATH_BYTES 1024
#define PM_ENGINE_HISTORY_BYTES 512
#define PM_ENGINE_THREADS_MAX 256
#define PM_ENGINE_DROPPED_MAX 256
/* Engines that may end in the middle of one job before it is given up. */
#define PM_ENGINE_BEGUN_MAX 8
/* How often a wait looks at its control. */
#define PM_ENGINE_LOOK_MS 50
/* Ways in which inputs give a proof its scalars and vectors: each has curves of its own. */
#define PM_ENGINE_SHAPES 6

/* The steps of a task, as engine_curve.c has them. */
enum engine_step {
    PM_ENGINE_STEP_READ,
    PM_ENGINE_STEP_PROVE,
    PM_ENGINE_STEP_FINISH,
    PM_ENGINE_STEP_VERIFY,
    PM_ENGINE_STEPS
};

/* ---- What tests put in the place of the machine --------------------------------------------- */

struct pm_engine_hooks {
    void *user;
    /* A context in place of the device's own; *is_card and *vram_bytes (UINT64_MAX: not counted)
     * say what it is. NULL: pm_context_create(). */
    pm_status (*context)(void *user, uint32_t device, pm_context **context, bool *is_card,
                         uint64_t *vram_bytes, pm_error *error);
    /* The wall clock in milliseconds. NULL: the system's. */
    int64_t (*wall_ms)(void *user);
    /* A key is about to be opened for proofs; under no lock. NULL: nobody needs to know. */
    void (*opening)(void *user);
    /* A proof is about to be finished on a device; under no lock. NULL: nobody needs to know. */
    void (*finishing)(void *user, bool is_on_card);
};
pm_status pm_engine_create_with(const pm_engine_options *options,
                                const struct pm_engine_hooks *hooks, pm_engine **engine,
                                pm_error *error);

/* ---- Devices -------------------------------------------------------------------------------- */

struct engine_device {
    pm_context *context;
    bool is_card;
    uint32_t n_workers, n_express, n_threads;
    uint64_t vram_bytes, asked_vram_bytes;
    uint32_t n_running; /* steps that compute on it */
    uint64_t busy_since_ns, busy_ns, held_ns;
    uint64_t n_proofs, n_faults;
    pm_status status;     /* why it was quarantined */
    bool was_quarantined; /* as last seen */
    bool is_reopening;
    char name[64], model[256];
};

/* ---- Keys ----------------------------------------------------------------------------------- */

/* Curves of one shape of inputs: one a device, NULL where it cannot be; those that are equal are
 * one. */
struct engine_curves {
    bool is_made;
    pm_status status; /* why there is none at all */
    char why[256];
    uint64_t need_bytes, have_bytes;           /* 0: it is not for want of them */
    pm_status statuses[PM_ENGINE_DEVICES_MAX]; /* why there is none for a device */
    struct pm_sched_curve *curve[PM_ENGINE_DEVICES_MAX];
    pm_plan_options choices[PM_ENGINE_DEVICES_MAX];
};

struct engine_key {
    uint32_t index;  /* in the scheduler */
    uint32_t n_jobs; /* that have not ended */
    char name[PM_ENGINE_NAME_BYTES];
    char path[PM_ENGINE_PATH_BYTES], r1cs_path[PM_ENGINE_PATH_BYTES];
    uint32_t check;
    bool is_params, is_streamed;
    uint8_t digest[PM_JOURNAL_KEY_DIGEST_BYTES];
    struct pm_journal_file file;
    pm_key_facts facts;
    pm_circuit_sizes sizes;
    uint64_t bytes, device_bytes;
    struct engine_curves curves[PM_ENGINE_SHAPES];
    /* While it is warm. */
    pm_key *key;
    pm_vk *vk;
    pm_status status; /* of the last load */
    char message[256];
    uint64_t n_loads, n_load_ends, n_evictions, load_ns;
    /* Of CLOCK_MONOTONIC, as far as the scheduler says that it is so. */
    uint64_t opening_since_ns, warm_since_ns, hot_since_ns[PM_ENGINE_DEVICES_MAX];
};

/* ---- Jobs ----------------------------------------------------------------------------------- */

struct engine_part {
    /* What it is made from. */
    char *path; /* NULL: bytes */
    void *bytes;
    uint64_t n_bytes;
    bool is_stored, is_assignment;
    bool has_file; /* file is what it was when its digest was taken */
    uint8_t shape;
    uint8_t digest[PM_JOURNAL_DIGEST_BYTES];
    struct pm_journal_file file;
    /* While it is worked on: its step's, or the lock's when no step runs. */
    pm_witness *witness;
    pm_assignment_file *assignment;
    pm_pending *pending;
    volatile int cancel; /* atomic */
    bool is_overdue;     /* its device is taken for hung */
    uint32_t wrong_mask; /* devices whose proofs of it did not verify */
    uint64_t step_began_ns;
    uint64_t taken_ns, left_ns; /* CLOCK_MONOTONIC: when it had a card to itself; 0: it had not */
    /* For who asks: where it is or was, and what of its attempts failed. */
    int32_t device;
    uint32_t worker, n_attempts;
    pm_status status;
    uint64_t step_ns[PM_ENGINE_STEPS];
    /* What came of it. */
    bool is_proved;
    pm_proof proof;
    uint8_t *publics; /* n_public values */
};

struct engine_job {
    struct engine_job *next, *previous; /* by number */
    struct engine_job *next_ending;
    uint64_t id;    /* 0: not on record yet */
    uint64_t above; /* its number is or will be above this one */
    char request_id[PM_ENGINE_NAME_BYTES];
    char key_name[PM_ENGINE_NAME_BYTES];
    uint8_t content[PM_JOURNAL_DIGEST_BYTES];
    uint32_t n_references;         /* who waits for it, and the table */
    bool is_recorded, was_refused; /* acknowledged; or its record could not be written */
    bool is_final;                 /* its outcome is on record: it may be told */
    bool is_ending, has_begun;
    pm_engine_state state;   /* a final one, once is_final */
    pm_status status, cause; /* cause: as the step that failed said */
    bool is_permanent;
    uint32_t priority, n_parts, n_public, curve;
    uint32_t sched_job;     /* PM_SCHED_NONE: not in the scheduler */
    struct engine_key *key; /* NULL once it has ended */
    uint64_t change;        /* counts what a watcher would see */
    const char *phase;      /* of the part that last said how far it is; static; NULL: none has */
    uint64_t phase_done, phase_total;
    int32_t device;
    uint32_t n_retries;
    uint64_t deadline_at_ns, accepted_at_ns, ended_at_ns;
    int64_t accepted_ms, ended_ms;
    uint64_t stage_ns[PM_ENGINE_STAGES];
    char message[512], history[PM_ENGINE_HISTORY_BYTES];
    struct pm_sched_variant variants[PM_SCHED_VARIANTS_MAX];
    uint32_t n_variants;
    uint32_t *part_of; /* of the scheduler's job: which part each is; n_remaining */
    uint32_t n_remaining;
    struct engine_part *parts;
};

/* ---- Chores: what a decision asks for, beside steps ------------------------------------------ */

enum engine_chore_kind { CHORE_LOAD, CHORE_LOAD_ON_DEVICE, CHORE_EVICT };

struct engine_chore {
    enum engine_chore_kind kind;
    uint32_t key, device;
};

#define PM_ENGINE_CHORES_MAX (PM_ENGINE_KEYS_MAX * (PM_ENGINE_DEVICES_MAX + 2))

/* ---- The engine ----------------------------------------------------------------------------- */

struct engine_limits {
    uint64_t results_age_ns, results_bytes_max, stored_bytes_max, stall_ns;
    uint32_t n_results_max, n_jobs_max, n_tasks_max;
};

struct pm_engine {
    pthread_mutex_t lock;
    pthread_cond_t work;    /* something to do */
    pthread_cond_t changed; /* something to see */
    struct pm_engine_hooks hooks;
    struct engine_limits limits;
    void (*log)(void *user, pm_log_level level, const char *sentence);
    void *log_user;
    struct pm_journal *journal;
    int64_t clock_offset_ns;
    uint64_t began_ns;
    bool is_draining, is_stopping;
    volatile int stop; /* atomic: is_stopping, for controls */

    pm_budget *budget;
    struct pm_sched sched;
    struct pm_sched_key *sched_keys;
    struct pm_sched_job *sched_jobs;
    struct pm_sched_task *sched_tasks;
    struct engine_job **live; /* by the scheduler's number */
    uint64_t until_ns;        /* the policy's next look */

    uint32_t n_devices;
    struct engine_device devices[PM_ENGINE_DEVICES_MAX];
    char *gpu_library; /* a copy; or NULL */
    pm_context *host;  /* what the CPU does beside proofs: a device's, or its own */
    bool owns_host;
    bool is_registering; /* a key: they are registered and forgotten one at a time */
    /* By the scheduler's number. NULL: none, or the room that opening one takes. */
    struct engine_key *keys[PM_ENGINE_PLACES];

    struct engine_job *first, *last; /* by number; those without one are not in it */
    struct engine_job *arriving;     /* not on record yet, by `next` */
    uint64_t last_id;
    uint32_t n_open, n_kept, n_submitting;
    uint64_t kept_bytes, stored_bytes;

    struct engine_chore chores[PM_ENGINE_CHORES_MAX]; /* a ring */
    uint32_t chore_first, n_chores;
    struct engine_job *first_ending, *last_ending;
    uint64_t ending_not_before_ns;
    bool journal_fails;
    uint32_t n_journal_faults; /* in a row */
    /* The last job that came could not be put on record; the last input not be stored. */
    bool arrivals_fail, stores_fail;
    uint64_t probe_not_before_ns;

    pm_pending *dropped[PM_ENGINE_DROPPED_MAX]; /* given up, to be dropped without the lock */
    uint32_t n_dropped, n_undropped; /* of these; and with those that are being dropped */
    uint32_t n_threads, n_thread_ends;
    bool is_abandoned; /* threads are left in steps that do not come back: nothing is freed */
    pthread_t threads[PM_ENGINE_THREADS_MAX];

    pm_engine_metrics metrics;
    uint64_t peak_bytes[PM_POOLS_MAX];
    pm_engine_event *events; /* a ring */
    uint64_t n_events;
};

/* Of the engine's clock. */
uint64_t pm_engine_now_ns(const struct pm_engine *engine);
/* That time on CLOCK_MONOTONIC; 0 for 0. */
uint64_t pm_engine_monotonic_ns(const struct pm_engine *engine, uint64_t at_ns);
int64_t pm_engine_wall_ms(const struct pm_engine *engine);
__attribute__((format(printf, 3, 4))) void
pm_engine_say(const struct pm_engine *engine, pm_log_level level, const char *format, ...);
void pm_engine_lock(struct pm_engine *engine);
void pm_engine_unlock(struct pm_engine *engine);
/* Waits for `changed`, until_ns of CLOCK_MONOTONIC at most (0: for ever). False: it was late. */
bool pm_engine_wait_changed(struct pm_engine *engine, uint64_t until_ns);
/* Now plus timeout_ms on CLOCK_MONOTONIC; 0 for 0. */
uint64_t pm_engine_until_ns(uint64_t timeout_ms);
/* Copies a text that may be too long: its end is kept. */
void pm_engine_copy_tail(char *out, size_t out_bytes, const char *text);

/* engine_device.c */
pm_status pm_engine_open_devices(struct pm_engine *engine, const pm_engine_options *options,
                                 pm_error *error);
void pm_engine_close_devices(struct pm_engine *engine);
/* Under the lock: a step begins or ends computing on it. */
void pm_engine_device_busy(struct pm_engine *engine, uint32_t device, bool begins);
/* Under the lock: says which devices the scheduler has given up since. Whether there are any. */
bool pm_engine_note_quarantine(struct pm_engine *engine, pm_status why);
/* Under the lock: a fault that it was blamed for was not its own. */
void pm_engine_acquit(struct pm_engine *engine, uint32_t device);

/* engine_key.c; find: under the lock, NULL if there is none */
struct engine_key *pm_engine_find_key(struct pm_engine *engine, const char *name);
pm_status pm_engine_restore_key(struct pm_engine *engine, const struct pm_journal_key *key,
                                const pm_control *control, pm_error *error);
void pm_engine_close_keys(struct pm_engine *engine);
/* Under the lock, which is given up while it waits: out of devices and process. control may be
 * NULL. Errors as pm_engine_key_evict(). */
pm_status pm_engine_evict_all(struct pm_engine *engine, const char *name, uint64_t until_ns,
                              const pm_control *control, pm_error *error);
/* Under the lock: it is leaving, and a chore will see to it. */
pm_status pm_engine_begin_evict(struct pm_engine *engine, uint32_t index, uint32_t device,
                                pm_error *error);
/*
 * What opening the key to plan its proofs takes is the budget's as well: waits until there is room,
 * for which idle keys leave, and reserves it. *place is for giving it back; PM_SCHED_NONE: nothing
 * was to be reserved. Under no lock. Errors: OVER_BUDGET, CANCELLED, DEADLINE, those of describing
 * its files.
 */
pm_status pm_engine_reserve_opening(struct pm_engine *engine, const struct engine_key *key,
                                    const pm_control *control, uint32_t *place, pm_error *error);
void pm_engine_give_back_opening(struct pm_engine *engine, uint32_t place);
/* Opens the key's file as it stands; is_params is found out. */
pm_status pm_engine_open_key_file(struct pm_engine *engine, struct engine_key *key,
                                  const pm_control *control, pm_key **open, pm_error *error);
/* Without the lock; what a chore says. */
void pm_engine_load_key(struct pm_engine *engine, uint32_t key);
void pm_engine_load_on_device(struct pm_engine *engine, uint32_t key, uint32_t device);
void pm_engine_drop_key(struct pm_engine *engine, uint32_t key, uint32_t device);
/* Under the lock, which is given up while it waits: keys that are on a device where nothing runs
 * leave it. Errors: BUDGET_BUSY, CANCELLED. */
pm_status pm_engine_leave_device(struct pm_engine *engine, uint32_t device, pm_error *error);
/* Opens a regular file that is not empty, without waiting; on success *fd is the caller's. refusal:
 * what is said when the system does not open it. */
pm_status pm_engine_open_file(const char *path, const char *refusal, int *fd,
                              struct pm_journal_file *file, pm_error *error);
/* The key's constraint system, if it has one, is such a file. */
pm_status pm_engine_check_r1cs(const struct engine_key *key, pm_error *error);
/* A file's facts and digest (PM_JOURNAL_KEY_DIGEST_BYTES or fewer), read through `fd`. */
pm_status pm_engine_file_facts(int fd, const char *path, struct pm_journal_file *file,
                               pm_error *error);
pm_status pm_engine_file_digest(int fd, const char *path, uint64_t n_bytes, uint8_t *digest,
                                size_t digest_bytes, uint8_t head[16], const pm_control *control,
                                pm_error *error);
bool pm_engine_same_file(const struct pm_journal_file *a, const struct pm_journal_file *b);

/* engine_step.c */
pm_engine_stage pm_engine_stage_of(enum engine_step step);

/* engine_curve.c: key's pm_key is open, or was when its sizes were taken. Curves of the shape are
 * made if they have not been. */
pm_status pm_engine_make_curves(struct pm_engine *engine, struct engine_key *key,
                                const pm_key *open, uint32_t shape, pm_error *error);
/* The variants of a job with inputs of this shape. */
uint32_t pm_engine_variants(const struct pm_engine *engine, const struct engine_key *key,
                            uint32_t shape, struct pm_sched_variant *variants);
void pm_engine_free_curves(struct engine_key *key);
/* Why there is no curve of a shape at all: its status. */
pm_status pm_engine_no_curve(const struct engine_curves *curves, pm_error *error);
uint32_t pm_engine_shape(bool is_assignment, bool has_vectors, bool is_montgomery);
/* Of inputs for the key that bring what it does not have itself. */
uint32_t pm_engine_usual_shape(const struct engine_key *key);

/* engine_input.c */
/* Takes one input in: a copy of path or bytes, its digest, its shape; stored if it is to be. A file
 * of more than bytes_max is refused before it is read. */
pm_status pm_engine_take_input(struct pm_engine *engine, const pm_engine_input *input,
                               uint64_t bytes_max, const pm_control *control,
                               struct engine_part *part, pm_error *error);
/* The shape of one whose path is known. */
pm_status pm_engine_find_shape(struct pm_engine *engine, struct engine_part *part, pm_error *error);
/* Opens it for a proof with `key` on the context's curve: witness or assignment of part. */
pm_status pm_engine_open_input(struct pm_engine *engine, pm_context *context,
                               struct engine_part *part, const pm_control *control,
                               pm_error *error);
/* Its public signals, canonical, n of them, to out. */
pm_status pm_engine_read_publics(struct engine_part *part, uint32_t n, uint8_t *out,
                                 pm_error *error);
/* Frees what opening it made. */
void pm_engine_close_input(struct pm_engine *engine, struct engine_part *part);
/* Wipes what was stored for it; nobody will open it again. Under no lock. */
void pm_engine_forget_input(struct pm_engine *engine, struct engine_part *part);

/* engine_submit.c; under the lock but for make */
pm_status pm_engine_job_make(uint32_t n_parts, struct engine_job **job, pm_error *error);
void pm_engine_job_free(struct pm_engine *engine, struct engine_job *job);
void pm_engine_job_unref(struct pm_engine *engine, struct engine_job *job);
void pm_engine_job_enlist(struct pm_engine *engine, struct engine_job *job);
struct engine_job *pm_engine_job_of(struct pm_engine *engine, uint64_t id);
struct engine_job *pm_engine_job_named(struct pm_engine *engine, const char *request_id);
/* Gives the scheduler the parts that have not been proved. */
pm_status pm_engine_schedule(struct pm_engine *engine, struct engine_job *job, pm_error *error);

/* engine_job.c; under the lock */
pm_engine_state pm_engine_job_state(const struct pm_engine *engine, const struct engine_job *job);

/* engine_recover.c; control may be NULL */
pm_status pm_engine_recover(struct pm_engine *engine, const pm_control *control, pm_error *error);

/* engine_end.c; under the lock */
/* After anything that may have changed the job in the scheduler: stops what is to stop, frees what
 * is not held any more, and has its outcome written once it has ended. */
void pm_engine_settle(struct pm_engine *engine, struct engine_job *job);
/* Drops a proof that was given up; gives up the lock meanwhile. False: there is none. */
bool pm_engine_drop_pending(struct pm_engine *engine);
/* Settles all of them. */
void pm_engine_settle_all(struct pm_engine *engine);
/* Its outcome is known: it will be written by a thread. */
void pm_engine_end_job(struct pm_engine *engine, struct engine_job *job);
/* Writes the first outcome that waits; gives up the lock meanwhile. False: none may be written now.
 */
bool pm_engine_write_outcome(struct pm_engine *engine);
/* Whether the journal took a job that came, and an input: where it did not, it is tried with
 * nothing at stake once a second, so that whoever watches is told when it takes jobs again. */
void pm_engine_note_arrival(struct pm_engine *engine, bool is_taken);
void pm_engine_note_store(struct pm_engine *engine, bool is_stored);
/* Does so; gives up the lock meanwhile. False: there is nothing to try now. */
bool pm_engine_probe_journal(struct pm_engine *engine);
/* Counts it among the outcomes that are kept. */
void pm_engine_keep(struct pm_engine *engine, const struct engine_job *job);
/* Forgets outcomes beyond the limits; gives up the lock meanwhile. */
void pm_engine_forget_old(struct pm_engine *engine);
/* Fills the journal's view of a job; parts has n_parts elements. */
void pm_engine_job_record(const struct engine_job *job, struct pm_journal_part *parts,
                          struct pm_journal_job *record);

/* engine_work.c */
pm_status pm_engine_start_threads(struct pm_engine *engine, pm_error *error);
/* Once it is stopping. A thread in a step that a hung card keeps is left: is_abandoned. */
void pm_engine_join_threads(struct pm_engine *engine);
/* Asks the policy until it says wait; wakes whoever has something to do. Under the lock. */
void pm_engine_pump(struct pm_engine *engine);
void pm_engine_add_chore(struct pm_engine *engine, enum engine_chore_kind kind, uint32_t key,
                         uint32_t device);

/* engine_step.c: runs the step that a task is at; without the lock, takes it. */
void pm_engine_run_step(struct pm_engine *engine, uint32_t task);

/* engine_watch.c; under the lock */
void pm_engine_event_job(struct pm_engine *engine, struct engine_job *job);
void pm_engine_event_step(struct pm_engine *engine, bool begins, const struct engine_job *job,
                          uint32_t part, int32_t device, uint32_t worker, pm_engine_stage stage,
                          pm_status status);
void pm_engine_event_key(struct pm_engine *engine, const struct engine_key *key,
                         pm_engine_tier tier, int32_t device, pm_status status);
void pm_engine_event_other(struct pm_engine *engine, pm_engine_event_kind kind, int32_t device,
                           pm_status status);
void pm_engine_measure(struct pm_engine *engine, pm_engine_stage stage, uint64_t ns);

/* engine_scalars.c: a canonical scalar from its Montgomery form. CURVE. */
pm_status pm_engine_from_montgomery(uint32_t curve, const uint8_t in[PM_FR_BYTES],
                                    uint8_t out[PM_FR_BYTES], pm_error *error);

#endif
