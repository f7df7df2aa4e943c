/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The digits add up to the scalar for every number of windows; hits come out sorted and with the
 * right points; the pieces cover every scalar once a window, keep all threads busy whatever the
 * scalars are, and fit the scratch that was asked for. */
#include "msm/msm.h"
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
    const uint32_t most = probe->n_windows(2), fewest = probe->n_windows(probe->window_bits_max);
    for (uint32_t n_windows = fewest; n_windows <= most; n_windows++) {
        struct wide sum = {{0}};
        uint32_t next = 0;
        for (uint32_t window = 0; window < n_windows; window++) {
            uint32_t start, width;
            probe->window(n_windows, window, &start, &width);
            assert_int_equal(start, next);
            next += width;
            assert_in_range(width, 1, probe->window_bits_max);
            const int32_t digit = probe->digit(memory + 1, start, width);
            assert_in_range(digit + (1 << (width - 1)), 0, 1 << width);
            add_shifted(&sum, digit, start);
        }
        assert_int_equal(next, probe->fr_bits + 1);
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
        for (int round = 0; round < 100; round++) {
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

static void check_class(const struct pm_msm_probe *probe, const uint64_t scalar[4], int class,
                        uint32_t n_bits) {
    unsigned char memory[33];
    uint32_t got_bits = 0;
    memcpy(memory + 1, scalar, 32);
    assert_int_equal(probe->classify(memory + 1, &got_bits), class);
    assert_int_equal(got_bits, class == 3 ? n_bits : 0);
}

static void test_scalars_are_told_apart(void **state) {
    (void)state;
    for (size_t p = 0; p < 2; p++) {
        const struct pm_msm_probe *probe = probes[p];
        uint64_t scalar[4] = {0};
        check_class(probe, scalar, 0, 0);
        scalar[0] = 1;
        check_class(probe, scalar, 1, 0);
        memcpy(scalar, probe->r, sizeof scalar);
        scalar[0]--;
        check_class(probe, scalar, 2, 0);
        scalar[0]--;
        check_class(probe, scalar, 3, probe->fr_bits);
        for (uint32_t bit = 1; bit < probe->fr_bits; bit++) {
            memset(scalar, 0, sizeof scalar);
            scalar[bit / 64] = UINT64_C(1) << (bit % 64);
            check_class(probe, scalar, 3, bit + 1);
            scalar[0] |= 1;
            check_class(probe, scalar, 3, bit + 1);
        }
    }
}

/* ---------------------------------------------------------------- sorting */

enum { N_SORTED = 700 };

/* Scalars of every length at an odd address, a density, and which scalars are wanted. */
struct crowd {
    unsigned char memory[N_SORTED * 32 + 1];
    uint64_t density[(N_SORTED + 63) / 64], rest[(N_SORTED + 63) / 64];
    uint32_t rank[N_SORTED / PM_MSM_RANK_STEP + 1];
    struct pm_msm_input input;
};

static bool bit_of(const uint64_t *words, uint32_t i) {
    return words[i / 64] >> (i % 64) & 1;
}

/* form 0: no density; 1: points in place; 2: points compact. */
static void make_crowd(const struct pm_msm_probe *probe, int form, struct crowd *crowd) {
    memset(crowd, 0, sizeof *crowd);
    for (uint32_t i = 0; i < N_SORTED; i++) {
        uint64_t scalar[4] = {0};
        const uint32_t n_bits = i % (probe->fr_bits + 1);
        for (uint32_t bit = 0; bit < n_bits; bit++) {
            const uint64_t value =
                bit + 1 == n_bits || i % 2 == 0 || seeded_random_below(&entropy, 2) == 0;
            scalar[bit / 64] |= value << (bit % 64);
        }
        memcpy(crowd->memory + 1 + i * 32, scalar, 32);
        const uint64_t present = form == 0 || seeded_random_below(&entropy, 3) != 0;
        crowd->density[i / 64] |= present << (i % 64);
        crowd->rest[i / 64] |= (present & seeded_random_below(&entropy, 2)) << (i % 64);
    }
    crowd->density[N_SORTED / 64] |= UINT64_MAX << (N_SORTED % 64); /* ignored */
    crowd->input = (struct pm_msm_input){.scalars = crowd->memory + 1, .n_scalars = N_SORTED};
    crowd->input.n_points = N_SORTED;
    if (form > 0) {
        crowd->input.density = crowd->density;
    }
    if (form == 2) {
        crowd->input.rank = crowd->rank;
        crowd->input.n_points = pm_msm_rank_fill(crowd->density, N_SORTED, crowd->rank);
    }
}

/* Words [begin, end) in windows [first, first + n): every digit is there once, under its bucket. */
static void check_sort(const struct pm_msm_probe *probe, const struct crowd *crowd, uint32_t begin,
                       uint32_t end, uint32_t first, uint32_t n, uint32_t n_in_all) {
    const uint32_t n_buckets = UINT32_C(1) << (probe->fr_bits / n_in_all);
    struct pm_msm_probe_hit *hits = calloc((size_t)64 * (end - begin) * n + 1, sizeof *hits);
    int32_t *digits = calloc((size_t)N_SORTED * n, sizeof *digits); /* by point and window */
    assert_non_null(hits);
    assert_non_null(digits);
    uint64_t first_point;
    const size_t n_hits = probe->sort(&crowd->input, crowd->rest, begin, end, first, n, n_in_all,
                                      n_buckets, hits, &first_point);
    for (size_t i = 0; i < n_hits; i++) {
        assert_true(i == 0 || hits[i - 1].bucket <= hits[i].bucket);
        int32_t *digit =
            &digits[(first_point + hits[i].point / 2) * n + hits[i].bucket / n_buckets];
        const int32_t magnitude = (int32_t)(hits[i].bucket % n_buckets) + 1;
        assert_int_equal(*digit, 0);
        *digit = hits[i].point % 2 == 0 ? magnitude : -magnitude;
    }
    uint64_t point = 0, n_expected = 0;
    for (uint32_t i = 0; i < N_SORTED; i++) {
        const bool is_in = i / 64 >= begin && i / 64 < end && bit_of(crowd->rest, i);
        for (uint32_t window = 0; window < n && is_in; window++) {
            uint32_t start, width;
            probe->window(n_in_all, first + window, &start, &width);
            const int32_t digit = probe->digit(crowd->memory + 1 + i * 32, start, width);
            assert_int_equal(digits[point * n + window], digit);
            n_expected += digit != 0;
        }
        point += crowd->input.rank == NULL || bit_of(crowd->density, i);
    }
    assert_int_equal(n_hits, n_expected);
    free(digits);
    free(hits);
}

static void test_hits_are_the_digits_sorted(void **state) {
    (void)state;
    const uint32_t n_words = (N_SORTED + 63) / 64;
    struct crowd *crowd = malloc(sizeof *crowd);
    assert_non_null(crowd);
    for (size_t p = 0; p < 2; p++) {
        const struct pm_msm_probe *probe = probes[p];
        for (int form = 0; form <= 2; form++) {
            make_crowd(probe, form, crowd);
            for (uint32_t n_in_all = probe->n_windows(10); n_in_all <= 64; n_in_all += 12) {
                check_sort(probe, crowd, 0, n_words, 0, 1, n_in_all);
                check_sort(probe, crowd, 0, n_words, 0, n_in_all, n_in_all);
                check_sort(probe, crowd, 3, 4, n_in_all - 1, 1, n_in_all);
                check_sort(probe, crowd, 5, n_words, 2, 3, n_in_all);
                check_sort(probe, crowd, n_words - 1, n_words, 4, 5, n_in_all);
            }
        }
    }
    free(crowd);
}

static void test_rank_counts_bits_before(void **state) {
    (void)state;
    uint64_t density[17];
    for (size_t i = 0; i < 17; i++) {
        density[i] = seeded_random_u64(&entropy);
    }
    for (uint32_t n = 0; n <= 17 * 64; n++) {
        uint32_t rank[6], n_set = 0;
        memset(rank, 0xff, sizeof rank);
        assert_true(pm_msm_rank_bytes(n) <= sizeof rank);
        const uint64_t all = pm_msm_rank_fill(density, n, rank);
        for (uint32_t i = 0; i < n; i++) {
            if (i % PM_MSM_RANK_STEP == 0) {
                assert_int_equal(rank[i / PM_MSM_RANK_STEP], n_set);
            }
            n_set += bit_of(density, i);
        }
        assert_int_equal(all, n_set);
    }
}

/* ---------------------------------------------------------------- pieces */

/* n scalars that need buckets, by length; where they stand among the blocks. */
struct load {
    uint64_t n, n_longer[PM_MSM_PROBE_BITS_MAX + 1];
    uint64_t *ends;
    bool is_clustered; /* all in the last sixteenth of the blocks */
};

static void fill_ends(struct load *load, const struct pm_msm_probe_room *room) {
    const uint64_t n_rest = load->n_longer[1], n_blocks = room->n_blocks;
    const uint64_t first = load->is_clustered ? n_blocks - n_blocks / 16 - 1 : 0;
    load->ends = calloc(n_blocks, sizeof *load->ends);
    assert_non_null(load->ends);
    for (uint64_t i = first; i < n_blocks; i++) {
        load->ends[i] = n_rest / (n_blocks - first) * (i - first + 1);
    }
    load->ends[n_blocks - 1] = n_rest;
}

/* Checks the pieces and returns the additions of the one with most. */
static uint64_t check_pieces(const struct pm_msm_probe *probe, struct load *load, uint32_t threads,
                             uint64_t *n_pieces_out) {
    const struct pm_msm_probe_room room = probe->room(load->n, threads, 96);
    fill_ends(load, &room);
    const struct pm_msm_probe_plan plan = probe->plan(load->n, threads, load->n_longer);
    struct pm_msm_probe_piece *pieces = calloc(room.n_pieces, sizeof *pieces);
    assert_non_null(pieces);
    const uint64_t n_pieces = probe->cut(load->n, threads, load->n_longer, load->ends, pieces);
    assert_true(n_pieces <= room.n_pieces);
    assert_true(plan.n_grouped * plan.n_buckets <= room.n_buckets);
    uint64_t i = 0, sum = 0, most = 0;
    for (uint32_t window = 0; window < plan.n_windows; window += plan.n_grouped) {
        uint32_t start, width;
        probe->window(plan.n_windows, window, &start, &width);
        assert_true(UINT32_C(1) << (width - 1) <= plan.n_buckets);
        const uint64_t n_digits = load->n_longer[start == 0 ? 1 : start];
        uint64_t covered = 0;
        for (; i < n_pieces && pieces[i].window == window; i++) {
            assert_true(pieces[i].begin == covered);
            assert_true(pieces[i].end > covered && pieces[i].end <= room.n_blocks);
            assert_true(pieces[i].sum == sum);
            assert_true(pieces[i].n_windows >= 1 && pieces[i].n_windows <= plan.n_grouped);
            assert_true(window + pieces[i].n_windows <= plan.n_windows);
            sum += pieces[i].n_windows;
            const uint64_t n =
                load->ends[pieces[i].end - 1] - (covered == 0 ? 0 : load->ends[covered - 1]);
            const uint64_t n_adds = (n < n_digits ? n : n_digits) * pieces[i].n_windows;
            most = n_adds > most ? n_adds : most;
            covered = pieces[i].end;
        }
        assert_true(covered == (n_digits > 0 ? room.n_blocks : 0));
    }
    assert_true(i == n_pieces && sum <= room.n_sums);
    free(pieces);
    free(load->ends);
    *n_pieces_out = n_pieces;
    return most;
}

static void set_lengths(struct load *load, uint32_t fr_bits, uint64_t n_full, uint64_t n_short,
                        uint32_t short_bits) {
    for (uint32_t bits = 0; bits <= PM_MSM_PROBE_BITS_MAX; bits++) {
        load->n_longer[bits] = (bits <= fr_bits ? n_full : 0) + (bits <= short_bits ? n_short : 0);
    }
}

static void test_pieces_cover_all_and_occupy_all_threads(void **state) {
    (void)state;
    static const uint32_t threads[] = {1, 2, 3, 7, 16, 64, 192, 4096};
    for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
        for (uint32_t log_n = 0; log_n <= 34; log_n += 2) {
            const struct pm_msm_probe *probe = probes[log_n / 2 % 2];
            struct load load = {.n = (UINT64_C(1) << log_n) + log_n % 3};
            for (int mix = 0; mix < 6; mix++) {
                uint64_t n_pieces;
                const uint64_t n_full = mix % 3 == 0   ? load.n
                                        : mix % 3 == 1 ? load.n / 50 + 1
                                                       : load.n / 10;
                const uint64_t n_short = mix % 3 == 2 ? load.n - n_full : 0;
                set_lengths(&load, probe->fr_bits, n_full, n_short, 64);
                load.is_clustered = mix >= 3;
                const uint64_t most = check_pieces(probe, &load, threads[t], &n_pieces);
                uint64_t all = 0;
                const struct pm_msm_probe_plan plan =
                    probe->plan(load.n, threads[t], load.n_longer);
                for (uint32_t window = 0; window < plan.n_windows; window++) {
                    uint32_t start, width;
                    probe->window(plan.n_windows, window, &start, &width);
                    all += load.n_longer[start == 0 ? 1 : start];
                }
                if (log_n >= 20 && threads[t] <= 64 && !load.is_clustered) {
                    assert_true(n_pieces >= threads[t] / 2);
                    assert_true(most <= 3 * (all / threads[t])); /* nobody waits long */
                }
            }
        }
    }
}

static void test_windows_grow_with_the_work(void **state) {
    (void)state;
    const struct pm_msm_probe *probe = probes[1];
    uint32_t last = PM_MSM_PROBE_BITS_MAX;
    for (uint32_t log_n = 0; log_n <= 30; log_n++) {
        struct load load = {.n = UINT64_C(1) << log_n};
        set_lengths(&load, probe->fr_bits, load.n, 0, 0);
        const uint32_t n_windows = probe->plan(load.n, 1, load.n_longer).n_windows;
        assert_true(n_windows <= last + 2);
        last = n_windows;
        /* what counts is how many need buckets, not how many there are */
        set_lengths(&load, probe->fr_bits, load.n / 64 + 1, 0, 0);
        assert_true(probe->plan(load.n, 1, load.n_longer).n_windows >= n_windows);
    }
    assert_int_equal(last, probe->n_windows(probe->window_bits_max));
}

static void test_scratch_is_bounded(void **state) {
    (void)state;
    const struct pm_msm *msm = pm_msm_get(PM_CURVE_BLS12_381, PM_BODY_PORTABLE);
    static const uint64_t most[] = {UINT64_C(8) << 20, UINT64_C(16) << 20};
    for (int which = PM_MSM_G1; which <= PM_MSM_G2; which++) {
        const enum pm_msm_group group = (enum pm_msm_group)which;
        for (uint32_t log_n = 0; log_n <= 40; log_n++) {
            const uint64_t n = UINT64_C(1) << log_n;
            assert_true(msm->bytes(group, n, 1) <= most[which] + n / 4);
            assert_true(msm->bytes(group, n, 64) <= 64 * most[which] + n / 4);
            assert_true(msm->bytes(group, n, 1) <= msm->bytes(group, 2 * n, 1));
        }
        assert_true(msm->bytes(group, 0, 4096) > 0);
        assert_true(msm->bytes(group, 1, 4096) < UINT64_C(1) << 20); /* nobody to help */
    }
}

int main(void) {
    entropy = seeded_random_from_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digits_add_up_to_the_scalar),
        cmocka_unit_test(test_scalars_are_told_apart),
        cmocka_unit_test(test_hits_are_the_digits_sorted),
        cmocka_unit_test(test_rank_counts_bits_before),
        cmocka_unit_test(test_pieces_cover_all_and_occupy_all_threads),
        cmocka_unit_test(test_windows_grow_with_the_work),
        cmocka_unit_test(test_scratch_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
