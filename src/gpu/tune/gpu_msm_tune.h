/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Rates that the cost model of a multi-scalar multiplication is fed with, measured on an NVIDIA
 * H200 of 132 multiprocessors (lab/msm_gpu.md). Only their ratios matter for the choice. */
#ifndef PM_GPU_MSM_TUNE_H
#define PM_GPU_MSM_TUNE_H

/* Additions of an affine point to a bucket, and of two buckets, in thousand millions a second. */
struct pm_gpu_msm_rates {
    double mixed_add, full_add;
};

static const struct pm_gpu_msm_rates pm_gpu_msm_rates_g1_bn254 = {6.0, 2.4};
static const struct pm_gpu_msm_rates pm_gpu_msm_rates_g1_bls12_381 = {2.55, 1.3};
static const struct pm_gpu_msm_rates pm_gpu_msm_rates_g2_bn254 = {2.13, 0.9};
static const struct pm_gpu_msm_rates pm_gpu_msm_rates_g2_bls12_381 = {1.06, 0.4};

/* Pairs through one pass of the sort, likewise. */
#define PM_GPU_MSM_SORT_RATE 150.0
#define PM_GPU_MSM_SORT_PASS_BITS 8

/* The fewest entries of a segment, and the entries from which more segments than fit at once are
 * made, up to so many times as many. */
#define PM_GPU_MSM_SEGMENT_MIN 8
#define PM_GPU_MSM_SEGMENT_LONG 128
#define PM_GPU_MSM_WAVES_MAX 4
#define PM_GPU_MSM_MERGE_SEGMENT 8
/* Buckets that one thread sums in a row, as a power of two. */
#define PM_GPU_MSM_SLICE_LOG_MAX 6
#define PM_GPU_MSM_SLICE_THREADS 256 /* of one multiprocessor */
/* What a batch of windows takes beside its additions, in nanoseconds, and the fewest points that
 * are a chunk of their own. */
#define PM_GPU_MSM_BATCH_NS 5e5
#define PM_GPU_MSM_CHUNK_MIN 1024
/* Chunks of one piece of a sum; beyond that the sum is done in more pieces. */
#define PM_GPU_SUM_CHUNKS_MAX 4
/* Entries and buckets of a batch of windows. */
#define PM_GPU_MSM_BATCH_ENTRIES (UINT64_C(1) << 29)
#define PM_GPU_MSM_BATCH_BUCKETS ((UINT64_C(1) << 24) - 1)

#endif
