/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "io/zkey_contributions.h"

#define CIRCUIT_HASH_BYTES 64u
#define TRANSCRIPT_BYTES 64u

/* delta after it, the proof of knowledge (s, s x in g1; x in g2), transcript hash, kind, parameters
 * (name, beacon). */
static pm_status skip_contribution(struct pm_cursor *cursor, uint64_t g1_bytes, pm_error *error) {
    const uint8_t *ignored = NULL;
    uint32_t kind = 0, parameter_bytes = 0;
    PM_TRY(pm_cursor_span(cursor, "a contribution's g1 points", 3, g1_bytes, &ignored, error));
    PM_TRY(pm_cursor_span(cursor, "a contribution's g2 point", 2, g1_bytes, &ignored, error));
    PM_TRY(pm_cursor_span(cursor, "a contribution's transcript", 1, TRANSCRIPT_BYTES, &ignored,
                          error));
    PM_TRY(pm_cursor_u32(cursor, "a contribution's type", &kind, error));
    PM_TRY(pm_cursor_u32(cursor, "the length of a contribution's parameters", &parameter_bytes,
                         error));
    return pm_cursor_span(cursor, "a contribution's parameters", parameter_bytes, 1, &ignored,
                          error);
}

pm_status pm_zkey_read_contributions(struct pm_zkey *zkey, const pm_control *control,
                                     pm_error *error) {
    struct pm_cursor cursor;
    if (pm_container_find(&zkey->container, PM_ZKEY_SECTION_CONTRIBUTIONS) == NULL) {
        pm_control_log(control, PM_LOG_WARNING,
                       "section 10 (contributions) is missing: setup may have ended early");
        return PM_OK;
    }
    PM_TRY(pm_container_section(&zkey->container, &pm_format_zkey, PM_ZKEY_SECTION_CONTRIBUTIONS,
                                &cursor, error));
    PM_TRY(pm_cursor_span(&cursor, "the circuit's hash", 1, CIRCUIT_HASH_BYTES, &zkey->circuit_hash,
                          error));
    PM_TRY(pm_cursor_u32(&cursor, "the number of contributions", &zkey->n_contributions, error));
    const uint64_t g1_bytes = 2 * pm_curve_fp_bytes(zkey->parts.curve);
    for (uint32_t i = 0; i < zkey->n_contributions; ++i) {
        PM_TRY(skip_contribution(&cursor, g1_bytes, error));
    }
    zkey->has_circuit_hash = true;
    return pm_cursor_finish(&cursor, error);
}
