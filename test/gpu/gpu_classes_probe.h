/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The class that a thread of the device finds for a scalar, on the host. */
#ifndef PM_TEST_GPU_CLASSES_PROBE_H
#define PM_TEST_GPU_CLASSES_PROBE_H

#include <stdint.h>

typedef uint32_t gpu_classes_probe(const void *scalar);

extern gpu_classes_probe *const gpu_classes_of_bn254_portable,
    *const gpu_classes_of_bls12_381_portable;

#endif
