/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "json/json_text.h"

#include "json/json_decimal.h"
#include "json/json_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A proof of either curve fits without growing. */
#define FIRST_CAPACITY ((size_t)4096)

void *pm_json_allocate(size_t n, size_t element_bytes) {
    return calloc(n, element_bytes);
}

void pm_json_text_free(struct pm_json_text *text) {
    free(text->bytes);
    text->bytes = NULL;
    text->n_bytes = 0;
}

void pm_json_values_free(uint8_t *values) {
    free(values);
}

/* Room for n more characters and a NUL. */
static bool reserve(struct pm_json_writer *writer, size_t n) {
    if (writer->failed) {
        return false;
    }
    if (n < writer->capacity - writer->n_bytes) {
        return true;
    }
    size_t capacity = writer->capacity == 0 ? FIRST_CAPACITY : writer->capacity;
    while (capacity - writer->n_bytes <= n) {
        if (capacity > SIZE_MAX / 2) {
            writer->failed = true;
            return false;
        }
        capacity *= 2;
    }
    char *bytes = realloc(writer->bytes, capacity);
    if (bytes == NULL) {
        writer->failed = true;
        return false;
    }
    writer->bytes = bytes;
    writer->capacity = capacity;
    return true;
}

void pm_json_put(struct pm_json_writer *writer, const char *characters, size_t n) {
    if (reserve(writer, n)) {
        memcpy(writer->bytes + writer->n_bytes, characters, n);
        writer->n_bytes += n;
    }
}

void pm_json_puts(struct pm_json_writer *writer, const char *string) {
    pm_json_put(writer, string, strlen(string));
}

void pm_json_hex(struct pm_json_writer *writer, const uint8_t *value) {
    static const char digits[] = "0123456789abcdef";
    char hex[2 + 2 * 32] = "0x";
    for (size_t i = 0; i < 32; i++) {
        hex[2 + 2 * i] = digits[value[31 - i] >> 4];
        hex[3 + 2 * i] = digits[value[31 - i] & 15];
    }
    pm_json_put(writer, hex, sizeof hex);
}

static void put_line(struct pm_json_writer *writer) {
    pm_json_put(writer, "\n", 1);
    for (size_t i = 0; i < writer->depth; i++) {
        pm_json_put(writer, " ", 1);
    }
}

/* What stands before a value: comma, line, key. */
static void begin_value(struct pm_json_writer *writer, const char *key) {
    if (writer->depth > 0) {
        if (!writer->first) {
            pm_json_put(writer, ",", 1);
        }
        put_line(writer);
    }
    writer->first = false;
    if (key != NULL) {
        pm_json_put(writer, "\"", 1);
        pm_json_puts(writer, key);
        pm_json_put(writer, "\": ", 3);
    }
}

void pm_json_open(struct pm_json_writer *writer, const char *key, char bracket) {
    begin_value(writer, key);
    pm_json_put(writer, &bracket, 1);
    writer->depth++;
    writer->first = true;
}

/* An empty array takes two lines too: that is how snarkjs's command writes it. */
void pm_json_close(struct pm_json_writer *writer, char bracket) {
    writer->depth--;
    put_line(writer);
    pm_json_put(writer, &bracket, 1);
    writer->first = false;
}

void pm_json_string(struct pm_json_writer *writer, const char *key, const char *string) {
    begin_value(writer, key);
    pm_json_put(writer, "\"", 1);
    pm_json_puts(writer, string);
    pm_json_put(writer, "\"", 1);
}

void pm_json_null(struct pm_json_writer *writer) {
    begin_value(writer, NULL);
    pm_json_put(writer, "null", 4);
}

void pm_json_integer(struct pm_json_writer *writer, const char *key, uint64_t value) {
    char digits[24];
    (void)snprintf(digits, sizeof digits, "%" PRIu64, value);
    begin_value(writer, key);
    pm_json_puts(writer, digits);
}

void pm_json_element(struct pm_json_writer *writer, const uint8_t *bytes, size_t n_bytes) {
    char digits[PM_DECIMAL_CHARS_MAX];
    pm_decimal_from_bytes(bytes, n_bytes, digits);
    pm_json_string(writer, NULL, digits);
}

void pm_json_elements(struct pm_json_writer *writer, const uint8_t *bytes, size_t n_bytes,
                      size_t n) {
    pm_json_open(writer, NULL, '[');
    for (size_t i = 0; i < n; i++) {
        pm_json_element(writer, bytes + i * n_bytes, n_bytes);
    }
    pm_json_close(writer, ']');
}

static bool is_zero(const uint8_t *bytes, size_t n_bytes) {
    uint8_t any = 0;
    for (size_t i = 0; i < n_bytes; i++) {
        any |= bytes[i];
    }
    return any == 0;
}

void pm_json_g1(struct pm_json_writer *writer, const char *key, const uint8_t *point,
                size_t fp_bytes) {
    bool infinite = is_zero(point, 2 * fp_bytes);
    pm_json_open(writer, key, '[');
    if (infinite) {
        pm_json_string(writer, NULL, "0");
        pm_json_string(writer, NULL, "1");
    } else {
        pm_json_element(writer, point, fp_bytes);
        pm_json_element(writer, point + fp_bytes, fp_bytes);
    }
    pm_json_string(writer, NULL, infinite ? "0" : "1");
    pm_json_close(writer, ']');
}

static void put_constant_fp2(struct pm_json_writer *writer, const char *c0) {
    pm_json_open(writer, NULL, '[');
    pm_json_string(writer, NULL, c0);
    pm_json_string(writer, NULL, "0");
    pm_json_close(writer, ']');
}

void pm_json_g2(struct pm_json_writer *writer, const char *key, const uint8_t *point,
                size_t fp_bytes) {
    bool infinite = is_zero(point, 4 * fp_bytes);
    pm_json_open(writer, key, '[');
    if (infinite) {
        put_constant_fp2(writer, "0");
        put_constant_fp2(writer, "1");
    } else {
        pm_json_elements(writer, point, fp_bytes, 2);
        pm_json_elements(writer, point + 2 * fp_bytes, fp_bytes, 2);
    }
    put_constant_fp2(writer, infinite ? "0" : "1");
    pm_json_close(writer, ']');
}

pm_status pm_json_writer_finish(struct pm_json_writer *writer, struct pm_json_text *text,
                                pm_error *error) {
    if (!reserve(writer, 0)) {
        free(writer->bytes);
        return pm_json_fail(error, PM_NO_MEMORY, "no memory to write JSON");
    }
    writer->bytes[writer->n_bytes] = '\0';
    text->bytes = writer->bytes;
    text->n_bytes = writer->n_bytes;
    return PM_OK;
}
