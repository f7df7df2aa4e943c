/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "gpu_classes_probe.h"

#include <proofmill/proofmill.h>

#include "gpu/ff/gpu_instance.inc"

#include "gpu/kernel/gpu_classes.inc"

#include <string.h>

static uint32_t class_of(const void *scalar) {
    fr s;
    memcpy(&s, scalar, sizeof s);
    return classes_of(&s);
}

extern gpu_classes_probe *const PM_INSTANCE_NAME(gpu_classes_of);
gpu_classes_probe *const PM_INSTANCE_NAME(gpu_classes_of) = class_of;
