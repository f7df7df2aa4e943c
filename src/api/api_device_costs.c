/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "api/api_device_costs.h"

#include "groth16/plan_sizes.h"

/*
 * Where the figures come from.
 *
 * The CPU: doc/performance.md, "Figures": processor time of whole proofs at 2^16 to 2^20 by points
 * of the domain, halfway between circuits of bits (sha256) and of field elements (merkle, rollup);
 * portable C takes twice as long as adx.
 *
 * The card, BN254: lab/proofs_gpu.md, whole proofs at 2^14 and 2^20 on one H200. BLS12-381:
 * doc/gpu.md, four sums over G1, one over G2 and the quotient at 2^20, two scalars in three being
 * bits; fixed: the same sums at 2^10, and the CPU's self-verification.
 *
 * A key goes up at 50 GB/s (lab/proofs_gpu.md) and is decoded or paged in at some 10. To open a
 * card, a context of CUDA and the tables of a domain, is an estimate.
 */
static const struct pm_device_costs costs_bn254 = {
    .cpu_fixed_ns = 3000000,
    .cpu_ps_a_point =
        {[PM_BODY_PORTABLE] = 13200000, [PM_BODY_ADX] = 6600000, [PM_BODY_IFMA] = 3100000},
    .card_fixed_ns = 6000000,
    .card_ps_a_point = 20000,
    .card_open_ns = 400000000,
    .card_ps_a_key_byte = 100};

static const struct pm_device_costs costs_bls12_381 = {
    .cpu_fixed_ns = 4000000,
    .cpu_ps_a_point =
        {[PM_BODY_PORTABLE] = 28000000, [PM_BODY_ADX] = 14000000, [PM_BODY_IFMA] = 6500000},
    .card_fixed_ns = 12000000,
    .card_ps_a_point = 32000,
    .card_open_ns = 400000000,
    .card_ps_a_key_byte = 100};

const struct pm_device_costs *pm_device_costs_of(pm_curve_id curve) {
    return curve == PM_CURVE_BN254 ? &costs_bn254 : &costs_bls12_381;
}

/* Of n things among so many threads; a quarter of what can be counted where it is more. */
static uint64_t nanoseconds(uint64_t n, uint64_t ps_each, uint64_t share) {
    uint64_t ps = 0;
    return __builtin_mul_overflow(n, ps_each, &ps) ? UINT64_MAX / 4 : ps / 1000 / share;
}

struct pm_device_estimate pm_device_estimate_costs(const struct pm_device_costs *costs,
                                                   const struct pm_plan_sizes *sizes,
                                                   uint32_t threads, enum pm_body body) {
    const uint64_t n = UINT64_C(1) << sizes->log_n;
    return (struct pm_device_estimate){
        .cpu_ns = costs->cpu_fixed_ns + nanoseconds(n, costs->cpu_ps_a_point[body], threads),
        .card_ns = costs->card_fixed_ns + nanoseconds(n, costs->card_ps_a_point, 1),
        .card_open_ns = costs->card_open_ns,
        .card_key_ns = nanoseconds(pm_plan_point_bytes(sizes), costs->card_ps_a_key_byte, 1)};
}
