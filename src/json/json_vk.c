/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* json/json_vk.c - verification_key.json. */
#include "json/json.h"
#include "json/json_read.h"
#include "json/json_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Four brackets and commas a point of IC, and room for members of others. */
static const struct pm_json_bounds vk_bounds = {"verifying key", PM_JSON_VK_BYTES_MAX, 8,
                                                (size_t)PM_JSON_SIGNALS_MAX * 4 + 1024};

/* The points of a key before they are checked. */
struct vk_points {
    uint8_t alpha[PM_G1_BYTES_MAX];
    uint8_t beta[PM_G2_BYTES_MAX], gamma[PM_G2_BYTES_MAX], delta[PM_G2_BYTES_MAX];
    uint8_t *ic;
    uint32_t n_public;
};

/* The two by three by two field elements, if they are there. */
static pm_status check_alphabeta(const json_t *value, const struct pm_json_field *field,
                                 pm_error *error) {
    if (value == NULL) {
        return PM_OK;
    }
    char path[PM_JSON_PATH_CHARS] = "vk_alphabeta_12";
    pm_status status = pm_json_check_array(value, path, 2, error);
    for (size_t i = 0; status == PM_OK && i < 2; i++) {
        const json_t *half = json_array_get(value, i);
        (void)snprintf(path, sizeof path, "vk_alphabeta_12[%zu]", i);
        status = pm_json_check_array(half, path, 3, error);
        for (size_t j = 0; status == PM_OK && j < 6; j++) {
            const json_t *pair = json_array_get(half, j / 2);
            uint8_t element[PM_FP_BYTES_MAX];
            (void)snprintf(path, sizeof path, "vk_alphabeta_12[%zu][%zu]", i, j / 2);
            status = pm_json_check_array(pair, path, 2, error);
            if (status == PM_OK) {
                (void)snprintf(path, sizeof path, "vk_alphabeta_12[%zu][%zu][%zu]", i, j / 2,
                               j % 2);
                status =
                    pm_json_read_element(json_array_get(pair, j % 2), path, field, element, error);
            }
        }
    }
    return status;
}

/* nPublic, and IC whose length must be one more. */
static pm_status read_ic(const json_t *root, const struct pm_json_field *field,
                         struct vk_points *points, pm_error *error) {
    const json_t *count = json_object_get(root, "nPublic"), *ic = json_object_get(root, "IC");
    if (!json_is_integer(count) || json_integer_value(count) < 0 ||
        json_integer_value(count) > (json_int_t)PM_JSON_SIGNALS_MAX) {
        return pm_json_fail(error, PM_COUNT, "nPublic must be a whole number from 0 to %u",
                            PM_JSON_SIGNALS_MAX);
    }
    points->n_public = (uint32_t)json_integer_value(count);
    if (!json_is_array(ic)) {
        return pm_json_fail(error, PM_ENCODING, "IC must be an array of points");
    }
    size_t n = json_array_size(ic);
    if (n != (size_t)points->n_public + 1) {
        return pm_json_fail(error, PM_COUNT,
                            "IC must have nPublic + 1 = %" PRIu32 " points, and has %zu",
                            points->n_public + 1, n);
    }
    points->ic = pm_json_allocate(n, 2 * field->n_bytes);
    if (points->ic == NULL) {
        return pm_json_fail(error, PM_NO_MEMORY, "no memory for %zu points of IC", n);
    }
    for (size_t i = 0; i < n; i++) {
        char path[PM_JSON_PATH_CHARS];
        (void)snprintf(path, sizeof path, "IC[%zu]", i);
        pm_status status = pm_json_read_g1(json_array_get(ic, i), path, field,
                                           points->ic + i * 2 * field->n_bytes, error);
        if (status != PM_OK) {
            return status;
        }
    }
    return PM_OK;
}

static pm_status read_points(const json_t *root, const struct pm_json_field *field,
                             struct vk_points *points, pm_error *error) {
    pm_status status = pm_json_read_g1(json_object_get(root, "vk_alpha_1"), "vk_alpha_1", field,
                                       points->alpha, error);
    const struct {
        const char *name;
        uint8_t *out;
    } g2[3] = {
        {"vk_beta_2", points->beta}, {"vk_gamma_2", points->gamma}, {"vk_delta_2", points->delta}};
    for (size_t i = 0; status == PM_OK && i < 3; i++) {
        status =
            pm_json_read_g2(json_object_get(root, g2[i].name), g2[i].name, field, g2[i].out, error);
    }
    if (status == PM_OK) {
        status = check_alphabeta(json_object_get(root, "vk_alphabeta_12"), field, error);
    }
    return status == PM_OK ? read_ic(root, field, points, error) : status;
}

/* Makes the key; where that fails because of a point, tells whether the other order of c0 and c1
 * would do. */
static pm_status make_vk(pm_context *context, pm_curve_id curve, struct vk_points *points,
                         pm_vk **vk, pm_error *error) {
    pm_vk_arrays arrays = {.struct_bytes = (uint32_t)sizeof arrays,
                           .curve = (uint32_t)curve,
                           .form = PM_POINT_CANONICAL_LE,
                           .n_public = points->n_public,
                           .alpha_g1 = points->alpha,
                           .beta_g2 = points->beta,
                           .gamma_g2 = points->gamma,
                           .delta_g2 = points->delta,
                           .ic = points->ic};
    pm_status status = pm_vk_from_arrays(context, &arrays, vk, error);
    if (status != PM_NOT_ON_CURVE && status != PM_NOT_IN_SUBGROUP) {
        return status;
    }
    size_t fp_bytes = pm_curve_fp_bytes(curve);
    pm_json_swap_g2(points->beta, fp_bytes);
    pm_json_swap_g2(points->gamma, fp_bytes);
    pm_json_swap_g2(points->delta, fp_bytes);
    pm_vk *swapped = NULL;
    if (pm_vk_from_arrays(context, &arrays, &swapped, NULL) == PM_OK) {
        pm_vk_destroy(swapped);
        return pm_json_fail(error, PM_NOT_ON_CURVE,
                            "vk_beta_2, vk_gamma_2 and vk_delta_2 are not on the curve, but are "
                            "when c0 and c1 are swapped: this is Solidity's order [c1, c0], a "
                            "verifying key has [c0, c1]");
    }
    return status;
}

static pm_status vk_from_tree(pm_context *context, const json_t *root, pm_vk **vk,
                              pm_error *error) {
    if (!json_is_object(root)) {
        return pm_json_fail(error, PM_ENCODING, "not a verifying key: the JSON is not an object");
    }
    pm_curve_id curve = PM_CURVE_NONE;
    pm_status status = pm_json_check_protocol(root, error);
    if (status == PM_OK) {
        status = pm_json_read_curve(root, PM_CURVE_NONE, &curve, error);
    }
    if (status != PM_OK) {
        return status;
    }
    struct vk_points points = {.ic = NULL};
    status = read_points(root, pm_json_base_field(curve), &points, error);
    if (status == PM_OK) {
        status = make_vk(context, curve, &points, vk, error);
    }
    pm_json_values_free(points.ic);
    return status;
}

pm_status pm_json_vk_parse(pm_context *context, const char *text, size_t n_bytes, const char *name,
                           pm_vk **vk, pm_error *error) {
    json_t *root = NULL;
    pm_status status = pm_json_load(text, n_bytes, &vk_bounds, &root, error);
    if (status == PM_OK) {
        status = vk_from_tree(context, root, vk, error);
    }
    json_decref(root);
    return pm_json_named(status, name, error);
}

static void put_alphabeta(struct pm_json_writer *writer, const uint8_t *value, size_t fp_bytes) {
    pm_json_open(writer, "vk_alphabeta_12", '[');
    for (size_t i = 0; i < 2; i++) {
        pm_json_open(writer, NULL, '[');
        for (size_t j = 0; j < 3; j++) {
            pm_json_elements(writer, value + (i * 3 + j) * 2 * fp_bytes, fp_bytes, 2);
        }
        pm_json_close(writer, ']');
    }
    pm_json_close(writer, ']');
}

pm_status pm_json_vk_write(const pm_vk *vk, struct pm_json_text *text, pm_error *error) {
    pm_vk_arrays arrays = {.struct_bytes = (uint32_t)sizeof arrays};
    uint8_t alphabeta[12 * PM_FP_BYTES_MAX];
    pm_curve_id curve = pm_vk_curve(vk);
    size_t fp_bytes = pm_curve_fp_bytes(curve);
    pm_status status = pm_vk_get_arrays(vk, &arrays);
    if (status == PM_OK) {
        status = pm_vk_get_alphabeta(vk, alphabeta, 12 * fp_bytes);
    }
    if (status != PM_OK) {
        return pm_json_fail(error, status, "the verifying key cannot be taken apart: %s",
                            pm_status_sentence(status));
    }
    struct pm_json_writer writer = {0};
    pm_json_open(&writer, NULL, '{');
    pm_json_string(&writer, "protocol", "groth16");
    pm_json_string(&writer, "curve", pm_curve_name(curve));
    pm_json_integer(&writer, "nPublic", arrays.n_public);
    pm_json_g1(&writer, "vk_alpha_1", arrays.alpha_g1, fp_bytes);
    pm_json_g2(&writer, "vk_beta_2", arrays.beta_g2, fp_bytes);
    pm_json_g2(&writer, "vk_gamma_2", arrays.gamma_g2, fp_bytes);
    pm_json_g2(&writer, "vk_delta_2", arrays.delta_g2, fp_bytes);
    put_alphabeta(&writer, alphabeta, fp_bytes);
    pm_json_open(&writer, "IC", '[');
    for (size_t i = 0; i <= arrays.n_public; i++) {
        pm_json_g1(&writer, NULL, (const uint8_t *)arrays.ic + i * 2 * fp_bytes, fp_bytes);
    }
    pm_json_close(&writer, ']');
    pm_json_close(&writer, '}');
    return pm_json_writer_finish(&writer, text, error);
}
