/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "demo_circuit.h"

#include <string.h>

enum { MATRIX_A = 0, MATRIX_B = 1, MATRIX_C = 2 };

static uint64_t round_constant(uint32_t i) {
    return (uint64_t)i * i * i + 7;
}

static uint32_t wire_s(uint32_t i) {
    return 3 + 3 * i;
}
static uint32_t wire_q(uint32_t i) {
    return 4 + 3 * i;
}
/* The chain's value before round i. */
static uint32_t wire_t(uint32_t i) {
    return i == 0 ? DEMO_WIRE_INPUT : 2 + 3 * i;
}

struct visitor {
    void (*visit)(void *user, const struct demo_term *term);
    void *user;
};

static void put(const struct visitor *to, uint32_t matrix, uint32_t row, uint32_t wire,
                uint64_t factor) {
    const struct demo_term term = {.matrix = matrix, .row = row, .wire = wire, .factor = factor};
    to->visit(to->user, &term);
}

/* u = t + c_i in row `row` of a matrix. */
static void put_u(const struct visitor *to, uint32_t matrix, uint32_t row, uint32_t i) {
    put(to, matrix, row, DEMO_WIRE_ONE, round_constant(i));
    put(to, matrix, row, wire_t(i), 1);
}

void demo_circuit_terms(uint32_t n_rounds, void (*visit)(void *user, const struct demo_term *term),
                        void *user) {
    const struct visitor to = {visit, user};
    for (uint32_t i = 0; i < n_rounds; i++) {
        const uint32_t row = 3 * i;
        put_u(&to, MATRIX_A, row, i);
        put_u(&to, MATRIX_B, row, i);
        put(&to, MATRIX_C, row, wire_s(i), 1);

        put(&to, MATRIX_A, row + 1, wire_s(i), 1);
        put(&to, MATRIX_B, row + 1, wire_s(i), 1);
        put(&to, MATRIX_C, row + 1, wire_q(i), 1);

        put(&to, MATRIX_A, row + 2, wire_q(i), 1);
        put_u(&to, MATRIX_B, row + 2, i);
        if (i + 1 < n_rounds) {
            put(&to, MATRIX_C, row + 2, wire_t(i + 1), 1);
        } else {
            const struct demo_term minus_x = {
                .matrix = MATRIX_C, .row = row + 2, .wire = DEMO_WIRE_INPUT, .is_minus_one = 1};
            put(&to, MATRIX_C, row + 2, DEMO_WIRE_OUTPUT, 1);
            visit(user, &minus_x);
        }
    }
}

void demo_circuit_wires(const struct pm_field *fr, uint32_t n_rounds, const uint8_t x[PM_FR_BYTES],
                        uint8_t *wires) {
    uint64_t input[PM_FR_LIMBS_MAX], t[PM_FR_LIMBS_MAX], u[PM_FR_LIMBS_MAX], c[PM_FR_LIMBS_MAX];
    uint64_t s[PM_FR_LIMBS_MAX], q[PM_FR_LIMBS_MAX];
    fr->to_mont(input, x, 1);
    memcpy(t, input, sizeof t);
    fr->from_mont(wires + PM_FR_BYTES * DEMO_WIRE_ONE, fr->one, 1);
    fr->from_mont(wires + PM_FR_BYTES * DEMO_WIRE_INPUT, input, 1);
    for (uint32_t i = 0; i < n_rounds; i++) {
        const uint64_t constant[PM_FR_LIMBS_MAX] = {round_constant(i)};
        fr->to_mont(c, constant, 1);
        fr->add(u, t, c);
        fr->sqr(s, u);
        fr->sqr(q, s);
        fr->mul(t, q, u);
        fr->from_mont(wires + PM_FR_BYTES * (size_t)wire_s(i), s, 1);
        fr->from_mont(wires + PM_FR_BYTES * (size_t)wire_q(i), q, 1);
        if (i + 1 < n_rounds) {
            fr->from_mont(wires + PM_FR_BYTES * (size_t)wire_t(i + 1), t, 1);
        }
    }
    fr->add(t, t, input);
    fr->from_mont(wires + PM_FR_BYTES * DEMO_WIRE_OUTPUT, t, 1);
}
