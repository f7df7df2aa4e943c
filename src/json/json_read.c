/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "json/json_read.h"

#include "json/json.h"
#include "json/json_memory.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* No string that snarkjs writes is longer than a base field element; the rest is room for members
 * of others. */
#define STRING_BYTES_MAX 1024

/* ---------------------------------------------------------------------------------------------
 * Errors
 * ------------------------------------------------------------------------------------------- */

pm_status pm_json_fail(pm_error *error, pm_status status, const char *format, ...) {
    if (error != NULL && error->struct_bytes >= sizeof *error) {
        va_list arguments;
        va_start(arguments, format);
        error->status = (int32_t)status;
        error->offset = PM_NO_OFFSET;
        error->need = 0;
        error->have = 0;
        error->file[0] = '\0';
        (void)vsnprintf(error->message, sizeof error->message, format, arguments);
        va_end(arguments);
    }
    return status;
}

pm_status pm_json_named(pm_status status, const char *name, pm_error *error) {
    if (status == PM_OK || error == NULL || error->struct_bytes < sizeof *error || name == NULL ||
        error->file[0] != '\0') {
        return status;
    }
    size_t n = strlen(name), room = sizeof error->file - 1;
    (void)snprintf(error->file, sizeof error->file, "%s", n > room ? name + (n - room) : name);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Text to tree
 * ------------------------------------------------------------------------------------------- */

/* What jansson 2.14 takes from glibc's heap, at most: an array or object with its first table, a
 * string beside its characters, a number or word, each together with the 32 bytes set aside for
 * what it may be decoded to; a slot in what holds the value, and a key's entry beside that. */
enum {
    ARRAY_BYTES = 160,
    OBJECT_BYTES = 256,
    STRING_BYTES = 112,
    SCALAR_BYTES = 64,
    SLOT_BYTES = 24,
    ENTRY_BYTES = 96
};

/* What the walk over the raw text has met so far. */
struct extent {
    size_t depth, n_values, string_bytes;
    size_t tree_bytes; /* estimated */
    bool in_string, escaped;
    bool expects_value; /* behind a bracket, a comma or a colon */
};

static bool is_blank(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Adds what one byte outside strings makes the tree grow by. */
static void extent_grow(struct extent *extent, char c) {
    switch (c) {
    case '"':
        extent->tree_bytes += STRING_BYTES;
        break;
    case '[':
        extent->tree_bytes += ARRAY_BYTES;
        break;
    case '{':
        extent->tree_bytes += OBJECT_BYTES;
        break;
    case ',':
        extent->tree_bytes += SLOT_BYTES;
        break;
    case ':':
        extent->tree_bytes += ENTRY_BYTES;
        break;
    case ']':
    case '}':
        break;
    default:
        extent->tree_bytes += extent->expects_value && !is_blank(c) ? SCALAR_BYTES : 0;
        break;
    }
    if (!is_blank(c)) {
        extent->expects_value = c == '[' || c == '{' || c == ',' || c == ':';
    }
}

/* Follows one byte. Returns a sentence about the limit that it breaks, or NULL. */
static const char *extent_step(struct extent *extent, char c, const struct pm_json_bounds *bounds) {
    if (extent->in_string) {
        if (extent->escaped) {
            extent->escaped = false;
        } else if (c == '\\') {
            extent->escaped = true;
        } else if (c == '"') {
            extent->in_string = false;
        }
        extent->tree_bytes++;
        return ++extent->string_bytes > STRING_BYTES_MAX ? "has a string that is too long" : NULL;
    }
    extent_grow(extent, c);
    switch (c) {
    case '"':
        extent->in_string = true;
        extent->string_bytes = 0;
        return NULL;
    case '[':
    case '{':
        extent->n_values++;
        extent->depth++;
        break;
    case ']':
    case '}':
        extent->depth -= extent->depth > 0;
        break;
    case ',':
        extent->n_values++;
        break;
    default:
        break;
    }
    if (extent->depth > bounds->depth_max) {
        return "is nested too deeply";
    }
    return extent->n_values > bounds->n_values_max ? "has too many values" : NULL;
}

/* Judges the raw text before anything is allocated for it: the tree of a hostile text would take
 * thirty times the text. */
static pm_status check_extent(const char *text, size_t n_bytes, const struct pm_json_bounds *bounds,
                              pm_error *error) {
    if (n_bytes > bounds->n_bytes_max) {
        return pm_json_fail(error, PM_LENGTH, "a %s has at most %zu bytes, this has %zu",
                            bounds->what, bounds->n_bytes_max, n_bytes);
    }
    struct extent extent = {.expects_value = true};
    for (size_t i = 0; i < n_bytes; i++) {
        const char *broken = extent_step(&extent, text[i], bounds);
        if (broken != NULL) {
            (void)pm_json_fail(error, PM_ENCODING, "not a %s: the JSON %s", bounds->what, broken);
            if (error != NULL) {
                error->offset = i;
            }
            return PM_ENCODING;
        }
    }
    if (extent.tree_bytes > n_bytes && extent.tree_bytes - n_bytes > PM_JSON_TREE_BYTES_MAX) {
        (void)pm_json_fail(error, PM_LENGTH,
                           "a %s whose values take %zu bytes of memory is too long to be read",
                           bounds->what, extent.tree_bytes);
        if (error != NULL) {
            error->need = n_bytes + PM_JSON_TREE_BYTES_MAX;
            error->have = extent.tree_bytes;
        }
        return PM_LENGTH;
    }
    return PM_OK;
}

pm_status pm_json_load(const char *text, size_t n_bytes, const struct pm_json_bounds *bounds,
                       json_t **root, pm_error *error) {
    pm_status status = check_extent(text, n_bytes, bounds, error);
    if (status != PM_OK) {
        return status;
    }
    json_error_t found;
    const uint64_t n_failures = pm_json_memory_failures();
    *root = json_loadb(text, n_bytes, JSON_REJECT_DUPLICATES, &found);
    if (pm_json_memory_failures() != n_failures) {
        json_decref(*root);
        *root = NULL;
        return pm_json_fail(error, PM_NO_MEMORY, "no memory to read a %s", bounds->what);
    }
    if (*root != NULL) {
        return PM_OK;
    }
    for (char *c = found.text; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e) {
            *c = '?';
        }
    }
    (void)pm_json_fail(error, PM_ENCODING, "not JSON: %s (line %d)", found.text, found.line);
    if (error != NULL && found.position >= 0) {
        error->offset = (uint64_t)found.position;
    }
    return PM_ENCODING;
}

/* ---------------------------------------------------------------------------------------------
 * Members and arrays
 * ------------------------------------------------------------------------------------------- */

static const char *kind_of(const json_t *value) {
    static const char *const names[] = {"an object", "an array", "a string", "a number",
                                        "a number",  "true",     "false",    "null"};
    return value == NULL ? "missing" : names[json_typeof(value)];
}

pm_status pm_json_check_protocol(const json_t *object, pm_error *error) {
    const json_t *protocol = json_object_get(object, "protocol");
    if (!json_is_string(protocol)) {
        return pm_json_fail(error, PM_PROTOCOL, "protocol must be \"groth16\", and is %s",
                            kind_of(protocol));
    }
    const char *name = json_string_value(protocol);
    if (strcmp(name, "groth16") == 0) {
        return PM_OK;
    }
    if (strcmp(name, "plonk") == 0 || strcmp(name, "fflonk") == 0) {
        return pm_json_fail(error, PM_PROTOCOL, "protocol is %s, need groth16", name);
    }
    return pm_json_fail(error, PM_PROTOCOL, "protocol is none that is known, need groth16");
}

pm_status pm_json_read_curve(const json_t *object, pm_curve_id fallback, pm_curve_id *curve,
                             pm_error *error) {
    const json_t *name = json_object_get(object, "curve");
    *curve = fallback;
    if (name != NULL) {
        if (!json_is_string(name)) {
            return pm_json_fail(error, PM_CURVE, "curve must be a string, and is %s",
                                kind_of(name));
        }
        *curve = pm_curve_from_name(json_string_value(name));
        if (*curve == PM_CURVE_NONE) {
            return pm_json_fail(error, PM_CURVE,
                                "curve is none that is known; need bn128 or bls12381");
        }
    }
    if (pm_json_base_field(*curve) == NULL) {
        return pm_json_fail(error, PM_CURVE, "curve is missing; need bn128 or bls12381");
    }
    return PM_OK;
}

pm_status pm_json_check_array(const json_t *value, const char *path, size_t n, pm_error *error) {
    if (!json_is_array(value)) {
        return pm_json_fail(error, PM_ENCODING, "%s must be an array of %zu, and is %s", path, n,
                            kind_of(value));
    }
    if (json_array_size(value) != n) {
        return pm_json_fail(error, PM_ENCODING, "%s must have %zu elements, and has %zu", path, n,
                            json_array_size(value));
    }
    return PM_OK;
}

/* ---------------------------------------------------------------------------------------------
 * Field elements
 * ------------------------------------------------------------------------------------------- */

pm_status pm_json_read_element(const json_t *value, const char *path,
                               const struct pm_json_field *field, uint8_t *out, pm_error *error) {
    if (!json_is_string(value)) {
        return pm_json_fail(error, PM_ENCODING, "%s must be a decimal string, and is %s", path,
                            kind_of(value));
    }
    const char *digits = json_string_value(value);
    size_t n_digits = json_string_length(value);
    if (!pm_decimal_is_canonical(digits, n_digits)) {
        return pm_json_fail(error, PM_ENCODING,
                            "%s must be a decimal without sign, leading zeros, spaces or exponent",
                            path);
    }
    if (!pm_decimal_is_below(digits, n_digits, field->modulus)) {
        return pm_json_fail(error, PM_NOT_CANONICAL, "%s is not below the modulus of the %s", path,
                            field->name);
    }
    pm_decimal_to_bytes(digits, n_digits, out, field->n_bytes);
    return PM_OK;
}

/* n elements, one after another. */
static pm_status read_elements(const json_t *value, const char *path, size_t n,
                               const struct pm_json_field *field, uint8_t *out, pm_error *error) {
    pm_status status = pm_json_check_array(value, path, n, error);
    for (size_t i = 0; status == PM_OK && i < n; i++) {
        char inner[PM_JSON_PATH_CHARS];
        (void)snprintf(inner, sizeof inner, "%.40s[%zu]", path, i); /* 63 characters at most */
        status = pm_json_read_element(json_array_get(value, i), inner, field,
                                      out + i * field->n_bytes, error);
    }
    return status;
}

static bool is_small(const uint8_t *bytes, size_t n_bytes, uint8_t small) {
    uint8_t other = bytes[0] ^ small;
    for (size_t i = 1; i < n_bytes; i++) {
        other |= bytes[i];
    }
    return other == 0;
}

/* ---------------------------------------------------------------------------------------------
 * Points: three coordinates, each of n_parts field elements
 * ------------------------------------------------------------------------------------------- */

/* z is the one or the zero of the coordinate field; the other parts must be zero. */
static bool is_constant(const uint8_t *coordinate, size_t n_bytes, size_t n_parts, uint8_t small) {
    return is_small(coordinate, n_bytes, small) &&
           (n_parts == 1 || is_small(coordinate + n_bytes, n_bytes, 0));
}

/* Decides between affine and infinity: x, y, 1 or 0, 1, 0. Zero x and y, which mean infinity in
 * bytes, are no point in JSON. */
static pm_status settle_point(uint8_t *xyz, size_t n_bytes, size_t n_parts, const char *path,
                              uint8_t *out, pm_error *error) {
    size_t stride = n_bytes * n_parts;
    uint8_t *x = xyz, *y = xyz + stride, *z = xyz + 2 * stride;
    if (is_constant(z, n_bytes, n_parts, 1)) {
        if (is_constant(x, n_bytes, n_parts, 0) && is_constant(y, n_bytes, n_parts, 0)) {
            return pm_json_fail(error, PM_NOT_ON_CURVE, "%s is not on the curve", path);
        }
        memcpy(out, xyz, 2 * stride);
        return PM_OK;
    }
    if (is_constant(z, n_bytes, n_parts, 0) && is_constant(x, n_bytes, n_parts, 0) &&
        is_constant(y, n_bytes, n_parts, 1)) {
        memset(out, 0, 2 * stride);
        return PM_OK;
    }
    return pm_json_fail(error, PM_ENCODING,
                        n_parts == 1 ? "%s[2] must be \"1\": coordinates are affine"
                                     : "%s[2] must be [\"1\", \"0\"]: coordinates are affine",
                        path);
}

pm_status pm_json_read_g1(const json_t *value, const char *path, const struct pm_json_field *field,
                          uint8_t *out, pm_error *error) {
    uint8_t xyz[3 * PM_FP_BYTES_MAX];
    pm_status status = read_elements(value, path, 3, field, xyz, error);
    return status == PM_OK ? settle_point(xyz, field->n_bytes, 1, path, out, error) : status;
}

pm_status pm_json_read_g2(const json_t *value, const char *path, const struct pm_json_field *field,
                          uint8_t *out, pm_error *error) {
    uint8_t xyz[3 * 2 * PM_FP_BYTES_MAX];
    pm_status status = pm_json_check_array(value, path, 3, error);
    for (size_t i = 0; status == PM_OK && i < 3; i++) {
        char inner[PM_JSON_PATH_CHARS];
        (void)snprintf(inner, sizeof inner, "%.40s[%zu]", path, i); /* 63 characters at most */
        status = read_elements(json_array_get(value, i), inner, 2, field,
                               xyz + i * 2 * field->n_bytes, error);
    }
    return status == PM_OK ? settle_point(xyz, field->n_bytes, 2, path, out, error) : status;
}

void pm_json_swap_g2(uint8_t *point, size_t fp_bytes) {
    uint8_t c0[PM_FP_BYTES_MAX];
    for (size_t i = 0; i < 2; i++) {
        uint8_t *coordinate = point + i * 2 * fp_bytes;
        memcpy(c0, coordinate, fp_bytes);
        memcpy(coordinate, coordinate + fp_bytes, fp_bytes);
        memcpy(coordinate + fp_bytes, c0, fp_bytes);
    }
}
