/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Whole sums as gpu/op does them, over kernels and a device that are this machine: plans, chunks,
 * pieces, lists and what the host adds in the end, against the CPU's sums. */
#include "gpu_classes_probe.h"
#include "msm/msm.h"
#include "support/seeded_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The operations are part of libproofmill-gpu, which needs CUDA to be built; they are compiled here
 * once more, over the tables of gpu_msm_host_kernels.inc. */
#define pm_gpu_msm_digits_bn254 gpu_host_digits_bn254_portable
#define pm_gpu_msm_digits_bls12_381 gpu_host_digits_bls12_381_portable
#define pm_gpu_msm_g1_bn254 gpu_host_g1_bn254_portable
#define pm_gpu_msm_g1_bls12_381 gpu_host_g1_bls12_381_portable
#define pm_gpu_msm_g2_bn254 gpu_host_g2_bn254_portable
#define pm_gpu_msm_g2_bls12_381 gpu_host_g2_bls12_381_portable
#include "gpu/op/gpu_msm_op.c"
#define min_u64 sum_min_u64
#define ceil_div sum_ceil_div
#define place sum_place
#define launched sum_launched
#define cut sum_cut
#define lay_out sum_lay_out
#include "gpu/op/gpu_sum_op.c"
#undef cut

static struct seeded_random entropy;
static uint64_t n_waits;

/* ---- The device ------------------------------------------------------------------------------ */

void pm_gpu_device_facts(const struct pm_gpu_device *device, struct pm_gpu_facts *facts) {
    (void)device;
    memset(facts, 0, sizeof *facts);
    facts->n_multiprocessors = 3;
}

pm_status pm_gpu_device_enter(struct pm_gpu_device *device, pm_error *error) {
    (void)device;
    (void)error;
    return PM_OK;
}

pm_status pm_gpu_device_check(struct pm_gpu_device *device, int cuda_status, const char *call,
                              uint64_t bytes, pm_error *error) {
    (void)device;
    (void)bytes;
    PM_FAIL_IF(cuda_status != 0, error, PM_DEVICE, "%s", call);
    return PM_OK;
}

void pm_gpu_device_count_launches(struct pm_gpu_device *device, uint64_t n) {
    (void)device;
    (void)n;
}

pm_status pm_gpu_stream_wait(const struct pm_gpu_stream *stream, pm_error *error) {
    (void)stream;
    (void)error;
    n_waits++;
    return PM_OK;
}

pm_status pm_gpu_event_record(const struct pm_gpu_event *event, const struct pm_gpu_stream *stream,
                              pm_error *error) {
    (void)event;
    (void)stream;
    (void)error;
    return PM_OK;
}

pm_status pm_gpu_fill(const struct pm_gpu_stream *stream, void *to, int byte, uint64_t bytes,
                      pm_error *error) {
    (void)stream;
    (void)error;
    memset(to, byte, bytes);
    return PM_OK;
}

pm_status pm_gpu_download(const struct pm_gpu_stream *stream, void *to, const void *from,
                          uint64_t bytes, pm_error *error) {
    (void)stream;
    (void)error;
    memcpy(to, from, bytes);
    return PM_OK;
}

/* ---- Kernels of no group --------------------------------------------------------------------- */

int pm_gpu_msm_sort_bytes(uint32_t n, uint32_t n_bits, size_t *bytes) {
    (void)n_bits;
    *bytes = 1000 + n / 8;
    return 0;
}

/* By counting, into the other half. */
int pm_gpu_msm_sort(void *scratch, size_t scratch_bytes, uint32_t *const keys[2],
                    uint32_t *const values[2], uint32_t n, uint32_t n_bits, int *where,
                    pm_gpu_raw_stream stream) {
    const uint32_t n_keys = UINT32_C(1) << n_bits;
    uint32_t *starts = calloc((size_t)n_keys + 1, sizeof *starts);
    (void)stream;
    memset(scratch, 0xee, scratch_bytes);
    assert_non_null(starts);
    for (uint32_t i = 0; i < n; i++) {
        starts[keys[0][i] % n_keys + 1]++;
    }
    for (uint32_t k = 0; k < n_keys; k++) {
        starts[k + 1] += starts[k];
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t to = starts[keys[0][i] % n_keys]++;
        keys[1][to] = keys[0][i];
        values[1][to] = values[0][i];
    }
    free(starts);
    *where = 1;
    return 0;
}

int pm_gpu_msm_find_extent(struct pm_gpu_msm_extent *extent, const uint32_t *keys, uint32_t n,
                           uint32_t n_buckets, uint32_t n_segments, uint32_t segment_min,
                           pm_gpu_raw_stream stream) {
    (void)stream;
    extent->n_entries = 0;
    while (extent->n_entries < n && keys[extent->n_entries] < n_buckets) {
        extent->n_entries++;
    }
    extent->segment = pm_gpu_msm_segment(extent->n_entries, n_segments, segment_min);
    return 0;
}

static int classify_by(gpu_classes_probe *class_of, const void *scalars, uint64_t n,
                       struct pm_gpu_class_word *classes) {
    memset(classes, 0, pm_gpu_classes_bytes(n));
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t class = class_of((const uint8_t *)scalars + i * PM_FR_BYTES);
        classes[i / 64].low |= (class & 1) << (i % 64);
        classes[i / 64].high |= (class >> 1) << (i % 64);
    }
    return 0;
}

static int classify_bn254(const void *scalars, uint64_t n, struct pm_gpu_class_word *classes,
                          pm_gpu_raw_stream stream) {
    (void)stream;
    return classify_by(gpu_classes_of_bn254_portable, scalars, n, classes);
}

static int classify_bls12_381(const void *scalars, uint64_t n, struct pm_gpu_class_word *classes,
                              pm_gpu_raw_stream stream) {
    (void)stream;
    return classify_by(gpu_classes_of_bls12_381_portable, scalars, n, classes);
}

pm_gpu_classify_launcher *const pm_gpu_classify_launch_bn254 = classify_bn254;
pm_gpu_classify_launcher *const pm_gpu_classify_launch_bls12_381 = classify_bls12_381;

int pm_gpu_list_count(const struct pm_gpu_list_range *range, struct pm_gpu_list_counts *counts,
                      pm_gpu_raw_stream stream) {
    (void)stream;
    for (uint64_t k = 0; k < pm_gpu_list_words(range); k++) {
        const struct pm_gpu_list_word word = pm_gpu_list_word_of(range, k);
        struct pm_gpu_list_counts *tile = &counts[k / PM_GPU_LIST_TILE_WORDS];
        if (k % PM_GPU_LIST_TILE_WORDS == 0) {
            *tile = (struct pm_gpu_list_counts){0, 0};
        }
        tile->n_units += pm_gpu_ones(word.units);
        tile->n_full += pm_gpu_ones(word.full);
    }
    return 0;
}

int pm_gpu_list_scan(struct pm_gpu_list_counts *counts, uint32_t n_tiles,
                     pm_gpu_raw_stream stream) {
    struct pm_gpu_list_counts sum = {0, 0};
    (void)stream;
    for (uint32_t t = 0; t < n_tiles; t++) {
        const struct pm_gpu_list_counts own = counts[t];
        counts[t] = sum;
        sum.n_units += own.n_units;
        sum.n_full += own.n_full;
    }
    counts[n_tiles] = sum;
    return 0;
}

int pm_gpu_list_write(const struct pm_gpu_list_range *range,
                      const struct pm_gpu_list_counts *counts, const struct pm_gpu_lists *lists,
                      pm_gpu_raw_stream stream) {
    struct pm_gpu_list_counts at = {0, 0};
    (void)stream;
    for (uint64_t k = 0; k < pm_gpu_list_words(range); k++) {
        const struct pm_gpu_list_word word = pm_gpu_list_word_of(range, k);
        const uint64_t density = range->rank == NULL ? 0 : range->density[range->first / 64 + k];
        if (k % PM_GPU_LIST_TILE_WORDS == 0) {
            at = counts[k / PM_GPU_LIST_TILE_WORDS];
        }
        for (uint32_t bit = 0; bit < 64 && (word.units | word.full) != 0; bit++) {
            pm_gpu_list_put(lists, &word, density, range->rank != NULL,
                            pm_gpu_list_first_scalar(range, k), pm_gpu_list_first_point(range, k),
                            &at, bit);
        }
        at.n_units += pm_gpu_ones(word.units);
        at.n_full += pm_gpu_ones(word.full);
    }
    return 0;
}

/* ---- Sums ------------------------------------------------------------------------------------ */

#define N_SCALARS 2600
#define WORDS (N_SCALARS / 64 + 1)

struct fixture {
    pm_curve_id id;
    enum pm_msm_group which;
    const struct pm_curve *curve;
    const struct pm_group *group;
    uint8_t *points; /* N_SCALARS */
    uint64_t (*scalars)[4];
    struct pm_gpu_class_word classes[WORDS];
    uint64_t density[WORDS];
    uint32_t rank[N_SCALARS / PM_MSM_RANK_STEP + 1];
};

static void make_scalars(struct fixture *f, uint32_t full_of_100) {
    const struct pm_field *fr = f->curve->fr;
    for (uint32_t i = 0; i < N_SCALARS; i++) {
        uint64_t *s = f->scalars[i];
        memset(s, 0, 32);
        s[0] = seeded_random_below(&entropy, 2);
        if (seeded_random_below(&entropy, 10) == 0) {
            fr->neg(s, s);
        }
        while (seeded_random_below(&entropy, 100) < full_of_100) {
            for (int k = 0; k < 4; k++) {
                s[k] = seeded_random_u64(&entropy);
            }
            s[3] >>= 256 - fr->bits;
            if (fr->is_canonical(s)) {
                break;
            }
            memset(s, 0, 32);
        }
    }
    assert_int_equal(
        pm_gpu_classify(&(struct pm_gpu_stream){0}, f->id, f->scalars, N_SCALARS, f->classes, NULL),
        PM_OK);
}

static void fixture_make(struct fixture *f, pm_curve_id id, enum pm_msm_group which) {
    struct pm_group_point p;
    memset(f, 0, sizeof *f);
    f->id = id;
    f->which = which;
    f->curve = pm_curve_get(id, PM_BODY_PORTABLE);
    f->group = which == PM_MSM_G1 ? f->curve->g1 : f->curve->g2;
    const uint32_t bytes = f->group->affine_bytes;
    f->points = aligned_alloc(64, ((size_t)N_SCALARS * bytes + 63) / 64 * 64);
    f->scalars = aligned_alloc(64, (N_SCALARS * sizeof *f->scalars + 63) / 64 * 64);
    assert_non_null(f->points);
    assert_non_null(f->scalars);
    f->group->from_affine(&p, f->group->generator);
    for (uint32_t i = 0; i < N_SCALARS; i++) {
        const uint64_t kind = seeded_random_below(&entropy, 12);
        uint8_t *at = f->points + (size_t)i * bytes;
        if (kind == 0) {
            memset(at, 0, bytes);
        } else if (kind == 1 && i > 0) {
            memcpy(at, at - bytes, bytes);
        } else {
            f->group->to_affine(at, &p);
            f->group->add_affine(&p, &p, f->group->generator);
        }
        f->density[i / 64] |= (uint64_t)(seeded_random_below(&entropy, 3) != 0) << (i % 64);
    }
    (void)pm_msm_rank_fill(f->density, N_SCALARS, f->rank);
}

static void fixture_free(struct fixture *f) {
    free(f->points);
    free(f->scalars);
}

/* By the CPU's double-and-add: no other code takes part. */
static void by_definition(const struct fixture *f, const struct pm_gpu_sum_input *input,
                          uint8_t *affine) {
    const uint32_t bytes = f->group->affine_bytes;
    struct pm_group_point sum, p;
    uint64_t point = 0;
    f->group->set_infinity(&sum);
    for (uint64_t i = input->first; i < input->first + input->n; i++) {
        const bool has = input->density == NULL || (f->density[i / 64] >> (i % 64) & 1) != 0;
        if (has) {
            f->group->from_affine(&p, f->points + point * bytes);
            f->group->mul(&p, &p, f->scalars[i], 4);
            f->group->add(&sum, &sum, &p);
        }
        point += has || !input->is_compact;
    }
    f->group->to_affine(affine, &sum);
}

/* One run in exactly so much; false: refused, and *need suffices. */
static bool run_within(const struct fixture *f, const struct pm_gpu_sum_input *input,
                       uint64_t limit_bytes, const uint8_t *wanted, uint64_t *need) {
    const bool lists = input->classes != NULL || input->density != NULL;
    const struct pm_gpu_stream stream = {0};
    uint64_t workspace_bytes, outputs_bytes;
    pm_error error = PM_ERROR_INIT;
    struct pm_group_point result;
    uint8_t got[PM_G2_BYTES_MAX];
    const pm_status status = pm_gpu_sum_bytes(NULL, f->id, f->which, input->n, lists, limit_bytes,
                                              &workspace_bytes, &outputs_bytes, &error);
    if (status != PM_OK) {
        assert_int_equal(status, PM_NO_MEMORY);
        assert_true(error.need > limit_bytes);
        *need = error.need;
        return false;
    }
    assert_true(workspace_bytes <= limit_bytes);
    uint8_t *workspace = aligned_alloc(256, (workspace_bytes + 255) / 256 * 256);
    uint8_t *outputs = aligned_alloc(256, (outputs_bytes + 255) / 256 * 256);
    assert_non_null(workspace);
    assert_non_null(outputs);
    memset(workspace, 0xee, workspace_bytes);
    memset(outputs, 0xee, outputs_bytes);
    n_waits = 0;
    assert_int_equal(pm_gpu_sum_run(&stream, input, workspace, workspace_bytes, outputs,
                                    outputs_bytes, &result, &error),
                     PM_OK);
    assert_true(n_waits > 0 || input->n == 0);
    f->group->to_affine(got, &result);
    assert_memory_equal(got, wanted, f->group->affine_bytes);
    free(workspace);
    free(outputs);
    return true;
}

static void check_input(const struct fixture *f, const struct pm_gpu_sum_input *input,
                        bool little) {
    uint8_t wanted[PM_G2_BYTES_MAX];
    uint64_t need = 0;
    by_definition(f, input, wanted);
    assert_true(run_within(f, input, UINT64_C(1) << 32, wanted, &need));
    if (little && input->n > 0) {
        assert_false(run_within(f, input, 256, wanted, &need));
        assert_true(run_within(f, input, need, wanted, &need));
        assert_true(run_within(f, input, need + need / 2, wanted, &need));
    }
}

static void check_group(pm_curve_id id, enum pm_msm_group which, uint64_t n) {
    static struct fixture f;
    fixture_make(&f, id, which);
    for (uint32_t round = 0; round < 10; round++) {
        make_scalars(&f, round == 0 ? 0 : 5);
        struct pm_gpu_sum_input input = {
            .curve = id, .group = which, .points = f.points, .scalars = f.scalars};
        input.first = round % 3 * 37;
        input.n = round % 4 == 3 ? seeded_random_below(&entropy, 70) : n;
        input.classes = round % 5 == 4 ? NULL : f.classes;
        if (round % 3 != 0 || input.classes == NULL) {
            input.density = f.density;
            input.is_compact = round % 2 == 0;
            input.rank = input.is_compact ? f.rank : NULL;
        }
        if (input.classes == NULL) {
            input.n = input.n < 300 ? input.n : 300; /* buckets take long on a host */
        }
        check_input(&f, &input, round % 2 == 0);
    }
    struct pm_gpu_sum_input input = {
        .curve = id, .group = which, .points = f.points, .scalars = f.scalars, .first = 5, .n = n};
    check_input(&f, &input, which == PM_MSM_G1 && id == PM_CURVE_BN254); /* each may be full */
    input.n = 0;
    check_input(&f, &input, false);
    fixture_free(&f);
}

static void test_bn254(void **state) {
    (void)state;
    check_group(PM_CURVE_BN254, PM_MSM_G1, 2500);
    check_group(PM_CURVE_BN254, PM_MSM_G2, 1500);
}

static void test_bls12_381(void **state) {
    (void)state;
    check_group(PM_CURVE_BLS12_381, PM_MSM_G1, 1500);
    check_group(PM_CURVE_BLS12_381, PM_MSM_G2, 1100);
}

/* Refused for the reason that is the true one, and need is enough. */
static void check_refusal(pm_curve_id id, enum pm_msm_group which, uint64_t n,
                          struct pm_gpu_msm_limits limits, bool of_workspace) {
    struct pm_gpu_msm_plan plan;
    pm_error error = PM_ERROR_INIT;
    uint64_t *limit = of_workspace ? &limits.workspace_bytes : &limits.outputs_bytes;
    assert_int_equal(pm_gpu_msm_plan_within(NULL, id, which, n, &limits, 0, &plan, &error),
                     PM_NO_MEMORY);
    assert_int_equal(error.have, *limit);
    assert_true(error.need > error.have);
    assert_non_null(strstr(error.message, of_workspace ? "a workspace of" : "for its outputs, "));
    *limit = error.need;
    assert_int_equal(pm_gpu_msm_plan_within(NULL, id, which, n, &limits, 0, &plan, &error), PM_OK);
    assert_true(plan.workspace_bytes <= limits.workspace_bytes);
    assert_true(plan.outputs_bytes <= limits.outputs_bytes);
}

static void test_refusals(void **state) {
    (void)state;
    for (uint64_t n = 1; n < UINT64_C(1) << 24; n = 5 * n + 1) {
        const enum pm_msm_group which = n % 2 == 0 ? PM_MSM_G1 : PM_MSM_G2;
        const pm_curve_id id = n % 3 == 0 ? PM_CURVE_BN254 : PM_CURVE_BLS12_381;
        struct pm_gpu_msm_plan widest;
        assert_int_equal(
            pm_gpu_msm_plan_make(NULL, id, which, n, UINT64_C(1) << 40, 0, &widest, NULL), PM_OK);
        const uint64_t one_chunk = widest.outputs_bytes;
        check_refusal(id, which, n, (struct pm_gpu_msm_limits){256, UINT64_MAX}, true);
        check_refusal(id, which, n, (struct pm_gpu_msm_limits){UINT64_MAX, 255}, false);
        check_refusal(id, which, n, (struct pm_gpu_msm_limits){256, one_chunk}, true);
        check_refusal(id, which, n, (struct pm_gpu_msm_limits){256, 3 * one_chunk}, true);
        check_refusal(id, which, n, (struct pm_gpu_msm_limits){widest.workspace_bytes, 1}, false);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_bn254),
                                       cmocka_unit_test(test_bls12_381)};
    entropy = seeded_random_from_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
