/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * json/json_key.c - a proving key as `snarkjs zkey export json` prints it.
 *
 * Two spots of that layout are odd: C has n_vars places, of which the first n_public + 1 are null,
 * unless no place would be left for a point: then it is empty. And the coefficients that a setup
 * adds for the public signals are among "ccoefs".
 */
#include "json/json.h"
#include "json/json_read.h"
#include "json/json_text.h"

#include <stddef.h>
#include <string.h>

/* Elements converted at a time: a few milliseconds, some hundred kilobytes. */
#define CHUNK ((size_t)4096)

/* A key on its way into a file. */
struct key_export {
    const pm_key *key;
    pm_key_facts facts;
    size_t fp_bytes;
    const pm_control *control;
    pm_file_writer *file;
    pm_error *error;
    struct pm_json_writer text; /* what has not gone to the file yet */
    uint8_t *chunk;             /* room for CHUNK of the largest element */
    uint64_t n_done, n_total;   /* elements, for progress */
};

/* Hands the text over to the file and begins anew in the same memory. */
static pm_status flush(struct key_export *export) {
    struct pm_json_writer *text = &export->text;
    if (text->failed) {
        return pm_json_fail(export->error, PM_NO_MEMORY, "no memory to write JSON");
    }
    const size_t n_bytes = text->n_bytes;
    text->n_bytes = 0;
    return pm_file_writer_append(export->file, text->bytes, n_bytes, export->error);
}

static pm_status finish_chunk(struct key_export *export, uint64_t n) {
    const uint64_t total = export->n_total;
    const uint64_t percent = export->n_done * 100 / total;
    export->n_done += n;
    if (export->control != NULL && export->control->progress != NULL &&
        export->n_done * 100 / total != percent) {
        export->control->progress(export->control->user, "export", export->n_done, total);
    }
    return flush(export);
}

static bool is_g2(pm_key_part part) {
    return part == PM_KEY_PART_BETA_G2 || part == PM_KEY_PART_GAMMA_G2 ||
           part == PM_KEY_PART_DELTA_G2 || part == PM_KEY_PART_B2;
}

/* name is NULL for elements of an array. */
static pm_status put_points(struct key_export *export, const char *name, pm_key_part part) {
    const uint64_t n_points = pm_key_part_count(export->key, part);
    const size_t stride = (is_g2(part) ? 4 : 2) * export->fp_bytes;
    for (uint64_t first = 0; first < n_points; first += CHUNK) {
        const size_t n = n_points - first < CHUNK ? (size_t)(n_points - first) : CHUNK;
        pm_status status = pm_key_points(export->key, part, first, n, export->control,
                                         export->chunk, export->error);
        for (size_t i = 0; status == PM_OK && i < n; i++) {
            if (is_g2(part)) {
                pm_json_g2(&export->text, name, export->chunk + i * stride, export->fp_bytes);
            } else {
                pm_json_g1(&export->text, name, export->chunk + i * stride, export->fp_bytes);
            }
        }
        if (status == PM_OK) {
            status = finish_chunk(export, n);
        }
        if (status != PM_OK) {
            return status;
        }
    }
    return PM_OK;
}

static pm_status put_row(struct key_export *export, const char *name, pm_key_part part) {
    pm_json_open(&export->text, name, '[');
    if (part == PM_KEY_PART_C && pm_key_part_count(export->key, part) > 0) {
        for (uint64_t i = 0; i <= export->facts.n_public; i++) {
            pm_json_null(&export->text);
        }
    }
    pm_status status = put_points(export, NULL, part);
    pm_json_close(&export->text, ']');
    return status;
}

static pm_status put_coefficients(struct key_export *export) {
    struct pm_json_writer *text = &export->text;
    pm_coefficient *coefficients = (pm_coefficient *)(void *)export->chunk;
    pm_json_open(text, "ccoefs", '[');
    for (uint64_t first = 0; first < export->facts.n_coefficients; first += CHUNK) {
        const uint64_t left = export->facts.n_coefficients - first;
        const size_t n = left < CHUNK ? (size_t)left : CHUNK;
        pm_status status = pm_key_coefficients(export->key, first, n, export->control, coefficients,
                                               export->error);
        for (size_t i = 0; status == PM_OK && i < n; i++) {
            char value[PM_DECIMAL_CHARS_MAX];
            pm_decimal_from_bytes(coefficients[i].value, PM_FR_BYTES, value);
            pm_json_open(text, NULL, '{');
            pm_json_integer(text, "matrix", coefficients[i].matrix);
            pm_json_integer(text, "constraint", coefficients[i].constraint);
            pm_json_integer(text, "signal", coefficients[i].signal);
            pm_json_string(text, "value", value);
            pm_json_close(text, '}');
        }
        if (status == PM_OK) {
            status = finish_chunk(export, n);
        }
        if (status != PM_OK) {
            return status;
        }
    }
    pm_json_close(text, ']');
    return PM_OK;
}

static void put_sizes(struct key_export *export) {
    struct pm_json_writer *text = &export->text;
    const pm_key_facts *facts = &export->facts;
    const pm_curve_id curve = (pm_curve_id)facts->curve;
    pm_json_string(text, "protocol", "groth16");
    pm_json_integer(text, "n8q", export->fp_bytes);
    pm_json_string(text, "q", pm_json_base_field(curve)->modulus);
    pm_json_integer(text, "n8r", PM_FR_BYTES);
    pm_json_string(text, "r", pm_json_scalar_field(curve)->modulus);
    pm_json_integer(text, "nVars", facts->n_vars);
    pm_json_integer(text, "nPublic", facts->n_public);
    pm_json_integer(text, "domainSize", UINT64_C(1) << facts->log_n);
    pm_json_integer(text, "power", facts->log_n);
}

static pm_status put_key(struct key_export *export) {
    static const struct {
        const char *name;
        pm_key_part part;
    } points[] = {{"vk_alpha_1", PM_KEY_PART_ALPHA_G1}, {"vk_beta_1", PM_KEY_PART_BETA_G1},
                  {"vk_beta_2", PM_KEY_PART_BETA_G2},   {"vk_gamma_2", PM_KEY_PART_GAMMA_G2},
                  {"vk_delta_1", PM_KEY_PART_DELTA_G1}, {"vk_delta_2", PM_KEY_PART_DELTA_G2}},
      rows[] = {{"A", PM_KEY_PART_A},
                {"B1", PM_KEY_PART_B1},
                {"B2", PM_KEY_PART_B2},
                {"C", PM_KEY_PART_C},
                {"hExps", PM_KEY_PART_H}};
    pm_status status = PM_OK;
    pm_json_open(&export->text, NULL, '{');
    put_sizes(export);
    for (size_t i = 0; status == PM_OK && i < sizeof points / sizeof points[0]; i++) {
        status = put_points(export, points[i].name, points[i].part);
    }
    if (status == PM_OK) {
        status = put_row(export, "IC", PM_KEY_PART_IC);
    }
    if (status == PM_OK) {
        status = put_coefficients(export);
    }
    for (size_t i = 0; status == PM_OK && i < sizeof rows / sizeof rows[0]; i++) {
        status = put_row(export, rows[i].name, rows[i].part);
    }
    pm_json_close(&export->text, '}');
    return status == PM_OK ? flush(export) : status;
}

pm_status pm_json_key_write(const pm_key *key, const pm_control *control, pm_file_writer *writer,
                            pm_error *error) {
    struct key_export export = {.key = key,
                                .facts = {.struct_bytes = (uint32_t)sizeof(pm_key_facts)},
                                .control = control,
                                .file = writer,
                                .error = error};
    pm_status status = pm_key_get_facts(key, &export.facts);
    if (status != PM_OK || export.facts.has_ic == 0) {
        return pm_json_fail(error, PM_SECTION,
                            "the key has no section 3 (IC), so it cannot be exported");
    }
    export.fp_bytes = pm_curve_fp_bytes((pm_curve_id) export.facts.curve);
    export.n_total = export.facts.n_coefficients;
    for (int part = PM_KEY_PART_ALPHA_G1; part <= PM_KEY_PART_H; part++) {
        export.n_total += pm_key_part_count(key, (pm_key_part)part);
    }
    export.chunk = pm_json_allocate(CHUNK, PM_G2_BYTES_MAX);
    if (export.chunk == NULL) {
        return pm_json_fail(error, PM_NO_MEMORY, "no memory to write JSON");
    }
    status = put_key(&export);
    struct pm_json_text rest = {export.text.bytes, export.text.n_bytes};
    pm_json_text_free(&rest);
    pm_json_values_free(export.chunk);
    return status;
}
