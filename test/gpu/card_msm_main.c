/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Multi-scalar multiplication on a card: card_msm_test LIBRARY [small|check|time|sweep|witness
 * [GROUP]].
 *
 * small, check   every pattern of scalars at every size against the CPU, affine results bit for bit
 * time, sweep    medians of whole runs, each of whose results is compared with the logarithm that
 *                the host computes
 * witness        the four sums of a large witness, likewise
 *
 * With a further argument, "bn254.g2" for example, only for that group; times up to 2^LOG_MAX. Exit
 * status 77: there is no device. */
#include "card_msm.h"

#include "gpu/load/gpu_load.h"

#include <string.h>
#include <time.h>

struct seeded_random card_entropy;
struct card_msm card_msm;

#define TABLE_POINTS 2048
#define RUNS_MAX 7

double card_now_s(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void *card_host_memory(uint64_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    CARD_CHECK(memory != NULL, "%llu bytes", (unsigned long long)bytes);
    return memory;
}

struct pm_gpu_buffer card_get(enum pm_gpu_mechanism mechanism, uint64_t bytes) {
    struct pm_gpu_buffer buffer = {0};
    CARD_OK(PM_GPU_GET_BY(card_msm.card.api, card_msm.card.device, &card_msm.card.stream, mechanism,
                          "msm", bytes, &buffer, &error));
    return buffer;
}

void card_release(struct pm_gpu_buffer *buffer) {
    card_msm.card.api->memory_release(card_msm.card.device, &card_msm.card.stream, buffer);
}

void card_wait(void) {
    CARD_OK(card_msm.card.api->stream_wait(&card_msm.card.stream, &error));
}

/* ---- Points and logarithms ------------------------------------------------------------------- */

/* n points with the logarithms card_msm_log(seed, i). */
struct pm_gpu_buffer card_points(uint64_t n) {
    const uint32_t bytes = card_msm.group->affine_bytes;
    struct pm_gpu_buffer points = card_get(PM_GPU_ONCE, n * bytes);
    struct pm_gpu_buffer table = card_get(PM_GPU_STREAM, (uint64_t)TABLE_POINTS * bytes);
    uint8_t *host = card_host_memory((uint64_t)TABLE_POINTS * bytes);
    struct pm_group_point step, sum;
    CARD_CHECK(card_msm.points->affine_bytes[card_msm.which] == bytes, "the size of a point");
    card_msm.group->from_affine(&step, card_msm.group->generator);
    for (uint32_t j = 0; j < 8; j++) {
        card_msm.group->set_infinity(&sum);
        for (uint32_t d = 0; d < 256; d++) {
            card_msm.group->to_affine(host + (256 * j + d) * (uint64_t)bytes, &sum);
            card_msm.group->add(&sum, &sum, &step);
        }
        step = sum;
    }
    CARD_OK(
        card_msm.card.api->upload(&card_msm.card.stream, table.address, host, table.bytes, &error));
    CARD_CUDA(card_msm.points->points((int)card_msm.which, points.address, n, card_msm.seed,
                                      table.address, card_msm.card.stream.raw));
    card_wait();
    card_release(&table);
    free(host);
    return points;
}

/* The canonical scalar i, as the card has it. */
void card_scalar_of(uint64_t s[4], int pattern, uint64_t i, uint64_t n) {
    const struct pm_field *fr = card_msm.card.curve->fr;
    bool minus;
    card_msm_scalar(s, &minus, pattern, card_msm.seed, i, n, fr->bits);
    if (!fr->is_canonical(s)) {
        for (uint32_t k = 0, borrow = 0; k < 4; k++) {
            const uint64_t less = s[k] - fr->modulus[k], r = less - borrow;
            borrow = s[k] < fr->modulus[k] || less < borrow;
            s[k] = r;
        }
    }
    if (minus) {
        fr->neg(s, s);
    }
}

/* (sum of log(i) scalar(i)) G, affine. */
static void by_logarithms(int pattern, uint64_t n, uint8_t *affine) {
    const struct card_sum_shape shape = {.pattern = pattern, .n_scalars = n, .n = n};
    card_sum_by_logarithms(&shape, affine);
}

/* ---- One multiplication ---------------------------------------------------------------------- */

struct job {
    struct pm_gpu_msm_plan plan;
    struct pm_gpu_buffer workspace, outputs;
};

static struct job job_of(uint64_t n, uint64_t limit_bytes, uint32_t n_windows) {
    struct job job;
    CARD_OK(card_msm.card.api->msm_plan_make(card_msm.card.device, card_msm.card.id, card_msm.which,
                                             n, limit_bytes, n_windows, &job.plan, &error));
    CARD_CHECK(job.plan.workspace_bytes <= limit_bytes, "%llu bytes",
               (unsigned long long)job.plan.workspace_bytes);
    job.workspace = card_get(PM_GPU_STREAM, job.plan.workspace_bytes);
    job.outputs = card_get(PM_GPU_PINNED, job.plan.outputs_bytes);
    return job;
}

static void job_end(struct job *job) {
    card_release(&job->workspace);
    card_release(&job->outputs);
}

static void job_run(const struct job *job, const void *points, const void *scalars,
                    const struct pm_gpu_event *marks) {
    const struct pm_gpu_msm_input input = {.points = points, .scalars = scalars};
    CARD_OK(card_msm.card.api->msm_run(&card_msm.card.stream, &job->plan, &input,
                                       job->workspace.address, job->outputs.address, marks,
                                       &error));
}

static void job_result(const struct job *job, uint8_t *affine) {
    struct pm_group_point p;
    card_msm.card.api->msm_finish(&job->plan, job->outputs.address, &p);
    card_msm.group->to_affine(affine, &p);
}

static void check_same(const uint8_t *got, const uint8_t *wanted, const char *what, int pattern,
                       uint64_t n, uint32_t n_windows) {
    CARD_CHECK(memcmp(got, wanted, card_msm.group->affine_bytes) == 0,
               "%s: group %d pattern %d n %llu windows %u", what, card_msm.which, pattern,
               (unsigned long long)n, n_windows);
}

/* ---- Against the CPU ------------------------------------------------------------------------- */

static void cpu_result(const void *points, const void *scalars, uint64_t n, uint8_t *affine) {
    const uint64_t bytes =
        card_msm.cpu->bytes(card_msm.which, n, pm_team_threads(card_msm.card.team));
    void *scratch = card_host_memory(bytes);
    struct pm_group_point p;
    CARD_OK(card_msm.cpu->run(card_msm.which, points, scalars, n, card_msm.card.team, scratch, NULL,
                              &p, &error));
    card_msm.group->to_affine(affine, &p);
    free(scratch);
}

/* Infinities, repetitions and opposites among the points of the host's copy. */
void card_spoil(uint8_t *points, uint64_t n) {
    const uint32_t bytes = card_msm.group->affine_bytes;
    for (uint64_t i = 1; i < n; i++) {
        uint8_t *at = points + i * bytes;
        const uint64_t kind = seeded_random_below(&card_entropy, 8);
        if (kind == 0) {
            memset(at, 0, bytes);
        } else if (kind < 3) {
            struct pm_group_point p;
            memcpy(at, at - bytes, bytes);
            card_msm.group->from_affine(&p, at);
            if (kind == 1) {
                card_msm.group->neg(&p, &p);
            }
            card_msm.group->to_affine(at, &p);
        }
    }
}

/* One input by several plans. */
static void check_input(const void *points_host, const void *points, int pattern, uint64_t n,
                        bool many_plans) {
    uint8_t wanted[PM_G2_BYTES_MAX], got[PM_G2_BYTES_MAX];
    struct pm_gpu_buffer scalars = card_get(PM_GPU_STREAM, n * PM_FR_BYTES);
    uint8_t *scalars_host = card_host_memory(n * PM_FR_BYTES);
    CARD_CUDA(card_msm.points->scalars(scalars.address, pattern, n, card_msm.seed,
                                       card_msm.card.stream.raw));
    CARD_OK(card_msm.card.api->download(&card_msm.card.stream, scalars_host, scalars.address,
                                        n * PM_FR_BYTES, &error));
    card_wait();
    cpu_result(points_host, scalars_host, n, wanted);
    uint64_t limit_bytes = NO_LIMIT;
    for (uint32_t round = 0; round < (many_plans ? 4 : 1); round++) {
        const uint32_t n_windows =
            round == 0 ? 0 : 14 + (uint32_t)seeded_random_below(&card_entropy, 30);
        struct job job = job_of(n, limit_bytes, n_windows);
        CARD_OK(card_msm.card.api->fill(&card_msm.card.stream, job.workspace.address, 0xee,
                                        job.workspace.bytes, &error));
        job_run(&job, points, scalars.address, NULL);
        card_wait();
        job_result(&job, got);
        check_same(got, wanted, "the CPU's", pattern, n, n_windows);
        limit_bytes = round == 0 ? NO_LIMIT : UINT64_C(300) << 20;
        job_end(&job);
    }
    card_release(&scalars);
    free(scalars_host);
}

static void check_group(void) {
    const uint32_t log_max = card_msm.card.is_small ? 6 : 16;
    const uint64_t n_max = UINT64_C(1) << log_max, bytes = n_max * card_msm.group->affine_bytes;
    struct pm_gpu_buffer points = card_points(n_max), spoilt = card_get(PM_GPU_ONCE, bytes);
    uint8_t *good_host = card_host_memory(bytes), *spoilt_host = card_host_memory(bytes);
    CARD_OK(card_msm.card.api->download(&card_msm.card.stream, good_host, points.address, bytes,
                                        &error));
    card_wait();
    for (int round = 0; round < 20; round++) {
        const uint64_t i = seeded_random_below(&card_entropy, n_max);
        const uint64_t k[1] = {card_msm_log(card_msm.seed, i)};
        struct pm_group_point p;
        uint8_t wanted[PM_G2_BYTES_MAX];
        card_msm.group->from_affine(&p, card_msm.group->generator);
        card_msm.group->mul(&p, &p, k, 1);
        card_msm.group->to_affine(wanted, &p);
        check_same(good_host + i * card_msm.group->affine_bytes, wanted, "a point", 0, i, 0);
    }
    memcpy(spoilt_host, good_host, bytes);
    card_spoil(spoilt_host, n_max);
    CARD_OK(card_msm.card.api->upload(&card_msm.card.stream, spoilt.address, spoilt_host, bytes,
                                      &error));
    for (uint32_t log_n = 0; log_n <= log_max; log_n += card_msm.card.is_small ? 3 : 1) {
        const uint64_t n = (UINT64_C(1) << log_n) - (log_n > 3 && log_n % 2 != 0 ? 3 : 0);
        for (int pattern = 0; pattern < CARD_MSM_PATTERNS; pattern++) {
            const bool many_plans = !card_msm.card.is_small && (log_n + (uint32_t)pattern) % 4 == 0;
            check_input(good_host, points.address, pattern, n, many_plans);
            check_input(spoilt_host, spoilt.address, pattern, n, false);
        }
    }
    card_release(&points);
    card_release(&spoilt);
    free(good_host);
    free(spoilt_host);
}

/* Larger ones, by logarithms. */
static void check_large(uint32_t log_max) {
    const uint64_t n_max = UINT64_C(1) << log_max;
    struct pm_gpu_buffer points = card_points(n_max);
    struct pm_gpu_buffer scalars = card_get(PM_GPU_ONCE, n_max * PM_FR_BYTES);
    for (uint32_t log_n = 17; log_n <= log_max; log_n++) {
        const uint64_t n = UINT64_C(1) << log_n;
        for (int pattern = 0; pattern < CARD_MSM_PATTERNS; pattern++) {
            uint8_t wanted[PM_G2_BYTES_MAX], got[PM_G2_BYTES_MAX];
            if (log_n < log_max && pattern % 4 != (int)log_n % 4) {
                continue;
            }
            struct job job = job_of(n, log_n % 2 == 0 ? NO_LIMIT : UINT64_C(256) << 20, 0);
            CARD_CUDA(card_msm.points->scalars(scalars.address, pattern, n, card_msm.seed,
                                               card_msm.card.stream.raw));
            job_run(&job, points.address, scalars.address, NULL);
            card_wait();
            by_logarithms(pattern, n, wanted);
            job_result(&job, got);
            check_same(got, wanted, "by logarithms", pattern, n, 0);
            job_end(&job);
        }
    }
    card_release(&points);
    card_release(&scalars);
}

/* ---- Times ----------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Milliseconds between events, plus those of the host's last step; every result is compared. */
static float time_job(const struct job *job, const void *points, const void *scalars,
                      const uint8_t *wanted, uint32_t runs, float *host_ms) {
    float ms[RUNS_MAX];
    uint8_t got[PM_G2_BYTES_MAX];
    for (uint32_t run = 0; run <= runs; run++) { /* the first one warms up */
        CARD_OK(card_msm.card.api->event_record(&card_msm.from, &card_msm.card.stream, &error));
        job_run(job, points, scalars, NULL);
        CARD_OK(card_msm.card.api->event_record(&card_msm.to, &card_msm.card.stream, &error));
        card_wait();
        const double start_s = card_now_s();
        struct pm_group_point p;
        card_msm.card.api->msm_finish(&job->plan, job->outputs.address, &p);
        *host_ms = (float)(1e3 * (card_now_s() - start_s));
        card_msm.group->to_affine(got, &p);
        check_same(got, wanted, "timed", 0, job->plan.n, job->plan.windows.n_windows);
        if (run > 0) {
            CARD_OK(card_msm.card.api->event_elapsed_ms(&card_msm.from, &card_msm.to, &ms[run - 1],
                                                        &error));
            ms[run - 1] += *host_ms;
        }
    }
    qsort(ms, runs, sizeof ms[0], by_value);
    return ms[runs / 2];
}

static void print_stages(const struct job *job, const void *points, const void *scalars) {
    const uint32_t n_pieces = job->plan.n_batches * job->plan.n_chunks;
    const uint32_t n_marks = 1 + n_pieces * PM_GPU_MSM_STAGES;
    struct pm_gpu_event *marks = card_host_memory(n_marks * sizeof *marks);
    float sums[PM_GPU_MSM_STAGES] = {0};
    for (uint32_t i = 0; i < n_marks; i++) {
        CARD_OK(card_msm.card.api->event_create(card_msm.card.device, &marks[i], &error));
    }
    job_run(job, points, scalars, marks);
    card_wait();
    for (uint32_t i = 1; i < n_marks; i++) {
        float ms;
        CARD_OK(card_msm.card.api->event_elapsed_ms(&marks[i - 1], &marks[i], &ms, &error));
        sums[(i - 1) % PM_GPU_MSM_STAGES] += ms;
    }
    for (uint32_t i = 0; i < n_marks; i++) {
        card_msm.card.api->event_destroy(&marks[i]);
    }
    printf(" digits %.2f sort %.2f accumulate %.2f merge %.2f reduce %.2f",
           (double)sums[PM_GPU_MSM_DIGITS], (double)sums[PM_GPU_MSM_SORT],
           (double)sums[PM_GPU_MSM_ACCUMULATE], (double)sums[PM_GPU_MSM_MERGE],
           (double)sums[PM_GPU_MSM_REDUCE]);
    free(marks);
}

static void time_one(const void *points, void *scalars, int pattern, uint32_t log_n,
                     uint32_t n_windows, uint32_t runs) {
    const uint64_t n = UINT64_C(1) << log_n;
    uint8_t wanted[PM_G2_BYTES_MAX];
    float host_ms = 0;
    struct job job = job_of(n, NO_LIMIT, n_windows);
    CARD_CUDA(
        card_msm.points->scalars(scalars, pattern, n, card_msm.seed, card_msm.card.stream.raw));
    card_wait();
    by_logarithms(pattern, n, wanted);
    const float ms = time_job(&job, points, scalars, wanted, runs, &host_ms);
    printf("%-10s G%d 2^%-2u pattern %d windows %u x %u batches, slices 2^%u, %.2f GiB: %8.3f ms "
           "(host %.2f)",
           card_msm.card.curve->name, card_msm.which == PM_MSM_G1 ? 1 : 2, log_n, pattern,
           job.plan.windows.n_windows, job.plan.n_batches, job.plan.slice_log,
           (double)job.plan.workspace_bytes / (double)(1 << 30), (double)ms, (double)host_ms);
    print_stages(&job, points, scalars);
    printf("\n");
    (void)fflush(stdout);
    job_end(&job);
}

static void time_group(const uint32_t *sizes, uint32_t n_sizes, bool sweep) {
    while (n_sizes > 1 && sizes[n_sizes - 1] > card_msm.log_max) {
        n_sizes--;
    }
    const uint64_t n_max = UINT64_C(1) << sizes[n_sizes - 1];
    struct pm_gpu_buffer points = card_points(n_max);
    struct pm_gpu_buffer scalars = card_get(PM_GPU_ONCE, n_max * PM_FR_BYTES);
    for (uint32_t i = 0; i < n_sizes; i++) {
        const uint32_t runs = sizes[i] < 24 ? 7 : sizes[i] < 26 ? 5 : 3;
        time_one(points.address, scalars.address, CARD_MSM_UNIFORM, sizes[i], 0, runs);
        if (sizes[i] == 24) {
            for (int pattern = CARD_MSM_ZERO; pattern <= CARD_MSM_BITS; pattern++) {
                time_one(points.address, scalars.address, pattern, sizes[i], 0, 1);
            }
        }
        for (uint32_t w = 11; sweep && w <= 18; w++) {
            const uint32_t about = 16 - (sizes[i] - 20) * 3 / 4;
            if (w + 1 >= about && w <= about + 1) {
                time_one(points.address, scalars.address, CARD_MSM_UNIFORM, sizes[i], w, 2);
            }
        }
    }
    card_release(&points);
    card_release(&scalars);
}

/* ---- Main ------------------------------------------------------------------------------------ */

bool card_choose(pm_curve_id id, enum pm_msm_group which) {
    const enum pm_body body = pm_cpu_best_body();
    card_msm.card.id = id;
    card_msm.card.curve = pm_curve_get(id, body);
    card_msm.cpu = pm_msm_get(id, body);
    card_msm.points = id == PM_CURVE_BN254 ? &card_msm_kernels_bn254 : &card_msm_kernels_bls12_381;
    card_msm.which = which;
    card_msm.group = which == PM_MSM_G1 ? card_msm.card.curve->g1 : card_msm.card.curve->g2;
    return card_msm.only == NULL || strcmp(card_msm.only, card_msm.group->name) == 0;
}

static void check_all(void) {
    static const pm_curve_id curves[] = {PM_CURVE_BLS12_381, PM_CURVE_BN254};
    for (int c = 0; c < 2; c++) {
        for (int which = 0; which < 2; which++) {
            const double start_s = card_now_s();
            if (!card_choose(curves[c], (enum pm_msm_group)which)) {
                continue;
            }
            check_group();
            card_check_sums();
            if (!card_msm.card.is_small) {
                check_large(which == 0 ? 22 : 20);
                card_check_large_sums();
                card_check_sum_memory();
            }
            printf("good: %s, %.2f s\n", card_msm.group->name, card_now_s() - start_s);
            (void)fflush(stdout);
        }
    }
}

static void time_all(bool sweep) {
    static const pm_curve_id curves[] = {PM_CURVE_BLS12_381, PM_CURVE_BN254};
    static const uint32_t g1[] = {10, 16, 18, 20, 22, 24, 26, 27}, g2[] = {16, 20, 22};
    for (int c = 0; c < 2; c++) {
        if (card_choose(curves[c], PM_MSM_G1)) {
            time_group(g1 + (sweep ? 3 : 0), sweep ? 3 : 8, sweep);
        }
        if (card_choose(curves[c], PM_MSM_G2)) {
            time_group(g2 + (sweep ? 1 : 0), sweep ? 2 : 3, sweep);
        }
    }
}

int main(int argc, char **argv) {
    const char *mode = argc > 2 ? argv[2] : "check";
    pm_error reason = PM_ERROR_INIT;
    uint32_t n = 0;
    if (argc < 2) {
        (void)fprintf(
            stderr,
            "usage: card_msm_test LIBRARY [small|check|time|sweep|witness [GROUP [LOG_MAX]]]\n");
        return 2;
    }
    card_msm.card.is_small = strcmp(mode, "small") == 0;
    card_msm.only = argc > 3 ? argv[3] : NULL;
    card_msm.log_max = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 27;
    card_entropy = seeded_random_from_environment();
    card_msm.seed = seeded_random_u64(&card_entropy);
    CARD_OK(pm_gpu_load(argv[1], &card_msm.card.api, &error));
    if (card_msm.card.api->device_count(&n, &reason) != PM_OK) {
        printf("skipped: %s\n", reason.message);
        return 77;
    }
    CARD_OK(card_msm.card.api->device_open(0, NULL, &card_msm.card.device, &error));
    CARD_OK(card_msm.card.api->stream_create(card_msm.card.device, &card_msm.card.stream, &error));
    CARD_OK(card_msm.card.api->event_create(card_msm.card.device, &card_msm.from, &error));
    CARD_OK(card_msm.card.api->event_create(card_msm.card.device, &card_msm.to, &error));
    CARD_OK(pm_team_create(16, &card_msm.card.team, &error));
    if (strcmp(mode, "time") == 0 || strcmp(mode, "sweep") == 0) {
        time_all(strcmp(mode, "sweep") == 0);
    } else if (strcmp(mode, "witness") == 0) {
        card_time_witness();
    } else {
        check_all();
    }
    CARD_CHECK(card_msm.card.api->device_live_bytes(card_msm.card.device, PM_GPU_ONCE) == 0,
               "memory left");
    CARD_CHECK(card_msm.card.api->device_live_bytes(card_msm.card.device, PM_GPU_STREAM) == 0,
               "memory left");
    pm_team_destroy(card_msm.card.team);
    card_msm.card.api->event_destroy(&card_msm.from);
    card_msm.card.api->event_destroy(&card_msm.to);
    card_msm.card.api->stream_destroy(&card_msm.card.stream);
    card_msm.card.api->device_close(card_msm.card.device);
    printf("all good\n");
    return 0;
}
