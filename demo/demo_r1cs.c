/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* demo_r1cs.c - writes the demo circuit as an .r1cs file, as a circuit compiler would. */
#include "demo_circuit.h"
#include "demo_options.h"

#include "base/memory.h"

#include <string.h>

#define TERM_BYTES (4 + PM_FR_BYTES)
#define HEADER_BYTES (4 + PM_FR_BYTES + 4 * 4 + 8 + 4)

/* The terms arrive row by row, but not matrix by matrix, and each combination begins with its
 * number of terms: one row is kept until the next one begins. */
#define TERMS_MAX 4

struct writer {
    const struct pm_field *fr;
    uint8_t *at;
    uint32_t row;
    uint32_t n_terms[3];
    struct demo_term terms[3][TERMS_MAX];
};

static void put_bytes(struct writer *writer, const void *bytes, size_t n_bytes) {
    memcpy(writer->at, bytes, n_bytes);
    writer->at += n_bytes;
}

static void put_u32(struct writer *writer, uint32_t value) {
    put_bytes(writer, &value, sizeof value);
}

static void put_section(struct writer *writer, uint32_t type, uint64_t n_bytes) {
    put_u32(writer, type);
    put_bytes(writer, &n_bytes, sizeof n_bytes);
}

static void put_term(struct writer *writer, const struct demo_term *term) {
    uint64_t value[PM_FR_LIMBS_MAX] = {term->factor};
    if (term->is_minus_one) {
        writer->fr->neg(value, writer->fr->one);
        writer->fr->from_mont(value, value, 1);
    }
    put_u32(writer, term->wire);
    put_bytes(writer, value, PM_FR_BYTES);
}

static void put_row(struct writer *writer) {
    for (int matrix = 0; matrix < 3; matrix++) {
        put_u32(writer, writer->n_terms[matrix]);
        for (uint32_t i = 0; i < writer->n_terms[matrix]; i++) {
            put_term(writer, &writer->terms[matrix][i]);
        }
        writer->n_terms[matrix] = 0;
    }
}

static void visit_term(void *user, const struct demo_term *term) {
    struct writer *writer = user;
    if (term->row != writer->row) {
        put_row(writer);
        writer->row = term->row;
    }
    writer->terms[term->matrix][writer->n_terms[term->matrix]++] = *term;
}

static void count_term(void *user, const struct demo_term *term) {
    (void)term;
    ++*(uint64_t *)user;
}

/* Container, header, rows; doc/format_r1cs.md. */
static void put_system(struct writer *writer, const struct demo_options *options,
                       uint64_t rows_bytes) {
    const uint32_t n_vars = demo_n_vars(options->n_rounds);
    const uint64_t n_labels = n_vars;
    put_bytes(writer, "r1cs", 4);
    put_u32(writer, 1);
    put_u32(writer, 2);
    put_section(writer, 1, HEADER_BYTES);
    put_u32(writer, writer->fr->bytes);
    put_bytes(writer, writer->fr->modulus, writer->fr->bytes);
    put_u32(writer, n_vars);
    put_u32(writer, DEMO_N_PUBLIC); /* outputs */
    put_u32(writer, 0);             /* public inputs */
    put_u32(writer, 1);             /* private inputs */
    put_bytes(writer, &n_labels, sizeof n_labels);
    put_u32(writer, demo_n_constraints(options->n_rounds));
    put_section(writer, 2, rows_bytes);
    demo_circuit_terms(options->n_rounds, visit_term, writer);
    put_row(writer);
}

static pm_status write_system(const struct demo_options *options, const char *path,
                              pm_error *error) {
    uint64_t n_terms = 0;
    demo_circuit_terms(options->n_rounds, count_term, &n_terms);
    const uint64_t rows_bytes =
        n_terms * TERM_BYTES + (uint64_t)demo_n_constraints(options->n_rounds) * 3 * 4;
    const uint64_t n_bytes = 12 + 12 + HEADER_BYTES + 12 + rows_bytes;
    void *image = NULL;
    PM_TRY(pm_memory_alloc(NULL, "constraint system", n_bytes, PM_MEMORY_PLAIN, &image, error));
    struct writer writer = {.fr = options->curve->fr, .at = image};
    put_system(&writer, options, rows_bytes);
    const pm_output output = {.path = path, .bytes = image, .n_bytes = n_bytes};
    const pm_status status = pm_files_write(&output, 1, NULL, error);
    pm_memory_free(image);
    return status;
}

int main(int argc, char **argv) {
    const struct demo_options options =
        demo_options_read(argc, argv, 3, "pm_demo_r1cs CURVE ROUNDS OUT.r1cs");
    pm_error error = PM_ERROR_INIT;
    return demo_exit_status(write_system(&options, argv[3], &error), &error);
}
