/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Repeatable randomness for tests: seeded by the environment variable PM_TEST_SEED, or by the
 * clock, and the seed is printed, so that a failure can be run again.
 */
#ifndef PM_TEST_SEEDED_RANDOM_H
#define PM_TEST_SEEDED_RANDOM_H

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct seeded_random {
    uint64_t state;
};

/* SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014). */
static inline uint64_t seeded_random_u64(struct seeded_random *random) {
    uint64_t z = random->state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/* Below n, n > 0; the bias is of no account in a test. */
static inline uint64_t seeded_random_below(struct seeded_random *random, uint64_t n) {
    return seeded_random_u64(random) % n;
}

static inline void seeded_random_bytes(struct seeded_random *random, void *bytes, size_t n_bytes) {
    unsigned char *out = bytes;
    for (size_t i = 0; i < n_bytes; i++) {
        out[i] = (unsigned char)seeded_random_u64(random);
    }
}

static inline struct seeded_random seeded_random_from_environment(void) {
    const char *text = getenv("PM_TEST_SEED");
    const uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);
    printf("PM_TEST_SEED=%" PRIu64 "\n", seed);
    (void)fflush(stdout);
    return (struct seeded_random){.state = seed};
}

#endif
