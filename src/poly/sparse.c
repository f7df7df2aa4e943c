/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "poly/sparse.h"

#include "base/limits.h"
#include "base/random.h"

#include <stdbool.h>
#include <string.h>

#define TERMS_PER_CHECK 65536 /* a few milliseconds of hashing */

/* ---- The dictionary: an open hash table ---------------------------------------------------- */

#define FIRST_SLOTS_LOG 8

/* The hash has a random key, so that no file can be made whose coefficients all collide. */
struct pm_sparse_dictionary {
    struct pm_ledger *ledger;
    uint32_t limbs;
    uint32_t n_slots_log;
    uint64_t key[PM_FR_LIMBS_MAX];
    uint32_t *slots;  /* index + 1; 0: free */
    uint64_t *values; /* room for half as many as there are slots */
    uint64_t n_values;
};

static uint64_t multiply_and_fold(uint64_t a, uint64_t b) {
    const unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_of(const struct pm_sparse_dictionary *dictionary, const uint64_t *value) {
    uint64_t hash = 0;
    for (uint32_t i = 0; i < dictionary->limbs; ++i) {
        hash =
            multiply_and_fold(hash ^ value[i] ^ dictionary->key[i], UINT64_C(0x9e3779b97f4a7c15));
    }
    return hash;
}

/* The slot where the value stands or would stand; there is always a free one. */
static uint32_t *find_slot(const struct pm_sparse_dictionary *dictionary, const uint64_t *value) {
    const uint64_t mask = (UINT64_C(1) << dictionary->n_slots_log) - 1;
    const size_t value_bytes = dictionary->limbs * sizeof *value;
    for (uint64_t at = hash_of(dictionary, value);; ++at) {
        uint32_t *slot = &dictionary->slots[at & mask];
        if (*slot == 0 || memcmp(dictionary->values + (uint64_t)(*slot - 1) * dictionary->limbs,
                                 value, value_bytes) == 0) {
            return slot;
        }
    }
}

static pm_status alloc_slots(struct pm_sparse_dictionary *dictionary, uint32_t n_slots_log,
                             pm_error *error) {
    void *slots = NULL, *values = NULL;
    const uint64_t n_slots = UINT64_C(1) << n_slots_log;
    const uint64_t value_bytes = dictionary->limbs * sizeof *dictionary->values;
    PM_TRY(pm_memory_alloc_array(dictionary->ledger, "coefficient hash", n_slots,
                                 sizeof *dictionary->slots, PM_MEMORY_PLAIN, &slots, error));
    const pm_status status =
        pm_memory_alloc_array(dictionary->ledger, "coefficient values", n_slots / 2, value_bytes,
                              PM_MEMORY_PLAIN, &values, error);
    if (status != PM_OK) {
        pm_memory_free(slots);
        return status;
    }
    if (dictionary->n_values > 0) {
        memcpy(values, dictionary->values, dictionary->n_values * value_bytes);
    }
    pm_memory_free(dictionary->slots);
    pm_memory_free(dictionary->values);
    dictionary->slots = slots;
    dictionary->values = values;
    dictionary->n_slots_log = n_slots_log;
    for (uint64_t i = 0; i < dictionary->n_values; ++i) {
        *find_slot(dictionary, dictionary->values + i * dictionary->limbs) = (uint32_t)i + 1;
    }
    return PM_OK;
}

static pm_status add_value(struct pm_sparse_dictionary *dictionary, const uint64_t *value,
                           pm_error *error) {
    uint32_t *slot = find_slot(dictionary, value);
    if (*slot != 0) {
        return PM_OK;
    }
    if (dictionary->n_values == (UINT64_C(1) << dictionary->n_slots_log) / 2) {
        PM_TRY(alloc_slots(dictionary, dictionary->n_slots_log + 1, error));
        slot = find_slot(dictionary, value);
    }
    memcpy(dictionary->values + dictionary->n_values * dictionary->limbs, value,
           dictionary->limbs * sizeof *value);
    *slot = (uint32_t)++dictionary->n_values;
    return PM_OK;
}

static void destroy_dictionary(struct pm_sparse_dictionary *dictionary) {
    if (dictionary != NULL) {
        pm_memory_free(dictionary->slots);
        pm_memory_free(dictionary->values);
        pm_memory_free(dictionary);
    }
}

static pm_status create_dictionary(const struct pm_field *fr, struct pm_ledger *ledger,
                                   struct pm_sparse_dictionary **out, pm_error *error) {
    void *memory = NULL;
    PM_TRY(pm_memory_alloc(ledger, "coefficient dictionary", sizeof **out, PM_MEMORY_PLAIN, &memory,
                           error));
    struct pm_sparse_dictionary *dictionary = memory;
    dictionary->ledger = ledger;
    dictionary->limbs = fr->limbs;
    pm_status status;
    PM_TRY_GOTO(status, pm_random_bytes(dictionary->key, sizeof dictionary->key, error), cleanup);
    PM_TRY_GOTO(status, alloc_slots(dictionary, FIRST_SLOTS_LOG, error), cleanup);
    *out = dictionary;
    return PM_OK;
cleanup:
    destroy_dictionary(dictionary);
    return status;
}

/* ---- Walks over the rows ------------------------------------------------------------------- */

/* A term, copied once: what it was read from may be a mapped file that somebody overwrites. */
struct term {
    uint32_t column;
    uint64_t value[PM_FR_LIMBS_MAX];
};

static void read_term(const struct pm_sparse_source *source, const uint8_t *bytes,
                      struct term *term) {
    memcpy(&term->column, bytes, sizeof term->column);
    memcpy(term->value, bytes + sizeof term->column, source->fr->bytes);
    __asm__("" : "+m"(*term)); /* the compiler may not read again */
}

/* Terms and rows since the control was asked. */
struct pace {
    const pm_control *control;
    uint64_t n;
};

static pm_status keep_pace(struct pace *pace, pm_error *error) {
    return ++pace->n % TERMS_PER_CHECK == 0 ? pm_control_check(pace->control, error) : PM_OK;
}

static pm_status count_row(struct pm_sparse_builder *builder, uint64_t row, struct pace *pace,
                           pm_error *error) {
    const struct pm_sparse_source *source = &builder->source;
    struct pm_sparse_row terms = {0};
    PM_TRY(source->read_row(source->argument, row, &terms, error));
    PM_TRY(keep_pace(pace, error));
    PM_FAIL_IF(terms.n_terms > UINT32_MAX - builder->n_terms, error, PM_UNSUPPORTED,
               "a matrix of 2^32 terms or more");
    builder->n_terms += terms.n_terms;
    for (uint64_t i = 0; i < terms.n_terms; ++i) {
        struct term term;
        read_term(source, terms.terms + i * PM_SPARSE_TERM_BYTES(source->fr), &term);
        PM_FAIL_IF(term.column >= source->n_columns, error, PM_COUNT,
                   "row %llu of a matrix has a term in column %u of %llu", (unsigned long long)row,
                   term.column, (unsigned long long)source->n_columns);
        PM_FAIL_IF(!source->fr->is_canonical(term.value), error, PM_NOT_CANONICAL,
                   "row %llu of a matrix has a coefficient that is not below the modulus",
                   (unsigned long long)row);
        PM_TRY(add_value(builder->dictionary, term.value, error));
        PM_TRY(keep_pace(pace, error));
    }
    return PM_OK;
}

pm_status pm_sparse_count(const struct pm_sparse_source *source, struct pm_ledger *ledger,
                          const pm_control *control, struct pm_sparse_builder *builder,
                          pm_error *error) {
    struct pm_sparse_builder counted = {.source = *source};
    struct pace pace = {.control = control};
    PM_FAIL_IF(source->n_rows > UINT32_MAX || source->n_columns > UINT32_MAX, error, PM_UNSUPPORTED,
               "a matrix of 2^32 rows or columns or more");
    PM_TRY(pm_control_check(control, error));
    PM_TRY(create_dictionary(source->fr, ledger, &counted.dictionary, error));
    pm_status status = PM_OK;
    for (uint64_t row = 0; row < source->n_rows && status == PM_OK; ++row) {
        status = count_row(&counted, row, &pace, error);
    }
    if (status != PM_OK) {
        destroy_dictionary(counted.dictionary);
        return status;
    }
    counted.n_coefficients = counted.dictionary->n_values;
    *builder = counted;
    return PM_OK;
}

/* Each part begins where the one before it ends, the widest elements first. */
static uint64_t coefficients_bytes(const struct pm_sparse_builder *builder) {
    return builder->n_coefficients * builder->source.fr->bytes;
}

static uint64_t terms_bytes(const struct pm_sparse_builder *builder) {
    return builder->n_terms * sizeof(struct pm_sparse_entry);
}

uint64_t pm_sparse_bytes(const struct pm_sparse_builder *builder) {
    return coefficients_bytes(builder) + terms_bytes(builder) +
           (builder->source.n_rows + 1) * sizeof(uint32_t);
}

static void fill_coefficients(const struct pm_sparse_builder *builder, uint64_t *coefficients) {
    const struct pm_field *fr = builder->source.fr;
    for (uint64_t i = 0; i < builder->n_coefficients; ++i) {
        uint64_t *coefficient = coefficients + i * fr->limbs;
        fr->to_mont(coefficient, builder->dictionary->values + i * fr->limbs, 1);
        fr->to_mont(coefficient, coefficient, 1);
    }
}

/* Appends a row to *n_filled terms. */
static pm_status fill_row(const struct pm_sparse_builder *builder, uint64_t row,
                          struct pm_sparse_entry *out, uint64_t *n_filled, struct pace *pace,
                          pm_error *error) {
    const struct pm_sparse_source *source = &builder->source;
    struct pm_sparse_row terms = {0};
    PM_TRY(source->read_row(source->argument, row, &terms, error));
    PM_TRY(keep_pace(pace, error));
    bool is_same = terms.n_terms <= builder->n_terms - *n_filled;
    for (uint64_t i = 0; is_same && i < terms.n_terms; ++i) {
        struct term term;
        read_term(source, terms.terms + i * PM_SPARSE_TERM_BYTES(source->fr), &term);
        const uint32_t slot = *find_slot(builder->dictionary, term.value);
        is_same = slot != 0 && term.column < source->n_columns;
        out[(*n_filled)++] = (struct pm_sparse_entry){term.column, slot - 1};
        PM_TRY(keep_pace(pace, error));
    }
    PM_FAIL_IF(!is_same, error, PM_FILE_CHANGED,
               "row %llu of a matrix is not what it was when it was counted",
               (unsigned long long)row);
    return PM_OK;
}

static pm_status fill_rows(const struct pm_sparse_builder *builder, struct pm_sparse_entry *terms,
                           uint32_t *row_starts, const pm_control *control, pm_error *error) {
    struct pace pace = {.control = control};
    uint64_t n_filled = 0;
    for (uint64_t row = 0; row < builder->source.n_rows; ++row) {
        row_starts[row] = (uint32_t)n_filled;
        PM_TRY(fill_row(builder, row, terms, &n_filled, &pace, error));
    }
    row_starts[builder->source.n_rows] = (uint32_t)n_filled;
    PM_FAIL_IF(n_filled != builder->n_terms, error, PM_FILE_CHANGED,
               "a matrix of %llu terms had %llu when they were counted",
               (unsigned long long)n_filled, (unsigned long long)builder->n_terms);
    return PM_OK;
}

pm_status pm_sparse_fill(struct pm_sparse_builder *builder, struct pm_ledger *ledger,
                         const pm_control *control, struct pm_sparse *matrix, pm_error *error) {
    void *memory = NULL;
    PM_TRY(pm_control_check(control, error));
    PM_TRY(pm_memory_alloc(ledger, "constraint matrix", pm_sparse_bytes(builder), PM_MEMORY_PLAIN,
                           &memory, error));
    uint64_t *coefficients = memory;
    uint8_t *after = (uint8_t *)memory + coefficients_bytes(builder);
    struct pm_sparse_entry *terms = (struct pm_sparse_entry *)(void *)after;
    uint32_t *row_starts = (uint32_t *)(void *)(after + terms_bytes(builder));
    fill_coefficients(builder, coefficients);
    const pm_status status = fill_rows(builder, terms, row_starts, control, error);
    if (status != PM_OK) {
        pm_memory_free(memory);
        return status;
    }
    *matrix = (struct pm_sparse){.n_rows = builder->source.n_rows,
                                 .n_columns = builder->source.n_columns,
                                 .n_terms = builder->n_terms,
                                 .n_coefficients = builder->n_coefficients,
                                 .row_starts = row_starts,
                                 .terms = terms,
                                 .coefficients = coefficients,
                                 .memory = memory};
    return PM_OK;
}

void pm_sparse_builder_destroy(struct pm_sparse_builder *builder) {
    if (builder != NULL) {
        destroy_dictionary(builder->dictionary);
        *builder = (struct pm_sparse_builder){0};
    }
}

void pm_sparse_destroy(struct pm_sparse *matrix) {
    if (matrix != NULL) {
        pm_memory_free(matrix->memory);
        *matrix = (struct pm_sparse){0};
    }
}
