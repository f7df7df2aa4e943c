/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Every length and every count of every file kind, set to the values that break readers: each is
 * refused within a second, without memory to speak of, and with a sentence that says where. Names
 * that begin with a letter and a number are those of field reports of other provers.
 */
#include "io/container.h"
#include "io/params.h"
#include "io/r1cs.h"
#include "json/json.h"

#include "support/data_limit.h"
#include "support/file_builder.h"
#include "support/fixture.h"
#include "support/toy_circuits.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define SECONDS_MAX 1.0
#define GROWTH_KIB_MAX (64 * 1024)

static pm_context *context;

/* ---------------------------------------------------------------------------------------------
 * One attempt, in a process of its own
 * ------------------------------------------------------------------------------------------- */

typedef pm_status open_image(const struct file_image *image, pm_error *error);

struct outcome {
    int32_t status;
    double seconds;
    long growth_kib;
    pm_error error;
};

static double seconds_now(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static long peak_kib(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss : 0;
}

/* Opens a file of any contents in a child, whose peak is its own, and says how it went. */
static struct outcome attempt(open_image *open, const struct file_image *image) {
    struct outcome outcome = {.error = PM_ERROR_INIT};
    int ends[2], state = 0;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const long before_kib = peak_kib();
        const double begin = seconds_now();
        data_limit_set((size_t)GROWTH_KIB_MAX * 1024);
        outcome.status = (int32_t)open(image, &outcome.error);
        outcome.seconds = seconds_now() - begin;
        outcome.growth_kib = peak_kib() - before_kib;
        _exit(write(ends[1], &outcome, sizeof outcome) == (ssize_t)sizeof outcome ? 0 : 1);
    }
    assert_int_equal(close(ends[1]), 0);
    const ssize_t n = read(ends[0], &outcome, sizeof outcome);
    assert_int_equal(waitpid(child, &state, 0), child);
    assert_true(WIFEXITED(state) && WEXITSTATUS(state) == 0);
    assert_int_equal(n, sizeof outcome);
    assert_int_equal(close(ends[0]), 0);
    return outcome;
}

/* ---------------------------------------------------------------------------------------------
 * Lengths and counts in binary files
 * ------------------------------------------------------------------------------------------- */

/* Which values other than its own a field may have in a file that is accepted. */
enum tolerance { EXACT, LESS, ANY };

struct field {
    const char *name;
    uint32_t section; /* 0: the offset is one in the file */
    size_t offset;
    size_t n_bytes; /* 4 or 8 */
    bool is_big_endian;
    enum tolerance tolerance;
};

static uint64_t field_value(const uint8_t *at, const struct field *field) {
    uint64_t value = 0;
    memcpy(&value, at, field->n_bytes);
    return field->is_big_endian ? __builtin_bswap32((uint32_t)value) : value;
}

static void set_field(uint8_t *at, const struct field *field, uint64_t value) {
    value = field->is_big_endian ? __builtin_bswap32((uint32_t)value) : value;
    memcpy(at, &value, field->n_bytes);
}

static void check_refusal(const struct field *field, uint64_t value, const struct outcome *outcome,
                          const struct file_image *image, const char *place) {
    const pm_error *error = &outcome->error;
    if (outcome->status == PM_OK || strstr(error->message, place) == NULL) {
        fail_msg("%s = %" PRIu64 ": status %s, %s", field->name, value,
                 pm_status_name((pm_status)outcome->status), error->message);
    }
    assert_int_equal(error->status, outcome->status);
    assert_int_not_equal(outcome->status, PM_NO_MEMORY);
    assert_string_equal(error->file, "hostile");
    assert_true(error->offset <= image->n_bytes);
}

/* Sets one field of an image to each hostile value. place: what every sentence must contain. */
static void check_field(open_image *open, const struct file_image *image, const struct field *field,
                        const char *place) {
    struct file_image hostile = file_copy(image);
    const size_t base = field->section != 0 ? file_section(image, field->section, NULL) : 0;
    uint8_t *at = hostile.bytes + base + field->offset;
    const uint64_t own = field_value(at, field);
    const uint64_t values[] = {0,
                               1,
                               own - 1,
                               own + 1,
                               UINT64_C(1) << 31,
                               UINT32_MAX,
                               UINT64_C(1) << 32,
                               UINT64_C(1) << 63,
                               UINT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; ++i) {
        const uint64_t value = values[i];
        if (value == own || (field->n_bytes == 4 && value > UINT32_MAX)) {
            continue;
        }
        set_field(at, field, value);
        const struct outcome outcome = attempt(open, &hostile);
        if (outcome.seconds > SECONDS_MAX || outcome.growth_kib > GROWTH_KIB_MAX) {
            fail_msg("%s = %" PRIu64 ": %.2f s, %ld KiB", field->name, value, outcome.seconds,
                     outcome.growth_kib);
        }
        const bool may_pass = field->tolerance == ANY || (field->tolerance == LESS && value < own);
        if (!may_pass || outcome.status != PM_OK) {
            check_refusal(field, value, &outcome, &hostile, place);
        }
    }
    file_free(&hostile);
}

static void check_fields(open_image *open, const struct file_image *image,
                         const struct field *fields, size_t n, const char *place) {
    const struct outcome good = attempt(open, image);
    assert_int_equal(good.status, PM_OK);
    for (size_t i = 0; i < n; ++i) {
        check_field(open, image, &fields[i], place);
    }
}

/* The number of sections, and the length of each. */
static void check_section_table(open_image *open, const struct file_image *image) {
    const struct field count = {"the number of sections", 0, 8, 4, false, EXACT};
    uint32_t n_sections = 0;
    size_t at = 12;
    memcpy(&n_sections, image->bytes + 8, sizeof n_sections);
    check_field(open, image, &count, "section");
    for (uint32_t i = 0; i < n_sections; ++i) {
        const struct field length = {"a section's length", 0, at + 4, 8, false, EXACT};
        check_field(open, image, &length, "section");
        at += 12 + field_value(image->bytes + at + 4, &length);
    }
    assert_int_equal(at, image->n_bytes);
}

/* ---------------------------------------------------------------------------------------------
 * The file kinds
 * ------------------------------------------------------------------------------------------- */

static const pm_curve_id curves[] = {PM_CURVE_BN254, PM_CURVE_BLS12_381};

static pm_status open_zkey(const struct file_image *image, pm_error *error) {
    pm_key *key = NULL;
    const pm_status status =
        pm_key_open_memory(context, image->bytes, image->n_bytes, "hostile", NULL, &key, error);
    pm_key_destroy(key);
    return status;
}

static void B7_B8_zkey(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; ++i) {
        const size_t n8 = pm_curve_fp_bytes(curves[i]), sizes = 4 + n8 + 4 + PM_FR_BYTES;
        const size_t contribution = 64 + 4;
        const struct field fields[] = {
            {"n8q", 2, 0, 4, false, EXACT},
            {"n8r", 2, 4 + n8, 4, false, EXACT},
            {"nVars", 2, sizes, 4, false, EXACT},
            {"nPublic", 2, sizes + 4, 4, false, EXACT},
            {"domainSize", 2, sizes + 8, 4, false, EXACT},
            {"the number of coefficients", 4, 0, 4, false, EXACT},
            {"the number of contributions", 10, 64, 4, false, EXACT},
            {"the length of parameters", 10, contribution + 10 * n8 + 64 + 4, 4, false, EXACT}};
        struct file_image image = file_zkey(curves[i]);
        check_fields(open_zkey, &image, fields, sizeof fields / sizeof fields[0], "section");
        check_section_table(open_zkey, &image);
        file_free(&image);
    }
}

static pm_status open_wtns(const struct file_image *image, pm_error *error) {
    pm_witness *witness = NULL;
    const pm_status status = pm_witness_open_memory(context, image->bytes, image->n_bytes,
                                                    "hostile", NULL, &witness, error);
    pm_witness_destroy(witness);
    return status;
}

static void B7_B8_wtns(void **state) {
    (void)state;
    static const struct field fields[] = {
        {"n8", 1, 0, 4, false, EXACT},
        {"the number of values", 1, 4 + PM_FR_BYTES, 4, false, EXACT}};
    for (size_t i = 0; i < 2; ++i) {
        struct file_image image = file_wtns(curves[i]);
        check_fields(open_wtns, &image, fields, sizeof fields / sizeof fields[0], "section");
        check_section_table(open_wtns, &image);
        file_free(&image);
    }
}

static pm_status open_r1cs(const struct file_image *image, pm_error *error) {
    struct pm_mapping mapping;
    struct pm_r1cs r1cs;
    PM_TRY(pm_mapping_borrow(image->bytes, image->n_bytes, "hostile", &mapping, error));
    const pm_status status = pm_r1cs_open(&mapping, NULL, &r1cs, error);
    pm_mapping_close(&mapping);
    return status;
}

/* Every coefficient becomes 0x01..01, so that a reader that has lost its place meets no zeros,
 * which would be empty combinations. */
static void fill_coefficients(struct file_image *image) {
    uint8_t *at = image->bytes + file_section(image, 2, NULL);
    for (size_t i = 0; i < TOY_N_TERMS; ++i) {
        memset(at + 8, 1, PM_FR_BYTES);
        at += 4 + PM_R1CS_TERM_BYTES;
    }
}

/* Fewer inputs than wires are fine, as is any number of labels: they only describe. */
static void B7_B8_r1cs(void **state) {
    (void)state;
    enum { SIZES = 4 + PM_FR_BYTES };
    static const struct field fields[] = {
        {"n8", 1, 0, 4, false, EXACT},
        {"nWires", 1, SIZES, 4, false, EXACT},
        {"nPubOut", 1, SIZES + 4, 4, false, LESS},
        {"nPubIn", 1, SIZES + 8, 4, false, LESS},
        {"nPrvIn", 1, SIZES + 12, 4, false, LESS},
        {"nLabels", 1, SIZES + 16, 8, false, ANY},
        {"nConstraints", 1, SIZES + 24, 4, false, EXACT},
        {"terms of the first combination", 2, 0, 4, false, EXACT},
        {"terms of the last combination", 2, 5 * (4 + PM_R1CS_TERM_BYTES), 4, false, EXACT}};
    for (size_t i = 0; i < 2; ++i) {
        struct file_image image = file_r1cs(curves[i]);
        fill_coefficients(&image);
        check_fields(open_r1cs, &image, fields, sizeof fields / sizeof fields[0], "section");
        check_section_table(open_r1cs, &image);
        file_free(&image);
    }
}

static pm_status open_ptau(const struct file_image *image, pm_error *error) {
    struct pm_mapping mapping;
    struct pm_container container;
    PM_TRY(pm_mapping_borrow(image->bytes, image->n_bytes, "hostile", &mapping, error));
    const pm_status status = pm_container_open(&mapping, &pm_format_ptau, &container, error);
    pm_mapping_close(&mapping);
    return status;
}

static void B7_B8_ptau(void **state) {
    (void)state;
    struct file_image image = file_wtns(PM_CURVE_BN254);
    memcpy(image.bytes, "ptau", 4);
    file_patch_u32(&image, 0, 4, 1);
    check_section_table(open_ptau, &image);
    file_free(&image);
}

static pm_status open_params(const struct file_image *image, enum pm_params_extent extent,
                             pm_error *error) {
    struct pm_mapping mapping;
    struct pm_params params;
    PM_TRY(pm_mapping_borrow(image->bytes, image->n_bytes, "hostile", &mapping, error));
    const pm_status status = pm_params_open(&mapping, extent, &params, error);
    pm_mapping_close(&mapping);
    return status;
}

static pm_status open_whole_params(const struct file_image *image, pm_error *error) {
    return open_params(image, PM_PARAMS_WHOLE, error);
}

/* B8: a count of 2^32 - 1 made readers allocate up to 128 GB for a few bytes. */
static void B7_B8_params(void **state) {
    (void)state;
    static const struct pm_params_counts counts = {2, 3, 2, 4, 3};
    struct pm_params_layout layout;
    assert_int_equal(pm_params_layout_make(&counts, &layout, NULL), PM_OK);
    const size_t transcript_bytes = PM_PARAMS_CIRCUIT_HASH_BYTES + 4 + PM_PARAMS_CONTRIBUTION_BYTES;
    const struct file_image image = {calloc(1, layout.n_bytes + transcript_bytes),
                                     layout.n_bytes + transcript_bytes};
    assert_non_null(image.bytes);
    pm_params_write_counts(&layout, image.bytes);
    image.bytes[layout.n_bytes + PM_PARAMS_CIRCUIT_HASH_BYTES + 3] = 1;
    for (int part = PM_PARAMS_N_FIXED; part < PM_PARAMS_PARTS; ++part) {
        const struct field count = {pm_params_part_name((enum pm_params_part)part),
                                    0,
                                    layout.offset[part] - 4,
                                    4,
                                    true,
                                    EXACT};
        check_fields(open_whole_params, &image, &count, 1, "");
    }
    const struct field contributions = {"the number of contributions",
                                        0,
                                        layout.n_bytes + PM_PARAMS_CIRCUIT_HASH_BYTES,
                                        4,
                                        true,
                                        EXACT};
    check_fields(open_whole_params, &image, &contributions, 1, "transcript");
    free(image.bytes);
}

static pm_status open_bellman_vk(const struct file_image *image, pm_error *error) {
    pm_vk *vk = NULL;
    const pm_status status =
        pm_vk_from_bellman(context, image->bytes, image->n_bytes, 0, &vk, error);
    pm_vk_destroy(vk);
    (void)snprintf(error->file, sizeof error->file, "hostile"); /* this call takes no name */
    return status;
}

static void B7_B8_bellman_vk(void **state) {
    (void)state;
    static const bool is_g2[] = {false, false, true, true, false, true};
    static const struct field count = {"the number of ic points", 0, 864, 4, true, EXACT};
    const struct pm_curve *curve = pm_curve_get(PM_CURVE_BLS12_381, PM_BODY_PORTABLE);
    enum { N_IC = 3, VK_BYTES = 868 + N_IC * PM_G1_BYTES_MAX };
    struct file_image image = {calloc(1, VK_BYTES), VK_BYTES};
    assert_non_null(image.bytes);
    uint8_t *at = image.bytes;
    for (size_t i = 0; i < 6; ++i) {
        const struct pm_group *group = is_g2[i] ? curve->g2 : curve->g1;
        group->encode(at, PM_POINT_ZCASH_FULL, group->generator);
        at += group->affine_bytes;
    }
    at[3] = N_IC;
    for (at += 4; at < image.bytes + VK_BYTES; at += PM_G1_BYTES_MAX) {
        curve->g1->encode(at, PM_POINT_ZCASH_FULL, curve->g1->generator);
    }
    check_fields(open_bellman_vk, &image, &count, 1, "");
    file_free(&image);
}

static pm_status open_json_vk(const struct file_image *image, pm_error *error) {
    pm_vk *vk = NULL;
    const pm_status status = pm_json_vk_parse(context, (const char *)image->bytes, image->n_bytes,
                                              "hostile", &vk, error);
    pm_vk_destroy(vk);
    return status;
}

/* nPublic as text; beyond 2^63 - 1 it is no JSON integer any more. */
static void B8_json_vk(void **state) {
    (void)state;
    static const char *const values[] = {"0",
                                         "2",
                                         "-1",
                                         "2147483648",
                                         "4294967295",
                                         "9223372036854775807",
                                         "9223372036854775808",
                                         "18446744073709551615",
                                         "1e300",
                                         "\"1\""};
    static const char key[] = "\"nPublic\": ";
    char path[PM_TEST_PATH_MAX];
    char *text = pm_test_read_file(pm_data_path(path, "one/vkey.json"), NULL);
    assert_non_null(text);
    char *at = strstr(text, key);
    assert_non_null(at);
    at += sizeof key - 1;
    assert_memory_equal(at, "1,", 2);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; ++i) {
        char *hostile = NULL;
        const int n = asprintf(&hostile, "%.*s%s%s", (int)(at - text), text, values[i], at + 1);
        assert_true(n > 0);
        const struct file_image image = {(uint8_t *)hostile, (size_t)n};
        const struct outcome outcome = attempt(open_json_vk, &image);
        assert_true(outcome.status == PM_COUNT || outcome.status == PM_ENCODING);
        assert_string_equal(outcome.error.file, "hostile");
        assert_true(outcome.status == PM_ENCODING ||
                    strstr(outcome.error.message, "nPublic") != NULL);
        assert_true(outcome.seconds <= SECONDS_MAX && outcome.growth_kib <= GROWTH_KIB_MAX);
        free(hostile);
    }
    free(text);
}

static pm_status open_json_public(const struct file_image *image, pm_error *error) {
    uint8_t *values = NULL;
    size_t n = 0;
    const pm_status status = pm_json_public_parse((const char *)image->bytes, image->n_bytes,
                                                  "hostile", PM_CURVE_BN254, &values, &n, error);
    pm_json_values_free(values);
    return status;
}

/* B9: more than 64 MiB over the input's size. A tree of values takes up to seventy times its text.
 */
static void B9_json_trees(void **state) {
    (void)state;
    static const struct {
        open_image *open;
        const char *before, *value, *after;
        size_t n;
    } cases[] = {{open_json_public, "[", "\"\",", "\"1\"]", 1048570},
                 {open_json_public, "[", "[],", "1]", 520000},
                 {open_json_public, "[", "1,", "1]", 1048570},
                 {open_json_vk, "{\"x\":[", "\"\",", "1]}", 4190000},
                 {open_json_vk, "{\"x\":[", "{},", "1]}", 2090000},
                 {open_json_vk, "{\"x\":[", "{\"a\":1},", "1]}", 300000},
                 {open_json_vk, "{\"x\":[", "{},", "1]}", 235000}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const size_t n_value = strlen(cases[i].value);
        char *text = malloc(strlen(cases[i].before) + cases[i].n * n_value + 16);
        assert_non_null(text);
        char *at = stpcpy(text, cases[i].before);
        for (size_t k = 0; k < cases[i].n; ++k, at += n_value) {
            memcpy(at, cases[i].value, n_value);
        }
        at = stpcpy(at, cases[i].after);
        const struct file_image image = {(uint8_t *)text, (size_t)(at - text)};
        const struct outcome outcome = attempt(cases[i].open, &image);
        const bool is_refusal = outcome.status == PM_LENGTH || outcome.status == PM_ENCODING ||
                                outcome.status == PM_PROTOCOL;
        const bool is_cheap = PM_TEST_IS_SANITIZED || (outcome.seconds <= SECONDS_MAX &&
                                                       outcome.growth_kib <= GROWTH_KIB_MAX);
        if (!is_refusal || !is_cheap) {
            fail_msg("case %zu: %.2f s, %ld KiB, %s", i, outcome.seconds, outcome.growth_kib,
                     outcome.error.message);
        }
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(B7_B8_zkey),   cmocka_unit_test(B7_B8_wtns),
        cmocka_unit_test(B7_B8_r1cs),   cmocka_unit_test(B7_B8_ptau),
        cmocka_unit_test(B7_B8_params), cmocka_unit_test(B7_B8_bellman_vk),
        cmocka_unit_test(B8_json_vk),   cmocka_unit_test(B9_json_trees)};
    context = toy_context(1, PM_ARITHMETIC_BEST);
    const int failures = cmocka_run_group_tests(tests, NULL, NULL);
    pm_context_destroy(context);
    return failures;
}
