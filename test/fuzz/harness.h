/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * fuzz/harness.h - what the fuzz targets share.
 *
 * A target is a function over bytes. libFuzzer calls it in the preset fuzz; replay_main.c calls it
 * on the committed corpus everywhere else. It ends the program when something that must hold does
 * not: a fault of the library, whatever the bytes were.
 */
#ifndef PM_TEST_FUZZ_HARNESS_H
#define PM_TEST_FUZZ_HARNESS_H

#include <proofmill/proofmill.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The input is an exact allocation, so that a read past its end is seen. Always returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

/* Memory that an input may cost beside its own size. */
#define FUZZ_MEMORY_BYTES ((size_t)64 << 20)

/* Says where and what, then aborts: libFuzzer, ctest and a debugger all understand that. */
_Noreturn void fuzz_fail(const char *file, int line, const char *what);
#define FUZZ_REQUIRE(condition)                                                                    \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fuzz_fail(__FILE__, __LINE__, #condition);                                             \
        }                                                                                          \
    } while (0)

/* One thread, the best arithmetic; made once and kept. */
pm_context *fuzz_context(void);

/* True for PM_OK. Any other status must come with a complete error: the same status, a sentence of
 * printable characters without a newline, and no complaint about memory, which no small input may
 * use up, or about ourselves. */
bool fuzz_succeeded(pm_status status, const pm_error *error);

/* What a check of points finds. */
bool fuzz_is_point_fault(pm_status status);

/* Takes fields off the front of an input; past the end there are zeros. */
struct fuzz_reader {
    const uint8_t *bytes;
    size_t n_bytes;
};
uint8_t fuzz_take_u8(struct fuzz_reader *reader);
void fuzz_take(struct fuzz_reader *reader, void *out, size_t n);
/* An exact allocation, as the input itself is one; for free(). */
uint8_t *fuzz_take_array(struct fuzz_reader *reader, size_t n);

/* BN254, BLS12-381, or, for one byte in eight, a number that is no curve. */
pm_curve_id fuzz_take_curve(struct fuzz_reader *reader);

/* A number that changes with every byte of the input: for choices that are not worth a byte of it.
 * FNV-1a. */
uint64_t fuzz_hash(const uint8_t *bytes, size_t n_bytes);

#endif
