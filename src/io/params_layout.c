/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Where the parts of a parameter file lie, and how their lengths must agree. */
#include "io/params.h"

#define G1_BYTES 96u
#define G2_BYTES 192u
#define COUNT_BYTES 4u
/* bellperson's domains stay below the field's two-adicity, which is 32. */
#define LOG_N_MAX 31u

static const struct {
    const char *name;
    bool is_g2;
} parts[PM_PARAMS_PARTS] = {
    [PM_PARAMS_ALPHA_G1] = {"alpha in g1", false},
    [PM_PARAMS_BETA_G1] = {"beta in g1", false},
    [PM_PARAMS_BETA_G2] = {"beta in g2", true},
    [PM_PARAMS_GAMMA_G2] = {"gamma in g2", true},
    [PM_PARAMS_DELTA_G1] = {"delta in g1", false},
    [PM_PARAMS_DELTA_G2] = {"delta in g2", true},
    [PM_PARAMS_IC] = {"ic", false},
    [PM_PARAMS_H] = {"h", false},
    [PM_PARAMS_L] = {"l", false},
    [PM_PARAMS_A] = {"a", false},
    [PM_PARAMS_B_G1] = {"b_g1", false},
    [PM_PARAMS_B_G2] = {"b_g2", true},
};

const char *pm_params_part_name(enum pm_params_part part) {
    return part < PM_PARAMS_PARTS ? parts[part].name : "unknown";
}

bool pm_params_part_is_g2(enum pm_params_part part) {
    return part < PM_PARAMS_PARTS && parts[part].is_g2;
}

uint32_t pm_params_point_bytes(enum pm_params_part part) {
    return pm_params_part_is_g2(part) ? G2_BYTES : G1_BYTES;
}

/* low <= n <= high, the bounds being called what they are. */
static pm_status check_range(const char *part, uint64_t n, uint64_t low, uint64_t high,
                             const char *reason, pm_error *error) {
    if (n >= low && n <= high) {
        return PM_OK;
    }
    pm_error_set(error, PM_COUNT, "%s has %llu points, need %llu to %llu: %s", part,
                 (unsigned long long)n, (unsigned long long)low, (unsigned long long)high, reason);
    pm_error_need_have(error, n < low ? low : high, n);
    return PM_COUNT;
}

static pm_status check_h(struct pm_params_layout *layout, uint64_t n, pm_error *error) {
    const uint64_t domain = n + 1, n_inputs = layout->n[PM_PARAMS_IC];
    if ((domain & n) != 0) {
        pm_error_set(error, PM_COUNT,
                     "h has %llu points, need 2^k - 1: one less than the domain of the circuit",
                     (unsigned long long)n);
        pm_error_need_have(error, 0, n);
        return PM_COUNT;
    }
    layout->log_n = (uint32_t)__builtin_ctzll(domain);
    if (layout->log_n > LOG_N_MAX) {
        pm_error_set(error, PM_UNSUPPORTED,
                     "h has 2^%u - 1 points: domains of up to 2^%u points are supported",
                     layout->log_n, LOG_N_MAX);
        pm_error_need_have(error, LOG_N_MAX, layout->log_n);
        return PM_UNSUPPORTED;
    }
    if (domain < n_inputs) {
        pm_error_set(error, PM_COUNT,
                     "h has %llu points, but a domain of %llu cannot hold the rows of %llu inputs",
                     (unsigned long long)n, (unsigned long long)domain,
                     (unsigned long long)n_inputs);
        pm_error_need_have(error, n_inputs, domain);
        return PM_COUNT;
    }
    return PM_OK;
}

static pm_status check_count(struct pm_params_layout *layout, enum pm_params_part part, uint64_t n,
                             pm_error *error) {
    const uint64_t n_inputs = layout->n[PM_PARAMS_IC], n_all = n_inputs + layout->n[PM_PARAMS_L];
    switch (part) {
    case PM_PARAMS_IC:
        return check_range("ic", n, 1, UINT32_MAX, "the constant one needs a point", error);
    case PM_PARAMS_H:
        return check_h(layout, n, error);
    case PM_PARAMS_L:
        return check_range("l", n, 0, UINT32_MAX, "one for each aux variable", error);
    case PM_PARAMS_A:
        return check_range("a", n, n_inputs, n_all,
                           "one for each input and for the aux variables that occur in A", error);
    case PM_PARAMS_B_G1:
        return check_range("b_g1", n, 0, n_all,
                           "one for each input and aux variable that occurs in B", error);
    case PM_PARAMS_B_G2:
        return check_range("b_g2", n, layout->n[PM_PARAMS_B_G1], layout->n[PM_PARAMS_B_G1],
                           "as many as b_g1", error);
    default:
        return check_range(pm_params_part_name(part), n, 1, 1, "it is a single point", error);
    }
}

pm_status pm_params_layout_add(struct pm_params_layout *layout, enum pm_params_part part,
                               uint64_t n, pm_error *error) {
    PM_TRY(check_count(layout, part, n, error));
    /* Counts are below 2^32 and points have at most 192 bytes, so that nothing wraps. */
    layout->n[part] = n;
    layout->offset[part] = layout->n_bytes + (part >= PM_PARAMS_N_FIXED ? COUNT_BYTES : 0);
    layout->n_bytes = layout->offset[part] + n * pm_params_point_bytes(part);
    if (part < PM_PARAMS_VK_PARTS) {
        layout->vk_bytes = layout->n_bytes;
    }
    return PM_OK;
}

pm_status pm_params_layout_make(const struct pm_params_counts *counts,
                                struct pm_params_layout *layout, pm_error *error) {
    PM_FAIL_IF(counts->log_n > LOG_N_MAX, error, PM_UNSUPPORTED,
               "a domain of 2^%u points is too large for a parameter file: up to 2^%u",
               counts->log_n, LOG_N_MAX);
    const uint64_t n[PM_PARAMS_PARTS] = {1,
                                         1,
                                         1,
                                         1,
                                         1,
                                         1,
                                         counts->n_inputs,
                                         (UINT64_C(1) << counts->log_n) - 1,
                                         counts->n_aux,
                                         counts->n_a,
                                         counts->n_b,
                                         counts->n_b};
    *layout = (struct pm_params_layout){0};
    for (int part = 0; part < PM_PARAMS_PARTS; ++part) {
        PM_TRY(pm_params_layout_add(layout, (enum pm_params_part)part, n[part], error));
    }
    return PM_OK;
}
