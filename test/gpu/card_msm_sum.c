/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Sums by class and density on a card. */
#include "card_msm.h"

#include <string.h>

#define PIECES 256
#define MEBI (UINT64_C(1) << 20)

/* ---- Logarithms ------------------------------------------------------------------------------ */

struct log_sum {
    const struct card_sum_shape *shape;
    uint64_t parts[PIECES][4];
};

static bool has_bit(const struct card_sum_shape *shape, uint64_t i) {
    return shape->density == NULL || (shape->density[i / 64] >> (i % 64) & 1) != 0;
}

/* Bits before scalar i. */
static uint64_t rank_of(const struct card_sum_shape *shape, uint64_t i) {
    uint64_t n = shape->rank[i / PM_MSM_RANK_STEP];
    for (uint64_t j = i / PM_MSM_RANK_STEP * PM_MSM_RANK_STEP; j < i; j++) {
        n += has_bit(shape, j);
    }
    return n;
}

static uint64_t point_of(const struct card_sum_shape *shape, uint64_t i) {
    return shape->rank == NULL ? i - shape->first
                               : rank_of(shape, i) - rank_of(shape, shape->first);
}

static void log_piece(void *argument, size_t index) {
    struct log_sum *work = argument;
    const struct card_sum_shape *shape = work->shape;
    const struct pm_field *fr = card_msm.card.curve->fr;
    const uint64_t begin = shape->first + shape->n * index / PIECES;
    const uint64_t end = shape->first + shape->n * (index + 1) / PIECES;
    uint64_t sum[4] = {0}, point = begin < end ? point_of(shape, begin) : 0;
    for (uint64_t i = begin; i < end; i++) {
        uint64_t s[4], k[4] = {card_msm_log(card_msm.seed, point), 0, 0, 0};
        const bool has = has_bit(shape, i);
        point += shape->rank == NULL || has;
        if (has) {
            card_scalar_of(s, shape->pattern, i, shape->n_scalars);
            fr->mul(s, s, k); /* k s / R */
            fr->add(sum, sum, s);
        }
    }
    memcpy(work->parts[index], sum, sizeof sum);
}

void card_sum_by_logarithms(const struct card_sum_shape *shape, uint8_t *affine) {
    const struct pm_field *fr = card_msm.card.curve->fr;
    struct log_sum *work = card_host_memory(sizeof *work);
    uint64_t sum[4] = {0};
    struct pm_group_point p;
    work->shape = shape;
    pm_team_run(card_msm.card.team, PIECES, log_piece, work);
    for (int i = 0; i < PIECES; i++) {
        fr->add(sum, sum, work->parts[i]);
    }
    fr->to_mont(sum, sum, 1); /* times R */
    card_msm.group->from_affine(&p, card_msm.group->generator);
    card_msm.group->mul(&p, &p, sum, 4);
    card_msm.group->to_affine(affine, &p);
    free(work);
}

/* ---- Densities ------------------------------------------------------------------------------- */

struct density {
    uint64_t n, n_set;
    uint64_t *words;
    uint32_t *rank;
    struct pm_gpu_buffer device_words, device_rank;
    uint32_t of_1000, first_dense; /* set bits in a thousand; all before first_dense are */
};

static void density_piece(void *argument, size_t index) {
    struct density *density = argument;
    const uint64_t n_words = (density->n + 63) / 64;
    for (uint64_t w = n_words * index / PIECES; w < n_words * (index + 1) / PIECES; w++) {
        uint64_t word = 0;
        for (uint64_t i = 64 * w; i < 64 * w + 64 && i < density->n; i++) {
            const bool set = i < density->first_dense ||
                             card_msm_mixed(card_msm.seed + (i << 9)) % 1000 < density->of_1000;
            word |= (uint64_t)set << (i % 64);
        }
        density->words[w] = word;
    }
}

static struct density density_of(uint64_t n, uint32_t of_1000, uint32_t first_dense) {
    struct density density = {.n = n, .of_1000 = of_1000, .first_dense = first_dense};
    const uint64_t bytes = (n / 64 + 1) * 8, rank_bytes = pm_msm_rank_bytes(n);
    density.words = card_host_memory(bytes);
    density.rank = card_host_memory(rank_bytes);
    memset(density.words, 0, bytes);
    pm_team_run(card_msm.card.team, PIECES, density_piece, &density);
    density.n_set = pm_msm_rank_fill(density.words, n, density.rank);
    density.device_words = card_get(PM_GPU_STREAM, bytes);
    density.device_rank = card_get(PM_GPU_STREAM, rank_bytes);
    CARD_OK(card_msm.card.api->upload(&card_msm.card.stream, density.device_words.address,
                                      density.words, bytes, &error));
    CARD_OK(card_msm.card.api->upload(&card_msm.card.stream, density.device_rank.address,
                                      density.rank, rank_bytes, &error));
    card_wait();
    return density;
}

static void density_end(struct density *density) {
    free(density->words);
    free(density->rank);
    card_release(&density->device_words);
    card_release(&density->device_rank);
}

/* ---- One sum --------------------------------------------------------------------------------- */

struct memory {
    struct pm_gpu_buffer workspace, outputs;
};

static struct memory memory_of(uint64_t n, bool has_classes, uint64_t limit_bytes) {
    struct memory memory;
    uint64_t workspace_bytes, outputs_bytes;
    CARD_OK(card_msm.card.api->sum_bytes(card_msm.card.device, card_msm.card.id, card_msm.which, n,
                                         has_classes, limit_bytes, &workspace_bytes, &outputs_bytes,
                                         &error));
    CARD_CHECK(workspace_bytes <= limit_bytes, "%llu bytes", (unsigned long long)workspace_bytes);
    memory.workspace = card_get(PM_GPU_STREAM, workspace_bytes);
    memory.outputs = card_get(PM_GPU_PINNED, outputs_bytes);
    CARD_OK(card_msm.card.api->fill(&card_msm.card.stream, memory.workspace.address, 0xee,
                                    workspace_bytes, &error));
    memset(memory.outputs.address, 0xee, outputs_bytes);
    return memory;
}

static void memory_end(struct memory *memory) {
    card_release(&memory->workspace);
    card_release(&memory->outputs);
}

static pm_status run(const struct pm_gpu_sum_input *input, const struct memory *memory,
                     uint8_t *affine, pm_error *error) {
    struct pm_group_point p;
    memset(&p, 0xee, sizeof p);
    const struct pm_group_point before = p;
    const pm_status status = card_msm.card.api->sum_run(
        &card_msm.card.stream, input, memory->workspace.address, memory->workspace.bytes,
        memory->outputs.address, memory->outputs.bytes, &p, error);
    if (status == PM_OK) {
        card_msm.group->to_affine(affine, &p);
    } else {
        CARD_CHECK(memcmp(&p, &before, sizeof p) == 0, "a failed sum left a result");
    }
    return status;
}

static void check_run(const struct pm_gpu_sum_input *input, const struct memory *memory,
                      const uint8_t *wanted, const char *what, int pattern) {
    uint8_t got[PM_G2_BYTES_MAX];
    CARD_OK(run(input, memory, got, &error));
    CARD_CHECK(memcmp(got, wanted, card_msm.group->affine_bytes) == 0,
               "%s: group %d pattern %d first %llu n %llu, classes %d density %d compact %d", what,
               card_msm.which, pattern, (unsigned long long)input->first,
               (unsigned long long)input->n, input->classes != NULL, input->density != NULL,
               input->is_compact);
}

/* All scalars of a witness on the device, and their classes. */
struct witness {
    struct pm_gpu_buffer scalars, classes;
    uint64_t n;
    int pattern;
};

static struct witness witness_of(uint64_t n, int pattern) {
    struct witness witness = {.n = n, .pattern = pattern};
    const uint64_t classes_bytes = card_msm.card.api->classes_bytes(n);
    witness.scalars = card_get(PM_GPU_STREAM, n * PM_FR_BYTES + 1);
    witness.classes = card_get(PM_GPU_STREAM, classes_bytes);
    CARD_OK(card_msm.card.api->fill(&card_msm.card.stream, witness.classes.address, 0xee,
                                    classes_bytes, &error));
    if (n > 0) {
        CARD_CUDA(card_msm.points->scalars(witness.scalars.address, pattern, n, card_msm.seed,
                                           card_msm.card.stream.raw));
    }
    CARD_OK(card_msm.card.api->classify(&card_msm.card.stream, card_msm.card.id,
                                        witness.scalars.address, n, witness.classes.address,
                                        &error));
    return witness;
}

static void witness_end(struct witness *witness) {
    card_release(&witness->scalars);
    card_release(&witness->classes);
}

/* ---- Against the CPU ------------------------------------------------------------------------- */

enum shape { ALL_FULL, CLASSES, MASKED, COMPACT, COMPACT_FULL, SHAPES };

static void cpu_sum(const void *points, const uint8_t *scalars, const struct density *density,
                    bool is_compact, uint64_t first, uint64_t n, uint8_t *affine) {
    const uint64_t bytes =
        card_msm.cpu->bytes(card_msm.which, n, pm_team_threads(card_msm.card.team));
    const uint64_t words = n / 64 + 1;
    void *scratch = card_host_memory(bytes);
    uint64_t *bits = card_host_memory(8 * words);
    uint32_t *rank = card_host_memory(pm_msm_rank_bytes(n));
    struct pm_msm_input input = {
        .points = points, .scalars = scalars + first * PM_FR_BYTES, .n_points = n, .n_scalars = n};
    struct pm_group_point p;
    if (density != NULL) {
        memset(bits, 0, 8 * words);
        for (uint64_t i = 0; i < n; i++) {
            const uint64_t at = first + i;
            bits[i / 64] |= (density->words[at / 64] >> (at % 64) & 1) << (i % 64);
        }
        const uint64_t n_set = pm_msm_rank_fill(bits, n, rank);
        input.density = bits;
        input.rank = is_compact ? rank : NULL;
        input.n_points = is_compact ? n_set : n;
    }
    CARD_OK(card_msm.cpu->run_input(card_msm.which, &input, card_msm.card.team, scratch, NULL, &p,
                                    &error));
    card_msm.group->to_affine(affine, &p);
    free(scratch);
    free(bits);
    free(rank);
}

/* Points of the device, and the host's copy of them. */
struct points {
    struct pm_gpu_buffer device;
    uint8_t *host;
};

/* Points that the density leaves out are no points at all: nobody may read them. */
static struct points masked_points(const struct points *points, const struct density *density,
                                   uint64_t first, uint64_t n) {
    const uint64_t bytes = card_msm.group->affine_bytes;
    struct points masked = {.device = card_get(PM_GPU_STREAM, n * bytes + 1),
                            .host = card_host_memory(n * bytes + 1)};
    memcpy(masked.host, points->host, n * bytes);
    for (uint64_t i = 0; i < n; i++) {
        if ((density->words[(first + i) / 64] >> ((first + i) % 64) & 1) == 0) {
            memset(masked.host + i * bytes, 0x5a, bytes);
        }
    }
    CARD_OK(card_msm.card.api->upload(&card_msm.card.stream, masked.device.address, masked.host,
                                      n * bytes, &error));
    card_wait();
    return masked;
}

static void check_shape(const struct witness *witness, const uint8_t *scalars,
                        const struct points *points, const struct density *density,
                        enum shape shape, uint64_t first, uint64_t n, uint64_t limit_bytes) {
    uint8_t wanted[PM_G2_BYTES_MAX];
    struct points masked = {0};
    struct pm_gpu_sum_input input = {.curve = card_msm.card.id,
                                     .group = card_msm.which,
                                     .points = points->device.address,
                                     .scalars = witness->scalars.address,
                                     .first = first,
                                     .n = n};
    const uint8_t *host = points->host;
    if (shape == CLASSES || shape == MASKED || shape == COMPACT) {
        input.classes = witness->classes.address;
    }
    if (shape >= MASKED) {
        input.density = density->device_words.address;
    }
    if (shape == MASKED) {
        masked = masked_points(points, density, first, n);
        host = masked.host;
        input.points = masked.device.address;
    } else if (shape > MASKED) {
        input.is_compact = true;
        input.rank = density->device_rank.address;
    }
    cpu_sum(host, scalars, input.density == NULL ? NULL : density, input.is_compact, first, n,
            wanted);
    struct memory memory = memory_of(n, shape != ALL_FULL, limit_bytes);
    check_run(&input, &memory, wanted, "the CPU's", witness->pattern);
    memory_end(&memory);
    card_release(&masked.device);
    free(masked.host);
}

static void check_pattern(const struct points *points, int pattern, uint64_t n_max) {
    static const uint64_t firsts[] = {0, 64, 7, 328, 1};
    static const uint64_t sizes[] = {0, 1, 2, 63, 64, 65, 500, 4096, 20000, 65000};
    struct witness witness = witness_of(n_max + 1000, pattern);
    struct density density = density_of(witness.n, 250, 5);
    uint8_t *scalars = card_host_memory(witness.n * PM_FR_BYTES);
    CARD_OK(card_msm.card.api->download(&card_msm.card.stream, scalars, witness.scalars.address,
                                        witness.n * PM_FR_BYTES, &error));
    card_wait();
    for (uint32_t k = 0; k < sizeof sizes / sizeof sizes[0] && sizes[k] <= n_max; k++) {
        for (uint32_t shape = 0; shape < SHAPES; shape++) {
            const uint32_t round = (uint32_t)pattern + k + shape;
            const bool is_large = sizes[k] > 5000;
            if ((is_large || card_msm.card.is_small) && round % 4 != 0) {
                continue;
            }
            check_shape(&witness, scalars, points, &density, (enum shape)shape, firsts[round % 5],
                        sizes[k], round % 3 == 0 ? 64 * MEBI : NO_LIMIT);
        }
    }
    witness_end(&witness);
    density_end(&density);
    free(scalars);
}

void card_check_sums(void) {
    const uint64_t n_max = card_msm.card.is_small ? 500 : 65000;
    const uint64_t bytes = n_max * card_msm.group->affine_bytes;
    struct points points = {.device = card_points(n_max), .host = card_host_memory(bytes)};
    CARD_OK(card_msm.card.api->download(&card_msm.card.stream, points.host, points.device.address,
                                        bytes, &error));
    card_wait();
    card_spoil(points.host, n_max);
    CARD_OK(card_msm.card.api->upload(&card_msm.card.stream, points.device.address, points.host,
                                      bytes, &error));
    card_wait();
    for (int pattern = 0; pattern < CARD_MSM_PATTERNS; pattern++) {
        check_pattern(&points, pattern, n_max);
    }
    card_release(&points.device);
    free(points.host);
}

/* ---- Larger ones, by logarithms -------------------------------------------------------------- */

static struct pm_gpu_sum_input input_of(const struct witness *witness,
                                        const struct pm_gpu_buffer *points,
                                        const struct density *density, uint64_t first, uint64_t n) {
    const struct pm_gpu_sum_input input = {
        .curve = card_msm.card.id,
        .group = card_msm.which,
        .points = points->address,
        .scalars = witness->scalars.address,
        .classes = witness->classes.address,
        .density = density == NULL ? NULL : density->device_words.address,
        .rank = density == NULL ? NULL : density->device_rank.address,
        .is_compact = density != NULL,
        .first = first,
        .n = n};
    return input;
}

static void wanted_of(const struct pm_gpu_sum_input *input, const struct witness *witness,
                      const struct density *density, uint8_t *affine) {
    const struct card_sum_shape shape = {.pattern = witness->pattern,
                                         .n_scalars = witness->n,
                                         .first = input->first,
                                         .n = input->n,
                                         .density = density == NULL ? NULL : density->words,
                                         .rank = density == NULL ? NULL : density->rank};
    card_sum_by_logarithms(&shape, affine);
}

void card_check_large_sums(void) {
    const uint32_t log_max = card_msm.which == PM_MSM_G1 ? 22 : 20;
    struct pm_gpu_buffer points = card_points(UINT64_C(1) << log_max);
    for (uint32_t log_n = 17; log_n <= log_max; log_n++) {
        const uint64_t n = (UINT64_C(1) << log_n) - (log_n % 2 != 0 ? 5 : 0);
        for (int pattern = 0; pattern < CARD_MSM_PATTERNS; pattern++) {
            uint8_t wanted[PM_G2_BYTES_MAX];
            const uint32_t round = log_n + (uint32_t)pattern;
            if (log_n < log_max && round % 4 != 0) {
                continue;
            }
            struct witness witness = witness_of(n + 77, pattern);
            struct density density = density_of(witness.n, round % 2 == 0 ? 997 : 254, 77);
            const struct density *used = round % 3 == 0 ? NULL : &density;
            const struct pm_gpu_sum_input input =
                input_of(&witness, &points, used, round % 2 == 0 ? 77 : 0, n);
            wanted_of(&input, &witness, used, wanted);
            for (uint32_t k = 0; k < 3; k++) {
                static const uint64_t limits[] = {NO_LIMIT, 100 * MEBI, 40 * MEBI};
                struct memory memory = memory_of(n, true, limits[k]);
                check_run(&input, &memory, wanted, "by logarithms", pattern);
                memory_end(&memory);
            }
            witness_end(&witness);
            density_end(&density);
        }
    }
    card_release(&points);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* From too little to plenty: the sum, or a clean refusal that says how much is needed; and with
 * that much, the sum. */
static void check_little(const struct pm_gpu_sum_input *input, const uint8_t *wanted) {
    uint64_t least = 0;
    for (uint64_t bytes = 256; bytes <= 512 * MEBI; bytes *= 4) {
        pm_error reason = PM_ERROR_INIT;
        uint8_t got[PM_G2_BYTES_MAX];
        uint64_t workspace_bytes = 0, outputs_bytes = 0;
        struct memory memory = memory_of(input->n, true, NO_LIMIT);
        const uint64_t given_bytes = memory.workspace.bytes;
        memory.workspace.bytes = bytes;
        const pm_status status = run(input, &memory, got, &reason);
        const pm_status planned =
            card_msm.card.api->sum_bytes(card_msm.card.device, input->curve, input->group, input->n,
                                         true, bytes, &workspace_bytes, &outputs_bytes, NULL);
        CARD_CHECK(status == planned, "planned %d, run %d: %s", planned, status, reason.message);
        if (status == PM_OK) {
            CARD_CHECK(least <= bytes, "%llu suffice, not the %llu asked for",
                       (unsigned long long)bytes, (unsigned long long)least);
            CARD_CHECK(memcmp(got, wanted, card_msm.group->affine_bytes) == 0, "%llu bytes",
                       (unsigned long long)bytes);
        } else {
            CARD_CHECK(status == PM_NO_MEMORY && reason.need > bytes && reason.have == bytes, "%s",
                       reason.message);
            least = reason.need;
        }
        memory.workspace.bytes = given_bytes;
        memory_end(&memory);
    }
    CARD_CHECK(least > 0, "nothing was too little");
    struct memory memory = memory_of(input->n, true, least);
    check_run(input, &memory, wanted, "the least memory", -1);
    memory_end(&memory);
}

/* With all but so much of the card's memory taken by somebody else. */
static void check_full_card(const struct pm_gpu_sum_input *input, const uint8_t *wanted,
                            uint64_t left_bytes) {
    uint64_t free_bytes, workspace_bytes, outputs_bytes;
    CARD_OK(card_msm.card.api->device_free_bytes(card_msm.card.device, &free_bytes, &error));
    struct pm_gpu_buffer taken = card_get(PM_GPU_ONCE, free_bytes - left_bytes);
    CARD_OK(card_msm.card.api->device_free_bytes(card_msm.card.device, &free_bytes, &error));
    const pm_status status = card_msm.card.api->sum_bytes(
        card_msm.card.device, input->curve, input->group, input->n, true,
        free_bytes - free_bytes / 8, &workspace_bytes, &outputs_bytes, NULL);
    CARD_CHECK(status == PM_OK || status == PM_NO_MEMORY, "status %d", status);
    if (status == PM_OK) {
        struct memory memory = {.workspace = card_get(PM_GPU_ONCE, workspace_bytes),
                                .outputs = card_get(PM_GPU_PINNED, outputs_bytes)};
        check_run(input, &memory, wanted, "a full card", -1);
        memory_end(&memory);
    }
    card_release(&taken);
}

void card_check_sum_memory(void) {
    const uint64_t n = 20000;
    struct pm_gpu_buffer points = card_points(n);
    struct witness witness = witness_of(n + 3, CARD_MSM_BITS);
    struct density density = density_of(witness.n, 600, 0);
    const struct pm_gpu_sum_input input = input_of(&witness, &points, &density, 3, n);
    uint64_t free_bytes[2];
    uint8_t wanted[PM_G2_BYTES_MAX];
    wanted_of(&input, &witness, &density, wanted);
    check_little(&input, wanted);
    check_full_card(&input, wanted, 7 * (UINT64_C(1) << 30)); /* 95 % are taken */
    check_full_card(&input, wanted, 200 * MEBI);
    check_full_card(&input, wanted, 20 * MEBI);
    struct memory memory = memory_of(n, true, NO_LIMIT);
    const uint64_t launches = card_msm.card.api->device_n_launches(card_msm.card.device);
    for (uint32_t i = 0; i < 1000; i++) {
        check_run(&input, &memory, wanted, "again and again", -1);
        if (i == 0 || i == 999) {
            CARD_OK(card_msm.card.api->device_free_bytes(card_msm.card.device, &free_bytes[i != 0],
                                                         &error));
        }
    }
    CARD_CHECK(free_bytes[0] == free_bytes[1], "%llu bytes, then %llu",
               (unsigned long long)free_bytes[0], (unsigned long long)free_bytes[1]);
    CARD_CHECK(card_msm.card.api->device_n_launches(card_msm.card.device) >= launches + 5000,
               "work that was not done on the card");
    memory_end(&memory);
    witness_end(&witness);
    density_end(&density);
    card_release(&points);
}

/* ---- Times of a witness ---------------------------------------------------------------------- */

/* A sector of 32 GiB, one partition: the first variables are inputs, and all have points in A. */
#define WITNESS_INPUTS 328
#define WITNESS_VARIABLES UINT64_C(130170221)
#define WITNESS_RUNS 3

struct witness_sum {
    const char *name;
    enum pm_msm_group which;
    uint32_t of_1000, first_dense; /* of its density; 1000: it has none */
    uint64_t first;
    struct density density;
    struct pm_gpu_buffer points;
    struct pm_gpu_sum_input input;
    uint8_t wanted[PM_G2_BYTES_MAX];
    uint64_t workspace_bytes, outputs_bytes;
};

static void witness_sum_make(struct witness_sum *sum, const struct witness *witness) {
    const struct density *density = NULL;
    const uint64_t n = witness->n - sum->first;
    (void)card_choose(card_msm.card.id, sum->which);
    if (sum->of_1000 < 1000) {
        sum->density = density_of(witness->n, sum->of_1000, sum->first_dense);
        density = &sum->density;
    }
    sum->points = card_points(density == NULL ? n : sum->density.n_set);
    sum->input = input_of(witness, &sum->points, density, sum->first, n);
    wanted_of(&sum->input, witness, density, sum->wanted);
    CARD_OK(card_msm.card.api->sum_bytes(card_msm.card.device, card_msm.card.id, sum->which, n,
                                         true, NO_LIMIT, &sum->workspace_bytes, &sum->outputs_bytes,
                                         &error));
}

static void witness_sum_end(struct witness_sum *sum) {
    if (sum->of_1000 < 1000) {
        density_end(&sum->density);
    }
    card_release(&sum->points);
}

static void time_witness(const struct witness_sum *sums, uint32_t n_sums,
                         const struct witness *witness, const struct memory *memory) {
    double ms[8];
    const double start_s = card_now_s();
    CARD_OK(card_msm.card.api->classify(&card_msm.card.stream, card_msm.card.id,
                                        witness->scalars.address, witness->n,
                                        witness->classes.address, &error));
    card_wait();
    double last_s = card_now_s();
    ms[0] = 1e3 * (last_s - start_s);
    struct pm_group_point results[8];
    for (uint32_t i = 0; i < n_sums; i++) {
        CARD_OK(card_msm.card.api->sum_run(&card_msm.card.stream, &sums[i].input,
                                           memory->workspace.address, memory->workspace.bytes,
                                           memory->outputs.address, memory->outputs.bytes,
                                           &results[i], &error));
        ms[1 + i] = 1e3 * (card_now_s() - last_s);
        last_s = card_now_s();
    }
    printf("witness of %llu: %.1f ms; classes %.2f", (unsigned long long)witness->n,
           1e3 * (last_s - start_s), ms[0]);
    for (uint32_t i = 0; i < n_sums; i++) {
        uint8_t got[PM_G2_BYTES_MAX];
        (void)card_choose(card_msm.card.id, sums[i].which);
        card_msm.group->to_affine(got, &results[i]);
        CARD_CHECK(memcmp(got, sums[i].wanted, card_msm.group->affine_bytes) == 0, "sum %s",
                   sums[i].name);
        printf(" %s %.2f", sums[i].name, ms[1 + i]);
    }
    printf("\n");
    (void)fflush(stdout);
}

void card_time_witness(void) {
    struct witness_sum sums[] = {
        {.name = "A", .which = PM_MSM_G1, .of_1000 = 997, .first_dense = WITNESS_INPUTS},
        {.name = "B1", .which = PM_MSM_G1, .of_1000 = 254, .first_dense = 1},
        {.name = "L", .which = PM_MSM_G1, .of_1000 = 1000, .first = WITNESS_INPUTS},
        {.name = "B2", .which = PM_MSM_G2, .of_1000 = 254, .first_dense = 1}};
    struct memory memory = {0};
    (void)card_choose(PM_CURVE_BLS12_381, PM_MSM_G1);
    struct witness witness = witness_of(WITNESS_VARIABLES, CARD_MSM_WITNESS);
    uint64_t workspace_bytes = 0, outputs_bytes = 0;
    for (uint32_t i = 0; i < 4; i++) {
        witness_sum_make(&sums[i], &witness);
        workspace_bytes =
            sums[i].workspace_bytes > workspace_bytes ? sums[i].workspace_bytes : workspace_bytes;
        outputs_bytes =
            sums[i].outputs_bytes > outputs_bytes ? sums[i].outputs_bytes : outputs_bytes;
    }
    memory.workspace = card_get(PM_GPU_ONCE, workspace_bytes);
    memory.outputs = card_get(PM_GPU_PINNED, outputs_bytes);
    for (uint32_t round = 0; round <= WITNESS_RUNS; round++) {
        time_witness(sums, 4, &witness, &memory);
    }
    printf("workspace %.2f GiB\n", (double)workspace_bytes / (double)(1 << 30));
    for (uint32_t i = 0; i < 4; i++) {
        witness_sum_end(&sums[i]);
    }
    memory_end(&memory);
    witness_end(&witness);
}
