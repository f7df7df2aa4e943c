/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Nine proofs that the Zcash main chain carries, against the verifying key at the head of the
 * parameter file that made them: made by bellman, read and verified by us.
 */
#include "support/fixture.h"
#include "support/toy_circuits.h"

#include <jansson.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define N_PUBLIC 5
#define N_PROOFS 9
#define PROOF_BYTES 192

struct fixture {
    pm_context *context;
    char *params;
    size_t params_bytes;
    json_t *proofs;
    pm_vk *vk;
};

static struct fixture fixture;
static bool is_slow;

static int fixture_open(void **state) {
    char path[PM_TEST_PATH_MAX];
    pm_error error = PM_ERROR_INIT;
    *state = NULL;
    if (!pm_fixture_path(path, "bellman/sapling-output.params")) {
        return 0;
    }
    fixture.context = toy_context(2, PM_ARITHMETIC_BEST);
    fixture.params = pm_test_read_file(path, &fixture.params_bytes);
    assert_true(pm_fixture_path(path, "bellman/sapling_output_proofs.json"));
    fixture.proofs = json_load_file(path, 0, NULL);
    assert_non_null(fixture.params);
    assert_int_equal(json_array_size(fixture.proofs), N_PROOFS);
    toy_expect(pm_vk_from_bellman(fixture.context, fixture.params, fixture.params_bytes, 1,
                                  &fixture.vk, &error),
               PM_OK, &error);
    *state = &fixture;
    return 0;
}

static int fixture_close(void **state) {
    (void)state;
    pm_vk_destroy(fixture.vk);
    json_decref(fixture.proofs);
    free(fixture.params);
    pm_context_destroy(fixture.context);
    return 0;
}

static void need_fixture(void **state) {
    if (*state == NULL) {
        pm_say_skip("no fixtures (PM_FIXTURES): real bellman proofs not verified");
        skip();
    }
}

static void scalar_from_decimal(const char *text, uint8_t out[PM_FR_BYTES]) {
    memset(out, 0, PM_FR_BYTES);
    for (; *text != '\0'; ++text) {
        unsigned carry = (unsigned)(*text - '0');
        for (size_t i = 0; i < PM_FR_BYTES; ++i) {
            carry += 10u * out[i];
            out[i] = (uint8_t)carry;
            carry >>= 8;
        }
        assert_int_equal(carry, 0);
    }
}

static void load(size_t index, uint8_t publics[N_PUBLIC * PM_FR_BYTES],
                 uint8_t bytes[PROOF_BYTES]) {
    const json_t *entry = json_array_get(fixture.proofs, index);
    const json_t *inputs = json_object_get(entry, "inputs");
    const char *hex = json_string_value(json_object_get(entry, "proof"));
    assert_int_equal(json_array_size(inputs), N_PUBLIC);
    assert_int_equal(strlen(hex), 2 * PROOF_BYTES);
    for (size_t i = 0; i < N_PUBLIC; ++i) {
        scalar_from_decimal(json_string_value(json_array_get(inputs, i)),
                            publics + i * PM_FR_BYTES);
    }
    for (size_t i = 0; i < PROOF_BYTES; ++i) {
        unsigned byte;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        bytes[i] = (uint8_t)byte;
    }
}

static void real_proofs_verify_one_by_one_and_together(void **state) {
    need_fixture(state);
    pm_proof proofs[N_PROOFS];
    uint8_t publics[N_PROOFS * N_PUBLIC * PM_FR_BYTES];
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_vk_n_public(fixture.vk), N_PUBLIC);
    for (size_t i = 0; i < N_PROOFS; ++i) {
        uint8_t bytes[PROOF_BYTES], *mine = publics + i * N_PUBLIC * PM_FR_BYTES;
        load(i, mine, bytes);
        toy_expect(pm_proof_decode(PM_CURVE_BLS12_381, PM_POINT_ZCASH_COMPRESSED, bytes,
                                   sizeof bytes, &proofs[i], &error),
                   PM_OK, &error);
        toy_expect(pm_verify(fixture.context, fixture.vk, mine, N_PUBLIC, &proofs[i], &error),
                   PM_OK, &error);
        /* The same bytes again, and no other statement. */
        uint8_t again[PROOF_BYTES];
        size_t n = sizeof again;
        toy_expect(pm_proof_encode(&proofs[i], PM_POINT_ZCASH_COMPRESSED, again, &n, &error), PM_OK,
                   &error);
        assert_memory_equal(again, bytes, sizeof bytes);
        mine[0] ^= 1;
        toy_expect(pm_verify(fixture.context, fixture.vk, mine, N_PUBLIC, &proofs[i], &error),
                   PM_PROOF_INVALID, &error);
        mine[0] ^= 1;
    }
    toy_expect(
        pm_verify_batch(fixture.context, fixture.vk, publics, N_PUBLIC, proofs, N_PROOFS, &error),
        PM_OK, &error);
    publics[N_PUBLIC * PM_FR_BYTES] ^= 1;
    toy_expect(
        pm_verify_batch(fixture.context, fixture.vk, publics, N_PUBLIC, proofs, N_PROOFS, &error),
        PM_PROOF_INVALID, &error);
}

/* Refused as malformed, or another point or value and so invalid. */
static void expect_refused(const uint8_t *bytes, const uint8_t *publics) {
    pm_proof proof;
    if (pm_proof_decode(PM_CURVE_BLS12_381, PM_POINT_ZCASH_COMPRESSED, bytes, PROOF_BYTES, &proof,
                        NULL) == PM_OK) {
        const pm_status status =
            pm_verify(fixture.context, fixture.vk, publics, N_PUBLIC, &proof, NULL);
        assert_true(status == PM_PROOF_INVALID || status == PM_NOT_CANONICAL);
    }
}

/* Each bit of a compressed proof and of its inputs: of the first one, and with "slow" of all of
 * them; else a sample. */
static void no_flipped_bit_goes_unnoticed(void **state) {
    need_fixture(state);
    for (size_t i = 0; i < N_PROOFS; ++i) {
        uint8_t bytes[PROOF_BYTES], publics[N_PUBLIC * PM_FR_BYTES];
        const size_t stride = i == 0 || is_slow ? 1 : 61;
        load(i, publics, bytes);
        for (size_t bit = i % stride; bit < 8 * PROOF_BYTES; bit += stride) {
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            expect_refused(bytes, publics);
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        for (size_t bit = i % stride; bit < 8 * sizeof publics; bit += stride) {
            publics[bit / 8] ^= (uint8_t)(1u << bit % 8);
            expect_refused(bytes, publics);
            publics[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
}

/* A15: of nine partitions only the first was passed on. Each must be there, in its order. */
static void A15_no_partition_is_left_out(void **state) {
    need_fixture(state);
    static const size_t lengths[] = {0,
                                     PROOF_BYTES,
                                     (N_PROOFS - 1) * PROOF_BYTES,
                                     N_PROOFS * PROOF_BYTES - 1,
                                     N_PROOFS * PROOF_BYTES + 1,
                                     (N_PROOFS + 1) * PROOF_BYTES};
    const pm_curve_id bls = PM_CURVE_BLS12_381;
    const pm_point_form form = PM_POINT_ZCASH_COMPRESSED;
    uint8_t bytes[(N_PROOFS + 1) * PROOF_BYTES] = {0}, swapped[PROOF_BYTES];
    uint8_t publics[N_PROOFS * N_PUBLIC * PM_FR_BYTES];
    pm_proof proofs[N_PROOFS], untouched[N_PROOFS];
    pm_error error = PM_ERROR_INIT;
    for (size_t i = 0; i < N_PROOFS; ++i) {
        load(i, publics + i * N_PUBLIC * PM_FR_BYTES, bytes + i * PROOF_BYTES);
    }
    memset(untouched, 0xee, sizeof untouched);
    memset(proofs, 0xee, sizeof proofs);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; ++i) {
        toy_expect(pm_proofs_decode(bls, form, bytes, lengths[i], proofs, N_PROOFS, &error),
                   PM_LENGTH, &error);
        assert_int_equal(error.need, N_PROOFS * PROOF_BYTES);
        assert_int_equal(error.have, lengths[i]);
    }
    bytes[4 * PROOF_BYTES + 50] ^= 1;
    const pm_status damaged =
        pm_proofs_decode(bls, form, bytes, N_PROOFS * PROOF_BYTES, proofs, N_PROOFS, &error);
    assert_true(damaged == PM_NOT_ON_CURVE || damaged == PM_NOT_IN_SUBGROUP);
    assert_non_null(strstr(error.message, "proof 4 of 9: B is"));
    assert_memory_equal(proofs, untouched, sizeof proofs);
    bytes[4 * PROOF_BYTES + 50] ^= 1;
    assert_int_equal(pm_proofs_decode(bls, form, bytes, 0, proofs, 0, &error), PM_INVALID_ARGUMENT);

    toy_expect(pm_proofs_decode(bls, form, bytes, N_PROOFS * PROOF_BYTES, proofs, N_PROOFS, &error),
               PM_OK, &error);
    toy_expect(
        pm_verify_batch(fixture.context, fixture.vk, publics, N_PUBLIC, proofs, N_PROOFS, &error),
        PM_OK, &error);
    memcpy(swapped, bytes, PROOF_BYTES);
    memcpy(bytes, bytes + PROOF_BYTES, PROOF_BYTES);
    memcpy(bytes + PROOF_BYTES, swapped, PROOF_BYTES);
    toy_expect(pm_proofs_decode(bls, form, bytes, N_PROOFS * PROOF_BYTES, proofs, N_PROOFS, &error),
               PM_OK, &error);
    toy_expect(
        pm_verify_batch(fixture.context, fixture.vk, publics, N_PUBLIC, proofs, N_PROOFS, &error),
        PM_PROOF_INVALID, &error);
}

static void vk_length_is_exact(void **state) {
    need_fixture(state);
    pm_error error = PM_ERROR_INIT;
    const size_t vk_bytes = 868 + 96 * (N_PUBLIC + 1);
    pm_vk *vk = NULL;
    toy_expect(pm_vk_from_bellman(fixture.context, fixture.params, vk_bytes, 0, &vk, &error), PM_OK,
               &error);
    pm_vk_destroy(vk);
    vk = NULL;
    toy_expect(pm_vk_from_bellman(fixture.context, fixture.params, vk_bytes + 1, 0, &vk, &error),
               PM_LENGTH, &error);
    for (size_t n = 0; n < vk_bytes; n += n < 870 ? 1 : 13) {
        toy_expect(pm_vk_from_bellman(fixture.context, fixture.params, n, 0, &vk, &error),
                   PM_TRUNCATED, &error);
    }
    assert_null(vk);
}

int main(int n_arguments, char **arguments) {
    is_slow = n_arguments > 1 && strcmp(arguments[1], "slow") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_proofs_verify_one_by_one_and_together),
        cmocka_unit_test(no_flipped_bit_goes_unnoticed),
        cmocka_unit_test(A15_no_partition_is_left_out),
        cmocka_unit_test(vk_length_is_exact),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
