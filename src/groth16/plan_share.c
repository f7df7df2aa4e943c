/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "groth16/plan_share.h"

#include "groth16/proving_key.h"

#include <string.h>

/* Work, as the header counts it. */
#define WORK_G1 10u
#define WORK_G2 30u
#define WORK_ROW 3u

static uint64_t work_of_point(enum pm_shared_sum sum) {
    return sum == PM_SHARED_B2 ? WORK_G2 : WORK_G1;
}

uint64_t pm_plan_query_points(const struct pm_plan_sizes *sizes, enum pm_shared_sum sum) {
    const bool is_compact = sizes->reduction == PM_REDUCTION_BELLMAN;
    switch (sum) {
    case PM_SHARED_L:
        return sizes->n_l;
    case PM_SHARED_A:
        return is_compact ? sizes->n_a : sizes->n_vars;
    default:
        return is_compact ? sizes->n_b : sizes->n_vars;
    }
}

/* The line of all sums over w. */
struct line {
    uint64_t n[PM_SHARED_SUMS];
    uint64_t work; /* counts are below 2^48, so that nothing here wraps */
};

/* The points of one sum that lie before `at` on the line; at_sum: where the sum begins. */
static uint64_t points_before(const struct line *line, enum pm_shared_sum sum, uint64_t at_sum,
                              uint64_t at) {
    const uint64_t n = at > at_sum ? (at - at_sum) / work_of_point(sum) : 0;
    return n < line->n[sum] ? n : line->n[sum];
}

static void cut(const struct line *line, uint64_t begin, uint64_t end,
                struct pm_plan_share *share) {
    uint64_t at_sum = 0;
    for (int i = 0; i < PM_SHARED_SUMS; ++i) {
        const enum pm_shared_sum sum = (enum pm_shared_sum)i;
        const uint64_t first = points_before(line, sum, at_sum, begin);
        const uint64_t n = points_before(line, sum, at_sum, end) - first;
        share->points[i] = (struct pm_plan_range){n != 0 ? first : 0, n};
        at_sum += line->n[i] * work_of_point(sum);
    }
}

void pm_plan_shares(const struct pm_plan_sizes *sizes, uint32_t n, bool with_b2,
                    struct pm_plan_share *shares) {
    struct line line = {.work = 0};
    memset(shares, 0, n * sizeof *shares);
    if (n == 1) {
        return;
    }
    for (int i = 0; i < PM_SHARED_SUMS; ++i) {
        const enum pm_shared_sum sum = (enum pm_shared_sum)i;
        line.n[i] = sum != PM_SHARED_B2 || with_b2 ? pm_plan_query_points(sizes, sum) : 0;
        line.work += line.n[i] * work_of_point(sum);
    }
    const uint64_t first_work = sizes->n_h * WORK_G1 + ((uint64_t)WORK_ROW << sizes->log_n);
    const uint64_t each = (first_work + line.work) / n;
    uint64_t begin = 0, end = each > first_work ? each - first_work : 0;
    for (uint32_t i = 0; i < n; ++i) {
        shares[i].is_cut = true;
        shares[i].is_further = i != 0;
        cut(&line, begin, end, &shares[i]);
        const uint32_t n_left = n - 1 - i;
        begin = end;
        end += n_left != 0 ? (line.work - begin) / n_left : 0;
    }
}

bool pm_plan_share_has_sums(const struct pm_plan_share *share) {
    bool has = !share->is_cut;
    for (int i = 0; i < PM_SHARED_SUMS; ++i) {
        has |= share->points[i].n != 0;
    }
    return has;
}

bool pm_plan_share_equal(const struct pm_plan_share *a, const struct pm_plan_share *b) {
    bool equal = a->is_cut == b->is_cut && a->is_further == b->is_further;
    for (int i = 0; i < PM_SHARED_SUMS; ++i) {
        equal &= a->points[i].first == b->points[i].first && a->points[i].n == b->points[i].n;
    }
    return equal;
}

/* ---- The key ----------------------------------------------------------------------------------
 */

static void cut_query(struct pm_key_query *query, uint64_t point_bytes,
                      const struct pm_plan_range *range) {
    query->points = range->n != 0 ? query->points + range->first * point_bytes : NULL;
    query->n = range->n;
}

void pm_proving_key_cut(const struct pm_proving_key *key, const struct pm_plan_share *share,
                        struct pm_proving_key *view) {
    const uint64_t g1_bytes = 2 * (uint64_t)pm_curve_fp_bytes(key->header.curve);
    *view = *key;
    if (!share->is_cut) {
        return;
    }
    cut_query(&view->a, g1_bytes, &share->points[PM_SHARED_A]);
    cut_query(&view->b1, g1_bytes, &share->points[PM_SHARED_B1]);
    cut_query(&view->l, g1_bytes, &share->points[PM_SHARED_L]);
    cut_query(&view->b2, 2 * g1_bytes, &share->points[PM_SHARED_B2]);
    if (share->is_further) {
        view->h = (struct pm_key_query){.n = 0};
        view->matrices = PM_KEY_MATRICES_NONE;
    }
}
