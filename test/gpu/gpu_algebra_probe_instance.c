/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* gpu_algebra_probe.h for one curve. The CPU's bodies make no difference here. */
#include "gpu_algebra_probe.h"

#include "gpu/curve/gpu_curve_instance.inc"

#include "gpu/kernel/gpu_ntt.inc"

#include <proofmill/proofmill.h>

#include <stdlib.h>
#include <string.h>

/* Elements of the tests are aligned to 8 bytes, ours to 16: copied in and out. */
#define PROBE_BINARY(K, op)                                                                        \
    static void probe_##K##_##op(void *r, const void *a, const void *b) {                          \
        K x, y;                                                                                    \
        memcpy(&x, a, sizeof x);                                                                   \
        memcpy(&y, b, sizeof y);                                                                   \
        K##_##op(&x, &x, &y);                                                                      \
        memcpy(r, &x, sizeof x);                                                                   \
    }
#define PROBE_UNARY(K, op)                                                                         \
    static void probe_##K##_##op(void *r, const void *a) {                                         \
        K x;                                                                                       \
        memcpy(&x, a, sizeof x);                                                                   \
        K##_##op(&x, &x);                                                                          \
        memcpy(r, &x, sizeof x);                                                                   \
    }
#define PROBE_FIELD(K)                                                                             \
    PROBE_BINARY(K, add)                                                                           \
    PROBE_BINARY(K, sub)                                                                           \
    PROBE_BINARY(K, mul)                                                                           \
    PROBE_UNARY(K, neg)                                                                            \
    PROBE_UNARY(K, dbl)                                                                            \
    PROBE_UNARY(K, sqr)                                                                            \
    PROBE_UNARY(K, inv)                                                                            \
    static void probe_##K##_batch_inv(void *a, void *scratch, size_t n) {                          \
        K *copy = aligned_alloc(16, 2 * n * sizeof(K));                                            \
        (void)scratch;                                                                             \
        memcpy(copy, a, n * sizeof(K));                                                            \
        K##_batch_inv(copy, copy + n, n);                                                          \
        memcpy(a, copy, n * sizeof(K));                                                            \
        free(copy);                                                                                \
    }
#define PROBE_PRIME(K)                                                                             \
    PROBE_FIELD(K)                                                                                 \
    PROBE_UNARY(K, to_mont)                                                                        \
    PROBE_UNARY(K, from_mont)                                                                      \
    static void probe_##K##_add_lazy(void *r, const void *a, const void *b) {                      \
        K x, y;                                                                                    \
        memcpy(&x, a, sizeof x);                                                                   \
        memcpy(&y, b, sizeof y);                                                                   \
        K##_add_lazy(&x, &x, &y);                                                                  \
        K##_reduce_once(&x, &x);                                                                   \
        memcpy(r, &x, sizeof x);                                                                   \
    }                                                                                              \
    static void probe_##K##_sub_lazy(void *r, const void *a, const void *b) {                      \
        K x, y;                                                                                    \
        memcpy(&x, a, sizeof x);                                                                   \
        memcpy(&y, b, sizeof y);                                                                   \
        K##_sub_lazy(&x, &x, &y);                                                                  \
        K##_reduce_once(&x, &x);                                                                   \
        memcpy(r, &x, sizeof x);                                                                   \
    }                                                                                              \
    static bool probe_##K##_is_canonical(const void *a) {                                          \
        K x;                                                                                       \
        memcpy(&x, a, sizeof x);                                                                   \
        return K##_is_canonical(&x);                                                               \
    }
#define PROBE_FIELD_TABLE(K)                                                                       \
    .bytes = sizeof(K), .add = probe_##K##_add, .sub = probe_##K##_sub, .mul = probe_##K##_mul,    \
    .neg = probe_##K##_neg, .dbl = probe_##K##_dbl, .sqr = probe_##K##_sqr,                        \
    .inv = probe_##K##_inv, .batch_inv = probe_##K##_batch_inv
#define PROBE_PRIME_TABLE(K)                                                                       \
    PROBE_FIELD_TABLE(K), .to_mont = probe_##K##_to_mont, .from_mont = probe_##K##_from_mont,      \
                          .add_lazy_then_reduce = probe_##K##_add_lazy,                            \
                          .sub_lazy_then_reduce = probe_##K##_sub_lazy,                            \
                          .is_canonical = probe_##K##_is_canonical

PROBE_PRIME(fp)
PROBE_PRIME(fr)
PROBE_FIELD(fp2)

#define PROBE_GROUP(G)                                                                             \
    static void probe_##G##_dbl(void *r, const void *p) {                                          \
        G##_jac x;                                                                                 \
        memcpy(&x, p, sizeof x);                                                                   \
        G##_jac_dbl(&x, &x);                                                                       \
        memcpy(r, &x, sizeof x);                                                                   \
    }                                                                                              \
    static void probe_##G##_add(void *r, const void *p, const void *q) {                           \
        G##_jac x, y;                                                                              \
        memcpy(&x, p, sizeof x);                                                                   \
        memcpy(&y, q, sizeof y);                                                                   \
        G##_jac_add(&x, &x, &y);                                                                   \
        memcpy(r, &x, sizeof x);                                                                   \
    }                                                                                              \
    static void probe_##G##_from_affine(void *r, const void *affine) {                             \
        G##_affine a;                                                                              \
        G##_jac x;                                                                                 \
        memcpy(&a, affine, sizeof a);                                                              \
        G##_jac_from_affine(&x, &a);                                                               \
        memcpy(r, &x, sizeof x);                                                                   \
    }                                                                                              \
    static void probe_##G##_to_affine(void *affine, const void *p) {                               \
        G##_affine a;                                                                              \
        G##_jac x;                                                                                 \
        memcpy(&x, p, sizeof x);                                                                   \
        G##_jac_to_affine(&a, &x);                                                                 \
        memcpy(affine, &a, sizeof a);                                                              \
    }                                                                                              \
    static void probe_##G##_accumulate(G##_xyzz *sum, const void *affine, const bool *negate,      \
                                       size_t n) {                                                 \
        G##_xyzz_set_inf(sum);                                                                     \
        for (size_t i = 0; i < n; i++) {                                                           \
            G##_affine a;                                                                          \
            memcpy(&a, (const char *)affine + i * sizeof a, sizeof a);                             \
            G##_xyzz_add_affine(sum, &a, negate != NULL && negate[i]);                             \
        }                                                                                          \
    }                                                                                              \
    static void probe_##G##_out(void *jac, const G##_xyzz *sum) {                                  \
        G##_jac x;                                                                                 \
        G##_xyzz_to_jac(&x, sum);                                                                  \
        memcpy(jac, &x, sizeof x);                                                                 \
    }                                                                                              \
    static void probe_##G##_sum(void *jac, const void *affine, const bool *negate, size_t n) {     \
        G##_xyzz sum;                                                                              \
        probe_##G##_accumulate(&sum, affine, negate, n);                                           \
        probe_##G##_out(jac, &sum);                                                                \
    }                                                                                              \
    static void probe_##G##_add_of_sums(void *jac, const void *p, size_t n_p, const void *q,       \
                                        size_t n_q) {                                              \
        G##_xyzz x, y;                                                                             \
        probe_##G##_accumulate(&x, p, NULL, n_p);                                                  \
        probe_##G##_accumulate(&y, q, NULL, n_q);                                                  \
        G##_xyzz_add(&x, &x, &y);                                                                  \
        probe_##G##_out(jac, &x);                                                                  \
    }                                                                                              \
    static void probe_##G##_dbl_of_sum(void *jac, const void *affine, size_t n) {                  \
        G##_xyzz x;                                                                                \
        probe_##G##_accumulate(&x, affine, NULL, n);                                               \
        G##_xyzz_dbl(&x, &x);                                                                      \
        probe_##G##_out(jac, &x);                                                                  \
    }
#define PROBE_GROUP_TABLE(G)                                                                       \
    .affine_bytes = sizeof(G##_affine), .jac_dbl = probe_##G##_dbl, .jac_add = probe_##G##_add,    \
    .jac_from_affine = probe_##G##_from_affine, .jac_to_affine = probe_##G##_to_affine,            \
    .xyzz_sum = probe_##G##_sum, .xyzz_add_of_sums = probe_##G##_add_of_sums,                      \
    .xyzz_dbl_of_sum = probe_##G##_dbl_of_sum

PROBE_GROUP(g1)
PROBE_GROUP(g2)

/* ---------------------------------------------------------------- factors */

static void probe_factor_mul(void *r, const void *x, const void *w, bool unreduced) {
    fr a, v;
    fr_factor f;
    memcpy(&a, x, sizeof a);
    memcpy(&v, w, sizeof v);
    fr_factor_from_mont(&f, &v);
    if (unreduced) {
        const fr zero = {{0}};
        fr_sub_lazy(&a, &a, &zero);
    }
    fr_factor_mul(&a, &a, &f);
    memcpy(r, &a, sizeof a);
}

static void probe_div_pow2(void *r, const void *a, uint32_t k) {
    fr x;
    memcpy(&x, a, sizeof x);
    fr_div_pow2(&x, &x, k);
    memcpy(r, &x, sizeof x);
}

/* ---------------------------------------------------------------- transforms */

static void root_of(fr *w, uint32_t log_order, int root) {
    const uint64_t snarkjs[FR_WORDS / 2] = PM_PARAM(FR_ROOT_OF_UNITY);
    const uint64_t bellman[FR_WORDS / 2] = PM_PARAM(FR_ROOT_OF_UNITY_BELLMAN);
    memcpy(w, root != 0 ? bellman : snarkjs, sizeof *w);
    for (uint32_t i = log_order; i < FR_TWO_ADICITY; i++) {
        fr_sqr(w, w);
    }
}

static fr_factor *new_factors(uint32_t log_n, int root) {
    const uint32_t n_factors = log_n == 0 ? 1 : UINT32_C(1) << (log_n - 1);
    fr_factor *factors = aligned_alloc(16, (n_factors + 1) * sizeof *factors);
    fr one, minus_one;
    fr_set_one(&one);
    fr_neg(&minus_one, &one);
    fr_factor_from_mont(&factors[0], &one);
    fr_factor_from_mont(&factors[n_factors], &minus_one);
    for (uint32_t k = 0; k + 1 < log_n; k++) {
        fr w;
        fr_factor f;
        root_of(&w, k + 2, root);
        fr_factor_from_mont(&f, &w);
        for (uint32_t b = 0; b < UINT32_C(1) << k; b++) {
            ntt_factor_double(factors, UINT32_C(1) << k, b, &f);
        }
    }
    return factors;
}

struct scale_tables {
    struct pm_gpu_scale scale;
    fr_factor *outer, *inner;
};

static void fill_powers(fr_factor *table, uint32_t count, uint32_t exponent_shift, uint32_t log_n,
                        bool bit_reversed, const fr *first, const fr *squares) {
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t p = i << exponent_shift;
        ntt_power_factor(&table[i], first, squares, bit_reversed ? ntt_reverse_bits(p, log_n) : p);
    }
}

static void new_scale(struct scale_tables *tables, uint32_t log_n,
                      const struct gpu_scale_request *request) {
    const uint32_t inner_log = log_n / 2;
    fr first, one, squares[32];
    memset(tables, 0, sizeof *tables);
    if (request->divide) {
        tables->scale.kind = PM_GPU_SCALE_DIVIDE;
        return;
    }
    memcpy(&first, request->first, sizeof first);
    memcpy(&squares[0], request->base, sizeof squares[0]);
    for (int i = 1; i < 32; i++) {
        fr_sqr(&squares[i], &squares[i - 1]);
    }
    fr_set_one(&one);
    tables->outer = aligned_alloc(16, sizeof(fr_factor) << (log_n - inner_log));
    tables->inner = aligned_alloc(16, sizeof(fr_factor) << inner_log);
    fill_powers(tables->outer, UINT32_C(1) << (log_n - inner_log), inner_log, log_n,
                request->bit_reversed, &first, squares);
    fill_powers(tables->inner, UINT32_C(1) << inner_log, 0, log_n, request->bit_reversed, &one,
                squares);
    tables->scale =
        (struct pm_gpu_scale){PM_GPU_SCALE_POWERS, inner_log, tables->outer, tables->inner};
}

#define THREADS_MAX (1 << (PM_GPU_NTT_TILE_LOG_MAX - PM_GPU_NTT_HELD_LOG))

/* A tile's registers and its shared memory. */
static struct {
    fr x[THREADS_MAX][NTT_HELD];
    fr shared[1 << PM_GPU_NTT_TILE_LOG_MAX];
} block;

static void exchange(const struct pm_gpu_ntt_pass *pass, uint32_t tile, uint32_t from,
                     uint32_t to) {
    const uint32_t n_threads = pm_gpu_ntt_pass_threads(pass);
    for (uint32_t t = 0; t < n_threads; t++) {
        const struct ntt_place place = ntt_place_of(pass, tile, t);
        for (uint32_t r = 0; r < NTT_HELD; r++) {
            block.shared[ntt_slot(pass, place, ntt_row(place.u, from, r))] = block.x[t][r];
        }
    }
    for (uint32_t t = 0; t < n_threads; t++) {
        const struct ntt_place place = ntt_place_of(pass, tile, t);
        for (uint32_t r = 0; r < NTT_HELD; r++) {
            block.x[t][r] = block.shared[ntt_slot(pass, place, ntt_row(place.u, to, r))];
        }
    }
}

struct pass_run {
    const struct pm_gpu_ntt_pass *pass;
    const fr_factor *factors;
    const struct pm_gpu_scale *scale_in, *scale_out;
    bool inverse, merge;
};

static void run_window(const struct pass_run *run, uint32_t tile, uint32_t window, uint32_t shift) {
    const struct pm_gpu_ntt_pass *pass = run->pass;
    const bool zero = pass->level == 0 && window == 0;
    for (uint32_t t = 0; t < pm_gpu_ntt_pass_threads(pass); t++) {
        const struct ntt_place place = ntt_place_of(pass, tile, t);
        ntt_window(block.x[t], ntt_window_first(pass, window), run->factors,
                   UINT32_C(1) << (pass->log_n - 1), ntt_window_block(pass, place, shift), zero,
                   run->inverse, run->merge);
    }
}

/* The kernel's own order of steps. */
static void run_tile(const struct pass_run *run, uint32_t tile, fr *vector) {
    const struct pm_gpu_ntt_pass *pass = run->pass;
    const uint32_t n_threads = pm_gpu_ntt_pass_threads(pass), n_windows = ntt_windows(pass);
    uint32_t shift = ntt_read_shift(pass, run->merge);
    for (uint32_t t = 0; t < n_threads; t++) {
        ntt_read(block.x[t], pass, ntt_place_of(pass, tile, t), shift, vector, run->scale_in);
    }
    for (uint32_t step = 0; step < n_windows; step++) {
        const uint32_t window = run->merge ? n_windows - 1 - step : step;
        const uint32_t wanted = ntt_window_shift(pass, window);
        if (wanted != shift) {
            exchange(pass, tile, shift, wanted);
            shift = wanted;
        }
        run_window(run, tile, window, shift);
    }
    const uint32_t last = ntt_write_shift(pass, run->merge);
    if (last != shift) {
        exchange(pass, tile, shift, last);
    }
    for (uint32_t t = 0; t < n_threads; t++) {
        ntt_write(block.x[t], pass, ntt_place_of(pass, tile, t), last, vector, run->scale_out);
    }
}

static void probe_ntt(void *vector, uint32_t log_n, uint32_t levels_max, uint32_t tile_log,
                      int root, bool inverse, bool merge, const struct gpu_scale_request *request) {
    static const struct pm_gpu_scale no_scale;
    const size_t bytes = sizeof(fr) << log_n;
    fr_factor *factors = new_factors(log_n, root);
    fr *x = aligned_alloc(16, bytes);
    struct scale_tables tables;
    struct pm_gpu_ntt_plan plan;
    memcpy(x, vector, bytes);
    new_scale(&tables, log_n, request);
    if (log_n < NTT_HELD_LOG) {
        ntt_few(x, log_n, factors, inverse, merge);
        for (uint32_t i = 0; request->out && i < UINT32_C(1) << log_n; i++) {
            ntt_scale(&x[i], &tables.scale, log_n, i);
        }
    } else {
        pm_gpu_ntt_plan_make(&plan, log_n, levels_max, tile_log);
        for (uint32_t i = 0; i < plan.n_passes; i++) {
            const uint32_t index = merge ? plan.n_passes - 1 - i : i;
            const struct pass_run run = {
                .pass = &plan.passes[index],
                .factors = factors,
                .scale_in = request->in && i == 0 ? &tables.scale : &no_scale,
                .scale_out = request->out && i + 1 == plan.n_passes ? &tables.scale : &no_scale,
                .inverse = inverse,
                .merge = merge};
            for (uint32_t tile = 0; tile < pm_gpu_ntt_pass_tiles(run.pass); tile++) {
                run_tile(&run, tile, x);
            }
        }
    }
    memcpy(vector, x, bytes);
    free(tables.outer);
    free(tables.inner);
    free(factors);
    free(x);
}

extern const struct gpu_algebra_probe PM_INSTANCE_NAME(gpu_algebra);
const struct gpu_algebra_probe PM_INSTANCE_NAME(gpu_algebra) = {.fp = {PROBE_PRIME_TABLE(fp)},
                                                                .fr = {PROBE_PRIME_TABLE(fr)},
                                                                .fp2 = {PROBE_FIELD_TABLE(fp2)},
                                                                .g1 = {PROBE_GROUP_TABLE(g1)},
                                                                .g2 = {PROBE_GROUP_TABLE(g2)},
                                                                .factor_mul = probe_factor_mul,
                                                                .div_pow2 = probe_div_pow2,
                                                                .ntt = probe_ntt};
