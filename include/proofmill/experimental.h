/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * proofmill/experimental.h - plans and reports: a proof's memory, predicted and measured.
 *
 * What stands here may change from version to version. Rules of proofmill.h hold.
 */
#ifndef PROOFMILL_EXPERIMENTAL_H
#define PROOFMILL_EXPERIMENTAL_H

#include <proofmill/proofmill.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------
 * Plans
 * ------------------------------------------------------------------------------------------- */

/* A proof's steps and buffers and the memory they take, known before a byte is allocated. */
typedef struct pm_proof_plan pm_proof_plan;

typedef enum pm_reduction_kind {
    PM_REDUCTION_KIND_SNARKJS = 0,
    PM_REDUCTION_KIND_BELLMAN = 1
} pm_reduction_kind;

/* Sizes of a circuit and its key. */
typedef struct pm_circuit_sizes {
    uint32_t struct_bytes;
    uint32_t curve;
    uint32_t reduction; /* a pm_reduction_kind */
    uint32_t log_n;
    uint64_t n_vars, n_inputs; /* the constant one included */
    uint64_t n_rows;           /* 0: the whole domain */
    /* Points of the queries, B counting for B1 and for B2; 0: as many as there can be. */
    uint64_t n_a, n_b, n_l, n_h;
    uint64_t n_nonzeros[3]; /* of A, B and C, the rows of the inputs included; 0: not known */
} pm_circuit_sizes;

typedef struct pm_plan_options {
    uint32_t struct_bytes;
    uint32_t threads; /* of the CPU's team; 0: as many as pm_threads_available() */
    /* "cpu"; "device:BYTES" for a card of that much memory that nobody has seen; NULL: what the
     * context would make the proof with, or the CPU where there is no context. */
    const char *device;
    uint64_t memory_bytes;   /* as in pm_prove_options; 0: no limit */
    uint32_t form;           /* a pm_vector_form */
    uint32_t residency;      /* a pm_key_residency */
    uint32_t b2;             /* a pm_b2_schedule */
    uint32_t caller_vectors; /* a, b and c are the caller's */
    uint32_t caller_scalars; /* 0: a pm_witness; 1: arrays, canonical; 2: arrays, Montgomery form */
    uint32_t no_self_verify;
    /* Other keys on the device are taken away before the proof, if it needs their memory;
     * otherwise it is theirs. */
    uint32_t evicts_keys;
    uint32_t all_devices; /* as in pm_prove_options; no other proofs are taken to be there */
} pm_plan_options;

/* options may be NULL. Errors: INVALID_ARGUMENT, UNSUPPORTED, OVER_BUDGET, NO_MEMORY. */
PM_API pm_status pm_proof_plan_create(const pm_circuit_sizes *sizes, const pm_plan_options *options,
                                      pm_proof_plan **plan, pm_error *error);
/* Of a proof with this key. */
PM_API pm_status pm_proof_plan_of_key(pm_context *context, const pm_key *key,
                                      const pm_plan_options *options, pm_proof_plan **plan,
                                      pm_error *error);
/* Of a proof on this context, of a circuit with these sizes. Errors as pm_proof_plan_create(). */
PM_API pm_status pm_proof_plan_of_sizes(pm_context *context, const pm_circuit_sizes *sizes,
                                        const pm_plan_options *options, pm_proof_plan **plan,
                                        pm_error *error);
PM_API void pm_proof_plan_destroy(pm_proof_plan *plan);

/* Known circuits by name ("porep-32g"); NULL past the last. */
PM_API const char *pm_circuit_preset_name(uint32_t index);
PM_API const char *pm_circuit_preset_title(uint32_t index);
/* INVALID_ARGUMENT for an unknown name. */
PM_API pm_status pm_circuit_preset(const char *name, pm_circuit_sizes *sizes, pm_error *error);

typedef struct pm_planned_step {
    const char *name;
    uint32_t in_start; /* else in finish */
    uint32_t in_device_lock;
    uint32_t on_cpu;    /* the CPU computes it */
    uint32_t is_beside; /* on the device, while another proof holds it */
} pm_planned_step;

typedef struct pm_planned_buffer {
    const char *name;
    const char *pool;      /* "host", "file", "caller", "pinned", "vram:0" */
    const char *mechanism; /* "mmap", "file mapping", "lent", "cudaMalloc", ... */
    const char *lifetime;  /* "resident", "proof", "step" */
    uint64_t bytes;
    uint32_t first_step, last_step; /* both ends included */
    uint32_t in_device_lock;
    uint32_t secret;
} pm_planned_buffer;

PM_API uint32_t pm_proof_plan_n_steps(const pm_proof_plan *plan);
PM_API uint32_t pm_proof_plan_n_buffers(const pm_proof_plan *plan);
/* INVALID_ARGUMENT past the end. */
PM_API pm_status pm_proof_plan_step(const pm_proof_plan *plan, uint32_t index,
                                    pm_planned_step *step);
PM_API pm_status pm_proof_plan_buffer(const pm_proof_plan *plan, uint32_t index,
                                      pm_planned_buffer *buffer);
/* Pools that the plan uses: names until NULL. */
PM_API const char *pm_proof_plan_pool(const pm_proof_plan *plan, uint32_t index);
/* Bytes of a pool (index as above) during a step, and at most: key and lent arrays included. */
PM_API uint64_t pm_proof_plan_live_bytes(const pm_proof_plan *plan, uint32_t pool, uint32_t step);
PM_API uint64_t pm_proof_plan_peak_bytes(const pm_proof_plan *plan, uint32_t pool);
/* Of these, what the proof itself allocates. */
PM_API uint64_t pm_proof_plan_held_bytes(const pm_proof_plan *plan, uint32_t pool, uint32_t step);
/* Bytes of the key's file, from its counts: a .zkey without contributions, or a .params file. */
PM_API uint64_t pm_proof_plan_file_bytes(const pm_proof_plan *plan);
PM_API pm_status pm_proof_plan_sizes(const pm_proof_plan *plan, pm_circuit_sizes *sizes);
/* What the open choices came to, and a sentence that says why. */
PM_API pm_status pm_proof_plan_choices(const pm_proof_plan *plan, pm_plan_options *options);
PM_API const char *pm_proof_plan_why(const pm_proof_plan *plan);
/* Why it is for this device; "" where nobody had to choose. */
PM_API const char *pm_proof_plan_device_why(const pm_proof_plan *plan);

/*
 * A proof on several devices has a plan for each: the plan itself is that of the first one, which
 * makes the proof; its parts are those of the others, which make some of its sums at the same time.
 * A part is a plan like any other, but without parts of its own, and belongs to the whole.
 */
PM_API uint32_t pm_proof_plan_n_parts(const pm_proof_plan *plan);
/* NULL past the end. */
PM_API const pm_proof_plan *pm_proof_plan_part(const pm_proof_plan *plan, uint32_t index);

/* ---------------------------------------------------------------------------------------------
 * Reports
 * ------------------------------------------------------------------------------------------- */

/* An empty report; give it to a proof in pm_prove_options, one proof at a time, and read it when
 * the proof is done. */
PM_API pm_status pm_report_create(pm_report **report, pm_error *error);
PM_API void pm_report_destroy(pm_report *report);
/* The plan that was carried out; NULL before. Lives as long as the report. */
PM_API const pm_proof_plan *pm_report_plan(const pm_report *report);

typedef struct pm_measured_step {
    uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC; end 0: it did not end */
    uint64_t cpu_ns;           /* processor time of all threads of the process meanwhile */
    uint64_t lock_wait_ns;
    uint64_t host_bytes, device_bytes; /* live at its end, before anything is released */
} pm_measured_step;

PM_API pm_status pm_report_step(const pm_report *report, uint32_t index, pm_measured_step *step);

/* An allocation or a release. */
typedef struct pm_measured_entry {
    const char *name, *pool, *mechanism;
    const char *file; /* of the source line that allocated */
    uint32_t line;
    uint32_t released; /* else allocated */
    uint32_t buffer;   /* index in the plan, or UINT32_MAX: not planned */
    uint32_t step;     /* or UINT32_MAX: outside the steps */
    uint32_t in_device_lock;
    uint32_t reserved;
    uint64_t at_ns, bytes;
    uint64_t live_bytes; /* of the pool, after it */
} pm_measured_entry;

PM_API uint32_t pm_report_n_entries(const pm_report *report);
PM_API pm_status pm_report_entry(const pm_report *report, uint32_t index, pm_measured_entry *entry);
PM_API uint32_t pm_report_n_divergences(const pm_report *report);
/* What the further devices of a proof have done, in the order of the plan's parts; belongs to the
 * whole. NULL past the end. */
PM_API uint32_t pm_report_n_parts(const pm_report *report);
PM_API const pm_report *pm_report_part(const pm_report *report, uint32_t index);
/* Page-locked memory that stays with the device, when the proof had ended. */
PM_API uint64_t pm_report_staging_bytes(const pm_report *report);
/* What its device held of the key then. */
PM_API uint64_t pm_report_key_bytes(const pm_report *report);

/* ---------------------------------------------------------------------------------------------
 * Blinding by the caller
 * ------------------------------------------------------------------------------------------- */

/*
 * pm_prove_finish() with r and s of the caller's, PM_FR_BYTES each in the given form (a
 * pm_scalar_form), for interfaces that hand them down. Each must be uniform, secret and used for
 * one proof: whoever knows them learns about the witness, and so does whoever sees two proofs that
 * share them. Zero for both gives the proof without zero-knowledge. Consumes the handle whatever it
 * returns. Errors: those of pm_prove_finish(), and INVALID_ARGUMENT, NOT_CANONICAL.
 */
PM_API pm_status pm_prove_finish_with_blinding(pm_pending *pending, const void *r, const void *s,
                                               uint32_t form, const pm_control *control,
                                               pm_proof *proof, pm_prove_stats *stats,
                                               pm_error *error);

/* ---------------------------------------------------------------------------------------------
 * The machine
 * ------------------------------------------------------------------------------------------- */

/* How many cards CUDA shows; at least one. gpu_library as in pm_context_options. NO_DEVICE with the
 * reason: no library, no driver, no card. */
PM_API pm_status pm_device_count(const char *gpu_library, uint32_t *n, pm_error *error);

typedef struct pm_device_facts {
    uint32_t struct_bytes;
    uint32_t ordinal; /* N of "cuda:N" */
    char name[256];
    uint32_t major, minor; /* compute capability */
    uint32_t n_multiprocessors;
    uint32_t clock_khz;
    uint32_t driver, runtime; /* 13000: CUDA 13.0 */
    uint64_t total_bytes;
    uint64_t free_bytes; /* now */
} pm_device_facts;

/* Asks card `ordinal` itself, which takes a moment and some of its memory for as long. Errors:
 * INVALID_ARGUMENT, NO_DEVICE (no such one, or too old for the library), NO_MEMORY, DEVICE. */
PM_API pm_status pm_device_describe(const char *gpu_library, uint32_t ordinal,
                                    pm_device_facts *facts, pm_error *error);

/* Takes the key off every device on which no proof uses it; the next proof there brings it again.
 * Returns on how many it is still in use. NULL is fine. */
PM_API uint32_t pm_key_leave_devices(pm_key *key);

typedef struct pm_host_memory {
    uint64_t free_bytes;  /* what this process may still take; UINT64_MAX: nothing bounds it */
    uint64_t total_bytes; /* of the bound that decides: the cgroup's limit, the machine's memory */
    const char *bound;    /* "cgroup v2 memory.max", "MemAvailable", ...; static */
} pm_host_memory;

/* Looks at /proc/meminfo and at the cgroups (v1 and v2) of this process and their parents; page
 * cache that the kernel can take back counts as free. root: NULL, or the folder that stands for /.
 * INVALID_ARGUMENT: memory is NULL. */
PM_API pm_status pm_host_memory_now(const char *root, pm_host_memory *memory);

#ifdef __cplusplus
}
#endif

#endif /* PROOFMILL_EXPERIMENTAL_H */
