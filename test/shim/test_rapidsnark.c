/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * rapidsnark's C interface: every function, every code, sizes to the byte, and who owns what. Keys
 * and witnesses handed over lie in pages of their own, against a page that cannot be read, and are
 * unmapped the moment the interface says that they may be.
 */
#include "prover.h"
#include "verifier.h"

#include "ff/field.h"
#include "support/file_builder.h"
#include "support/fixture.h"
#include "json/json.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

typedef unsigned long long ull;

enum {
    ROOM = 2048,           /* for any text of these tests */
    MESSAGE = 256,         /* as most callers have */
    NEED_BN254 = 728,      /* the longest proof on each curve and its NUL, counted by hand */
    NEED_BLS12_381 = 1035, /* 77 and 115 digits a coordinate */
    CANARY = 0x5a
};

static const char *const names[] = {"one",     "mult3",     "nopriv",    "own_mimc",
                                    "one_bls", "mult3_bls", "nopriv_bls"};
#define N_NAMES (sizeof names / sizeof names[0])

/* ---------------------------------------------------------------------------------------------
 * Inputs
 * ------------------------------------------------------------------------------------------- */

/* Bytes that end where the readable memory ends. */
struct pages {
    uint8_t *bytes;
    size_t n_bytes;
    void *map;
    size_t map_bytes;
};

static struct pages pages_of(const void *bytes, size_t n_bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t body = (n_bytes + page - 1) / page * page;
    struct pages pages = {.n_bytes = n_bytes, .map_bytes = body + page};
    pages.map =
        mmap(NULL, pages.map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages.map != MAP_FAILED);
    pages.bytes = (uint8_t *)pages.map + (body - n_bytes);
    memcpy(pages.bytes, bytes, n_bytes);
    assert_int_equal(mprotect((uint8_t *)pages.map + body, page, PROT_NONE), 0);
    if (body > 0) {
        assert_int_equal(mprotect(pages.map, body, PROT_READ), 0);
    }
    return pages;
}

static void pages_unmap(struct pages *pages) {
    assert_int_equal(munmap(pages->map, pages->map_bytes), 0);
    *pages = (struct pages){0};
}

static const char *path_of(char path[PM_TEST_PATH_MAX], const char *name, const char *what) {
    char file[128];
    (void)snprintf(file, sizeof file, "%s/%s%s", name, what[0] == '.' ? name : "", what);
    return pm_data_path(path, file);
}

static char *read_data(const char *name, const char *what, size_t *n_bytes) {
    char path[PM_TEST_PATH_MAX];
    char *bytes = pm_test_read_file(path_of(path, name, what), n_bytes);
    assert_non_null(bytes);
    return bytes;
}

static struct pages map_data(const char *name, const char *what) {
    size_t n_bytes = 0;
    char *bytes = read_data(name, what, &n_bytes);
    struct pages pages = pages_of(bytes, n_bytes);
    free(bytes);
    return pages;
}

/* ---------------------------------------------------------------------------------------------
 * Outputs
 * ------------------------------------------------------------------------------------------- */

struct outcome {
    int code;
    char proof[ROOM], publics[ROOM];
    ull proof_size, public_size;
    char message[MESSAGE];
};

static void prepare(struct outcome *outcome, ull proof_size, ull public_size) {
    memset(outcome, CANARY, sizeof *outcome);
    outcome->proof_size = proof_size;
    outcome->public_size = public_size;
    outcome->message[0] = '\0';
}

static void expect_untouched(const char *buffer, size_t from) {
    for (size_t i = from; i < ROOM; ++i) {
        assert_int_equal(buffer[i], CANARY);
    }
}

static void run(void *prover, const void *wtns, size_t wtns_bytes, struct outcome *outcome) {
    outcome->code =
        groth16_prover_prove(prover, wtns, wtns_bytes, outcome->proof, &outcome->proof_size,
                             outcome->publics, &outcome->public_size, outcome->message, MESSAGE);
}

static void run_once(const struct pages *zkey, const struct pages *wtns, struct outcome *outcome) {
    outcome->code = groth16_prover(zkey->bytes, zkey->n_bytes, wtns->bytes, wtns->n_bytes,
                                   outcome->proof, &outcome->proof_size, outcome->publics,
                                   &outcome->public_size, outcome->message, MESSAGE);
}

static void run_file(const char *path, const struct pages *wtns, struct outcome *outcome) {
    outcome->code = groth16_prover_zkey_file(path, wtns->bytes, wtns->n_bytes, outcome->proof,
                                             &outcome->proof_size, outcome->publics,
                                             &outcome->public_size, outcome->message, MESSAGE);
}

/* A code other than PROVER_OK: a sentence, and nothing written that the header does not say. */
static void expect_code(const struct outcome *outcome, int code) {
    if (outcome->code != code) {
        fail_msg("code %d instead of %d: %s", outcome->code, code, outcome->message);
    }
    assert_true(strlen(outcome->message) > 10);
    expect_untouched(outcome->proof, 0);
    expect_untouched(outcome->publics, 0);
}

static void *make_prover(const struct pages *zkey) {
    char message[MESSAGE] = "";
    void *prover = NULL;
    const int code =
        groth16_prover_create(&prover, zkey->bytes, zkey->n_bytes, message, sizeof message);
    if (code != PROVER_OK) {
        fail_msg("%s", message);
    }
    assert_non_null(prover);
    return prover;
}

static void *prover_of(const char *name) {
    struct pages zkey = map_data(name, ".zkey");
    void *prover = make_prover(&zkey);
    pages_unmap(&zkey);
    return prover;
}

/* The text without white space, in place. */
static void squeeze(char *text) {
    char *to = text;
    for (const char *from = text; *from != '\0'; ++from) {
        if (*from != ' ' && *from != '\n') {
            *to++ = *from;
        }
    }
    *to = '\0';
}

/* Our own verification, through the public interface. */
static void expect_verified_by_us(const char *vkey, const struct outcome *outcome) {
    pm_error error = PM_ERROR_INIT;
    pm_context *context = NULL;
    pm_vk *vk = NULL;
    pm_proof proof;
    uint8_t *publics = NULL;
    size_t n_publics = 0;
    assert_int_equal(pm_context_create(NULL, &context, &error), PM_OK);
    assert_int_equal(pm_json_vk_parse(context, vkey, strlen(vkey), NULL, &vk, &error), PM_OK);
    /* No curve to fall back on: the proof names its own. */
    assert_int_equal(pm_json_proof_parse(outcome->proof, outcome->proof_size, NULL, PM_CURVE_NONE,
                                         &proof, &error),
                     PM_OK);
    assert_int_equal(pm_json_public_parse(outcome->publics, outcome->public_size, NULL,
                                          pm_vk_curve(vk), &publics, &n_publics, &error),
                     PM_OK);
    assert_int_equal(pm_verify(context, vk, publics, n_publics, &proof, &error), PM_OK);
    pm_json_values_free(publics);
    pm_vk_destroy(vk);
    pm_context_destroy(context);
}

/* PROVER_OK, the texts as promised, and a proof that both verifiers take. */
static void expect_proof(const char *name, const struct outcome *outcome) {
    char message[MESSAGE] = "untouched";
    char *vkey = read_data(name, "/vkey.json", NULL);
    char *expected = read_data(name, "/public.json", NULL);
    squeeze(expected);
    if (outcome->code != PROVER_OK) {
        fail_msg("%s: code %d: %s", name, outcome->code, outcome->message);
    }
    assert_string_equal(outcome->message, ""); /* nothing is said on success */
    assert_int_equal(outcome->proof_size, strlen(outcome->proof));
    assert_int_equal(outcome->public_size, strlen(outcome->publics));
    expect_untouched(outcome->proof, outcome->proof_size + 1);
    expect_untouched(outcome->publics, outcome->public_size + 1);
    assert_string_equal(outcome->publics, expected);
    assert_memory_equal(outcome->proof, "{\"pi_a\":[\"", 10);
    assert_int_equal(outcome->proof[outcome->proof_size - 1], '}');
    assert_null(strpbrk(outcome->proof, " \n"));
    assert_non_null(strstr(outcome->proof, "\"protocol\":\"groth16\""));
    expect_verified_by_us(vkey, outcome);
    assert_int_equal(
        groth16_verify(outcome->proof, outcome->publics, vkey, message, sizeof message),
        VERIFIER_VALID_PROOF);
    assert_string_equal(message, "untouched");
    free(expected);
    free(vkey);
}

/* ---------------------------------------------------------------------------------------------
 * Proving
 * ------------------------------------------------------------------------------------------- */

static void all_four_ways_prove(void **state) {
    (void)state;
    for (size_t i = 0; i < N_NAMES; ++i) {
        char path[PM_TEST_PATH_MAX], message[MESSAGE] = "";
        struct outcome outcome;
        struct pages zkey = map_data(names[i], ".zkey"), wtns = map_data(names[i], ".wtns");
        (void)path_of(path, names[i], ".zkey");

        prepare(&outcome, ROOM, ROOM);
        run_once(&zkey, &wtns, &outcome);
        expect_proof(names[i], &outcome);
        prepare(&outcome, ROOM, ROOM);
        run_file(path, &wtns, &outcome);
        expect_proof(names[i], &outcome);

        void *from_buffer = make_prover(&zkey), *from_file = NULL;
        assert_int_equal(groth16_prover_create_zkey_file(&from_file, path, message, sizeof message),
                         PROVER_OK);
        prepare(&outcome, ROOM, ROOM);
        run(from_buffer, wtns.bytes, wtns.n_bytes, &outcome);
        expect_proof(names[i], &outcome);
        prepare(&outcome, ROOM, ROOM);
        run(from_file, wtns.bytes, wtns.n_bytes, &outcome);
        expect_proof(names[i], &outcome);
        groth16_prover_destroy(from_file);
        groth16_prover_destroy(from_buffer);
        pages_unmap(&zkey);
        pages_unmap(&wtns);
    }
}

/* Report B14: key and witness may go as soon as the calls that took them have returned. */
static void B14_buffers_are_unmapped_at_once(void **state) {
    (void)state;
    for (size_t i = 0; i < N_NAMES; ++i) {
        void *prover = prover_of(names[i]); /* the key is gone */
        struct outcome outcomes[2];
        for (size_t k = 0; k < 2; ++k) {
            struct pages wtns = map_data(names[i], ".wtns");
            prepare(&outcomes[k], ROOM, ROOM);
            run(prover, wtns.bytes, wtns.n_bytes, &outcomes[k]);
            pages_unmap(&wtns);
            expect_proof(names[i], &outcomes[k]);
        }
        assert_string_not_equal(outcomes[0].proof, outcomes[1].proof); /* fresh r and s */
        groth16_prover_destroy(prover);
    }
}

/* The file may lose its name, and another take it, while the prover lives. */
static void B14_prover_owns_its_mapping(void **state) {
    (void)state;
    char *tree = file_make_tree();
    const char *path = file_in_tree(tree, "key.zkey"), *other = file_in_tree(tree, "other");
    struct pages zkey = map_data("mult3", ".zkey"), wtns = map_data("mult3", ".wtns");
    file_write(path, zkey.bytes, zkey.n_bytes);
    file_write(other, "not a key", 9);
    void *prover = NULL;
    assert_int_equal(groth16_prover_create_zkey_file(&prover, path, NULL, 0), PROVER_OK);
    assert_int_equal(rename(other, path), 0);
    struct outcome outcome;
    prepare(&outcome, ROOM, ROOM);
    run(prover, wtns.bytes, wtns.n_bytes, &outcome);
    expect_proof("mult3", &outcome);
    groth16_prover_destroy(prover);
    prepare(&outcome, ROOM, ROOM);
    run_file(path, &wtns, &outcome);
    expect_code(&outcome, PROVER_ERROR);
    assert_non_null(strstr(outcome.message, "key.zkey: "));
    pages_unmap(&zkey);
    pages_unmap(&wtns);
    file_remove_tree(tree);
}

/* A file called "-" is a file, not standard input. */
static void dash_is_a_file_name(void **state) {
    (void)state;
    char *tree = file_make_tree(), *before = getcwd(NULL, 0);
    struct pages zkey = map_data("one", ".zkey");
    file_write(file_in_tree(tree, "-"), zkey.bytes, zkey.n_bytes);
    assert_int_equal(chdir(tree), 0);
    ull size = 0;
    assert_int_equal(groth16_public_size_for_zkey_file("-", &size, NULL, 0), PROVER_OK);
    assert_int_equal(size, 86);
    assert_int_equal(chdir(before), 0);
    pages_unmap(&zkey);
    free(before);
    file_remove_tree(tree);
}

/* Two provers on one buffer, each destroyed while the other goes on. */
static void B14_two_provers_on_one_key(void **state) {
    (void)state;
    struct pages zkey = map_data("mult3", ".zkey"), wtns = map_data("mult3", ".wtns");
    void *first = make_prover(&zkey), *second = make_prover(&zkey);
    struct outcome outcome;
    groth16_prover_destroy(first);
    prepare(&outcome, ROOM, ROOM);
    run(second, wtns.bytes, wtns.n_bytes, &outcome);
    expect_proof("mult3", &outcome);
    groth16_prover_destroy(second);
    pages_unmap(&zkey);
    pages_unmap(&wtns);
}

static void odd_addresses_are_fine(void **state) {
    (void)state;
    size_t zkey_bytes = 0, wtns_bytes = 0;
    char *zkey = read_data("mult3", ".zkey", &zkey_bytes);
    char *wtns = read_data("mult3", ".wtns", &wtns_bytes);
    for (size_t shift = 1; shift < 8; shift += 2) {
        char *odd_zkey = malloc(zkey_bytes + shift), *odd_wtns = malloc(wtns_bytes + shift);
        memcpy(odd_zkey + shift, zkey, zkey_bytes);
        memcpy(odd_wtns + shift, wtns, wtns_bytes);
        struct outcome outcome;
        prepare(&outcome, ROOM, ROOM);
        outcome.code = groth16_prover(odd_zkey + shift, zkey_bytes, odd_wtns + shift, wtns_bytes,
                                      outcome.proof, &outcome.proof_size, outcome.publics,
                                      &outcome.public_size, outcome.message, MESSAGE);
        expect_proof("mult3", &outcome);
        free(odd_zkey);
        free(odd_wtns);
    }
    free(zkey);
    free(wtns);
}

/* The key of a circuit of ours without public signals, and a witness: all five signals private. */
static void make_case_without_publics(const char *tree, struct file_image *wtns) {
    pm_error error = PM_ERROR_INIT;
    pm_context *context = NULL;
    struct file_image r1cs = file_r1cs(PM_CURVE_BN254);
    file_patch_u32(&r1cs, 1, 4 + PM_FR_BYTES + 4, 0);                /* outputs */
    file_patch_u32(&r1cs, 1, 4 + PM_FR_BYTES + 8, 0);                /* public inputs */
    file_patch_u32(&r1cs, 1, 4 + PM_FR_BYTES + 12, TOY_N_VARS - 1U); /* private inputs */
    file_write(file_in_tree(tree, "r1cs"), r1cs.bytes, r1cs.n_bytes);
    assert_int_equal(pm_context_create(NULL, &context, &error), PM_OK);
    file_expect(pm_setup_known_tau(context, file_in_tree(tree, "r1cs"), file_in_tree(tree, "zkey"),
                                   NULL, NULL, &error),
                PM_OK, &error, NULL, NULL, NULL);
    pm_context_destroy(context);
    file_free(&r1cs);
    *wtns = file_wtns(PM_CURVE_BN254);
    /* 1, out = 15, in = 3, p = 3, q = 5. */
    static const uint8_t values[TOY_N_VARS] = {1, 15, 3, 3, 5};
    for (size_t i = 0; i < TOY_N_VARS; ++i) {
        uint8_t value[PM_FR_BYTES] = {values[i]};
        file_patch(wtns, 2, i * PM_FR_BYTES, value, sizeof value);
    }
}

/* Report B10: rapidsnark writes null and refuses []; this is an empty list like any other. */
static void B10_no_public_signals(void **state) {
    (void)state;
    char *tree = file_make_tree(), message[MESSAGE] = "";
    struct file_image wtns;
    make_case_without_publics(tree, &wtns);
    const char *zkey = file_in_tree(tree, "zkey");
    ull size = 0;
    assert_int_equal(groth16_public_size_for_zkey_file(zkey, &size, NULL, 0), PROVER_OK);
    assert_int_equal(size, 4);
    struct outcome outcome;
    prepare(&outcome, ROOM, 3);
    outcome.code =
        groth16_prover_zkey_file(zkey, wtns.bytes, wtns.n_bytes, outcome.proof, &outcome.proof_size,
                                 outcome.publics, &outcome.public_size, outcome.message, MESSAGE);
    assert_string_equal(outcome.message, "");
    assert_int_equal(outcome.code, PROVER_OK);
    assert_string_equal(outcome.publics, "[]");
    assert_int_equal(outcome.public_size, 2);

    pm_error error = PM_ERROR_INIT;
    pm_context *context = NULL;
    pm_key *key = NULL;
    pm_vk *vk = NULL;
    struct pm_json_text text = {0};
    assert_int_equal(pm_context_create(NULL, &context, &error), PM_OK);
    assert_int_equal(pm_key_open(context, zkey, NULL, NULL, &key, &error), PM_OK);
    assert_int_equal(pm_vk_from_key(context, key, &vk, &error), PM_OK);
    assert_int_equal(pm_json_vk_write(vk, &text, &error), PM_OK);
    assert_int_equal(groth16_verify(outcome.proof, "[]", text.bytes, message, sizeof message),
                     VERIFIER_VALID_PROOF);
    assert_int_equal(groth16_verify(outcome.proof, "null", text.bytes, message, sizeof message),
                     VERIFIER_ERROR);
    pm_json_text_free(&text);
    pm_vk_destroy(vk);
    pm_key_destroy(key);
    pm_context_destroy(context);
    file_free(&wtns);
    file_remove_tree(tree);
}

/* rapidsnark never reads the IC of a key: one without proves. */
static void key_without_ic_proves(void **state) {
    (void)state;
    struct file_image whole = {0};
    whole.bytes = (uint8_t *)read_data("mult3", ".zkey", &whole.n_bytes);
    struct file_image without = file_without(&whole, 3);
    struct pages zkey = pages_of(without.bytes, without.n_bytes), wtns = map_data("mult3", ".wtns");
    struct outcome outcome;
    prepare(&outcome, ROOM, ROOM);
    run_once(&zkey, &wtns, &outcome);
    expect_proof("mult3", &outcome);
    pages_unmap(&zkey);
    pages_unmap(&wtns);
    file_free(&without);
    file_free(&whole);
}

/* ---------------------------------------------------------------------------------------------
 * Sizes
 * ------------------------------------------------------------------------------------------- */

static void public_size_is_rapidsnarks(void **state) {
    (void)state;
    static const ull n_publics[N_NAMES] = {1, 2, 3, 4, 1, 2, 3};
    for (size_t i = 0; i < N_NAMES; ++i) {
        char path[PM_TEST_PATH_MAX];
        struct pages zkey = map_data(names[i], ".zkey");
        ull from_buffer = 0, from_file = 0;
        assert_int_equal(
            groth16_public_size_for_zkey_buf(zkey.bytes, zkey.n_bytes, &from_buffer, NULL, 0),
            PROVER_OK);
        assert_int_equal(groth16_public_size_for_zkey_file(path_of(path, names[i], ".zkey"),
                                                           &from_file, NULL, 0),
                         PROVER_OK);
        assert_int_equal(from_buffer, n_publics[i] * 82 + 4);
        assert_int_equal(from_file, from_buffer);
        pages_unmap(&zkey);
    }
}

/* What the size queries say is enough for the longest texts there can be, and for nothing less
 * than them is SHORT_BUFFER given: coordinates and values of p - 1 and r - 1. */
static void sizes_hold_the_longest_texts(void **state) {
    (void)state;
    static const struct {
        pm_curve_id curve;
        size_t need;
    } cases[] = {{PM_CURVE_BN254, NEED_BN254}, {PM_CURVE_BLS12_381, NEED_BLS12_381}};
    ull queried = 0;
    groth16_proof_size(&queried);
    groth16_proof_size(NULL);
    assert_int_equal(queried, NEED_BLS12_381);
    for (size_t i = 0; i < 2; ++i) {
        pm_error error = PM_ERROR_INIT;
        const struct pm_field *fp = pm_field_fp(cases[i].curve, PM_BODY_PORTABLE);
        const struct pm_field *fr = pm_field_fr(cases[i].curve, PM_BODY_PORTABLE);
        uint8_t element[PM_FP_BYTES_MAX], value[PM_FR_BYTES];
        memcpy(element, fp->modulus, fp->bytes);
        memcpy(value, fr->modulus, fr->bytes);
        element[0] -= 1; /* both moduli are odd */
        value[0] -= 1;
        pm_proof proof = {.struct_bytes = sizeof proof, .curve = cases[i].curve};
        for (size_t k = 0; k < 4; ++k) {
            memcpy(proof.b + k * fp->bytes, element, fp->bytes);
            memcpy((k < 2 ? proof.a : proof.c) + k % 2 * fp->bytes, element, fp->bytes);
        }
        struct pm_json_text text = {0};
        assert_int_equal(pm_json_proof_write(&proof, &text, &error), PM_OK);
        squeeze(text.bytes);
        assert_int_equal(strlen(text.bytes) + 1, cases[i].need);
        pm_json_text_free(&text);
        assert_int_equal(pm_json_public_write(value, 1, &text, &error), PM_OK);
        assert_true(text.n_bytes + 1 <= 86); /* even as snarkjs lays it out */
        pm_json_text_free(&text);
    }
}

/* Exactly enough, and one byte less on either side or both. */
static void borders_are_exact(void **state) {
    (void)state;
    for (size_t i = 0; i < N_NAMES; ++i) {
        const ull proof_need = strstr(names[i], "_bls") ? NEED_BLS12_381 : NEED_BN254;
        char *publics = read_data(names[i], "/public.json", NULL);
        squeeze(publics);
        const ull public_need = strlen(publics) + 1;
        struct pages wtns = map_data(names[i], ".wtns");
        void *prover = prover_of(names[i]);
        for (unsigned less = 0; less < 4; ++less) {
            struct outcome outcome;
            prepare(&outcome, proof_need - (less & 1), public_need - (less >> 1));
            run(prover, wtns.bytes, wtns.n_bytes, &outcome);
            if (less == 0) {
                expect_proof(names[i], &outcome);
                continue;
            }
            expect_code(&outcome, PROVER_ERROR_SHORT_BUFFER);
            assert_int_equal(outcome.proof_size, proof_need);
            assert_int_equal(outcome.public_size, public_need);
        }
        groth16_prover_destroy(prover);
        pages_unmap(&wtns);
        free(publics);
    }
}

/* Report B15: asked with nothing, told once, and the second call is the last. The message has all
 * four numbers. */
static void B15_short_buffer_comes_once(void **state) {
    (void)state;
    struct pages zkey = map_data("mult3", ".zkey"), wtns = map_data("mult3", ".wtns");
    struct outcome outcome;
    prepare(&outcome, 5, 0);
    run_once(&zkey, &wtns, &outcome);
    expect_code(&outcome, PROVER_ERROR_SHORT_BUFFER);
    assert_non_null(strstr(outcome.message, "728 bytes and has 5"));
    assert_non_null(strstr(outcome.message, "and have 0"));
    const ull proof_size = outcome.proof_size, public_size = outcome.public_size;
    prepare(&outcome, proof_size, public_size);
    run_once(&zkey, &wtns, &outcome);
    expect_proof("mult3", &outcome);
    pages_unmap(&zkey);
    pages_unmap(&wtns);
}

/* A witness that satisfies nothing: its proof would fail, so that the short buffer is reported
 * shows that no proof was tried. */
static struct pages wrong_witness(const char *name) {
    size_t n_bytes = 0;
    char *bytes = read_data(name, ".wtns", &n_bytes);
    bytes[n_bytes - PM_FR_BYTES] ^= 1;
    struct pages pages = pages_of(bytes, n_bytes);
    free(bytes);
    return pages;
}

static void short_buffers_are_found_before_the_proof(void **state) {
    (void)state;
    void *prover = prover_of("own_mimc");
    struct pages wrong = wrong_witness("own_mimc");
    struct outcome outcome;
    prepare(&outcome, NEED_BN254 - 1, ROOM);
    run(prover, wrong.bytes, wrong.n_bytes, &outcome);
    expect_code(&outcome, PROVER_ERROR_SHORT_BUFFER);
    prepare(&outcome, ROOM, ROOM);
    run(prover, wrong.bytes, wrong.n_bytes, &outcome);
    expect_code(&outcome, PROVER_ERROR);
    groth16_prover_destroy(prover);
    pages_unmap(&wrong);
}

/* ---------------------------------------------------------------------------------------------
 * Refusals
 * ------------------------------------------------------------------------------------------- */

static void expect_refused(void *prover, const struct file_image *wtns, int code,
                           const char *piece) {
    struct outcome outcome;
    struct pages pages = pages_of(wtns->bytes, wtns->n_bytes);
    prepare(&outcome, ROOM, ROOM);
    run(prover, pages.bytes, pages.n_bytes, &outcome);
    expect_code(&outcome, code);
    assert_non_null(strstr(outcome.message, piece));
    assert_int_equal(outcome.proof_size, ROOM);
    assert_int_equal(outcome.public_size, ROOM);
    pages_unmap(&pages);
}

/* n values instead of those there are. */
static struct file_image wtns_of_length(const struct file_image *wtns, uint32_t n) {
    size_t n_bytes = 0;
    (void)file_section(wtns, 2, &n_bytes);
    struct file_image other = file_resized(wtns, 2, (int)(n * PM_FR_BYTES) - (int)n_bytes);
    file_patch_u32(&other, 1, 4 + PM_FR_BYTES, n);
    return other;
}

/* Reports B12 and B13, and a good proof after each refusal (B14). */
static void B12_foreign_witnesses_are_refused(void **state) {
    (void)state;
    void *prover = prover_of("mult3");
    struct file_image good = {0}, bls = {0};
    good.bytes = (uint8_t *)read_data("mult3", ".wtns", &good.n_bytes);
    bls.bytes = (uint8_t *)read_data("mult3_bls", ".wtns", &bls.n_bytes);
    size_t n_bytes = 0;
    (void)file_section(&good, 2, &n_bytes);
    const uint32_t n = (uint32_t)(n_bytes / PM_FR_BYTES);
    char piece[64];
    for (uint32_t other_n = n - 1; other_n <= n + 1; other_n += 2) {
        struct file_image other = wtns_of_length(&good, other_n);
        (void)snprintf(piece, sizeof piece, "%u values, the zkey has %u signals", other_n, n);
        expect_refused(prover, &other, PROVER_INVALID_WITNESS_LENGTH, piece);
        file_free(&other);
    }
    expect_refused(prover, &bls, PROVER_ERROR, "bls12381");

    uint8_t all_ones[PM_FR_BYTES];
    memset(all_ones, 0xff, sizeof all_ones);
    struct file_image bad = file_copy(&good);
    file_patch(&bad, 2, (size_t)(n - 1) * PM_FR_BYTES, all_ones, sizeof all_ones);
    expect_refused(prover, &bad, PROVER_ERROR, "witness: ");
    file_free(&bad);
    bad = file_copy(&good);
    file_patch_u32(&bad, 2, 0, 2); /* the constant one is two */
    expect_refused(prover, &bad, PROVER_ERROR, "witness: ");
    file_free(&bad);
    bad = file_copy(&good);
    file_patch_u32(&bad, 0, 4, 3); /* version */
    expect_refused(prover, &bad, PROVER_ERROR, "version");
    file_free(&bad);

    struct outcome outcome;
    prepare(&outcome, ROOM, ROOM);
    run(prover, good.bytes, good.n_bytes, &outcome);
    expect_proof("mult3", &outcome);
    groth16_prover_destroy(prover);
    file_free(&good);
    file_free(&bls);
}

/* Report A11: what rapidsnark hands out as a proof with code 0. */
static void A11_unsatisfied_witness_gives_no_proof(void **state) {
    (void)state;
    for (size_t i = 0; i < N_NAMES; ++i) {
        struct pages zkey = map_data(names[i], ".zkey"), wrong = wrong_witness(names[i]);
        struct outcome outcome;
        prepare(&outcome, ROOM, ROOM);
        run_once(&zkey, &wrong, &outcome);
        expect_code(&outcome, PROVER_ERROR);
        assert_non_null(strstr(outcome.message, "does not satisfy"));
        pages_unmap(&zkey);
        pages_unmap(&wrong);
    }
}

/* Every cut of a witness and a hundred of a key, and every byte of their headers turned over: a
 * code with a sentence, or, where the bytes do not matter, a proof that verifies. */
static void one_hostile_pair(const void *zkey_bytes, size_t n_zkey, const void *wtns_bytes,
                             size_t n_wtns, const char *vkey) {
    struct pages zkey = pages_of(zkey_bytes, n_zkey), wtns = pages_of(wtns_bytes, n_wtns);
    struct outcome outcome;
    prepare(&outcome, ROOM, ROOM);
    run_once(&zkey, &wtns, &outcome);
    if (outcome.code == PROVER_OK) {
        assert_int_equal(groth16_verify(outcome.proof, outcome.publics, vkey, NULL, 0),
                         VERIFIER_VALID_PROOF);
    } else {
        assert_in_range(outcome.code, PROVER_ERROR, PROVER_INVALID_WITNESS_LENGTH);
        expect_code(&outcome, outcome.code);
    }
    pages_unmap(&zkey);
    pages_unmap(&wtns);
}

static void hostile_bytes_give_codes(void **state) {
    (void)state;
    size_t n_zkey = 0, n_wtns = 0;
    char *zkey = read_data("one", ".zkey", &n_zkey), *wtns = read_data("one", ".wtns", &n_wtns);
    char *vkey = read_data("one", "/vkey.json", NULL);
    for (size_t n = 0; n < n_wtns; ++n) {
        one_hostile_pair(zkey, n_zkey, wtns, n, vkey);
    }
    for (size_t n = 0; n < n_zkey; n += 1 + n_zkey / 100) {
        one_hostile_pair(zkey, n, wtns, n_wtns, vkey);
    }
    for (size_t i = 0; i < n_zkey; i += i < 120 ? 1 : 37) {
        zkey[i] = (char)~zkey[i];
        one_hostile_pair(zkey, n_zkey, wtns, n_wtns, vkey);
        zkey[i] = (char)~zkey[i];
    }
    for (size_t i = 0; i < n_wtns; ++i) {
        wtns[i] = (char)~wtns[i];
        one_hostile_pair(zkey, n_zkey, wtns, n_wtns, vkey);
        wtns[i] = (char)~wtns[i];
    }
    one_hostile_pair(wtns, n_wtns, zkey, n_zkey, vkey); /* the wrong way round */
    free(zkey);
    free(wtns);
    free(vkey);
}

static void NULLs_are_refused(void **state) {
    (void)state;
    struct pages zkey = map_data("one", ".zkey"), wtns = map_data("one", ".wtns");
    void *prover = make_prover(&zkey);
    for (int k = 0; k < 6; ++k) {
        struct outcome o;
        prepare(&o, ROOM, ROOM);
        o.code = groth16_prover_prove(k == 0 ? NULL : prover, k == 1 ? NULL : wtns.bytes,
                                      wtns.n_bytes, k == 2 ? NULL : o.proof,
                                      k == 3 ? NULL : &o.proof_size, k == 4 ? NULL : o.publics,
                                      k == 5 ? NULL : &o.public_size, o.message, MESSAGE);
        expect_code(&o, PROVER_ERROR);
        prepare(&o, ROOM, ROOM);
        o.code = groth16_prover(k == 0 ? NULL : zkey.bytes, zkey.n_bytes,
                                k == 1 ? NULL : wtns.bytes, wtns.n_bytes, k == 2 ? NULL : o.proof,
                                k == 3 ? NULL : &o.proof_size, k == 4 ? NULL : o.publics,
                                k == 5 ? NULL : &o.public_size, o.message, MESSAGE);
        expect_code(&o, PROVER_ERROR);
        assert_non_null(strstr(o.message, "NULL"));
    }
    struct outcome outcome;
    prepare(&outcome, ROOM, ROOM);
    run_file(NULL, &wtns, &outcome);
    expect_code(&outcome, PROVER_ERROR);
    char message[MESSAGE];
    ull size = 0;
    void *object = prover;
    assert_int_equal(groth16_prover_create(NULL, zkey.bytes, zkey.n_bytes, message, MESSAGE),
                     PROVER_ERROR);
    assert_int_equal(groth16_prover_create_zkey_file(NULL, "x", message, MESSAGE), PROVER_ERROR);
    assert_int_equal(groth16_prover_create(&object, NULL, 1, message, MESSAGE), PROVER_ERROR);
    assert_null(object); /* so that destroying it is harmless */
    assert_int_equal(groth16_prover_create_zkey_file(&object, NULL, message, MESSAGE),
                     PROVER_ERROR);
    assert_int_equal(groth16_public_size_for_zkey_buf(NULL, 1, &size, message, MESSAGE),
                     PROVER_ERROR);
    assert_int_equal(
        groth16_public_size_for_zkey_buf(zkey.bytes, zkey.n_bytes, NULL, message, MESSAGE),
        PROVER_ERROR);
    assert_int_equal(groth16_public_size_for_zkey_file(NULL, &size, message, MESSAGE),
                     PROVER_ERROR);
    assert_int_equal(groth16_public_size_for_zkey_file("x", NULL, message, MESSAGE), PROVER_ERROR);
    groth16_prover_destroy(NULL);
    groth16_prover_destroy(prover);
    pages_unmap(&zkey);
    pages_unmap(&wtns);
}

/* The sentence of a failed create in room for n bytes. */
static void message_of(size_t n, char message[MESSAGE]) {
    void *object = message; /* anything but NULL */
    memset(message, CANARY, MESSAGE);
    assert_int_equal(groth16_prover_create(&object, "zkey", 4, message, n), PROVER_ERROR);
    assert_null(object);
}

static void messages_are_cut_with_a_NUL(void **state) {
    (void)state;
    char whole[MESSAGE], cut[MESSAGE];
    message_of(MESSAGE, whole);
    const size_t length = strlen(whole);
    assert_true(length > 10 && length < MESSAGE);
    for (size_t n = 0; n <= length + 2; ++n) {
        message_of(n, cut);
        const size_t kept = n == 0 ? 0 : n > length ? length : n - 1;
        assert_memory_equal(cut, whole, kept);
        if (n > 0) {
            assert_int_equal(cut[kept], '\0');
        }
        for (size_t i = n == 0 ? 0 : kept + 1; i < MESSAGE; ++i) {
            assert_int_equal(cut[i], CANARY);
        }
    }
    /* A caller that says that there is no end to its room, and one that wants no sentence. */
    message_of(SIZE_MAX, cut);
    assert_string_equal(cut, whole);
    void *object = NULL;
    assert_int_equal(groth16_prover_create(&object, "zkey", 4, NULL, MESSAGE), PROVER_ERROR);
    ull size = 7;
    assert_int_equal(groth16_public_size_for_zkey_file("/nowhere/key.zkey", &size, cut, MESSAGE),
                     PROVER_ERROR);
    assert_non_null(strstr(cut, "/nowhere/key.zkey: "));
    assert_int_equal(size, 7);
}

/* ---------------------------------------------------------------------------------------------
 * Verifying
 * ------------------------------------------------------------------------------------------- */

static void expect_verdict(const char *proof, const char *inputs, const char *vkey, int code,
                           const char *piece) {
    char message[MESSAGE] = "";
    const int found = groth16_verify(proof, inputs, vkey, message, sizeof message);
    if (found != code) {
        fail_msg("code %d instead of %d: %s", found, code, message);
    }
    if (strstr(message, piece) == NULL) {
        fail_msg("\"%s\" is not in: %s", piece, message);
    }
    assert_int_equal(groth16_verify(proof, inputs, vkey, NULL, 0), code);
}

/* A copy with the first occurrence of one piece replaced; both occur and fit. */
static char *replaced(const char *text, const char *old, const char *with) {
    const char *at = strstr(text, old);
    assert_non_null(at);
    char *copy = malloc(strlen(text) + strlen(with) + 1);
    assert_non_null(copy);
    (void)sprintf(copy, "%.*s%s%s", (int)(at - text), text, with, at + strlen(old));
    return copy;
}

static void snarkjs_proofs_verify(void **state) {
    (void)state;
    for (size_t i = 0; i < N_NAMES; ++i) {
        char *proof = read_data(names[i], "/proof.snarkjs.json", NULL);
        char *inputs = read_data(names[i], "/public.json", NULL);
        char *vkey = read_data(names[i], "/vkey.json", NULL);
        expect_verdict(proof, inputs, vkey, VERIFIER_VALID_PROOF, "");
        /* As rapidsnark writes it: no curve. */
        char *without = replaced(proof,
                                 strstr(names[i], "_bls") ? ",\n \"curve\": \"bls12381\""
                                                          : ",\n \"curve\": \"bn128\"",
                                 "");
        expect_verdict(without, inputs, vkey, VERIFIER_VALID_PROOF, "");
        free(without);
        free(proof);
        free(inputs);
        free(vkey);
    }
}

/* What is well-formed and wrong is 1, what is malformed is 2 (report B1 among it). */
static void verdicts_are_told_apart(void **state) {
    (void)state;
    char *proof = read_data("one", "/proof.snarkjs.json", NULL);
    char *other = read_data("mult3", "/proof.snarkjs.json", NULL);
    char *bls = read_data("one_bls", "/proof.snarkjs.json", NULL);
    char *inputs = read_data("one", "/public.json", NULL);
    char *vkey = read_data("one", "/vkey.json", NULL);
    expect_verdict(other, inputs, vkey, VERIFIER_INVALID_PROOF, "pairing");
    expect_verdict(proof, "[\"1234\"]", vkey, VERIFIER_INVALID_PROOF, "pairing");

    static const char *const bad_inputs[] = {
        "", "null", "{}", "[1]", "[\"1\"", "[\"01\"]", "[\"-1\"]", "[\"0x1\"]", "[\"1\"] x",
        /* r, and 2^256 - 1 */
        "[\"21888242871839275222246405745257275088548364400416034343698204186575808495617\"]",
        "[\"115792089237316195423570985008687907853269984665640564039457584007913129639935\"]"};
    for (size_t i = 0; i < sizeof bad_inputs / sizeof bad_inputs[0]; ++i) {
        expect_verdict(proof, bad_inputs[i], vkey, VERIFIER_ERROR, "inputs");
    }
    static const char *const bad_counts[] = {"[]", "[\"1\",\"2\"]"};
    for (size_t i = 0; i < sizeof bad_counts / sizeof bad_counts[0]; ++i) {
        expect_verdict(proof, bad_counts[i], vkey, VERIFIER_ERROR, "expected 1 public");
    }
    static const char *const bad_texts[] = {"", "{}", "[]", "null", "{\"protocol\":\"groth16\"}"};
    for (size_t i = 0; i < sizeof bad_texts / sizeof bad_texts[0]; ++i) {
        expect_verdict(bad_texts[i], inputs, vkey, VERIFIER_ERROR, "proof: ");
        expect_verdict(proof, inputs, bad_texts[i], VERIFIER_ERROR, "verification key: ");
    }
    char *plonk = replaced(proof, "groth16", "plonk");
    expect_verdict(plonk, inputs, vkey, VERIFIER_ERROR, "proof: ");
    free(plonk);
    char *off = replaced(proof, "\"pi_a\": [\n  \"", "\"pi_a\": [\n  \"1");
    expect_verdict(off, inputs, vkey, VERIFIER_ERROR, "proof: ");
    free(off);
    expect_verdict(bls, inputs, vkey, VERIFIER_ERROR, "");
    expect_verdict(NULL, inputs, vkey, VERIFIER_ERROR, "proof is NULL");
    expect_verdict(proof, NULL, vkey, VERIFIER_ERROR, "inputs is NULL");
    expect_verdict(proof, inputs, NULL, VERIFIER_ERROR, "verification_key is NULL");
    free(proof);
    free(other);
    free(bls);
    free(inputs);
    free(vkey);
}

/* ---------------------------------------------------------------------------------------------
 * Threads
 * ------------------------------------------------------------------------------------------- */

enum { N_THREADS = 16, N_PROOFS = 3 };

struct worker {
    void *shared;
    const struct pages *zkey, *wtns;
    int index;
    struct outcome outcomes[N_PROOFS];
    int verdicts[N_PROOFS];
};

/* Even workers share a prover, odd ones make their own each time; nothing here is cmocka's. */
static void *work(void *argument) {
    struct worker *worker = argument;
    char path[PM_TEST_PATH_MAX];
    char *vkey = pm_test_read_file(path_of(path, "mult3", "/vkey.json"), NULL);
    for (int i = 0; i < N_PROOFS; ++i) {
        struct outcome *outcome = &worker->outcomes[i];
        prepare(outcome, ROOM, ROOM);
        if (worker->index % 2 == 0) {
            run(worker->shared, worker->wtns->bytes, worker->wtns->n_bytes, outcome);
        } else {
            run_once(worker->zkey, worker->wtns, outcome);
        }
        worker->verdicts[i] = groth16_verify(outcome->proof, outcome->publics, vkey, NULL, 0);
    }
    free(vkey);
    return NULL;
}

/* Report A6. */
static void A6_many_threads_prove(void **state) {
    (void)state;
    static struct worker workers[N_THREADS];
    pthread_t threads[N_THREADS];
    struct pages zkey = map_data("mult3", ".zkey"), wtns = map_data("mult3", ".wtns");
    void *shared = make_prover(&zkey);
    for (int i = 0; i < N_THREADS; ++i) {
        workers[i] = (struct worker){.shared = shared, .zkey = &zkey, .wtns = &wtns, .index = i};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < N_THREADS; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    for (int i = 0; i < N_THREADS * N_PROOFS; ++i) {
        const struct outcome *mine = &workers[i / N_PROOFS].outcomes[i % N_PROOFS];
        assert_int_equal(mine->code, PROVER_OK);
        assert_int_equal(workers[i / N_PROOFS].verdicts[i % N_PROOFS], VERIFIER_VALID_PROOF);
        for (int k = 0; k < i; ++k) {
            assert_string_not_equal(mine->proof,
                                    workers[k / N_PROOFS].outcomes[k % N_PROOFS].proof);
        }
    }
    groth16_prover_destroy(shared);
    pages_unmap(&zkey);
    pages_unmap(&wtns);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_four_ways_prove),
        cmocka_unit_test(B14_buffers_are_unmapped_at_once),
        cmocka_unit_test(B14_prover_owns_its_mapping),
        cmocka_unit_test(dash_is_a_file_name),
        cmocka_unit_test(B14_two_provers_on_one_key),
        cmocka_unit_test(odd_addresses_are_fine),
        cmocka_unit_test(B10_no_public_signals),
        cmocka_unit_test(key_without_ic_proves),
        cmocka_unit_test(public_size_is_rapidsnarks),
        cmocka_unit_test(sizes_hold_the_longest_texts),
        cmocka_unit_test(borders_are_exact),
        cmocka_unit_test(B15_short_buffer_comes_once),
        cmocka_unit_test(short_buffers_are_found_before_the_proof),
        cmocka_unit_test(B12_foreign_witnesses_are_refused),
        cmocka_unit_test(A11_unsatisfied_witness_gives_no_proof),
        cmocka_unit_test(hostile_bytes_give_codes),
        cmocka_unit_test(NULLs_are_refused),
        cmocka_unit_test(messages_are_cut_with_a_NUL),
        cmocka_unit_test(snarkjs_proofs_verify),
        cmocka_unit_test(verdicts_are_told_apart),
        cmocka_unit_test(A6_many_threads_prove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
