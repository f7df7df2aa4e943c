/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A witness on its way to the device and there. Floors: bytes moved at the rate of a copy, or that
 * of the bus, measured in the same run. */
#include "gpu_bench.h"
#include "gpu_shape.h"

#include "par/team.h"

#include <string.h>
#include <time.h>

#define WITNESS_LOG 27
#define WITNESS_SCALARS (UINT64_C(1) << WITNESS_LOG)
#define WITNESS_BYTES (WITNESS_SCALARS * PM_FR_BYTES)
#define BITS_OF_EIGHT 6

static void report(const char *what, double ms, double bytes, double bytes_per_s) {
    const double floor_ms = bytes / bytes_per_s * 1e3;
    printf("%-44s %9.3f ms  %7.1f GB/s  floor %9.3f ms  ratio %.2f\n", what, ms, bytes / ms * 1e-6,
           floor_ms, ms / floor_ms);
    (void)fflush(stdout);
}

static double now_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

/* ---- Matrices -------------------------------------------------------------------------------- */

#define ROWS UINT64_C(130278869)
#define COLUMNS UINT32_C(130170221)
#define COEFFICIENTS 4096

/* Starts of GPU_SHAPE_PERIOD rows with n_terms in all: one in each, 1000 in one, 60 in eight more
 * where there are so many, the rest spread evenly. */
static void make_pattern(uint32_t pattern[GPU_SHAPE_PERIOD + 1], uint32_t n_terms) {
    uint32_t lengths[GPU_SHAPE_PERIOD], left = n_terms - GPU_SHAPE_PERIOD;
    for (uint32_t i = 0; i < GPU_SHAPE_PERIOD; i++) {
        lengths[i] = 1;
    }
    for (uint32_t i = 0; i < 9 && left > 2000; i++) {
        const uint32_t more = i == 0 ? 999 : 59;
        lengths[i * 451] += more;
        left -= more;
    }
    for (uint32_t i = 0; left > 0; i = (i + 2731) % GPU_SHAPE_PERIOD, left--) {
        lengths[i]++;
    }
    pattern[0] = 0;
    for (uint32_t i = 0; i < GPU_SHAPE_PERIOD; i++) {
        pattern[i + 1] = pattern[i] + lengths[i];
    }
}

struct sparse_work {
    struct pm_gpu_sparse matrix;
    void *w, *out;
    uint64_t n_out;
};

static void run_sparse(void *argument) {
    const struct sparse_work *work = argument;
    NEED(bench.api->sparse_multiply(&bench.stream, bench.curve, &work->matrix, work->w, work->out,
                                    work->n_out, &error));
}

static void bench_matrix(const char *name, uint32_t terms_of_pattern, uint32_t spread, void *w,
                         void *out) {
    uint32_t pattern[GPU_SHAPE_PERIOD + 1];
    char what[64];
    make_pattern(pattern, terms_of_pattern);
    const uint64_t n_terms =
        ROWS / GPU_SHAPE_PERIOD * terms_of_pattern + pattern[ROWS % GPU_SHAPE_PERIOD];
    struct sparse_work work = {.matrix = {.n_rows = ROWS,
                                          .n_columns = COLUMNS,
                                          .n_terms = n_terms,
                                          .n_coefficients = COEFFICIENTS},
                               .w = w,
                               .out = out,
                               .n_out = WITNESS_SCALARS};
    struct pm_gpu_buffer memory =
        bench_get(PM_GPU_STREAM, bench.api->sparse_bytes(ROWS, n_terms, COEFFICIENTS));
    struct pm_gpu_buffer on_device = bench_get(PM_GPU_STREAM, sizeof pattern);
    uint64_t at[3];
    bench.api->sparse_place(&work.matrix, memory.address, at);
    char *base = memory.address;
    NEED(bench.api->upload(&bench.stream, on_device.address, pattern, sizeof pattern, &error));
    bench_need_cuda(bench.rates->random(base + at[0], COEFFICIENTS, 3, bench.stream.raw));
    bench_need_cuda(
        gpu_shape_terms(base + at[1], n_terms, COLUMNS, COEFFICIENTS, spread, bench.stream.raw));
    bench_need_cuda(gpu_shape_starts((uint32_t *)(void *)(base + at[2]), ROWS, on_device.address,
                                     bench.stream.raw));
    const double ms = bench_time_ms(run_sparse, &work);
    /* Near columns: the witness once; others: a sector for each term. */
    const double gathered = (double)(spread == 0 ? n_terms : COLUMNS) * PM_FR_BYTES;
    const double bytes = 8.0 * (double)n_terms + 4.0 * (double)ROWS + gathered +
                         (double)(WITNESS_SCALARS * PM_FR_BYTES);
    (void)snprintf(what, sizeof what, "%s, %.0f M terms, columns %s", name, 1e-6 * (double)n_terms,
                   spread == 0 ? "anywhere" : "near");
    report(what, ms, bytes, bench.copy_bytes_per_s);
    printf("%-44s %9.3f ms for its products alone\n", "",
           (double)n_terms / bench.product_per_s * 1e3);
    bench_release(&on_device);
    bench_release(&memory);
}

/* What no other block can help with. */
static void bench_long_row(void *w, void *out) {
    const uint64_t n_terms = UINT64_C(1) << 20;
    const uint32_t starts[2] = {0, (uint32_t)n_terms};
    struct sparse_work work = {
        .matrix = {.n_rows = 1, .n_columns = COLUMNS, .n_terms = n_terms, .n_coefficients = 3},
        .w = w,
        .out = out,
        .n_out = 1};
    struct pm_gpu_buffer memory = bench_get(PM_GPU_STREAM, bench.api->sparse_bytes(1, n_terms, 3));
    uint64_t at[3];
    bench.api->sparse_place(&work.matrix, memory.address, at);
    char *base = memory.address;
    bench_need_cuda(bench.rates->random(base + at[0], 3, 3, bench.stream.raw));
    bench_need_cuda(gpu_shape_terms(base + at[1], n_terms, COLUMNS, 3, 0, bench.stream.raw));
    NEED(bench.api->upload(&bench.stream, base + at[2], starts, sizeof starts, &error));
    const double ms = bench_time_ms(run_sparse, &work);
    printf("%-44s %9.3f ms, %.0f terms in a microsecond\n", "sparse, one row of 2^20 terms", ms,
           (double)n_terms / ms * 1e-3);
    bench_release(&memory);
}

static void bench_matrices(void *w) {
    struct pm_gpu_buffer out = bench_get(PM_GPU_STREAM, WITNESS_BYTES);
    for (uint32_t spread = 0; spread <= 4096; spread += 4096) {
        bench_matrix("sparse A of PoRep", 9728, spread, w, out.address);
        bench_matrix("sparse B of PoRep", 4097, spread, w, out.address);
        bench_matrix("sparse C of PoRep", 8887, spread, w, out.address);
    }
    bench_long_row(w, out.address);
    bench_release(&out);
}

/* ---- Check, conversion, expansion ------------------------------------------------------------ */

struct take_work {
    enum pm_gpu_conversion conversion;
    void *w, *scratch;
};

static void run_take(void *argument) {
    const struct take_work *work = argument;
    uint64_t lowest = 0;
    NEED(bench.api->scalars_take(&bench.stream, bench.curve, work->conversion, work->w,
                                 WITNESS_SCALARS, work->scratch, &lowest, &error));
    if (lowest != WITNESS_SCALARS) {
        bench_need_cuda(1);
    }
}

static void bench_take(void *w) {
    struct take_work work = {PM_GPU_KEEP, w, bench.scratch.address};
    report("take 2^27, checked only", bench_time_ms(run_take, &work), (double)WITNESS_BYTES,
           bench.copy_bytes_per_s);
    work.conversion = PM_GPU_TO_MONTGOMERY;
    report("take 2^27, to Montgomery form", bench_time_ms(run_take, &work),
           2.0 * (double)WITNESS_BYTES, bench.copy_bytes_per_s);
    work.conversion = PM_GPU_FROM_MONTGOMERY;
    report("take 2^27, from Montgomery form", bench_time_ms(run_take, &work),
           2.0 * (double)WITNESS_BYTES, bench.copy_bytes_per_s);
}

/* ---- From the host --------------------------------------------------------------------------- */

#define CHUNK_LOG_MIN 16
#define CHUNK_LOG_MAX 18
#define THREADS_MAX 16

/* Chunks of the witness, so many at a time as there are threads, through two halves of a staging
 * buffer, each with a stream. */
struct way {
    const unsigned char *w; /* pageable */
    uint32_t n_threads, chunk_log;
    bool packs, uploads;
    struct pm_team *team;
    struct pm_gpu_buffer staging, packed, values;
    struct pm_gpu_stream streams[2];
    uint64_t slot_bytes, batch; /* number of the first chunk */
    uint64_t used[THREADS_MAX];
};

static uint64_t chunk_bytes(const struct way *way) {
    return (uint64_t)PM_FR_BYTES << way->chunk_log;
}

static unsigned char *slot_of(const struct pm_gpu_buffer *buffer, const struct way *way,
                              uint64_t half, uint64_t i) {
    return (unsigned char *)buffer->address + (half * way->n_threads + i) * way->slot_bytes;
}

static void stage(void *argument, size_t i) {
    static const uint64_t one[4] = {1, 0, 0, 0};
    struct way *way = argument;
    const uint64_t half = way->batch / way->n_threads % 2;
    const unsigned char *from = way->w + (way->batch + i) * chunk_bytes(way);
    unsigned char *to = slot_of(&way->staging, way, half, i);
    if (way->packs) {
        way->used[i] = pm_gpu_pack(from, UINT64_C(1) << way->chunk_log, one, to);
    } else {
        memcpy(to, from, chunk_bytes(way));
        way->used[i] = chunk_bytes(way);
    }
}

static void send(const struct way *way, uint64_t half, uint64_t i) {
    const struct pm_gpu_stream *stream = &way->streams[half];
    unsigned char *values =
        (unsigned char *)way->values.address + (way->batch + i) * chunk_bytes(way);
    void *to = way->packs ? slot_of(&way->packed, way, half, i) : values;
    NEED(bench.api->upload(stream, to, slot_of(&way->staging, way, half, i), way->used[i], &error));
    if (way->packs) {
        NEED(bench.api->scalars_expand(stream, to, UINT64_C(1) << way->chunk_log, values, &error));
    }
}

static double way_ms(struct way *way) {
    const double start_ms = now_ms();
    for (way->batch = 0; way->batch < WITNESS_SCALARS >> way->chunk_log;
         way->batch += way->n_threads) {
        const uint64_t half = way->batch / way->n_threads % 2;
        NEED(bench.api->stream_wait(&way->streams[half], &error));
        pm_team_run(way->team, way->n_threads, stage, way);
        for (uint32_t i = 0; i < way->n_threads && way->uploads; i++) {
            send(way, half, i);
        }
    }
    NEED(bench.api->stream_wait(&way->streams[0], &error));
    NEED(bench.api->stream_wait(&way->streams[1], &error));
    return now_ms() - start_ms;
}

static void bench_way(struct way *way, const char *name) {
    char what[64];
    double best_ms = 1e9;
    NEED(pm_team_create(way->n_threads, &way->team, &error));
    for (int round = 0; round < 2; round++) {
        const double ms = way_ms(way);
        best_ms = ms < best_ms ? ms : best_ms;
    }
    pm_team_destroy(way->team);
    (void)snprintf(what, sizeof what, "%s, %u threads, 2^%u", name, way->n_threads, way->chunk_log);
    report(what, best_ms, (double)WITNESS_BYTES, bench.upload_bytes_per_s);
}

static void bench_ways(struct way *way) {
    static const char *const names[] = {"staged, uploaded", "packed", "packed, uploaded, expanded"};
    for (uint32_t kind = 0; kind < 3; kind++) {
        way->packs = kind != 0;
        way->uploads = kind != 1;
        way->chunk_log = CHUNK_LOG_MIN;
        for (way->n_threads = 1; way->n_threads <= THREADS_MAX; way->n_threads *= 4) {
            bench_way(way, names[kind]);
        }
        way->n_threads = THREADS_MAX;
        for (way->chunk_log++; way->chunk_log <= CHUNK_LOG_MAX; way->chunk_log++) {
            bench_way(way, names[kind]);
        }
    }
}

/* One chunk, packed, becomes every chunk. */
static void run_expand(void *argument) {
    const struct way *way = argument;
    for (uint64_t i = 0; i < WITNESS_SCALARS >> way->chunk_log; i++) {
        NEED(bench.api->scalars_expand(&bench.stream, way->packed.address,
                                       UINT64_C(1) << way->chunk_log,
                                       (char *)way->values.address + i * chunk_bytes(way), &error));
    }
}

static void bench_expand(struct way *way) {
    char what[64];
    const uint32_t last = CHUNK_LOG_MAX; /* what is packed last is there still */
    way->chunk_log = last;
    (void)snprintf(what, sizeof what, "2^%d expanded in chunks of 2^%u", WITNESS_LOG, last);
    report(what, bench_time_ms(run_expand, way), (double)WITNESS_BYTES, bench.copy_bytes_per_s);
}

static void bench_registered(struct way *way) {
    struct pm_gpu_buffer own;
    double ms = now_ms();
    NEED(bench.api->upload(&bench.stream, way->values.address, way->w, WITNESS_BYTES, &error));
    NEED(bench.api->stream_wait(&bench.stream, &error));
    report("uploaded by CUDA from pageable memory", now_ms() - ms, (double)WITNESS_BYTES,
           bench.upload_bytes_per_s);
    ms = now_ms();
    NEED(bench.api->memory_get(bench.device, NULL, PM_GPU_REGISTERED, "own", WITNESS_BYTES,
                               (void *)(uintptr_t)way->w, __FILE__, __LINE__, &own, &error));
    printf("%-44s %9.3f ms\n", "4 GiB registered in", now_ms() - ms);
    ms = now_ms();
    NEED(bench.api->upload(&bench.stream, way->values.address, way->w, WITNESS_BYTES, &error));
    NEED(bench.api->stream_wait(&bench.stream, &error));
    report("uploaded from registered memory", now_ms() - ms, (double)WITNESS_BYTES,
           bench.upload_bytes_per_s);
    ms = now_ms();
    bench.api->memory_release(bench.device, NULL, &own);
    printf("%-44s %9.3f ms\n", "and released in", now_ms() - ms);
    ms = now_ms();
    own = bench_get(PM_GPU_PINNED, WITNESS_BYTES);
    printf("%-44s %9.3f ms\n", "4 GiB of pinned memory had in", now_ms() - ms);
    bench_release(&own);
}

/* w: the same on the device; becomes what is uploaded. */
static void bench_host(const struct pm_gpu_buffer *w) {
    unsigned char *host = aligned_alloc(4096, WITNESS_BYTES);
    if (host == NULL) {
        bench_need_cuda(2);
    }
    NEED(bench.api->download(&bench.stream, host, w->address, WITNESS_BYTES, &error));
    NEED(bench.api->stream_wait(&bench.stream, &error));
    struct way way = {.w = host,
                      .values = *w,
                      .slot_bytes =
                          (pm_gpu_pack_bytes_max(UINT64_C(1) << CHUNK_LOG_MAX) + 255) / 256 * 256};
    way.staging = bench_get(PM_GPU_PINNED, 2 * THREADS_MAX * way.slot_bytes);
    way.packed = bench_get(PM_GPU_STREAM, 2 * THREADS_MAX * way.slot_bytes);
    memset(way.staging.address, 0, way.staging.bytes);
    NEED(bench.api->stream_create(bench.device, &way.streams[0], &error));
    NEED(bench.api->stream_create(bench.device, &way.streams[1], &error));
    bench_ways(&way);
    bench_expand(&way);
    bench_registered(&way);
    bench.api->stream_destroy(&way.streams[0]);
    bench.api->stream_destroy(&way.streams[1]);
    bench_release(&way.staging);
    bench_release(&way.packed);
    free(host);
}

void bench_witness(bool only_matrices) {
    struct pm_gpu_buffer w = bench_get(PM_GPU_STREAM, WITNESS_BYTES);
    bench_need_cuda(bench.rates->random(w.address, WITNESS_SCALARS, 5, bench.stream.raw));
    bench_need_cuda(gpu_shape_bits(w.address, WITNESS_SCALARS, BITS_OF_EIGHT, bench.stream.raw));
    bench_matrices(w.address);
    if (!only_matrices) {
        bench_host(&w);
        bench_take(w.address);
    }
    bench_release(&w);
}
