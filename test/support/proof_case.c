/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "support/proof_case.h"

#include "ff/field.h"
#include "io/r1cs.h"
#include "support/file_builder.h"
#include "support/fixture.h"
#include "support/toy_circuits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define LIMBS PM_FR_LIMBS_MAX

static void *zeroed(uint64_t n, size_t bytes) {
    void *block = calloc(n + 1, bytes);
    assert_non_null(block);
    return block;
}

/* ---- The constraints, evaluated ------------------------------------------------------------- */

static void set_bit(uint64_t *words, uint64_t i) {
    words[i / 64] |= UINT64_C(1) << (i % 64);
}

static void note_density(struct proof_case *made, int matrix, uint64_t wire) {
    if (matrix == 0 && wire >= made->n_inputs) {
        set_bit(made->a_aux_density, wire - made->n_inputs);
    } else if (matrix == 1 && wire >= made->n_inputs) {
        set_bit(made->b_aux_density, wire - made->n_inputs);
    } else if (matrix == 1) {
        set_bit(made->b_input_density, wire);
    }
}

static void evaluate_row(struct proof_case *made, const struct pm_r1cs *r1cs,
                         const struct pm_field *fr, const struct pm_r1cs_row *terms, uint64_t row) {
    for (int matrix = 0; matrix < 3; ++matrix) {
        uint64_t sum[LIMBS] = {0};
        for (uint32_t i = 0; i < terms->n_terms[matrix]; ++i) {
            const uint8_t *term = terms->terms[matrix] + (size_t)i * PM_R1CS_TERM_BYTES;
            const uint32_t wire = pm_r1cs_term_wire(r1cs, term);
            uint64_t value[LIMBS], w[LIMBS];
            fr->to_mont(value, term + 4, 1);
            fr->to_mont(w, made->values + (size_t)wire * PM_FR_BYTES, 1);
            fr->mul(value, value, w);
            fr->add(sum, sum, value);
            note_density(made, matrix, wire);
        }
        fr->from_mont(made->vectors[matrix] + row * PM_FR_BYTES, sum, 1);
    }
}

/* Rows, and behind them one for each input: a = the input, b = c = 0. */
static void evaluate(struct proof_case *made, const char *r1cs_path) {
    pm_error error = PM_ERROR_INIT;
    struct pm_mapping mapping;
    struct pm_r1cs r1cs;
    const struct pm_field *fr = pm_field_fr(made->curve, PM_BODY_PORTABLE);
    toy_expect(
        pm_mapping_open(r1cs_path, PM_MAPPING_READ, UINT64_MAX, NULL, NULL, &mapping, &error),
        PM_OK, &error);
    toy_expect(pm_r1cs_open(&mapping, NULL, &r1cs, &error), PM_OK, &error);
    made->n_inputs = (uint64_t)r1cs.n_outputs + r1cs.n_public_inputs + 1;
    made->n_rows = r1cs.n_constraints + made->n_inputs;
    for (int i = 0; i < 3; ++i) {
        made->vectors[i] = zeroed(made->n_rows, PM_FR_BYTES);
    }
    made->a_aux_density = zeroed(made->n_vars / 64 + 1, 8);
    made->b_aux_density = zeroed(made->n_vars / 64 + 1, 8);
    made->b_input_density = zeroed(made->n_inputs / 64 + 1, 8);
    const uint8_t *at = r1cs.rows;
    for (uint64_t row = 0; row < r1cs.n_constraints; ++row) {
        struct pm_r1cs_row terms;
        at = pm_r1cs_row_read(&r1cs, at, &terms);
        evaluate_row(made, &r1cs, fr, &terms, row);
    }
    memcpy(made->vectors[0] + (uint64_t)r1cs.n_constraints * PM_FR_BYTES, made->values,
           made->n_inputs * PM_FR_BYTES);
    pm_mapping_close(&mapping);
}

/* ---- Files ---------------------------------------------------------------------------------- */

static bool find_folder(const char *name, char folder[PM_TEST_PATH_MAX]) {
    char relative[128];
    (void)snprintf(relative, sizeof relative, "small/%s", name);
    return access(pm_data_path(folder, name), R_OK) == 0 || pm_fixture_path(folder, relative);
}

static bool open_key(struct proof_case *made, const char *folder, const char *name,
                     const char *r1cs_path) {
    pm_error error = PM_ERROR_INIT;
    char path[2 * PM_TEST_PATH_MAX];
    if (made->kind == CASE_ZKEY) {
        (void)snprintf(path, sizeof path, "%s/%s.zkey", folder, name);
        if (access(path, R_OK) != 0) {
            return false;
        }
        toy_expect(pm_key_open(made->context, path, NULL, NULL, &made->key, &error), PM_OK, &error);
        return true;
    }
    const pm_setup_known_options options = {
        .struct_bytes = sizeof options, .format = PM_KEY_FORMAT_PARAMS, .seed = 5};
    char *tree = file_make_tree();
    const char *params_path = file_in_tree(tree, "key.params");
    toy_expect(pm_setup_known_tau(made->context, r1cs_path, params_path, &options, NULL, &error),
               PM_OK, &error);
    toy_expect(pm_key_open_params(made->context, params_path,
                                  made->kind == CASE_PARAMS ? r1cs_path : NULL, NULL, NULL,
                                  &made->key, &error),
               PM_OK, &error);
    file_remove_tree(tree);
    return true;
}

bool proof_case_open(pm_context *context, const char *name, enum proof_case_kind kind,
                     struct proof_case *made) {
    pm_error error = PM_ERROR_INIT;
    char folder[PM_TEST_PATH_MAX], path[2 * PM_TEST_PATH_MAX];
    *made = (struct proof_case){.kind = kind, .context = context};
    (void)snprintf(made->name, sizeof made->name, "%s%s", name,
                   kind == CASE_ZKEY     ? ".zkey"
                   : kind == CASE_PARAMS ? ".params with matrices"
                                         : ".params");
    if (!find_folder(name, folder)) {
        return false;
    }
    (void)snprintf(path, sizeof path, "%s/%s.wtns", folder, name);
    toy_expect(pm_witness_open(context, path, NULL, &made->witness, &error), PM_OK, &error);
    made->curve = pm_witness_curve(made->witness);
    made->n_vars = pm_witness_count(made->witness);
    (void)snprintf(path, sizeof path, "%s/%s.r1cs", folder, name);
    if ((kind != CASE_ZKEY && made->curve != PM_CURVE_BLS12_381) ||
        !open_key(made, folder, name, path)) {
        pm_witness_destroy(made->witness);
        return false;
    }
    made->values = zeroed(made->n_vars, PM_FR_BYTES);
    assert_int_equal(pm_witness_values(made->witness, 0, made->n_vars, made->values), PM_OK);
    evaluate(made, path);
    toy_expect(pm_vk_from_key(context, made->key, &made->vk, &error), PM_OK, &error);
    return true;
}

void proof_case_close(struct proof_case *made) {
    for (int i = 0; i < 3; ++i) {
        free(made->vectors[i]);
    }
    free(made->a_aux_density);
    free(made->b_input_density);
    free(made->b_aux_density);
    free(made->values);
    pm_vk_destroy(made->vk);
    pm_witness_destroy(made->witness);
    pm_key_destroy(made->key);
    *made = (struct proof_case){0};
}

pm_status proof_case_verify(const struct proof_case *proof_case, const pm_proof *proof) {
    return pm_verify(proof_case->context, proof_case->vk, proof_case->values + PM_FR_BYTES,
                     proof_case->n_inputs - 1, proof, NULL);
}

void proof_case_expect_absent(const struct proof_case *proof_case,
                              bool (*holds)(const void *bytes, size_t n_bytes)) {
    uint32_t n_looked_for = 0;
    for (uint64_t i = proof_case->n_inputs; i < proof_case->n_vars && n_looked_for < 16; ++i) {
        uint64_t scalar[PM_FR_LIMBS_MAX];
        memcpy(scalar, proof_case->values + i * PM_FR_BYTES, sizeof scalar);
        if (scalar[1] != 0 && scalar[2] != 0 && scalar[3] != 0) {
            assert_false(holds(scalar, sizeof scalar));
            ++n_looked_for;
        }
    }
    assert_true(n_looked_for >= 4);
}

/* ---- Arrays to lend ------------------------------------------------------------------------- */

/* The array ends where its last page does, so that one byte too many is one too many. */
static void *lend(struct lent_array *array, uint64_t n_bytes) {
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    const size_t used_bytes = (n_bytes + page_bytes - 1) / page_bytes * page_bytes;
    array->mapped_bytes = used_bytes + 2 * page_bytes;
    array->pages = mmap(NULL, array->mapped_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(array->pages != MAP_FAILED);
    uint8_t *first = array->pages + page_bytes;
    if (used_bytes != 0) {
        assert_int_equal(mprotect(first, used_bytes, PROT_READ | PROT_WRITE), 0);
    }
    return first + used_bytes - n_bytes;
}

static void unmap(struct lent_array *array) {
    if (array->pages != NULL) {
        (void)munmap(array->pages, array->mapped_bytes);
        array->pages = NULL;
    }
}

static void release(void *user, pm_assignment_array which) {
    struct lent_arrays *lent = user;
    (void)__atomic_add_fetch(&lent->arrays[which].n_released, 1, __ATOMIC_RELAXED);
    unmap(&lent->arrays[which]);
}

static const void *lend_scalars(const struct proof_case *from, struct lent_array *array,
                                const uint8_t *scalars, uint64_t n, pm_scalar_form form) {
    void *to = lend(array, n * PM_FR_BYTES);
    if (form == PM_SCALAR_MONTGOMERY) {
        pm_field_fr(from->curve, PM_BODY_PORTABLE)->to_mont(to, scalars, n);
    } else {
        memcpy(to, scalars, n * PM_FR_BYTES);
    }
    return to;
}

static const uint64_t *lend_density(struct lent_array *array, const uint64_t *words,
                                    uint64_t n_bits) {
    const uint64_t n_bytes = (n_bits + 63) / 64 * 8;
    void *to = lend(array, n_bytes);
    memcpy(to, words, n_bytes);
    if (n_bits % 64 != 0) { /* bits behind the last variable say nothing */
        ((uint64_t *)to)[n_bits / 64] |= UINT64_MAX << (n_bits % 64);
    }
    return to;
}

void lent_arrays_make(const struct proof_case *from, pm_scalar_form form, enum lent_vectors vectors,
                      bool with_densities, struct lent_arrays *lent) {
    const uint64_t n_aux = from->n_vars - from->n_inputs;
    *lent = (struct lent_arrays){.assignment = {.struct_bytes = sizeof lent->assignment,
                                                .curve = (uint32_t)from->curve,
                                                .form = (uint32_t)form,
                                                .n_inputs = from->n_inputs,
                                                .n_aux = n_aux,
                                                .n_rows = from->n_rows,
                                                .release = release,
                                                .user = lent}};
    pm_assignment *made = &lent->assignment;
    made->inputs =
        lend_scalars(from, &lent->arrays[PM_ARRAY_INPUTS], from->values, from->n_inputs, form);
    made->aux = lend_scalars(from, &lent->arrays[PM_ARRAY_AUX],
                             from->values + from->n_inputs * PM_FR_BYTES, n_aux, form);
    lent->n_lent = 2;
    const void **const to[3] = {&made->a, &made->b, &made->c};
    const int n_vectors = vectors == LENT_NO_VECTORS ? 0 : vectors == LENT_A_B ? 2 : 3;
    for (int i = 0; i < n_vectors; ++i, ++lent->n_lent) {
        *to[i] =
            lend_scalars(from, &lent->arrays[PM_ARRAY_A + i], from->vectors[i], from->n_rows, form);
    }
    if (with_densities) {
        made->a_aux_density = lend_density(&lent->densities[0], from->a_aux_density, n_aux);
        made->b_input_density =
            lend_density(&lent->densities[1], from->b_input_density, from->n_inputs);
        made->b_aux_density = lend_density(&lent->densities[2], from->b_aux_density, n_aux);
    }
}

bool lent_arrays_are_back(const struct lent_arrays *lent, bool vectors_only) {
    for (uint32_t i = vectors_only ? PM_ARRAY_A : 0; i < lent->n_lent; ++i) {
        if (__atomic_load_n(&lent->arrays[i].n_released, __ATOMIC_RELAXED) != 1) {
            return false;
        }
    }
    return true;
}

void lent_arrays_drop_densities(struct lent_arrays *lent) {
    for (int i = 0; i < 3; ++i) {
        unmap(&lent->densities[i]);
    }
}

void lent_arrays_close(struct lent_arrays *lent) {
    lent_arrays_drop_densities(lent);
    assert_true(lent_arrays_are_back(lent, false));
    for (uint32_t i = lent->n_lent; i < 5; ++i) {
        assert_int_equal(lent->arrays[i].n_released, 0);
    }
}
