/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "support/subject.h"

#include "curve/curve.h"
#include "support/fixture.h"
#include "support/outcomes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

const char *const subject_names[] = {"one",       "mult3",      "nopriv", "one_bls",
                                     "mult3_bls", "nopriv_bls", NULL};

static struct file_image read_image(const char *folder, const char *name, const char *ending) {
    char path[PM_TEST_PATH_MAX + 192];
    struct file_image image = {0};
    (void)snprintf(path, sizeof path, "%s/%s.%s", folder, name, ending);
    image.bytes = (uint8_t *)pm_test_read_file(path, &image.n_bytes);
    if (image.bytes == NULL) {
        fail_msg("cannot read %s", path);
    }
    return image;
}

static bool find_folder(const char *name, char folder[PM_TEST_PATH_MAX]) {
    char small[128];
    (void)snprintf(small, sizeof small, "small/%s", name);
    return access(pm_data_path(folder, name), R_OK) == 0 || pm_fixture_path(folder, small);
}

static void require_ok(pm_status status, const pm_error *error) {
    if (status != PM_OK) {
        fail_msg("%s: %s (%s)", pm_status_name(status), error->message, error->file);
    }
}

static void measure_good(struct subject *subject) {
    pm_error error = PM_ERROR_INIT;
    pm_proof proof = {.struct_bytes = sizeof proof};
    const uint64_t begin_ns = outcome_cpu_ns();
    require_ok(pm_key_check(subject->context, subject->key, NULL, &error), &error);
    require_ok(pm_prove(subject->context, subject->key, subject->witness, NULL, NULL, &proof, NULL,
                        &error),
               &error);
    subject->good_cpu_ns = outcome_cpu_ns() - begin_ns;
}

bool subject_open(const char *name, struct subject *subject) {
    char folder[PM_TEST_PATH_MAX];
    pm_error error = PM_ERROR_INIT;
    *subject = (struct subject){.n_public = 0};
    if (!find_folder(name, folder)) {
        pm_say_skip(name);
        return false;
    }
    (void)snprintf(subject->name, sizeof subject->name, "%s", name);
    (void)snprintf(subject->r1cs_path, sizeof subject->r1cs_path, "%s/%s.r1cs", folder, name);
    subject->zkey = read_image(folder, name, "zkey");
    subject->wtns = read_image(folder, name, "wtns");
    subject->r1cs = read_image(folder, name, "r1cs");
    const pm_context_options options = {.struct_bytes = sizeof options, .threads = 1};
    require_ok(pm_context_create(&options, &subject->context, &error), &error);
    require_ok(pm_key_open_memory(subject->context, subject->zkey.bytes, subject->zkey.n_bytes,
                                  "good.zkey", NULL, &subject->key, &error),
               &error);
    require_ok(pm_witness_open_memory(subject->context, subject->wtns.bytes, subject->wtns.n_bytes,
                                      "good.wtns", NULL, &subject->witness, &error),
               &error);
    require_ok(pm_vk_from_key(subject->context, subject->key, &subject->vk, &error), &error);
    subject->n_public = pm_vk_n_public(subject->vk);
    subject->curve = pm_vk_curve(subject->vk);
    measure_good(subject);
    return true;
}

uint64_t subject_cpu_ns_max(const struct subject *subject, bool was_opened) {
    return OUTCOME_CPU_NS_MAX + (was_opened ? 4 * subject->good_cpu_ns : 0);
}

void subject_close(struct subject *subject) {
    pm_vk_destroy(subject->vk);
    pm_witness_destroy(subject->witness);
    pm_key_destroy(subject->key);
    pm_context_destroy(subject->context);
    file_free(&subject->zkey);
    file_free(&subject->wtns);
    file_free(&subject->r1cs);
}

static bool is_in_subgroup(const struct pm_group *group, const uint8_t *canonical) {
    uint8_t affine[PM_G2_BYTES_MAX];
    return group->decode(affine, PM_POINT_CANONICAL_LE, canonical, PM_POINT_CHECK_CURVE) ==
               PM_POINT_GOOD &&
           group->in_subgroup_by_order(affine);
}

pm_status subject_verify(const struct subject *subject, const pm_vk *vk, const pm_witness *witness,
                         const pm_proof *proof) {
    const size_t n = pm_vk_n_public(vk);
    const struct pm_curve *curve = pm_curve_get((pm_curve_id)proof->curve, PM_BODY_PORTABLE);
    if (curve == NULL || !is_in_subgroup(curve->g1, proof->a) ||
        !is_in_subgroup(curve->g2, proof->b) || !is_in_subgroup(curve->g1, proof->c)) {
        return PM_NOT_IN_SUBGROUP;
    }
    uint8_t *publics = calloc(n + 1, PM_FR_BYTES);
    assert_non_null(publics);
    pm_status status = pm_witness_values(witness, 1, n, publics);
    if (status == PM_OK) {
        status = pm_verify(subject->context, vk, publics, n, proof, NULL);
    }
    free(publics);
    return status;
}
