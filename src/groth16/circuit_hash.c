/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "groth16/circuit_hash.h"

#include "base/blake2b.h"
#include "groth16/overread_point.h"

#include <string.h>

/* Points that are turned into bytes, by the team, and then hashed. */
#define POINTS_PER_CHUNK 8192u
/* Differences that snarkjs takes at a time: beyond this size its last piece is a whole one too. */
#define SNARKJS_DIFFERENCES 16384u

struct hasher {
    const struct pm_column_sums *sums;
    struct pm_blake2b state;
    uint8_t *bytes;       /* of a chunk, as they are hashed */
    uint8_t *differences; /* points of a chunk */
};

struct chunk {
    const struct pm_field *fp;
    const uint8_t *points;
    uint8_t *bytes;
    uint64_t point_bytes;
};

/* Each coordinate canonical and big-endian as a whole, so that c1 of a G2 coordinate comes first;
 * infinity is all zero. */
static void to_bytes(void *argument, size_t begin, size_t end) {
    const struct chunk *chunk = argument;
    const uint32_t n_bytes = chunk->fp->bytes;
    const uint64_t half = chunk->point_bytes / 2;
    for (size_t i = begin; i < end; ++i) {
        for (uint64_t at = 0; at < chunk->point_bytes; at += n_bytes) {
            uint64_t element[PM_FP_LIMBS_MAX];
            uint8_t canonical[PM_FP_BYTES_MAX];
            /* The mirror of the element's place within its coordinate. */
            const uint64_t place = at < half ? half - n_bytes - at : 3 * half - n_bytes - at;
            uint8_t *out = chunk->bytes + i * chunk->point_bytes + place;
            memcpy(element, chunk->points + i * chunk->point_bytes + at, n_bytes);
            chunk->fp->from_mont(canonical, element, 1);
            for (uint32_t k = 0; k < n_bytes; ++k) {
                out[k] = canonical[n_bytes - 1 - k];
            }
        }
    }
}

static void hash_count(struct hasher *hasher, uint64_t count) {
    const uint8_t bytes[4] = {(uint8_t)(count >> 24), (uint8_t)(count >> 16), (uint8_t)(count >> 8),
                              (uint8_t)count};
    pm_blake2b_update(&hasher->state, bytes, sizeof bytes);
}

static pm_status hash_points(struct hasher *hasher, const struct pm_group *group,
                             const uint8_t *points, uint64_t n, pm_error *error) {
    for (uint64_t first = 0; first < n; first += POINTS_PER_CHUNK) {
        const uint64_t m = n - first < POINTS_PER_CHUNK ? n - first : POINTS_PER_CHUNK;
        struct chunk chunk = {.fp = hasher->sums->curve->fp,
                              .points = points + first * group->affine_bytes,
                              .bytes = hasher->bytes,
                              .point_bytes = group->affine_bytes};
        PM_TRY(pm_control_check(hasher->sums->work->control, error));
        pm_team_for(hasher->sums->team, m, 256, to_bytes, &chunk);
        pm_blake2b_update(&hasher->state, hasher->bytes, m * group->affine_bytes);
        pm_work_advance(hasher->sums->work, 0);
    }
    return PM_OK;
}

static pm_status hash_section(struct hasher *hasher, const struct pm_zkey_layout *layout,
                              const uint8_t *image, uint32_t type, const struct pm_group *group,
                              pm_error *error) {
    const uint64_t n = layout->section_bytes[type] / group->affine_bytes;
    hash_count(hasher, n);
    return hash_points(hasher, group, image + layout->offset[type], n, error);
}

static pm_status hash_header(struct hasher *hasher, const struct pm_zkey_layout *layout,
                             const uint8_t *image, pm_error *error) {
    const struct pm_curve *curve = hasher->sums->curve;
    const struct pm_group *const groups[] = {curve->g1, curve->g1, curve->g2,
                                             curve->g2, curve->g1, curve->g2};
    const uint8_t *at = image + layout->offset[PM_ZKEY_SECTION_HEADER] + 4 + curve->fp->bytes + 4 +
                        curve->fr->bytes + 3 * sizeof(uint32_t);
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; ++i) {
        PM_TRY(hash_points(hasher, groups[i], at, 1, error));
        at += groups[i]->affine_bytes;
    }
    return PM_OK;
}

/* Terms of the columns +1 tau^(n+i) G1, -1 tau^i G1. */
struct differences {
    struct pm_sparse_term terms[2 * POINTS_PER_CHUNK];
    uint64_t starts[POINTS_PER_CHUNK + 1];
    uint8_t minus_one[PM_FR_BYTES];
};

static void list_differences(struct differences *list, uint64_t first, uint64_t n, uint64_t m) {
    for (uint64_t i = 0; i < m; ++i) {
        list->starts[i] = 2 * i;
        list->terms[2 * i] = (struct pm_sparse_term){.point = (uint32_t)(n + first + i),
                                                     .value_high = PM_SPARSE_VALUE_ONE};
        list->terms[2 * i + 1] = (struct pm_sparse_term){.point = (uint32_t)(first + i)};
    }
    list->starts[m] = 2 * m;
}

static pm_status hash_differences_of(struct hasher *hasher, struct differences *list,
                                     const struct pm_ptau *ptau, uint64_t n, uint64_t count,
                                     pm_error *error) {
    const struct pm_sparse_matrix matrix = {.points = {ptau->tau_g1},
                                            .values = list->minus_one,
                                            .terms = list->terms,
                                            .starts = list->starts};
    for (uint64_t first = 0; first < count; first += POINTS_PER_CHUNK) {
        const uint64_t m = count - first < POINTS_PER_CHUNK ? count - first : POINTS_PER_CHUNK;
        list_differences(list, first, n, m);
        PM_TRY(
            pm_column_sums_run(hasher->sums, PM_MSM_G1, &matrix, 0, m, hasher->differences, error));
        PM_TRY(hash_points(hasher, hasher->sums->curve->g1, hasher->differences, m, error));
    }
    return PM_OK;
}

/* The difference whose minuend lies behind the powers of tau. */
static pm_status hash_overread(struct hasher *hasher, const struct pm_ptau *ptau, uint64_t n,
                               pm_error *error) {
    const struct pm_curve *curve = hasher->sums->curve;
    const struct pm_mapping *mapping = ptau->container.mapping;
    const uint64_t point_bytes = curve->g1->affine_bytes;
    const uint8_t *behind = ptau->tau_g1 + (2 * n - 1) * point_bytes;
    uint8_t difference[PM_G1_BYTES_MAX];
    if ((uint64_t)(mapping->bytes + mapping->n_bytes - behind) < point_bytes) {
        pm_error_set(error, PM_SECTION,
                     "section 2 (tau g1) is the last one, but the circuit hash of snarkjs covers "
                     "what follows it: take powers of tau of a higher power");
        pm_error_at(error, mapping->name, (uint64_t)(behind - mapping->bytes));
        return PM_SECTION;
    }
    pm_overread_difference(curve->fp, behind, ptau->tau_g1 + (n - 1) * point_bytes, difference);
    return hash_points(hasher, curve->g1, difference, 1, error);
}

/* snarkjs announces n - 1 differences, and from n = 2^15 on hashes n. */
static pm_status hash_differences(struct hasher *hasher, const struct pm_ptau *ptau, uint32_t log_n,
                                  pm_error *error) {
    const struct pm_field *fr = hasher->sums->curve->fr;
    const uint64_t n = UINT64_C(1) << log_n;
    const bool is_one_more = n - 1 > SNARKJS_DIFFERENCES;
    const bool is_overread = is_one_more && log_n == ptau->power;
    uint64_t minus_one[PM_FR_LIMBS_MAX];
    void *memory = NULL;
    PM_TRY(pm_memory_alloc(hasher->sums->ledger, "differences of powers of tau",
                           sizeof(struct differences), PM_MEMORY_PLAIN, &memory, error));
    struct differences *list = memory;
    fr->neg(minus_one, fr->one);
    fr->from_mont(list->minus_one, minus_one, 1);
    hash_count(hasher, n - 1);
    pm_status status =
        hash_differences_of(hasher, list, ptau, n, is_one_more && !is_overread ? n : n - 1, error);
    if (status == PM_OK && is_overread) {
        status = hash_overread(hasher, ptau, n, error);
    }
    pm_memory_free(memory);
    return status;
}

uint64_t pm_circuit_hash_work(uint32_t log_n) {
    return (UINT64_C(1) << log_n) * 3; /* a column and its two terms */
}

static pm_status hash_all(struct hasher *hasher, const struct pm_ptau *ptau,
                          const struct pm_zkey_layout *layout, const uint8_t *image,
                          pm_error *error) {
    const struct pm_group *g1 = hasher->sums->curve->g1, *g2 = hasher->sums->curve->g2;
    PM_TRY(hash_header(hasher, layout, image, error));
    PM_TRY(hash_section(hasher, layout, image, PM_ZKEY_SECTION_IC, g1, error));
    PM_TRY(hash_differences(hasher, ptau, layout->shape.log_n, error));
    PM_TRY(hash_section(hasher, layout, image, PM_ZKEY_SECTION_C, g1, error));
    PM_TRY(hash_section(hasher, layout, image, PM_ZKEY_SECTION_A, g1, error));
    PM_TRY(hash_section(hasher, layout, image, PM_ZKEY_SECTION_B1, g1, error));
    return hash_section(hasher, layout, image, PM_ZKEY_SECTION_B2, g2, error);
}

pm_status pm_circuit_hash(const struct pm_column_sums *sums, const struct pm_ptau *ptau,
                          const struct pm_zkey_layout *layout, const uint8_t *image,
                          uint8_t hash[PM_CIRCUIT_HASH_BYTES], pm_error *error) {
    struct hasher hasher = {.sums = sums};
    void *bytes = NULL, *differences = NULL;
    pm_status status;
    pm_blake2b_init(&hasher.state, PM_CIRCUIT_HASH_BYTES);
    PM_TRY_GOTO(status,
                pm_memory_alloc_array(sums->ledger, "points to be hashed", POINTS_PER_CHUNK,
                                      sums->curve->g2->affine_bytes, PM_MEMORY_PLAIN, &bytes,
                                      error),
                cleanup);
    PM_TRY_GOTO(status,
                pm_memory_alloc_array(sums->ledger, "differences of powers of tau",
                                      POINTS_PER_CHUNK, sums->curve->g1->affine_bytes,
                                      PM_MEMORY_PLAIN, &differences, error),
                cleanup);
    hasher.bytes = bytes;
    hasher.differences = differences;
    PM_TRY_GOTO(status, hash_all(&hasher, ptau, layout, image, error), cleanup);
    pm_blake2b_final(&hasher.state, hash);
cleanup:
    pm_memory_free(bytes);
    pm_memory_free(differences);
    return status;
}
