/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Texts read while jansson runs out of memory: what is read is right, or nothing is. jansson 2.14
 * drops characters of a string whose buffer cannot grow, which made other numbers of them. */
#include "support/fixture.h"
#include "support/toy_circuits.h"
#include "json/json.h"
#include "json/json_memory.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static uint64_t n_calls, fails_at;

static void *allocate(size_t n_bytes) {
    return ++n_calls == fails_at ? NULL : malloc(n_bytes);
}

struct texts {
    char *vk, *publics, *proof;
    size_t n_vk, n_publics, n_proof;
};

static char *read_text(const char *circuit, const char *name, size_t *n_bytes) {
    char relative[256], path[PM_TEST_PATH_MAX];
    (void)snprintf(relative, sizeof relative, "%s/%s", circuit, name);
    char *text = pm_test_read_file(pm_data_path(path, relative), n_bytes);
    assert_non_null(text);
    return text;
}

/* Reads all three and verifies. */
static pm_status read_and_verify(pm_context *context, const struct texts *texts, pm_error *error) {
    pm_vk *vk = NULL;
    uint8_t *publics = NULL;
    size_t n_publics = 0;
    pm_proof proof = {.struct_bytes = sizeof proof};
    pm_status status = pm_json_vk_parse(context, texts->vk, texts->n_vk, "vk", &vk, error);
    const pm_curve_id curve = pm_vk_curve(vk);
    if (status == PM_OK) {
        status = pm_json_public_parse(texts->publics, texts->n_publics, "publics", curve, &publics,
                                      &n_publics, error);
    }
    if (status == PM_OK) {
        status = pm_json_proof_parse(texts->proof, texts->n_proof, "proof", curve, &proof, error);
    }
    if (status == PM_OK) {
        status = pm_verify(context, vk, publics, n_publics, &proof, error);
    }
    pm_json_values_free(publics);
    pm_vk_destroy(vk);
    return status;
}

static void every_allocation_fails_once(const char *circuit) {
    pm_context *context = toy_context(1, PM_ARITHMETIC_BEST);
    struct texts texts;
    uint64_t n_failed = 0;
    texts.vk = read_text(circuit, "vkey.json", &texts.n_vk);
    texts.publics = read_text(circuit, "public.json", &texts.n_publics);
    texts.proof = read_text(circuit, "proof.snarkjs.json", &texts.n_proof);
    for (fails_at = 1;; ++fails_at) {
        pm_error error = PM_ERROR_INIT;
        const uint64_t before = pm_json_memory_failures();
        n_calls = 0;
        const pm_status status = read_and_verify(context, &texts, &error);
        if (n_calls < fails_at) {
            toy_expect(status, PM_OK, &error);
            break;
        }
        toy_expect(status, PM_NO_MEMORY, &error);
        assert_true(error.message[0] != '\0' && pm_json_memory_failures() == before + 1);
        ++n_failed;
    }
    print_message("  %s: each of %llu allocations failed once\n", circuit,
                  (unsigned long long)n_failed);
    assert_true(n_failed > 100);
    fails_at = 0;
    free(texts.vk);
    free(texts.publics);
    free(texts.proof);
    pm_context_destroy(context);
}

static void no_number_becomes_another(void **state) {
    (void)state;
    json_set_alloc_funcs(allocate, free); /* before ours, which goes in front of it */
    every_allocation_fails_once("mult3");
    every_allocation_fails_once("mult3_bls");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_number_becomes_another)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
