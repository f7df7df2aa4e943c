/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "gpu/op/gpu_ntt_op.h"

#include <string.h>

/* Tuned on sm_90 (lab/ntt_gpu.md). */
#define LEVELS_MAX 8
#define TILE_LOG 10

static const struct pm_gpu_scale no_scale = {.kind = PM_GPU_SCALE_NONE};
static const struct pm_gpu_scale divide = {.kind = PM_GPU_SCALE_DIVIDE};

extern const struct pm_gpu_kernels pm_gpu_kernels_bn254, pm_gpu_kernels_bls12_381;

const struct pm_gpu_kernels *pm_gpu_kernels_get(pm_curve_id curve) {
    switch (curve) {
    case PM_CURVE_BN254:
        return &pm_gpu_kernels_bn254;
    case PM_CURVE_BLS12_381:
        return &pm_gpu_kernels_bls12_381;
    default:
        return NULL;
    }
}

/* ---- Domains --------------------------------------------------------------------------------- */

uint64_t pm_gpu_domain_bytes(uint32_t log_n) {
    return PM_GPU_FACTOR_BYTES * pm_gpu_factors_count(log_n);
}

static pm_status fill_domain(struct pm_gpu_domain *domain, const struct pm_gpu_stream *stream,
                             pm_error *error) {
    const struct pm_gpu_kernels *kernels = domain->kernels;
    struct pm_gpu_facts facts;
    pm_gpu_device_facts(stream->device, &facts);
    PM_TRY(pm_gpu_device_check(stream->device, kernels->prepare(facts.shared_bytes_per_block_max),
                               "cudaFuncSetAttribute", 0, error));
    PM_TRY(pm_gpu_stream_launched(stream,
                                  kernels->fill_factors(domain->factors.address, domain->log_n,
                                                        (int)domain->root, stream->raw),
                                  "factors", domain->factors.bytes, error));
    return pm_gpu_stream_wait(stream, error);
}

/* A tile lies in one block's shared memory, of which some cards have 99 KiB and others 227. */
static pm_status check_tile(struct pm_gpu_device *device, uint32_t tile_log, pm_error *error) {
    struct pm_gpu_facts facts;
    pm_gpu_device_facts(device, &facts);
    PM_FAIL_IF((uint64_t)PM_FR_BYTES << tile_log > facts.shared_bytes_per_block_max, error,
               PM_UNSUPPORTED,
               "a tile of 2^%u scalars is more than the %llu bytes a block may have", tile_log,
               (unsigned long long)facts.shared_bytes_per_block_max);
    return PM_OK;
}

pm_status pm_gpu_domain_create(const struct pm_gpu_stream *stream, pm_curve_id curve,
                               uint32_t log_n, enum pm_gpu_root root, uint32_t levels_max,
                               uint32_t tile_log, struct pm_gpu_domain *out, pm_error *error) {
    const struct pm_gpu_kernels *kernels = pm_gpu_kernels_get(curve);
    struct pm_gpu_domain domain = {
        .device = stream->device, .kernels = kernels, .log_n = log_n, .root = root};
    PM_FAIL_IF(kernels == NULL, error, PM_CURVE, "no kernels for curve %s", pm_curve_name(curve));
    const uint32_t most =
        kernels->two_adicity < PM_GPU_NTT_LOG_MAX ? kernels->two_adicity : PM_GPU_NTT_LOG_MAX;
    PM_FAIL_IF(log_n > most, error, PM_UNSUPPORTED,
               "a domain of 2^%u points: on a device 2^%u is the most for this curve", log_n, most);
    PM_TRY(check_tile(stream->device, tile_log > 0 ? tile_log : TILE_LOG, error));
    if (log_n >= PM_GPU_NTT_HELD_LOG) {
        pm_gpu_ntt_plan_make(&domain.plan, log_n, levels_max > 0 ? levels_max : LEVELS_MAX,
                             tile_log > 0 ? tile_log : TILE_LOG);
    }
    PM_TRY(PM_GPU_GET(stream->device, NULL, PM_GPU_ONCE, "ntt factors", pm_gpu_domain_bytes(log_n),
                      &domain.factors, error));
    const pm_status status = fill_domain(&domain, stream, error);
    if (status != PM_OK) {
        pm_gpu_domain_destroy(&domain);
        return status;
    }
    *out = domain;
    return PM_OK;
}

void pm_gpu_domain_destroy(struct pm_gpu_domain *domain) {
    if (domain->device != NULL) {
        pm_gpu_memory_release(domain->device, NULL, &domain->factors);
        *domain = (struct pm_gpu_domain){0};
    }
}

/* ---- Powers ---------------------------------------------------------------------------------- */

/* Half of the bits each: both tables stay in the cache. */
static uint32_t powers_inner_log(uint32_t log_n) {
    return log_n / 2;
}

uint64_t pm_gpu_powers_bytes(uint32_t log_n) {
    const uint32_t inner_log = powers_inner_log(log_n);
    return PM_GPU_FACTOR_BYTES *
           ((UINT64_C(1) << inner_log) + (UINT64_C(1) << (log_n - inner_log)));
}

pm_status pm_gpu_powers_create(const struct pm_gpu_domain *domain,
                               const struct pm_gpu_stream *stream, enum pm_gpu_order order,
                               const uint32_t first[8], const uint32_t base[8],
                               struct pm_gpu_powers *out, pm_error *error) {
    const uint32_t inner_log = powers_inner_log(domain->log_n);
    struct pm_gpu_powers powers = {.device = domain->device, .order = order};
    PM_TRY(PM_GPU_GET(domain->device, NULL, PM_GPU_ONCE, "coset powers",
                      pm_gpu_powers_bytes(domain->log_n), &powers.tables, error));
    char *inner = powers.tables.address;
    char *outer = inner + ((uint64_t)PM_GPU_FACTOR_BYTES << inner_log);
    powers.scale = (struct pm_gpu_scale){
        .kind = PM_GPU_SCALE_POWERS, .inner_log = inner_log, .outer = outer, .inner = inner};
    pm_status status = pm_gpu_stream_launched(
        stream,
        domain->kernels->fill_powers(outer, inner, domain->log_n, inner_log,
                                     order == PM_GPU_REVERSED, first, base, stream->raw),
        "powers", powers.tables.bytes, error);
    if (status == PM_OK) {
        status = pm_gpu_stream_wait(stream, error);
    }
    if (status != PM_OK) {
        pm_gpu_powers_destroy(&powers);
        return status;
    }
    *out = powers;
    return PM_OK;
}

void pm_gpu_powers_destroy(struct pm_gpu_powers *powers) {
    if (powers->device != NULL) {
        pm_gpu_memory_release(powers->device, NULL, &powers->tables);
        *powers = (struct pm_gpu_powers){0};
    }
}

/* ---- Transforms ------------------------------------------------------------------------------ */

static uint64_t vector_bytes(const struct pm_gpu_domain *domain) {
    return (uint64_t)PM_FR_BYTES << domain->log_n;
}

/* Fewer values than a thread holds: three kernels, whose cost does not matter. */
static pm_status transform_few(const struct pm_gpu_domain *domain,
                               const struct pm_gpu_stream *stream, bool inverse, bool merge,
                               const struct pm_gpu_scale *before, const struct pm_gpu_scale *after,
                               void *vector, pm_error *error) {
    const struct pm_gpu_kernels *kernels = domain->kernels;
    const uint64_t bytes = vector_bytes(domain);
    if (before->kind != PM_GPU_SCALE_NONE) {
        PM_TRY(pm_gpu_stream_launched(stream,
                                      kernels->scale(vector, domain->log_n, before, stream->raw),
                                      "scale", bytes, error));
    }
    PM_TRY(pm_gpu_stream_launched(stream,
                                  kernels->ntt_few(vector, domain->log_n, domain->factors.address,
                                                   inverse, merge, stream->raw),
                                  "ntt_few", bytes, error));
    if (after->kind != PM_GPU_SCALE_NONE) {
        PM_TRY(pm_gpu_stream_launched(stream,
                                      kernels->scale(vector, domain->log_n, after, stream->raw),
                                      "scale", bytes, error));
    }
    return PM_OK;
}

static pm_status transform_passes(const struct pm_gpu_domain *domain,
                                  const struct pm_gpu_stream *stream, bool inverse, bool merge,
                                  const struct pm_gpu_scale *before,
                                  const struct pm_gpu_scale *after, const void *in, void *out,
                                  pm_error *error) {
    const struct pm_gpu_ntt_plan *plan = &domain->plan;
    for (uint32_t i = 0; i < plan->n_passes; i++) {
        const struct pm_gpu_ntt_launch launch = {
            .pass = &plan->passes[merge ? plan->n_passes - 1 - i : i],
            .in = i == 0 ? in : out,
            .out = out,
            .factors = domain->factors.address,
            .scale_in = i == 0 ? before : &no_scale,
            .scale_out = i + 1 == plan->n_passes ? after : &no_scale,
            .inverse = inverse,
            .merge = merge};
        PM_TRY(pm_gpu_stream_launched(stream, domain->kernels->ntt_pass(&launch, stream->raw),
                                      "ntt_pass", vector_bytes(domain), error));
    }
    return PM_OK;
}

pm_status pm_gpu_ntt(const struct pm_gpu_domain *domain, const struct pm_gpu_stream *stream,
                     const struct pm_gpu_transform *transform, const void *in, void *out,
                     pm_error *error) {
    const bool merge = transform->in == PM_GPU_REVERSED, inverse = transform->inverse;
    const struct pm_gpu_powers *powers = transform->powers;
    const enum pm_gpu_order middle = merge ? PM_GPU_NATURAL : PM_GPU_REVERSED;
    PM_FAIL_IF(powers != NULL && powers->order != (inverse ? middle : transform->in), error,
               PM_INVALID_ARGUMENT, "the powers are for vectors of the other order");
    const struct pm_gpu_scale *scale = powers != NULL ? &powers->scale : NULL;
    const struct pm_gpu_scale *before = scale != NULL && !inverse ? scale : &no_scale;
    const struct pm_gpu_scale *after = scale != NULL ? scale : &divide;
    if (!inverse) {
        after = &no_scale;
    }
    PM_TRY(pm_gpu_device_enter(stream->device, error));
    if (domain->log_n < PM_GPU_NTT_HELD_LOG) {
        if (in != out) {
            PM_TRY(pm_gpu_copy(stream, out, in, vector_bytes(domain), error));
        }
        PM_TRY(transform_few(domain, stream, inverse, merge, before, after, out, error));
    } else {
        PM_TRY(transform_passes(domain, stream, inverse, merge, before, after, in, out, error));
    }
    if (middle != transform->out) {
        PM_TRY(pm_gpu_stream_launched(stream,
                                      domain->kernels->reverse(out, domain->log_n, stream->raw),
                                      "reverse", vector_bytes(domain), error));
    }
    return PM_OK;
}

/* ---- The quotient ---------------------------------------------------------------------------- */

uint64_t pm_gpu_h_bytes(uint32_t log_n, enum pm_gpu_reduction reduction) {
    return pm_gpu_powers_bytes(log_n) * (reduction == PM_GPU_REDUCTION_BELLMAN ? 3 : 1);
}

/* The shift g to the coset, and 1 / n. */
static void coset_scalars(const struct pm_gpu_h *h, uint32_t shift[8], uint32_t inverse_n[8]) {
    const struct pm_gpu_domain *domain = h->domain;
    const struct pm_gpu_scalar_tools *tools = &domain->kernels->tools;
    if (h->reduction == PM_GPU_REDUCTION_SNARKJS) {
        tools->root(shift, domain->log_n + 1, (int)domain->root);
    } else {
        tools->small(shift, domain->kernels->coset_generator);
    }
    tools->small(inverse_n, UINT32_C(1) << domain->log_n);
    tools->inv(inverse_n, inverse_n);
}

/* What bellman's way back needs: tables with 1 / (n (g^n - 1)). */
static pm_status create_back(struct pm_gpu_h *h, const struct pm_gpu_stream *stream,
                             const uint32_t shift[8], const uint32_t inverse_n[8],
                             pm_error *error) {
    const struct pm_gpu_scalar_tools *tools = &h->domain->kernels->tools;
    uint32_t one[8], z[8], first[8], back[8];
    tools->small(one, 1);
    memcpy(z, shift, sizeof z);
    for (uint32_t i = 0; i < h->domain->log_n; i++) {
        tools->mul(z, z, z);
    }
    tools->sub(z, z, one); /* not 0: g is no root of unity */
    tools->inv(z, z);
    tools->mul(first, z, inverse_n);
    tools->inv(back, shift);
    PM_TRY(pm_gpu_powers_create(h->domain, stream, PM_GPU_REVERSED, first, back, &h->from_coset,
                                error));
    PM_TRY(pm_gpu_powers_create(h->domain, stream, PM_GPU_REVERSED, first, one, &h->of_c, error));
    h->of_c.scale.kind = PM_GPU_SCALE_CONSTANT; /* the powers of one need no product */
    return PM_OK;
}

pm_status pm_gpu_h_create(const struct pm_gpu_domain *domain, const struct pm_gpu_stream *stream,
                          enum pm_gpu_reduction reduction, struct pm_gpu_h *out, pm_error *error) {
    struct pm_gpu_h h = {.domain = domain, .reduction = reduction};
    uint32_t shift[8], inverse_n[8];
    PM_FAIL_IF(reduction == PM_GPU_REDUCTION_SNARKJS &&
                   domain->log_n >= domain->kernels->two_adicity,
               error, PM_UNSUPPORTED,
               "a domain of 2^%u points has no odd coset: the scalar field has no root of unity of "
               "order 2^%u",
               domain->log_n, domain->log_n + 1);
    coset_scalars(&h, shift, inverse_n);
    pm_status status =
        pm_gpu_powers_create(domain, stream, PM_GPU_REVERSED, inverse_n, shift, &h.to_coset, error);
    if (status == PM_OK && reduction == PM_GPU_REDUCTION_BELLMAN) {
        status = create_back(&h, stream, shift, inverse_n, error);
    }
    if (status != PM_OK) {
        pm_gpu_h_destroy(&h);
        return status;
    }
    *out = h;
    return PM_OK;
}

void pm_gpu_h_destroy(struct pm_gpu_h *h) {
    pm_gpu_powers_destroy(&h->to_coset);
    pm_gpu_powers_destroy(&h->from_coset);
    pm_gpu_powers_destroy(&h->of_c);
}

pm_status pm_gpu_h_product(const struct pm_gpu_h *h, const struct pm_gpu_stream *stream, void *c,
                           const void *a, const void *b, pm_error *error) {
    const struct pm_gpu_domain *domain = h->domain;
    PM_TRY(pm_gpu_device_enter(stream->device, error));
    return pm_gpu_stream_launched(
        stream, domain->kernels->mul(c, a, b, UINT64_C(1) << domain->log_n, stream->raw), "mul",
        vector_bytes(domain), error);
}

/* An inverse transform that leaves its coefficients in reversed order, times the powers. */
static pm_status to_coefficients(const struct pm_gpu_h *h, const struct pm_gpu_stream *stream,
                                 const struct pm_gpu_powers *powers, void *v, pm_error *error) {
    const struct pm_gpu_transform inverse = {
        .inverse = true, .in = PM_GPU_NATURAL, .out = PM_GPU_REVERSED, .powers = powers};
    return pm_gpu_ntt(h->domain, stream, &inverse, v, v, error);
}

pm_status pm_gpu_h_coset(const struct pm_gpu_h *h, const struct pm_gpu_stream *stream, void *v,
                         pm_error *error) {
    const struct pm_gpu_transform forward = {.in = PM_GPU_REVERSED, .out = PM_GPU_NATURAL};
    PM_TRY(to_coefficients(h, stream, &h->to_coset, v, error));
    return pm_gpu_ntt(h->domain, stream, &forward, v, v, error);
}

pm_status pm_gpu_h_multiply(const struct pm_gpu_h *h, const struct pm_gpu_stream *stream, void *a,
                            const void *b, pm_error *error) {
    PM_TRY(pm_gpu_h_product(h, stream, a, a, b, error));
    if (h->reduction == PM_GPU_REDUCTION_BELLMAN) {
        return to_coefficients(h, stream, &h->from_coset, a, error);
    }
    return PM_OK;
}

pm_status pm_gpu_h_c(const struct pm_gpu_h *h, const struct pm_gpu_stream *stream, void *c,
                     pm_error *error) {
    if (h->reduction == PM_GPU_REDUCTION_BELLMAN) {
        return to_coefficients(h, stream, &h->of_c, c, error);
    }
    return pm_gpu_h_coset(h, stream, c, error);
}

pm_status pm_gpu_h_finish(const struct pm_gpu_h *h, const struct pm_gpu_stream *stream, void *a,
                          const void *c, pm_error *error) {
    const struct pm_gpu_domain *domain = h->domain;
    const struct pm_gpu_kernels *kernels = domain->kernels;
    PM_TRY(pm_gpu_device_enter(stream->device, error));
    if (h->reduction == PM_GPU_REDUCTION_BELLMAN) {
        return pm_gpu_stream_launched(
            stream, kernels->sub_canonical_reverse(a, c, domain->log_n, stream->raw),
            "sub_canonical_reverse", vector_bytes(domain), error);
    }
    return pm_gpu_stream_launched(
        stream, kernels->sub_canonical(a, a, c, UINT64_C(1) << domain->log_n, stream->raw),
        "sub_canonical", vector_bytes(domain), error);
}

pm_status pm_gpu_h_run(const struct pm_gpu_h *h, const struct pm_gpu_stream *stream, void *a,
                       void *b, void *c, bool has_c, pm_error *error) {
    const struct pm_gpu_domain *domain = h->domain;
    if (!has_c) {
        PM_TRY(pm_gpu_h_product(h, stream, c, a, b, error));
    }
    PM_TRY(pm_gpu_h_coset(h, stream, a, error));
    PM_TRY(pm_gpu_h_coset(h, stream, b, error));
    if (h->reduction == PM_GPU_REDUCTION_BELLMAN) {
        PM_TRY(pm_gpu_h_multiply(h, stream, a, b, error));
        PM_TRY(pm_gpu_h_c(h, stream, c, error));
        return pm_gpu_h_finish(h, stream, a, c, error);
    }
    /* All three are there: one walk over memory less. */
    PM_TRY(pm_gpu_h_c(h, stream, c, error));
    return pm_gpu_stream_launched(
        stream,
        domain->kernels->mul_sub_canonical(a, a, b, c, UINT64_C(1) << domain->log_n, stream->raw),
        "mul_sub_canonical", vector_bytes(domain), error);
}
