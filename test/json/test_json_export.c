/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The exports of a key: a Solidity contract, and the whole key as snarkjs prints it. */
#include "json/json.h"
#include "json/json_decimal.h"

#include "support/file_builder.h"
#include "support/fixture.h"

#include <proofmill/proofmill.h>

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static pm_context *context;
static char *tree;

static int set_up(void **state) {
    (void)state;
    pm_context_options options = {.struct_bytes = (uint32_t)sizeof options, .threads = 1};
    tree = file_make_tree();
    return pm_context_create(&options, &context, NULL) == PM_OK ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    pm_context_destroy(context);
    file_remove_tree(tree);
    return 0;
}

static pm_key *open_key(const char *name) {
    char path[PM_TEST_PATH_MAX];
    pm_key *key = NULL;
    assert_int_equal(pm_key_open(context, pm_data_path(path, name), NULL, NULL, &key, NULL), PM_OK);
    return key;
}

static pm_vk *open_vk(const char *name) {
    pm_key *key = open_key(name);
    pm_vk *vk = NULL;
    assert_int_equal(pm_vk_from_key(context, key, &vk, NULL), PM_OK);
    pm_key_destroy(key);
    return vk;
}

/* ---------------------------------------------------------------------------------------------
 * Solidity
 * ------------------------------------------------------------------------------------------- */

static size_t count(const char *text, const char *what) {
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at += strlen(what)) {
        n++;
    }
    return n;
}

static void hex_of(char out[67], const uint8_t *value) {
    memcpy(out, "0x", 3);
    for (size_t i = 0; i < 32; i++) {
        (void)snprintf(out + 2 + 2 * i, 3, "%02x", value[31 - i]);
    }
}

/* "NAME =\n        0x...;" once. */
static void has_constant(const char *text, const char *name, const uint8_t *value) {
    char line[128], hex[67];
    hex_of(hex, value);
    (void)snprintf(line, sizeof line, "constant %s =\n        %s;\n", name, hex);
    assert_int_equal(count(text, line), 1);
}

static void has_points(const char *text, const pm_vk_arrays *vk) {
    const uint8_t *alpha = vk->alpha_g1;
    const struct {
        const char *x_c1, *x_c0, *y_c1, *y_c0;
        const uint8_t *point;
    } g2[] = {{"BETA_X_C1", "BETA_X_C0", "BETA_Y_C1", "BETA_Y_C0", vk->beta_g2},
              {"GAMMA_X_C1", "GAMMA_X_C0", "GAMMA_Y_C1", "GAMMA_Y_C0", vk->gamma_g2},
              {"DELTA_X_C1", "DELTA_X_C0", "DELTA_Y_C1", "DELTA_Y_C0", vk->delta_g2}};
    has_constant(text, "ALPHA_X", alpha);
    has_constant(text, "ALPHA_Y", alpha + 32);
    for (size_t i = 0; i < 3; i++) {
        has_constant(text, g2[i].x_c0, g2[i].point);
        has_constant(text, g2[i].x_c1, g2[i].point + 32);
        has_constant(text, g2[i].y_c0, g2[i].point + 64);
        has_constant(text, g2[i].y_c1, g2[i].point + 96);
    }
    const char *at = text;
    for (size_t i = 0; i < 2 * ((size_t)vk->n_public + 1); i++) {
        char hex[67];
        hex_of(hex, (const uint8_t *)vk->ic + 32 * i);
        at = strstr(at, hex); /* in this order */
        assert_non_null(at);
        at += sizeof hex - 1;
    }
}

static void is_well_formed(const char *text, size_t n_bytes) {
    static const char begin[] = "// SPDX-License-Identifier: Apache-2.0 OR MIT\n";
    assert_int_equal(strlen(text), n_bytes);
    assert_memory_equal(text, begin, sizeof begin - 1);
    assert_string_equal(text + n_bytes - 3, "\n}\n");
    assert_int_equal(count(text, "{"), count(text, "}"));
    assert_int_equal(count(text, "("), count(text, ")"));
    assert_int_equal(count(text, "["), count(text, "]"));
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        assert_true(strcspn(line, "\n") <= 100);
    }
    char modulus[128];
    (void)snprintf(modulus, sizeof modulus, "constant Q =\n        %s;",
                   pm_json_base_field(PM_CURVE_BN254)->modulus);
    assert_int_equal(count(text, modulus), 1);
    (void)snprintf(modulus, sizeof modulus, "constant R =\n        %s;",
                   pm_json_scalar_field(PM_CURVE_BN254)->modulus);
    assert_int_equal(count(text, modulus), 1);
}

static void test_a_contract_holds_the_keys_constants(void **state) {
    (void)state;
    static const char *const keys[] = {"mult3/mult3.zkey", "nopriv/nopriv.zkey", "one/one.zkey",
                                       "own_mimc/own_mimc.zkey"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        pm_vk *vk = open_vk(keys[i]);
        struct pm_json_text text = {NULL, 0};
        pm_vk_arrays arrays = {.struct_bytes = (uint32_t)sizeof arrays};
        char line[64];
        assert_int_equal(pm_vk_get_arrays(vk, &arrays), PM_OK);
        assert_int_equal(pm_json_solidity_write(vk, &text, NULL), PM_OK);
        is_well_formed(text.bytes, text.n_bytes);
        has_points(text.bytes, &arrays);
        (void)snprintf(line, sizeof line, "constant N_INPUTS = %u;\n", arrays.n_public);
        assert_int_equal(count(text.bytes, line), 1);
        assert_int_equal(count(text.bytes, "WARNING"), 0);
        pm_json_text_free(&text);
        pm_vk_destroy(vk);
    }
}

/* Solidity has no array of length 0. */
static void test_a_contract_without_signals_takes_none(void **state) {
    (void)state;
    pm_vk *model = open_vk("one/one.zkey"), *vk = NULL;
    struct pm_json_text text = {NULL, 0};
    pm_vk_arrays arrays = {.struct_bytes = (uint32_t)sizeof arrays};
    assert_int_equal(pm_vk_get_arrays(model, &arrays), PM_OK);
    arrays.n_public = 0;
    assert_int_equal(pm_vk_from_arrays(context, &arrays, &vk, NULL), PM_OK);
    assert_int_equal(pm_json_solidity_write(vk, &text, NULL), PM_OK);
    is_well_formed(text.bytes, text.n_bytes);
    has_points(text.bytes, &arrays);
    assert_int_equal(count(text.bytes, "N_INPUTS"), 0);
    assert_int_equal(count(text.bytes, "combine"), 0);
    pm_json_text_free(&text);
    pm_vk_destroy(vk);
    pm_vk_destroy(model);
}

static void test_a_contract_of_an_insecure_key_says_so(void **state) {
    (void)state;
    pm_vk *model = open_vk("one/one.zkey"), *vk = NULL;
    struct pm_json_text text = {NULL, 0};
    pm_vk_arrays arrays = {.struct_bytes = (uint32_t)sizeof arrays};
    assert_int_equal(pm_vk_get_arrays(model, &arrays), PM_OK);
    arrays.delta_g2 = arrays.gamma_g2;
    assert_int_equal(pm_vk_from_arrays(context, &arrays, &vk, NULL), PM_OK);
    assert_int_equal(pm_json_solidity_write(vk, &text, NULL), PM_OK);
    is_well_formed(text.bytes, text.n_bytes);
    assert_int_equal(count(text.bytes, "WARNING"), 1);
    pm_json_text_free(&text);
    pm_vk_destroy(vk);
    pm_vk_destroy(model);
}

static void test_no_contract_for_another_curve(void **state) {
    (void)state;
    pm_vk *vk = open_vk("one_bls/one_bls.zkey");
    struct pm_json_text text = {NULL, 0};
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_json_solidity_write(vk, &text, &error), PM_UNSUPPORTED);
    assert_non_null(strstr(error.message, "bls12381"));
    assert_null(text.bytes);
    pm_vk_destroy(vk);
}

/* ---------------------------------------------------------------------------------------------
 * The whole key
 * ------------------------------------------------------------------------------------------- */

static int n_entries(void) {
    int n = 0;
    DIR *directory = opendir(tree);
    assert_non_null(directory);
    while (readdir(directory) != NULL) {
        n++;
    }
    (void)closedir(directory);
    return n;
}

static pm_status write_key(const pm_key *key, const pm_control *control, const char *path,
                           pm_error *error) {
    pm_file_writer *writer = NULL;
    pm_status status = pm_file_writer_create(path, NULL, &writer, error);
    if (status == PM_OK) {
        status = pm_json_key_write(key, control, writer, error);
    }
    if (status == PM_OK) {
        status = pm_file_writer_publish(writer, error);
    }
    pm_file_writer_destroy(writer);
    return status;
}

static void test_a_key_is_written_as_snarkjs_does(void **state) {
    (void)state;
    static const char *const circuits[] = {"mult3", "nopriv", "mult3_bls"};
    for (size_t i = 0; i < sizeof circuits / sizeof circuits[0]; i++) {
        char name[64], path[PM_TEST_PATH_MAX];
        size_t n_ours = 0, n_theirs = 0;
        (void)snprintf(name, sizeof name, "%s/%s.zkey", circuits[i], circuits[i]);
        pm_key *key = open_key(name);
        const char *file = file_in_tree(tree, "key.json");
        assert_int_equal(write_key(key, NULL, file, NULL), PM_OK);
        (void)snprintf(name, sizeof name, "%s/zkey.snarkjs.json", circuits[i]);
        char *theirs = pm_test_read_file(pm_data_path(path, name), &n_theirs);
        char *ours = pm_test_read_file(file, &n_ours);
        assert_non_null(theirs);
        assert_non_null(ours);
        assert_string_equal(ours, theirs);
        assert_int_equal(n_ours, n_theirs);
        free(ours);
        free(theirs);
        pm_key_destroy(key);
        assert_int_equal(remove(file), 0);
    }
}

struct watched {
    volatile int cancel;
    uint64_t n_calls, done, total;
    bool cancels;
};

static void watch(void *user, const char *phase, uint64_t done, uint64_t total) {
    struct watched *watched = user;
    assert_string_equal(phase, "export");
    assert_true(done > watched->done || watched->n_calls == 0);
    assert_true(done <= total);
    watched->n_calls++;
    watched->done = done;
    watched->total = total;
    watched->cancel = watched->cancels;
}

/* own_mimc has pieces enough for several reports. */
static void test_an_export_tells_its_progress_and_can_be_cancelled(void **state) {
    (void)state;
    pm_key *key = open_key("own_mimc/own_mimc.zkey");
    const char *file = file_in_tree(tree, "key.json");
    const int n_before = n_entries();
    for (int cancels = 0; cancels < 2; cancels++) {
        struct watched watched = {.cancels = cancels != 0};
        const pm_control control = {.struct_bytes = (uint32_t)sizeof control,
                                    .cancel = &watched.cancel,
                                    .progress = watch,
                                    .user = &watched};
        const pm_status status = write_key(key, &control, file, NULL);
        assert_true(watched.n_calls > 0);
        if (cancels != 0) {
            assert_int_equal(status, PM_CANCELLED);
            assert_int_equal(n_entries(), n_before);
        } else {
            assert_int_equal(status, PM_OK);
            assert_int_equal(watched.done, watched.total);
            assert_int_equal(remove(file), 0);
        }
    }
    pm_key_destroy(key);
}

static void test_damaged_keys_are_not_exported(void **state) {
    (void)state;
    struct file_image whole = file_zkey(PM_CURVE_BN254);
    struct file_image without_ic = file_without(&whole, 3), off_range = file_copy(&whole);
    const uint8_t all_ones[32] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
                                  255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
                                  255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
    file_patch(&off_range, 9, 64, all_ones, sizeof all_ones);
    const struct {
        const struct file_image *file;
        pm_status status;
        const char *words;
    } cases[] = {{&whole, PM_OK, ""},
                 {&without_ic, PM_SECTION, "section 3"},
                 {&off_range, PM_NOT_CANONICAL, "H[1]"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pm_key *key = NULL;
        pm_error error = PM_ERROR_INIT;
        const char *file = file_in_tree(tree, "damaged.json");
        assert_int_equal(pm_key_open_memory(context, cases[i].file->bytes, cases[i].file->n_bytes,
                                            "key", NULL, &key, NULL),
                         PM_OK);
        assert_int_equal(write_key(key, NULL, file, &error), cases[i].status);
        assert_non_null(strstr(error.message, cases[i].words));
        assert_int_equal(remove(file) == 0, cases[i].status == PM_OK);
        pm_key_destroy(key);
    }
    file_free(&whole);
    file_free(&without_ic);
    file_free(&off_range);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_contract_holds_the_keys_constants),
        cmocka_unit_test(test_a_contract_without_signals_takes_none),
        cmocka_unit_test(test_a_contract_of_an_insecure_key_says_so),
        cmocka_unit_test(test_no_contract_for_another_curve),
        cmocka_unit_test(test_a_key_is_written_as_snarkjs_does),
        cmocka_unit_test(test_an_export_tells_its_progress_and_can_be_cancelled),
        cmocka_unit_test(test_damaged_keys_are_not_exported),
    };
    return cmocka_run_group_tests_name("json_export", tests, set_up, tear_down);
}
