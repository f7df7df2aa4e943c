/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Times what a card does, beside the least time it could take:
 *
 *     proofmill-gpu-bench LIBRARY [quick|full|witness|matrices] [LEVELS_MAX TILE_LOG]
 *
 * limits   operations a second, bytes a second
 * field    products, sums
 * witness  ways to the device, checks, matrices times it; nothing else, or the last alone, if so
 *          asked
 * ntt, h   milliseconds; the floor is the number of products by a constant, at the rate measured
 *          in the same run, and nothing else.
 *
 * Each time is the median of several runs between events, after one that warms up. */
#include "gpu_bench.h"

#include "gpu/load/gpu_load.h"

#include <string.h>

#define RUNS 7
#define SCRATCH_BYTES (UINT64_C(64) << 20)

struct gpu_bench bench;

void bench_need_cuda(int status) {
    if (status != 0) {
        (void)fprintf(stderr, "proofmill-gpu-bench: CUDA error %d\n", status);
        exit(1);
    }
}

struct pm_gpu_buffer bench_get(enum pm_gpu_mechanism mechanism, uint64_t bytes) {
    struct pm_gpu_buffer buffer;
    NEED(bench.api->memory_get(bench.device, &bench.stream, mechanism, "bench", bytes, NULL,
                               __FILE__, __LINE__, &buffer, &error));
    return buffer;
}

void bench_release(struct pm_gpu_buffer *buffer) {
    bench.api->memory_release(bench.device, &bench.stream, buffer);
}

static int by_value(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

double bench_time_ms(void (*work)(void *argument), void *argument) {
    float ms[RUNS];
    work(argument);
    for (int i = 0; i < RUNS; i++) {
        NEED(bench.api->event_record(&bench.from, &bench.stream, &error));
        work(argument);
        NEED(bench.api->event_record(&bench.to, &bench.stream, &error));
        NEED(bench.api->stream_wait(&bench.stream, &error));
        NEED(bench.api->event_elapsed_ms(&bench.from, &bench.to, &ms[i], &error));
    }
    qsort(ms, RUNS, sizeof ms[0], by_value);
    return ms[RUNS / 2];
}

/* ---- Limits and fields ----------------------------------------------------------------------- */

struct rate_work {
    bool is_limit;
    int which;
    uint64_t n_operations;
};

static void run_rate(void *argument) {
    struct rate_work *work = argument;
    bench_need_cuda(work->is_limit
                        ? gpu_limit_run((enum gpu_limit)work->which, bench.scratch.address,
                                        bench.facts.n_multiprocessors, &work->n_operations,
                                        bench.stream.raw)
                        : bench.rates->run((enum gpu_rate)work->which, bench.scratch.address,
                                           bench.facts.n_multiprocessors, &work->n_operations,
                                           bench.stream.raw));
}

static double operations_per_s(bool is_limit, int which) {
    struct rate_work work = {.is_limit = is_limit, .which = which};
    bench_need_cuda(bench.rates->random(bench.scratch.address, SCRATCH_BYTES / PM_FR_BYTES, 1,
                                        bench.stream.raw));
    const double ms = bench_time_ms(run_rate, &work);
    return (double)work.n_operations / ms * 1e3;
}

struct copy_work {
    const struct pm_gpu_buffer *to, *from;
    int direction;
};

static void run_copy(void *argument) {
    const struct copy_work *work = argument;
    void *to = work->to->address;
    const void *from = work->from->address;
    switch (work->direction) {
    case 0:
        NEED(bench.api->copy(&bench.stream, to, from, work->to->bytes, &error));
        break;
    case 1:
        NEED(bench.api->upload(&bench.stream, to, from, work->to->bytes, &error));
        break;
    default:
        NEED(bench.api->download(&bench.stream, to, from, work->to->bytes, &error));
    }
}

static void bench_copies(void) {
    const uint64_t bytes = UINT64_C(1) << 30;
    struct pm_gpu_buffer a = bench_get(PM_GPU_STREAM, bytes), b = bench_get(PM_GPU_STREAM, bytes);
    struct pm_gpu_buffer host = bench_get(PM_GPU_PINNED, bytes);
    memset(host.address, 1, bytes);
    struct copy_work work = {&b, &a, 0};
    bench.copy_bytes_per_s = 2e3 * (double)bytes / bench_time_ms(run_copy, &work);
    printf("%-34s %8.0f GB/s (read and written)\n", "copy on the device",
           bench.copy_bytes_per_s * 1e-9);
    work = (struct copy_work){&a, &host, 1};
    bench.upload_bytes_per_s = 1e3 * (double)bytes / bench_time_ms(run_copy, &work);
    printf("%-34s %8.1f GB/s\n", "host to device, pinned", bench.upload_bytes_per_s * 1e-9);
    work = (struct copy_work){&host, &a, 2};
    printf("%-34s %8.1f GB/s\n", "device to host, pinned",
           1e-6 * (double)bytes / bench_time_ms(run_copy, &work));
    bench_release(&a);
    bench_release(&b);
    bench_release(&host);
}

static void bench_limits(void) {
    for (int which = 0; which < GPU_LIMITS; which++) {
        const double rate = operations_per_s(true, which);
        printf("%-34s %8.2f T/s = %5.1f /clk/SM at 1980 MHz\n",
               gpu_limit_name((enum gpu_limit)which), rate * 1e-12,
               rate / bench.facts.n_multiprocessors / 1.98e9);
    }
    bench_copies();
}

static void bench_fields(void) {
    for (int which = 0; which < GPU_RATES; which++) {
        const double rate = operations_per_s(false, which);
        printf("%-10s %-24s %8.2f G/s\n", pm_curve_name(bench.curve), bench.rates->names[which],
               rate * 1e-9);
        if (which == GPU_RATE_FR_FACTOR) {
            bench.factor_per_s = rate;
        } else if (which == GPU_RATE_FR_MUL) {
            bench.product_per_s = rate;
        }
    }
}

/* ---- Transforms ------------------------------------------------------------------------------ */

/* Products of one transform of n = 2^L: n / 2 on each level, but block 0 of each of the first
 * levels of the plan's top window has none: 7 n / 8 less. */
static double transform_products(uint32_t log_n) {
    const double n = (double)(UINT64_C(1) << log_n);
    return n * (0.5 * log_n - 0.875);
}

struct ntt_work {
    const struct pm_gpu_domain *domain;
    struct pm_gpu_transform transform;
    void *vector;
};

static void run_ntt(void *argument) {
    const struct ntt_work *work = argument;
    NEED(bench.api->ntt(work->domain, &bench.stream, &work->transform, work->vector, work->vector,
                        &error));
}

static void report_ms(const char *what, uint32_t log_n, double ms, double products) {
    const double floor_ms = products / bench.factor_per_s * 1e3;
    printf("%-10s %-24s 2^%-2u %9.3f ms  floor %9.3f ms  ratio %.2f\n", pm_curve_name(bench.curve),
           what, log_n, ms, floor_ms, ms / floor_ms);
    (void)fflush(stdout);
}

static void bench_ntt(const struct pm_gpu_domain *domain, void *vector) {
    static const struct {
        const char *name;
        struct pm_gpu_transform transform;
    } kinds[] = {{"forward NR", {.in = PM_GPU_NATURAL, .out = PM_GPU_REVERSED}},
                 {"forward RN", {.in = PM_GPU_REVERSED, .out = PM_GPU_NATURAL}},
                 {"forward NN", {.in = PM_GPU_NATURAL, .out = PM_GPU_NATURAL}},
                 {"inverse NN", {.inverse = true, .in = PM_GPU_NATURAL, .out = PM_GPU_NATURAL}}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct ntt_work work = {domain, kinds[i].transform, vector};
        report_ms(kinds[i].name, domain->log_n, bench_time_ms(run_ntt, &work),
                  transform_products(domain->log_n));
    }
}

struct h_work {
    const struct pm_gpu_h *h;
    void *vectors[3];
};

static void run_h(void *argument) {
    const struct h_work *work = argument;
    NEED(bench.api->h_run(work->h, &bench.stream, work->vectors[0], work->vectors[1],
                          work->vectors[2], work->h->reduction == PM_GPU_REDUCTION_BELLMAN,
                          &error));
}

static void bench_h(const struct pm_gpu_domain *domain, struct pm_gpu_buffer vectors[3]) {
    for (int reduction = 0; reduction < 2; reduction++) {
        struct pm_gpu_h h;
        if (reduction == PM_GPU_REDUCTION_SNARKJS &&
            domain->log_n >= domain->kernels->two_adicity) {
            continue;
        }
        NEED(bench.api->h_create(domain, &bench.stream, (enum pm_gpu_reduction)reduction, &h,
                                 &error));
        struct h_work work = {&h, {vectors[0].address, vectors[1].address, vectors[2].address}};
        /* Two products a value for each set of powers, one for a constant. */
        const double scalings = reduction == PM_GPU_REDUCTION_BELLMAN ? 7 : 6;
        report_ms(reduction == PM_GPU_REDUCTION_BELLMAN ? "h bellman" : "h snarkjs", domain->log_n,
                  bench_time_ms(run_h, &work),
                  6 * transform_products(domain->log_n) +
                      scalings * (double)(UINT64_C(1) << domain->log_n));
        bench.api->h_destroy(&h);
    }
}

static void bench_size(uint32_t log_n) {
    const uint64_t n = UINT64_C(1) << log_n;
    struct pm_gpu_domain domain;
    struct pm_gpu_buffer vectors[3];
    for (int k = 0; k < 3; k++) {
        vectors[k] = bench_get(PM_GPU_STREAM, n * PM_FR_BYTES);
        bench_need_cuda(bench.rates->random(vectors[k].address, n, (uint64_t)k, bench.stream.raw));
    }
    NEED(bench.api->domain_create(&bench.stream, bench.curve, log_n, PM_GPU_ROOT_SNARKJS,
                                  bench.levels_max, bench.tile_log, &domain, &error));
    bench_ntt(&domain, vectors[0].address);
    bench_h(&domain, vectors);
    bench.api->domain_destroy(&domain);
    for (int k = 0; k < 3; k++) {
        bench_release(&vectors[k]);
    }
}

static void bench_curve(pm_curve_id curve, const struct gpu_rates *rates) {
    static const uint32_t sizes[] = {20, 22, 24, 26, 27, 16, 18, 28};
    const size_t n_sizes = bench.is_full ? 8 : 5;
    bench.curve = curve;
    bench.rates = rates;
    bench_fields();
    for (size_t i = 0; i < n_sizes; i++) {
        bench_size(sizes[i]);
    }
}

int main(int argc, char **argv) {
    if (argc < 2) {
        (void)fprintf(stderr, "usage: proofmill-gpu-bench LIBRARY [quick|full|witness|matrices] "
                              "[LEVELS_MAX TILE_LOG]\n");
        return 2;
    }
    const char *what = argc > 2 ? argv[2] : "quick";
    const bool only_matrices = strcmp(what, "matrices") == 0;
    const bool only_witness = only_matrices || strcmp(what, "witness") == 0;
    bench.is_full = strcmp(what, "full") == 0;
    if (argc > 4) {
        bench.levels_max = (uint32_t)atoi(argv[3]);
        bench.tile_log = (uint32_t)atoi(argv[4]);
    }
    NEED(pm_gpu_load(argv[1], &bench.api, &error));
    NEED(bench.api->device_open(0, NULL, &bench.device, &error));
    bench.api->device_facts(bench.device, &bench.facts);
    NEED(bench.api->stream_create(bench.device, &bench.stream, &error));
    NEED(bench.api->event_create(bench.device, &bench.from, &error));
    NEED(bench.api->event_create(bench.device, &bench.to, &error));
    bench.scratch = bench_get(PM_GPU_ONCE, SCRATCH_BYTES);
    bench.rates = &gpu_rates_bls12_381;
    printf("%s, %u multiprocessors; plan %u %u\n", bench.facts.name, bench.facts.n_multiprocessors,
           bench.levels_max, bench.tile_log);
    bench.curve = PM_CURVE_BLS12_381;
    if (argc <= 4) {
        bench_limits();
        bench_fields();
        bench_witness(only_matrices);
    }
    if (!only_witness) {
        bench_curve(PM_CURVE_BLS12_381, &gpu_rates_bls12_381);
    }
    if (!only_witness && argc <= 4) {
        bench_curve(PM_CURVE_BN254, &gpu_rates_bn254);
    }
    bench_release(&bench.scratch);
    bench.api->event_destroy(&bench.from);
    bench.api->event_destroy(&bench.to);
    bench.api->stream_destroy(&bench.stream);
    bench.api->device_close(bench.device);
    return 0;
}
