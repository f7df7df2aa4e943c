/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * gpu/kernel/gpu_pack.h - packed scalars, for the way to a device.
 *
 * Most scalars of a real witness are 0 or 1: packed they are two bits each, and the bus carries the
 * others alone. A chunk, which one thread packs and one kernel expands, is
 *
 *     struct pm_gpu_pack_header
 *     struct pm_gpu_pack_group for each 64 scalars
 *     the full scalars, which are neither 0 nor the `one` of the header, in their order; 32-aligned
 *
 * Scalars are 32 bytes of any meaning: `one` is 1 for canonical ones, R mod r in Montgomery form.
 * Plain data, the same on the host and on the device. A chunk is as secret as what it holds.
 */
#ifndef PM_GPU_PACK_H
#define PM_GPU_PACK_H

#include "gpu/ff/gpu_word.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PM_GPU_PACK_SCALARS_MAX (UINT64_C(1) << 24)
#define PM_GPU_PACK_SCALAR_BYTES 32
#define PM_GPU_PACK_GROUP 64 /* scalars; a whole number of groups may be packed at a time */

struct pm_gpu_pack_header {
    uint64_t n, n_full;
    uint64_t unused[2];
    uint64_t one[4];
};

struct pm_gpu_pack_group {
    uint64_t one, full; /* bit i: of scalar i of the group; neither: 0 */
    uint64_t n_before;  /* full scalars of the chunk before the group */
};

/* Where the full scalars of a chunk of n scalars begin. */
PM_GPU_INLINE uint64_t pm_gpu_pack_full_offset(uint64_t n) {
    const uint64_t n_groups = (n + PM_GPU_PACK_GROUP - 1) / PM_GPU_PACK_GROUP;
    const uint64_t end =
        sizeof(struct pm_gpu_pack_header) + n_groups * sizeof(struct pm_gpu_pack_group);
    return (end + PM_GPU_PACK_SCALAR_BYTES - 1) / PM_GPU_PACK_SCALAR_BYTES *
           PM_GPU_PACK_SCALAR_BYTES;
}

/* Room that packing n scalars needs, whatever they are; one scalar of it is slack. */
PM_GPU_INLINE uint64_t pm_gpu_pack_bytes_max(uint64_t n) {
    return pm_gpu_pack_full_offset(n) + (n + 1) * PM_GPU_PACK_SCALAR_BYTES;
}

/* Where 16 bytes of an expanded scalar come from: half 0 or 1 of scalar i of a chunk. NULL: they
 * are 0. */
PM_GPU_INLINE const void *pm_gpu_pack_find(const void *packed, uint64_t full_offset, uint64_t i,
                                           uint32_t half) {
    const char *bytes = (const char *)packed;
    const struct pm_gpu_pack_header *header = (const struct pm_gpu_pack_header *)packed;
    const struct pm_gpu_pack_group *group =
        (const struct pm_gpu_pack_group *)(const void *)(bytes + sizeof *header) +
        i / PM_GPU_PACK_GROUP;
    const uint64_t bit = UINT64_C(1) << (i % PM_GPU_PACK_GROUP);
    if ((group->full & bit) != 0) {
#if defined(__CUDA_ARCH__)
        const uint32_t rank = (uint32_t)__popcll((long long)(group->full & (bit - 1)));
#else
        const uint32_t rank = (uint32_t)__builtin_popcountll(group->full & (bit - 1));
#endif
        return bytes + full_offset + PM_GPU_PACK_SCALAR_BYTES * (group->n_before + rank) +
               UINT64_C(16) * half;
    }
    return (group->one & bit) != 0 ? (const char *)(const void *)header->one + UINT64_C(16) * half
                                   : NULL;
}

#if !defined(__CUDACC__)

/* Ahead of where the packer reads: with it one thread goes over memory twice as fast. */
#define PM_GPU_PACK_PREFETCH_BYTES 2048

/* One group of up to 64 scalars: *full grows by those that are full, copied there. Each one is
 * copied and only then looked at: a branch would be predicted wrong as often as not. */
static inline struct pm_gpu_pack_group pm_gpu_pack_one_group(const unsigned char *scalars,
                                                             uint64_t n, const uint64_t one[4],
                                                             unsigned char **full) {
    struct pm_gpu_pack_group group = {0, 0, 0};
    unsigned char *to = *full;
    for (uint64_t i = 0; i < n; ++i) {
        uint64_t x[4];
        const unsigned char *from = scalars + PM_GPU_PACK_SCALAR_BYTES * i;
        __builtin_prefetch((const void *)((uintptr_t)from + PM_GPU_PACK_PREFETCH_BYTES));
        memcpy(x, from, sizeof x);
        const uint64_t is_one =
            ((x[0] ^ one[0]) | (x[1] ^ one[1]) | (x[2] ^ one[2]) | (x[3] ^ one[3])) == 0;
        const uint64_t is_zero = (x[0] | x[1] | x[2] | x[3]) == 0;
        const uint64_t is_full = (is_one | is_zero) ^ 1;
        memcpy(to, x, sizeof x);
        to += PM_GPU_PACK_SCALAR_BYTES * is_full;
        group.one |= (is_one & ~is_zero) << i;
        group.full |= is_full << i;
    }
    *full = to;
    return group;
}

/* Packs n <= PM_GPU_PACK_SCALARS_MAX scalars into pm_gpu_pack_bytes_max(n) bytes, 32-byte aligned,
 * and returns how many of them are to be uploaded. Nothing behind those needs to be initialised or
 * wiped but the slack: one scalar. Any alignment of scalars. */
static inline uint64_t pm_gpu_pack(const void *scalars, uint64_t n, const uint64_t one[4],
                                   void *packed) {
    const unsigned char *from = (const unsigned char *)scalars;
    unsigned char *bytes = (unsigned char *)packed;
    unsigned char *const full_begin = bytes + pm_gpu_pack_full_offset(n);
    unsigned char *full = full_begin;
    struct pm_gpu_pack_header header = {n, 0, {0, 0}, {one[0], one[1], one[2], one[3]}};
    unsigned char *group_at = bytes + sizeof header;
    for (uint64_t i = 0; i < n; i += PM_GPU_PACK_GROUP) {
        const uint64_t n_before = (uint64_t)(full - full_begin) / PM_GPU_PACK_SCALAR_BYTES;
        const uint64_t n_here = n - i < PM_GPU_PACK_GROUP ? n - i : PM_GPU_PACK_GROUP;
        struct pm_gpu_pack_group group =
            pm_gpu_pack_one_group(from + PM_GPU_PACK_SCALAR_BYTES * i, n_here, one, &full);
        group.n_before = n_before;
        memcpy(group_at, &group, sizeof group);
        group_at += sizeof group;
    }
    memset(group_at, 0, (size_t)(full_begin - group_at));
    header.n_full = (uint64_t)(full - full_begin) / PM_GPU_PACK_SCALAR_BYTES;
    memcpy(bytes, &header, sizeof header);
    return (uint64_t)(full - bytes);
}

#endif

#endif
