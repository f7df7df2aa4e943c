/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Eight elements at once against one at a time in the portable body, for values that are hard on
 * carries as well as random ones. */
#include "base/cpu.h"
#include "ff/field.h"
#include "support/seeded_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fr8_probe.h"

#if defined(__x86_64__)

enum { WORDS_MAX = 4, ROUNDS = 3000 };

static struct seeded_random entropy;

static const struct pm_fr8_probe *const probes[] = {&pm_fr8_probe_bn254_ifma,
                                                    &pm_fr8_probe_bls12_381_ifma};

struct eight {
    uint64_t words[8 * WORDS_MAX];
};

/* Below the modulus: random, or one of the edges 0, 1, m - 1, m - 2, or words of all zeros and ones
 * as far as they stay below. */
static void some_element(const struct pm_field *field, uint64_t *r) {
    const uint64_t kind = seeded_random_below(&entropy, 8);
    memset(r, 0, field->bytes);
    if (kind < 2) {
        r[0] = kind;
    } else if (kind < 4) {
        memcpy(r, field->modulus, field->bytes);
        r[0] -= kind - 1; /* the lowest word of both is large */
    } else {
        do {
            for (uint32_t i = 0; i < field->limbs; i++) {
                const uint64_t word = seeded_random_u64(&entropy);
                r[i] = kind < 6 ? word : word % 2 == 0 ? 0 : UINT64_MAX;
            }
            r[field->limbs - 1] &= UINT64_MAX >> (64 * field->limbs - field->bits);
        } while (!field->is_canonical(r));
    }
}

static void some_eight(const struct pm_field *field, struct eight *r) {
    for (size_t i = 0; i < 8; i++) {
        some_element(field, r->words + i * field->limbs);
    }
}

static void check_mul(const struct pm_field *field, const struct pm_fr8_ops *ops) {
    for (int round = 0; round < ROUNDS; round++) {
        struct eight a, b, r;
        const unsigned char *at_a[8], *at_b[8];
        unsigned char *at_r[8];
        some_eight(field, &a);
        some_eight(field, &b);
        const size_t turn = seeded_random_below(&entropy, 8);
        for (size_t i = 0; i < 8; i++) {
            at_a[i] = (const unsigned char *)(a.words + i * field->limbs);
            at_b[i] = (const unsigned char *)(b.words + (i + turn) % 8 * field->limbs);
            at_r[i] = (unsigned char *)(r.words + i * field->limbs);
        }
        ops->mul(at_r, at_a, at_b);
        for (size_t i = 0; i < 8; i++) {
            uint64_t expected[WORDS_MAX];
            const uint64_t *factor = b.words + (i + turn) % 8 * field->limbs;
            field->mul(expected, a.words + i * field->limbs, factor);
            assert_memory_equal(at_r[i], expected, field->bytes);
        }
        ops->scale(r.words, a.words, at_b[0]);
        for (size_t i = 0; i < 8; i++) {
            uint64_t expected[WORDS_MAX];
            field->mul(expected, a.words + i * field->limbs, b.words + turn * field->limbs);
            assert_memory_equal(at_r[i], expected, field->bytes);
        }
    }
}

static void check_combine(const struct pm_field *field, const struct pm_fr8_ops *ops) {
    for (int round = 0; round < ROUNDS; round++) {
        struct eight a, b, r;
        some_eight(field, &a);
        some_eight(field, &b);
        const unsigned k = (unsigned)seeded_random_below(&entropy, 7);
        ops->combine(r.words, a.words, b.words, k);
        for (size_t i = 0; i < 8; i++) {
            uint64_t expected[WORDS_MAX];
            memcpy(expected, a.words + i * field->limbs, field->bytes);
            for (unsigned j = 0; j < k; j++) {
                field->add(expected, expected, expected);
            }
            field->sub(expected, expected, b.words + i * field->limbs);
            assert_memory_equal(r.words + i * field->limbs, expected, field->bytes);
        }
    }
}

/* Any words survive the way to limbs and back, at odd addresses. */
static void check_copy(const struct pm_field *field, const struct pm_fr8_ops *ops) {
    unsigned char from[8 * WORDS_MAX * 8 + 1], to[8 * WORDS_MAX * 8 + 1];
    for (int round = 0; round < ROUNDS; round++) {
        seeded_random_bytes(&entropy, from, sizeof from);
        if (round == 0) {
            memset(from, 0xff, sizeof from);
        }
        ops->copy(to + 1, from + 1);
        assert_memory_equal(to + 1, from + 1, (size_t)8 * field->bytes);
    }
}

static void for_each_curve(void (*check)(const struct pm_field *, const struct pm_fr8_ops *)) {
    if (!pm_cpu_has_body(PM_BODY_IFMA)) {
        skip();
    }
    for (size_t i = 0; i < sizeof probes / sizeof probes[0]; i++) {
        check(pm_field_fr(probes[i]->curve, PM_BODY_PORTABLE), probes[i]->ops);
    }
}

static void test_products(void **state) {
    (void)state;
    for_each_curve(check_mul);
}

static void test_lazy_sums(void **state) {
    (void)state;
    for_each_curve(check_combine);
}

static void test_words_and_limbs(void **state) {
    (void)state;
    for_each_curve(check_copy);
}

int main(void) {
    entropy = seeded_random_from_environment();
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_products),
                                       cmocka_unit_test(test_lazy_sums),
                                       cmocka_unit_test(test_words_and_limbs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) {
    return 0; /* another processor's instructions */
}

#endif
