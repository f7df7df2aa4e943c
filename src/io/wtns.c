/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "io/wtns.h"

#include "io/modulus.h"
#include "io/scan.h"

#include <string.h>

enum { SECTION_HEADER = 1, SECTION_VALUES = 2 };

struct value_scan {
    const uint64_t *modulus;
    const uint8_t *values;
    const struct pm_mapping *mapping; /* whose pages are given back behind the reader; or NULL */
};

static uint64_t scan_values(const void *argument, uint64_t begin, uint64_t end) {
    const struct value_scan *scan = argument;
    for (uint64_t i = begin; i < end; ++i) {
        if (!pm_modulus_exceeds(scan->modulus, scan->values + i * PM_FR_BYTES)) {
            return i;
        }
    }
    pm_mapping_release_range(scan->mapping, scan->values + begin * PM_FR_BYTES,
                             (end - begin) * PM_FR_BYTES);
    return end;
}

static pm_status check_values(pm_curve_id curve, const uint8_t *values, uint64_t n_values,
                              const char *name, uint64_t offset, const struct pm_mapping *mapping,
                              struct pm_team *team, const pm_control *control, pm_error *error) {
    static const uint8_t one[PM_FR_BYTES] = {1};
    const struct value_scan argument = {
        .modulus = pm_modulus_scalar(curve), .values = values, .mapping = mapping};
    const struct pm_scan scan = {.phase = "checking the witness",
                                 .n = n_values,
                                 .grain = UINT64_C(1) << 16,
                                 .progress_per_element = 1,
                                 .progress_total = n_values,
                                 .piece = scan_values,
                                 .argument = &argument};
    uint64_t lowest = 0;
    if (n_values == 0 || memcmp(values, one, sizeof one) != 0) {
        pm_error_set(error, PM_WITNESS_MISMATCH, "%s: wire 0 must be 1, the constant",
                     n_values == 0 ? "the witness has no values" : "witness[0] is not 1");
        pm_error_at(error, name, offset);
        return PM_WITNESS_MISMATCH;
    }
    PM_TRY(pm_scan_run(&scan, team, control, &lowest, error));
    if (lowest < n_values) {
        pm_error_set(error, PM_NOT_CANONICAL,
                     "witness[%llu] is not reduced: it is not below the scalar field's prime of %s",
                     (unsigned long long)lowest, pm_curve_name(curve));
        pm_error_at(error, name,
                    offset == PM_NO_OFFSET ? PM_NO_OFFSET : offset + lowest * PM_FR_BYTES);
        return PM_NOT_CANONICAL;
    }
    return PM_OK;
}

pm_status pm_wtns_check_values(pm_curve_id curve, const uint8_t *values, uint64_t n_values,
                               const char *name, uint64_t offset, struct pm_team *team,
                               pm_error *error) {
    PM_FAIL_IF(pm_curve_fp_bytes(curve) == 0, error, PM_CURVE, "unknown curve %d", (int)curve);
    return check_values(curve, values, n_values, name, offset, NULL, team, NULL, error);
}

static pm_status parse(const struct pm_mapping *mapping, struct pm_team *team,
                       const pm_control *control, struct pm_wtns *wtns, pm_error *error) {
    struct pm_cursor header, values;
    uint32_t count = 0;
    PM_TRY(pm_control_check(control, error));
    PM_TRY(pm_container_open(mapping, &pm_format_wtns, &wtns->container, error));
    if (wtns->container.version == 1) {
        pm_control_log(control, PM_LOG_INFO, "the witness file has version 1, read as version 2");
    }
    PM_TRY(pm_container_section(&wtns->container, &pm_format_wtns, SECTION_HEADER, &header, error));
    PM_TRY(pm_modulus_read_scalar(&header, &wtns->curve, error));
    PM_TRY(pm_cursor_u32(&header, "the number of values", &count, error));
    PM_TRY(pm_cursor_finish(&header, error));
    PM_TRY(pm_container_exact(&wtns->container, &pm_format_wtns, SECTION_VALUES, 0, count,
                              PM_FR_BYTES, &values, &wtns->values, error));
    wtns->n_values = count;
    wtns->values_offset = values.position;
    return check_values(wtns->curve, wtns->values, wtns->n_values, mapping->name,
                        wtns->values_offset, mapping, team, control, error);
}

pm_status pm_wtns_open(const struct pm_mapping *mapping, struct pm_team *team,
                       const pm_control *control, struct pm_wtns *wtns, pm_error *error) {
    *wtns = (struct pm_wtns){0};
    const pm_status status = parse(mapping, team, control, wtns, error);
    PM_TRY(pm_mapping_check(mapping, error));
    return status;
}
