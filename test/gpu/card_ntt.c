/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Transforms and the quotient on a card against the CPU's. */
#include "card.h"

#include "base/memory.h"

#include <string.h>

/* ---- Vectors --------------------------------------------------------------------------------- */

#define VECTOR_GRAIN 4096 /* scalars that a thread takes at a time */

static uint64_t bytes_of(uint32_t log_n) {
    return (uint64_t)PM_FR_BYTES << log_n;
}

struct fill_task {
    uint64_t *v, seed;
};

static void fill_task(void *argument, size_t begin, size_t end) {
    const struct fill_task *task = argument;
    struct seeded_random random = {.state = task->seed ^ UINT64_C(0x9e3779b97f4a7c15) * begin};
    for (size_t i = begin; i < end; i++) {
        for (size_t k = 0; k < 4; k++) {
            task->v[4 * i + k] = seeded_random_u64(&random);
        }
        task->v[4 * i + 3] >>= 3;
    }
}

static uint64_t *random_vector(const struct card *card, uint32_t log_n) {
    uint64_t *v = card_host_memory(bytes_of(log_n));
    const uint64_t n = UINT64_C(1) << log_n, edge_step = log_n < 14 ? 1 : 64;
    struct fill_task task = {.v = v, .seed = seeded_random_u64(&card_entropy)};
    pm_team_for(card->team, n, VECTOR_GRAIN, fill_task, &task);
    for (uint64_t i = 0; i < n; i += edge_step) {
        card_edge_value(card->curve->fr, v + 4 * i);
    }
    return v;
}

static uint64_t *copy_of(const uint64_t *v, uint32_t log_n) {
    uint64_t *r = card_host_memory(bytes_of(log_n));
    memcpy(r, v, bytes_of(log_n));
    return r;
}

struct reverse_task {
    const uint64_t *from;
    uint64_t *to;
    uint32_t log_n;
};

static void reverse_task(void *argument, size_t begin, size_t end) {
    const struct reverse_task *task = argument;
    for (size_t i = begin; i < end; i++) {
        size_t j = 0;
        for (uint32_t k = 0; k < task->log_n; k++) {
            j |= (i >> k & 1) << (task->log_n - 1 - k);
        }
        memcpy(task->to + 4 * i, task->from + 4 * j, PM_FR_BYTES);
    }
}

static uint64_t *reversed_of(const struct card *card, const uint64_t *v, uint32_t log_n) {
    struct reverse_task task = {.from = v, .to = card_host_memory(bytes_of(log_n)), .log_n = log_n};
    pm_team_for(card->team, (size_t)1 << log_n, VECTOR_GRAIN, reverse_task, &task);
    return task.to;
}

static struct pm_gpu_buffer device_vector(const struct card *card, uint32_t log_n) {
    struct pm_gpu_buffer buffer;
    CARD_OK(PM_GPU_GET_BY(card->api, card->device, &card->stream, PM_GPU_STREAM, "vector",
                          bytes_of(log_n), &buffer, &error));
    return buffer;
}

static void up(const struct card *card, struct pm_gpu_buffer *to, const uint64_t *from,
               uint32_t log_n) {
    CARD_OK(card->api->upload(&card->stream, to->address, from, bytes_of(log_n), &error));
}

static void poison_task(void *argument, size_t begin, size_t end) {
    uint64_t *to = argument;
    memset(to + 4 * begin, 0xee, PM_FR_BYTES * (end - begin));
}

/* Downloads into poisoned memory. */
static void down(const struct card *card, uint64_t *to, const struct pm_gpu_buffer *from,
                 uint32_t log_n) {
    pm_team_for(card->team, (size_t)1 << log_n, VECTOR_GRAIN, poison_task, to);
    CARD_OK(card->api->download(&card->stream, to, from->address, bytes_of(log_n), &error));
    CARD_OK(card->api->stream_wait(&card->stream, &error));
}

/* ---- Every size, order and direction --------------------------------------------------------- */

struct transform_case {
    uint32_t log_n;
    int root;
    uint32_t levels_max, tile_log;
};

/* wanted: natural order, of the natural vector `from`. */
static void check_orders(const struct card *card, const struct pm_gpu_domain *domain, bool inverse,
                         const uint64_t *from, const uint64_t *wanted) {
    const uint32_t log_n = domain->log_n;
    uint64_t *from_reversed = reversed_of(card, from, log_n),
             *wanted_reversed = reversed_of(card, wanted, log_n);
    uint64_t *got = card_host_memory(bytes_of(log_n));
    struct pm_gpu_buffer in = device_vector(card, log_n), out = device_vector(card, log_n);
    for (int which = 0; which < 8; which++) {
        const struct pm_gpu_transform transform = {
            .inverse = inverse,
            .in = (which & 1) ? PM_GPU_REVERSED : PM_GPU_NATURAL,
            .out = (which & 2) ? PM_GPU_REVERSED : PM_GPU_NATURAL};
        const bool in_place = (which & 4) != 0;
        const uint64_t before = card->api->device_n_launches(card->device);
        up(card, &in, transform.in == PM_GPU_NATURAL ? from : from_reversed, log_n);
        CARD_OK(card->api->fill(&card->stream, out.address, 0xee, bytes_of(log_n), &error));
        CARD_OK(card->api->ntt(domain, &card->stream, &transform, in.address,
                               in_place ? in.address : out.address, &error));
        down(card, got, in_place ? &in : &out, log_n);
        CARD_CHECK(card->api->device_n_launches(card->device) > before, "no kernel ran");
        CARD_CHECK(memcmp(got, transform.out == PM_GPU_NATURAL ? wanted : wanted_reversed,
                          bytes_of(log_n)) == 0,
                   "2^%u inverse %d case %d", log_n, inverse, which);
        if (!in_place) { /* what it read is as it was */
            down(card, got, &in, log_n);
            CARD_CHECK(memcmp(got, transform.in == PM_GPU_NATURAL ? from : from_reversed,
                              bytes_of(log_n)) == 0,
                       "the input of 2^%u changed", log_n);
        }
    }
    card->api->memory_release(card->device, &card->stream, &in);
    card->api->memory_release(card->device, &card->stream, &out);
    free(from_reversed);
    free(wanted_reversed);
    free(got);
}

static void check_size(const struct card *card, const struct transform_case *c) {
    struct pm_gpu_domain domain;
    struct pm_domain reference;
    uint64_t *from = random_vector(card, c->log_n), *wanted = copy_of(from, c->log_n);
    CARD_OK(card->api->domain_create(&card->stream, card->id, c->log_n, (enum pm_gpu_root)c->root,
                                     c->levels_max, c->tile_log, &domain, &error));
    CARD_OK(pm_domain_create(card->poly, c->log_n, (enum pm_root)c->root, card->team, NULL,
                             &reference, &error));
    CARD_OK(card->poly->forward(&reference, wanted, card->team, NULL, &error));
    check_orders(card, &domain, false, from, wanted);
    memcpy(wanted, from, bytes_of(c->log_n));
    CARD_OK(card->poly->inverse(&reference, wanted, card->team, NULL, &error));
    check_orders(card, &domain, true, from, wanted);
    pm_domain_destroy(&reference);
    card->api->domain_destroy(&domain);
    free(from);
    free(wanted);
}

void card_test_transforms(const struct card *card) {
    const uint32_t most = card->is_small ? 13 : 22;
    for (uint32_t log_n = 0; log_n <= most; log_n++) {
        const struct transform_case c = {.log_n = log_n, .root = (int)(log_n % 2)};
        check_size(card, &c);
    }
    /* Other plans: passes of few and of many levels, small and large tiles. */
    const struct transform_case plans[] = {{9, 0, 7, 8},  {13, 1, 7, 8},   {13, 0, 9, 12},
                                           {17, 1, 7, 9}, {20, 0, 10, 11}, {19, 0, 8, 12}};
    struct pm_gpu_facts facts;
    card->api->device_facts(card->device, &facts);
    for (size_t i = 0; i < (card->is_small ? 3 : sizeof plans / sizeof plans[0]); i++) {
        if (bytes_of(plans[i].tile_log) <= facts.shared_bytes_per_block_max) {
            check_size(card, &plans[i]);
        }
    }
}

/* ---- Sizes beyond: rows by Horner, round trips on the card ------------------------------------
 */

struct horner {
    const struct pm_field *fr;
    const uint64_t *coefficients;
    uint64_t x[4], x_step[4]; /* x, x^step */
    uint64_t step, *parts;
};

static void horner_task(void *argument, size_t begin, size_t end) {
    const struct horner *h = argument;
    for (size_t part = begin; part < end; part++) {
        uint64_t sum[4] = {0};
        for (uint64_t j = h->step; j-- > 0;) {
            h->fr->mul(sum, sum, h->x);
            h->fr->add(sum, sum, h->coefficients + 4 * (part * h->step + j));
        }
        memcpy(h->parts + 4 * part, sum, sizeof sum);
    }
}

/* The polynomial at x, its parts on all threads. */
static void evaluate(const struct card *card, uint64_t r[4], const uint64_t *coefficients,
                     uint32_t log_n, const uint64_t x[4]) {
    enum { PARTS_LOG = 8 };
    uint64_t parts[4 << PARTS_LOG], sum[4] = {0};
    struct horner h = {.fr = card->curve->fr,
                       .coefficients = coefficients,
                       .step = UINT64_C(1) << (log_n - PARTS_LOG),
                       .parts = parts};
    memcpy(h.x, x, sizeof h.x);
    memcpy(h.x_step, x, sizeof h.x_step);
    for (uint32_t i = 0; i < log_n - PARTS_LOG; i++) {
        h.fr->sqr(h.x_step, h.x_step);
    }
    pm_team_for(card->team, (size_t)1 << PARTS_LOG, 1, horner_task, &h);
    for (size_t part = (size_t)1 << PARTS_LOG; part-- > 0;) {
        h.fr->mul(sum, sum, h.x_step);
        h.fr->add(sum, sum, parts + 4 * part);
    }
    memcpy(r, sum, sizeof sum);
}

/* Row number `row` of the transform of `coefficients` is at position `at` of device vector v. */
static void check_row(const struct card *card, const struct pm_gpu_domain *domain,
                      const uint64_t *coefficients, uint64_t row, const void *v, uint64_t at) {
    uint64_t w[4], wanted[4], got[4];
    uint32_t words[8];
    domain->kernels->tools.root(words, domain->log_n, (int)domain->root);
    memcpy(w, words, sizeof w);
    card->curve->fr->pow(w, w, &row, 1);
    evaluate(card, wanted, coefficients, domain->log_n, w);
    CARD_OK(card->api->download(&card->stream, got, (const char *)v + PM_FR_BYTES * at, PM_FR_BYTES,
                                &error));
    CARD_OK(card->api->stream_wait(&card->stream, &error));
    CARD_CHECK(memcmp(got, wanted, sizeof got) == 0, "2^%u row %llu", domain->log_n,
               (unsigned long long)row);
}

static uint32_t differences(const struct card *card, const void *a, const void *b, uint32_t log_n) {
    struct pm_gpu_buffer counter;
    uint32_t n = 0;
    CARD_OK(PM_GPU_GET_BY(card->api, card->device, &card->stream, PM_GPU_STREAM, "counter",
                          sizeof n, &counter, &error));
    CARD_OK(card->api->fill(&card->stream, counter.address, 0, sizeof n, &error));
    CARD_CUDA(
        card->kernels->compare(a, b, UINT64_C(1) << log_n, counter.address, card->stream.raw));
    CARD_OK(card->api->download(&card->stream, &n, counter.address, sizeof n, &error));
    CARD_OK(card->api->stream_wait(&card->stream, &error));
    card->api->memory_release(card->device, &card->stream, &counter);
    return n;
}

static void check_large(const struct card *card, uint32_t log_n) {
    struct pm_gpu_domain domain;
    const uint64_t n = UINT64_C(1) << log_n, rows[] = {n / 3 | 1, n - 1, 0, 1, n / 2};
    const size_t n_rows = log_n < 27 ? 5 : 2; /* a row costs 2^log_n products of the host */
    struct pm_gpu_buffer in = device_vector(card, log_n), out = device_vector(card, log_n);
    uint64_t *coefficients = card_host_memory(bytes_of(log_n));
    CARD_OK(card->api->domain_create(&card->stream, card->id, log_n, PM_GPU_ROOT_SNARKJS, 0, 0,
                                     &domain, &error));
    CARD_CUDA(card->kernels->random(in.address, n, log_n, card->stream.raw));
    down(card, coefficients, &in, log_n);
    for (int reversed = 0; reversed < 2; reversed++) {
        struct pm_gpu_transform there = {.out = reversed ? PM_GPU_REVERSED : PM_GPU_NATURAL};
        CARD_OK(card->api->fill(&card->stream, out.address, 0xee, bytes_of(log_n), &error));
        CARD_OK(card->api->ntt(&domain, &card->stream, &there, in.address, out.address, &error));
        for (size_t i = 0; i < n_rows; i++) {
            uint64_t at = rows[i];
            for (uint32_t k = 0; reversed && k < log_n; k++) {
                at = k == 0 ? 0 : at;
                at |= (rows[i] >> k & 1) << (log_n - 1 - k);
            }
            check_row(card, &domain, coefficients, rows[i], out.address, at);
        }
        const struct pm_gpu_transform back = {.inverse = true, .in = there.out};
        CARD_OK(card->api->ntt(&domain, &card->stream, &back, out.address, out.address, &error));
        CARD_CHECK(differences(card, in.address, out.address, log_n) == 0, "2^%u and back", log_n);
    }
    card->api->domain_destroy(&domain);
    card->api->memory_release(card->device, &card->stream, &in);
    card->api->memory_release(card->device, &card->stream, &out);
    free(coefficients);
}

void card_test_large_transforms(const struct card *card) {
    check_large(card, 24);
    check_large(card, 26);
    check_large(card, 27);
    check_large(card, 28); /* bytes past 2^33 */
}

/* ---- The quotient ---------------------------------------------------------------------------- */

/* vector[i] *= first base^i and nothing else is asked of the domain. */
static void scale(const struct card *card, const struct pm_domain *domain, uint64_t *v,
                  const uint64_t *base) {
    card->poly->scale_by_powers(domain, v, base, card->curve->fr->one, card->team);
}

struct division_task {
    const struct pm_field *fr;
    uint64_t *a;
    const uint64_t *b, *c;
    uint64_t z[4];
};

/* a = (a b - c) z. */
static void division_task(void *argument, size_t begin, size_t end) {
    const struct division_task *task = argument;
    for (size_t i = begin; i < end; i++) {
        uint64_t *a = task->a + 4 * i;
        task->fr->mul(a, a, task->b + 4 * i);
        task->fr->sub(a, a, task->c + 4 * i);
        task->fr->mul(a, a, task->z);
    }
}

static void from_mont_task(void *argument, size_t begin, size_t end) {
    const struct division_task *task = argument;
    task->fr->from_mont(task->a + 4 * begin, task->a + 4 * begin, end - begin);
}

/* Seven transforms by the book: all three to the coset, the division there, and back. */
static void reference_bellman(const struct card *card, const struct pm_domain *domain, uint64_t *a,
                              uint64_t *b, uint64_t *c) {
    const struct pm_field *fr = card->curve->fr;
    const uint64_t n = UINT64_C(1) << domain->log_n;
    uint64_t g[4] = {card->id == PM_CURVE_BN254 ? 5 : 7}, z[4], back[4];
    uint64_t *vectors[3] = {a, b, c};
    fr->to_mont(g, g, 1);
    fr->pow(z, g, &n, 1);
    fr->sub(z, z, fr->one);
    fr->inv(z, z);
    fr->inv(back, g);
    for (int k = 0; k < 3; k++) {
        CARD_OK(card->poly->inverse(domain, vectors[k], card->team, NULL, &error));
        scale(card, domain, vectors[k], g);
        CARD_OK(card->poly->forward(domain, vectors[k], card->team, NULL, &error));
    }
    struct division_task task = {.fr = fr, .a = a, .b = b, .c = c};
    memcpy(task.z, z, sizeof z);
    pm_team_for(card->team, n, VECTOR_GRAIN, division_task, &task);
    CARD_OK(card->poly->inverse(domain, a, card->team, NULL, &error));
    scale(card, domain, a, back);
    pm_team_for(card->team, n, VECTOR_GRAIN, from_mont_task, &task);
}

static void reference_snarkjs(const struct card *card, const struct pm_domain *domain, uint64_t *a,
                              uint64_t *b, uint64_t *c) {
    const uint64_t n = UINT64_C(1) << domain->log_n;
    CARD_OK(card->poly->to_odd_coset(domain, a, card->team, NULL, &error));
    CARD_OK(card->poly->to_odd_coset(domain, b, card->team, NULL, &error));
    CARD_OK(card->poly->to_odd_coset(domain, c, card->team, NULL, &error));
    card->poly->quotient_scalars(a, a, b, c, n, card->team);
}

struct h_case {
    uint32_t log_n;
    enum pm_gpu_reduction reduction;
    bool valid;
};

/* The device's h from a, b and, unless it makes it itself, c: with three vectors at once, or with
 * two, c taking b's place. */
static void run_h(const struct card *card, const struct pm_gpu_h *h, const struct h_case *hc,
                  uint64_t *const vectors[3], bool two, uint64_t *got) {
    const bool has_c = hc->reduction == PM_GPU_REDUCTION_BELLMAN || !hc->valid;
    struct pm_gpu_buffer d[3];
    const int n_vectors = two ? 2 : 3;
    for (int k = 0; k < n_vectors; k++) {
        d[k] = device_vector(card, hc->log_n);
        CARD_OK(card->api->fill(&card->stream, d[k].address, 0xee, bytes_of(hc->log_n), &error));
        if (k < 2 || has_c) {
            up(card, &d[k], vectors[k], hc->log_n);
        }
    }
    if (two) {
        CARD_OK(card->api->h_coset(h, &card->stream, d[0].address, &error));
        CARD_OK(card->api->h_coset(h, &card->stream, d[1].address, &error));
        CARD_OK(card->api->h_multiply(h, &card->stream, d[0].address, d[1].address, &error));
        up(card, &d[1], vectors[2], hc->log_n);
        CARD_OK(card->api->h_c(h, &card->stream, d[1].address, &error));
        CARD_OK(card->api->h_finish(h, &card->stream, d[0].address, d[1].address, &error));
    } else {
        CARD_OK(card->api->h_run(h, &card->stream, d[0].address, d[1].address, d[2].address, has_c,
                                 &error));
    }
    down(card, got, &d[0], hc->log_n);
    for (int k = 0; k < n_vectors; k++) {
        card->api->memory_release(card->device, &card->stream, &d[k]);
    }
}

static void check_h(const struct card *card, const struct h_case *hc) {
    const bool bellman = hc->reduction == PM_GPU_REDUCTION_BELLMAN;
    const uint64_t n = UINT64_C(1) << hc->log_n;
    struct pm_gpu_domain domain;
    struct pm_domain reference;
    struct pm_gpu_h h;
    uint64_t *vectors[3], *wanted[3], *got = card_host_memory(bytes_of(hc->log_n));
    CARD_OK(card->api->domain_create(&card->stream, card->id, hc->log_n,
                                     bellman ? PM_GPU_ROOT_BELLMAN : PM_GPU_ROOT_SNARKJS, 0, 0,
                                     &domain, &error));
    CARD_OK(pm_domain_create(card->poly, hc->log_n, bellman ? PM_ROOT_BELLMAN : PM_ROOT_SNARKJS,
                             card->team, NULL, &reference, &error));
    CARD_OK(card->api->h_create(&domain, &card->stream, hc->reduction, &h, &error));
    for (int k = 0; k < 3; k++) {
        vectors[k] = random_vector(card, hc->log_n);
    }
    if (hc->valid) {
        card->poly->mul_vectors(vectors[2], vectors[0], vectors[1], n, card->team);
    }
    for (int k = 0; k < 3; k++) {
        wanted[k] = copy_of(vectors[k], hc->log_n);
    }
    (bellman ? reference_bellman : reference_snarkjs)(card, &reference, wanted[0], wanted[1],
                                                      wanted[2]);
    for (int two = 0; two < 2; two++) {
        run_h(card, &h, hc, vectors, two != 0, got);
        CARD_CHECK(memcmp(got, wanted[0], bytes_of(hc->log_n)) == 0,
                   "h 2^%u reduction %d valid %d two vectors %d", hc->log_n, hc->reduction,
                   hc->valid, two);
    }
    if (bellman) { /* the top coefficient tells whether every row is satisfied */
        static const uint64_t zero[4];
        CARD_CHECK((memcmp(got + 4 * (n - 1), zero, sizeof zero) == 0) == hc->valid, "2^%u",
                   hc->log_n);
    }
    for (int k = 0; k < 3; k++) {
        free(vectors[k]);
        free(wanted[k]);
    }
    free(got);
    card->api->h_destroy(&h);
    card->api->domain_destroy(&domain);
    pm_domain_destroy(&reference);
}

void card_test_h(const struct card *card) {
    const uint32_t most = card->is_small ? 12 : 22;
    for (uint32_t log_n = 1; log_n <= most; log_n++) {
        for (int which = 0; which < 4; which++) {
            const struct h_case hc = {.log_n = log_n,
                                      .reduction = (enum pm_gpu_reduction)(which & 1),
                                      .valid = (which & 2) != 0};
            check_h(card, &hc);
        }
    }
}
