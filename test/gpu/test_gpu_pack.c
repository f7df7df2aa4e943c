/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Packed scalars: what is found in a chunk is what was packed, in the bytes that were promised. */
#include "gpu/kernel/gpu_pack.h"
#include "support/seeded_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GUARD_BYTES 64
#define GUARD 0xa5

static struct seeded_random entropy;

static const uint64_t canonical_one[4] = {1, 0, 0, 0};
/* Any value will do; this has bits in every word. */
static const uint64_t other_one[4] = {0xac96341c4ffffffb, 0x36fc76959f60cd29, 0x666ea36f7879462e,
                                      0x0e0a77c19a07df2f};

/* One scalar in `zeros` of 8 is 0, one in `ones` the one, the rest full: of every word pattern that
 * a wrong comparison would take for 0 or for the one. */
static void fill(uint64_t *scalars, uint64_t n, const uint64_t one[4], uint64_t zeros,
                 uint64_t ones) {
    for (uint64_t i = 0; i < n; ++i) {
        uint64_t *x = scalars + 4 * i;
        const uint64_t kind = seeded_random_below(&entropy, 8);
        if (kind < zeros) {
            memset(x, 0, PM_GPU_PACK_SCALAR_BYTES);
            continue;
        }
        memcpy(x, one, PM_GPU_PACK_SCALAR_BYTES);
        if (kind >= zeros + ones) {
            const uint64_t word = seeded_random_below(&entropy, 4);
            if (seeded_random_below(&entropy, 2) == 0) {
                memset(x, 0, PM_GPU_PACK_SCALAR_BYTES);
            }
            x[word] ^= UINT64_C(1) << seeded_random_below(&entropy, 64);
        }
    }
}

static uint64_t count_full(const uint64_t *scalars, uint64_t n, const uint64_t one[4]) {
    static const uint64_t zero[4];
    uint64_t n_full = 0;
    for (uint64_t i = 0; i < n; ++i) {
        n_full += memcmp(scalars + 4 * i, zero, sizeof zero) != 0 &&
                  memcmp(scalars + 4 * i, one, sizeof zero) != 0;
    }
    return n_full;
}

static void check_chunk(const uint64_t *scalars, uint64_t n, const uint64_t one[4],
                        const unsigned char *packed) {
    static const unsigned char zero[16];
    const uint64_t full_offset = pm_gpu_pack_full_offset(n);
    for (uint64_t at = 0; at < 2 * n; ++at) {
        const void *from = pm_gpu_pack_find(packed, full_offset, at / 2, (uint32_t)(at % 2));
        assert_memory_equal(from != NULL ? from : zero, scalars + 2 * at, 16);
    }
    const struct pm_gpu_pack_header *header = (const void *)packed;
    assert_int_equal(header->n, n);
    assert_int_equal(header->n_full, count_full(scalars, n, one));
}

/* misalignment: of the scalars, which may be mapped from a file at any byte. */
static void check(uint64_t n, const uint64_t one[4], uint64_t zeros, uint64_t ones,
                  uint64_t misalignment) {
    const uint64_t room = pm_gpu_pack_bytes_max(n);
    uint64_t *scalars = malloc(PM_GPU_PACK_SCALAR_BYTES * n + 1);
    unsigned char *shifted = malloc(PM_GPU_PACK_SCALAR_BYTES * n + 8);
    unsigned char *packed = aligned_alloc(32, (room + GUARD_BYTES + 31) / 32 * 32);
    assert_true(scalars != NULL && shifted != NULL && packed != NULL);
    fill(scalars, n, one, zeros, ones);
    memcpy(shifted + misalignment, scalars, PM_GPU_PACK_SCALAR_BYTES * n);
    memset(packed, 0xee, room);
    memset(packed + room, GUARD, GUARD_BYTES);
    const uint64_t used = pm_gpu_pack(shifted + misalignment, n, one, packed);
    assert_int_equal(used, pm_gpu_pack_full_offset(n) +
                               PM_GPU_PACK_SCALAR_BYTES * count_full(scalars, n, one));
    assert_true(used <= room);
    for (uint64_t i = 0; i < GUARD_BYTES; ++i) {
        assert_int_equal(packed[room + i], GUARD);
    }
    /* Only what is uploaded may be looked at. */
    memset(packed + used, 0xee, room - used);
    check_chunk(scalars, n, one, packed);
    free(packed);
    free(shifted);
    free(scalars);
}

static void test_every_mix(void **state) {
    (void)state;
    for (uint64_t n = 0; n <= 200; ++n) {
        for (uint64_t zeros = 0; zeros <= 8; ++zeros) {
            const uint64_t ones = seeded_random_below(&entropy, 9 - zeros);
            check(n, n % 2 == 0 ? canonical_one : other_one, zeros, ones, 0);
        }
        check(n, canonical_one, 0, 8, n % 8);
        check(n, other_one, 0, 0, n % 8);
    }
}

static void test_large(void **state) {
    (void)state;
    check(100003, canonical_one, 4, 3, 0);
    check(65536, other_one, 1, 1, 4);
}

/* A one of 0 marks nothing: zeros stay zeros. */
static void test_one_is_zero(void **state) {
    static const uint64_t zero[4];
    (void)state;
    check(130, zero, 4, 0, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_mix),
                                       cmocka_unit_test(test_large),
                                       cmocka_unit_test(test_one_is_zero)};
    entropy = seeded_random_from_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
