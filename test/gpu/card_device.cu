/* SPDX-License-Identifier: Apache-2.0 OR MIT */
extern "C" {
#include "card_kernels.h"
}

#include <cuda_runtime.h>

extern "C" int card_device_synchronize(void) {
    return (int)cudaDeviceSynchronize();
}
