/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Assignments in files: what is written is read again, of every kind; the bytes are those of the
 * description (written here once more, by hand); cut at every byte, and with every byte of it
 * changed, a file is refused; counts that lie are, before anything is read or allocated by them.
 */
#include "base/blake2b.h"
#include "ff/field.h"
#include "support/bellman_circuit.h"
#include "support/file_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char *tree;
static pm_context *context;
static struct bellman_circuit circuit;

static int suite_open(void **state) {
    (void)state;
    const struct bellman_shape shape = bellman_shape_of_log_n(5);
    const pm_context_options options = {.struct_bytes = sizeof options, .threads = 2};
    tree = file_make_tree();
    bellman_circuit_make(&shape, 3, NULL, &circuit);
    return pm_context_create(&options, &context, NULL) == PM_OK ? 0 : -1;
}

static int suite_close(void **state) {
    (void)state;
    pm_context_destroy(context);
    bellman_circuit_free(&circuit);
    file_remove_tree(tree);
    return 0;
}

/* ---- By hand ----------------------------------------------------------------------------------
 */

struct parts {
    bool densities, vectors, c;
};

static pm_assignment assignment_of(const struct parts *parts) {
    const struct bellman_shape *shape = &circuit.shape;
    return (pm_assignment){
        .struct_bytes = sizeof(pm_assignment),
        .curve = PM_CURVE_BLS12_381,
        .form = PM_SCALAR_MONTGOMERY,
        .inputs = circuit.array[BELLMAN_INPUTS],
        .aux = circuit.array[BELLMAN_AUX],
        .n_inputs = shape->n_inputs,
        .n_aux = shape->n_aux,
        .a = parts->vectors ? circuit.array[BELLMAN_A] : NULL,
        .b = parts->vectors ? circuit.array[BELLMAN_B] : NULL,
        .c = parts->c ? circuit.array[BELLMAN_C] : NULL,
        .n_rows = shape->n_rows,
        .a_aux_density = parts->densities ? circuit.array[BELLMAN_A_AUX_DENSITY] : NULL,
        .b_input_density = parts->densities ? circuit.array[BELLMAN_B_INPUT_DENSITY] : NULL,
        .b_aux_density = parts->densities ? circuit.array[BELLMAN_B_AUX_DENSITY] : NULL};
}

static void put(struct file_image *file, const void *bytes, size_t n) {
    file->bytes = realloc(file->bytes, file->n_bytes + n + 64);
    assert_non_null(file->bytes);
    memcpy(file->bytes + file->n_bytes, bytes, n);
    file->n_bytes += n;
    memset(file->bytes + file->n_bytes, 0, 64);
    file->n_bytes = (file->n_bytes + 63) / 64 * 64;
}

static void put_density(struct file_image *file, enum bellman_array array, uint64_t n_bits) {
    uint64_t words[8] = {0};
    memcpy(words, circuit.array[array], (n_bits + 63) / 64 * 8);
    words[n_bits / 64] &= (UINT64_C(1) << n_bits % 64) - 1;
    put(file, words, (n_bits + 63) / 64 * 8);
}

static void seal(struct file_image *file) {
    struct pm_blake2b state;
    uint8_t digest[64];
    pm_blake2b_init(&state, sizeof digest);
    pm_blake2b_update(&state, file->bytes, file->n_bytes - sizeof digest);
    pm_blake2b_final(&state, digest);
    memcpy(file->bytes + file->n_bytes - sizeof digest, digest, sizeof digest);
}

static struct file_image by_hand(const struct parts *parts) {
    static const uint8_t zero[64];
    const struct bellman_shape *shape = &circuit.shape;
    struct file_image file = {0};
    uint8_t header[128] = "pmasg";
    const uint32_t words[4] = {
        1, 2, 1, (parts->densities ? 1u : 0u) | (parts->vectors ? 2u : 0u) | (parts->c ? 4u : 0u)};
    uint64_t counts[7] = {shape->n_inputs, shape->n_aux, parts->vectors ? shape->n_rows : 0};
    if (parts->densities) {
        counts[3] = shape->n_a_aux;
        counts[4] = 1;
        counts[5] = shape->n_b_aux;
    }
    memcpy(header + 8, words, sizeof words);
    put(&file, header, sizeof header);
    if (parts->densities) {
        put_density(&file, BELLMAN_A_AUX_DENSITY, shape->n_aux);
        put_density(&file, BELLMAN_B_INPUT_DENSITY, shape->n_inputs);
        put_density(&file, BELLMAN_B_AUX_DENSITY, shape->n_aux);
    }
    put(&file, circuit.array[BELLMAN_INPUTS], 32 * shape->n_inputs);
    put(&file, circuit.array[BELLMAN_AUX], 32 * shape->n_aux);
    for (int i = 0; i < 3 && parts->vectors && (i < 2 || parts->c); i++) {
        put(&file, circuit.array[BELLMAN_A + i], 32 * shape->n_rows);
    }
    put(&file, zero, sizeof zero);
    counts[6] = file.n_bytes;
    memcpy(file.bytes + 24, counts, sizeof counts);
    seal(&file);
    return file;
}

static const struct parts everything = {true, true, true};

/* ---- Good ones --------------------------------------------------------------------------------
 */

static void expect_read(const char *path, const pm_assignment *given) {
    pm_assignment_file *file = NULL;
    pm_assignment read = {.struct_bytes = sizeof read};
    pm_error error = PM_ERROR_INIT;
    file_expect(pm_assignment_file_open(path, NULL, &file, &error), PM_OK, &error, NULL, NULL,
                NULL);
    assert_int_equal(pm_assignment_file_get(file, &read, &error), PM_OK);
    assert_memory_equal(read.inputs, given->inputs, 32 * given->n_inputs);
    assert_memory_equal(read.aux, given->aux, 32 * given->n_aux);
    assert_true((read.a != NULL) == (given->a != NULL) && (read.c != NULL) == (given->c != NULL));
    assert_true((read.a_aux_density != NULL) == (given->a_aux_density != NULL));
    if (given->a != NULL) {
        assert_int_equal(read.n_rows, given->n_rows);
        assert_memory_equal(read.b, given->b, 32 * given->n_rows);
    }
    /* Each may be given back as soon as it has been read, and is there again. */
    for (int which = PM_ARRAY_INPUTS; which <= PM_ARRAY_C; which++) {
        read.release(read.user, (pm_assignment_array)which);
    }
    assert_memory_equal(read.aux, given->aux, 32 * given->n_aux);
    uint8_t *publics = bellman_circuit_publics(&circuit), *inputs = malloc(32 * given->n_inputs);
    assert_int_equal(pm_assignment_file_inputs(file, 1, given->n_inputs - 1, inputs, &error),
                     PM_OK);
    assert_memory_equal(inputs, publics, 32 * (given->n_inputs - 1));
    assert_int_equal(pm_assignment_file_inputs(file, 1, given->n_inputs, inputs, &error),
                     PM_INVALID_ARGUMENT);
    free(inputs);
    free(publics);
    pm_assignment_file_destroy(file);
}

static void every_kind_is_written_as_described_and_read_again(void **state) {
    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        const struct parts parts = {(i & 1) != 0, (i & 2) != 0, (i & 4) != 0};
        if (parts.c && !parts.vectors) {
            continue;
        }
        const pm_assignment assignment = assignment_of(&parts);
        const char *path = file_in_tree(tree, "written.pmasg");
        struct file_image expected = by_hand(&parts);
        void *bytes = NULL;
        size_t n_bytes = 0;
        struct stat about;
        pm_error error = PM_ERROR_INIT;
        file_write(path, "old", 3);
        assert_int_equal(chmod(path, 0644), 0);
        file_expect(pm_assignment_file_write(path, &assignment, NULL, &error), PM_OK, &error, NULL,
                    NULL, NULL);
        assert_int_equal(stat(path, &about), 0);
        assert_int_equal(about.st_mode & 0777, 0600); /* also where it was another's */
        assert_int_equal(pm_file_read(path, 1 << 20, NULL, &bytes, &n_bytes, &error), PM_OK);
        assert_int_equal(n_bytes, expected.n_bytes);
        assert_memory_equal(bytes, expected.bytes, n_bytes);
        file_expect(pm_file_check(context, path, NULL, &error), PM_OK, &error, NULL, NULL, NULL);
        expect_read(path, &assignment);
        pm_bytes_free(bytes, n_bytes);
        file_free(&expected);
    }
}

static void it_is_described(void **state) {
    (void)state;
    const char *path = file_in_tree(tree, "described.pmasg");
    const pm_assignment assignment = assignment_of(&everything);
    pm_file_info info = {.struct_bytes = sizeof info};
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_assignment_file_write(path, &assignment, NULL, &error), PM_OK);
    assert_int_equal(pm_file_describe(context, path, 1, NULL, &info, &error), PM_OK);
    assert_int_equal(info.kind, PM_FILE_ASSIGNMENT);
    assert_string_equal(pm_file_kind_name(PM_FILE_ASSIGNMENT), "pmasg");
    assert_int_equal(info.version, 1);
    assert_int_equal(info.n_vectors, 3);
    assert_true(info.n_inputs == circuit.shape.n_inputs && info.n_aux == circuit.shape.n_aux);
    assert_true(info.n_rows == circuit.shape.n_rows && info.has_densities == 1);
    assert_true(info.n_density_bits[0] == circuit.shape.n_a_aux && info.n_density_bits[1] == 1 &&
                info.n_density_bits[2] == circuit.shape.n_b_aux);
    assert_int_equal(info.n_sections, 9);
    assert_string_equal(info.sections[8].name, "digest");
}

/* ---- Damage -----------------------------------------------------------------------------------
 */

static pm_status check_bytes(const uint8_t *bytes, size_t n_bytes, pm_error *error) {
    const char *path = file_in_tree(tree, "damaged.pmasg");
    file_write(path, bytes, n_bytes);
    *error = (pm_error)PM_ERROR_INIT;
    return pm_file_check(context, path, NULL, error);
}

static void cut_at_every_byte_it_is_refused(void **state) {
    (void)state;
    const struct parts small = {true, false, false};
    struct file_image file = by_hand(&small);
    for (size_t n = 0; n < file.n_bytes; n++) {
        pm_error error;
        const pm_status status = check_bytes(file.bytes, n, &error);
        if (status != (n < 8 ? PM_NOT_THIS_KIND : PM_TRUNCATED)) {
            fail_msg("cut at %zu: %s: %s", n, pm_status_name(status), error.message);
        }
        assert_true(error.offset <= n);
    }
    pm_error error;
    assert_int_equal(check_bytes(file.bytes, file.n_bytes + 1, &error), PM_LENGTH);
    file_free(&file);
}

/* Structure first, and what it leaves the digest finds. */
static void with_any_byte_changed_it_is_refused(void **state) {
    (void)state;
    struct file_image file = by_hand(&everything);
    unsigned n_by_digest = 0;
    for (size_t i = 0; i < file.n_bytes; i++) {
        pm_error error;
        file.bytes[i] ^= (uint8_t)(1u << i % 8);
        const pm_status status = check_bytes(file.bytes, file.n_bytes, &error);
        assert_int_not_equal(status, PM_OK);
        n_by_digest += strstr(error.message, "digest is another") != NULL;
        file.bytes[i] ^= (uint8_t)(1u << i % 8);
    }
    assert_true(n_by_digest > file.n_bytes / 2);
    file_free(&file);
}

/* What check finds behind a good digest. */
static void values_must_be_scalars(void **state) {
    (void)state;
    struct file_image file = by_hand(&everything);
    pm_file_info info = {.struct_bytes = sizeof info};
    pm_error error;
    assert_int_equal(check_bytes(file.bytes, file.n_bytes, &error), PM_OK);
    assert_int_equal(
        pm_file_describe(context, file_in_tree(tree, "damaged.pmasg"), 0, NULL, &info, &error),
        PM_OK);
    for (uint32_t i = 3; i < 8; i++) {
        const size_t at = (size_t)(info.sections[i].offset + info.sections[i].bytes) - 1;
        const uint8_t good = file.bytes[at];
        file.bytes[at] = 0xff;
        seal(&file);
        assert_int_equal(check_bytes(file.bytes, file.n_bytes, &error), PM_NOT_CANONICAL);
        assert_int_equal(error.offset, at - 31);
        file.bytes[at] = good;
    }
    const size_t one = (size_t)info.sections[3].offset;
    file.bytes[one] ^= 1;
    seal(&file);
    assert_int_equal(check_bytes(file.bytes, file.n_bytes, &error), PM_WITNESS_MISMATCH);
    file_free(&file);
}

/* ---- Hostile ones -----------------------------------------------------------------------------
 */

/* B8: counts that would overflow, or ask for more than there is. */
static void B8_counts_that_lie_are_refused(void **state) {
    (void)state;
    const uint64_t wrong[] = {0,
                              1,
                              UINT32_MAX,
                              UINT64_C(1) << 32,
                              (UINT64_C(1) << 32) + 1,
                              UINT64_MAX / 32,
                              UINT64_MAX / 32 + 2,
                              UINT64_MAX,
                              UINT64_C(1) << 59,
                              UINT64_C(1) << 63};
    struct file_image good = by_hand(&everything);
    for (size_t count = 0; count < 7; count++) {
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
            pm_error error;
            struct file_image file = file_copy(&good);
            uint64_t before;
            memcpy(&before, file.bytes + 24 + 8 * count, 8);
            if (before != wrong[i]) {
                memcpy(file.bytes + 24 + 8 * count, &wrong[i], 8);
                seal(&file);
                const pm_status status = check_bytes(file.bytes, file.n_bytes, &error);
                if (status != PM_COUNT && status != PM_LENGTH && status != PM_TRUNCATED &&
                    status != PM_ENCODING) { /* of padding that another array would have */
                    fail_msg("count %zu: %s: %s", count, pm_status_name(status), error.message);
                }
            }
            file_free(&file);
        }
    }
    file_free(&good);
}

static void words_of_the_header_are_checked(void **state) {
    (void)state;
    static const struct {
        size_t offset;
        uint32_t value;
        pm_status status;
    } wrong[] = {{8, 0, PM_VERSION},   {8, 2, PM_VERSION},     {12, 0, PM_CURVE},
                 {12, 3, PM_CURVE},    {16, 2, PM_ENCODING},   {20, 8, PM_ENCODING},
                 {20, 4, PM_ENCODING}, {20, ~0u, PM_ENCODING}, {80, 1, PM_ENCODING},
                 {124, 1, PM_ENCODING}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        pm_error error;
        struct file_image file = by_hand(&everything);
        memcpy(file.bytes + wrong[i].offset, &wrong[i].value, 4);
        seal(&file);
        const pm_status status = check_bytes(file.bytes, file.n_bytes, &error);
        if (status != wrong[i].status) {
            fail_msg("%zu: %s: %s", wrong[i].offset, pm_status_name(status), error.message);
        }
        file_free(&file);
    }
}

/* ---- Misuse -----------------------------------------------------------------------------------
 */

static void half_an_assignment_is_not_written(void **state) {
    (void)state;
    const char *path = file_in_tree(tree, "none.pmasg");
    pm_error error = PM_ERROR_INIT;
    for (unsigned i = 0; i < 9; i++) {
        pm_assignment assignment = assignment_of(&everything);
        switch (i) {
        case 0:
            assignment.inputs = NULL;
            break;
        case 1:
            assignment.aux = NULL;
            break;
        case 2:
            assignment.a = NULL;
            break;
        case 3:
            assignment.b = NULL;
            break;
        case 4:
            assignment.a_aux_density = NULL;
            break;
        case 5:
            assignment.b_input_density = NULL;
            break;
        case 6:
            assignment.form = 2;
            break;
        case 7:
            assignment.curve = 0;
            break;
        default:
            assignment.n_inputs = UINT64_MAX;
            break;
        }
        const pm_status status = pm_assignment_file_write(path, &assignment, NULL, &error);
        assert_true(status == PM_INVALID_ARGUMENT || status == PM_CURVE || status == PM_COUNT);
        assert_int_not_equal(access(path, F_OK), 0);
    }
    assert_int_equal(pm_assignment_file_write(NULL, NULL, NULL, &error), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_assignment_file_open(NULL, NULL, NULL, &error), PM_INVALID_ARGUMENT);
    pm_assignment_file_destroy(NULL);
}

static void a_cancelled_write_leaves_nothing(void **state) {
    (void)state;
    const char *path = file_in_tree(tree, "cancelled.pmasg");
    const volatile int cancel = 1;
    const pm_control control = {.struct_bytes = sizeof control, .cancel = &cancel};
    const pm_assignment assignment = assignment_of(&everything);
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_assignment_file_write(path, &assignment, &control, &error), PM_CANCELLED);
    assert_int_not_equal(access(path, F_OK), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_written_as_described_and_read_again),
        cmocka_unit_test(it_is_described),
        cmocka_unit_test(cut_at_every_byte_it_is_refused),
        cmocka_unit_test(with_any_byte_changed_it_is_refused),
        cmocka_unit_test(values_must_be_scalars),
        cmocka_unit_test(B8_counts_that_lie_are_refused),
        cmocka_unit_test(words_of_the_header_are_checked),
        cmocka_unit_test(half_an_assignment_is_not_written),
        cmocka_unit_test(a_cancelled_write_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, suite_open, suite_close);
}
