/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* card_engine.h - what the parts of card_engine share. */
#ifndef PM_TEST_GPU_CARD_ENGINE_H
#define PM_TEST_GPU_CARD_ENGINE_H

#include <proofmill/engine.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define CARD_ENGINE_JOBS_MAX 200 /* whose events are all remembered */
#define CARD_ENGINE_NS_PER_MS 1e6

/* Removes what is on the disk and ends the program with a sentence. */
__attribute__((noreturn, format(printf, 3, 4))) void card_engine_fail(const char *file, int line,
                                                                      const char *format, ...);

#define CARD_ENGINE_CHECK(condition, ...)                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            card_engine_fail(__FILE__, __LINE__, __VA_ARGS__);                                     \
        }                                                                                          \
    } while (0)
#define CARD_ENGINE_OK(call)                                                                       \
    do {                                                                                           \
        pm_error error = PM_ERROR_INIT;                                                            \
        const pm_status card_status = (call);                                                      \
        CARD_ENGINE_CHECK(card_status == PM_OK, "%s: %s %s", pm_status_name(card_status),          \
                          error.message, error.file);                                              \
    } while (0)

/* Times of CLOCK_MONOTONIC. end_ns 0: there is none. */
struct card_engine_span {
    uint64_t begin_ns, end_ns;
};

/* COUNT jobs through one engine. Jobs are numbered one after another. */
struct card_engine_run {
    const char *device;
    bool is_card;
    uint32_t n_workers, n_jobs;
    uint64_t first_job;
    uint64_t submit_ns, accepted_ns; /* the first is about to be submitted; the last is accepted */
    pm_engine_job job[CARD_ENGINE_JOBS_MAX];
    /* Filled by card_engine_collect(). */
    struct card_engine_span step[CARD_ENGINE_JOBS_MAX][PM_ENGINE_STAGES];
    struct card_engine_span held[CARD_ENGINE_JOBS_MAX]; /* when it had the card to itself */
    uint64_t ended_ns[CARD_ENGINE_JOBS_MAX];            /* in the order of their ends */
    uint32_t n_ended;
};

/* Reads the engine's events, once all jobs have ended. */
void card_engine_collect(pm_engine *engine, struct card_engine_run *run);
void card_engine_print(pm_engine *engine, const struct card_engine_run *run);
/* How many samples of the driver fall into the window, 0 where it has none, and their mean: the
 * share of time in which the card ran a kernel. Cards are numbered as the driver does. */
uint32_t card_engine_samples(const char *device, const struct card_engine_span *window,
                             double *busy_percent);
/* A Chrome trace: a row for the device, one for each job. */
void card_engine_trace(const struct card_engine_run *run, FILE *file);

#endif
