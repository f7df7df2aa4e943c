/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "curve_probe.h"

#include "curve/curve_instance.inc"

#include "curve/curve_coordinate.inc"

#define BATCH_MAX 64

#define G g1
#define K fp
#include "curve_group_probe.inc"
#undef G
#undef K

#define G g2
#define K fp2
#include "curve_group_probe.inc"
#undef G
#undef K

#if !defined(PM_INSTANCE_TINY)
static void probe_psi(void *r, const void *affine) {
    g2_affine a;
    g2_affine_load(&a, affine);
    g2_affine_psi(&a, &a);
    g2_affine_store(r, &a);
}
#else
#define probe_psi NULL
#endif

extern const struct pm_curve_probe PM_INSTANCE_NAME(pm_curve_probe);

const struct pm_curve_probe PM_INSTANCE_NAME(pm_curve_probe) = {
    .g1 = &probe_g1_group, .g2 = &probe_g2_group, .psi = probe_psi};
