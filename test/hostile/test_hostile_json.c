/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Mutants of proof, public signals and verifying key as JSON: each is refused as malformed, found
 * invalid, or says the very same as the original. That last is judged by the parsed bytes, so no
 * mutant can slip through as another statement.
 *
 * Without an argument a sample of the mutants of bytes, with "slow" each of them.
 */
#include "support/fixture.h"
#include "support/outcomes.h"
#include "json/json.h"

#include <ff/field.h>
#include <jansson.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Name, words, and whether such a mutant must be refused whatever it touches. */
#define JSON_MUTATION_MAP(X)                                                                       \
    X(MEMBER_MISSING, "member missing", 0)                                                         \
    X(MEMBER_DOUBLED, "member doubled", 1)                                                         \
    X(MEMBER_RENAMED, "member renamed", 0)                                                         \
    X(MEMBER_ADDED, "unknown member added", 0)                                                     \
    X(ELEMENT_MISSING, "element missing", 1)                                                       \
    X(ELEMENT_DOUBLED, "element doubled", 1)                                                       \
    X(ELEMENT_SWAPPED, "element swapped with the next", 0)                                         \
    X(TYPE, "value of another type", 1)                                                            \
    X(FORM, "another spelling of the same number", 1)                                              \
    X(WRAPPED, "number plus a modulus", 1)                                                         \
    X(JUNK, "string empty, huge or no number", 1)                                                  \
    X(OTHER, "another number", 0)                                                                  \
    X(COUNT, "nPublic changed", 1)                                                                 \
    X(CUT, "text cut", 1)                                                                          \
    X(TRAILING, "text after the end", 1)                                                           \
    X(BYTE, "one byte changed", 0)

enum json_mutation {
#define JSON_MUTATION_ENUM(name, words, refused) JSON_##name,
    JSON_MUTATION_MAP(JSON_MUTATION_ENUM)
#undef JSON_MUTATION_ENUM
        JSON_MUTATIONS
};

static const struct {
    const char *words;
    int must_be_refused;
} mutations[] = {
#define JSON_MUTATION_ROW(name, words, refused) {words, refused},
    JSON_MUTATION_MAP(JSON_MUTATION_ROW)
#undef JSON_MUTATION_ROW
};

enum document { PROOF, PUBLIC, VKEY, DOCUMENTS };

static const char *const document_files[DOCUMENTS] = {"proof.snarkjs.json", "public.json",
                                                      "vkey.json"};

/* The good statement. */
struct statement {
    pm_context *context;
    char *text[DOCUMENTS];
    size_t n_bytes[DOCUMENTS];
    pm_curve_id curve;
    pm_vk *vk;
    uint8_t *publics;
    size_t n_publics;
    pm_proof proof;
};

/* Where mutants come from: a document, and the way to the value that is touched. */
struct trial {
    const struct statement *good;
    enum document document;
    json_t *root;
    char path[128];
};

static bool is_slow;
static struct outcomes outcomes[DOCUMENTS] = {
    {.title = "proof.json (OK: the same statement)"},
    {.title = "public.json (OK: the same statement)"},
    {.title = "verification_key.json (OK: the same statement)"}};

static const char *row_words(size_t row) {
    return mutations[row].words;
}

/* ---------------------------------------------------------------------------------------------
 * Judging one text
 * ------------------------------------------------------------------------------------------- */

static bool same_vk(const pm_vk *a, const pm_vk *b) {
    pm_vk_arrays x = {.struct_bytes = sizeof x}, y = {.struct_bytes = sizeof y};
    assert_int_equal(pm_vk_get_arrays(a, &x), PM_OK);
    assert_int_equal(pm_vk_get_arrays(b, &y), PM_OK);
    const size_t fp_bytes = pm_curve_fp_bytes((pm_curve_id)x.curve);
    return x.curve == y.curve && x.n_public == y.n_public &&
           memcmp(x.alpha_g1, y.alpha_g1, 2 * fp_bytes) == 0 &&
           memcmp(x.beta_g2, y.beta_g2, 4 * fp_bytes) == 0 &&
           memcmp(x.gamma_g2, y.gamma_g2, 4 * fp_bytes) == 0 &&
           memcmp(x.delta_g2, y.delta_g2, 4 * fp_bytes) == 0 &&
           memcmp(x.ic, y.ic, (x.n_public + (size_t)1) * 2 * fp_bytes) == 0;
}

/* Parses the one document, verifies it with the good ones of the other two. *parsed tells how far
 * it came; *same whether it says what the good one says. */
static pm_status judge(const struct statement *good, enum document document, const char *text,
                       size_t n_bytes, bool *parsed, bool *same, pm_error *error) {
    pm_proof proof = {.struct_bytes = sizeof proof};
    uint8_t *publics = NULL;
    size_t n_publics = good->n_publics;
    pm_vk *vk = NULL;
    pm_status status = PM_OK;
    if (document == PROOF) {
        status = pm_json_proof_parse(text, n_bytes, "mutant.json", good->curve, &proof, error);
        *same = memcmp(&proof, &good->proof, sizeof proof) == 0;
    } else if (document == PUBLIC) {
        status = pm_json_public_parse(text, n_bytes, "mutant.json", good->curve, &publics,
                                      &n_publics, error);
        *same = status == PM_OK && n_publics == good->n_publics &&
                memcmp(publics, good->publics, n_publics * PM_FR_BYTES) == 0;
    } else {
        status = pm_json_vk_parse(good->context, text, n_bytes, "mutant.json", &vk, error);
        *same = status == PM_OK && same_vk(vk, good->vk);
    }
    *parsed = status == PM_OK;
    if (status == PM_OK) {
        status = pm_verify(good->context, vk != NULL ? vk : good->vk,
                           publics != NULL ? publics : good->publics, n_publics,
                           document == PROOF ? &proof : &good->proof, error);
    }
    pm_vk_destroy(vk);
    pm_json_values_free(publics);
    return status;
}

static void expect_documented(pm_status status, const char *text) {
    static const pm_status documented[] = {PM_OK,
                                           PM_PROOF_INVALID,
                                           PM_ENCODING,
                                           PM_LENGTH,
                                           PM_PROTOCOL,
                                           PM_CURVE,
                                           PM_COUNT,
                                           PM_NOT_CANONICAL,
                                           PM_NOT_ON_CURVE,
                                           PM_NOT_IN_SUBGROUP,
                                           PM_POINT_AT_INFINITY};
    for (size_t i = 0; i < sizeof documented / sizeof documented[0]; ++i) {
        if (documented[i] == status) {
            return;
        }
    }
    fail_msg("%s: %s", text, pm_status_name(status));
}

static void try_text(const struct trial *trial, enum json_mutation kind, const char *bytes,
                     size_t n_bytes) {
    const struct statement *good = trial->good;
    pm_error error = PM_ERROR_INIT;
    bool parsed = false, same = false;
    char text[400];
    (void)snprintf(text, sizeof text, "%s, %s at %s: %.*s", document_files[trial->document],
                   mutations[kind].words, trial->path, n_bytes < 120 ? (int)n_bytes : 120, bytes);
    char *exact = malloc(n_bytes + 1); /* no NUL: the length says where it ends */
    assert_non_null(exact);
    memcpy(exact, bytes, n_bytes);
    exact = realloc(exact, n_bytes > 0 ? n_bytes : 1);
    const uint64_t begin_ns = outcome_cpu_ns();
    const pm_status status = judge(good, trial->document, exact, n_bytes, &parsed, &same, &error);
    assert_true(outcome_cpu_ns() - begin_ns < OUTCOME_CPU_NS_MAX);
    free(exact);
    expect_documented(status, text);
    if (status == PM_OK && !same) {
        fail_msg("%s: another statement verifies", text);
    }
    if (status != PM_OK) {
        outcome_expect_error(status, &error, parsed ? NULL : "mutant.json", text);
    }
    if (mutations[kind].must_be_refused && (status == PM_OK || status == PM_PROOF_INVALID)) {
        fail_msg("%s: taken as well-formed", text);
    }
    outcomes_add(&outcomes[trial->document], kind, status);
}

/* Tries the tree as it stands now. */
static void try_tree(const struct trial *trial, enum json_mutation kind) {
    char *text = json_dumps(trial->root, JSON_COMPACT | JSON_ENCODE_ANY);
    assert_non_null(text);
    try_text(trial, kind, text, strlen(text));
    free(text);
}

/* ---------------------------------------------------------------------------------------------
 * Strings
 * ------------------------------------------------------------------------------------------- */

/* The decimal sum of a decimal string and a field's modulus. Returns out. */
static char *plus_modulus(const char *decimal, const struct pm_field *field, char out[256]) {
    uint8_t digits[200] = {0}; /* lowest first */
    size_t n = strlen(decimal);
    assert_true(n < 150);
    for (size_t bit = field->bytes * 8; bit-- > 0;) {
        unsigned carry = field->modulus[bit / 64] >> bit % 64 & 1;
        for (size_t i = 0; i < sizeof digits; ++i) {
            carry += 2u * digits[i];
            digits[i] = (uint8_t)(carry % 10);
            carry /= 10;
        }
    }
    unsigned carry = 0;
    for (size_t i = 0; i < sizeof digits; ++i) {
        carry += digits[i] + (i < n ? (unsigned)(decimal[n - 1 - i] - '0') : 0);
        digits[i] = (uint8_t)(carry % 10);
        carry /= 10;
    }
    size_t top = sizeof digits;
    while (top > 1 && digits[top - 1] == 0) {
        --top;
    }
    for (size_t i = 0; i < top; ++i) {
        out[i] = (char)('0' + digits[top - 1 - i]);
    }
    out[top] = '\0';
    return out;
}

static void try_string(const struct trial *trial, json_t *string, enum json_mutation kind,
                       const char *value, size_t n) {
    char *old = strdup(json_string_value(string));
    if (strlen(old) != n || memcmp(old, value, n) != 0) {
        assert_int_equal(json_string_setn_nocheck(string, value, n), 0);
        try_tree(trial, kind);
        assert_int_equal(json_string_set(string, old), 0);
    }
    free(old);
}

static void try_spellings(const struct trial *trial, json_t *string, const char *old) {
    static const char *const around[][2] = {{"-", ""},  {"+", ""},  {"0", ""},   {"00", ""},
                                            {" ", ""},  {"", " "},  {"0x", ""},  {"", ".0"},
                                            {"", "e0"}, {"", "\n"}, {"", "n"},   {"\t", ""},
                                            {"0b", ""}, {"'", "'"}, {"", "\x01"}};
    char value[256];
    for (size_t i = 0; i < sizeof around / sizeof around[0]; ++i) {
        (void)snprintf(value, sizeof value, "%s%s%s", around[i][0], old, around[i][1]);
        try_string(trial, string, JSON_FORM, value, strlen(value));
    }
    /* A NUL inside, after which a C string would end. */
    (void)snprintf(value, sizeof value, "%s", old);
    memcpy(value + strlen(old), "\0007", 2);
    try_string(trial, string, JSON_FORM, value, strlen(old) + 2);
}

static void mutate_number(const struct trial *trial, json_t *string) {
    const struct pm_field *fp = pm_field_fp(trial->good->curve, PM_BODY_PORTABLE);
    const struct pm_field *fr = pm_field_fr(trial->good->curve, PM_BODY_PORTABLE);
    static const char *const others[] = {"0", "1", "2", "12345678901234567890"};
    static const char *const junk[] = {"", " ", "-", "x", "0x", "NaN", "null", "1e3", "1,0"};
    char old[160], value[256];
    assert_true(strlen(json_string_value(string)) < sizeof old);
    (void)strcpy(old, json_string_value(string));
    try_spellings(trial, string, old);
    /* Signals are scalars, the coordinates of the other two are not. */
    plus_modulus(old, trial->document == PUBLIC ? fr : fp, value);
    try_string(trial, string, JSON_WRAPPED, value, strlen(value));
    plus_modulus("0", trial->document == PUBLIC ? fr : fp, value);
    try_string(trial, string, JSON_WRAPPED, value, strlen(value));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; ++i) {
        try_string(trial, string, JSON_OTHER, others[i], strlen(others[i]));
    }
    for (size_t i = 0; i < sizeof junk / sizeof junk[0]; ++i) {
        try_string(trial, string, JSON_JUNK, junk[i], strlen(junk[i]));
    }
    enum { HUGE_BYTES = 100000 };
    char *huge = malloc(HUGE_BYTES);
    assert_non_null(huge);
    memset(huge, '9', HUGE_BYTES);
    try_string(trial, string, JSON_JUNK, huge, 200);
    try_string(trial, string, JSON_JUNK, huge, HUGE_BYTES);
    free(huge);
}

/* ---------------------------------------------------------------------------------------------
 * The tree
 * ------------------------------------------------------------------------------------------- */

static json_t *of_other_type(size_t i) {
    switch (i) {
    case 0:
        return json_null();
    case 1:
        return json_true();
    case 2:
        return json_integer(1);
    case 3:
        return json_real(1.5);
    case 4:
        return json_object();
    case 5:
        return json_array();
    case 6:
        return json_string("groth17");
    case 7: { /* deeper than any of these files */
        json_t *deep = json_array();
        for (int depth = 0; depth < 200; ++depth) {
            json_t *outer = json_array();
            assert_int_equal(json_array_append_new(outer, deep), 0);
            deep = outer;
        }
        return deep;
    }
    default:
        return NULL;
    }
}

static void walk(const struct trial *trial, json_t *value);

static void walk_below(const struct trial *trial, json_t *value, const char *step) {
    struct trial below = *trial;
    const size_t n = strlen(below.path);
    (void)snprintf(below.path + n, sizeof below.path - n, ".%s", step);
    walk(&below, value);
}

/* "@name" is changed into a second "name" in the text, as a tree cannot hold two. */
static void try_doubled(const struct trial *trial, json_t *object, const char *name, json_t *twin) {
    char key[64], mark[64];
    (void)snprintf(key, sizeof key, "@%s", name);
    (void)snprintf(mark, sizeof mark, "\"@%s\"", name);
    assert_int_equal(json_object_set_new(object, key, twin), 0);
    char *text = json_dumps(trial->root, JSON_COMPACT);
    char *at = strstr(text, mark);
    assert_non_null(at);
    memmove(at + 1, at + 2, strlen(at + 2) + 1);
    try_text(trial, JSON_MEMBER_DOUBLED, text, strlen(text));
    free(text);
    assert_int_equal(json_object_del(object, key), 0);
}

static void mutate_member(const struct trial *trial, json_t *object, const char *name) {
    json_t *value = json_incref(json_object_get(object, name));
    char renamed[80];
    try_doubled(trial, object, name, json_deep_copy(value));
    try_doubled(trial, object, name, json_null());
    assert_int_equal(json_object_del(object, name), 0);
    try_tree(trial, JSON_MEMBER_MISSING);
    (void)snprintf(renamed, sizeof renamed, "%sx", name);
    assert_int_equal(json_object_set(object, renamed, value), 0);
    try_tree(trial, JSON_MEMBER_RENAMED);
    assert_int_equal(json_object_del(object, renamed), 0);
    for (size_t i = 0;; ++i) {
        json_t *other = of_other_type(i);
        if (other == NULL) {
            break;
        }
        if (json_typeof(other) != json_typeof(value) || i >= 6) {
            assert_int_equal(json_object_set(object, name, other), 0);
            try_tree(trial, JSON_TYPE);
        }
        json_decref(other);
    }
    assert_int_equal(json_object_set(object, name, value), 0);
    json_decref(value);
}

static void mutate_element(const struct trial *trial, json_t *array, size_t index) {
    json_t *value = json_incref(json_array_get(array, index));
    json_t *next = json_incref(json_array_get(array, index + 1));
    for (size_t i = 0;; ++i) {
        json_t *other = of_other_type(i);
        if (other == NULL) {
            break;
        }
        assert_int_equal(json_array_set(array, index, other), 0);
        try_tree(trial, JSON_TYPE);
        json_decref(other);
    }
    if (next != NULL && !json_equal(value, next)) {
        assert_int_equal(json_array_set(array, index, next), 0);
        assert_int_equal(json_array_set(array, index + 1, value), 0);
        try_tree(trial, JSON_ELEMENT_SWAPPED);
        assert_int_equal(json_array_set(array, index + 1, next), 0);
    }
    assert_int_equal(json_array_set(array, index, value), 0);
    assert_int_equal(json_array_insert(array, index, value), 0);
    try_tree(trial, JSON_ELEMENT_DOUBLED);
    assert_int_equal(json_array_remove(array, index), 0);
    assert_int_equal(json_array_remove(array, index), 0);
    try_tree(trial, JSON_ELEMENT_MISSING);
    assert_int_equal(json_array_insert(array, index, value), 0);
    json_decref(next);
    json_decref(value);
}

static void mutate_integer(const struct trial *trial, json_t *integer) {
    const json_int_t old = json_integer_value(integer);
    const json_int_t edges[] = {
        0,         1,        old - 1, old + 1, -1, INT64_C(1) << 31, UINT32_MAX, INT64_C(1) << 32,
        INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; ++i) {
        if (edges[i] != old) {
            assert_int_equal(json_integer_set(integer, edges[i]), 0);
            try_tree(trial, JSON_COUNT);
        }
    }
    assert_int_equal(json_integer_set(integer, old), 0);
}

static bool is_number(const json_t *string) {
    const char *text = json_string_value(string);
    return text[0] != '\0' && strspn(text, "0123456789") == strlen(text);
}

/* Everything that can be done to a value's parts, and so on downwards. */
static void walk(const struct trial *trial, json_t *value) {
    static const char *const members[] = {
        "pi_a",       "pi_b",      "pi_c",       "protocol",   "curve",           "nPublic",
        "vk_alpha_1", "vk_beta_2", "vk_gamma_2", "vk_delta_2", "vk_alphabeta_12", "IC"};
    if (json_is_object(value)) {
        size_t n = 0;
        for (size_t i = 0; i < sizeof members / sizeof members[0]; ++i) {
            if (json_object_get(value, members[i]) != NULL) {
                mutate_member(trial, value, members[i]);
                walk_below(trial, json_object_get(value, members[i]), members[i]);
                ++n;
            }
        }
        assert_int_equal(n, json_object_size(value));
        assert_int_equal(json_object_set_new(value, "comment", json_string("a stranger's")), 0);
        try_tree(trial, JSON_MEMBER_ADDED);
        assert_int_equal(json_object_del(value, "comment"), 0);
    } else if (json_is_array(value)) {
        for (size_t i = 0; i < json_array_size(value); ++i) {
            char step[24];
            (void)snprintf(step, sizeof step, "%zu", i);
            mutate_element(trial, value, i);
            walk_below(trial, json_array_get(value, i), step);
        }
    } else if (json_is_string(value) && is_number(value)) {
        mutate_number(trial, value);
    } else if (json_is_integer(value)) {
        mutate_integer(trial, value);
    }
}

/* ---------------------------------------------------------------------------------------------
 * The text
 * ------------------------------------------------------------------------------------------- */

static void mutate_text(const struct trial *trial) {
    static const char bytes[] = "\"[]{},:0189-+.e \\x\n\x7f\x80\xc3\xff";
    const char *text = trial->good->text[trial->document];
    const size_t n = trial->good->n_bytes[trial->document];
    const size_t step = is_slow ? 1 : 1 + n / 100;
    char *copy = malloc(n + 8);
    assert_non_null(copy);
    for (size_t cut = 0; cut < n; cut += step) {
        try_text(trial, JSON_CUT, text, cut);
    }
    for (size_t at = 0; at < n; at += step) {
        for (size_t i = 0; i < sizeof bytes; ++i) { /* the NUL too */
            memcpy(copy, text, n);
            if (copy[at] != bytes[i]) {
                copy[at] = bytes[i];
                try_text(trial, JSON_BYTE, copy, n);
            }
        }
    }
    static const char *const trailing[] = {"x", "{}", "]", "\"\"", ",", "\\", "1"};
    for (size_t i = 0; i < sizeof trailing / sizeof trailing[0]; ++i) {
        memcpy(copy, text, n);
        (void)strcpy(copy + n, trailing[i]);
        try_text(trial, JSON_TRAILING, copy, n + strlen(trailing[i]));
    }
    memcpy(copy, text, n);
    copy[n] = '\0'; /* B15: a reader of others' files must not take a NUL for the end */
    try_text(trial, JSON_TRAILING, copy, n + 1);
    free(copy);
}

/* ---------------------------------------------------------------------------------------------
 * Running
 * ------------------------------------------------------------------------------------------- */

static void require_ok(pm_status status, const pm_error *error) {
    if (status != PM_OK) {
        fail_msg("%s: %s (%s)", pm_status_name(status), error->message, error->file);
    }
}

static void open_statement(const char *name, struct statement *good) {
    pm_error error = PM_ERROR_INIT;
    const pm_context_options options = {.struct_bytes = sizeof options, .threads = 1};
    *good = (struct statement){.proof = {.struct_bytes = sizeof good->proof}};
    require_ok(pm_context_create(&options, &good->context, &error), &error);
    for (int i = 0; i < DOCUMENTS; ++i) {
        char path[PM_TEST_PATH_MAX], file[128];
        (void)snprintf(file, sizeof file, "%s/%s", name, document_files[i]);
        good->text[i] = pm_test_read_file(pm_data_path(path, file), &good->n_bytes[i]);
        assert_non_null(good->text[i]);
    }
    require_ok(pm_json_vk_parse(good->context, good->text[VKEY], good->n_bytes[VKEY], "vk",
                                &good->vk, &error),
               &error);
    good->curve = pm_vk_curve(good->vk);
    require_ok(pm_json_public_parse(good->text[PUBLIC], good->n_bytes[PUBLIC], "public",
                                    good->curve, &good->publics, &good->n_publics, &error),
               &error);
    require_ok(pm_json_proof_parse(good->text[PROOF], good->n_bytes[PROOF], "proof", good->curve,
                                   &good->proof, &error),
               &error);
    require_ok(
        pm_verify(good->context, good->vk, good->publics, good->n_publics, &good->proof, &error),
        &error);
}

static void close_statement(struct statement *good) {
    for (int i = 0; i < DOCUMENTS; ++i) {
        free(good->text[i]);
    }
    pm_vk_destroy(good->vk);
    pm_json_values_free(good->publics);
    pm_context_destroy(good->context);
}

static void try_statement(const char *name) {
    struct statement good;
    open_statement(name, &good);
    for (int i = 0; i < DOCUMENTS; ++i) {
        struct trial trial = {.good = &good, .document = (enum document)i, .path = "root"};
        trial.root = json_loads(good.text[i], 0, NULL);
        assert_non_null(trial.root);
        walk(&trial, trial.root);
        char *after = json_dumps(trial.root, JSON_COMPACT);
        json_t *original = json_loads(good.text[i], 0, NULL);
        assert_true(json_equal(trial.root, original)); /* each mutation was taken back */
        json_decref(original);
        free(after);
        json_decref(trial.root);
        trial.root = NULL;
        mutate_text(&trial);
    }
    close_statement(&good);
}

static void B1_B2_mutants_of_every_document(void **state) {
    (void)state;
    try_statement("mult3");
    try_statement("one_bls");
    if (is_slow) {
        try_statement("nopriv");
        try_statement("mult3_bls");
    }
}

static void enough_was_tried(void **state) {
    static const unsigned least_proof[JSON_MUTATIONS] = {
        [JSON_MEMBER_MISSING] = 10, [JSON_MEMBER_DOUBLED] = 20, [JSON_ELEMENT_MISSING] = 30,
        [JSON_FORM] = 380,          [JSON_WRAPPED] = 48,        [JSON_TYPE] = 300,
        [JSON_OTHER] = 80,          [JSON_JUNK] = 250,          [JSON_CUT] = 150,
        [JSON_BYTE] = 3500,
    };
    static const unsigned least_public[JSON_MUTATIONS] = {
        [JSON_ELEMENT_MISSING] = 3, [JSON_FORM] = 48, [JSON_WRAPPED] = 6, [JSON_TYPE] = 24,
        [JSON_OTHER] = 12,          [JSON_JUNK] = 30, [JSON_CUT] = 80,    [JSON_BYTE] = 2000,
    };
    static const unsigned least_vkey[JSON_MUTATIONS] = {
        [JSON_MEMBER_MISSING] = 18, [JSON_MEMBER_DOUBLED] = 36, [JSON_ELEMENT_MISSING] = 120,
        [JSON_FORM] = 1200,         [JSON_WRAPPED] = 160,       [JSON_TYPE] = 1000,
        [JSON_OTHER] = 300,         [JSON_JUNK] = 800,          [JSON_COUNT] = 19,
        [JSON_CUT] = 150,           [JSON_BYTE] = 4000,
    };
    static const unsigned *const least[DOCUMENTS] = {least_proof, least_public, least_vkey};
    (void)state;
    for (int i = 0; i < DOCUMENTS; ++i) {
        outcomes_print(&outcomes[i], row_words);
    }
    for (int i = 0; i < DOCUMENTS; ++i) {
        for (size_t kind = 0; kind < JSON_MUTATIONS; ++kind) {
            if (outcomes_in_row(&outcomes[i], kind) < least[i][kind]) {
                fail_msg("%s, %s: %u tried, at least %u wanted", document_files[i],
                         mutations[kind].words, outcomes_in_row(&outcomes[i], kind),
                         least[i][kind]);
            }
        }
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(B1_B2_mutants_of_every_document),
        cmocka_unit_test(enough_was_tried),
    };
    is_slow = outcome_is_slow(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
