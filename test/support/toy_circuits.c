/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "support/toy_circuits.h"

#include <proofmill/experimental.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Signals: 1, z | x, y. Rows: x y = z and (x + y - 5) 1 = 0. */
static const struct toy_entry product_entries[] = {
    {TOY_A, 0, 2, 1}, {TOY_B, 0, 3, 1}, {TOY_C, 0, 1, 1},

    {TOY_A, 1, 2, 1}, {TOY_A, 1, 3, 1}, {TOY_A, 1, 0, -5}, {TOY_B, 1, 0, 1},
};
static const int64_t product_values[] = {1, 6, 2, 3};

/* No private signal: 1, x, y | ; x x = y. */
static const struct toy_entry no_private_entries[] = {
    {TOY_A, 0, 1, 1}, {TOY_B, 0, 1, 1}, {TOY_C, 0, 2, 1}};
static const int64_t no_private_values[] = {1, 7, 49};

/* No constraint at all: 1, x | y. */
static const int64_t no_rows_values[] = {1, 5, 6};

/* No public signal: 1 | x, y, z; x y = z. */
static const struct toy_entry no_public_entries[] = {
    {TOY_A, 0, 1, 1}, {TOY_B, 0, 2, 1}, {TOY_C, 0, 3, 1}};
static const int64_t no_public_values[] = {1, 2, 3, 6};

/* The constant one alone. */
static const int64_t one_wire_values[] = {1};

/* One row, domain 2: 1 | x; x 1 = x. */
static const struct toy_entry identity_entries[] = {
    {TOY_A, 0, 1, 1}, {TOY_B, 0, 0, 1}, {TOY_C, 0, 1, 1}};
static const int64_t identity_values[] = {1, -1};

const struct toy_case toy_cases[] = {
    {"product", 2, 4, 1, 2, product_entries, COUNT(product_entries), product_values},
    {"no private signal", 1, 3, 2, 2, no_private_entries, COUNT(no_private_entries),
     no_private_values},
    {"no constraint", 0, 3, 1, 1, NULL, 0, no_rows_values},
    {"no public signal", 1, 4, 0, 1, no_public_entries, COUNT(no_public_entries), no_public_values},
    {"one wire, domain 1", 0, 1, 0, 0, NULL, 0, one_wire_values},
    {"one wire, domain 2", 0, 1, 0, 1, NULL, 0, one_wire_values},
    {"one row, domain 2", 1, 2, 0, 1, identity_entries, COUNT(identity_entries), identity_values},
    {"product in a domain of 64", 2, 4, 1, 6, product_entries, COUNT(product_entries),
     product_values},
};
const size_t n_toy_cases = COUNT(toy_cases);

void toy_expect(pm_status status, pm_status expected, const pm_error *error) {
    if (status != expected) {
        fail_msg("%s instead of %s: %s (%s)", pm_status_name(status), pm_status_name(expected),
                 error->message, error->file);
    }
}

pm_context *toy_context(uint32_t threads, pm_arithmetic arithmetic) {
    pm_error error = PM_ERROR_INIT;
    pm_context *context = NULL;
    const pm_context_options options = {
        .struct_bytes = sizeof options, .threads = threads, .arithmetic = (uint32_t)arithmetic};
    toy_expect(pm_context_create(&options, &context, &error), PM_OK, &error);
    return context;
}

pm_witness *toy_witness(pm_context *context, pm_curve_id curve, const int64_t *values, size_t n) {
    pm_error error = PM_ERROR_INIT;
    uint8_t *bytes = malloc(n * PM_FR_BYTES);
    assert_non_null(bytes);
    for (size_t i = 0; i < n; ++i) {
        toy_value(curve, values[i], bytes + i * PM_FR_BYTES);
    }
    pm_witness *witness = NULL;
    toy_expect(pm_witness_from_values(context, curve, bytes, n, NULL, &witness, &error), PM_OK,
               &error);
    free(bytes);
    return witness;
}

void toy_open(pm_context *context, pm_curve_id curve, const struct toy_case *toy_case,
              struct toy *toy) {
    pm_error error = PM_ERROR_INIT;
    const struct toy_circuit circuit = {.curve = curve,
                                        .n_rows = toy_case->n_rows,
                                        .n_vars = toy_case->n_vars,
                                        .n_public = toy_case->n_public,
                                        .log_n = toy_case->log_n,
                                        .entries = toy_case->entries,
                                        .n_entries = toy_case->n_entries};
    struct toy_key made;
    memset(toy, 0, sizeof *toy);
    toy->context = context;
    toy->n_public = toy_case->n_public;
    toy_setup(&circuit, 1, &made);
    toy_expect(pm_key_from_arrays(context, &made.arrays, NULL, &toy->key, &error), PM_OK, &error);
    toy_key_free(&made);
    toy_expect(pm_vk_from_key(context, toy->key, &toy->vk, &error), PM_OK, &error);
    toy->witness = toy_witness(context, curve, toy_case->values, toy_case->n_vars);
    toy->publics = malloc((size_t)toy->n_public * PM_FR_BYTES + 1);
    assert_non_null(toy->publics);
    assert_int_equal(pm_witness_values(toy->witness, 1, toy->n_public, toy->publics), PM_OK);
}

void toy_close(struct toy *toy) {
    free(toy->publics);
    pm_witness_destroy(toy->witness);
    pm_vk_destroy(toy->vk);
    pm_key_destroy(toy->key);
    memset(toy, 0, sizeof *toy);
}

pm_report *toy_report(void) {
    pm_error error = PM_ERROR_INIT;
    pm_report *report = NULL;
    toy_expect(pm_report_create(&report, &error), PM_OK, &error);
    return report;
}
