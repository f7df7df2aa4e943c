/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The synthetic systems of the benchmarks: they hold, have exactly the proportions asked for, and
 * repeat nothing. Everything is counted from the bytes of the files.
 */
#include "support/file_builder.h"
#include "synthetic.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const names[] = {"porep", "sha256", "rollup", "uniform"};
static const pm_curve_id curves[] = {PM_CURVE_BN254, PM_CURVE_BLS12_381};

static pm_context *context;
static char *tree;
static uint64_t seed = 1;

static int suite_open(void **state) {
    (void)state;
    const char *given = getenv("PM_TEST_SEED");
    seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)getpid() << 20 | 1;
    print_message("PM_TEST_SEED=%llu\n", (unsigned long long)seed);
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_context_create(NULL, &context, &error), PM_OK);
    tree = file_make_tree();
    return 0;
}

static int suite_close(void **state) {
    (void)state;
    pm_context_destroy(context);
    file_remove_tree(tree);
    return 0;
}

static struct synthetic_options preset(const char *name, pm_curve_id curve, uint32_t log_n) {
    struct synthetic_options options = {.curve = curve, .seed = seed};
    assert_true(synthetic_preset(name, &options));
    synthetic_fill_domain(&options, log_n);
    return options;
}

struct files {
    const char *r1cs, *wtns;
    struct file_image system, witness;
    struct synthetic_facts facts;
};

static struct file_image read_image(const char *path) {
    void *bytes = NULL;
    struct file_image image = {0};
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_file_read(path, SIZE_MAX / 2, NULL, &bytes, &image.n_bytes, &error), PM_OK);
    image.bytes = malloc(image.n_bytes);
    assert_non_null(image.bytes);
    memcpy(image.bytes, bytes, image.n_bytes);
    pm_bytes_free(bytes, image.n_bytes);
    return image;
}

static struct files make(const struct synthetic_options *options) {
    struct files files = {.r1cs = file_in_tree(tree, "synthetic.r1cs"),
                          .wtns = file_in_tree(tree, "synthetic.wtns")};
    pm_error error = PM_ERROR_INIT;
    const pm_status status = synthetic_write(options, files.r1cs, files.wtns, &files.facts, &error);
    file_expect(status, PM_OK, &error, NULL, NULL, NULL);
    files.system = read_image(files.r1cs);
    files.witness = read_image(files.wtns);
    return files;
}

static void drop(struct files *files) {
    file_free(&files->system);
    file_free(&files->witness);
}

static pm_status check(const char *r1cs, const char *wtns, uint64_t *row) {
    pm_error error = PM_ERROR_INIT;
    pm_witness *witness = NULL;
    assert_int_equal(pm_witness_open(context, wtns, NULL, &witness, &error), PM_OK);
    const pm_status status = pm_r1cs_check_witness(context, r1cs, witness, NULL, row, &error);
    pm_witness_destroy(witness);
    return status;
}

/* ---- They hold ------------------------------------------------------------------------------- */

static void systems_hold(void **state) {
    (void)state;
    static const uint32_t sizes[] = {4, 5, 9, 13};
    for (size_t i = 0; i < 4 * 2 * 4; i++) {
        const struct synthetic_options options =
            preset(names[i / 8], curves[i / 4 % 2], sizes[i % 4]);
        struct files files = make(&options);
        uint64_t row = 0;
        assert_int_equal(check(files.r1cs, files.wtns, &row), PM_OK);
        drop(&files);
    }
}

/* A wrong value is seen, save where what it is multiplied by happens to be zero. */
static void wrong_values_are_seen(void **state) {
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        const struct synthetic_options options = preset(names[i], curves[i % 2], 7);
        struct files files = make(&options);
        size_t n_bytes, n_seen = 0;
        const size_t at = file_section(&files.witness, 2, &n_bytes);
        for (size_t wire = 1; wire < n_bytes / 32; wire++) {
            uint8_t *value = files.witness.bytes + at + 32 * wire;
            value[0] ^= 0x40;
            file_write(files.wtns, files.witness.bytes, files.witness.n_bytes);
            value[0] ^= 0x40;
            uint64_t row = 0;
            n_seen += check(files.r1cs, files.wtns, &row) == PM_UNSATISFIED;
        }
        assert_true(n_seen > n_bytes / 32 * 3 / 4);
        drop(&files);
    }
}

/* ---- Counting -------------------------------------------------------------------------------- */

struct count {
    uint64_t n_rows, n_wires, n_boolean, n_linear;
    uint64_t n_terms[3], n_in[3], n_values[4];
    uint64_t n_of_length[3][512];
    uint64_t *rows, *columns; /* a fingerprint of each */
};

static uint64_t fingerprint(uint64_t start, const void *bytes, size_t n) {
    uint64_t hash = (start + 1) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3;
        hash ^= hash >> 29;
    }
    return hash;
}

static uint32_t u32_at(const uint8_t *bytes) {
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static void count_values(const struct file_image *witness, struct count *count) {
    static const uint8_t zero[32];
    size_t n_bytes;
    const uint8_t *at = witness->bytes + file_section(witness, 2, &n_bytes);
    assert_int_equal(n_bytes, 32 * count->n_wires);
    for (uint64_t wire = 1; wire < count->n_wires; wire++) {
        const uint8_t *value = at + 32 * wire;
        const bool is_short = memcmp(value + 8, zero, 24) == 0;
        const bool is_bit = is_short && value[0] < 2 && memcmp(value + 1, zero, 7) == 0;
        count->n_values[is_bit ? value[0] : is_short ? SYNTHETIC_SMALL : SYNTHETIC_FULL]++;
    }
}

/* One combination; returns what follows it. */
static const uint8_t *count_combination(const uint8_t *at, int m, uint64_t row, uint8_t *used,
                                        struct count *count) {
    static const uint8_t zero[32];
    const uint32_t n = u32_at(at);
    count->n_terms[m] += n;
    count->n_of_length[m][n < 511 ? n : 511]++;
    at += 4;
    for (uint32_t i = 0; i < n; i++, at += 36) {
        const uint32_t wire = u32_at(at);
        assert_true(wire < count->n_wires);
        assert_memory_not_equal(at + 4, zero, 32);
        count->n_in[m] += wire != 0 && (used[wire] >> m & 1) == 0;
        used[wire] |= (uint8_t)(1 << m);
        count->columns[wire] += fingerprint(row * 3 + (uint64_t)m + 1, at + 4, 32);
    }
    return at;
}

static struct count count_all(const struct files *files) {
    struct count count = {0};
    size_t n_bytes;
    const uint8_t *header = files->system.bytes + file_section(&files->system, 1, &n_bytes);
    count.n_wires = u32_at(header + 36);
    count.n_rows = u32_at(header + 60);
    count.rows = calloc(count.n_rows, 8);
    count.columns = calloc(count.n_wires, 8);
    uint8_t *used = calloc(count.n_wires, 1);
    assert_true(count.rows != NULL && count.columns != NULL && used != NULL);
    const uint8_t *start = files->system.bytes + file_section(&files->system, 2, &n_bytes);
    const uint8_t *at = start;
    for (uint64_t row = 0; row < count.n_rows; row++) {
        const uint8_t *const begin = at;
        uint32_t n[3];
        for (int m = 0; m < 3; m++) {
            n[m] = u32_at(at);
            at = count_combination(at, m, row, used, &count);
        }
        count.rows[row] = fingerprint(1, begin, (size_t)(at - begin));
        count.n_boolean += n[2] == 0;
        count.n_linear += n[0] == 0 && n[1] == 0;
    }
    assert_int_equal(at - start, n_bytes);
    free(used);
    count_values(&files->witness, &count);
    return count;
}

static void count_free(struct count *count) {
    free(count->rows);
    free(count->columns);
}

static uint64_t part(double share, uint64_t n) {
    return (uint64_t)llround(share * (double)n);
}

static void expect_counts(const struct synthetic_options *options, const struct count *count) {
    const uint64_t wires = count->n_wires - 1;
    assert_int_equal(count->n_rows, options->n_rows);
    assert_int_equal(wires, part(options->wires_per_row, options->n_rows));
    assert_int_equal(count->n_boolean, part(options->boolean_rows, options->n_rows));
    assert_int_equal(count->n_linear, part(options->linear_rows, options->n_rows));
    for (int m = 0; m < 3; m++) {
        assert_int_equal(count->n_terms[m], part(options->terms_per_row[m], options->n_rows));
        assert_int_equal(count->n_in[m], part(options->density[m], wires));
    }
    for (int i = 0; i < 4; i++) { /* to one, as they add up to all wires */
        const uint64_t expected = part(options->values[i], wires);
        assert_in_range(count->n_values[i], expected - (expected > 0), expected + 1);
    }
}

static void proportions_are_exact(void **state) {
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        const struct synthetic_options options = preset(names[i], curves[i % 2], 16);
        struct files files = make(&options);
        struct count count = count_all(&files);
        expect_counts(&options, &count);
        assert_int_equal(count.n_rows, files.facts.n_rows);
        assert_memory_equal(count.n_terms, files.facts.n_terms, sizeof count.n_terms);
        assert_memory_equal(count.n_in, files.facts.n_in, sizeof count.n_in);
        assert_memory_equal(count.n_values, files.facts.n_values, sizeof count.n_values);
        count_free(&count);
        drop(&files);
    }
}

static void expect_near(double found, double expected, double distance) {
    assert_true(fabs(found - expected) < distance);
}

/* The proportions of PoRep as numbers, not as the preset's fields. */
static void porep_is_porep(void **state) {
    (void)state;
    const struct synthetic_options options = preset("porep", PM_CURVE_BLS12_381, 17);
    struct files files = make(&options);
    struct count count = count_all(&files);
    const double rows = (double)count.n_rows, wires = (double)count.n_wires - 1;
    const double bits = (double)(count.n_values[0] + count.n_values[1]);
    expect_near(bits / wires, 0.98, 1e-4);
    expect_near((double)count.n_values[1] / bits, 0.5, 1e-4);
    expect_near((double)count.n_terms[0] / rows, 309405051. / 130278869, 1e-3);
    expect_near((double)count.n_terms[1] / rows, 130327340. / 130278869, 1e-3);
    expect_near((double)count.n_terms[2] / rows, 282656500. / 130278869, 1e-3);
    expect_near((double)count.n_in[0] / wires, 129753292. / 130169893, 1e-4);
    expect_near((double)count.n_in[1] / wires, 33112281. / 130169893, 1e-4);
    count_free(&count);
    drop(&files);
}

static void dials_turn(void **state) {
    (void)state;
    struct synthetic_options options = preset("porep", PM_CURVE_BN254, 14);
    const double values[4] = {0.3, 0.25, 0.2, 0.25}, terms[3] = {3, 2, 4},
                 density[3] = {0.8, 0.5, 0.7};
    memcpy(options.values, values, sizeof values);
    memcpy(options.terms_per_row, terms, sizeof terms);
    memcpy(options.density, density, sizeof density);
    options.boolean_rows = 0.1;
    options.linear_rows = 0.15;
    options.full_rows = 0.5;
    options.wires_per_row = 1.25;
    struct files files = make(&options);
    struct count count = count_all(&files);
    expect_counts(&options, &count);
    uint64_t row = 0;
    assert_int_equal(check(files.r1cs, files.wtns, &row), PM_OK);
    count_free(&count);
    drop(&files);
}

/* ---- Shape ----------------------------------------------------------------------------------- */

static int compare_u64(const void *a, const void *b) {
    uint64_t x, y;
    memcpy(&x, a, 8);
    memcpy(&y, b, 8);
    return x < y ? -1 : x > y;
}

static uint64_t n_repeated(uint64_t *values, uint64_t n) {
    uint64_t repeated = 0;
    qsort(values, n, 8, compare_u64);
    for (uint64_t i = 1; i < n; i++) {
        repeated += values[i] == values[i - 1];
    }
    return repeated;
}

static void nothing_repeats(void **state) {
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        const struct synthetic_options options = preset(names[i], curves[i % 2], 17);
        struct files files = make(&options);
        struct count count = count_all(&files);
        size_t n_bytes;
        const uint8_t *at = files.witness.bytes + file_section(&files.witness, 2, &n_bytes);
        uint64_t *full = calloc(count.n_wires, 8), n_full = 0;
        assert_non_null(full);
        for (uint64_t wire = 1; wire < count.n_wires; wire++) {
            memcpy(&full[n_full], at + 32 * wire + 8, 8); /* zero in the values that are not full */
            n_full += full[n_full] != 0;
        }
        assert_int_equal(n_full, count.n_values[SYNTHETIC_FULL]);
        assert_int_equal(n_repeated(full, n_full), 0);
        assert_int_equal(n_repeated(count.rows, count.n_rows), 0);
        assert_int_equal(n_repeated(count.columns, count.n_wires), 0);
        free(full);
        count_free(&count);
        drop(&files);
    }
}

static void lengths_are_a_distribution(void **state) {
    (void)state;
    const struct synthetic_options options = preset("porep", PM_CURVE_BN254, 16);
    struct files files = make(&options);
    struct count count = count_all(&files);
    static const int matrices[] = {SYNTHETIC_A, SYNTHETIC_C};
    for (int i = 0; i < 2; i++) {
        const uint64_t *of_length = count.n_of_length[matrices[i]];
        uint64_t n_lengths = 0, n_long = 0;
        for (uint32_t length = 0; length < 512; length++) {
            n_lengths += of_length[length] != 0;
            n_long += length >= 32 ? of_length[length] : 0;
        }
        assert_true(n_lengths >= 8);
        assert_true(n_long > count.n_rows / 2000);
        assert_true(of_length[256] > 0);
        assert_true(of_length[1] + of_length[2] + of_length[3] > count.n_rows / 2);
    }
    count_free(&count);
    drop(&files);
}

static void the_domain_is_full(void **state) {
    (void)state;
    for (uint32_t log_n = 4; log_n <= 12; log_n++) {
        const struct synthetic_options options = preset("sha256", PM_CURVE_BN254, log_n);
        assert_int_equal(options.n_rows + options.n_public + 1, UINT64_C(1) << log_n);
        struct files files = make(&options);
        assert_int_equal(files.facts.log_n, log_n);
        drop(&files);
        struct synthetic_options more = options;
        more.n_rows++;
        files = make(&more);
        assert_int_equal(files.facts.log_n, log_n + 1);
        drop(&files);
    }
}

static void the_seed_decides(void **state) {
    (void)state;
    struct synthetic_options options = preset("rollup", PM_CURVE_BN254, 8);
    struct files first = make(&options), same = make(&options);
    options.seed++;
    struct files other = make(&options);
    assert_int_equal(first.system.n_bytes, same.system.n_bytes);
    assert_memory_equal(first.system.bytes, same.system.bytes, first.system.n_bytes);
    assert_memory_equal(first.witness.bytes, same.witness.bytes, first.witness.n_bytes);
    assert_int_equal(first.system.n_bytes, other.system.n_bytes);
    assert_memory_not_equal(first.system.bytes, other.system.bytes, first.system.n_bytes);
    assert_memory_not_equal(first.witness.bytes, other.witness.bytes, first.witness.n_bytes);
    drop(&first);
    drop(&same);
    drop(&other);
}

static void expect_refusal(const struct synthetic_options *options, const char *word) {
    const char *r1cs = file_in_tree(tree, "refused.r1cs"),
               *wtns = file_in_tree(tree, "refused.wtns");
    pm_error error = PM_ERROR_INIT;
    file_expect(synthetic_write(options, r1cs, wtns, NULL, &error), PM_INVALID_ARGUMENT, &error,
                word, NULL, NULL);
    assert_int_not_equal(access(r1cs, F_OK), 0);
    assert_int_not_equal(access(wtns, F_OK), 0);
}

static void the_impossible_is_refused(void **state) {
    (void)state;
    const struct synthetic_options good = preset("porep", PM_CURVE_BN254, 10);
    struct synthetic_options bad = good;
    bad.values[0] = 0.9;
    expect_refusal(&bad, "share");
    bad = good;
    bad.terms_per_row[SYNTHETIC_A] = 0.5;
    expect_refusal(&bad, "terms");
    bad = good;
    bad.density[SYNTHETIC_A] =
        0.5; /* and C has room for nine wires in ten, but not for the terms */
    bad.terms_per_row[SYNTHETIC_C] = 1;
    expect_refusal(&bad, "terms");
    bad = good;
    bad.density[SYNTHETIC_B] = 0.1;
    expect_refusal(&bad, "bits");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(systems_hold),
        cmocka_unit_test(wrong_values_are_seen),
        cmocka_unit_test(proportions_are_exact),
        cmocka_unit_test(porep_is_porep),
        cmocka_unit_test(dials_turn),
        cmocka_unit_test(nothing_repeats),
        cmocka_unit_test(lengths_are_a_distribution),
        cmocka_unit_test(the_domain_is_full),
        cmocka_unit_test(the_seed_decides),
        cmocka_unit_test(the_impossible_is_refused),
    };
    return cmocka_run_group_tests(tests, suite_open, suite_close);
}
