/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Strictness and bytes of the JSON layer. Cases that come from a field report carry its id. The
 * inline proof and key consist of the generators of BN254: well-formed, proving nothing.
 */
#include "json/exit_code.h"
#include "json/json.h"
#include "json/json_decimal.h"

#include <proofmill/proofmill.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define G1 "[\"1\", \"2\", \"1\"]"
#define G2_X0 "10857046999023057135944570762232829481370756359578518086990519993285655852781"
#define G2_X1 "11559732032986387107991004021392285783925812861821192530917403151452391805634"
#define G2_Y0 "8495653923123431417604973247489272438418190587263600148770280649306958101930"
#define G2_Y1 "4082367875863433681332203403145435568316851327593401208105741076214120093531"
#define G2 "[[\"" G2_X0 "\", \"" G2_X1 "\"], [\"" G2_Y0 "\", \"" G2_Y1 "\"], [\"1\", \"0\"]]"
#define G2_SWAPPED                                                                                 \
    "[[\"" G2_X1 "\", \"" G2_X0 "\"], [\"" G2_Y1 "\", \"" G2_Y0 "\"], [\"1\", \"0\"]]"
#define PROOF                                                                                      \
    "{\"pi_a\": " G1 ", \"pi_b\": " G2 ", \"pi_c\": " G1                                           \
    ", \"protocol\": \"groth16\", \"curve\": \"bn128\"}"
#define VK                                                                                         \
    "{\"protocol\": \"groth16\", \"curve\": \"bn128\", \"nPublic\": 1, \"vk_alpha_1\": " G1        \
    ", \"vk_beta_2\": " G2 ", \"vk_gamma_2\": " G2 ", \"vk_delta_2\": " G2 ", \"IC\": [" G1        \
    ", " G1 "]}"
#define BN254_P "21888242871839275222246405745257275088696311157297823662689037894645226208583"
#define BN254_R "21888242871839275222246405745257275088548364400416034343698204186575808495617"
#define BN254_R_LESS_1                                                                             \
    "21888242871839275222246405745257275088548364400416034343698204186575808495616"
#define BN254_R_PLUS_1                                                                             \
    "21888242871839275222246405745257275088548364400416034343698204186575808495618"
#define BLS_R "52435875175126190479447740508185965837690552500527637822603658699938581184513"
#define BLS_P                                                                                      \
    "4002409555221667393417789825735904156556882819939007885332058136124031650490837864442687629"  \
    "129015664037894272559787"
#define TWO_TO_254 "28948022309329048855892746252171976963317496166410141009864396001978282409984"
#define TWO_TO_256_LESS_1                                                                          \
    "115792089237316195423570985008687907853269984665640564039457584007913129639935"

/* ---------------------------------------------------------------------------------------------
 * Helpers
 * ------------------------------------------------------------------------------------------- */

static pm_context *context;

static int set_up(void **state) {
    (void)state;
    pm_context_options options = {.struct_bytes = (uint32_t)sizeof options, .threads = 1};
    return pm_context_create(&options, &context, NULL) == PM_OK ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    pm_context_destroy(context);
    return 0;
}

/* A copy of text with the first `from` replaced by `to`; the caller frees. */
static char *replaced(const char *text, const char *from, const char *to) {
    const char *at = strstr(text, from);
    assert_non_null(at);
    size_t n = strlen(text) + strlen(to) + 1;
    char *out = malloc(n);
    assert_non_null(out);
    (void)snprintf(out, n, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return out;
}

static void expect_error(const char *what, pm_status status, const pm_error *error,
                         pm_status expected, const char *sentence) {
    if (status != expected || (expected != PM_OK && strstr(error->message, sentence) == NULL)) {
        fail_msg("%s: %s \"%s\", expected %s with \"%s\"", what, pm_status_name(status),
                 error->message, pm_status_name(expected), sentence);
    }
    if (expected != PM_OK) {
        assert_int_equal(error->status, expected);
        assert_string_equal(error->file, "the file");
    }
}

static void expect_proof(const char *text, pm_status expected, const char *sentence) {
    pm_error error = PM_ERROR_INIT;
    pm_proof proof = {.struct_bytes = (uint32_t)sizeof proof};
    pm_status status =
        pm_json_proof_parse(text, strlen(text), "the file", PM_CURVE_BN254, &proof, &error);
    expect_error(text, status, &error, expected, sentence);
}

static void expect_public(const char *text, pm_curve_id curve, pm_status expected,
                          const char *sentence) {
    pm_error error = PM_ERROR_INIT;
    uint8_t *values = NULL;
    size_t n_values = 0;
    pm_status status =
        pm_json_public_parse(text, strlen(text), "the file", curve, &values, &n_values, &error);
    expect_error(text, status, &error, expected, sentence);
    pm_json_values_free(values);
}

static void expect_vk(const char *text, pm_status expected, const char *sentence) {
    pm_error error = PM_ERROR_INIT;
    pm_vk *vk = NULL;
    pm_status status = pm_json_vk_parse(context, text, strlen(text), "the file", &vk, &error);
    expect_error(text, status, &error, expected, sentence);
    pm_vk_destroy(vk);
}

struct change {
    const char *from, *to;
    pm_status status;
    const char *sentence;
};

static void expect_changes(const char *text, const struct change *changes, size_t n,
                           void (*expect)(const char *, pm_status, const char *)) {
    for (size_t i = 0; i < n; i++) {
        char *changed = replaced(text, changes[i].from, changes[i].to);
        expect(changed, changes[i].status, changes[i].sentence);
        free(changed);
    }
}

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t random_state;

static uint32_t random_below(uint32_t bound) {
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((random_state >> 33) % bound);
}

static void seed_random(void) {
    const char *given = getenv("PM_TEST_SEED");
    random_state = given != NULL ? strtoull(given, NULL, 0) : UINT64_C(20240611);
    print_message("seed %llu (PM_TEST_SEED)\n", (unsigned long long)random_state);
}

/* ---------------------------------------------------------------------------------------------
 * Decimals
 * ------------------------------------------------------------------------------------------- */

static void test_moduli_are_those_of_the_library(void **state) {
    (void)state;
    const struct {
        const char *text;
        const struct pm_json_field *field;
    } expected[] = {{BN254_P, pm_json_base_field(PM_CURVE_BN254)},
                    {BN254_R, pm_json_scalar_field(PM_CURVE_BN254)},
                    {BLS_P, pm_json_base_field(PM_CURVE_BLS12_381)},
                    {BLS_R, pm_json_scalar_field(PM_CURVE_BLS12_381)}};
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_string_equal(expected[i].field->modulus, expected[i].text);
    }
    assert_null(pm_json_base_field(PM_CURVE_NONE));
    /* The library refuses the modulus itself as a value and takes the one below it. */
    for (pm_curve_id curve = PM_CURVE_BN254; curve <= PM_CURVE_BLS12_381; curve++) {
        const char *modulus = pm_json_scalar_field(curve)->modulus;
        uint8_t values[2 * PM_FR_BYTES] = {1};
        pm_witness *witness = NULL;
        pm_decimal_to_bytes(modulus, strlen(modulus), values + PM_FR_BYTES, PM_FR_BYTES);
        assert_int_equal(pm_witness_from_values(context, curve, values, 2, NULL, &witness, NULL),
                         PM_NOT_CANONICAL);
        values[PM_FR_BYTES]--; /* both moduli are odd */
        assert_int_equal(pm_witness_from_values(context, curve, values, 2, NULL, &witness, NULL),
                         PM_OK);
        pm_witness_destroy(witness);
    }
}

static void test_decimals_convert_both_ways(void **state) {
    (void)state;
    static const char *const texts[] = {"0",
                                        "1",
                                        "9",
                                        "10",
                                        "999999999",
                                        "1000000000",
                                        "4294967295",
                                        "4294967296",
                                        "1000000000000000000",
                                        BN254_R_LESS_1,
                                        TWO_TO_256_LESS_1};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        uint8_t bytes[PM_FP_BYTES_MAX];
        char back[PM_DECIMAL_CHARS_MAX];
        pm_decimal_to_bytes(texts[i], strlen(texts[i]), bytes, 32);
        pm_decimal_from_bytes(bytes, 32, back);
        assert_string_equal(back, texts[i]);
        pm_decimal_to_bytes(texts[i], strlen(texts[i]), bytes, 48);
        pm_decimal_from_bytes(bytes, 48, back);
        assert_string_equal(back, texts[i]);
    }
    uint8_t bytes[32];
    pm_decimal_to_bytes("4294967298", 10, bytes, 32);
    assert_int_equal(bytes[0], 2);
    assert_int_equal(bytes[4], 1);
}

static void test_random_bytes_convert_both_ways(void **state) {
    (void)state;
    seed_random();
    for (int round = 0; round < 2000; round++) {
        uint8_t bytes[48] = {0}, back[48];
        char digits[PM_DECIMAL_CHARS_MAX];
        uint32_t n_used = random_below(49); /* short values too */
        for (uint32_t i = 0; i < n_used; i++) {
            bytes[i] = (uint8_t)random_below(256);
        }
        pm_decimal_from_bytes(bytes, 48, digits);
        assert_true(pm_decimal_is_canonical(digits, strlen(digits)));
        pm_decimal_to_bytes(digits, strlen(digits), back, 48);
        assert_memory_equal(back, bytes, 48);
    }
}

/* ---------------------------------------------------------------------------------------------
 * Public signals
 * ------------------------------------------------------------------------------------------- */

static void test_B1_only_canonical_decimals_are_signals(void **state) {
    (void)state;
    static const struct {
        const char *text;
        pm_status status;
        const char *sentence;
    } cases[] = {
        {"[\"" BN254_R_LESS_1 "\"]", PM_OK, ""},
        {"[\"0\"]", PM_OK, ""},
        {"[\"" BN254_R "\"]", PM_NOT_CANONICAL, "public signal [0] is not below the modulus"},
        {"[\"1\", \"" BN254_R_PLUS_1 "\"]", PM_NOT_CANONICAL, "public signal [1]"},
        {"[\"" TWO_TO_254 "\"]", PM_NOT_CANONICAL, "scalar field"},
        {"[\"" TWO_TO_256_LESS_1 "\"]", PM_NOT_CANONICAL, "scalar field"},
        {"[\"" BN254_P "\"]", PM_NOT_CANONICAL, "scalar field"},
        {"[\"-1\"]", PM_ENCODING, "without sign"},
        {"[\"+1\"]", PM_ENCODING, "without sign"},
        {"[\"-0\"]", PM_ENCODING, "without sign"},
        {"[\"01\"]", PM_ENCODING, "leading zeros"},
        {"[\"00\"]", PM_ENCODING, "leading zeros"},
        {"[\"0x1\"]", PM_ENCODING, "decimal"},
        {"[\"0X1\"]", PM_ENCODING, "decimal"},
        {"[\"1f\"]", PM_ENCODING, "decimal"},
        {"[\"1.0\"]", PM_ENCODING, "decimal"},
        {"[\"1e3\"]", PM_ENCODING, "exponent"},
        {"[\"1n\"]", PM_ENCODING, "decimal"},
        {"[\"1_000\"]", PM_ENCODING, "decimal"},
        {"[\"\"]", PM_ENCODING, "decimal"},
        {"[\" 1\"]", PM_ENCODING, "spaces"},
        {"[\"1 \"]", PM_ENCODING, "spaces"},
        {"[\"1\\n\"]", PM_ENCODING, "decimal"},
        {"[\"\\u0661\"]", PM_ENCODING, "decimal"},
        {"[\"1\\u0000\"]", PM_ENCODING, "not JSON"},
        {"[1]", PM_ENCODING, "must be a decimal string, and is a number"},
        {"[1.0]", PM_ENCODING, "is a number"},
        {"[1e3]", PM_ENCODING, "is a number"},
        {"[null]", PM_ENCODING, "is null"},
        {"[true]", PM_ENCODING, "is true"},
        {"[\"9999999999999999999999999999999999999999999999999999999999999999999999999999999999"
         "9999999999999999999999999999999999999999999999999999\"]",
         PM_NOT_CANONICAL, "scalar field"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        expect_public(cases[i].text, PM_CURVE_BN254, cases[i].status, cases[i].sentence);
    }
    expect_public("[\"" BN254_R "\"]", PM_CURVE_BLS12_381, PM_OK, "");
    expect_public("[\"" BLS_R "\"]", PM_CURVE_BLS12_381, PM_NOT_CANONICAL, "scalar field");
}

static void test_B2_only_a_flat_array_is_a_list_of_signals(void **state) {
    (void)state;
    static const char *const texts[] = {"{\"0\": \"1\", \"length\": 1}",
                                        "{\"length\": \"1\"}",
                                        "\"1\"",
                                        "1",
                                        "null",
                                        "true",
                                        "",
                                        " ",
                                        "[",
                                        "[\"1\"",
                                        "[\"1\",]",
                                        "[,]",
                                        "[\"1\"]]",
                                        "[\"1\"] x",
                                        "[\"1\"][\"1\"]",
                                        "[[\"1\"]]",
                                        "[[]]",
                                        "[{}]",
                                        "['1']",
                                        "[\"1\" \"2\"]",
                                        "\xef\xbb\xbf[\"1\"]"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        expect_public(texts[i], PM_CURVE_BN254, PM_ENCODING, "");
    }
    expect_public("[]", PM_CURVE_BN254, PM_OK, "");
    expect_public(" [ \"1\" ,\n\"2\" ]\n", PM_CURVE_BN254, PM_OK, "");
    expect_public("[]", PM_CURVE_NONE, PM_CURVE, "");
}

static void test_B3_the_count_of_signals_is_exact(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    pm_vk *vk = NULL;
    pm_proof proof = {.struct_bytes = (uint32_t)sizeof proof};
    assert_int_equal(pm_json_vk_parse(context, VK, strlen(VK), NULL, &vk, &error), PM_OK);
    assert_int_equal(pm_json_proof_parse(PROOF, strlen(PROOF), NULL, PM_CURVE_NONE, &proof, &error),
                     PM_OK);
    static const struct {
        const char *text;
        pm_status status;
    } cases[] = {{"[]", PM_COUNT},
                 {"[\"5\"]", PM_PROOF_INVALID},
                 {"[\"5\", \"0\"]", PM_COUNT},
                 {"[\"5\", \"5\", \"5\"]", PM_COUNT}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint8_t *values = NULL;
        size_t n = 0;
        assert_int_equal(pm_json_public_parse(cases[i].text, strlen(cases[i].text), NULL,
                                              PM_CURVE_BN254, &values, &n, &error),
                         PM_OK);
        assert_int_equal(pm_verify(context, vk, values, n, &proof, &error), cases[i].status);
        pm_json_values_free(values);
    }
    pm_vk_destroy(vk);
}

/* ---------------------------------------------------------------------------------------------
 * Proofs
 * ------------------------------------------------------------------------------------------- */

static void test_B1_coordinates_are_canonical(void **state) {
    (void)state;
    static const struct change changes[] = {
        {"[\"1\", \"2\"", "[\"" BN254_P "\", \"2\"", PM_NOT_CANONICAL, "pi_a[0] is not below"},
        {"[\"1\", \"2\"", "[\"1\", \"" TWO_TO_256_LESS_1 "\"", PM_NOT_CANONICAL, "pi_a[1]"},
        {"[\"1\", \"2\"", "[1, \"2\"", PM_ENCODING, "pi_a[0] must be a decimal string"},
        {"[\"1\", \"2\"", "[\"01\", \"2\"", PM_ENCODING, "pi_a[0]"},
        {"[\"1\", \"2\"", "[\"0x1\", \"2\"", PM_ENCODING, "pi_a[0]"},
        {"[\"1\", \"2\"", "[\"-1\", \"2\"", PM_ENCODING, "pi_a[0]"},
        {"[\"1\", \"2\"", "[\"1\", \"2e0\"", PM_ENCODING, "pi_a[1]"},
        {G2_X1, BN254_P, PM_NOT_CANONICAL, "pi_b[0][1] is not below the modulus of the base field"},
        {G2_Y0, "", PM_ENCODING, "pi_b[1][0]"},
        {"\"pi_c\": [\"1\"", "\"pi_c\": [\" 1\"", PM_ENCODING, "pi_c[0]"},
    };
    expect_changes(PROOF, changes, COUNT_OF(changes), expect_proof);
    expect_proof(PROOF, PM_OK, "");
}

static void test_B2_shapes_of_a_proof_are_exact(void **state) {
    (void)state;
    static const struct change changes[] = {
        {G1, "[\"1\", \"2\"]", PM_ENCODING, "pi_a must have 3 elements, and has 2"},
        {G1, "[\"1\", \"2\", \"1\", \"1\"]", PM_ENCODING, "pi_a must have 3 elements"},
        {G1, "[]", PM_ENCODING, "pi_a"},
        {G1, "{\"0\": \"1\", \"1\": \"2\", \"2\": \"1\", \"length\": 3}", PM_ENCODING,
         "pi_a must be an array of 3, and is an object"},
        {G1, "\"1\"", PM_ENCODING, "pi_a must be an array"},
        {G1, "[[\"1\"], \"2\", \"1\"]", PM_ENCODING, "pi_a[0] must be a decimal string"},
        {G1, "[\"1\", \"2\", \"2\"]", PM_ENCODING, "pi_a[2] must be \"1\""},
        {G1, "[\"1\", \"2\", \"0\"]", PM_ENCODING, "pi_a[2]"},
        {G1, "[\"0\", \"0\", \"1\"]", PM_NOT_ON_CURVE, "pi_a is not on the curve"},
        {G1, "[\"0\", \"0\", \"0\"]", PM_ENCODING, "pi_a[2]"},
        {G1, "[\"0\", \"1\", \"0\"]", PM_POINT_AT_INFINITY, ""},
        {G1, "[\"1\", \"3\", \"1\"]", PM_NOT_ON_CURVE, ""},
        {"[\"1\", \"0\"]]", "[\"1\", \"1\"]]", PM_ENCODING, "pi_b[2] must be [\"1\", \"0\"]"},
        {"[\"1\", \"0\"]]", "[\"1\"]]", PM_ENCODING, "pi_b[2] must have 2 elements"},
        {", [\"1\", \"0\"]]", "]", PM_ENCODING, "pi_b must have 3 elements"},
        {G2, "[[\"0\", \"0\"], [\"1\", \"0\"], [\"0\", \"0\"]]", PM_POINT_AT_INFINITY, ""},
        {G2, "null", PM_ENCODING, "pi_b must be an array of 3, and is null"},
        {"\"pi_b\"", "\"pi_bb\"", PM_ENCODING, "pi_b must be an array of 3, and is missing"},
        {"{\"pi_a\"", "{\"pi_a\": " G1 ", \"pi_a\"", PM_ENCODING, "duplicate"},
        {"{\"pi_a\"", "[{\"pi_a\"", PM_ENCODING, "not JSON"},
        {"{\"pi_a\"", "{\"note\": [[[[[[[[[]]]]]]]]], \"pi_a\"", PM_ENCODING, "nested too deeply"},
        {"\"bn128\"}", "\"bn128\"} {}", PM_ENCODING, "not JSON"},
        {"\"bn128\"}", "\"bn128\"", PM_ENCODING, "not JSON"},
        {"\"bn128\"}", "\"bn128\", \"note\": 1}", PM_OK, ""},
    };
    expect_changes(PROOF, changes, COUNT_OF(changes), expect_proof);
    expect_proof("[]", PM_ENCODING, "not an object");
    expect_proof("", PM_ENCODING, "not JSON");
}

static void test_E15_other_protocols_are_named(void **state) {
    (void)state;
    static const struct change changes[] = {
        {"groth16", "plonk", PM_PROTOCOL, "protocol is plonk, need groth16"},
        {"groth16", "fflonk", PM_PROTOCOL, "protocol is fflonk, need groth16"},
        {"groth16", "Groth16", PM_PROTOCOL, "need groth16"},
        {"\"groth16\"", "16", PM_PROTOCOL, "protocol must be \"groth16\", and is a number"},
        {"\"protocol\"", "\"protocoll\"", PM_PROTOCOL, "is missing"},
    };
    expect_changes(PROOF, changes, COUNT_OF(changes), expect_proof);
    expect_changes(VK, changes, COUNT_OF(changes), expect_vk);
}

static void test_E8_curve_names_of_others_are_read(void **state) {
    (void)state;
    static const char *const names[] = {"bn128",  "bn254",    "BN254",    "bn-128",
                                        "bn-254", "altbn128", "alt_bn128"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char *changed = replaced(PROOF, "bn128", names[i]);
        expect_proof(changed, PM_OK, "");
        free(changed);
    }
    static const struct change changes[] = {
        {"\"bn128\"", "\"bn999\"", PM_CURVE, "none that is known"},
        {"\"bn128\"", "\"\"", PM_CURVE, "none that is known"},
        {"\"bn128\"", "128", PM_CURVE, "must be a string"},
        {"\"bn128\"", "null", PM_CURVE, "must be a string"},
        {"bn128", "bls12-381", PM_NOT_ON_CURVE, ""},
    };
    expect_changes(PROOF, changes, COUNT_OF(changes), expect_proof);
}

static void test_B15_a_proof_without_curve_takes_the_keys(void **state) {
    (void)state;
    char *text = replaced(PROOF, ", \"curve\": \"bn128\"", "");
    pm_proof proof = {.struct_bytes = (uint32_t)sizeof proof};
    pm_error error = PM_ERROR_INIT;
    expect_proof(text, PM_OK, "");
    assert_int_equal(
        pm_json_proof_parse(text, strlen(text), "the file", PM_CURVE_BLS12_381, &proof, &error),
        PM_NOT_ON_CURVE);
    assert_int_equal(
        pm_json_proof_parse(text, strlen(text), "the file", PM_CURVE_NONE, &proof, &error),
        PM_CURVE);
    free(text);
}

static void test_B15_bytes_after_the_end_are_refused(void **state) {
    (void)state;
    pm_proof proof = {.struct_bytes = (uint32_t)sizeof proof};
    pm_error error = PM_ERROR_INIT;
    static const char *const tails[] = {"\0", "\0\0\0\0", "}", "x", "\xff"};
    static const size_t tail_bytes[] = {1, 4, 1, 1, 1};
    for (size_t i = 0; i < COUNT_OF(tails); i++) {
        char text[sizeof PROOF + 8] = PROOF;
        memcpy(text + strlen(PROOF), tails[i], tail_bytes[i]);
        assert_int_equal(pm_json_proof_parse(text, strlen(PROOF) + tail_bytes[i], "the file",
                                             PM_CURVE_NONE, &proof, &error),
                         PM_ENCODING);
        assert_int_equal(error.offset >= strlen(PROOF) - 1 && error.offset != PM_NO_OFFSET, 1);
    }
}

static void test_B15_what_is_written_ends_with_the_brace(void **state) {
    (void)state;
    pm_proof proof = {.struct_bytes = (uint32_t)sizeof proof};
    struct pm_json_text text = {NULL, 0};
    assert_int_equal(pm_json_proof_parse(PROOF, strlen(PROOF), NULL, PM_CURVE_NONE, &proof, NULL),
                     PM_OK);
    assert_int_equal(pm_json_proof_write(&proof, &text, NULL), PM_OK);
    assert_int_equal(strlen(text.bytes), text.n_bytes);
    assert_int_equal(text.bytes[text.n_bytes - 1], '}');
    pm_json_text_free(&text);
    proof.curve = PM_CURVE_NONE;
    assert_int_equal(pm_json_proof_write(&proof, &text, NULL), PM_CURVE);
}

static void test_E9_swapped_coordinates_are_recognised(void **state) {
    (void)state;
    char *proof = replaced(PROOF, G2, G2_SWAPPED);
    expect_proof(proof, PM_NOT_ON_CURVE, "pi_b is not on the curve, but is when c0 and c1");
    free(proof);
    char *beta = replaced(VK, G2, G2_SWAPPED);
    expect_vk(beta, PM_NOT_ON_CURVE, ""); /* one of three: no wholesale swap */
    char *gamma = replaced(beta, "_gamma_2\": " G2, "_gamma_2\": " G2_SWAPPED);
    char *delta = replaced(gamma, "_delta_2\": " G2, "_delta_2\": " G2_SWAPPED);
    expect_vk(delta, PM_NOT_ON_CURVE, "when c0 and c1 are swapped");
    free(beta);
    free(gamma);
    free(delta);
}

static void test_hostile_sizes_are_refused_before_the_tree(void **state) {
    (void)state;
    size_t n = PM_JSON_PROOF_BYTES_MAX + 1;
    char *text = malloc(n + 1);
    pm_error error = PM_ERROR_INIT;
    pm_proof proof = {.struct_bytes = (uint32_t)sizeof proof};
    assert_non_null(text);
    memset(text, ' ', n);
    text[n] = '\0';
    assert_int_equal(pm_json_proof_parse(text, n, NULL, PM_CURVE_NONE, &proof, &error), PM_LENGTH);
    memset(text, '[', 2000);
    assert_int_equal(pm_json_proof_parse(text, 2000, NULL, PM_CURVE_NONE, &proof, &error),
                     PM_ENCODING);
    assert_non_null(strstr(error.message, "nested too deeply"));
    for (size_t i = 1; i + 1 < 4000; i += 2) {
        text[i] = '1';
        text[i + 1] = ',';
    }
    assert_int_equal(pm_json_proof_parse(text, 4000, NULL, PM_CURVE_NONE, &proof, &error),
                     PM_ENCODING);
    assert_non_null(strstr(error.message, "too many values"));
    memset(text, '7', 4000);
    text[0] = '"';
    assert_int_equal(pm_json_proof_parse(text, 4000, NULL, PM_CURVE_NONE, &proof, &error),
                     PM_ENCODING);
    assert_non_null(strstr(error.message, "too long"));
    free(text);
}

/* ---------------------------------------------------------------------------------------------
 * Verifying keys
 * ------------------------------------------------------------------------------------------- */

static void test_B2_shapes_of_a_verifying_key_are_exact(void **state) {
    (void)state;
    static const struct change changes[] = {
        {"\"nPublic\": 1", "\"nPublic\": 0", PM_COUNT, "IC must have nPublic + 1 = 1 points"},
        {"\"nPublic\": 1", "\"nPublic\": 2", PM_COUNT, "and has 2"},
        {"\"nPublic\": 1", "\"nPublic\": -1", PM_COUNT, "nPublic must be a whole number"},
        {"\"nPublic\": 1", "\"nPublic\": 1.0", PM_COUNT, "nPublic"},
        {"\"nPublic\": 1", "\"nPublic\": \"1\"", PM_COUNT, "nPublic"},
        {"\"nPublic\": 1", "\"nPublic\": 4294967297", PM_COUNT, "nPublic"},
        {"\"nPublic\": 1", "\"nPublic\": 99999999999999999999999", PM_ENCODING, "not JSON"},
        {"\"nPublic\"", "\"npublic\"", PM_COUNT, "nPublic"},
        {"\"IC\": [" G1 ", ", "\"IC\": [[\"1\", \"2\"], ", PM_ENCODING, "IC[0] must have 3"},
        {", " G1 "]}", ", [\"1\", \"5\", \"1\"]]}", PM_NOT_ON_CURVE, ""},
        {"\"IC\": [", "\"IC\": 1, \"ic\": [", PM_ENCODING, "IC must be an array"},
        {"\"vk_alpha_1\": " G1, "\"vk_alpha_1\": [\"1\", \"2\", \"3\"]", PM_ENCODING,
         "vk_alpha_1[2]"},
        {"\"vk_alpha_1\": " G1, "\"vk_alpha_1\": [\"0\", \"1\", \"0\"]", PM_POINT_AT_INFINITY, ""},
        {"\"vk_gamma_2\"", "\"vk_gama_2\"", PM_ENCODING, "vk_gamma_2 must be an array"},
        {"\"IC\"", "\"vk_alphabeta_12\": [[]], \"IC\"", PM_ENCODING, "vk_alphabeta_12 must have 2"},
        {"\"IC\"", "\"vk_alphabeta_12\": [[], []], \"IC\"", PM_ENCODING, "vk_alphabeta_12[0]"},
        {"\"curve\": \"bn128\", ", "", PM_CURVE, "curve is missing"},
        {"\"curve\"", "\"curve\": \"bn128\", \"curve\"", PM_ENCODING, "duplicate"},
    };
    expect_changes(VK, changes, COUNT_OF(changes), expect_vk);
    expect_vk(VK, PM_OK, "");
}

/* ---------------------------------------------------------------------------------------------
 * Bytes
 * ------------------------------------------------------------------------------------------- */

static void test_an_empty_list_is_written_as_snarkjs_does(void **state) {
    (void)state;
    struct pm_json_text text = {NULL, 0};
    assert_int_equal(pm_json_public_write(NULL, 0, &text, NULL), PM_OK);
    assert_string_equal(text.bytes, "[\n]");
    pm_json_text_free(&text);
}

static void test_E9_calldata_has_soliditys_order(void **state) {
    (void)state;
    pm_proof proof = {.struct_bytes = (uint32_t)sizeof proof};
    struct pm_json_text text = {NULL, 0};
    const uint8_t publics[2 * PM_FR_BYTES] = {[0] = 0xab, [63] = 0x10};
#define ZEROS_62 "00000000000000000000000000000000000000000000000000000000000000"
    static const char expected[] =
        "[\"0x" ZEROS_62 "01\", \"0x" ZEROS_62 "02\"],"
        "[[\"0x198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2\", "
        "\"0x1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed\"],"
        "[\"0x090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b\", "
        "\"0x12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa\"]],"
        "[\"0x" ZEROS_62 "01\", \"0x" ZEROS_62 "02\"],"
        "[\"0x" ZEROS_62 "ab\",\"0x10" ZEROS_62 "\"]";
    assert_int_equal(pm_json_proof_parse(PROOF, strlen(PROOF), NULL, PM_CURVE_NONE, &proof, NULL),
                     PM_OK);
    assert_int_equal(pm_json_calldata_write(&proof, publics, 2, &text, NULL), PM_OK);
    assert_string_equal(text.bytes, expected);
    pm_json_text_free(&text);
    proof.curve = PM_CURVE_BLS12_381;
    assert_int_equal(pm_json_calldata_write(&proof, publics, 2, &text, NULL), PM_UNSUPPORTED);
}

/* The text of a circuit's file, or NULL. */
static char *read_text(const char *folder, const char *circuit, const char *file, size_t *n_bytes) {
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s/%s", folder, circuit, file);
    void *bytes = NULL;
    return pm_file_read(path, (size_t)1 << 24, NULL, &bytes, n_bytes, NULL) == PM_OK ? bytes : NULL;
}

/* Parses the three files of a circuit and writes them again. */
static void round_trip(const char *folder, const char *circuit) {
    size_t n_vk, n_proof, n_public, n_values;
    char *vk_text = read_text(folder, circuit, "vkey.json", &n_vk);
    char *proof_text = read_text(folder, circuit, "proof.snarkjs.json", &n_proof);
    char *public_text = read_text(folder, circuit, "public.json", &n_public);
    pm_error error = PM_ERROR_INIT;
    pm_vk *vk = NULL;
    pm_proof proof = {.struct_bytes = (uint32_t)sizeof proof};
    uint8_t *values = NULL;
    struct pm_json_text text = {NULL, 0};
    assert_true(vk_text != NULL && proof_text != NULL && public_text != NULL);

    assert_int_equal(pm_json_vk_parse(context, vk_text, n_vk, circuit, &vk, &error), PM_OK);
    assert_int_equal(pm_json_vk_write(vk, &text, &error), PM_OK);
    assert_string_equal(text.bytes, vk_text);
    pm_json_text_free(&text);

    assert_int_equal(
        pm_json_proof_parse(proof_text, n_proof, circuit, PM_CURVE_NONE, &proof, &error), PM_OK);
    assert_int_equal(pm_json_proof_write(&proof, &text, &error), PM_OK);
    assert_string_equal(text.bytes, proof_text);
    pm_json_text_free(&text);

    assert_int_equal(pm_json_public_parse(public_text, n_public, circuit, pm_vk_curve(vk), &values,
                                          &n_values, &error),
                     PM_OK);
    assert_int_equal(n_values, pm_vk_n_public(vk));
    assert_int_equal(pm_json_public_write(values, n_values, &text, &error), PM_OK);
    assert_string_equal(text.bytes, public_text);
    pm_json_text_free(&text);

    assert_int_equal(pm_verify(context, vk, values, n_values, &proof, &error), PM_OK);
    pm_vk_destroy(vk);
    pm_json_values_free(values);
    pm_bytes_free(vk_text, n_vk);
    pm_bytes_free(proof_text, n_proof);
    pm_bytes_free(public_text, n_public);
}

static void test_snarkjs_files_round_trip_to_the_byte(void **state) {
    (void)state;
    static const char *const circuits[] = {"one",    "one_bls",    "mult3",   "mult3_bls",
                                           "nopriv", "nopriv_bls", "own_mimc"};
    for (size_t i = 0; i < COUNT_OF(circuits); i++) {
        round_trip(PM_SOURCE_DIR "/test/data", circuits[i]);
    }
}

static void test_fixtures_round_trip_to_the_byte(void **state) {
    (void)state;
    static const char *const circuits[] = {"multipub",     "poseidon2", "eddsa",
                                           "multipub_bls", "eddsa_bls", "poseidon2_bls",
                                           "own_mimc_bls"};
    const char *root = getenv("PM_FIXTURES");
    char folder[2048];
    (void)snprintf(folder, sizeof folder, "%s/small",
                   root != NULL ? root : PM_SOURCE_DIR "/../shared/fixtures");
    size_t n_bytes;
    char *first = read_text(folder, circuits[0], "vkey.json", &n_bytes);
    if (first == NULL) {
        print_message("SKIP: no fixtures; set PM_FIXTURES\n");
        skip();
    }
    pm_bytes_free(first, n_bytes);
    for (size_t i = 0; i < COUNT_OF(circuits); i++) {
        round_trip(folder, circuits[i]);
    }
}

/* ---------------------------------------------------------------------------------------------
 * Damage at random
 * ------------------------------------------------------------------------------------------- */

/* Changes, drops, doubles or moves a few bytes. */
static size_t damage(char *text, size_t n, size_t capacity) {
    static const char likely[] = "0123456789\"[]{},: -+.exn\\\0\xff";
    uint32_t n_changes = 1 + random_below(3);
    for (uint32_t k = 0; k < n_changes && n > 1; k++) {
        size_t at = random_below((uint32_t)n), length = 1 + random_below(12);
        if (length > n - at) {
            length = n - at;
        }
        switch (random_below(3)) {
        case 0:
            text[at] = likely[random_below(sizeof likely - 1)];
            break;
        case 1:
            memmove(text + at, text + at + length, n - at - length);
            n -= length;
            break;
        default:
            if (n + length <= capacity) {
                memmove(text + at + length, text + at, n - at);
                n += length;
            }
            break;
        }
    }
    return n;
}

static void test_damaged_proofs_never_change_their_meaning(void **state) {
    (void)state;
    pm_proof original = {.struct_bytes = (uint32_t)sizeof original};
    seed_random();
    assert_int_equal(
        pm_json_proof_parse(PROOF, strlen(PROOF), NULL, PM_CURVE_NONE, &original, NULL), PM_OK);
    int n_read = 0;
    for (int round = 0; round < 4000; round++) {
        char text[sizeof PROOF + 64] = PROOF;
        size_t n = damage(text, strlen(PROOF), sizeof text);
        char *exact = malloc(n); /* so that a sanitizer sees a read past the end */
        assert_non_null(exact);
        memcpy(exact, text, n);
        pm_error error = PM_ERROR_INIT;
        pm_proof proof = {.struct_bytes = (uint32_t)sizeof proof};
        pm_status status = pm_json_proof_parse(exact, n, NULL, PM_CURVE_BN254, &proof, &error);
        if (status == PM_OK) {
            n_read++; /* white space, or the name of the curve */
            assert_memory_equal(proof.b, original.b, sizeof proof.b);
        } else {
            assert_true(error.message[0] != '\0');
        }
        free(exact);
    }
    assert_true(n_read < 2000);
}

static void test_damaged_signals_are_read_canonically_or_refused(void **state) {
    (void)state;
    static const char list[] = "[\"0\", \"17\", \"" BN254_R_LESS_1 "\", \"4294967296\"]";
    seed_random();
    for (int round = 0; round < 4000; round++) {
        char text[sizeof list + 64] = {0};
        memcpy(text, list, sizeof list);
        size_t n = damage(text, sizeof list - 1, sizeof text), n_values = 0;
        uint8_t *values = NULL;
        struct pm_json_text back = {NULL, 0};
        if (pm_json_public_parse(text, n, NULL, PM_CURVE_BN254, &values, &n_values, NULL) !=
            PM_OK) {
            assert_null(values);
            continue;
        }
        /* Without white space the text must be what is written. */
        assert_int_equal(pm_json_public_write(values, n_values, &back, NULL), PM_OK);
        size_t k = 0;
        for (size_t i = 0; i < n; i++) {
            if (strchr(" \n\t\r", text[i]) == NULL) {
                while (strchr(" \n", back.bytes[k]) != NULL && back.bytes[k] != '\0') {
                    k++;
                }
                assert_int_equal(text[i], back.bytes[k++]);
            }
        }
        pm_json_text_free(&back);
        pm_json_values_free(values);
    }
}

static void test_damaged_keys_are_read_or_refused(void **state) {
    (void)state;
    seed_random();
    for (int round = 0; round < 300; round++) {
        char text[sizeof VK + 64] = VK;
        size_t n = damage(text, strlen(VK), sizeof text);
        pm_error error = PM_ERROR_INIT;
        pm_vk *vk = NULL;
        pm_status status = pm_json_vk_parse(context, text, n, NULL, &vk, &error);
        assert_true(status == PM_OK ? vk != NULL : vk == NULL && error.message[0] != '\0');
        pm_vk_destroy(vk);
    }
}

static void every_status_has_its_exit_code(void **state) {
    (void)state;
#define IN_RANGE(word, number, sentence) assert_in_range(pm_exit_code(PM_##word), 0, 130);
    PM_STATUS_MAP(IN_RANGE)
#undef IN_RANGE
    assert_int_equal(pm_exit_code(PM_OK), 0);
    assert_int_equal(pm_exit_code(PM_PROOF_INVALID), 1);
    assert_int_equal(pm_exit_code(PM_IO), 4);
    assert_int_equal(pm_exit_code(PM_OVER_BUDGET), 5);
    assert_int_equal(pm_exit_code(PM_CANCELLED), 130);
    assert_int_equal(pm_exit_code((pm_status)12345), 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_its_exit_code),
        cmocka_unit_test(test_moduli_are_those_of_the_library),
        cmocka_unit_test(test_decimals_convert_both_ways),
        cmocka_unit_test(test_random_bytes_convert_both_ways),
        cmocka_unit_test(test_B1_only_canonical_decimals_are_signals),
        cmocka_unit_test(test_B2_only_a_flat_array_is_a_list_of_signals),
        cmocka_unit_test(test_B3_the_count_of_signals_is_exact),
        cmocka_unit_test(test_B1_coordinates_are_canonical),
        cmocka_unit_test(test_B2_shapes_of_a_proof_are_exact),
        cmocka_unit_test(test_E15_other_protocols_are_named),
        cmocka_unit_test(test_E8_curve_names_of_others_are_read),
        cmocka_unit_test(test_B15_a_proof_without_curve_takes_the_keys),
        cmocka_unit_test(test_B15_bytes_after_the_end_are_refused),
        cmocka_unit_test(test_B15_what_is_written_ends_with_the_brace),
        cmocka_unit_test(test_E9_swapped_coordinates_are_recognised),
        cmocka_unit_test(test_hostile_sizes_are_refused_before_the_tree),
        cmocka_unit_test(test_B2_shapes_of_a_verifying_key_are_exact),
        cmocka_unit_test(test_an_empty_list_is_written_as_snarkjs_does),
        cmocka_unit_test(test_E9_calldata_has_soliditys_order),
        cmocka_unit_test(test_snarkjs_files_round_trip_to_the_byte),
        cmocka_unit_test(test_fixtures_round_trip_to_the_byte),
        cmocka_unit_test(test_damaged_proofs_never_change_their_meaning),
        cmocka_unit_test(test_damaged_signals_are_read_canonically_or_refused),
        cmocka_unit_test(test_damaged_keys_are_read_or_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
