/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * proofmill.h - Groth16 proofs at the speed of the hardware.
 *
 * This header is the manual of libproofmill.
 *
 *   1. Open a proving key:  pm_key_open()      a snarkjs .zkey, mapped, not copied
 *   2. Open a witness:      pm_witness_open()  a .wtns, or values from memory
 *   3. Prove:               pm_prove()         verified before it is given out
 *   4. Verify:              pm_verify()        against a pm_vk
 *
 * RULES THAT HOLD FOR EVERY CALL
 *
 * - Order of arguments: context, inputs, options, control, outputs, error object.
 *
 * - Result: a pm_status. PM_OK is 0. Nothing is written to an output unless PM_OK is returned,
 *   except where a call says so.
 *
 * - Error object: optional (NULL is fine). The caller sets struct_bytes = sizeof(pm_error)
 *   (PM_ERROR_INIT does); the library fills in a sentence, the file, the offset.
 *
 * - Ownership: objects are made by *_open, *_create and *_from_* and freed by *_destroy. Every
 *   destroy accepts NULL. Strings returned are static unless said otherwise.
 *
 * - Threads: a pm_context, and every const object, may be used by many threads at once. Destroying
 *   an object while another thread uses it is the caller's bug. A context may be destroyed once no
 *   call on it is running; objects made through it stay valid and may be used with another context.
 *
 * - Structs: a public struct that may grow begins with struct_bytes, set by the caller to the
 *   sizeof it was compiled with. Fields beyond it read as zero, meaning default.
 *
 * - Numbers: field elements and coordinates cross this boundary as canonical (fully reduced,
 *   non-Montgomery) little-endian byte strings, unless a parameter names another form. Lengths and
 *   counts are in elements; names ending in _bytes are in bytes.
 *
 * - Secrets: a witness and everything derived from it is wiped when freed. The prover is not
 *   constant time: do not let an adversary time it on a shared machine.
 *
 * - Process state: the library reads no environment variable, installs no signal handler
 *   (pm_guard_install() is the one exception, on request) and writes to no stream.
 */
#ifndef PROOFMILL_PROOFMILL_H
#define PROOFMILL_PROOFMILL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PM_VERSION_MAJOR 0
#define PM_VERSION_MINOR 1
#define PM_VERSION_PATCH 0

#if defined(PM_BUILDING_LIBRARY)
#define PM_API __attribute__((visibility("default")))
#else
#define PM_API
#endif

/* ---------------------------------------------------------------------------------------------
 * Status and errors
 * ------------------------------------------------------------------------------------------- */

/*
 * Every outcome there is. Numbers are stable; gaps are left by theme.
 *   0..9 outcomes, 10..19 the caller's call, 20..49 what a file or message holds,
 *   50..69 the machine, 70..79 the caller's wish, 80..89 what proving found, 90.. our own fault.
 */
#define PM_STATUS_MAP(X)                                                                           \
    X(OK, 0, "done")                                                                               \
    X(PROOF_INVALID, 1, "the proof does not verify")                                               \
    X(INVALID_ARGUMENT, 10, "an argument is out of its domain")                                    \
    X(BUFFER_TOO_SMALL, 11, "the output buffer is too small")                                      \
    X(UNSUPPORTED, 12, "not supported")                                                            \
    X(SAME_FILE, 13, "an input and an output are the same file")                                   \
    X(NOT_THIS_KIND, 20, "the file is not of the expected kind")                                   \
    X(VERSION, 21, "the file's version is not supported")                                          \
    X(PROTOCOL, 22, "the file's protocol is not groth16")                                          \
    X(CURVE, 23, "the curve is unknown or does not match")                                         \
    X(TRUNCATED, 24, "the file ends before its contents do")                                       \
    X(SECTION, 25, "a section is missing, doubled or misplaced")                                   \
    X(LENGTH, 26, "a length does not agree with the counts it must agree with")                    \
    X(COUNT, 27, "a count or an index is out of range")                                            \
    X(NOT_CANONICAL, 28, "a field element is not below its modulus")                               \
    X(NOT_ON_CURVE, 29, "a point is not on the curve")                                             \
    X(NOT_IN_SUBGROUP, 30, "a point is not in the prime-order subgroup")                           \
    X(POINT_AT_INFINITY, 31, "a point is at infinity where it must not be")                        \
    X(ENCODING, 32, "an encoding is malformed")                                                    \
    X(WITNESS_MISMATCH, 33, "the witness does not belong to the key")                              \
    X(IO, 50, "the operating system refused a file operation")                                     \
    X(NO_MEMORY, 51, "out of memory")                                                              \
    X(NO_THREADS, 52, "a thread could not be started")                                             \
    X(NO_RANDOM, 53, "the operating system gave no randomness")                                    \
    X(NO_DEVICE, 54, "no usable device")                                                           \
    X(DEVICE, 55, "the device failed")                                                             \
    X(FILE_CHANGED, 56, "a mapped file changed or shrank while it was read")                       \
    X(OVER_BUDGET, 57, "it can never fit the memory that is allowed")                              \
    X(BUDGET_BUSY, 58, "it does not fit the memory that is free now")                              \
    X(CANCELLED, 70, "cancelled")                                                                  \
    X(DEADLINE, 71, "the deadline passed")                                                         \
    X(UNSATISFIED, 80, "the witness does not satisfy a constraint")                                \
    X(SELF_VERIFY, 81, "the finished proof did not verify and was withheld")                       \
    X(INTERNAL, 90, "a fault inside proofmill")

typedef enum pm_status {
#define PM_STATUS_ENUM(name, number, sentence) PM_##name = number,
    PM_STATUS_MAP(PM_STATUS_ENUM)
#undef PM_STATUS_ENUM
} pm_status;

/* The status's name ("NOT_CANONICAL") and its general sentence; never NULL, also for unknown
 * values. */
PM_API const char *pm_status_name(pm_status status);
PM_API const char *pm_status_sentence(pm_status status);

#define PM_NO_OFFSET UINT64_MAX

/* What went wrong, for a person and for a program. Filled on every status but PM_OK. */
typedef struct pm_error {
    uint32_t struct_bytes; /* set by the caller */
    int32_t status;        /* a pm_status */
    uint64_t offset;       /* byte in the file, or PM_NO_OFFSET */
    uint64_t need;         /* what was expected (bytes, elements, an index bound); 0 if none */
    uint64_t have;         /* what was found */
    char file[256];        /* path, shortened from the left; empty if none */
    char message[512];     /* one sentence, no newline, no secret */
} pm_error;

/* In the order of the fields, so that it is C++ too. */
#define PM_ERROR_INIT                                                                              \
    {                                                                                              \
        (uint32_t)sizeof(pm_error), 0, PM_NO_OFFSET, 0, 0, {0}, {                                  \
            0                                                                                      \
        }                                                                                          \
    }

/* "0.1.0"; the numbers of the header are PM_VERSION_*. */
PM_API const char *pm_version(void);

/* ---------------------------------------------------------------------------------------------
 * Curves
 * ------------------------------------------------------------------------------------------- */

typedef enum pm_curve_id {
    PM_CURVE_NONE = 0,
    PM_CURVE_BN254 = 1,    /* alt_bn128; snarkjs "bn128" */
    PM_CURVE_BLS12_381 = 2 /* snarkjs "bls12381" */
} pm_curve_id;

#define PM_FR_BYTES 32     /* a scalar, both curves */
#define PM_FP_BYTES_MAX 48 /* a base field element: 32 (BN254) or 48 (BLS12-381) */
#define PM_G1_BYTES_MAX 96
#define PM_G2_BYTES_MAX 192

/* snarkjs's name ("bn128", "bls12381"), or "unknown". */
PM_API const char *pm_curve_name(pm_curve_id curve);
/* Accepts the names people use: bn128 bn254 bn-128 bn-254 altbn128 alt_bn128 bls12381 bls12-381
 * bls12_381, in any case. PM_CURVE_NONE if it is none of them. */
PM_API pm_curve_id pm_curve_from_name(const char *name);
/* Bytes of a base field element: 32, 48, or 0 for an unknown curve. */
PM_API size_t pm_curve_fp_bytes(pm_curve_id curve);

/* Forms in which points cross the boundary. A G1 point is x, y; a G2 point is x.c0, x.c1, y.c0,
 * y.c1. */
typedef enum pm_point_form {
    PM_POINT_CANONICAL_LE = 1,  /* canonical little-endian coordinates; infinity is all zero */
    PM_POINT_MONTGOMERY_LE = 2, /* snarkjs zkey: Montgomery little-endian; infinity is all zero */
    PM_POINT_ZCASH_FULL = 3, /* BLS12-381 only: big-endian uncompressed, c1 before c0, flag bits */
    PM_POINT_ZCASH_COMPRESSED = 4
} pm_point_form;

/* ---------------------------------------------------------------------------------------------
 * Control: cancel, deadline, progress, log. NULL means none of it.
 * ------------------------------------------------------------------------------------------- */

typedef enum pm_log_level { PM_LOG_WARNING = 1, PM_LOG_INFO = 2, PM_LOG_DEBUG = 3 } pm_log_level;

typedef struct pm_control {
    uint32_t struct_bytes;
    uint32_t reserved;
    /* Cancel: the call returns PM_CANCELLED within a second of *cancel becoming non-zero (set it
     * with an atomic store, or from a signal handler as volatile sig_atomic_t). NULL: cannot be
     * cancelled. */
    const volatile int *cancel;
    /* Deadline in nanoseconds of CLOCK_MONOTONIC; 0: none. */
    uint64_t deadline_ns;
    /* Progress: called from the calling thread only, at most about ten times a second; phase is a
     * static string, done <= total, total > 0. */
    void (*progress)(void *user, const char *phase, uint64_t done, uint64_t total);
    /* Log: whole sentences without secrets; called from the calling thread only. */
    void (*log)(void *user, pm_log_level level, const char *sentence);
    void *user;
} pm_control;

/* ---------------------------------------------------------------------------------------------
 * Context: a team of threads and the choice of arithmetic
 * ------------------------------------------------------------------------------------------- */

typedef struct pm_context pm_context;

typedef enum pm_arithmetic {
    PM_ARITHMETIC_BEST = 0,     /* the fastest body this CPU can run */
    PM_ARITHMETIC_PORTABLE = 1, /* the C body */
    PM_ARITHMETIC_ADX = 2,      /* x86-64 MULX/ADCX/ADOX */
    PM_ARITHMETIC_IFMA = 3      /* those and AVX-512 IFMA */
} pm_arithmetic;

typedef struct pm_context_options {
    uint32_t struct_bytes;
    uint32_t threads;    /* 0: as many as affinity and the cgroup's cpu.max allow */
    uint32_t arithmetic; /* a pm_arithmetic */
    uint32_t reserved;
    const char *device;      /* where proofs are made, see below; NULL: "cpu" */
    const char *gpu_library; /* the file of libproofmill-gpu; NULL: beside this library, or where
                                the system looks */
    uint64_t vram_bytes;     /* the most memory to use of a card; 0: all it has */
} pm_context_options;

/*
 * Devices. Whatever makes a proof, it is the same proof.
 *
 *   "cpu"                   the CPU
 *   "cuda"                  the first card that CUDA shows; "cuda:N" the one with number N, from 0
 *   "cuda:N,M,..."          several: each proof is made by the one with the fewest before it, and
 *                           one that has failed is passed over; or, where a proof asks for that
 *                           (all_devices), by all on which no other proof is
 *   "auto"                  the first card where it is quicker, else the CPU; a card that cannot be
 *                           used is said once, in the log of the first proof
 *
 * A card is opened once a process and shared by all contexts and keys that use it; it is closed
 * with the last of them. Its memory holds the keys that it has made proofs with.
 */

/* Starts threads - 1 threads (the caller of each operation is the other one) and opens the cards
 * that are asked for. options may be NULL. Errors: INVALID_ARGUMENT, UNSUPPORTED (arithmetic this
 * CPU lacks), NO_MEMORY, NO_THREADS, NO_DEVICE (with the reason), DEVICE. */
PM_API pm_status pm_context_create(const pm_context_options *options, pm_context **context,
                                   pm_error *error);
/* Joins every thread it started: none is left when this returns. */
PM_API void pm_context_destroy(pm_context *context);
PM_API uint32_t pm_context_threads(const pm_context *context);
PM_API const char *pm_context_arithmetic(const pm_context *context); /* "portable", "adx", "ifma" */

/* How many threads the CPU affinity and the cgroup (v1 or v2) of this process allow; at least 1. */
PM_API uint32_t pm_threads_available(void);

/* ---------------------------------------------------------------------------------------------
 * Proving keys
 * ------------------------------------------------------------------------------------------- */

typedef struct pm_key pm_key;

typedef enum pm_load { PM_LOAD_MAP = 0, PM_LOAD_READ = 1 } pm_load;

/* How far the points of a key are looked at when it is opened; infinity may only be where the
 * protocol allows it, under FAST and FULL. */
typedef enum pm_check {
    PM_CHECK_NONE = 0, /* not at all: a proof from a damaged key fails self-verification */
    PM_CHECK_FAST = 1, /* coordinates below the modulus, points on the curve */
    PM_CHECK_FULL = 2  /* the subgroup too: what pm_key_check() does */
} pm_check;

typedef struct pm_key_options {
    uint32_t struct_bytes;
    uint32_t load; /* a pm_load: map the file (default; shared page cache) or read it into memory */
    uint32_t check; /* a pm_check; doc/cli.md says what each costs */
    /* pm_key_open_params(): non-zero keeps the decoded points in a file beside the parameters,
     * path.pmcache, as large as they are, and maps it the next time. One that does not belong to
     * them any more is passed over and replaced; one that cannot be written is said in the log. */
    uint32_t cache;
} pm_key_options;

/*
 * Opens a groth16 .zkey of either curve; path "-" reads stdin. Every count, index and length is
 * checked here, so that a key that opens can never make the prover read or write out of bounds.
 * That the points lie on the curve is only checked when options->check asks for it; pm_key_check()
 * does it at any time, and a proof from a damaged key fails self-verification. A mapped file must
 * not be changed while the key lives (see pm_guard_install()). Errors: IO, NO_MEMORY,
 * NOT_THIS_KIND, VERSION, PROTOCOL, CURVE, TRUNCATED, SECTION, LENGTH, COUNT, NOT_CANONICAL,
 * UNSUPPORTED (domain too large for the curve), CANCELLED, DEADLINE, FILE_CHANGED, and with a check
 * those of pm_key_check().
 */
PM_API pm_status pm_key_open(pm_context *context, const char *path, const pm_key_options *options,
                             const pm_control *control, pm_key **key, pm_error *error);
/* The same from a zkey image in memory. The bytes are borrowed: they must stay valid and unchanged
 * until pm_key_destroy(). name is used in messages. */
PM_API pm_status pm_key_open_memory(pm_context *context, const void *bytes, size_t n_bytes,
                                    const char *name, const pm_control *control, pm_key **key,
                                    pm_error *error);

/* One non-zero of the constraint matrices A and B. */
typedef struct pm_coefficient {
    uint32_t matrix;     /* 0: A, 1: B */
    uint32_t constraint; /* row, < 2^log_n */
    uint32_t signal;     /* column, < n_vars */
    uint32_t reserved;
    uint8_t value[PM_FR_BYTES]; /* canonical little-endian */
} pm_coefficient;

/* A proving key of the snarkjs reduction, part by part. Every array is copied. */
typedef struct pm_key_arrays {
    uint32_t struct_bytes;
    uint32_t curve;    /* a pm_curve_id */
    uint32_t form;     /* of all points: PM_POINT_CANONICAL_LE or PM_POINT_MONTGOMERY_LE */
    uint32_t log_n;    /* the domain has 2^log_n points */
    uint32_t n_vars;   /* signals, the constant one included */
    uint32_t n_public; /* public signals, without the constant one; < n_vars */
    const void *alpha_g1, *beta_g1, *delta_g1; /* 1 G1 each */
    const void *beta_g2, *gamma_g2, *delta_g2; /* 1 G2 each */
    const void *ic;                            /* n_public + 1 G1 */
    const void *a, *b1;                        /* n_vars G1 each */
    const void *b2;                            /* n_vars G2 */
    const void *c; /* n_vars - n_public - 1 G1, may be NULL when that is 0 */
    const void *h; /* 2^log_n G1 */
    const pm_coefficient *coefficients;
    uint64_t n_coefficients;
} pm_key_arrays;

PM_API pm_status pm_key_from_arrays(pm_context *context, const pm_key_arrays *arrays,
                                    const pm_control *control, pm_key **key, pm_error *error);
/*
 * A key of the bellman reduction from bellman's or bellperson's parameter file (BLS12-381). Points
 * are decoded into memory. With r1cs_path (may be NULL) the constraint system gives the matrices
 * and the densities, so that proofs need no more than a witness in the order of its wires: outputs
 * and public inputs, then the rest. Without it only pm_prove_start_assignment() with a, b, c and
 * densities can prove with the key. Errors: those of a key and of an .r1cs; COUNT (they do not
 * belong together).
 */
PM_API pm_status pm_key_open_params(pm_context *context, const char *path, const char *r1cs_path,
                                    const pm_key_options *options, const pm_control *control,
                                    pm_key **key, pm_error *error);
/* Gives up the caller's reference: a key that pending proofs still read is freed with the last of
 * them. */
PM_API void pm_key_destroy(pm_key *key);

typedef struct pm_key_facts {
    uint32_t struct_bytes;
    uint32_t curve;
    uint32_t log_n;
    uint32_t n_vars;
    uint32_t n_public;
    uint32_t has_ic; /* 0: the file has no section 3, so proofs cannot be self-verified */
    uint64_t n_coefficients;
    uint64_t mapped_bytes;       /* bytes of the file or image it stands on */
    uint64_t memory_bytes;       /* heap it holds beside that */
    uint32_t reduction;          /* 0: snarkjs's, 1: bellman's */
    uint32_t has_matrices;       /* 0: a, b and c must be brought along to prove with it */
    uint64_t n_a, n_b, n_c, n_h; /* points of its queries */
    uint64_t n_nonzeros[3];      /* of A, B and C */
    uint64_t device_bytes;       /* of the memory of cards that it holds now, all together */
} pm_key_facts;

PM_API pm_status pm_key_get_facts(const pm_key *key, pm_key_facts *facts);

/* Checks every point of the key: on the curve, in the subgroup, coordinates below the modulus.
 * Errors: NOT_CANONICAL, NOT_ON_CURVE, NOT_IN_SUBGROUP, POINT_AT_INFINITY (section, index and
 * offset in the error), CANCELLED, DEADLINE, FILE_CHANGED. */
PM_API pm_status pm_key_check(pm_context *context, const pm_key *key, const pm_control *control,
                              pm_error *error);

/* The rows of points in a proving key. */
typedef enum pm_key_part {
    PM_KEY_PART_ALPHA_G1 = 1,
    PM_KEY_PART_BETA_G1 = 2,
    PM_KEY_PART_BETA_G2 = 3,
    PM_KEY_PART_GAMMA_G2 = 4,
    PM_KEY_PART_DELTA_G1 = 5,
    PM_KEY_PART_DELTA_G2 = 6,
    PM_KEY_PART_IC = 7, /* n_public + 1, or none */
    PM_KEY_PART_A = 8,  /* n_vars, as B1 and B2 */
    PM_KEY_PART_B1 = 9,
    PM_KEY_PART_B2 = 10,
    PM_KEY_PART_C = 11, /* n_vars - n_public - 1: of the private signals */
    PM_KEY_PART_H = 12  /* 2^log_n */
} pm_key_part;

/* How many points the part has; 0 for a part that is unknown or missing. */
PM_API uint64_t pm_key_part_count(const pm_key *key, pm_key_part part);
/* Copies points first .. first + n - 1 of a part to out as PM_POINT_CANONICAL_LE: n times two
 * (parts *_G2 and B2: four) base field elements. control is looked at once a call. The curve is not
 * checked. After a failure out holds some of them. Errors: INVALID_ARGUMENT (no such points),
 * NOT_CANONICAL, FILE_CHANGED, CANCELLED, DEADLINE. */
PM_API pm_status pm_key_points(const pm_key *key, pm_key_part part, uint64_t first, uint64_t n,
                               const pm_control *control, void *out, pm_error *error);
/* Likewise the non-zeros of A and B, in the order of the file: n of pm_key_facts.n_coefficients. */
PM_API pm_status pm_key_coefficients(const pm_key *key, uint64_t first, uint64_t n,
                                     const pm_control *control, pm_coefficient *out,
                                     pm_error *error);

/* ---------------------------------------------------------------------------------------------
 * Witnesses
 * ------------------------------------------------------------------------------------------- */

typedef struct pm_witness pm_witness;

/* Opens a .wtns (version 1 or 2). Each value must be below the modulus, the first must be 1. The
 * values are copied into wiped-on-free memory that core dumps leave out. path "-" reads stdin.
 * Errors: IO, NO_MEMORY, NOT_THIS_KIND, VERSION, CURVE, TRUNCATED, SECTION, LENGTH, NOT_CANONICAL,
 * WITNESS_MISMATCH (first value not one). */
PM_API pm_status pm_witness_open(pm_context *context, const char *path, const pm_control *control,
                                 pm_witness **witness, pm_error *error);
PM_API pm_status pm_witness_open_memory(pm_context *context, const void *bytes, size_t n_bytes,
                                        const char *name, const pm_control *control,
                                        pm_witness **witness, pm_error *error);
/* From n_values canonical little-endian values of PM_FR_BYTES; copied and checked in the same way.
 */
PM_API pm_status pm_witness_from_values(pm_context *context, pm_curve_id curve, const void *values,
                                        size_t n_values, const pm_control *control,
                                        pm_witness **witness, pm_error *error);
/* Wipes and frees, once no pending proof reads it. */
PM_API void pm_witness_destroy(pm_witness *witness);
/* The same by the threads of a context: by one thread it takes 0.1 ms a MiB. NULL: by this one. */
PM_API void pm_witness_destroy_by(pm_context *context, pm_witness *witness);
PM_API size_t pm_witness_count(const pm_witness *witness);
PM_API pm_curve_id pm_witness_curve(const pm_witness *witness);
/* Copies values first .. first + n - 1 (canonical little-endian) to out, n * PM_FR_BYTES bytes.
 * Public signals are values 1 .. n_public. Errors: INVALID_ARGUMENT. */
PM_API pm_status pm_witness_values(const pm_witness *witness, size_t first, size_t n, void *out);

/* ---------------------------------------------------------------------------------------------
 * Proofs
 * ------------------------------------------------------------------------------------------- */

/* A proof by value: affine coordinates, canonical little-endian, infinity all zero. For BN254 the
 * first 64, 128 and 64 bytes are used; the rest is written as zero and ignored when read. This
 * struct will not grow: struct_bytes is written, and not looked at. */
typedef struct pm_proof {
    uint32_t struct_bytes;
    uint32_t curve;
    uint8_t a[PM_G1_BYTES_MAX];
    uint8_t b[PM_G2_BYTES_MAX];
    uint8_t c[PM_G1_BYTES_MAX];
} pm_proof;

/* Encodes A, B, C one after another in the given form. *n_bytes is the capacity on input and the
 * length on output, also with BUFFER_TOO_SMALL (then nothing is written). out may be NULL to ask.
 * PM_POINT_ZCASH_COMPRESSED gives the 192 bytes of bellman and bellperson (BLS12-381 only). */
PM_API pm_status pm_proof_encode(const pm_proof *proof, pm_point_form form, void *out,
                                 size_t *n_bytes, pm_error *error);
/* Decodes and checks: exact length, canonical coordinates, on the curve, in the subgroup, not at
 * infinity. */
PM_API pm_status pm_proof_decode(pm_curve_id curve, pm_point_form form, const void *bytes,
                                 size_t n_bytes, pm_proof *proof, pm_error *error);
/* The same for n_proofs proofs one after another, as bellperson writes those of the partitions of
 * one statement: n_bytes must be exactly n_proofs times the length of one, so that none is left
 * out. An error says which proof it is about, counting from 0. Errors: those of pm_proof_decode(),
 * INVALID_ARGUMENT (n_proofs is 0), NO_MEMORY. */
PM_API pm_status pm_proofs_decode(pm_curve_id curve, pm_point_form form, const void *bytes,
                                  size_t n_bytes, pm_proof *proofs, size_t n_proofs,
                                  pm_error *error);

/* ---------------------------------------------------------------------------------------------
 * Verifying keys
 * ------------------------------------------------------------------------------------------- */

typedef struct pm_vk pm_vk; /* prepared: pairing lines and e(alpha, beta) are computed once */

typedef struct pm_vk_arrays {
    uint32_t struct_bytes;
    uint32_t curve;
    uint32_t form;     /* of all points */
    uint32_t n_public; /* ic has n_public + 1 points */
    const void *alpha_g1;
    const void *beta_g2, *gamma_g2, *delta_g2;
    const void *ic;
} pm_vk_arrays;

/* Checks every point (canonical, on the curve, in the subgroup, not at infinity save in ic). */
PM_API pm_status pm_vk_from_arrays(pm_context *context, const pm_vk_arrays *arrays, pm_vk **vk,
                                   pm_error *error);
/* The verifying key inside a proving key. Errors: SECTION when the key has no IC, and those above.
 */
PM_API pm_status pm_vk_from_key(pm_context *context, const pm_key *key, pm_vk **vk,
                                pm_error *error);
/* A bellman .vk file, or the beginning of a .params file (BLS12-381; big-endian uncompressed
 * points, alpha_g1 beta_g1 beta_g2 gamma_g2 delta_g1 delta_g2, u32 count, ic). Bytes after the ic
 * are only accepted when trailing is non-zero. */
PM_API pm_status pm_vk_from_bellman(pm_context *context, const void *bytes, size_t n_bytes,
                                    int trailing, pm_vk **vk, pm_error *error);
PM_API void pm_vk_destroy(pm_vk *vk);
PM_API pm_curve_id pm_vk_curve(const pm_vk *vk);
PM_API uint32_t pm_vk_n_public(const pm_vk *vk);
/* The points, canonical little-endian; the pointers in *arrays are valid while vk lives. */
PM_API pm_status pm_vk_get_arrays(const pm_vk *vk, pm_vk_arrays *arrays);
/* Why proofs under this key prove nothing: anyone can forge them. 0 if none of it is seen. */
enum {
    PM_INSECURE_DELTA_IS_GAMMA = 1,     /* no ceremony was held */
    PM_INSECURE_DELTA_IS_GENERATOR = 2, /* likewise */
    PM_INSECURE_DEVELOPMENT = 4         /* made by pm_setup_known_tau() */
};
PM_API uint32_t pm_vk_insecure(const pm_vk *vk);
/* e(alpha, beta) as twelve canonical little-endian base field elements in snarkjs's order
 * [[[c0,c1] x 3] x 2]: out has 12 * pm_curve_fp_bytes() bytes. */
PM_API pm_status pm_vk_get_alphabeta(const pm_vk *vk, void *out, size_t n_bytes);

/* ---------------------------------------------------------------------------------------------
 * Prove
 * ------------------------------------------------------------------------------------------- */

/* How the vectors of the quotient are held. Two cost one more pass over the matrices and save a
 * third of the memory. */
typedef enum pm_vector_form {
    PM_VECTORS_ANY = 0, /* the fastest that fits */
    PM_VECTORS_THREE = 1,
    PM_VECTORS_TWO = 2
} pm_vector_form;

/* Whether the key's points stay in memory once they have been read. */
typedef enum pm_key_residency {
    PM_RESIDENCY_ANY = 0,
    PM_RESIDENCY_KEEP = 1,  /* a mapped key stays in the page cache, counted to this process */
    PM_RESIDENCY_STREAM = 2 /* pages of a mapped key are given back behind the reader */
} pm_key_residency;

/* When the one sum over G2 is made, and what it is made from. */
typedef enum pm_b2_schedule {
    PM_B2_SCHEDULE_ANY = 0,
    PM_B2_SCHEDULE_START = 1, /* within pm_prove_start(): nothing of the witness is left after it */
    PM_B2_SCHEDULE_LATER = 2, /* after it, from the witness itself */
    PM_B2_SCHEDULE_COPY = 3   /* after it, from a copy of just the scalars that are needed */
} pm_b2_schedule;

/* So much memory, shared by all proofs that name it. May be used by many threads. A start waits for
 * its turn, so a thread that is to finish a pending proof itself, or a release callback, must not
 * wait in another start on the same budget: no_wait is for them. */
typedef struct pm_budget pm_budget;
/* What a proof held, step by step: see proofmill/experimental.h. */
typedef struct pm_report pm_report;

typedef struct pm_budget_options {
    uint32_t struct_bytes;
    uint32_t reserved;
    /* Host memory for proofs; 0: what cgroup and machine leave free now, less a twentieth. */
    uint64_t host_bytes;
    uint64_t pinned_bytes; /* page-locked; 0: not counted */
    uint64_t vram_bytes;   /* of each device; 0: not counted */
} pm_budget_options;

/* options may be NULL. Errors: NO_MEMORY. */
PM_API pm_status pm_budget_create(const pm_budget_options *options, pm_budget **budget,
                                  pm_error *error);
/* No proof that names it may be under way. */
PM_API void pm_budget_destroy(pm_budget *budget);
/* Host bytes in all, and reserved by proofs at this moment. */
PM_API uint64_t pm_budget_host_bytes(const pm_budget *budget);
PM_API uint64_t pm_budget_reserved_bytes(pm_budget *budget);

typedef struct pm_prove_options {
    uint32_t struct_bytes;
    uint32_t
        no_self_verify; /* 0: the proof is verified with the key's own vk before it is returned */
    /* The most host memory this proof may hold beside key and witness: a leaner plan is taken, or
     * OVER_BUDGET before any work. 0: no limit but the budget's. */
    uint64_t memory_bytes;
    uint32_t form;      /* a pm_vector_form */
    uint32_t residency; /* a pm_key_residency */
    uint32_t b2;        /* a pm_b2_schedule */
    uint32_t no_wait;   /* with a budget: BUDGET_BUSY instead of waiting for a turn */
    pm_budget *budget;  /* NULL: none */
    pm_report *report;  /* NULL: none; filled by the time the proof is finished or has failed */
    /* On a context of several cards: those on which no other proof is or waits make sums of this
     * one beside the card that makes it. A card that cannot is left out, which the log says. */
    uint32_t all_devices;
    uint32_t reserved;
} pm_prove_options;

/* Where the time and the memory went. */
#define PM_PHASES_MAX 16
#define PM_DEVICE_WHY_BYTES 256
typedef struct pm_phase {
    const char *name; /* static: "matrix products", "ntt", "msm a", ... */
    uint64_t wall_ns;
} pm_phase;
typedef struct pm_prove_stats {
    uint32_t struct_bytes;
    uint32_t n_phases;
    uint64_t wall_ns;
    uint64_t peak_bytes; /* the most that proving held at once beside the key and the witness */
    pm_phase phases[PM_PHASES_MAX];
    uint64_t planned_peak_bytes; /* what the plan had said */
    uint32_t n_divergences;      /* allocations that were not as planned: 0, or a fault of ours */
    uint32_t form; /* pm_vector_form, pm_key_residency and pm_b2_schedule: as chosen */
    uint32_t residency;
    uint32_t b2;
    const char *device;                   /* that made the proof: "cpu", "cuda:0"; static */
    char device_why[PM_DEVICE_WHY_BYTES]; /* why it was this one */
    uint64_t device_peak_bytes;           /* the most that the proof held of its memory */
    /* CLOCK_MONOTONIC: when the proof had the device to itself. 0: never, as on the CPU. */
    uint64_t device_taken_ns, device_left_ns;
} pm_prove_stats;

/*
 * Proves that the witness satisfies the key's constraint system. r and s come from the operating
 * system, fresh for each proof, so two proofs of one witness differ.
 * stats may be NULL.
 * Errors: CURVE, WITNESS_MISMATCH (number of values), SECTION (no IC and self-verification asked
 * for), NOT_CANONICAL, NOT_ON_CURVE, NOT_IN_SUBGROUP, POINT_AT_INFINITY (the verifying key inside
 * the key is damaged; found before any work), NO_MEMORY, NO_RANDOM, DEVICE (it failed; another one,
 * if there is one, makes the next proof), CANCELLED, DEADLINE, FILE_CHANGED, SELF_VERIFY (the
 * witness does not satisfy the constraints, or the key is damaged), INTERNAL.
 */
PM_API pm_status pm_prove(pm_context *context, const pm_key *key, const pm_witness *witness,
                          const pm_prove_options *options, const pm_control *control,
                          pm_proof *proof, pm_prove_stats *stats, pm_error *error);

/* ---------------------------------------------------------------------------------------------
 * Prove in two halves
 * ------------------------------------------------------------------------------------------- */

/*
 * An assignment as arrays of the caller: what a prover in another language has at hand. Inputs are
 * the public signals, the constant one first; aux the private ones. All scalars are in one form and
 * 8-byte aligned.
 *
 * a, b and c are optional: the evaluated constraints, one value a row, in the order of the rows.
 * Keys of the bellman reduction have one row more for each input behind the constraints (a = the
 * input, b = c = 0), as bellperson hands them over; n_rows counts them. a and b NULL: they are
 * computed from the assignment, which needs a key with matrices. c NULL beside a and b: it is their
 * product.
 *
 * Densities are for keys of bellman's parameter files opened without a constraint system: bit i,
 * lowest first in each word, says whether the query has a point for variable i. NULL: the key
 * knows.
 *
 * Lifetimes: each array is read until release(user, which) is called for it, which happens exactly
 * once, at the end of the step that reads it last - often long before the proof is done - or when
 * the proof fails or is dropped, whichever is first. It may be called from the thread that runs
 * pm_prove_start(), from a thread of the library, or from pm_prove_finish() or pm_pending_drop();
 * the array may be unmapped within it. Without a callback arrays must live until finish or drop
 * returns; a, b, c and the densities until start does.
 */
typedef enum pm_assignment_array {
    PM_ARRAY_INPUTS = 0,
    PM_ARRAY_AUX = 1,
    PM_ARRAY_A = 2,
    PM_ARRAY_B = 3,
    PM_ARRAY_C = 4
} pm_assignment_array;

typedef enum pm_scalar_form {
    PM_SCALAR_CANONICAL = 0,
    PM_SCALAR_MONTGOMERY = 1 /* times 2^256 */
} pm_scalar_form;

typedef struct pm_assignment {
    uint32_t struct_bytes;
    uint32_t curve;
    uint32_t form; /* a pm_scalar_form */
    uint32_t reserved;
    const void *inputs, *aux;
    uint64_t n_inputs, n_aux;
    const void *a, *b, *c;
    uint64_t n_rows; /* of a, b and c */
    const uint64_t *a_aux_density, *b_input_density, *b_aux_density;
    void (*release)(void *user, pm_assignment_array which); /* NULL: see above */
    void *user;
} pm_assignment;

/* clang-format off */
/*
 * A proof whose device work is done and whose rest is still to come. What it holds, and until when:
 *
 *   what                                   why                              until
 *   five sums, B2 perhaps still missing    finish blinds and assembles      finish, drop
 *   the scalars that B2 is made from (1)   B2 is made after start           B2 is made, drop
 *   the public inputs, a copy              self-verification                finish, drop
 *   a reference to the key                 its points, its verifying key    finish, drop
 *   its plan, ledger and report            they are compared to the end     finish, drop
 *   its part of the budget                 what remaining steps need        shrinks step by step
 *
 * (1) As the plan says: a reference to the witness, a copy of the needed part, or nothing, when B2
 * is made in start. Where densities are lent, it is a copy or nothing.
 *
 * A pm_key and a pm_witness may be destroyed as soon as start has returned: the last reference
 * frees them. The context must live until finish or drop returns.
 */
/* clang-format on */
typedef struct pm_pending pm_pending;

/*
 * The first half: everything up to the sums; on return a, b and c are gone and the device is free
 * for the next proof. Many may be pending at once; start on one thread and finish on another is
 * allowed. Errors: those of pm_prove(), and OVER_BUDGET, BUDGET_BUSY. After an error every array
 * that was lent has been released.
 */
PM_API pm_status pm_prove_start(pm_context *context, const pm_key *key, const pm_witness *witness,
                                const pm_prove_options *options, const pm_control *control,
                                pm_pending **pending, pm_error *error);
/* The same from the caller's arrays. Errors also: NOT_CANONICAL, COUNT, WITNESS_MISMATCH. */
PM_API pm_status pm_prove_start_assignment(pm_context *context, const pm_key *key,
                                           const pm_assignment *assignment,
                                           const pm_prove_options *options,
                                           const pm_control *control, pm_pending **pending,
                                           pm_error *error);
/* The second half: the sum over G2, blinding with fresh r and s, assembly, self-verification. It
 * consumes the handle whatever it returns. control is this half's own. stats may be NULL. */
PM_API pm_status pm_prove_finish(pm_pending *pending, const pm_control *control, pm_proof *proof,
                                 pm_prove_stats *stats, pm_error *error);
/* Gives a proof up, at any time and on any thread, instead of finish: everything is released and
 * wiped when it returns. NULL is fine. */
PM_API void pm_pending_drop(pm_pending *pending);

/* ---------------------------------------------------------------------------------------------
 * Assignments in files (.pmasg): a proof that can be made later, or elsewhere. doc/format_pmasg.md
 * has the bytes. Such a file is the whole secret of the proof.
 * ------------------------------------------------------------------------------------------- */

typedef struct pm_assignment_file pm_assignment_file;

/* Maps a .pmasg. Sizes and densities are checked; values are when a proof loads them, and the
 * digest by pm_file_check(). A mapped file must not be changed while it is open (see
 * pm_guard_install()). path "-" reads stdin. control, which may be NULL, is asked as in
 * pm_file_read(). Errors: IO, NO_MEMORY, NOT_THIS_KIND, VERSION, CURVE, TRUNCATED, LENGTH, COUNT,
 * ENCODING, FILE_CHANGED, CANCELLED, DEADLINE. */
PM_API pm_status pm_assignment_file_open(const char *path, const pm_control *control,
                                         pm_assignment_file **file, pm_error *error);
/* Its arrays, to be proved; they live as long as the file. release is set: it takes an array that
 * has been read out of this process's memory. */
PM_API pm_status pm_assignment_file_get(pm_assignment_file *file, pm_assignment *assignment,
                                        pm_error *error);
/* Copies inputs first .. first + n - 1 (canonical little-endian) to out, n * PM_FR_BYTES bytes;
 * public signals begin at input 1. Errors: INVALID_ARGUMENT, FILE_CHANGED. */
PM_API pm_status pm_assignment_file_inputs(const pm_assignment_file *file, uint64_t first,
                                           uint64_t n, void *out, pm_error *error);
PM_API void pm_assignment_file_destroy(pm_assignment_file *file);
/* Writes an assignment, array by array, to a file that appears whole or not at all, and that its
 * owner alone may read. release is not called. Errors: INVALID_ARGUMENT, CURVE, COUNT, IO,
 * NO_RANDOM, CANCELLED, DEADLINE. */
PM_API pm_status pm_assignment_file_write(const char *path, const pm_assignment *assignment,
                                          const pm_control *control, pm_error *error);

/* ---------------------------------------------------------------------------------------------
 * Verify
 * ------------------------------------------------------------------------------------------- */

/*
 * PM_OK: valid. PM_PROOF_INVALID: well-formed, but it does not verify. Anything else: malformed or
 * failed, and nothing is known of the statement. publics: n_publics values of PM_FR_BYTES; each
 * must be canonical, their number exactly that of the key (no padding, no truncation). Note that
 * Groth16 proofs can be re-randomised by anyone: never use proof bytes as an identifier. Errors:
 * CURVE, COUNT, NOT_CANONICAL, NOT_ON_CURVE, NOT_IN_SUBGROUP, POINT_AT_INFINITY, NO_MEMORY.
 */
PM_API pm_status pm_verify(pm_context *context, const pm_vk *vk, const void *publics,
                           size_t n_publics, const pm_proof *proof, pm_error *error);
/*
 * Verifies n_proofs proofs at once by a random linear combination (Bellare-Garay-Rabin small
 * exponents of 128 bits): one final exponentiation and n_proofs + 2 Miller loops. publics has
 * n_proofs * n_publics values. PM_OK says that all are valid (up to 2^-128); PM_PROOF_INVALID that
 * at least one is not.
 */
PM_API pm_status pm_verify_batch(pm_context *context, const pm_vk *vk, const void *publics,
                                 size_t n_publics, const pm_proof *proofs, size_t n_proofs,
                                 pm_error *error);

/* ---------------------------------------------------------------------------------------------
 * Setup
 * ------------------------------------------------------------------------------------------- */

/*
 * Writes the proving key of the constraint system in r1cs_path over the powers of tau in ptau_path,
 * which snarkjs has prepared for phase 2 (of any power that is high enough): byte for byte the
 * .zkey of `snarkjs groth16 setup`. Its delta is one, so proofs can be forged with it until
 * somebody has contributed to it. The key appears whole or not at all; zkey_path must be a regular
 * file or not exist. The points of the .ptau are not checked: `snarkjs powersoftau verify` does
 * that. Errors: those of opening an .r1cs; SAME_FILE (zkey_path is one of the inputs), CURVE (the
 * .ptau is of another one), COUNT (its power is too low), SECTION (not prepared), LENGTH,
 * UNSUPPORTED (domain too large for the curve), IO (the disk is full: found before work begins),
 * INVALID_ARGUMENT, NO_MEMORY, CANCELLED, DEADLINE, FILE_CHANGED.
 */
PM_API pm_status pm_setup_ptau(pm_context *context, const char *r1cs_path, const char *ptau_path,
                               const char *zkey_path, const pm_control *control, pm_error *error);

typedef enum pm_key_format {
    PM_KEY_FORMAT_ZKEY = 0,  /* snarkjs */
    PM_KEY_FORMAT_PARAMS = 1 /* bellman, bellperson (BLS12-381 only) */
} pm_key_format;

typedef struct pm_setup_known_options {
    uint32_t struct_bytes;
    uint32_t format; /* a pm_key_format */
    uint64_t seed;   /* of tau, gamma and delta; alpha and beta are always the same */
} pm_setup_known_options;

/*
 * Writes a DEVELOPMENT key for the constraint system in r1cs_path: its secrets follow from the
 * seed, so anyone can forge proofs with it. Such keys are recognised in every format
 * (PM_INSECURE_DEVELOPMENT). The key appears whole or not at all. options may be NULL. Errors:
 * those of opening an .r1cs; SAME_FILE (r1cs_path and key_path), UNSUPPORTED (domain too large for
 * the curve; params of another curve), COUNT (params: a wire that no constraint uses), IO,
 * NO_MEMORY, CANCELLED, DEADLINE, FILE_CHANGED.
 */
PM_API pm_status pm_setup_known_tau(pm_context *context, const char *r1cs_path,
                                    const char *key_path, const pm_setup_known_options *options,
                                    const pm_control *control, pm_error *error);

/* ---------------------------------------------------------------------------------------------
 * Files
 * ------------------------------------------------------------------------------------------- */

typedef enum pm_file_kind {
    PM_FILE_UNKNOWN = 0,
    PM_FILE_ZKEY = 1,
    PM_FILE_WTNS = 2,
    PM_FILE_R1CS = 3,
    PM_FILE_PTAU = 4,
    PM_FILE_PARAMS = 5,     /* parameters of bellman or bellperson */
    PM_FILE_BELLMAN_VK = 6, /* a verifying key of bellman or bellperson */
    PM_FILE_ASSIGNMENT = 7  /* a proving assignment, .pmasg */
} pm_file_kind;

PM_API const char *pm_file_kind_name(pm_file_kind kind); /* "zkey", "wtns", ... */

#define PM_SECTIONS_MAX 64
typedef struct pm_section_info {
    uint32_t type;
    uint32_t known;  /* 0: not a section proofmill knows; accepted and ignored */
    uint64_t offset; /* of its data */
    uint64_t bytes;
    const char *name; /* static, or "" */
} pm_section_info;

typedef struct pm_file_info {
    uint32_t struct_bytes;
    uint32_t kind; /* a pm_file_kind */
    uint32_t version;
    uint32_t curve;
    uint64_t file_bytes;
    uint32_t n_sections;
    uint32_t log_n;                             /* zkey */
    uint32_t n_vars;                            /* zkey: signals; wtns: values; r1cs: wires */
    uint32_t n_public;                          /* zkey; r1cs: outputs and public inputs together */
    uint32_t n_outputs;                         /* r1cs */
    uint32_t n_public_inputs, n_private_inputs; /* r1cs */
    uint32_t n_constraints;                     /* r1cs; zkey: rows, from the coefficients */
    uint64_t n_labels;                          /* r1cs */
    uint64_t n_coefficients;                    /* zkey; r1cs: non-zeros of A, B and C */
    uint32_t has_circuit_hash;                  /* zkey with a section 10 */
    uint32_t n_contributions;
    uint8_t circuit_hash[64];
    uint32_t insecure; /* zkey, params, bellman vk: PM_INSECURE_* flags */
    uint32_t has_digest;
    uint8_t digest[64]; /* BLAKE2b-512 of the whole file, when asked for */
    pm_section_info sections[PM_SECTIONS_MAX];
    /* params: the lengths of the queries; n_vars is inputs, the constant one included, and aux
     * variables together. circuit_hash and n_contributions are those of a ceremony's transcript
     * behind the parameters. */
    uint32_t n_h, n_l, n_a, n_b;
    uint64_t parameters_bytes; /* params: without the transcript */
    /* pmasg: n_vars, n_public and n_constraints (rows of a, b and c) are given too, as far as they
     * fit; variables that the densities say have a point in A (aux) and B (inputs, aux). */
    uint32_t scalar_form; /* a pm_scalar_form */
    uint32_t n_vectors;   /* 0, 2: a and b, or 3: c too */
    uint32_t has_densities;
    uint32_t reserved;
    uint64_t n_inputs, n_aux, n_rows, n_density_bits[3];
} pm_file_info;

/* Recognises a file by its first bytes and describes it; structure is checked as when it is opened.
 * Files of bellman have no magic: they are known by a point that is on its curve, and whether they
 * are parameters or a verifying key by their name (.params, .vk) or else their length.
 * with_digest: non-zero reads the whole file once more. */
PM_API pm_status pm_file_describe(pm_context *context, const char *path, int with_digest,
                                  const pm_control *control, pm_file_info *info, pm_error *error);

/* Checks everything in one file: structure, ranges, every point (zkey, params, bellman's verifying
 * key); values (wtns); rows (r1cs); values and digest (pmasg). */
PM_API pm_status pm_file_check(pm_context *context, const char *path, const pm_control *control,
                               pm_error *error);
/* Evaluates every constraint of an .r1cs at the witness. UNSATISFIED: the lowest failing row is in
 * *constraint (also in the error's sentence). */
PM_API pm_status pm_r1cs_check_witness(pm_context *context, const char *r1cs_path,
                                       const pm_witness *witness, const pm_control *control,
                                       uint64_t *constraint, pm_error *error);

/* One file to be written. path "-" is stdout. */
typedef struct pm_output {
    const char *path;
    const void *bytes;
    size_t n_bytes;
} pm_output;

/* Writes all outputs, each whole or not at all: temporary files beside the targets, synced, then
 * renamed one after another once all of them are complete. control, which may be NULL, is asked
 * where a FIFO without a reader or a full pipe would keep us waiting. Errors: IO, INVALID_ARGUMENT
 * (two outputs with one name), CANCELLED, DEADLINE. */
PM_API pm_status pm_files_write(const pm_output *outputs, size_t n_outputs,
                                const pm_control *control, pm_error *error);
/*
 * A file too large to be held: appended to piece by piece, and published once it is complete. Until
 * then it has no name, or where the file system cannot do that a temporary one beside path; what
 * was at path stays when something fails. "-", devices and FIFOs are written straight. One thread
 * at a time. destroy without publish leaves nothing behind. After publish, whatever it returns,
 * only destroy is left to call. control, which may be NULL, is borrowed until then and asked as in
 * pm_files_write(). Errors: IO, NO_MEMORY, NO_RANDOM, INVALID_ARGUMENT, CANCELLED, DEADLINE.
 */
typedef struct pm_file_writer pm_file_writer;
PM_API pm_status pm_file_writer_create(const char *path, const pm_control *control,
                                       pm_file_writer **writer, pm_error *error);
PM_API pm_status pm_file_writer_append(pm_file_writer *writer, const void *bytes, size_t n_bytes,
                                       pm_error *error);
PM_API pm_status pm_file_writer_publish(pm_file_writer *writer, pm_error *error);
PM_API void pm_file_writer_destroy(pm_file_writer *writer);
/* SAME_FILE when any output path names an input (through links too) or another output. "-" is what
 * standard input or output is open on, if that is a regular file. Call it before reading. */
PM_API pm_status pm_files_distinct(const char *const *inputs, size_t n_inputs,
                                   const char *const *outputs, size_t n_outputs, pm_error *error);
/* Reads a whole file ("-": stdin) of at most max_bytes into memory; free with pm_bytes_free(),
 * which wipes. The bytes are followed by a NUL that is not counted. control, which may be NULL, is
 * asked where a writer keeps us waiting, and between the parts of a long file. Errors: IO, LENGTH,
 * NO_MEMORY, INVALID_ARGUMENT, CANCELLED, DEADLINE. */
PM_API pm_status pm_file_read(const char *path, size_t max_bytes, const pm_control *control,
                              void **bytes, size_t *n_bytes, pm_error *error);
PM_API void pm_bytes_free(void *bytes, size_t n_bytes);

/* Installs a SIGBUS handler that turns a read past the end of a mapped file (it shrank under us)
 * into PM_FILE_CHANGED of the call concerned; faults that are not ours go to the handler before it.
 * For programs, not for libraries: it changes process state. Idempotent. */
PM_API pm_status pm_guard_install(pm_error *error);

#ifdef __cplusplus
}
#endif

#endif /* PROOFMILL_PROOFMILL_H */
