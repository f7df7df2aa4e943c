/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* support/toy_circuits.h - small circuits with a satisfying assignment each, ready to prove. */
#ifndef PM_TEST_SUPPORT_TOY_CIRCUITS_H
#define PM_TEST_SUPPORT_TOY_CIRCUITS_H

#include "support/toy_setup.h"

#include <proofmill/proofmill.h>

struct toy_case {
    const char *name;
    uint32_t n_rows, n_vars, n_public, log_n;
    const struct toy_entry *entries;
    size_t n_entries;
    const int64_t *values; /* n_vars */
};

extern const struct toy_case toy_cases[];
extern const size_t n_toy_cases;

/* The first case: z = x y with z public, twice. Other tests build on its shape. */
#define TOY_PRODUCT (&toy_cases[0])

/* A key, a witness, a vk of one case. */
struct toy {
    pm_context *context; /* borrowed */
    pm_key *key;
    pm_witness *witness;
    pm_vk *vk;
    uint8_t *publics; /* n_public values */
    uint32_t n_public;
};

/* Fails the running test when anything fails. */
void toy_open(pm_context *context, pm_curve_id curve, const struct toy_case *toy_case,
              struct toy *toy);
void toy_close(struct toy *toy);
/* A witness of other values; they need not satisfy. */
pm_witness *toy_witness(pm_context *context, pm_curve_id curve, const int64_t *values, size_t n);

pm_context *toy_context(uint32_t threads, pm_arithmetic arithmetic);
/* Fails the running test with the error's sentence unless status is expected. */
void toy_expect(pm_status status, pm_status expected, const pm_error *error);
/* For pm_report_destroy(). Fails the running test when there is none. */
pm_report *toy_report(void);

#endif
