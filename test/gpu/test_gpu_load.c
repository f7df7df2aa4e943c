/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A library that is missing, or is another one, is answered with its reason and nothing else. */
#include "gpu/load/gpu_load.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void check_refused(const char *path, const char *reason) {
    const struct pm_gpu_api untouched = {0}, *api = &untouched;
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_gpu_load(path, &api, &error), PM_NO_DEVICE);
    assert_int_equal(error.status, PM_NO_DEVICE);
    assert_non_null(strstr(error.message, path));
    assert_non_null(strstr(error.message, reason));
    assert_ptr_equal(api, &untouched);
    assert_int_equal(pm_gpu_load(path, &api, NULL), PM_NO_DEVICE);
}

static void test_missing_library(void **state) {
    (void)state;
    check_refused("/nowhere/libproofmill-gpu.so.0", "cannot be opened");
}

static void test_another_library(void **state) {
    (void)state;
    check_refused("libm.so.6", PM_GPU_API_GET_NAME);
}

/* It answers with a table of another version, and does not stay in the process. */
static void test_another_build(void **state) {
    (void)state;
    check_refused(PM_OTHER_BUILD, "another build");
    assert_null(dlopen(PM_OTHER_BUILD, RTLD_NOW | RTLD_NOLOAD));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_missing_library),
                                       cmocka_unit_test(test_another_library),
                                       cmocka_unit_test(test_another_build)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
