/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * groth16/density.h - which variables have a point in a query that leaves points out.
 *
 * A bit for each variable, and the directory with which msm/msm.h finds the point of any of them.
 * Depends on the circuit alone.
 */
#ifndef PM_GROTH16_DENSITY_H
#define PM_GROTH16_DENSITY_H

#include "base/memory.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Zero is a density of no variables. */
struct pm_density {
    uint64_t n;      /* variables */
    uint64_t n_set;  /* those that have a point */
    uint64_t *words; /* bit i % 64 of word i / 64; zero behind n; owned */
    uint32_t *rank;  /* see pm_msm_rank_fill(); lies behind the words */
};

/* What a density of n variables takes, its directory included. */
uint64_t pm_density_bytes(uint64_t n);
/* Of these, its bits: the directory lies behind them. */
uint64_t pm_density_words_bytes(uint64_t n);
/* INTERNAL unless it is a density of n variables. */
pm_status pm_density_check(const struct pm_density *density, uint64_t n, pm_error *error);
/* All clear and not counted. The caller destroys it. name is static. Errors: COUNT (2^32 variables
 * or more), NO_MEMORY. */
pm_status pm_density_create(uint64_t n, const char *name, struct pm_ledger *ledger,
                            struct pm_density *density, pm_error *error);
void pm_density_destroy(struct pm_density *density);

static inline void pm_density_set(struct pm_density *density, uint64_t i) {
    density->words[i / 64] |= UINT64_C(1) << (i % 64);
}
static inline bool pm_density_has(const struct pm_density *density, uint64_t i) {
    return (density->words[i / 64] >> (i % 64) & 1) != 0;
}
/* Sets those of bits first .. first + n - 1 that the first n bits of words say. */
void pm_density_set_words(struct pm_density *density, uint64_t first, uint64_t n,
                          const uint64_t *words);
/* To be called when all bits are set: fills in n_set and the directory. */
void pm_density_count(struct pm_density *density);
/* Bits set before variable i <= n: the index of its point. */
uint64_t pm_density_rank(const struct pm_density *density, uint64_t i);
/* The variable that has point k < n_set; n for k == n_set. */
uint64_t pm_density_find(const struct pm_density *density, uint64_t k);

#endif
