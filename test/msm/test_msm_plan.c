/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The digits add up to the scalar for every window width; the pieces cover every point once a
 * window, keep all threads busy whatever the scalars are, and fit the scratch that was asked for.
 */
#include "msm_probe.h"
#include "support/seeded_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

extern const struct pm_msm_probe pm_msm_probe_bn254_portable, pm_msm_probe_bls12_381_portable;

static const struct pm_msm_probe *const probes[] = {&pm_msm_probe_bn254_portable,
                                                    &pm_msm_probe_bls12_381_portable};

static struct seeded_random entropy;

/* ---------------------------------------------------------------- digits */

struct wide {
    uint64_t limb[6];
};

/* wide += digit << shift, in two's complement. */
static void add_shifted(struct wide *sum, int64_t digit, uint32_t shift) {
    uint64_t term[6];
    for (int i = 0; i < 6; i++) {
        const int64_t limb_shift = (int64_t)shift - 64 * i;
        const uint64_t sign = digit < 0 ? UINT64_MAX : 0;
        if (limb_shift >= 64) {
            term[i] = 0;
        } else if (limb_shift >= 0) {
            term[i] = (uint64_t)digit << limb_shift;
        } else {
            term[i] = limb_shift > -64 ? (uint64_t)(digit >> -limb_shift) : sign;
        }
    }
    unsigned __int128 carry = 0;
    for (int i = 0; i < 6; i++) {
        carry += (unsigned __int128)sum->limb[i] + term[i];
        sum->limb[i] = (uint64_t)carry;
        carry >>= 64;
    }
}

static void check_digits(const struct pm_msm_probe *probe, const uint64_t scalar[4]) {
    unsigned char memory[33];
    memcpy(memory + 1, scalar, 32); /* no alignment */
    for (uint32_t c = probe->window_bits_min; c <= probe->window_bits_max; c++) {
        struct wide sum = {{0}};
        for (uint32_t window = 0; window < probe->n_windows(c); window++) {
            const int32_t digit = probe->digit(memory + 1, window, c);
            int32_t collected;
            assert_in_range(digit + (1 << (c - 1)), 0, 1 << c);
            add_shifted(&sum, digit, window * c);
            probe->collect(memory + 1, 1, window, c, &collected);
            assert_int_equal(collected, digit);
        }
        assert_memory_equal(sum.limb, scalar, 32);
        assert_int_equal(sum.limb[4] | sum.limb[5], 0);
    }
}

static void test_digits_add_up_to_the_scalar(void **state) {
    (void)state;
    for (size_t p = 0; p < 2; p++) {
        const struct pm_msm_probe *probe = probes[p];
        uint64_t scalar[4];
        memcpy(scalar, probe->r, sizeof scalar);
        scalar[0]--; /* r is odd: r - 1 */
        check_digits(probe, scalar);
        for (uint32_t bit = 0; bit < probe->fr_bits; bit++) {
            uint64_t one_bit[4] = {0}, below[4] = {0};
            one_bit[bit / 64] = UINT64_C(1) << (bit % 64);
            for (uint32_t i = 0; i < bit; i++) {
                below[i / 64] |= UINT64_C(1) << (i % 64);
            }
            check_digits(probe, one_bit);
            check_digits(probe, below);
        }
        for (int round = 0; round < 300; round++) {
            for (int i = 0; i < 4; i++) {
                /* runs of ones and zeros as well as noise */
                const uint64_t noise = seeded_random_u64(&entropy);
                scalar[i] = round % 3 == 0     ? noise
                            : (noise & 1) != 0 ? UINT64_MAX << (noise >> 58)
                                               : 0;
            }
            scalar[3] >>= 256 - probe->fr_bits;
            check_digits(probe, scalar);
        }
    }
}

/* The count stops at a scalar's highest window; it must not stop too early. */
static void test_counts_are_the_digits(void **state) {
    (void)state;
    enum { N = 700 };
    unsigned char *memory = malloc(N * 32 + 1);
    assert_non_null(memory);
    for (size_t p = 0; p < 2; p++) {
        for (uint32_t threads = 1; threads <= 3; threads += 2) {
            struct pm_team *team = NULL;
            assert_int_equal(pm_team_create(threads, &team, NULL), PM_OK);
            for (uint32_t i = 0; i < N; i++) {
                uint64_t scalar[4] = {0};
                const uint32_t n_bits = i % (probes[p]->fr_bits + 1);
                for (uint32_t bit = 0; bit < n_bits; bit++) {
                    const uint64_t value =
                        bit + 1 == n_bits || i % 2 == 0 || seeded_random_below(&entropy, 2) == 0;
                    scalar[bit / 64] |= value << (bit % 64);
                }
                memcpy(memory + 1 + i * 32, scalar, 32);
            }
            uint64_t n_digits[PM_MSM_PROBE_WINDOWS_MAX] = {0};
            const uint32_t n_windows = probes[p]->count(memory + 1, N, team, n_digits);
            const uint32_t c = probes[p]->window_bits(N, threads);
            assert_int_equal(n_windows, probes[p]->n_windows(c));
            for (uint32_t window = 0; window < n_windows; window++) {
                uint64_t expected = 0;
                for (uint32_t i = 0; i < N; i++) {
                    expected += probes[p]->digit(memory + 1 + i * 32, window, c) != 0;
                }
                assert_int_equal(n_digits[window], expected);
            }
            pm_team_destroy(team);
        }
    }
    free(memory);
}

/* ---------------------------------------------------------------- pieces */

/* Checks the pieces for the given counts and returns their number. */
static uint64_t check_pieces(const struct pm_msm_probe *probe, uint64_t n, uint32_t threads,
                             const uint64_t *n_digits) {
    const uint64_t most = probe->n_pieces_max(n, threads);
    struct pm_msm_probe_piece *pieces = calloc(most, sizeof *pieces);
    assert_non_null(pieces);
    const uint64_t n_pieces = probe->cut(n, threads, n_digits, pieces);
    assert_true(n_pieces <= most);
    uint64_t i = 0;
    const uint32_t n_windows = probe->n_windows(probe->window_bits(n, threads));
    for (uint32_t window = 0; window < n_windows; window++) {
        uint64_t covered = 0;
        for (; i < n_pieces && pieces[i].window == window; i++) {
            assert_true(pieces[i].begin == covered);
            assert_true(pieces[i].end > covered && pieces[i].end <= n);
            covered = pieces[i].end;
        }
        assert_true(covered == (n_digits[window] > 0 ? n : 0));
    }
    assert_true(i == n_pieces);
    free(pieces);
    return n_pieces;
}

static void test_pieces_cover_all_and_occupy_all_threads(void **state) {
    (void)state;
    static const uint32_t threads[] = {1, 2, 3, 7, 16, 64, 192, 4096};
    for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
        for (uint32_t log_n = 0; log_n <= 34; log_n += 2) {
            const struct pm_msm_probe *probe = probes[log_n / 2 % 2];
            const uint64_t n = (UINT64_C(1) << log_n) + log_n % 3;
            const uint32_t n_windows = probe->n_windows(probe->window_bits(n, threads[t]));
            uint64_t none[PM_MSM_PROBE_WINDOWS_MAX] = {0}, bits[PM_MSM_PROBE_WINDOWS_MAX] = {n};
            uint64_t uniform[PM_MSM_PROBE_WINDOWS_MAX], any[PM_MSM_PROBE_WINDOWS_MAX];
            for (uint32_t window = 0; window < n_windows; window++) {
                uniform[window] = n;
                any[window] = seeded_random_below(&entropy, n + 1);
            }
            assert_int_equal(check_pieces(probe, n, threads[t], none), 0);
            check_pieces(probe, n, threads[t], any);
            const uint64_t n_uniform = check_pieces(probe, n, threads[t], uniform);
            const uint64_t n_bits = check_pieces(probe, n, threads[t], bits);
            if (threads[t] == 1) {
                assert_int_equal(n_uniform, n_windows);
                assert_int_equal(n_bits, 1);
            } else if (log_n >= 20 && threads[t] <= 16) {
                /* one window has everything to do, and still nobody is idle */
                assert_true(n_uniform >= 2 * (uint64_t)threads[t]);
                assert_true(n_bits >= 2 * (uint64_t)threads[t]);
            }
        }
    }
}

static void test_scratch_is_bounded(void **state) {
    (void)state;
    const struct pm_msm_probe *probe = probes[1];
    for (uint32_t log_n = 0; log_n <= 40; log_n++) {
        const uint64_t n = UINT64_C(1) << log_n;
        const uint64_t one = probe->layout_bytes(n, 1, 192), many = probe->layout_bytes(n, 64, 192);
        assert_true(one > 0 && one <= UINT64_C(7) << 20);
        assert_true(many <= 64 * (UINT64_C(7) << 20));
        /* twice the points never want a much narrower window: the steps between widths that divide
         * the scalar well are small */
        assert_true(probe->window_bits(2 * n, 1) + 1 >= probe->window_bits(n, 1));
    }
    assert_int_equal(probe->window_bits(UINT64_C(1) << 30, 1), probe->window_bits_max);
    assert_true(probe->layout_bytes(0, 4096, 192) > 0);
    assert_true(probe->layout_bytes(1, 4096, 192) < UINT64_C(32) << 20);
}

int main(void) {
    entropy = seeded_random_from_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digits_add_up_to_the_scalar),
        cmocka_unit_test(test_counts_are_the_digits),
        cmocka_unit_test(test_pieces_cover_all_and_occupy_all_threads),
        cmocka_unit_test(test_scratch_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
