/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* support/proof_check.h - where proofs are made in tests, and whether one was carried out as it was
 * planned. */
#ifndef PM_TEST_SUPPORT_PROOF_CHECK_H
#define PM_TEST_SUPPORT_PROOF_CHECK_H

#include "support/fake_device.h"

#include <proofmill/experimental.h>
#include <proofmill/proofmill.h>

/* The CPU, and a fake device that leaves B2 to the CPU or sums it itself. */
enum place { PLACE_CPU, PLACE_FAKE, PLACE_FAKE_B2, PLACES };
extern const char *const place_names[PLACES];

/* A strict context at each place. */
struct places {
    pm_context *context[PLACES];
    struct fake_device *device[PLACES]; /* NULL for the CPU */
};

void places_open(uint32_t threads, struct places *places);
/* Fails the running test if a device was left untidy. */
void places_close(struct places *places);

/* Fails the running test unless the report of a finished proof says: each buffer of the plan came
 * before its first step and went after its last one, in its pool, with its bytes, on its side of
 * the device lock, and nothing else came; so that the curve is that of the plan. */
void report_expect_as_planned(const pm_report *report);
/* Unless everything that came has gone: of any proof, finished or not. */
void report_expect_nothing_left(const pm_report *report);

#endif
