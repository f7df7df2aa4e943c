/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * io/pmasg.h - a proving assignment in a file (.pmasg). doc/format_pmasg.md describes the bytes.
 *
 * Reading gives spans in the mapping and checks what memory safety depends on: sizes, lengths,
 * padding, the bits of the densities. Values and the digest are looked at by pm_pmasg_check(); a
 * proof checks the values as it loads them. The file is a secret.
 */
#ifndef PM_IO_PMASG_H
#define PM_IO_PMASG_H

#include "base/control.h"
#include "io/mapping.h"
#include "par/team.h"

#include <proofmill/proofmill.h>

#include <stdbool.h>
#include <stdint.h>

#define PM_PMASG_VERSION 1u
#define PM_PMASG_HEADER_BYTES 128u
#define PM_PMASG_DIGEST_BYTES 64u
#define PM_PMASG_ALIGNMENT 64u /* of every array in the file */

/* In the file's order. */
enum pm_pmasg_array {
    PM_PMASG_A_AUX_DENSITY,
    PM_PMASG_B_INPUT_DENSITY,
    PM_PMASG_B_AUX_DENSITY,
    PM_PMASG_INPUTS,
    PM_PMASG_AUX,
    PM_PMASG_A,
    PM_PMASG_B,
    PM_PMASG_C,
    PM_PMASG_ARRAYS
};
#define PM_PMASG_DENSITIES PM_PMASG_INPUTS

/* "aux", "a aux density", ... */
const char *pm_pmasg_array_name(enum pm_pmasg_array array);

struct pm_pmasg_sizes {
    pm_curve_id curve;
    pm_scalar_form form;
    bool has_densities;
    uint32_t n_vectors; /* 0: none; 2: a and b; 3: c too */
    uint64_t n_inputs, n_aux;
    uint64_t n_rows;                     /* of the vectors; 0 without */
    uint64_t n_bits[PM_PMASG_DENSITIES]; /* set; 0 without densities */
};

struct pm_pmasg_layout {
    uint64_t offset[PM_PMASG_ARRAYS];
    uint64_t n_bytes[PM_PMASG_ARRAYS]; /* without the padding behind; 0: not there */
    uint64_t digest_offset, file_bytes;
};

/* Errors: CURVE, COUNT (no inputs, or more of something than any circuit has; more bits than
 * variables), INVALID_ARGUMENT (a form or a number of vectors that there is not). */
pm_status pm_pmasg_layout_make(const struct pm_pmasg_sizes *sizes, struct pm_pmasg_layout *layout,
                               pm_error *error);
/* How many bits a density has, and how many of them are set. */
uint64_t pm_pmasg_density_bits(const struct pm_pmasg_sizes *sizes, enum pm_pmasg_array density);
uint64_t pm_pmasg_count_bits(const uint8_t *words, uint64_t n_bits);
void pm_pmasg_write_header(const struct pm_pmasg_sizes *sizes, const struct pm_pmasg_layout *layout,
                           uint8_t header[PM_PMASG_HEADER_BYTES]);

struct pm_pmasg {
    const struct pm_mapping *mapping; /* borrowed */
    struct pm_pmasg_sizes sizes;
    struct pm_pmasg_layout layout;
};

/* By the magic. */
bool pm_pmasg_recognise(const struct pm_mapping *mapping);
/* Errors: NOT_THIS_KIND, VERSION, TRUNCATED, LENGTH, ENCODING (reserved or padding bytes that are
 * not zero), those of pm_pmasg_layout_make(), FILE_CHANGED. */
pm_status pm_pmasg_open(const struct pm_mapping *mapping, struct pm_pmasg *pmasg, pm_error *error);
/* NULL when it is not there, or empty. */
const uint8_t *pm_pmasg_bytes(const struct pm_pmasg *pmasg, enum pm_pmasg_array array);
/* The digest, and every value: below the modulus, the first input one. Errors: ENCODING (the
 * digest is another), NOT_CANONICAL, WITNESS_MISMATCH, CANCELLED, DEADLINE, FILE_CHANGED. */
pm_status pm_pmasg_check(const struct pm_pmasg *pmasg, struct pm_team *team,
                         const pm_control *control, pm_error *error);

#endif
