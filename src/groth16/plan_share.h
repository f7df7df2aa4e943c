/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * groth16/plan_share.h - one proof on several devices: who makes which sums.
 *
 * The first device makes the quotient and the sum of h. The sums over w are laid one behind the
 * other, A, B1, L, B2, and cut into one piece for each device, so that all of them have as much to
 * do: the first one gets less than the others, or nothing, since it has the quotient and h. A cut
 * falls anywhere between two points of a query. Every device that makes such a sum loads all of w:
 * what it does not need costs it less than to pick out what it needs would cost the host.
 *
 * Work is counted in tenths of a point of G1 whose scalar is of full size: a point of G2 is 30, a
 * row of the domain 3 for the products and the quotient (measured: lab/proofs_gpu.md, 215 ms for
 * 2^27 rows beside 694 for as many points of h). How many scalars are 0 and 1 is not known to a
 * plan, and what of a key lies on which device must not change from one witness to the next. Where
 * 98 of 100 are bits, the sums over w take a fourteenth of what is counted for them, and the first
 * device, whose h is never of bits, ends last: of two, by those measurements, a twenty-fifth of the
 * proof later than if it made no sum over w at all. To count them for less would keep a proof of
 * full scalars waiting for more than a third of its time.
 *
 * Devices are taken to be equally fast.
 */
#ifndef PM_GROTH16_PLAN_SHARE_H
#define PM_GROTH16_PLAN_SHARE_H

#include "groth16/plan.h"

struct pm_proving_key;

/* Points of a whole query; a key of snarkjs's has one for each variable in A, B1 and B2. */
uint64_t pm_plan_query_points(const struct pm_plan_sizes *sizes, enum pm_shared_sum sum);

/* Shares of n >= 1 devices, the first one first; together they are the proof, each point once.
 * with_b2: B2 is the devices', not the CPU's. n 1: a share of everything, which is not cut. */
void pm_plan_shares(const struct pm_plan_sizes *sizes, uint32_t n, bool with_b2,
                    struct pm_plan_share *shares);
/* Whether it makes any sum over w; one that is not cut does. */
bool pm_plan_share_has_sums(const struct pm_plan_share *share);
bool pm_plan_share_equal(const struct pm_plan_share *a, const struct pm_plan_share *b);

/* The key as a device sees it that has this share: its queries are as long as its ranges, all else
 * is the key's, which must outlive the view. Nothing of a view is destroyed. */
void pm_proving_key_cut(const struct pm_proving_key *key, const struct pm_plan_share *share,
                        struct pm_proving_key *view);

#endif
