/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A witness on a card: matrices times it against the CPU's, its check and conversion, packing. */
#include "card.h"

#include "poly/sparse.h"

#include <string.h>

/* ---- Memory of the device -------------------------------------------------------------------- */

static struct pm_gpu_buffer get(const struct card *card, uint64_t bytes) {
    struct pm_gpu_buffer buffer;
    CARD_OK(PM_GPU_GET_BY(card->api, card->device, &card->stream, PM_GPU_STREAM, "test", bytes,
                          &buffer, &error));
    return buffer;
}

static struct pm_gpu_buffer get_copy(const struct card *card, const void *from, uint64_t bytes) {
    struct pm_gpu_buffer buffer = get(card, bytes);
    CARD_OK(card->api->upload(&card->stream, buffer.address, from, bytes, &error));
    return buffer;
}

static void release(const struct card *card, struct pm_gpu_buffer *buffer) {
    card->api->memory_release(card->device, &card->stream, buffer);
}

static void download(const struct card *card, void *to, const void *from, uint64_t bytes) {
    memset(to, 0x5a, bytes);
    CARD_OK(card->api->download(&card->stream, to, from, bytes, &error));
    CARD_OK(card->api->stream_wait(&card->stream, &error));
}

static bool is_filled(const uint8_t *bytes, uint64_t n, uint8_t with) {
    for (uint64_t i = 0; i < n; i++) {
        if (bytes[i] != with) {
            return false;
        }
    }
    return true;
}

/* ---- Matrices -------------------------------------------------------------------------------- */

struct matrix_case {
    const char *name;
    uint32_t log_n, n_rows, n_columns, n_coefficients;
    uint32_t longest; /* terms of one row in the middle */
    uint32_t most;    /* terms of the others */
};

/* Lengths as in real systems: a fifth of the rows empty, most of one to three terms, some long. */
static uint32_t row_length(const struct matrix_case *c, uint32_t row) {
    const uint64_t kind = seeded_random_below(&card_entropy, 100);
    if (row == c->n_rows / 2) {
        return c->longest;
    }
    const uint64_t most = kind < 20 ? 0 : kind < 90 ? 3 : kind < 98 ? 40 : 1500;
    return (uint32_t)seeded_random_below(&card_entropy, (most < c->most ? most : c->most) + 1);
}

/* 1, -1 and 0 are the first ones of the dictionary and the commonest. */
static uint64_t *make_coefficients(const struct card *card, uint32_t n) {
    const struct pm_field *fr = card->curve->fr;
    uint64_t *coefficients = card_host_memory((uint64_t)n * PM_FR_BYTES);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t *at = coefficients + 4 * (uint64_t)i;
        card_edge_value(fr, at);
        if (i < 3) {
            memset(at, 0, PM_FR_BYTES);
            at[0] = i < 2 ? 1 : 0;
        }
        fr->to_mont(at, at, 1);
        fr->to_mont(at, at, 1);
        if (i == 1) {
            fr->neg(at, at);
        }
    }
    return coefficients;
}

static struct pm_sparse make_matrix(const struct card *card, const struct matrix_case *c) {
    uint32_t *starts = card_host_memory(((uint64_t)c->n_rows + 1) * sizeof *starts);
    starts[0] = 0;
    for (uint32_t row = 0; row < c->n_rows; row++) {
        starts[row + 1] = starts[row] + row_length(c, row);
    }
    const uint64_t n_terms = starts[c->n_rows];
    struct pm_sparse_entry *terms = card_host_memory((n_terms + 1) * sizeof *terms);
    for (uint64_t i = 0; i < n_terms; i++) {
        const bool common = seeded_random_below(&card_entropy, 4) != 0 && c->n_coefficients >= 3;
        const bool again = i > 0 && seeded_random_below(&card_entropy, 8) == 0;
        terms[i].coefficient =
            (uint32_t)seeded_random_below(&card_entropy, common ? 3 : c->n_coefficients);
        terms[i].column = again ? terms[i - 1].column
                                : (uint32_t)seeded_random_below(&card_entropy, c->n_columns);
    }
    return (struct pm_sparse){.n_rows = c->n_rows,
                              .n_columns = c->n_columns,
                              .n_terms = n_terms,
                              .n_coefficients = c->n_coefficients,
                              .coefficients = make_coefficients(card, c->n_coefficients),
                              .terms = terms,
                              .row_starts = starts};
}

static void free_matrix(struct pm_sparse *matrix) {
    free((void *)(uintptr_t)matrix->coefficients);
    free((void *)(uintptr_t)matrix->terms);
    free((void *)(uintptr_t)matrix->row_starts);
}

/* The matrix on the device, in memory that was poisoned. */
static struct pm_gpu_buffer upload_matrix(const struct card *card, const struct pm_sparse *from,
                                          struct pm_gpu_sparse *to) {
    const struct pm_gpu_api *api = card->api;
    const uint64_t bytes = api->sparse_bytes(from->n_rows, from->n_terms, from->n_coefficients);
    struct pm_gpu_buffer buffer = get(card, bytes);
    uint64_t offsets[3];
    *to = (struct pm_gpu_sparse){.n_rows = from->n_rows,
                                 .n_columns = from->n_columns,
                                 .n_terms = from->n_terms,
                                 .n_coefficients = from->n_coefficients};
    api->sparse_place(to, buffer.address, offsets);
    CARD_OK(api->fill(&card->stream, buffer.address, 0xee, bytes, &error));
    const struct {
        const void *from, *to;
        uint64_t bytes;
    } parts[3] = {
        {from->coefficients, to->coefficients, from->n_coefficients * PM_FR_BYTES},
        {from->terms, to->terms, from->n_terms * sizeof *from->terms},
        {from->row_starts, to->row_starts, (from->n_rows + 1) * sizeof *from->row_starts}};
    for (int k = 0; k < 3; k++) {
        char *at = (char *)buffer.address + offsets[k];
        CARD_CHECK(at == parts[k].to && offsets[k] + parts[k].bytes <= bytes, "part %d", k);
        if (parts[k].bytes > 0) {
            CARD_OK(api->upload(&card->stream, at, parts[k].from, parts[k].bytes, &error));
        }
    }
    return buffer;
}

static uint64_t *make_witness(const struct card *card, uint32_t n) {
    uint64_t *w = card_host_memory((uint64_t)n * PM_FR_BYTES);
    for (uint64_t i = 0; i < n; i++) {
        card_edge_value(card->curve->fr, w + 4 * i);
        if (seeded_random_below(&card_entropy, 2) == 0) {
            memset(w + 4 * i, 0, PM_FR_BYTES);
            w[4 * i] = seeded_random_below(&card_entropy, 2);
        }
    }
    return w;
}

/* n_out rows are wanted of the device; one scalar behind them must stay as it was. */
static void check_product(const struct card *card, const struct matrix_case *c,
                          const struct pm_gpu_sparse *matrix, const void *w, const uint64_t *wanted,
                          uint64_t n_out) {
    const uint64_t bytes = n_out * PM_FR_BYTES;
    struct pm_gpu_buffer out = get(card, bytes + PM_FR_BYTES);
    uint8_t *got = card_host_memory(bytes + PM_FR_BYTES);
    CARD_OK(card->api->fill(&card->stream, out.address, 0xee, bytes + PM_FR_BYTES, &error));
    CARD_OK(
        card->api->sparse_multiply(&card->stream, card->id, matrix, w, out.address, n_out, &error));
    download(card, got, out.address, bytes + PM_FR_BYTES);
    for (uint64_t row = 0; row < n_out; row++) {
        CARD_CHECK(memcmp(got + row * PM_FR_BYTES, wanted + 4 * row, PM_FR_BYTES) == 0,
                   "%s: row %llu of %llu", c->name, (unsigned long long)row,
                   (unsigned long long)n_out);
    }
    CARD_CHECK(is_filled(got + bytes, PM_FR_BYTES, 0xee), "%s wrote behind", c->name);
    release(card, &out);
    free(got);
}

static void check_matrix(const struct card *card, const struct matrix_case *c) {
    const uint64_t n = UINT64_C(1) << c->log_n;
    struct pm_sparse matrix = make_matrix(card, c);
    struct pm_gpu_sparse on_device;
    uint64_t *w = make_witness(card, c->n_columns), *wanted = card_host_memory(n * PM_FR_BYTES);
    struct pm_gpu_buffer memory = upload_matrix(card, &matrix, &on_device);
    struct pm_gpu_buffer d_w = get_copy(card, w, (uint64_t)c->n_columns * PM_FR_BYTES);
    CARD_OK(card->poly->multiply_sparse(wanted, c->log_n, &matrix, w, c->n_columns, card->team,
                                        NULL, &error));
    const uint64_t before = card->api->device_n_launches(card->device);
    check_product(card, c, &on_device, d_w.address, wanted, n);
    check_product(card, c, &on_device, d_w.address, wanted, c->n_rows);
    check_product(card, c, &on_device, d_w.address, wanted, c->n_rows / 2);
    check_product(card, c, &on_device, d_w.address, wanted, 0);
    CARD_CHECK(c->n_rows < 2 || card->api->device_n_launches(card->device) == before + 3,
               "no kernel ran");
    release(card, &memory);
    release(card, &d_w);
    free_matrix(&matrix);
    free(w);
    free(wanted);
}

void card_test_sparse(const struct card *card) {
    static const struct matrix_case cases[] = {
        {"one term", 0, 1, 1, 1, 1, 1},
        {"no rows", 2, 0, 5, 3, 0, 0},
        {"no terms", 9, 300, 7, 3, 0, 0},
        {"one block", 8, 256, 100, 9, 3, 3},
        {"block and a row", 9, 257, 100, 5, 1024, 1500},
        {"a tile in one row", 10, 1000, 2000, 300, 1025, 1500},
        {"warp by warp", 12, 3001, 5000, 40, 17, 40},
        {"a long row", 12, 2500, 100000, 70000, 100000, 3},
        {"real", 17, 123457, 99999, 1000, 5000, 1500},
        {"short", 20, 1048576, 1000003, 20, 3, 3}};
    const size_t n = sizeof cases / sizeof cases[0] - (card->is_small ? 2 : 0);
    for (size_t i = 0; i < n; i++) {
        for (int round = 0; round < (i < 7 ? 4 : 1); round++) {
            check_matrix(card, &cases[i]);
        }
    }
}

/* ---- Rows, columns and terms past 2^32 bytes ------------------------------------------------- */

#define FAR_LOG 28
#define FAR_ROWS 500
#define FAR_START UINT32_C(0x3f3f3f3f) /* of the rows before: one byte four times */

/* Terms of the last FAR_ROWS of 2^FAR_LOG rows, in columns up to the last one. */
static struct pm_sparse far_tail(const struct card *card) {
    const struct matrix_case c = {"far", 9, FAR_ROWS, UINT32_C(1) << FAR_LOG, 10, 40, 40};
    struct pm_sparse tail = make_matrix(card, &c);
    struct pm_sparse_entry *terms = (struct pm_sparse_entry *)(uintptr_t)tail.terms;
    terms[tail.n_terms - 1].column = (UINT32_C(1) << FAR_LOG) - 1;
    return tail;
}

/* The CPU's product with the columns that occur, fetched one by one and numbered anew. */
static uint64_t *far_reference(const struct card *card, const struct pm_sparse *tail,
                               const void *d_w) {
    uint64_t *few = card_host_memory((tail->n_terms + 1) * PM_FR_BYTES);
    uint64_t *wanted = card_host_memory(UINT64_C(512) * PM_FR_BYTES);
    struct pm_sparse_entry *terms = card_host_memory(tail->n_terms * sizeof *terms);
    struct pm_sparse renamed = *tail;
    for (uint64_t i = 0; i < tail->n_terms; i++) {
        download(card, few + 4 * i,
                 (const char *)d_w + PM_FR_BYTES * (uint64_t)tail->terms[i].column, PM_FR_BYTES);
        terms[i] = (struct pm_sparse_entry){(uint32_t)i, tail->terms[i].coefficient};
    }
    renamed.terms = terms;
    renamed.n_columns = tail->n_terms;
    CARD_OK(card->poly->multiply_sparse(wanted, 9, &renamed, few, tail->n_terms, card->team, NULL,
                                        &error));
    free(few);
    free(terms);
    return wanted;
}

static void upload_far(const struct card *card, const struct pm_sparse *tail,
                       const struct pm_gpu_sparse *matrix, const struct pm_gpu_buffer *memory) {
    const uint64_t n_before = (UINT64_C(1) << FAR_LOG) - FAR_ROWS;
    uint32_t starts[FAR_ROWS + 1];
    for (int i = 0; i <= FAR_ROWS; i++) {
        starts[i] = FAR_START + tail->row_starts[i];
    }
    /* Terms that belong to no row: any use of them faults. */
    CARD_OK(card->api->fill(&card->stream, memory->address, 0x3f, memory->bytes, &error));
    CARD_OK(card->api->upload(&card->stream, (void *)(uintptr_t)matrix->coefficients,
                              tail->coefficients, tail->n_coefficients * PM_FR_BYTES, &error));
    CARD_OK(card->api->upload(&card->stream,
                              (char *)(uintptr_t)matrix->terms + FAR_START * sizeof *tail->terms,
                              tail->terms, tail->n_terms * sizeof *tail->terms, &error));
    CARD_OK(card->api->upload(&card->stream,
                              (char *)(uintptr_t)matrix->row_starts + n_before * sizeof starts[0],
                              starts, sizeof starts, &error));
    CARD_OK(card->api->stream_wait(&card->stream, &error));
}

static void check_far_matrix(const struct card *card, void *d_w) {
    const uint64_t n = UINT64_C(1) << FAR_LOG, tail_bytes = (uint64_t)FAR_ROWS * PM_FR_BYTES;
    struct pm_sparse tail = far_tail(card);
    struct pm_gpu_sparse matrix = {.n_rows = n,
                                   .n_columns = n,
                                   .n_terms = FAR_START + tail.n_terms,
                                   .n_coefficients = tail.n_coefficients};
    struct pm_gpu_buffer memory =
        get(card, card->api->sparse_bytes(matrix.n_rows, matrix.n_terms, matrix.n_coefficients));
    struct pm_gpu_buffer out = get(card, n * PM_FR_BYTES);
    uint64_t offsets[3];
    uint8_t *got = card_host_memory(tail_bytes);
    uint64_t *wanted = far_reference(card, &tail, d_w);
    card->api->sparse_place(&matrix, memory.address, offsets);
    upload_far(card, &tail, &matrix, &memory);
    CARD_OK(card->api->fill(&card->stream, out.address, 0xee, n * PM_FR_BYTES, &error));
    CARD_OK(
        card->api->sparse_multiply(&card->stream, card->id, &matrix, d_w, out.address, n, &error));
    download(card, got, (char *)out.address + n * PM_FR_BYTES - tail_bytes, tail_bytes);
    CARD_CHECK(memcmp(got, wanted, tail_bytes) == 0, "the last rows of 2^%d", FAR_LOG);
    for (uint64_t row = 0; row + FAR_ROWS < n; row += n / 16 - 1) {
        download(card, got, (char *)out.address + row * PM_FR_BYTES, PM_FR_BYTES);
        CARD_CHECK(is_filled(got, PM_FR_BYTES, 0), "row %llu", (unsigned long long)row);
    }
    release(card, &memory);
    release(card, &out);
    free_matrix(&tail);
    free(got);
    free(wanted);
}

static void check_far_take(const struct card *card, char *d_w) {
    const uint64_t n = UINT64_C(1) << FAR_LOG, bad[] = {n - 1, n - 7, n / 2 + 1};
    struct pm_gpu_buffer scratch = get(card, PM_GPU_TAKE_SCRATCH_BYTES);
    uint64_t lowest = 0;
    for (size_t i = 0; i <= sizeof bad / sizeof bad[0]; i++) {
        CARD_OK(card->api->scalars_take(&card->stream, card->id, PM_GPU_KEEP, d_w, n,
                                        scratch.address, &lowest, &error));
        CARD_CHECK(lowest == (i == 0 ? n : bad[i - 1]), "%llu", (unsigned long long)lowest);
        if (i < sizeof bad / sizeof bad[0]) {
            CARD_OK(card->api->fill(&card->stream, d_w + PM_FR_BYTES * bad[i], 0xff, PM_FR_BYTES,
                                    &error));
        }
    }
    release(card, &scratch);
}

void card_test_large_scalars(const struct card *card) {
    const uint64_t n = UINT64_C(1) << FAR_LOG;
    struct pm_gpu_buffer w = get(card, n * PM_FR_BYTES);
    CARD_CUDA(card->kernels->random(w.address, n, 77, card->stream.raw));
    check_far_matrix(card, w.address);
    check_far_take(card, w.address);
    release(card, &w);
}

/* ---- Check and conversion -------------------------------------------------------------------- */

static void check_take(const struct card *card, enum pm_gpu_conversion conversion, uint64_t n) {
    const struct pm_field *fr = card->curve->fr;
    uint64_t *values = card_host_memory((n + 1) * PM_FR_BYTES);
    uint64_t *got = card_host_memory((n + 1) * PM_FR_BYTES);
    struct pm_gpu_buffer scratch = get(card, PM_GPU_TAKE_SCRATCH_BYTES);
    uint64_t lowest = 99;
    for (uint64_t i = 0; i <= n; i++) {
        card_edge_value(fr, values + 4 * i);
    }
    struct pm_gpu_buffer d = get_copy(card, values, (n + 1) * PM_FR_BYTES);
    CARD_OK(card->api->scalars_take(&card->stream, card->id, conversion, d.address, n,
                                    scratch.address, &lowest, &error));
    CARD_CHECK(lowest == n, "%llu of %llu", (unsigned long long)lowest, (unsigned long long)n);
    download(card, got, d.address, (n + 1) * PM_FR_BYTES);
    if (conversion == PM_GPU_TO_MONTGOMERY) {
        fr->to_mont(values, values, n);
    } else if (conversion == PM_GPU_FROM_MONTGOMERY) {
        fr->from_mont(values, values, n);
    }
    CARD_CHECK(memcmp(values, got, (n + 1) * PM_FR_BYTES) == 0, "conversion %d of %llu", conversion,
               (unsigned long long)n);
    release(card, &d);
    release(card, &scratch);
    free(values);
    free(got);
}

/* The modulus itself, one more, all ones; several of them, of which the first is named. */
static void check_take_refuses(const struct card *card, uint64_t n) {
    uint64_t *values = card_host_memory(n * PM_FR_BYTES);
    struct pm_gpu_buffer scratch = get(card, PM_GPU_TAKE_SCRATCH_BYTES);
    struct pm_gpu_buffer d = get(card, n * PM_FR_BYTES);
    for (int round = 0; round < 30; round++) {
        uint64_t first = n, lowest = 0;
        for (uint64_t i = 0; i < n; i++) {
            card_edge_value(card->curve->fr, values + 4 * i);
        }
        for (int k = 0; k < 1 + round % 3; k++) {
            const uint64_t at = seeded_random_below(&card_entropy, n);
            memcpy(values + 4 * at, card->curve->fr->modulus, PM_FR_BYTES);
            values[4 * at] += (uint64_t)(round % 2);
            if (round % 5 == 0) {
                memset(values + 4 * at, 0xff, PM_FR_BYTES);
            }
            first = at < first ? at : first;
        }
        CARD_OK(card->api->upload(&card->stream, d.address, values, n * PM_FR_BYTES, &error));
        CARD_OK(card->api->scalars_take(&card->stream, card->id,
                                        (enum pm_gpu_conversion)(round % 3), d.address, n,
                                        scratch.address, &lowest, &error));
        CARD_CHECK(lowest == first, "%llu for %llu", (unsigned long long)lowest,
                   (unsigned long long)first);
    }
    release(card, &d);
    release(card, &scratch);
    free(values);
}

/* ---- Packing --------------------------------------------------------------------------------- */

/* Of eight scalars so many are 0, so many the one, on average. */
static void check_pack(const struct card *card, uint64_t n, uint64_t zeros, uint64_t ones,
                       const uint64_t one[4]) {
    uint64_t *scalars = card_host_memory((n + 1) * PM_FR_BYTES);
    uint8_t *packed = card_host_memory(pm_gpu_pack_bytes_max(n));
    uint8_t *got = card_host_memory((n + 1) * PM_FR_BYTES);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t kind = seeded_random_below(&card_entropy, 8);
        card_edge_value(card->curve->fr, scalars + 4 * i);
        if (kind < zeros) {
            memset(scalars + 4 * i, 0, PM_FR_BYTES);
        } else if (kind < zeros + ones) {
            memcpy(scalars + 4 * i, one, PM_FR_BYTES);
        }
    }
    const uint64_t used = pm_gpu_pack(scalars, n, one, packed);
    struct pm_gpu_buffer d_packed = get_copy(card, packed, used);
    struct pm_gpu_buffer d = get(card, (n + 1) * PM_FR_BYTES);
    CARD_OK(card->api->fill(&card->stream, d.address, 0xee, (n + 1) * PM_FR_BYTES, &error));
    CARD_OK(card->api->scalars_expand(&card->stream, d_packed.address, n, d.address, &error));
    download(card, got, d.address, (n + 1) * PM_FR_BYTES);
    CARD_CHECK(memcmp(got, scalars, n * PM_FR_BYTES) == 0, "%llu of %llu zeros, %llu ones",
               (unsigned long long)n, (unsigned long long)zeros, (unsigned long long)ones);
    CARD_CHECK(is_filled(got + n * PM_FR_BYTES, PM_FR_BYTES, 0xee), "written behind");
    release(card, &d_packed);
    release(card, &d);
    free(scalars);
    free(packed);
    free(got);
}

static void test_pack(const struct card *card) {
    static const uint64_t one[4] = {1, 0, 0, 0};
    static const uint64_t sizes[] = {0, 1, 63, 64, 65, 1000, 4097, 1 << 20};
    const size_t n_sizes = sizeof sizes / sizeof sizes[0] - (card->is_small ? 1 : 0);
    for (size_t i = 0; i < n_sizes; i++) {
        for (uint64_t zeros = 0; zeros <= 8; zeros++) {
            const uint64_t ones = seeded_random_below(&card_entropy, 9 - zeros);
            check_pack(card, sizes[i], zeros, ones, zeros % 2 == 0 ? one : card->curve->fr->one);
        }
        check_pack(card, sizes[i], 0, 8, one);
        check_pack(card, sizes[i], 0, 0, one);
    }
    pm_error error = PM_ERROR_INIT;
    CARD_CHECK(card->api->scalars_expand(&card->stream, NULL, PM_GPU_PACK_SCALARS_MAX + 1, NULL,
                                         &error) == PM_INVALID_ARGUMENT,
               "%s", error.message);
}

void card_test_scalars(const struct card *card) {
    static const uint64_t sizes[] = {0, 1, 2, 255, 256, 257, 5000, 200000};
    const size_t n_sizes = sizeof sizes / sizeof sizes[0] - (card->is_small ? 1 : 0);
    for (size_t i = 0; i < n_sizes; i++) {
        for (int conversion = PM_GPU_KEEP; conversion <= PM_GPU_TO_MONTGOMERY; conversion++) {
            check_take(card, (enum pm_gpu_conversion)conversion, sizes[i]);
        }
    }
    check_take_refuses(card, 1);
    check_take_refuses(card, 1000);
    test_pack(card);
    uint64_t lowest = 0;
    pm_error error = PM_ERROR_INIT;
    CARD_CHECK(card->api->scalars_take(&card->stream, PM_CURVE_NONE, PM_GPU_KEEP, NULL, 1, NULL,
                                       &lowest, &error) == PM_CURVE,
               "%s", error.message);
    CARD_CHECK(card->api->sparse_multiply(&card->stream, PM_CURVE_NONE, &(struct pm_gpu_sparse){0},
                                          NULL, NULL, 0, &error) == PM_CURVE,
               "%s", error.message);
}
