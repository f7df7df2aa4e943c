/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Points as bytes in every form: round trips, known encodings, and all that must be refused. */
#include "curve_setting.h"

#define ROUNDS 40
#define INFINITY_FLAG 0x40u
#define COMPRESSED_FLAG 0x80u
#define SIGN_FLAG 0x20u

static const pm_point_form forms[] = {PM_POINT_CANONICAL_LE, PM_POINT_MONTGOMERY_LE,
                                      PM_POINT_ZCASH_FULL, PM_POINT_ZCASH_COMPRESSED};

static bool is_bls(const struct setting *s) {
    return s->curve->id == PM_CURVE_BLS12_381;
}

static enum pm_point_fault decode(const struct setting *s, pm_point_form form, const void *bytes) {
    unsigned char p[PM_G2_BYTES_MAX];
    return s->group->decode(p, form, bytes, PM_POINT_CHECK_SUBGROUP);
}

static void test_sizes(void **state) {
    const struct setting *s = *state;
    const size_t affine = s->group->affine_bytes;
    assert_int_equal(s->group->form_bytes(PM_POINT_CANONICAL_LE), affine);
    assert_int_equal(s->group->form_bytes(PM_POINT_MONTGOMERY_LE), affine);
    assert_int_equal(s->group->form_bytes(PM_POINT_ZCASH_FULL), is_bls(s) ? affine : 0);
    assert_int_equal(s->group->form_bytes(PM_POINT_ZCASH_COMPRESSED), is_bls(s) ? affine / 2 : 0);
    assert_int_equal(s->group->form_bytes((pm_point_form)0), 0);
    assert_int_equal(s->group->form_bytes((pm_point_form)9), 0);
}

static void test_forms_of_other_curves_are_refused(void **state) {
    const struct setting *s = *state;
    unsigned char bytes[PM_G2_BYTES_MAX], before[PM_G2_BYTES_MAX];
    memset(bytes, 0xa5, sizeof bytes);
    memset(before, 0xa5, sizeof before);
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
        if (s->group->form_bytes(forms[f]) == 0) {
            assert_int_equal(decode(s, forms[f], bytes), PM_POINT_BAD_ENCODING);
            s->group->encode(bytes, forms[f], s->group->generator);
            assert_memory_equal(bytes, before, sizeof bytes); /* nothing is written */
        }
    }
    assert_int_equal(decode(s, (pm_point_form)9, bytes), PM_POINT_BAD_ENCODING);
}

/* Random points, their opposites and infinity; buffers at odd addresses. */
static void test_round_trips(void **state) {
    const struct setting *s = *state;
    unsigned char p[PM_G2_BYTES_MAX], back[PM_G2_BYTES_MAX + 1], bytes[PM_G2_BYTES_MAX + 1];
    for (int i = 0; i < ROUNDS; i++) {
        random_subgroup_point(s, p);
        if (i == 0) {
            memset(p, 0, sizeof p);
        }
        for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
            if (s->group->form_bytes(forms[f]) == 0) {
                continue;
            }
            s->group->encode(bytes + 1, forms[f], p);
            assert_int_equal(
                s->group->decode(back + 1, forms[f], bytes + 1, PM_POINT_CHECK_SUBGROUP),
                PM_POINT_GOOD);
            assert_memory_equal(back + 1, p, s->group->affine_bytes);
        }
    }
}

/* p in place of a coordinate, and coordinate + p where that fits, in each position and form. */
static void test_unreduced_coordinates_are_refused(void **state) {
    const struct setting *s = *state;
    const size_t fp_bytes = s->curve->fp->bytes;
    unsigned char p[PM_G2_BYTES_MAX], bytes[PM_G2_BYTES_MAX], modulus[PM_FP_BYTES_MAX];
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
        const bool zcash = forms[f] == PM_POINT_ZCASH_FULL || forms[f] == PM_POINT_ZCASH_COMPRESSED;
        const size_t n = s->group->form_bytes(forms[f]);
        memcpy(modulus, s->curve->fp->modulus, fp_bytes);
        for (size_t i = 0; zcash && i < fp_bytes / 2; i++) {
            const unsigned char t = modulus[i];
            modulus[i] = modulus[fp_bytes - 1 - i];
            modulus[fp_bytes - 1 - i] = t;
        }
        for (size_t position = 0; position < n / fp_bytes; position++) {
            random_subgroup_point(s, p);
            s->group->encode(bytes, forms[f], p);
            const unsigned flags = zcash && position == 0 ? bytes[0] & 0xe0u : 0;
            memcpy(bytes + position * fp_bytes, modulus, fp_bytes);
            bytes[0] |= (unsigned char)flags;
            assert_int_equal(decode(s, forms[f], bytes), PM_POINT_NOT_CANONICAL);
            memset(bytes + position * fp_bytes, 0xff, fp_bytes);
            if (zcash && position == 0) {
                bytes[0] = (unsigned char)(flags | 0x1fu);
            }
            assert_int_equal(decode(s, forms[f], bytes), PM_POINT_NOT_CANONICAL);
        }
    }
}

/* A fault leaves the output alone. */
static void test_output_is_untouched_on_a_fault(void **state) {
    const struct setting *s = *state;
    unsigned char bytes[PM_G2_BYTES_MAX], out[PM_G2_BYTES_MAX], before[PM_G2_BYTES_MAX];
    memset(out, 0x5a, sizeof out);
    memset(before, 0x5a, sizeof before);
    memset(bytes, 0xff, sizeof bytes);
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
        assert_int_not_equal(s->group->decode(out, forms[f], bytes, PM_POINT_CHECK_NONE),
                             PM_POINT_GOOD);
        assert_memory_equal(out, before, sizeof out);
    }
}

/* ---------------------------------------------------------------- Zcash forms */

static void from_hex(unsigned char *out, const char *hex) {
    for (size_t i = 0; hex[2 * i] != '\0'; i++) {
        unsigned byte;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        out[i] = (unsigned char)byte;
    }
}

/* The generators as published (draft-irtf-cfrg-pairing-friendly-curves, section 4.2.1, and the
 * Zcash protocol specification, section 5.4.9.2): x with the flag for the smaller root. */
static const char g1_compressed[] =
    "97f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac58"
    "6c55e83ff97a1aeffb3af00adb22c6bb";
static const char g2_compressed[] =
    "93e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049"
    "334cf11213945d57e5ac7d055d042b7e024aa2b2f08f0a91260805272dc51051"
    "c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8";

static void test_known_encodings(void **state) {
    const struct setting *s = *state;
    const bool is_g1 = s->group == s->curve->g1;
    unsigned char want[PM_G2_BYTES_MAX] = {0}, have[PM_G2_BYTES_MAX], p[PM_G2_BYTES_MAX];
    if (!is_bls(s)) {
        return;
    }
    const size_t n = s->group->form_bytes(PM_POINT_ZCASH_COMPRESSED);
    from_hex(want, is_g1 ? g1_compressed : g2_compressed);
    s->group->encode(have, PM_POINT_ZCASH_COMPRESSED, s->group->generator);
    assert_memory_equal(have, want, n);
    assert_int_equal(s->group->decode(p, PM_POINT_ZCASH_COMPRESSED, want, PM_POINT_CHECK_SUBGROUP),
                     PM_POINT_GOOD);
    assert_memory_equal(p, s->group->generator, s->group->affine_bytes);
    /* The full form starts with the same x, without flags. */
    s->group->encode(have, PM_POINT_ZCASH_FULL, s->group->generator);
    want[0] &= 0x1f;
    assert_memory_equal(have, want, n);
    /* Infinity. */
    memset(p, 0, sizeof p);
    memset(want, 0, sizeof want);
    want[0] = 0xc0;
    s->group->encode(have, PM_POINT_ZCASH_COMPRESSED, p);
    assert_memory_equal(have, want, n);
    want[0] = 0x40;
    s->group->encode(have, PM_POINT_ZCASH_FULL, p);
    assert_memory_equal(have, want, s->group->affine_bytes);
}

/* The generator of BN254 G2 as in EIP-197; G1 is (1, 2). */
static void test_known_generators_of_bn254(void **state) {
    const struct setting *s = *state;
    static const char g2_big_endian[] =
        "1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed"
        "198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2"
        "12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa"
        "090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b";
    unsigned char want[PM_G2_BYTES_MAX] = {0}, have[PM_G2_BYTES_MAX], big[PM_G2_BYTES_MAX];
    if (is_bls(s)) {
        return;
    }
    if (s->group == s->curve->g1) {
        want[0] = 1;
        want[32] = 2;
    } else {
        from_hex(big, g2_big_endian);
        for (size_t i = 0; i < 128; i++) {
            want[i] = big[i / 32 * 32 + 31 - i % 32];
        }
    }
    s->group->encode(have, PM_POINT_CANONICAL_LE, s->group->generator);
    assert_memory_equal(have, want, s->group->affine_bytes);
}

/* Every combination of the three flags on every kind of body: a finite point and zeros. */
static void test_flags(void **state) {
    const struct setting *s = *state;
    unsigned char p[PM_G2_BYTES_MAX], full[PM_G2_BYTES_MAX], compressed[PM_G2_BYTES_MAX];
    const unsigned char zero[PM_G2_BYTES_MAX] = {0};
    if (!is_bls(s)) {
        return;
    }
    random_subgroup_point(s, p);
    s->group->encode(full, PM_POINT_ZCASH_FULL, p);
    s->group->encode(compressed, PM_POINT_ZCASH_COMPRESSED, p);
    for (unsigned flags = 0; flags < 0x100; flags += 0x20) {
        unsigned char bytes[PM_G2_BYTES_MAX];
        memcpy(bytes, full, sizeof bytes);
        bytes[0] = (unsigned char)((bytes[0] & 0x1fu) | flags);
        assert_int_equal(decode(s, PM_POINT_ZCASH_FULL, bytes),
                         flags == 0 ? PM_POINT_GOOD : PM_POINT_BAD_ENCODING);
        memcpy(bytes, compressed, sizeof bytes);
        bytes[0] = (unsigned char)((bytes[0] & 0x1fu) | flags);
        const bool sign_only = (flags & ~SIGN_FLAG) == COMPRESSED_FLAG;
        assert_int_equal(decode(s, PM_POINT_ZCASH_COMPRESSED, bytes),
                         sign_only ? PM_POINT_GOOD : PM_POINT_BAD_ENCODING);
        memcpy(bytes, zero, sizeof bytes);
        bytes[0] = (unsigned char)flags;
        assert_int_equal(decode(s, PM_POINT_ZCASH_FULL, bytes),
                         flags == INFINITY_FLAG ? PM_POINT_GOOD
                         : flags == 0           ? PM_POINT_NOT_ON_CURVE
                                                : PM_POINT_BAD_ENCODING);
        /* x = 0 is on E (y = 2, a point of order three), but not on E', and never in the subgroup.
         */
        const enum pm_point_fault at_zero =
            s->group == s->curve->g1 ? PM_POINT_NOT_IN_SUBGROUP : PM_POINT_NOT_ON_CURVE;
        assert_int_equal(decode(s, PM_POINT_ZCASH_COMPRESSED, bytes),
                         flags == (COMPRESSED_FLAG | INFINITY_FLAG) ? PM_POINT_GOOD
                         : sign_only                                ? at_zero
                                                                    : PM_POINT_BAD_ENCODING);
    }
}

/* After an infinity flag every other bit has to be zero. */
static void test_infinity_with_any_other_bit_is_refused(void **state) {
    const struct setting *s = *state;
    for (size_t f = 2; f < sizeof forms / sizeof forms[0]; f++) {
        const size_t n = s->group->form_bytes(forms[f]);
        unsigned char bytes[PM_G2_BYTES_MAX] = {0};
        for (size_t bit = 0; bit < 8 * n; bit++) {
            bytes[0] =
                forms[f] == PM_POINT_ZCASH_FULL ? INFINITY_FLAG : (COMPRESSED_FLAG | INFINITY_FLAG);
            if (bit < 8 && (bytes[0] >> bit & 1) != 0) {
                continue; /* clearing a flag is the business of test_flags */
            }
            bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
            assert_int_equal(decode(s, forms[f], bytes), PM_POINT_BAD_ENCODING);
            bytes[bit / 8] = 0;
        }
    }
}

/* Any single bit: another valid encoding of another point, or a refusal; never the same point, and
 * what decodes encodes to the same bytes again. */
static void test_single_bit_changes(void **state) {
    const struct setting *s = *state;
    for (size_t f = 2; f < sizeof forms / sizeof forms[0]; f++) {
        const size_t n = s->group->form_bytes(forms[f]);
        unsigned char p[PM_G2_BYTES_MAX], bytes[PM_G2_BYTES_MAX], q[PM_G2_BYTES_MAX];
        unsigned char again[PM_G2_BYTES_MAX];
        size_t n_decoded = 0;
        random_subgroup_point(s, p);
        s->group->encode(bytes, forms[f], p);
        for (size_t bit = 0; bit < 8 * n; bit++) {
            bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
            if (s->group->decode(q, forms[f], bytes, PM_POINT_CHECK_CURVE) == PM_POINT_GOOD) {
                n_decoded++;
                assert_int_equal(s->group->check(q, PM_POINT_CHECK_CURVE), PM_POINT_GOOD);
                assert_memory_not_equal(p, q, s->group->affine_bytes);
                s->group->encode(again, forms[f], q);
                assert_memory_equal(again, bytes, n);
            }
            bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        }
        if (is_bls(s)) {
            /* Half of all x have a point; a full point with one changed bit never is one. */
            assert_true(forms[f] == PM_POINT_ZCASH_FULL ? n_decoded == 0 : n_decoded > n);
        }
    }
}

/* The sign flag selects between a point and its opposite. */
static void test_sign_flag(void **state) {
    const struct setting *s = *state;
    if (!is_bls(s)) {
        return;
    }
    for (int i = 0; i < ROUNDS; i++) {
        unsigned char p[PM_G2_BYTES_MAX], q[PM_G2_BYTES_MAX], bytes[PM_G2_BYTES_MAX];
        struct pm_group_point t, u;
        random_subgroup_point(s, p);
        s->group->encode(bytes, PM_POINT_ZCASH_COMPRESSED, p);
        bytes[0] ^= SIGN_FLAG;
        assert_int_equal(
            s->group->decode(q, PM_POINT_ZCASH_COMPRESSED, bytes, PM_POINT_CHECK_SUBGROUP),
            PM_POINT_GOOD);
        s->group->from_affine(&t, p);
        s->group->neg(&t, &t);
        s->group->from_affine(&u, q);
        assert_true(s->group->eq(&t, &u));
    }
}

static int run(struct setting *s) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_sizes, s),
        cmocka_unit_test_prestate(test_forms_of_other_curves_are_refused, s),
        cmocka_unit_test_prestate(test_round_trips, s),
        cmocka_unit_test_prestate(test_unreduced_coordinates_are_refused, s),
        cmocka_unit_test_prestate(test_output_is_untouched_on_a_fault, s),
        cmocka_unit_test_prestate(test_known_encodings, s),
        cmocka_unit_test_prestate(test_known_generators_of_bn254, s),
        cmocka_unit_test_prestate(test_flags, s),
        cmocka_unit_test_prestate(test_infinity_with_any_other_bit_is_refused, s),
        cmocka_unit_test_prestate(test_single_bit_changes, s),
        cmocka_unit_test_prestate(test_sign_flag, s),
    };
    return cmocka_run_group_tests_name(s->group->name, tests, NULL, NULL);
}

int main(void) {
    return for_every_group(run) != 0;
}
