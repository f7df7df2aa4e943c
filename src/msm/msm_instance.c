/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The table of msm/msm.h for one curve in one body; compiled once for each (see ff_instance.inc).
 */
#include "msm/msm.h"

#include "base/control.h"
#include "base/limits.h"
#include "curve/curve_instance.inc"

#include "msm/msm_plan.inc"

#include "msm/msm_digits.inc"

#if PM_INSTANCE_IFMA
#include "msm/msm_fp8.inc"
#endif

/* a = -a where `negative`, without a branch: a sign is a coin toss. With s all ones or zero and
 * modulus m this is (a ^ s) + (m & s) + (s & 1), and m - a = m + ~a + 1. */
PM_FF_INLINE void fp_negate_if(fp *a, bool negative) {
    const uint64_t m[FP_LIMBS] = PM_PARAM(FP_MODULUS);
    const uint64_t s = (uint64_t)0 - (uint64_t)(negative & !fp_is_zero(a)); /* -0 is 0, not m */
    unsigned char carry = (unsigned char)(s & 1);
    PM_UNROLL
    for (int i = 0; i < FP_LIMBS; i++) {
        carry = pm_adc(&a->l[i], a->l[i] ^ s, m[i] & s, carry);
    }
}

PM_FF_INLINE void fp2_negate_if(fp2 *a, bool negative) {
    fp_negate_if(&a->c0, negative);
    fp_negate_if(&a->c1, negative);
}

#define G g1
#define K fp
#define K8 fp8
#include "msm/msm_batch_group.inc"
#include "msm/msm_group.inc"
#undef G
#undef K
#undef K8

#define G g2
#define K fp2
#define K8 fp2x8
#include "msm/msm_batch_group.inc"
#include "msm/msm_group.inc"
#undef G
#undef K
#undef K8

static uint64_t msm_bytes(enum pm_msm_group group, uint64_t n, uint32_t threads) {
    return group == PM_MSM_G1 ? msm_g1_bytes(n, threads) : msm_g2_bytes(n, threads);
}

static pm_status msm_run_input(enum pm_msm_group group, const struct pm_msm_input *input,
                               struct pm_team *team, void *scratch, const pm_control *control,
                               void *result, pm_error *error) {
    PM_FAIL_IF(!msm_input_is_whole(input), error, PM_INVALID_ARGUMENT,
               "%llu points are not what the density of %llu scalars asks for",
               (unsigned long long)input->n_points, (unsigned long long)input->n_scalars);
    return group == PM_MSM_G1 ? msm_g1_run(input, team, scratch, control, result, error)
                              : msm_g2_run(input, team, scratch, control, result, error);
}

static pm_status msm_run(enum pm_msm_group group, const void *points, const void *scalars,
                         uint64_t n, struct pm_team *team, void *scratch, const pm_control *control,
                         void *result, pm_error *error) {
    const struct pm_msm_input input = {
        .points = points, .scalars = scalars, .n_points = n, .n_scalars = n};
    return msm_run_input(group, &input, team, scratch, control, result, error);
}

static void msm_reference(enum pm_msm_group group, const void *points, const void *scalars,
                          uint64_t n, void *result) {
    if (group == PM_MSM_G1) {
        msm_g1_reference(points, scalars, n, result);
    } else {
        msm_g2_reference(points, scalars, n, result);
    }
}

extern const struct pm_msm PM_INSTANCE_NAME(pm_msm);
const struct pm_msm PM_INSTANCE_NAME(pm_msm) = {
    .curve = PM_INSTANCE_CURVE_ID,
    .body = PM_INSTANCE_BODY_STRING,
    .bytes = msm_bytes,
    .run = msm_run,
    .run_input = msm_run_input,
    .reference = msm_reference,
};
