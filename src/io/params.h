/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * io/params.h - the parameter file of bellman and bellperson (.params) and the verifying key file
 * (.vk), which is how a parameter file begins. BLS12-381 only. doc/format_params.md describes the
 * bytes; there is no magic and no version.
 *
 * Reading gives spans in the mapping and checks everything that memory safety and the shape of the
 * computation depend on. Points stay on disk as PM_POINT_ZCASH_FULL and are decoded part by part
 * into the caller's arrays, to affine Montgomery bytes (see curve/curve.h). A point is at infinity
 * nowhere in these files, so decoding refuses it everywhere.
 */
#ifndef PM_IO_PARAMS_H
#define PM_IO_PARAMS_H

#include "base/control.h"
#include "curve/curve.h"
#include "io/mapping.h"
#include "par/team.h"

#include <proofmill/proofmill.h>

#include <stdbool.h>
#include <stdint.h>

/* ---- Parts and where they lie ---------------------------------------------------------------- */

/* In the file's order. Those before IC are one point each; the others have a count before them. */
enum pm_params_part {
    PM_PARAMS_ALPHA_G1,
    PM_PARAMS_BETA_G1,
    PM_PARAMS_BETA_G2,
    PM_PARAMS_GAMMA_G2,
    PM_PARAMS_DELTA_G1,
    PM_PARAMS_DELTA_G2,
    PM_PARAMS_IC,
    PM_PARAMS_H,
    PM_PARAMS_L,
    PM_PARAMS_A,
    PM_PARAMS_B_G1,
    PM_PARAMS_B_G2,
    PM_PARAMS_PARTS
};
#define PM_PARAMS_N_FIXED PM_PARAMS_IC
#define PM_PARAMS_VK_PARTS PM_PARAMS_H

/* "alpha in g1", "ic", "h", ...; never NULL. */
const char *pm_params_part_name(enum pm_params_part part);
bool pm_params_part_is_g2(enum pm_params_part part);
/* On disk, and as affine Montgomery bytes too: 96 or 192. */
uint32_t pm_params_point_bytes(enum pm_params_part part);

struct pm_params_layout {
    uint32_t log_n;                   /* the domain has 2^log_n points */
    uint64_t n[PM_PARAMS_PARTS];      /* points */
    uint64_t offset[PM_PARAMS_PARTS]; /* of the first point; a count stands in the 4 bytes before */
    uint64_t vk_bytes;                /* of the verifying key, the end of ic */
    uint64_t n_bytes;                 /* of the parameters, the end of b_g2 */
};

/* What decides every length. */
struct pm_params_counts {
    uint32_t n_inputs; /* with the constant one: the length of ic */
    uint32_t n_aux;    /* the length of l */
    uint32_t log_n;    /* h has 2^log_n - 1 points */
    uint32_t n_a;      /* inputs, and the aux variables that occur in A */
    uint32_t n_b;      /* inputs and aux variables that occur in B; of b_g1 and of b_g2 */
};

/*
 * Errors: COUNT (no inputs; more inputs than the domain has points; n_a below n_inputs, or n_a or
 * n_b above n_inputs + n_aux), UNSUPPORTED (log_n of 32 or more).
 */
pm_status pm_params_layout_make(const struct pm_params_counts *counts,
                                struct pm_params_layout *layout, pm_error *error);
/* Enters the next part, after those before it, into a layout that was zero at first: the one place
 * that knows how lengths must agree. Errors: COUNT, UNSUPPORTED. */
pm_status pm_params_layout_add(struct pm_params_layout *layout, enum pm_params_part part,
                               uint64_t n, pm_error *error);

/* ---- Reading --------------------------------------------------------------------------------- */

enum pm_params_extent {
    PM_PARAMS_VK_FILE,  /* a .vk: nothing follows ic */
    PM_PARAMS_VK_FIRST, /* the verifying key, whatever follows it */
    PM_PARAMS_WHOLE     /* a .params, and behind it nothing or the transcript of a ceremony */
};

/* A contribution of the transcript: delta after it, s, s delta (G1), r delta (G2), a hash. */
#define PM_PARAMS_CONTRIBUTION_BYTES 544u
#define PM_PARAMS_CIRCUIT_HASH_BYTES 64u

struct pm_params {
    const struct pm_mapping *mapping; /* borrowed */
    struct pm_params_layout layout; /* of a verifying key: nothing after ic, n_bytes is vk_bytes */
    enum pm_params_part n_parts;    /* PM_PARAMS_VK_PARTS or PM_PARAMS_PARTS */
    const uint8_t *circuit_hash;    /* of the transcript; NULL: there is none */
    const uint8_t *contributions;
    uint32_t n_contributions;
};

/*
 * Recognises a file by a header point that lies on its curve, which no other file has: a single
 * damaged point hides nothing. Which of the two kinds it is says its name (.params, .vk) or else
 * its length; where less than a point is there, the name alone. PM_FILE_PARAMS, PM_FILE_BELLMAN_VK
 * or PM_FILE_UNKNOWN.
 */
pm_file_kind pm_params_recognise(const struct pm_mapping *mapping);

/*
 * Opens without looking at points and without allocating: the result points into the mapping, which
 * must outlive it. Errors: TRUNCATED, COUNT, UNSUPPORTED (domain of 2^32 points or more), LENGTH
 * (what follows is no well-formed transcript), FILE_CHANGED.
 */
pm_status pm_params_open(const struct pm_mapping *mapping, enum pm_params_extent extent,
                         struct pm_params *params, pm_error *error);

/*
 * Decodes points first .. first + n - 1 of a part to affine, n * pm_params_point_bytes(part) bytes
 * that the caller owns; how says how far each is looked at. curve is the BLS12-381 table in the
 * body to compute with. The fault at the lowest index is reported; affine is unspecified then.
 * Errors: INVALID_ARGUMENT (a range outside the part), CURVE, ENCODING, NOT_CANONICAL,
 * NOT_ON_CURVE, NOT_IN_SUBGROUP, POINT_AT_INFINITY, CANCELLED, DEADLINE, FILE_CHANGED.
 */
pm_status pm_params_decode(const struct pm_params *params, const struct pm_curve *curve,
                           enum pm_params_part part, uint64_t first, uint64_t n,
                           enum pm_point_check how, struct pm_team *team, const pm_control *control,
                           uint8_t *affine, pm_error *error);
/* The whole verifying key, checked to the subgroup, into layout.vk_bytes bytes: each point stands
 * at the offset that it has in the file. Errors: as above. */
pm_status pm_params_decode_vk(const struct pm_params *params, const struct pm_curve *curve,
                              struct pm_team *team, const pm_control *control, uint8_t *affine,
                              pm_error *error);
/* Checks every point, also those of the transcript, whose last delta must be that of the
 * parameters. The fault at the lowest offset is reported. Errors: as above, and SECTION (the
 * transcript of other parameters). */
pm_status pm_params_check_points(const struct pm_params *params, const struct pm_curve *curve,
                                 enum pm_point_check how, struct pm_team *team,
                                 const pm_control *control, pm_error *error);

/* ---- Writing --------------------------------------------------------------------------------- */

/* Writes the counts into the image of layout->n_bytes bytes; leaves the other bytes alone. */
void pm_params_write_counts(const struct pm_params_layout *layout, uint8_t *image);
/*
 * Encodes n affine Montgomery points to their place in the image, as points first .. first + n - 1
 * of their part; different ranges may be written at the same time. The points are taken to be good,
 * except that none may be at infinity: the one of the lowest index is reported. A .vk file is the
 * first layout->vk_bytes bytes. Errors: INVALID_ARGUMENT (a range outside the part), CURVE,
 * POINT_AT_INFINITY, CANCELLED, DEADLINE.
 */
pm_status pm_params_write_points(const struct pm_params_layout *layout,
                                 const struct pm_curve *curve, enum pm_params_part part,
                                 uint64_t first, uint64_t n, const uint8_t *affine,
                                 struct pm_team *team, const pm_control *control, uint8_t *image,
                                 pm_error *error);

#endif
