/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "io/pmasg.h"

#include "base/blake2b.h"
#include "base/clock.h"
#include "base/limits.h"
#include "ff/field.h"
#include "io/cursor.h"
#include "io/modulus.h"
#include "io/scan.h"

#include <string.h>

#define MAGIC_BYTES 8u
static const uint8_t magic[MAGIC_BYTES] = {'p', 'm', 'a', 's', 'g', 0, 0, 0};

/* Flags of the header. */
enum { HAS_DENSITIES = 1, HAS_A_AND_B = 2, HAS_C = 4, FLAGS_ALL = 7 };

/* Offsets in the header; what follows the last field up to its end is zero. */
enum {
    AT_VERSION = 8,
    AT_CURVE = 12,
    AT_FORM = 16,
    AT_FLAGS = 20,
    AT_COUNTS = 24, /* inputs, aux, rows, the bits of the three densities, the file's bytes */
    N_COUNTS = 7,
    AT_RESERVED = AT_COUNTS + 8 * N_COUNTS
};

/* No domain of these curves has more points. */
#define VALUES_MAX (UINT64_C(1) << PM_LOG_N_MAX)
#define WORD_BITS 64u
/* Bytes hashed between two looks at control. */
#define DIGEST_STEP_BYTES (UINT64_C(1) << 22)

const char *pm_pmasg_array_name(enum pm_pmasg_array array) {
    static const char *const names[PM_PMASG_ARRAYS] = {
        "a aux density", "b input density", "b aux density", "inputs", "aux", "a", "b", "c"};
    return (unsigned)array < PM_PMASG_ARRAYS ? names[array] : "";
}

/* ---- Sizes ----------------------------------------------------------------------------------- */

uint64_t pm_pmasg_density_bits(const struct pm_pmasg_sizes *sizes, enum pm_pmasg_array density) {
    return density == PM_PMASG_B_INPUT_DENSITY ? sizes->n_inputs : sizes->n_aux;
}

static uint64_t read_word(const uint8_t *words, uint64_t i) {
    uint64_t word;
    memcpy(&word, words + i * sizeof word, sizeof word);
    return word;
}

/* The bits of the last word that count. */
static uint64_t last_mask(uint64_t n_bits) {
    return n_bits % WORD_BITS == 0 ? UINT64_MAX : (UINT64_C(1) << n_bits % WORD_BITS) - 1;
}

uint64_t pm_pmasg_count_bits(const uint8_t *words, uint64_t n_bits) {
    const uint64_t n_words = (n_bits + WORD_BITS - 1) / WORD_BITS;
    uint64_t n = 0;
    for (uint64_t i = 0; i < n_words; ++i) {
        const uint64_t mask = i + 1 == n_words ? last_mask(n_bits) : UINT64_MAX;
        n += (uint64_t)__builtin_popcountll(read_word(words, i) & mask);
    }
    return n;
}

static uint64_t array_bytes(const struct pm_pmasg_sizes *sizes, enum pm_pmasg_array array) {
    switch (array) {
    case PM_PMASG_A_AUX_DENSITY:
    case PM_PMASG_B_INPUT_DENSITY:
    case PM_PMASG_B_AUX_DENSITY:
        return sizes->has_densities
                   ? (pm_pmasg_density_bits(sizes, array) + WORD_BITS - 1) / WORD_BITS * 8
                   : 0;
    case PM_PMASG_INPUTS:
        return sizes->n_inputs * PM_FR_BYTES;
    case PM_PMASG_AUX:
        return sizes->n_aux * PM_FR_BYTES;
    case PM_PMASG_A:
    case PM_PMASG_B:
        return sizes->n_vectors >= 2 ? sizes->n_rows * PM_FR_BYTES : 0;
    case PM_PMASG_C:
        return sizes->n_vectors == 3 ? sizes->n_rows * PM_FR_BYTES : 0;
    case PM_PMASG_ARRAYS:
        break;
    }
    return 0;
}

static uint64_t align(uint64_t offset) {
    return (offset + PM_PMASG_ALIGNMENT - 1) / PM_PMASG_ALIGNMENT * PM_PMASG_ALIGNMENT;
}

static pm_status check_sizes(const struct pm_pmasg_sizes *sizes, pm_error *error) {
    PM_FAIL_IF(sizes->curve != PM_CURVE_BN254 && sizes->curve != PM_CURVE_BLS12_381, error,
               PM_CURVE, "the assignment is over no curve that is known: %d", (int)sizes->curve);
    PM_FAIL_IF((unsigned)sizes->form > PM_SCALAR_MONTGOMERY, error, PM_INVALID_ARGUMENT,
               "form %d is not a pm_scalar_form", (int)sizes->form);
    PM_FAIL_IF(sizes->n_vectors == 1 || sizes->n_vectors > 3, error, PM_INVALID_ARGUMENT,
               "of a, b and c, a and b come together, and c only with them");
    PM_FAIL_IF(sizes->n_inputs == 0, error, PM_COUNT,
               "the assignment has no inputs, not even the constant one");
    PM_FAIL_IF(sizes->n_inputs > VALUES_MAX || sizes->n_aux > VALUES_MAX ||
                   sizes->n_rows > VALUES_MAX,
               error, PM_COUNT, "%llu inputs, %llu aux values and %llu rows are of no circuit",
               (unsigned long long)sizes->n_inputs, (unsigned long long)sizes->n_aux,
               (unsigned long long)sizes->n_rows);
    PM_FAIL_IF(sizes->n_vectors == 0 && sizes->n_rows != 0, error, PM_COUNT,
               "%llu rows, and neither a nor b", (unsigned long long)sizes->n_rows);
    for (int i = 0; i < PM_PMASG_DENSITIES; ++i) {
        const enum pm_pmasg_array density = (enum pm_pmasg_array)i;
        const uint64_t most =
            sizes->has_densities ? pm_pmasg_density_bits(sizes, density) : UINT64_C(0);
        PM_FAIL_IF(sizes->n_bits[i] > most, error, PM_COUNT,
                   "the %s has %llu bits set, and at most %llu", pm_pmasg_array_name(density),
                   (unsigned long long)sizes->n_bits[i], (unsigned long long)most);
    }
    return PM_OK;
}

pm_status pm_pmasg_layout_make(const struct pm_pmasg_sizes *sizes, struct pm_pmasg_layout *layout,
                               pm_error *error) {
    uint64_t offset = PM_PMASG_HEADER_BYTES;
    PM_TRY(check_sizes(sizes, error));
    for (int i = 0; i < PM_PMASG_ARRAYS; ++i) {
        layout->offset[i] = offset;
        layout->n_bytes[i] = array_bytes(sizes, (enum pm_pmasg_array)i);
        offset = align(offset + layout->n_bytes[i]);
    }
    layout->digest_offset = offset;
    layout->file_bytes = offset + PM_PMASG_DIGEST_BYTES;
    return PM_OK;
}

/* ---- The header ------------------------------------------------------------------------------ */

void pm_pmasg_write_header(const struct pm_pmasg_sizes *sizes, const struct pm_pmasg_layout *layout,
                           uint8_t header[PM_PMASG_HEADER_BYTES]) {
    const uint32_t words[] = {PM_PMASG_VERSION, (uint32_t)sizes->curve, (uint32_t)sizes->form,
                              (sizes->has_densities ? HAS_DENSITIES : 0u) |
                                  (sizes->n_vectors >= 2 ? HAS_A_AND_B : 0u) |
                                  (sizes->n_vectors == 3 ? HAS_C : 0u)};
    const uint64_t counts[N_COUNTS] = {sizes->n_inputs,   sizes->n_aux,     sizes->n_rows,
                                       sizes->n_bits[0],  sizes->n_bits[1], sizes->n_bits[2],
                                       layout->file_bytes};
    memset(header, 0, PM_PMASG_HEADER_BYTES);
    memcpy(header, magic, sizeof magic);
    memcpy(header + AT_VERSION, words, sizeof words);
    memcpy(header + AT_COUNTS, counts, sizeof counts);
}

bool pm_pmasg_recognise(const struct pm_mapping *mapping) {
    return mapping->n_bytes >= sizeof magic && memcmp(mapping->bytes, magic, sizeof magic) == 0;
}

static pm_status read_header(struct pm_cursor *cursor, struct pm_pmasg_sizes *sizes,
                             uint64_t *file_bytes, pm_error *error) {
    static const char *const names[] = {"the version", "the curve", "the form", "the flags"};
    const uint8_t *bytes = NULL;
    uint32_t words[4];
    uint64_t counts[N_COUNTS];
    PM_TRY(pm_cursor_span(cursor, "the magic", MAGIC_BYTES, 1, &bytes, error));
    for (size_t i = 0; i < 4; ++i) {
        PM_TRY(pm_cursor_u32(cursor, names[i], &words[i], error));
        if (i == 0 && words[0] != PM_PMASG_VERSION) {
            pm_cursor_fail(cursor, sizeof words[0], error, PM_VERSION,
                           "the file has version %u, supported is %u", words[0], PM_PMASG_VERSION);
            pm_error_need_have(error, PM_PMASG_VERSION, words[0]);
            return PM_VERSION;
        }
    }
    for (size_t i = 0; i < N_COUNTS; ++i) {
        PM_TRY(pm_cursor_u64(cursor, "a count", &counts[i], error));
    }
    PM_TRY(pm_cursor_span(cursor, "the reserved bytes", PM_PMASG_HEADER_BYTES - AT_RESERVED, 1,
                          &bytes, error));
    uint32_t n_vectors = (words[3] & HAS_A_AND_B) != 0 ? 2 : 0;
    n_vectors += (words[3] & HAS_C) != 0 ? 1 : 0;
    *sizes = (struct pm_pmasg_sizes){.curve = (pm_curve_id)words[1],
                                     .form = (pm_scalar_form)words[2],
                                     .has_densities = (words[3] & HAS_DENSITIES) != 0,
                                     .n_vectors = n_vectors,
                                     .n_inputs = counts[0],
                                     .n_aux = counts[1],
                                     .n_rows = counts[2],
                                     .n_bits = {counts[3], counts[4], counts[5]}};
    *file_bytes = counts[N_COUNTS - 1];
    if ((words[3] & ~(uint32_t)FLAGS_ALL) != 0) {
        return pm_cursor_fail(cursor, PM_PMASG_HEADER_BYTES - AT_FLAGS, error, PM_ENCODING,
                              "flags 0x%x are not known", words[3]);
    }
    for (uint64_t i = 0; i < PM_PMASG_HEADER_BYTES - AT_RESERVED; ++i) {
        if (bytes[i] != 0) {
            return pm_cursor_fail(cursor, PM_PMASG_HEADER_BYTES - AT_RESERVED - i, error,
                                  PM_ENCODING, "a reserved byte is not zero");
        }
    }
    return PM_OK;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static pm_status fail_at(const struct pm_mapping *mapping, uint64_t offset, pm_status status,
                         pm_error *error) {
    pm_error_at(error, mapping->name, offset);
    return status;
}

static pm_status check_length(const struct pm_pmasg *pmasg, uint64_t said_bytes, pm_error *error) {
    const uint64_t need = pmasg->layout.file_bytes, have = pmasg->mapping->n_bytes;
    pm_status status = PM_OK;
    uint64_t offset = AT_COUNTS + 8 * (N_COUNTS - 1);
    if (said_bytes != need) {
        status = pm_error_set(error, PM_LENGTH,
                              "the file says that it has %llu bytes, its counts make %llu",
                              (unsigned long long)said_bytes, (unsigned long long)need);
        pm_error_need_have(error, need, said_bytes);
    } else if (have < need) {
        status = pm_error_set(error, PM_TRUNCATED,
                              "the assignment has %llu bytes, the file ends at %llu",
                              (unsigned long long)need, (unsigned long long)have);
        pm_error_need_have(error, need, have);
        offset = have;
    } else if (have > need) {
        status = pm_error_set(error, PM_LENGTH, "%llu bytes follow the assignment's digest",
                              (unsigned long long)(have - need));
        pm_error_need_have(error, need, have);
        offset = need;
    }
    return status == PM_OK ? PM_OK : fail_at(pmasg->mapping, offset, status, error);
}

/* Behind each array up to where the next one begins. */
static pm_status check_padding(const struct pm_pmasg *pmasg, pm_error *error) {
    const struct pm_pmasg_layout *layout = &pmasg->layout;
    for (int i = 0; i < PM_PMASG_ARRAYS; ++i) {
        const uint64_t end = align(layout->offset[i] + layout->n_bytes[i]);
        for (uint64_t at = layout->offset[i] + layout->n_bytes[i]; at < end; ++at) {
            if (pmasg->mapping->bytes[at] != 0) {
                pm_error_set(error, PM_ENCODING, "a byte of the padding behind %s is not zero",
                             pm_pmasg_array_name((enum pm_pmasg_array)i));
                return fail_at(pmasg->mapping, at, PM_ENCODING, error);
            }
        }
    }
    return PM_OK;
}

/* As many bits as the header says, and none behind the last variable. */
static pm_status check_densities(const struct pm_pmasg *pmasg, pm_error *error) {
    for (int i = 0; pmasg->sizes.has_densities && i < PM_PMASG_DENSITIES; ++i) {
        const enum pm_pmasg_array density = (enum pm_pmasg_array)i;
        const uint64_t n_bits = pm_pmasg_density_bits(&pmasg->sizes, density);
        const uint64_t n_words = pmasg->layout.n_bytes[i] / sizeof(uint64_t);
        const uint8_t *words = pmasg->mapping->bytes + pmasg->layout.offset[i];
        const uint64_t n_set = pm_pmasg_count_bits(words, n_bits);
        if (n_set != pmasg->sizes.n_bits[i]) {
            pm_error_set(error, PM_COUNT, "the %s has %llu bits set, the header says %llu",
                         pm_pmasg_array_name(density), (unsigned long long)n_set,
                         (unsigned long long)pmasg->sizes.n_bits[i]);
            pm_error_need_have(error, pmasg->sizes.n_bits[i], n_set);
            return fail_at(pmasg->mapping, pmasg->layout.offset[i], PM_COUNT, error);
        }
        if (n_words > 0 && (read_word(words, n_words - 1) & ~last_mask(n_bits)) != 0) {
            pm_error_set(error, PM_ENCODING, "the %s has bits behind the last variable",
                         pm_pmasg_array_name(density));
            return fail_at(pmasg->mapping, pmasg->layout.offset[i] + (n_words - 1) * 8, PM_ENCODING,
                           error);
        }
    }
    return PM_OK;
}

static pm_status parse(struct pm_pmasg *pmasg, pm_error *error) {
    const struct pm_mapping *mapping = pmasg->mapping;
    struct pm_cursor cursor;
    uint64_t said_bytes = 0;
    if (!pm_pmasg_recognise(mapping)) {
        pm_error_set(error, PM_NOT_THIS_KIND,
                     "not a .pmasg file: it does not begin with its magic");
        return fail_at(mapping, 0, PM_NOT_THIS_KIND, error);
    }
    PM_TRY(pm_cursor_open(mapping, "the assignment's header", 0,
                          mapping->n_bytes < PM_PMASG_HEADER_BYTES ? mapping->n_bytes
                                                                   : PM_PMASG_HEADER_BYTES,
                          &cursor, error));
    PM_TRY(read_header(&cursor, &pmasg->sizes, &said_bytes, error));
    pm_status status = pm_pmasg_layout_make(&pmasg->sizes, &pmasg->layout, error);
    if (status == PM_INVALID_ARGUMENT) { /* what would be a caller's fault is the file's here */
        status = pm_error_set(error, PM_ENCODING,
                              "the form or the flags of the assignment are "
                              "none that there are");
    }
    if (status != PM_OK) {
        return fail_at(mapping, AT_CURVE, status, error);
    }
    PM_TRY(check_length(pmasg, said_bytes, error));
    PM_TRY(check_padding(pmasg, error));
    return check_densities(pmasg, error);
}

pm_status pm_pmasg_open(const struct pm_mapping *mapping, struct pm_pmasg *pmasg, pm_error *error) {
    *pmasg = (struct pm_pmasg){.mapping = mapping};
    const pm_status status = parse(pmasg, error);
    PM_TRY(pm_mapping_check(mapping, error));
    return status;
}

const uint8_t *pm_pmasg_bytes(const struct pm_pmasg *pmasg, enum pm_pmasg_array array) {
    return pmasg->layout.n_bytes[array] == 0 ? NULL
                                             : pmasg->mapping->bytes + pmasg->layout.offset[array];
}

/* ---- Checking -------------------------------------------------------------------------------- */

struct value_scan {
    const uint64_t *modulus;
    const uint8_t *values;
};

static uint64_t scan_values(const void *argument, uint64_t begin, uint64_t end) {
    const struct value_scan *scan = argument;
    for (uint64_t i = begin; i < end; ++i) {
        if (!pm_modulus_exceeds(scan->modulus, scan->values + i * PM_FR_BYTES)) {
            return i;
        }
    }
    return end;
}

static pm_status check_values(const struct pm_pmasg *pmasg, enum pm_pmasg_array array,
                              struct pm_team *team, const pm_control *control, pm_error *error) {
    const uint64_t n = pmasg->layout.n_bytes[array] / PM_FR_BYTES;
    const struct value_scan argument = {.modulus = pm_modulus_scalar(pmasg->sizes.curve),
                                        .values = pm_pmasg_bytes(pmasg, array)};
    const struct pm_scan scan = {.phase = "checking the values",
                                 .n = n,
                                 .grain = UINT64_C(1) << 16,
                                 .progress_per_element = 1,
                                 .progress_total = n,
                                 .piece = scan_values,
                                 .argument = &argument};
    uint64_t lowest = n;
    if (n > 0) {
        PM_TRY(pm_scan_run(&scan, team, control, &lowest, error));
    }
    if (lowest < n) {
        pm_error_set(error, PM_NOT_CANONICAL,
                     "%s[%llu] is not below the scalar field's prime of %s",
                     pm_pmasg_array_name(array), (unsigned long long)lowest,
                     pm_curve_name(pmasg->sizes.curve));
        return fail_at(pmasg->mapping, pmasg->layout.offset[array] + lowest * PM_FR_BYTES,
                       PM_NOT_CANONICAL, error);
    }
    return PM_OK;
}

static pm_status check_one(const struct pm_pmasg *pmasg, pm_error *error) {
    const struct pm_field *fr = pm_field_fr(pmasg->sizes.curve, PM_BODY_PORTABLE);
    static const uint64_t canonical[PM_FR_LIMBS_MAX] = {1};
    const uint64_t *one = pmasg->sizes.form == PM_SCALAR_MONTGOMERY ? fr->one : canonical;
    if (memcmp(pm_pmasg_bytes(pmasg, PM_PMASG_INPUTS), one, PM_FR_BYTES) != 0) {
        pm_error_set(error, PM_WITNESS_MISMATCH,
                     "inputs[0] of the assignment is not 1, the "
                     "constant");
        return fail_at(pmasg->mapping, pmasg->layout.offset[PM_PMASG_INPUTS], PM_WITNESS_MISMATCH,
                       error);
    }
    return PM_OK;
}

static pm_status check_digest(const struct pm_pmasg *pmasg, const pm_control *control,
                              pm_error *error) {
    const uint64_t n_bytes = pmasg->layout.digest_offset;
    uint64_t reported_ns = pm_clock_now_ns();
    uint8_t digest[PM_PMASG_DIGEST_BYTES];
    struct pm_blake2b state;
    pm_blake2b_init(&state, sizeof digest);
    for (uint64_t done = 0; done < n_bytes;) {
        const uint64_t left = n_bytes - done;
        const uint64_t n = left < DIGEST_STEP_BYTES ? left : DIGEST_STEP_BYTES;
        PM_TRY(pm_control_check(control, error));
        pm_blake2b_update(&state, pmasg->mapping->bytes + done, n);
        pm_mapping_release_range(pmasg->mapping, pmasg->mapping->bytes + done, n);
        done += n;
        const uint64_t now_ns = pm_clock_now_ns();
        if (now_ns - reported_ns >= PM_PROGRESS_INTERVAL_MS * UINT64_C(1000000)) {
            reported_ns = now_ns;
            pm_control_progress(control, "hashing the assignment", done, n_bytes);
        }
    }
    pm_blake2b_final(&state, digest);
    if (memcmp(digest, pmasg->mapping->bytes + n_bytes, sizeof digest) != 0) {
        pm_error_set(error, PM_ENCODING,
                     "the assignment's digest is another: the file was changed or damaged");
        return fail_at(pmasg->mapping, n_bytes, PM_ENCODING, error);
    }
    return PM_OK;
}

pm_status pm_pmasg_check(const struct pm_pmasg *pmasg, struct pm_team *team,
                         const pm_control *control, pm_error *error) {
    pm_status status = check_digest(pmasg, control, error);
    if (status == PM_OK) {
        status = check_one(pmasg, error);
    }
    for (int i = PM_PMASG_INPUTS; status == PM_OK && i < PM_PMASG_ARRAYS; ++i) {
        status = check_values(pmasg, (enum pm_pmasg_array)i, team, control, error);
    }
    PM_TRY(pm_mapping_check(pmasg->mapping, error));
    return status;
}
