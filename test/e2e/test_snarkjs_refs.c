/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Proofs with r and s fixed equal snarkjs's own, byte for byte.
 *
 * Each ref_*.json holds r, s and the proof that snarkjs made with them. The circuits under
 * test/data are ours and always run; those of the larger fixtures run where they are.
 */
#include "api/api_internal.h"
#include "support/fixture.h"
#include "json/json.h"

#include <jansson.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char *const refs[] = {"ref_r0s0.json", "ref_r3s5.json", "ref_rBig.json"};

struct subject {
    pm_context *context;
    pm_key *key;
    pm_witness *witness;
    char folder[PM_TEST_PATH_MAX];
};

static void require_ok(pm_status status, const pm_error *error) {
    if (status != PM_OK) {
        fail_msg("%s: %s (%s)", pm_status_name(status), error->message, error->file);
    }
}

static void join(char out[PM_TEST_PATH_MAX], const char *folder, const char *file) {
    const int n = snprintf(out, PM_TEST_PATH_MAX, "%s/%s", folder, file);
    assert_true(n > 0 && n < PM_TEST_PATH_MAX);
}

static void subject_open(struct subject *subject, const char *folder, const char *name,
                         pm_arithmetic arithmetic) {
    pm_error error = PM_ERROR_INIT;
    char path[PM_TEST_PATH_MAX], file[PM_TEST_PATH_MAX];
    memset(subject, 0, sizeof *subject);
    (void)snprintf(subject->folder, sizeof subject->folder, "%s", folder);
    const pm_context_options options = {
        .struct_bytes = sizeof options, .threads = 2, .arithmetic = (uint32_t)arithmetic};
    require_ok(pm_context_create(&options, &subject->context, &error), &error);
    (void)snprintf(file, sizeof file, "%s.zkey", name);
    join(path, folder, file);
    require_ok(pm_key_open(subject->context, path, NULL, NULL, &subject->key, &error), &error);
    (void)snprintf(file, sizeof file, "%s.wtns", name);
    join(path, folder, file);
    require_ok(pm_witness_open(subject->context, path, NULL, &subject->witness, &error), &error);
}

static void subject_close(struct subject *subject) {
    pm_witness_destroy(subject->witness);
    pm_key_destroy(subject->key);
    pm_context_destroy(subject->context);
}

/* A decimal of the ref file as a canonical scalar, by the definition of decimal. */
static void scalar_from_decimal(const char *text, uint64_t limbs[PM_FR_LIMBS_MAX]) {
    memset(limbs, 0, PM_FR_BYTES);
    for (; *text != '\0'; ++text) {
        assert_in_range(*text, '0', '9');
        unsigned __int128 carry = (unsigned __int128)(*text - '0');
        for (size_t i = 0; i < PM_FR_LIMBS_MAX; ++i) {
            carry += (unsigned __int128)limbs[i] * 10;
            limbs[i] = (uint64_t)carry;
            carry >>= 64;
        }
        assert_true(carry == 0);
    }
}

static void check_ref(const struct subject *subject, const char *ref) {
    pm_error error = PM_ERROR_INIT;
    char path[PM_TEST_PATH_MAX];
    join(path, subject->folder, ref);
    json_t *root = json_load_file(path, 0, NULL);
    assert_non_null(root);
    struct pm_blinding blinding;
    scalar_from_decimal(json_string_value(json_object_get(root, "r")), blinding.r);
    scalar_from_decimal(json_string_value(json_object_get(root, "s")), blinding.s);
    char *expected = json_dumps(json_object_get(root, "proof"), JSON_INDENT(1));
    assert_non_null(expected);

    pm_proof proof;
    struct pm_json_text text = {0};
    require_ok(pm_prove_with_blinding(subject->context, subject->key, subject->witness, &blinding,
                                      NULL, NULL, &proof, NULL, &error),
               &error);
    require_ok(pm_json_proof_write(&proof, &text, &error), &error);
    assert_string_equal(text.bytes, expected);
    pm_json_text_free(&text);
    free(expected);
    json_decref(root);
}

/* publicSignals of the witness against public.json, byte for byte. */
static void check_public(const struct subject *subject) {
    pm_error error = PM_ERROR_INIT;
    char path[PM_TEST_PATH_MAX];
    join(path, subject->folder, "public.json");
    char *expected = pm_test_read_file(path, NULL);
    assert_non_null(expected);
    pm_key_facts facts = {.struct_bytes = sizeof facts};
    assert_int_equal(pm_key_get_facts(subject->key, &facts), PM_OK);
    uint8_t *values = malloc((size_t)facts.n_public * PM_FR_BYTES + 1);
    assert_non_null(values);
    assert_int_equal(pm_witness_values(subject->witness, 1, facts.n_public, values), PM_OK);
    struct pm_json_text text = {0};
    require_ok(pm_json_public_write(values, facts.n_public, &text, &error), &error);
    assert_string_equal(text.bytes, expected);
    pm_json_text_free(&text);
    free(values);
    free(expected);
}

static void check_circuit(const char *folder, const char *name) {
    const pm_arithmetic bodies[] = {PM_ARITHMETIC_PORTABLE, PM_ARITHMETIC_BEST};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; ++i) {
        struct subject subject;
        subject_open(&subject, folder, name, bodies[i]);
        check_public(&subject);
        for (size_t j = 0; j < sizeof refs / sizeof refs[0]; ++j) {
            check_ref(&subject, refs[j]);
        }
        subject_close(&subject);
    }
}

static void own_circuits_equal_snarkjs(void **state) {
    (void)state;
    static const char *const names[] = {"one",       "one_bls", "mult3",
                                        "mult3_bls", "nopriv",  "nopriv_bls"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        char folder[PM_TEST_PATH_MAX];
        check_circuit(pm_data_path(folder, names[i]), names[i]);
    }
}

static void larger_circuits_equal_snarkjs(void **state) {
    (void)state;
    static const char *const names[] = {"own_mimc",  "own_mimc_bls",  "multipub", "multipub_bls",
                                        "poseidon2", "poseidon2_bls", "eddsa",    "eddsa_bls"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        char folder[PM_TEST_PATH_MAX], relative[64];
        (void)snprintf(relative, sizeof relative, "small/%s", names[i]);
        if (!pm_fixture_path(folder, relative)) {
            pm_say_skip("no fixtures (PM_FIXTURES): larger circuits not compared with snarkjs");
            skip();
        }
        check_circuit(folder, names[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_circuits_equal_snarkjs),
        cmocka_unit_test(larger_circuits_equal_snarkjs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
