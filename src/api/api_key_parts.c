/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Reading a proving key out, part by part. */
#include "api/api_internal.h"

#include <string.h>

/* A row of points inside a key. */
struct part {
    const char *name;
    const uint8_t *points; /* affine Montgomery; NULL when the key lacks it */
    uint64_t n;
    bool is_g2;
};

static bool find_part(const struct pm_proving_key *key, pm_key_part which, struct part *part) {
    const struct pm_key_header *header = &key->header;
    switch (which) {
    case PM_KEY_PART_ALPHA_G1:
        *part = (struct part){"alpha", header->alpha_g1, 1, false};
        return true;
    case PM_KEY_PART_BETA_G1:
        *part = (struct part){"beta in G1", header->beta_g1, 1, false};
        return true;
    case PM_KEY_PART_BETA_G2:
        *part = (struct part){"beta in G2", header->beta_g2, 1, true};
        return true;
    case PM_KEY_PART_GAMMA_G2:
        *part = (struct part){"gamma", header->gamma_g2, 1, true};
        return true;
    case PM_KEY_PART_DELTA_G1:
        *part = (struct part){"delta in G1", header->delta_g1, 1, false};
        return true;
    case PM_KEY_PART_DELTA_G2:
        *part = (struct part){"delta in G2", header->delta_g2, 1, true};
        return true;
    case PM_KEY_PART_IC:
        *part = (struct part){"IC", header->ic, key->n_inputs, false};
        return true;
    case PM_KEY_PART_A:
        *part = (struct part){"A", key->a.points, key->a.n, false};
        return true;
    case PM_KEY_PART_B1:
        *part = (struct part){"B1", key->b1.points, key->b1.n, false};
        return true;
    case PM_KEY_PART_B2:
        *part = (struct part){"B2", key->b2.points, key->b2.n, true};
        return true;
    case PM_KEY_PART_C:
        *part = (struct part){"C", key->l.points, key->l.n, false};
        return true;
    case PM_KEY_PART_H:
        *part = (struct part){"H", key->h.points, key->h.n, false};
        return true;
    }
    return false;
}

uint64_t pm_key_part_count(const pm_key *key, pm_key_part part) {
    struct part found;
    if (key == NULL || !find_part(&key->proving_key, part, &found)) {
        return 0;
    }
    return found.points != NULL ? found.n : 0;
}

pm_status pm_key_points(const pm_key *key, pm_key_part part, uint64_t first, uint64_t n,
                        const pm_control *control, void *out, pm_error *error) {
    struct part found;
    PM_FAIL_IF(key == NULL || (out == NULL && n > 0), error, PM_INVALID_ARGUMENT,
               "key or out is NULL");
    PM_FAIL_IF(!find_part(&key->proving_key, part, &found), error, PM_INVALID_ARGUMENT,
               "%d is not a pm_key_part", (int)part);
    const uint64_t n_points = pm_key_part_count(key, part);
    PM_FAIL_IF(first > n_points || n > n_points - first, error, PM_INVALID_ARGUMENT,
               "%s has %llu points", found.name, (unsigned long long)n_points);
    PM_TRY(pm_control_check(control, error));
    const struct pm_curve *curve = pm_curve_get(key->proving_key.header.curve, PM_BODY_PORTABLE);
    const struct pm_group *group = found.is_g2 ? curve->g2 : curve->g1;
    for (uint64_t i = 0; i < n; ++i) {
        uint8_t affine[PM_G2_BYTES_MAX];
        const enum pm_point_fault fault =
            group->decode(affine, PM_POINT_MONTGOMERY_LE,
                          found.points + (first + i) * group->affine_bytes, PM_POINT_CHECK_NONE);
        if (fault != PM_POINT_GOOD) {
            pm_error_set(error, pm_point_fault_status(fault), "%s[%llu] is %s", found.name,
                         (unsigned long long)(first + i), pm_point_fault_text(fault));
            pm_error_at(error, key->mapping.name, PM_NO_OFFSET);
            return pm_point_fault_status(fault);
        }
        group->encode((uint8_t *)out + i * group->affine_bytes, PM_POINT_CANONICAL_LE, affine);
    }
    return pm_mapping_check(&key->mapping, error);
}

pm_status pm_key_coefficients(const pm_key *key, uint64_t first, uint64_t n,
                              const pm_control *control, pm_coefficient *out, pm_error *error) {
    PM_FAIL_IF(key == NULL || (out == NULL && n > 0), error, PM_INVALID_ARGUMENT,
               "key or out is NULL");
    const struct pm_proving_key *proving_key = &key->proving_key;
    PM_FAIL_IF(first > proving_key->n_records || n > proving_key->n_records - first, error,
               PM_INVALID_ARGUMENT, "the key has %llu coefficients",
               (unsigned long long)proving_key->n_records);
    PM_TRY(pm_control_check(control, error));
    const struct pm_field *fr = pm_field_fr(proving_key->header.curve, PM_BODY_PORTABLE);
    for (uint64_t i = 0; i < n; ++i) {
        const uint8_t *record = proving_key->records + (first + i) * PM_ZKEY_COEFFICIENT_BYTES;
        uint32_t place[3];
        uint64_t value[PM_FR_BYTES / 8];
        memcpy(place, record, sizeof place);
        memcpy(value, record + sizeof place, sizeof value);
        fr->from_mont(value, value, 1); /* twice: the file has the value times R^2 */
        fr->from_mont(value, value, 1);
        out[i] = (pm_coefficient){.matrix = place[0], .constraint = place[1], .signal = place[2]};
        memcpy(out[i].value, value, sizeof value);
    }
    return pm_mapping_check(&key->mapping, error);
}
