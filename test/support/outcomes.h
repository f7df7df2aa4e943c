/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* support/outcomes.h - what became of many mutants, and what every refusal must look like. */
#ifndef PM_TEST_SUPPORT_OUTCOMES_H
#define PM_TEST_SUPPORT_OUTCOMES_H

#include <proofmill/proofmill.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUTCOME_ROWS 32
#define OUTCOME_STATUSES 128

/* Counts of statuses, a row for each kind of mutation. */
struct outcomes {
    const char *title;
    unsigned count[OUTCOME_ROWS][OUTCOME_STATUSES];
};

void outcomes_add(struct outcomes *outcomes, size_t row, pm_status status);
unsigned outcomes_in_row(const struct outcomes *outcomes, size_t row);
unsigned outcomes_total(const struct outcomes *outcomes);
/* Rows that were used, each with its statuses; words(row) names it. */
void outcomes_print(const struct outcomes *outcomes, const char *(*words)(size_t row));

/* A refusal's error: its status, which is neither OK nor INTERNAL, a sentence on one line, the
 * file's name. A failed test says `text`. */
void outcome_expect_error(pm_status status, const pm_error *error, const char *file,
                          const char *text);
/* The same, and where: an offset, or a section in the sentence. */
void outcome_expect_place(pm_status status, const pm_error *error, const char *file,
                          const char *text);

/* A file of exactly these bytes that has no name but "/proc/self/fd/N", in a static buffer; the
 * next call takes it away. */
const char *outcome_file(const void *bytes, size_t n_bytes);

/* Processor time of this process, which other work on the machine does not lengthen. */
uint64_t outcome_cpu_ns(void);
/* The most that one mutant may take. */
#define OUTCOME_CPU_NS_MAX UINT64_C(1000000000)

/* Whether argv asks for the slow variant: more files, every mutant. */
bool outcome_is_slow(int argc, char **argv);

#endif
