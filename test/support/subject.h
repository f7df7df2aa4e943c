/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* support/subject.h - one circuit's good files, opened, to hold mutants against. */
#ifndef PM_TEST_SUPPORT_SUBJECT_H
#define PM_TEST_SUPPORT_SUBJECT_H

#include "support/file_builder.h"

#include <proofmill/proofmill.h>

#include <stdbool.h>

struct subject {
    char name[64];
    pm_curve_id curve;
    struct file_image zkey, wtns, r1cs;
    char r1cs_path[1200];
    pm_context *context; /* of one thread */
    pm_key *key;
    pm_witness *witness;
    pm_vk *vk; /* of the key */
    uint32_t n_public;
    uint64_t good_cpu_ns; /* that checking the good key and proving with it takes */
};

/* The circuits that test/data carries, BLS12-381 beside BN254; NULL after the last. */
extern const char *const subject_names[];

/* name: a folder of test/data, or else of the fixtures' small/. False, having said so, when it is
 * in neither. Fails the running test when its files do not open. */
bool subject_open(const char *name, struct subject *subject);
void subject_close(struct subject *subject);
/* What a mutant may take: a second, and when it was opened a few times what the good files take. */
uint64_t subject_cpu_ns_max(const struct subject *subject, bool was_opened);
/* Whether the proof holds for the witness's own public signals under vk. That its points are in
 * their subgroups is asked of the slow test by the group's order, not of the one under test. */
pm_status subject_verify(const struct subject *subject, const pm_vk *vk, const pm_witness *witness,
                         const pm_proof *proof);

#endif
