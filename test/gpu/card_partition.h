/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A partition of a sector: counts of a 32 GiB sector's, 98 % of the witness bits.
 *
 * A key of that size from real secrets would take hours, so its points are multiples of the
 * generators out of a table whose logarithms are known, in an order of its own in each query. Such
 * a key proves nothing, but it decides A, B and C of any witness: the sums of scalars times
 * logarithms are computed on the host, h by the CPU's transforms, and every proof that is timed
 * must be the three points that follow.
 */
#ifndef PM_TEST_GPU_CARD_PARTITION_H
#define PM_TEST_GPU_CARD_PARTITION_H

#include "groth16/prove.h"
#include "groth16/proving_key.h"

#include <pthread.h>
#include <stdint.h>

#define CARD_TABLE 4093u /* a prime, so that queries repeat out of step with everything */
#define CARD_CHUNK (UINT64_C(1) << 18)
#define CARD_LIMBS PM_FR_LIMBS_MAX

enum card_query { CARD_QUERY_A, CARD_QUERY_B, CARD_QUERY_L, CARD_QUERY_H, CARD_QUERIES };

struct card_partition {
    struct pm_kernels kernels;
    struct pm_plan_sizes sizes;
    struct pm_proving_key key;
    uint64_t seed;
    uint8_t *w;
    uint8_t *lent_w, *lent[3]; /* in Montgomery form: what a caller may bring, a, b and c with it */
    uint8_t *table[2];         /* affine points of G1 and G2 */
    uint64_t logs[CARD_TABLE][CARD_LIMBS];      /* canonical */
    uint64_t (*totals)[CARD_TABLE][CARD_LIMBS]; /* of each query: scalars by the table's point */
    pthread_mutex_t mutex;
    uint8_t singles[2][4][PM_G2_BYTES_MAX];  /* alpha, beta, delta, gamma in G1 and G2 */
    uint64_t sums[CARD_QUERIES][CARD_LIMBS]; /* their logarithms, in Montgomery form */
};

/* Memory whose pages are few and come fast; given back by munmap() of as many bytes. */
void *card_room(uint64_t bytes);
void card_room_free(void *memory, uint64_t bytes);

/* Sizes, table, single points, densities: what a key is tiled from. team stays the caller's; what
 * is made lives as long as the program, but for what the next ones say. */
struct card_partition *card_partition_make(uint32_t log_n, uint64_t seed, struct pm_team *team);
/* Which point of the table a query's point is. */
static inline uint32_t card_partition_point(enum card_query query, uint64_t point) {
    return (uint32_t)((point + 1009 * (uint64_t)query) % CARD_TABLE);
}
/* The queries' points, in memory. */
void card_partition_tile(struct card_partition *p);
/* Matrices, domain and witness. */
void card_partition_fill(struct card_partition *p);
/* a, b and c, and the sums that each proof is made of. */
void card_partition_sum(struct card_partition *p);
/* A, B, C from logarithms, as groth16/prove.h has them. */
void card_partition_expect(const struct card_partition *p, const struct pm_blinding *blinding,
                           struct pm_groth16_proof *proof);
/* Matrices, domain and w: a caller's arrays and the sums need none of them. */
void card_partition_forget(struct card_partition *p);

#endif
