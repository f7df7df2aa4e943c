/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "groth16/overread_point.h"

#include <string.h>

typedef unsigned __int128 wide;

struct word_field {
    const struct pm_field *fp;
    uint64_t negative_inverse; /* -1 / p mod 2^64 */
};

/* r = a + b mod 2^(64 n); the carry. */
static uint64_t words_add(uint64_t *r, const uint64_t *a, const uint64_t *b, uint32_t n) {
    uint64_t carry = 0;
    for (uint32_t i = 0; i < n; ++i) {
        const wide sum = (wide)a[i] + b[i] + carry;
        r[i] = (uint64_t)sum;
        carry = (uint64_t)(sum >> 64);
    }
    return carry;
}

/* r = a - b mod 2^(64 n); the borrow. */
static uint64_t words_sub(uint64_t *r, const uint64_t *a, const uint64_t *b, uint32_t n) {
    uint64_t borrow = 0;
    for (uint32_t i = 0; i < n; ++i) {
        const wide difference = (wide)a[i] - b[i] - borrow;
        r[i] = (uint64_t)difference;
        borrow = (uint64_t)(difference >> 64) & 1;
    }
    return borrow;
}

static void subtract_once(const struct word_field *f, uint64_t *r, uint64_t carry) {
    if (carry != 0 || !f->fp->is_canonical(r)) {
        (void)words_sub(r, r, f->fp->modulus, f->fp->limbs);
    }
}

/* One subtraction of p after a carry or at p and above: enough for reduced operands only. */
static void field_add(const struct word_field *f, uint64_t *r, const uint64_t *a,
                      const uint64_t *b) {
    subtract_once(f, r, words_add(r, a, b, f->fp->limbs));
}

/* One addition of p after a borrow. */
static void field_sub(const struct word_field *f, uint64_t *r, const uint64_t *a,
                      const uint64_t *b) {
    if (words_sub(r, a, b, f->fp->limbs) != 0) {
        (void)words_add(r, r, f->fp->modulus, f->fp->limbs);
    }
}

/* Montgomery's (a b + m p) / R with its carry, and one subtraction. */
static void field_mul(const struct word_field *f, uint64_t *r, const uint64_t *a,
                      const uint64_t *b) {
    const uint32_t n = f->fp->limbs;
    uint64_t t[2 * PM_FP_LIMBS_MAX + 1] = {0};
    for (uint32_t i = 0; i < n; ++i) {
        uint64_t carry = 0;
        for (uint32_t k = 0; k < n; ++k) {
            const wide sum = (wide)a[i] * b[k] + t[i + k] + carry;
            t[i + k] = (uint64_t)sum;
            carry = (uint64_t)(sum >> 64);
        }
        t[i + n] = carry;
    }
    for (uint32_t i = 0; i < n; ++i) {
        const uint64_t m = t[i] * f->negative_inverse;
        uint64_t carry = 0;
        for (uint32_t k = 0; k < n; ++k) {
            const wide sum = (wide)m * f->fp->modulus[k] + t[i + k] + carry;
            t[i + k] = (uint64_t)sum;
            carry = (uint64_t)(sum >> 64);
        }
        for (uint32_t k = i + n; carry != 0; ++k) {
            const wide sum = (wide)t[k] + carry;
            t[k] = (uint64_t)sum;
            carry = (uint64_t)(sum >> 64);
        }
    }
    memcpy(r, t + n, n * sizeof t[0]);
    subtract_once(f, r, t[2 * n]);
}

static uint64_t negative_inverse(uint64_t p) {
    uint64_t inverse = 1; /* Newton: each step doubles the bits that are right */
    for (int i = 0; i < 6; ++i) {
        inverse *= 2 - p * inverse;
    }
    return ~inverse + 1;
}

struct overread_jacobian {
    uint64_t x[PM_FP_LIMBS_MAX], y[PM_FP_LIMBS_MAX], z[PM_FP_LIMBS_MAX];
};

/* (x1, y1) + (x2, y2) by mmadd-2007-bl (Explicit-Formulas Database), in snarkjs's order. */
static void add_affine(const struct word_field *f, struct overread_jacobian *r, const uint64_t *x1,
                       const uint64_t *y1, const uint64_t *x2, const uint64_t *y2) {
    uint64_t h[PM_FP_LIMBS_MAX], i[PM_FP_LIMBS_MAX], j[PM_FP_LIMBS_MAX], rr[PM_FP_LIMBS_MAX];
    uint64_t v[PM_FP_LIMBS_MAX], t[PM_FP_LIMBS_MAX];
    field_sub(f, h, x2, x1); /* H = X2 - X1 */
    field_sub(f, rr, y2, y1);
    field_mul(f, i, h, h);
    field_add(f, i, i, i);
    field_add(f, i, i, i);    /* I = 4 H^2 */
    field_mul(f, j, h, i);    /* J = H I */
    field_add(f, rr, rr, rr); /* r = 2 (Y2 - Y1) */
    field_mul(f, v, x1, i);   /* V = X1 I */
    field_mul(f, r->x, rr, rr);
    field_add(f, t, v, v);
    field_sub(f, r->x, r->x, j);
    field_sub(f, r->x, r->x, t); /* X3 = r^2 - J - 2 V */
    field_mul(f, t, y1, j);
    field_add(f, t, t, t); /* 2 Y1 J */
    field_sub(f, r->y, v, r->x);
    field_mul(f, r->y, r->y, rr);
    field_sub(f, r->y, r->y, t); /* Y3 = r (V - X3) - 2 Y1 J */
    field_add(f, r->z, h, h);    /* Z3 = 2 H */
}

/* Full reduction: what a multiplication by a reduced element makes of it. */
static void reduce(const struct pm_field *fp, uint64_t *a) {
    while (!fp->is_canonical(a)) {
        (void)words_sub(a, a, fp->modulus, fp->limbs);
    }
}

void pm_overread_difference(const struct pm_field *fp, const uint8_t *bytes, const uint8_t *point,
                            uint8_t *difference) {
    const struct word_field f = {.fp = fp, .negative_inverse = negative_inverse(fp->modulus[0])};
    uint64_t x1[PM_FP_LIMBS_MAX], y1[PM_FP_LIMBS_MAX], x2[PM_FP_LIMBS_MAX], y2[PM_FP_LIMBS_MAX];
    uint64_t inverse[PM_FP_LIMBS_MAX], square[PM_FP_LIMBS_MAX];
    struct overread_jacobian sum;
    memcpy(x1, bytes, fp->bytes);
    memcpy(y1, bytes + fp->bytes, fp->bytes);
    memcpy(x2, point, fp->bytes);
    memcpy(y2, point + fp->bytes, fp->bytes);
    fp->neg(y2, y2);
    add_affine(&f, &sum, x1, y1, x2, y2);
    reduce(fp, sum.x);
    reduce(fp, sum.y);
    reduce(fp, sum.z);
    fp->inv(inverse, sum.z);
    fp->sqr(square, inverse);
    fp->mul(sum.x, sum.x, square); /* X / Z^2 */
    fp->mul(square, square, inverse);
    fp->mul(sum.y, sum.y, square); /* Y / Z^3 */
    memcpy(difference, sum.x, fp->bytes);
    memcpy(difference + fp->bytes, sum.y, fp->bytes);
}
