/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* groth16/backend_cuda_card.h - what the files of the CUDA backend share: the card, a key on it,
 * the way up. */
#ifndef PM_GROTH16_BACKEND_CUDA_CARD_H
#define PM_GROTH16_BACKEND_CUDA_CARD_H

#include "base/memory.h"
#include "groth16/backend_cuda.h"
#include "groth16/proving_key.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Device memory is laid out in steps of this. */
#define PM_CUDA_ALIGNMENT UINT64_C(256)

static inline uint64_t pm_cuda_round(uint64_t bytes) {
    return (bytes + PM_CUDA_ALIGNMENT - 1) / PM_CUDA_ALIGNMENT * PM_CUDA_ALIGNMENT;
}

/* ---- Staging ----------------------------------------------------------------------------------
 *
 * Page-locked memory: two halves, of which one is filled while the other goes up, and behind them
 * room for what sums bring down. Packed scalars take a slot of a half for each thread that packs.
 */
#define PM_CUDA_SLOTS 16u /* of a half: more threads than these do not copy faster */
#define PM_CUDA_PACK_SCALARS_MAX (UINT64_C(1) << 17)
#define PM_CUDA_COPIED_BYTES_MAX (UINT64_C(8) << 20)
#define PM_CUDA_PACK_SCALARS_MIN (UINT64_C(1) << 12)
#define PM_CUDA_OUTPUTS_BYTES (UINT64_C(8) << 20)

/* A half, and the stream that takes it up. */
struct pm_cuda_lane {
    struct pm_gpu_stream stream;
    uint8_t *half;
    /* What has been written and not wiped: from the half's beginning on, or of each slot. */
    uint64_t used_bytes, slot_used_bytes;
};

/* Two lanes and who fills them. */
struct pm_cuda_way {
    struct pm_cuda *cuda;
    struct pm_cuda_lane lanes[2];
    struct pm_gpu_event fence; /* what is before the first load */
    uint64_t piece_bytes;      /* of a half, that are copied at a time */
    uint64_t slot_bytes;
    bool is_public; /* nothing that goes up is a secret */
    uint32_t next;  /* the lane that is filled next */
    struct pm_team *team;
    const pm_control *control;
};

/* ---- The card ---------------------------------------------------------------------------------
 */

/* Buffers of plans, all proofs that hold some taken together. */
#define PM_CUDA_BUFFERS_MAX 128u
#define PM_CUDA_SUMS_KNOWN 64u

struct pm_cuda_buffer {
    struct pm_gpu_buffer buffer;
    uint64_t bytes; /* asked for; 0: a free entry */
    bool secret;
};

/* What a sum takes has been asked before. */
struct pm_cuda_sum_bytes {
    pm_curve_id curve;
    enum pm_msm_group group;
    bool has_classes;
    uint64_t n, limit_bytes;
    uint64_t workspace_bytes, outputs_bytes;
};

/* What a proof works with while it holds one of the two locks. */
struct pm_cuda_side {
    struct pm_gpu_stream stream;
    struct pm_gpu_event used[2]; /* of a matrix window's halves: read by the stream */
    struct pm_cuda_way way;
    struct pm_gpu_buffer staging; /* had when it is first wanted, and kept: locking takes long */
    pthread_t thread;             /* who holds it */
    bool is_held;                 /* atomic, with thread */
    uint64_t bytes; /* under the card's mutex: of the pool, what its proof may hold; 0: nobody */
};

struct pm_cuda {
    struct pm_backend backend; /* first: the functions get a pointer to it */
    const struct pm_gpu_api *api;
    struct pm_gpu_device *device;
    /* The same card, opened again for its pool's sake: closed and opened anew by who holds both
     * locks, it gives back what it keeps. */
    struct pm_gpu_device *pool;
    struct pm_gpu_facts facts;
    bool is_lost;  /* atomic: nothing works any more, whatever the library thinks of the error */
    char name[16]; /* "cuda:0" */
    struct pm_cuda_options options;
    uint64_t half_bytes, staging_bytes;
    uint64_t kept_bytes; /* atomic: of both sides' staging memory */

    struct pm_cuda_side holder; /* of the device's lock */
    struct pm_cuda_side next;   /* of the lock beside it */
    pthread_mutex_t beside;

    pthread_mutex_t mutex; /* of all that follows */
    struct pm_cuda_buffer buffers[PM_CUDA_BUFFERS_MAX];
    uint32_t n_refused;          /* proofs that wait for the memory of who is next */
    uint64_t pool_peak_bytes;    /* the most that the pool has given out, and keeps */
    uint64_t outputs_most_bytes; /* that any sum brings down */
    struct pm_cuda_sum_bytes sums[PM_CUDA_SUMS_KNOWN];
    uint32_t next_sum;
};

static inline struct pm_cuda *pm_cuda_of(struct pm_backend *backend) {
    return (struct pm_cuda *)(void *)backend;
}

static inline bool pm_cuda_is_held(const struct pm_cuda_side *side) {
    const bool is_held = __atomic_load_n(&side->is_held, __ATOMIC_ACQUIRE);
    return is_held &&
           pthread_equal(__atomic_load_n(&side->thread, __ATOMIC_RELAXED), pthread_self());
}

/* The side of the calling thread: the holder's, if it holds the device's lock, else the next
 * one's. */
static inline struct pm_cuda_side *pm_cuda_side(struct pm_cuda *cuda) {
    return pm_cuda_is_held(&cuda->holder) ? &cuda->holder : &cuda->next;
}

/* Where sums of the device's holder, or anybody's few bytes, come down. */
static inline uint8_t *pm_cuda_landing(const struct pm_cuda *cuda,
                                       const struct pm_cuda_side *side) {
    return (uint8_t *)side->staging.address + 2 * cuda->half_bytes;
}

bool pm_cuda_is_bad(const struct pm_cuda *cuda);
/* What the card has beside the keys on it: what is free, and what the pool keeps. Others may take
 * some of it at any time. 0 when it is bad. */
uint64_t pm_cuda_memory_bytes(struct pm_cuda *cuda);
/* Gives the driver what the pool keeps, as soon as no proof holds anything of it. Errors: as of
 * lock; NO_MEMORY. */
pm_status pm_cuda_trim(struct pm_cuda *cuda, const pm_control *control, pm_error *error);

/* Of a half, what plain copies use: a tenth of a millisecond on the bus. */
static inline uint64_t pm_cuda_copied_bytes(const struct pm_cuda *cuda) {
    return cuda->half_bytes < PM_CUDA_COPIED_BYTES_MAX ? cuda->half_bytes
                                                       : PM_CUDA_COPIED_BYTES_MAX;
}

/* ---- The way up: backend_cuda_way.c -----------------------------------------------------------
 */

/* That of the calling thread's side, for one step: what its stream has been asked for is done
 * before anything goes up. is_public: nothing of a witness does. */
pm_status pm_cuda_way_begin(struct pm_cuda *cuda, const struct pm_step_data *data, bool is_public,
                            struct pm_cuda_way **way, pm_error *error);
/* Whether all of it is page-locked; little is as well copied. */
bool pm_cuda_is_pinned(const struct pm_cuda *cuda, const void *from, uint64_t n_bytes);
/* Copies n_bytes up, piece by piece, looking at the control; what lies in page-locked memory goes
 * straight. On return the last pieces may still be on their way. */
pm_status pm_cuda_way_bytes(struct pm_cuda_way *way, void *to, const void *from, uint64_t n_bytes,
                            pm_error *error);
/* The same of a part of something that is known to be page-locked, or not. */
pm_status pm_cuda_way_part(struct pm_cuda_way *way, void *to, const void *from, uint64_t n_bytes,
                           bool is_pinned, pm_error *error);
/* The next half, when its last load has gone up. */
pm_status pm_cuda_way_half(struct pm_cuda_way *way, struct pm_cuda_lane **lane, pm_error *error);
/* Waits until everything is up, wipes what was secret of it here, and gives what went wrong on the
 * way; status: what has gone wrong before, which comes first. */
pm_status pm_cuda_way_end(struct pm_cuda_way *way, pm_status status, pm_error *error);

/* ---- A key on the card ------------------------------------------------------------------------
 */

/* Queries in the order in which they lie. */
enum pm_cuda_query { PM_CUDA_A, PM_CUDA_B1, PM_CUDA_L, PM_CUDA_H, PM_CUDA_B2, PM_CUDA_QUERIES };

/* Where everything is in the key's one block. Absent parts take nothing. A function of sizes and
 * choice of place, but never of n_rows, which may be a lent vector's. */
struct pm_cuda_layout {
    uint64_t points[PM_CUDA_QUERIES];
    uint64_t matrices[3]; /* or, where they are streamed, their coefficients alone */
    uint64_t densities[2];
    uint64_t counters[2]; /* of the holder, of the next one */
    uint64_t end;
    uint64_t domain_bytes, h_bytes; /* blocks of their own */
};

struct pm_cuda_key {
    struct pm_cuda *cuda;
    struct pm_ledger *ledger;
    struct pm_plan_sizes sizes; /* of all of it, or of a share */
    struct pm_cuda_layout layout;
    struct pm_gpu_buffer block;
    struct pm_gpu_domain domain;
    struct pm_gpu_h h;
    struct pm_gpu_sparse sparse[3]; /* counts 0: none */
};

static inline uint8_t *pm_cuda_at(const struct pm_cuda_key *key, uint64_t offset) {
    return (uint8_t *)key->block.address + offset;
}

/* backend_cuda_describe.c */
void pm_cuda_describe(const struct pm_backend *backend, struct pm_team *team,
                      struct pm_plan_device *device);
pm_status pm_cuda_can_run(const struct pm_backend *backend, const struct pm_plan_sizes *sizes,
                          pm_error *error);
void pm_cuda_lay_out(const struct pm_cuda *cuda, const struct pm_plan_sizes *sizes,
                     enum pm_key_place place, struct pm_cuda_layout *layout);
/* Scalars of a slot, bytes of it, and slots for the scalars of a key. */
uint64_t pm_cuda_pack_scalars(const struct pm_cuda *cuda, uint64_t n);
uint64_t pm_cuda_slot_bytes(uint64_t pack_scalars);
/* Of a query, the points that a plan of these sizes has on the card. */
struct pm_plan_range pm_cuda_points(const struct pm_plan_sizes *sizes, enum pm_cuda_query query);
/* Different coefficients that there is room for. */
uint64_t pm_cuda_n_coefficients(const struct pm_plan_sizes *sizes, int matrix);
/* A half of the window through which matrices go, at most: five milliseconds on the bus. */
#define PM_CUDA_ROWS_BYTES_MAX (UINT64_C(256) << 20)
/* Whether a matrix goes through the window, row by row, instead of staying. */
bool pm_cuda_streams_matrices(const struct pm_plan_sizes *sizes, enum pm_key_place place);
/* The window of a streamed key is so many panes: one is read by a sum, others are filled. A sum of
 * h computes for as long as three panes take to come, so that as many may wait behind it. */
#define PM_CUDA_PANES 5u
/* Points and scalars that one sum takes at once. pane_bytes: of the window of a streamed key; 0:
 * the key stays. */
uint64_t pm_cuda_piece_points(const struct pm_plan_sizes *sizes, enum pm_step_id step,
                              uint64_t pane_bytes);
uint64_t pm_cuda_piece_scalars(const struct pm_plan_sizes *sizes, enum pm_step_id step,
                               uint64_t pane_bytes);
/* Of the plan's window, one pane. */
static inline uint64_t pm_cuda_pane_bytes(const struct pm_plan *plan) {
    const struct pm_plan_buffer *window = pm_plan_find(plan, PM_BUFFER_KEY_WINDOW);
    return window != NULL ? window->bytes / PM_CUDA_PANES : 0;
}
/* Scalars of a sum on the card; of a share of a compact query, as many as there may be. */
uint64_t pm_cuda_n_scalars(const struct pm_plan_sizes *sizes, enum pm_step_id step);
/* pm_gpu_sum_bytes(), remembered. */
pm_status pm_cuda_sum_bytes(struct pm_cuda *cuda, struct pm_cuda_sum_bytes *sum, pm_error *error);
/* Elements of a vector that are multiplied with others in a scratch at a time. */
uint64_t pm_cuda_product_rows(const struct pm_plan_sizes *sizes);

/* backend_cuda_key.c */
pm_status pm_cuda_open_key(struct pm_backend *backend, const struct pm_proving_key *proving_key,
                           const struct pm_plan *plan, struct pm_ledger *ledger,
                           const pm_control *control, void **resident, pm_error *error);
void pm_cuda_close_key(struct pm_backend *backend, void *resident);

/* backend_cuda_matrix.c: A and B of a zkey, from its records, into the places of key->sparse. */
pm_status pm_cuda_bring_records(struct pm_cuda_way *way, const struct pm_proving_key *proving_key,
                                struct pm_cuda_key *key, pm_error *error);

/* backend_cuda_vectors.c */
pm_step_function pm_cuda_load_witness, pm_cuda_load_vectors, pm_cuda_products, pm_cuda_quotient,
    pm_cuda_coset_product, pm_cuda_recompute_c, pm_cuda_quotient_of_c;
/* backend_cuda_sums.c */
pm_step_function pm_cuda_classify, pm_cuda_msm_h, pm_cuda_msm_a, pm_cuda_msm_b1, pm_cuda_msm_l,
    pm_cuda_msm_b2, pm_cuda_msm_all;

#endif
