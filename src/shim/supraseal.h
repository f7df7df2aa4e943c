/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * shim/supraseal.h - what the files of both flavours share.
 *
 *   supraseal_engine.c   the process's contexts and settings: there while a handle is
 *   supraseal_error.c    statuses to codes, sentences to blocks that the caller frees
 *   supraseal_srs.c      parameter files: counted handles, decoding in the background, the cache
 *   supraseal_prove.c    assignments to proofs, in two halves
 *   supraseal_record.c   assignments to files, when the environment asks for it
 *   supraseal_{upstream,curio}.c   the functions whose arguments differ
 */
#ifndef PM_SHIM_SUPRASEAL_H
#define PM_SHIM_SUPRASEAL_H

#include <proofmill/proofmill.h>
#include <proofmill/proofmill_supraseal.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Errors --------------------------------------------------------------------------------- */

/* Fills *error and returns status. */
__attribute__((format(printf, 3, 4))) pm_status pm_supraseal_fail(pm_error *error, pm_status status,
                                                                  const char *format, ...);
/* PM_OK: no message. */
pm_supraseal_error pm_supraseal_answer(pm_status status, const pm_error *error);
/* With a code of the caller's choice. */
pm_supraseal_error pm_supraseal_answer_code(int code, const pm_error *error);

/* A copy for free(); NULL without memory. */
char *pm_supraseal_text(const char *text);

/* ---- The engine ------------------------------------------------------------------------------ */

struct pm_supraseal_engine;

/* The one of the process, made for the first that asks. Errors: those of pm_context_create(),
 * INVALID_ARGUMENT (a variable of the environment makes no sense). */
pm_status pm_supraseal_engine_acquire(struct pm_supraseal_engine **engine, pm_error *error);
/* One more of an engine that the caller holds. */
struct pm_supraseal_engine *pm_supraseal_engine_retain(struct pm_supraseal_engine *engine);
/* The last one joins the threads. NULL is fine. */
void pm_supraseal_engine_release(struct pm_supraseal_engine *engine);

/* What proofs are made with: on device gpu_index, or with -1 on any. Lives as long as the engine.
 * Errors: those of pm_context_create(); NO_DEVICE when there is no such one. */
pm_status pm_supraseal_engine_context(struct pm_supraseal_engine *engine, int gpu_index,
                                      pm_context **context, pm_error *error);
/* How many devices proofs of one call are spread over; at least 1, which may be the CPU. */
size_t pm_supraseal_engine_n_devices(const struct pm_supraseal_engine *engine);
/* Whether each proof is verified before it is given out. */
bool pm_supraseal_engine_verifies(const struct pm_supraseal_engine *engine);
/* A pm_check: how far points are looked at when they are decoded. */
uint32_t pm_supraseal_engine_check(const struct pm_supraseal_engine *engine);
/* Whether decoded points are kept beside the file. */
bool pm_supraseal_engine_caches(const struct pm_supraseal_engine *engine);
/* NULL: assignments are not recorded. */
const char *pm_supraseal_engine_record_folder(const struct pm_supraseal_engine *engine);

/* pthread_create() for threads that no signal of the host's is delivered to. Errors: NO_THREADS. */
pm_status pm_supraseal_thread_start(pthread_t *thread, void *(*body)(void *), void *argument,
                                    pm_error *error);

/* For pm_control: a warning that the host's user should read once. */
void pm_supraseal_log(void *user, pm_log_level level, const char *sentence);

/* Between the two the host's synthesis is asked to go easy on memory: the CPU sums over G2. */
void pm_supraseal_throttle_begin(void);
void pm_supraseal_throttle_end(void);

/* ---- Parameters ------------------------------------------------------------------------------ */

/* What ptr of a handle points to. */
struct pm_supraseal_points;

/* Counts of the file's header, there before the points are. */
struct pm_supraseal_counts {
    uint32_t log_n;
    uint64_t n_inputs, n_aux, n_a, n_b;
};
const struct pm_supraseal_counts *
pm_supraseal_points_counts(const struct pm_supraseal_points *points);
const char *pm_supraseal_points_path(const struct pm_supraseal_points *points);
/* Waits until they are decoded. Errors: what decoding found. */
pm_status pm_supraseal_points_key(struct pm_supraseal_points *points, const pm_key **key,
                                  pm_error *error);
struct pm_supraseal_engine *pm_supraseal_points_engine(const struct pm_supraseal_points *points);

/* ---- Proofs ---------------------------------------------------------------------------------- */

/* What one call asks for. */
struct pm_supraseal_request {
    const pm_supraseal_assignment *provers;
    size_t n;
    const pm_supraseal_fr *r_s, *s_s;
    const pm_supraseal_srs *srs;
    pthread_mutex_t *mutex; /* NULL: the process's own */
    int gpu_index;          /* -1: any */
};

struct pm_supraseal_pending;

pm_supraseal_error pm_supraseal_generate(const struct pm_supraseal_request *request,
                                         pm_supraseal_proof *out);
pm_supraseal_error pm_supraseal_start(const struct pm_supraseal_request *request,
                                      struct pm_supraseal_pending **pending);
pm_supraseal_error pm_supraseal_finalize(struct pm_supraseal_pending *pending,
                                         pm_supraseal_proof *out);
void pm_supraseal_destroy(struct pm_supraseal_pending *pending);

#endif
