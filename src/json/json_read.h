/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* json/json_read.h - what the readers of proof, public signals and verifying key share. */
#ifndef PM_JSON_READ_H
#define PM_JSON_READ_H

#include "json/json_decimal.h"

#include <proofmill/proofmill.h>

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* How much of a text is looked at. */
struct pm_json_bounds {
    const char *what; /* "proof", for messages */
    size_t n_bytes_max;
    size_t depth_max;    /* brackets open at once */
    size_t n_values_max; /* brackets and commas together */
};

/* Room for "vk_alphabeta_12[1][2][0]" and for any index. */
#define PM_JSON_PATH_CHARS 64

/* Fills *error (NULL is fine) and returns status. */
__attribute__((format(printf, 3, 4))) pm_status pm_json_fail(pm_error *error, pm_status status,
                                                             const char *format, ...);
/* Puts the file's name into an error that has none. */
pm_status pm_json_named(pm_status status, const char *name, pm_error *error);

/* Parses within bounds; *root is the caller's to json_decref(). Errors: ENCODING, LENGTH,
 * NO_MEMORY. */
pm_status pm_json_load(const char *text, size_t n_bytes, const struct pm_json_bounds *bounds,
                       json_t **root, pm_error *error);

/* The member protocol must be "groth16". */
pm_status pm_json_check_protocol(const json_t *object, pm_error *error);
/* The member curve, or fallback where there is none. CURVE when that leaves no known curve. */
pm_status pm_json_read_curve(const json_t *object, pm_curve_id fallback, pm_curve_id *curve,
                             pm_error *error);

/* An array of exactly n elements. */
pm_status pm_json_check_array(const json_t *value, const char *path, size_t n, pm_error *error);
/* A decimal string below the field's modulus, to field->n_bytes bytes. */
pm_status pm_json_read_element(const json_t *value, const char *path,
                               const struct pm_json_field *field, uint8_t *out, pm_error *error);
/* Points as snarkjs writes them, affine or at infinity, to x, y or x.c0, x.c1, y.c0, y.c1; infinity
 * is all zero. */
pm_status pm_json_read_g1(const json_t *value, const char *path, const struct pm_json_field *field,
                          uint8_t *out, pm_error *error);
pm_status pm_json_read_g2(const json_t *value, const char *path, const struct pm_json_field *field,
                          uint8_t *out, pm_error *error);

/* Exchanges c0 and c1 of both coordinates. */
void pm_json_swap_g2(uint8_t *point, size_t fp_bytes);

#endif
