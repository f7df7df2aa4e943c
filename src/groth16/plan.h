/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * groth16/plan.h - a proof as a plan: its steps, its buffers, and when each lives.
 *
 * A pure function of sizes, a device's description and choices. Nothing is allocated, no file is
 * read, no clock is looked at: the same arguments give the same plan, byte for byte. What executes
 * a proof (groth16/execute.h) allocates each buffer before its first step and releases it after its
 * last one; the ledger shows that it did.
 *
 *   step              reads                         writes
 *   load witness      witness (lent)                w                [where w must be copied]
 *   load vectors      a, b, c (lent)                a b c            [caller evaluated them]
 *   products          w, matrices                   a b (c)
 *   -- three vectors --
 *   quotient          a b c                         a = h
 *   -- two vectors --
 *   coset product     a b                           a
 *   recompute c       w, matrices | c (lent)        b
 *   quotient          a b                           a = h
 *   msm h             a, H
 *   classify          w                             classes
 *   msm a, b1, l      w, classes, A, B1, L
 *   -- or, in place of all sums of the device, side by side --
 *   msm all           a, w, classes, H, A, B1, L, B2
 *   keep b            w                             b scalars        [where w need not survive]
 *   ======== end of start: the device is free ========
 *   msm b2            w | b scalars, B2
 *   assembly          sums, r, s
 *   self-verification
 *
 * The order is that of the plan's steps, which is not everywhere this one: w is loaded right before
 * the first step that reads it, and on a device the scalars for B2 are kept first of all, so that
 * what was lent goes back as early as it can.
 *
 * Sums side by side. The points of a streamed key come over a bus. The sum of h computes for longer
 * than its points take to come, the sums over w for less: one after the other, the bus waits for
 * the first and the others wait for the bus. In one step, piece by piece in turn, neither waits. It
 * needs a and w at once, so that a device with little memory makes the sums one by one.
 *
 * Where the scalars of the variables stand. A pm_witness is one array; the plan calls its beginning
 * caller inputs and the rest caller aux. The CPU reads it where it is: there is no w then, and the
 * pointer to the inputs is the pointer to all of them. Arrays that a caller lends are two, perhaps
 * in Montgomery form, and an MSM wants one of canonical scalars: the CPU always copies them into w,
 * and they are given back at the end of `load witness`. A device always has a w of its own.
 *
 * B2 on the CPU, for a plan of a device, reads the pm_witness, or scalars that were kept: from lent
 * arrays it needs the copy.
 *
 * Bytes are those asked for. What the allocator adds is not in the plan: base/memory.h puts a page
 * before each block that it maps, and rounds up to whole pages.
 */
#ifndef PM_GROTH16_PLAN_H
#define PM_GROTH16_PLAN_H

#include "base/ledger.h"
#include "base/status.h"

#include <proofmill/proofmill.h>

#include <stdbool.h>
#include <stdint.h>

/* h and the H query stand on the odd coset (snarkjs), or h is a quotient of polynomials and H the
 * powers of tau (bellman). */
enum pm_reduction { PM_REDUCTION_SNARKJS = 0, PM_REDUCTION_BELLMAN = 1 };

/* The sums over w that several devices may make together. */
enum pm_shared_sum { PM_SHARED_A, PM_SHARED_B1, PM_SHARED_L, PM_SHARED_B2, PM_SHARED_SUMS };

/*
 * What one of several devices makes of a proof (groth16/plan_share.h): of each sum over w some
 * points of its query, one behind the other, and on the first device, which sees no further one's,
 * everything else. Zero: there is but one, which makes it all.
 */
struct pm_plan_share {
    bool is_cut;     /* else everything below is 0 */
    bool is_further; /* sums over w alone: no vectors, no matrices, no h, nothing after start */
    struct pm_plan_range {
        uint64_t first, n;
    } points[PM_SHARED_SUMS];
};

/* Everything about key and circuit that decides a size. */
struct pm_plan_sizes {
    pm_curve_id curve;
    enum pm_reduction reduction;
    uint32_t log_n;
    uint64_t n_vars;             /* variables, the constant one included */
    uint64_t n_inputs;           /* public inputs, the constant one included */
    uint64_t n_rows;             /* rows of the vectors that are not padding; <= 2^log_n */
    uint64_t n_a, n_b, n_l, n_h; /* points of the queries; n_b of B1 and of B2 */
    uint64_t n_nonzeros[3];      /* of A, B, C; C is 0 in the snarkjs reduction */
    uint64_t n_coefficients[3];  /* different ones of A, B, C; 0: the key does not know */
    uint64_t key_bytes;          /* of the file or image that the key stands on */
    uint64_t key_resident_bytes; /* of host memory that the key holds beside it */
    bool rows_sorted;            /* the matrices can be read row by row */
    bool has_matrices;           /* else the caller must bring a, b, c */
    struct pm_plan_share share;  /* of one of several devices; the counts stay those of the whole */
};

enum pm_step_id {
    PM_STEP_LOAD_WITNESS,
    PM_STEP_LOAD_VECTORS,
    PM_STEP_PRODUCTS,
    PM_STEP_QUOTIENT,      /* from three vectors */
    PM_STEP_COSET_PRODUCT, /* two vectors */
    PM_STEP_RECOMPUTE_C,   /* two vectors */
    PM_STEP_QUOTIENT_OF_C, /* two vectors */
    PM_STEP_MSM_H,
    PM_STEP_CLASSIFY,
    PM_STEP_MSM_A,
    PM_STEP_MSM_B1,
    PM_STEP_MSM_L,
    PM_STEP_MSM_ALL, /* all sums of the device, side by side */
    PM_STEP_KEEP_B,
    PM_STEP_MSM_B2,
    PM_STEP_ASSEMBLY,
    PM_STEP_SELF_VERIFY,
    PM_STEP_IDS
};

enum pm_buffer_id {
    /* lent by the caller, or by the library's pm_witness */
    PM_BUFFER_CALLER_INPUTS, /* n_inputs scalars */
    PM_BUFFER_CALLER_AUX,    /* the others; a buffer of no bytes is left out of the plan */
    PM_BUFFER_CALLER_A,
    PM_BUFFER_CALLER_B,
    PM_BUFFER_CALLER_C,
    /* resident with the key */
    PM_BUFFER_KEY_FILE,
    PM_BUFFER_KEY_HOST,   /* twiddles, densities, matrices, decoded points */
    PM_BUFFER_KEY_DEVICE, /* queries, matrices and twiddles on the device */
    /* of one proof */
    PM_BUFFER_PENDING,   /* the handle with the sums, the ledger's log, the report */
    PM_BUFFER_DENSITIES, /* a copy of lent ones, with their directories; of start alone */
    PM_BUFFER_W,
    PM_BUFFER_A, /* becomes h */
    PM_BUFFER_B,
    PM_BUFFER_C,
    PM_BUFFER_CLASSES,
    PM_BUFFER_B_SCALARS,
    /* of one step */
    PM_BUFFER_STAGING,       /* page-locked, for uploads; or resident, with the device */
    PM_BUFFER_PACKED,        /* device memory, where packed scalars land */
    PM_BUFFER_MATRIX_WINDOW, /* device memory through which matrices of a streamed key go, */
    PM_BUFFER_KEY_WINDOW,    /* and its points: also its matrices, where they have no other */
    PM_BUFFER_SCRATCH_H,     /* of the steps that make the quotient */
    PM_BUFFER_SCRATCH_MSM_H,
    PM_BUFFER_SCRATCH_MSM_A,
    PM_BUFFER_SCRATCH_MSM_B1,
    PM_BUFFER_SCRATCH_MSM_L,
    PM_BUFFER_SCRATCH_MSM_ALL, /* of all sums, which are computed one piece at a time */
    PM_BUFFER_SCRATCH_MSM_B2,
    PM_BUFFER_SCRATCH_VERIFY,
    PM_BUFFER_IDS
};

const char *pm_step_name(enum pm_step_id step);       /* "matrix products", ...: static */
const char *pm_buffer_name(enum pm_buffer_id buffer); /* "a", "msm h scratch", ...: static */

enum pm_lifetime { PM_LIFETIME_RESIDENT, PM_LIFETIME_PROOF, PM_LIFETIME_STEP };

enum pm_form { PM_FORM_ANY = 0, PM_FORM_THREE_VECTORS = 1, PM_FORM_TWO_VECTORS = 2 };
enum pm_key_place { PM_KEY_ANY = 0, PM_KEY_RESIDENT = 1, PM_KEY_STREAMED = 2 };
enum pm_b2_place {
    PM_B2_ANY = 0,
    PM_B2_IN_START = 1, /* on the device, or on the CPU before start returns: w ends with start */
    PM_B2_FROM_W = 2,   /* on the CPU after start, which holds all of w until then */
    PM_B2_FROM_COPY = 3 /* the same from a copy of the scalars that B2 needs: w ends with start */
};
enum pm_vectors_from { PM_VECTORS_FROM_W = 0, PM_VECTORS_FROM_CALLER = 1 };

struct pm_plan_choices {
    enum pm_form form;
    enum pm_key_place key;
    enum pm_b2_place b2;
    enum pm_vectors_from vectors;
    bool caller_brings_c;    /* with vectors from the caller; else c = a b (snarkjs) */
    bool scalars_are_lent;   /* inputs and aux are the caller's arrays, not a pm_witness */
    bool scalars_montgomery; /* and in Montgomery form */
    bool densities_are_lent; /* until start returns: B2 cannot gather from w after it */
    bool no_self_verify;
    uint64_t pending_bytes; /* of PM_BUFFER_PENDING, which only its owner knows; 0: none */
    /* The most of each pool that the proof itself may hold, beside key and lent arrays; choices
     * left open are made to fit: the fastest that does, and of those that are as fast one that none
     * of the others needs less than. Of page-locked memory what stays with the device counts too.
     * PM_BUDGET_UNLIMITED, or 0, where nobody counts. Under a limit of the host pool an open choice
     * keeps a mapped key resident only if its file fits into that limit as well. */
    uint64_t limit_bytes[PM_POOLS_MAX];
};

/*
 * What computes. scratch_bytes answers for the steps that need scratch, but for the
 * self-verification, which is always the CPU's; everything else follows from the flags. `backend`
 * in groth16/backend.h fills one in for itself; tests write their own.
 */
struct pm_plan_device {
    const char *name; /* "cpu", "cuda:0" */
    uint32_t pool;    /* where it computes: PM_POOL_HOST or its VRAM */
    uint32_t mechanism;
    bool own_memory;       /* w, vectors and key must be uploaded */
    bool classifies;       /* has a classify step */
    bool b2_on_device;     /* can run B2 itself */
    bool stages_sums;      /* what sums give comes back through the staging memory */
    bool loads_beside;     /* w may go up while another proof has the device */
    bool sums_together;    /* can make the sums of a streamed key side by side */
    bool keeps_staging;    /* its staging memory stays with it: once, and for steps beside */
    bool takes_shares;     /* can make sums of a part of a query's points */
    uint64_t memory_bytes; /* of its pool; UINT64_MAX: not bounded by the device */
    uint64_t keys_bytes;   /* that keys hold beside it */
    /* By enum pm_key_place: of keys_bytes, what this key holds already when it is there in this
     * way, or what may be had by taking other keys away. Who asks for a plan fills it in. */
    uint64_t there_bytes[PM_KEY_STREAMED + 1];
    uint64_t staging_bytes; /* page-locked, through which uploads go; 0: none */
    uint32_t threads;       /* of the CPU's team */
    void *user;
    /* Scratch that `step` needs when the plan is what *sizes and *choices say (no field ANY), in
     * bytes. MSM_B2 is asked for where choices say that it is computed. */
    uint64_t (*scratch_bytes)(const struct pm_plan_device *device, enum pm_step_id step,
                              const struct pm_plan_sizes *sizes,
                              const struct pm_plan_choices *choices);
    uint64_t (*classes_bytes)(const struct pm_plan_device *device,
                              const struct pm_plan_sizes *sizes);
    uint64_t (*key_bytes)(const struct pm_plan_device *device, const struct pm_plan_sizes *sizes,
                          enum pm_key_place place); /* resident on the device; 0 on the CPU */
    /* Of a streamed key: device memory, or on the CPU the mapped pages of its file at a time.
     * choices as the caller made them: its form, key and b2 may be ANY. */
    uint64_t (*window_bytes)(const struct pm_plan_device *device, const struct pm_plan_sizes *sizes,
                             const struct pm_plan_choices *choices);
    /* That of its matrices. NULL: they go through the other one. */
    uint64_t (*matrix_window_bytes)(const struct pm_plan_device *device,
                                    const struct pm_plan_sizes *sizes,
                                    const struct pm_plan_choices *choices);
    /* NULL: scalars are not packed. */
    uint64_t (*packed_bytes)(const struct pm_plan_device *device,
                             const struct pm_plan_sizes *sizes);
};

/* What a plan with the key in this place may take of the device's pool, key included. */
uint64_t pm_plan_device_bytes(const struct pm_plan_device *device, enum pm_key_place place);

struct pm_plan_step {
    enum pm_step_id id;
    bool in_start;       /* else in finish */
    bool in_device_lock; /* the device is held while it runs */
    bool on_cpu;         /* computed by the CPU although the plan is for a device */
    bool is_beside;      /* computed beside the proof that holds the device, by one at a time */
};

struct pm_plan_buffer {
    enum pm_buffer_id id;
    uint64_t bytes;
    uint32_t pool;      /* enum pm_pool */
    uint32_t mechanism; /* enum pm_mechanism */
    enum pm_lifetime lifetime;
    uint16_t first_step, last_step; /* indices into steps; both ends included */
    uint16_t last_reader;           /* the step that reads it last; equals last_step */
    bool in_device_lock;            /* allocated and released inside the lock */
    bool secret;                    /* wiped, left out of core dumps */
};

#define PM_PLAN_STEPS_MAX PM_STEP_IDS
#define PM_PLAN_BUFFERS_MAX PM_BUFFER_IDS
#define PM_PLAN_WHY_BYTES 400
/* Counts and sizes up to here are planned with; larger ones contradict any machine. */
#define PM_PLAN_COUNT_MAX (UINT64_C(1) << 48)
#define PM_PLAN_BYTES_MAX (UINT64_C(1) << 58)

struct pm_plan {
    struct pm_plan_sizes sizes;
    struct pm_plan_choices choices; /* as made: no field is ANY */
    const char *device_name;
    uint32_t device_pool;
    uint32_t threads;            /* of the CPU's team */
    char why[PM_PLAN_WHY_BYTES]; /* a sentence: why this form, place of the key and of B2 */
    uint32_t n_steps, n_start_steps;
    uint32_t n_buffers;
    struct pm_plan_step steps[PM_PLAN_STEPS_MAX];
    struct pm_plan_buffer buffers[PM_PLAN_BUFFERS_MAX]; /* at most one of each id */
    /* The curve: what stands in each pool during each step, resident and lent buffers included. */
    uint64_t live_bytes[PM_PLAN_STEPS_MAX][PM_POOLS_MAX];
    uint64_t peak_bytes[PM_POOLS_MAX];
};

/*
 * Errors: INVALID_ARGUMENT (sizes that contradict each other; a choice that the device or the key
 * does not have), UNSUPPORTED (domain too large for the curve), OVER_BUDGET (no allowed plan fits
 * limit_bytes or the device's memory: the pool, the leanest need and what there is).
 */
pm_status pm_plan_make(const struct pm_plan_sizes *sizes, const struct pm_plan_device *device,
                       const struct pm_plan_choices *choices, struct pm_plan *plan,
                       pm_error *error);

/* NULL if the plan has none. */
const struct pm_plan_buffer *pm_plan_find(const struct pm_plan *plan, enum pm_buffer_id id);
/* Of live_bytes, what the proof itself allocates: neither resident nor lent. That is what its own
 * ledger shows during the step. */
uint64_t pm_plan_held_bytes(const struct pm_plan *plan, uint32_t step, uint32_t pool);
/* What is still to be reserved once steps before `step` have ended: the most of each pool that any
 * step from it on holds, resident and lent buffers and files left out. step may be n_steps (0). */
void pm_plan_remaining(const struct pm_plan *plan, uint32_t step, uint64_t bytes[PM_POOLS_MAX]);

/* Of the device's pool, the most that it holds while it runs beside another proof. */
uint64_t pm_plan_beside_bytes(const struct pm_plan *plan);

/* ---- Sizes without a key ----------------------------------------------------------------------
 */

/* Bytes of the key's file: a .zkey without contributions (snarkjs), or a .params file (bellman). */
uint64_t pm_plan_file_bytes(const struct pm_plan_sizes *sizes);
/* Fills in key_bytes and key_resident_bytes as an opened key of these sizes has them: a .zkey is
 * mapped, and its twiddle factors stand beside it; a .params file is decoded into memory, where the
 * matrices and densities join it. */
void pm_plan_sizes_add_key(struct pm_plan_sizes *sizes);

/* ---- Known circuits ---------------------------------------------------------------------------
 */

struct pm_plan_preset {
    const char *name;  /* "porep-32g" */
    const char *title; /* "Filecoin PoRep, 32 GiB sector, one partition" */
    struct pm_plan_sizes sizes;
};
extern const struct pm_plan_preset pm_plan_presets[];
extern const uint32_t pm_plan_n_presets;
const struct pm_plan_preset *pm_plan_preset_find(const char *name); /* NULL: unknown */

#endif
