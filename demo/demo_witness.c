/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * demo_witness.c - computes every wire of the demo circuit for an input that the reader chose and
 * writes them as a .wtns file.
 */
#include "demo_circuit.h"
#include "demo_options.h"

#include "base/memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* 10 * x + digit for a little-endian integer of PM_FR_BYTES bytes; false when it does not fit. */
static bool push_digit(uint8_t x[PM_FR_BYTES], unsigned digit) {
    unsigned carry = digit;
    for (size_t i = 0; i < PM_FR_BYTES; i++) {
        carry += 10u * x[i];
        x[i] = (uint8_t)carry;
        carry >>= 8;
    }
    return carry == 0;
}

/* A decimal number below the scalar field's modulus. */
static pm_status read_input(const struct pm_field *fr, const char *text, uint8_t x[PM_FR_BYTES],
                            pm_error *error) {
    uint64_t limbs[PM_FR_LIMBS_MAX];
    memset(x, 0, PM_FR_BYTES);
    PM_FAIL_IF(text[0] == '\0', error, PM_ENCODING, "the input is empty");
    for (const char *c = text; *c != '\0'; c++) {
        PM_FAIL_IF(*c < '0' || *c > '9', error, PM_ENCODING,
                   "the input must be a decimal number without a sign");
        PM_FAIL_IF(!push_digit(x, (unsigned)(*c - '0')), error, PM_NOT_CANONICAL,
                   "the input is not below the modulus of the scalar field");
    }
    memcpy(limbs, x, sizeof limbs);
    PM_FAIL_IF(!fr->is_canonical(limbs), error, PM_NOT_CANONICAL,
               "the input is not below the modulus of the scalar field");
    return PM_OK;
}

static uint8_t *put_bytes(uint8_t *at, const void *bytes, size_t n_bytes) {
    memcpy(at, bytes, n_bytes);
    return at + n_bytes;
}
static uint8_t *put_u32(uint8_t *at, uint32_t value) {
    return put_bytes(at, &value, sizeof value);
}
static uint8_t *put_section(uint8_t *at, uint32_t type, uint64_t n_bytes) {
    return put_bytes(put_u32(at, type), &n_bytes, sizeof n_bytes);
}

/* Container and two sections: 12 + (12 + 40) + (12 + 32 per wire) bytes; doc/format_wtns.md. */
#define WTNS_HEAD_BYTES (12 + 12 + 4 + PM_FR_BYTES + 4 + 12)

/* Writes the head and returns where the wires begin. */
static uint8_t *put_head(uint8_t *at, const struct pm_field *fr, uint32_t n_vars) {
    at = put_u32(put_u32(put_bytes(at, "wtns", 4), 2), 2);
    at = put_section(at, 1, 4 + PM_FR_BYTES + 4);
    at = put_bytes(put_u32(at, fr->bytes), fr->modulus, fr->bytes);
    return put_section(put_u32(at, n_vars), 2, (uint64_t)PM_FR_BYTES * n_vars);
}

static pm_status write_witness(const struct demo_options *options, const char *input,
                               const char *path, pm_error *error) {
    const struct pm_field *fr = options->curve->fr;
    const uint32_t n_vars = demo_n_vars(options->n_rounds);
    const size_t n_bytes = WTNS_HEAD_BYTES + (size_t)PM_FR_BYTES * n_vars;
    uint8_t x[PM_FR_BYTES];
    void *image = NULL;
    PM_TRY(read_input(fr, input, x, error));
    PM_TRY(pm_memory_alloc(NULL, "witness file", n_bytes, PM_MEMORY_SECRET, &image, error));
    demo_circuit_wires(fr, options->n_rounds, x, put_head(image, fr, n_vars));
    const pm_output output = {.path = path, .bytes = image, .n_bytes = n_bytes};
    const pm_status status = pm_files_write(&output, 1, NULL, error);
    pm_memory_free(image);
    pm_memory_wipe(x, sizeof x);
    return status;
}

int main(int argc, char **argv) {
    const struct demo_options options =
        demo_options_read(argc, argv, 4, "pm_demo_witness CURVE ROUNDS INPUT OUT.wtns");
    pm_error error = PM_ERROR_INIT;
    return demo_exit_status(write_witness(&options, argv[3], argv[4], &error), &error);
}
