/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * engine/engine_case.h - what tests of the engine share: circuits as files, engines over them on
 * the CPU or on fake devices, and what the process holds.
 */
#ifndef PM_TEST_ENGINE_CASE_H
#define PM_TEST_ENGINE_CASE_H

#include "engine/engine_internal.h"
#include "support/fake_device.h"
#include "support/seeded_random.h"

#include <proofmill/engine.h>
#include <proofmill/proofmill.h>

#include <stdbool.h>
#include <stdint.h>

/* Small circuits that the repository carries; one long one is made by the test. */
enum circuit { MULT3, MIMC, ONE, MULT3_BLS, NOPRIV_BLS, N_SMALL, LONG = N_SMALL, N_CIRCUITS };

struct circuits {
    char *tree; /* a folder of the test's own */
    pm_context *context;
    const char *name[N_CIRCUITS];    /* of its key in the engine */
    char key_path[N_CIRCUITS][1200]; /* at least PM_TEST_PATH_MAX */
    char witness_path[N_CIRCUITS][1200];
    pm_vk *vk[N_CIRCUITS];
    bool has_long;
};

/* log_n 0: without the long one. */
void circuits_open(uint32_t log_n, struct circuits *circuits);
/* The small ones where they lie in the repository: not to be changed. */
void circuits_borrow(struct circuits *circuits);
void circuits_close(struct circuits *circuits);
/* Registers all of them. */
void circuits_register(const struct circuits *circuits, pm_engine *engine);
/* A witness of the circuit that does not satisfy it; path in a static buffer. */
const char *circuits_bad_witness(const struct circuits *circuits, enum circuit circuit);

/* The long circuit's files, over BN254 or BLS12-381: 2^log_n rows less four. */
void write_long_r1cs(const char *path, bool is_bls, uint32_t log_n);
void write_long_wtns(const char *path, bool is_bls, uint32_t log_n);

/* Submits one part by path; fails the test unless that is accepted. "" or NULL: no request id. */
uint64_t submit_one(pm_engine *engine, const struct circuits *circuits, enum circuit circuit,
                    pm_engine_priority priority, const char *request_id);
pm_status try_submit(pm_engine *engine, const struct circuits *circuits, enum circuit circuit,
                     pm_engine_priority priority, const char *request_id, uint64_t *job, int *known,
                     pm_error *error);
/* Waits for its end, for a minute at most. */
pm_engine_job await_job(pm_engine *engine, uint64_t job);
/* Fails the test unless the job is done and each of its proofs holds. */
void expect_valid(pm_engine *engine, const struct circuits *circuits, enum circuit circuit,
                  uint64_t job);
/* Whether a proof holds for the circuit; the check is pm_verify() with a key of the test's own. */
pm_status check_proof(const struct circuits *circuits, enum circuit circuit, const pm_proof *proof,
                      const void *publics);
/* Fails the test unless the scheduler's books are right. */
void expect_books(pm_engine *engine);

/* Fake cards under an engine: device i of the options is card[i], while i < n. */
struct cards {
    uint32_t n;
    uint64_t vram_bytes;
    struct fake_device *card[4];
    uint32_t threads;
    int holds_finish; /* atomic: proofs on a card stay in their last half as long as it is set */
};
void cards_open(uint32_t n, struct cards *cards);
void cards_close(struct cards *cards);
struct pm_engine_hooks cards_hooks(struct cards *cards);
/* An engine on them, and on the CPU behind if it is to be there; cards NULL: on the CPU alone. What
 * options leave at 0 is a budget of 512 MiB and a millisecond before a second attempt. */
pm_engine *cards_engine(struct cards *cards, bool with_cpu, pm_engine_options options);

/* Of this process. */
struct holdings {
    uint64_t resident_bytes;
    uint32_t n_threads, n_fds;
};
struct holdings holdings_now(void);

/* The journal of an engine that is gone becomes one of format 1: jobs end with a seal of what is
 * before it. */
void journal_to_format_1(const char *folder);

/* Until it is at work; it may also have ended before that was seen. */
void await_proving(pm_engine *engine, uint64_t job);

void test_sleep_ms(uint64_t ms);

#endif
