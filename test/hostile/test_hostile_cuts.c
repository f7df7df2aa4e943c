/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A18, RC6: files that end early. Cut at every section's edge, a byte before and behind it, and at
 * random offsets, each is refused at once, naming what is missing; and what a key may lack is
 * accepted with a warning.
 */
#include "support/file_layout.h"
#include "support/outcomes.h"
#include "support/seeded_random.h"
#include "support/subject.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { RANDOM_CUTS = 200, RANDOM_CUTS_SLOW = 5000 };

typedef void layout_of(const struct file_image *file, pm_curve_id curve, struct layout *layout);

static struct seeded_random seeded;
static size_t n_random_cuts = RANDOM_CUTS;
static unsigned n_cuts, n_lists;

/* Sections whose header lies behind the cut are not there. */
static void expect_missing_named(const struct layout *layout, size_t cut, const pm_error *error) {
    for (size_t i = 0; i < layout->n_sections; ++i) {
        const struct layout_section *section = &layout->sections[i];
        char number[32];
        if (section->offset > cut) {
            (void)snprintf(number, sizeof number, "%u (", section->type);
            if (strstr(error->message, number) == NULL ||
                strstr(error->message, "missing") == NULL) {
                fail_msg("cut at %zu: \"%s\" does not name section %u", cut, error->message,
                         section->type);
            }
            n_lists++;
        }
    }
}

static void try_cut(const struct subject *subject, const struct layout *layout, size_t cut) {
    pm_error error = PM_ERROR_INIT;
    char text[160];
    const uint64_t begin_ns = outcome_cpu_ns();
    const char *path = outcome_file(layout->file->bytes, cut);
    (void)snprintf(text, sizeof text, "%s cut at %zu of %zu", subject->name, cut,
                   layout->file->n_bytes);
    const pm_status status = pm_file_check(subject->context, path, NULL, &error);
    outcome_expect_place(status, &error, path, text);
    assert_true(outcome_cpu_ns() - begin_ns < OUTCOME_CPU_NS_MAX);
    if (cut < 4) {
        assert_int_equal(status, PM_NOT_THIS_KIND);
        return;
    }
    if (status != PM_TRUNCATED) {
        fail_msg("%s: %s (%s)", text, pm_status_name(status), error.message);
    }
    if (cut >= 12) {
        expect_missing_named(layout, cut, &error);
    }
    n_cuts++;
}

static void cut_everywhere(const struct subject *subject, const struct file_image *file,
                           layout_of *layout_it) {
    struct layout layout;
    layout_it(file, subject->curve, &layout);
    for (size_t i = 0; i < layout.n_sections; ++i) {
        const size_t edges[] = {layout.sections[i].header, layout.sections[i].offset,
                                layout.sections[i].offset + layout.sections[i].n_bytes};
        for (size_t e = 0; e < sizeof edges / sizeof edges[0]; ++e) {
            for (size_t cut = edges[e] - 1; cut <= edges[e] + 1; ++cut) {
                if (cut < file->n_bytes) {
                    try_cut(subject, &layout, cut);
                }
            }
        }
    }
    for (size_t i = 0; i < n_random_cuts; ++i) {
        try_cut(subject, &layout, seeded_random_below(&seeded, file->n_bytes));
    }
    layout_free(&layout);
}

static void RC6_files_cut_anywhere(void **state) {
    (void)state;
    for (size_t i = 0; subject_names[i] != NULL; ++i) {
        struct subject subject;
        assert_true(subject_open(subject_names[i], &subject));
        cut_everywhere(&subject, &subject.zkey, layout_zkey);
        cut_everywhere(&subject, &subject.wtns, layout_wtns);
        cut_everywhere(&subject, &subject.r1cs, layout_r1cs);
        subject_close(&subject);
    }
    printf("%u cuts refused, missing sections named %u times\n", n_cuts, n_lists);
    assert_true(n_cuts > 6 * 3 * RANDOM_CUTS * 9 / 10 && n_lists > n_cuts / 2);
}

/* ---------------------------------------------------------------------------------------------
 * What a key may lack
 * ------------------------------------------------------------------------------------------- */

struct log {
    unsigned n_warnings;
    char last[256];
};

static void keep_warning(void *user, pm_log_level level, const char *sentence) {
    struct log *log = user;
    if (level == PM_LOG_WARNING) {
        log->n_warnings++;
        (void)snprintf(log->last, sizeof log->last, "%s", sentence);
    }
}

static pm_key *open_without(const struct subject *subject, uint32_t section,
                            struct file_image *image, struct log *log) {
    const pm_control control = {.struct_bytes = sizeof control, .log = keep_warning, .user = log};
    pm_error error = PM_ERROR_INIT;
    pm_key *key = NULL;
    *image = file_without(&subject->zkey, section);
    const pm_status status = pm_key_open_memory(subject->context, image->bytes, image->n_bytes,
                                                "lacking.zkey", &control, &key, &error);
    file_expect(status, PM_OK, &error, NULL, NULL, NULL);
    return key;
}

static void A18_without_contributions(void **state) {
    (void)state;
    struct subject subject;
    struct file_image image;
    struct log log = {.n_warnings = 0};
    pm_error error = PM_ERROR_INIT;
    pm_proof proof = {.struct_bytes = sizeof proof};
    assert_true(subject_open("mult3", &subject));
    pm_key *key = open_without(&subject, 10, &image, &log);
    assert_int_equal(log.n_warnings, 1);
    assert_non_null(strstr(log.last, "section 10"));
    assert_int_equal(
        pm_prove(subject.context, key, subject.witness, NULL, NULL, &proof, NULL, &error), PM_OK);
    assert_int_equal(subject_verify(&subject, subject.vk, subject.witness, &proof), PM_OK);
    pm_key_destroy(key);
    file_free(&image);
    subject_close(&subject);
}

static void A18_without_ic(void **state) {
    (void)state;
    struct subject subject;
    struct file_image image;
    struct log log = {.n_warnings = 0};
    pm_error error = PM_ERROR_INIT;
    pm_vk *vk = NULL;
    pm_proof proof = {.struct_bytes = sizeof proof};
    const pm_prove_options unverified = {.struct_bytes = sizeof unverified, .no_self_verify = 1};
    assert_true(subject_open("mult3_bls", &subject));
    pm_key *key = open_without(&subject, 3, &image, &log);
    assert_int_equal(log.n_warnings, 1);
    assert_non_null(strstr(log.last, "section 3"));
    file_expect(pm_prove(subject.context, key, subject.witness, NULL, NULL, &proof, NULL, &error),
                PM_SECTION, &error, "section 3", "verif", NULL);
    assert_string_equal(error.file, "lacking.zkey");
    file_expect(pm_vk_from_key(subject.context, key, &vk, &error), PM_SECTION, &error, "section 3",
                NULL, NULL);
    file_expect(
        pm_prove(subject.context, key, subject.witness, &unverified, NULL, &proof, NULL, &error),
        PM_OK, &error, NULL, NULL, NULL);
    assert_int_equal(subject_verify(&subject, subject.vk, subject.witness, &proof), PM_OK);
    pm_key_destroy(key);
    file_free(&image);
    subject_close(&subject);
}

/* Several missing sections are all named, in a file that is otherwise whole. */
static void A18_every_missing_section_is_named(void **state) {
    (void)state;
    struct subject subject;
    pm_error error = PM_ERROR_INIT;
    pm_key *key = NULL;
    assert_true(subject_open("one", &subject));
    struct file_image first = file_without(&subject.zkey, 6);
    struct file_image second = file_without(&first, 9);
    file_expect(pm_key_open_memory(subject.context, second.bytes, second.n_bytes, "x.zkey", NULL,
                                   &key, &error),
                PM_SECTION, &error, "sections 6 (b1 points), 9 (h points) are missing", NULL, NULL);
    file_free(&first);
    file_free(&second);
    subject_close(&subject);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(RC6_files_cut_anywhere),
        cmocka_unit_test(A18_without_contributions),
        cmocka_unit_test(A18_without_ic),
        cmocka_unit_test(A18_every_missing_section_is_named),
    };
    n_random_cuts = outcome_is_slow(argc, argv) ? RANDOM_CUTS_SLOW : RANDOM_CUTS;
    seeded = seeded_random_from_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
