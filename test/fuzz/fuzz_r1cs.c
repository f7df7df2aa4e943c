/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Any bytes given as a constraint system: they are refused, or their terms are inside the file and
 * can be evaluated at any witness; the row that is said to fail is the first one that does, by an
 * evaluation of one row at a time.
 */
#include "fuzz/harness.h"

#include "io/r1cs.h"

#include <stdlib.h>
#include <string.h>

#define WIRES_MAX 4096u

static uint8_t *make_values(const struct pm_r1cs *r1cs, uint64_t hash) {
    uint8_t *values = calloc(r1cs->n_wires, PM_FR_BYTES);
    FUZZ_REQUIRE(values != NULL);
    for (uint32_t i = 0; i < r1cs->n_wires; ++i) {
        values[(size_t)i * PM_FR_BYTES] = i == 0 || hash % 4 != 0 ? 1 : (uint8_t)(hash >> (i % 56));
    }
    return values;
}

/* The inner product of the combination at *at with the values, in Montgomery form. */
static void evaluate(const struct pm_field *fr, const uint8_t **at, const uint8_t *values,
                     uint64_t sum[PM_FR_LIMBS_MAX]) {
    uint32_t n_terms = 0;
    memcpy(&n_terms, *at, sizeof n_terms);
    *at += sizeof n_terms;
    memset(sum, 0, PM_FR_BYTES);
    for (uint32_t i = 0; i < n_terms; ++i, *at += PM_R1CS_TERM_BYTES) {
        uint64_t coefficient[PM_FR_LIMBS_MAX], value[PM_FR_LIMBS_MAX];
        uint32_t wire = 0;
        memcpy(&wire, *at, sizeof wire);
        fr->to_mont(coefficient, *at + sizeof wire, 1);
        fr->to_mont(value, values + (size_t)wire * PM_FR_BYTES, 1);
        fr->mul(value, value, coefficient);
        fr->add(sum, sum, value);
    }
}

/* The first row that fails, or the number of rows. */
static uint64_t first_failure(const struct pm_r1cs *r1cs, const struct pm_field *fr,
                              const uint8_t *values) {
    const uint8_t *at = r1cs->rows;
    for (uint64_t row = 0; row < r1cs->n_constraints; ++row) {
        uint64_t a[PM_FR_LIMBS_MAX], b[PM_FR_LIMBS_MAX], c[PM_FR_LIMBS_MAX];
        evaluate(fr, &at, values, a);
        evaluate(fr, &at, values, b);
        evaluate(fr, &at, values, c);
        fr->mul(a, a, b);
        if (memcmp(a, c, sizeof a) != 0) {
            return row;
        }
    }
    FUZZ_REQUIRE(at == r1cs->rows + r1cs->rows_bytes);
    return r1cs->n_constraints;
}

/* A witness of another length or without the constant one is refused before any row is looked at.
 */
static void check_misfit(const struct pm_r1cs *r1cs, const struct pm_field *fr, uint8_t *values) {
    pm_error error = PM_ERROR_INIT;
    uint64_t row = 0;
    pm_status status =
        pm_r1cs_check(r1cs, fr, values, UINT64_C(1) + r1cs->n_wires, NULL, NULL, &row, &error);
    FUZZ_REQUIRE(!fuzz_succeeded(status, &error) && status == PM_WITNESS_MISMATCH);
    values[0] = 2;
    status = pm_r1cs_check(r1cs, fr, values, r1cs->n_wires, NULL, NULL, &row, &error);
    FUZZ_REQUIRE(!fuzz_succeeded(status, &error) && status == PM_WITNESS_MISMATCH);
}

static void check(const struct pm_r1cs *r1cs, uint64_t hash) {
    const struct pm_field *fr = pm_field_fr(r1cs->curve, PM_BODY_PORTABLE);
    uint8_t *values = make_values(r1cs, hash);
    pm_error error = PM_ERROR_INIT;
    uint64_t row = r1cs->n_constraints;
    const pm_status status =
        pm_r1cs_check(r1cs, fr, values, r1cs->n_wires, NULL, NULL, &row, &error);
    FUZZ_REQUIRE(fuzz_succeeded(status, &error) || status == PM_UNSATISFIED);
    FUZZ_REQUIRE(row == first_failure(r1cs, fr, values));
    check_misfit(r1cs, fr, values);
    free(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    struct pm_mapping mapping;
    struct pm_r1cs r1cs;
    pm_error error = PM_ERROR_INIT;
    FUZZ_REQUIRE(pm_mapping_borrow(bytes, n_bytes, "fuzz.r1cs", &mapping, NULL) == PM_OK);
    const pm_status status = pm_r1cs_open(&mapping, NULL, &r1cs, &error);
    if (fuzz_succeeded(status, &error)) {
        FUZZ_REQUIRE(r1cs.n_wires > 0 && r1cs.n_terms <= n_bytes / PM_R1CS_TERM_BYTES);
        if (r1cs.n_wires <= WIRES_MAX) {
            check(&r1cs, fuzz_hash(bytes, n_bytes));
        }
    } else {
        FUZZ_REQUIRE(strcmp(error.file, "fuzz.r1cs") == 0);
        FUZZ_REQUIRE(error.offset == PM_NO_OFFSET || error.offset <= n_bytes);
    }
    pm_mapping_close(&mapping);
    return 0;
}
