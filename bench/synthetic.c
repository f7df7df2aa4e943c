/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "synthetic.h"

#include "base/cpu.h"
#include "base/memory.h"
#include "ff/field.h"
#include "synthetic_plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LIMBS = PM_FR_BYTES / 8, TERM_BYTES = 4 + PM_FR_BYTES };
/* Rows whose last coefficients wait for one inversion, and their bytes. */
#define PENDING_ROWS 256
#define ROW_BYTES_MAX ((size_t)3 * (4 + (SYNTHETIC_LENGTH_MAX + 1) * TERM_BYTES))
#define STREAM_BYTES ((size_t)1 << 20)
/* A term that does not bring up a wire takes one this near to where the matrix is, or, one time in
 * FAR_EVERY, any. */
#define NEAR_WIRES 65536
#define FAR_EVERY 16

/* What is remembered of a wire: the kind of its value and the matrices that use it. */
#define FLAG_VALUE 3
#define FLAG_IN(matrix) (uint8_t)(4u << (matrix))
#define ANY_VALUE 0xfu
#define NONZERO (ANY_VALUE & ~(1u << SYNTHETIC_ZERO))

typedef uint64_t scalar[LIMBS];

struct term {
    uint32_t wire;
    scalar coefficient; /* canonical */
};

struct row {
    uint32_t n_terms[SYNTHETIC_MATRICES];
    struct term terms[SYNTHETIC_MATRICES][SYNTHETIC_LENGTH_MAX + 1];
};

/* Takes `chosen` of `n` in even steps. */
struct pace {
    uint64_t n, chosen, seen;
};

struct synthetic {
    const struct synthetic_options *options;
    struct synthetic_plan plan;
    const struct pm_field *fr;
    uint64_t random, n_wires;
    uint8_t *flags; /* of each wire */
    uint32_t
        next_in[SYNTHETIC_MATRICES]; /* the next wire to be brought up is this or a later one */
    struct pace slots[SYNTHETIC_MATRICES], first[SYNTHETIC_MATRICES], boolean;
    uint32_t next_boolean, a_zero; /* a_zero: a wire of C whose value is zero; 0 if there is none */
    struct row row;
    FILE *stream;
    const char *path; /* of stream */
    uint8_t *bytes;   /* rows that wait */
    size_t n_bytes, coefficient_at[PENDING_ROWS];
    uint32_t n_pending;
    scalar wanted[PENDING_ROWS], value[PENDING_ROWS], space[PENDING_ROWS];
};

static bool pace_next(struct pace *pace) {
    const uint64_t i = pace->seen++;
    return (unsigned __int128)(i + 1) * pace->chosen / pace->n !=
           (unsigned __int128)i * pace->chosen / pace->n;
}

/* ---- Wires ----------------------------------------------------------------------------------- */

static enum synthetic_value kind_of(const struct synthetic *s, uint64_t wire) {
    return (enum synthetic_value)(s->flags[wire] & FLAG_VALUE);
}

static void random_scalar(const struct synthetic *s, uint64_t *state, uint64_t *r) {
    for (int i = 0; i < LIMBS; i++) {
        r[i] = synthetic_next(state);
    }
    r[LIMBS - 1] >>= 64 * LIMBS - (s->fr->bits - 1); /* below 2^(bits - 1), hence canonical */
}

/* The value of a wire, canonical. */
static void value_of(const struct synthetic *s, uint64_t wire, uint64_t *r) {
    uint64_t state = synthetic_mix(s->options->seed + 0x632be59bd9b4e019 * (wire + 1));
    memset(r, 0, sizeof(scalar));
    switch (kind_of(s, wire)) {
    case SYNTHETIC_ZERO:
        break;
    case SYNTHETIC_ONE:
        r[0] = 1;
        break;
    case SYNTHETIC_SMALL: {
        const uint32_t bits = 2 + (uint32_t)synthetic_below(&state, 63);
        r[0] = synthetic_next(&state) >> (64 - bits) | UINT64_C(1) << (bits - 1);
        break;
    }
    default:
        random_scalar(s, &state, r);
    }
}

/* Gives every wire its kind of value and its matrices. B takes wires of A as long as there are any,
 * as circuits do; a wire that A does not use is in C. */
static void deal_wires(struct synthetic *s) {
    const uint64_t n = s->n_wires - 1, *n_in = s->plan.n_in;
    const uint64_t b_in_a =
        n_in[SYNTHETIC_B] < n_in[SYNTHETIC_A] ? n_in[SYNTHETIC_B] : n_in[SYNTHETIC_A];
    struct synthetic_deck in[SYNTHETIC_MATRICES] = {0}, b_else = {0};
    synthetic_deck_add(&in[SYNTHETIC_A], 1, n_in[SYNTHETIC_A]);
    synthetic_deck_add(&in[SYNTHETIC_A], 0, n - n_in[SYNTHETIC_A]);
    synthetic_deck_add(&in[SYNTHETIC_B], 1, b_in_a);
    synthetic_deck_add(&in[SYNTHETIC_B], 0, n_in[SYNTHETIC_A] - b_in_a);
    synthetic_deck_add(&b_else, 1, n_in[SYNTHETIC_B] - b_in_a);
    synthetic_deck_add(&b_else, 0, n - n_in[SYNTHETIC_A] - (n_in[SYNTHETIC_B] - b_in_a));
    const uint64_t c_in_a = n_in[SYNTHETIC_C] - (n - n_in[SYNTHETIC_A]);
    synthetic_deck_add(&in[SYNTHETIC_C], 1, c_in_a);
    synthetic_deck_add(&in[SYNTHETIC_C], 0, n_in[SYNTHETIC_A] - c_in_a);
    s->flags[0] =
        SYNTHETIC_ONE | FLAG_IN(SYNTHETIC_A) | FLAG_IN(SYNTHETIC_B) | FLAG_IN(SYNTHETIC_C);
    for (uint64_t wire = 1; wire <= n; wire++) {
        uint8_t flags = (uint8_t)synthetic_deck_draw(&s->plan.values, &s->random);
        const bool in_a = synthetic_deck_draw(&in[SYNTHETIC_A], &s->random);
        const bool in_b = synthetic_deck_draw(in_a ? &in[SYNTHETIC_B] : &b_else, &s->random);
        const bool in_c = !in_a || synthetic_deck_draw(&in[SYNTHETIC_C], &s->random);
        flags |= (uint8_t)(in_a ? FLAG_IN(SYNTHETIC_A) : 0);
        flags |= (uint8_t)(in_b ? FLAG_IN(SYNTHETIC_B) : 0);
        flags |= (uint8_t)(in_c ? FLAG_IN(SYNTHETIC_C) : 0);
        s->flags[wire] = flags;
    }
}

/* Whether a boolean row can be about it. */
static bool may_be_boolean(const struct synthetic *s, uint64_t wire) {
    const uint8_t both = FLAG_IN(SYNTHETIC_A) | FLAG_IN(SYNTHETIC_B);
    return (s->flags[wire] & both) == both && kind_of(s, wire) <= SYNTHETIC_ONE;
}

/* Exchanges the values of n wires of A and B that are no bits with bits elsewhere, as chance can
 * leave a small system short of them. False: there are not as many. */
static bool exchange_bits(struct synthetic *s, uint64_t n) {
    const uint8_t both = FLAG_IN(SYNTHETIC_A) | FLAG_IN(SYNTHETIC_B);
    uint64_t bit = 1;
    for (uint64_t wire = 1; n > 0 && wire < s->n_wires; wire++) {
        if ((s->flags[wire] & both) != both || kind_of(s, wire) <= SYNTHETIC_ONE) {
            continue;
        }
        while (bit < s->n_wires &&
               (kind_of(s, bit) > SYNTHETIC_ONE || (s->flags[bit] & both) == both)) {
            bit++;
        }
        if (bit == s->n_wires) {
            break;
        }
        const uint8_t different = (s->flags[wire] ^ s->flags[bit]) & FLAG_VALUE;
        s->flags[wire] ^= different;
        s->flags[bit] ^= different;
        n--;
    }
    return n == 0;
}

static pm_status set_paces(struct synthetic *s, pm_error *error) {
    const struct synthetic_plan *plan = &s->plan;
    uint64_t n_boolean_max = 0;
    for (uint64_t wire = 1; wire < s->n_wires; wire++) {
        n_boolean_max += may_be_boolean(s, wire);
    }
    if (n_boolean_max < plan->facts.n_boolean) {
        PM_FAIL_IF(!exchange_bits(s, plan->facts.n_boolean - n_boolean_max), error,
                   PM_INVALID_ARGUMENT,
                   "there are more boolean rows than bits that A and B both use");
        n_boolean_max = plan->facts.n_boolean;
    }
    for (uint64_t wire = s->n_wires; wire-- > 1;) {
        if ((s->flags[wire] & FLAG_IN(SYNTHETIC_C)) != 0 && kind_of(s, wire) == SYNTHETIC_ZERO) {
            s->a_zero = (uint32_t)wire;
        }
    }
    s->boolean = (struct pace){.n = n_boolean_max, .chosen = plan->facts.n_boolean};
    const uint64_t n_product = plan->facts.n_rows - plan->facts.n_boolean - plan->facts.n_linear;
    for (int m = 0; m < SYNTHETIC_MATRICES; m++) {
        s->slots[m] =
            (struct pace){.n = plan->n_slots[m], .chosen = plan->n_in[m] - plan->n_first[m]};
        s->first[m] = (struct pace){.n = m == SYNTHETIC_A ? n_product : plan->facts.n_linear,
                                    .chosen = plan->n_first[m]};
        s->next_in[m] = 1;
    }
    s->next_boolean = 1;
    return PM_OK;
}

/* ---- Terms ----------------------------------------------------------------------------------- */

static bool has_wire(const struct row *row, enum synthetic_matrix m, uint32_t wire) {
    for (uint32_t i = 0; i < row->n_terms[m]; i++) {
        if (row->terms[m][i].wire == wire) {
            return true;
        }
    }
    return false;
}

/* A wire that the matrix uses, of one of the kinds in the mask and not in the row yet, or 0 when
 * none is found in n_tries. */
static uint32_t pick_wire(struct synthetic *s, enum synthetic_matrix m, uint32_t kinds,
                          uint32_t n_tries) {
    const uint64_t n = s->n_wires - 1;
    const uint64_t near = n < NEAR_WIRES ? n : NEAR_WIRES;
    for (uint32_t i = 0; i < n_tries; i++) {
        uint64_t at = synthetic_below(&s->random, n);
        if (synthetic_below(&s->random, FAR_EVERY) != 0) {
            at = (s->next_in[m] + n - near / 2 + at % near) % n;
        }
        const uint32_t wire = (uint32_t)at + 1;
        if ((s->flags[wire] & FLAG_IN(m)) != 0 && (kinds >> kind_of(s, wire) & 1) != 0 &&
            !has_wire(&s->row, m, wire)) {
            return wire;
        }
    }
    return 0;
}

static uint32_t bring_up(struct synthetic *s, enum synthetic_matrix m) {
    uint32_t wire = s->next_in[m];
    while ((s->flags[wire] & FLAG_IN(m)) == 0) {
        wire++;
    }
    s->next_in[m] = wire + 1;
    return wire;
}

static void add_term(struct synthetic *s, enum synthetic_matrix m, uint32_t wire) {
    s->row.terms[m][s->row.n_terms[m]++].wire = wire;
}

/* n terms without their coefficients; those that bring up a wire come first. */
static void choose_wires(struct synthetic *s, enum synthetic_matrix m, uint32_t n,
                         bool with_first) {
    uint32_t n_others = 0;
    if (with_first) {
        n--;
        if (pace_next(&s->first[m])) {
            add_term(s, m, bring_up(s, m));
        } else {
            n_others++;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (pace_next(&s->slots[m])) {
            add_term(s, m, bring_up(s, m));
        } else {
            n_others++;
        }
    }
    const uint64_t constant = (uint64_t)(s->options->constant[m] * 1e6);
    for (uint32_t i = 0; i < n_others; i++) {
        const bool is_constant = synthetic_below(&s->random, 1000000) < constant;
        const bool again = is_constant && has_wire(&s->row, m, 0);
        add_term(s, m, is_constant && !again ? 0 : pick_wire(s, m, ANY_VALUE, 4096));
    }
}

/* Minus a, for 0 < a < modulus. */
static void negate_canonical(const struct pm_field *fr, uint64_t *a) {
    unsigned __int128 borrow = 0;
    for (int i = 0; i < LIMBS; i++) {
        const unsigned __int128 d = (unsigned __int128)fr->modulus[i] - a[i] - borrow;
        a[i] = (uint64_t)d;
        borrow = d >> 64 & 1;
    }
}

/* 1, -1, 2, -2, 4, ... or the opposites, so that no two wires of a row look alike; or random ones.
 */
static void choose_coefficients(struct synthetic *s, enum synthetic_matrix m, bool full) {
    const uint32_t flip = (uint32_t)synthetic_next(&s->random) & 1;
    for (uint32_t i = 0; i < s->row.n_terms[m]; i++) {
        uint64_t *coefficient = s->row.terms[m][i].coefficient;
        if (full) {
            random_scalar(s, &s->random, coefficient);
            continue;
        }
        memset(coefficient, 0, sizeof(scalar));
        coefficient[i / 2 / 64] = UINT64_C(1) << i / 2 % 64;
        if (((i + flip) & 1) != 0) {
            negate_canonical(s->fr, coefficient);
        }
    }
}

/* The combination at the witness, in Montgomery form. */
static void evaluate(const struct synthetic *s, enum synthetic_matrix m, uint64_t *sum) {
    memset(sum, 0, sizeof(scalar));
    for (uint32_t i = 0; i < s->row.n_terms[m]; i++) {
        const struct term *term = &s->row.terms[m][i];
        if (kind_of(s, term->wire) == SYNTHETIC_ZERO) {
            continue;
        }
        scalar coefficient, value;
        s->fr->to_mont(coefficient, term->coefficient, 1);
        if (kind_of(s, term->wire) != SYNTHETIC_ONE) {
            value_of(s, term->wire, value);
            s->fr->to_mont(value, value, 1);
            s->fr->mul(coefficient, coefficient, value);
        }
        s->fr->add(sum, sum, coefficient);
    }
}

static bool is_zero(const uint64_t *a) {
    return (a[0] | a[1] | a[2] | a[3]) == 0;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Divides for the rows that wait, and writes them. */
static pm_status write_pending(struct synthetic *s, pm_error *error) {
    s->fr->batch_inv(s->value[0], s->space[0], s->n_pending);
    for (uint32_t i = 0; i < s->n_pending; i++) {
        s->fr->mul(s->wanted[i], s->wanted[i], s->value[i]);
        s->fr->from_mont(s->bytes + s->coefficient_at[i], s->wanted[i], 1);
    }
    if (fwrite(s->bytes, 1, s->n_bytes, s->stream) != s->n_bytes) {
        return pm_error_set_errno(error, PM_IO, errno, s->path, "cannot write");
    }
    s->n_pending = 0;
    s->n_bytes = 0;
    return PM_OK;
}

static void put(struct synthetic *s, const void *bytes, size_t n) {
    memcpy(s->bytes + s->n_bytes, bytes, n);
    s->n_bytes += n;
}

static void put_row(struct synthetic *s) {
    for (int m = 0; m < SYNTHETIC_MATRICES; m++) {
        put(s, &s->row.n_terms[m], 4);
        for (uint32_t i = 0; i < s->row.n_terms[m]; i++) {
            put(s, &s->row.terms[m][i].wire, 4);
            put(s, s->row.terms[m][i].coefficient, PM_FR_BYTES);
        }
    }
}

static void boolean_row(struct synthetic *s) {
    uint32_t wire = s->next_boolean;
    while (!may_be_boolean(s, wire) || !pace_next(&s->boolean)) {
        wire++;
    }
    s->next_boolean = wire + 1;
    add_term(s, SYNTHETIC_A, 0);
    add_term(s, SYNTHETIC_A, wire);
    add_term(s, SYNTHETIC_B, wire);
    for (int m = SYNTHETIC_A; m <= SYNTHETIC_B; m++) {
        for (uint32_t i = 0; i < s->row.n_terms[m]; i++) {
            memset(s->row.terms[m][i].coefficient, 0, sizeof(scalar));
            s->row.terms[m][i].coefficient[0] = 1;
        }
    }
    negate_canonical(s->fr, s->row.terms[SYNTHETIC_A][1].coefficient);
    put_row(s);
}

/* Coefficients for all terms but the last one of C; what that one has to add, in Montgomery form.
 */
static void choose_and_evaluate(struct synthetic *s, bool full, uint64_t *missing) {
    scalar sum[SYNTHETIC_MATRICES];
    for (int m = 0; m < SYNTHETIC_MATRICES; m++) {
        choose_coefficients(s, (enum synthetic_matrix)m, full);
        evaluate(s, (enum synthetic_matrix)m, sum[m]);
    }
    s->fr->mul(missing, sum[SYNTHETIC_A], sum[SYNTHETIC_B]);
    s->fr->sub(missing, missing, sum[SYNTHETIC_C]);
}

/* The last term of C, and the row. Where nothing is missing, the term is of a wire whose value is
 * zero; only where there is none at all can its coefficient come out as zero. */
static void solve_and_put(struct synthetic *s, bool full) {
    scalar missing, value;
    choose_and_evaluate(s, full, missing);
    uint32_t wire = is_zero(missing) ? pick_wire(s, SYNTHETIC_C, 1u << SYNTHETIC_ZERO, 256) : 0;
    if (is_zero(missing) && wire == 0) {
        choose_and_evaluate(s, true, missing);
        wire = is_zero(missing) ? s->a_zero : 0;
    }
    struct term *last = &s->row.terms[SYNTHETIC_C][s->row.n_terms[SYNTHETIC_C]];
    if (is_zero(missing) && wire != 0) {
        const bool again = has_wire(&s->row, SYNTHETIC_C, wire);
        add_term(s, SYNTHETIC_C, wire);
        memset(last->coefficient, 0, sizeof(scalar));
        last->coefficient[0] = again ? 3 : 1;
        put_row(s);
        return;
    }
    const bool has_ones = s->options->values[SYNTHETIC_ONE] > 0;
    wire = has_ones ? pick_wire(s, SYNTHETIC_C, 1u << SYNTHETIC_ONE, 64) : 0;
    wire = wire != 0 ? wire : pick_wire(s, SYNTHETIC_C, NONZERO, 4096);
    add_term(s, SYNTHETIC_C, wire);
    memset(last->coefficient, 0, sizeof(scalar));
    put_row(s);
    value_of(s, wire, value);
    s->fr->to_mont(s->value[s->n_pending], value, 1);
    memcpy(s->wanted[s->n_pending], missing, sizeof missing);
    s->coefficient_at[s->n_pending++] = s->n_bytes - PM_FR_BYTES;
}

static void free_row(struct synthetic *s, bool linear) {
    struct synthetic_plan *plan = &s->plan;
    if (!linear) {
        const uint32_t n_a = synthetic_deck_draw(&plan->lengths[SYNTHETIC_A], &s->random);
        const uint32_t n_b = synthetic_deck_draw(&plan->lengths[SYNTHETIC_B], &s->random);
        choose_wires(s, SYNTHETIC_A, n_a, true);
        choose_wires(s, SYNTHETIC_B, n_b, false);
    }
    const uint32_t n_c = synthetic_deck_draw(
        linear ? &plan->linear_lengths : &plan->lengths[SYNTHETIC_C], &s->random);
    choose_wires(s, SYNTHETIC_C, n_c - 1, linear);
    solve_and_put(s, (double)synthetic_below(&s->random, 1000000) < s->options->full_rows * 1e6);
}

static pm_status write_rows(struct synthetic *s, pm_error *error) {
    for (uint64_t i = 0; i < s->plan.facts.n_rows; i++) {
        const uint32_t kind = synthetic_deck_draw(&s->plan.rows, &s->random);
        memset(s->row.n_terms, 0, sizeof s->row.n_terms);
        if (kind == SYNTHETIC_BOOLEAN) {
            boolean_row(s);
        } else {
            free_row(s, kind == SYNTHETIC_LINEAR);
        }
        if (s->n_pending == PENDING_ROWS || s->n_bytes + ROW_BYTES_MAX > STREAM_BYTES) {
            PM_TRY(write_pending(s, error));
        }
    }
    return write_pending(s, error);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static pm_status write_bytes(struct synthetic *s, const void *bytes, size_t n, pm_error *error) {
    if (fwrite(bytes, 1, n, s->stream) != n) {
        return pm_error_set_errno(error, PM_IO, errno, s->path, "cannot write");
    }
    return PM_OK;
}

static pm_status write_u32(struct synthetic *s, uint32_t value, pm_error *error) {
    return write_bytes(s, &value, sizeof value, error);
}

static pm_status write_u64(struct synthetic *s, uint64_t value, pm_error *error) {
    return write_bytes(s, &value, sizeof value, error);
}

static pm_status write_section(struct synthetic *s, uint32_t type, uint64_t n_bytes,
                               pm_error *error) {
    PM_TRY(write_u32(s, type, error));
    return write_u64(s, n_bytes, error);
}

static pm_status write_start(struct synthetic *s, const char *magic, uint32_t version,
                             uint32_t n_sections, pm_error *error) {
    PM_TRY(write_bytes(s, magic, 4, error));
    PM_TRY(write_u32(s, version, error));
    return write_u32(s, n_sections, error);
}

static pm_status write_r1cs(struct synthetic *s, pm_error *error) {
    const struct synthetic_facts *facts = &s->plan.facts;
    uint64_t n_terms = 0;
    for (int m = 0; m < SYNTHETIC_MATRICES; m++) {
        n_terms += facts->n_terms[m];
    }
    PM_TRY(write_start(s, "r1cs", 1, 3, error));
    PM_TRY(write_section(s, 1, 64, error));
    PM_TRY(write_u32(s, PM_FR_BYTES, error));
    PM_TRY(write_bytes(s, s->fr->modulus, PM_FR_BYTES, error));
    PM_TRY(write_u32(s, (uint32_t)facts->n_wires, error));
    PM_TRY(write_u32(s, 0, error)); /* outputs */
    PM_TRY(write_u32(s, s->options->n_public, error));
    PM_TRY(write_u32(s, (uint32_t)facts->n_wires - 1 - s->options->n_public, error));
    PM_TRY(write_u64(s, facts->n_wires, error));
    PM_TRY(write_u32(s, (uint32_t)facts->n_rows, error));
    PM_TRY(write_section(s, 2, 12 * facts->n_rows + TERM_BYTES * n_terms, error));
    PM_TRY(write_rows(s, error));
    PM_TRY(write_section(s, 3, 8 * facts->n_wires, error));
    for (uint64_t wire = 0; wire < facts->n_wires; wire++) {
        PM_TRY(write_u64(s, wire, error));
    }
    return PM_OK;
}

static pm_status write_wtns(struct synthetic *s, pm_error *error) {
    PM_TRY(write_start(s, "wtns", 2, 2, error));
    PM_TRY(write_section(s, 1, 40, error));
    PM_TRY(write_u32(s, PM_FR_BYTES, error));
    PM_TRY(write_bytes(s, s->fr->modulus, PM_FR_BYTES, error));
    PM_TRY(write_u32(s, (uint32_t)s->n_wires, error));
    PM_TRY(write_section(s, 2, PM_FR_BYTES * s->n_wires, error));
    for (uint64_t wire = 0; wire < s->n_wires; wire++) {
        scalar value;
        value_of(s, wire, value);
        PM_TRY(write_bytes(s, value, PM_FR_BYTES, error));
    }
    return PM_OK;
}

static pm_status write_file(struct synthetic *s, const char *path,
                            pm_status (*contents)(struct synthetic *, pm_error *),
                            pm_error *error) {
    s->path = path;
    s->stream = fopen(path, "wb");
    if (s->stream == NULL) {
        return pm_error_set_errno(error, PM_IO, errno, path, "cannot create");
    }
    (void)setvbuf(s->stream, NULL, _IOFBF, STREAM_BYTES);
    pm_status status = contents(s, error);
    if (fclose(s->stream) != 0 && status == PM_OK) {
        status = pm_error_set_errno(error, PM_IO, errno, path, "cannot write");
    }
    if (status != PM_OK) {
        (void)unlink(path);
    }
    return status;
}

static pm_status write_both(struct synthetic *s, const char *r1cs_path, const char *wtns_path,
                            pm_error *error) {
    void *flags = NULL, *bytes = NULL;
    pm_status status;
    PM_TRY_GOTO(status, pm_memory_alloc(NULL, "wires", s->n_wires, PM_MEMORY_PLAIN, &flags, error),
                cleanup);
    PM_TRY_GOTO(status, pm_memory_alloc(NULL, "rows", STREAM_BYTES, PM_MEMORY_PLAIN, &bytes, error),
                cleanup);
    s->flags = flags;
    s->bytes = bytes;
    deal_wires(s);
    PM_TRY_GOTO(status, set_paces(s, error), cleanup);
    PM_TRY_GOTO(status, write_file(s, r1cs_path, write_r1cs, error), cleanup);
    status = write_file(s, wtns_path, write_wtns, error);
    if (status != PM_OK) {
        (void)unlink(r1cs_path);
    }
cleanup:
    pm_memory_free(flags);
    pm_memory_free(bytes);
    return status;
}

pm_status synthetic_write(const struct synthetic_options *options, const char *r1cs_path,
                          const char *wtns_path, struct synthetic_facts *facts, pm_error *error) {
    const struct pm_field *fr = pm_field_fr(options->curve, pm_cpu_best_body());
    PM_FAIL_IF(fr == NULL, error, PM_CURVE, "the curve is unknown");
    void *memory = NULL;
    PM_TRY(pm_memory_alloc(NULL, "synthetic system", sizeof(struct synthetic), PM_MEMORY_PLAIN,
                           &memory, error));
    struct synthetic *s = memory;
    s->options = options;
    s->fr = fr;
    s->random = synthetic_mix(options->seed ^ 0xd1b54a32d192ed03);
    pm_status status = synthetic_plan_make(options, &s->plan, error);
    if (status == PM_OK) {
        s->n_wires = s->plan.facts.n_wires;
        status = write_both(s, r1cs_path, wtns_path, error);
    }
    if (status == PM_OK && facts != NULL) {
        *facts = s->plan.facts;
    }
    pm_memory_free(memory);
    return status;
}
