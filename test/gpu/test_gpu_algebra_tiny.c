/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The device's prime field at two words, where integers can check all of it. */
#include "gpu_algebra_probe.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Every a of the small field against a sample of b, by integers. */
static void check_tiny(const struct gpu_field_probe *gpu, uint64_t modulus) {
    const uint64_t r_mod = (uint64_t)(((unsigned __int128)1 << 64) % modulus);
    assert_int_equal(gpu->bytes, 8);
    for (uint64_t a = 0; a < modulus; a++) {
        for (uint64_t b = a % 97; b < modulus; b += 97) {
            uint64_t got;
            gpu->add(&got, &a, &b);
            assert_int_equal(got, (a + b) % modulus);
            gpu->sub(&got, &a, &b);
            assert_int_equal(got, (a + modulus - b) % modulus);
            gpu->mul(&got, &a, &b);
            assert_int_equal(got * r_mod % modulus, a * b % modulus);
            assert_true(got < modulus);
        }
    }
}

static void test_tiny_fields(void **state) {
    (void)state;
    check_tiny(&gpu_algebra_tiny_portable.fp, 7699);
    check_tiny(&gpu_algebra_tiny_portable.fr, 7873);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tiny_fields)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
