/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The tables of curve/curve.h for one curve in one body (see ff/ff_instance.inc). */
#include "curve/curve.h"

#include "curve/curve_instance.inc"

#if defined(PM_INSTANCE_BLS12_381)
#define HAS_ZCASH_FORMS 1
#else
#define HAS_ZCASH_FORMS 0
#endif

/* The flags in the first byte of a Zcash encoding. */
#define ZCASH_COMPRESSED 0x80u
#define ZCASH_INFINITY 0x40u
#define ZCASH_LARGER_ROOT                                                                          \
    0x20u /* of a compressed point: y is above (p - 1) / 2, c1 compared first */
#define ZCASH_FLAGS 0xe0u

/* Whether all bits but the flags are zero. */
static bool zcash_only_flags(const uint8_t *in, size_t n_bytes) {
    unsigned rest = in[0] & ~ZCASH_FLAGS;
    for (size_t i = 1; i < n_bytes; i++) {
        rest |= in[i];
    }
    return rest == 0;
}

#include "curve/curve_coordinate.inc"

#define G g1
#define K fp
#define G_CONST(x) PM_PARAM(G1_##x)
#include "curve/curve_codec.inc"
#include "curve/curve_table.inc"
#undef G
#undef K
#undef G_CONST

#define G g2
#define K fp2
#define G_CONST(x) PM_PARAM(G2_##x)
#include "curve/curve_codec.inc"
#include "curve/curve_table.inc"
#undef G
#undef K
#undef G_CONST

extern const struct pm_field PM_INSTANCE_NAME(pm_field_fp), PM_INSTANCE_NAME(pm_field_fr);
extern const struct pm_curve PM_INSTANCE_NAME(pm_curve);

const struct pm_curve PM_INSTANCE_NAME(pm_curve) = {
    .id = PM_INSTANCE_CURVE_ID,
    .name = PM_INSTANCE_CURVE_STRING,
    .body = PM_INSTANCE_BODY_STRING,
    .fp = &PM_INSTANCE_NAME(pm_field_fp),
    .fr = &PM_INSTANCE_NAME(pm_field_fr),
    .g1 = &table_g1_group,
    .g2 = &table_g2_group,
};
