/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Tests on a card: card_test LIBRARY [fault|full|small [TEST]...]. Exit status 77: no device. */
#include "card.h"

#include "base/memory.h"
#include "gpu/load/gpu_load.h"

#include <string.h>
#include <time.h>

struct seeded_random card_entropy;

void *card_host_memory(uint64_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    CARD_CHECK(memory != NULL, "%llu bytes", (unsigned long long)bytes);
    return memory;
}

void card_edge_value(const struct pm_field *field, uint64_t *r) {
    const uint64_t kind = seeded_random_below(&card_entropy, 8);
    do {
        memset(r, 0, field->bytes);
        for (uint32_t i = 0; i < 2 * field->limbs; i++) {
            uint64_t word = seeded_random_u64(&card_entropy) & UINT32_MAX;
            if (kind < 3) {
                const uint64_t pick = seeded_random_below(&card_entropy, 4);
                word = pick == 0 ? 0 : pick == 1 ? UINT32_MAX : pick == 2 ? 1 : word;
            }
            r[i / 2] |= word << (32 * (i % 2));
        }
        if (kind == 3) { /* the modulus less a little */
            const uint64_t less = 1 + seeded_random_below(&card_entropy, 4);
            memcpy(r, field->modulus, field->bytes);
            for (uint32_t i = 0, borrow = r[0] < less; i < field->limbs; i++) {
                r[i] -= i == 0 ? less : borrow;
                borrow = i == 0 ? borrow : borrow && r[i] == UINT64_MAX;
            }
        } else if (kind == 4) {
            memset(r, 0, field->bytes);
            r[0] = seeded_random_below(&card_entropy, 4);
        }
        r[field->limbs - 1] &= (UINT64_C(1) << ((field->bits - 1) % 64 + 1)) - 1;
    } while (!field->is_canonical(r));
}

/* ---- Fields ---------------------------------------------------------------------------------- */

static void fp2_mul(const struct pm_field *fp, uint64_t *r, const uint64_t *a, const uint64_t *b) {
    uint64_t t[6], u[6], c0[6];
    const uint32_t n = fp->limbs;
    fp->mul(t, a, b);
    fp->mul(u, a + n, b + n);
    fp->sub(c0, t, u);
    fp->mul(t, a, b + n);
    fp->mul(u, a + n, b);
    fp->add(r + n, t, u);
    memcpy(r, c0, fp->bytes);
}

/* 1 / a = conj(a) / (a0^2 + a1^2). */
static void fp2_inv(const struct pm_field *fp, uint64_t *r, const uint64_t *a) {
    uint64_t t[6], norm[6];
    const uint32_t n = fp->limbs;
    fp->sqr(norm, a);
    fp->sqr(t, a + n);
    fp->add(norm, norm, t);
    fp->inv(norm, norm);
    fp->mul(r, a, norm);
    fp->neg(t, a + n);
    fp->mul(r + n, t, norm);
}

static void reference(const struct pm_field *f, bool extension, enum card_op op, uint64_t *r,
                      const uint64_t *a, const uint64_t *b) {
    const uint32_t parts = extension ? 2 : 1;
    for (uint32_t k = 0; k < parts; k++) {
        const uint32_t at = k * f->limbs;
        switch (op) {
        case CARD_ADD:
            f->add(r + at, a + at, b + at);
            break;
        case CARD_SUB:
            f->sub(r + at, a + at, b + at);
            break;
        case CARD_NEG:
            f->neg(r + at, a + at);
            break;
        case CARD_DBL:
            f->add(r + at, a + at, a + at);
            break;
        case CARD_TO_MONT:
            f->to_mont(r, a, 1);
            break;
        case CARD_FROM_MONT:
            f->from_mont(r, a, 1);
            break;
        default:
            break;
        }
    }
    if (op == CARD_MUL || op == CARD_SQR || op == CARD_FACTOR_MUL) {
        const uint64_t *other = op == CARD_SQR ? a : b;
        if (extension) {
            fp2_mul(f, r, a, other);
        } else {
            f->mul(r, a, other);
        }
    } else if (op == CARD_INV && extension) {
        fp2_inv(f, r, a);
    } else if (op == CARD_INV) {
        f->inv(r, a);
    }
}

static void test_field(const struct card *card, enum card_field which, uint32_t n) {
    const struct pm_field *f = which == CARD_FR ? card->curve->fr : card->curve->fp;
    const bool extension = which == CARD_FP2;
    const uint32_t limbs = f->limbs * (extension ? 2 : 1);
    const uint64_t bytes = 8 * (uint64_t)limbs * n;
    uint64_t *a = card_host_memory(bytes), *b = card_host_memory(bytes);
    uint64_t *got = card_host_memory(bytes), wanted[12];
    struct pm_gpu_buffer d[3];
    CARD_CHECK(card->kernels->element_bytes[which] == 8 * limbs, "the size of an element");
    for (uint64_t i = 0; i < (uint64_t)n * limbs; i += f->limbs) {
        card_edge_value(f, a + i);
        card_edge_value(f, b + i);
    }
    for (int k = 0; k < 3; k++) {
        CARD_OK(PM_GPU_GET_BY(card->api, card->device, &card->stream, PM_GPU_STREAM, "test", bytes,
                              &d[k], &error));
    }
    CARD_OK(card->api->upload(&card->stream, d[0].address, a, bytes, &error));
    CARD_OK(card->api->upload(&card->stream, d[1].address, b, bytes, &error));
    for (int op = 0; op < CARD_OPS; op++) {
        if ((extension && op >= CARD_TO_MONT) || (which != CARD_FR && op == CARD_FACTOR_MUL)) {
            continue;
        }
        CARD_OK(card->api->fill(&card->stream, d[2].address, 0xee, bytes, &error));
        CARD_OK(card->api->stream_wait(&card->stream, &error));
        CARD_CUDA(card->kernels->field(which, (enum card_op)op, d[2].address, d[0].address,
                                       d[1].address, n));
        CARD_CUDA(card_device_synchronize());
        CARD_OK(card->api->download(&card->stream, got, d[2].address, bytes, &error));
        CARD_OK(card->api->stream_wait(&card->stream, &error));
        for (uint64_t i = 0; i < n; i += op == CARD_INV ? 16 : 1) {
            reference(f, extension, (enum card_op)op, wanted, a + i * limbs, b + i * limbs);
            CARD_CHECK(memcmp(wanted, got + i * limbs, 8 * limbs) == 0, "field %d op %d element %d",
                       which, op, (int)i);
        }
    }
    for (int k = 0; k < 3; k++) {
        card->api->memory_release(card->device, &card->stream, &d[k]);
    }
    free(a);
    free(b);
    free(got);
}

void card_test_fields(const struct card *card) {
    for (int which = 0; which < CARD_FIELDS; which++) {
        test_field(card, (enum card_field)which, card->is_small ? 300 : 60000);
    }
}

/* ---- Curves ---------------------------------------------------------------------------------- */

/* Repetitions, opposites and infinities among random points. */
static void awkward_points(const struct pm_group *group, uint8_t *points, uint8_t *negate,
                           uint32_t n) {
    struct pm_group_point t;
    for (uint32_t i = 0; i < n; i++) {
        uint8_t *at = points + (uint64_t)i * group->affine_bytes;
        const uint64_t kind = i == 0 ? 3 : seeded_random_below(&card_entropy, 6);
        if (kind == 0) {
            memset(at, 0, group->affine_bytes);
        } else if (kind < 3) {
            memcpy(at, at - group->affine_bytes, group->affine_bytes);
        } else {
            uint64_t k[1] = {seeded_random_u64(&card_entropy)};
            group->from_affine(&t, group->generator);
            group->mul(&t, &t, k, 1);
            group->to_affine(at, &t);
        }
        negate[i] = (uint8_t)seeded_random_below(&card_entropy, 2);
    }
}

static void reference_sum(const struct pm_group *group, struct pm_group_point *sum,
                          const uint8_t *points, const uint8_t *negate, uint32_t n) {
    group->set_infinity(sum);
    for (uint32_t i = 0; i < n; i++) {
        struct pm_group_point t;
        group->from_affine(&t, points + (uint64_t)i * group->affine_bytes);
        if (negate[i]) {
            group->neg(&t, &t);
        }
        group->add(sum, sum, &t);
    }
}

static void test_group(const struct card *card, enum card_group which, uint32_t n, uint32_t each) {
    const struct pm_group *group = which == CARD_G1 ? card->curve->g1 : card->curve->g2;
    const uint64_t point = group->affine_bytes, bytes = point * n * each;
    uint8_t *points = card_host_memory(bytes), *negate = card_host_memory((uint64_t)n * each);
    uint8_t *got = card_host_memory(point * n), wanted[PM_G2_BYTES_MAX];
    struct pm_gpu_buffer in, signs, out;
    CARD_CHECK(card->kernels->affine_bytes[which] == point, "the size of a point");
    awkward_points(group, points, negate, n * each);
    CARD_OK(PM_GPU_GET_BY(card->api, card->device, &card->stream, PM_GPU_STREAM, "points", bytes,
                          &in, &error));
    CARD_OK(PM_GPU_GET_BY(card->api, card->device, &card->stream, PM_GPU_STREAM, "signs",
                          (uint64_t)n * each, &signs, &error));
    CARD_OK(PM_GPU_GET_BY(card->api, card->device, &card->stream, PM_GPU_STREAM, "sums", point * n,
                          &out, &error));
    CARD_OK(card->api->upload(&card->stream, in.address, points, bytes, &error));
    CARD_OK(card->api->upload(&card->stream, signs.address, negate, (uint64_t)n * each, &error));
    for (int kind = 0; kind < CARD_SUMS; kind++) {
        CARD_OK(card->api->fill(&card->stream, out.address, 0xee, point * n, &error));
        CARD_OK(card->api->stream_wait(&card->stream, &error));
        CARD_CUDA(card->kernels->sum(which, (enum card_sum)kind, out.address, in.address,
                                     signs.address, n, each));
        CARD_CUDA(card_device_synchronize());
        CARD_OK(card->api->download(&card->stream, got, out.address, point * n, &error));
        CARD_OK(card->api->stream_wait(&card->stream, &error));
        for (uint32_t i = 0; i < n; i++) {
            struct pm_group_point sum;
            reference_sum(group, &sum, points + point * i * each, negate + (uint64_t)i * each,
                          each);
            if (kind == CARD_XYZZ_DBL || kind == CARD_JAC_DBL) {
                group->dbl(&sum, &sum);
            }
            group->to_affine(wanted, &sum);
            CARD_CHECK(memcmp(wanted, got + point * i, point) == 0, "group %d sum %d thread %u",
                       which, kind, i);
        }
    }
    card->api->memory_release(card->device, &card->stream, &in);
    card->api->memory_release(card->device, &card->stream, &signs);
    card->api->memory_release(card->device, &card->stream, &out);
    free(points);
    free(negate);
    free(got);
}

void card_test_curves(const struct card *card) {
    for (int which = 0; which < CARD_GROUPS; which++) {
        for (uint32_t each = 0; each <= 12; each += card->is_small ? 6 : 1) {
            test_group(card, (enum card_group)which, card->is_small ? 40 : 500, each);
        }
    }
}

/* ---- Main ------------------------------------------------------------------------------------ */

static double now_s(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool is_wanted(const struct card *card, const char *name) {
    for (size_t i = 0; card->only[i] != NULL; i++) {
        if (strcmp(card->only[i], name) == 0) {
            return true;
        }
    }
    return card->only[0] == NULL;
}

static void run(const struct card *card, const char *name, void (*test)(const struct card *)) {
    const uint64_t before = card->api->device_n_launches(card->device);
    const double start_s = now_s();
    if (!is_wanted(card, name)) {
        return;
    }
    test(card);
    printf("good: %-10s %-20s %6.2f s, %llu launches\n", pm_curve_name(card->id), name,
           now_s() - start_s,
           (unsigned long long)(card->api->device_n_launches(card->device) - before));
    (void)fflush(stdout);
}

static void run_curve(struct card *card, pm_curve_id id) {
    const enum pm_body body = pm_cpu_has_body(PM_BODY_ADX) ? PM_BODY_ADX : PM_BODY_PORTABLE;
    card->id = id;
    card->curve = pm_curve_get(id, body);
    card->poly = pm_poly_get(id, body);
    card->kernels = id == PM_CURVE_BN254 ? &card_kernels_bn254 : &card_kernels_bls12_381;
    run(card, "fields", card_test_fields);
    run(card, "curves", card_test_curves);
    run(card, "transforms", card_test_transforms);
    run(card, "h", card_test_h);
    run(card, "sparse", card_test_sparse);
    run(card, "scalars", card_test_scalars);
    if (!card->is_small) {
        run(card, "large scalars", card_test_large_scalars);
        run(card, "large transforms", card_test_large_transforms);
    }
    run(card, "memory", card_test_memory);
}

int main(int argc, char **argv) {
    char *const all[] = {NULL};
    struct card card = {.is_small = argc > 2 && strcmp(argv[2], "small") == 0,
                        .only = argc > 3 ? argv + 3 : all};
    pm_error reason = PM_ERROR_INIT;
    struct pm_gpu_facts facts;
    uint32_t n = 0;
    if (argc < 2) {
        (void)fprintf(stderr, "usage: card_test LIBRARY [fault|full|small [TEST]...]\n");
        return 2;
    }
    card_entropy = seeded_random_from_environment();
    CARD_OK(pm_gpu_load(argv[1], &card.api, &error));
    if (card.api->device_count(&n, &reason) != PM_OK) {
        printf("skipped: %s\n", reason.message);
        return 77;
    }
    CARD_OK(card.api->device_open(0, NULL, &card.device, &error));
    card.api->device_facts(card.device, &facts);
    printf("%s, compute capability %u.%u, %u multiprocessors, CUDA %u, driver %u\n", facts.name,
           facts.major, facts.minor, facts.n_multiprocessors, facts.runtime, facts.driver);
    CARD_OK(card.api->stream_create(card.device, &card.stream, &error));
    if (argc > 2 && strcmp(argv[2], "fault") == 0) {
        card_test_fault(&card);
        card.api->stream_destroy(&card.stream);
        card.api->device_close(card.device);
        printf("all good\n");
        return 0;
    }
    CARD_OK(pm_team_create(16, &card.team, &error));
    run_curve(&card, PM_CURVE_BN254);
    run_curve(&card, PM_CURVE_BLS12_381);
    CARD_CHECK(card.only[0] != NULL || card.api->device_n_launches(card.device) > 0,
               "no kernel ran");
    CARD_CHECK(card.api->device_live_bytes(card.device, PM_GPU_ONCE) == 0, "memory left");
    CARD_CHECK(card.api->device_live_bytes(card.device, PM_GPU_STREAM) == 0, "memory left");
    pm_team_destroy(card.team);
    card.api->stream_destroy(&card.stream);
    card.api->device_close(card.device);
    printf("all good\n");
    return 0;
}
