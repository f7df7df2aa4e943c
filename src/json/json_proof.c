/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* json/json_proof.c - proof.json, public.json and the call of a Solidity verifier. */
#include "json/json.h"
#include "json/json_read.h"
#include "json/json_text.h"

#include <stdio.h>
#include <string.h>

/* ---------------------------------------------------------------------------------------------
 * Proof
 * ------------------------------------------------------------------------------------------- */

/* Brackets and commas of a snarkjs proof are 21; the rest is room for members of others. */
static const struct pm_json_bounds proof_bounds = {"proof", PM_JSON_PROOF_BYTES_MAX, 8, 256};

/* The three points one after another, as pm_proof_decode() takes them. */
static pm_status read_points(const json_t *root, const struct pm_json_field *field, uint8_t *points,
                             pm_error *error) {
    size_t g1_bytes = 2 * field->n_bytes, g2_bytes = 4 * field->n_bytes;
    pm_status status = pm_json_read_g1(json_object_get(root, "pi_a"), "pi_a", field, points, error);
    if (status == PM_OK) {
        status =
            pm_json_read_g2(json_object_get(root, "pi_b"), "pi_b", field, points + g1_bytes, error);
    }
    if (status == PM_OK) {
        status = pm_json_read_g1(json_object_get(root, "pi_c"), "pi_c", field,
                                 points + g1_bytes + g2_bytes, error);
    }
    return status;
}

/* Decodes; where that fails because of a point, tells whether the other order of c0 and c1 would
 * do. */
static pm_status decode_points(pm_curve_id curve, uint8_t *points, size_t fp_bytes, pm_proof *proof,
                               pm_error *error) {
    pm_status status =
        pm_proof_decode(curve, PM_POINT_CANONICAL_LE, points, 8 * fp_bytes, proof, error);
    if (status != PM_NOT_ON_CURVE && status != PM_NOT_IN_SUBGROUP) {
        return status;
    }
    pm_proof swapped = {.struct_bytes = (uint32_t)sizeof swapped};
    pm_json_swap_g2(points + 2 * fp_bytes, fp_bytes);
    if (pm_proof_decode(curve, PM_POINT_CANONICAL_LE, points, 8 * fp_bytes, &swapped, NULL) ==
        PM_OK) {
        return pm_json_fail(error, PM_NOT_ON_CURVE,
                            "pi_b is not on the curve, but is when c0 and c1 are swapped: this is "
                            "Solidity's order [c1, c0], a proof has [c0, c1]");
    }
    return status;
}

static pm_status proof_from_tree(const json_t *root, pm_curve_id fallback, pm_proof *proof,
                                 pm_error *error) {
    if (!json_is_object(root)) {
        return pm_json_fail(error, PM_ENCODING, "not a proof: the JSON is not an object");
    }
    pm_curve_id curve = PM_CURVE_NONE;
    uint8_t points[2 * PM_G1_BYTES_MAX + PM_G2_BYTES_MAX];
    pm_status status = pm_json_check_protocol(root, error);
    if (status == PM_OK) {
        status = pm_json_read_curve(root, fallback, &curve, error);
    }
    const struct pm_json_field *field = pm_json_base_field(curve);
    if (status == PM_OK) {
        status = read_points(root, field, points, error);
    }
    if (status == PM_OK) {
        status = decode_points(curve, points, field->n_bytes, proof, error);
    }
    return status;
}

pm_status pm_json_proof_parse(const char *text, size_t n_bytes, const char *name,
                              pm_curve_id fallback, pm_proof *proof, pm_error *error) {
    json_t *root = NULL;
    pm_status status = pm_json_load(text, n_bytes, &proof_bounds, &root, error);
    if (status == PM_OK) {
        status = proof_from_tree(root, fallback, proof, error);
    }
    json_decref(root);
    return pm_json_named(status, name, error);
}

pm_status pm_json_proof_write(const pm_proof *proof, struct pm_json_text *text, pm_error *error) {
    pm_curve_id curve = (pm_curve_id)proof->curve;
    size_t fp_bytes = pm_curve_fp_bytes(curve);
    if (fp_bytes == 0) {
        return pm_json_fail(error, PM_CURVE, "the proof's curve is unknown");
    }
    struct pm_json_writer writer = {0};
    pm_json_open(&writer, NULL, '{');
    pm_json_g1(&writer, "pi_a", proof->a, fp_bytes);
    pm_json_g2(&writer, "pi_b", proof->b, fp_bytes);
    pm_json_g1(&writer, "pi_c", proof->c, fp_bytes);
    pm_json_string(&writer, "protocol", "groth16");
    pm_json_string(&writer, "curve", pm_curve_name(curve));
    pm_json_close(&writer, '}');
    return pm_json_writer_finish(&writer, text, error);
}

/* ---------------------------------------------------------------------------------------------
 * Public signals
 * ------------------------------------------------------------------------------------------- */

static const struct pm_json_bounds public_bounds = {
    "list of public signals", PM_JSON_PUBLIC_BYTES_MAX, 2, (size_t)PM_JSON_SIGNALS_MAX + 1};

static pm_status public_from_tree(const json_t *root, const struct pm_json_field *field,
                                  uint8_t **values, size_t *n_values, pm_error *error) {
    if (!json_is_array(root)) {
        return pm_json_fail(error, PM_ENCODING,
                            "not a list of public signals: the JSON is not an array");
    }
    size_t n = json_array_size(root);
    if (n > PM_JSON_SIGNALS_MAX) {
        return pm_json_fail(error, PM_COUNT, "at most %u public signals are read, here are %zu",
                            PM_JSON_SIGNALS_MAX, n);
    }
    uint8_t *read = pm_json_allocate(n + 1, PM_FR_BYTES);
    if (read == NULL) {
        return pm_json_fail(error, PM_NO_MEMORY, "no memory for %zu public signals", n);
    }
    for (size_t i = 0; i < n; i++) {
        char path[PM_JSON_PATH_CHARS];
        (void)snprintf(path, sizeof path, "public signal [%zu]", i);
        pm_status status = pm_json_read_element(json_array_get(root, i), path, field,
                                                read + i * PM_FR_BYTES, error);
        if (status != PM_OK) {
            pm_json_values_free(read);
            return status;
        }
    }
    *values = read;
    *n_values = n;
    return PM_OK;
}

pm_status pm_json_public_parse(const char *text, size_t n_bytes, const char *name,
                               pm_curve_id curve, uint8_t **values, size_t *n_values,
                               pm_error *error) {
    const struct pm_json_field *field = pm_json_scalar_field(curve);
    if (field == NULL) {
        pm_status unknown =
            pm_json_fail(error, PM_CURVE, "the curve of the public signals is unknown");
        return pm_json_named(unknown, name, error);
    }
    json_t *root = NULL;
    pm_status status = pm_json_load(text, n_bytes, &public_bounds, &root, error);
    if (status == PM_OK) {
        status = public_from_tree(root, field, values, n_values, error);
    }
    json_decref(root);
    return pm_json_named(status, name, error);
}

pm_status pm_json_public_write(const uint8_t *values, size_t n_values, struct pm_json_text *text,
                               pm_error *error) {
    struct pm_json_writer writer = {0};
    pm_json_elements(&writer, values, PM_FR_BYTES, n_values);
    return pm_json_writer_finish(&writer, text, error);
}

/* ---------------------------------------------------------------------------------------------
 * Calldata
 * ------------------------------------------------------------------------------------------- */

/* before, then the value in quotes. */
static void put_word(struct pm_json_writer *writer, const char *before, const uint8_t *value) {
    pm_json_puts(writer, before);
    pm_json_puts(writer, "\"");
    pm_json_hex(writer, value);
    pm_json_puts(writer, "\"");
}

pm_status pm_json_calldata_write(const pm_proof *proof, const uint8_t *publics, size_t n_publics,
                                 struct pm_json_text *text, pm_error *error) {
    if (proof->curve != PM_CURVE_BN254) {
        return pm_json_fail(error, PM_UNSUPPORTED,
                            "calldata is for verifiers on bn128, this proof is on %s",
                            pm_curve_name((pm_curve_id)proof->curve));
    }
    struct pm_json_writer writer = {0};
    put_word(&writer, "[", proof->a);
    put_word(&writer, ", ", proof->a + 32);
    put_word(&writer, "],[[", proof->b + 32);
    put_word(&writer, ", ", proof->b);
    put_word(&writer, "],[", proof->b + 96);
    put_word(&writer, ", ", proof->b + 64);
    put_word(&writer, "]],[", proof->c);
    put_word(&writer, ", ", proof->c + 32);
    pm_json_puts(&writer, "],[");
    for (size_t i = 0; i < n_publics; i++) {
        put_word(&writer, i == 0 ? "" : ",", publics + i * PM_FR_BYTES);
    }
    pm_json_puts(&writer, "]");
    return pm_json_writer_finish(&writer, text, error);
}
