/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Vectors of RFC 7693, appendices A and E, and digests that Python's hashlib gives. */
#include "base/blake2b.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void hash(const void *bytes, size_t n_bytes, size_t digest_bytes, char hex[129]) {
    struct pm_blake2b state;
    uint8_t digest[64];
    pm_blake2b_init(&state, digest_bytes);
    pm_blake2b_update(&state, bytes, n_bytes);
    pm_blake2b_final(&state, digest);
    for (size_t i = 0; i < digest_bytes; ++i) {
        (void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    }
}

static void abc_of_appendix_a(void **state) {
    (void)state;
    char hex[129];
    hash("abc", 3, 64, hex);
    assert_string_equal(hex, "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
                             "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923");
}

/* The deterministic filler of appendix E: a Fibonacci-like generator. */
static void selftest_sequence(uint8_t *out, size_t n_bytes, uint32_t seed) {
    uint32_t a = 0xdead4bad * seed, b = 1;
    for (size_t i = 0; i < n_bytes; ++i) {
        const uint32_t t = a + b;
        a = b;
        b = t;
        out[i] = (uint8_t)(t >> 24);
    }
}

/* The unkeyed half of appendix E: four digest sizes, six lengths around the block size. */
static void lengths_around_a_block(void **state) {
    (void)state;
    static const struct {
        size_t n_bytes, digest_bytes;
        const char *hex;
    } vectors[] = {
        {0, 20, "3345524abf6bbe1809449224b5972c41790b6cf2"},
        {3, 20, "70699c8dd92406789f2c3a5b85d644a1c56f5e43"},
        {128, 20, "00830d363834916ecb336b93782e6ba320acc951"},
        {129, 20, "450bdb71a0978ff09fe71c3cb4de5591dfa559b2"},
        {255, 20, "74952cc68fa35387677c8e63d02676a8195cb9a4"},
        {1024, 20, "5133fd036f6727b284e2135f0ef78503eef6f290"},
        {0, 32, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"},
        {3, 32, "c6fcb3c3542e65f2db9a75aca089bfe3ff63e5b3889f65bf1d2da61964710782"},
        {128, 32, "9f51dad780c3c7f1915262e80ccbd443a91e5c5c97e8127f9c9f8536aec85960"},
        {129, 32, "5a9585ea35499d7d883d3a22eed1d3ebc46c1b1937d479b8be92b358c3eed78e"},
        {255, 32, "517f6f8c5afea55f1c27cb8cdb4ff015c9602a550ba3080e5ac32796931711d3"},
        {1024, 32, "a001b41dd6bfcb13c73bf83a1fe5c881d49476163e472906c200375d8482b004"},
        {0, 48,
         "b32811423377f52d7862286ee1a72ee540524380fda1724a6f25d7978c6fd324"
         "4a6caf0498812673c5e05ef583825100"},
        {3, 48,
         "241719372fc6ee737f7c51f5bcd1b93ab6f3aa4458d2eb6fbbebb364d1104dbd"
         "8d428ebb39b498317e961906da83e2c8"},
        {128, 48,
         "b3136da33705c76ea180813f9bd3a9751894eadc5e24795cb40d598d50d0c2b6"
         "625b08be1b793d3ea04a391d39a3e92e"},
        {129, 48,
         "01b68ceef88c91df02551e491f8158856b78e974aba2c6921e8ce3a64610fba0"
         "7ed68db633063b5e69bda944db8bd02b"},
        {255, 48,
         "3bd8da79e5206479f24baa2bcb047cb86b29393725980b4aa222f8d5bf34a9b6"
         "6f58d5594433d02d83f3751ee7f179bb"},
        {1024, 48,
         "0bdea1e5f570fb4a7c7765c374c2ee5118ed4264a95cde380fb1c005ed2667e0"
         "b5c881344866668efbfd2572f45bb398"},
        {0, 64,
         "786a02f742015903c6c6fd852552d272912f4740e15847618a86e217f71f5419"
         "d25e1031afee585313896444934eb04b903a685b1448b755d56f701afe9be2ce"},
        {3, 64,
         "695fdeec42bd4554047c27e9f31f8a72ba566a1139708dee66f4d4e3caa71eab"
         "fd074dae263f6e8720fe5aa7a9ec90459a9a99eab6f98180df266872b608460e"},
        {128, 64,
         "df525b0ab7842f39e8c40ca46a53d4f709db3891447ad0239d62f24c49cdf2f8"
         "3c115ac82b6497cc4ee975cd5a83c29296f568efa4f26f64e1e2550c2ddda291"},
        {129, 64,
         "528a9ac84918bce406564e7e1d976e399d0e1744fe31eb3a27e64d7be707a826"
         "dd4be249fa3505bb172a0fcdc134eb6086310325f06131b11e52225fe25795b8"},
        {255, 64,
         "f7c5fc8e9f50c53a29b1231e24c867848de1e136180ada04ee9352c420a966b0"
         "15fe68c93f9207d985bb06aa8d98f3052443d320e728a2aceda699b5385c95a0"},
        {1024, 64,
         "3b824548e1ba9c9e8510079458158a03a2150bda57cf363b907025cae965a96a"
         "e1f1c2ec41a60b7ebe1e2ac2eff4c9b5ade91954015966c5f01618b7c3b77a3e"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; ++i) {
        uint8_t bytes[1024];
        char hex[129];
        selftest_sequence(bytes, vectors[i].n_bytes, (uint32_t)vectors[i].n_bytes);
        hash(bytes, vectors[i].n_bytes, vectors[i].digest_bytes, hex);
        assert_string_equal(hex, vectors[i].hex);
    }
}

static void pieces_do_not_matter(void **state) {
    (void)state;
    uint8_t bytes[700];
    char whole[129];
    selftest_sequence(bytes, sizeof bytes, 7);
    hash(bytes, sizeof bytes, 64, whole);
    for (size_t piece = 1; piece <= 300; piece += piece < 140 ? 1 : 37) {
        struct pm_blake2b hashing;
        uint8_t digest[64];
        char hex[129];
        pm_blake2b_init(&hashing, 64);
        for (size_t at = 0; at < sizeof bytes; at += piece) {
            pm_blake2b_update(&hashing, bytes + at,
                              sizeof bytes - at < piece ? sizeof bytes - at : piece);
        }
        pm_blake2b_update(&hashing, NULL, 0);
        pm_blake2b_final(&hashing, digest);
        for (size_t i = 0; i < 64; ++i) {
            (void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
        }
        assert_string_equal(hex, whole);
    }
}

static void final_wipes(void **state) {
    (void)state;
    struct pm_blake2b hashing;
    static const struct pm_blake2b zero;
    uint8_t digest[64];
    pm_blake2b_init(&hashing, 64);
    pm_blake2b_update(&hashing, "secret", 6);
    pm_blake2b_final(&hashing, digest);
    assert_memory_equal(&hashing, &zero, sizeof zero);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(abc_of_appendix_a),
        cmocka_unit_test(lengths_around_a_block),
        cmocka_unit_test(pieces_do_not_matter),
        cmocka_unit_test(final_wipes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
