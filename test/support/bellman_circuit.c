/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "support/bellman_circuit.h"

#include "base/cpu.h"
#include "ff/field.h"
#include "support/seeded_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define LIMBS 4
#define BIT_ROWS 4 /* one row of so many is no bit's */

/* ---- Arrays ---------------------------------------------------------------------------------- */

static void map_array(struct bellman_circuit *circuit, enum bellman_array array, size_t n_bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t whole = (n_bytes + page - 1) / page * page;
    uint8_t *pages = mmap(NULL, whole + page, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + whole, page, PROT_NONE), 0);
    circuit->mapped[array].pages = pages;
    circuit->mapped[array].bytes = whole + page;
    circuit->array[array] = pages + (whole - n_bytes); /* sizes are multiples of 8 */
}

void bellman_circuit_drop(struct bellman_circuit *circuit, enum bellman_array array) {
    if (circuit->array[array] != NULL) {
        assert_int_equal(munmap(circuit->mapped[array].pages, circuit->mapped[array].bytes), 0);
        circuit->array[array] = NULL;
    }
}

void bellman_circuit_free(struct bellman_circuit *circuit) {
    for (int i = 0; i < BELLMAN_ARRAYS; ++i) {
        bellman_circuit_drop(circuit, (enum bellman_array)i);
    }
}

static uint64_t *scalar(const struct bellman_circuit *circuit, enum bellman_array array,
                        uint64_t i) {
    return (uint64_t *)circuit->array[array] + i * LIMBS;
}

static void set_bit(struct bellman_circuit *circuit, enum bellman_array array, uint64_t i) {
    ((uint64_t *)circuit->array[array])[i / 64] |= UINT64_C(1) << i % 64;
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

struct bellman_shape bellman_shape_of_log_n(uint32_t log_n) {
    const uint64_t n = UINT64_C(1) << log_n;
    struct bellman_shape shape = {.n_inputs = log_n < 6 ? 2 : 5, .n_rows = n - (n >> 5)};
    shape.n_aux = shape.n_rows - shape.n_inputs - (n >> 7);
    shape.n_a_aux = shape.n_aux - 1 - shape.n_aux / 300;
    shape.n_b_aux = shape.n_aux / 4 + 1;
    return shape;
}

uint64_t bellman_params_bytes(const struct bellman_shape *shape) {
    uint64_t n = 1;
    while (n < shape->n_rows) {
        n *= 2;
    }
    return 864 + 4 + 96 * shape->n_inputs + 20 +
           96 * (n - 1 + shape->n_aux + shape->n_inputs + shape->n_a_aux + 1 + shape->n_b_aux) +
           192 * (1 + shape->n_b_aux);
}

/* ---- The file -------------------------------------------------------------------------------- */

static void put(FILE *file, const void *bytes, size_t n) {
    if (file != NULL) {
        assert_int_equal(fwrite(bytes, 1, n, file), n);
    }
}

static void put_u32(FILE *file, uint32_t value) {
    put(file, &value, sizeof value);
}

static void put_u64(FILE *file, uint64_t value) {
    put(file, &value, sizeof value);
}

static void put_section(FILE *file, uint32_t type, uint64_t n_bytes) {
    put_u32(file, type);
    put_u64(file, n_bytes);
}

static void put_beginning(FILE *file, const struct bellman_shape *shape,
                          const struct pm_field *fr) {
    uint8_t prime[PM_FR_BYTES];
    memcpy(prime, fr->modulus, sizeof prime);
    put(file, "r1cs", 4);
    put_u32(file, 1);
    put_u32(file, 2);
    put_section(file, 1, 4 + sizeof prime + 4 * 5 + 8);
    put_u32(file, sizeof prime);
    put(file, prime, sizeof prime);
    put_u32(file, (uint32_t)(shape->n_inputs + shape->n_aux));
    put_u32(file, 0);
    put_u32(file, (uint32_t)(shape->n_inputs - 1));
    put_u32(file, (uint32_t)shape->n_aux);
    put_u64(file, shape->n_inputs + shape->n_aux);
    put_u32(file, (uint32_t)(shape->n_rows - shape->n_inputs));
    put_section(file, 2, 0); /* its length comes last */
}

static void put_rows_length(FILE *file) {
    const long rows_at = 12 + 12 + 4 + PM_FR_BYTES + 4 * 5 + 8 + 12;
    const long end = ftell(file);
    assert_true(end >= rows_at);
    assert_int_equal(fseek(file, rows_at - 8, SEEK_SET), 0);
    put_u64(file, (uint64_t)(end - rows_at));
    assert_int_equal(fclose(file), 0);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

struct term {
    uint64_t wire; /* inputs, then aux */
    int64_t coefficient;
};

struct combination {
    struct term *terms;
    size_t n, n_max;
};

struct making {
    struct bellman_circuit *circuit;
    const struct pm_field *fr;
    FILE *file;
    uint64_t next_a, next_b; /* members of A and B that have had their row */
    struct combination row[3];
};

static uint64_t mix(uint64_t value) {
    value = (value ^ value >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return value ^ value >> 32;
}

static void add_term(struct combination *combination, uint64_t wire, int64_t coefficient) {
    if (combination->n == combination->n_max) {
        combination->n_max = 2 * combination->n_max + 16;
        combination->terms =
            realloc(combination->terms, combination->n_max * sizeof *combination->terms);
        assert_non_null(combination->terms);
    }
    combination->terms[combination->n++] = (struct term){wire, coefficient};
}

/* Members of A and B are spread over the aux variables; the last of these is in neither. */
static uint64_t member(uint64_t k, uint64_t n_members, uint64_t n_aux) {
    return (uint64_t)((unsigned __int128)k * n_aux / n_members);
}

static void add_members(struct making *making, enum bellman_array density, uint64_t end_aux,
                        uint64_t n_members, uint64_t *next, struct combination *combination) {
    const struct bellman_shape *shape = &making->circuit->shape;
    for (; *next < n_members; ++*next) {
        const uint64_t aux = member(*next, n_members, shape->n_aux);
        if (aux >= end_aux) {
            return;
        }
        set_bit(making->circuit, density, aux);
        add_term(combination, shape->n_inputs + aux,
                 (int64_t)(mix(aux * 2 + (uint64_t)density) % 1000) + 1);
    }
}

static const uint64_t *wire_value(const struct making *making, uint64_t wire) {
    const uint64_t n_inputs = making->circuit->shape.n_inputs;
    return wire < n_inputs ? scalar(making->circuit, BELLMAN_INPUTS, wire)
                           : scalar(making->circuit, BELLMAN_AUX, wire - n_inputs);
}

/* In Montgomery form, or else canonical. */
static void coefficient_of(const struct pm_field *fr, const struct term *term, bool montgomery,
                           uint64_t value[LIMBS]) {
    const uint64_t size[LIMBS] = {(uint64_t)llabs(term->coefficient)};
    fr->to_mont(value, size, 1);
    if (term->coefficient < 0) {
        fr->neg(value, value);
    }
    if (!montgomery) {
        uint64_t canonical[LIMBS];
        fr->from_mont(canonical, value, 1);
        memcpy(value, canonical, sizeof canonical);
    }
}

static void evaluate(const struct making *making, const struct combination *combination,
                     uint64_t sum[LIMBS]) {
    const struct pm_field *fr = making->fr;
    memset(sum, 0, PM_FR_BYTES);
    for (size_t i = 0; i < combination->n; ++i) {
        uint64_t value[LIMBS];
        coefficient_of(fr, &combination->terms[i], true, value);
        fr->mul(value, value, wire_value(making, combination->terms[i].wire));
        fr->add(sum, sum, value);
    }
}

static void put_combination(FILE *file, const struct pm_field *fr,
                            const struct combination *combination) {
    put_u32(file, (uint32_t)combination->n);
    for (size_t i = 0; file != NULL && i < combination->n; ++i) {
        uint64_t value[LIMBS];
        coefficient_of(fr, &combination->terms[i], false, value);
        put_u32(file, (uint32_t)combination->terms[i].wire);
        put(file, value, sizeof value);
    }
}

/* The last term of C is 1 times the output, which becomes a b less the other terms. */
static void finish_row(struct making *making, uint64_t row, bool has_output) {
    struct bellman_circuit *circuit = making->circuit;
    const struct pm_field *fr = making->fr;
    uint64_t *a = scalar(circuit, BELLMAN_A, row), *b = scalar(circuit, BELLMAN_B, row);
    uint64_t *c = scalar(circuit, BELLMAN_C, row), rest[LIMBS];
    evaluate(making, &making->row[0], a);
    evaluate(making, &making->row[1], b);
    fr->mul(c, a, b);
    if (has_output) {
        struct combination others = making->row[2];
        others.n -= 1;
        evaluate(making, &others, rest);
        const uint64_t output = others.terms[others.n].wire - circuit->shape.n_inputs;
        fr->sub(scalar(circuit, BELLMAN_AUX, output), c, rest);
    }
    for (int i = 0; i < 3; ++i) {
        put_combination(making->file, fr, &making->row[i]);
        making->row[i].n = 0;
    }
}

static void make_row(struct making *making, uint64_t row) {
    const struct bellman_shape *shape = &making->circuit->shape;
    const uint64_t n_constraints = shape->n_rows - shape->n_inputs;
    const bool is_last = row + 1 == n_constraints;
    const uint64_t others = shape->n_aux - 1, parts = n_constraints - 1;
    uint64_t begin = is_last ? others : member(row, parts, others);
    const uint64_t end = is_last ? shape->n_aux : member(row + 1, parts, others);
    const uint64_t one = 0;
    if (row == 0) {
        set_bit(making->circuit, BELLMAN_B_INPUT_DENSITY, 0);
        add_term(&making->row[1], one, 3);
    }
    if (begin == end) { /* 0 B = 0 */
        finish_row(making, row, false);
        return;
    }
    const bool is_bit = !is_last && row % BIT_ROWS != 0;
    if (!is_bit) {
        add_members(making, BELLMAN_A_AUX_DENSITY, begin, shape->n_a_aux, &making->next_a,
                    &making->row[0]);
        add_term(&making->row[0], row % shape->n_inputs, (int64_t)(row % 7) + 1);
        add_term(&making->row[2], shape->n_inputs - 1 - row % shape->n_inputs,
                 -1 - (int64_t)(row % 5));
    } else if (mix(row) % 2 != 0) {
        add_term(&making->row[2], one, -1);
    }
    add_members(making, BELLMAN_B_AUX_DENSITY, begin, shape->n_b_aux, &making->next_b,
                &making->row[1]);
    for (; begin + 1 < end; ++begin) {
        add_term(&making->row[2], shape->n_inputs + begin, (int64_t)(mix(begin) % 100) + 1);
    }
    add_term(&making->row[2], shape->n_inputs + begin, 1);
    finish_row(making, row, true);
}

/* ---- All of it ------------------------------------------------------------------------------- */

/* Of eight kinds: four are a bit, two something small, two anything. Every output is overwritten by
 * its row. */
static void draw_values(const struct pm_field *fr, struct seeded_random *random, uint64_t *values,
                        uint64_t n, uint64_t first_kind) {
    for (uint64_t i = 0; i < n; ++i) {
        uint64_t value[LIMBS] = {0};
        const uint64_t kind = first_kind + seeded_random_u64(random) % (8 - first_kind);
        for (int limb = 0; limb < (kind < 6 ? 1 : LIMBS); ++limb) {
            value[limb] = seeded_random_u64(random) >> (kind < 4 ? 63 : 2);
        }
        fr->to_mont(values + i * LIMBS, value, 1);
    }
}

static void map_arrays(struct bellman_circuit *circuit) {
    const struct bellman_shape *shape = &circuit->shape;
    map_array(circuit, BELLMAN_INPUTS, shape->n_inputs * PM_FR_BYTES);
    map_array(circuit, BELLMAN_AUX, shape->n_aux * PM_FR_BYTES);
    map_array(circuit, BELLMAN_A, shape->n_rows * PM_FR_BYTES);
    map_array(circuit, BELLMAN_B, shape->n_rows * PM_FR_BYTES);
    map_array(circuit, BELLMAN_C, shape->n_rows * PM_FR_BYTES);
    map_array(circuit, BELLMAN_A_AUX_DENSITY, (shape->n_aux + 63) / 64 * 8);
    map_array(circuit, BELLMAN_B_INPUT_DENSITY, (shape->n_inputs + 63) / 64 * 8);
    map_array(circuit, BELLMAN_B_AUX_DENSITY, (shape->n_aux + 63) / 64 * 8);
}

/* Behind the last variable bits may be anything. */
static void dirty_last_bits(struct bellman_circuit *circuit) {
    for (uint64_t i = circuit->shape.n_aux; i % 64 != 0; ++i) {
        set_bit(circuit, BELLMAN_A_AUX_DENSITY, i);
        set_bit(circuit, BELLMAN_B_AUX_DENSITY, i);
    }
}

void bellman_circuit_make(const struct bellman_shape *shape, uint64_t value_seed,
                          const char *r1cs_path, struct bellman_circuit *circuit) {
    const struct pm_field *fr = pm_field_fr(PM_CURVE_BLS12_381, PM_BODY_PORTABLE);
    struct seeded_random random = {.state = value_seed};
    struct making making = {.circuit = circuit, .fr = fr};
    *circuit = (struct bellman_circuit){.shape = *shape};
    map_arrays(circuit);
    draw_values(fr, &random, scalar(circuit, BELLMAN_INPUTS, 0), shape->n_inputs, 6);
    draw_values(fr, &random, scalar(circuit, BELLMAN_AUX, 0), shape->n_aux, 0);
    memcpy(scalar(circuit, BELLMAN_INPUTS, 0), fr->one, PM_FR_BYTES);
    if (r1cs_path != NULL) {
        making.file = fopen(r1cs_path, "wb");
        assert_non_null(making.file);
        put_beginning(making.file, shape, fr);
    }
    for (uint64_t row = 0; row < shape->n_rows - shape->n_inputs; ++row) {
        make_row(&making, row);
    }
    for (uint64_t k = 0; k < shape->n_inputs; ++k) {
        memcpy(scalar(circuit, BELLMAN_A, shape->n_rows - shape->n_inputs + k),
               scalar(circuit, BELLMAN_INPUTS, k), PM_FR_BYTES);
    }
    assert_int_equal(making.next_a, shape->n_a_aux);
    assert_int_equal(making.next_b, shape->n_b_aux);
    dirty_last_bits(circuit);
    for (int i = 0; i < 3; ++i) {
        free(making.row[i].terms);
    }
    if (making.file != NULL) {
        put_rows_length(making.file);
    }
}

uint8_t *bellman_circuit_publics(const struct bellman_circuit *circuit) {
    const uint64_t n = circuit->shape.n_inputs - 1;
    uint8_t *publics = malloc((size_t)n * PM_FR_BYTES + 1);
    assert_non_null(publics);
    pm_field_fr(PM_CURVE_BLS12_381, PM_BODY_PORTABLE)
        ->from_mont(publics, scalar(circuit, BELLMAN_INPUTS, 1), (size_t)n);
    return publics;
}
