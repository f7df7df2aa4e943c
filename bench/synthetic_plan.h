/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* synthetic_plan.h - the numbers behind a synthetic system: exact counts, and drawing from them. */
#ifndef PM_BENCH_SYNTHETIC_PLAN_H
#define PM_BENCH_SYNTHETIC_PLAN_H

#include "synthetic.h"

/* SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014). */
static inline uint64_t synthetic_mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}
static inline uint64_t synthetic_next(uint64_t *state) {
    return synthetic_mix(*state += 0x9e3779b97f4a7c15);
}
/* Below n > 0. */
static inline uint64_t synthetic_below(uint64_t *state, uint64_t n) {
    return (uint64_t)((unsigned __int128)synthetic_next(state) * n >> 64);
}

/* A shuffled deck: n_left[i] cards of kind i. Drawing a kind in proportion to what is left of it is
 * to go through a random order of all cards without storing one (Knuth, TAOCP 2, 3.4.2, algorithm
 * S). */
#define SYNTHETIC_KINDS_MAX 16
struct synthetic_deck {
    uint32_t n_kinds;
    uint64_t n_left[SYNTHETIC_KINDS_MAX];
    uint32_t kind[SYNTHETIC_KINDS_MAX];
    uint64_t n_all;
};
void synthetic_deck_add(struct synthetic_deck *deck, uint32_t kind, uint64_t n);
/* The kind of the next card; the deck must not be empty. */
uint32_t synthetic_deck_draw(struct synthetic_deck *deck, uint64_t *random);

#define SYNTHETIC_LENGTH_MAX 256
/* Lengths of n_rows rows that add up to n_terms >= n_rows * shortest. False: too many terms. */
bool synthetic_lengths(uint64_t n_rows, uint64_t n_terms, uint32_t shortest,
                       struct synthetic_deck *deck);

enum synthetic_row { SYNTHETIC_PRODUCT = 0, SYNTHETIC_LINEAR = 1, SYNTHETIC_BOOLEAN = 2 };

/* Cards for every choice of which the proportions are given. */
struct synthetic_plan {
    struct synthetic_facts facts;
    struct synthetic_deck values, rows;
    struct synthetic_deck lengths[SYNTHETIC_MATRICES], linear_lengths;
    uint64_t n_in[SYNTHETIC_MATRICES]; /* wires to be brought up */
    /* Product rows bring one up with their first term of A, linear rows of C, as long as there are
     * any; then no row is like another. */
    uint64_t n_first[SYNTHETIC_MATRICES];
    uint64_t n_slots[SYNTHETIC_MATRICES]; /* terms, besides the first ones, that may do so */
};

/* Errors: INVALID_ARGUMENT. */
pm_status synthetic_plan_make(const struct synthetic_options *options, struct synthetic_plan *plan,
                              pm_error *error);

#endif
