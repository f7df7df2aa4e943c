/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Names that begin with a letter and a number are those of field reports of other provers. */
#include "io/params.h"

#include "support/data_limit.h"
#include "support/fixture.h"
#include "support/outcomes.h"
#include "support/params_builder.h"
#include "support/seeded_random.h"
#include "support/stray_points.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { RANDOM_CUTS = 200, BYTES_PER_FLIP = 16 };

static struct pm_team *team;
static struct seeded_random seeded;

static const struct pm_curve *curve(void) {
    return pm_curve_get(PM_CURVE_BLS12_381, PM_BODY_PORTABLE);
}

static const struct pm_group *group_of(const struct toy_params_part *part) {
    return part->is_g2 ? curve()->g2 : curve()->g1;
}

static size_t stride_of(const struct toy_params_part *part) {
    return part->is_g2 ? 192 : 96;
}

static void map_image(const struct file_image *file, const char *name, struct pm_mapping *mapping) {
    pm_error error = PM_ERROR_INIT;
    file_expect(pm_mapping_borrow(file->bytes, file->n_bytes, name, mapping, &error), PM_OK, &error,
                NULL, NULL, NULL);
}

/* Opens and checks everything. */
static pm_status check_image(const struct file_image *file, pm_error *error) {
    struct pm_mapping mapping;
    struct pm_params params;
    map_image(file, "toy.params", &mapping);
    pm_status status = pm_params_open(&mapping, PM_PARAMS_WHOLE, &params, error);
    if (status == PM_OK) {
        status =
            pm_params_check_points(&params, curve(), PM_POINT_CHECK_SUBGROUP, team, NULL, error);
    }
    pm_mapping_close(&mapping);
    return status;
}

/* The image is refused and freed; returns the offset. */
static uint64_t refuse(struct file_image file, pm_status expected, const char *first,
                       const char *second) {
    pm_error error = PM_ERROR_INIT;
    file_expect(check_image(&file, &error), expected, &error, first, second, NULL);
    outcome_expect_place(expected, &error, "toy.params", first);
    file_free(&file);
    return error.offset;
}

/* ---- Reading ----------------------------------------------------------------------------------
 */

static void parts_lie_where_they_should(void **state) {
    (void)state;
    for (int n_contributions = -1; n_contributions < 3; ++n_contributions) {
        struct file_image file = file_params(n_contributions);
        struct pm_mapping mapping;
        struct pm_params params;
        pm_error error = PM_ERROR_INIT;
        map_image(&file, "toy.params", &mapping);
        file_expect(pm_params_open(&mapping, PM_PARAMS_WHOLE, &params, &error), PM_OK, &error, NULL,
                    NULL, NULL);
        assert_int_equal(params.layout.log_n, TOY_PARAMS_LOG_N);
        assert_int_equal(params.layout.vk_bytes, TOY_PARAMS_VK_BYTES);
        assert_int_equal(params.layout.n_bytes, TOY_PARAMS_BYTES);
        for (size_t p = 0; p < TOY_PARAMS_PARTS; ++p) {
            assert_string_equal(pm_params_part_name((enum pm_params_part)p),
                                toy_params_parts[p].name);
            assert_int_equal(params.layout.n[p], toy_params_parts[p].n);
            assert_int_equal(params.layout.offset[p], toy_params_parts[p].offset);
        }
        assert_int_equal(params.circuit_hash != NULL, n_contributions >= 0);
        assert_int_equal(params.n_contributions, n_contributions < 0 ? 0 : n_contributions);
        file_expect(check_image(&file, &error), PM_OK, &error, NULL, NULL, NULL);
        pm_mapping_close(&mapping);
        file_free(&file);
    }
}

/* Each window of each part, into a buffer of exactly its size. */
static void windows_decode_to_montgomery_form(void **state) {
    (void)state;
    struct file_image file = file_params(-1);
    struct pm_mapping mapping;
    struct pm_params params;
    pm_error error = PM_ERROR_INIT;
    map_image(&file, "toy.params", &mapping);
    assert_int_equal(pm_params_open(&mapping, PM_PARAMS_WHOLE, &params, &error), PM_OK);
    for (size_t p = 0; p < TOY_PARAMS_PARTS; ++p) {
        const struct toy_params_part *part = &toy_params_parts[p];
        const enum pm_params_part id = (enum pm_params_part)p;
        for (uint32_t first = 0; first <= part->n; ++first) {
            const uint32_t n = part->n - first;
            uint8_t *affine = malloc(n * stride_of(part) + 1), expected[PM_G2_BYTES_MAX];
            assert_non_null(affine);
            file_expect(pm_params_decode(&params, curve(), id, first, n,
                                         (enum pm_point_check)(n % 3), team, NULL, affine, &error),
                        PM_OK, &error, NULL, NULL, NULL);
            for (uint32_t i = 0; i < n; ++i) {
                toy_params_point(part, first + i, expected);
                assert_memory_equal(affine + i * stride_of(part), expected, stride_of(part));
            }
            file_expect(pm_params_decode(&params, curve(), id, first, (uint64_t)n + 1,
                                         PM_POINT_CHECK_NONE, team, NULL, affine, &error),
                        PM_INVALID_ARGUMENT, &error, part->name, NULL, NULL);
            free(affine);
        }
        uint8_t nothing;
        assert_int_equal(pm_params_decode(&params, curve(), id, UINT64_MAX, 2, PM_POINT_CHECK_NONE,
                                          team, NULL, &nothing, &error),
                         PM_INVALID_ARGUMENT);
    }
    pm_mapping_close(&mapping);
    file_free(&file);
}

/* ---- Points -----------------------------------------------------------------------------------
 */

/* Ways to be no good point, and what they are called. */
enum fault { INFINITE, OFF_CURVE, OFF_SUBGROUP, NOT_CANONICAL, FLAGS, ZEROS, FAULTS };

static const struct {
    pm_status status;
    const char *words;
} faults[FAULTS] = {[INFINITE] = {PM_POINT_AT_INFINITY, "at infinity"},
                    [OFF_CURVE] = {PM_NOT_ON_CURVE, "not on the curve"},
                    [OFF_SUBGROUP] = {PM_NOT_IN_SUBGROUP, "not in the"},
                    [NOT_CANONICAL] = {PM_NOT_CANONICAL, "is"},
                    [FLAGS] = {PM_ENCODING, "is"},
                    [ZEROS] = {PM_NOT_ON_CURVE, "not on the curve"}};

static void spoil(uint8_t *point, const struct pm_group *group, size_t n_bytes, enum fault fault) {
    uint8_t affine[PM_G2_BYTES_MAX];
    switch (fault) {
    case INFINITE:
        memset(point, 0, n_bytes);
        point[0] = 0x40;
        break;
    case OFF_CURVE:
        point[n_bytes - 1] ^= 1;
        break;
    case OFF_SUBGROUP:
        assert_true(stray_point(curve(), group, affine));
        group->encode(point, PM_POINT_ZCASH_FULL, affine);
        break;
    case NOT_CANONICAL:
        memset(point, 0xff, 48);
        point[0] = 0x1f;
        break;
    case FLAGS:
        point[0] |= 0x80;
        break;
    default:
        memset(point, 0, n_bytes);
        break;
    }
}

static void every_fault_is_named_with_index_and_offset(void **state) {
    (void)state;
    for (size_t p = 0; p < TOY_PARAMS_PARTS; ++p) {
        const struct toy_params_part *part = &toy_params_parts[p];
        for (enum fault fault = INFINITE; fault < FAULTS; ++fault) {
            struct file_image file = file_params(2);
            const uint32_t i = (uint32_t)fault % part->n;
            const size_t at = part->offset + i * stride_of(part);
            char place[64];
            (void)snprintf(place, sizeof place, "%s: point %u of %u is", part->name, i, part->n);
            spoil(file.bytes + at, group_of(part), stride_of(part), fault);
            assert_int_equal(refuse(file, faults[fault].status, place, faults[fault].words), at);
        }
    }
}

/* With several faults the first in the file is reported, whatever thread finds what first. */
static void lowest_fault_is_reported(void **state) {
    (void)state;
    for (size_t p = 0; p < TOY_PARAMS_PARTS; ++p) {
        struct file_image file = file_params(1);
        for (size_t q = p; q < TOY_PARAMS_PARTS; ++q) {
            const struct toy_params_part *part = &toy_params_parts[q];
            for (uint32_t i = part->n / 2; i < part->n; ++i) {
                spoil(file.bytes + part->offset + i * stride_of(part), group_of(part),
                      stride_of(part), OFF_CURVE);
            }
        }
        const struct toy_params_part *first = &toy_params_parts[p];
        assert_int_equal(refuse(file, PM_NOT_ON_CURVE, first->name, NULL),
                         first->offset + first->n / 2 * stride_of(first));
    }
}

/* What a check of the given depth does not look for, it does not find. */
static void depth_of_the_check_is_respected(void **state) {
    (void)state;
    const struct toy_params_part *part = &toy_params_parts[PM_PARAMS_B_G2];
    const enum fault found_at[] = {FLAGS, OFF_CURVE, OFF_SUBGROUP};
    for (int depth = PM_POINT_CHECK_NONE; depth <= PM_POINT_CHECK_SUBGROUP; ++depth) {
        for (int how = PM_POINT_CHECK_NONE; how <= PM_POINT_CHECK_SUBGROUP; ++how) {
            struct file_image file = file_params(-1);
            struct pm_mapping mapping;
            struct pm_params params;
            uint8_t affine[TOY_PARAMS_N_B * 192];
            spoil(file.bytes + part->offset, group_of(part), 192, found_at[depth]);
            map_image(&file, "toy.params", &mapping);
            assert_int_equal(pm_params_open(&mapping, PM_PARAMS_WHOLE, &params, NULL), PM_OK);
            const pm_status expected = how >= depth ? faults[found_at[depth]].status : PM_OK;
            assert_int_equal(pm_params_decode(&params, curve(), PM_PARAMS_B_G2, 0, part->n,
                                              (enum pm_point_check)how, team, NULL, affine, NULL),
                             expected);
            assert_int_equal(pm_params_check_points(&params, curve(), (enum pm_point_check)how,
                                                    team, NULL, NULL),
                             expected);
            pm_mapping_close(&mapping);
            file_free(&file);
        }
    }
}

/* B18: a damaged parameter file. One bit in every few bytes, whatever it belongs to; only the
 * hashes of the transcript are nobody's to check. */
static void B18_flipped_bit_is_found(void **state) {
    (void)state;
    struct file_image file = file_params(2);
    const size_t hash_at = TOY_PARAMS_BYTES, first_at = hash_at + TOY_TRANSCRIPT_LEAD;
    unsigned n_flips = 0;
    for (size_t begin = 0; begin + BYTES_PER_FLIP <= file.n_bytes; begin += BYTES_PER_FLIP) {
        const size_t at = begin + seeded_random_below(&seeded, BYTES_PER_FLIP);
        const uint8_t bit = (uint8_t)(1u << seeded_random_below(&seeded, 8));
        const bool is_hash = (at >= hash_at && at < hash_at + 64) ||
                             (at >= first_at && (at - first_at) % TOY_CONTRIBUTION_BYTES >= 480);
        pm_error error = PM_ERROR_INIT;
        file.bytes[at] ^= bit;
        const pm_status status = check_image(&file, &error);
        if ((status == PM_OK) != is_hash) {
            fail_msg("bit %u of byte %zu: %s (%s)", bit, at, pm_status_name(status), error.message);
        }
        file.bytes[at] ^= bit;
        n_flips += !is_hash;
    }
    print_message("%u flipped bits found\n", n_flips);
    file_free(&file);
}

/* ---- Lengths ----------------------------------------------------------------------------------
 */

static void expect_cut_refused(const struct file_image *file, size_t cut) {
    const uint64_t begin_ns = outcome_cpu_ns();
    pm_error error = PM_ERROR_INIT;
    struct file_image image = file_cut(file, cut);
    const pm_status status = check_image(&image, &error);
    if (cut < TOY_PARAMS_BYTES) {
        file_expect(status, PM_TRUNCATED, &error, "bellman's parameters", "left", NULL);
        assert_true(error.have < error.need && error.offset + error.have == cut);
    } else if (cut > TOY_PARAMS_BYTES) {
        file_expect(status, PM_LENGTH, &error, "transcript", NULL, NULL);
        assert_int_equal(error.have, cut - TOY_PARAMS_BYTES);
    } else {
        file_expect(status, PM_OK, &error, NULL, NULL, NULL); /* parameters without a transcript */
    }
    for (size_t p = 0; p < TOY_PARAMS_PARTS && status == PM_TRUNCATED; ++p) {
        const struct toy_params_part *part = &toy_params_parts[p];
        if (part->offset > cut + 4 && strstr(error.message, part->name) == NULL) {
            fail_msg("cut at %zu: \"%s\" does not name %s", cut, error.message, part->name);
        }
    }
    file_free(&image);
    assert_true(outcome_cpu_ns() - begin_ns < OUTCOME_CPU_NS_MAX);
}

static void B7_file_cut_anywhere(void **state) {
    (void)state;
    struct file_image file = file_params(2);
    for (size_t p = 0; p < TOY_PARAMS_PARTS; ++p) {
        const struct toy_params_part *part = &toy_params_parts[p];
        const size_t edges[] = {part->offset - (p >= TOY_PARAMS_FIXED ? 4 : 0), part->offset,
                                part->offset + part->n * stride_of(part)};
        for (size_t e = 0; e < 3; ++e) {
            for (size_t cut = edges[e] > 0 ? edges[e] - 1 : 0; cut <= edges[e] + 1; ++cut) {
                expect_cut_refused(&file, cut);
            }
        }
    }
    for (size_t cut = TOY_PARAMS_BYTES + 63; cut < TOY_PARAMS_BYTES + 70; ++cut) {
        expect_cut_refused(&file, cut);
    }
    for (size_t i = 0; i < RANDOM_CUTS; ++i) {
        expect_cut_refused(&file, seeded_random_below(&seeded, file.n_bytes));
    }
    expect_cut_refused(&file, file.n_bytes - 1);
    file_free(&file);
}

/* B7: a count decides neither how long we read nor how much we allocate. */
static void B7_counts_are_held_against_each_other_and_the_file(void **state) {
    (void)state;
    for (size_t p = TOY_PARAMS_FIXED; p < TOY_PARAMS_PARTS; ++p) {
        const struct toy_params_part *part = &toy_params_parts[p];
        const uint32_t counts[] = {0, part->n - 1, part->n + 1, UINT32_C(1) << 31, UINT32_MAX};
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
            struct file_image file = file_params(0);
            pm_error error = PM_ERROR_INIT;
            const uint64_t begin_ns = outcome_cpu_ns();
            file_patch_u32(&file, 0, part->offset - 4, __builtin_bswap32(counts[i]));
            const pm_status status = check_image(&file, &error);
            if (status != PM_COUNT && status != PM_TRUNCATED && status != PM_LENGTH &&
                status != PM_UNSUPPORTED) {
                fail_msg("%u points of %s: %s", counts[i], part->name, pm_status_name(status));
            }
            outcome_expect_place(status, &error, "toy.params", part->name);
            assert_true(error.offset >= part->offset - 4 && error.offset <= file.n_bytes);
            assert_true(outcome_cpu_ns() - begin_ns < OUTCOME_CPU_NS_MAX);
            file_free(&file);
        }
    }
}

static void layout_refuses_what_cannot_be(void **state) {
    (void)state;
    static const struct {
        struct pm_params_counts counts;
        pm_status status;
        const char *says;
    } cases[] = {{{1, 0, 0, 1, 0}, PM_OK, NULL}, /* no row but that of the constant one */
                 {{3, 4, 3, 7, 7}, PM_OK, NULL},
                 {{3, 4, 3, 3, 0}, PM_OK, NULL},
                 {{1, UINT32_MAX, 31, 1, 1}, PM_OK, NULL},
                 {{0, 4, 3, 4, 4}, PM_COUNT, "ic has 0 points"},
                 {{9, 4, 3, 9, 4}, PM_COUNT, "cannot hold the rows of 9 inputs"},
                 {{3, 4, 3, 2, 4}, PM_COUNT, "a has 2 points, need 3 to 7"},
                 {{3, 4, 3, 8, 4}, PM_COUNT, "a has 8 points, need 3 to 7"},
                 {{3, 4, 3, 5, 8}, PM_COUNT, "b_g1 has 8 points, need 0 to 7"},
                 {{3, 4, 32, 5, 4}, PM_UNSUPPORTED, "2^32"},
                 {{3, 4, 200, 5, 4}, PM_UNSUPPORTED, "2^200"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        struct pm_params_layout layout;
        pm_error error = PM_ERROR_INIT;
        file_expect(pm_params_layout_make(&cases[i].counts, &layout, &error), cases[i].status,
                    &error, cases[i].says, NULL, NULL);
    }
    /* The table of Filecoin's 32 GiB PoRep. */
    const struct pm_params_counts porep = {328, 130169893, 27, 328 + 129753292, 1 + 33112281};
    struct pm_params_layout layout;
    assert_int_equal(pm_params_layout_make(&porep, &layout, NULL), PM_OK);
    assert_int_equal(layout.n_bytes, UINT64_C(47373928632));
    assert_int_equal(layout.vk_bytes, 32356);
}

static void transcript_is_whole_and_of_these_parameters(void **state) {
    (void)state;
    struct file_image file = file_params(2);
    file_patch_u32(&file, 0, TOY_PARAMS_BYTES + 64, __builtin_bswap32(3));
    assert_int_equal(refuse(file, PM_LENGTH, "transcript of 3 contributions", "1700"),
                     TOY_PARAMS_BYTES);
    file = file_params(2);
    file_patch_u32(&file, 0, TOY_PARAMS_BYTES + 64, UINT32_MAX);
    (void)refuse(file, PM_LENGTH, "transcript of 4294967295 contributions", NULL);
    struct file_image good = file_params(2);
    (void)refuse(file_cut(&good, good.n_bytes + 1), PM_LENGTH, "1157 bytes follow", NULL);
    file_free(&good);

    const size_t last_at = TOY_PARAMS_BYTES + TOY_TRANSCRIPT_LEAD + TOY_CONTRIBUTION_BYTES;
    static const struct {
        const char *name;
        bool is_g2;
        size_t offset;
    } points[] = {{"delta after it", false, 0},
                  {"s", false, 96},
                  {"s delta", false, 192},
                  {"r delta", true, 288}};
    for (size_t i = 0; i < 4; ++i) {
        for (enum fault fault = INFINITE; fault < FAULTS; ++fault) {
            char place[80];
            file = file_params(2);
            (void)snprintf(place, sizeof place, "contribution 1 of 2: %s is", points[i].name);
            spoil(file.bytes + last_at + points[i].offset,
                  points[i].is_g2 ? curve()->g2 : curve()->g1, points[i].is_g2 ? 192 : 96, fault);
            assert_int_equal(refuse(file, faults[fault].status, place, faults[fault].words),
                             last_at + points[i].offset);
        }
    }
    file = file_params(2);
    memcpy(file.bytes + last_at, file.bytes, 96);
    assert_int_equal(refuse(file, PM_SECTION, "belongs to other parameters", NULL), last_at);
}

/* ---- Recognising ------------------------------------------------------------------------------
 */

static pm_file_kind recognise(struct file_image file, const char *name) {
    struct pm_mapping mapping;
    map_image(&file, name, &mapping);
    const pm_file_kind kind = pm_params_recognise(&mapping);
    pm_mapping_close(&mapping);
    file_free(&file);
    return kind;
}

static void name_or_length_tells_the_kind(void **state) {
    (void)state;
    struct file_image file = file_params(1);
    static const struct {
        size_t cut;
        const char *name;
        pm_file_kind kind;
    } cases[] = {{0, "x.params", PM_FILE_UNKNOWN},
                 {1, "x.params", PM_FILE_PARAMS},
                 {95, "x.params", PM_FILE_PARAMS},
                 {95, "x.vk", PM_FILE_BELLMAN_VK},
                 {95, "x", PM_FILE_UNKNOWN},
                 {95, "params", PM_FILE_UNKNOWN},
                 {96, "x", PM_FILE_BELLMAN_VK},
                 {700, "x", PM_FILE_BELLMAN_VK},
                 {700, "x.params", PM_FILE_PARAMS},
                 {TOY_PARAMS_VK_BYTES, "x", PM_FILE_BELLMAN_VK},
                 {TOY_PARAMS_VK_BYTES, "x.params", PM_FILE_PARAMS},
                 {TOY_PARAMS_VK_BYTES + 1, "x", PM_FILE_PARAMS},
                 {TOY_PARAMS_VK_BYTES + 1, "x.vk", PM_FILE_BELLMAN_VK},
                 {TOY_PARAMS_BYTES, "-", PM_FILE_PARAMS}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        assert_int_equal(recognise(file_cut(&file, cases[i].cut), cases[i].name), cases[i].kind);
    }
    file_free(&file);
}

/* Any one point that is good is enough, so that what is damaged is named and not disowned. */
static void damage_does_not_hide_the_kind(void **state) {
    (void)state;
    for (size_t good = 0; good <= TOY_PARAMS_FIXED; ++good) {
        for (enum fault fault = INFINITE; fault < FAULTS; ++fault) {
            struct file_image file = file_params(0);
            for (size_t p = 0; p < TOY_PARAMS_FIXED && fault != OFF_SUBGROUP; ++p) {
                const struct toy_params_part *part = &toy_params_parts[p];
                if (p != good) {
                    spoil(file.bytes + part->offset, group_of(part), stride_of(part), fault);
                }
            }
            const bool is_known = good < TOY_PARAMS_FIXED || fault == OFF_SUBGROUP;
            assert_int_equal(recognise(file, "x.params"),
                             is_known ? PM_FILE_PARAMS : PM_FILE_UNKNOWN);
        }
    }
}

static void strangers_are_not_recognised(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 95, 96, 864, 868, 5000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        for (unsigned fill = 0; fill < 4; ++fill) {
            struct file_image file = {malloc(sizes[i]), sizes[i]};
            assert_non_null(file.bytes);
            memset(file.bytes, fill == 0 ? 0 : fill == 1 ? 1 : 0x41, sizes[i]);
            if (fill == 3) {
                seeded_random_bytes(&seeded, file.bytes, sizes[i]);
            }
            assert_int_equal(recognise(file, "x"), PM_FILE_UNKNOWN);
        }
    }
}

/* ---- Writing ----------------------------------------------------------------------------------
 */

static void written_piece_by_piece_the_bytes_are_the_same(void **state) {
    (void)state;
    const struct pm_params_counts counts = {TOY_PARAMS_N_IC, TOY_PARAMS_N_L, TOY_PARAMS_LOG_N,
                                            TOY_PARAMS_N_A, TOY_PARAMS_N_B};
    struct file_image expected = file_params(-1);
    struct pm_params_layout layout;
    pm_error error = PM_ERROR_INIT;
    file_expect(pm_params_layout_make(&counts, &layout, &error), PM_OK, &error, NULL, NULL, NULL);
    assert_int_equal(layout.n_bytes, expected.n_bytes);
    uint8_t *image = malloc(layout.n_bytes);
    assert_non_null(image);
    memset(image, 0xee, layout.n_bytes);
    pm_params_write_counts(&layout, image);
    for (size_t p = TOY_PARAMS_PARTS; p-- > 0;) {
        const struct toy_params_part *part = &toy_params_parts[p];
        for (uint32_t first = 0; first < part->n; first += 3) {
            const uint32_t n = part->n - first < 3 ? part->n - first : 3;
            uint8_t affine[3 * PM_G2_BYTES_MAX];
            for (uint32_t i = 0; i < n; ++i) {
                toy_params_point(part, first + i, affine + i * stride_of(part));
            }
            file_expect(pm_params_write_points(&layout, curve(), (enum pm_params_part)p, first, n,
                                               affine, team, NULL, image, &error),
                        PM_OK, &error, NULL, NULL, NULL);
        }
    }
    assert_memory_equal(image, expected.bytes, expected.n_bytes);
    free(image);
    file_free(&expected);
}

static void writer_refuses_infinity_and_foreign_places(void **state) {
    (void)state;
    const struct pm_params_counts counts = {1, 5, 0, 1, 2};
    struct pm_params_layout layout;
    uint8_t affine[5 * 96], image[4096];
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_params_layout_make(&counts, &layout, &error), PM_OK);
    assert_true(layout.n_bytes <= sizeof image);
    for (uint32_t i = 0; i < 5; ++i) {
        toy_params_point(&toy_params_parts[PM_PARAMS_L], i, affine + (size_t)i * 96);
    }
    memset(affine + 2 * 96, 0, 96);
    memset(affine + 4 * 96, 0, 96);
    file_expect(pm_params_write_points(&layout, curve(), PM_PARAMS_L, 0, 5, affine, team, NULL,
                                       image, &error),
                PM_POINT_AT_INFINITY, &error, "l: point 2 of 5 is at infinity", NULL, NULL);
    file_expect(pm_params_write_points(&layout, curve(), PM_PARAMS_L, 2, 4, affine, team, NULL,
                                       image, &error),
                PM_INVALID_ARGUMENT, &error, "l has 5 points", NULL, NULL);
    file_expect(pm_params_write_points(&layout, pm_curve_get(PM_CURVE_BN254, PM_BODY_PORTABLE),
                                       PM_PARAMS_L, 0, 1, affine, team, NULL, image, &error),
                PM_CURVE, &error, "bn128", NULL, NULL);
}

static void cancelling_stops_it(void **state) {
    (void)state;
    struct file_image file = file_params(1);
    struct pm_mapping mapping;
    struct pm_params params;
    const int cancel = 1;
    const pm_control control = {.struct_bytes = sizeof control, .cancel = &cancel};
    pm_error error = PM_ERROR_INIT;
    uint8_t affine[96];
    map_image(&file, "toy.params", &mapping);
    assert_int_equal(pm_params_open(&mapping, PM_PARAMS_WHOLE, &params, &error), PM_OK);
    assert_int_equal(
        pm_params_check_points(&params, curve(), PM_POINT_CHECK_SUBGROUP, team, &control, &error),
        PM_CANCELLED);
    assert_int_equal(pm_params_decode(&params, curve(), PM_PARAMS_H, 0, 1, PM_POINT_CHECK_NONE,
                                      team, &control, affine, &error),
                     PM_CANCELLED);
    pm_mapping_close(&mapping);
    file_free(&file);
}

static int start(void **state) {
    (void)state;
    seeded = seeded_random_from_environment();
    const int status = pm_team_create(3, &team, NULL) == PM_OK ? 0 : -1;
    /* From here on nothing that a count asks for can be had. */
    data_limit_set((size_t)64 << 20);
    return status;
}

static int stop(void **state) {
    (void)state;
    pm_team_destroy(team);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_lie_where_they_should),
        cmocka_unit_test(windows_decode_to_montgomery_form),
        cmocka_unit_test(every_fault_is_named_with_index_and_offset),
        cmocka_unit_test(lowest_fault_is_reported),
        cmocka_unit_test(depth_of_the_check_is_respected),
        cmocka_unit_test(B18_flipped_bit_is_found),
        cmocka_unit_test(B7_file_cut_anywhere),
        cmocka_unit_test(B7_counts_are_held_against_each_other_and_the_file),
        cmocka_unit_test(layout_refuses_what_cannot_be),
        cmocka_unit_test(transcript_is_whole_and_of_these_parameters),
        cmocka_unit_test(name_or_length_tells_the_kind),
        cmocka_unit_test(damage_does_not_hide_the_kind),
        cmocka_unit_test(strangers_are_not_recognised),
        cmocka_unit_test(written_piece_by_piece_the_bytes_are_the_same),
        cmocka_unit_test(writer_refuses_infinity_and_foreign_places),
        cmocka_unit_test(cancelling_stops_it),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
