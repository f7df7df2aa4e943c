/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The interface of supraseal-c2 0.1.0 and 0.1.1. */
#define PROOFMILL_SUPRASEAL_UPSTREAM
#include "shim/supraseal.h"

pm_supraseal_error generate_groth16_proofs_c(const pm_supraseal_assignment *provers, size_t n,
                                             const pm_supraseal_fr *r_s, const pm_supraseal_fr *s_s,
                                             pm_supraseal_proof *out, const pm_supraseal_srs *srs) {
    const struct pm_supraseal_request request = {
        .provers = provers, .n = n, .r_s = r_s, .s_s = s_s, .srs = srs, .gpu_index = -1};
    return pm_supraseal_generate(&request, out);
}
