/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "poly/poly.h"

/* Each table is exported by one compilation of poly_instance.c. */
extern const struct pm_poly pm_poly_bn254_portable, pm_poly_bls12_381_portable;
#if defined(__x86_64__)
extern const struct pm_poly pm_poly_bn254_adx, pm_poly_bls12_381_adx;
extern const struct pm_poly pm_poly_bn254_ifma, pm_poly_bls12_381_ifma;
#endif

struct poly_entry {
    pm_curve_id curve;
    enum pm_body body;
    const struct pm_poly *poly;
};

static const struct poly_entry polys[] = {
    {PM_CURVE_BN254, PM_BODY_PORTABLE, &pm_poly_bn254_portable},
    {PM_CURVE_BLS12_381, PM_BODY_PORTABLE, &pm_poly_bls12_381_portable},
#if defined(__x86_64__)
    {PM_CURVE_BN254, PM_BODY_ADX, &pm_poly_bn254_adx},
    {PM_CURVE_BLS12_381, PM_BODY_ADX, &pm_poly_bls12_381_adx},
    {PM_CURVE_BN254, PM_BODY_IFMA, &pm_poly_bn254_ifma},
    {PM_CURVE_BLS12_381, PM_BODY_IFMA, &pm_poly_bls12_381_ifma},
#endif
};

const struct pm_poly *pm_poly_get(pm_curve_id curve, enum pm_body body) {
    for (size_t i = 0; i < sizeof polys / sizeof polys[0]; i++) {
        if (polys[i].curve == curve && polys[i].body == body && pm_cpu_has_body(body)) {
            return polys[i].poly;
        }
    }
    return NULL;
}

pm_status pm_domain_create(const struct pm_poly *poly, uint32_t log_n, enum pm_root root,
                           struct pm_team *team, struct pm_ledger *ledger, struct pm_domain *domain,
                           pm_error *error) {
    PM_FAIL_IF(log_n > poly->log_n_max, error, PM_UNSUPPORTED,
               "a domain of 2^%u points is too large: the curve's scalar field has roots of unity "
               "up to order 2^%u",
               log_n, poly->log_n_max);
    void *tables = NULL;
    PM_TRY(pm_memory_alloc(ledger, "twiddle factors", poly->tables_bytes(log_n), PM_MEMORY_PLAIN,
                           &tables, error));
    poly->fill_tables(tables, log_n, root, team);
    *domain = (struct pm_domain){.poly = poly, .log_n = log_n, .root = root, .tables = tables};
    return PM_OK;
}

void pm_domain_destroy(struct pm_domain *domain) {
    if (domain != NULL) {
        pm_memory_free(domain->tables);
        *domain = (struct pm_domain){0};
    }
}
