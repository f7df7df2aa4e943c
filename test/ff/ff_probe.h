/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The inline functions of ff_instance.inc behind pointers, without the copies that struct pm_field
 * makes, so that tests can alias outputs with inputs and reach what has no table. */
#ifndef PM_TEST_FF_PROBE_H
#define PM_TEST_FF_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One of fp, fr, fp2. Elements are words in Montgomery form; a function that the field lacks is
 * NULL. */
struct pm_ff_probe_ops {
    size_t words; /* of an element */
    void (*set_zero)(void *r);
    void (*set_one)(void *r);
    void (*copy)(void *r, const void *a);
    bool (*is_zero)(const void *a);
    bool (*is_one)(const void *a);
    bool (*eq)(const void *a, const void *b);
    void (*cmov)(void *r, const void *a, bool c);
    void (*load)(void *r, const void *bytes);
    void (*store)(void *bytes, const void *a);
    void (*add)(void *r, const void *a, const void *b);
    void (*sub)(void *r, const void *a, const void *b);
    void (*mul)(void *r, const void *a, const void *b);
    void (*neg)(void *r, const void *a);
    void (*dbl)(void *r, const void *a);
    void (*halve)(void *r, const void *a);
    void (*sqr)(void *r, const void *a);
    void (*inv)(void *r, const void *a);
    bool (*sqrt)(void *r, const void *a);
    void (*pow)(void *r, const void *a, const uint64_t *e, size_t n_limbs);
    void (*batch_inv)(void *a, void *scratch, size_t n);
    bool (*is_larger_root)(const void *a);
    /* prime fields only */
    void (*set_u64)(void *r, uint64_t x);
    void (*to_mont)(void *r, const uint64_t *in);
    void (*from_mont)(uint64_t *out, const void *a);
    bool (*limbs_canonical)(const uint64_t *in);
    bool (*is_odd_canonical)(const void *a);
    bool (*from_bytes_le)(void *r, const uint8_t *in);
    bool (*from_bytes_be)(void *r, const uint8_t *in);
    void (*to_bytes_le)(uint8_t *out, const void *a);
    void (*to_bytes_be)(uint8_t *out, const void *a);
    /* fp2 only */
    void (*conj)(void *r, const void *a);
    void (*mul_by_xi)(void *r, const void *a);
    void (*mul_fp)(void *r, const void *a, const void *b);
};

struct pm_ff_probe {
    const char *curve, *body;
    const uint64_t *p, *r; /* the moduli */
    uint32_t fp_bits, fr_bits, two_adicity, xi_c0, snarkjs_shift;
    struct pm_ff_probe_ops fp, fr, fp2;
    void (*reduce_wide)(void *r, const uint64_t in[8]);
    void (*root_of_unity)(void *r);
    void (*root_of_unity_bellman)(void *r);
    void (*coset_generator_bellman)(void *r);
};

extern const struct pm_ff_probe pm_ff_probe_bn254_portable, pm_ff_probe_bls12_381_portable;
extern const struct pm_ff_probe pm_ff_probe_tiny_portable;
#if defined(__x86_64__)
extern const struct pm_ff_probe pm_ff_probe_bn254_adx, pm_ff_probe_bls12_381_adx;
#endif

#endif
