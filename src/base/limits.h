/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* base/limits.h - every bound in one place, with the reason beside it. */
#ifndef PM_BASE_LIMITS_H
#define PM_BASE_LIMITS_H

/* Widest base field and scalar field of any curve in the build, in 64-bit limbs. */
#define PM_FP_LIMBS_MAX 6
#define PM_FR_LIMBS_MAX 4

/* Jacobian and XYZZ points of G2, the widest group element held by value outside the kernels. */
#define PM_GROUP_POINT_BYTES_MAX (4 * 2 * PM_FP_LIMBS_MAX * 8)

/* Largest domain a field's two-adicity allows (BLS12-381: 2^32). */
#define PM_LOG_N_MAX 32

/* A team larger than this is a mistake, not a machine. */
#define PM_THREADS_MAX 4096

/* Sections in one container file. circom's tools write at most 12; the rest is room for strangers.
 */
#define PM_CONTAINER_SECTIONS_MAX 64

/* A cache line; also the alignment of every buffer we allocate. */
#define PM_BUFFER_ALIGNMENT 64

/* Devices of one machine that a process may use. */
#define PM_DEVICES_MAX 16

/* How often progress is reported and how long cancelling may take. */
#define PM_PROGRESS_INTERVAL_MS 100
#define PM_CANCEL_LATENCY_MS 1000

_Static_assert(PM_FP_LIMBS_MAX >= PM_FR_LIMBS_MAX, "scratch elements are sized by the base field");

#endif
