/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What the parts of card_msm_test share. */
#ifndef PM_TEST_GPU_CARD_MSM_H
#define PM_TEST_GPU_CARD_MSM_H

#include "card.h"
#include "card_msm_kernels.h"
#include "msm/msm.h"

#define NO_LIMIT (UINT64_C(100) << 30)

struct card_msm {
    struct card card;
    const struct card_msm_kernels *points;
    const struct pm_msm *cpu;
    const struct pm_group *group;
    enum pm_msm_group which;
    uint64_t seed;
    struct pm_gpu_event from, to;
    const char *only; /* NULL: every group */
    uint32_t log_max; /* of sizes to time */
};

extern struct card_msm card_msm;

double card_now_s(void);
struct pm_gpu_buffer card_get(enum pm_gpu_mechanism mechanism, uint64_t bytes);
void card_release(struct pm_gpu_buffer *buffer);
void card_wait(void);

/* n points with the logarithms card_msm_log(seed, i). */
struct pm_gpu_buffer card_points(uint64_t n);
/* The canonical scalar i of n, as the card has it. */
void card_scalar_of(uint64_t s[4], int pattern, uint64_t i, uint64_t n);
/* Infinities, repetitions and opposites among the points of the host's copy. */
void card_spoil(uint8_t *points, uint64_t n);
/* Chooses the group that everything above and below is about; false if it is not wanted. */
bool card_choose(pm_curve_id id, enum pm_msm_group which);

/* Scalars [first, first + n) of n_scalars. */
struct card_sum_shape {
    int pattern;
    uint64_t n_scalars, first, n;
    /* NULL: all have points. Otherwise words and directory as in groth16/density.h, on the host;
     * rank NULL: each scalar has a point, but without its bit it does not count. */
    const uint64_t *density;
    const uint32_t *rank;
};

/* The sum, affine, when point j has the logarithm card_msm_log(seed, j). */
void card_sum_by_logarithms(const struct card_sum_shape *shape, uint8_t *affine);

/* Sums by class and density. */
void card_check_sums(void);       /* of the chosen group, against the CPU */
void card_check_large_sums(void); /* by logarithms, up to 2^22 */
void card_check_sum_memory(void); /* little memory, many runs */
/* The sums of a witness as large and as sparse as that of a sector of 32 GiB. */
void card_time_witness(void);

#endif
