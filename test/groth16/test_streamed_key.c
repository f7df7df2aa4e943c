/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A mapped key that is given back behind the reader: several windows of each query, the same proof
 * to the bit whichever way it is made, and little of the file in memory at any time (report C8).
 *
 * The key is of the right shape and made of good points, but proves nothing; sums do not mind.
 */
#include "api/api_internal.h"
#include "io/zkey_writer.h"
#include "support/file_builder.h"
#include "support/fixture.h"
#include "support/seeded_random.h"
#include "support/toy_circuits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_VARS 270001u /* more than a window of G1, more than two of G2, and no multiple */
#define N_PUBLIC 3u
#define LOG_N 12u
#define N_COEFFICIENTS 400003u /* more than a window */
#define N_POINTS 61u           /* different ones, infinity among them */

static struct seeded_random source;

struct subject {
    pm_context *context;
    char *tree;
    const char *path;
    uint64_t file_bytes;
    pm_key *key;
    pm_witness *witness;
};

/* n points, the same few again and again. */
static uint8_t *make_points(const struct pm_group *group, uint64_t n, bool with_infinity) {
    uint8_t *points = malloc(n * group->affine_bytes);
    assert_non_null(points);
    struct pm_group_point sum;
    group->from_affine(&sum, group->generator);
    for (uint64_t i = 0; i < n && i < N_POINTS; ++i) {
        uint8_t affine[PM_G2_BYTES_MAX];
        group->add_affine(&sum, &sum, group->generator);
        group->to_affine(affine, &sum);
        if (with_infinity && i % 7 == 3) {
            memset(affine, 0, sizeof affine);
        }
        memcpy(points + i * group->affine_bytes, affine, group->affine_bytes);
    }
    for (uint64_t i = N_POINTS; i < n; ++i) {
        memcpy(points + i * group->affine_bytes, points + (i - N_POINTS) * group->affine_bytes,
               group->affine_bytes);
    }
    return points;
}

/* Rows never decrease. */
static pm_coefficient *make_coefficients(void) {
    pm_coefficient *coefficients = calloc(N_COEFFICIENTS, sizeof *coefficients);
    assert_non_null(coefficients);
    for (uint32_t i = 0; i < N_COEFFICIENTS; ++i) {
        coefficients[i].matrix = (uint32_t)seeded_random_below(&source, 2);
        coefficients[i].constraint = (uint32_t)((uint64_t)i * ((1u << LOG_N) - 5) / N_COEFFICIENTS);
        coefficients[i].signal = (uint32_t)seeded_random_below(&source, N_VARS);
        seeded_random_bytes(&source, coefficients[i].value, 8);
    }
    return coefficients;
}

static void write_key(struct subject *subject) {
    pm_error error = PM_ERROR_INIT;
    const struct pm_curve *curve = pm_curve_get(PM_CURVE_BN254, PM_BODY_PORTABLE);
    uint8_t *g1 = make_points(curve->g1, N_VARS, true), *g2 = make_points(curve->g2, N_VARS, true);
    uint8_t *h = make_points(curve->g1, 1u << LOG_N, false);
    pm_coefficient *coefficients = make_coefficients();
    const pm_key_arrays arrays = {.struct_bytes = sizeof arrays,
                                  .curve = PM_CURVE_BN254,
                                  .form = PM_POINT_MONTGOMERY_LE,
                                  .log_n = LOG_N,
                                  .n_vars = N_VARS,
                                  .n_public = N_PUBLIC,
                                  .alpha_g1 = h,
                                  .beta_g1 = h + 64,
                                  .delta_g1 = h + 128,
                                  .beta_g2 = g2,
                                  .gamma_g2 = g2 + 128,
                                  .delta_g2 = g2 + 256,
                                  .ic = h,
                                  .a = g1,
                                  .b1 = g1,
                                  .b2 = g2,
                                  .c = g1,
                                  .h = h,
                                  .coefficients = coefficients,
                                  .n_coefficients = N_COEFFICIENTS};
    void *image = NULL;
    toy_expect(pm_zkey_image(curve, &arrays, NULL, &image, &subject->file_bytes, &error), PM_OK,
               &error);
    file_write(subject->path, image, subject->file_bytes);
    pm_memory_free(image);
    free(coefficients);
    free(h);
    free(g2);
    free(g1);
}

/* Nearly all scalars are bits, as in real witnesses; some are of full size. */
static void make_witness(struct subject *subject) {
    pm_error error = PM_ERROR_INIT;
    uint8_t *values = calloc(N_VARS, PM_FR_BYTES);
    assert_non_null(values);
    values[0] = 1;
    for (uint32_t i = 1; i < N_VARS; ++i) {
        if (i % 16 == 5) {
            seeded_random_bytes(&source, values + (size_t)i * PM_FR_BYTES, PM_FR_BYTES - 1);
        } else {
            values[(size_t)i * PM_FR_BYTES] = (uint8_t)seeded_random_below(&source, 2);
        }
    }
    toy_expect(pm_witness_from_values(subject->context, PM_CURVE_BN254, values, N_VARS, NULL,
                                      &subject->witness, &error),
               PM_OK, &error);
    free(values);
}

static int open_subject(void **state) {
    static struct subject subject;
    pm_error error = PM_ERROR_INIT;
    source = seeded_random_from_environment();
    subject.context = toy_context(2, PM_ARITHMETIC_BEST);
    pm_context_set_strict(subject.context, true);
    subject.tree = file_make_tree();
    subject.path = file_in_tree(subject.tree, "wide.zkey");
    write_key(&subject);
    toy_expect(pm_key_open(subject.context, subject.path, NULL, NULL, &subject.key, &error), PM_OK,
               &error);
    make_witness(&subject);
    *state = &subject;
    return 0;
}

static int close_subject(void **state) {
    struct subject *subject = *state;
    pm_witness_destroy(subject->witness);
    pm_key_destroy(subject->key);
    file_remove_tree(subject->tree);
    pm_context_destroy(subject->context);
    return 0;
}

static pm_proof prove(const struct subject *subject, pm_vector_form form,
                      pm_key_residency residency, pm_b2_schedule b2) {
    static const struct pm_blinding blinding = {.r = {3, 1, 4, 1}, .s = {2, 7, 1, 8}};
    pm_error error = PM_ERROR_INIT;
    pm_proof proof;
    pm_prove_stats stats = {.struct_bytes = sizeof stats};
    const pm_prove_options options = {.struct_bytes = sizeof options,
                                      .no_self_verify = 1,
                                      .form = form,
                                      .residency = residency,
                                      .b2 = b2};
    toy_expect(pm_prove_with_blinding(subject->context, subject->key, subject->witness, &blinding,
                                      &options, NULL, &proof, &stats, &error),
               PM_OK, &error);
    assert_int_equal(stats.residency, residency);
    assert_int_equal(stats.peak_bytes, stats.planned_peak_bytes);
    return proof;
}

static void C8_windows_do_not_change_the_proof(void **state) {
    const struct subject *subject = *state;
    const pm_proof whole =
        prove(subject, PM_VECTORS_THREE, PM_RESIDENCY_KEEP, PM_B2_SCHEDULE_LATER);
    static const struct {
        pm_vector_form form;
        pm_key_residency residency;
        pm_b2_schedule b2;
    } manners[] = {{PM_VECTORS_THREE, PM_RESIDENCY_STREAM, PM_B2_SCHEDULE_LATER},
                   {PM_VECTORS_TWO, PM_RESIDENCY_STREAM, PM_B2_SCHEDULE_COPY},
                   {PM_VECTORS_TWO, PM_RESIDENCY_KEEP, PM_B2_SCHEDULE_COPY},
                   {PM_VECTORS_THREE, PM_RESIDENCY_STREAM, PM_B2_SCHEDULE_START}};
    for (size_t i = 0; i < sizeof manners / sizeof manners[0]; ++i) {
        const pm_proof proof = prove(subject, manners[i].form, manners[i].residency, manners[i].b2);
        assert_memory_equal(&proof, &whole, sizeof proof);
    }
}

/* A line of /proc/self/status in bytes. */
static uint64_t status_bytes(const char *name) {
    char line[256];
    unsigned long long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) {
            assert_int_equal(sscanf(line + strlen(name), ": %llu kB", &kib), 1);
        }
    }
    (void)fclose(file);
    return kib * 1024;
}

/* From now on VmHWM counts from what is resident now. False where the kernel does not do that. */
static bool forget_peak(void) {
    FILE *file = fopen("/proc/self/clear_refs", "w");
    const bool done = file != NULL && fputs("5", file) >= 0;
    return file != NULL && fclose(file) == 0 && done;
}

static void C8_a_streamed_key_leaves_memory_behind_the_reader(void **state) {
    struct subject *subject = *state;
    pm_error error = PM_ERROR_INIT;
    pm_key_destroy(subject->key);
    const uint64_t file_before = status_bytes("RssFile");
    const bool has_peak = forget_peak();
    const uint64_t all_before = status_bytes("VmRSS");
    toy_expect(pm_key_open(subject->context, subject->path, NULL, NULL, &subject->key, &error),
               PM_OK, &error);
    (void)prove(subject, PM_VECTORS_TWO, PM_RESIDENCY_STREAM, PM_B2_SCHEDULE_LATER);
    const uint64_t streamed = status_bytes("RssFile") - file_before;
    const uint64_t peak = status_bytes("VmHWM") - all_before;
    (void)prove(subject, PM_VECTORS_TWO, PM_RESIDENCY_KEEP, PM_B2_SCHEDULE_LATER);
    const uint64_t kept = status_bytes("RssFile") - file_before;
    print_message("  a key of %llu bytes: %llu of it stay when it is streamed, %llu when not; "
                  "peak with opening and proof %llu\n",
                  (unsigned long long)subject->file_bytes, (unsigned long long)streamed,
                  (unsigned long long)kept, (unsigned long long)peak);
    assert_true(streamed < subject->file_bytes / 16);
    assert_true(kept > subject->file_bytes / 4 * 3);
    if (has_peak) {
        assert_true(peak < subject->file_bytes / 2);
    } else {
        pm_say_skip("the kernel does not reset VmHWM: peak not checked");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C8_windows_do_not_change_the_proof),
        cmocka_unit_test(C8_a_streamed_key_leaves_memory_behind_the_reader),
    };
    return cmocka_run_group_tests(tests, open_subject, close_subject);
}
