/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Sections 1 to 9 of a .zkey: shapes first, then the coefficients, which are the one part of a key
 * that addresses memory. */
#include "io/zkey.h"

#include "base/clock.h"
#include "io/modulus.h"
#include "io/scan.h"
#include "io/zkey_contributions.h"

#include <stdatomic.h>
#include <string.h>

/* Coefficients between two looks at control, and those that are resident while they are checked. */
#define RECORDS_PER_GRAIN (UINT64_C(1) << 15)
#define RECORDS_PER_WINDOW (UINT64_C(1) << 19)

/* snarkjs's numbers of protocols that are not ours. */
enum { PROTOCOL_PLONK = 2, PROTOCOL_FFLONK = 10 };

static const char *protocol_name(uint32_t protocol) {
    switch (protocol) {
    case PROTOCOL_PLONK:
        return "plonk";
    case PROTOCOL_FFLONK:
        return "fflonk";
    default:
        return "unknown";
    }
}

static pm_status read_protocol(const struct pm_container *container, pm_error *error) {
    struct pm_cursor cursor;
    uint32_t protocol = 0;
    PM_TRY(
        pm_container_section(container, &pm_format_zkey, PM_ZKEY_SECTION_PROTOCOL, &cursor, error));
    PM_TRY(pm_cursor_u32(&cursor, "the protocol", &protocol, error));
    if (protocol != PM_ZKEY_PROTOCOL_GROTH16) {
        pm_cursor_fail(&cursor, sizeof protocol, error, PM_PROTOCOL,
                       "protocol is %s (%u), need groth16 (%d)", protocol_name(protocol), protocol,
                       PM_ZKEY_PROTOCOL_GROTH16);
        pm_error_need_have(error, PM_ZKEY_PROTOCOL_GROTH16, protocol);
        return PM_PROTOCOL;
    }
    return pm_cursor_finish(&cursor, error);
}

static pm_status read_moduli(struct pm_cursor *cursor, struct pm_key_parts *parts,
                             pm_error *error) {
    const uint8_t *q = NULL, *r = NULL;
    uint32_t q_bytes = 0, r_bytes = 0;
    PM_TRY(pm_modulus_read(cursor, "the base field's prime q", &q, &q_bytes, error));
    PM_TRY(pm_modulus_read(cursor, "the scalar field's prime r", &r, &r_bytes, error));
    parts->curve = pm_modulus_find_pair(q, q_bytes, r, r_bytes);
    if (parts->curve == PM_CURVE_NONE) {
        char q_text[PM_MODULUS_TEXT_BYTES], r_text[PM_MODULUS_TEXT_BYTES];
        return pm_cursor_fail(cursor, r_bytes, error, PM_CURVE,
                              "q = %s and r = %s are the primes of neither bn128 nor bls12381",
                              pm_modulus_text(q, q_bytes, q_text),
                              pm_modulus_text(r, r_bytes, r_text));
    }
    return PM_OK;
}

static pm_status read_sizes(struct pm_cursor *cursor, struct pm_key_parts *parts, pm_error *error) {
    uint32_t domain = 0;
    PM_TRY(pm_cursor_u32(cursor, "the number of signals", &parts->n_vars, error));
    PM_TRY(pm_cursor_u32(cursor, "the number of public signals", &parts->n_public, error));
    if (parts->n_vars == 0 || parts->n_public >= parts->n_vars) {
        pm_cursor_fail(cursor, 2 * sizeof(uint32_t), error, PM_COUNT,
                       "%u signals cannot hold the constant one and %u public signals",
                       parts->n_vars, parts->n_public);
        pm_error_need_have(error, (uint64_t)parts->n_public + 1, parts->n_vars);
        return PM_COUNT;
    }
    PM_TRY(pm_cursor_u32(cursor, "the size of the domain", &domain, error));
    if (domain == 0 || (domain & (domain - 1)) != 0) {
        return pm_cursor_fail(cursor, sizeof domain, error, PM_COUNT,
                              "the size of the domain, %u, is no power of two", domain);
    }
    parts->log_n = (uint32_t)__builtin_ctz(domain);
    /* The quotient is taken on the odd points of the double domain, so 2^(log_n + 1) must divide
     * r - 1. snarkjs goes one further, with a coset shift and hence other H points. */
    const uint32_t log_n_max = pm_modulus_scalar_two_adicity(parts->curve) - 1;
    if (parts->log_n > log_n_max) {
        pm_cursor_fail(cursor, sizeof domain, error, PM_UNSUPPORTED,
                       "a domain of 2^%u points is too large: on %s up to 2^%u are supported, and "
                       "beyond that snarkjs uses another basis for the h points",
                       parts->log_n, pm_curve_name(parts->curve), log_n_max);
        pm_error_need_have(error, log_n_max, parts->log_n);
        return PM_UNSUPPORTED;
    }
    return PM_OK;
}

static pm_status read_header(const struct pm_container *container, struct pm_key_parts *parts,
                             pm_error *error) {
    struct pm_cursor cursor;
    PM_TRY(
        pm_container_section(container, &pm_format_zkey, PM_ZKEY_SECTION_HEADER, &cursor, error));
    PM_TRY(read_moduli(&cursor, parts, error));
    PM_TRY(read_sizes(&cursor, parts, error));
    const uint64_t g1_bytes = 2 * pm_curve_fp_bytes(parts->curve), g2_bytes = 2 * g1_bytes;
    PM_TRY(pm_cursor_span(&cursor, "alpha in g1", 1, g1_bytes, &parts->alpha_g1, error));
    PM_TRY(pm_cursor_span(&cursor, "beta in g1", 1, g1_bytes, &parts->beta_g1, error));
    PM_TRY(pm_cursor_span(&cursor, "beta in g2", 1, g2_bytes, &parts->beta_g2, error));
    PM_TRY(pm_cursor_span(&cursor, "gamma in g2", 1, g2_bytes, &parts->gamma_g2, error));
    PM_TRY(pm_cursor_span(&cursor, "delta in g1", 1, g1_bytes, &parts->delta_g1, error));
    PM_TRY(pm_cursor_span(&cursor, "delta in g2", 1, g2_bytes, &parts->delta_g2, error));
    return pm_cursor_finish(&cursor, error);
}

static pm_status read_points(const struct pm_container *container, uint32_t type, uint64_t n,
                             uint64_t point_bytes, const uint8_t **points, pm_error *error) {
    struct pm_cursor cursor;
    return pm_container_exact(container, &pm_format_zkey, type, 0, n, point_bytes, &cursor, points,
                              error);
}

static pm_status read_queries(const struct pm_container *container, struct pm_key_parts *parts,
                              const pm_control *control, pm_error *error) {
    const uint64_t g1_bytes = 2 * pm_curve_fp_bytes(parts->curve), g2_bytes = 2 * g1_bytes;
    const uint64_t n_vars = parts->n_vars, n_ic = (uint64_t)parts->n_public + 1;
    if (pm_container_find(container, PM_ZKEY_SECTION_IC) != NULL) {
        PM_TRY(read_points(container, PM_ZKEY_SECTION_IC, n_ic, g1_bytes, &parts->ic, error));
    } else {
        pm_control_log(control, PM_LOG_WARNING,
                       "section 3 (ic) is missing: proofs of this key cannot be verified with it");
    }
    PM_TRY(read_points(container, PM_ZKEY_SECTION_A, n_vars, g1_bytes, &parts->a, error));
    PM_TRY(read_points(container, PM_ZKEY_SECTION_B1, n_vars, g1_bytes, &parts->b1, error));
    PM_TRY(read_points(container, PM_ZKEY_SECTION_B2, n_vars, g2_bytes, &parts->b2, error));
    PM_TRY(read_points(container, PM_ZKEY_SECTION_C, n_vars - n_ic, g1_bytes, &parts->c, error));
    return read_points(container, PM_ZKEY_SECTION_H, UINT64_C(1) << parts->log_n, g1_bytes,
                       &parts->h, error);
}

/* One record of section 4: matrix, row, column, then the value times R^2. */
struct record {
    uint32_t matrix, row, column;
};

_Static_assert(sizeof(struct record) + PM_FR_BYTES == PM_ZKEY_COEFFICIENT_BYTES,
               "the three words are followed by the value");

static struct record record_at(const uint8_t *coefficients, uint64_t index) {
    struct record record;
    memcpy(&record, coefficients + index * PM_ZKEY_COEFFICIENT_BYTES, sizeof record);
    return record;
}

struct coefficient_scan {
    const struct pm_key_parts *parts;
    const uint64_t *modulus;
    uint64_t first; /* of the window that is scanned */
    atomic_bool *is_sorted;
    _Atomic uint32_t *last_row;
    _Atomic uint64_t *n_of_a;
};

static bool is_good_record(const struct coefficient_scan *scan, uint64_t index) {
    const struct record record = record_at(scan->parts->coefficients, index);
    const uint8_t *value =
        scan->parts->coefficients + index * PM_ZKEY_COEFFICIENT_BYTES + sizeof record;
    return record.matrix <= 1 && record.row < UINT64_C(1) << scan->parts->log_n &&
           record.column < scan->parts->n_vars && pm_modulus_exceeds(scan->modulus, value);
}

static uint64_t scan_coefficients(const void *argument, uint64_t window_begin,
                                  uint64_t window_end) {
    const struct coefficient_scan *scan = argument;
    const uint64_t begin = scan->first + window_begin, end = scan->first + window_end;
    uint64_t n_of_a = 0;
    uint32_t previous = begin > 0 ? record_at(scan->parts->coefficients, begin - 1).row : 0;
    uint32_t last_row = 0;
    bool is_sorted = true;
    for (uint64_t i = begin; i < end; ++i) {
        if (!is_good_record(scan, i)) {
            return i - scan->first;
        }
        const struct record record = record_at(scan->parts->coefficients, i);
        const uint32_t row = record.row;
        n_of_a += record.matrix == 0;
        is_sorted = is_sorted && row >= previous;
        last_row = row > last_row ? row : last_row;
        previous = row;
    }
    if (!is_sorted) {
        atomic_store_explicit(scan->is_sorted, false, memory_order_relaxed);
    }
    uint32_t seen = atomic_load_explicit(scan->last_row, memory_order_relaxed);
    while (last_row > seen &&
           !atomic_compare_exchange_weak_explicit(scan->last_row, &seen, last_row,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
    (void)atomic_fetch_add_explicit(scan->n_of_a, n_of_a, memory_order_relaxed);
    return window_end;
}

static pm_status fail_record(const struct pm_cursor *cursor, const struct pm_key_parts *parts,
                             uint64_t index, pm_error *error) {
    const struct record record = record_at(parts->coefficients, index);
    const uint64_t n = UINT64_C(1) << parts->log_n;
    struct pm_cursor at = *cursor;
    at.position += sizeof(uint32_t) + index * PM_ZKEY_COEFFICIENT_BYTES;
    if (record.matrix > 1) {
        return pm_cursor_fail(&at, 0, error, PM_COUNT,
                              "coefficient %llu is for matrix %u, there are 0 (A) and 1 (B)",
                              (unsigned long long)index, record.matrix);
    }
    if (record.row >= n) {
        pm_cursor_fail(&at, 0, error, PM_COUNT,
                       "coefficient %llu is for constraint %u, the domain has %llu",
                       (unsigned long long)index, record.row, (unsigned long long)n);
        pm_error_need_have(error, n, record.row);
        return PM_COUNT;
    }
    if (record.column >= parts->n_vars) {
        pm_cursor_fail(&at, 0, error, PM_COUNT, "coefficient %llu is for signal %u of %u",
                       (unsigned long long)index, record.column, parts->n_vars);
        pm_error_need_have(error, parts->n_vars, record.column);
        return PM_COUNT;
    }
    return pm_cursor_fail(&at, 0, error, PM_NOT_CANONICAL,
                          "the value of coefficient %llu is not below the scalar field's prime",
                          (unsigned long long)index);
}

/* Window by window, so that no more than one of them is resident at a time. */
static pm_status check_coefficients(struct pm_zkey *zkey, struct pm_team *team,
                                    const pm_control *control, uint64_t *lowest, pm_error *error) {
    struct pm_key_parts *parts = &zkey->parts;
    const uint64_t n = parts->n_coefficients;
    atomic_bool is_sorted = true;
    _Atomic uint32_t last_row = 0;
    _Atomic uint64_t n_of_a = 0;
    uint64_t reported_ns = pm_clock_now_ns();
    for (uint64_t first = 0; first < n; first += RECORDS_PER_WINDOW) {
        const struct coefficient_scan argument = {.parts = parts,
                                                  .modulus = pm_modulus_scalar(parts->curve),
                                                  .first = first,
                                                  .is_sorted = &is_sorted,
                                                  .last_row = &last_row,
                                                  .n_of_a = &n_of_a};
        const struct pm_scan scan = {.n = n - first < RECORDS_PER_WINDOW ? n - first
                                                                         : RECORDS_PER_WINDOW,
                                     .grain = RECORDS_PER_GRAIN,
                                     .piece = scan_coefficients,
                                     .argument = &argument};
        PM_TRY(pm_scan_run(&scan, team, control, lowest, error));
        if (*lowest < scan.n) {
            *lowest += first;
            return PM_OK;
        }
        pm_mapping_release_range(zkey->container.mapping,
                                 parts->coefficients + first * PM_ZKEY_COEFFICIENT_BYTES,
                                 scan.n * PM_ZKEY_COEFFICIENT_BYTES);
        const uint64_t now_ns = pm_clock_now_ns();
        if (now_ns - reported_ns >= PM_PROGRESS_INTERVAL_MS * UINT64_C(1000000)) {
            reported_ns = now_ns;
            pm_control_progress(control, "checking the coefficients", first + scan.n, n);
        }
    }
    *lowest = n;
    parts->coefficients_sorted = is_sorted;
    zkey->n_rows = n > 0 ? last_row + 1 : 0;
    zkey->n_of_a = n_of_a;
    return PM_OK;
}

static pm_status read_coefficients(struct pm_zkey *zkey, struct pm_team *team,
                                   const pm_control *control, pm_error *error) {
    struct pm_key_parts *parts = &zkey->parts;
    struct pm_cursor cursor;
    uint32_t count = 0;
    PM_TRY(pm_container_section(&zkey->container, &pm_format_zkey, PM_ZKEY_SECTION_COEFFICIENTS,
                                &cursor, error));
    PM_TRY(pm_cursor_u32(&cursor, "the number of coefficients", &count, error));
    PM_TRY(pm_container_exact(&zkey->container, &pm_format_zkey, PM_ZKEY_SECTION_COEFFICIENTS,
                              sizeof count, count, PM_ZKEY_COEFFICIENT_BYTES, &cursor,
                              &parts->coefficients, error));
    parts->n_coefficients = count;

    uint64_t lowest = 0;
    PM_TRY(check_coefficients(zkey, team, control, &lowest, error));
    return lowest < count ? fail_record(&cursor, parts, lowest, error) : PM_OK;
}

static void log_unknown_sections(const struct pm_container *container, const pm_control *control) {
    for (uint32_t i = 0; i < container->n_sections; ++i) {
        const struct pm_section *section = &container->sections[i];
        if (pm_container_section_name(&pm_format_zkey, section->type)[0] == '\0') {
            pm_control_log(control, PM_LOG_INFO, "section %u (%llu bytes) is unknown and ignored",
                           section->type, (unsigned long long)section->n_bytes);
        }
    }
}

static pm_status parse(const struct pm_mapping *mapping, struct pm_team *team,
                       const pm_control *control, struct pm_zkey *zkey, pm_error *error) {
    PM_TRY(pm_control_check(control, error));
    PM_TRY(pm_container_open(mapping, &pm_format_zkey, &zkey->container, error));
    log_unknown_sections(&zkey->container, control);
    PM_TRY(read_protocol(&zkey->container, error));
    PM_TRY(read_header(&zkey->container, &zkey->parts, error));
    PM_TRY(read_queries(&zkey->container, &zkey->parts, control, error));
    PM_TRY(pm_zkey_read_contributions(zkey, control, error));
    return read_coefficients(zkey, team, control, error);
}

pm_status pm_zkey_open(const struct pm_mapping *mapping, struct pm_team *team,
                       const pm_control *control, struct pm_zkey *zkey, pm_error *error) {
    *zkey = (struct pm_zkey){0};
    const pm_status status = parse(mapping, team, control, zkey, error);
    /* Zeros that the guard put in place of a lost tail explain any other finding. */
    PM_TRY(pm_mapping_check(mapping, error));
    return status;
}
