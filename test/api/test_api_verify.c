/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Verifying through the public interface: what is accepted, what is invalid, what is malformed. */
#include "api/api_internal.h"
#include "support/toy_circuits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const pm_curve_id curves[] = {PM_CURVE_BN254, PM_CURVE_BLS12_381};
#define N_CURVES (sizeof curves / sizeof curves[0])

struct fixture {
    pm_context *context;
    struct toy toy[N_CURVES];
    pm_proof proof[N_CURVES];
};

static int fixture_open(void **state) {
    static struct fixture fixture;
    fixture.context = toy_context(2, PM_ARITHMETIC_BEST);
    for (size_t i = 0; i < N_CURVES; ++i) {
        pm_error error = PM_ERROR_INIT;
        struct toy *toy = &fixture.toy[i];
        toy_open(fixture.context, curves[i], TOY_PRODUCT, toy);
        toy_expect(pm_prove(fixture.context, toy->key, toy->witness, NULL, NULL, &fixture.proof[i],
                            NULL, &error),
                   PM_OK, &error);
    }
    *state = &fixture;
    return 0;
}

static int fixture_close(void **state) {
    struct fixture *fixture = *state;
    for (size_t i = 0; i < N_CURVES; ++i) {
        toy_close(&fixture->toy[i]);
    }
    pm_context_destroy(fixture->context);
    return 0;
}

static pm_status verify(const struct fixture *fixture, size_t i, const void *publics, size_t n,
                        const pm_proof *proof, pm_error *error) {
    return pm_verify(fixture->context, fixture->toy[i].vk, publics, n, proof, error);
}

/* Report B1: x and x + r are not the same input. */
static void B1_unreduced_public_inputs_are_refused(void **state) {
    const struct fixture *fixture = *state;
    for (size_t i = 0; i < N_CURVES; ++i) {
        const struct pm_field *fr = pm_field_fr(curves[i], PM_BODY_PORTABLE);
        pm_error error = PM_ERROR_INIT;
        uint64_t value[PM_FR_LIMBS_MAX];
        memcpy(value, fixture->toy[i].publics, sizeof value);
        uint64_t carry = 0;
        for (size_t j = 0; j < PM_FR_LIMBS_MAX; ++j) { /* 6 + r fits in 256 bits */
            const unsigned __int128 sum = (unsigned __int128)value[j] + fr->modulus[j] + carry;
            value[j] = (uint64_t)sum;
            carry = (uint64_t)(sum >> 64);
        }
        toy_expect(verify(fixture, i, value, 1, &fixture->proof[i], &error), PM_NOT_CANONICAL,
                   &error);
        toy_expect(verify(fixture, i, fr->modulus, 1, &fixture->proof[i], &error), PM_NOT_CANONICAL,
                   &error);
        memset(value, 0xff, sizeof value);
        toy_expect(verify(fixture, i, value, 1, &fixture->proof[i], &error), PM_NOT_CANONICAL,
                   &error);
    }
}

/* Reports B2, B3 and RC3: the count is exact, nothing is padded or cut. */
static void B2_B3_public_input_count_is_exact(void **state) {
    const struct fixture *fixture = *state;
    const uint8_t publics[3 * PM_FR_BYTES] = {6};
    for (size_t i = 0; i < N_CURVES; ++i) {
        for (size_t n = 0; n <= 3; ++n) {
            pm_error error = PM_ERROR_INIT;
            toy_expect(verify(fixture, i, publics, n, &fixture->proof[i], &error),
                       n == 1 ? PM_OK : PM_COUNT, &error);
            if (n != 1) {
                assert_int_equal(error.need, 1);
                assert_int_equal(error.have, n);
            }
        }
    }
}

static void wrong_public_input_is_invalid(void **state) {
    const struct fixture *fixture = *state;
    for (size_t i = 0; i < N_CURVES; ++i) {
        for (unsigned bit = 0; bit < 253; bit += 7) {
            pm_error error = PM_ERROR_INIT;
            uint8_t value[PM_FR_BYTES];
            memcpy(value, fixture->toy[i].publics, sizeof value);
            value[bit / 8] ^= (uint8_t)(1u << bit % 8);
            toy_expect(verify(fixture, i, value, 1, &fixture->proof[i], &error), PM_PROOF_INVALID,
                       &error);
        }
    }
}

/* Every bit of every coordinate matters; the outcome is a refusal that says what is wrong. */
static void flipped_bits_in_a_proof_are_refused(void **state) {
    const struct fixture *fixture = *state;
    for (size_t i = 0; i < N_CURVES; ++i) {
        const size_t fp_bytes = pm_curve_fp_bytes(curves[i]);
        const size_t offsets[3] = {offsetof(pm_proof, a), offsetof(pm_proof, b),
                                   offsetof(pm_proof, c)};
        const size_t lengths[3] = {2 * fp_bytes, 4 * fp_bytes, 2 * fp_bytes};
        for (size_t part = 0; part < 3; ++part) {
            for (size_t bit = 0; bit < 8 * lengths[part]; ++bit) {
                pm_proof proof = fixture->proof[i];
                ((uint8_t *)&proof)[offsets[part] + bit / 8] ^= (uint8_t)(1u << bit % 8);
                const pm_status status =
                    verify(fixture, i, fixture->toy[i].publics, 1, &proof, NULL);
                assert_true(status == PM_NOT_ON_CURVE || status == PM_NOT_CANONICAL);
            }
        }
    }
}

static void infinity_and_other_valid_points_are_refused(void **state) {
    const struct fixture *fixture = *state;
    for (size_t i = 0; i < N_CURVES; ++i) {
        pm_error error = PM_ERROR_INIT;
        pm_proof proof = fixture->proof[i];
        memset(proof.a, 0, sizeof proof.a);
        toy_expect(verify(fixture, i, fixture->toy[i].publics, 1, &proof, &error),
                   PM_POINT_AT_INFINITY, &error);
        proof = fixture->proof[i];
        memset(proof.b, 0, sizeof proof.b);
        toy_expect(verify(fixture, i, fixture->toy[i].publics, 1, &proof, &error),
                   PM_POINT_AT_INFINITY, &error);
        proof = fixture->proof[i];
        memcpy(proof.a, fixture->proof[i].c, sizeof proof.a);
        toy_expect(verify(fixture, i, fixture->toy[i].publics, 1, &proof, &error), PM_PROOF_INVALID,
                   &error);
        proof = fixture->proof[1 - i];
        toy_expect(verify(fixture, i, fixture->toy[i].publics, 1, &proof, &error), PM_CURVE,
                   &error);
    }
}

/* A = k A, B = k^-1 B: another proof of the same statement. */
static void rerandomise(pm_curve_id id, pm_proof *proof) {
    const struct pm_curve *curve = pm_curve_get(id, PM_BODY_PORTABLE);
    struct pm_group_point point;
    uint8_t affine[PM_G2_BYTES_MAX];
    uint64_t k[PM_FR_LIMBS_MAX] = {UINT64_C(0x123456789abcdef)}, inverse[PM_FR_LIMBS_MAX];
    curve->fr->to_mont(inverse, k, 1);
    curve->fr->inv(inverse, inverse);
    curve->fr->from_mont(inverse, inverse, 1);

    (void)curve->g1->decode(affine, PM_POINT_CANONICAL_LE, proof->a, PM_POINT_CHECK_NONE);
    curve->g1->from_affine(&point, affine);
    curve->g1->mul(&point, &point, k, PM_FR_LIMBS_MAX);
    curve->g1->to_affine(affine, &point);
    curve->g1->encode(proof->a, PM_POINT_CANONICAL_LE, affine);

    (void)curve->g2->decode(affine, PM_POINT_CANONICAL_LE, proof->b, PM_POINT_CHECK_NONE);
    curve->g2->from_affine(&point, affine);
    curve->g2->mul(&point, &point, inverse, PM_FR_LIMBS_MAX);
    curve->g2->to_affine(affine, &point);
    curve->g2->encode(proof->b, PM_POINT_CANONICAL_LE, affine);
}

/* Report B5: that is Groth16, and no fault of the verifier's. */
static void B5_rerandomised_proof_verifies(void **state) {
    const struct fixture *fixture = *state;
    for (size_t i = 0; i < N_CURVES; ++i) {
        pm_error error = PM_ERROR_INIT;
        pm_proof proof = fixture->proof[i];
        rerandomise(curves[i], &proof);
        assert_memory_not_equal(proof.a, fixture->proof[i].a, sizeof proof.a);
        toy_expect(verify(fixture, i, fixture->toy[i].publics, 1, &proof, &error), PM_OK, &error);
    }
}

/* ---- Batches -------------------------------------------------------------------------------- */

#define BATCH 7

/* BATCH proofs, every other one re-randomised. */
static void fill_batch(const struct fixture *fixture, size_t i, pm_proof proofs[BATCH],
                       uint8_t publics[BATCH * PM_FR_BYTES]) {
    for (size_t j = 0; j < BATCH; ++j) {
        proofs[j] = fixture->proof[i];
        if (j % 2 == 1) {
            rerandomise(curves[i], &proofs[j]);
        }
        memcpy(publics + j * PM_FR_BYTES, fixture->toy[i].publics, PM_FR_BYTES);
    }
}

static void batch_of_valid_proofs_is_valid(void **state) {
    const struct fixture *fixture = *state;
    for (size_t i = 0; i < N_CURVES; ++i) {
        pm_proof proofs[BATCH];
        uint8_t publics[BATCH * PM_FR_BYTES];
        fill_batch(fixture, i, proofs, publics);
        for (size_t n = 1; n <= BATCH; ++n) {
            pm_error error = PM_ERROR_INIT;
            toy_expect(pm_verify_batch(fixture->context, fixture->toy[i].vk, publics, 1, proofs, n,
                                       &error),
                       PM_OK, &error);
        }
    }
}

static void batch_with_one_bad_proof_is_invalid(void **state) {
    const struct fixture *fixture = *state;
    for (size_t i = 0; i < N_CURVES; ++i) {
        for (size_t bad = 0; bad < BATCH; ++bad) {
            pm_error error = PM_ERROR_INIT;
            pm_proof proofs[BATCH];
            uint8_t publics[BATCH * PM_FR_BYTES];
            fill_batch(fixture, i, proofs, publics);
            publics[bad * PM_FR_BYTES] ^= 1;
            toy_expect(pm_verify_batch(fixture->context, fixture->toy[i].vk, publics, 1, proofs,
                                       BATCH, &error),
                       PM_PROOF_INVALID, &error);
            fill_batch(fixture, i, proofs, publics);
            memcpy(proofs[bad].c, proofs[bad].a, sizeof proofs[bad].c);
            toy_expect(pm_verify_batch(fixture->context, fixture->toy[i].vk, publics, 1, proofs,
                                       BATCH, &error),
                       PM_PROOF_INVALID, &error);
        }
    }
}

/* Two wrong proofs whose faults cancel in a plain product must not cancel in the combination. */
static void batch_faults_do_not_cancel(void **state) {
    const struct fixture *fixture = *state;
    for (size_t i = 0; i < N_CURVES; ++i) {
        pm_error error = PM_ERROR_INIT;
        pm_proof proofs[BATCH];
        uint8_t publics[BATCH * PM_FR_BYTES];
        fill_batch(fixture, i, proofs, publics);
        ++publics[0];
        --publics[PM_FR_BYTES];
        toy_expect(
            pm_verify_batch(fixture->context, fixture->toy[i].vk, publics, 1, proofs, 2, &error),
            PM_PROOF_INVALID, &error);
    }
}

/* ---- Encodings ------------------------------------------------------------------------------ */

static void proof_encodings_round_trip(void **state) {
    const struct fixture *fixture = *state;
    for (size_t i = 0; i < N_CURVES; ++i) {
        for (int form = PM_POINT_CANONICAL_LE; form <= PM_POINT_ZCASH_COMPRESSED; ++form) {
            pm_error error = PM_ERROR_INIT;
            uint8_t bytes[2 * PM_G1_BYTES_MAX + PM_G2_BYTES_MAX + 1];
            size_t n = 0;
            const pm_status asked =
                pm_proof_encode(&fixture->proof[i], (pm_point_form)form, NULL, &n, &error);
            if (curves[i] == PM_CURVE_BN254 && form >= PM_POINT_ZCASH_FULL) {
                toy_expect(asked, PM_UNSUPPORTED, &error);
                continue;
            }
            toy_expect(asked, PM_OK, &error);
            assert_int_equal(
                n, form == PM_POINT_ZCASH_COMPRESSED ? 192 : 8 * pm_curve_fp_bytes(curves[i]));
            const size_t need = n;
            n = need - 1;
            toy_expect(pm_proof_encode(&fixture->proof[i], (pm_point_form)form, bytes, &n, &error),
                       PM_BUFFER_TOO_SMALL, &error);
            assert_int_equal(n, need);
            toy_expect(pm_proof_encode(&fixture->proof[i], (pm_point_form)form, bytes, &n, &error),
                       PM_OK, &error);
            pm_proof proof;
            toy_expect(pm_proof_decode(curves[i], (pm_point_form)form, bytes, need, &proof, &error),
                       PM_OK, &error);
            assert_memory_equal(&proof, &fixture->proof[i], sizeof proof);
            toy_expect(
                pm_proof_decode(curves[i], (pm_point_form)form, bytes, need - 1, &proof, &error),
                PM_LENGTH, &error);
            toy_expect(
                pm_proof_decode(curves[i], (pm_point_form)form, bytes, need + 1, &proof, &error),
                PM_LENGTH, &error);
        }
    }
}

static void vk_from_arrays_equals_vk_from_key(void **state) {
    const struct fixture *fixture = *state;
    for (size_t i = 0; i < N_CURVES; ++i) {
        pm_error error = PM_ERROR_INIT;
        pm_vk_arrays arrays = {.struct_bytes = sizeof arrays};
        assert_int_equal(pm_vk_get_arrays(fixture->toy[i].vk, &arrays), PM_OK);
        pm_vk *vk = NULL;
        toy_expect(pm_vk_from_arrays(fixture->context, &arrays, &vk, &error), PM_OK, &error);
        toy_expect(
            pm_verify(fixture->context, vk, fixture->toy[i].publics, 1, &fixture->proof[i], &error),
            PM_OK, &error);
        uint8_t first[12 * PM_FP_BYTES_MAX], second[12 * PM_FP_BYTES_MAX];
        const size_t bytes = 12 * pm_curve_fp_bytes(curves[i]);
        assert_int_equal(pm_vk_get_alphabeta(vk, first, bytes), PM_OK);
        assert_int_equal(pm_vk_get_alphabeta(fixture->toy[i].vk, second, bytes), PM_OK);
        assert_memory_equal(first, second, bytes);
        assert_int_equal(pm_vk_get_alphabeta(vk, first, bytes - 1), PM_INVALID_ARGUMENT);
        pm_vk_destroy(vk);
    }
}

static void vk_with_a_bad_point_is_refused(void **state) {
    const struct fixture *fixture = *state;
    static const uint8_t zero[PM_G2_BYTES_MAX];
    for (size_t i = 0; i < N_CURVES; ++i) {
        pm_error error = PM_ERROR_INIT;
        pm_vk *vk = NULL;
        pm_vk_arrays arrays = {.struct_bytes = sizeof arrays};
        assert_int_equal(pm_vk_get_arrays(fixture->toy[i].vk, &arrays), PM_OK);
        pm_vk_arrays changed = arrays;
        changed.delta_g2 = zero;
        toy_expect(pm_vk_from_arrays(fixture->context, &changed, &vk, &error), PM_POINT_AT_INFINITY,
                   &error);
        uint8_t off_curve[PM_G1_BYTES_MAX];
        memcpy(off_curve, arrays.alpha_g1, 2 * pm_curve_fp_bytes(curves[i]));
        off_curve[0] ^= 1;
        changed = arrays;
        changed.alpha_g1 = off_curve;
        toy_expect(pm_vk_from_arrays(fixture->context, &changed, &vk, &error), PM_NOT_ON_CURVE,
                   &error);
        assert_non_null(strstr(error.message, "alpha"));
        memset(off_curve, 0xff, sizeof off_curve);
        toy_expect(pm_vk_from_arrays(fixture->context, &changed, &vk, &error), PM_NOT_CANONICAL,
                   &error);
        changed = arrays;
        changed.ic = NULL;
        toy_expect(pm_vk_from_arrays(fixture->context, &changed, &vk, &error), PM_INVALID_ARGUMENT,
                   &error);
        assert_null(vk);
    }
}

static void every_call_survives_null(void **state) {
    const struct fixture *fixture = *state;
    pm_context *context = fixture->context;
    const struct toy *toy = &fixture->toy[0];
    pm_proof proof = fixture->proof[0];
    pm_key *key = NULL;
    pm_vk *vk = NULL;
    pm_witness *witness = NULL;
    size_t n = 0;
    assert_int_equal(pm_context_create(NULL, NULL, NULL), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_key_open(NULL, "x", NULL, NULL, &key, NULL), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_key_open(context, NULL, NULL, NULL, &key, NULL), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_key_open(context, "x", NULL, NULL, NULL, NULL), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_key_open_memory(context, NULL, 5, NULL, NULL, &key, NULL),
                     PM_INVALID_ARGUMENT);
    assert_int_equal(pm_key_from_arrays(context, NULL, NULL, &key, NULL), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_key_get_facts(NULL, NULL), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_key_check(context, NULL, NULL, NULL), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_witness_open(context, NULL, NULL, &witness, NULL), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_witness_from_values(context, PM_CURVE_BN254, NULL, 1, NULL, &witness, NULL),
                     PM_INVALID_ARGUMENT);
    assert_int_equal(pm_witness_values(NULL, 0, 0, NULL), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_witness_values(toy->witness, 4, 1, &proof), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_witness_values(toy->witness, 1, SIZE_MAX, &proof), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_prove(NULL, toy->key, toy->witness, NULL, NULL, &proof, NULL, NULL),
                     PM_INVALID_ARGUMENT);
    assert_int_equal(pm_prove(context, NULL, toy->witness, NULL, NULL, &proof, NULL, NULL),
                     PM_INVALID_ARGUMENT);
    assert_int_equal(pm_prove(context, toy->key, NULL, NULL, NULL, &proof, NULL, NULL),
                     PM_INVALID_ARGUMENT);
    assert_int_equal(pm_prove(context, toy->key, toy->witness, NULL, NULL, NULL, NULL, NULL),
                     PM_INVALID_ARGUMENT);
    assert_int_equal(pm_verify(context, NULL, NULL, 0, &proof, NULL), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_verify(context, toy->vk, NULL, 1, &proof, NULL), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_verify(context, toy->vk, toy->publics, 1, NULL, NULL), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_verify_batch(context, toy->vk, toy->publics, 1, &proof, 0, NULL),
                     PM_INVALID_ARGUMENT);
    assert_int_equal(pm_vk_from_arrays(context, NULL, &vk, NULL), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_vk_from_key(context, NULL, &vk, NULL), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_vk_from_bellman(context, NULL, 1, 0, &vk, NULL), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_vk_get_arrays(NULL, NULL), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_proof_encode(NULL, PM_POINT_CANONICAL_LE, NULL, &n, NULL),
                     PM_INVALID_ARGUMENT);
    assert_int_equal(pm_proof_encode(&proof, PM_POINT_CANONICAL_LE, NULL, NULL, NULL),
                     PM_INVALID_ARGUMENT);
    assert_int_equal(pm_proof_encode(&proof, (pm_point_form)9, NULL, &n, NULL), PM_UNSUPPORTED);
    assert_int_equal(pm_proof_decode(PM_CURVE_NONE, PM_POINT_CANONICAL_LE, &proof, 1, &proof, NULL),
                     PM_CURVE);
    pm_context_destroy(NULL);
    pm_key_destroy(NULL);
    pm_vk_destroy(NULL);
    pm_witness_destroy(NULL);
}

/* Report E8: curve names as people write them. */
static void E8_curve_names(void **state) {
    (void)state;
    static const char *const bn254[] = {"bn128",    "bn254",     "BN254",     "bn-128",
                                        "altbn128", "alt_bn128", "ALT-BN128", "Bn-254"};
    static const char *const bls[] = {"bls12381", "bls12-381", "BLS12_381", "bls-12-381"};
    static const char *const neither[] = {"", "bn", "bn1280", "bls12377", "bn 128", "secp256k1"};
    for (size_t i = 0; i < sizeof bn254 / sizeof bn254[0]; ++i) {
        assert_int_equal(pm_curve_from_name(bn254[i]), PM_CURVE_BN254);
    }
    for (size_t i = 0; i < sizeof bls / sizeof bls[0]; ++i) {
        assert_int_equal(pm_curve_from_name(bls[i]), PM_CURVE_BLS12_381);
    }
    for (size_t i = 0; i < sizeof neither / sizeof neither[0]; ++i) {
        assert_int_equal(pm_curve_from_name(neither[i]), PM_CURVE_NONE);
    }
    assert_int_equal(pm_curve_from_name(NULL), PM_CURVE_NONE);
    assert_string_equal(pm_curve_name(PM_CURVE_BN254), "bn128");
    assert_string_equal(pm_curve_name(PM_CURVE_BLS12_381), "bls12381");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(B1_unreduced_public_inputs_are_refused),
        cmocka_unit_test(B2_B3_public_input_count_is_exact),
        cmocka_unit_test(wrong_public_input_is_invalid),
        cmocka_unit_test(flipped_bits_in_a_proof_are_refused),
        cmocka_unit_test(infinity_and_other_valid_points_are_refused),
        cmocka_unit_test(B5_rerandomised_proof_verifies),
        cmocka_unit_test(batch_of_valid_proofs_is_valid),
        cmocka_unit_test(batch_with_one_bad_proof_is_invalid),
        cmocka_unit_test(batch_faults_do_not_cancel),
        cmocka_unit_test(proof_encodings_round_trip),
        cmocka_unit_test(vk_from_arrays_equals_vk_from_key),
        cmocka_unit_test(vk_with_a_bad_point_is_refused),
        cmocka_unit_test(every_call_survives_null),
        cmocka_unit_test(E8_curve_names),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
