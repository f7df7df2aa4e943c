/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Matrices in little memory: products against the definition, and rows that lie. */
#include "poly_setting.h"

#define TERM (4 + PM_FR_BYTES)

/* Rows in memory, handed out as a file's would be; every term at an odd address. */
struct rows {
    uint64_t n_rows, n_columns, n_terms;
    uint64_t *starts;      /* n_rows + 1 */
    unsigned char *memory; /* terms begin one byte into it */
    uint64_t n_calls;
    uint64_t change_at_call; /* the call that changes the rows; 0: none */
    enum { MORE_TERMS, FEWER_TERMS, OTHER_VALUE, OTHER_COLUMN, FAILURE } change;
};

static unsigned char *term_at(const struct rows *rows, uint64_t i) {
    return rows->memory + 1 + i * TERM;
}

static pm_status read_row(void *argument, uint64_t row, struct pm_sparse_row *out,
                          pm_error *error) {
    struct rows *rows = argument;
    assert_true(row == rows->n_calls % rows->n_rows); /* in order, from the first, each time */
    out->terms = term_at(rows, rows->starts[row]);
    out->n_terms = rows->starts[row + 1] - rows->starts[row];
    if (++rows->n_calls != rows->change_at_call) {
        return PM_OK;
    }
    switch (rows->change) {
    case MORE_TERMS:
        out->n_terms = rows->n_terms + 1; /* not all of them exist */
        break;
    case FEWER_TERMS:
        out->n_terms -= 1;
        break;
    case OTHER_VALUE:
        memset(term_at(rows, rows->starts[row]) + 4, 0x11, PM_FR_BYTES);
        break;
    case OTHER_COLUMN:
        memset(term_at(rows, rows->starts[row]), 0xff, 4);
        break;
    case FAILURE:
        return pm_error_set(error, PM_TRUNCATED, "the rows end here");
    }
    return PM_OK;
}

/* What stands in real systems: 1, -1, powers of two, and a few of full length. */
static void some_coefficient(const struct pm_field *fr, uint64_t *canonical) {
    static uint64_t repeated[3][WORDS];
    memset(canonical, 0, PM_FR_BYTES);
    const uint64_t kind = seeded_random_below(&entropy, 10);
    if (kind < 4) {
        canonical[0] = 1;
    } else if (kind < 6) {
        memcpy(canonical, fr->modulus, PM_FR_BYTES);
        canonical[0] -= 1;
    } else if (kind < 8) {
        const uint64_t bit = seeded_random_below(&entropy, 250);
        canonical[bit / 64] = UINT64_C(1) << bit % 64;
    } else {
        uint64_t *one_of = repeated[seeded_random_below(&entropy, 3)];
        if (kind == 8 && one_of[WORDS - 1] != 0 && fr->is_canonical(one_of)) {
            memcpy(canonical, one_of, PM_FR_BYTES);
            return;
        }
        random_scalar(fr, canonical);
        memcpy(one_of, canonical, PM_FR_BYTES);
    }
    if (kind == 9 && seeded_random_below(&entropy, 4) == 0) {
        memset(canonical, 0, PM_FR_BYTES); /* a term may be zero */
    }
}

/* n_rows rows of up to longest - 1 terms. */
static struct rows new_rows(const struct pm_field *fr, uint64_t n_rows, uint64_t n_columns,
                            uint64_t longest) {
    struct rows rows = {.n_rows = n_rows, .n_columns = n_columns};
    rows.starts = calloc(n_rows + 1, sizeof *rows.starts);
    assert_non_null(rows.starts);
    for (uint64_t row = 0; row < n_rows; row++) {
        rows.n_terms += seeded_random_below(&entropy, longest);
        rows.starts[row + 1] = rows.n_terms;
    }
    rows.memory = calloc(rows.n_terms * TERM + 1, 1);
    assert_non_null(rows.memory);
    for (uint64_t i = 0; i < rows.n_terms; i++) {
        uint64_t coefficient[WORDS];
        const uint32_t column = (uint32_t)seeded_random_below(&entropy, n_columns);
        some_coefficient(fr, coefficient);
        memcpy(term_at(&rows, i), &column, sizeof column);
        memcpy(term_at(&rows, i) + 4, coefficient, PM_FR_BYTES);
    }
    return rows;
}

static void free_rows(struct rows *rows) {
    free(rows->starts);
    free(rows->memory);
}

static struct pm_sparse_source source_of(const struct pm_field *fr, struct rows *rows) {
    return (struct pm_sparse_source){.fr = fr,
                                     .n_rows = rows->n_rows,
                                     .n_columns = rows->n_columns,
                                     .read_row = read_row,
                                     .argument = rows};
}

/* Outlives all matrices, which are taken off it when they are destroyed. */
static struct pm_ledger matrix_ledger;

/* Both walks; the memory is what was announced. */
static struct pm_sparse new_matrix(const struct pm_field *fr, struct rows *rows) {
    const struct pm_sparse_source source = source_of(fr, rows);
    struct pm_sparse_builder builder;
    struct pm_sparse matrix;
    const uint64_t before = pm_ledger_live_bytes(&matrix_ledger);
    assert_int_equal(pm_sparse_count(&source, &matrix_ledger, NULL, &builder, NULL), PM_OK);
    const uint64_t bytes = pm_sparse_bytes(&builder);
    assert_int_equal(pm_sparse_fill(&builder, &matrix_ledger, NULL, &matrix, NULL), PM_OK);
    pm_sparse_builder_destroy(&builder);
    assert_int_equal(pm_ledger_live_bytes(&matrix_ledger) - before, bytes);
    assert_int_equal(rows->n_calls, 2 * rows->n_rows);
    assert_int_equal(matrix.n_terms, rows->n_terms);
    return matrix;
}

/* ---------------------------------------------------------------- the matrix */

/* Each term is there, and no coefficient twice. */
static void check_contents(const struct instance *instance) {
    const struct pm_field *fr = instance->fr;
    struct rows rows = new_rows(fr, 300, 1000, 20);
    struct pm_sparse matrix = new_matrix(fr, &rows);
    for (uint64_t row = 0; row <= rows.n_rows; row++) {
        assert_int_equal(matrix.row_starts[row], rows.starts[row]);
    }
    for (uint64_t i = 0; i < rows.n_terms; i++) {
        const struct pm_sparse_entry entry = matrix.terms[i];
        assert_memory_equal(&entry.column, term_at(&rows, i), 4);
        assert_true(entry.coefficient < matrix.n_coefficients);
        uint64_t expected[WORDS];
        fr->to_mont(expected, term_at(&rows, i) + 4, 1);
        fr->to_mont(expected, expected, 1);
        assert_vectors_equal(matrix.coefficients + (uint64_t)entry.coefficient * WORDS, expected,
                             1);
    }
    for (uint64_t i = 0; i < matrix.n_coefficients; i++) {
        for (uint64_t j = 0; j < i; j++) {
            assert_memory_not_equal(matrix.coefficients + i * WORDS,
                                    matrix.coefficients + j * WORDS, PM_FR_BYTES);
        }
    }
    pm_sparse_destroy(&matrix);
    free_rows(&rows);
}

static void test_contents(void **state) {
    (void)state;
    for_each_instance(check_contents);
}

/* ---------------------------------------------------------------- products */

/* One byte into the block that is returned. */
static unsigned char *new_witness(const struct pm_field *fr, uint64_t n) {
    unsigned char *memory = calloc(n * PM_FR_BYTES + 1, 1);
    assert_non_null(memory);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t value[WORDS] = {0};
        const uint64_t kind = seeded_random_below(&entropy, 6);
        if (kind < 4) {
            value[0] = kind / 2; /* bits */
        } else if (kind == 4) {
            value[0] = seeded_random_u64(&entropy);
        } else {
            random_scalar(fr, value);
        }
        memcpy(memory + 1 + i * PM_FR_BYTES, value, PM_FR_BYTES);
    }
    return memory;
}

static uint64_t *expected_product(const struct pm_field *fr, const struct rows *rows,
                                  const unsigned char *witness, uint64_t n) {
    uint64_t *out = new_vector(n);
    for (uint64_t row = 0; row < rows->n_rows; row++) {
        for (uint64_t i = rows->starts[row]; i < rows->starts[row + 1]; i++) {
            uint32_t column;
            uint64_t coefficient[WORDS], value[WORDS];
            memcpy(&column, term_at(rows, i), sizeof column);
            fr->to_mont(coefficient, term_at(rows, i) + 4, 1);
            fr->to_mont(value, witness + (size_t)column * PM_FR_BYTES, 1);
            fr->mul(value, value, coefficient);
            fr->add(out + row * WORDS, out + row * WORDS, value);
        }
    }
    return out;
}

static void check_product_of(const struct instance *instance, uint64_t n_rows, uint64_t longest,
                             uint32_t log_n) {
    const struct pm_field *fr = instance->fr;
    const uint64_t n = UINT64_C(1) << log_n, n_columns = 200;
    struct rows rows = new_rows(fr, n_rows, n_columns, longest);
    struct pm_sparse matrix = new_matrix(fr, &rows);
    unsigned char *witness = new_witness(fr, n_columns);
    uint64_t *expected = expected_product(fr, &rows, witness + 1, n), *out = new_vector(n);
    for (uint32_t threads = 0; threads <= 4; threads++) {
        struct pm_team *team = threads == 0 ? NULL : new_team(threads);
        memset(out, 0x5a, n * PM_FR_BYTES);
        assert_int_equal(instance->poly->multiply_sparse(out, log_n, &matrix, witness + 1,
                                                         n_columns, team, NULL, NULL),
                         PM_OK);
        assert_vectors_equal(out, expected, n);
        pm_team_destroy(team);
    }
    pm_memory_free(out);
    pm_memory_free(expected);
    free(witness);
    pm_sparse_destroy(&matrix);
    free_rows(&rows);
}

static void check_products(const struct instance *instance) {
    check_product_of(instance, 0, 1, 0);
    check_product_of(instance, 0, 1, 11);
    check_product_of(instance, 1, 30000, 0); /* a row longer than the pace of the control */
    check_product_of(instance, 8, 10, 3);
    check_product_of(instance, 1500, 8, 12);
    check_product_of(instance, 4096, 12, 12);
}

static void test_products(void **state) {
    (void)state;
    for_each_instance(check_products);
}

static void check_arguments(const struct instance *instance) {
    struct rows rows = new_rows(instance->fr, 9, 200, 5);
    struct pm_sparse matrix = new_matrix(instance->fr, &rows);
    unsigned char *witness = new_witness(instance->fr, 200);
    uint64_t *out = new_vector(16);
    static const volatile int cancelled = 1;
    pm_control control = {.struct_bytes = sizeof control, .cancel = &cancelled};
    const struct pm_poly *poly = instance->poly;
    assert_int_equal(poly->multiply_sparse(out, 3, &matrix, witness, 200, NULL, NULL, NULL),
                     PM_INVALID_ARGUMENT);
    assert_int_equal(poly->multiply_sparse(out, 4, &matrix, witness, 199, NULL, NULL, NULL),
                     PM_INVALID_ARGUMENT);
    assert_int_equal(poly->multiply_sparse(out, 4, &matrix, witness, 200, NULL, &control, NULL),
                     PM_CANCELLED);
    control.cancel = NULL;
    control.deadline_ns = 1;
    assert_int_equal(poly->multiply_sparse(out, 4, &matrix, witness, 200, NULL, &control, NULL),
                     PM_DEADLINE);
    pm_memory_free(out);
    free(witness);
    pm_sparse_destroy(&matrix);
    free_rows(&rows);
}

static void test_arguments(void **state) {
    (void)state;
    for_each_instance(check_arguments);
}

/* ---------------------------------------------------------------- rows that lie */

static const struct pm_field *any_field(void) {
    return pm_field_fr(PM_CURVE_BLS12_381, PM_BODY_PORTABLE);
}

static void expect_count(struct rows *rows, pm_status expected) {
    const struct pm_sparse_source source = source_of(any_field(), rows);
    struct pm_ledger ledger = {0};
    struct pm_sparse_builder builder = {0};
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_sparse_count(&source, &ledger, NULL, &builder, &error), expected);
    assert_int_equal(error.status, expected);
    assert_null(builder.dictionary);
    assert_int_equal(pm_ledger_live_bytes(&ledger), 0);
}

static void test_hostile_rows(void **state) {
    (void)state;
    const uint32_t column = 100;
    struct rows rows = new_rows(any_field(), 50, 100, 8);
    memcpy(term_at(&rows, rows.n_terms - 1), &column, sizeof column);
    expect_count(&rows, PM_COUNT);
    free_rows(&rows);

    rows = new_rows(any_field(), 50, 100, 8);
    memcpy(term_at(&rows, rows.n_terms / 2) + 4, any_field()->modulus, PM_FR_BYTES);
    expect_count(&rows, PM_NOT_CANONICAL);
    free_rows(&rows);

    rows = new_rows(any_field(), 50, 100, 8);
    rows.change = FAILURE;
    rows.change_at_call = 50;
    expect_count(&rows, PM_TRUNCATED);
    rows.n_calls = rows.change_at_call = 0;
    rows.n_rows = UINT64_C(1) << 32;
    expect_count(&rows, PM_UNSUPPORTED);
    rows.n_rows = 50;
    rows.n_columns = UINT64_C(1) << 32;
    expect_count(&rows, PM_UNSUPPORTED);
    rows.n_columns = 100;
    rows.n_terms = UINT32_MAX; /* says the row; none of them is read */
    rows.change = MORE_TERMS;
    rows.change_at_call = 1;
    expect_count(&rows, PM_UNSUPPORTED);
    free_rows(&rows);
}

/* The second walk sees other rows than the first. */
static void test_rows_that_change(void **state) {
    (void)state;
    static const pm_status expected[] = {[MORE_TERMS] = PM_FILE_CHANGED,
                                         [FEWER_TERMS] = PM_FILE_CHANGED,
                                         [OTHER_VALUE] = PM_FILE_CHANGED,
                                         [OTHER_COLUMN] = PM_FILE_CHANGED,
                                         [FAILURE] = PM_TRUNCATED};
    for (int change = MORE_TERMS; change <= FAILURE; change++) {
        struct rows rows = new_rows(any_field(), 50, 100, 8);
        uint64_t row = 20;
        while (rows.starts[row] == rows.starts[row + 1]) {
            row++;
        }
        rows.change = change;
        rows.change_at_call = rows.n_rows + row + 1;
        const struct pm_sparse_source source = source_of(any_field(), &rows);
        struct pm_ledger ledger = {0};
        struct pm_sparse_builder builder;
        struct pm_sparse matrix = {.n_rows = 77};
        assert_int_equal(pm_sparse_count(&source, &ledger, NULL, &builder, NULL), PM_OK);
        const uint64_t before = pm_ledger_live_bytes(&ledger);
        pm_error error = PM_ERROR_INIT;
        assert_int_equal(pm_sparse_fill(&builder, &ledger, NULL, &matrix, &error),
                         expected[change]);
        assert_int_equal(error.status, expected[change]);
        assert_int_equal(matrix.n_rows, 77);
        assert_int_equal(pm_ledger_live_bytes(&ledger), before);
        pm_sparse_builder_destroy(&builder);
        assert_int_equal(pm_ledger_live_bytes(&ledger), 0);
        free_rows(&rows);
    }
}

static void test_control_and_null(void **state) {
    (void)state;
    static const volatile int cancelled = 1;
    const pm_control control = {.struct_bytes = sizeof control, .cancel = &cancelled};
    struct rows rows = new_rows(any_field(), 50, 100, 8);
    const struct pm_sparse_source source = source_of(any_field(), &rows);
    struct pm_sparse_builder builder;
    struct pm_sparse matrix;
    assert_int_equal(pm_sparse_count(&source, NULL, &control, &builder, NULL), PM_CANCELLED);
    assert_int_equal(pm_sparse_count(&source, NULL, NULL, &builder, NULL), PM_OK);
    assert_int_equal(pm_sparse_fill(&builder, NULL, &control, &matrix, NULL), PM_CANCELLED);
    pm_sparse_builder_destroy(&builder);
    pm_sparse_builder_destroy(NULL);
    pm_sparse_destroy(NULL);
    free_rows(&rows);
}

/* Every coefficient differs: the dictionary grows many times and loses none. */
static void test_many_coefficients(void **state) {
    (void)state;
    struct rows rows = new_rows(any_field(), 2000, 100, 20);
    for (uint64_t i = 0; i < rows.n_terms; i++) {
        uint64_t value[WORDS] = {i + 2};
        memcpy(term_at(&rows, i) + 4, value, PM_FR_BYTES);
    }
    struct pm_sparse matrix = new_matrix(any_field(), &rows);
    assert_int_equal(matrix.n_coefficients, rows.n_terms);
    for (uint64_t i = 0; i < rows.n_terms; i++) {
        assert_int_equal(matrix.terms[i].coefficient, i);
    }
    pm_sparse_destroy(&matrix);
    free_rows(&rows);
}

int main(void) {
    entropy = seeded_random_from_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contents),          cmocka_unit_test(test_products),
        cmocka_unit_test(test_arguments),         cmocka_unit_test(test_hostile_rows),
        cmocka_unit_test(test_rows_that_change),  cmocka_unit_test(test_control_and_null),
        cmocka_unit_test(test_many_coefficients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
