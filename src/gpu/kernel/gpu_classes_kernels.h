/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * gpu/kernel/gpu_classes_kernels.h - launchers of the kernels that find classes and make lists.
 *
 * Each puts its kernel on a stream and returns at once what CUDA said, a cudaError_t as int.
 * Pointers are to device memory, 16-byte aligned. Nothing is checked here: gpu/op is the only
 * caller.
 */
#ifndef PM_GPU_CLASSES_KERNELS_H
#define PM_GPU_CLASSES_KERNELS_H

#include "gpu/kernel/gpu_classes.h"
#include "gpu/kernel/gpu_kernels.h"

#include <stddef.h>
#include <stdint.h>

/* Classes of n canonical scalars, a kernel for each curve. */
typedef int pm_gpu_classify_launcher(const void *scalars, uint64_t n,
                                     struct pm_gpu_class_word *classes, pm_gpu_raw_stream stream);

/* Words of a tile: a block makes their part of the lists. */
#define PM_GPU_LIST_TILE_WORDS 256

/* counts[t] of each of n_tiles = ceil(words / PM_GPU_LIST_TILE_WORDS) tiles. */
int pm_gpu_list_count(const struct pm_gpu_list_range *range, struct pm_gpu_list_counts *counts,
                      pm_gpu_raw_stream stream);
/* Each of n_tiles counts becomes the sum of those before it, counts[n_tiles] that of all. */
int pm_gpu_list_scan(struct pm_gpu_list_counts *counts, uint32_t n_tiles, pm_gpu_raw_stream stream);
/* The lists in order; counts as the scan left them. */
int pm_gpu_list_write(const struct pm_gpu_list_range *range,
                      const struct pm_gpu_list_counts *counts, const struct pm_gpu_lists *lists,
                      pm_gpu_raw_stream stream);

#endif
