/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * support/supraseal_abi.h - libproofmill-supraseal as bellperson's Rust side sees it: types from
 * the interface's description, not from our header, and functions found by name in a library that
 * is loaded when the test runs.
 */
#ifndef PM_TEST_SUPPORT_SUPRASEAL_ABI_H
#define PM_TEST_SUPPORT_SUPRASEAL_ABI_H

#include "support/bellman_circuit.h"

#include <proofmill/proofmill.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rust_error {
    int32_t code;
    char *message;
};

struct rust_srs {
    void *ptr;
};

struct rust_assignment {
    const void *a_aux_density;
    size_t a_aux_bit_len, a_aux_popcount;
    const void *b_inp_density;
    size_t b_inp_bit_len, b_inp_popcount;
    const void *b_aux_density;
    size_t b_aux_bit_len, b_aux_popcount;
    const void *a, *b, *c;
    size_t abc_size;
    const void *inp_assignment_data;
    size_t inp_assignment_size;
    const void *aux_assignment_data;
    size_t aux_assignment_size;
};

#define RUST_PROOF_BYTES 384

/* The functions of a flavour; NULL where it has none. */
struct supraseal {
    void *library;
    struct rust_error (*create)(struct rust_srs *, const char *, bool);
    void (*evict)(const struct rust_srs *);
    void (*drop)(struct rust_srs *);
    struct rust_srs (*clone)(const struct rust_srs *);
    struct rust_error (*generate6)(const struct rust_assignment *, size_t, const void *,
                                   const void *, void *, const struct rust_srs *);
    struct rust_error (*generate8)(const struct rust_assignment *, size_t, const void *,
                                   const void *, void *, const struct rust_srs *, void *, int);
    struct rust_error (*start)(const struct rust_assignment *, size_t, const void *, const void *,
                               const struct rust_srs *, void *, int, void **);
    struct rust_error (*finalize)(void *, void *);
    void (*destroy)(void *);
    void *(*create_mutex)(void);
    void (*destroy_mutex)(void *);
};

enum supraseal_flavour { SUPRASEAL_UPSTREAM, SUPRASEAL_CURIO, SUPRASEAL_FLAVOURS };

/* Loads it, or fails the running test. */
void supraseal_load(enum supraseal_flavour flavour, struct supraseal *supraseal);
void supraseal_unload(struct supraseal *supraseal);
/* Where the library lies. */
const char *supraseal_path(enum supraseal_flavour flavour);
/* In either flavour; the fork's mutex and index are NULL and -1. */
struct rust_error supraseal_generate(const struct supraseal *supraseal,
                                     const struct rust_assignment *assignments, size_t n,
                                     const void *r_s, const void *s_s, void *out,
                                     const struct rust_srs *srs);

/* Succeeded, and has no message. */
void rust_expect_good(struct rust_error error);
/* Has this code and a sentence with the piece in it, and frees that as Rust does. */
void rust_expect_error(struct rust_error error, int32_t code, const char *piece);

/* The circuit's arrays as they are at this moment. */
struct rust_assignment rust_assignment_of(const struct bellman_circuit *circuit);

/* Parameters for circuits of one shape, and what verifies proofs made with them. */
struct rust_params {
    char *tree; /* a folder of their own */
    char path[1200];
    uint64_t n_bytes;
    pm_context *context;
    pm_vk *vk;
};

/* Makes development parameters for the shape, or fails the running test. */
void rust_params_make(const struct bellman_shape *shape, struct rust_params *params);
void rust_params_free(struct rust_params *params);
/* Whether the proof (RUST_PROOF_BYTES) holds for the publics. */
pm_status rust_params_verify(const struct rust_params *params, const uint8_t *publics,
                             const void *proof);

/* Threads of this process. */
unsigned process_threads(void);
/* The same, as soon as it is `expected` or 20 seconds have passed: a joined thread may linger in
 * /proc for a moment, which is long on a busy machine. */
unsigned process_threads_settled(unsigned expected);
/* The same, when it has not changed for a fifth of a second. */
unsigned process_threads_at_rest(void);

#endif
